"""Write the Fortran module fortran/src/tachyfits.f90: one procedure for each type and rank.

    python tools/fortran_module.py           # writes it
    python tools/fortran_module.py --check   # says whether it is as written

The module is source, because a compiled one fits a single compiler.
"""

from __future__ import annotations

import sys
from pathlib import Path

TARGET = Path(__file__).resolve().parents[1] / "fortran" / "src" / "tachyfits.f90"

#: Kind, declaration, number of the type in C, and bytes.
TYPES = (
    ("int8", "integer(int8)", 2, 1),
    ("int16", "integer(int16)", 4, 2),
    ("int32", "integer(int32)", 6, 4),
    ("int64", "integer(int64)", 8, 8),
    ("real32", "real(real32)", 9, 4),
    ("real64", "real(real64)", 10, 8),
)
RANKS = (1, 2, 3, 4)

HEAD = """! tachyfits for Fortran 2018: FITS images, tables and headers.
!
! Made by tools/fortran_module.py: change that. Link with -ltachyfits.
!
! Pixels, rows and columns count from 1, as in FITS and Fortran; HDUs from 0. A section has first,
! last and step of each axis: reshape([1,100,1, 5,50,1], [3,2]) is a(1:100:1, 5:50:1). Undefined
! pixels (NaN and BLANK)
! are NaN in real arrays. Without stat, an error stops the program with its message; with stat it is
! 1 (input or output), 2 (the file breaks the Standard), 3 (usage), 4 (limits), 5 (cancelled) or
! 6 (internal), and errmsg has the message, cut to its length.
module tachyfits
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64, error_unit
  implicit none
  private
  public :: fits_file, fits_stats, fits_header, fits_write, fits_close

  integer(c_int32_t), parameter :: absent = -1, usage = 3

  !> What went wrong, as C has it.
  type, bind(C) :: c_error
    integer(c_int32_t) :: kind
    character(kind=c_char) :: code(44), message(720), hint(256)
  end type

  type, bind(C) :: c_options
    integer(c_int32_t) :: bytes, threads
    integer(c_int32_t) :: storage, flags
    type(c_ptr) :: job
  end type

  type, bind(C) :: c_range
    integer(c_int64_t) :: first, count, step
  end type

  type, bind(C) :: c_facts
    integer(c_int32_t) :: bytes, kind, pixel_type, stored_type, naxis, is_scaled
    real(c_double) :: scale, zero
    integer(c_int32_t) :: has_blank, is_compressed
    integer(c_int64_t) :: blank, axes(8), pixels, rows, columns, extver
    character(kind=c_char) :: extname(72)
  end type

  type, bind(C) :: c_stats
    integer(c_int32_t) :: bytes, reserved
    integer(c_int64_t) :: count, undefined
    real(c_double) :: sum, mean, rms, std, min, max
    integer(c_int64_t) :: min_position, max_position
  end type

  type, bind(C) :: c_column
    integer(c_int32_t) :: bytes, column, cell_type, stored
    type(c_ptr) :: values
    integer(c_size_t) :: room
    type(c_ptr) :: nulls
    integer(c_int64_t) :: null_count
  end type

  type, bind(C) :: c_column_facts
    integer(c_int32_t) :: bytes, cell_type
    integer(c_int64_t) :: elements, cell_bytes, shape(8)
    integer(c_int32_t) :: dimensions, is_variable, is_nullable, reserved
    character(kind=c_char) :: name(72), unit(72), form(72)
  end type

  !> Statistics of pixels; positions count from 1, 0 without any defined pixel.
  type :: fits_stats
    integer(int64) :: count, undefined
    real(real64) :: sum, mean, rms, std, min, max
    integer(int64) :: min_position, max_position
  end type

  !> Cards of a new HDU.
  type :: fits_header
    private
    type(c_ptr) :: handle = c_null_ptr
  contains
    generic :: set => set_int32, set_int64, set_real32, set_real64, set_logical, set_text
    procedure, private :: set_int32, set_int64, set_real32, set_real64, set_logical, set_text
    procedure :: add => header_add
    final :: free_header
  end type

  !> An open file. Threads may share it; it is closed at the end of its scope, or by close.
  type :: fits_file
    private
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: open => file_open
    procedure :: close => fits_close
    procedure :: hdus => file_hdus
    procedure :: find => file_find
    procedure :: shape => file_shape
    procedure :: rows => file_rows
    procedure :: stats => file_stats
    procedure :: rows_where => file_rows_where
    generic :: get => get_int32, get_int64, get_real32, get_real64, get_logical, get_text
    procedure, private :: get_int32, get_int64, get_real32, get_real64, get_logical, get_text
    generic :: read => @READS@
    procedure, private :: @READS@
    generic :: read_into => @INTOS@
    procedure, private :: @INTOS@
    generic :: column => @COLUMNS@, column_text
    procedure, private :: @COLUMNS@, column_text
    procedure :: columns => file_columns
    final :: close_file
  end type

  !> Write an array as the primary image of a new file.
  interface fits_write
    module procedure @WRITES@
  end interface

  interface
    integer(c_int) function c_open(path, options, file, error) bind(C, name="tachyfits_open")
      import
      character(kind=c_char), intent(in) :: path(*)
      type(c_options), intent(in) :: options
      type(c_ptr), intent(out) :: file
      type(c_error), intent(inout) :: error
    end function
    subroutine c_close(file) bind(C, name="tachyfits_close")
      import
      type(c_ptr), value :: file
    end subroutine
    integer(c_size_t) function c_hdus(file) bind(C, name="tachyfits_hdus")
      import
      type(c_ptr), value :: file
    end function
    integer(c_int) function c_find(file, extname, extver, hdu, error) bind(C, name="tachyfits_find")
      import
      type(c_ptr), value :: file
      character(kind=c_char), intent(in) :: extname(*)
      integer(c_int64_t), value :: extver
      integer(c_size_t), intent(out) :: hdu
      type(c_error), intent(inout) :: error
    end function
    integer(c_int) function c_describe(file, hdu, facts, error) bind(C, name="tachyfits_describe")
      import
      type(c_ptr), value :: file
      integer(c_size_t), value :: hdu
      type(c_facts), intent(inout) :: facts
      type(c_error), intent(inout) :: error
    end function
    integer(c_int) function c_axes(file, hdu, lengths, room, naxis, error) &
        bind(C, name="tachyfits_axes")
      import
      type(c_ptr), value :: file
      integer(c_size_t), value :: hdu, room
      integer(c_int64_t), intent(out) :: lengths(*)
      integer(c_size_t), intent(out) :: naxis
      type(c_error), intent(inout) :: error
    end function
    integer(c_int) function c_read(file, hdu, ranges, pixel, out, bytes, options, error) &
        bind(C, name="tachyfits_read")
      import
      type(c_ptr), value :: file, ranges, out
      integer(c_size_t), value :: hdu, bytes
      integer(c_int32_t), value :: pixel
      type(c_options), intent(in) :: options
      type(c_error), intent(inout) :: error
    end function
    integer(c_int) function c_statistics(file, hdu, ranges, region, stats, options, error) &
        bind(C, name="tachyfits_statistics")
      import
      type(c_ptr), value :: file, ranges, region
      integer(c_size_t), value :: hdu
      type(c_stats), intent(inout) :: stats
      type(c_options), intent(in) :: options
      type(c_error), intent(inout) :: error
    end function
    integer(c_int) function c_header_of(file, hdu, header, error) &
        bind(C, name="tachyfits_header_of")
      import
      type(c_ptr), value :: file
      integer(c_size_t), value :: hdu
      type(c_ptr), intent(out) :: header
      type(c_error), intent(inout) :: error
    end function
    integer(c_int) function c_header_new(header, error) bind(C, name="tachyfits_header_new")
      import
      type(c_ptr), intent(out) :: header
      type(c_error), intent(inout) :: error
    end function
    subroutine c_header_free(header) bind(C, name="tachyfits_header_free")
      import
      type(c_ptr), value :: header
    end subroutine
    integer(c_int) function c_get_i64(header, keyword, value, error) &
        bind(C, name="tachyfits_get_i64")
      import
      type(c_ptr), value :: header
      character(kind=c_char), intent(in) :: keyword(*)
      integer(c_int64_t), intent(out) :: value
      type(c_error), intent(inout) :: error
    end function
    integer(c_int) function c_get_f64(header, keyword, value, error) &
        bind(C, name="tachyfits_get_f64")
      import
      type(c_ptr), value :: header
      character(kind=c_char), intent(in) :: keyword(*)
      real(c_double), intent(out) :: value
      type(c_error), intent(inout) :: error
    end function
    integer(c_int) function c_get_logical(header, keyword, value, error) &
        bind(C, name="tachyfits_get_logical")
      import
      type(c_ptr), value :: header
      character(kind=c_char), intent(in) :: keyword(*)
      integer(c_int), intent(out) :: value
      type(c_error), intent(inout) :: error
    end function
    integer(c_int) function c_get_text(header, keyword, buffer, room, length, error) &
        bind(C, name="tachyfits_get_text")
      import
      type(c_ptr), value :: header, buffer
      character(kind=c_char), intent(in) :: keyword(*)
      integer(c_size_t), value :: room
      integer(c_size_t), intent(out) :: length
      type(c_error), intent(inout) :: error
    end function
    integer(c_int) function c_set_i64(header, keyword, value, comment, error) &
        bind(C, name="tachyfits_set_i64")
      import
      type(c_ptr), value :: header
      character(kind=c_char), intent(in) :: keyword(*), comment(*)
      integer(c_int64_t), value :: value
      type(c_error), intent(inout) :: error
    end function
    integer(c_int) function c_set_f64(header, keyword, value, comment, error) &
        bind(C, name="tachyfits_set_f64")
      import
      type(c_ptr), value :: header
      character(kind=c_char), intent(in) :: keyword(*), comment(*)
      real(c_double), value :: value
      type(c_error), intent(inout) :: error
    end function
    integer(c_int) function c_set_logical(header, keyword, value, comment, error) &
        bind(C, name="tachyfits_set_logical")
      import
      type(c_ptr), value :: header
      character(kind=c_char), intent(in) :: keyword(*), comment(*)
      integer(c_int), value :: value
      type(c_error), intent(inout) :: error
    end function
    integer(c_int) function c_set_text(header, keyword, value, comment, error) &
        bind(C, name="tachyfits_set_text")
      import
      type(c_ptr), value :: header
      character(kind=c_char), intent(in) :: keyword(*), value(*), comment(*)
      type(c_error), intent(inout) :: error
    end function
    integer(c_int) function c_commentary(header, keyword, words, error) &
        bind(C, name="tachyfits_add_commentary")
      import
      type(c_ptr), value :: header
      character(kind=c_char), intent(in) :: keyword(*), words(*)
      type(c_error), intent(inout) :: error
    end function
    integer(c_int) function c_column_find(file, hdu, name, column, error) &
        bind(C, name="tachyfits_column_find")
      import
      type(c_ptr), value :: file
      integer(c_size_t), value :: hdu
      character(kind=c_char), intent(in) :: name(*)
      integer(c_int32_t), intent(out) :: column
      type(c_error), intent(inout) :: error
    end function
    integer(c_int) function c_column_describe(file, hdu, column, facts, error) &
        bind(C, name="tachyfits_column_describe")
      import
      type(c_ptr), value :: file
      integer(c_size_t), value :: hdu
      integer(c_int32_t), value :: column
      type(c_column_facts), intent(inout) :: facts
      type(c_error), intent(inout) :: error
    end function
    integer(c_int) function c_read_columns(file, hdu, columns, count, first, rows, options, error) &
        bind(C, name="tachyfits_read_columns")
      import
      type(c_ptr), value :: file
      integer(c_size_t), value :: hdu, count
      type(c_column), intent(inout) :: columns(*)
      integer(c_int64_t), value :: first, rows
      type(c_options), intent(in) :: options
      type(c_error), intent(inout) :: error
    end function
    integer(c_int) function c_rows_where(file, hdu, condition, first, rows, found, count, options, &
        error) bind(C, name="tachyfits_rows_where")
      import
      type(c_ptr), value :: file
      integer(c_size_t), value :: hdu
      character(kind=c_char), intent(in) :: condition(*)
      integer(c_int64_t), value :: first, rows
      type(c_ptr), intent(out) :: found
      integer(c_size_t), intent(out) :: count
      type(c_options), intent(in) :: options
      type(c_error), intent(inout) :: error
    end function
    subroutine c_rows_free(rows, count) bind(C, name="tachyfits_rows_free")
      import
      type(c_ptr), value :: rows
      integer(c_size_t), value :: count
    end subroutine
    integer(c_int) function c_create(path, options, writer, error) bind(C, name="tachyfits_create")
      import
      character(kind=c_char), intent(in) :: path(*)
      type(c_options), intent(in) :: options
      type(c_ptr), intent(out) :: writer
      type(c_error), intent(inout) :: error
    end function
    integer(c_int) function c_write_image(writer, header, pixel, naxis, axes, pixels, bytes, &
        compression, options, error) bind(C, name="tachyfits_write_image")
      import
      type(c_ptr), value :: writer, header, pixels, compression
      integer(c_int32_t), value :: pixel
      integer(c_size_t), value :: naxis, bytes
      integer(c_int64_t), intent(in) :: axes(*)
      type(c_options), intent(in) :: options
      type(c_error), intent(inout) :: error
    end function
    integer(c_int) function c_commit(writer, error) bind(C, name="tachyfits_commit")
      import
      type(c_ptr), value :: writer
      type(c_error), intent(inout) :: error
    end function
    subroutine c_abandon(writer) bind(C, name="tachyfits_abandon")
      import
      type(c_ptr), value :: writer
    end subroutine
  end interface

contains

  ! Errors and texts.

  !> Hand an outcome to the caller: in stat and errmsg, or by stopping the program.
  subroutine report(outcome, error, stat, errmsg)
    integer(c_int), intent(in) :: outcome
    type(c_error), intent(in) :: error
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(len=:), allocatable :: message
    if (present(stat)) stat = max(int(outcome), 0)
    if (outcome <= 0) return
    message = fortran_text(error%message)
    if (present(errmsg)) errmsg = message
    if (present(stat)) return
    write (error_unit, "(a)") message // new_line("a") // "hint: " // fortran_text(error%hint)
    error stop 1
  end subroutine

  !> An error of this module.
  subroutine refuse(message, hint, error)
    character(len=*), intent(in) :: message, hint
    type(c_error), intent(inout) :: error
    error%kind = usage
    call fill(error%message, message)
    call fill(error%hint, hint)
  end subroutine

  pure subroutine fill(field, text)
    character(kind=c_char), intent(inout) :: field(:)
    character(len=*), intent(in) :: text
    integer :: n
    field = c_null_char
    do n = 1, min(len(text), size(field) - 1)
      field(n) = text(n:n)
    end do
  end subroutine

  pure function fortran_text(field) result(text)
    character(kind=c_char), intent(in) :: field(:)
    character(len=:), allocatable :: text
    integer :: n, length
    length = size(field)
    do n = 1, size(field)
      if (field(n) == c_null_char) then
        length = n - 1
        exit
      end if
    end do
    allocate (character(len=length) :: text)
    do n = 1, length
      text(n:n) = field(n)
    end do
  end function

  pure function c_text(text) result(ended)
    character(len=*), intent(in) :: text
    character(len=:, kind=c_char), allocatable :: ended
    ended = trim(text) // c_null_char
  end function

  pure function options_of(threads, flags) result(options)
    integer, intent(in), optional :: threads
    integer, intent(in), optional :: flags
    type(c_options) :: options
    options = c_options(int(c_sizeof(options), c_int32_t), 0, 0, 0, c_null_ptr)
    if (present(threads)) options%threads = int(threads, c_int32_t)
    if (present(flags)) options%flags = int(flags, c_int32_t)
  end function

  pure integer(c_size_t) function number_of(hdu)
    integer, intent(in), optional :: hdu
    number_of = 0
    if (present(hdu)) number_of = int(hdu, c_size_t)
  end function

  ! Files.

  subroutine file_open(self, path, stat, errmsg)
    class(fits_file), intent(inout) :: self
    character(len=*), intent(in) :: path
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(c_int) :: outcome
    call fits_close(self)
    outcome = c_open(c_text(path), options_of(), self%handle, error)
    if (outcome /= 0) self%handle = c_null_ptr
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine fits_close(self)
    class(fits_file), intent(inout) :: self
    call c_close(self%handle)
    self%handle = c_null_ptr
  end subroutine

  impure elemental subroutine close_file(self)
    type(fits_file), intent(inout) :: self
    call c_close(self%handle)
    self%handle = c_null_ptr
  end subroutine

  integer function file_hdus(self)
    class(fits_file), intent(in) :: self
    file_hdus = int(c_hdus(self%handle))
  end function

  !> The number of the HDU of an EXTNAME, from 0.
  subroutine file_find(self, extname, hdu, extver, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: extname
    integer, intent(out) :: hdu
    integer, intent(in), optional :: extver
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(c_size_t) :: number
    integer(c_int64_t) :: version
    integer(c_int) :: outcome
    version = 0
    number = 0
    if (present(extver)) version = extver
    outcome = c_find(self%handle, c_text(extname), version, number, error)
    hdu = int(number)
    call report(outcome, error, stat, errmsg)
  end subroutine

  !> Lengths of the axes of an image, NAXIS1 first.
  function file_shape(self, hdu) result(lengths)
    class(fits_file), intent(in) :: self
    integer, intent(in), optional :: hdu
    integer(int64), allocatable :: lengths(:)
    type(c_error) :: error
    integer(c_int64_t) :: axes(999)
    integer(c_size_t) :: naxis
    integer(c_int) :: outcome
    naxis = 0
    outcome = c_axes(self%handle, number_of(hdu), axes, 999_c_size_t, naxis, error)
    call report(outcome, error)
    lengths = axes(:naxis)
  end function

  !> Rows of a table.
  integer(int64) function file_rows(self, hdu)
    class(fits_file), intent(in) :: self
    integer, intent(in), optional :: hdu
    type(c_error) :: error
    type(c_facts) :: facts
    integer(c_int) :: outcome
    facts%bytes = int(c_sizeof(facts), c_int32_t)
    outcome = c_describe(self%handle, number_of(hdu), facts, error)
    call report(outcome, error)
    file_rows = facts%rows
  end function

  !> Statistics of an image in one pass.
  subroutine file_stats(self, stats, hdu, section, stat, errmsg)
    class(fits_file), intent(in) :: self
    type(fits_stats), intent(out) :: stats
    integer, intent(in), optional :: hdu
    integer, intent(in), optional :: section(:, :)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_stats) :: found
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    found%bytes = int(c_sizeof(found), c_int32_t)
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    if (outcome == 0) outcome = c_statistics(self%handle, number_of(hdu), pointer_to(ranges), &
      c_null_ptr, found, options_of(), error)
    stats = fits_stats(found%count, found%undefined, found%sum, found%mean, found%rms, found%std, &
      found%min, found%max, found%min_position + 1, found%max_position + 1)
    call report(outcome, error, stat, errmsg)
  end subroutine

  !> The ranges of a section, first, last and step of each axis, and the shape of what they have.
  subroutine ranges_of(self, hdu, section, ranges, lengths, outcome, error)
    class(fits_file), intent(in) :: self
    integer(c_size_t), intent(in) :: hdu
    integer, intent(in), optional :: section(:, :)
    type(c_range), allocatable, intent(out) :: ranges(:)
    integer(int64), allocatable, intent(out) :: lengths(:)
    integer(c_int), intent(out) :: outcome
    type(c_error), intent(inout) :: error
    integer(c_int64_t) :: axes(999)
    integer(c_size_t) :: naxis
    integer(int64) :: first, last, step
    integer :: n
    naxis = 0
    outcome = c_axes(self%handle, hdu, axes, 999_c_size_t, naxis, error)
    lengths = axes(:naxis)
    if (outcome /= 0 .or. .not. present(section)) return
    outcome = usage
    if (size(section, 1) /= 3 .or. size(section, 2) /= int(naxis)) then
      call refuse("invalid section: expected first, last and step of each axis", &
        "use reshape([1,100,1, 5,50,1], [3,2])", error)
      return
    end if
    allocate (ranges(naxis))
    do n = 1, int(naxis)
      first = section(1, n)
      last = section(2, n)
      step = section(3, n)
      if (step == 0) then
        call refuse("invalid step 0 of a section: expected another number", "use 1 or -1", error)
        return
      end if
      if (min(first, last) < 1 .or. max(first, last) > axes(n)) then
        call refuse("invalid section: expected pixels of the image, counted from 1", &
          "see the shape of the image", error)
        return
      end if
      lengths(n) = max((last - first + step) / step, 0_int64)
      ranges(n) = c_range(first - 1, lengths(n), step)
    end do
    outcome = 0
  end subroutine

  function pointer_to(ranges) result(pointer)
    type(c_range), allocatable, target, intent(in) :: ranges(:)
    type(c_ptr) :: pointer
    pointer = c_null_ptr
    if (allocated(ranges)) pointer = c_loc(ranges)
  end function

  ! Headers.

  subroutine with_header(self, hdu, header, outcome, error)
    class(fits_file), intent(in) :: self
    integer, intent(in), optional :: hdu
    type(c_ptr), intent(out) :: header
    integer(c_int), intent(out) :: outcome
    type(c_error), intent(inout) :: error
    outcome = c_header_of(self%handle, number_of(hdu), header, error)
    if (outcome /= 0) header = c_null_ptr
  end subroutine

  !> What a missing card gives: the default, or an error.
  subroutine missing(keyword, has_default, outcome, error)
    character(len=*), intent(in) :: keyword
    logical, intent(in) :: has_default
    integer(c_int), intent(inout) :: outcome
    type(c_error), intent(inout) :: error
    if (outcome /= absent) return
    outcome = 0
    if (has_default) return
    outcome = usage
    call refuse("the header has no card " // trim(keyword), "give default=", error)
  end subroutine
"""

