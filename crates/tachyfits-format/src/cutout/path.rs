//! The header of a cut along a path through the planes of an image: the first two axes give way to
//! one, the offset along the path, and the others keep their coordinates under the next lower
//! number.

use super::distortion;
use crate::card::Card;
use crate::code::Code;
use crate::error::FormatError;
use crate::hdu::Hdu;
use crate::header::Header;
use crate::value::{Real, Value};
use crate::wcs::{AxisName, Description, PRIMARY, Part, card_number, wcsaxes_letter};

/// The axis of offsets along a path.
#[derive(Clone, Debug, PartialEq)]
pub struct OffsetAxis {
    /// How many pixels.
    pub pixels: u64,
    /// The offset of the first pixel, from the beginning of the path.
    pub first: f64,
    /// From one pixel to the next.
    pub step: f64,
    /// The unit, as CUNIT; empty for pixels of the image.
    pub unit: String,
}

/// The cards of a cut along a path, with NAXIS and NAXISn: those of the HDU's image without what
/// describes its first two axes, and the axis of offsets as the first.
///
/// # Errors
/// [`Code::NotAnImage`] and what [`Hdu::image`] refuses; [`Code::AxisNumber`] for an image of fewer
/// than two axes; [`Code::AxisCoupled`] when a coordinate along the path and one of another axis
/// depend on each other; [`Code::KeywordType`] and the like for coordinates that are no numbers.
///
/// ```
/// # use tachyfits_format::{ReadOptions, Step, Walker};
/// # let cards = "SIMPLE  =                    T|BITPIX  =                    8|\
/// #     NAXIS   =                    3|NAXIS1  =                    3|\
/// #     NAXIS2  =                    2|NAXIS3  =                    4|\
/// #     CTYPE1  = 'RA---TAN'|CTYPE3  = 'FREQ'|END";
/// # let mut file: Vec<u8> = Vec::new();
/// # cards.split('|').for_each(|card| file.extend(format!("{card:<80}").as_bytes()));
/// # file.resize(2880, b' ');
/// # let mut walker = Walker::new(ReadOptions::default(), 5760);
/// # walker.step()?;
/// # file.resize(5760, 0);
/// # walker.supply(&file);
/// # let Step::Hdu(hdu) = walker.step()? else { panic!() };
/// use tachyfits_format::{OffsetAxis, path_header};
/// let offsets = OffsetAxis { pixels: 11, first: 0.0, step: 1.0, unit: String::new() };
/// let header = path_header(&hdu, &offsets)?;
/// assert_eq!(header.get_text("CTYPE1")?, Some("OFFSET"));
/// assert_eq!(header.get_text("CTYPE2")?, Some("FREQ"));
/// assert_eq!((header.get_i64("NAXIS1")?, header.get_i64("NAXIS2")?), (Some(11), Some(4)));
/// # Ok::<(), tachyfits_format::FormatError>(())
/// ```
pub fn path_header(hdu: &Hdu, offsets: &OffsetAxis) -> Result<Header, FormatError> {
    hdu.image()?;
    if hdu.axes.len() < 2 {
        let expected = "an image of two axes or more to lay a path through";
        let found = format!("NAXIS = {}", hdu.axes.len());
        return Err(FormatError::new(Code::AxisNumber, hdu.place(), expected, found));
    }
    let mut cards = vec![
        Card::new("SIMPLE", true, "conforms to the FITS Standard")?,
        Card::new("BITPIX", hdu.stored.bitpix(), "")?,
        Card::new("NAXIS", hdu.axes.len() - 1, "")?,
        Card::new("NAXIS1", offsets.pixels, "")?,
    ];
    for (number, &length) in (2..).zip(&hdu.axes[2..]) {
        cards.push(Card::new(&format!("NAXIS{number}"), length, "")?);
    }
    let descriptions = Description::all(&hdu.header)?;
    for (at, card) in hdu.header.cards().iter().enumerate().filter(|(_, card)| is_wcsaxes(card)) {
        let keyword = card.keyword().to_ascii_uppercase();
        // Before the other keywords of its description (Sect. 8.2).
        if hdu.header.position(&keyword) == Some(at) {
            let count = hdu.header.get_i64(&keyword)?.unwrap_or(0);
            cards.push(Card::new(&keyword, count.saturating_sub(1).max(1), card.comment())?);
        }
    }
    let has_primary = descriptions.iter().any(|one| one.letter == PRIMARY);
    let letters = descriptions.iter().map(|one| one.letter);
    for letter in (!has_primary).then_some(PRIMARY).into_iter().chain(letters) {
        cards.extend(offset_cards(hdu, offsets, letter)?);
    }
    for card in hdu.carried_header().cards() {
        cards.extend(carried_card(&hdu.header, card)?);
    }
    Ok(Header::from_cards(cards))
}

