//! Errors in C: kind, stable code, message and advice, in fields of fixed length.

use std::ffi::c_char;

use tachyfits::io::IoError;
use tachyfits::{Error, ErrorKind};
use tachyfits_memory::NoMemory;

use crate::types::{
    CError, TACHYFITS_ERROR_CANCELLED, TACHYFITS_ERROR_FORMAT, TACHYFITS_ERROR_INTERNAL,
    TACHYFITS_ERROR_IO, TACHYFITS_ERROR_LIMIT, TACHYFITS_ERROR_USAGE,
};

/// Code of argument errors that only this interface has.
const ARGUMENT: &str = "argument";

/// Reason why a call did nothing.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The requested card is absent.
    Absent,
    /// An error with its texts.
    Error { kind: i32, code: &'static str, message: String, hint: String },
}

impl Failure {
    /// Creates the error of an argument for which the engine has no message.
    pub(crate) fn argument(
        name: &str,
        value: impl std::fmt::Display,
        expected: &str,
        hint: &str,
    ) -> Self {
        let message = format!("invalid {name} {value}: expected {expected}");
        let (kind, code, hint) = (TACHYFITS_ERROR_USAGE, ARGUMENT, hint.to_owned());
        Failure::Error { kind, code, message, hint }
    }

    /// Converts a panic to an error.
    pub(crate) fn internal(panic: &(dyn std::any::Any + Send)) -> Self {
        let message = panic.downcast_ref::<String>().map(String::as_str);
        let message =
            message.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("unknown");
        Failure::Error {
            kind: TACHYFITS_ERROR_INTERNAL,
            code: "internal",
            message: format!("internal error: {message}"),
            hint: "please report it with the file and the call".to_owned(),
        }
    }
}

impl From<NoMemory> for Failure {
    fn from(error: NoMemory) -> Failure {
        Error::from(error).into()
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Failure::Absent => f.write_str("no such card"),
            Failure::Error { message, hint, .. } => write!(f, "{message}\nhint: {hint}"),
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let kind = match (&error, error.kind()) {
            (Error::Io(IoError::Cancelled), _) => TACHYFITS_ERROR_CANCELLED,
            (_, ErrorKind::Io) => TACHYFITS_ERROR_IO,
            (_, ErrorKind::Format) => TACHYFITS_ERROR_FORMAT,
            (_, ErrorKind::Usage) => TACHYFITS_ERROR_USAGE,
            (_, ErrorKind::Limit) => TACHYFITS_ERROR_LIMIT,
        };
        let code = error.code();
        let text = format!("{error:#}");
        let (message, hint) = text.split_once("\nhint: ").unwrap_or((&text, ""));
        Failure::Error { kind, code, message: message.to_owned(), hint: in_general(hint) }
    }
}

/// Returns the error code of this number, with its meaning; absent after the last one.
pub(crate) fn described_code(number: usize) -> Result<Failure, Failure> {
    let codes = tachyfits::error::error_codes().into_iter().filter_map(|code| {
        let kind = match (code.code, code.kind) {
            ("io-cancelled", _) => TACHYFITS_ERROR_CANCELLED,
            (_, "io") => TACHYFITS_ERROR_IO,
            (_, "format") => TACHYFITS_ERROR_FORMAT,
            (_, "usage") => TACHYFITS_ERROR_USAGE,
            (_, "limit") => TACHYFITS_ERROR_LIMIT,
            // The other codes are warnings.
            _ => return None,
        };
        let hint = in_general(&code.hint);
        Some(Failure::Error { kind, code: code.code, message: code.meaning, hint })
    });
    let (name, hint) = ("of a function", "see the message");
    let own = [
        Failure::argument("argument", name, "one that the header describes", hint),
        Failure::internal(&"a fault of the library"),
    ];
    codes.chain(own).nth(number).ok_or(Failure::Absent)
}

/// Adapts a hint to C: replaces each `{Python|command line}` by the name of the Python argument.
fn in_general(hint: &str) -> String {
    let mut words = String::new();
    let mut rest = hint;
    while let Some((before, after)) = rest.split_once('{') {
        words.push_str(before);
        match after.split_once('}') {
            Some((inside, after)) => {
                words.push_str(inside.split_once('|').map_or(inside, |(python, _)| python));
                rest = after;
            }
            None => rest = after,
        }
    }
    words + rest
}

/// Copies text into a field of characters: truncated between characters, always ended by NUL.
pub(crate) fn fill(field: &mut [c_char], text: &str) {
    let most = field.len().saturating_sub(1);
    let mut end = text.len().min(most);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    for (place, byte) in field.iter_mut().zip(text.as_bytes()[..end].iter().chain([&0])) {
        *place = *byte as c_char;
    }
}

impl CError {
    /// Fills the caller's error; returns the result code of the function.
    pub(crate) fn take(&mut self, failure: &Failure) {
        if let Failure::Error { kind, code, message, hint } = failure {
            self.kind = *kind;
            fill(&mut self.code, code);
            fill(&mut self.message, message);
            fill(&mut self.hint, hint);
        }
    }
}

impl Failure {
    /// Result code of the function.
    pub(crate) fn number(&self) -> i32 {
        match self {
            Failure::Absent => crate::types::TACHYFITS_ABSENT,
            Failure::Error { kind, .. } => *kind,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{fill, in_general};

    #[test]
    fn texts_are_cut_at_characters_and_ended() {
        let mut field = [1; 6];
        fill(&mut field, "abcdé");
        assert_eq!(field.map(|c| c as u8), *b"abcd\0\x01");
    }

    #[test]
    fn hints_keep_the_words_of_functions() {
        assert_eq!(
            in_general("use {overwrite=True|--overwrite} or not"),
            "use overwrite=True or not"
        );
    }
}