GET = """
  subroutine get_{name}(self, keyword, value, default, hdu, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: keyword
    {type}, intent(out) :: value
    {type}, intent(in), optional :: default
    integer, intent(in), optional :: hdu
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_ptr) :: header
    {c_type} :: found
    integer(c_int) :: outcome
    found = {zero}
    call with_header(self, hdu, header, outcome, error)
    if (outcome == 0) outcome = {call}(header, c_text(keyword), found, error)
    call c_header_free(header)
    value = {convert}
    if (outcome == absent .and. present(default)) value = default
    call missing(keyword, present(default), outcome, error){check}
    call report(outcome, error, stat, errmsg)
  end subroutine
"""

RANGE_CHECK = """
    if (outcome == 0 .and. abs(found) > huge(value)) then
      outcome = usage
      call refuse("invalid type for " // trim(keyword) // ": its number does not fit", &
        "use integer(int64)", error)
    end if"""

GET_TEXT = """
  subroutine get_text(self, keyword, value, default, hdu, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: keyword
    character(len=:), allocatable, intent(out) :: value
    character(len=*), intent(in), optional :: default
    integer, intent(in), optional :: hdu
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_ptr) :: header
    character(kind=c_char), allocatable, target :: buffer(:)
    integer(c_size_t) :: length
    integer(c_int) :: outcome
    length = 0
    value = ""
    call with_header(self, hdu, header, outcome, error)
    if (outcome == 0) outcome = c_get_text(header, c_text(keyword), c_null_ptr, 0_c_size_t, &
      length, error)
    if (outcome == 0) then
      allocate (buffer(length + 1))
      outcome = c_get_text(header, c_text(keyword), c_loc(buffer), size(buffer, kind=c_size_t), &
        length, error)
      value = fortran_text(buffer)
    end if
    call c_header_free(header)
    if (outcome == absent .and. present(default)) value = default
    call missing(keyword, present(default), outcome, error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine begin_header(self, outcome, error)
    class(fits_header), intent(inout) :: self
    integer(c_int), intent(out) :: outcome
    type(c_error), intent(inout) :: error
    outcome = 0
    if (c_associated(self%handle)) return
    outcome = c_header_new(self%handle, error)
  end subroutine

  impure elemental subroutine free_header(self)
    type(fits_header), intent(inout) :: self
    call c_header_free(self%handle)
    self%handle = c_null_ptr
  end subroutine

  pure function comment_of(comment) result(text)
    character(len=*), intent(in), optional :: comment
    character(len=:, kind=c_char), allocatable :: text
    text = c_null_char
    if (present(comment)) text = c_text(comment)
  end function

  !> Add a line of COMMENT or HISTORY.
  subroutine header_add(self, keyword, text)
    class(fits_header), intent(inout) :: self
    character(len=*), intent(in) :: keyword, text
    type(c_error) :: error
    integer(c_int) :: outcome
    call begin_header(self, outcome, error)
    if (outcome == 0) outcome = c_commentary(self%handle, c_text(keyword), c_text(text), error)
    call report(outcome, error)
  end subroutine
"""

