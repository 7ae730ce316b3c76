//! The markers around a record: width, byte order, and the division of a long record into subrecords.

use std::fmt;

/// Maximum bytes of a subrecord with 4-byte markers (2^31 - 9), as in gfortran and ifort.
const LONGEST_OF_FOUR: u64 = 2_147_483_639;

/// Maximum for 8-byte markers: no file is longer.
const LONGEST_OF_EIGHT: u64 = (1 << 62) - 16;

/// Byte order of the numbers in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileOrder {
    /// Most significant byte first.
    Big,
    /// Least significant byte first.
    Little,
}

impl FileOrder {
    /// Byte order of the machine.
    pub const NATIVE: FileOrder =
        if cfg!(target_endian = "big") { FileOrder::Big } else { FileOrder::Little };

    /// Name of the order: `big` or `little`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            FileOrder::Big => "big",
            FileOrder::Little => "little",
        }
    }
}

/// The markers of a sequential file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecordMarkers {
    wide: bool,
    order: FileOrder,
}

/// A part of a record, with its markers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Subrecord {
    /// Leading marker: negative if another subrecord follows.
    pub leading: i64,
    /// Trailing marker: negative if another subrecord precedes.
    pub trailing: i64,
    /// Bytes between the markers.
    pub bytes: u64,
}

impl RecordMarkers {
    /// Creates markers of 4 or 8 bytes; `None` for any other number.
    ///
    /// ```
    /// use tachyfits_records::{FileOrder, RecordMarkers};
    /// let markers = RecordMarkers::new(4, FileOrder::Big).unwrap();
    /// assert_eq!(markers.read(&[0, 0, 1, 0]), 256);
    /// assert_eq!(RecordMarkers::new(2, FileOrder::Big), None);
    /// ```
    #[must_use]
    pub const fn new(bytes: usize, order: FileOrder) -> Option<RecordMarkers> {
        match bytes {
            4 => Some(RecordMarkers { wide: false, order }),
            8 => Some(RecordMarkers { wide: true, order }),
            _ => None,
        }
    }

    /// All four kinds, the most common one first.
    pub const ALL: [RecordMarkers; 4] = [
        RecordMarkers { wide: false, order: FileOrder::Little },
        RecordMarkers { wide: false, order: FileOrder::Big },
        RecordMarkers { wide: true, order: FileOrder::Little },
        RecordMarkers { wide: true, order: FileOrder::Big },
    ];

    /// Bytes per marker: 4 or 8.
    #[must_use]
    pub const fn bytes(self) -> usize {
        if self.wide { 8 } else { 4 }
    }

    /// Byte order of the markers.
    #[must_use]
    pub const fn order(self) -> FileOrder {
        self.order
    }

    /// Decodes the marker at the start of `bytes`.
    ///
    /// # Panics
    /// Panics if there are fewer bytes than a marker has.
    #[must_use]
    pub fn read(self, bytes: &[u8]) -> i64 {
        let four = |bytes: &[u8]| bytes[..4].try_into().expect("four bytes");
        let eight = |bytes: &[u8]| bytes[..8].try_into().expect("eight bytes");
        match (self.wide, self.order) {
            (false, FileOrder::Big) => i32::from_be_bytes(four(bytes)).into(),
            (false, FileOrder::Little) => i32::from_le_bytes(four(bytes)).into(),
            (true, FileOrder::Big) => i64::from_be_bytes(eight(bytes)),
            (true, FileOrder::Little) => i64::from_le_bytes(eight(bytes)),
        }
    }

    /// Returns the record length of a negative marker taken as unsigned; `None` for any other marker.
    ///
    /// C programs and SciPy write unsigned 4-byte markers, and no subrecords.
    ///
    /// ```
    /// use tachyfits_records::{FileOrder, RecordMarkers};
    /// let markers = RecordMarkers::new(4, FileOrder::Big).unwrap();
    /// assert_eq!(markers.unsigned(markers.read(&[0x80, 0, 0, 1])), Some(2_147_483_649));
    /// assert_eq!(markers.unsigned(1), None);
    /// ```
    #[must_use]
    pub const fn unsigned(self, marker: i64) -> Option<u64> {
        if self.wide || marker >= 0 { None } else { Some((marker as u32) as u64) }
    }

