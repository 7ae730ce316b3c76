! FITSIO, CFITSIO's subroutines for Fortran: ftgpv. for images, ftgcv. for each column. See common/calls.h.
module fitsio_calls
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int16, int32, int64, real32, real64, compiler_version, error_unit
  implicit none
  integer, save :: unit = 0

contains

  integer(c_int) function told(status)
    integer, intent(in) :: status
    character(len=30) :: text
    told = 0
    if (status == 0) return
    call ftgerr(status, text)
    write (error_unit, '(a)') trim(text)
    told = 1
  end function

  function joined(characters, length) result(text)
    integer(c_int), intent(in) :: length
    character(kind=c_char), intent(in) :: characters(length)
    character(len=length) :: text
    integer :: n
    do n = 1, length
      text(n:n) = characters(n)
    end do
  end function

  integer(c_int) function fortran_open(path, length, hdu, is_table, naxis, axes, rows) bind(C)
    integer(c_int), value :: length, hdu, is_table
    character(kind=c_char), intent(in) :: path(length)
    integer(c_int), intent(inout) :: naxis
    integer(c_long_long), intent(inout) :: axes(9), rows
    integer :: status, block, kind, bitpix, lengths(9)
    status = 0
    call ftgiou(unit, status)
    call ftopen(unit, joined(path, length), 0, block, status)
    call ftmahd(unit, hdu + 1, kind, status)
    if (is_table /= 0) then
      call ftgnrw(unit, kind, status)
      rows = kind
    else
      call ftgipr(unit, 9, bitpix, naxis, lengths, status)
      if (status == 0) axes(:naxis) = lengths(:naxis)
    end if
    fortran_open = told(status)
  end function

  integer(c_int) function fortran_image(type, pixels, out) bind(C)
    character(kind=c_char), intent(in) :: type(2)
    integer(c_long_long), value :: pixels
    type(c_ptr), value :: out
    integer(int16), pointer, contiguous :: i2(:)
    integer(int32), pointer, contiguous :: i4(:)
    real(real32), pointer, contiguous :: f4(:)
    real(real64), pointer, contiguous :: f8(:)
    integer :: status
    logical :: any_null
    status = 0
    select case (type(1) // type(2))
    case ('i2')
      call c_f_pointer(out, i2, [pixels])
      call ftgpvi(unit, 1, 1, int(pixels), 0_int16, i2, any_null, status)
    case ('i4')
      call c_f_pointer(out, i4, [pixels])
      call ftgpvj(unit, 1, 1, int(pixels), 0_int32, i4, any_null, status)
    case ('f4')
      call c_f_pointer(out, f4, [pixels])
      call ftgpve(unit, 1, 1, int(pixels), 0.0_real32, f4, any_null, status)
    case ('f8')
      call c_f_pointer(out, f8, [pixels])
      call ftgpvd(unit, 1, 1, int(pixels), 0.0_real64, f8, any_null, status)
    case default
      write (error_unit, '(a)') 'no subroutine for ' // type(1) // type(2)
      fortran_image = 5
      return
    end select
    fortran_image = told(status)
  end function

  integer(c_int) function fortran_columns(type, columns, length, names, rows, chunks, out) bind(C)
    character(kind=c_char), intent(in) :: type(2)
    integer(c_int), value :: columns, length, chunks
    character(kind=c_char), intent(in) :: names(length, columns)
    integer(c_long_long), value :: rows
    type(c_ptr), value :: out
    real(real32), pointer, contiguous :: f4(:, :)
    real(real64), pointer, contiguous :: f8(:, :)
    integer :: status, numbers(columns), n, row, chunk, many
    logical :: any_null
    status = 0
    chunk = int(rows)
    if (chunks /= 0) call ftgrsz(unit, chunk, status)
    call c_f_pointer(out, f4, [int(rows), columns])
    call c_f_pointer(out, f8, [int(rows), columns])
    do n = 1, columns
      call ftgcno(unit, .false., joined(names(:, n), length), numbers(n), status)
    end do
    do row = 1, int(rows), max(chunk, 1)
      many = min(chunk, int(rows) - row + 1)
      do n = 1, columns
        select case (type(1) // type(2))
        case ('f4')
          call ftgcve(unit, numbers(n), row, 1, many, 0.0_real32, f4(row:, n), any_null, status)
        case ('f8')
          call ftgcvd(unit, numbers(n), row, 1, many, 0.0_real64, f8(row:, n), any_null, status)
        case default
          write (error_unit, '(a)') 'no subroutine for ' // type(1) // type(2)
          fortran_columns = 5
          return
        end select
      end do
    end do
    fortran_columns = told(status)
  end function

  integer(c_int) function fortran_write_image(path, length, naxis, axes, pixels) bind(C)
    integer(c_int), value :: length, naxis
    character(kind=c_char), intent(in) :: path(length)
    integer(c_long_long), intent(in) :: axes(naxis)
    integer(int16), intent(in) :: pixels(product(axes))
    integer :: status, made
    status = 0
    call ftgiou(made, status)
    call ftinit(made, joined(path, length), 1, status)
    call ftphpr(made, .true., 16, naxis, int(axes), 0, 1, .true., status)
    call ftppri(made, 1, 1, size(pixels), pixels, status)
    call ftclos(made, status)
    call ftfiou(made, status)
    fortran_write_image = told(status)
  end function

  integer(c_int) function fortran_write_table(path, length, columns, name_length, names, rows, chunks, &
      values) bind(C)
    integer(c_int), value :: length, columns, name_length, chunks
    character(kind=c_char), intent(in) :: path(length), names(name_length, columns)
    integer(c_long_long), value :: rows
    real(real32), intent(in) :: values(rows, columns)
    character(len=32) :: types(columns), forms(columns), units(columns)
    integer :: status, made, n, row, chunk, many
    status = 0
    do n = 1, columns
      types(n) = joined(names(:, n), name_length)
    end do
    forms = '1E'
    units = ' '
    call ftgiou(made, status)
    call ftinit(made, joined(path, length), 1, status)
    call ftphpr(made, .true., 8, 0, [0], 0, 1, .true., status)
    call ftibin(made, int(rows), columns, types, forms, units, ' ', 0, status)
    chunk = int(rows)
    if (chunks /= 0) call ftgrsz(made, chunk, status)
    do row = 1, int(rows), max(chunk, 1)
      many = min(chunk, int(rows) - row + 1)
      do n = 1, columns
        call ftpcle(made, n, row, 1, many, values(row:, n), status)
      end do
    end do
    call ftclos(made, status)
    call ftfiou(made, status)
    fortran_write_table = told(status)
  end function

  subroutine calls_version() bind(C)
    real :: version
    call ftvers(version)
    print '(a, f6.4, 2a)', 'FITSIO ', version, ', -O2 by ', compiler_version()
  end subroutine
end module
