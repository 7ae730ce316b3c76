//! Rules about the world coordinates of images (Sect. 8): valid combinations of keywords, and valid CTYPEi and CUNITi.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::rules::Rule;
use super::subject::{Report, Subject};
use crate::card::Card;
use crate::error::quoted;
use crate::reserved::Match;
use crate::value::Value;

/// Keywords that describe axes by their number.
const OF_AXES: [&str; 13] = [
    "CTYPEia", "CUNITia", "CRPIXja", "CRVALia", "CDELTia", "CROTAi", "PCi_ja", "CDi_ja", "PVi_ma",
    "PSi_ma", "CNAMEia", "CRDERia", "CSYERia",
];

/// Projections of Table 23 and of the registry of conventions: TPV, TNX, ZPX.
const PROJECTIONS: [&str; 30] = [
    "AZP", "SZP", "TAN", "STG", "SIN", "ARC", "ZPN", "ZEA", "AIR", "CYP", "CEA", "CAR", "MER",
    "SFL", "PAR", "MOL", "AIT", "COP", "COE", "COD", "COO", "BON", "PCO", "TSC", "CSC", "QSC",
    "HPX", "TPV", "TNX", "ZPX",
];

fn of_axes<'a>(subject: &'a Subject<'_>) -> impl Iterator<Item = (usize, &'a Card, &'a Match)> {
    subject.reserved_cards().filter(|(_, _, entry)| OF_AXES.contains(&entry.reserved.pattern))
}

/// Returns the WCSAXESa cards that follow another card of their description: index of each, and of the first card of
/// its description.
pub(super) fn late_axes(subject: &Subject<'_>) -> Vec<(usize, usize)> {
    let mut firsts: BTreeMap<u8, usize> = BTreeMap::new();
    let mut late = Vec::new();
    for (at, _, entry) in subject.reserved_cards() {
        if OF_AXES.contains(&entry.reserved.pattern) {
            firsts.entry(entry.alternative).or_insert(at);
        } else if entry.reserved.pattern == "WCSAXESa" {
            late.extend(firsts.get(&entry.alternative).map(|first| (at, *first)));
        }
    }
    late
}

pub(super) fn axes_place(subject: &Subject<'_>, report: &mut Report) {
    let keyword = |at: usize| subject.header.cards()[at].keyword();
    for (at, first) in late_axes(subject) {
        let expected = format!("{} before {}", keyword(at), keyword(first));
        report.push(Rule::WcsAxesPlace, subject.place(at), expected, "it after them");
    }
}

pub(super) fn matrices(subject: &Subject<'_>, report: &mut Report) {
    let first = |pattern| subject.of(pattern).next();
    if let (Some((_, pc, _)), Some((at, cd, _))) = (first("PCi_ja"), first("CDi_ja")) {
        let found = format!("{} beside {}", cd.keyword(), pc.keyword());
        report.push(Rule::WcsMatrices, subject.place(at), "PCi_j or CDi_j alone", found);
    }
    // CROTAi belongs to the primary description. Beside PVi_m it is legal.
    let matrix = subject.of("PCi_ja").find(|(_, _, entry)| entry.alternative == 0);
    if let (Some((at, rotation, _)), Some((_, matrix, _))) = (first("CROTAi"), matrix) {
        let found = format!("{} beside {}", rotation.keyword(), matrix.keyword());
        report.push(Rule::WcsMatrices, subject.place(at), "no CROTAi with PCi_j", found);
    }
}

/// Maximum number of axes of a matrix to check.
const MOST_AXES: usize = 16;

pub(super) fn singular(subject: &Subject<'_>, report: &mut Report) {
    for pattern in ["PCi_ja", "CDi_ja"] {
        let mut elements: BTreeMap<u8, Vec<(usize, usize, f64)>> = BTreeMap::new();
        let mut cards: BTreeMap<u8, usize> = BTreeMap::new();
        for (at, card, entry) in subject.of(pattern) {
            let [Some(row), Some(column)] = entry.numbers else { continue };
            let Some(value) = card.value().and_then(Value::as_f64) else { continue };
            elements.entry(entry.alternative).or_default().push((
                row as usize,
                column as usize,
                value,
            ));
            cards.entry(entry.alternative).or_insert(at);
        }
        for (alternative, elements) in elements {
            let identity = pattern == "PCi_ja";
            if is_singular(&elements, axes_of(subject, alternative), identity) {
                let found = "a matrix without inverse";
                let place = subject.place(cards[&alternative]);
                report.push(Rule::WcsSingular, place, "a matrix that has an inverse", found);
            }
        }
    }
}

