//! Parses the fields of one 80-byte record: keyword, value indicator, value, comment.
//! [`crate::card`] combines records of one card.
//!
//! Everything that occurs in real files is accepted; a violation of the Standard is recorded as an
//! [`Issue`], which the caller converts to a warning with a place.

use crate::code::Code;
use crate::text_encoding::TextEncoding;
use crate::value::{Integer, Real, Value, significant};

/// A fault of a record: its code and the actual content.
pub(crate) type Issue = (Code, String);

/// Whether a byte ends or separates fields: the blank, and control bytes that replace it in damaged
/// headers.
pub(crate) const fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | 0 | b'\t' | b'\r' | b'\n')
}

/// Removes blanks at both ends.
pub(crate) fn trim(mut bytes: &[u8]) -> &[u8] {
    while let [first, rest @ ..] = bytes
        && is_blank(*first)
    {
        bytes = rest;
    }
    trim_end(bytes)
}

/// Removes blanks at the end.
pub(crate) fn trim_end(mut bytes: &[u8]) -> &[u8] {
    while let [rest @ .., last] = bytes
        && is_blank(*last)
    {
        bytes = rest;
    }
    bytes
}

/// Decodes text of a card; each card has its own encoding.
pub(crate) fn decode(bytes: &[u8]) -> String {
    TextEncoding::Utf8.decode(bytes).into_owned()
}

/// Value and comment of a value field (bytes 11 to 80).
#[derive(Debug)]
pub(crate) struct CardField {
    pub value: Value,
    pub comment: String,
}

/// Parses bytes 11 to 80 of a record that has a value indicator.
pub(crate) fn value_field(bytes: &[u8], issues: &mut Vec<Issue>) -> CardField {
    let bytes = trim(bytes);
    match bytes.first() {
        None | Some(b'/') => {
            CardField { value: Value::Undefined, comment: after_value(bytes, issues) }
        }
        Some(b'\'') => {
            let (mut text, rest) = string(bytes, issues);
            text.truncate(significant(&text).len());
            let comment = after_value(rest, issues);
            CardField { value: Value::Text(text), comment }
        }
        Some(b'(') => complex(bytes, issues),
        Some(_) => token(bytes, issues),
    }
}

/// Parses the record as the continuation of a string: blanks in bytes 9 and 10, a closed string,
/// and at most a comment after it (Sect. 4.2.1.2, item 5). `None` for any other record, which is
/// then an orphan.
pub(crate) fn continuation(record: &[u8]) -> Option<(String, String)> {
    let (keyword, rest) = record.split_at_checked(8)?;
    if keyword != b"CONTINUE" || !rest.iter().take(2).all(|&byte| is_blank(byte)) {
        return None;
    }
    let field = trim(rest);
    if !field.starts_with(b"'") {
        return None;
    }
    let mut issues = Vec::new();
    let (text, rest) = string(field, &mut issues);
    let comment = after_value(rest, &mut issues);
    issues.is_empty().then_some((text, comment))
}

/// Returns the keyword of a HIERARCH record and the start of its value field: `HIERARCH ESO DET
/// CHIP1 ID = …` with or without blanks around `=`. `None` if no `=` follows plain words.
pub(crate) fn hierarch(record: &[u8]) -> Option<(String, usize)> {
    let rest = record.strip_prefix(b"HIERARCH")?;
    if !rest.first().copied().is_some_and(is_blank) {
        return None;
    }
    let equals = record.iter().position(|&byte| byte == b'=')?;
    let name = &record[8..equals];
    // A word with this beginning is a value or a comment.
    let begins_value = |pair: &[u8]| is_blank(pair[0]) && matches!(pair[1], b'\'' | b'/' | b'(');
    if name.windows(2).any(begins_value) {
        return None;
    }
    let name = decode(name);
    let words = name.split(|c: char| c.is_ascii() && is_blank(c as u8));
    // A name that begins with HIERARCH would be confused with the name without it.
    let is_prefix = |word: &&str| word.is_empty() || word.eq_ignore_ascii_case("HIERARCH");
    let words = words.skip_while(is_prefix).filter(|word| !word.is_empty());
    let words: Vec<&str> = words.collect();
    match words[..] {
        [] => None,
        // One short word would match an ordinary keyword and could shadow it.
        [word] if word.len() <= 8 => Some((format!("HIERARCH {word}"), equals + 1)),
        _ => Some((words.join(" "), equals + 1)),
    }
}