    /// Encodes a marker in the first [`RecordMarkers::bytes`] of eight bytes.
    #[must_use]
    pub fn write(self, marker: i64) -> [u8; 8] {
        let mut out = [0; 8];
        // A subrecord is never longer than the maximum of its marker.
        match (self.wide, self.order) {
            (false, FileOrder::Big) => out[..4].copy_from_slice(&(marker as i32).to_be_bytes()),
            (false, FileOrder::Little) => out[..4].copy_from_slice(&(marker as i32).to_le_bytes()),
            (true, FileOrder::Big) => out = marker.to_be_bytes(),
            (true, FileOrder::Little) => out = marker.to_le_bytes(),
        }
        out
    }

    /// Maximum bytes of a subrecord.
    #[must_use]
    pub const fn longest(self) -> u64 {
        if self.wide { LONGEST_OF_EIGHT } else { LONGEST_OF_FOUR }
    }

    /// Counts the whole records of `bytes` bytes each, with both markers, at the start of `block`.
    ///
    /// ```
    /// use tachyfits_records::{FileOrder, RecordMarkers};
    /// let markers = RecordMarkers::new(4, FileOrder::Big).unwrap();
    /// let block = [0, 0, 0, 1, 7, 0, 0, 0, 1, 0, 0, 0, 1, 8, 0, 0, 0, 2];
    /// assert_eq!(markers.equal_records(&block, 1), 1);
    /// ```
    #[must_use]
    pub fn equal_records(self, block: &[u8], bytes: u64) -> u64 {
        let width = self.bytes();
        let Ok(step) = usize::try_from(bytes.saturating_add(2 * width as u64)) else { return 0 };
        let marker = self.write(bytes as i64);
        let records = block.chunks_exact(step);
        // A comparison of known width compiles to better code.
        let count = match marker {
            [a, b, c, d, ..] if width == 4 => {
                let marker = [a, b, c, d];
                let same = |record: &&[u8]| {
                    record.first_chunk() == Some(&marker) && record.last_chunk() == Some(&marker)
                };
                records.take_while(same).count()
            }
            _ => {
                let same = |record: &&[u8]| {
                    record.first_chunk() == Some(&marker) && record.last_chunk() == Some(&marker)
                };
                records.take_while(same).count()
            }
        };
        count as u64
    }

    /// Divides a record of `bytes` bytes into subrecords of at most `longest` bytes.
    ///
    /// ```
    /// use tachyfits_records::{FileOrder, RecordMarkers};
    /// let markers = RecordMarkers::new(4, FileOrder::Little).unwrap();
    /// let parts: Vec<_> = markers.subrecords(25, 10).map(|x| (x.leading, x.trailing)).collect();
    /// assert_eq!(parts, [(-10, 10), (-10, -10), (5, -5)]);
    /// ```
    pub fn subrecords(self, bytes: u64, longest: u64) -> impl Iterator<Item = Subrecord> {
        let longest = longest.clamp(1, self.longest());
        let count = bytes.div_ceil(longest).max(1);
        (0..count).map(move |part| {
            let bytes = longest.min(bytes - part * longest);
            let sign = |goes_on: bool| if goes_on { -(bytes as i64) } else { bytes as i64 };
            Subrecord { leading: sign(part + 1 < count), trailing: sign(part > 0), bytes }
        })
    }

    /// Bytes of a record in the file, its markers included.
    #[must_use]
    pub fn stored_bytes(self, bytes: u64) -> u64 {
        let parts = bytes.div_ceil(self.longest()).max(1);
        bytes + parts * 2 * self.bytes() as u64
    }
}

impl fmt::Display for RecordMarkers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-byte {}-endian markers", self.bytes(), self.order.as_str())
    }
}
