//! An HDU outside any file, as a storage: its header, and data that are computed when they are read.

use std::fmt::Debug;
use std::ops::Range;

use tachyfits_io::{Id, IoError, Profile, Request, Storage};
use tachyfits_memory as memory;

/// Data that are computed when they are read.
pub(crate) trait MadeData: Send + Sync + Debug {
    /// Name of the storage in reports.
    const KIND: &'static str;

    /// As [`Storage::profile`].
    const PROFILE: Profile = Profile::DEVICE;

    /// Number of bytes, without fill.
    fn bytes(&self) -> u64;

    /// Bytes to compute at a time for best performance, counted from the first.
    fn unit_bytes(&self) -> u64 {
        u64::MAX
    }

    /// Fills each request, whose offset counts from the first byte of the data.
    fn fill(&self, requests: &mut [Request<'_>]) -> Result<(), IoError>;

    /// As [`Storage::check_unchanged`], for the inputs of the data.
    fn check_unchanged(&self) -> Result<(), IoError>;

    /// As [`Storage::is_resident`], for the inputs of the data.
    fn is_resident(&self, range: Range<u64>) -> bool;
}

/// A computed HDU as a storage.
#[derive(Debug)]
pub(crate) struct HduStorage<D> {
    id: Id,
    header: Vec<u8>,
    data: D,
    bytes: u64,
}

impl<D: MadeData> HduStorage<D> {
    pub(crate) fn new(id: Id, header: Vec<u8>, data: D) -> HduStorage<D> {
        let bytes = header.len() as u64 + tachyfits_format::padded(data.bytes());
        HduStorage { id, header, data, bytes }
    }

    /// Reads the header from `offset` on, and zeros after its end.
    pub(crate) fn read_header_at(&self, offset: u64, buffer: &mut [u8]) {
        let begin = usize::try_from(offset).unwrap_or(usize::MAX).min(self.header.len());
        let length = buffer.len().min(self.header.len() - begin);
        buffer[..length].copy_from_slice(&self.header[begin..begin + length]);
        buffer[length..].fill(0);
    }
}

impl<D: MadeData> Storage for HduStorage<D> {
    fn id(&self) -> &Id {
        &self.id
    }

    fn profile(&self) -> Profile {
        let request_bytes = D::PROFILE.request_bytes.min(self.data.unit_bytes());
        Profile { request_bytes, ..D::PROFILE }
    }

    fn check_unchanged(&self) -> Result<(), IoError> {
        self.data.check_unchanged()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), IoError> {
        self.read_ranges(&mut [Request { offset, buffer }])
    }

    fn read_ranges(&self, requests: &mut [Request<'_>]) -> Result<(), IoError> {
        let header_bytes = self.header.len() as u64;
        let mut of_data = memory::with_room(requests.len(), "the requests for pixels")?;
        for Request { offset, buffer } in requests {
            self.check_within(*offset, buffer.len() as u64)?;
            let (before, rest) = split(buffer, header_bytes.saturating_sub(*offset));
            self.read_header_at(*offset, before);
            let begin = offset.saturating_sub(header_bytes);
            let (data, fill) = split(rest, self.data.bytes().saturating_sub(begin));
            fill.fill(0);
            if !data.is_empty() {
                of_data.push(Request { offset: begin, buffer: data });
            }
        }
        if of_data.is_empty() { Ok(()) } else { self.data.fill(&mut of_data) }
    }

    fn computes(&self) -> bool {
        true
    }

    fn kind(&self) -> &'static str {
        D::KIND
    }

    fn is_resident(&self, range: Range<u64>) -> bool {
        let of_data = |place: u64| place.saturating_sub(self.header.len() as u64);
        self.data.is_resident(of_data(range.start)..of_data(range.end))
    }
}

/// Splits a buffer after the first `bytes` bytes, or at its end.
pub(crate) fn split(buffer: &mut [u8], bytes: u64) -> (&mut [u8], &mut [u8]) {
    let at = usize::try_from(bytes).unwrap_or(usize::MAX).min(buffer.len());
    buffer.split_at_mut(at)
}

/// Fills a request with pixels of `size` bytes, which `make` computes from a linear index on; a
/// request may begin and end within a pixel.
pub(crate) fn fill_pixels(
    request: &mut Request<'_>,
    size: u64,
    make: impl FnOnce(u64, &mut [u8]) -> Result<(), IoError>,
) -> Result<(), IoError> {
    let Request { offset, buffer } = request;
    let (first, last) = (*offset / size, (*offset + buffer.len() as u64).div_ceil(size));
    if buffer.len() as u64 == (last - first) * size {
        return make(first, buffer);
    }
    let bytes = (last - first) * size;
    let mut whole = memory::filled(bytes as usize, 0, "pixels of tiles")?;
    make(first, &mut whole)?;
    let from = (*offset - first * size) as usize;
    buffer.copy_from_slice(&whole[from..from + buffer.len()]);
    Ok(())
}