/// Parses a string that starts with a quote; returns its text, with doubled quotes resolved and
/// trailing blanks kept, and the rest.
fn string<'a>(bytes: &'a [u8], issues: &mut Vec<Issue>) -> (String, &'a [u8]) {
    // Most strings contain no quote and are copied at once.
    let end = bytes[1..].iter().position(|&byte| byte == b'\'');
    if let Some((text, rest)) = end.and_then(|end| bytes[1..].split_at_checked(end))
        && rest.get(1) != Some(&b'\'')
    {
        return (decode(text), &rest[1..]);
    }
    // At most the bytes of a card.
    let mut text = Vec::with_capacity(bytes.len());
    let mut at = 1;
    while at < bytes.len() {
        match (bytes[at], bytes.get(at + 1)) {
            (b'\'', Some(b'\'')) => {
                text.push(b'\'');
                at += 2;
            }
            (b'\'', _) => return (decode(&text), &bytes[at + 1..]),
            (byte, _) => {
                text.push(byte);
                at += 1;
            }
        }
    }
    issues.push((Code::UnterminatedString, decode(bytes)));
    (decode(&text), &[])
}

/// Returns the comment after a value: the text after the slash. Text without a slash is an issue
/// and taken as the comment.
fn after_value(bytes: &[u8], issues: &mut Vec<Issue>) -> String {
    let bytes = trim(bytes);
    match bytes.split_first() {
        None => String::new(),
        Some((b'/', comment)) => decode(trim(comment)),
        Some(_) => {
            let comment = decode(bytes);
            issues.push((Code::MissingSlash, comment.clone()));
            comment
        }
    }
}

/// Whether text after a number could belong to it, as in `1 000`: neither interpretation is safe
/// then.
fn looks_numeric(rest: &[u8]) -> bool {
    matches!(trim(rest).first(), Some(b'0'..=b'9' | b'+' | b'-' | b'.' | b'\''))
}

/// Parses a logical or a number: a token up to a blank or a slash.
fn token(bytes: &[u8], issues: &mut Vec<Issue>) -> CardField {
    let end = bytes.iter().position(|&byte| is_blank(byte) || byte == b'/').unwrap_or(bytes.len());
    let (token, rest) = bytes.split_at(end);
    let value = match token {
        b"T" => Some(Value::Logical(true)),
        b"F" => Some(Value::Logical(false)),
        _ => std::str::from_utf8(token).ok().and_then(|text| number(text, issues)),
    };
    match value {
        Some(value) if !looks_numeric(rest) => {
            CardField { value, comment: after_value(rest, issues) }
        }
        _ => invalid(bytes, issues),
    }
}

/// Parses `(re, im)`.
fn complex(bytes: &[u8], issues: &mut Vec<Issue>) -> CardField {
    let parts = bytes.iter().position(|&byte| byte == b')').and_then(|close| {
        let inside = std::str::from_utf8(&bytes[1..close]).ok()?;
        let (re, im) = inside.split_once(',')?;
        let mut number = |text: &str| number(text.trim(), issues);
        Some((number(re)?, number(im)?, &bytes[close + 1..]))
    });
    let Some((re, im, rest)) = parts else { return invalid(bytes, issues) };
    let value = match (re, im) {
        (Value::Integer(re), Value::Integer(im)) => Value::ComplexInteger(re, im),
        (re, im) => match (real(re), real(im)) {
            (Some(re), Some(im)) => Value::Complex(re, im),
            _ => return invalid(bytes, issues),
        },
    };
    if looks_numeric(rest) {
        return invalid(bytes, issues);
    }
    CardField { value, comment: after_value(rest, issues) }
}

/// Converts a number to a real with the same text.
fn real(value: Value) -> Option<Real> {
    match value {
        Value::Integer(integer) => Real::parse(integer.text()),
        Value::Real(real) => Some(real),
        _ => None,
    }
}

/// Parses an integer or a real.
fn number(text: &str, issues: &mut Vec<Issue>) -> Option<Value> {
    if let Some(integer) = Integer::parse(text) {
        return Some(Value::Integer(integer));
    }
    let real = Real::parse(text)?;
    if text.contains(['e', 'd']) {
        issues.push((Code::LowerCaseExponent, text.to_owned()));
    }
    Some(Value::Real(real))
}

/// Returns a value without FITS type: its text up to a slash, and the comment after that.
fn invalid(bytes: &[u8], issues: &mut Vec<Issue>) -> CardField {
    let slash = bytes.iter().position(|&byte| byte == b'/').unwrap_or(bytes.len());
    let text = decode(trim(&bytes[..slash]));
    let comment = decode(trim(bytes.get(slash + 1..).unwrap_or_default()));
    issues.push((Code::InvalidValue, text.clone()));
    CardField { value: Value::Invalid(text), comment }
}
