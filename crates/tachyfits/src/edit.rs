//! Edits a file: changes are collected, can be previewed as a file, and are committed at once,
//! completely or not at all.
//!
//! An edited file is a list of HDUs, each a header and a rope of data (see `content`). Nothing is
//! read or moved before `Editor::commit`. If it costs less than a new file, the commit writes only
//! the parts that changed or moved, under a journal that can undo it; otherwise a new file replaces
//! the old one.

mod commit;
mod content;
mod edited_cells;
mod edited_columns;
mod edited_hdu;
mod edited_heap;
mod edited_pixels;
mod edited_sums;
mod edited_table;
mod plan;
mod repair;
mod restride;
mod structure;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tachyfits_format::{Card, FormatError, Header, Kind, Value, Warning, padded};
use tachyfits_io::operation::RunOptions;
use tachyfits_io::{Notice, Purpose, Stamp};

pub use commit::Committed;
use content::{Source, StoredSource};
use edited_hdu::{EditedHdu, memory};
use plan::{EditPlan, Rest};
pub(crate) use repair::is_zeros;

use crate::error::{Error, Reason};
use crate::file::{FitsFile, OpenOptions};
use crate::image::tier;

/// A file open for editing. Dropped without [`Editor::commit`], the file is unchanged.
///
/// ```
/// use tachyfits::{Editor, FitsFile, OpenOptions, RunOptions};
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("m31.fits");
/// let cards = ["SIMPLE  =                    T", "BITPIX  =                   16", "NAXIS   =                    1",
///     "NAXIS1  =                    3", "OBJECT  = 'M31     '           / target", "END"];
/// let mut bytes: Vec<u8> = cards.iter().flat_map(|card| format!("{card:<80}").into_bytes()).collect();
/// bytes.resize(2880, b' ');
/// bytes.resize(5760, 0);
/// std::fs::write(&path, bytes)?;
/// let options = OpenOptions::default();
/// let mut editor = Editor::open(&path, &options)?;
/// editor.set(0, "OBJECT", "M 31", "")?;
/// editor.copy(1, &FitsFile::open(&path, &options)?, 0)?;
/// let committed = editor.commit(false, &RunOptions::default())?;
/// assert_eq!(committed.bytes, 11520);
/// let file = FitsFile::open(&path, &options)?;
/// assert_eq!(file.hdus()[0].header.get_text("OBJECT"), Ok(Some("M 31")));
/// assert_eq!(file.hdus()[1].kind.as_str(), "image");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Editor {
    path: PathBuf,
    name: String,
    stamp: Stamp,
    notices: Vec<Notice>,
    options: OpenOptions,
    own: Arc<dyn Source>,
    rest: Rest,
    units: Vec<EditedHdu>,
}

impl Editor {
    /// Opens a file for editing. If an earlier edit was interrupted, it is undone first; see [`Editor::notices`].
    ///
    /// # Errors
    /// As [`FitsFile::open`], and [`Reason::Edit`] if the file is compressed.
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Editor, Error> {
        let path = path.as_ref();
        // An edit changes the HDUs as stored, including compressed ones.
        let options = &OpenOptions { raw: true, ..options.clone() };
        let file = FitsFile::open_for(&path.into(), options, Purpose::Changing)?;
        let stamp = Stamp::of(path)?;
        // The stamp must belong to the opened file.
        file.shared_bytes().check_unchanged()?;
        if file.bytes() != stamp.bytes() {
            let expected = "a file whose bytes are those of its HDUs";
            let refused = Error::refused(Reason::Edit, expected, "compressed content");
            return Err(refused.at(file.name(), 0));
        }
        let storage = Arc::clone(file.shared_bytes());
        let own: Arc<dyn Source> = Arc::new(StoredSource { storage, own: true, reads_own: true });
        let begin = file.hdus().last().map_or(0, |hdu| hdu.data_offset + padded(hdu.data_bytes));
        let is_error = |warning: &Warning| warning.code().kind() != Kind::Warning;
        Ok(Editor {
            path: path.to_owned(),
            name: file.name().to_owned(),
            stamp,
            notices: file.notices().to_vec(),
            options: options.clone(),
            rest: Rest { begin, unreadable: file.warnings().iter().any(is_error) },
            units: file.hdus().iter().map(|hdu| EditedHdu::of(hdu, &own, true)).collect(),
            own,
        })
    }

    /// Notices about the file, such as an interrupted edit that was undone.
    pub fn notices(&self) -> &[Notice] {
        &self.notices
    }

