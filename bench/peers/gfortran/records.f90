! Sequential unformatted records of real(8), as Janne Blomqvist's test of 2013 has them: one array,
! written and read again and again, with the machine's byte order or another.
!
!     records write|read PATH CONVERT ELEMENTS RECORDS TIMES
!
! It does so several times and prints the median of the seconds from opening the file to closing it, and the
! sum of all that is in it.
program records
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  character(len=4096) :: what, path, order
  integer(int64) :: began, ended, rate
  integer :: elements, many, times, time, i
  real(real64), allocatable :: values(:), seconds(:)
  real(real64) :: total
  logical :: there

  call get_command_argument(1, what)
  call get_command_argument(2, path)
  call get_command_argument(3, order)
  elements = number(4)
  many = number(5)
  times = number(6)
  allocate (values(elements), seconds(times))
  values = [(real(mod(i, 4), real64), i = 0, elements - 1)]
  do time = 1, times
    if (what == 'write') then
      inquire (file=trim(path), exist=there)
      if (there) then
        open (unit=10, file=trim(path), form='unformatted', status='old')
        close (10, status='delete')
      end if
      call system_clock(began, rate)
      open (unit=10, file=trim(path), form='unformatted', convert=trim(order), status='new')
      do i = 1, many
        write (10) values
      end do
    else
      call system_clock(began, rate)
      open (unit=10, file=trim(path), form='unformatted', convert=trim(order), status='old', &
            action='read')
      do i = 1, many
        read (10) values
      end do
    end if
    close (10)
    call system_clock(ended)
    seconds(time) = real(ended - began, real64)/real(rate, real64)
  end do
  ! Once more, for the sum.
  total = 0
  open (unit=10, file=trim(path), form='unformatted', convert=trim(order), action='read')
  do i = 1, many
    read (10) values
    total = total + sum(values)
  end do
  close (10)
  print '(f0.9, 1x, f0.1)', median(seconds), total

contains

  real(real64) function median(of)
    real(real64), intent(in) :: of(:)
    integer :: place, before
    median = of(1)
    do place = 1, size(of)
      before = count(of < of(place)) + count(of(:place - 1) <= of(place) .and. of(:place - 1) >= of(place))
      if (before == (size(of) - 1)/2) median = of(place)
    end do
  end function median

  integer function number(position)
    integer, intent(in) :: position
    character(len=32) :: text
    call get_command_argument(position, text)
    read (text, *) number
  end function number

end program records
