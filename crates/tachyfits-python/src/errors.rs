//! Exceptions: one class per kind of error, with a common base class, each also a subclass of the matching built-in
//! exception.
//!
//! PyO3 cannot declare two base classes, so the classes are created by calling Python's `type`.

use std::ffi::OsString;
use std::fmt::Display;
use std::path::Path;

use pyo3::exceptions::{
    PyBaseException, PyException, PyFileExistsError, PyFileNotFoundError, PyIsADirectoryError,
    PyNotADirectoryError, PyOSError, PyPermissionError, PyUserWarning, PyValueError,
};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};
use tachyfits::error::Refusal;
use tachyfits::io::IoError;
use tachyfits::{Error, ErrorKind, Reason};

use crate::interface;

/// Code and hints of errors in arguments that only exist in Python.
const ARGUMENT: (&str, &str, &str) =
    ("argument", "usage", "An argument of a Python function is invalid.");

/// Module of the exceptions in tracebacks and pickles.
const MODULE: &str = "tachyfits";

struct Classes {
    base: Py<PyType>,
    io: Py<PyType>,
    /// Subclasses of the I/O error that also derive from a built-in class, listed by that class.
    of_the_system: Vec<(Py<PyType>, Py<PyType>)>,
    format: Py<PyType>,
    usage: Py<PyType>,
    limit: Py<PyType>,
}

static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let base = class(
        module,
        "TachyfitsError",
        &[py.get_type::<PyException>()],
        "Base of the errors of tachyfits; ``code`` is the stable code of the error.",
    )?;
    base.setattr("code", "")?;
    let value = py.get_type::<PyValueError>();
    let io = class(
        module,
        "IoError",
        &[base.clone(), py.get_type::<PyOSError>()],
        "The file cannot be read or written; ``errno`` and ``filename`` are set if known.",
    )?;
    // OSError would print "[Errno 2] None: 'name'" instead of the message.
    io.setattr("__str__", py.get_type::<PyBaseException>().getattr("__str__")?)?;
    let mut of_the_system = Vec::new();
    for (name, built_in, doc) in [
        (
            "IoNotFoundError",
            py.get_type::<PyFileNotFoundError>(),
            "The file does not exist; also a FileNotFoundError.",
        ),
        (
            "IoExistsError",
            py.get_type::<PyFileExistsError>(),
            "The file exists; also a FileExistsError.",
        ),
        (
            "IoIsADirectoryError",
            py.get_type::<PyIsADirectoryError>(),
            "The path is a directory; also an IsADirectoryError.",
        ),
        (
            "IoNotADirectoryError",
            py.get_type::<PyNotADirectoryError>(),
            "A part of the path is not a directory; also a NotADirectoryError.",
        ),
        (
            "IoPermissionError",
            py.get_type::<PyPermissionError>(),
            "Permission denied; also a PermissionError.",
        ),
    ] {
        let special = class(module, name, &[io.clone(), built_in.clone()], doc)?;
        of_the_system.push((built_in.unbind(), special.unbind()));
    }
    let bases = [base.clone(), value];
    let format =
        class(module, "FormatError", &bases, "The contents of the file break the FITS Standard.")?;
    let usage = class(module, "UsageError", &bases, "The request is invalid for these data.")?;
    let limit =
        class(module, "LimitError", &bases, "A request exceeds a limit or the available memory.")?;
    let warned = [py.get_type::<PyUserWarning>()];
    class(
        module,
        "TachyfitsWarning",
        &warned,
        "A file breaks the FITS Standard, but can be read.",
    )?;
    CLASSES.get_or_init(py, || Classes {
        base: base.unbind(),
        io: io.unbind(),
        of_the_system,
        format: format.unbind(),
        usage: usage.unbind(),
        limit: limit.unbind(),
    });
    module.add_function(wrap_pyfunction!(io_error, module)?)?;
    module.add_function(wrap_pyfunction!(error_codes, module)?)
}

