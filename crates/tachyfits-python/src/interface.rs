//! Wording of hints: they name arguments in Python and flags on the command line.
//!
//! Hints of the engine contain both wordings as `{Python|command line}`; they are selected here, where messages are
//! converted for Python. `tachyfits.base.errors.either` does the same for hints written in Python.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::prelude::*;

/// Set while the command line runs. It applies to the process, as a command line does.
static COMMAND_LINE: AtomicBool = AtomicBool::new(false);

/// Beginning of the hint line of a message.
const HINT: &str = "hint: ";

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(on_command_line, module)?)?;
    module.add_function(wrap_pyfunction!(set_on_command_line, module)?)
}

/// Return whether hints are worded for the command line.
#[pyfunction]
fn on_command_line() -> bool {
    COMMAND_LINE.load(Ordering::Relaxed)
}

/// Word hints for the command line, or for Python; return the previous setting.
#[pyfunction]
fn set_on_command_line(command_line: bool) -> bool {
    COMMAND_LINE.swap(command_line, Ordering::Relaxed)
}

/// Returns a message with its hint lines worded for the current interface.
pub(crate) fn message(text: &str) -> Cow<'_, str> {
    if !text.contains(HINT) || !text.contains('{') {
        return Cow::Borrowed(text);
    }
    let worded = |line: &str| {
        if line.starts_with(HINT) { hint(line).into_owned() } else { line.to_owned() }
    };
    Cow::Owned(text.split('\n').map(worded).collect::<Vec<_>>().join("\n"))
}

/// Returns a hint worded for the current interface: each `{a|b}` becomes `a`, or `b` on the command line.
pub(crate) fn hint(text: &str) -> Cow<'_, str> {
    let command_line = on_command_line();
    let parts = |rest: &str| {
        let (before, rest) = rest.split_once('{')?;
        let (inside, after) = rest.split_once('}')?;
        let (python, flag) = inside.split_once('|')?;
        let wording = if command_line { flag } else { python };
        Some((format!("{before}{wording}"), after.len()))
    };
    let (mut wording, mut rest) = (String::new(), text);
    while let Some((piece, left)) = parts(rest) {
        wording.push_str(&piece);
        rest = &rest[rest.len() - left..];
    }
    if wording.is_empty() { Cow::Borrowed(text) } else { Cow::Owned(wording + rest) }
}
