//! Splits an expression into numbers, names and operators, each with its position.

use std::ops::Range;

use super::language::{begins_name, continues_name};
use super::problem::ExpressionProblem;

/// Subject of an expression. The words are the same; conditions on rows also have strings, names of
/// columns with any characters, and elements of columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Images, pixel by pixel.
    Pixels,
    /// Columns of a table, row by row.
    Rows,
}

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TokenKind {
    Number(f64),
    /// A name, including those of functions, constants and operators.
    Name,
    /// A name in backquotes, of any characters.
    Quoted,
    /// A string in quotes.
    Text,
    /// An operator, a bracket or a comma: one of [`SYMBOLS`].
    Symbol(&'static str),
    End,
}

/// A token and its bytes in the expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) at: Range<usize>,
}

/// A longer symbol precedes the symbols that it begins with.
const SYMBOLS: [&str; 22] = [
    "**", "//", "<=", ">=", "==", "!=", "&&", "||", "+", "-", "*", "/", "%", "<", ">", "&", "|",
    "~", "!", "(", ")", ",",
];
/// Additional symbols of conditions on rows.
const ROW_SYMBOLS: [&str; 2] = ["[", "]"];

/// Maximum bytes of an expression: enough for thousands of operations.
pub(crate) const MOST_BYTES: usize = 1 << 14;

/// Splits an expression into tokens; the last one is [`TokenKind::End`].
pub(crate) fn tokens(text: &str, dialect: Dialect) -> Result<Vec<Token>, ExpressionProblem> {
    if text.len() > MOST_BYTES {
        let found = format!("{} bytes", text.len());
        return Err(ExpressionProblem::new(
            0..0,
            format!("an expression of at most {MOST_BYTES} bytes"),
            found,
        )
        .hint("split it: use parts of it as separate images"));
    }
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(character) = text[at..].chars().next() {
        if character.is_ascii_whitespace() {
            at += 1;
            continue;
        }
        let before = tokens.last().filter(|token: &&Token| token.at.end == at);
        if dialect == Dialect::Rows
            && before.is_some_and(|token| token.kind == TokenKind::Name)
            && let Some(column) = qualified(&text[at..])
        {
            let table = &text[before.map_or(at..at, |token| token.at.clone())];
            let problem = ExpressionProblem::new(at..at + 1, "the name of a column", "'.'");
            return Err(problem.hint(format!(
                "columns have no table before them: write {column}, or `{table}.{column}` in \
                 backquotes if that is its name"
            )));
        }
        let (kind, length) =
            token(&text[at..], character, dialect).map_err(|problem| problem.moved(at))?;
        tokens.push(Token { kind, at: at..at + length });
        at += length;
    }
    tokens.push(Token { kind: TokenKind::End, at: text.len()..text.len() });
    Ok(tokens)
}

/// Returns the column after a leading dot, as in `gaia.ra`; `None` for an operator of Fortran (`.AND.`).
fn qualified(rest: &str) -> Option<&str> {
    let name = rest.strip_prefix('.').filter(|name| name.starts_with(begins_name))?;
    let length = name.find(|character| !continues_name(character)).unwrap_or(name.len());
    let (column, after) = name.split_at(length);
    (!after.starts_with('.') || column.len() > 3).then_some(column)
}

/// Returns the first token of `rest`, and its length.
fn token(
    rest: &str,
    first: char,
    dialect: Dialect,
) -> Result<(TokenKind, usize), ExpressionProblem> {
    if dialect == Dialect::Rows
        && let Some(result) = token_of_rows(rest, first)
    {
        return result;
    }
    let second = rest[first.len_utf8()..].chars().next();
    if first.is_ascii_digit() || first == '.' && second.is_some_and(|c| c.is_ascii_digit()) {
        return number(rest);
    }
    if begins_name(first) {
        let length = rest.find(|character| !continues_name(character)).unwrap_or(rest.len());
        return Ok((TokenKind::Name, length));
    }
    if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
        return Ok((TokenKind::Symbol(symbol), symbol.len()));
    }
    let problem = ExpressionProblem::new(
        0..first.len_utf8(),
        "a number, a name or an operator",
        format!("{first:?}"),
    );
    Err(match first {
        '.' => problem.hint("write &&, ||, ! or and, or, not for Fortran's .AND., .OR., .NOT."),
        '^' => problem.hint("write ** for powers"),
        '=' if dialect == Dialect::Rows => problem.hint("write == to compare"),
        '=' => problem.hint("write == to compare; give inputs beside the expression"),
        '\'' | '"' => problem.hint("use strings only in conditions on table rows"),
        '[' | ']' | '{' | '}' => {
            problem.hint("use round brackets; select sections of images beforehand")
        }
        _ => problem,
    })
}

/// Returns the first token of `rest` if only conditions on rows have it.
fn token_of_rows(rest: &str, first: char) -> Option<Result<(TokenKind, usize), ExpressionProblem>> {
    match first {
        '\'' | '"' => Some(quoted(rest, first, TokenKind::Text)),
        '`' => Some(quoted(rest, first, TokenKind::Quoted)),
        '#' => {
            let length = rest[1..].find(|character| !continues_name(character));
            Some(Ok((TokenKind::Name, length.map_or(rest.len(), |length| length + 1))))
        }
        _ => {
            let symbol = ROW_SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol))?;
            Some(Ok((TokenKind::Symbol(symbol), symbol.len())))
        }
    }
}

/// Finds the end of a text in quotes; two adjacent quotes mean one in the text.
fn quoted(
    rest: &str,
    quote: char,
    kind: TokenKind,
) -> Result<(TokenKind, usize), ExpressionProblem> {
    let mut at = 1;
    while let Some(length) = rest[at..].find(quote) {
        at += length + 1;
        if !rest[at..].starts_with(quote) {
            return Ok((kind, at));
        }
        at += 1;
    }
    Err(ExpressionProblem::new(0..rest.len(), format!("a {quote} at the end of the text"), "none"))
}

/// Returns the text of a token in quotes.
pub(crate) fn unquoted(token: &str) -> String {
    let mut characters = token.chars();
    let quote: String = characters.next_back().into_iter().collect();
    let inside = &token[quote.len()..token.len() - quote.len()];
    inside.replace(&quote.repeat(2), &quote)
}

/// Parses a number: digits, a point, an exponent.
fn number(rest: &str) -> Result<(TokenKind, usize), ExpressionProblem> {
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
        Ok(value) if value.is_finite() => Ok((TokenKind::Number(value), length)),
        _ => Err(ExpressionProblem::new(0..length, "a number within the range of f64", text)
            .hint("write inf for infinity")),
    }
}
