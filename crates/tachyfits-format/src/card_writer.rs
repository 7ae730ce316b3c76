//! Formats keyword, value and comment as 80-byte records that `fitsverify` accepts.
//!
//! Fixed format if value and comment fit (Sect. 4.2): logicals end in byte 30, numbers are right-justified to byte 30,
//! strings start in byte 11 and are padded to 8 characters. Free format if the comment needs the room, except for
//! mandatory keywords. A long string continues in CONTINUE records, also for HIERARCH keywords, and so does the long
//! comment of a string, except for reserved keywords, for which the Standard forbids CONTINUE.

use crate::card::numbered;
use crate::code::Code;
use crate::error::{FormatError, Place, quoted};
use crate::limits::CARD_BYTES;
use crate::reserved::is_reserved;
use crate::value::Value;

/// Length of the keyword field.
pub(crate) const KEYWORD_BYTES: usize = 8;
/// Characters of a CONTINUE record besides its text.
const CONTINUED: &str = "'&'";
/// Prefix of a record that continues a string.
const CONTINUE: &str = "CONTINUE  ";
/// Separators allowed before a comment; the first is the default.
const COMMENT_MARKS: [&str; 3] = [" / ", " /", "/"];
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

/// Whether the Standard requires the keyword in some HDU (Sect. 4.4.1, 6.1.1, 7.2.1, 7.3.1): its value has the fixed
/// format and never continues.
pub(crate) fn is_mandatory(keyword: &str) -> bool {
    const INDEXED: [&str; 3] = ["NAXIS", "TFORM", "TBCOL"];
    let plain = ["SIMPLE", "XTENSION", "BITPIX", "NAXIS", "PCOUNT", "GCOUNT", "GROUPS", "TFIELDS"];
    let (root, index) = numbered(keyword);
    plain.contains(&keyword) || (!index.is_empty() && INDEXED.contains(&root))
}

/// Returns the possible prefixes of a record, value indicator included: `KEYWORD = `, or `HIERARCH WORD WORD = `, which
/// can be shortened by up to two bytes; the usual prefix first.
fn name_fields(keyword: &str) -> Result<Vec<String>, FormatError> {
    if keyword == "END" || keyword == "CONTINUE" || is_commentary(keyword) {
        let found = format!("{keyword:?}, which has no value");
        return Err(refused(Code::CardText, keyword, "a keyword that has a value", found));
    }
    if is_keyword(keyword, KEYWORD_BYTES) {
        return Ok(vec![format!("{keyword:<KEYWORD_BYTES$}= ")]);
    }
    let explicit = keyword.strip_prefix("HIERARCH ");
    let words = explicit.unwrap_or(keyword);
    let printable = |word: &str| {
        // A word that begins with these would be parsed as a value or a comment.
        let begins = word.bytes().next().is_some_and(|first| !matches!(first, b'\'' | b'/' | b'('));
        begins && word.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'=')
    };
    let hierarchical = explicit.is_some() || words.len() > KEYWORD_BYTES || words.contains(' ');
    if hierarchical && words.split(' ').all(printable) {
        return Ok([" = ", "= ", "="].map(|sign| format!("HIERARCH {words}{sign}")).to_vec());
    }
    let expected = "1 to 8 of A-Z 0-9 - _, or printable words for HIERARCH";
    Err(refused(Code::CardText, keyword, expected, quoted(keyword)))
}

/// Whether a keyword is COMMENT, HISTORY or blank, and so has no value (Sect. 4.4.2.4).
pub(crate) fn is_commentary(keyword: &str) -> bool {
    matches!(keyword, "COMMENT" | "HISTORY" | "")
}

pub(crate) fn check_text(keyword: &str, text: &str) -> Result<(), FormatError> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return Ok(());
    }
    Err(refused(Code::CardText, keyword, "printable ASCII text", quoted(text)))
}

/// Formats the records of one keyword. A comment too long for every layout of the card continues in CONTINUE records if
/// the Standard permits, and is truncated otherwise: the caller compares.
pub(crate) fn records(
    keyword: &str,
    value: &Value,
    comment: &[u8],
) -> Result<Vec<u8>, FormatError> {
    let names = name_fields(keyword)?;
    let texts = value_texts(keyword, value)?;
    for mark in COMMENT_MARKS {
        for name in &names {
            for (text, width) in &texts {
                let line = match comment.is_empty() {
                    true => format!("{name}{text}"),
                    false => format!("{name}{text:<width$}{mark}"),
                };
                if line.len() + comment.len() <= CARD_BYTES {
                    return Ok(pad(&line, comment));
                }
            }
        }
    }
    let tightest = names.last().expect("a keyword has a name field");
    let (text, _) = texts.last().expect("a value has a text");
    if let Value::Text(string) = value
        && !is_mandatory(keyword)
    {
        let fits = tightest.len() + text.len() <= CARD_BYTES;
        // The Standard forbids CONTINUE for reserved keywords: their strings continue only if no other layout has room.
        if !fits || !is_reserved(keyword) {
            let name = names.iter().find(|name| name.len() + CONTINUED.len() <= CARD_BYTES);
            if let Some(name) = name {
                let doubled = string.replace('\'', "''");
                return Ok(continued(name, &doubled, comment, !is_reserved(keyword)));
            }
        }
    }
    let line = format!("{tightest}{text}");
    if line.len() > CARD_BYTES {
        let found = format!("{} bytes", line.len());
        return Err(refused(Code::CardTooLong, keyword, "at most 80 bytes", found));
    }
    Ok(with_comment(&line, comment))
}

