//! Distortions of coordinates, which are functions of pixels: which of them remain valid in a section, which keywords
//! they consist of, and which HDUs they need.

use std::collections::HashSet;

use super::coordinates::Distortions;
use super::section::Section;
use crate::card::Card;
use crate::code::Code;
use crate::error::{FormatError, Place};
use crate::header::Header;
use crate::value::Value;
use crate::wcs::{AxisName, NamePart};

/// Prefixes of the keywords of distortion tables and of the functions in the distortion paper.
const TABLES: [&str; 5] = ["CPDIS", "CQDIS", "D2IMDIS", "D2IMARR", "AXISCORR"];
/// For each kind of correction image: the distortion keyword, its records, and the EXTNAME of the image.
const LOOKUPS: [(&str, &str, &str); 2] =
    [("CPDIS", "DP", "WCSDVARR"), ("D2IMDIS", "D2IM", "D2IMARR")];

fn ctype(card: &Card) -> Option<AxisName> {
    AxisName::parse(card.keyword()).filter(|name| name.root == "CTYPE")
}

/// Returns the axis and description of a CTYPE whose coordinates are in a table.
fn tabulated(card: &Card) -> Option<AxisName> {
    let name = ctype(card)?;
    let text = card.value().and_then(Value::as_text)?;
    text.trim_end().ends_with("-TAB").then_some(name)
}

/// Returns every axis with coordinates in a table, with the letter of its description.
pub(super) fn tabulated_axes(header: &Header) -> HashSet<(usize, char)> {
    let names = header.cards().iter().filter_map(tabulated);
    names.map(|name| (name.axis, name.letter)).collect()
}

/// Whether a keyword belongs to SIP, to distortion tables, or to plates of the Digitized Sky Survey.
pub(super) fn is_keyword(keyword: &str) -> bool {
    let keyword = keyword.to_ascii_uppercase();
    let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let polynomial = |root: &str| {
        keyword.strip_prefix(root).is_some_and(|rest| {
            let (p, q) = rest.split_once('_').unwrap_or_default();
            matches!(rest, "ORDER" | "DMAX") || (number(p) && number(q))
        })
    };
    // DP1.NAXES and similar are records of DPi (Paper IV); CPERRi is the largest distortion.
    let table = ["CPDIS", "CQDIS", "CPERR", "CQERR", "D2IM", "DP", "DQ", "DVERR", "AMDX", "AMDY"];
    let of_axis = |root: &&str| {
        let rest = keyword.strip_prefix(*root).unwrap_or_default();
        let (axis, _) = rest.split_once('.').unwrap_or((rest, ""));
        number(axis)
    };
    ["A_", "B_", "AP_", "BP_"].into_iter().any(polynomial)
        || table.iter().any(of_axis)
        || keyword.starts_with("D2IM")
        || keyword == "AXISCORR"
}

/// Returns the binary tables with the coordinates of -TAB axes of any description, by EXTNAME and EXTVER (Paper III,
/// Sect. 6.1): a file with this header needs them. Each is listed once.
#[must_use]
pub fn coordinate_tables(header: &Header) -> Vec<(String, i64)> {
    let mut tables = Vec::new();
    for axis in header.cards().iter().filter_map(tabulated) {
        let parameter = |root, n| {
            let name = AxisName { root, part: NamePart::Parameter(n), ..axis };
            header.get(&name.to_string())
        };
        let Some(name) = parameter("PS", 0).and_then(Value::as_text) else { continue };
        let version = parameter("PV", 1).and_then(Value::as_f64).unwrap_or(1.0);
        let table = (name.trim_end().to_owned(), version as i64);
        if !tables.contains(&table) {
            tables.push(table);
        }
    }
    tables
}

/// Whether a card refers to an image of pixel corrections, which moves with the pixels.
fn is_lookup(card: &Card) -> bool {
    let keyword = card.keyword().to_ascii_uppercase();
    let of_axis = |root: &str| {
        keyword.strip_prefix(root).is_some_and(|axis| matches!(axis, "1" | "2"))
            && card
                .value()
                .and_then(Value::as_text)
                .is_some_and(|text| text.trim().eq_ignore_ascii_case("lookup"))
    };
    keyword == "AXISCORR" || LOOKUPS.iter().any(|(root, ..)| of_axis(root))
}

/// Returns the images with pixel corrections (`CPDISi = 'LOOKUP'` of the distortion paper, D2IMDISi and the older
/// AXISCORR of the Hubble Space Telescope), by EXTNAME and EXTVER: a file with this header needs them. Each is listed
/// once.
#[must_use]
pub fn lookup_tables(header: &Header) -> Vec<(String, i64)> {
    let mut tables = Vec::new();
    for card in header.cards().iter().filter(|card| is_lookup(card)) {
        let keyword = card.keyword().to_ascii_uppercase();
        let of_axis = LOOKUPS.iter().find_map(|&(root, records, name)| {
            let axis = keyword.strip_prefix(root)?;
            Some((name, lookup_version(header, &format!("{records}{axis}"))))
        });
        let (name, version) = of_axis.unwrap_or(("D2IMARR", 1));
        if !tables.contains(&(name.to_owned(), version)) {
            tables.push((name.to_owned(), version));
        }
    }
    tables
}

