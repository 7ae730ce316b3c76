! Hanning smoothing of a cube along x, y or z, the sum of two cubes, the statistics of one, and one as
! an array in memory: the loops that an astronomer would write. The pixels of a FITS file are read and written as they are, big-endian, by stream
! access; the compiler's library turns them. Rows are taken as many at a time as make about 64 KiB,
! which was faster than a row of 128 pixels and than a plane of 64 MB, and along z planes. What
! stands at the edges: the first sample, once more.
!
!     cube OPERATION OUTPUT OFFSET NX NY NZ INPUT [INPUT]
!
! OPERATION is x, y, z, add, read or stats, and the last two write no OUTPUT; OFFSET is the size of the
! header in bytes. It prints the seconds from opening the files to closing them, after those of read the
! sum of the bits of all pixels, and after those of stats sum, sum of squares, minimum, maximum.
program cube
  use, intrinsic :: iso_fortran_env, only: int32, int64, real32, real64, compiler_version
  implicit none
  character(len=4096) :: operation, output, input, second
  integer(int64) :: offset, began, ended, rate
  integer :: nx, ny, nz
  real(real64) :: total, squares
  real(real32) :: least, most
  real(real32), allocatable :: whole(:, :)

  call get_command_argument(1, operation)
  if (operation == '--version') then
    print '(a)', compiler_version()
    stop
  end if
  call get_command_argument(2, output)
  offset = number(3)
  nx = int(number(4))
  ny = int(number(5))
  nz = int(number(6))
  call get_command_argument(7, input)
  call get_command_argument(8, second)

  call system_clock(began, rate)
  open (unit=10, file=trim(input), access='stream', form='unformatted', convert='big_endian', &
        action='read', status='old')
  if (operation == 'read' .or. operation == 'stats') then
    read (10, pos=offset + 1)
  else
    open (unit=20, file=trim(output), access='stream', form='unformatted', convert='big_endian', &
          action='write', status='replace')
    call copy_header()
  end if
  select case (operation)
  case ('read')
    call read_whole()
  case ('stats')
    call statistics()
  case ('x')
    call hanning_x()
  case ('y')
    call hanning_y()
  case ('z')
    call hanning_z()
  case ('add')
    open (unit=11, file=trim(second), access='stream', form='unformatted', convert='big_endian', &
          action='read', status='old')
    call add()
    close (11)
  case default
    stop 'unknown operation'
  end select
  close (10)
  if (operation /= 'read' .and. operation /= 'stats') then
    call pad()
    close (20)
  end if
  call system_clock(ended)
  print '(f0.9)', real(ended - began, real64)/real(rate, real64)
  if (operation == 'read') print '(i0)', bits_of_whole()
  if (operation == 'stats') print '(4es26.17e3)', total, squares, least, most