/// Returns the possible texts of a value, each with the width to pad to before a comment: fixed format, then free
/// format unless the Standard requires the fixed one.
fn value_texts(keyword: &str, value: &Value) -> Result<Vec<(String, usize)>, FormatError> {
    let (fixed, free) = match value {
        Value::Text(text) => {
            check_text(keyword, text)?;
            let doubled = text.replace('\'', "''");
            // Padding would change the null string to an empty one, and lengthen a HIERARCH card needlessly.
            let is_hierarch = !is_keyword(keyword, KEYWORD_BYTES);
            let padding = if text.is_empty() || is_hierarch { 0 } else { 8 };
            (format!("'{doubled:<padding$}'"), format!("'{doubled}'"))
        }
        Value::Invalid(text) => {
            return Err(refused(Code::CardText, keyword, "a value of a FITS type", quoted(text)));
        }
        Value::Undefined => (String::new(), String::new()),
        Value::ComplexInteger(..) | Value::Complex(..) => (value.to_string(), value.to_string()),
        Value::Logical(_) | Value::Integer(_) | Value::Real(_) => {
            (format!("{:>20}", value.to_string()), value.to_string())
        }
    };
    let mut texts = vec![(fixed, 20)];
    if !is_mandatory(keyword) {
        texts.push((free, 0));
    }
    Ok(texts)
}

/// Appends as much of a comment as fits in the record.
fn with_comment(line: &str, comment: &[u8]) -> Vec<u8> {
    let line = format!("{line}{}", COMMENT_MARKS[0]);
    let room = CARD_BYTES.saturating_sub(line.len()).min(comment.len());
    if room == 0 {
        return pad(line.trim_end_matches(COMMENT_MARKS[0]), b"");
    }
    // Half a character of UTF-8 would turn all of the text into Latin-1.
    let whole = |text: &str| (0..=room).rev().find(|&at| text.is_char_boundary(at));
    let cut = std::str::from_utf8(comment).ok().and_then(whole).unwrap_or(room);
    pad(&line, &comment[..cut])
}

fn pad(line: &str, comment: &[u8]) -> Vec<u8> {
    let mut bytes = [line.as_bytes(), comment].concat();
    bytes.resize(CARD_BYTES, b' ');
    bytes
}

/// Formats a string over several records (Sect. 4.2.1.2), followed by its comment if that may continue. The quotes in
/// `doubled` are already doubled; a pair is never split.
fn continued(name: &str, doubled: &str, comment: &[u8], comment_continues: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let (mut start, mut rest) = (name, doubled);
    loop {
        // Room between the quotes, beside an ampersand.
        let room = CARD_BYTES - start.len() - CONTINUED.len();
        if rest.len() <= room {
            break;
        }
        let quotes = rest[..room].bytes().rev().take_while(|&byte| byte == b'\'').count();
        let (part, later) = rest.split_at(room - quotes % 2);
        bytes.extend(pad(&format!("{start}'{part}&'"), b""));
        (start, rest) = (CONTINUE, later);
    }
    bytes.extend(match comment_continues && !comment.is_empty() {
        true => with_long_comment(start, rest, comment),
        false => with_comment(&format!("{start}'{rest}'"), comment),
    });
    bytes
}

/// Formats a string that fits in one record, and a comment that continues in others, split between words if possible:
/// readers insert a blank between the parts.
fn with_long_comment(name: &str, doubled: &str, comment: &[u8]) -> Vec<u8> {
    let (mut start, mut text, mut rest) = (name, doubled, comment);
    let mut bytes = Vec::new();
    let line = |start: &str, text: &str| format!("{:<30}", format!("{start}'{text}'"));
    while line(start, text).len() + COMMENT_MARKS[0].len() + rest.len() > CARD_BYTES {
        let line = line(start, &format!("{text}&"));
        let room = CARD_BYTES.saturating_sub(line.len() + COMMENT_MARKS[0].len());
        let cut = match rest[..rest.len().min(room + 1)].iter().rposition(|&c| c == b' ') {
            Some(blank) => blank,
            // A word longer than a record. The string may fill the first record.
            None if text.is_empty() => room.min(rest.len()),
            None => 0,
        };
        let (part, later) = rest.split_at(cut);
        bytes.extend(with_comment(&line, part));
        (start, text, rest) = (CONTINUE, "", later.trim_ascii_start());
    }
    bytes.extend(with_comment(&line(start, text), rest));
    bytes
}

/// Formats the records of commentary text: 72 characters each; at least one record.
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
        bytes.extend(pad(&format!("{keyword:<KEYWORD_BYTES$}{line}"), b""));
        rest = later;
        if rest.is_empty() {
            return Ok(bytes);
        }
    }
}
