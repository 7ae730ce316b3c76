//! Rules about the keywords of columns. The engine, which has the bytes, checks the values.

use super::rules::Rule;
use super::subject::{Report, Subject};
use crate::code::Code;
use crate::error::{Place, quoted};
use crate::hdu::{HduKind, StoredType};
use crate::header::Header;
use crate::reserved::Match;
use crate::table::{Element, Field, Form, TextForm, ascii_form, binary_form, regular_form};
use crate::value::Value;

/// Numbers of the columns that TFIELDS declares, up to the maximum of the Standard.
fn numbers(subject: &Subject<'_>) -> std::ops::RangeInclusive<u64> {
    let fields = subject.tfields.filter(|_| subject.is_table());
    1..=fields.unwrap_or(0).min(999)
}

/// Returns the text of a column keyword, if its value is text.
fn text<'a>(subject: &Subject<'a>, keyword: &str) -> Option<&'a str> {
    subject.header.get(keyword).and_then(Value::as_text)
}

fn place(subject: &Subject<'_>, keyword: &str) -> Place {
    match subject.header.position(keyword) {
        Some(at) => subject.place(at),
        None => subject.absent(keyword),
    }
}

fn field(subject: &Subject<'_>, number: u64) -> Option<Form> {
    let form = text(subject, &format!("TFORM{number}"))?;
    reader_of_forms(&subject.kind)(form)
}

fn reader_of_forms(kind: &HduKind) -> fn(&str) -> Option<Form> {
    match kind {
        HduKind::AsciiTable => ascii_form,
        _ => binary_form,
    }
}

/// Returns TFORMn or TDISPn in capitals and with all its parts, if the result is unambiguous.
pub(super) fn regular(
    header: &Header,
    entry: &Match,
    text: &str,
) -> Option<(&'static str, String)> {
    let xtension = header.get("XTENSION")?.as_text()?.trim_end().to_ascii_uppercase();
    let kind = HduKind::of_extension(&xtension);
    if !matches!(kind, HduKind::BinaryTable | HduKind::AsciiTable) {
        return None;
    }
    let parse = reader_of_forms(&kind);
    match entry.reserved.pattern {
        "TFORMn" => Some((Code::ColumnFormIrregular.as_str(), regular_form(text, parse)?)),
        "TDISPn" if display_letter(text).is_none() => {
            let display = text.to_ascii_uppercase();
            let form = header.get(&format!("TFORM{}", entry.numbers[0]?))?.as_text()?;
            let fits =
                displays_not(&parse(form.trim())?.field, display_letter(&display)?).is_none();
            fits.then_some((Rule::DisplayForm.as_str(), display))
        }
        _ => None,
    }
}

pub(super) fn form(subject: &Subject<'_>, report: &mut Report) {
    for number in numbers(subject) {
        let keyword = format!("TFORM{number}");
        let found = subject.header.get(&keyword);
        if matches!(found, Some(Value::Text(_))) && field(subject, number).is_some() {
            continue;
        }
        let found = found.map_or_else(|| "no such card".to_owned(), Value::to_string);
        let expected = match subject.kind {
            HduKind::AsciiTable => "a form such as A20, I10, F10.3, E15.7 or D25.17",
            _ => "a form such as 1J, 20A or 1PE(8)",
        };
        report.push(Rule::ColumnForm, place(subject, &keyword), expected, found);
    }
    if subject.kind == HduKind::AsciiTable {
        for number in numbers(subject) {
            let keyword = format!("TBCOL{number}");
            if subject.header.get(&keyword).is_none() {
                let place = subject.absent(&keyword);
                report.push(Rule::ColumnForm, place, keyword.as_str(), "no such card");
            }
        }
    }
}

pub(super) fn unnamed(subject: &Subject<'_>, report: &mut Report) {
    for number in numbers(subject) {
        let keyword = format!("TTYPE{number}");
        if text(subject, &keyword).is_none_or(|name| name.trim().is_empty()) {
            let found = match subject.header.get(&keyword) {
                Some(value) => value.to_string(),
                None => "no such card".to_owned(),
            };
            report.push(Rule::ColumnUnnamed, place(subject, &keyword), "a name", found);
        }
    }
}

pub(super) fn name(subject: &Subject<'_>, report: &mut Report) {
    for number in numbers(subject) {
        let keyword = format!("TTYPE{number}");
        let Some(name) = text(subject, &keyword) else { continue };
        if !name.trim_end().bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            let expected = "letters, digits and underscores";
            report.push(Rule::ColumnName, place(subject, &keyword), expected, quoted(name));
        }
    }
}