SET = """
  subroutine set_{name}(self, keyword, value, comment)
    class(fits_header), intent(inout) :: self
    character(len=*), intent(in) :: keyword
    {type}, intent(in) :: value
    character(len=*), intent(in), optional :: comment
    type(c_error) :: error
    integer(c_int) :: outcome
    call begin_header(self, outcome, error)
    if (outcome == 0) outcome = {call}(self%handle, c_text(keyword), {value}, comment_of(comment), &
      error)
    call report(outcome, error)
  end subroutine
"""

READ = """
  subroutine read_{name}_{rank}(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    {type}, allocatable, intent(out) :: a({colons})
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    if (outcome == 0) call check_rank(lengths, {rank}, outcome, error)
    if (outcome == 0) then
      allocate (a({allocation}))
      call fill_{name}(self, number_of(hdu), ranges, a, size(a, kind=c_size_t), threads, outcome, &
        error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine read_into_{name}_{rank}(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    {type}, contiguous, intent(inout) :: a({colons})
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    if (outcome == 0) call fill_{name}(self, number_of(hdu), ranges, a, size(a, kind=c_size_t), &
      threads, outcome, error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine write_{name}_{rank}(path, a, header, overwrite, stat, errmsg)
    character(len=*), intent(in) :: path
    {type}, contiguous, target, intent(in) :: a({colons})
    type(fits_header), intent(in), optional :: header
    logical, intent(in), optional :: overwrite
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call write_pixels(path, {code}, shape(a, kind=c_int64_t), c_loc(a), &
      {bytes} * size(a, kind=c_size_t), header, overwrite, stat, errmsg)
  end subroutine
"""

