//! The cards of a result: numbers that were computed from a section of an image and have some of its axes.

use super::coordinates::{Coordinates, Distortions};
use super::section::{ResultAxis, Section};
use crate::card::Card;
use crate::error::FormatError;
use crate::hdu::Hdu;
use crate::survival::{SurvivingPixels, survives};
use crate::wcs::Description;

/// Returns the cards of a result, without the mandatory ones: only the writer knows its pixels. `axes` has one entry
/// per axis in FITS order, NAXIS1 first.
///
/// As in [`crate::cutout_header`], cards keep their bytes unless the coordinates change them. Cards about the stored
/// pixels (BSCALE, BZERO, BLANK), their extremes or the HDU (EXTNAME and similar) are left out. Distortions that cannot
/// be kept are dropped as well: a COMMENT records it, and the coordinates are the linear part. An axis with coordinates
/// in a table then has no coordinates. Without `with_tables`, distortions that need the tables of
/// [`crate::coordinate_tables`] and [`crate::lookup_tables`] are dropped.
///
/// # Errors
/// [`crate::Code::NotAnImage`] and the errors of [`Hdu::image`]; [`crate::Code::SectionRange`];
/// [`crate::Code::AxisCoupled`] for axes that LTM mixes; [`crate::Code::KeywordType`] and similar
/// codes for coordinates that are not numbers.
///
/// ```
/// use tachyfits_format::{ReadOptions, Step, Walker};
/// use tachyfits_format::{Fate, ResultAxis, result_cards};
/// let cards = "SIMPLE  =                    T|BITPIX  =                  -32|\
///     NAXIS   =                    2|NAXIS1  =                    8|NAXIS2  =                  100|\
///     CTYPE1  = 'RA---TAN'|CTYPE2  = 'FREQ'|CRPIX2  =                 51.0|CDELT2  =                  2.0|END";
/// let mut file: Vec<u8> = Vec::new();
/// cards.split('|').for_each(|card| file.extend(format!("{card:<80}").as_bytes()));
/// file.resize(2880, b' ');
/// let mut walker = Walker::new(ReadOptions::default(), 2880 + 5760);
/// walker.step()?;
/// file.resize(2880 + 5760, 0);
/// walker.supply(&file);
/// let Step::Hdu(hdu) = walker.step()? else { panic!() };
/// // The spectrum of some channels: the first axis is gone, the second the only one.
/// let x = ResultAxis { first: 0, count: 8, step: 1, fate: Fate::Removed };
/// let channels = ResultAxis { first: 10, count: 20, step: 2, fate: Fate::Kept };
/// let cards = result_cards(&hdu, &[x, channels], false)?;
/// let keywords: Vec<&str> = cards.iter().map(|card| card.keyword()).collect();
/// assert_eq!(keywords, ["CTYPE1", "CRPIX1", "CDELT1"]);
/// assert_eq!(cards[1].value().and_then(|value| value.as_f64()), Some(21.0));
/// # Ok::<(), tachyfits_format::FormatError>(())
/// ```
pub fn result_cards(
    hdu: &Hdu,
    axes: &[ResultAxis],
    with_tables: bool,
) -> Result<Vec<Card>, FormatError> {
    let section = Section::of_result(hdu, axes, &Description::all(&hdu.header)?)?;
    let coordinates =
        Coordinates::new(&hdu.header, &section, Distortions::Dropped { with_tables })?;
    let mut cards = coordinates.numbers_of_axes()?;
    for card in hdu.header.cards().iter().filter(|card| survives(card, SurvivingPixels::Result)) {
        cards.extend(coordinates.card(card)?);
    }
    // The writer decides about space for more cards.
    cards.truncate(cards.iter().rposition(|card| !card.is_blank()).map_or(0, |last| last + 1));
    cards.extend(coordinates.absent()?);
    if coordinates.is_without_distortions() {
        let text = "tachyfits: distortions were left out; coordinates are those of the linear part";
        cards.extend(Card::commentary("COMMENT", text)?);
    }
    Ok(cards)
}
