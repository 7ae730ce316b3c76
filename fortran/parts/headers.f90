
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
!for value

  subroutine header_get_{name}(self, keyword, value, default, stat, errmsg)
    class(fits_header), intent(in) :: self
    character(len=*), intent(in) :: keyword
    {output}, intent(out) :: value
    {type}, intent(in), optional :: default
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    {c_type} :: number
    integer(c_int) :: outcome
    {read}
    value = {from_c}
    {check}
    if (outcome == absent .and. present(default)) value = default
    call missing(keyword, present(default), outcome, error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine get_{name}(self, keyword, value, default, hdu, stat, errmsg)
    class(fits_file), intent(in) :: self
    character(len=*), intent(in) :: keyword
    {output}, intent(out) :: value
    {type}, intent(in), optional :: default
    integer, intent(in), optional :: hdu
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(fits_header) :: header
    integer :: outcome
    value = {zero}
    call self%header(header, hdu, stat, errmsg)
    outcome = 0
    if (present(stat)) outcome = stat
    if (outcome == 0) call header%get(keyword, value, default, stat, errmsg)
  end subroutine

  subroutine set_{name}(self, keyword, value, comment, stat, errmsg)
    class(fits_header), intent(inout) :: self
    character(len=*), intent(in) :: keyword
    {type}, intent(in) :: value
    character(len=*), intent(in), optional :: comment
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    integer(c_int) :: outcome
    call begin_header(self, outcome, error)
    if (outcome == 0) outcome = c_set_{kind}(self%handle, c_text(keyword), &
      {to_c}, comment_of(comment), error)
    call report(outcome, error, stat, errmsg)
  end subroutine
!end
