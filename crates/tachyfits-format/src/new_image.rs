//! The header of a new image: a description of its pixels, and the cards copied from another header.

use crate::card::Card;
use crate::error::FormatError;
use crate::hdu::{Hdu, StoredType};
use crate::header::Header;
use crate::survival::{SurvivingPixels, survives};
use crate::value::{Integer, Real, Value};

/// Pixels of a new primary image.
#[derive(Clone, Debug, PartialEq)]
pub struct NewImage {
    /// Sizes of the axes in FITS order, NAXIS1 first.
    pub axes: Vec<u64>,
    /// Type of the stored pixels.
    pub stored: StoredType,
    /// BSCALE and BZERO, unless stored pixels are the values; includes the BZERO of the unsigned conventions.
    pub scaling: Option<(f64, f64)>,
    /// BLANK; only for integers.
    pub blank: Option<i64>,
    /// Whether to reserve DATASUM and CHECKSUM cards, valid for no data; see [`Header::set`].
    pub checksum: bool,
}

/// Value of CHECKSUM while the sum is computed (Sect. 4.4.2.7).
pub const NO_CHECKSUM: &str = "0000000000000000";

impl NewImage {
    /// Creates the header: mandatory cards, scaling, then the cards of `carried` that do not describe structure or
    /// scaling.
    ///
    /// # Errors
    /// Returns an error if a value cannot be written on a card: BSCALE or BZERO is not finite.
    ///
    /// ```
    /// use tachyfits_format::{Header, NewImage, StoredType};
    /// let mut carried = Header::new();
    /// carried.set("OBJECT", "M 31", "")?;
    /// let axes = vec![3, 2];
    /// let new = NewImage { axes, stored: StoredType::F32, scaling: None, blank: None, checksum: false };
    /// let header = new.header(&carried)?;
    /// assert_eq!((header.get_i64("NAXIS2")?, header.get_text("OBJECT")?), (Some(2), Some("M 31")));
    /// assert_eq!(header.to_bytes().len(), 2880);
    /// # Ok::<(), tachyfits_format::FormatError>(())
    /// ```
    pub fn header(&self, carried: &Header) -> Result<Header, FormatError> {
        let mut cards = vec![
            Card::new("SIMPLE", true, "conforms to the FITS Standard")?,
            Card::new("BITPIX", self.stored.bitpix(), "bits per pixel; negative: floating point")?,
            Card::new("NAXIS", self.axes.len(), "number of axes")?,
        ];
        for (number, &length) in (1..).zip(&self.axes) {
            cards.push(Card::new(&format!("NAXIS{number}"), length, "")?);
        }
        if let Some((scale, zero)) = self.scaling {
            cards.push(Card::new(
                "BSCALE",
                number("BSCALE", scale)?,
                "value = BZERO + BSCALE * pixel",
            )?);
            cards.push(Card::new("BZERO", number("BZERO", zero)?, "")?);
        }
        if let Some(blank) = self.blank.filter(|_| !self.stored.is_float()) {
            cards.push(Card::new("BLANK", blank, "pixel that is undefined")?);
        }
        // `carried` may be the header of an extension; the writer knows whether the new HDU is one.
        let is_taken = |card: &&Card| {
            survives(card, SurvivingPixels::New) || card.keyword().eq_ignore_ascii_case("INHERIT")
        };
        cards.extend(carried.cards().iter().filter(is_taken).cloned());
        let mut header = Header::from_cards(cards);
        if self.checksum {
            reserve_checksums(&mut header)?;
        }
        Ok(header)
    }
}

/// Adds DATASUM and CHECKSUM cards to a header, with values for no data.
///
/// # Errors
/// Returns an error if the header has no room for the cards.
///
/// ```
/// use tachyfits_format::{Header, reserve_checksums};
/// let mut header = Header::new();
/// reserve_checksums(&mut header)?;
/// assert_eq!(header.get_text("DATASUM")?, Some("0"));
/// # Ok::<(), tachyfits_format::FormatError>(())
/// ```
pub fn reserve_checksums(header: &mut Header) -> Result<(), FormatError> {
    header.set("DATASUM", "0", "sum of the data")?;
    header.set("CHECKSUM", NO_CHECKSUM, "sum of the HDU")
}

/// Converts whole numbers to integers, as other programs write the BZERO of the unsigned conventions: some take a real
/// number as scaling.
pub(crate) fn number(keyword: &str, value: f64) -> Result<Value, FormatError> {
    if value.fract() == 0.0 && value.abs() < 1e19 {
        let integer = Integer::parse(&format!("{value:.0}"));
        return Ok(integer.map_or(Value::Undefined, Value::Integer));
    }
    let refused = || Header::new().out_of_range(keyword, "a finite number");
    Real::from_f64(value).map(Value::Real).ok_or_else(refused)
}

impl Hdu {
    /// Returns the cards that remain right if the pixels get other values on the same grid.
    ///
    /// Omits cards about structure, scaling, the old file or the set of all old pixels.
    #[must_use]
    pub fn carried_header(&self) -> Header {
        let cards = self.header.cards().iter().filter(|card| survives(card, SurvivingPixels::New));
        Header::from_cards(cards.cloned().collect())
    }
}