FILL_REAL = """
  subroutine fill_{name}(self, hdu, ranges, a, count, threads, outcome, error)
    class(fits_file), intent(in) :: self
    integer(c_size_t), intent(in) :: hdu, count
    type(c_range), allocatable, intent(in) :: ranges(:)
    {type}, target, intent(inout) :: a(*)
    integer, intent(in), optional :: threads
    integer(c_int), intent(out) :: outcome
    type(c_error), intent(inout) :: error
    outcome = c_read(self%handle, hdu, pointer_to(ranges), {code}, c_loc(a), {bytes} * count, &
      options_of(threads), error)
  end subroutine
"""

FILL_INTEGER = """
  subroutine fill_{name}(self, hdu, ranges, a, count, threads, outcome, error)
    class(fits_file), intent(in) :: self
    integer(c_size_t), intent(in) :: hdu, count
    type(c_range), allocatable, intent(in) :: ranges(:)
    {type}, target, intent(inout) :: a(*)
    integer, intent(in), optional :: threads
    integer(c_int), intent(out) :: outcome
    type(c_error), intent(inout) :: error
    type(c_facts) :: facts
    real(real64), allocatable, target :: values(:)
    integer(c_size_t) :: n
    facts%bytes = int(c_sizeof(facts), c_int32_t)
    outcome = c_describe(self%handle, hdu, facts, error)
    if (outcome /= 0) return
    if (facts%pixel_type == {code} .and. facts%is_scaled == 0) then
      outcome = c_read(self%handle, hdu, pointer_to(ranges), {code}, c_loc(a), {bytes} * count, &
        options_of(threads), error)
      return
    end if
    if (facts%pixel_type == 7 .or. facts%pixel_type == 8) then
      outcome = usage
      call refuse("invalid array {type}: the pixels have 64 bits", &
        "read integer(int64), or real(real64)", error)
      return
    end if
    ! Other integers are exact as doubles.
    allocate (values(count))
    outcome = c_read(self%handle, hdu, pointer_to(ranges), 10, c_loc(values), 8 * count, &
      options_of(threads), error)
    if (outcome /= 0) return
    do n = 1, count
      if (.not. (abs(values(n)) <= real(huge(a(1)), real64) .and. &
        abs(aint(values(n)) - values(n)) <= 0)) then
        outcome = usage
        call refuse("invalid array {type}: it does not hold every pixel", &
          "read a wider type, or real(real64)", error)
        return
      end if
      a(n) = int(values(n), kind(a(1)))
    end do
  end subroutine
"""