fn is_wcsaxes(card: &Card) -> bool {
    card.value().is_some() && wcsaxes_letter(card.keyword()).is_some()
}

/// The world axis of the offsets in one description.
fn offset_cards(hdu: &Hdu, offsets: &OffsetAxis, letter: char) -> Result<Vec<Card>, FormatError> {
    let number = |name: AxisName, value: f64| {
        let keyword = name.to_string();
        let real = Real::from_f64(value);
        let refused = || hdu.header.out_of_range(&keyword, "a finite number");
        Card::new(&keyword, Value::Real(real.ok_or_else(refused)?), "")
    };
    let name = |root| AxisName::of(root, 1, letter);
    let mut cards = vec![
        Card::new(&name("CTYPE").to_string(), "OFFSET", "offset along the path")?,
        number(name("CRPIX"), 1.0)?,
        number(name("CRVAL"), offsets.first)?,
        number(name("CDELT"), offsets.step)?,
    ];
    if !offsets.unit.is_empty() {
        cards.push(Card::new(&name("CUNIT").to_string(), offsets.unit.as_str(), "")?);
    }
    let names = hdu.header.cards().iter().filter_map(|card| AxisName::parse(card.keyword()));
    let stays = |name: AxisName| name.axis > 2 && name.column().is_some_and(|column| column > 2);
    if names.into_iter().any(|name| name.root == "CD" && name.letter == letter && stays(name)) {
        // With any CDi_j there, CDELTi does not count (Sect. 8.2).
        cards.push(number(AxisName { part: Part::Column(1), ..name("CD") }, offsets.step)?);
    }
    Ok(cards)
}

/// A card as it is in the cut; `None` for one that has no meaning there.
fn carried_card(header: &Header, card: &Card) -> Result<Option<Card>, FormatError> {
    if card.value().is_none() {
        return Ok(Some(card.clone()));
    }
    if is_wcsaxes(card) {
        return Ok(None);
    }
    let Some(name) = AxisName::parse(card.keyword()) else {
        return Ok((!is_of_the_plane(card.keyword())).then(|| card.clone()));
    };
    let column = name.column().unwrap_or(name.axis);
    match (name.axis > 2, column > 2) {
        (true, true) => Ok(Some(card.renamed(&name.renumbered(|axis| axis - 1).to_string()))),
        (false, false) => Ok(None),
        _ if card_number(header, card)?.unwrap_or(0.0) == 0.0 => Ok(None),
        _ => {
            let place = header.place(card.keyword());
            let expected = "coordinates of the first two axes that no other axis depends on";
            Err(FormatError::new(Code::AxisCoupled, place, expected, card.keyword()))
        }
    }
}

/// Keywords without an axis number that describe the plane of the first two axes: the pole of its
/// projection, its distortion, its place on a plate.
fn is_of_the_plane(keyword: &str) -> bool {
    const ROOTS: [&str; 2] = ["LONPOLE", "LATPOLE"];
    const PLATE: [&str; 4] = ["CNPIX", "XPIXELSZ", "YPIXELSZ", "PLTSCALE"];
    let keyword = keyword.to_ascii_uppercase();
    distortion::is_keyword(&keyword)
        || ROOTS.iter().chain(&PLATE).any(|root| keyword.starts_with(root))
}
