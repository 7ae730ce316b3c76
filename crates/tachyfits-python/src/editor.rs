//! A file that is being edited: changes are collected and then written atomically.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};
use tachyfits::OpenOptions;

use crate::errors::{OrRaise, argument, not_negative};
use crate::file::FitsFile;
use crate::header::{Cards, header_for, rows as card_rows};
use crate::progress;
use crate::text::GivenText;

/// A file that is being edited. Only `commit` writes to the file, which stays unchanged if that fails.
#[pyclass(frozen, module = "tachyfits._core")]
pub(crate) struct Editor(Mutex<Option<tachyfits::Editor>>);

impl Editor {
    fn lock(&self) -> MutexGuard<'_, Option<tachyfits::Editor>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `work` with the editor. No lock is held meanwhile, because `work` may call Python, and other threads may
    /// wait for the interpreter.
    pub(crate) fn with<T>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut tachyfits::Editor) -> PyResult<T>,
    ) -> PyResult<T> {
        let mut editor = self.lock().take().ok_or_else(|| over(py))?;
        let outcome = work(&mut editor);
        *self.lock() = Some(editor);
        outcome
    }
}

fn comment_of(header: &tachyfits::Header, keyword: &str) -> String {
    let at = header.position(keyword);
    at.map_or_else(String::new, |at| header.cards()[at].comment().to_owned())
}

fn over(py: Python<'_>) -> PyErr {
    let found = "one that is closed, or in use by another thread";
    argument(py, "an editor that waits", found, "open a new one: tachyfits.edit(path)")
}

#[pymethods]
impl Editor {
    #[new]
    #[pyo3(signature = (path, *, strict=false))]
    fn new(py: Python<'_>, path: PathBuf, strict: bool) -> PyResult<Editor> {
        let options = OpenOptions::default().strict(strict);
        let editor = py.detach(|| tachyfits::Editor::open(&path, &options)).or_raise(py)?;
        Ok(Editor(Mutex::new(Some(editor))))
    }

    /// Notices about the file, such as an interrupted edit that was undone.
    #[getter]
    fn notices(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.with(py, |editor| Ok(editor.notices().iter().map(ToString::to_string).collect()))
    }