/// Number of axes of a description: WCSAXES, or the axes of the array.
fn axes_of(subject: &Subject<'_>, alternative: u8) -> usize {
    let keyword = match alternative {
        0 => "WCSAXES".to_owned(),
        letter => format!("WCSAXES{}", letter as char),
    };
    let wcsaxes = subject.header.get(&keyword).and_then(Value::as_i64);
    let wcsaxes = wcsaxes.and_then(|axes| u64::try_from(axes).ok());
    // The arrays of a table are in its cells, and NAXIS does not describe them.
    let array = subject.naxis.filter(|_| !subject.is_table());
    usize::try_from(wcsaxes.or(array).unwrap_or(0)).unwrap_or(usize::MAX)
}

fn is_singular(elements: &[(usize, usize, f64)], axes: usize, identity: bool) -> bool {
    let largest = elements.iter().map(|(row, column, _)| *row.max(column)).max().unwrap_or(0);
    let size = largest.max(axes);
    let within = elements.iter().all(|(row, column, _)| *row > 0 && *column > 0);
    if size > MOST_AXES || !within {
        return false;
    }
    // At most 99 axes, the maximum for PCi_ja.
    let mut matrix = vec![vec![0.0; size]; size];
    if identity {
        (0..size).for_each(|at| matrix[at][at] = 1.0);
    }
    for (row, column, value) in elements {
        matrix[row - 1][column - 1] = *value;
    }
    eliminated(matrix)
}

/// Whether Gaussian elimination, with rows scaled to a maximum of 1, leads to a column of zeros.
fn eliminated(mut matrix: Vec<Vec<f64>>) -> bool {
    for row in &mut matrix {
        let largest = row.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
        if largest == 0.0 || !largest.is_finite() {
            return largest == 0.0;
        }
        row.iter_mut().for_each(|value| *value /= largest);
    }
    let size = matrix.len();
    for step in 0..size {
        let pivot = (step..size)
            .max_by(|a, b| matrix[*a][step].abs().total_cmp(&matrix[*b][step].abs()))
            .expect("there are rows left");
        // The largest element of each row was 1: smaller pivots are rounding errors.
        if matrix[pivot][step].abs() < 1e-14 {
            return true;
        }
        matrix.swap(step, pivot);
        let (above, below) = matrix.split_at_mut(step + 1);
        for row in below {
            let factor = row[step] / above[step][step];
            row.iter_mut().zip(&above[step]).for_each(|(value, pivot)| *value -= factor * pivot);
        }
    }
    false
}

/// Celestial coordinate and system of a type: `RA`, `DEC`, `xLON`, `xLAT`, `xyLN`, `xyLT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Celestial<'a> {
    Longitude(&'a str),
    Latitude(&'a str),
}

/// Splits a type of the 4-3 form into the coordinate, without hyphens, and the code of the algorithm.
fn four_three(text: &str) -> Option<(&str, &str)> {
    let (name, rest) = text.split_at_checked(4)?;
    let code = rest.strip_prefix('-')?;
    let code = code.get(..3).unwrap_or(code);
    Some((name.trim_end_matches('-'), code.trim_end()))
}

fn celestial(name: &str) -> Option<Celestial<'_>> {
    match name {
        "RA" => Some(Celestial::Longitude("")),
        "DEC" => Some(Celestial::Latitude("")),
        _ => {
            let system =
                |suffix| name.strip_suffix(suffix).filter(|system: &&str| !system.is_empty());
            system("LON")
                .or_else(|| system("LN"))
                .map(Celestial::Longitude)
                .or_else(|| system("LAT").or_else(|| system("LT")).map(Celestial::Latitude))
        }
    }
}

/// Whether an algorithm belongs to spectral axes (`F2W` and similar, `LOG`, gratings) or look-up tables.
fn is_other_algorithm(code: &str) -> bool {
    let spectral = |letter: u8| matches!(letter, b'F' | b'W' | b'V' | b'A');
    matches!(code, "LOG" | "TAB" | "GRI" | "GRA")
        || matches!(code.as_bytes(), [from, b'2', to] if spectral(*from) && spectral(*to))
}