COLUMN = """
  subroutine column_{name}(self, column, values, hdu, where, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: column
    {type}, allocatable, target, intent(out) :: values(:)
    integer, intent(in), optional :: hdu
    character(len=*), intent(in), optional :: where
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_column) :: request(1)
    type(c_column_facts) :: facts
    integer(int64), allocatable :: rows(:)
    integer(int64) :: length
    integer(c_int) :: outcome
    call begin_column(self, column, hdu, facts, request(1), length, outcome, error)
    if (outcome == 0) call check_cells(column, facts, {code}, outcome, error)
    if (outcome == 0) then
      allocate (values(length * facts%elements))
      request(1)%cell_type = {code}
      request(1)%values = c_loc(values)
      request(1)%room = {bytes} * size(values, kind=c_size_t)
      outcome = c_read_columns(self%handle, number_of(hdu), request, 1_c_size_t, 0_c_int64_t, &
        length, options_of(), error)
    end if
    if (outcome == 0 .and. present(where)) then
      call found_rows(self, where, number_of(hdu), length, rows, outcome, error)
      if (outcome == 0) call keep_rows()
    end if
    call report(outcome, error, stat, errmsg)
  contains
    subroutine keep_rows()
      {type}, allocatable :: kept(:)
      integer(int64) :: n, each
      each = facts%elements
      allocate (kept(size(rows, kind=int64) * each))
      do n = 1, size(rows, kind=int64)
        kept((n - 1) * each + 1:n * each) = values((rows(n) - 1) * each + 1:rows(n) * each)
      end do
      call move_alloc(kept, values)
    end subroutine
  end subroutine
"""

