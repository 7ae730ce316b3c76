//! Bytes of a file in memory, and the parser of one subrecord: shared by marker detection, the walk over records and
//! the search for the next valid record after damage.

use std::cell::{Cell, RefCell};
use std::ops::Range;

use crate::markers::RecordMarkers;

/// Two pieces of the file: one for sequential reading, one for a look at another position.
#[derive(Debug)]
pub(crate) struct Bytes {
    pub(crate) file_bytes: u64,
    here: Piece,
    there: Piece,
    /// Requested bytes, and whether they are for the look at another position.
    request: Option<(Need, bool)>,
    /// The latest leading marker: it may no longer be in memory when the trailing marker is.
    leading: Cell<Option<(u64, RecordMarkers, i64)>>,
    /// A subrecord that is invalid with signed markers, and its fault: it may be valid with unsigned markers.
    not_signed: RefCell<Option<(u64, RecordMarkers, Fault)>>,
}

#[derive(Debug, Default)]
struct Piece {
    offset: u64,
    bytes: Vec<u8>,
}

/// Bytes that are not in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    pub(crate) offset: u64,
    pub(crate) bytes: usize,
}

/// A subrecord with consistent markers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Whole {
    /// Range of the bytes between the markers.
    pub(crate) payload: Range<u64>,
    /// Whether another subrecord of the same record follows.
    pub(crate) goes_on: bool,
    /// Offset of the next leading marker.
    pub(crate) next: u64,
}

/// Reason why no subrecord was parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// Bytes must be supplied first.
    Need(Need),
    /// The bytes are invalid.
    Fault(Fault),
}

/// A fault and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) offset: u64,
    /// Whether the file ends too early, as opposed to inconsistent markers.
    pub(crate) cut: bool,
    pub(crate) expected: String,
    pub(crate) found: String,
}

impl From<Need> for Stop {
    fn from(need: Need) -> Stop {
        Stop::Need(need)
    }
}

impl Bytes {
    pub(crate) fn new(file_bytes: u64) -> Bytes {
        Bytes {
            file_bytes,
            here: Piece::default(),
            there: Piece::default(),
            request: None,
            leading: Cell::new(None),
            not_signed: RefCell::new(None),
        }
    }

    /// Requests bytes, limited to the size of the file: for sequential reading, or for a look elsewhere.
    pub(crate) fn want(&mut self, need: Need, elsewhere: bool) -> Need {
        let rest = self.file_bytes.saturating_sub(need.offset);
        let need =
            Need { bytes: need.bytes.min(usize::try_from(rest).unwrap_or(usize::MAX)), ..need };
        self.request = Some((need, elsewhere));
        need
    }

    /// Accepts the requested bytes. Fewer bytes mean that the file ends there.
    pub(crate) fn supply(&mut self, bytes: &[u8]) {
        let Some((need, elsewhere)) = self.request.take() else { return };
        let bytes = &bytes[..bytes.len().min(need.bytes)];
        if bytes.len() < need.bytes {
            self.file_bytes = need.offset + bytes.len() as u64;
        }
        let piece = if elsewhere { &mut self.there } else { &mut self.here };
        piece.offset = need.offset;
        piece.bytes.clear();
        piece.bytes.extend_from_slice(bytes);
    }

    /// Returns the contiguous bytes in memory from an offset.
    pub(crate) fn at_hand(&self, offset: u64) -> &[u8] {
        self.here.from(offset)
    }

    pub(crate) fn view(&self, offset: u64, bytes: usize) -> Result<&[u8], Need> {
        [&self.here, &self.there]
            .into_iter()
            .find_map(|piece| piece.from(offset).get(..bytes))
            .ok_or(Need { offset, bytes })
    }

    /// Returns the leading marker at an offset.
    pub(crate) fn leading(&self, markers: RecordMarkers, offset: u64) -> Result<i64, Need> {
        if let Some((at, of, leading)) = self.leading.get()
            && (at, of) == (offset, markers)
        {
            return Ok(leading);
        }
        let leading = markers.read(self.view(offset, markers.bytes())?);
        self.leading.set(Some((offset, markers, leading)));
        Ok(leading)
    }

    /// Parses the subrecord at an offset; `continued` if it must continue another subrecord.
    pub(crate) fn subrecord(
        &self,
        markers: RecordMarkers,
        offset: u64,
        continued: bool,
    ) -> Result<Whole, Stop> {
        let width = markers.bytes() as u64;
        let rest = self.file_bytes.saturating_sub(offset);
        if rest < 2 * width {
            let what = if continued { "the next subrecord" } else { "a record" };
            return Err(Stop::Fault(Fault {
                offset,
                cut: true,
                expected: format!("{what} between two markers of {width} bytes"),
                found: format!("{rest} bytes, then the end of the file"),
            }));
        }
        let leading = self.leading(markers, offset)?;
        let unsigned = markers.unsigned(leading).filter(|bytes| {
            // An unsigned marker is valid if no subrecord precedes and the file contains the whole record.
            !continued && *bytes <= rest - 2 * width
        });
        let Some(unsigned) = unsigned else {
            return self.signed(markers, offset, continued, leading);
        };
        // Bytes at one end may no longer be in memory when those at the other end are.
        let cache = self.not_signed.take().filter(|(at, of, _)| (*at, *of) == (offset, markers));
        let fault = match cache {
            Some((_, _, fault)) => fault,
            None => match self.signed(markers, offset, continued, leading) {
                Err(Stop::Fault(fault)) => fault,
                result => return result,
            },
        };
        let payload = offset + width..offset + width + unsigned;
        let trailing = match self.view(payload.end, markers.bytes()) {
            Ok(bytes) => markers.read(bytes),
            Err(need) => {
                *self.not_signed.borrow_mut() = Some((offset, markers, fault));
                return Err(need.into());
            }
        };
        match trailing == leading {
            true => Ok(Whole { goes_on: false, next: payload.end + width, payload }),
            false => Err(Stop::Fault(fault)),
        }
    }

    /// Parses a subrecord whose leading marker is negative if another subrecord follows.
    fn signed(
        &self,
        markers: RecordMarkers,
        offset: u64,
        continued: bool,
        leading: i64,
    ) -> Result<Whole, Stop> {
        let width = markers.bytes() as u64;
        let rest = self.file_bytes.saturating_sub(offset);
        let bytes = leading.unsigned_abs();
        if bytes > rest - 2 * width {
            return Err(Stop::Fault(Fault {
                offset,
                cut: true,
                expected: format!("{bytes} bytes, as the leading marker claims, and a marker"),
                found: format!("{} bytes before the file ends", rest - width),
            }));
        }
        let payload = offset + width..offset + width + bytes;
        let trailing = markers.read(self.view(payload.end, markers.bytes())?);
        let expected = if continued { -(bytes as i64) } else { bytes as i64 };
        if trailing != expected {
            return Err(Stop::Fault(Fault {
                offset: payload.end,
                cut: false,
                expected: format!(
                    "a trailing marker of {expected}, like the leading one at byte {offset}"
                ),
                found: trailing.to_string(),
            }));
        }
        Ok(Whole { goes_on: leading < 0, next: payload.end + width, payload })
    }
}

impl Piece {
    fn from(&self, offset: u64) -> &[u8] {
        let skipped = offset.checked_sub(self.offset).and_then(|x| usize::try_from(x).ok());
        skipped.and_then(|skipped| self.bytes.get(skipped..)).unwrap_or(&[])
    }
}