pub(super) fn types(subject: &Subject<'_>, report: &mut Report) {
    let mut pairs: BTreeMap<u8, Vec<(usize, Celestial<'_>, &str)>> = BTreeMap::new();
    for (at, card, entry) in subject.of("CTYPEia") {
        let Some(text) = card.value().and_then(Value::as_text) else { continue };
        let Some((name, code)) = four_three(text) else { continue };
        let projected = PROJECTIONS.contains(&code);
        if !projected && !is_other_algorithm(code) {
            let expected = "an algorithm of Table 23 or 25 after the fifth character";
            report.push(Rule::WcsType, subject.place(at), expected, quoted(text));
        }
        if let Some(which) = celestial(name).filter(|_| projected) {
            pairs.entry(entry.alternative).or_default().push((at, which, code));
        }
    }
    for pair in pairs.values() {
        let right = match pair[..] {
            [(_, Celestial::Longitude(a), code), (_, Celestial::Latitude(b), other_code)]
            | [(_, Celestial::Latitude(a), code), (_, Celestial::Longitude(b), other_code)] => {
                a == b && code == other_code
            }
            _ => false,
        };
        if !right {
            let card = &subject.header.cards()[pair[0].0];
            let found = card.value().map_or_else(String::new, Value::to_string);
            let expected = "one longitude and one latitude of one system and projection";
            report.push(Rule::WcsType, subject.place(pair[0].0), expected, found);
        }
    }
}

pub(super) fn units(subject: &Subject<'_>, report: &mut Report) {
    let mut types: HashMap<_, &Card> = HashMap::new();
    for (_, card, entry) in subject.of("CTYPEia") {
        types.entry((entry.numbers, entry.alternative)).or_insert(card);
    }
    for (at, card, entry) in subject.of("CUNITia") {
        let axis = types.get(&(entry.numbers, entry.alternative));
        let kind = axis.and_then(|card| card.value()?.as_text()).and_then(four_three);
        let Some((name, code)) = kind else { continue };
        let Some(unit) = card.value().and_then(Value::as_text).map(str::trim) else { continue };
        let angle = PROJECTIONS.contains(&code) && celestial(name).is_some();
        if angle && !matches!(unit, "" | "deg") {
            report.push(Rule::WcsUnit, subject.place(at), "'deg'", quoted(unit));
        }
    }
}

pub(super) fn alternates(subject: &Subject<'_>, report: &mut Report) {
    let described: BTreeSet<u8> = of_axes(subject).map(|(_, _, entry)| entry.alternative).collect();
    if described.is_empty() || described.contains(&0) {
        return;
    }
    if let Some((at, card, _)) = of_axes(subject).next() {
        let expected = "a primary description of the axes as well";
        report.push(Rule::WcsAlternate, subject.place(at), expected, card.keyword());
    }
}

#[cfg(test)]
mod tests {
    use super::{Celestial, celestial, four_three, is_other_algorithm, is_singular};

    #[test]
    fn types_are_taken_apart() {
        assert_eq!(four_three("RA---TAN"), Some(("RA", "TAN")));
        assert_eq!(four_three("DEC--TAN-SIP"), Some(("DEC", "TAN")));
        assert_eq!(four_three("RA---UV "), Some(("RA", "UV")));
        assert_eq!(four_three("FREQ"), None);
        assert_eq!(four_three("VELO-LSR"), Some(("VELO", "LSR")));
        assert_eq!(celestial("GLON"), Some(Celestial::Longitude("G")));
        assert_eq!(celestial("HPLT"), Some(Celestial::Latitude("HP")));
        assert_eq!(celestial("LON"), None);
        assert!(is_other_algorithm("F2W") && !is_other_algorithm("F2X"));
    }

    #[test]
    fn singular_matrices_are_seen() {
        let rotation = [(1, 1, 0.8), (1, 2, -0.6), (2, 1, 0.6), (2, 2, 0.8)];
        assert!(!is_singular(&rotation, 2, true));
        assert!(!is_singular(&rotation, 3, true));
        assert!(is_singular(&rotation, 3, false));
        assert!(is_singular(&[(1, 1, 1e-9), (1, 2, 2e-9), (2, 1, 2.0), (2, 2, 4.0)], 2, false));
        assert!(!is_singular(&[(1, 1, 1e-9), (2, 2, 1e9)], 2, false));
        assert!(!is_singular(&[(40, 40, 0.0)], 2, true));
    }
}
