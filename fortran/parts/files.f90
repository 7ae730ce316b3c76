
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
