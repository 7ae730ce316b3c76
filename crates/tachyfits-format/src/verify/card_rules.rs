//! Rules about single cards: fixed format, dates, units, types of reserved keywords.

use std::collections::HashMap;

use super::finding::Finding;
use super::rules::Rule;
use super::subject::{Report, Subject, keyword_as_read};
use crate::card::Card;
use crate::card_writer;
use crate::code::Code;
use crate::error::quoted;
use crate::hdu::HduKind;
use crate::header::{is_same_value, record};
use crate::limits::CARD_BYTES;
use crate::reserved::{self, KeywordType, Match};
use crate::scan;
use crate::value::Value;

/// Returns the first record of a card from its value field.
fn field(card: &Card) -> &[u8] {
    &card.raw()[10..CARD_BYTES]
}

/// Whether the value is at the position of the fixed format (Sect. 4.2).
pub(super) fn is_fixed_format(card: &Card) -> bool {
    let field = field(card);
    let number = &field[..20];
    match card.value() {
        Some(Value::Text(_)) => field[0] == b'\'',
        Some(value @ (Value::Logical(_) | Value::Integer(_))) => {
            let text = value.to_string();
            number.ends_with(text.as_bytes())
                && number[..20 - text.len().min(20)].iter().all(|&byte| scan::is_blank(byte))
        }
        // Another rule reports a value of a wrong type.
        _ => true,
    }
}

pub(super) fn fixed_format(subject: &Subject<'_>, report: &mut Report) {
    for (at, card) in subject.header.cards().iter().enumerate() {
        let keyword = keyword_as_read(subject.header, at);
        let mandatory = card_writer::is_mandatory(&keyword) || keyword == "CHECKSUM";
        if mandatory && card.value().is_some() && !is_fixed_format(card) {
            let expected = match card.value() {
                Some(Value::Text(_)) => "a string that begins in byte 11",
                Some(Value::Logical(_)) => "T or F in byte 30",
                _ => "an integer that ends in byte 30",
            };
            let found = quoted(&scan::decode(scan::trim_end(&field(card)[..30])));
            report.push(Rule::FixedFormat, subject.place(at), expected, found);
        }
    }
}

/// Whether the value of XTENSION is padded to 8 characters.
pub(super) fn is_padded(card: &Card) -> bool {
    let field = scan::trim(field(card));
    match field.strip_prefix(b"'").map(|text| text.iter().position(|&byte| byte == b'\'')) {
        Some(Some(closing)) => closing >= 8,
        _ => true,
    }
}

pub(super) fn xtension_padding(subject: &Subject<'_>, report: &mut Report) {
    for (at, card, _) in subject.of("XTENSION") {
        if !is_padded(card) {
            let found = card.value().map_or_else(String::new, Value::to_string);
            let expected = "at least 8 characters between the quotes";
            report.push(Rule::XtensionPadding, subject.place(at), expected, found);
        }
    }
}

pub(super) fn index_zeros(subject: &Subject<'_>, report: &mut Report) {
    for (at, card, entry) in subject.reserved_cards() {
        if entry.leading_zero {
            let expected = format!("{} with a number without zeros", entry.reserved.pattern);
            report.push(Rule::IndexZeros, subject.place(at), expected, card.keyword());
        }
    }
}

pub(super) fn continue_forbidden(subject: &Subject<'_>, report: &mut Report) {
    let cards = subject.header.cards();
    for (at, card) in cards.iter().enumerate() {
        let mandatory = card_writer::is_mandatory(card.keyword());
        let dangling = mandatory
            && matches!(card.value(), Some(Value::Text(text)) if text.ends_with('&'))
            && cards.get(at + 1).is_some_and(|next| next.keyword() == "CONTINUE");
        if dangling || (card.continuations() > 0 && subject.reserved[at].is_some()) {
            let found = format!("{} continued", card.keyword());
            let expected = "a string within one card";
            report.push(Rule::ContinueForbidden, subject.place(at), expected, found);
        }
    }
}