pub(super) fn display(subject: &Subject<'_>, report: &mut Report) {
    for number in numbers(subject) {
        let keyword = format!("TDISP{number}");
        let Some(display) = text(subject, &keyword).map(str::trim_end) else { continue };
        // An empty format recommends nothing.
        if display.is_empty() {
            continue;
        }
        let place = || place(subject, &keyword);
        let Some(letter) = display_letter(display) else {
            let expected = "a display format such as F8.3";
            report.push(Rule::DisplayForm, place(), expected, quoted(display));
            continue;
        };
        if let Some(form) = field(subject, number)
            && let Some(expected) = displays_not(&form.field, letter)
        {
            report.push(Rule::DisplayForm, place(), expected, quoted(display));
        }
    }
}

/// Returns the letters of a well-formed display format with a sufficient width: `Aw Lw Iw.m Bw.m Ow.m Zw.m Fw.d Ew.dEe
/// ENw.d ESw.d Gw.dEe Dw.dEe`.
fn display_letter(text: &str) -> Option<&str> {
    let letters = text.bytes().take_while(u8::is_ascii_uppercase).count();
    let (letter, rest) = text.split_at(letters);
    let (width, rest) = split_digits(rest);
    let digits;
    let rest = match rest.strip_prefix('.') {
        None => {
            // Real formats require a fraction; integer formats allow one.
            let whole = matches!(letter, "A" | "L" | "I" | "B" | "O" | "Z");
            return (whole && is_width(width) && rest.is_empty()).then_some(letter);
        }
        Some(fraction) => {
            let rest;
            (digits, rest) = split_digits(fraction);
            if digits.is_empty() {
                return None;
            }
            rest
        }
    };
    let exponent = rest.strip_prefix('E').map(split_digits);
    let ends = match letter {
        "I" | "B" | "O" | "Z" | "F" | "EN" | "ES" => rest.is_empty(),
        "E" | "G" | "D" => {
            rest.is_empty() || exponent.is_some_and(|(e, after)| is_width(e) && after.is_empty())
        }
        _ => false,
    };
    let number = |digits: &str, absent: u64| match digits {
        "" => absent,
        digits => digits.parse().unwrap_or(u64::MAX),
    };
    // Includes the point, and for an exponent its letter and sign.
    let minimum = match letter {
        "I" | "B" | "O" | "Z" => number(digits, 0),
        "F" => number(digits, 0).saturating_add(1),
        "G" => 0,
        _ => {
            let exponent = number(exponent.map_or("", |(e, _)| e), 2);
            number(digits, 0).saturating_add(exponent).saturating_add(3)
        }
    };
    (ends && is_width(width) && minimum <= number(width, 0)).then_some(letter)
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

fn is_width(digits: &str) -> bool {
    digits.bytes().any(|byte| byte != b'0')
}

impl Field {
    /// Whether a display format (TDISPn) suits the type of column (Sect. 7.3.4). Malformed formats are accepted.
    ///
    /// ```
    /// use tachyfits_format::{Element, Field};
    /// let truths = Field::Fixed { element: Element::Logical, repeat: 24, width: 1 };
    /// assert!(truths.takes_display("L1") && !truths.takes_display("Z6"));
    /// ```
    #[must_use]
    pub fn takes_display(&self, display: &str) -> bool {
        display_letter(display.trim_end()).is_none_or(|letter| displays_not(self, letter).is_none())
    }
}

/// Returns the letters that suit the field, if `letter` does not (Sect. 7.3.4).
fn displays_not(field: &Field, letter: &str) -> Option<&'static str> {
    let real = matches!(letter, "F" | "E" | "EN" | "ES" | "G" | "D");
    let is_real = |value| matches!(value, StoredType::F32 | StoredType::F64);
    let (right, expected) = match field {
        Field::Fixed { element, .. } | Field::Variable { element, .. } => match element {
            Element::Character => (matches!(letter, "A" | "G"), "Aw for strings"),
            Element::Logical => (matches!(letter, "L" | "G"), "Lw for logicals"),
            Element::Bit => (!matches!(letter, "A" | "L"), "a format of numbers"),
            // Integers may be displayed as real numbers; scaled integers should be.
            Element::Number(_) if !element.stored().is_some_and(is_real) => {
                (!matches!(letter, "A" | "L"), "a format of numbers")
            }
            Element::Number(_) | Element::Complex32 | Element::Complex64 => {
                (real, "a format of real numbers")
            }
        },
        Field::Text { text: TextForm::Characters, .. } => {
            (matches!(letter, "A" | "G"), "Aw for strings")
        }
        Field::Text { text: TextForm::Integer, .. } => {
            (!matches!(letter, "A" | "L"), "a format of numbers")
        }
        Field::Text { .. } => (real, "a format of real numbers"),
    };
    (!right).then_some(expected)
}

