//! Checksums of an HDU (Standard 4.0, section 4.4.2.7 and appendix J): computed in one pass over
//! its bytes by all threads, compared with DATASUM and CHECKSUM, and written to headers. The
//! kernels compute the sums.

use tachyfits_format::{Hdu, Value, reserve_checksums};
use tachyfits_io::Report;
use tachyfits_io::operation::RunOptions;
use tachyfits_kernels::Tier;

#[doc(no_inline)]
pub use tachyfits_kernels::OnesComplement;

use crate::byte_sums::{sum_of_range, update_checksums};
use crate::error::Error;
use crate::file::FitsFile;

/// Checksums of an HDU, and their agreement with the header.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checksum {
    /// The HDU, counted from 0.
    pub hdu: usize,
    /// The sum of the data and their fill, the correct value of DATASUM.
    pub datasum: u32,
    /// The sum of the whole HDU as stored: all ones (or 0) if CHECKSUM is right.
    pub sum: u32,
    /// DATASUM in the header.
    pub stated_datasum: Option<String>,
    /// CHECKSUM in the header.
    pub stated_checksum: Option<String>,
    /// Whether DATASUM equals the sum of the data.
    pub data: Agreement,
    /// Whether the sum of the HDU is all ones, as CHECKSUM requires.
    pub whole: Agreement,
}

/// Agreement of a checksum in a header with the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Agreement {
    /// The keyword is absent or blank.
    NotStated,
    /// The value is correct.
    Right,
    /// The value differs: the bytes have changed since it was written.
    Wrong,
    /// The value is not a checksum.
    Unreadable,
}

impl Agreement {
    /// Name of the agreement, for lists.
    pub fn as_str(self) -> &'static str {
        match self {
            Agreement::NotStated => "not stated",
            Agreement::Right => "right",
            Agreement::Wrong => "wrong",
            Agreement::Unreadable => "unreadable",
        }
    }

    /// Whether the value is wrong or unreadable.
    pub fn is_bad(self) -> bool {
        matches!(self, Agreement::Wrong | Agreement::Unreadable)
    }
}

impl Checksum {
    /// Whether neither sum is wrong or unreadable; a missing sum is not wrong.
    pub fn is_good(&self) -> bool {
        !self.data.is_bad() && !self.whole.is_bad()
    }

    /// Compares the sums with the header.
    pub(crate) fn compared(hdu: &Hdu, data: OnesComplement, header: OnesComplement) -> Checksum {
        let mut whole = data;
        whole.merge(header);
        let (datasum, sum) = (data.sum(), whole.sum());
        let value_of = |keyword: &str| match hdu.header.get(keyword) {
            None | Some(Value::Undefined) => None,
            Some(Value::Text(text)) => Some(text.clone()),
            Some(other) => Some(other.to_string()),
        };
        let (stated_datasum, stated_checksum) = (value_of("DATASUM"), value_of("CHECKSUM"));
        let data = agreement(stated_datasum.as_deref(), |text| {
            text.parse::<u32>().ok().map(|declared| same_sum(declared, datasum))
        });
        // The letters that encode the complement are arbitrary; only the sum must be 0.
        let whole = agreement(stated_checksum.as_deref(), |text| {
            (text.len() == 16 && text.is_ascii()).then(|| same_sum(sum, 0))
        });
        Checksum { hdu: hdu.index, datasum, sum, stated_datasum, stated_checksum, data, whole }
    }
}

/// Returns the sum of a part of the data that begins at byte `offset`. Sums of parts merge in any order.
///
/// ```
/// use tachyfits::checksum::sum_of_bytes;
/// let mut sum = sum_of_bytes(0, &[0, 1, 0]);
/// sum.merge(sum_of_bytes(3, &[1, 0, 6, 0, 0]));
/// assert_eq!(sum, sum_of_bytes(0, &[0, 1, 0, 1, 0, 6]));
/// ```
#[must_use]
pub fn sum_of_bytes(offset: u64, bytes: &[u8]) -> OnesComplement {
    let mut sum = OnesComplement::default();
    sum.accumulate(offset, bytes, Tier::current());
    sum
}

/// Compares sums; all ones is another form of 0.
pub(crate) fn same_sum(a: u32, b: u32) -> bool {
    a % u32::MAX == b % u32::MAX
}

