
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
!for number

  subroutine add_{name}_1(self, name, values, unit, stat, errmsg)
    class(fits_table), intent(inout) :: self
    character(len=*), intent(in) :: name
    {type}, contiguous, target, intent(in) :: values(:)
    character(len=*), intent(in), optional :: unit
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call add_cells(self, name, "1{letter}", unit, size(values, kind=int64), &
      {bytes} * size(values, kind=c_size_t), c_loc(values), stat, errmsg)
  end subroutine

  !> Cells of several elements: values(element, row).
  subroutine add_{name}_2(self, name, values, unit, stat, errmsg)
    class(fits_table), intent(inout) :: self
    character(len=*), intent(in) :: name
    {type}, contiguous, target, intent(in) :: values(:, :)
    character(len=*), intent(in), optional :: unit
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call add_cells(self, name, decimal([size(values, 1, int64)]) // "{letter}", unit, &
      size(values, 2, int64), {bytes} * size(values, kind=c_size_t), c_loc(values), stat, errmsg)
  end subroutine
!end

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