    /// Name of the file.
    #[getter]
    fn name(&self, py: Python<'_>) -> PyResult<String> {
        self.with(py, |editor| Ok(editor.name().to_owned()))
    }

    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.with(py, |editor| Ok(editor.hdus()))
    }

    /// Return (keyword, value, comment) of every card of an HDU, as edited; see ``Header.cards`` for the kind.
    #[pyo3(signature = (hdu, kind=None))]
    fn cards<'py>(
        &self,
        py: Python<'py>,
        hdu: usize,
        kind: Option<Bound<'py, PyType>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        self.with(py, |editor| card_rows(py, editor.header(hdu).or_raise(py)?.cards(), kind))
    }

    /// Set cards, each in place of its keyword or after the others; an empty comment keeps the existing one.
    fn set_cards(
        &self,
        py: Python<'_>,
        hdu: usize,
        cards: Cards<'_>,
    ) -> PyResult<Vec<(String, String, String)>> {
        self.with(py, |editor| {
            let new_header = header_for(py, editor.name(), cards, false)?;
            let changed = editor.change_header(hdu, |header| {
                let mut comments = Vec::new();
                for card in new_header.cards() {
                    let before = comment_of(header, card.keyword());
                    header.set_card(card.clone());
                    if card.is_commentary() {
                        continue;
                    }
                    let now = comment_of(header, card.keyword());
                    comments.push((card.keyword().to_owned(), before, now));
                }
                Ok(comments)
            });
            changed.or_raise(py)
        })
    }

    /// Insert cards before the card of a (0-based) number.
    fn insert_cards(
        &self,
        py: Python<'_>,
        hdu: usize,
        at: usize,
        cards: Cards<'_>,
    ) -> PyResult<()> {
        self.with(py, |editor| {
            let new_header = header_for(py, editor.name(), cards, true)?;
            let changed = editor.change_header(hdu, |header| {
                for (place, card) in (at..).zip(new_header.cards()) {
                    header.insert(place, card.clone());
                }
                Ok(())
            });
            changed.or_raise(py)
        })
    }

    /// Change the comment of the first card of a keyword, keeping its value as written.
    fn comment_card(
        &self,
        py: Python<'_>,
        hdu: usize,
        keyword: GivenText,
        comment: GivenText,
    ) -> PyResult<Option<String>> {
        self.with(py, |editor| {
            let changed = editor.change_header(hdu, |header| {
                let has_card = header.comment(&keyword, &comment)?;
                Ok(has_card.then(|| comment_of(header, &keyword)))
            });
            changed.or_raise(py)
        })
    }

    /// Remove all cards of a keyword; return their number.
    fn delete_cards(&self, py: Python<'_>, hdu: usize, keyword: GivenText) -> PyResult<usize> {
        self.with(py, |editor| editor.delete(hdu, &keyword).or_raise(py))
    }

    /// Change the keyword of the first card of a keyword; return False if the card is missing.
    fn rename_card(
        &self,
        py: Python<'_>,
        hdu: usize,
        keyword: GivenText,
        to: GivenText,
    ) -> PyResult<bool> {
        self.with(py, |editor| editor.rename(hdu, &keyword, &to).or_raise(py))
    }

    /// Return the full keyword of the card that a keyword refers to: of a HIERARCH card if no other matches.
    fn meant_keyword(&self, py: Python<'_>, hdu: usize, keyword: GivenText) -> PyResult<String> {
        self.with(py, |editor| {
            let header = editor.header(hdu).or_raise(py)?;
            Ok(match (header.position(&keyword), header.meant(&keyword)) {
                (None, Some(at)) => header.cards()[at].keyword().to_owned(),
                _ => String::from(keyword),
            })
        })
    }

    /// Write DATASUM and CHECKSUM of an HDU. Existing ones are kept up to date without this.
    fn update_checksums(&self, py: Python<'_>, hdu: usize) -> PyResult<()> {
        self.with(py, |editor| editor.update_checksums(hdu).or_raise(py))
    }

    /// Insert a copy of an HDU of any file before the HDU of a number; at the end if that does not exist.
    fn copy(&self, py: Python<'_>, at: usize, file: &FitsFile, hdu: usize) -> PyResult<()> {
        self.with(py, |editor| editor.copy(at, file.engine(), hdu).or_raise(py))
    }

    /// Remove an HDU.
    fn remove(&self, py: Python<'_>, hdu: usize) -> PyResult<()> {
        self.with(py, |editor| editor.remove(hdu).or_raise(py))
    }

    /// Return the file with all changes, without writing it.
    fn preview(&self, py: Python<'_>) -> PyResult<FitsFile> {
        self.with(py, |editor| Ok(FitsFile::new(editor.preview().or_raise(py)?)))
    }

    /// Write all changes. Afterwards the editor is closed, whether this succeeds or not.
    #[pyo3(signature = (*, sync=false, threads=0, progress=None))]
    fn commit<'py>(
        &self,
        py: Python<'py>,
        sync: bool,
        threads: i64,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let threads = not_negative(py, "threads", threads)?;
        let editor = self.lock().take().ok_or_else(|| over(py))?;
        let outcome = progress::run(py, threads, progress, |run| editor.commit(sync, run))?;
        let dictionary = PyDict::new(py);
        dictionary.set_item("in_place", outcome.in_place)?;
        dictionary.set_item("bytes_written", outcome.bytes_written)?;
        dictionary.set_item("bytes", outcome.bytes)?;
        Ok(dictionary)
    }

    /// Discard the changes.
    fn discard(&self) {
        drop(self.lock().take());
    }

    fn __repr__(&self) -> String {
        match self.lock().as_ref() {
            Some(editor) => format!("<Editor of {:?}: {} HDUs>", editor.name(), editor.hdus()),
            None => "<Editor that is over>".to_owned(),
        }
    }
}
