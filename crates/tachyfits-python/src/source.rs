//! Sources from Python: a path, bytes, or an object with `read`, which is read on demand if it can seek.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::sync::MutexExt;
use pyo3::types::PyBytes;
use tachyfits::io::{
    Compression, Id, IoError, Profile, RemoteEntry, RemoteUrl, SpoolOptions, Stamp, Storage, spool,
};
use tachyfits::{Error, Source};

use crate::errors::OrRaise;
use crate::progress;

/// A source from Python.
pub(crate) enum Given<'py> {
    Bytes(Bound<'py, PyBytes>),
    Path(PathBuf),
    Object(Bound<'py, PyAny>),
}

/// Implemented by hand: a derived implementation creates an exception for each kind that does not match.
impl<'py> FromPyObject<'_, 'py> for Given<'py> {
    type Error = PyErr;

    fn extract(source: Borrowed<'_, 'py, PyAny>) -> PyResult<Given<'py>> {
        if let Ok(bytes) = source.cast::<PyBytes>() {
            return Ok(Given::Bytes(bytes.to_owned()));
        }
        Ok(match source.extract() {
            Ok(path) => Given::Path(path),
            Err(_) => Given::Object(source.to_owned()),
        })
    }
}

impl Given<'_> {
    /// Converts a source for the engine. Messages refer to bytes and objects as `name`. `on_demand`: the object is read
    /// with `seek` and `read` whenever bytes are needed, otherwise once to its end.
    ///
    /// `options` limits content that can only be read sequentially.
    pub(crate) fn source(
        self,
        py: Python<'_>,
        name: &str,
        on_demand: bool,
        options: &SpoolOptions,
    ) -> PyResult<Source> {
        Ok(match self {
            Given::Path(path) => Source::from(path),
            Given::Bytes(bytes) => Source::bytes(name, PyBackedBytes::from(bytes)),
            Given::Object(object) if on_demand => {
                Source::from(Arc::new(FileObject::new(name, &object)?))
            }
            Given::Object(object) => {
                let stream = Stream(object.unbind());
                let storage = py.detach(|| spool(name, stream, options));
                Source::Storage(storage.map_err(Error::from).or_raise(py)?)
            }
        })
    }
}

/// An object that provides bytes with `read(size)`.
struct Stream(Py<PyAny>);

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        Python::attach(|py| {
            py.check_signals()?;
            read_into(self.0.bind(py), buffer)
        })
    }
}

/// Fills a part of a buffer with one call of `read`; an exception of the object is the error.
fn read_into(object: &Bound<'_, PyAny>, buffer: &mut [u8]) -> io::Result<usize> {
    let size = buffer.len();
    // None, from a non-blocking stream without data, is rejected: waiting here would never end.
    let bytes: PyBackedBytes =
        object.call_method1("read", (size,))?.extract().map_err(PyErr::from)?;
    match buffer.get_mut(..bytes.len()) {
        Some(part) => part.copy_from_slice(&bytes),
        None => {
            let problem = format!("read({size}) gave {} bytes", bytes.len());
            return Err(io::Error::other(problem));
        }
    }
    Ok(bytes.len())
}

/// Fills a buffer from an offset on, unless the object ends before; returns the number of bytes.
fn read_from(object: &Bound<'_, PyAny>, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
    object.call_method1("seek", (offset,))?;
    let mut done = 0;
    while done < buffer.len() {
        match read_into(object, &mut buffer[done..])? {
            0 => break,
            count => done += count,
        }
    }
    Ok(done)
}

/// A file object that can seek, read on demand. Its own position is preserved, also after an error.
#[derive(Debug)]
struct FileObject {
    id: Id,
    bytes: u64,
    object: Py<PyAny>,
    /// Lock for the object's single position.
    turn: Mutex<()>,
}

impl FileObject {
    fn new(name: &str, object: &Bound<'_, PyAny>) -> PyResult<FileObject> {
        let position = object.call_method0("tell")?;
        object.call_method1("seek", (0, 2))?;
        let bytes = object.call_method0("tell")?.extract()?;
        object.call_method1("seek", (position,))?;
        let object = object.clone().unbind();
        Ok(FileObject { id: Id::new(name.to_owned(), None), bytes, object, turn: Mutex::new(()) })
    }

