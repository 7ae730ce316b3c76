//! Repairs that need no guessing: the notation of headers, and the fill after headers and data.
//! Values are never changed, and a sum that was wrong stays wrong: it records that the data have
//! changed.

use std::ops::Range;

use tachyfits_format::{Code, Field, Fix, Hdu, HduKind, Place, Rule, ValueType, fixed_header};
use tachyfits_io::{Storage, fetch};

use super::content::Rope;
use super::{EditedHdu, Editor};
use crate::error::{Error, Reason};
use crate::file::FitsFile;

/// Bytes after the last HDU that are checked together.
const PIECE_BYTES: u64 = 1 << 20;

impl Editor {
    /// Repairs the findings that [`crate::verify::Finding::fixable`] marks, when the editor is
    /// committed, and lists the repairs.
    ///
    /// # Errors
    /// If the file cannot be read, and [`Reason::Edit`] if a repair would make an HDU less
    /// readable. On error nothing is changed.
    ///
    /// ```
    /// use tachyfits::{Editor, OpenOptions, RunOptions, verify};
    /// use tachyfits::verify::VerifyOptions;
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("free.fits");
    /// let cards = ["SIMPLE  = T", "BITPIX  = 16", "NAXIS   = 0", "END"];
    /// let mut bytes: Vec<u8> = cards.iter().flat_map(|card| format!("{card:<80}").into_bytes()).collect();
    /// bytes.resize(2880, b' ');
    /// std::fs::write(&path, bytes)?;
    /// let mut editor = Editor::open(&path, &OpenOptions::default())?;
    /// assert_eq!(editor.repair()?.len(), 3);
    /// editor.commit(false, &RunOptions::default())?;
    /// assert_eq!(verify(&path, &VerifyOptions::default(), &RunOptions::default())?.findings, []);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn repair(&mut self) -> Result<Vec<Fix>, Error> {
        let (units, rest) = (self.units.clone(), self.rest);
        let before = self.preview()?;
        let fixes = self.fix_all().and_then(|fixes| self.check_readable(&before).map(|()| fixes));
        if fixes.is_err() {
            (self.units, self.rest) = (units, rest);
        }
        fixes
    }

    /// Checks that every HDU of the repaired file has the same shape and is at least as readable.
    fn check_readable(&self, before: &FitsFile) -> Result<(), Error> {
        let after = self.preview()?;
        let changed = |index: usize| {
            let expected = "a repaired file whose HDUs can all be read as before";
            let found = "damage that the repair would worsen";
            Error::refused(Reason::Edit, expected, found).at(&self.name, index)
        };
        for (index, old) in before.hdus().iter().enumerate() {
            let new = after.hdus().get(index).ok_or_else(|| changed(index))?;
            let shape = |hdu: &Hdu| {
                let counts = (hdu.parameter_count, hdu.group_count, hdu.data_bytes);
                (hdu.kind.clone(), hdu.axes.clone(), hdu.stored, counts)
            };
            let is_worse = |old: Readable, new: Readable| match (old, new) {
                (Readable::No, _) => false,
                (old, new) => old != new,
            };
            if shape(old) != shape(new) || is_worse(Readable::of(old), Readable::of(new)) {
                return Err(changed(index));
            }
        }
        Ok(())
    }

    fn fix_all(&mut self) -> Result<Vec<Fix>, Error> {
        let mut fixes = Vec::new();
        for unit in &mut self.units {
            let Some(hdu) = unit.origin.clone() else { continue };
            let (header, header_fixes) = fixed_header(unit.header(), Some(&hdu));
            if !header_fixes.is_empty() {
                unit.changed = Some(header);
                fixes.extend(header_fixes);
            }
            fixes.extend(repair_fill(unit, &hdu)?);
            // An HDU copied from another file has other offsets.
            fixes.extend(missing_fill(&hdu, self.own.bytes()).filter(|_| unit.own));
        }
        fixes.extend(self.repair_rest()?);
        Ok(fixes)
    }

    /// Removes the bytes after the last HDU, if all are zero.
    fn repair_rest(&mut self) -> Result<Option<Fix>, Error> {
        let rest = self.rest.begin..self.own.bytes();
        if rest.is_empty() || self.rest.unreadable || !is_zeros(&*self.own, rest.clone())? {
            return Ok(None);
        }
        self.rest.begin = rest.end;
        let place = Place { offset: Some(rest.start), ..Place::default() };
        let before = format!("{} zeros after the last HDU", rest.end - rest.start);
        let after = "the end of the file".to_owned();
        Ok(Some(Fix::new(Code::TrailingBytes.as_str(), place, before, after)))
    }
}

