
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
!for number
!for rank

  subroutine read_{name}_{rank}(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    {type}, allocatable, target, intent(out) :: a({colons})
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call fit_rank(lengths, {rank}, outcome, error)
    if (outcome == 0) then
      allocate (a({lengths}))
      outcome = c_read(self%handle, number_of(hdu), address_of(ranges), {code}, c_loc(a), &
        {bytes} * size(a, kind=c_size_t), options_of(threads), error)
    end if
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine into_{name}_{rank}(self, a, hdu, section, threads, stat, errmsg)
    class(fits_file), intent(in) :: self
    {type}, contiguous, target, intent(inout) :: a({colons})
    integer, intent(in), optional :: hdu, section(:, :), threads
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    type(c_error) :: error
    type(c_range), allocatable, target :: ranges(:)
    integer(int64), allocatable :: lengths(:)
    integer(c_int) :: outcome
    call ranges_of(self, number_of(hdu), section, ranges, lengths, outcome, error)
    call check_shape(lengths, shape(a, kind=int64), outcome, error)
    if (outcome == 0) outcome = c_read(self%handle, number_of(hdu), address_of(ranges), {code}, &
      c_loc(a), {bytes} * size(a, kind=c_size_t), options_of(threads), error)
    call report(outcome, error, stat, errmsg)
  end subroutine

  subroutine put_{name}_{rank}(self, a, header, compression, stat, errmsg)
    class(fits_writer), intent(inout) :: self
    {type}, contiguous, target, intent(in) :: a({colons})
    type(fits_header), intent(in), optional :: header
    character(len=*), intent(in), optional :: compression
    integer, intent(out), optional :: stat
    character(len=*), intent(inout), optional :: errmsg
    call put_pixels(self, {code}, shape(a, kind=c_int64_t), c_loc(a), &
      {bytes} * size(a, kind=c_size_t), header, compression, stat, errmsg)
  end subroutine

  subroutine write_{name}_{rank}(path, a, header, overwrite, checksum, compression, stat, errmsg)
    character(len=*), intent(in) :: path
    {type}, contiguous, target, intent(in) :: a({colons})
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
!end
!end
