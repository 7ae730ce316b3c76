! tachyfits for Fortran 2018: FITS images, tables and headers. Link with -ltachyfits.
!
! Made from fortran/parts by tools/fortran_module.py: change those.
!
! Pixels, rows and columns count from 1, as in FITS and Fortran; HDUs from 0. A section has first,
! last and step of each axis: reshape([1,100,1, 5,50,1], [3,2]) is a(1:100:1, 5:50:1). Undefined
! pixels (NaN and BLANK) and null cells are NaN in real arrays; an integer array must hold every
! number. Without stat, an error stops the program with its message; with stat it is 1 (input or
! output), 2 (the file breaks the Standard), 3 (usage), 4 (limits), 5 (cancelled) or 6 (internal),
! and errmsg has the message, cut to its length.
module tachyfits
  use, intrinsic :: ieee_arithmetic, only: ieee_is_nan
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int8, int16, int32, int64, real32, real64, error_unit
  implicit none
  private
  public :: fits_file, fits_header, fits_stats, fits_table, fits_writer, fits_write

  integer(c_int32_t), parameter :: absent = -1, usage = 3, overwriting = 4, checksums = 8
  integer(c_int32_t), parameter :: logical_cells = 11, text_cells = 14

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

  type, bind(C) :: c_new_column
    integer(c_int32_t) :: bytes, reserved
    type(c_ptr) :: name, form, unit
  end type

  type, bind(C) :: c_cells
    type(c_ptr) :: values
    integer(c_size_t) :: bytes
    type(c_ptr) :: nulls
    type(c_ptr) :: offsets = c_null_ptr
  end type

  !> Statistics of pixels; positions count from 1, 0 without any defined pixel.
  type :: fits_stats
    integer(int64) :: count, undefined
    real(real64) :: sum, mean, rms, std, min, max
    integer(int64) :: min_position, max_position
  end type

  !> Cards of an HDU: of one in a file, or of a new one.
  type :: fits_header
    private
    type(c_ptr) :: handle = c_null_ptr
  contains
    generic :: get => header_get_int32
    generic :: set => set_int32
    procedure, private :: header_get_int32, set_int32
    generic :: get => header_get_int64
    generic :: set => set_int64
    procedure, private :: header_get_int64, set_int64
    generic :: get => header_get_real32
    generic :: set => set_real32
    procedure, private :: header_get_real32, set_real32
    generic :: get => header_get_real64
    generic :: set => set_real64
    procedure, private :: header_get_real64, set_real64
    generic :: get => header_get_logical
    generic :: set => set_logical
    procedure, private :: header_get_logical, set_logical
    generic :: get => header_get_text
    generic :: set => set_text
    procedure, private :: header_get_text, set_text
    procedure :: add => header_add
    procedure :: remove => header_remove
    generic :: assignment(=) => copy_header
    procedure, private :: copy_header
    final :: free_header
  end type

  !> An open file. Threads may share it. It is closed by close, or at the end of its scope, with the
  !> last of the variables that it was assigned to.
  type :: fits_file
    private
    type(c_ptr) :: handle = c_null_ptr
    integer, pointer :: owners => null()
  contains
    procedure :: open => file_open
    procedure :: close => file_close
    procedure :: hdus => file_hdus
    procedure :: find => file_find
    procedure :: shape => file_shape
    procedure :: rows => file_rows
    procedure :: header => file_header
    procedure :: stats => file_stats
    procedure :: rows_where => file_rows_where
    generic :: get => get_int32
    procedure, private :: get_int32
    generic :: get => get_int64
    procedure, private :: get_int64
    generic :: get => get_real32
    procedure, private :: get_real32
    generic :: get => get_real64
    procedure, private :: get_real64
    generic :: get => get_logical
    procedure, private :: get_logical
    generic :: get => get_text
    procedure, private :: get_text
    generic :: read => read_int8_1, read_int8_2, read_int8_3, read_int8_4
    procedure, private :: read_int8_1, read_int8_2, read_int8_3, read_int8_4
    generic :: read_into => into_int8_1, into_int8_2, into_int8_3, into_int8_4
    procedure, private :: into_int8_1, into_int8_2, into_int8_3, into_int8_4
    generic :: column => column_int8_1, column_int8_2
    procedure, private :: column_int8_1, column_int8_2
    generic :: column_into => column_into_int8
    generic :: columns => columns_int8
    generic :: columns_into => columns_into_int8
    procedure, private :: column_into_int8, columns_int8, columns_into_int8
    generic :: read => read_int16_1, read_int16_2, read_int16_3, read_int16_4
    procedure, private :: read_int16_1, read_int16_2, read_int16_3, read_int16_4
    generic :: read_into => into_int16_1, into_int16_2, into_int16_3, into_int16_4
    procedure, private :: into_int16_1, into_int16_2, into_int16_3, into_int16_4
    generic :: column => column_int16_1, column_int16_2
    procedure, private :: column_int16_1, column_int16_2
    generic :: column_into => column_into_int16
    generic :: columns => columns_int16
    generic :: columns_into => columns_into_int16
    procedure, private :: column_into_int16, columns_int16, columns_into_int16
    generic :: read => read_int32_1, read_int32_2, read_int32_3, read_int32_4
    procedure, private :: read_int32_1, read_int32_2, read_int32_3, read_int32_4
    generic :: read_into => into_int32_1, into_int32_2, into_int32_3, into_int32_4
    procedure, private :: into_int32_1, into_int32_2, into_int32_3, into_int32_4
    generic :: column => column_int32_1, column_int32_2
    procedure, private :: column_int32_1, column_int32_2
    generic :: column_into => column_into_int32
    generic :: columns => columns_int32
    generic :: columns_into => columns_into_int32
    procedure, private :: column_into_int32, columns_int32, columns_into_int32
    generic :: read => read_int64_1, read_int64_2, read_int64_3, read_int64_4
    procedure, private :: read_int64_1, read_int64_2, read_int64_3, read_int64_4
    generic :: read_into => into_int64_1, into_int64_2, into_int64_3, into_int64_4
    procedure, private :: into_int64_1, into_int64_2, into_int64_3, into_int64_4
    generic :: column => column_int64_1, column_int64_2
    procedure, private :: column_int64_1, column_int64_2
    generic :: column_into => column_into_int64
    generic :: columns => columns_int64
    generic :: columns_into => columns_into_int64
    procedure, private :: column_into_int64, columns_int64, columns_into_int64
    generic :: read => read_real32_1, read_real32_2, read_real32_3, read_real32_4
    procedure, private :: read_real32_1, read_real32_2, read_real32_3, read_real32_4
    generic :: read_into => into_real32_1, into_real32_2, into_real32_3, into_real32_4
    procedure, private :: into_real32_1, into_real32_2, into_real32_3, into_real32_4
    generic :: column => column_real32_1, column_real32_2
    procedure, private :: column_real32_1, column_real32_2
    generic :: column_into => column_into_real32
    generic :: columns => columns_real32
    generic :: columns_into => columns_into_real32
    procedure, private :: column_into_real32, columns_real32, columns_into_real32
    generic :: read => read_real64_1, read_real64_2, read_real64_3, read_real64_4
    procedure, private :: read_real64_1, read_real64_2, read_real64_3, read_real64_4
    generic :: read_into => into_real64_1, into_real64_2, into_real64_3, into_real64_4
    procedure, private :: into_real64_1, into_real64_2, into_real64_3, into_real64_4
    generic :: column => column_real64_1, column_real64_2
    procedure, private :: column_real64_1, column_real64_2
    generic :: column_into => column_into_real64
    generic :: columns => columns_real64
    generic :: columns_into => columns_into_real64
    procedure, private :: column_into_real64, columns_real64, columns_into_real64
    generic :: column => column_text, column_logical
    procedure, private :: column_text, column_logical
    generic :: assignment(=) => copy_file
    procedure, private :: copy_file
    final :: close_file
  end type

  type :: new_column
    character(len=:, kind=c_char), allocatable :: name, form, unit
    integer(int8), allocatable :: cells(:)
  end type

  !> Columns of a new table. Their values are copied.
  type :: fits_table
    private
    integer(int64) :: length = 0
    type(new_column), allocatable :: columns(:)
  contains
    generic :: add => add_int8_1, add_int8_2
    procedure, private :: add_int8_1, add_int8_2
    generic :: add => add_int16_1, add_int16_2
    procedure, private :: add_int16_1, add_int16_2
    generic :: add => add_int32_1, add_int32_2
    procedure, private :: add_int32_1, add_int32_2
    generic :: add => add_int64_1, add_int64_2
    procedure, private :: add_int64_1, add_int64_2
    generic :: add => add_real32_1, add_real32_2
    procedure, private :: add_real32_1, add_real32_2
    generic :: add => add_real64_1, add_real64_2
    procedure, private :: add_real64_1, add_real64_2
    generic :: add => add_text, add_logical
    procedure, private :: add_text, add_logical
    procedure :: rows => table_rows
  end type

  !> A new file of one or more HDUs, which gets its name by commit; without it nothing is written.
  type :: fits_writer
    private
    type(c_ptr) :: handle = c_null_ptr
  contains
    procedure :: create => writer_create
    generic :: write => put_int8_1, put_int8_2, put_int8_3, put_int8_4
    procedure, private :: put_int8_1, put_int8_2, put_int8_3, put_int8_4
    generic :: write => put_int16_1, put_int16_2, put_int16_3, put_int16_4
    procedure, private :: put_int16_1, put_int16_2, put_int16_3, put_int16_4
    generic :: write => put_int32_1, put_int32_2, put_int32_3, put_int32_4
    procedure, private :: put_int32_1, put_int32_2, put_int32_3, put_int32_4
    generic :: write => put_int64_1, put_int64_2, put_int64_3, put_int64_4
    procedure, private :: put_int64_1, put_int64_2, put_int64_3, put_int64_4
    generic :: write => put_real32_1, put_real32_2, put_real32_3, put_real32_4
    procedure, private :: put_real32_1, put_real32_2, put_real32_3, put_real32_4
    generic :: write => put_real64_1, put_real64_2, put_real64_3, put_real64_4
    procedure, private :: put_real64_1, put_real64_2, put_real64_3, put_real64_4
    generic :: write => put_table
    procedure, private :: put_table
    procedure :: append => writer_append
    procedure :: copy => writer_copy
    procedure :: commit => writer_commit
    procedure :: abandon => writer_abandon
    generic :: assignment(=) => copy_writer
    procedure, private :: copy_writer
    final :: free_writer
  end type

  !> Write an array or a table as the only data of a new file.
  interface fits_write
    module procedure write_int8_1, write_int8_2, write_int8_3, write_int8_4
    module procedure write_int16_1, write_int16_2, write_int16_3, write_int16_4
    module procedure write_int32_1, write_int32_2, write_int32_3, write_int32_4
    module procedure write_int64_1, write_int64_2, write_int64_3, write_int64_4
    module procedure write_real32_1, write_real32_2, write_real32_3, write_real32_4
    module procedure write_real64_1, write_real64_2, write_real64_3, write_real64_4
    module procedure write_table
  end interface

  ! The functions of C. After an error they leave their results alone, so none is intent(out):
  ! a compiler may drop what was stored before the call.
  interface
    integer(c_int) function c_open(path, options, file, error) bind(C, name="tachyfits_open")
      import
      character(kind=c_char), intent(in) :: path(*)
      type(c_options), intent(in) :: options
      type(c_ptr), intent(inout) :: file
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
      integer(c_size_t), intent(inout) :: hdu
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
      integer(c_int64_t), intent(inout) :: lengths(*)
      integer(c_size_t), intent(inout) :: naxis
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
      type(c_ptr), intent(inout) :: header
      type(c_error), intent(inout) :: error
    end function
    integer(c_int) function c_header_new(header, error) bind(C, name="tachyfits_header_new")
      import
      type(c_ptr), intent(inout) :: header
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
      integer(c_int64_t), intent(inout) :: value
      type(c_error), intent(inout) :: error
    end function
    integer(c_int) function c_get_f64(header, keyword, value, error) &
        bind(C, name="tachyfits_get_f64")
      import
      type(c_ptr), value :: header
      character(kind=c_char), intent(in) :: keyword(*)
      real(c_double), intent(inout) :: value
      type(c_error), intent(inout) :: error
    end function
    integer(c_int) function c_get_logical(header, keyword, value, error) &
        bind(C, name="tachyfits_get_logical")
      import
      type(c_ptr), value :: header
      character(kind=c_char), intent(in) :: keyword(*)
      integer(c_int), intent(inout) :: value
      type(c_error), intent(inout) :: error
    end function
    integer(c_int) function c_get_text(header, keyword, buffer, room, length, error) &
        bind(C, name="tachyfits_get_text")
      import
      type(c_ptr), value :: header, buffer
      character(kind=c_char), intent(in) :: keyword(*)
      integer(c_size_t), value :: room
      integer(c_size_t), intent(inout) :: length
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
      integer(c_int32_t), intent(inout) :: column
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
      type(c_ptr), intent(inout) :: found
      integer(c_size_t), intent(inout) :: count
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
      type(c_ptr), intent(inout) :: writer
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
    integer(c_int) function c_header_copy(header, copy, error) &
        bind(C, name="tachyfits_header_copy")
      import
      type(c_ptr), value :: header
      type(c_ptr), intent(inout) :: copy
      type(c_error), intent(inout) :: error
    end function
    integer(c_int) function c_remove(header, keyword, error) bind(C, name="tachyfits_remove")
      import
      type(c_ptr), value :: header
      character(kind=c_char), intent(in) :: keyword(*)
      type(c_error), intent(inout) :: error
    end function
    integer(c_int) function c_begin_table(writer, header, columns, count, error) &
        bind(C, name="tachyfits_begin_table")
      import
      type(c_ptr), value :: writer, header
      type(c_new_column), intent(in) :: columns(*)
      integer(c_size_t), value :: count
      type(c_error), intent(inout) :: error
    end function
    integer(c_int) function c_write_rows(writer, cells, count, rows, options, error) &
        bind(C, name="tachyfits_write_rows")
      import
      type(c_ptr), value :: writer
      type(c_cells), intent(in) :: cells(*)
      integer(c_size_t), value :: count
      integer(c_int64_t), value :: rows
      type(c_options), intent(in) :: options
      type(c_error), intent(inout) :: error
    end function
    integer(c_int) function c_copy_hdu(writer, file, hdu, options, error) &
        bind(C, name="tachyfits_copy_hdu")
      import
      type(c_ptr), value :: writer, file
      integer(c_size_t), value :: hdu
      type(c_options), intent(in) :: options
      type(c_error), intent(inout) :: error
    end function
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

  !> Make an error of this module.
  subroutine refuse(message, hint, outcome, error)
    character(len=*), intent(in) :: message, hint
    integer(c_int), intent(out) :: outcome
    type(c_error), intent(inout) :: error
    outcome = usage
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

  !> Write integers as text, with commas between them.
  pure function decimal(numbers) result(text)
    integer(int64), intent(in) :: numbers(:)
    character(len=:), allocatable :: text
    character(len=20) :: digits
    integer :: n
    text = ""
    do n = 1, size(numbers)
      write (digits, "(i0)") numbers(n)
      if (n > 1) text = text // ", "
      text = text // trim(digits)
    end do
  end function

  pure function options_of(threads, flags) result(options)
    integer, intent(in), optional :: threads
    integer(c_int32_t), intent(in), optional :: flags
    type(c_options) :: options
    options = c_options(int(c_sizeof(options), c_int32_t), 0, 0, 0, c_null_ptr)
    if (present(threads)) options%threads = int(threads, c_int32_t)
    if (present(flags)) options%flags = flags
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
    call file_close(self)
    outcome = c_open(c_text(path), options_of(), self%handle, error)
    if (outcome == 0) then
      allocate (self%owners, source=1)
    else
      self%handle = c_null_ptr
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine file_close(self)
    class(fits_file), intent(inout) :: self
    if (associated(self%owners)) then
      self%owners = self%owners - 1
      if (self%owners == 0) then
        call c_close(self%handle)
        deallocate (self%owners)
      end if
    end if
    self%owners => null()
    self%handle = c_null_ptr
  end subroutine

  impure elemental subroutine close_file(self)
    type(fits_file), intent(inout) :: self
    call file_close(self)
  end subroutine

  !> Share an open file: the last of its variables closes it.
  subroutine copy_file(self, other)
    class(fits_file), intent(inout) :: self
    type(fits_file), intent(in) :: other
    if (associated(self%owners, other%owners)) return
    call file_close(self)
    self%handle = other%handle
    self%owners => other%owners
    if (associated(self%owners)) self%owners = self%owners + 1
  end subroutine

  integer function file_hdus(self)
    class(fits_file), intent(in) :: self
    file_hdus = int(c_hdus(self%handle))
  end function

  !> Find the HDU of an EXTNAME: its number from 0.
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
    type(c_range), allocatable :: ranges(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), ranges=ranges, lengths=lengths, outcome=outcome, &
      error=error)
    call report(outcome, error)
  end function

  !> Rows of a table.
  integer(int64) function file_rows(self, hdu)
    class(fits_file), intent(in) :: self
    integer, intent(in), optional :: hdu
    type(c_error) :: error
    integer(c_int) :: outcome
    call rows_of(self, number_of(hdu), file_rows, outcome, error)
    call report(outcome, error)
  end function

  subroutine rows_of(self, hdu, rows, outcome, error)
    class(fits_file), intent(in) :: self
    integer(c_size_t), intent(in) :: hdu
    integer(int64), intent(out) :: rows
    integer(c_int), intent(out) :: outcome
    type(c_error), intent(inout) :: error
    type(c_facts) :: facts
    facts%rows = 0
    facts%bytes = int(c_sizeof(facts), c_int32_t)
    outcome = c_describe(self%handle, hdu, facts, error)
    rows = facts%rows
  end subroutine

  !> Compute statistics of an image in one pass.
  subroutine file_stats(self, stats, hdu, section, stat, errmsg)
    class(fits_file), intent(in) :: self
    type(fits_stats), intent(out) :: stats
    integer, intent(in), optional :: hdu
    integer, intent(in), optional :: section(:, :)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_stats) :: s
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    s = c_stats(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -1, -1)
    s%bytes = int(c_sizeof(s), c_int32_t)
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    if (outcome == 0) outcome = c_statistics(self%handle, number_of(hdu), address_of(ranges), &
      c_null_ptr, s, options_of(), error)
    stats = fits_stats(s%count, s%undefined, s%sum, s%mean, s%rms, s%std, s%min, s%max, &
      s%min_position + 1, s%max_position + 1)
    call report(outcome, error, stat, errmsg)
  end subroutine

  !> The ranges of a section, first, last and step of each axis, and the shape of its pixels.
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
    if (size(section, 1) /= 3 .or. size(section, 2) /= size(lengths)) then
      call refuse("invalid shape " // decimal(shape(section, kind=int64)) // " of a section: " // &
        "expected 3, " // decimal(shape(lengths, kind=int64)) // &
        ", for first, last and step of each axis", &
        "use reshape([1,100,1, 5,50,1], [3,2]) for two axes", outcome, error)
      return
    end if
    allocate (ranges(size(lengths)))
    do n = 1, size(lengths)
      first = section(1, n)
      last = section(2, n)
      step = section(3, n)
      if (step == 0 .or. min(first, last) < 1 .or. max(first, last) > axes(n)) then
        call refuse("invalid section " // decimal([first, last, step]) // " of axis " // &
          decimal([int(n, int64)]) // ": expected pixels from 1 to " // decimal(axes(n:n)) // &
          " and a step other than 0", "give first, last and step", outcome, error)
        return
      end if
      lengths(n) = max((last - first + step) / step, 0_int64)
      ranges(n) = c_range(first - 1, lengths(n), step)
    end do
  end subroutine

  function address_of(ranges) result(address)
    type(c_range), allocatable, target, intent(in) :: ranges(:)
    type(c_ptr) :: address
    address = c_null_ptr
    if (allocated(ranges)) address = c_loc(ranges)
  end function

  ! Headers.

  !> Copy the header of an HDU.
  subroutine file_header(self, header, hdu, stat, errmsg)
    class(fits_file), intent(in) :: self
    type(fits_header), intent(inout) :: header
    integer, intent(in), optional :: hdu
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(c_int) :: outcome
    call free_header(header)
    outcome = c_header_of(self%handle, number_of(hdu), header%handle, error)
    if (outcome /= 0) header%handle = c_null_ptr
    call report(outcome, error, stat, errmsg)
  end subroutine

  !> The outcome for a missing card: the default counts, or it is an error.
  subroutine missing(keyword, has_default, outcome, error)
    character(len=*), intent(in) :: keyword
    logical, intent(in) :: has_default
    integer(c_int), intent(inout) :: outcome
    type(c_error), intent(inout) :: error
    if (outcome /= absent) return
    outcome = 0
    if (.not. has_default) call refuse("the header has no card " // trim(keyword), &
      "give default=", outcome, error)
  end subroutine

  subroutine begin_header(self, outcome, error)
    class(fits_header), intent(inout) :: self
    integer(c_int), intent(out) :: outcome
    type(c_error), intent(inout) :: error
    outcome = 0
    if (.not. c_associated(self%handle)) outcome = c_header_new(self%handle, error)
  end subroutine

  impure elemental subroutine free_header(self)
    type(fits_header), intent(inout) :: self
    call c_header_free(self%handle)
    self%handle = c_null_ptr
  end subroutine

  subroutine copy_header(self, other)
    class(fits_header), intent(inout) :: self
    type(fits_header), intent(in) :: other
    type(c_error) :: error
    type(c_ptr) :: copy
    integer(c_int) :: outcome
    copy = c_null_ptr
    outcome = 0
    if (c_associated(other%handle)) outcome = c_header_copy(other%handle, copy, error)
    call c_header_free(self%handle)
    self%handle = copy
    call report(outcome, error)
  end subroutine

  pure function comment_of(comment) result(text)
    character(len=*), intent(in), optional :: comment
    character(len=:, kind=c_char), allocatable :: text
    text = c_null_char
    if (present(comment)) text = c_text(comment)
  end function

  !> Add a line of COMMENT or HISTORY.
  subroutine header_add(self, keyword, text, stat, errmsg)
    class(fits_header), intent(inout) :: self
    character(len=*), intent(in) :: keyword, text
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(c_int) :: outcome
    call begin_header(self, outcome, error)
    if (outcome == 0) outcome = c_commentary(self%handle, c_text(keyword), c_text(text), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  !> Remove the cards of a keyword, if there are any.
  subroutine header_remove(self, keyword, stat, errmsg)
    class(fits_header), intent(inout) :: self
    character(len=*), intent(in) :: keyword
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(c_int) :: outcome
    call begin_header(self, outcome, error)
    if (outcome == 0) outcome = c_remove(self%handle, c_text(keyword), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  !> Read text of any length.
  subroutine header_text(header, keyword, text, outcome, error)
    type(c_ptr), intent(in) :: header
    character(len=*), intent(in) :: keyword
    character(len=:), allocatable, intent(out) :: text
    integer(c_int), intent(out) :: outcome
    type(c_error), intent(inout) :: error
    character(kind=c_char), allocatable, target :: buffer(:)
    integer(c_size_t) :: length
    length = 0
    text = ""
    outcome = c_get_text(header, c_text(keyword), c_null_ptr, 0_c_size_t, length, error)
    if (outcome /= 0) return
    allocate (buffer(length + 1))
    outcome = c_get_text(header, c_text(keyword), c_loc(buffer), size(buffer, kind=c_size_t), &
      length, error)
    text = fortran_text(buffer)
  end subroutine
  !> Refuse a number that an integer does not hold.
  subroutine check_range(keyword, number, largest, outcome, error)
    character(len=*), intent(in) :: keyword
    integer(int64), intent(in) :: number, largest
    integer(c_int), intent(inout) :: outcome
    type(c_error), intent(inout) :: error
    if (outcome == 0 .and. abs(number) > largest) call refuse("invalid type for " // &
      trim(keyword) // ": expected one that holds " // decimal([number]), "use integer(int64)", &
      outcome, error)
  end subroutine

  subroutine header_get_int32(self, keyword, value, default, stat, errmsg)
    class(fits_header), intent(in) :: self
    character(len=*), intent(in) :: keyword
    integer(int32), intent(out) :: value
    integer(int32), intent(in), optional :: default
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(c_int64_t) :: number
    integer(c_int) :: outcome
    number = 0
    outcome = c_get_i64(self%handle, c_text(keyword), number, error)
    value = int(number, int32)
    call check_range(keyword, number, int(huge(value), int64), outcome, error)
    if (outcome == absent .and. present(default)) value = default
    call missing(keyword, present(default), outcome, error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine get_int32(self, keyword, value, default, hdu, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: keyword
    integer(int32), intent(out) :: value
    integer(int32), intent(in), optional :: default
    integer, intent(in), optional :: hdu
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fits_header) :: header
    integer :: outcome
    value = 0
    call self%header(header, hdu, stat, errmsg)
    outcome = 0
    if (present(stat)) outcome = stat
    if (outcome == 0) call header%get(keyword, value, default, stat, errmsg)
  end subroutine

  subroutine set_int32(self, keyword, value, comment, stat, errmsg)
    class(fits_header), intent(inout) :: self
    character(len=*), intent(in) :: keyword
    integer(int32), intent(in) :: value
    character(len=*), intent(in), optional :: comment
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(c_int) :: outcome
    call begin_header(self, outcome, error)
    if (outcome == 0) outcome = c_set_i64(self%handle, c_text(keyword), &
      int(value, c_int64_t), comment_of(comment), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine header_get_int64(self, keyword, value, default, stat, errmsg)
    class(fits_header), intent(in) :: self
    character(len=*), intent(in) :: keyword
    integer(int64), intent(out) :: value
    integer(int64), intent(in), optional :: default
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(c_int64_t) :: number
    integer(c_int) :: outcome
    number = 0
    outcome = c_get_i64(self%handle, c_text(keyword), number, error)
    value = number
    if (outcome == absent .and. present(default)) value = default
    call missing(keyword, present(default), outcome, error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine get_int64(self, keyword, value, default, hdu, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: keyword
    integer(int64), intent(out) :: value
    integer(int64), intent(in), optional :: default
    integer, intent(in), optional :: hdu
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fits_header) :: header
    integer :: outcome
    value = 0
    call self%header(header, hdu, stat, errmsg)
    outcome = 0
    if (present(stat)) outcome = stat
    if (outcome == 0) call header%get(keyword, value, default, stat, errmsg)
  end subroutine

  subroutine set_int64(self, keyword, value, comment, stat, errmsg)
    class(fits_header), intent(inout) :: self
    character(len=*), intent(in) :: keyword
    integer(int64), intent(in) :: value
    character(len=*), intent(in), optional :: comment
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(c_int) :: outcome
    call begin_header(self, outcome, error)
    if (outcome == 0) outcome = c_set_i64(self%handle, c_text(keyword), &
      value, comment_of(comment), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine header_get_real32(self, keyword, value, default, stat, errmsg)
    class(fits_header), intent(in) :: self
    character(len=*), intent(in) :: keyword
    real(real32), intent(out) :: value
    real(real32), intent(in), optional :: default
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    real(c_double) :: number
    integer(c_int) :: outcome
    number = 0
    outcome = c_get_f64(self%handle, c_text(keyword), number, error)
    value = real(number, real32)
    if (outcome == absent .and. present(default)) value = default
    call missing(keyword, present(default), outcome, error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine get_real32(self, keyword, value, default, hdu, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: keyword
    real(real32), intent(out) :: value
    real(real32), intent(in), optional :: default
    integer, intent(in), optional :: hdu
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fits_header) :: header
    integer :: outcome
    value = 0
    call self%header(header, hdu, stat, errmsg)
    outcome = 0
    if (present(stat)) outcome = stat
    if (outcome == 0) call header%get(keyword, value, default, stat, errmsg)
  end subroutine

  subroutine set_real32(self, keyword, value, comment, stat, errmsg)
    class(fits_header), intent(inout) :: self
    character(len=*), intent(in) :: keyword
    real(real32), intent(in) :: value
    character(len=*), intent(in), optional :: comment
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(c_int) :: outcome
    call begin_header(self, outcome, error)
    if (outcome == 0) outcome = c_set_f64(self%handle, c_text(keyword), &
      real(value, c_double), comment_of(comment), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine header_get_real64(self, keyword, value, default, stat, errmsg)
    class(fits_header), intent(in) :: self
    character(len=*), intent(in) :: keyword
    real(real64), intent(out) :: value
    real(real64), intent(in), optional :: default
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    real(c_double) :: number
    integer(c_int) :: outcome
    number = 0
    outcome = c_get_f64(self%handle, c_text(keyword), number, error)
    value = number
    if (outcome == absent .and. present(default)) value = default
    call missing(keyword, present(default), outcome, error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine get_real64(self, keyword, value, default, hdu, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: keyword
    real(real64), intent(out) :: value
    real(real64), intent(in), optional :: default
    integer, intent(in), optional :: hdu
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fits_header) :: header
    integer :: outcome
    value = 0
    call self%header(header, hdu, stat, errmsg)
    outcome = 0
    if (present(stat)) outcome = stat
    if (outcome == 0) call header%get(keyword, value, default, stat, errmsg)
  end subroutine

  subroutine set_real64(self, keyword, value, comment, stat, errmsg)
    class(fits_header), intent(inout) :: self
    character(len=*), intent(in) :: keyword
    real(real64), intent(in) :: value
    character(len=*), intent(in), optional :: comment
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(c_int) :: outcome
    call begin_header(self, outcome, error)
    if (outcome == 0) outcome = c_set_f64(self%handle, c_text(keyword), &
      value, comment_of(comment), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine header_get_logical(self, keyword, value, default, stat, errmsg)
    class(fits_header), intent(in) :: self
    character(len=*), intent(in) :: keyword
    logical, intent(out) :: value
    logical, intent(in), optional :: default
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(c_int) :: number
    integer(c_int) :: outcome
    number = 0
    outcome = c_get_logical(self%handle, c_text(keyword), number, error)
    value = number /= 0
    if (outcome == absent .and. present(default)) value = default
    call missing(keyword, present(default), outcome, error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine get_logical(self, keyword, value, default, hdu, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: keyword
    logical, intent(out) :: value
    logical, intent(in), optional :: default
    integer, intent(in), optional :: hdu
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fits_header) :: header
    integer :: outcome
    value = .false.
    call self%header(header, hdu, stat, errmsg)
    outcome = 0
    if (present(stat)) outcome = stat
    if (outcome == 0) call header%get(keyword, value, default, stat, errmsg)
  end subroutine

  subroutine set_logical(self, keyword, value, comment, stat, errmsg)
    class(fits_header), intent(inout) :: self
    character(len=*), intent(in) :: keyword
    logical, intent(in) :: value
    character(len=*), intent(in), optional :: comment
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(c_int) :: outcome
    call begin_header(self, outcome, error)
    if (outcome == 0) outcome = c_set_logical(self%handle, c_text(keyword), &
      merge(1_c_int, 0_c_int, value), comment_of(comment), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine header_get_text(self, keyword, value, default, stat, errmsg)
    class(fits_header), intent(in) :: self
    character(len=*), intent(in) :: keyword
    character(len=:), allocatable, intent(out) :: value
    character(len=*), intent(in), optional :: default
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    character(len=:), allocatable :: number
    integer(c_int) :: outcome
    call header_text(self%handle, keyword, number, outcome, error)
    value = number
    if (outcome == absent .and. present(default)) value = default
    call missing(keyword, present(default), outcome, error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine get_text(self, keyword, value, default, hdu, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: keyword
    character(len=:), allocatable, intent(out) :: value
    character(len=*), intent(in), optional :: default
    integer, intent(in), optional :: hdu
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fits_header) :: header
    integer :: outcome
    value = ""
    call self%header(header, hdu, stat, errmsg)
    outcome = 0
    if (present(stat)) outcome = stat
    if (outcome == 0) call header%get(keyword, value, default, stat, errmsg)
  end subroutine

  subroutine set_text(self, keyword, value, comment, stat, errmsg)
    class(fits_header), intent(inout) :: self
    character(len=*), intent(in) :: keyword
    character(len=*), intent(in) :: value
    character(len=*), intent(in), optional :: comment
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(c_int) :: outcome
    call begin_header(self, outcome, error)
    if (outcome == 0) outcome = c_set_text(self%handle, c_text(keyword), &
      c_text(value), comment_of(comment), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  ! Pixels.

  !> Fit the shape of the pixels to the rank of an array: axes of one pixel do not count.
  subroutine fit_rank(lengths, rank, outcome, error)
    integer(int64), allocatable, intent(inout) :: lengths(:)
    integer, intent(in) :: rank
    integer(c_int), intent(inout) :: outcome
    type(c_error), intent(inout) :: error
    integer :: n
    if (outcome /= 0) return
    if (any(lengths(min(rank, size(lengths)) + 1:) /= 1)) then
      call refuse("invalid rank " // decimal([int(rank, int64)]) // " of the array: the " // &
        "pixels have the shape " // decimal(lengths), &
        "read an array of higher rank, or a section", outcome, error)
      return
    end if
    lengths = [lengths(:min(size(lengths), rank)), (1_int64, n=size(lengths) + 1, rank)]
  end subroutine

  !> Refuse an array of the caller that has another shape; one of rank 1 takes all pixels in order.
  subroutine check_shape(lengths, extents, outcome, error)
    integer(int64), allocatable, intent(inout) :: lengths(:)
    integer(int64), intent(in) :: extents(:)
    integer(c_int), intent(inout) :: outcome
    type(c_error), intent(inout) :: error
    if (outcome /= 0) return
    if (size(extents) == 1) lengths = [product(lengths)]
    call fit_rank(lengths, size(extents), outcome, error)
    if (outcome /= 0) return
    if (any(lengths /= extents)) call refuse("invalid shape " // decimal(extents) // &
      " of the array: expected " // decimal(lengths), "use read, which allocates it", outcome, &
      error)
  end subroutine

  subroutine read_int8_1(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    integer(int8), allocatable, target, intent(out) :: a(:)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call fit_rank(lengths, 1, outcome, error)
    if (outcome == 0) then
      allocate (a(lengths(1)))
      outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 2, c_loc(a), &
        1 * size(a, kind=c_size_t), options_of(threads), error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine into_int8_1(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    integer(int8), contiguous, target, intent(inout) :: a(:)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call check_shape(lengths, shape(a, kind=int64), outcome, error)
    if (outcome == 0) outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 2, &
      c_loc(a), 1 * size(a, kind=c_size_t), options_of(threads), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine put_int8_1(self, a, header, compression, stat, errmsg)
    class(fits_writer), intent(inout) :: self
    integer(int8), contiguous, target, intent(in) :: a(:)
    type(fits_header), intent(in), optional :: header
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call put_pixels(self, 2, shape(a, kind=c_int64_t), c_loc(a), &
      1 * size(a, kind=c_size_t), header, compression, stat, errmsg)
  end subroutine

  subroutine write_int8_1(path, a, header, overwrite, checksum, compression, stat, errmsg)
    character(len=*), intent(in) :: path
    integer(int8), contiguous, target, intent(in) :: a(:)
    type(fits_header), intent(in), optional :: header
    logical, intent(in), optional :: overwrite, checksum
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fits_writer) :: writer
    integer :: outcome
    outcome = 0
    call writer%create(path, overwrite, checksum, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%write(a, header, compression, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%commit(stat, errmsg)
  end subroutine

  subroutine read_int8_2(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    integer(int8), allocatable, target, intent(out) :: a(:, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call fit_rank(lengths, 2, outcome, error)
    if (outcome == 0) then
      allocate (a(lengths(1), lengths(2)))
      outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 2, c_loc(a), &
        1 * size(a, kind=c_size_t), options_of(threads), error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine into_int8_2(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    integer(int8), contiguous, target, intent(inout) :: a(:, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call check_shape(lengths, shape(a, kind=int64), outcome, error)
    if (outcome == 0) outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 2, &
      c_loc(a), 1 * size(a, kind=c_size_t), options_of(threads), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine put_int8_2(self, a, header, compression, stat, errmsg)
    class(fits_writer), intent(inout) :: self
    integer(int8), contiguous, target, intent(in) :: a(:, :)
    type(fits_header), intent(in), optional :: header
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call put_pixels(self, 2, shape(a, kind=c_int64_t), c_loc(a), &
      1 * size(a, kind=c_size_t), header, compression, stat, errmsg)
  end subroutine

  subroutine write_int8_2(path, a, header, overwrite, checksum, compression, stat, errmsg)
    character(len=*), intent(in) :: path
    integer(int8), contiguous, target, intent(in) :: a(:, :)
    type(fits_header), intent(in), optional :: header
    logical, intent(in), optional :: overwrite, checksum
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fits_writer) :: writer
    integer :: outcome
    outcome = 0
    call writer%create(path, overwrite, checksum, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%write(a, header, compression, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%commit(stat, errmsg)
  end subroutine

  subroutine read_int8_3(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    integer(int8), allocatable, target, intent(out) :: a(:, :, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call fit_rank(lengths, 3, outcome, error)
    if (outcome == 0) then
      allocate (a(lengths(1), lengths(2), lengths(3)))
      outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 2, c_loc(a), &
        1 * size(a, kind=c_size_t), options_of(threads), error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine into_int8_3(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    integer(int8), contiguous, target, intent(inout) :: a(:, :, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call check_shape(lengths, shape(a, kind=int64), outcome, error)
    if (outcome == 0) outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 2, &
      c_loc(a), 1 * size(a, kind=c_size_t), options_of(threads), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine put_int8_3(self, a, header, compression, stat, errmsg)
    class(fits_writer), intent(inout) :: self
    integer(int8), contiguous, target, intent(in) :: a(:, :, :)
    type(fits_header), intent(in), optional :: header
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call put_pixels(self, 2, shape(a, kind=c_int64_t), c_loc(a), &
      1 * size(a, kind=c_size_t), header, compression, stat, errmsg)
  end subroutine

  subroutine write_int8_3(path, a, header, overwrite, checksum, compression, stat, errmsg)
    character(len=*), intent(in) :: path
    integer(int8), contiguous, target, intent(in) :: a(:, :, :)
    type(fits_header), intent(in), optional :: header
    logical, intent(in), optional :: overwrite, checksum
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fits_writer) :: writer
    integer :: outcome
    outcome = 0
    call writer%create(path, overwrite, checksum, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%write(a, header, compression, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%commit(stat, errmsg)
  end subroutine

  subroutine read_int8_4(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    integer(int8), allocatable, target, intent(out) :: a(:, :, :, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call fit_rank(lengths, 4, outcome, error)
    if (outcome == 0) then
      allocate (a(lengths(1), lengths(2), lengths(3), lengths(4)))
      outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 2, c_loc(a), &
        1 * size(a, kind=c_size_t), options_of(threads), error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine into_int8_4(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    integer(int8), contiguous, target, intent(inout) :: a(:, :, :, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call check_shape(lengths, shape(a, kind=int64), outcome, error)
    if (outcome == 0) outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 2, &
      c_loc(a), 1 * size(a, kind=c_size_t), options_of(threads), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine put_int8_4(self, a, header, compression, stat, errmsg)
    class(fits_writer), intent(inout) :: self
    integer(int8), contiguous, target, intent(in) :: a(:, :, :, :)
    type(fits_header), intent(in), optional :: header
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call put_pixels(self, 2, shape(a, kind=c_int64_t), c_loc(a), &
      1 * size(a, kind=c_size_t), header, compression, stat, errmsg)
  end subroutine

  subroutine write_int8_4(path, a, header, overwrite, checksum, compression, stat, errmsg)
    character(len=*), intent(in) :: path
    integer(int8), contiguous, target, intent(in) :: a(:, :, :, :)
    type(fits_header), intent(in), optional :: header
    logical, intent(in), optional :: overwrite, checksum
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fits_writer) :: writer
    integer :: outcome
    outcome = 0
    call writer%create(path, overwrite, checksum, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%write(a, header, compression, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%commit(stat, errmsg)
  end subroutine

  subroutine read_int16_1(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    integer(int16), allocatable, target, intent(out) :: a(:)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call fit_rank(lengths, 1, outcome, error)
    if (outcome == 0) then
      allocate (a(lengths(1)))
      outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 4, c_loc(a), &
        2 * size(a, kind=c_size_t), options_of(threads), error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine into_int16_1(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    integer(int16), contiguous, target, intent(inout) :: a(:)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call check_shape(lengths, shape(a, kind=int64), outcome, error)
    if (outcome == 0) outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 4, &
      c_loc(a), 2 * size(a, kind=c_size_t), options_of(threads), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine put_int16_1(self, a, header, compression, stat, errmsg)
    class(fits_writer), intent(inout) :: self
    integer(int16), contiguous, target, intent(in) :: a(:)
    type(fits_header), intent(in), optional :: header
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call put_pixels(self, 4, shape(a, kind=c_int64_t), c_loc(a), &
      2 * size(a, kind=c_size_t), header, compression, stat, errmsg)
  end subroutine

  subroutine write_int16_1(path, a, header, overwrite, checksum, compression, stat, errmsg)
    character(len=*), intent(in) :: path
    integer(int16), contiguous, target, intent(in) :: a(:)
    type(fits_header), intent(in), optional :: header
    logical, intent(in), optional :: overwrite, checksum
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fits_writer) :: writer
    integer :: outcome
    outcome = 0
    call writer%create(path, overwrite, checksum, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%write(a, header, compression, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%commit(stat, errmsg)
  end subroutine

  subroutine read_int16_2(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    integer(int16), allocatable, target, intent(out) :: a(:, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call fit_rank(lengths, 2, outcome, error)
    if (outcome == 0) then
      allocate (a(lengths(1), lengths(2)))
      outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 4, c_loc(a), &
        2 * size(a, kind=c_size_t), options_of(threads), error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine into_int16_2(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    integer(int16), contiguous, target, intent(inout) :: a(:, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call check_shape(lengths, shape(a, kind=int64), outcome, error)
    if (outcome == 0) outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 4, &
      c_loc(a), 2 * size(a, kind=c_size_t), options_of(threads), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine put_int16_2(self, a, header, compression, stat, errmsg)
    class(fits_writer), intent(inout) :: self
    integer(int16), contiguous, target, intent(in) :: a(:, :)
    type(fits_header), intent(in), optional :: header
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call put_pixels(self, 4, shape(a, kind=c_int64_t), c_loc(a), &
      2 * size(a, kind=c_size_t), header, compression, stat, errmsg)
  end subroutine

  subroutine write_int16_2(path, a, header, overwrite, checksum, compression, stat, errmsg)
    character(len=*), intent(in) :: path
    integer(int16), contiguous, target, intent(in) :: a(:, :)
    type(fits_header), intent(in), optional :: header
    logical, intent(in), optional :: overwrite, checksum
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fits_writer) :: writer
    integer :: outcome
    outcome = 0
    call writer%create(path, overwrite, checksum, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%write(a, header, compression, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%commit(stat, errmsg)
  end subroutine

  subroutine read_int16_3(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    integer(int16), allocatable, target, intent(out) :: a(:, :, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call fit_rank(lengths, 3, outcome, error)
    if (outcome == 0) then
      allocate (a(lengths(1), lengths(2), lengths(3)))
      outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 4, c_loc(a), &
        2 * size(a, kind=c_size_t), options_of(threads), error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine into_int16_3(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    integer(int16), contiguous, target, intent(inout) :: a(:, :, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call check_shape(lengths, shape(a, kind=int64), outcome, error)
    if (outcome == 0) outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 4, &
      c_loc(a), 2 * size(a, kind=c_size_t), options_of(threads), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine put_int16_3(self, a, header, compression, stat, errmsg)
    class(fits_writer), intent(inout) :: self
    integer(int16), contiguous, target, intent(in) :: a(:, :, :)
    type(fits_header), intent(in), optional :: header
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call put_pixels(self, 4, shape(a, kind=c_int64_t), c_loc(a), &
      2 * size(a, kind=c_size_t), header, compression, stat, errmsg)
  end subroutine

  subroutine write_int16_3(path, a, header, overwrite, checksum, compression, stat, errmsg)
    character(len=*), intent(in) :: path
    integer(int16), contiguous, target, intent(in) :: a(:, :, :)
    type(fits_header), intent(in), optional :: header
    logical, intent(in), optional :: overwrite, checksum
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fits_writer) :: writer
    integer :: outcome
    outcome = 0
    call writer%create(path, overwrite, checksum, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%write(a, header, compression, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%commit(stat, errmsg)
  end subroutine

  subroutine read_int16_4(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    integer(int16), allocatable, target, intent(out) :: a(:, :, :, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call fit_rank(lengths, 4, outcome, error)
    if (outcome == 0) then
      allocate (a(lengths(1), lengths(2), lengths(3), lengths(4)))
      outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 4, c_loc(a), &
        2 * size(a, kind=c_size_t), options_of(threads), error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine into_int16_4(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    integer(int16), contiguous, target, intent(inout) :: a(:, :, :, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call check_shape(lengths, shape(a, kind=int64), outcome, error)
    if (outcome == 0) outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 4, &
      c_loc(a), 2 * size(a, kind=c_size_t), options_of(threads), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine put_int16_4(self, a, header, compression, stat, errmsg)
    class(fits_writer), intent(inout) :: self
    integer(int16), contiguous, target, intent(in) :: a(:, :, :, :)
    type(fits_header), intent(in), optional :: header
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call put_pixels(self, 4, shape(a, kind=c_int64_t), c_loc(a), &
      2 * size(a, kind=c_size_t), header, compression, stat, errmsg)
  end subroutine

  subroutine write_int16_4(path, a, header, overwrite, checksum, compression, stat, errmsg)
    character(len=*), intent(in) :: path
    integer(int16), contiguous, target, intent(in) :: a(:, :, :, :)
    type(fits_header), intent(in), optional :: header
    logical, intent(in), optional :: overwrite, checksum
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fits_writer) :: writer
    integer :: outcome
    outcome = 0
    call writer%create(path, overwrite, checksum, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%write(a, header, compression, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%commit(stat, errmsg)
  end subroutine

  subroutine read_int32_1(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    integer(int32), allocatable, target, intent(out) :: a(:)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call fit_rank(lengths, 1, outcome, error)
    if (outcome == 0) then
      allocate (a(lengths(1)))
      outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 6, c_loc(a), &
        4 * size(a, kind=c_size_t), options_of(threads), error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine into_int32_1(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    integer(int32), contiguous, target, intent(inout) :: a(:)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call check_shape(lengths, shape(a, kind=int64), outcome, error)
    if (outcome == 0) outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 6, &
      c_loc(a), 4 * size(a, kind=c_size_t), options_of(threads), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine put_int32_1(self, a, header, compression, stat, errmsg)
    class(fits_writer), intent(inout) :: self
    integer(int32), contiguous, target, intent(in) :: a(:)
    type(fits_header), intent(in), optional :: header
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call put_pixels(self, 6, shape(a, kind=c_int64_t), c_loc(a), &
      4 * size(a, kind=c_size_t), header, compression, stat, errmsg)
  end subroutine

  subroutine write_int32_1(path, a, header, overwrite, checksum, compression, stat, errmsg)
    character(len=*), intent(in) :: path
    integer(int32), contiguous, target, intent(in) :: a(:)
    type(fits_header), intent(in), optional :: header
    logical, intent(in), optional :: overwrite, checksum
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fits_writer) :: writer
    integer :: outcome
    outcome = 0
    call writer%create(path, overwrite, checksum, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%write(a, header, compression, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%commit(stat, errmsg)
  end subroutine

  subroutine read_int32_2(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    integer(int32), allocatable, target, intent(out) :: a(:, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call fit_rank(lengths, 2, outcome, error)
    if (outcome == 0) then
      allocate (a(lengths(1), lengths(2)))
      outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 6, c_loc(a), &
        4 * size(a, kind=c_size_t), options_of(threads), error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine into_int32_2(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    integer(int32), contiguous, target, intent(inout) :: a(:, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call check_shape(lengths, shape(a, kind=int64), outcome, error)
    if (outcome == 0) outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 6, &
      c_loc(a), 4 * size(a, kind=c_size_t), options_of(threads), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine put_int32_2(self, a, header, compression, stat, errmsg)
    class(fits_writer), intent(inout) :: self
    integer(int32), contiguous, target, intent(in) :: a(:, :)
    type(fits_header), intent(in), optional :: header
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call put_pixels(self, 6, shape(a, kind=c_int64_t), c_loc(a), &
      4 * size(a, kind=c_size_t), header, compression, stat, errmsg)
  end subroutine

  subroutine write_int32_2(path, a, header, overwrite, checksum, compression, stat, errmsg)
    character(len=*), intent(in) :: path
    integer(int32), contiguous, target, intent(in) :: a(:, :)
    type(fits_header), intent(in), optional :: header
    logical, intent(in), optional :: overwrite, checksum
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fits_writer) :: writer
    integer :: outcome
    outcome = 0
    call writer%create(path, overwrite, checksum, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%write(a, header, compression, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%commit(stat, errmsg)
  end subroutine

  subroutine read_int32_3(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    integer(int32), allocatable, target, intent(out) :: a(:, :, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call fit_rank(lengths, 3, outcome, error)
    if (outcome == 0) then
      allocate (a(lengths(1), lengths(2), lengths(3)))
      outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 6, c_loc(a), &
        4 * size(a, kind=c_size_t), options_of(threads), error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine into_int32_3(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    integer(int32), contiguous, target, intent(inout) :: a(:, :, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call check_shape(lengths, shape(a, kind=int64), outcome, error)
    if (outcome == 0) outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 6, &
      c_loc(a), 4 * size(a, kind=c_size_t), options_of(threads), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine put_int32_3(self, a, header, compression, stat, errmsg)
    class(fits_writer), intent(inout) :: self
    integer(int32), contiguous, target, intent(in) :: a(:, :, :)
    type(fits_header), intent(in), optional :: header
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call put_pixels(self, 6, shape(a, kind=c_int64_t), c_loc(a), &
      4 * size(a, kind=c_size_t), header, compression, stat, errmsg)
  end subroutine

  subroutine write_int32_3(path, a, header, overwrite, checksum, compression, stat, errmsg)
    character(len=*), intent(in) :: path
    integer(int32), contiguous, target, intent(in) :: a(:, :, :)
    type(fits_header), intent(in), optional :: header
    logical, intent(in), optional :: overwrite, checksum
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fits_writer) :: writer
    integer :: outcome
    outcome = 0
    call writer%create(path, overwrite, checksum, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%write(a, header, compression, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%commit(stat, errmsg)
  end subroutine

  subroutine read_int32_4(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    integer(int32), allocatable, target, intent(out) :: a(:, :, :, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call fit_rank(lengths, 4, outcome, error)
    if (outcome == 0) then
      allocate (a(lengths(1), lengths(2), lengths(3), lengths(4)))
      outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 6, c_loc(a), &
        4 * size(a, kind=c_size_t), options_of(threads), error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine into_int32_4(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    integer(int32), contiguous, target, intent(inout) :: a(:, :, :, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call check_shape(lengths, shape(a, kind=int64), outcome, error)
    if (outcome == 0) outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 6, &
      c_loc(a), 4 * size(a, kind=c_size_t), options_of(threads), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine put_int32_4(self, a, header, compression, stat, errmsg)
    class(fits_writer), intent(inout) :: self
    integer(int32), contiguous, target, intent(in) :: a(:, :, :, :)
    type(fits_header), intent(in), optional :: header
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call put_pixels(self, 6, shape(a, kind=c_int64_t), c_loc(a), &
      4 * size(a, kind=c_size_t), header, compression, stat, errmsg)
  end subroutine

  subroutine write_int32_4(path, a, header, overwrite, checksum, compression, stat, errmsg)
    character(len=*), intent(in) :: path
    integer(int32), contiguous, target, intent(in) :: a(:, :, :, :)
    type(fits_header), intent(in), optional :: header
    logical, intent(in), optional :: overwrite, checksum
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fits_writer) :: writer
    integer :: outcome
    outcome = 0
    call writer%create(path, overwrite, checksum, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%write(a, header, compression, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%commit(stat, errmsg)
  end subroutine

  subroutine read_int64_1(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    integer(int64), allocatable, target, intent(out) :: a(:)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call fit_rank(lengths, 1, outcome, error)
    if (outcome == 0) then
      allocate (a(lengths(1)))
      outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 8, c_loc(a), &
        8 * size(a, kind=c_size_t), options_of(threads), error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine into_int64_1(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    integer(int64), contiguous, target, intent(inout) :: a(:)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call check_shape(lengths, shape(a, kind=int64), outcome, error)
    if (outcome == 0) outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 8, &
      c_loc(a), 8 * size(a, kind=c_size_t), options_of(threads), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine put_int64_1(self, a, header, compression, stat, errmsg)
    class(fits_writer), intent(inout) :: self
    integer(int64), contiguous, target, intent(in) :: a(:)
    type(fits_header), intent(in), optional :: header
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call put_pixels(self, 8, shape(a, kind=c_int64_t), c_loc(a), &
      8 * size(a, kind=c_size_t), header, compression, stat, errmsg)
  end subroutine

  subroutine write_int64_1(path, a, header, overwrite, checksum, compression, stat, errmsg)
    character(len=*), intent(in) :: path
    integer(int64), contiguous, target, intent(in) :: a(:)
    type(fits_header), intent(in), optional :: header
    logical, intent(in), optional :: overwrite, checksum
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fits_writer) :: writer
    integer :: outcome
    outcome = 0
    call writer%create(path, overwrite, checksum, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%write(a, header, compression, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%commit(stat, errmsg)
  end subroutine

  subroutine read_int64_2(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    integer(int64), allocatable, target, intent(out) :: a(:, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call fit_rank(lengths, 2, outcome, error)
    if (outcome == 0) then
      allocate (a(lengths(1), lengths(2)))
      outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 8, c_loc(a), &
        8 * size(a, kind=c_size_t), options_of(threads), error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine into_int64_2(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    integer(int64), contiguous, target, intent(inout) :: a(:, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call check_shape(lengths, shape(a, kind=int64), outcome, error)
    if (outcome == 0) outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 8, &
      c_loc(a), 8 * size(a, kind=c_size_t), options_of(threads), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine put_int64_2(self, a, header, compression, stat, errmsg)
    class(fits_writer), intent(inout) :: self
    integer(int64), contiguous, target, intent(in) :: a(:, :)
    type(fits_header), intent(in), optional :: header
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call put_pixels(self, 8, shape(a, kind=c_int64_t), c_loc(a), &
      8 * size(a, kind=c_size_t), header, compression, stat, errmsg)
  end subroutine

  subroutine write_int64_2(path, a, header, overwrite, checksum, compression, stat, errmsg)
    character(len=*), intent(in) :: path
    integer(int64), contiguous, target, intent(in) :: a(:, :)
    type(fits_header), intent(in), optional :: header
    logical, intent(in), optional :: overwrite, checksum
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fits_writer) :: writer
    integer :: outcome
    outcome = 0
    call writer%create(path, overwrite, checksum, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%write(a, header, compression, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%commit(stat, errmsg)
  end subroutine

  subroutine read_int64_3(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    integer(int64), allocatable, target, intent(out) :: a(:, :, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call fit_rank(lengths, 3, outcome, error)
    if (outcome == 0) then
      allocate (a(lengths(1), lengths(2), lengths(3)))
      outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 8, c_loc(a), &
        8 * size(a, kind=c_size_t), options_of(threads), error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine into_int64_3(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    integer(int64), contiguous, target, intent(inout) :: a(:, :, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call check_shape(lengths, shape(a, kind=int64), outcome, error)
    if (outcome == 0) outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 8, &
      c_loc(a), 8 * size(a, kind=c_size_t), options_of(threads), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine put_int64_3(self, a, header, compression, stat, errmsg)
    class(fits_writer), intent(inout) :: self
    integer(int64), contiguous, target, intent(in) :: a(:, :, :)
    type(fits_header), intent(in), optional :: header
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call put_pixels(self, 8, shape(a, kind=c_int64_t), c_loc(a), &
      8 * size(a, kind=c_size_t), header, compression, stat, errmsg)
  end subroutine

  subroutine write_int64_3(path, a, header, overwrite, checksum, compression, stat, errmsg)
    character(len=*), intent(in) :: path
    integer(int64), contiguous, target, intent(in) :: a(:, :, :)
    type(fits_header), intent(in), optional :: header
    logical, intent(in), optional :: overwrite, checksum
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fits_writer) :: writer
    integer :: outcome
    outcome = 0
    call writer%create(path, overwrite, checksum, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%write(a, header, compression, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%commit(stat, errmsg)
  end subroutine

  subroutine read_int64_4(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    integer(int64), allocatable, target, intent(out) :: a(:, :, :, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call fit_rank(lengths, 4, outcome, error)
    if (outcome == 0) then
      allocate (a(lengths(1), lengths(2), lengths(3), lengths(4)))
      outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 8, c_loc(a), &
        8 * size(a, kind=c_size_t), options_of(threads), error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine into_int64_4(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    integer(int64), contiguous, target, intent(inout) :: a(:, :, :, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call check_shape(lengths, shape(a, kind=int64), outcome, error)
    if (outcome == 0) outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 8, &
      c_loc(a), 8 * size(a, kind=c_size_t), options_of(threads), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine put_int64_4(self, a, header, compression, stat, errmsg)
    class(fits_writer), intent(inout) :: self
    integer(int64), contiguous, target, intent(in) :: a(:, :, :, :)
    type(fits_header), intent(in), optional :: header
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call put_pixels(self, 8, shape(a, kind=c_int64_t), c_loc(a), &
      8 * size(a, kind=c_size_t), header, compression, stat, errmsg)
  end subroutine

  subroutine write_int64_4(path, a, header, overwrite, checksum, compression, stat, errmsg)
    character(len=*), intent(in) :: path
    integer(int64), contiguous, target, intent(in) :: a(:, :, :, :)
    type(fits_header), intent(in), optional :: header
    logical, intent(in), optional :: overwrite, checksum
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fits_writer) :: writer
    integer :: outcome
    outcome = 0
    call writer%create(path, overwrite, checksum, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%write(a, header, compression, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%commit(stat, errmsg)
  end subroutine

  subroutine read_real32_1(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    real(real32), allocatable, target, intent(out) :: a(:)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call fit_rank(lengths, 1, outcome, error)
    if (outcome == 0) then
      allocate (a(lengths(1)))
      outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 9, c_loc(a), &
        4 * size(a, kind=c_size_t), options_of(threads), error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine into_real32_1(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    real(real32), contiguous, target, intent(inout) :: a(:)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call check_shape(lengths, shape(a, kind=int64), outcome, error)
    if (outcome == 0) outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 9, &
      c_loc(a), 4 * size(a, kind=c_size_t), options_of(threads), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine put_real32_1(self, a, header, compression, stat, errmsg)
    class(fits_writer), intent(inout) :: self
    real(real32), contiguous, target, intent(in) :: a(:)
    type(fits_header), intent(in), optional :: header
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call put_pixels(self, 9, shape(a, kind=c_int64_t), c_loc(a), &
      4 * size(a, kind=c_size_t), header, compression, stat, errmsg)
  end subroutine

  subroutine write_real32_1(path, a, header, overwrite, checksum, compression, stat, errmsg)
    character(len=*), intent(in) :: path
    real(real32), contiguous, target, intent(in) :: a(:)
    type(fits_header), intent(in), optional :: header
    logical, intent(in), optional :: overwrite, checksum
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fits_writer) :: writer
    integer :: outcome
    outcome = 0
    call writer%create(path, overwrite, checksum, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%write(a, header, compression, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%commit(stat, errmsg)
  end subroutine

  subroutine read_real32_2(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    real(real32), allocatable, target, intent(out) :: a(:, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call fit_rank(lengths, 2, outcome, error)
    if (outcome == 0) then
      allocate (a(lengths(1), lengths(2)))
      outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 9, c_loc(a), &
        4 * size(a, kind=c_size_t), options_of(threads), error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine into_real32_2(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    real(real32), contiguous, target, intent(inout) :: a(:, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call check_shape(lengths, shape(a, kind=int64), outcome, error)
    if (outcome == 0) outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 9, &
      c_loc(a), 4 * size(a, kind=c_size_t), options_of(threads), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine put_real32_2(self, a, header, compression, stat, errmsg)
    class(fits_writer), intent(inout) :: self
    real(real32), contiguous, target, intent(in) :: a(:, :)
    type(fits_header), intent(in), optional :: header
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call put_pixels(self, 9, shape(a, kind=c_int64_t), c_loc(a), &
      4 * size(a, kind=c_size_t), header, compression, stat, errmsg)
  end subroutine

  subroutine write_real32_2(path, a, header, overwrite, checksum, compression, stat, errmsg)
    character(len=*), intent(in) :: path
    real(real32), contiguous, target, intent(in) :: a(:, :)
    type(fits_header), intent(in), optional :: header
    logical, intent(in), optional :: overwrite, checksum
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fits_writer) :: writer
    integer :: outcome
    outcome = 0
    call writer%create(path, overwrite, checksum, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%write(a, header, compression, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%commit(stat, errmsg)
  end subroutine

  subroutine read_real32_3(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    real(real32), allocatable, target, intent(out) :: a(:, :, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call fit_rank(lengths, 3, outcome, error)
    if (outcome == 0) then
      allocate (a(lengths(1), lengths(2), lengths(3)))
      outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 9, c_loc(a), &
        4 * size(a, kind=c_size_t), options_of(threads), error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine into_real32_3(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    real(real32), contiguous, target, intent(inout) :: a(:, :, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call check_shape(lengths, shape(a, kind=int64), outcome, error)
    if (outcome == 0) outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 9, &
      c_loc(a), 4 * size(a, kind=c_size_t), options_of(threads), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine put_real32_3(self, a, header, compression, stat, errmsg)
    class(fits_writer), intent(inout) :: self
    real(real32), contiguous, target, intent(in) :: a(:, :, :)
    type(fits_header), intent(in), optional :: header
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call put_pixels(self, 9, shape(a, kind=c_int64_t), c_loc(a), &
      4 * size(a, kind=c_size_t), header, compression, stat, errmsg)
  end subroutine

  subroutine write_real32_3(path, a, header, overwrite, checksum, compression, stat, errmsg)
    character(len=*), intent(in) :: path
    real(real32), contiguous, target, intent(in) :: a(:, :, :)
    type(fits_header), intent(in), optional :: header
    logical, intent(in), optional :: overwrite, checksum
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fits_writer) :: writer
    integer :: outcome
    outcome = 0
    call writer%create(path, overwrite, checksum, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%write(a, header, compression, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%commit(stat, errmsg)
  end subroutine

  subroutine read_real32_4(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    real(real32), allocatable, target, intent(out) :: a(:, :, :, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call fit_rank(lengths, 4, outcome, error)
    if (outcome == 0) then
      allocate (a(lengths(1), lengths(2), lengths(3), lengths(4)))
      outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 9, c_loc(a), &
        4 * size(a, kind=c_size_t), options_of(threads), error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine into_real32_4(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    real(real32), contiguous, target, intent(inout) :: a(:, :, :, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call check_shape(lengths, shape(a, kind=int64), outcome, error)
    if (outcome == 0) outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 9, &
      c_loc(a), 4 * size(a, kind=c_size_t), options_of(threads), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine put_real32_4(self, a, header, compression, stat, errmsg)
    class(fits_writer), intent(inout) :: self
    real(real32), contiguous, target, intent(in) :: a(:, :, :, :)
    type(fits_header), intent(in), optional :: header
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call put_pixels(self, 9, shape(a, kind=c_int64_t), c_loc(a), &
      4 * size(a, kind=c_size_t), header, compression, stat, errmsg)
  end subroutine

  subroutine write_real32_4(path, a, header, overwrite, checksum, compression, stat, errmsg)
    character(len=*), intent(in) :: path
    real(real32), contiguous, target, intent(in) :: a(:, :, :, :)
    type(fits_header), intent(in), optional :: header
    logical, intent(in), optional :: overwrite, checksum
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fits_writer) :: writer
    integer :: outcome
    outcome = 0
    call writer%create(path, overwrite, checksum, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%write(a, header, compression, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%commit(stat, errmsg)
  end subroutine

  subroutine read_real64_1(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    real(real64), allocatable, target, intent(out) :: a(:)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call fit_rank(lengths, 1, outcome, error)
    if (outcome == 0) then
      allocate (a(lengths(1)))
      outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 10, c_loc(a), &
        8 * size(a, kind=c_size_t), options_of(threads), error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine into_real64_1(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    real(real64), contiguous, target, intent(inout) :: a(:)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call check_shape(lengths, shape(a, kind=int64), outcome, error)
    if (outcome == 0) outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 10, &
      c_loc(a), 8 * size(a, kind=c_size_t), options_of(threads), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine put_real64_1(self, a, header, compression, stat, errmsg)
    class(fits_writer), intent(inout) :: self
    real(real64), contiguous, target, intent(in) :: a(:)
    type(fits_header), intent(in), optional :: header
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call put_pixels(self, 10, shape(a, kind=c_int64_t), c_loc(a), &
      8 * size(a, kind=c_size_t), header, compression, stat, errmsg)
  end subroutine

  subroutine write_real64_1(path, a, header, overwrite, checksum, compression, stat, errmsg)
    character(len=*), intent(in) :: path
    real(real64), contiguous, target, intent(in) :: a(:)
    type(fits_header), intent(in), optional :: header
    logical, intent(in), optional :: overwrite, checksum
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fits_writer) :: writer
    integer :: outcome
    outcome = 0
    call writer%create(path, overwrite, checksum, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%write(a, header, compression, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%commit(stat, errmsg)
  end subroutine

  subroutine read_real64_2(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    real(real64), allocatable, target, intent(out) :: a(:, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call fit_rank(lengths, 2, outcome, error)
    if (outcome == 0) then
      allocate (a(lengths(1), lengths(2)))
      outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 10, c_loc(a), &
        8 * size(a, kind=c_size_t), options_of(threads), error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine into_real64_2(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    real(real64), contiguous, target, intent(inout) :: a(:, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call check_shape(lengths, shape(a, kind=int64), outcome, error)
    if (outcome == 0) outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 10, &
      c_loc(a), 8 * size(a, kind=c_size_t), options_of(threads), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine put_real64_2(self, a, header, compression, stat, errmsg)
    class(fits_writer), intent(inout) :: self
    real(real64), contiguous, target, intent(in) :: a(:, :)
    type(fits_header), intent(in), optional :: header
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call put_pixels(self, 10, shape(a, kind=c_int64_t), c_loc(a), &
      8 * size(a, kind=c_size_t), header, compression, stat, errmsg)
  end subroutine

  subroutine write_real64_2(path, a, header, overwrite, checksum, compression, stat, errmsg)
    character(len=*), intent(in) :: path
    real(real64), contiguous, target, intent(in) :: a(:, :)
    type(fits_header), intent(in), optional :: header
    logical, intent(in), optional :: overwrite, checksum
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fits_writer) :: writer
    integer :: outcome
    outcome = 0
    call writer%create(path, overwrite, checksum, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%write(a, header, compression, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%commit(stat, errmsg)
  end subroutine

  subroutine read_real64_3(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    real(real64), allocatable, target, intent(out) :: a(:, :, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call fit_rank(lengths, 3, outcome, error)
    if (outcome == 0) then
      allocate (a(lengths(1), lengths(2), lengths(3)))
      outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 10, c_loc(a), &
        8 * size(a, kind=c_size_t), options_of(threads), error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine into_real64_3(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    real(real64), contiguous, target, intent(inout) :: a(:, :, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call check_shape(lengths, shape(a, kind=int64), outcome, error)
    if (outcome == 0) outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 10, &
      c_loc(a), 8 * size(a, kind=c_size_t), options_of(threads), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine put_real64_3(self, a, header, compression, stat, errmsg)
    class(fits_writer), intent(inout) :: self
    real(real64), contiguous, target, intent(in) :: a(:, :, :)
    type(fits_header), intent(in), optional :: header
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call put_pixels(self, 10, shape(a, kind=c_int64_t), c_loc(a), &
      8 * size(a, kind=c_size_t), header, compression, stat, errmsg)
  end subroutine

  subroutine write_real64_3(path, a, header, overwrite, checksum, compression, stat, errmsg)
    character(len=*), intent(in) :: path
    real(real64), contiguous, target, intent(in) :: a(:, :, :)
    type(fits_header), intent(in), optional :: header
    logical, intent(in), optional :: overwrite, checksum
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fits_writer) :: writer
    integer :: outcome
    outcome = 0
    call writer%create(path, overwrite, checksum, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%write(a, header, compression, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%commit(stat, errmsg)
  end subroutine

  subroutine read_real64_4(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    real(real64), allocatable, target, intent(out) :: a(:, :, :, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call fit_rank(lengths, 4, outcome, error)
    if (outcome == 0) then
      allocate (a(lengths(1), lengths(2), lengths(3), lengths(4)))
      outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 10, c_loc(a), &
        8 * size(a, kind=c_size_t), options_of(threads), error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine into_real64_4(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    real(real64), contiguous, target, intent(inout) :: a(:, :, :, :)
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call check_shape(lengths, shape(a, kind=int64), outcome, error)
    if (outcome == 0) outcome = c_read(self%handle, number_of(hdu), address_of(ranges), 10, &
      c_loc(a), 8 * size(a, kind=c_size_t), options_of(threads), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine put_real64_4(self, a, header, compression, stat, errmsg)
    class(fits_writer), intent(inout) :: self
    real(real64), contiguous, target, intent(in) :: a(:, :, :, :)
    type(fits_header), intent(in), optional :: header
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call put_pixels(self, 10, shape(a, kind=c_int64_t), c_loc(a), &
      8 * size(a, kind=c_size_t), header, compression, stat, errmsg)
  end subroutine

  subroutine write_real64_4(path, a, header, overwrite, checksum, compression, stat, errmsg)
    character(len=*), intent(in) :: path
    real(real64), contiguous, target, intent(in) :: a(:, :, :, :)
    type(fits_header), intent(in), optional :: header
    logical, intent(in), optional :: overwrite, checksum
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fits_writer) :: writer
    integer :: outcome
    outcome = 0
    call writer%create(path, overwrite, checksum, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%write(a, header, compression, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%commit(stat, errmsg)
  end subroutine

  ! Columns.

  !> Find a column, and describe it.
  subroutine describe_column(self, column, hdu, request, facts, outcome, error)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: column
    integer(c_size_t), intent(in) :: hdu
    type(c_column), intent(out) :: request
    type(c_column_facts), intent(out) :: facts
    integer(c_int), intent(out) :: outcome
    type(c_error), intent(inout) :: error
    request = c_column(int(c_sizeof(request), c_int32_t), 0, 0, 0, c_null_ptr, 0, c_null_ptr, 0)
    facts%bytes = int(c_sizeof(facts), c_int32_t)
    facts%elements = 0
    outcome = c_column_find(self%handle, hdu, c_text(column), request%column, error)
    if (outcome == 0) outcome = c_column_describe(self%handle, hdu, request%column, facts, error)
    if (outcome == 0 .and. facts%is_variable /= 0) call refuse("invalid column " // &
      trim(column) // ": expected cells of one length, but it has arrays of variable length", &
      "read it by tachyfits_read_arrays of the interface for C", outcome, error)
  end subroutine

  !> Rows of a table, and elements in a cell of a column; rank 1 takes cells of one element.
  subroutine measure(self, column, hdu, rank, elements, rows, outcome, error)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: column
    integer(c_size_t), intent(in) :: hdu
    integer, intent(in) :: rank
    integer(int64), intent(out) :: elements, rows
    integer(c_int), intent(out) :: outcome
    type(c_error), intent(inout) :: error
    type(c_column) :: request
    type(c_column_facts) :: facts
    rows = 0
    call describe_column(self, column, hdu, request, facts, outcome, error)
    elements = facts%elements
    if (outcome == 0) call rows_of(self, hdu, rows, outcome, error)
    if (outcome == 0 .and. rank == 1 .and. elements /= 1) call refuse("invalid rank 1 for " // &
      "column " // trim(column) // ": its cells have " // decimal([elements]) // " elements", &
      "read an array of rank 2: values(element, row)", outcome, error)
  end subroutine

  !> Fill columns of an array, all in one pass over the rows from `first`: `count` elements of
  !> `bytes` bytes for each, one after another. `marks` takes 1 for each null element of a column
  !> that is read alone.
  subroutine fill_columns(self, names, hdu, code, bytes, values, count, first, marks, &
      threads, outcome, error)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: names(:)
    integer(c_size_t), intent(in) :: hdu
    integer(c_int32_t), intent(in) :: code
    integer(int64), intent(in) :: bytes, count, first
    type(c_ptr), intent(in) :: values
    integer(int8), contiguous, target, intent(inout) :: marks(:)
    integer, intent(in), optional :: threads
    integer(c_int), intent(out) :: outcome
    type(c_error), intent(inout) :: error
    type(c_column), allocatable :: requests(:)
    type(c_column) :: request
    type(c_column_facts) :: facts
    integer(int8), pointer :: memory(:)
    integer(int64) :: rows
    integer :: n, attempt
    allocate (requests(size(names)))
    call c_f_pointer(values, memory, [size(names) * count * bytes])
    outcome = 0
    do n = 1, size(names)
      requests(n) = c_column(int(c_sizeof(requests(n)), c_int32_t), 0, code, 0, c_null_ptr, &
        count * bytes, c_null_ptr, 0)
      if (outcome == 0) outcome = c_column_find(self%handle, hdu, c_text(names(n)), &
        requests(n)%column, error)
      if (count > 0) requests(n)%values = c_loc(memory((n - 1) * count * bytes + 1))
    end do
    if (outcome /= 0) return
    if (size(marks) > 0) requests%nulls = c_loc(marks)
    ! Most cells have one element. Columns are described, which takes longer, only if these do not.
    rows = count
    do attempt = 1, 2
      outcome = c_read_columns(self%handle, hdu, requests, size(names, kind=c_size_t), first - 1, &
        rows, options_of(threads), error)
      if (outcome /= usage .or. attempt == 2) return
      do n = 1, size(names)
        call describe_column(self, names(n), hdu, request, facts, outcome, error)
        if (outcome /= 0) return
        if (code == text_cells) facts%elements = facts%cell_bytes
        if (n == 1) rows = count / max(facts%elements, 1_int64)
        if (rows * facts%elements /= count) then
          call refuse("invalid length " // decimal([count]) // " for column " // trim(names(n)) // &
            ": its cells have " // decimal([facts%elements]) // " elements", &
            "use an array for whole cells, and columns of the same shape", outcome, error)
          return
        end if
      end do
    end do
  end subroutine

  subroutine rows_that_meet(self, condition, hdu, rows, outcome, error)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: condition
    integer(c_size_t), intent(in) :: hdu
    integer(int64), allocatable, intent(out) :: rows(:)
    integer(c_int), intent(out) :: outcome
    type(c_error), intent(inout) :: error
    type(c_ptr) :: numbers
    integer(c_int64_t), pointer :: from_0(:)
    integer(c_size_t) :: count
    count = 0
    outcome = c_rows_where(self%handle, hdu, c_text(condition), 0_c_int64_t, huge(0_c_int64_t), &
      numbers, count, options_of(), error)
    allocate (rows(count))
    if (outcome /= 0 .or. count == 0) return
    call c_f_pointer(numbers, from_0, [count])
    rows = from_0 + 1
    call c_rows_free(numbers, count)
  end subroutine

  !> Find the rows that meet a condition: their numbers from 1.
  subroutine file_rows_where(self, condition, rows, hdu, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: condition
    integer(int64), allocatable, intent(out) :: rows(:)
    integer, intent(in), optional :: hdu
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(c_int) :: outcome
    call rows_that_meet(self, condition, number_of(hdu), rows, outcome, error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine column_int8_1(self, column, values, hdu, where, nulls, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: column
    integer(int8), allocatable, target, intent(out) :: values(:)
    integer, intent(in), optional :: hdu, threads
    character(len=*), intent(in), optional :: where
    logical, allocatable, intent(out), optional :: nulls(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), allocatable, target :: marks(:)
    integer(int64), allocatable :: rows(:)
    integer(int64) :: elements, length
    integer(c_int) :: outcome
    call measure(self, column, number_of(hdu), 1, elements, length, outcome, error)
    if (outcome == 0) then
      allocate (values(length), marks(merge(length * elements, 0_int64, present(nulls))))
      call fill_columns(self, [column], number_of(hdu), 2, 1_int64, c_loc(values), &
        size(values, kind=int64), 1_int64, marks, threads, outcome, error)
      if (present(nulls)) nulls = reshape(marks /= 0, shape(values))
    end if
    if (outcome == 0 .and. present(where)) then
      call rows_that_meet(self, where, number_of(hdu), rows, outcome, error)
      values = values(rows)
      if (present(nulls)) nulls = nulls(rows)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine column_int8_2(self, column, values, hdu, where, nulls, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: column
    integer(int8), allocatable, target, intent(out) :: values(:, :)
    integer, intent(in), optional :: hdu, threads
    character(len=*), intent(in), optional :: where
    logical, allocatable, intent(out), optional :: nulls(:, :)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), allocatable, target :: marks(:)
    integer(int64), allocatable :: rows(:)
    integer(int64) :: elements, length
    integer(c_int) :: outcome
    call measure(self, column, number_of(hdu), 2, elements, length, outcome, error)
    if (outcome == 0) then
      allocate (values(elements, length), marks(merge(length * elements, 0_int64, present(nulls))))
      call fill_columns(self, [column], number_of(hdu), 2, 1_int64, c_loc(values), &
        size(values, kind=int64), 1_int64, marks, threads, outcome, error)
      if (present(nulls)) nulls = reshape(marks /= 0, shape(values))
    end if
    if (outcome == 0 .and. present(where)) then
      call rows_that_meet(self, where, number_of(hdu), rows, outcome, error)
      values = values(:, rows)
      if (present(nulls)) nulls = nulls(:, rows)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  !> Fill an array with the rows of a column from `first`: as many as it has room for.
  subroutine column_into_int8(self, column, values, hdu, first, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: column
    integer(int8), contiguous, target, intent(inout) :: values(:)
    integer, intent(in), optional :: hdu, threads
    integer(int64), intent(in), optional :: first
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), target :: no_marks(0)
    integer(c_int) :: outcome
    call fill_columns(self, [column], number_of(hdu), 2, 1_int64, c_loc(values), &
      size(values, kind=int64), first_of(first), no_marks, threads, outcome, error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  !> Columns of numbers in one pass over the rows: values(row, column).
  subroutine columns_int8(self, names, values, hdu, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: names(:)
    integer(int8), allocatable, target, intent(out) :: values(:, :)
    integer, intent(in), optional :: hdu, threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), target :: no_marks(0)
    integer(int64) :: length
    integer(c_int) :: outcome
    call rows_of(self, number_of(hdu), length, outcome, error)
    if (outcome == 0) then
      allocate (values(length, size(names)))
      call fill_columns(self, names, number_of(hdu), 2, 1_int64, c_loc(values), length, &
        1_int64, no_marks, threads, outcome, error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  !> Fill values(row, column) with rows from `first`: as many as it has room for.
  subroutine columns_into_int8(self, names, values, hdu, first, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: names(:)
    integer(int8), contiguous, target, intent(inout) :: values(:, :)
    integer, intent(in), optional :: hdu, threads
    integer(int64), intent(in), optional :: first
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), target :: no_marks(0)
    integer(c_int) :: outcome
    if (size(values, 2) == size(names)) then
      call fill_columns(self, names, number_of(hdu), 2, 1_int64, c_loc(values), &
        size(values, 1, int64), first_of(first), no_marks, threads, outcome, error)
    else
      call refuse("invalid shape " // decimal(shape(values, kind=int64)) // " of the array: " // &
        "expected rows, " // decimal([size(names, kind=int64)]) // " columns", &
        "use values(row, column) with a column for each name", outcome, error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine column_int16_1(self, column, values, hdu, where, nulls, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: column
    integer(int16), allocatable, target, intent(out) :: values(:)
    integer, intent(in), optional :: hdu, threads
    character(len=*), intent(in), optional :: where
    logical, allocatable, intent(out), optional :: nulls(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), allocatable, target :: marks(:)
    integer(int64), allocatable :: rows(:)
    integer(int64) :: elements, length
    integer(c_int) :: outcome
    call measure(self, column, number_of(hdu), 1, elements, length, outcome, error)
    if (outcome == 0) then
      allocate (values(length), marks(merge(length * elements, 0_int64, present(nulls))))
      call fill_columns(self, [column], number_of(hdu), 4, 2_int64, c_loc(values), &
        size(values, kind=int64), 1_int64, marks, threads, outcome, error)
      if (present(nulls)) nulls = reshape(marks /= 0, shape(values))
    end if
    if (outcome == 0 .and. present(where)) then
      call rows_that_meet(self, where, number_of(hdu), rows, outcome, error)
      values = values(rows)
      if (present(nulls)) nulls = nulls(rows)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine column_int16_2(self, column, values, hdu, where, nulls, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: column
    integer(int16), allocatable, target, intent(out) :: values(:, :)
    integer, intent(in), optional :: hdu, threads
    character(len=*), intent(in), optional :: where
    logical, allocatable, intent(out), optional :: nulls(:, :)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), allocatable, target :: marks(:)
    integer(int64), allocatable :: rows(:)
    integer(int64) :: elements, length
    integer(c_int) :: outcome
    call measure(self, column, number_of(hdu), 2, elements, length, outcome, error)
    if (outcome == 0) then
      allocate (values(elements, length), marks(merge(length * elements, 0_int64, present(nulls))))
      call fill_columns(self, [column], number_of(hdu), 4, 2_int64, c_loc(values), &
        size(values, kind=int64), 1_int64, marks, threads, outcome, error)
      if (present(nulls)) nulls = reshape(marks /= 0, shape(values))
    end if
    if (outcome == 0 .and. present(where)) then
      call rows_that_meet(self, where, number_of(hdu), rows, outcome, error)
      values = values(:, rows)
      if (present(nulls)) nulls = nulls(:, rows)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  !> Fill an array with the rows of a column from `first`: as many as it has room for.
  subroutine column_into_int16(self, column, values, hdu, first, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: column
    integer(int16), contiguous, target, intent(inout) :: values(:)
    integer, intent(in), optional :: hdu, threads
    integer(int64), intent(in), optional :: first
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), target :: no_marks(0)
    integer(c_int) :: outcome
    call fill_columns(self, [column], number_of(hdu), 4, 2_int64, c_loc(values), &
      size(values, kind=int64), first_of(first), no_marks, threads, outcome, error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  !> Columns of numbers in one pass over the rows: values(row, column).
  subroutine columns_int16(self, names, values, hdu, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: names(:)
    integer(int16), allocatable, target, intent(out) :: values(:, :)
    integer, intent(in), optional :: hdu, threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), target :: no_marks(0)
    integer(int64) :: length
    integer(c_int) :: outcome
    call rows_of(self, number_of(hdu), length, outcome, error)
    if (outcome == 0) then
      allocate (values(length, size(names)))
      call fill_columns(self, names, number_of(hdu), 4, 2_int64, c_loc(values), length, &
        1_int64, no_marks, threads, outcome, error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  !> Fill values(row, column) with rows from `first`: as many as it has room for.
  subroutine columns_into_int16(self, names, values, hdu, first, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: names(:)
    integer(int16), contiguous, target, intent(inout) :: values(:, :)
    integer, intent(in), optional :: hdu, threads
    integer(int64), intent(in), optional :: first
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), target :: no_marks(0)
    integer(c_int) :: outcome
    if (size(values, 2) == size(names)) then
      call fill_columns(self, names, number_of(hdu), 4, 2_int64, c_loc(values), &
        size(values, 1, int64), first_of(first), no_marks, threads, outcome, error)
    else
      call refuse("invalid shape " // decimal(shape(values, kind=int64)) // " of the array: " // &
        "expected rows, " // decimal([size(names, kind=int64)]) // " columns", &
        "use values(row, column) with a column for each name", outcome, error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine column_int32_1(self, column, values, hdu, where, nulls, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: column
    integer(int32), allocatable, target, intent(out) :: values(:)
    integer, intent(in), optional :: hdu, threads
    character(len=*), intent(in), optional :: where
    logical, allocatable, intent(out), optional :: nulls(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), allocatable, target :: marks(:)
    integer(int64), allocatable :: rows(:)
    integer(int64) :: elements, length
    integer(c_int) :: outcome
    call measure(self, column, number_of(hdu), 1, elements, length, outcome, error)
    if (outcome == 0) then
      allocate (values(length), marks(merge(length * elements, 0_int64, present(nulls))))
      call fill_columns(self, [column], number_of(hdu), 6, 4_int64, c_loc(values), &
        size(values, kind=int64), 1_int64, marks, threads, outcome, error)
      if (present(nulls)) nulls = reshape(marks /= 0, shape(values))
    end if
    if (outcome == 0 .and. present(where)) then
      call rows_that_meet(self, where, number_of(hdu), rows, outcome, error)
      values = values(rows)
      if (present(nulls)) nulls = nulls(rows)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine column_int32_2(self, column, values, hdu, where, nulls, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: column
    integer(int32), allocatable, target, intent(out) :: values(:, :)
    integer, intent(in), optional :: hdu, threads
    character(len=*), intent(in), optional :: where
    logical, allocatable, intent(out), optional :: nulls(:, :)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), allocatable, target :: marks(:)
    integer(int64), allocatable :: rows(:)
    integer(int64) :: elements, length
    integer(c_int) :: outcome
    call measure(self, column, number_of(hdu), 2, elements, length, outcome, error)
    if (outcome == 0) then
      allocate (values(elements, length), marks(merge(length * elements, 0_int64, present(nulls))))
      call fill_columns(self, [column], number_of(hdu), 6, 4_int64, c_loc(values), &
        size(values, kind=int64), 1_int64, marks, threads, outcome, error)
      if (present(nulls)) nulls = reshape(marks /= 0, shape(values))
    end if
    if (outcome == 0 .and. present(where)) then
      call rows_that_meet(self, where, number_of(hdu), rows, outcome, error)
      values = values(:, rows)
      if (present(nulls)) nulls = nulls(:, rows)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  !> Fill an array with the rows of a column from `first`: as many as it has room for.
  subroutine column_into_int32(self, column, values, hdu, first, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: column
    integer(int32), contiguous, target, intent(inout) :: values(:)
    integer, intent(in), optional :: hdu, threads
    integer(int64), intent(in), optional :: first
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), target :: no_marks(0)
    integer(c_int) :: outcome
    call fill_columns(self, [column], number_of(hdu), 6, 4_int64, c_loc(values), &
      size(values, kind=int64), first_of(first), no_marks, threads, outcome, error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  !> Columns of numbers in one pass over the rows: values(row, column).
  subroutine columns_int32(self, names, values, hdu, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: names(:)
    integer(int32), allocatable, target, intent(out) :: values(:, :)
    integer, intent(in), optional :: hdu, threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), target :: no_marks(0)
    integer(int64) :: length
    integer(c_int) :: outcome
    call rows_of(self, number_of(hdu), length, outcome, error)
    if (outcome == 0) then
      allocate (values(length, size(names)))
      call fill_columns(self, names, number_of(hdu), 6, 4_int64, c_loc(values), length, &
        1_int64, no_marks, threads, outcome, error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  !> Fill values(row, column) with rows from `first`: as many as it has room for.
  subroutine columns_into_int32(self, names, values, hdu, first, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: names(:)
    integer(int32), contiguous, target, intent(inout) :: values(:, :)
    integer, intent(in), optional :: hdu, threads
    integer(int64), intent(in), optional :: first
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), target :: no_marks(0)
    integer(c_int) :: outcome
    if (size(values, 2) == size(names)) then
      call fill_columns(self, names, number_of(hdu), 6, 4_int64, c_loc(values), &
        size(values, 1, int64), first_of(first), no_marks, threads, outcome, error)
    else
      call refuse("invalid shape " // decimal(shape(values, kind=int64)) // " of the array: " // &
        "expected rows, " // decimal([size(names, kind=int64)]) // " columns", &
        "use values(row, column) with a column for each name", outcome, error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine column_int64_1(self, column, values, hdu, where, nulls, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: column
    integer(int64), allocatable, target, intent(out) :: values(:)
    integer, intent(in), optional :: hdu, threads
    character(len=*), intent(in), optional :: where
    logical, allocatable, intent(out), optional :: nulls(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), allocatable, target :: marks(:)
    integer(int64), allocatable :: rows(:)
    integer(int64) :: elements, length
    integer(c_int) :: outcome
    call measure(self, column, number_of(hdu), 1, elements, length, outcome, error)
    if (outcome == 0) then
      allocate (values(length), marks(merge(length * elements, 0_int64, present(nulls))))
      call fill_columns(self, [column], number_of(hdu), 8, 8_int64, c_loc(values), &
        size(values, kind=int64), 1_int64, marks, threads, outcome, error)
      if (present(nulls)) nulls = reshape(marks /= 0, shape(values))
    end if
    if (outcome == 0 .and. present(where)) then
      call rows_that_meet(self, where, number_of(hdu), rows, outcome, error)
      values = values(rows)
      if (present(nulls)) nulls = nulls(rows)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine column_int64_2(self, column, values, hdu, where, nulls, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: column
    integer(int64), allocatable, target, intent(out) :: values(:, :)
    integer, intent(in), optional :: hdu, threads
    character(len=*), intent(in), optional :: where
    logical, allocatable, intent(out), optional :: nulls(:, :)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), allocatable, target :: marks(:)
    integer(int64), allocatable :: rows(:)
    integer(int64) :: elements, length
    integer(c_int) :: outcome
    call measure(self, column, number_of(hdu), 2, elements, length, outcome, error)
    if (outcome == 0) then
      allocate (values(elements, length), marks(merge(length * elements, 0_int64, present(nulls))))
      call fill_columns(self, [column], number_of(hdu), 8, 8_int64, c_loc(values), &
        size(values, kind=int64), 1_int64, marks, threads, outcome, error)
      if (present(nulls)) nulls = reshape(marks /= 0, shape(values))
    end if
    if (outcome == 0 .and. present(where)) then
      call rows_that_meet(self, where, number_of(hdu), rows, outcome, error)
      values = values(:, rows)
      if (present(nulls)) nulls = nulls(:, rows)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  !> Fill an array with the rows of a column from `first`: as many as it has room for.
  subroutine column_into_int64(self, column, values, hdu, first, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: column
    integer(int64), contiguous, target, intent(inout) :: values(:)
    integer, intent(in), optional :: hdu, threads
    integer(int64), intent(in), optional :: first
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), target :: no_marks(0)
    integer(c_int) :: outcome
    call fill_columns(self, [column], number_of(hdu), 8, 8_int64, c_loc(values), &
      size(values, kind=int64), first_of(first), no_marks, threads, outcome, error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  !> Columns of numbers in one pass over the rows: values(row, column).
  subroutine columns_int64(self, names, values, hdu, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: names(:)
    integer(int64), allocatable, target, intent(out) :: values(:, :)
    integer, intent(in), optional :: hdu, threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), target :: no_marks(0)
    integer(int64) :: length
    integer(c_int) :: outcome
    call rows_of(self, number_of(hdu), length, outcome, error)
    if (outcome == 0) then
      allocate (values(length, size(names)))
      call fill_columns(self, names, number_of(hdu), 8, 8_int64, c_loc(values), length, &
        1_int64, no_marks, threads, outcome, error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  !> Fill values(row, column) with rows from `first`: as many as it has room for.
  subroutine columns_into_int64(self, names, values, hdu, first, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: names(:)
    integer(int64), contiguous, target, intent(inout) :: values(:, :)
    integer, intent(in), optional :: hdu, threads
    integer(int64), intent(in), optional :: first
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), target :: no_marks(0)
    integer(c_int) :: outcome
    if (size(values, 2) == size(names)) then
      call fill_columns(self, names, number_of(hdu), 8, 8_int64, c_loc(values), &
        size(values, 1, int64), first_of(first), no_marks, threads, outcome, error)
    else
      call refuse("invalid shape " // decimal(shape(values, kind=int64)) // " of the array: " // &
        "expected rows, " // decimal([size(names, kind=int64)]) // " columns", &
        "use values(row, column) with a column for each name", outcome, error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine column_real32_1(self, column, values, hdu, where, nulls, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: column
    real(real32), allocatable, target, intent(out) :: values(:)
    integer, intent(in), optional :: hdu, threads
    character(len=*), intent(in), optional :: where
    logical, allocatable, intent(out), optional :: nulls(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), allocatable, target :: marks(:)
    integer(int64), allocatable :: rows(:)
    integer(int64) :: elements, length
    integer(c_int) :: outcome
    call measure(self, column, number_of(hdu), 1, elements, length, outcome, error)
    if (outcome == 0) then
      allocate (values(length), marks(merge(length * elements, 0_int64, present(nulls))))
      call fill_columns(self, [column], number_of(hdu), 9, 4_int64, c_loc(values), &
        size(values, kind=int64), 1_int64, marks, threads, outcome, error)
      if (present(nulls)) nulls = reshape(marks /= 0, shape(values)) .or. ieee_is_nan(values)
    end if
    if (outcome == 0 .and. present(where)) then
      call rows_that_meet(self, where, number_of(hdu), rows, outcome, error)
      values = values(rows)
      if (present(nulls)) nulls = nulls(rows)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine column_real32_2(self, column, values, hdu, where, nulls, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: column
    real(real32), allocatable, target, intent(out) :: values(:, :)
    integer, intent(in), optional :: hdu, threads
    character(len=*), intent(in), optional :: where
    logical, allocatable, intent(out), optional :: nulls(:, :)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), allocatable, target :: marks(:)
    integer(int64), allocatable :: rows(:)
    integer(int64) :: elements, length
    integer(c_int) :: outcome
    call measure(self, column, number_of(hdu), 2, elements, length, outcome, error)
    if (outcome == 0) then
      allocate (values(elements, length), marks(merge(length * elements, 0_int64, present(nulls))))
      call fill_columns(self, [column], number_of(hdu), 9, 4_int64, c_loc(values), &
        size(values, kind=int64), 1_int64, marks, threads, outcome, error)
      if (present(nulls)) nulls = reshape(marks /= 0, shape(values)) .or. ieee_is_nan(values)
    end if
    if (outcome == 0 .and. present(where)) then
      call rows_that_meet(self, where, number_of(hdu), rows, outcome, error)
      values = values(:, rows)
      if (present(nulls)) nulls = nulls(:, rows)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  !> Fill an array with the rows of a column from `first`: as many as it has room for.
  subroutine column_into_real32(self, column, values, hdu, first, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: column
    real(real32), contiguous, target, intent(inout) :: values(:)
    integer, intent(in), optional :: hdu, threads
    integer(int64), intent(in), optional :: first
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), target :: no_marks(0)
    integer(c_int) :: outcome
    call fill_columns(self, [column], number_of(hdu), 9, 4_int64, c_loc(values), &
      size(values, kind=int64), first_of(first), no_marks, threads, outcome, error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  !> Columns of numbers in one pass over the rows: values(row, column).
  subroutine columns_real32(self, names, values, hdu, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: names(:)
    real(real32), allocatable, target, intent(out) :: values(:, :)
    integer, intent(in), optional :: hdu, threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), target :: no_marks(0)
    integer(int64) :: length
    integer(c_int) :: outcome
    call rows_of(self, number_of(hdu), length, outcome, error)
    if (outcome == 0) then
      allocate (values(length, size(names)))
      call fill_columns(self, names, number_of(hdu), 9, 4_int64, c_loc(values), length, &
        1_int64, no_marks, threads, outcome, error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  !> Fill values(row, column) with rows from `first`: as many as it has room for.
  subroutine columns_into_real32(self, names, values, hdu, first, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: names(:)
    real(real32), contiguous, target, intent(inout) :: values(:, :)
    integer, intent(in), optional :: hdu, threads
    integer(int64), intent(in), optional :: first
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), target :: no_marks(0)
    integer(c_int) :: outcome
    if (size(values, 2) == size(names)) then
      call fill_columns(self, names, number_of(hdu), 9, 4_int64, c_loc(values), &
        size(values, 1, int64), first_of(first), no_marks, threads, outcome, error)
    else
      call refuse("invalid shape " // decimal(shape(values, kind=int64)) // " of the array: " // &
        "expected rows, " // decimal([size(names, kind=int64)]) // " columns", &
        "use values(row, column) with a column for each name", outcome, error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine column_real64_1(self, column, values, hdu, where, nulls, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: column
    real(real64), allocatable, target, intent(out) :: values(:)
    integer, intent(in), optional :: hdu, threads
    character(len=*), intent(in), optional :: where
    logical, allocatable, intent(out), optional :: nulls(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), allocatable, target :: marks(:)
    integer(int64), allocatable :: rows(:)
    integer(int64) :: elements, length
    integer(c_int) :: outcome
    call measure(self, column, number_of(hdu), 1, elements, length, outcome, error)
    if (outcome == 0) then
      allocate (values(length), marks(merge(length * elements, 0_int64, present(nulls))))
      call fill_columns(self, [column], number_of(hdu), 10, 8_int64, c_loc(values), &
        size(values, kind=int64), 1_int64, marks, threads, outcome, error)
      if (present(nulls)) nulls = reshape(marks /= 0, shape(values)) .or. ieee_is_nan(values)
    end if
    if (outcome == 0 .and. present(where)) then
      call rows_that_meet(self, where, number_of(hdu), rows, outcome, error)
      values = values(rows)
      if (present(nulls)) nulls = nulls(rows)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine column_real64_2(self, column, values, hdu, where, nulls, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: column
    real(real64), allocatable, target, intent(out) :: values(:, :)
    integer, intent(in), optional :: hdu, threads
    character(len=*), intent(in), optional :: where
    logical, allocatable, intent(out), optional :: nulls(:, :)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), allocatable, target :: marks(:)
    integer(int64), allocatable :: rows(:)
    integer(int64) :: elements, length
    integer(c_int) :: outcome
    call measure(self, column, number_of(hdu), 2, elements, length, outcome, error)
    if (outcome == 0) then
      allocate (values(elements, length), marks(merge(length * elements, 0_int64, present(nulls))))
      call fill_columns(self, [column], number_of(hdu), 10, 8_int64, c_loc(values), &
        size(values, kind=int64), 1_int64, marks, threads, outcome, error)
      if (present(nulls)) nulls = reshape(marks /= 0, shape(values)) .or. ieee_is_nan(values)
    end if
    if (outcome == 0 .and. present(where)) then
      call rows_that_meet(self, where, number_of(hdu), rows, outcome, error)
      values = values(:, rows)
      if (present(nulls)) nulls = nulls(:, rows)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  !> Fill an array with the rows of a column from `first`: as many as it has room for.
  subroutine column_into_real64(self, column, values, hdu, first, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: column
    real(real64), contiguous, target, intent(inout) :: values(:)
    integer, intent(in), optional :: hdu, threads
    integer(int64), intent(in), optional :: first
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), target :: no_marks(0)
    integer(c_int) :: outcome
    call fill_columns(self, [column], number_of(hdu), 10, 8_int64, c_loc(values), &
      size(values, kind=int64), first_of(first), no_marks, threads, outcome, error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  !> Columns of numbers in one pass over the rows: values(row, column).
  subroutine columns_real64(self, names, values, hdu, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: names(:)
    real(real64), allocatable, target, intent(out) :: values(:, :)
    integer, intent(in), optional :: hdu, threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), target :: no_marks(0)
    integer(int64) :: length
    integer(c_int) :: outcome
    call rows_of(self, number_of(hdu), length, outcome, error)
    if (outcome == 0) then
      allocate (values(length, size(names)))
      call fill_columns(self, names, number_of(hdu), 10, 8_int64, c_loc(values), length, &
        1_int64, no_marks, threads, outcome, error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  !> Fill values(row, column) with rows from `first`: as many as it has room for.
  subroutine columns_into_real64(self, names, values, hdu, first, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: names(:)
    real(real64), contiguous, target, intent(inout) :: values(:, :)
    integer, intent(in), optional :: hdu, threads
    integer(int64), intent(in), optional :: first
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), target :: no_marks(0)
    integer(c_int) :: outcome
    if (size(values, 2) == size(names)) then
      call fill_columns(self, names, number_of(hdu), 10, 8_int64, c_loc(values), &
        size(values, 1, int64), first_of(first), no_marks, threads, outcome, error)
    else
      call refuse("invalid shape " // decimal(shape(values, kind=int64)) // " of the array: " // &
        "expected rows, " // decimal([size(names, kind=int64)]) // " columns", &
        "use values(row, column) with a column for each name", outcome, error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  pure integer(int64) function first_of(first)
    integer(int64), intent(in), optional :: first
    first_of = 1
    if (present(first)) first_of = first
  end function

  !> The texts of a column.
  subroutine column_text(self, column, values, hdu, where, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: column
    character(len=:), allocatable, intent(out) :: values(:)
    integer, intent(in), optional :: hdu
    character(len=*), intent(in), optional :: where
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_column) :: request
    type(c_column_facts) :: facts
    character(kind=c_char), allocatable, target :: cells(:, :)
    integer(int8), target :: no_marks(0)
    integer(int64), allocatable :: rows(:)
    integer(int64) :: length, width, n, at
    integer(c_int) :: outcome
    call describe_column(self, column, number_of(hdu), request, facts, outcome, error)
    length = 0
    if (outcome == 0) call rows_of(self, number_of(hdu), length, outcome, error)
    if (outcome == 0 .and. (facts%cell_type /= text_cells .or. facts%elements /= 1)) call refuse( &
      "invalid array of texts for column " // trim(column) // ": its form is " // &
      fortran_text(facts%form), "read numbers, or logicals", outcome, error)
    if (outcome == 0) then
      width = facts%cell_bytes
      allocate (cells(width, length))
      call fill_columns(self, [column], number_of(hdu), text_cells, 1_int64, c_loc(cells), &
        size(cells, kind=int64), 1_int64, no_marks, outcome=outcome, error=error)
      rows = [(n, n=1, length)]
      if (outcome == 0 .and. present(where)) call rows_that_meet(self, where, number_of(hdu), &
        rows, outcome, error)
      allocate (character(len=width) :: values(size(rows)))
      do n = 1, size(rows, kind=int64)
        do at = 1, width
          values(n)(at:at) = cells(at, rows(n))
          if (values(n)(at:at) == c_null_char) values(n)(at:at) = " "
        end do
      end do
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine column_logical(self, column, values, hdu, where, nulls, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: column
    logical, allocatable, intent(out) :: values(:)
    integer, intent(in), optional :: hdu
    character(len=*), intent(in), optional :: where
    logical, allocatable, intent(out), optional :: nulls(:)
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), allocatable, target :: cells(:), marks(:)
    integer(int64), allocatable :: rows(:)
    integer(int64) :: elements, length
    integer(c_int) :: outcome
    call measure(self, column, number_of(hdu), 1, elements, length, outcome, error)
    if (outcome == 0) then
      allocate (cells(length), marks(length))
      call fill_columns(self, [column], number_of(hdu), logical_cells, 1_int64, c_loc(cells), &
        length, 1_int64, marks, outcome=outcome, error=error)
      values = cells /= 0
      if (present(nulls)) nulls = marks /= 0
    end if
    if (outcome == 0 .and. present(where)) then
      call rows_that_meet(self, where, number_of(hdu), rows, outcome, error)
      values = values(rows)
      if (present(nulls)) nulls = nulls(rows)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  ! New files.

  !> Begin a file. An existing one is an error unless it may be overwritten.
  subroutine writer_create(self, path, overwrite, checksum, stat, errmsg)
    class(fits_writer), intent(inout) :: self
    character(len=*), intent(in) :: path
    logical, intent(in), optional :: overwrite, checksum
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(c_int32_t) :: flags
    integer(c_int) :: outcome
    call self%abandon()
    flags = 0
    if (present(overwrite)) flags = flags + merge(overwriting, 0, overwrite)
    if (present(checksum)) flags = flags + merge(checksums, 0, checksum)
    outcome = c_create(c_text(path), options_of(flags=flags), self%handle, error)
    if (outcome /= 0) self%handle = c_null_ptr
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine put_pixels(self, pixel, axes, pixels, bytes, header, compression, stat, errmsg)
    class(fits_writer), intent(inout) :: self
    integer(c_int32_t), intent(in) :: pixel
    integer(c_int64_t), intent(in) :: axes(:)
    type(c_ptr), intent(in) :: pixels
    integer(c_size_t), intent(in) :: bytes
    type(fits_header), intent(in), optional :: header
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    character(len=:, kind=c_char), allocatable, target :: codec
    type(c_ptr) :: codec_address
    integer(c_int) :: outcome
    codec_address = c_null_ptr
    codec = comment_of(compression)
    if (present(compression)) codec_address = c_loc(codec)
    outcome = c_write_image(self%handle, cards_of(header), pixel, size(axes, kind=c_size_t), axes, &
      pixels, bytes, codec_address, options_of(), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  type(c_ptr) function cards_of(header)
    type(fits_header), intent(in), optional :: header
    cards_of = c_null_ptr
    if (present(header)) cards_of = header%handle
  end function

  !> Write a table as the next HDU.
  subroutine put_table(self, table, header, stat, errmsg)
    class(fits_writer), intent(inout) :: self
    type(fits_table), intent(in), target :: table
    type(fits_header), intent(in), optional :: header
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_new_column), allocatable :: columns(:)
    integer(c_int) :: outcome
    integer :: n
    allocate (columns(columns_of(table)))
    do n = 1, size(columns)
      columns(n) = c_new_column(int(c_sizeof(columns(n)), c_int32_t), 0, &
        c_loc(table%columns(n)%name), c_loc(table%columns(n)%form), c_loc(table%columns(n)%unit))
    end do
    outcome = c_begin_table(self%handle, cards_of(header), columns, size(columns, kind=c_size_t), &
      error)
    if (outcome == 0) call put_rows(self, table, outcome, error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  !> Write more rows of the table that was written last; the columns are the same.
  subroutine writer_append(self, table, stat, errmsg)
    class(fits_writer), intent(inout) :: self
    type(fits_table), intent(in), target :: table
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(c_int) :: outcome
    call put_rows(self, table, outcome, error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine put_rows(self, table, outcome, error)
    class(fits_writer), intent(inout) :: self
    type(fits_table), intent(in), target :: table
    integer(c_int), intent(out) :: outcome
    type(c_error), intent(inout) :: error
    type(c_cells), allocatable :: cells(:)
    integer :: n
    allocate (cells(columns_of(table)))
    do n = 1, size(cells)
      cells(n) = c_cells(c_loc(table%columns(n)%cells), &
        size(table%columns(n)%cells, kind=c_size_t), c_null_ptr)
    end do
    outcome = c_write_rows(self%handle, cells, size(cells, kind=c_size_t), table%length, &
      options_of(), error)
  end subroutine

  integer function columns_of(table)
    type(fits_table), intent(in) :: table
    columns_of = 0
    if (allocated(table%columns)) columns_of = size(table%columns)
  end function

  !> Copy an HDU of a file as the next HDU.
  subroutine writer_copy(self, file, hdu, stat, errmsg)
    class(fits_writer), intent(inout) :: self
    type(fits_file), intent(in) :: file
    integer, intent(in), optional :: hdu
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(c_int) :: outcome
    outcome = c_copy_hdu(self%handle, file%handle, number_of(hdu), options_of(), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  !> Give the new file its name.
  subroutine writer_commit(self, stat, errmsg)
    class(fits_writer), intent(inout) :: self
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(c_int) :: outcome
    outcome = c_commit(self%handle, error)
    self%handle = c_null_ptr
    call report(outcome, error, stat, errmsg)
  end subroutine

  !> Write nothing.
  subroutine writer_abandon(self)
    class(fits_writer), intent(inout) :: self
    call c_abandon(self%handle)
    self%handle = c_null_ptr
  end subroutine

  impure elemental subroutine free_writer(self)
    type(fits_writer), intent(inout) :: self
    call self%abandon()
  end subroutine

  !> Refuse to copy: two variables would commit one file.
  subroutine copy_writer(self, other)
    class(fits_writer), intent(inout) :: self
    type(fits_writer), intent(in) :: other
    if (c_associated(self%handle, other%handle)) return
    error stop "a fits_writer cannot be assigned: pass it on as an argument"
  end subroutine

  subroutine write_table(path, table, header, overwrite, checksum, stat, errmsg)
    character(len=*), intent(in) :: path
    type(fits_table), intent(in) :: table
    type(fits_header), intent(in), optional :: header
    logical, intent(in), optional :: overwrite, checksum
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fits_writer) :: writer
    integer :: outcome
    outcome = 0
    call writer%create(path, overwrite, checksum, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%write(table, header, stat, errmsg)
    if (present(stat)) outcome = stat
    if (outcome == 0) call writer%commit(stat, errmsg)
  end subroutine

  ! Columns of a new table.

  integer(int64) function table_rows(self)
    class(fits_table), intent(in) :: self
    table_rows = self%length
  end function

  !> Add a column of cells in memory; every column has as many rows.
  subroutine add_cells(self, name, form, unit, rows, bytes, values, stat, errmsg)
    class(fits_table), intent(inout) :: self
    character(len=*), intent(in) :: name, form
    character(len=*), intent(in), optional :: unit
    integer(int64), intent(in) :: rows
    integer(c_size_t), intent(in) :: bytes
    type(c_ptr), intent(in) :: values
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(new_column), allocatable :: columns(:)
    integer(int8), pointer :: cells(:)
    integer(c_int) :: outcome
    integer :: n, count
    outcome = 0
    count = columns_of(self)
    if (count > 0 .and. rows /= self%length) then
      call refuse("invalid length " // decimal([rows]) // " of column " // trim(name) // &
        ": expected " // decimal([self%length]) // " rows", "give as many values for each column", &
        outcome, error)
    else
      allocate (columns(count + 1))
      do n = 1, count
        call move_alloc(self%columns(n)%name, columns(n)%name)
        call move_alloc(self%columns(n)%form, columns(n)%form)
        call move_alloc(self%columns(n)%unit, columns(n)%unit)
        call move_alloc(self%columns(n)%cells, columns(n)%cells)
      end do
      columns(n)%name = c_text(name)
      columns(n)%form = c_text(form)
      columns(n)%unit = comment_of(unit)
      call c_f_pointer(values, cells, [bytes])
      columns(n)%cells = cells
      call move_alloc(columns, self%columns)
      self%length = rows
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine add_int8_1(self, name, values, unit, stat, errmsg)
    class(fits_table), intent(inout) :: self
    character(len=*), intent(in) :: name
    integer(int8), contiguous, target, intent(in) :: values(:)
    character(len=*), intent(in), optional :: unit
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call add_cells(self, name, "1S", unit, size(values, kind=int64), &
      1 * size(values, kind=c_size_t), c_loc(values), stat, errmsg)
  end subroutine

  !> Cells of several elements: values(element, row).
  subroutine add_int8_2(self, name, values, unit, stat, errmsg)
    class(fits_table), intent(inout) :: self
    character(len=*), intent(in) :: name
    integer(int8), contiguous, target, intent(in) :: values(:, :)
    character(len=*), intent(in), optional :: unit
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call add_cells(self, name, decimal([size(values, 1, int64)]) // "S", unit, &
      size(values, 2, int64), 1 * size(values, kind=c_size_t), c_loc(values), stat, errmsg)
  end subroutine

  subroutine add_int16_1(self, name, values, unit, stat, errmsg)
    class(fits_table), intent(inout) :: self
    character(len=*), intent(in) :: name
    integer(int16), contiguous, target, intent(in) :: values(:)
    character(len=*), intent(in), optional :: unit
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call add_cells(self, name, "1I", unit, size(values, kind=int64), &
      2 * size(values, kind=c_size_t), c_loc(values), stat, errmsg)
  end subroutine

  !> Cells of several elements: values(element, row).
  subroutine add_int16_2(self, name, values, unit, stat, errmsg)
    class(fits_table), intent(inout) :: self
    character(len=*), intent(in) :: name
    integer(int16), contiguous, target, intent(in) :: values(:, :)
    character(len=*), intent(in), optional :: unit
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call add_cells(self, name, decimal([size(values, 1, int64)]) // "I", unit, &
      size(values, 2, int64), 2 * size(values, kind=c_size_t), c_loc(values), stat, errmsg)
  end subroutine

  subroutine add_int32_1(self, name, values, unit, stat, errmsg)
    class(fits_table), intent(inout) :: self
    character(len=*), intent(in) :: name
    integer(int32), contiguous, target, intent(in) :: values(:)
    character(len=*), intent(in), optional :: unit
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call add_cells(self, name, "1J", unit, size(values, kind=int64), &
      4 * size(values, kind=c_size_t), c_loc(values), stat, errmsg)
  end subroutine

  !> Cells of several elements: values(element, row).
  subroutine add_int32_2(self, name, values, unit, stat, errmsg)
    class(fits_table), intent(inout) :: self
    character(len=*), intent(in) :: name
    integer(int32), contiguous, target, intent(in) :: values(:, :)
    character(len=*), intent(in), optional :: unit
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call add_cells(self, name, decimal([size(values, 1, int64)]) // "J", unit, &
      size(values, 2, int64), 4 * size(values, kind=c_size_t), c_loc(values), stat, errmsg)
  end subroutine

  subroutine add_int64_1(self, name, values, unit, stat, errmsg)
    class(fits_table), intent(inout) :: self
    character(len=*), intent(in) :: name
    integer(int64), contiguous, target, intent(in) :: values(:)
    character(len=*), intent(in), optional :: unit
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call add_cells(self, name, "1K", unit, size(values, kind=int64), &
      8 * size(values, kind=c_size_t), c_loc(values), stat, errmsg)
  end subroutine

  !> Cells of several elements: values(element, row).
  subroutine add_int64_2(self, name, values, unit, stat, errmsg)
    class(fits_table), intent(inout) :: self
    character(len=*), intent(in) :: name
    integer(int64), contiguous, target, intent(in) :: values(:, :)
    character(len=*), intent(in), optional :: unit
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call add_cells(self, name, decimal([size(values, 1, int64)]) // "K", unit, &
      size(values, 2, int64), 8 * size(values, kind=c_size_t), c_loc(values), stat, errmsg)
  end subroutine

  subroutine add_real32_1(self, name, values, unit, stat, errmsg)
    class(fits_table), intent(inout) :: self
    character(len=*), intent(in) :: name
    real(real32), contiguous, target, intent(in) :: values(:)
    character(len=*), intent(in), optional :: unit
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call add_cells(self, name, "1E", unit, size(values, kind=int64), &
      4 * size(values, kind=c_size_t), c_loc(values), stat, errmsg)
  end subroutine

  !> Cells of several elements: values(element, row).
  subroutine add_real32_2(self, name, values, unit, stat, errmsg)
    class(fits_table), intent(inout) :: self
    character(len=*), intent(in) :: name
    real(real32), contiguous, target, intent(in) :: values(:, :)
    character(len=*), intent(in), optional :: unit
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call add_cells(self, name, decimal([size(values, 1, int64)]) // "E", unit, &
      size(values, 2, int64), 4 * size(values, kind=c_size_t), c_loc(values), stat, errmsg)
  end subroutine

  subroutine add_real64_1(self, name, values, unit, stat, errmsg)
    class(fits_table), intent(inout) :: self
    character(len=*), intent(in) :: name
    real(real64), contiguous, target, intent(in) :: values(:)
    character(len=*), intent(in), optional :: unit
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call add_cells(self, name, "1D", unit, size(values, kind=int64), &
      8 * size(values, kind=c_size_t), c_loc(values), stat, errmsg)
  end subroutine

  !> Cells of several elements: values(element, row).
  subroutine add_real64_2(self, name, values, unit, stat, errmsg)
    class(fits_table), intent(inout) :: self
    character(len=*), intent(in) :: name
    real(real64), contiguous, target, intent(in) :: values(:, :)
    character(len=*), intent(in), optional :: unit
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call add_cells(self, name, decimal([size(values, 1, int64)]) // "D", unit, &
      size(values, 2, int64), 8 * size(values, kind=c_size_t), c_loc(values), stat, errmsg)
  end subroutine

  !> A column of texts; trailing blanks do not count.
  subroutine add_text(self, name, values, unit, stat, errmsg)
    class(fits_table), intent(inout) :: self
    character(len=*), intent(in) :: name
    character(len=*), intent(in) :: values(:)
    character(len=*), intent(in), optional :: unit
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable, target :: cells(:, :)
    integer(int64) :: n
    integer :: at
    allocate (cells(len(values), size(values, kind=int64)))
    do n = 1, size(values, kind=int64)
      do at = 1, len(values)
        cells(at, n) = values(n)(at:at)
      end do
    end do
    call add_cells(self, name, decimal([len(values, int64)]) // "A", unit, &
      size(values, kind=int64), size(cells, kind=c_size_t), c_loc(cells), stat, errmsg)
  end subroutine

  subroutine add_logical(self, name, values, unit, stat, errmsg)
    class(fits_table), intent(inout) :: self
    character(len=*), intent(in) :: name
    logical, intent(in) :: values(:)
    character(len=*), intent(in), optional :: unit
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    integer(int8), allocatable, target :: cells(:)
    allocate (cells(size(values)))
    cells = merge(1_int8, 0_int8, values)
    call add_cells(self, name, "1L", unit, size(values, kind=int64), size(cells, kind=c_size_t), &
      c_loc(cells), stat, errmsg)
  end subroutine

end module
