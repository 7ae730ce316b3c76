! Sequential unformatted records of real(8), as Janne Blomqvist's test of 2013 has them: one array,
! written and read again and again, with the machine's byte order or another.
!
!     records write|read PATH CONVERT ELEMENTS RECORDS
!
! It prints the seconds from opening the file to closing it, and the sum of all that is in it.
program records
  use, intrinsic :: iso_fortran_env, only: int64, real64
  implicit none
  character(len=4096) :: what, path, order
  integer(int64) :: began, ended, rate
  integer :: elements, count, i
  real(real64), allocatable :: values(:)
  real(real64) :: total

  call get_command_argument(1, what)
  call get_command_argument(2, path)
  call get_command_argument(3, order)
  elements = number(4)
  count = number(5)
  allocate (values(elements))
  values = [(real(mod(i, 4), real64), i = 0, elements - 1)]
  call system_clock(began, rate)
  if (what == 'write') then
    open (unit=10, file=trim(path), form='unformatted', convert=trim(order), status='replace')
    do i = 1, count
      write (10) values
    end do
  else
    open (unit=10, file=trim(path), form='unformatted', convert=trim(order), status='old', &
          action='read')
    do i = 1, count
      read (10) values
    end do
  end if
  close (10)
  call system_clock(ended)
  ! Once more, for the sum.
  total = 0
  open (unit=10, file=trim(path), form='unformatted', convert=trim(order), action='read')
  do i = 1, count
    read (10) values
    total = total + sum(values)
  end do
  close (10)
  print '(f0.9, 1x, f0.1)', real(ended - began, real64)/real(rate, real64), total

contains

  integer function number(position)
    integer, intent(in) :: position
    character(len=32) :: text
    call get_command_argument(position, text)
    read (text, *) number
  end function number

end program records
