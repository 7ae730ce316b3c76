//! The header of the arrays of random groups (Sect. 6) as one image: NAXIS1 = 0 is removed, and the last axis counts
//! groups.

use crate::card::{Card, numbered};
use crate::error::FormatError;
use crate::hdu::Hdu;
use crate::header::Header;
use crate::wcs::{AxisName, wcsaxes_letter};

/// Returns the header of the arrays of random groups: coordinates of NAXIS2 become those of the first axis, and so on.
/// Cards of group parameters are left out.
///
/// # Errors
/// [`crate::Code::NotRandomGroups`] for another HDU; [`crate::Code::CardText`] when a keyword has no room for its number.
pub fn arrays_header(hdu: &Hdu) -> Result<Header, FormatError> {
    let groups = hdu.random_groups()?;
    let mut cards = vec![
        Card::new("SIMPLE", true, "conforms to the FITS Standard")?,
        Card::new("BITPIX", hdu.stored.bitpix(), "")?,
        Card::new("NAXIS", hdu.axes.len(), "")?,
    ];
    let axes = hdu.axes[1..].iter().chain([&groups.group_count]);
    for (number, &length) in (1..).zip(axes) {
        cards.push(Card::new(&format!("NAXIS{number}"), length, "")?);
    }
    for card in hdu.carried_header().cards() {
        let is_count = card.value().is_some() && wcsaxes_letter(card.keyword()).is_some();
        if is_count || is_of_parameter(card.keyword()) {
            continue;
        }
        match AxisName::parse(card.keyword()).filter(|_| card.value().is_some()) {
            None => cards.push(card.clone()),
            Some(name) if name.axis > 1 && name.column().is_none_or(|column| column > 1) => {
                cards.push(card.renamed(&name.renumbered(|axis| axis - 1).to_string()));
            }
            // The card describes the axis of length 0.
            Some(_) => {}
        }
    }
    Ok(Header::from_cards(cards))
}

fn is_of_parameter(keyword: &str) -> bool {
    let keyword = keyword.to_ascii_uppercase();
    let (root, number) = numbered(&keyword);
    ["PTYPE", "PSCAL", "PZERO"].contains(&root) && !number.is_empty()
}