fn agreement(value: Option<&str>, compare: impl Fn(&str) -> Option<bool>) -> Agreement {
    match value.map(str::trim) {
        None | Some("") => Agreement::NotStated,
        Some(text) => match compare(text) {
            Some(true) => Agreement::Right,
            Some(false) => Agreement::Wrong,
            None => Agreement::Unreadable,
        },
    }
}

impl FitsFile {
    /// Sums the bytes of an HDU and compares them with DATASUM and CHECKSUM.
    ///
    /// # Errors
    /// If the HDU does not exist, reading fails, or [`crate::Reason::DataMissing`] if the data are
    /// truncated, because the sum of missing data is unknown. (Missing fill counts as zeros.)
    ///
    /// ```
    /// use tachyfits::{FitsFile, OpenOptions, RunOptions};
    /// use tachyfits::checksum::Agreement;
    /// let cards = ["SIMPLE  =                    T", "BITPIX  =                   16", "NAXIS   =                    1",
    ///     "NAXIS1  =                    3", "DATASUM = '458753  '", "END"];
    /// let mut bytes: Vec<u8> = cards.iter().flat_map(|card| format!("{card:<80}").into_bytes()).collect();
    /// bytes.resize(2880, b' ');
    /// bytes.extend([0, 1, 0, 1, 0, 6]);
    /// bytes.resize(5760, 0);
    /// let file = FitsFile::from_bytes("three pixels", bytes, &OpenOptions::default())?;
    /// let (checksum, _report) = file.checksum(0, &RunOptions::default())?;
    /// assert_eq!((checksum.datasum, checksum.data), (458_753, Agreement::Right));
    /// assert_eq!(checksum.whole, Agreement::NotStated);
    /// # Ok::<(), tachyfits::Error>(())
    /// ```
    pub fn checksum(
        &self,
        index: usize,
        run: &RunOptions<'_>,
    ) -> Result<(Checksum, Report), Error> {
        let hdu = self.stored_hdu(index)?;
        let tier = Tier::current();
        let (data, report) = self.data_sum(hdu, run, tier)?;
        let mut header = OnesComplement::default();
        header.accumulate(0, &self.header_bytes(index)?, tier);
        Ok((Checksum::compared(hdu, data, header), report))
    }

    /// Returns the header blocks of an HDU for a new file with checksums; `data` is the sum of the data.
    ///
    /// ```
    /// use tachyfits::checksum::sum_of_bytes;
    /// use tachyfits::{Array, FitsFile, Header, OpenOptions, RunOptions};
    /// let file = Array::new(&[1i16, 2, 6], &[3]).to_file("three pixels", &Header::new())?;
    /// let data = file.read_bytes(2880..5760, &RunOptions::default())?;
    /// let mut bytes = file.header_with_checksums(0, sum_of_bytes(0, &data))?;
    /// bytes.extend(data);
    /// let file = FitsFile::from_bytes("with sums", bytes, &OpenOptions::default())?;
    /// assert!(file.checksum(0, &RunOptions::default())?.0.is_good());
    /// # Ok::<(), tachyfits::Error>(())
    /// ```
    ///
    /// # Errors
    /// If the HDU does not exist, or its header has no room for the cards.
    pub fn header_with_checksums(
        &self,
        index: usize,
        data: OnesComplement,
    ) -> Result<Vec<u8>, Error> {
        let mut header = self.hdu(index)?.header.clone();
        let result = reserve_checksums(&mut header)
            .and_then(|()| update_checksums(&mut header, data, Tier::current()));
        result.map_err(|error| Error::Format { file: self.name().to_owned(), error })?;
        Ok(header.to_bytes())
    }

    /// Returns the sum of the data of an HDU and their fill.
    pub(crate) fn data_sum(
        &self,
        hdu: &Hdu,
        run: &RunOptions<'_>,
        tier: Tier,
    ) -> Result<(OnesComplement, Report), Error> {
        self.check_data(hdu)?;
        let end = hdu.end_offset().min(self.bytes()).max(hdu.data_offset);
        sum_of_range(self.bytes_of(), hdu.data_offset, hdu.data_offset..end, run, tier)
    }
}