/// Interpretation of the values of an HDU.
#[derive(PartialEq)]
enum Readable {
    No,
    /// The type of the pixels, BSCALE, BZERO and BLANK.
    Image(ValueType, f64, f64, Option<i64>),
    /// The offset and the field of each column.
    Table(Vec<(u64, Field)>),
    Other,
}

impl Readable {
    fn of(hdu: &Hdu) -> Readable {
        match hdu.kind {
            HduKind::Primary | HduKind::Image => match hdu.image() {
                Ok(image) => Readable::Image(image.value, image.scale, image.zero, image.blank),
                Err(_) => Readable::No,
            },
            HduKind::BinaryTable | HduKind::AsciiTable => match hdu.table() {
                Ok(table) => {
                    let columns = table.columns.iter();
                    Readable::Table(columns.map(|column| (column.offset, column.field)).collect())
                }
                Err(_) => Readable::No,
            },
            _ => Readable::Other,
        }
    }
}

/// Replaces the fill after the data with zeros, or blanks for an ASCII table.
fn repair_fill(unit: &mut EditedHdu, hdu: &Hdu) -> Result<Option<Fix>, Error> {
    let (Some(before), after) = (unit.fill.clone(), unit.new_fill()) else { return Ok(None) };
    let bytes = |rope: &Rope| -> Result<Vec<u8>, Error> {
        // At most the bytes of a block.
        let mut bytes = vec![0; rope.bytes() as usize];
        rope.read(0, &mut bytes)?;
        Ok(bytes)
    };
    let (old, new) = (bytes(&before)?, bytes(&after)?);
    let Some(at) = (0..old.len()).find(|&at| old[at] != new[at]) else { return Ok(None) };
    unit.forget_fill();
    let place = Place {
        hdu: Some(hdu.index),
        offset: Some(hdu.data_offset + hdu.data_bytes + at as u64),
        ..Place::default()
    };
    let (before, after) = (format!("0x{:02x}", old[at]), format!("0x{:02x}", new[at]));
    Ok(Some(Fix::new(Rule::DataFill.as_str(), place, before, after)))
}

/// Reports a file that ends within a block; writing it completes the block.
fn missing_fill(hdu: &Hdu, file_bytes: u64) -> Option<Fix> {
    let code = match hdu.data_bytes {
        0 if hdu.data_offset > file_bytes => Code::HeaderPadding,
        bytes if bytes > 0 && hdu.data_bytes_present == bytes && hdu.end_offset() > file_bytes => {
            Code::DataPadding
        }
        _ => return None,
    };
    let place = Place { hdu: Some(hdu.index), offset: Some(file_bytes), ..Place::default() };
    let before = "the end of the file within a block".to_owned();
    Some(Fix::new(code.as_str(), place, before, "fill up to 2880 bytes".to_owned()))
}

/// Whether all bytes of a range are zero.
pub(crate) fn is_zeros(storage: &dyn Storage, range: Range<u64>) -> Result<bool, Error> {
    let mut at = range.start;
    while at < range.end {
        let piece = at..range.end.min(at + PIECE_BYTES);
        at = piece.end;
        let zeros = fetch(
            storage,
            |ranges| ranges.push(piece),
            |fetched| fetched.piece(0).iter().all(|&byte| byte == 0),
        )?;
        if !zeros {
            return Ok(false);
        }
    }
    Ok(true)
}