pub(super) fn undefined_value(subject: &Subject<'_>, report: &mut Report) {
    for (at, card) in subject.header.cards().iter().enumerate() {
        if matches!(card.value(), Some(Value::Undefined)) {
            let found = "an empty value field";
            report.push(Rule::UndefinedValue, subject.place(at), "a value", found);
        }
    }
}

/// Reports repeated keywords with equal values; the reader reports different values and mandatory keywords.
pub(super) fn repeated(subject: &Subject<'_>, report: &mut Report) {
    let mut first = HashMap::new();
    for (at, card) in subject.header.cards().iter().enumerate() {
        // HIERARCH cards are commentary in the Standard; records such as DP1 share a keyword.
        let has_value = card.value().is_some() && card.raw()[8..10] == *b"= ";
        if !has_value || record(card).is_some() || card_writer::is_mandatory(card.keyword()) {
            continue;
        }
        match first.get(card.keyword()) {
            Some(&earlier) if is_same_value(card, earlier) => {
                let found = card.value().map_or_else(String::new, Value::to_string);
                let found = format!("{} again", quoted(&found));
                report.push(
                    Rule::RepeatedKeyword,
                    subject.place(at),
                    "one card of this keyword",
                    found,
                );
            }
            Some(_) => {}
            None => drop(first.insert(card.keyword(), card)),
        }
    }
}

/// Form of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Date {
    /// `[±C]CCYY-MM-DD[Thh:mm:ss[.s...]]` (Sect. 9.1.1).
    Iso,
    /// `DD/MM/YY`: day, month, and year of the twentieth century.
    Old(u32, u32, u32),
    /// Neither.
    Other,
}

/// Parses the text of a date.
pub(super) fn date(text: &str) -> Date {
    let (day, time) = match text.split_once('T') {
        Some((day, time)) => (day, Some(time)),
        None => (text, None),
    };
    if is_iso_day(day) && time.is_none_or(is_iso_time) {
        return Date::Iso;
    }
    let parts: Vec<Option<u32>> = text.split('/').map(|part| digits(part, 2)).collect();
    match parts[..] {
        [Some(day), Some(month), Some(year)] if is_day(1900 + year, month, day) => {
            Date::Old(day, month, year)
        }
        _ => Date::Other,
    }
}

/// Parses a number of exactly `count` digits.
fn digits(text: &str, count: usize) -> Option<u32> {
    let is_valid = text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_valid)
}

fn is_iso_day(text: &str) -> bool {
    let (year_digits, unsigned) = match text.strip_prefix(['+', '-']) {
        Some(rest) => (5, rest),
        None => (4, text),
    };
    let parts: Vec<&str> = unsigned.split('-').collect();
    let [year, month, day] = parts[..] else { return false };
    match (digits(year, year_digits), digits(month, 2), digits(day, 2)) {
        (Some(year), Some(month), Some(day)) => is_day(year, month, day),
        _ => false,
    }
}

/// Whether the day exists in the calendar (proleptic Gregorian; leap years before year 0 are not checked).
fn is_day(year: u32, month: u32, day: u32) -> bool {
    let leaps = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        2 if leaps => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    (1..=days).contains(&day)
}

fn is_iso_time(text: &str) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    let [hour, minute, second] = parts[..] else { return false };
    let (whole, fraction) = second.split_once('.').unwrap_or((second, ""));
    let within = |text, most| digits(text, 2).is_some_and(|number| number <= most);
    // A leap second is second 60.
    within(hour, 23)
        && within(minute, 59)
        && within(whole, 60)
        && fraction.bytes().all(|byte| byte.is_ascii_digit())
}

