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
