//! Keyword, value and comment to 80-byte records that `fitsverify` accepts. Not the order of cards
//! in a header.
//!
//! Fixed format wherever the value fits (Sect. 4.2): logicals end in byte 30, numbers are
//! right-justified to byte 30, strings start in byte 11 and are padded to 8 characters. A long
//! string continues over CONTINUE records, and so does the long comment of a string, but not those of
//! reserved keywords, for which the Standard forbids them.

use crate::code::Code;
use crate::error::{FormatError, Place, quoted};
use crate::limits::CARD_BYTES;
use crate::value::Value;
use crate::verify::is_reserved;

/// Characters that a keyword has room for.
pub(crate) const KEYWORD_BYTES: usize = 8;
/// Bytes of text between the quotes of a string in one record of an ordinary keyword.
const STRING_BYTES: usize = 68;
/// What stands before a comment.
const COMMENT_MARK: &str = " / ";
/// Bytes of commentary text in one record.
const COMMENTARY_BYTES: usize = 72;

fn refused(code: Code, keyword: &str, expected: &str, found: String) -> FormatError {
    let place = Place { keyword: Some(keyword.to_owned()), ..Place::default() };
    FormatError::new(code, place, expected, found)
}

fn is_keyword(word: &str, longest: usize) -> bool {
    let legal = |byte: u8| matches!(byte, b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_');
    !word.is_empty() && word.len() <= longest && word.bytes().all(legal)
}

/// The keyword is one that the Standard demands in some HDU (Sect. 4.4.1, 6.1.1, 7.2.1, 7.3.1): its
/// value is of fixed format and never continues.
pub(crate) fn is_mandatory(keyword: &str) -> bool {
    const INDEXED: [&str; 3] = ["NAXIS", "TFORM", "TBCOL"];
    let plain = ["SIMPLE", "XTENSION", "BITPIX", "NAXIS", "PCOUNT", "GCOUNT", "GROUPS", "TFIELDS"];
    let indexed = |root: &&str| {
        keyword.strip_prefix(*root).is_some_and(|index| {
            !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    plain.contains(&keyword) || INDEXED.iter().any(indexed)
}

/// The bytes of a record up to and with the value indicator: `KEYWORD = ` or `HIERARCH WORD WORD =
/// `.
fn name_field(keyword: &str) -> Result<String, FormatError> {
    if keyword == "END" || keyword == "CONTINUE" || is_commentary(keyword) {
        let found = format!("{keyword:?}, which has no value");
        return Err(refused(Code::CardText, keyword, "a keyword that has a value", found));
    }
    if is_keyword(keyword, KEYWORD_BYTES) {
        return Ok(format!("{keyword:<KEYWORD_BYTES$}= "));
    }
    let explicit = keyword.strip_prefix("HIERARCH ");
    let words = explicit.unwrap_or(keyword);
    let printable = |word: &str| {
        let legal =
            |byte: u8| byte.is_ascii_graphic() && !matches!(byte, b'=' | b'\'' | b'/' | b'(');
        !word.is_empty() && word.bytes().all(legal)
    };
    let hierarchical = explicit.is_some() || words.len() > KEYWORD_BYTES || words.contains(' ');
    if hierarchical && words.split(' ').all(printable) {
        return Ok(format!("HIERARCH {words} = "));
    }
    let expected = "1 to 8 of A-Z 0-9 - _, or printable words for HIERARCH";
    Err(refused(Code::CardText, keyword, expected, quoted(keyword)))
}

/// COMMENT, HISTORY and the blank keyword, which have no value (Sect. 4.4.2.4).
pub(crate) fn is_commentary(keyword: &str) -> bool {
    matches!(keyword, "COMMENT" | "HISTORY" | "")
}

fn check_text(keyword: &str, text: &str) -> Result<(), FormatError> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Ok(());
    }
    Err(refused(Code::CardText, keyword, "printable ASCII text", quoted(text)))
}

/// The records of one keyword. A comment that does not fit is cut where it cannot go on in another record: it is not data.
pub(crate) fn records(keyword: &str, value: &Value, comment: &str) -> Result<Vec<u8>, FormatError> {
    let name = name_field(keyword)?;
    check_text(keyword, comment)?;
    let text = match value {
        Value::Text(text) => {
            check_text(keyword, text)?;
            let doubled = text.replace('\'', "''");
            if name.len() + doubled.len() + 2 > CARD_BYTES {
                return long_string(keyword, &name, &doubled, comment);
            }
            // Padding would make the null string an empty one, and a HIERARCH card longer than it
            // must be.
            let padding = if text.is_empty() || name.len() > KEYWORD_BYTES + 2 { 0 } else { 8 };
            let quoted = format!("'{doubled:<padding$}'");
            let one = name.len() + quoted.len().max(20) + COMMENT_MARK.len() + comment.len();
            // A string of 68 characters leaves no room for the sign that it goes on.
            let has_room = name.len() + doubled.len() + 3 <= CARD_BYTES;
            if one > CARD_BYTES && !comment.is_empty() && has_room && may_continue(keyword, &name) {
                return Ok(string_with_long_comment(&name, &doubled, comment));
            }
            quoted
        }
        Value::Undefined => String::new(),
        Value::Invalid(text) => {
            return Err(refused(Code::CardText, keyword, "a value of a FITS type", quoted(text)));
        }
        Value::ComplexInteger(..) | Value::Complex(..) => value.to_string(),
        Value::Logical(_) | Value::Integer(_) | Value::Real(_) => {
            format!("{:>20}", value.to_string())
        }
    };
    // A long HIERARCH keyword leaves no room for the fixed format's blanks.
    let text = if name.len() + text.len() > CARD_BYTES { text.trim() } else { &text };
    record(keyword, &name, text, comment)
}

fn record(keyword: &str, name: &str, text: &str, comment: &str) -> Result<Vec<u8>, FormatError> {
    let line = format!("{name}{text:<20}");
    let line = if line.len() > CARD_BYTES { format!("{name}{text}") } else { line };
    if line.len() > CARD_BYTES {
        let found = format!("{} bytes", line.len());
        return Err(refused(Code::CardTooLong, keyword, "at most 80 bytes", found));
    }
    Ok(pad(with_comment(line, comment)))
}

fn with_comment(mut line: String, comment: &str) -> String {
    // At least one letter.
    if !comment.is_empty() && line.len() + COMMENT_MARK.len() < CARD_BYTES {
        line.push_str(COMMENT_MARK);
        line.push_str(comment);
        line.truncate(CARD_BYTES);
    }
    line
}

fn pad(line: String) -> Vec<u8> {
    let mut bytes = line.into_bytes();
    bytes.resize(CARD_BYTES, b' ');
    bytes
}

/// Whether the Standard lets a string, or its comment, go on in CONTINUE records.
fn may_continue(keyword: &str, name: &str) -> bool {
    let is_ordinary = name.len() == KEYWORD_BYTES + 2;
    is_ordinary && !is_mandatory(keyword) && !is_reserved(keyword)
}

/// A string that one record holds, and a comment that goes on in others, between words where that is possible: readers put
/// a blank between the parts.
fn string_with_long_comment(name: &str, doubled: &str, comment: &str) -> Vec<u8> {
    let (mut start, mut text, mut rest) = (name, doubled, comment);
    let mut bytes = Vec::new();
    let line = |start: &str, text: &str| format!("{:<30}", format!("{start}'{text}'"));
    while line(start, text).len() + COMMENT_MARK.len() + rest.len() > CARD_BYTES {
        let line = line(start, &format!("{text}&"));
        let room = CARD_BYTES.saturating_sub(line.len() + COMMENT_MARK.len());
        let cut = match rest.as_bytes()[..rest.len().min(room + 1)].iter().rposition(|&c| c == b' ')
        {
            Some(blank) => blank,
            // A word that no record holds. The first record may be full with the string.
            None if text.is_empty() => room.min(rest.len()),
            None => 0,
        };
        let (part, later) = rest.split_at(cut);
        bytes.extend(pad(with_comment(line, part)));
        (start, text, rest) = ("CONTINUE  ", "", later.trim_start());
    }
    bytes.extend(pad(with_comment(line(start, text), rest)));
    bytes
}

/// A string over several records (Sect. 4.2.1.2). `doubled` has its quotes doubled already; a pair
/// is never split.
fn long_string(
    keyword: &str,
    name: &str,
    doubled: &str,
    comment: &str,
) -> Result<Vec<u8>, FormatError> {
    if is_mandatory(keyword) || name.len() != KEYWORD_BYTES + 2 {
        let found = format!("{} characters", doubled.len());
        return Err(refused(Code::CardTooLong, keyword, "a string that fits one card", found));
    }
    let mut bytes = Vec::new();
    let mut rest = doubled;
    while rest.len() >= STRING_BYTES {
        let mut cut = STRING_BYTES - 1;
        let quotes = rest[..cut].bytes().rev().take_while(|&byte| byte == b'\'').count();
        if quotes % 2 == 1 {
            cut -= 1;
        }
        let start = if bytes.is_empty() { name } else { "CONTINUE  " };
        bytes.extend(pad(format!("{start}'{}&'", &rest[..cut])));
        rest = &rest[cut..];
    }
    bytes.extend(match comment.is_empty() || is_reserved(keyword) {
        true => pad(with_comment(format!("CONTINUE  '{rest}'"), comment)),
        false => string_with_long_comment("CONTINUE  ", rest, comment),
    });
    Ok(bytes)
}

/// The records of commentary text: 72 characters each; at least one record.
pub(crate) fn commentary(keyword: &str, text: &str) -> Result<Vec<u8>, FormatError> {
    if !is_commentary(keyword) {
        let expected = "COMMENT, HISTORY or a blank keyword";
        return Err(refused(Code::CardText, keyword, expected, quoted(keyword)));
    }
    check_text(keyword, text)?;
    let mut bytes = Vec::new();
    let mut rest = text;
    loop {
        let (line, later) = rest.split_at(rest.len().min(COMMENTARY_BYTES));
        bytes.extend(pad(format!("{keyword:<KEYWORD_BYTES$}{line}")));
        rest = later;
        if rest.is_empty() {
            return Ok(bytes);
        }
    }
}