fn dates<'a>(subject: &'a Subject<'_>) -> impl Iterator<Item = (usize, &'a str, Date)> {
    subject
        .reserved_cards()
        .filter(|(_, _, entry)| entry.reserved.value_type == KeywordType::Date)
        .filter_map(|(at, card, _)| {
            let text = card.value()?.as_text()?;
            Some((at, text, date(text.trim())))
        })
}

/// Returns texts of unreserved keywords that begin with DATE: if one contains a date, it must have the form of DATE
/// (Sect. 4.4.2.2), but it may contain something else.
fn other_dates<'a>(subject: &'a Subject<'_>) -> impl Iterator<Item = (usize, &'a str, Date)> {
    let cards = subject.header.cards().iter().enumerate().zip(&subject.reserved);
    cards.filter_map(|((at, card), entry)| {
        let text = card.value()?.as_text()?;
        let is_date = entry.is_none() && card.keyword().starts_with("DATE");
        is_date.then(|| (at, text, date(text.trim())))
    })
}

pub(super) fn date_form(subject: &Subject<'_>, report: &mut Report) {
    for (at, text, _) in dates(subject).filter(|(_, _, date)| *date == Date::Other) {
        let expected = "YYYY-MM-DD or YYYY-MM-DDThh:mm:ss[.sss], and a day that exists";
        report.push(Rule::DateForm, subject.place(at), expected, quoted(text));
    }
    for (at, text, _) in other_dates(subject).filter(|(_, _, date)| *date == Date::Other) {
        let expected = "a date as of DATE in a keyword that begins with it";
        report.doubt(Rule::DateForm, subject.place(at), expected, quoted(text));
    }
}

pub(super) fn old_date(subject: &Subject<'_>, report: &mut Report) {
    for (at, text, date) in dates(subject).chain(other_dates(subject)) {
        if let Date::Old(_, _, year) = date {
            let found = format!("{}, which means 19{year:02}", quoted(text));
            report.push(Rule::OldDate, subject.place(at), "YYYY-MM-DD", found);
        }
    }
}

pub(super) fn deprecated(subject: &Subject<'_>, report: &mut Report) {
    for (at, card, entry) in subject.reserved_cards() {
        let instead = match entry.reserved.pattern {
            "EPOCH" => "EQUINOX",
            "BLOCKED" => "no such card",
            "CROTAi" => "PCi_j or CDi_j",
            "RADECSYS" => "RADESYS",
            "RESTFREQ" => "RESTFRQ",
            _ => continue,
        };
        report.push(Rule::Deprecated, subject.place(at), instead, card.keyword());
    }
}

pub(super) fn unit_brackets(subject: &Subject<'_>, report: &mut Report) {
    for (at, card, entry) in subject.reserved_cards() {
        if let (KeywordType::Unit, Some(Value::Text(text))) =
            (entry.reserved.value_type, card.value())
            && !has_sound_brackets(text.trim())
        {
            let expected = "brackets in pairs and something on both sides of operators";
            report.push(Rule::UnitBrackets, subject.place(at), expected, quoted(text));
        }
    }
}

/// Whether brackets are balanced and not empty, and no operator is at an end.
fn has_sound_brackets(unit: &str) -> bool {
    let mut open = Vec::new();
    for letter in unit.chars() {
        match letter {
            '(' => open.push(')'),
            '[' => open.push(']'),
            ')' | ']' if open.pop() != Some(letter) => return false,
            _ => {}
        }
    }
    open.is_empty()
        && !unit.contains("()")
        && !unit.ends_with(['/', '*', '^'])
        && !unit.starts_with(['*', '^'])
}