    /// Name of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of HDUs after the edits.
    pub fn hdus(&self) -> usize {
        self.units.len()
    }

    /// Header of an HDU, as edited. Checksums are updated when the file is written.
    ///
    /// # Errors
    /// [`Reason::NoSuchHdu`].
    pub fn header(&self, hdu: usize) -> Result<&Header, Error> {
        Ok(self.unit(hdu)?.header())
    }

    /// Changes the header of an HDU; the bytes of unchanged cards stay.
    ///
    /// # Errors
    /// Errors of `change`, and [`Reason::Structure`] if a card that determines the position of the
    /// data or the compression of tiles was changed, moved or removed, if the data became
    /// unreadable, two columns would have one name, TDIMn would not fit its column, or EXTEND
    /// denies the extensions that follow. On error the header is unchanged.
    pub fn change_header<T>(
        &mut self,
        hdu: usize,
        change: impl FnOnce(&mut Header) -> Result<T, FormatError>,
    ) -> Result<T, Error> {
        let unit = self.unit(hdu)?;
        let mut header = unit.header().clone();
        let value = self.format_error(change(&mut header))?;
        if let Some((expected, found)) = structure::fault(unit.header(), &header, hdu) {
            return Err(Error::refused(Reason::Structure, expected, found).at(&self.name, hdu));
        }
        let extensions = self.units.len() - 1;
        if hdu == 0
            && extensions > 0
            && denies_extensions(&header)
            && !denies_extensions(unit.header())
        {
            let expected = format!("EXTEND = T, as long as extensions follow, here {extensions}");
            return Err(
                Error::refused(Reason::Structure, expected, "EXTEND = F").at(&self.name, hdu)
            );
        }
        self.units[hdu].changed = Some(header);
        Ok(value)
    }

    /// Sets a keyword, as [`Header::set`]: an empty comment keeps the present one.
    ///
    /// # Errors
    /// As [`Editor::change_header`].
    pub fn set(
        &mut self,
        hdu: usize,
        keyword: &str,
        value: impl Into<Value>,
        comment: &str,
    ) -> Result<(), Error> {
        self.change_header(hdu, |header| header.set(keyword, value, comment))
    }

    /// Removes all cards of a keyword, as [`Header::remove`]; returns their number.
    ///
    /// # Errors
    /// As [`Editor::change_header`].
    pub fn delete(&mut self, hdu: usize, keyword: &str) -> Result<usize, Error> {
        self.change_header(hdu, |header| Ok(header.remove(keyword)))
    }

    /// Renames the first card of a keyword; returns false if there is none.
    ///
    /// # Errors
    /// As [`Editor::change_header`].
    pub fn rename(&mut self, hdu: usize, keyword: &str, to: &str) -> Result<bool, Error> {
        self.change_header(hdu, |header| header.rename(keyword, to))
    }

    /// Inserts a card before the card with index `at`, or after the last.
    ///
    /// # Errors
    /// As [`Editor::change_header`].
    pub fn insert_card(&mut self, hdu: usize, at: usize, card: Card) -> Result<(), Error> {
        self.change_header(hdu, |header| {
            header.insert(at, card);
            Ok(())
        })
    }

    /// Writes DATASUM and CHECKSUM of an HDU on commit, computed from all of its bytes. Existing
    /// sums are updated without this call.
    ///
    /// # Errors
    /// [`Reason::NoSuchHdu`]; [`Reason::DataMissing`] if the data are truncated.
    pub fn update_checksums(&mut self, hdu: usize) -> Result<(), Error> {
        self.check_pixels(hdu)?;
        self.units[hdu].updates_checksums = true;
        Ok(())
    }

    /// Inserts a copy of an HDU of any file, computed or not, before the HDU with index `at`, or at
    /// the end. A primary HDU becomes an IMAGE extension and vice versa, as its position requires;
    /// a table as the first HDU gets a primary HDU without data before it.
    ///
    /// # Errors
    /// [`Reason::NoSuchHdu`], [`Reason::DataMissing`] if the HDU is truncated, [`Reason::Edit`] for
    /// random groups, which cannot be an extension.
    pub fn copy(&mut self, at: usize, from: &FitsFile, hdu: usize) -> Result<(), Error> {
        let original = from.hdu_with_data(hdu)?;
        let storage = Arc::clone(from.storage_of(hdu));
        // The source may be the edited file itself, opened again, or computed from it: bytes that
        // the commit overwrites must be read first.
        let is_file = matches!(from.storage(), "auto" | "positioned" | "mapped" | "direct");
        let reads_own = match from.storage() {
            "memory" => false,
            _ => !is_file || from.shared_bytes().id().version() == self.own.id().version(),
        };
        let own = is_file && reads_own && Arc::ptr_eq(&storage, from.shared_bytes());
        let source: Arc<dyn Source> = Arc::new(StoredSource { storage, own, reads_own });
        let mut unit = EditedHdu::of(original, &source, own);
        unit.updates_checksums =
            from.storage() == "edited" && edited_sums::has_blank(unit.header());
        self.insert(at, unit)
    }