TAIL = """
  !> Refuse an image of more axes than the array; those of one pixel do not count.
  subroutine check_rank(lengths, rank, outcome, error)
    integer(int64), allocatable, intent(inout) :: lengths(:)
    integer, intent(in) :: rank
    integer(c_int), intent(out) :: outcome
    type(c_error), intent(inout) :: error
    integer :: n
    outcome = 0
    if (size(lengths) > rank) then
      if (any(lengths(rank + 1:) /= 1)) then
        outcome = usage
        call refuse("invalid rank of the array: the image has more axes of more than one pixel", &
          "read an array of higher rank, or a section", error)
        return
      end if
    end if
    lengths = [lengths(:min(size(lengths), rank)), (1_int64, n=size(lengths) + 1, rank)]
  end subroutine

  subroutine write_pixels(path, pixel, axes, pixels, bytes, header, overwrite, stat, errmsg)
    character(len=*), intent(in) :: path
    integer(c_int32_t), intent(in) :: pixel
    integer(c_int64_t), intent(in) :: axes(:)
    type(c_ptr), intent(in) :: pixels
    integer(c_size_t), intent(in) :: bytes
    type(fits_header), intent(in), optional :: header
    logical, intent(in), optional :: overwrite
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_ptr) :: writer, cards
    integer :: flags
    integer(c_int) :: outcome
    flags = 0
    if (present(overwrite)) flags = merge(4, 0, overwrite)
    cards = c_null_ptr
    if (present(header)) cards = header%handle
    outcome = c_create(c_text(path), options_of(flags=flags), writer, error)
    if (outcome == 0) then
      outcome = c_write_image(writer, cards, pixel, size(axes, kind=c_size_t), axes, pixels, &
        bytes, c_null_ptr, options_of(), error)
      if (outcome == 0) then
        outcome = c_commit(writer, error)
      else
        call c_abandon(writer)
      end if
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  ! Columns.

  subroutine begin_column(self, column, hdu, facts, request, length, outcome, error)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: column
    integer, intent(in), optional :: hdu
    type(c_column_facts), intent(out) :: facts
    type(c_column), intent(out) :: request
    integer(int64), intent(out) :: length
    integer(c_int), intent(out) :: outcome
    type(c_error), intent(inout) :: error
    type(c_facts) :: table
    request = c_column(int(c_sizeof(request), c_int32_t), 0, 0, 0, c_null_ptr, 0, c_null_ptr, 0)
    facts%bytes = int(c_sizeof(facts), c_int32_t)
    table%bytes = int(c_sizeof(table), c_int32_t)
    length = 0
    outcome = c_describe(self%handle, number_of(hdu), table, error)
    if (outcome /= 0) return
    length = table%rows
    outcome = c_column_find(self%handle, number_of(hdu), c_text(column), request%column, error)
    if (outcome == 0) outcome = c_column_describe(self%handle, number_of(hdu), request%column, &
      facts, error)
  end subroutine

  !> Refuse an integer array for a column of another type; reals take any numbers.
  subroutine check_cells(column, facts, code, outcome, error)
    character(len=*), intent(in) :: column
    type(c_column_facts), intent(in) :: facts
    integer, intent(in) :: code
    integer(c_int), intent(out) :: outcome
    type(c_error), intent(inout) :: error
    outcome = 0
    if (facts%cell_type == code .or. code >= 9) return
    outcome = usage
    call refuse("invalid array for column " // trim(column) // " of the form " // &
      fortran_text(facts%form), "use the type of the column, or real(real64)", error)
  end subroutine

  subroutine found_rows(self, condition, hdu, length, rows, outcome, error)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: condition
    integer(c_size_t), intent(in) :: hdu
    integer(int64), intent(in) :: length
    integer(int64), allocatable, intent(out) :: rows(:)
    integer(c_int), intent(out) :: outcome
    type(c_error), intent(inout) :: error
    type(c_ptr) :: numbers
    integer(c_int64_t), pointer :: found(:)
    integer(c_size_t) :: count
    count = 0
    outcome = c_rows_where(self%handle, hdu, c_text(condition), 0_c_int64_t, length, numbers, &
      count, options_of(), error)
    allocate (rows(count))
    if (outcome /= 0 .or. count == 0) return
    call c_f_pointer(numbers, found, [count])
    rows = found + 1
    call c_rows_free(numbers, count)
  end subroutine

  !> Numbers of the rows that meet a condition, from 1.
  subroutine file_rows_where(self, condition, rows, hdu, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: condition
    integer(int64), allocatable, intent(out) :: rows(:)
    integer, intent(in), optional :: hdu
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(c_int) :: outcome
    call found_rows(self, condition, number_of(hdu), huge(0_int64), rows, outcome, error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  !> The texts of a column.
  subroutine column_text(self, column, values, hdu, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: column
    character(len=:), allocatable, intent(out) :: values(:)
    integer, intent(in), optional :: hdu
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_column) :: request(1)
    type(c_column_facts) :: facts
    character(kind=c_char), allocatable, target :: bytes(:)
    integer(int64) :: length, n, width, at
    integer(c_int) :: outcome
    call begin_column(self, column, hdu, facts, request(1), length, outcome, error)
    if (outcome == 0 .and. facts%cell_type /= 14) then
      outcome = usage
      call refuse("column " // trim(column) // " has no text", "read numbers", error)
    end if
    if (outcome == 0) then
      width = facts%cell_bytes / max(facts%elements, 1_int64)
      allocate (bytes(length * facts%cell_bytes))
      request(1)%cell_type = 14
      request(1)%values = c_loc(bytes)
      request(1)%room = size(bytes, kind=c_size_t)
      outcome = c_read_columns(self%handle, number_of(hdu), request, 1_c_size_t, 0_c_int64_t, &
        length, options_of(), error)
    end if
    if (outcome == 0) then
      allocate (character(len=width) :: values(length * facts%elements))
      do n = 1, size(values, kind=int64)
        do at = 1, width
          values(n)(at:at) = bytes((n - 1) * width + at)
          if (values(n)(at:at) == c_null_char) values(n)(at:at) = " "
        end do
      end do
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  !> Columns of numbers in one pass over the rows: values(row, column).
  subroutine file_columns(self, names, values, hdu, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: names(:)
    real(real64), allocatable, target, intent(out) :: values(:, :)
    integer, intent(in), optional :: hdu
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_column), allocatable :: requests(:)
    type(c_column_facts) :: facts
    integer(int64) :: length
    integer(c_int) :: outcome
    integer :: n
    allocate (requests(size(names)))
    outcome = 0
    length = 0
    do n = 1, size(names)
      if (outcome == 0) call begin_column(self, names(n), hdu, facts, requests(n), length, &
        outcome, error)
      if (outcome == 0 .and. facts%elements /= 1) then
        outcome = usage
        call refuse("column " // trim(names(n)) // " has several elements in a cell", &
          "read it alone", error)
      end if
    end do
    if (outcome == 0) then
      allocate (values(length, size(names)))
      do n = 1, size(names)
        requests(n)%cell_type = 10
        if (length > 0) requests(n)%values = c_loc(values(1, n))
        requests(n)%room = 8 * int(length, c_size_t)
      end do
      outcome = c_read_columns(self%handle, number_of(hdu), requests, size(names, kind=c_size_t), &
        0_c_int64_t, length, options_of(), error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

end module
"""


