! The same by FITSIO, CFITSIO's subroutines for Fortran: columns in as many rows at a time as it recommends.
program pence_fitsio
  use, intrinsic :: iso_fortran_env, only: int16, int64, real32, real64
  implicit none
  integer, parameter :: times = 20, rows = 100000
  character(len=8) :: names(5) = ['A', 'B', 'C', 'D', 'E'], forms(5) = '1E', units(5) = ''
  integer(int16) :: image(1000, 1000), image_again(1000, 1000)
  real(real32) :: columns(rows, 5), columns_again(rows, 5)
  integer :: lengths(2) = [1000, 1000], none(1) = 0, n

  image = reshape([(int(mod(n, 30000), int16), n=1, size(image))], shape(image))
  columns = reshape([(real(n), n=1, size(columns))], shape(columns))
  call time_of('write the image', write_image)
  call time_of('write the table', write_table)
  call time_of('read the image ', read_image)
  call time_of('read the table ', read_table)
  if (any(image_again /= image) .or. any(nint(columns_again) /= nint(columns))) error stop 'other numbers'

contains

  subroutine time_of(name, step)
    character(len=*), intent(in) :: name
    interface
      subroutine step()
      end subroutine
    end interface
    integer(int64) :: start, stop, rate
    real(real64) :: least
    integer :: time
    least = huge(least)
    do time = 1, times
      call system_clock(start, rate)
      call step()
      call system_clock(stop)
      least = min(least, real(stop - start, real64) / real(rate, real64))
    end do
    print '(a, f9.3, a)', name, 1000 * least, ' ms'
  end subroutine

  subroutine check(status)
    integer, intent(in) :: status
    character(len=30) :: text
    if (status == 0) return
    call ftgerr(status, text)
    error stop trim(text)
  end subroutine

  subroutine remove(path)
    character(len=*), intent(in) :: path
    integer :: unit
    open (newunit=unit, file=path)
    close (unit, status='delete')
  end subroutine

  subroutine write_image()
    integer :: unit, status
    status = 0
    call ftgiou(unit, status)
    call remove('fitsio_image.fits')
    call ftinit(unit, 'fitsio_image.fits', 1, status)
    call ftphpr(unit, .true., 16, 2, lengths, 0, 1, .true., status)
    call ftppri(unit, 1, 1, size(image), image, status)
    call finish(unit, status)
  end subroutine

  subroutine write_table()
    integer :: unit, status, chunk, row, column
    status = 0
    call ftgiou(unit, status)
    call remove('fitsio_table.fits')
    call ftinit(unit, 'fitsio_table.fits', 1, status)
    call ftphpr(unit, .true., 8, 0, none, 0, 1, .true., status)
    call ftibin(unit, rows, 5, names, forms, units, '', 0, status)
    call ftgrsz(unit, chunk, status)
    do row = 1, rows, chunk
      do column = 1, 5
        call ftpcle(unit, column, row, 1, min(chunk, rows - row + 1), columns(row:, column), status)
      end do
    end do
    call finish(unit, status)
  end subroutine

  subroutine read_image()
    integer :: unit, status, block
    logical :: any_null
    status = 0
    call ftgiou(unit, status)
    call ftopen(unit, 'fitsio_image.fits', 0, block, status)
    call ftgpvi(unit, 1, 1, size(image), 0_int16, image_again, any_null, status)
    call finish(unit, status)
  end subroutine

  subroutine read_table()
    integer :: unit, status, block, kind, chunk, row, column
    logical :: any_null
    status = 0
    call ftgiou(unit, status)
    call ftopen(unit, 'fitsio_table.fits', 0, block, status)
    call ftmahd(unit, 2, kind, status)
    call ftgrsz(unit, chunk, status)
    do row = 1, rows, chunk
      do column = 1, 5
        call ftgcve(unit, column, row, 1, min(chunk, rows - row + 1), 0.0, &
          columns_again(row:, column), any_null, status)
      end do
    end do
    call finish(unit, status)
  end subroutine

  subroutine finish(unit, status)
    integer, intent(in) :: unit
    integer, intent(inout) :: status
    call ftclos(unit, status)
    call ftfiou(unit, status)
    call check(status)
  end subroutine
end program