    /// Removes an HDU. If a table becomes the first HDU, a primary HDU without data is inserted before it.
    ///
    /// # Errors
    /// [`Reason::NoSuchHdu`].
    pub fn remove(&mut self, hdu: usize) -> Result<(), Error> {
        self.unit(hdu)?;
        let mut units = self.units.clone();
        units.remove(hdu);
        self.arrange(units)
    }

    /// Returns the edited file for reading; sums that a commit will change are blank.
    ///
    /// # Errors
    /// As [`Editor::commit`], except errors of writing.
    pub fn preview(&self) -> Result<FitsFile, Error> {
        let mut units = self.units.clone();
        for unit in &mut units {
            self.format_error(edited_sums::blank(unit))?;
        }
        let plan = EditPlan::new(&self.name, &units, &self.own, self.rest)?;
        FitsFile::from_storage(Arc::new(plan.checking(&self.own)), &self.options)
    }

    /// Writes all changes. With `sync`, a new file survives a power failure once this returns; a
    /// file changed in place always does.
    ///
    /// # Errors
    /// [`tachyfits_io::IoError::Changed`] if another process changed the file since it was opened,
    /// and if it cannot be written. On error the file is unchanged.
    pub fn commit(self, sync: bool, run: &RunOptions<'_>) -> Result<Committed, Error> {
        let mut units = self.units.clone();
        let tier = tier();
        for unit in &mut units {
            edited_sums::restate(unit, &self.own, run, tier)?;
        }
        let plan = EditPlan::new(&self.name, &units, &self.own, self.rest)?;
        commit::commit(&self.path, &self.stamp, &plan, sync, run)
    }

    pub(super) fn insert(&mut self, at: usize, unit: EditedHdu) -> Result<(), Error> {
        let mut units = self.units.clone();
        units.insert(at.min(units.len()), unit);
        self.arrange(units)
    }

    /// Replaces the list of HDUs; updates the mandatory cards that depend on the position of an
    /// HDU, and EXTEND and NEXTEND of the first HDU.
    fn arrange(&mut self, mut units: Vec<EditedHdu>) -> Result<(), Error> {
        if !units.first().is_some_and(EditedHdu::may_be_first) {
            units.insert(0, EditedHdu::new(Header::empty_primary(), memory(Vec::new())));
        }
        if let Some(index) = (1..units.len()).find(|&index| units[index].must_be_first()) {
            let refused =
                Error::refused(Reason::Edit, "random groups only as the first HDU", "them later");
            return Err(refused.at(&self.name, index));
        }
        for (index, unit) in units.iter_mut().enumerate() {
            let first = if index == 0 { "SIMPLE" } else { "XTENSION" };
            if !unit.header().begins_with(first) {
                let header = unit.header().clone();
                let header =
                    if index == 0 { header.into_primary() } else { header.into_extension() };
                unit.changed = Some(self.format_error(header)?);
            }
        }
        let extensions = units.len() - 1;
        let first = &mut units[0];
        let declared = first.header().get_i64("NEXTEND").ok().flatten();
        if extensions > 0 && denies_extensions(first.header()) {
            self.format_error(first.header_mut().set("EXTEND", true, ""))?;
        }
        if declared.is_some_and(|declared| declared != extensions as i64) {
            self.format_error(first.header_mut().set("NEXTEND", extensions, ""))?;
        }
        self.units = units;
        Ok(())
    }

    fn unit(&self, hdu: usize) -> Result<&EditedHdu, Error> {
        self.units.get(hdu).ok_or_else(|| {
            let expected = format!("an HDU from 0 to {}", self.units.len().saturating_sub(1));
            Error::refused(Reason::NoSuchHdu, expected, hdu.to_string()).at(&self.name, hdu)
        })
    }

    fn format_error<T>(&self, result: Result<T, FormatError>) -> Result<T, Error> {
        result.map_err(|error| Error::Format { file: self.name.clone(), error })
    }
}

/// Whether a primary header denies extensions.
fn denies_extensions(header: &Header) -> bool {
    header.get_logical("EXTEND") == Ok(Some(false))
}
