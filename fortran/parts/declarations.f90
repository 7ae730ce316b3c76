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
!for value
    generic :: get => header_get_{name}
    generic :: set => set_{name}
    procedure, private :: header_get_{name}, set_{name}
!end
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
!for value
    generic :: get => get_{name}
    procedure, private :: get_{name}
!end
!for number
    generic :: read => read_{name}_1, read_{name}_2, read_{name}_3, read_{name}_4
    procedure, private :: read_{name}_1, read_{name}_2, read_{name}_3, read_{name}_4
    generic :: read_into => into_{name}_1, into_{name}_2, into_{name}_3, into_{name}_4
    procedure, private :: into_{name}_1, into_{name}_2, into_{name}_3, into_{name}_4
    generic :: column => column_{name}_1, column_{name}_2
    procedure, private :: column_{name}_1, column_{name}_2
    generic :: column_into => column_into_{name}
    generic :: columns => columns_{name}
    generic :: columns_into => columns_into_{name}
    procedure, private :: column_into_{name}, columns_{name}, columns_into_{name}
!end
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
!for number
    generic :: add => add_{name}_1, add_{name}_2
    procedure, private :: add_{name}_1, add_{name}_2
!end
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
!for number
    generic :: write => put_{name}_1, put_{name}_2, put_{name}_3, put_{name}_4
    procedure, private :: put_{name}_1, put_{name}_2, put_{name}_3, put_{name}_4
!end
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
!for number
    module procedure write_{name}_1, write_{name}_2, write_{name}_3, write_{name}_4
!end
    module procedure write_table
  end interface

