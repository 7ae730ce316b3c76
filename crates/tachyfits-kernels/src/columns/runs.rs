//! Runs of many elements, moved between equally spaced positions and converted on the way, in
//! vector code, through the caches or bypassing them.

use super::ways::Ways;
use crate::encode::Bits;
use crate::isa::{self, Kernel, Stores, Streaming, Tier};

/// Size and alignment of a streaming store, in bytes.
const STORED: usize = 16;

/// Bytes converted at a time before they are stored past the caches: one cache line.
const LINE: usize = 64;

/// Conversion of the elements of a run while they are moved.
pub(crate) trait Make: Copy {
    /// Bytes of an element.
    const BYTES: usize;

    /// Converts elements.
    fn make(self, from: &[u8], to: &mut [u8]);
}

/// Swaps bytes between native and file byte order, after flipping bits.
#[derive(Clone, Copy)]
pub(crate) struct Turned<T>(pub(crate) T);

impl<T: Bits> Make for Turned<T> {
    const BYTES: usize = size_of::<T>();

    #[inline(always)]
    fn make(self, from: &[u8], to: &mut [u8]) {
        T::turn(from, self.0, to);
    }
}

impl Ways {
    /// Moves all runs.
    pub(super) fn runs(self, make: impl Make, from: &[u8], to: &mut [u8], tier: Tier) {
        isa::dispatch(tier, Runs { ways: self, make, from, to });
    }

    /// Moves all runs past the caches, except for the ends of each run, which are shorter than [`STORED`] bytes.
    pub(super) fn stream_runs(
        self,
        make: impl Make,
        from: &[u8],
        to: &mut [u8],
        tier: Tier,
        stores: Streaming<'_>,
    ) {
        isa::dispatch(tier, StreamedRuns { runs: Runs { ways: self, make, from, to }, stores });
    }
}

/// Kernel that moves runs.
pub(crate) struct Runs<'a, M> {
    ways: Ways,
    make: M,
    from: &'a [u8],
    to: &'a mut [u8],
}

impl<M: Make> Kernel for Runs<'_, M> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Runs { ways, make, from, to } = self;
        for (from, to) in from.chunks(ways.from_stride).zip(to.chunks_mut(ways.to_stride)) {
            make.make(&from[..ways.run], &mut to[..ways.run]);
        }
    }
}

/// Kernel that moves runs past the caches.
pub(crate) struct StreamedRuns<'a, 'b, M> {
    runs: Runs<'a, M>,
    stores: Streaming<'b>,
}

impl<M: Make> Kernel for StreamedRuns<'_, '_, M> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Runs { ways, make, from, to } = self.runs;
        for (from, to) in from.chunks(ways.from_stride).zip(to.chunks_mut(ways.to_stride)) {
            stream(make, &from[..ways.run], &mut to[..ways.run], self.stores);
        }
    }
}

#[inline(always)]
fn stream(make: impl Make, from: &[u8], to: &mut [u8], stores: Streaming<'_>) {
    let (from_begin, from, to_begin, to) = match begin_of(make, to) {
        Some(begin) => {
            let ((from_begin, from), (to_begin, to)) =
                (from.split_at(begin), to.split_at_mut(begin));
            (from_begin, from, to_begin, to)
        }
        // No element has an address that a streaming store accepts.
        None => (from, &[][..], to, &mut [][..]),
    };
    make.make(from_begin, to_begin);
    let ((from_lines, from), (to_lines, to)) =
        (from.as_chunks::<LINE>(), to.as_chunks_mut::<LINE>());
    let mut line = [0; LINE];
    for (from, to) in from_lines.iter().zip(to_lines) {
        make.make(from, &mut line);
        let (parts, _) = line.as_chunks::<STORED>();
        let (places, _) = to.as_chunks_mut();
        for (part, place) in parts.iter().zip(places) {
            stores.put(place, *part);
        }
    }
    let ((from_parts, from), (to_parts, to)) = (from.as_chunks::<STORED>(), to.as_chunks_mut());
    for (from, to) in from_parts.iter().zip(to_parts) {
        let mut part = [0; STORED];
        make.make(from, &mut part);
        stores.put(to, part);
    }
    make.make(from, to);
}

/// Returns the number of bytes before the first element whose address allows streaming stores.
#[inline(always)]
fn begin_of<M: Make>(_: M, to: &[u8]) -> Option<usize> {
    let begin = to.as_ptr().align_offset(STORED);
    (begin <= to.len() && begin.is_multiple_of(M::BYTES)).then_some(begin)
}

/// Returns the address of the code that converts runs of elements of `bytes` bytes.
#[cfg(target_arch = "x86_64")]
pub(crate) fn turning(bytes: usize, tier: Tier) -> Option<usize> {
    match bytes {
        1 => isa::address::<Runs<'static, Turned<u8>>>(tier),
        2 => isa::address::<Runs<'static, Turned<u16>>>(tier),
        4 => isa::address::<Runs<'static, Turned<u32>>>(tier),
        _ => isa::address::<Runs<'static, Turned<u64>>>(tier),
    }
}

/// Returns the address of the same code with streaming stores.
#[cfg(target_arch = "x86_64")]
pub(crate) fn streaming(bytes: usize, tier: Tier) -> Option<usize> {
    match bytes {
        1 => isa::address::<StreamedRuns<'static, 'static, Turned<u8>>>(tier),
        2 => isa::address::<StreamedRuns<'static, 'static, Turned<u16>>>(tier),
        4 => isa::address::<StreamedRuns<'static, 'static, Turned<u32>>>(tier),
        _ => isa::address::<StreamedRuns<'static, 'static, Turned<u64>>>(tier),
    }
}