pub(super) fn dimensions(subject: &Subject<'_>, report: &mut Report) {
    for (at, card, _) in subject.of("TDIMn") {
        let text = card.value().and_then(Value::as_text).filter(|text| !text.trim().is_empty());
        if let Some(text) = text.filter(|text| text.starts_with(' ')) {
            report.push(Rule::DimensionsForm, subject.place(at), "'(l,m,...)'", quoted(text));
        }
    }
}

/// Checks that TSCALn and TZEROn describe numbers, and TNULLn of a binary table integers.
pub(super) fn keyword(subject: &Subject<'_>, report: &mut Report) {
    for (at, card, entry) in subject.reserved_cards().filter(|_| subject.is_table()) {
        let [Some(number), _] = entry.numbers else { continue };
        let Some(value) = card.value().filter(|value| !matches!(value, Value::Undefined)) else {
            continue;
        };
        let Some(form) = field(subject, u64::from(number)) else { continue };
        let (right, expected) = match entry.reserved.pattern {
            "TSCALn" | "TZEROn" => (form.field.is_number(), "no scaling of this type of column"),
            "TNULLn" if subject.kind == HduKind::BinaryTable => {
                let integer = form.field.stored().and_then(StoredType::integer_range).is_some();
                (integer, "TNULL of integers only")
            }
            _ => continue,
        };
        if !right {
            let place = subject.place(at);
            report.push(Rule::ColumnKeyword, place, expected, value.to_string());
        }
    }
}

pub(super) fn heap_keyword(subject: &Subject<'_>, report: &mut Report) {
    for (at, card, _) in subject.of("THEAP") {
        if subject.pcount == Some(0) && subject.is_table() {
            let found =
                format!("THEAP = {}", card.value().map_or_else(String::new, Value::to_string));
            report.push(Rule::HeapKeyword, subject.place(at), "no THEAP with PCOUNT = 0", found);
        }
    }
}

pub(super) fn heap_unused(subject: &Subject<'_>, report: &mut Report) {
    let holds = |number| match field(subject, number) {
        Some(form) => matches!(form.field, Field::Variable { .. }),
        // An unknown form cannot be checked.
        None => true,
    };
    let has_heap = subject.kind == HduKind::BinaryTable && subject.pcount.is_some_and(|n| n > 0);
    if has_heap && !numbers(subject).any(holds) {
        let place = place(subject, "PCOUNT");
        let found = format!("PCOUNT = {}", subject.pcount.unwrap_or(0));
        report.push(Rule::HeapUnused, place, "PCOUNT = 0 without P and Q columns", found);
    }
}

pub(super) fn scale_zero(subject: &Subject<'_>, report: &mut Report) {
    for (at, card, _) in subject.of("TSCALn") {
        if card.value().and_then(Value::as_f64) == Some(0.0) {
            let found = format!("{} = 0", card.keyword());
            report.push(Rule::ScaleZero, subject.place(at), "a scale other than 0", found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::display_letter;

    #[test]
    fn display_formats_are_those_of_the_standard() {
        for text in [
            "A10", "L1", "I5", "I5.3", "Z8.8", "F8.3", "E12.5", "E12.5E3", "EN12.3", "ES9.2",
            "G10.3E2", "D25.17",
        ] {
            assert!(display_letter(text).is_some(), "{text}");
        }
        for text in ["I5.5", "F3.2", "F8.0", "E10.5", "E12.5E4", "ES13.8", "G3.3"] {
            assert!(display_letter(text).is_some(), "{text}");
        }
        for text in [
            "I5.6",
            "Z4.5",
            "F3.3",
            "E12.8",
            "E12.5E5",
            "ES12.8",
            "D4.4",
            "I5.99999999999999999999",
        ] {
            assert!(display_letter(text).is_none(), "{text}");
        }
        for text in [
            "", "A", "A0", "A5.2", "F8", "F8.", "f8.3", "X5", "I5.3E2", "E12.5E", "E12.5E0",
            "F8.3x", "EN12",
        ] {
            assert!(display_letter(text).is_none(), "{text}");
        }
    }
}
