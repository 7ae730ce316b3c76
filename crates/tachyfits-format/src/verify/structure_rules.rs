//! Rules about the content of a header of each kind: keywords of other kinds, numbers out of range,
//! required values of standard extensions.

use super::rules::Rule;
use super::subject::{Report, Subject};
use crate::hdu::HduKind;
use crate::header::Header;
use crate::reserved::{Home, Match};
use crate::value::Value;

pub(super) fn forbidden_keyword(subject: &Subject<'_>, report: &mut Report) {
    for (at, card, entry) in subject.reserved_cards() {
        let expected = match (entry.reserved.home, subject.is_primary()) {
            (Home::Primary, false) => "it in the primary header only",
            (Home::Extension, true) => "it in extensions only",
            _ => continue,
        };
        report.push(Rule::ForbiddenKeyword, subject.place(at), expected, card.keyword());
    }
}

pub(super) fn misplaced_keyword(subject: &Subject<'_>, report: &mut Report) {
    let kind = &subject.kind;
    let compressed = subject.is_compressed();
    for (at, card, entry) in subject.reserved_cards() {
        let expected = match entry.reserved.home {
            Home::Array if subject.is_table() && !compressed => "it in images only",
            Home::Table if is_array(kind) => "it in tables only",
            Home::Ascii if is_array(kind) || *kind == HduKind::BinaryTable => {
                "it in ASCII tables only"
            }
            Home::Binary if is_array(kind) || *kind == HduKind::AsciiTable => {
                "it in binary tables only"
            }
            Home::Groups if *kind != HduKind::RandomGroups && !is_unset_groups(card.value()) => {
                "it in random groups only"
            }
            _ if *kind == HduKind::Primary && is_groups_size(entry, card.value()) => {
                "it in extensions and random groups only"
            }
            _ => continue,
        };
        report.push(Rule::MisplacedKeyword, subject.place(at), expected, card.keyword());
    }
}

fn is_array(kind: &HduKind) -> bool {
    matches!(kind, HduKind::Primary | HduKind::Image | HduKind::RandomGroups)
}

/// Whether PCOUNT or GCOUNT declares groups for a plain array; 0 and 1 are the correct values.
fn is_groups_size(entry: &Match, value: Option<&Value>) -> bool {
    let plain = match entry.reserved.pattern {
        "PCOUNT" => 0,
        "GCOUNT" => 1,
        _ => return false,
    };
    value.and_then(Value::as_i64).is_some_and(|value| value != plain)
}

/// Whether GROUPS = F, which is correct for a plain array.
fn is_unset_groups(value: Option<&Value>) -> bool {
    matches!(value, Some(Value::Logical(false)))
}

/// Checks that numbers in keywords are within the range given by NAXIS, TFIELDS, PCOUNT and
/// WCSAXES.
pub(super) fn index_range(subject: &Subject<'_>, report: &mut Report) {
    for (at, card, entry) in subject.reserved_cards() {
        let Some(number) = entry.numbers[0].map(u64::from) else { continue };
        let pattern = entry.reserved.pattern;
        let table = matches!(entry.reserved.home, Home::Table | Home::Ascii | Home::Binary);
        let (most, of) = match entry.reserved.home {
            _ if pattern.starts_with('Z') => continue,
            _ if pattern == "NAXISn" => (subject.naxis, "NAXIS".to_owned()),
            _ if table && subject.is_table() => (subject.tfields, "TFIELDS".to_owned()),
            Home::Groups if subject.kind == HduKind::RandomGroups => {
                (subject.pcount, "PCOUNT".to_owned())
            }
            Home::Anywhere => {
                let keyword = match entry.alternative {
                    0 => "WCSAXES".to_owned(),
                    letter => format!("WCSAXES{}", letter as char),
                };
                let axes = subject.header.get(&keyword).and_then(Value::as_i64);
                (Some(axes.and_then(|n| u64::try_from(n).ok()).unwrap_or(99)), keyword)
            }
            _ => continue,
        };
        let Some(most) = most else { continue };
        if number == 0 || number > most {
            let expected = format!("a number from 1 to {most} ({of})");
            report.push(Rule::IndexRange, subject.place(at), expected, card.keyword());
        }
    }
}