contains

  integer(int64) function number(position)
    integer, intent(in) :: position
    character(len=32) :: text
    call get_command_argument(position, text)
    read (text, *) number
  end function number

  ! The header goes into the output as it is.
  subroutine copy_header()
    character(len=1), allocatable :: header(:)
    allocate (header(offset))
    read (10, pos=1) header
    write (20) header
  end subroutine copy_header

  ! FITS files are whole blocks of 2880 bytes.
  subroutine pad()
    integer(int64) :: size
    inquire (unit=20, pos=size)
    size = size - 1
    if (mod(size, 2880_int64) /= 0) write (20) repeat(char(0), int(2880 - mod(size, 2880_int64)))
  end subroutine pad

  ! How many rows to take at a time.
  integer function rows_of_a_band()
    rows_of_a_band = max(1, min(ny, 16384/nx))
  end function rows_of_a_band

  subroutine hanning_x()
    real(real32), allocatable :: a(:, :), b(:, :)
    integer :: i, j, k, first, rows, n
    rows = rows_of_a_band()
    allocate (a(nx, rows), b(nx, rows))
    do k = 1, nz
      do first = 1, ny, rows
        n = min(rows, ny - first + 1)
        read (10) a(:, 1:n)
        do j = 1, n
          b(1, j) = 0.75*a(1, j) + 0.25*a(2, j)
          do i = 2, nx - 1
            b(i, j) = 0.25*a(i - 1, j) + 0.5*a(i, j) + 0.25*a(i + 1, j)
          end do
          b(nx, j) = 0.75*a(nx, j) + 0.25*a(nx - 1, j)
        end do
        write (20) b(:, 1:n)
      end do
    end do
  end subroutine hanning_x

  ! Row 0 is the one before the band, row n + 1 the one after it, which is read ahead.
  subroutine hanning_y()
    real(real32), allocatable :: a(:, :), b(:, :)
    integer :: i, j, k, first, rows, n
    rows = rows_of_a_band()
    allocate (a(nx, 0:rows + 1), b(nx, rows))
    do k = 1, nz
      read (10) a(:, rows + 1)
      a(:, rows) = a(:, rows + 1)
      do first = 1, ny, rows
        n = min(rows, ny - first + 1)
        a(:, 0:1) = a(:, rows:rows + 1)
        if (first + n <= ny) then
          read (10) a(:, 2:n + 1)
        else
          read (10) a(:, 2:n)
          a(:, n + 1) = a(:, n)
        end if
        do j = 1, n
          do i = 1, nx
            b(i, j) = 0.25*a(i, j - 1) + 0.5*a(i, j) + 0.25*a(i, j + 1)
          end do
        end do
        write (20) b(:, 1:n)
      end do
    end do
  end subroutine hanning_y

  ! Three planes are kept, and take turns.
  subroutine hanning_z()
    real(real32), allocatable :: a(:, :, :), b(:, :)
    integer :: i, j, k, before, here, after
    allocate (a(nx, ny, 3), b(nx, ny))
    read (10) a(:, :, 1)
    read (10) a(:, :, 2)
    b = 0.75*a(:, :, 1) + 0.25*a(:, :, 2)
    write (20) b
    do k = 2, nz - 1
      before = 1 + mod(k - 2, 3)
      here = 1 + mod(k - 1, 3)
      after = 1 + mod(k, 3)
      read (10) a(:, :, after)
      do j = 1, ny
        do i = 1, nx
          b(i, j) = 0.25*a(i, j, before) + 0.5*a(i, j, here) + 0.25*a(i, j, after)
        end do
      end do
      write (20) b
    end do
    before = 1 + mod(nz - 2, 3)
    here = 1 + mod(nz - 1, 3)
    b = 0.75*a(:, :, here) + 0.25*a(:, :, before)
    write (20) b
  end subroutine hanning_z

  subroutine add()
    real(real32), allocatable :: a(:, :), b(:, :)
    integer :: k, first, rows, n
    rows = rows_of_a_band()
    allocate (a(nx, rows), b(nx, rows))
    read (11, pos=offset + 1)
    do k = 1, nz
      do first = 1, ny, rows
        n = min(rows, ny - first + 1)
        read (10) a(:, 1:n)
        read (11) b(:, 1:n)
        a = a + b
        write (20) a(:, 1:n)
      end do
    end do
  end subroutine add

  ! One plane at a time, as the library turns the bytes of a whole list of numbers at once.
  subroutine read_whole()
    integer :: k
    allocate (whole(nx*ny, nz))
    do k = 1, nz
      read (10) whole(:, k)
    end do
  end subroutine read_whole

  integer(int64) function bits_of_whole()
    integer(int32) :: pattern
    integer :: i, k
    bits_of_whole = 0
    do k = 1, nz
      do i = 1, nx*ny
        pattern = transfer(whole(i, k), pattern)
        bits_of_whole = bits_of_whole + iand(int(pattern, int64), 4294967295_int64)
      end do
    end do
  end function bits_of_whole

  ! Sixteen sums side by side, which the compiler makes vectors of.
  subroutine statistics()
    real(real32), allocatable :: a(:)
    real(real64) :: sums(16), squared(16)
    integer(int64) :: left
    integer :: i, n, band
    band = nx*rows_of_a_band()
    allocate (a(band))
    sums = 0
    squared = 0
    least = huge(least)
    most = -huge(most)
    left = int(nx, int64)*ny*nz
    do while (left > 0)
      n = int(min(int(band, int64), left))
      read (10) a(1:n)
      do i = 1, n - 15, 16
        sums = sums + a(i:i + 15)
        squared = squared + real(a(i:i + 15), real64)**2
      end do
      do i = n - mod(n, 16) + 1, n
        sums(1) = sums(1) + a(i)
        squared(1) = squared(1) + real(a(i), real64)**2
      end do
      least = min(least, minval(a(1:n)))
      most = max(most, maxval(a(1:n)))
      left = left - n
    end do
    total = sum(sums)
    squares = sum(squared)
  end subroutine statistics

end program cube
