! This project's Fortran module, with one thread. See common/calls.h.
module tachyfits_calls
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int16, int32, int64, real32, real64, compiler_version, error_unit
  use tachyfits
  implicit none
  type(fits_file), save :: file
  integer, save :: number = 0
  character(len=200), save :: message = ''

contains

  integer(c_int) function told(stat)
    integer, intent(in) :: stat
    told = merge(1, 0, stat /= 0)
    if (stat /= 0) write (error_unit, '(a)') trim(message)
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
    integer(int64), allocatable :: lengths(:)
    integer :: stat
    number = hdu
    call file%open(joined(path, length), stat, message)
    fortran_open = told(stat)
    if (stat /= 0) return
    if (is_table /= 0) then
      rows = file%rows(hdu)
    else
      lengths = file%shape(hdu)
      naxis = size(lengths)
      axes(:naxis) = lengths
    end if
  end function

  integer(c_int) function fortran_image(type, pixels, out) bind(C)
    character(kind=c_char), intent(in) :: type(2)
    integer(c_long_long), value :: pixels
    type(c_ptr), value :: out
    integer(int16), pointer, contiguous :: i2(:)
    integer(int32), pointer, contiguous :: i4(:)
    real(real32), pointer, contiguous :: f4(:)
    real(real64), pointer, contiguous :: f8(:)
    integer :: stat
    select case (type(1) // type(2))
    case ('i2')
      call c_f_pointer(out, i2, [pixels])
      call file%read_into(i2, number, threads=1, stat=stat, errmsg=message)
    case ('i4')
      call c_f_pointer(out, i4, [pixels])
      call file%read_into(i4, number, threads=1, stat=stat, errmsg=message)
    case ('f4')
      call c_f_pointer(out, f4, [pixels])
      call file%read_into(f4, number, threads=1, stat=stat, errmsg=message)
    case ('f8')
      call c_f_pointer(out, f8, [pixels])
      call file%read_into(f8, number, threads=1, stat=stat, errmsg=message)
    case default
      write (error_unit, '(a)') 'no type for ' // type(1) // type(2)
      fortran_image = 5
      return
    end select
    fortran_image = told(stat)
  end function

  integer(c_int) function fortran_columns(type, columns, length, names, rows, chunks, out) bind(C)
    character(kind=c_char), intent(in) :: type(2)
    integer(c_int), value :: columns, length, chunks
    character(kind=c_char), intent(in) :: names(length, columns)
    integer(c_long_long), value :: rows
    type(c_ptr), value :: out
    real(real32), pointer, contiguous :: f4(:, :)
    real(real64), pointer, contiguous :: f8(:, :)
    character(len=32) :: texts(columns)
    integer :: stat, n
    fortran_columns = merge(5, 0, chunks /= 0)
    if (chunks /= 0) return
    do n = 1, columns
      texts(n) = joined(names(:, n), length)
    end do
    select case (type(1) // type(2))
    case ('f4')
      call c_f_pointer(out, f4, [int(rows), columns])
      call file%columns_into(texts, f4, number, threads=1, stat=stat, errmsg=message)
    case ('f8')
      call c_f_pointer(out, f8, [int(rows), columns])
      call file%columns_into(texts, f8, number, threads=1, stat=stat, errmsg=message)
    case default
      write (error_unit, '(a)') 'no type for ' // type(1) // type(2)
      fortran_columns = 5
      return
    end select
    fortran_columns = told(stat)
  end function

  integer(c_int) function fortran_write_image(path, length, naxis, axes, pixels) bind(C)
    integer(c_int), value :: length, naxis
    character(kind=c_char), intent(in) :: path(length)
    integer(c_long_long), intent(in) :: axes(naxis)
    integer(int16), intent(in) :: pixels(axes(1), product(axes(2:)))
    integer :: stat
    call fits_write(joined(path, length), pixels, stat=stat, errmsg=message)
    fortran_write_image = told(stat)
  end function

  integer(c_int) function fortran_write_table(path, length, columns, name_length, names, rows, chunks, &
      values) bind(C)
    integer(c_int), value :: length, columns, name_length, chunks
    character(kind=c_char), intent(in) :: path(length), names(name_length, columns)
    integer(c_long_long), value :: rows
    real(real32), intent(in) :: values(rows, columns)
    type(fits_table) :: table
    integer :: stat, n
    fortran_write_table = merge(5, 0, chunks /= 0)
    if (chunks /= 0) return
    do n = 1, columns
      call table%add(joined(names(:, n), name_length), values(:, n))
    end do
    call fits_write(joined(path, length), table, stat=stat, errmsg=message)
    fortran_write_table = told(stat)
  end function

  subroutine calls_version() bind(C)
    print '(2a)', 'tachyfits from Fortran, -O2 by ', compiler_version()
  end subroutine
end module
