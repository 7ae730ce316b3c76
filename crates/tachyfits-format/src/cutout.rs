//! The header of a part of an image, or of a whole image with reordered axes or combined pixels: its cards in order,
//! byte for byte if they remain right, with the coordinates of the selected pixels. The pixels of a part are copied as
//! stored, so BSCALE, BZERO and BLANK remain right.
//!
//! A left-out axis keeps its coordinate: the Standard permits a description with more axes than the array (WCSAXES,
//! Sect. 8.2); their pixel is 1. Left-out axes are numbered after the kept ones, so no description is lost.

mod arrays;
mod coordinates;
mod distortion;
mod path;
mod reshaped;
mod result;
mod section;

use crate::card::Card;
use crate::error::FormatError;
use crate::hdu::Hdu;
use crate::header::Header;
use crate::survival::{SurvivingPixels, survives};
use crate::value::Value;
use coordinates::{Coordinates, Distortions};
use section::Section;

pub use arrays::arrays_header;
pub use distortion::{coordinate_tables, lookup_tables};
pub use path::{OffsetAxis, path_header};
pub use reshaped::{AxisBlocks, rebinned_header, reordered_header};
pub use result::result_cards;
pub use section::{AxisSelection, Fate, ResultAxis};

/// Returns the header of a file with a part of the HDU's image as its primary array: whole blocks of 2880 bytes, in
/// ASCII. `axes` has one selection per axis in FITS order, NAXIS1 first.
///
/// Cards keep their bytes and their order unless the cutout invalidates them. CRPIXn, CDELTn, PCi_j, CDi_j of every
/// alternate description, LTVn and LTMi_j follow the pixels, and so do CNPIXn and ALTRPIX. Axes are renumbered if some
/// are left out. Cards about the old file or all its pixels are removed (CHECKSUM, DATASUM, DATAMIN, DATAMAX, NEXTEND,
/// INHERIT, BLOCKED). A HISTORY card records the section, without the margins. A file with this header needs the tables
/// of [`coordinate_tables`], and those of [`lookup_tables`] with CRVAL1 and CRVAL2 reduced by the pixels left out
/// before the section.
///
/// # Errors
/// [`Code::NotAnImage`] and the errors of [`Hdu::image`]; [`Code::SectionRange`];
/// [`Code::AxisKept`] and [`Code::AxisCoupled`] for an axis that cannot be left out;
/// [`Code::PixelDistortion`]; [`Code::KeywordType`] and similar codes for coordinates that are not
/// numbers; [`Code::CardText`] when the new number of an axis does not fit a keyword.
///
/// [`Code::AxisCoupled`]: crate::Code::AxisCoupled
/// [`Code::AxisKept`]: crate::Code::AxisKept
/// [`Code::CardText`]: crate::Code::CardText
/// [`Code::KeywordType`]: crate::Code::KeywordType
/// [`Code::NotAnImage`]: crate::Code::NotAnImage
/// [`Code::PixelDistortion`]: crate::Code::PixelDistortion
/// [`Code::SectionRange`]: crate::Code::SectionRange
///
/// ```
/// use tachyfits_format::{Context, Header, ReadOptions, Step, Walker};
/// use tachyfits_format::{AxisSelection, cutout_header};
/// let cards = "SIMPLE  =                    T|BITPIX  =                  -32|\
///     NAXIS   =                    1|NAXIS1  =                  100|CTYPE1  = 'FREQ'|\
///     CRPIX1  =                 51.0|CDELT1  =                  2.0|END";
/// let mut file: Vec<u8> = Vec::new();
/// cards.split('|').for_each(|card| file.extend(format!("{card:<80}").as_bytes()));
/// file.resize(2880, b' ');
/// let mut walker = Walker::new(ReadOptions::default(), 5760);
/// walker.step()?;
/// file.resize(5760, 0);
/// walker.supply(&file);
/// let Step::Hdu(hdu) = walker.step()? else { panic!() };
/// let every_second = AxisSelection { first: 10, count: 20, step: 2, keep: true, ..Default::default() };
/// let blocks = cutout_header(&hdu, &[every_second])?;
/// let (header, _) = Header::parse(&blocks, Context::default())?;
/// assert_eq!(header.get_i64("NAXIS1")?, Some(20));
/// assert_eq!(header.get_f64("CRPIX1")?, Some(21.0));
/// assert_eq!(header.get_f64("CDELT1")?, Some(4.0));
/// # Ok::<(), tachyfits_format::FormatError>(())
/// ```
pub fn cutout_header(hdu: &Hdu, axes: &[AxisSelection]) -> Result<Vec<u8>, FormatError> {
    let section = Section::of_cutout(hdu, axes)?;
    Ok(section_header(hdu, &section, &history(hdu, axes))?.to_bytes())
}

