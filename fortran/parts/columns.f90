
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
!for number
!for column_rank

  subroutine column_{name}_{rank}(self, column, values, hdu, where, nulls, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: column
    {type}, allocatable, target, intent(out) :: values({colons})
    integer, intent(in), optional :: hdu, threads
    character(len=*), intent(in), optional :: where
    logical, allocatable, intent(out), optional :: nulls({colons})
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), allocatable, target :: marks(:)
    integer(int64), allocatable :: rows(:)
    integer(int64) :: elements, length
    integer(c_int) :: outcome
    call measure(self, column, number_of(hdu), {rank}, elements, length, outcome, error)
    if (outcome == 0) then
      allocate (values({cells}), marks(merge(length * elements, 0_int64, present(nulls))))
      call fill_columns(self, [column], number_of(hdu), {code}, {bytes}_int64, c_loc(values), &
        size(values, kind=int64), 1_int64, marks, threads, outcome, error)
      if (present(nulls)) nulls = reshape(marks /= 0, shape(values)){or_nan}
    end if
    if (outcome == 0 .and. present(where)) then
      call rows_that_meet(self, where, number_of(hdu), rows, outcome, error)
      values = values({chosen})
      if (present(nulls)) nulls = nulls({chosen})
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine
!end

  !> Fill an array with the rows of a column from `first`: as many as it has room for.
  subroutine column_into_{name}(self, column, values, hdu, first, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: column
    {type}, contiguous, target, intent(inout) :: values(:)
    integer, intent(in), optional :: hdu, threads
    integer(int64), intent(in), optional :: first
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), target :: no_marks(0)
    integer(c_int) :: outcome
    call fill_columns(self, [column], number_of(hdu), {code}, {bytes}_int64, c_loc(values), &
      size(values, kind=int64), first_of(first), no_marks, threads, outcome, error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  !> Columns of numbers in one pass over the rows: values(row, column).
  subroutine columns_{name}(self, names, values, hdu, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: names(:)
    {type}, allocatable, target, intent(out) :: values(:, :)
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
      call fill_columns(self, names, number_of(hdu), {code}, {bytes}_int64, c_loc(values), length, &
        1_int64, no_marks, threads, outcome, error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  !> Fill values(row, column) with rows from `first`: as many as it has room for.
  subroutine columns_into_{name}(self, names, values, hdu, first, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: names(:)
    {type}, contiguous, target, intent(inout) :: values(:, :)
    integer, intent(in), optional :: hdu, threads
    integer(int64), intent(in), optional :: first
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(int8), target :: no_marks(0)
    integer(c_int) :: outcome
    if (size(values, 2) == size(names)) then
      call fill_columns(self, names, number_of(hdu), {code}, {bytes}_int64, c_loc(values), &
        size(values, 1, int64), first_of(first), no_marks, threads, outcome, error)
    else
      call refuse("invalid shape " // decimal(shape(values, kind=int64)) // " of the array: " // &
        "expected rows, " // decimal([size(names, kind=int64)]) // " columns", &
        "use values(row, column) with a column for each name", outcome, error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine
!end

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
