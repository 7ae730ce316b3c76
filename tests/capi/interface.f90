! Uses the whole Fortran module on files that it writes itself, and on a table; reports what is
! wrong and stops with 1.
program interface
  use, intrinsic :: ieee_arithmetic, only: ieee_is_nan, ieee_quiet_nan, ieee_value
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64
  use tachyfits
  implicit none
  character(len=:), allocatable :: path, table_path
  character(len=200) :: message = ""
  character(len=1000) :: word
  integer :: failures, stat

  failures = 0
  call get_command_argument(1, word)
  path = trim(word)
  call get_command_argument(2, word)
  table_path = trim(word)
  call one_image()
  call several_hdus()
  call a_table_of_others()
  call variables_of_one_file()
  deallocate (path, table_path)
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

  !> Expect an error of a kind with words in its message.
  subroutine expect_error(kind, words, what)
    integer, intent(in) :: kind
    character(len=*), intent(in) :: words, what
    call expect(stat == kind .and. index(message, words) > 0, "an error for " // what // &
      ", found: " // trim(message))
    message = ""
  end subroutine

  subroutine one_image()
    type(fits_file) :: file
    type(fits_header) :: header, copy
    type(fits_stats) :: stats
    integer(int16) :: pixels(4, 3)
    integer(int32), allocatable :: wide(:, :)
    integer(int16), allocatable :: part(:, :)
    integer(int8), allocatable :: bytes(:, :)
    real(real32), allocatable :: real_pixels(:, :), rows_of(:)
    real(real64) :: exptime, line(12), other(3, 4)
    character(len=:), allocatable :: object
    integer :: n, frames, hdu
    integer(int64) :: big
    real(real32) :: single
    logical :: flat
    pixels = reshape([(int(100 * n, int16), n=0, 11)], [4, 3])
    call header%set("OBJECT", "M 31", "name")
    call header%set("EXPTIME", 2.5_real64)
    call header%set("FRAMES", 3)
    call header%set("BIG", 4000000000_int64)
    call header%set("FLAT", .true.)
    call header%set("GAIN", 1.5_real32)
    call header%add("HISTORY", "written by a test")
    call header%set("BAD", ieee_value(exptime, ieee_quiet_nan), stat=stat, errmsg=message)
    call expect_error(3, "BAD", "NaN in a header")
    copy = header
    call copy%set("OBJECT", "M 33")
    call copy%remove("GAIN")
    call copy%get("GAIN", single, default=-1.0_real32)
    call expect(single < 0, "no card in the copy")
    call fits_write(path, pixels, header, overwrite=.true., checksum=.true.)
    call fits_write(path, pixels, stat=stat, errmsg=message)
    call expect_error(1, path, "a file that exists")

    call file%read(wide, stat=stat, errmsg=message)
    call expect(stat == 3, "an error for a file that is not open")
    call file%open(path)
    call expect(file%hdus() == 1 .and. all(file%shape() == [4_int64, 3_int64]), "one image")
    call file%get("OBJECT", object)
    call file%get("EXPTIME", exptime, default=1.0_real64)
    call file%get("FRAMES", frames)
    call expect(object == "M 31" .and. abs(exptime - 2.5_real64) <= 0 .and. frames == 3, "cards")
    call file%get("FLAT", flat)
    call file%get("GAIN", single)
    call file%get("BIG", big)
    call expect(flat .and. abs(single - 1.5) <= 0 .and. big == 4000000000_int64, "more cards")
    call file%get("BIG", frames, stat=stat, errmsg=message)
    call expect_error(3, "4000000000", "an integer that is too large")
    call file%get("ABSENT", frames, default=7)
    call file%get("ABSENT", object, default="none")
    call expect(frames == 7 .and. object == "none", "defaults")
    call file%get("ABSENT", frames, stat=stat, errmsg=message)
    call expect_error(3, "ABSENT", "a missing card")
    call file%get("OBJECT", frames, stat=stat, errmsg=message)
    call expect_error(2, "OBJECT", "text as a number")
    call file%header(copy)
    call copy%get("HISTORY", object, default="")
    call copy%get("OBJECT", object)
    call expect(object == "M 31", "a header")

    call file%read(part, section=reshape([2, 4, 2, 3, 1, -2], [3, 2]))
    call expect(all(part == reshape([9_int16, 11_int16, 1_int16, 3_int16], [2, 2]) * 100_int16), &
      "a section with steps")
    call file%read(wide)
    call file%read(real_pixels, threads=1)
    call expect(all(wide == pixels) .and. all(nint(real_pixels) == pixels), "wider pixels")
    call file%read(bytes, stat=stat, errmsg=message)
    call expect_error(3, "200", "a pixel that a byte does not hold")
    call file%read_into(line)
    call expect(nint(line(12)) == 1100, "pixels in an array of the caller")
    call file%read_into(other, stat=stat, errmsg=message)
    call expect_error(3, "invalid shape 3, 4 of the array: expected 4, 3", "another shape")
    call file%read(rows_of, stat=stat, errmsg=message)
    call expect_error(3, "invalid rank 1", "an array of one axis")
    call file%read(rows_of, section=reshape([1, 4, 1, 2, 2, 1], [3, 2]))
    call expect(size(rows_of) == 4 .and. nint(rows_of(1)) == 400, "a row")
    call file%read(part, section=reshape([1, 5, 1, 1, 3, 1], [3, 2]), stat=stat, errmsg=message)
    call expect_error(3, "invalid section 1, 5, 1 of axis 1: expected pixels from 1 to 4", &
      "a section beyond the image")
    call file%read(part, section=reshape([1, 4, 1], [3, 1]), stat=stat, errmsg=message)
    call expect_error(3, "3, 2", "a section of one axis")
    call file%read(part, hdu=3, stat=stat, errmsg=message)
    call expect(stat == 3, "an error for HDU 3")
    call file%stats(stats)
    call expect(stats%count == 12 .and. nint(stats%sum) == 6600 .and. stats%max_position == 12, &
      "statistics")
    call file%stats(stats, section=reshape([1, 2, 1, 1, 1, 1], [3, 2]))
    call expect(stats%count == 2 .and. nint(stats%mean) == 50, "statistics of a section")
    call file%find("NOTHERE", hdu, stat=stat, errmsg=message)
    call expect_error(3, "NOTHERE", "a missing HDU")
    call file%open(path // ".missing", stat=stat, errmsg=message)
    call expect_error(1, path // ".missing", "a missing file")
  end subroutine

  subroutine several_hdus()
    type(fits_writer) :: writer
    type(fits_table) :: table, other
    type(fits_file) :: file
    type(fits_header) :: header
    real(real32) :: image(2, 3)
    real(real32), allocatable :: pixels(:, :), cells(:, :)
    integer(int16), allocatable :: counts(:)
    integer(int32) :: into(2)
    character(len=:), allocatable :: names(:)
    logical, allocatable :: flags(:)
    integer :: hdu
    image = reshape([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3])
    call table%add("COUNT", [1_int16, 2_int16, 3_int16], unit="ct")
    call table%add("NAME", [character(len=5) :: "one", "two", "three"])
    call table%add("FLAG", [.true., .false., .true.])
    call table%add("VECTOR", image)
    call table%add("SHORT", [1.0, 2.0], stat=stat, errmsg=message)
    call expect_error(3, "invalid length 2 of column SHORT: expected 3 rows", "a short column")
    other = table
    call expect(table%rows() == 3 .and. other%rows() == 3, "three rows")
    call header%set("EXTNAME", "EVENTS")

    call writer%create(path // ".hdus", overwrite=.true.)
    call writer%write(image, compression="GZIP_2")
    call writer%write(table, header)
    call writer%append(other)
    call writer%commit()
    call writer%commit(stat=stat, errmsg=message)
    call expect(stat == 3, "an error for a writer without a file")
    call writer%create(path // ".hdus", stat=stat, errmsg=message)
    call expect(stat == 1, "an error for a file that exists")

    call file%open(path // ".hdus")
    call file%find("events", hdu)
    call expect(file%rows(hdu) == 6, "six rows")
    call file%column("COUNT", counts, hdu)
    call file%column("NAME", names, hdu, where="COUNT > 1")
    call file%column("FLAG", flags, hdu, where="COUNT < 3")
    call file%column("VECTOR", cells, hdu, where="COUNT == 3")
    call expect(all(counts == [1, 2, 3, 1, 2, 3]), "counts")
    call expect(len(names) == 5 .and. size(names) == 4 .and. names(2) == "three", "names")
    call expect(size(flags) == 4 .and. flags(1) .and. .not. flags(2), "flags")
    call expect(all(shape(cells) == [2, 2]) .and. all(nint(cells(:, 2)) == [5, 6]), "vectors")
    call file%column_into("COUNT", into, hdu, first=3_int64)
    call expect(all(into == [3, 1]), "two rows from the third")
    call file%column_into("COUNT", into, hdu, first=6_int64, stat=stat, errmsg=message)
    call expect(stat == 3, "an error for rows beyond the table")
    call file%column("VECTOR", counts, hdu, stat=stat, errmsg=message)
    call expect_error(3, "VECTOR", "cells of two elements in an array of rank 1")
    call file%column("NAME", counts, hdu, stat=stat, errmsg=message)
    call expect(stat == 3, "an error for texts as numbers")
    call file%column("COUNT", names, hdu, stat=stat, errmsg=message)
    call expect_error(3, "COUNT", "numbers as texts")
    call file%read(pixels, hdu=hdu - 1)
    call expect(all(nint(pixels) == nint(image)), "pixels of a compressed image")

    call writer%create(path // ".copy", overwrite=.true.)
    call writer%copy(file, hdu)
    call writer%commit()
    call file%open(path // ".copy")
    call expect(file%hdus() == 2 .and. file%rows(1) == 6, "a copy of the table")
    call writer%create(path // ".never")
    call writer%write(image)
    call writer%abandon()
    call file%open(path // ".never", stat=stat, errmsg=message)
    call expect(stat == 1, "no file of an abandoned writer")
    call fits_write(path // ".table", table, header, overwrite=.true.)
    call file%open(path // ".table")
    call expect(file%rows(1) == 3, "a file of one table")
  end subroutine

  !> The columns PI (J, null 40), ENERGY (D), NAME (A), PAIR (2E) and LIST (PE).
  subroutine a_table_of_others()
    type(fits_file) :: file
    real(real64), allocatable :: values(:, :), energies(:)
    real(real32) :: pairs(3, 2)
    integer(int32), allocatable :: pi(:)
    integer(int16), allocatable :: small(:)
    logical, allocatable :: nulls(:), marks(:, :)
    real(real32), allocatable :: cells(:, :)
    integer(int64), allocatable :: rows(:)
    character(len=:), allocatable :: names(:)
    call file%open(table_path)
    call expect(file%rows(1) == 3, "three rows")
    call file%column("PI", pi, hdu=1, where="PI > 30")
    call expect(size(pi) == 1 .and. pi(1) == 31, "the column PI of a row")
    call file%column("PI", small, hdu=1, nulls=nulls)
    call expect(all(small == [10, 40, 31]) .and. all(nulls .eqv. [.false., .true., .false.]), &
      "nulls of integers")
    call file%column("PI", energies, hdu=1)
    call expect(ieee_is_nan(energies(2)) .and. nint(energies(3)) == 31, "NaN for null integers")
    call file%column("ENERGY", pi, hdu=1, stat=stat, errmsg=message)
    call expect_error(3, "0.5", "a fraction as an integer")
    call file%columns([character(len=6) :: "PI", "ENERGY"], values, hdu=1)
    call expect(nint(10 * values(3, 2)) == 25 .and. nint(values(1, 1)) == 10, "two columns")
    call file%columns_into(["PI    ", "ENERGY"], pairs, hdu=1)
    call expect(nint(10 * pairs(1, 2)) == 5, "two columns in an array of the caller")
    call file%columns_into(["PI"], pairs, hdu=1, stat=stat, errmsg=message)
    call expect_error(3, "3, 2", "an array of two columns for one")
    call file%column("NAME", names, hdu=1)
    call expect(names(2) == "two", "texts")
    call file%column("PAIR", cells, hdu=1, nulls=marks)
    call expect(all(shape(marks) == [2, 3]) .and. marks(2, 1) .and. ieee_is_nan(cells(2, 1)), &
      "nulls of cells")
    call file%column("LIST", cells, hdu=1, stat=stat, errmsg=message)
    call expect_error(3, "variable length", "arrays of variable length")
    call file%column("NOTHERE", cells, hdu=1, stat=stat, errmsg=message)
    call expect_error(3, "NOTHERE", "a missing column")
    call file%rows_where("ENERGY < 1", rows, hdu=1)
    call expect(size(rows) == 1 .and. rows(1) == 1, "the first row")
    call file%rows_where("ENERGY <", rows, hdu=1, stat=stat, errmsg=message)
    call expect(stat == 3, "an error for half a condition")
  end subroutine

  subroutine variables_of_one_file()
    type(fits_file) :: first
    type(fits_file), allocatable :: second
    call first%open(path)
    allocate (second)
    second = first
    call first%close()
    call expect(first%hdus() == 0 .and. second%hdus() == 1, "a file that one variable keeps open")
    first = second
    deallocate (second)
    call expect(first%hdus() == 1, "a file that outlives a variable")
  end subroutine
end program
