! An image of 1000 x 1000 16-bit integers and a table of five columns of reals in 100 000 rows, written
! and read: what W. Pence measured in 1996, "in under one second". Each time is the least of 20.
program pence
  use, intrinsic :: iso_fortran_env, only: int16, int64, real32, real64
  use tachyfits
  implicit none
  integer, parameter :: times = 20
  character(len=1), parameter :: names(5) = ['A', 'B', 'C', 'D', 'E']
  integer(int16) :: image(1000, 1000), image_again(1000, 1000)
  real(real32) :: columns(100000, 5), columns_again(100000, 5)
  integer :: n

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

  subroutine remove(path)
    character(len=*), intent(in) :: path
    integer :: unit
    open (newunit=unit, file=path)
    close (unit, status='delete')
  end subroutine

  subroutine write_image()
    call remove('image.fits')
    call fits_write('image.fits', image)
  end subroutine

  subroutine write_table()
    type(fits_table) :: table
    integer :: column
    do column = 1, 5
      call table%add(names(column), columns(:, column))
    end do
    call remove('table.fits')
    call fits_write('table.fits', table)
  end subroutine

  subroutine read_image()
    type(fits_file) :: file
    call file%open('image.fits')
    call file%read_into(image_again)
  end subroutine

  subroutine read_table()
    type(fits_file) :: file
    call file%open('table.fits')
    call file%columns_into(names, columns_again, hdu=1)
  end subroutine
end program
