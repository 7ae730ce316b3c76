//! Python objects with a `read` method as readers of the engine.

use std::io::{self, Read};
use std::sync::Arc;

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use tachyfits::{Compression, Error, SpoolOptions, Storage, spool};

use crate::errors::{exception, is_ours};

/// A Python object that gives bytes by `read(size)`, and what it raised.
struct Reader<'a> {
    object: &'a Py<PyAny>,
    raised: &'a mut Option<PyErr>,
}

impl Read for Reader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let given = Python::attach(|py| {
            py.check_signals()?;
            let given = self.object.bind(py).call_method1("read", (buffer.len(),))?;
            // None, of a stream that does not block and has nothing yet, is refused: waiting here would never end.
            Ok::<_, PyErr>(given.extract::<PyBackedBytes>()?)
        });
        match given {
            Ok(bytes) if bytes.len() <= buffer.len() => {
                buffer[..bytes.len()].copy_from_slice(&bytes);
                Ok(bytes.len())
            }
            Ok(bytes) => {
                let (asked, given) = (buffer.len(), bytes.len());
                Err(io::Error::other(format!("read({asked}) gave {given} bytes")))
            }
            Err(error) => {
                let message = error.to_string();
                *self.raised = Some(error);
                Err(io::Error::other(message))
            }
        }
    }
}

/// Return the name of the compressed format whose content begins with these bytes: "gzip", "bzip2", "xz" or "zstd"; None
/// for other content.
///
/// Examples
/// --------
/// >>> from tachyfits import _core
/// >>> _core.compression(b"\x28\xb5\x2f\xfd"), _core.compression(b"SIMPLE  = ")
/// ('zstd', None)
#[pyfunction]
pub(crate) fn compression(first: &[u8]) -> Option<&'static str> {
    Compression::of(first).map(Compression::name)
}

/// Reads a Python object to its end and keeps the content; gzip content is inflated.
///
/// An exception of the object is the cause of the error here. If it is one of ours, or ends the
/// program (KeyboardInterrupt), it replaces the error.
pub(crate) fn spooled(
    py: Python<'_>,
    name: &str,
    object: &Py<PyAny>,
) -> PyResult<Arc<dyn Storage>> {
    let mut raised = None;
    let kept =
        py.detach(|| spool(name, Reader { object, raised: &mut raised }, &SpoolOptions::default()));
    kept.map_err(|error| match raised {
        Some(raised) if is_ours(py, &raised) || !raised.is_instance_of::<PyException>(py) => raised,
        raised => {
            let error = exception(py, &Error::from(error));
            error.set_cause(py, raised);
            error
        }
    })
}
