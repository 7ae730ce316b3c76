! Uses the Fortran module on files that it writes itself; says what is wrong and stops with 1.
program interface
  use, intrinsic :: iso_fortran_env, only: int16, int32, int64, real32, real64
  use tachyfits
  implicit none
  type(fits_file) :: file
  type(fits_header) :: header
  type(fits_stats) :: stats
  integer(int16) :: pixels(4, 3)
  integer(int32), allocatable :: wide(:, :)
  integer(int16), allocatable :: part(:, :)
  real(real32), allocatable :: real_pixels(:, :), rows_of(:)
  real(real64) :: exptime, line(12)
  real(real64), allocatable :: columns(:, :)
  integer(int32), allocatable :: pi(:)
  integer(int64), allocatable :: rows(:)
  character(len=:), allocatable :: object, names(:), path, table
  character(len=200) :: message
  integer :: n, stat, frames, failures
  character(len=1000) :: word

  failures = 0
  call get_command_argument(1, word)
  path = trim(word)
  call get_command_argument(2, word)
  table = trim(word)

  pixels = reshape([(int(n, int16), n=0, 11)], [4, 3])
  call header%set("OBJECT", "M 31", "name")
  call header%set("EXPTIME", 2.5_real64)
  call header%set("FRAMES", 3)
  call header%set("FLAT", .true.)
  call header%add("HISTORY", "made by a test")
  call fits_write(path, pixels, header, overwrite=.true.)
  call fits_write(path, pixels, stat=stat, errmsg=message)
  call expect(stat == 1 .and. index(message, path) > 0, "an error for a file that exists")

  call file%open(path)
  call expect(file%hdus() == 1 .and. all(file%shape() == [4_int64, 3_int64]), "one image")
  call file%get("OBJECT", object)
  call file%get("EXPTIME", exptime, default=1.0_real64)
  call file%get("FRAMES", frames)
  call expect(object == "M 31" .and. abs(exptime - 2.5_real64) <= 0 .and. frames == 3, "three cards")
  call file%get("ABSENT", frames, default=7)
  call expect(frames == 7, "a default")
  call file%get("ABSENT", frames, stat=stat)
  call expect(stat == 3, "an error for a missing card")
  call file%read(part, section=reshape([2, 4, 2, 3, 1, -2], [3, 2]))
  call expect(all(part == reshape([9_int16, 11_int16, 1_int16, 3_int16], [2, 2])), "a section")
  call file%read(wide)
  call file%read(real_pixels)
  call expect(all(wide == pixels) .and. all(nint(real_pixels) == pixels), "wider pixels")
  call file%read_into(line)
  call expect(nint(line(12)) == 11, "pixels in an array of the caller")
  call file%read(rows_of, stat=stat, errmsg=message)
  call expect(stat == 3, "an error for an array of one axis")
  call file%stats(stats)
  call expect(stats%count == 12 .and. nint(stats%sum) == 66 .and. stats%max_position == 12, "statistics")
  call file%open(path // ".missing", stat=stat, errmsg=message)
  call expect(stat == 1, "an error for a missing file")

  call file%open(table)
  call expect(file%rows(1) == 3, "three rows")
  call file%column("PI", pi, hdu=1, where="PI > 30")
  call expect(size(pi) == 2 .and. pi(2) == 31, "the column PI of two rows")
  call file%columns([character(len=6) :: "PI", "ENERGY"], columns, hdu=1)
  call expect(nint(10 * columns(3, 2)) == 25 .and. nint(columns(2, 1)) == 40, "two columns")
  call file%column("NAME", names, hdu=1)
  call expect(names(2) == "two", "texts")
  call file%rows_where("ENERGY < 1", rows, hdu=1)
  call expect(size(rows) == 1 .and. rows(1) == 1, "the first row")
  call file%close()
  if (failures > 0) error stop 1
  print "(a)", "passed"
contains
  subroutine expect(condition, what)
    logical, intent(in) :: condition
    character(len=*), intent(in) :: what
    if (condition) return
    print "(a)", "expected " // what
    failures = failures + 1
  end subroutine
end program