/// Returns the header of a section as [`cutout_header`] does, with `history` as a HISTORY card.
fn section_header(hdu: &Hdu, section: &Section, history: &str) -> Result<Header, FormatError> {
    let coordinates = Coordinates::new(&hdu.header, section, Distortions::Refused)?;
    let source = hdu.header.cards();
    let pixels = SurvivingPixels::Stored { is_float: hdu.stored.is_float() };
    let mut cards = mandatory(hdu, section, source)?;
    cards.extend(coordinates.numbers_of_axes()?);
    for card in source.iter().filter(|card| survives(card, pixels)) {
        cards.extend(coordinates.card(card)?);
    }
    // Before the blank cards that reserve space.
    let blanks = cards.iter().rev().take_while(|card| card.is_blank()).count();
    let mut new = coordinates.absent()?;
    new.extend(Card::commentary("HISTORY", history)?);
    let end = cards.len() - blanks;
    cards.splice(end..end, new);
    Ok(Header::from_cards(cards))
}

/// Returns SIMPLE, BITPIX, NAXIS and NAXISn, with their old bytes if these are right.
fn mandatory(hdu: &Hdu, section: &Section, source: &[Card]) -> Result<Vec<Card>, FormatError> {
    let make = |old: &str, new: &str, value: Value, comment: &str| -> Result<Card, FormatError> {
        let old_card = hdu.header.position(old).map(|at| &source[at]);
        let card = match old_card.filter(|card| !card.comment().is_empty()) {
            Some(card) => card.with_value(new, value)?,
            None => Card::new(new, value, comment)?,
        };
        // Compares keyword and value, up to the end of the fixed format.
        let same = old_card.filter(|old_card| old_card.raw()[..30] == card.raw()[..30]);
        Ok(same.filter(|old_card| old_card.continuations() == 0).unwrap_or(&card).clone())
    };
    let mut cards = vec![
        make("SIMPLE", "SIMPLE", true.into(), "conforms to the FITS Standard")?,
        make("BITPIX", "BITPIX", hdu.stored.bitpix().into(), "")?,
        make("NAXIS", "NAXIS", section.kept().into(), "")?,
    ];
    for number in 1..=section.kept() {
        // Each number occurs once.
        let Some((axis, count)) = section.kept_axis(number) else { continue };
        let (old, new) = (format!("NAXIS{axis}"), format!("NAXIS{number}"));
        cards.push(make(&old, &new, count.into(), "")?);
    }
    Ok(cards)
}

/// Formats the section as CFITSIO does: first:last:step of each axis, from 1; 1:0 for an axis without pixels.
fn history(hdu: &Hdu, axes: &[AxisSelection]) -> String {
    let range = |axis: &AxisSelection| {
        let first = i128::from(axis.first) + 1;
        let last = first + (i128::from(axis.count) - 1) * i128::from(axis.step);
        match axis.step {
            _ if axis.count == 1 => format!("{first}"),
            1 => format!("{first}:{last}"),
            step => format!("{first}:{last}:{}", step.unsigned_abs()),
        }
    };
    let ranges: Vec<String> = axes.iter().map(range).collect();
    let sizes: Vec<String> = hdu.axes.iter().map(u64::to_string).collect();
    let (ranges, sizes) = (ranges.join(","), sizes.join(" x "));
    format!("tachyfits: pixels [{ranges}] of {sizes} of HDU {} (0-based)", hdu.index)
}