pub(super) fn extension_shape(subject: &Subject<'_>, report: &mut Report) {
    let requirements: &[(&str, i64)] = match subject.kind {
        HduKind::BinaryTable => &[("BITPIX", 8), ("NAXIS", 2), ("GCOUNT", 1)],
        HduKind::AsciiTable => &[("BITPIX", 8), ("NAXIS", 2), ("PCOUNT", 0), ("GCOUNT", 1)],
        HduKind::Image => &[("PCOUNT", 0), ("GCOUNT", 1)],
        _ => return,
    };
    for (keyword, value) in requirements {
        let Some(at) = subject.header.position(keyword) else { continue };
        let found = subject.header.cards()[at].value().and_then(Value::as_i64);
        if let Some(found) = found.filter(|found| found != value) {
            let expected = format!("{keyword} = {value}");
            report.push(Rule::ExtensionShape, subject.place(at), expected, found.to_string());
        }
    }
}

pub(super) fn fields_place(subject: &Subject<'_>, report: &mut Report) {
    let header = subject.header;
    let (Some(at), Some(before)) = (header.position("TFIELDS"), header.position("GCOUNT")) else {
        return;
    };
    if subject.is_table() && at != before + 1 {
        let expected = "TFIELDS directly after GCOUNT";
        report.push(Rule::FieldsPlace, subject.place(at), expected, behind(header, before));
    }
}

/// Describes the card after card `at`.
fn behind(header: &Header, at: usize) -> String {
    match header.cards().get(at + 1) {
        Some(card) => format!("{:?} there", card.keyword()),
        None => "the end of the header there".to_owned(),
    }
}

pub(super) fn inherit_place(subject: &Subject<'_>, report: &mut Report) {
    let header = subject.header;
    let (Some(at), Some(before)) = (header.position("INHERIT"), header.position("GCOUNT")) else {
        return;
    };
    // TFORMn and TBCOLn are mandatory as well, at any position.
    if !subject.is_primary() && !subject.is_table() && at != before + 1 {
        let expected = "INHERIT directly after GCOUNT";
        report.doubt(Rule::InheritPlace, subject.place(at), expected, behind(header, before));
    }
}

pub(super) fn unregistered(subject: &Subject<'_>, report: &mut Report) {
    /// Extension types of Appendix F that are not read as images or tables.
    const REGISTERED: [&str; 2] = ["FOREIGN", "DUMP"];
    if let HduKind::Unknown(name) = &subject.kind
        && !REGISTERED.contains(&name.as_str())
        && let Some(at) = subject.header.position("XTENSION")
    {
        let expected = "IMAGE, TABLE, BINTABLE, IUEIMAGE, A3DTABLE, FOREIGN or DUMP";
        let rule = Rule::UnregisteredExtension;
        report.push(rule, subject.place(at), expected, format!("{name:?}"));
    }
}

pub(super) fn compressed(subject: &Subject<'_>, report: &mut Report) {
    let header = subject.header;
    // In other HDUs these keywords have no meaning.
    if subject.kind != HduKind::BinaryTable {
        return;
    }
    let set = |keyword| header.get(keyword) == Some(&Value::Logical(true));
    let number = |keyword| header.get(keyword).and_then(Value::as_i64).unwrap_or(0).clamp(0, 999);
    let mut required: Vec<String> = Vec::new();
    if set("ZIMAGE") {
        required.extend(["ZCMPTYPE", "ZBITPIX", "ZNAXIS"].map(str::to_owned));
        required.extend((1..=number("ZNAXIS")).map(|n| format!("ZNAXIS{n}")));
    }
    if set("ZTABLE") {
        required.extend(["ZNAXIS1", "ZNAXIS2", "ZPCOUNT", "ZTILELEN"].map(str::to_owned));
        for n in 1..=number("TFIELDS") {
            required.push(format!("ZFORM{n}"));
            let form = header.get(&format!("ZFORM{n}")).and_then(Value::as_text).unwrap_or("");
            let repeat = form.trim_start().split(|letter: char| !letter.is_ascii_digit()).next();
            // CFITSIO omits the codec of a column without bytes.
            if repeat.and_then(|repeat| repeat.parse::<u64>().ok()) != Some(0) {
                required.push(format!("ZCTYP{n}"));
            }
        }
    }
    for keyword in required.iter().filter(|keyword| header.get(keyword).is_none()) {
        let place = subject.absent(keyword);
        report.push(Rule::CompressedKeyword, place, keyword.as_str(), "no such card");
    }
}
