//! Tokens: an expression cut into numbers, names and operators, each with its place.

use std::ops::Range;

use super::language::{begins_name, continues_name};
use super::problem::Problem;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    Number(f64),
    /// A name, also of a function, constant or operator.
    Name,
    /// An operator, a bracket or a comma: one of [`SYMBOLS`].
    Symbol(&'static str),
    End,
}

/// A token and its bytes in the expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) at: Range<usize>,
}

/// Longer ones before those that they begin with.
const SYMBOLS: [&str; 22] = [
    "**", "//", "<=", ">=", "==", "!=", "&&", "||", "+", "-", "*", "/", "%", "<", ">", "&", "|",
    "~", "!", "(", ")", ",",
];

/// The most bytes of an expression: enough for thousands of operations.
pub(crate) const MOST_BYTES: usize = 1 << 14;

/// Cuts an expression into tokens, of which the last is [`Kind::End`].
pub(crate) fn tokens(text: &str) -> Result<Vec<Token>, Problem> {
    if text.len() > MOST_BYTES {
        let found = format!("{} bytes", text.len());
        return Err(Problem::new(
            0..0,
            format!("an expression of at most {MOST_BYTES} bytes"),
            found,
        )
        .hint("write parts of it as images of their own, and put these into an expression"));
    }
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(character) = text[at..].chars().next() {
        if character.is_ascii_whitespace() {
            at += 1;
            continue;
        }
        let (kind, length) = token(&text[at..], character).map_err(|problem| problem.moved(at))?;
        tokens.push(Token { kind, at: at..at + length });
        at += length;
    }
    tokens.push(Token { kind: Kind::End, at: text.len()..text.len() });
    Ok(tokens)
}

/// The token that `rest` begins with, and its length.
fn token(rest: &str, first: char) -> Result<(Kind, usize), Problem> {
    let second = rest[first.len_utf8()..].chars().next();
    if first.is_ascii_digit() || first == '.' && second.is_some_and(|c| c.is_ascii_digit()) {
        return number(rest);
    }
    if begins_name(first) {
        let length = rest.find(|character| !continues_name(character)).unwrap_or(rest.len());
        return Ok((Kind::Name, length));
    }
    if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
        return Ok((Kind::Symbol(symbol), symbol.len()));
    }
    let problem =
        Problem::new(0..first.len_utf8(), "a number, a name or an operator", format!("{first:?}"));
    Err(match first {
        '^' => problem.hint("write ** for powers"),
        '=' => problem.hint("write == to compare; inputs are given beside the expression"),
        '[' | ']' | '{' | '}' => problem.hint("use round brackets; cut images out beforehand"),
        _ => problem,
    })
}

/// A number: digits, a point, an exponent.
fn number(rest: &str) -> Result<(Kind, usize), Problem> {
    let bytes = rest.as_bytes();
    let digits =
        |from: usize| bytes[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut length = digits(0);
    if bytes.get(length) == Some(&b'.') {
        length += 1;
        length += digits(length);
    }
    if matches!(bytes.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
        let exponent = digits((length + 1 + sign).min(bytes.len()));
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    let text = &rest[..length];
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => Ok((Kind::Number(value), length)),
        _ => Err(Problem::new(0..length, "a number within the range of f64", text)
            .hint("write inf for infinity")),
    }
}
