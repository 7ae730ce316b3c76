//! The markers around a record: their width and byte order, and how a long record is cut.

use std::fmt;

/// The most bytes of a subrecord that markers of 4 bytes have (2^31 - 9): what gfortran and ifort take.
const LONGEST_OF_FOUR: u64 = 2_147_483_639;

/// The same for markers of 8 bytes: no file is longer.
const LONGEST_OF_EIGHT: u64 = (1 << 62) - 16;

/// The order of the bytes of a number in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FileOrder {
    /// The most significant byte first.
    Big,
    /// The least significant byte first.
    Little,
}

impl FileOrder {
    /// The machine's own.
    pub const NATIVE: FileOrder =
        if cfg!(target_endian = "big") { FileOrder::Big } else { FileOrder::Little };

    /// Its name: `big` or `little`.
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

/// A part of a record, and the markers around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Subrecord {
    /// The leading marker: negative where another subrecord follows.
    pub leading: i64,
    /// The trailing marker: negative where another one went before.
    pub trailing: i64,
    /// Bytes between them.
    pub bytes: u64,
}

impl RecordMarkers {
    /// Markers of 4 or 8 bytes; `None` for any other number.
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

    /// Bytes of a marker: 4 or 8.
    #[must_use]
    pub const fn bytes(self) -> usize {
        if self.wide { 8 } else { 4 }
    }

    /// The order of their bytes.
    #[must_use]
    pub const fn order(self) -> FileOrder {
        self.order
    }

    /// The number that the first bytes are.
    ///
    /// # Panics
    /// If there are fewer bytes than a marker has.
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

    /// The bytes of a record that a negative marker means without a sign; `None` for any other marker.
    ///
    /// C programs and SciPy write markers of 4 bytes without a sign, and no subrecords.
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

    /// A marker as stored, in the first [`RecordMarkers::bytes`] of eight bytes.
    #[must_use]
    pub fn write(self, marker: i64) -> [u8; 8] {
        let mut out = [0; 8];
        // A subrecord is never longer than its marker can say.
        match (self.wide, self.order) {
            (false, FileOrder::Big) => out[..4].copy_from_slice(&(marker as i32).to_be_bytes()),
            (false, FileOrder::Little) => out[..4].copy_from_slice(&(marker as i32).to_le_bytes()),
            (true, FileOrder::Big) => out = marker.to_be_bytes(),
            (true, FileOrder::Little) => out = marker.to_le_bytes(),
        }
        out
    }

    /// The most bytes of a subrecord.
    #[must_use]
    pub const fn longest(self) -> u64 {
        if self.wide { LONGEST_OF_EIGHT } else { LONGEST_OF_FOUR }
    }

    /// How many whole records of `bytes` bytes each, markers on both sides, `block` begins with.
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
        // The compiler makes better code of a comparison of known width.
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

    /// The subrecords of a record of `bytes` bytes, none of more than `longest` bytes.
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

    /// Bytes that a record takes in the file, its markers included.
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
