//! The bytes of a file that are at hand, and one subrecord of it: what finding out the markers, walking
//! over records and looking for the next whole one after damage have in common.

use std::cell::Cell;
use std::ops::Range;

use crate::markers::RecordMarkers;

/// Two pieces of the file: one to go along, and one for a look at another place.
#[derive(Debug)]
pub(crate) struct Bytes {
    pub(crate) file_bytes: u64,
    here: Piece,
    there: Piece,
    /// The requested bytes: where, how much, and whether they are in another part of the file.
    wanted: Option<(Need, bool)>,
    /// The leading marker that was read last: it may be gone when the trailing one is there.
    leading: Cell<Option<(u64, RecordMarkers, i64)>>,
    /// The trailing marker that was read last, by where its subrecord begins.
    trailing: Cell<Option<(u64, RecordMarkers, i64)>>,
}

#[derive(Debug, Default)]
struct Piece {
    offset: u64,
    bytes: Vec<u8>,
}

/// Bytes that are not at hand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    pub(crate) offset: u64,
    pub(crate) bytes: usize,
}

/// A subrecord, its markers agreeing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Whole {
    /// The bytes between the markers.
    pub(crate) payload: Range<u64>,
    /// Whether another subrecord of the same record follows.
    pub(crate) goes_on: bool,
    /// Where the next leading marker is.
    pub(crate) next: u64,
}

/// Why there is no subrecord.
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
    /// The file ends too early, rather than that markers disagree.
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
            wanted: None,
            leading: Cell::new(None),
            trailing: Cell::new(None),
        }
    }

    /// Asks for bytes, no more than the file has; as the piece to go along, or as a look elsewhere.
    pub(crate) fn want(&mut self, need: Need, elsewhere: bool) -> Need {
        let rest = self.file_bytes.saturating_sub(need.offset);
        let need =
            Need { bytes: need.bytes.min(usize::try_from(rest).unwrap_or(usize::MAX)), ..need };
        self.wanted = Some((need, elsewhere));
        need
    }

    /// Takes the requested bytes. Fewer mean that the file ends there.
    pub(crate) fn supply(&mut self, bytes: &[u8]) {
        let Some((need, elsewhere)) = self.wanted.take() else { return };
        let bytes = &bytes[..bytes.len().min(need.bytes)];
        if bytes.len() < need.bytes {
            self.file_bytes = need.offset + bytes.len() as u64;
        }
        let piece = if elsewhere { &mut self.there } else { &mut self.here };
        piece.offset = need.offset;
        piece.bytes.clear();
        piece.bytes.extend_from_slice(bytes);
    }

    /// The bytes from an offset on, as many as are at hand in one piece.
    pub(crate) fn at_hand(&self, offset: u64) -> &[u8] {
        self.here.from(offset)
    }

    pub(crate) fn view(&self, offset: u64, bytes: usize) -> Result<&[u8], Need> {
        [&self.here, &self.there]
            .into_iter()
            .find_map(|piece| piece.from(offset).get(..bytes))
            .ok_or(Need { offset, bytes })
    }

    /// The leading marker at an offset.
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

    /// The marker at `end`, which should be the trailing one of the subrecord at an offset: kept while another place is
    /// read.
    fn trailing(&self, markers: RecordMarkers, offset: u64, end: u64) -> Result<i64, Need> {
        if let Some((at, of, trailing)) = self.trailing.get()
            && (at, of) == (offset, markers)
        {
            return Ok(trailing);
        }
        let trailing = markers.read(self.view(end, markers.bytes())?);
        self.trailing.set(Some((offset, markers, trailing)));
        Ok(trailing)
    }

    /// A record of 2 to 4 GiB between markers of 4 bytes without a sign, as C programs and SciPy write them; `None` if both
    /// ends do not agree on it.
    fn without_sign(
        &self,
        markers: RecordMarkers,
        offset: u64,
        leading: i64,
    ) -> Result<Option<Whole>, Need> {
        let width = markers.bytes() as u64;
        let Ok(signed) = i32::try_from(leading) else { return Ok(None) };
        let bytes = u64::from(signed.cast_unsigned());
        let end = offset + width + bytes;
        if width != 4 || signed >= 0 || end + width > self.file_bytes {
            return Ok(None);
        }
        let agrees = markers.read(self.view(end, markers.bytes())?) == leading;
        let payload = offset + width..end;
        Ok(agrees.then_some(Whole { goes_on: false, next: end + width, payload }))
    }

    /// The subrecord that begins at an offset; `continued` where it must continue another one.
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
        let trailing = self.trailing(markers, offset, payload.end)?;
        let expected = if continued { -(bytes as i64) } else { bytes as i64 };
        if trailing != expected {
            if !continued && let Some(whole) = self.without_sign(markers, offset, leading)? {
                return Ok(whole);
            }
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