/// Creates a class and adds it to the module.
fn class<'py>(
    module: &Bound<'py, PyModule>,
    name: &str,
    bases: &[Bound<'py, PyType>],
    doc: &str,
) -> PyResult<Bound<'py, PyType>> {
    let py = module.py();
    let members = PyDict::new(py);
    members.set_item("__module__", MODULE)?;
    members.set_item("__doc__", doc)?;
    let class = py.get_type::<PyType>().call1((name, PyTuple::new(py, bases)?, members))?;
    let class = class.cast_into::<PyType>()?;
    module.add(name, &class)?;
    Ok(class)
}

/// Return every code that an error or a warning can have.
#[pyfunction]
fn error_codes() -> Vec<(&'static str, &'static str, String)> {
    let engine =
        tachyfits::error::error_codes().into_iter().map(|row| (row.code, row.kind, row.meaning));
    let (code, kind, meaning) = ARGUMENT;
    let records = tachyfits_records::Code::ALL.iter();
    let records =
        records.map(|code| (code.as_str(), code.kind().as_str(), code.meaning().to_owned()));
    engine.chain(records).chain([(code, kind, meaning.to_owned())]).collect()
}

/// Error of another crate that is raised as an exception.
pub(crate) trait Raised: Display + Send {
    fn kind(&self) -> ErrorKind;
    fn code(&self) -> &'static str;
    fn io(&self) -> Option<&IoError>;
}

macro_rules! raised {
    ($($error:ty),+) => {
        $(impl Raised for $error {
            fn kind(&self) -> ErrorKind {
                self.kind()
            }

            fn code(&self) -> &'static str {
                self.code()
            }

            fn io(&self) -> Option<&IoError> {
                match self {
                    Self::Io(error) => Some(error),
                    _ => None,
                }
            }
        })+
    };
}

raised!(Error, tachyfits_records::Error);

/// Conversion of results of other crates to Python exceptions.
pub(crate) trait OrRaise<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T, E: Raised> OrRaise<T> for Result<T, E> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| exception(py, &error))
    }
}

/// Returns the exception for an error of the engine.
///
/// An exception of a file object becomes its cause. If that is one of our exceptions, or ends the program
/// (KeyboardInterrupt), it replaces the error.
pub(crate) fn exception(py: Python<'_>, error: &impl Raised) -> PyErr {
    match raised(error.io()) {
        Some(raised) if is_ours(py, raised) || !raised.is_instance_of::<PyException>(py) => {
            raised.clone_ref(py)
        }
        raised => {
            let error = exception_of(py, error);
            if let Some(raised) = raised {
                error.set_cause(py, Some(raised.clone_ref(py)));
            }
            error
        }
    }
}

/// Returns the exception that a file object raised on reading.
fn raised(error: Option<&IoError>) -> Option<&PyErr> {
    match error? {
        IoError::Read { source, .. } => source.get_ref()?.downcast_ref(),
        _ => None,
    }
}

fn exception_of(py: Python<'_>, error: &impl Raised) -> PyErr {
    let (code, message) = (error.code(), format!("{error:#}"));
    match (error.io(), error.kind()) {
        (Some(io), ErrorKind::Io) => {
            let number = number_of(py, io).unwrap_or(None);
            let path = path_of(io).map(|path| path.as_os_str().to_owned());
            io_error(py, &message, code, path, number).unwrap_or_else(|failed| failed)
        }
        (_, kind) => new(py, kind, code, &message),
    }
}

/// Return an IoError with the attributes of an OSError, as the built-in class of the number if there is one.
#[pyfunction]
#[pyo3(signature = (message, code, path=None, number=None))]
fn io_error(
    py: Python<'_>,
    message: &str,
    code: &str,
    path: Option<OsString>,
    number: Option<i32>,
) -> PyResult<PyErr> {
    let Some(classes) = CLASSES.get(py) else {
        return Ok(PyOSError::new_err(message.to_owned()));
    };
    let mut class = classes.io.bind(py);
    if let Some(number) = number {
        // Python maps error numbers to its classes.
        let built_in = py.get_type::<PyOSError>().call1((number, ""))?.get_type();
        let special = classes.of_the_system.iter().find(|(of, _)| built_in.is(of));
        class = special.map_or(class, |(_, special)| special.bind(py));
    }
    let value = class.call1((interface::message(message),))?;
    value.setattr("code", code)?;
    if let Some(path) = path {
        value.setattr("filename", path)?;
    }
    if let Some(number) = number {
        value.setattr("errno", number)?;
        value.setattr("strerror", py.import("os")?.call_method1("strerror", (number,))?)?;
    }
    Ok(PyErr::from_value(value))
}