    /// Fills the buffer, unless the object ends before; returns the number of bytes.
    fn read_up_to(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        Python::attach(|py| {
            py.check_signals()?;
            // The object may let other threads run while it reads. Waiting for them lets them run, too.
            let _turn = self.turn.lock_py_attached(py);
            let object = self.object.bind(py);
            let position = object.call_method0("tell")?;
            let outcome = read_from(object, offset, buffer);
            let back = object.call_method1("seek", (position,));
            let count = outcome?;
            back?;
            Ok(count)
        })
    }
}

impl Storage for FileObject {
    fn id(&self) -> &Id {
        &self.id
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read_exact_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), IoError> {
        let (name, expected) = (|| self.name().to_owned(), buffer.len() as u64);
        self.check_within(offset, expected)?;
        match self.read_up_to(offset, buffer) {
            Ok(count) if count == buffer.len() => Ok(()),
            Ok(count) => {
                let size = offset + count as u64;
                Err(IoError::Short { name: name(), offset, expected, size })
            }
            Err(source) => Err(IoError::Read { name: name(), offset, expected, source }),
        }
    }

    fn kind(&self) -> &'static str {
        "object"
    }

    /// The object may be a file of a server; only one request is made at a time.
    fn profile(&self) -> Profile {
        Profile { in_flight: 1, ..Profile::NETWORK }
    }
}

/// Return the name of a server's object in messages: its URL without query and password, which may be secret.
#[pyfunction]
pub(crate) fn url_name(text: OsString) -> Option<String> {
    RemoteUrl::of(text.to_str()?).map(|url| url.to_string())
}

/// Name of an object, whether it is a folder, bytes, seconds since 1970, version.
type Entry = (String, bool, u64, i64, Option<String>);

fn entry(entry: RemoteEntry) -> Entry {
    (entry.name, entry.is_folder, entry.bytes, entry.modified, entry.version)
}

fn remote_url(text: &str) -> PyResult<RemoteUrl> {
    RemoteUrl::of(text).ok_or_else(|| PyValueError::new_err("expected a URL"))
}

/// Return the server's current information about the object of a URL.
#[pyfunction]
pub(crate) fn remote_entry(py: Python<'_>, url: &str) -> PyResult<Entry> {
    let url = remote_url(url)?;
    let state = |spool: SpoolOptions| RemoteEntry::at(&url, &spool.token).map_err(Error::from);
    progress::open(py, state).map(entry)
}

/// Return the entries of the folder of a URL, ``most`` objects and folders at most.
#[pyfunction]
pub(crate) fn remote_entries(py: Python<'_>, url: &str, most: usize) -> PyResult<Vec<Entry>> {
    let url = remote_url(url)?;
    let list =
        |spool: SpoolOptions| RemoteEntry::list(&url, most, &spool.token).map_err(Error::from);
    Ok(progress::open(py, list)?.into_iter().map(entry).collect())
}

/// Return the folder that stores the headers of remote files; None if the cache is off.
#[pyfunction]
pub(crate) fn index_cache() -> Option<OsString> {
    tachyfits::io::index_cache().map(PathBuf::into_os_string)
}

/// Set the folder that stores the headers of remote files; None turns the cache off.
#[pyfunction]
pub(crate) fn set_index_cache(folder: Option<PathBuf>) {
    tachyfits::io::set_index_cache(folder);
}

/// Return the version of a file: text of its size, modification time and inode; None for a missing file.
#[pyfunction]
pub(crate) fn file_version(path: PathBuf) -> Option<String> {
    Some(Stamp::of(&path).ok()?.version())
}

/// Return the name of the compression format of content with these first bytes: "gzip", "bzip2", "xz" or "zstd".
#[pyfunction]
pub(crate) fn compression(first: &[u8]) -> Option<&'static str> {
    Compression::of(first).map(Compression::name)
}