def listed(prefix: str, *, ranks: bool = True) -> str:
    """Return the names of procedures, a line for each type."""
    lines = (
        ", ".join(
            f"{prefix}{name}_{rank}" if ranks else f"{prefix}{name}"
            for rank in RANKS[: 4 if ranks else 1]
        )
        for name, *_ in TYPES
    )
    return ", &\n      ".join(lines)


def module() -> str:
    """Return the source of the module."""
    head = HEAD.replace("@READS@", listed("read_")).replace("@INTOS@", listed("read_into_"))
    head = head.replace("@WRITES@", listed("write_"))
    head = head.replace("@COLUMNS@", listed("column_", ranks=False))
    parts = [head]
    integer, real = "integer(c_int64_t)", "real(c_double)"
    for name, kind, c_type, call, convert, zero, check in (
        ("int32", "integer(int32)", integer, "c_get_i64", "int(found, int32)", "0", RANGE_CHECK),
        ("int64", "integer(int64)", integer, "c_get_i64", "found", "0", ""),
        ("real32", "real(real32)", real, "c_get_f64", "real(found, real32)", "0", ""),
        ("real64", "real(real64)", real, "c_get_f64", "found", "0", ""),
        ("logical", "logical", "integer(c_int)", "c_get_logical", "found /= 0", "0", ""),
    ):
        parts.append(
            GET.format(
                name=name,
                type=kind,
                c_type=c_type,
                call=call,
                convert=convert,
                zero=zero,
                check=check,
            )
        )
    parts.append(GET_TEXT)
    for name, kind, call, value in (
        ("int32", "integer(int32)", "c_set_i64", "int(value, c_int64_t)"),
        ("int64", "integer(int64)", "c_set_i64", "value"),
        ("real32", "real(real32)", "c_set_f64", "real(value, c_double)"),
        ("real64", "real(real64)", "c_set_f64", "value"),
        ("logical", "logical", "c_set_logical", "merge(1_c_int, 0_c_int, value)"),
        ("text", "character(len=*)", "c_set_text", "c_text(value)"),
    ):
        parts.append(SET.format(name=name, type=kind, call=call, value=value))
    parts.append("\n  ! Pixels.\n")
    for name, kind, code, size in TYPES:
        words = {"name": name, "type": kind, "code": code, "bytes": size}
        parts.append((FILL_REAL if name.startswith("real") else FILL_INTEGER).format(**words))
        for rank in RANKS:
            colons = ", ".join([":"] * rank)
            allocation = ", ".join(f"lengths({n})" for n in range(1, rank + 1))
            parts.append(READ.format(**words, rank=rank, colons=colons, allocation=allocation))
    parts.append("\n  ! Columns of numbers.\n")
    parts += [
        COLUMN.format(name=name, type=kind, code=code, bytes=size)
        for name, kind, code, size in TYPES
    ]
    return "".join(parts) + TAIL


def main() -> int:
    """Write the module, or compare it."""
    text = module()
    if "--check" in sys.argv[1:]:
        same = TARGET.exists() and TARGET.read_text(encoding="utf-8") == text
        if not same:
            print(f"{TARGET} is not as tools/fortran_module.py writes it: run that")
        return 0 if same else 1
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