/// Returns EXTVER from the records of an axis: `DP1 = 'EXTVER: 2.0'` in a file, DP1.EXTVER in memory; 1 if absent.
fn lookup_version(header: &Header, records: &str) -> i64 {
    let version = header.cards().iter().find_map(|card| {
        let keyword = card.keyword();
        if keyword.eq_ignore_ascii_case(&format!("{records}.EXTVER")) {
            return card.value().and_then(Value::as_f64);
        }
        let record = card.value().and_then(Value::as_text)?;
        let (field, value) = record.split_once(':')?;
        let is_it =
            keyword.eq_ignore_ascii_case(records) && field.trim().eq_ignore_ascii_case("EXTVER");
        if is_it { value.trim().parse().ok() } else { None }
    });
    version.unwrap_or(1.0) as i64
}

/// Decides which distortions, as functions of pixels, remain valid. SIP and the plates of the Digitized Sky Survey
/// remain valid with another origin. So do coordinate tables (-TAB), which are functions of the result of CRPIX and
/// CDELT, and correction images, whose CRVAL follows the pixels, if they are copied (`with_tables`). Other functions of
/// the distortion paper remain valid if pixels do not move. The polynomials of TPV remain valid for any pixels, except
/// if axes change their order.
pub(super) fn survive(
    header: &Header,
    section: &Section,
    distortions: Distortions,
) -> Result<(), FormatError> {
    let with_tables = distortions != (Distortions::Dropped { with_tables: false });
    let refused = |code: Code, keyword: &str, expected: &str, found: &str| {
        let place: Place = header.place(keyword);
        Err(FormatError::new(code, place, expected, found))
    };
    let in_place = (1..=2).all(|axis| section.keeps_in_place(axis));
    let steps = (1..=2).any(|axis| section.step(axis) != 1.0);
    let moves = !in_place || (1..=section.axes()).any(|axis| section.moves(axis));
    for card in header.cards().iter().filter(|card| card.value().is_some()) {
        let keyword = card.keyword();
        if TABLES.iter().any(|root| keyword.to_ascii_uppercase().starts_with(root)) {
            let (fits, expected) = if is_lookup(card) {
                let expected =
                    "step 1 and axes 1 and 2 in their positions with corrections in a table";
                (with_tables && in_place && !steps, expected)
            } else {
                (!moves, "coordinates without distortions by functions of pixels")
            };
            if !fits {
                return refused(Code::PixelDistortion, keyword, expected, keyword);
            }
        }
        let has_axis = |name: AxisName| section.number(name.axis).is_some();
        if !with_tables && tabulated(card).is_some_and(has_axis) {
            let text = card.value().and_then(Value::as_text).unwrap_or_default();
            return refused(Code::PixelDistortion, keyword, "coordinates without a table", text);
        }
    }
    let polynomial = ["A_ORDER", "B_ORDER", "AP_ORDER", "BP_ORDER"]
        .into_iter()
        .find(|keyword| header.get(keyword).is_some());
    let plate = ["AMDX1", "AMDY1"].into_iter().find(|keyword| header.get(keyword).is_some());
    let stepped = (1..=2).find(|&axis| section.step(axis) != 1.0);
    if let (Some(keyword), Some(axis)) = (polynomial, stepped) {
        let found = format!("step {} along axis {axis}", section.step(axis));
        return refused(Code::PixelDistortion, keyword, "step 1 with a SIP distortion", &found);
    }
    let moved_axis = (1..=2).find(|&axis| !section.keeps_in_place(axis));
    if let (Some(keyword), Some(axis)) = (polynomial.or(plate), moved_axis) {
        let expected = "axes 1 and 2 in their positions, because the distortion belongs to them";
        let found = match section.number(axis).filter(|_| section.keeps(axis)) {
            Some(number) => format!("axis {axis} as axis {number}"),
            None => format!("axis {axis} left out"),
        };
        return refused(Code::AxisCoupled, keyword, expected, &found);
    }
    let of_sky = header.cards().iter().filter_map(|card| sky_polynomial(header, card));
    for (keyword, axis) in of_sky.filter(|_| distortions == Distortions::Refused) {
        if let Some(number) = section.number(axis).filter(|&number| number != axis) {
            let expected = "an axis in its position, because its polynomial is one of axes 1 and 2";
            let found = format!("axis {axis} as axis {number}");
            return refused(Code::AxisCoupled, &keyword, expected, &found);
        }
    }
    Ok(())
}

/// Returns keyword and axis of a CTYPE with a polynomial of the projection plane: TPV, TAN with its parameters, and TNX
/// and ZPX of IRAF.
///
/// WCSLIB takes the first two axes as longitude and latitude there.
fn sky_polynomial(header: &Header, card: &Card) -> Option<(String, usize)> {
    let name = ctype(card)?;
    let text = card.value().and_then(Value::as_text)?.trim_end();
    let parameter = |n| {
        let name = AxisName { root: "PV", part: NamePart::Parameter(n), ..name };
        header.get(&name.to_string()).is_some()
    };
    // PVi_1 to PVi_4 of a longitude have another meaning.
    let has_polynomial = ["-TPV", "-TNX", "-ZPX"].iter().any(|code| text.ends_with(code))
        || (text.ends_with("-TAN") && (5..40).any(parameter));
    has_polynomial.then(|| (name.to_string(), name.axis))
}