/// Reports values that a section forbids although their type is right.
pub(super) fn value_range(subject: &Subject<'_>, report: &mut Report) {
    for (at, card, entry) in subject.reserved_cards() {
        let Some(value) = card.value().and_then(Value::as_f64) else { continue };
        let (wrong, expected) = match entry.reserved.pattern {
            "CDELTia" => (value == 0.0, "an increment that is not 0"),
            "CRDERia" | "CSYERia" => (value < 0.0, "an error of 0 or more"),
            "EXTLEVEL" => (value < 1.0, "a level of 1 or more"),
            "WCSAXESa" => (value < 0.0, "a number of axes of 0 or more"),
            "PVi_ma" => (entry.numbers[1] > Some(99), "a parameter from 0 to 99"),
            _ => continue,
        };
        if wrong {
            let found = card.value().map_or_else(String::new, Value::to_string);
            report.push(Rule::ValueRange, subject.place(at), expected, found);
        }
    }
}

pub(super) fn reserved_value(subject: &Subject<'_>, report: &mut Report) {
    for (at, card) in subject.header.cards().iter().enumerate() {
        if card.value().is_none() && reserved::is_reserved(card.keyword()) {
            let found = "no value indicator '= ' in bytes 9 and 10";
            report.push(Rule::ReservedValue, subject.place(at), "a value", found);
        }
    }
    for (at, card, entry) in subject.reserved_cards() {
        let Some(value) = card.value() else { continue };
        // The reader reports it, or it is legal.
        if matches!(value, Value::Undefined | Value::Invalid(_)) {
            continue;
        }
        let (right, expected) = is_right(subject, entry, value);
        if right {
            continue;
        }
        let found = format!("{} {value}", value.type_name());
        let finding = Finding::of_rule(Rule::ReservedValue, subject.place(at), expected, found);
        let number = expected.contains("number") || expected.contains("integer");
        report.findings.push(match value {
            // The reader uses the same code.
            Value::Text(_) if number => Finding {
                code: Code::NumericText.as_str(),
                advice: Code::NumericText.hint(),
                ..finding
            },
            _ => finding,
        });
    }
}

fn is_right(subject: &Subject<'_>, entry: &Match, value: &Value) -> (bool, &'static str) {
    let integer = matches!(value, Value::Integer(_));
    let text = matches!(value, Value::Text(_));
    match entry.reserved.value_type {
        KeywordType::Logical => (matches!(value, Value::Logical(_)), "a logical"),
        KeywordType::Integer => (integer, "an integer"),
        KeywordType::Real => (integer || matches!(value, Value::Real(_)), "a number"),
        KeywordType::Text | KeywordType::Date | KeywordType::Unit => (text, "a string"),
        KeywordType::Null if subject.kind == HduKind::AsciiTable => (text, "a string"),
        KeywordType::Null => (integer, "an integer"),
        KeywordType::Any => (true, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::{Date, date, has_sound_brackets};

    #[test]
    fn kinds_of_dates_are_distinguished() {
        for text in [
            "2026-02-28",
            "2024-02-29",
            "2026-01-01T00:00:00",
            "-04713-11-24T12:00:00",
            "2016-12-31T23:59:60.5",
            "+10000-01-01",
        ] {
            assert_eq!(date(text), Date::Iso, "{text}");
        }
        assert_eq!(date("06/02/02"), Date::Old(6, 2, 2));
        for text in [
            "",
            "2026-02-29",
            "2026-1-1",
            "2026-01-01T24:00:00",
            "2026-01-01T00:00:00Z",
            "2026-01-01T00:00",
            "2026-01-01 00:00:00",
            "32/01/99",
            "today",
            "2026-13-01",
            "T",
        ] {
            assert_eq!(date(text), Date::Other, "{text}");
        }
    }

    #[test]
    fn brackets_of_units_go_in_pairs() {
        for unit in ["", "Jy/beam", "erg/(s cm**2)", "10**(-17) W", "log(Hz)", "/m3", "m^(1/2)"] {
            assert!(has_sound_brackets(unit), "{unit}");
        }
        for unit in ["erg/(s cm**2", "m)", "(]", "m()", "m/", "*m", "m^"] {
            assert!(!has_sound_brackets(unit), "{unit}");
        }
    }
}