/// Whether an exception is one of ours.
fn is_ours(py: Python<'_>, error: &PyErr) -> bool {
    CLASSES.get(py).is_some_and(|classes| error.is_instance(py, classes.base.bind(py)))
}

/// Returns the engine's error for an invalid request that is detected before calling the engine.
pub(crate) fn refused(
    reason: Reason,
    place: (&str, Option<usize>),
    expected: impl Into<String>,
    found: impl Into<String>,
) -> Error {
    let mut refusal = Refusal::new(reason, expected, found);
    (refusal.file, refusal.hdu) = (place.0.to_owned(), place.1);
    Error::Refused(Box::new(refusal))
}

/// Returns the exception for an argument that only exists in Python.
pub(crate) fn argument(py: Python<'_>, expected: &str, found: &str, hint: &str) -> PyErr {
    let message = format!("expected {expected}, found {found} [{}]\nhint: {hint}", ARGUMENT.0);
    new(py, ErrorKind::Usage, ARGUMENT.0, &message)
}

/// Checks that a count from Python is not negative.
pub(crate) fn not_negative<T: TryFrom<i64>>(
    py: Python<'_>,
    name: &str,
    number: i64,
) -> PyResult<T> {
    T::try_from(number).map_err(|_| {
        let (expected, found) = (format!("{name} of 0 or more"), number.to_string());
        argument(py, &expected, &found, &format!("leave {name} out for the default"))
    })
}

fn new(py: Python<'_>, kind: ErrorKind, code: &str, message: &str) -> PyErr {
    let Some(classes) = CLASSES.get(py) else {
        return PyException::new_err(message.to_owned());
    };
    let class = match kind {
        ErrorKind::Io => &classes.io,
        ErrorKind::Format => &classes.format,
        ErrorKind::Usage => &classes.usage,
        ErrorKind::Limit => &classes.limit,
    };
    let exception = class.bind(py).call1((interface::message(message),)).and_then(|value| {
        value.setattr("code", code)?;
        Ok(PyErr::from_value(value))
    });
    exception.unwrap_or_else(|error| error)
}

/// Returns the error number of the operating system, or the equivalent one.
fn number_of(py: Python<'_>, error: &IoError) -> PyResult<Option<i32>> {
    match (error.raw_os_error(), errno_name(error)) {
        (Some(number), _) => Ok(Some(number)),
        (None, Some(name)) => Ok(Some(py.import("errno")?.getattr(name)?.extract()?)),
        (None, None) => Ok(None),
    }
}

fn path_of(error: &IoError) -> Option<&Path> {
    Some(match error {
        IoError::NotFound { path }
        | IoError::NotAFile { path, .. }
        | IoError::Open { path, .. }
        | IoError::Map { path, .. }
        | IoError::Direct { path, .. }
        | IoError::Exists { path }
        | IoError::Create { path, .. }
        | IoError::Write { path, .. }
        | IoError::Commit { path, .. } => path,
        IoError::Temporary { directory, .. } => directory,
        IoError::Read { name, .. }
        | IoError::Short { name, .. }
        | IoError::Gzip { name, .. }
        | IoError::Compressed { name, .. } => Path::new(name),
        _ => return None,
    })
}

/// Returns the name of the equivalent error number of the operating system.
fn errno_name(error: &IoError) -> Option<&'static str> {
    match error {
        IoError::NotFound { .. } => Some("ENOENT"),
        IoError::NotAFile { found: "a directory", .. } => Some("EISDIR"),
        IoError::Exists { .. } => Some("EEXIST"),
        IoError::Cancelled => Some("ECANCELED"),
        _ => None,
    }
}

/// Issues a `TachyfitsWarning` for the line that called the package; the package determines that line.
pub(crate) fn warn(py: Python<'_>, message: String) -> PyResult<()> {
    py.import("tachyfits.base.errors")?.call_method1("warn", (message,))?;
    Ok(())
}
