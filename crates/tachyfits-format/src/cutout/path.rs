//! The header of a cut along a path through the planes of an image: the offset along the path
//! replaces the first two axes, and the other axes keep their coordinates with numbers lower by
//! one.

use super::distortion;
use crate::card::Card;
use crate::code::Code;
use crate::error::FormatError;
use crate::hdu::Hdu;
use crate::header::Header;
use crate::value::{Real, Value};
use crate::wcs::{
    AxisName, Description, NamePart, PRIMARY, card_number, is_celestial, wcsaxes_letter,
};

/// The axis of offsets along a path.
#[derive(Clone, Debug, PartialEq)]
pub struct OffsetAxis {
    /// Number of pixels.
    pub pixels: u64,
    /// Offset of the first pixel from the beginning of the path.
    pub first: f64,
    /// Offset from one pixel to the next.
    pub step: f64,
    /// Unit, as CUNIT; empty for pixels of the image.
    pub unit: String,
}

/// Returns the cards of a cut along a path, NAXIS and NAXISn included: those of the HDU's image
/// without the description of its first two axes, and the axis of offsets as the first axis.
///
/// # Errors
/// [`Code::NotAnImage`] and the errors of [`Hdu::image`]; [`Code::AxisNumber`] for an image of
/// fewer than two axes; [`Code::AxisCoupled`] when a coordinate along the path and one of another
/// axis depend on each other; [`Code::KeywordType`] and similar codes for coordinates that are not
/// numbers.
///
/// ```
/// use tachyfits_format::{ReadOptions, Step, Walker};
/// let cards = "SIMPLE  =                    T|BITPIX  =                    8|\
///     NAXIS   =                    3|NAXIS1  =                    3|\
///     NAXIS2  =                    2|NAXIS3  =                    4|\
///     CTYPE1  = 'RA---TAN'|CTYPE3  = 'FREQ'|END";
/// let mut file: Vec<u8> = Vec::new();
/// cards.split('|').for_each(|card| file.extend(format!("{card:<80}").as_bytes()));
/// file.resize(2880, b' ');
/// let mut walker = Walker::new(ReadOptions::default(), 5760);
/// walker.step()?;
/// file.resize(5760, 0);
/// walker.supply(&file);
/// let Step::Hdu(hdu) = walker.step()? else { panic!() };
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
        // WCSAXES precedes the other keywords of its description (Sect. 8.2).
        if hdu.header.position(&keyword) == Some(at) {
            let count = hdu.header.get_i64(&keyword)?.unwrap_or(0);
            cards.push(card.with_value(&keyword, count.saturating_sub(1).max(1))?);
        }
    }
    let has_primary = descriptions.iter().any(|description| description.letter == PRIMARY);
    let letters = descriptions.iter().map(|description| description.letter);
    for letter in (!has_primary).then_some(PRIMARY).into_iter().chain(letters) {
        cards.extend(offset_cards(hdu, offsets, letter)?);
    }
    let lone = lone_axes(&hdu.header, &descriptions);
    for card in hdu.carried_header().cards() {
        cards.extend(carried_card(&hdu.header, &descriptions, &lone, card)?);
    }
    for &(axis, letter) in &lone {
        let text = format!(
            "tachyfits: coordinates{} of NAXIS{} were left out: the path took the other axis of \
             the sky",
            if letter == PRIMARY { String::new() } else { format!(" {letter}") },
            axis - 1
        );
        cards.extend(Card::commentary("COMMENT", &text)?);
    }
    Ok(Header::from_cards(cards))
}

/// Returns celestial axes that stay while the path replaces their partner, each with the letter of
/// its description. A single celestial axis has no coordinate (Sect. 8.3), and readers reject the
/// whole header.
fn lone_axes(header: &Header, descriptions: &[Description]) -> Vec<(usize, char)> {
    let mut lone = Vec::new();
    for description in descriptions {
        let sky: Vec<usize> = description
            .axes
            .iter()
            .copied()
            .filter(|&axis| {
                let keyword = AxisName::of("CTYPE", axis, description.letter).to_string();
                header.get(&keyword).and_then(Value::as_text).is_some_and(is_celestial)
            })
            .collect();
        if let ([path_axis], [other_axis]) = sky.split_at(sky.partition_point(|&axis| axis <= 2))
            && path_axis < other_axis
        {
            lone.push((*other_axis, description.letter));
        }
    }
    lone
}

fn is_wcsaxes(card: &Card) -> bool {
    card.value().is_some() && wcsaxes_letter(card.keyword()).is_some()
}

/// Returns the cards of the offset axis in one description.
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
        // If any CDi_j is present, CDELTi is ignored (Sect. 8.2).
        cards.push(number(AxisName { part: NamePart::Column(1), ..name("CD") }, offsets.step)?);
    }
    Ok(cards)
}

/// Returns a card as the cut needs it; `None` if it has no meaning there.
fn carried_card(
    header: &Header,
    descriptions: &[Description],
    lone: &[(usize, char)],
    card: &Card,
) -> Result<Option<Card>, FormatError> {
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
    if !name.is_iraf() && lone.contains(&(name.axis, name.letter)) {
        // If any CDi_j is present, a missing diagonal element would be 0 (Sect. 8.2).
        let diagonal = name.root == "CD" && column == name.axis;
        let renumbered = name.renumbered(|axis| axis - 1).to_string();
        return diagonal.then(|| Card::new(&renumbered, 1.0, "")).transpose();
    }
    match (name.axis > 2, column > 2) {
        (true, true) => Ok(Some(card.renamed(&name.renumbered(|axis| axis - 1).to_string()))),
        (false, false) => Ok(None),
        _ if is_noise(descriptions, name, card_number(header, card)?.unwrap_or(0.0)) => Ok(None),
        _ => {
            let place = header.place(card.keyword());
            let expected = "coordinates of the first two axes independent of the others";
            Err(FormatError::new(Code::AxisCoupled, place, expected, card.keyword()))
        }
    }
}

/// Whether a matrix element is 0 except for rounding, compared with the diagonal of its row.
fn is_noise(descriptions: &[Description], name: AxisName, value: f64) -> bool {
    let description = descriptions.iter().find(|description| description.letter == name.letter);
    let diagonal = description.map_or(0.0, |description| match name.root {
        "PC" => description.pc.element(name.axis, name.axis).unwrap_or(1.0),
        _ => description.cd.element(name.axis, name.axis).unwrap_or(0.0),
    });
    value.abs() <= 1e-12 * diagonal.abs()
}

/// Whether a keyword without an axis number describes the plane of the first two axes: the pole of
/// its projection, its distortion or its place on a plate.
fn is_of_the_plane(keyword: &str) -> bool {
    const ROOTS: [&str; 2] = ["LONPOLE", "LATPOLE"];
    const PLATE: [&str; 4] = ["CNPIX", "XPIXELSZ", "YPIXELSZ", "PLTSCALE"];
    let keyword = keyword.to_ascii_uppercase();
    distortion::is_keyword(&keyword)
        || ROOTS.iter().chain(&PLATE).any(|root| keyword.starts_with(root))
}
