//! Open files, and facts about their HDUs.

use std::path::Path;

use tachyfits::{FitsFile, HduKind, Image, Table};
use tachyfits_memory as memory;

use super::{Call, HeaderHandle, Outcome};
use crate::failure::{Failure, fill};
use crate::types::{
    CFacts, TACHYFITS_HDU_ASCII_TABLE, TACHYFITS_HDU_BINARY_TABLE, TACHYFITS_HDU_IMAGE,
    TACHYFITS_HDU_OTHER, code_of,
};

/// An open file. It is immutable, so threads may share it.
pub struct FileHandle(pub(crate) FitsFile);

impl FileHandle {
    pub(crate) fn open(path: &Path, call: &Call<'_>) -> Outcome<FileHandle> {
        Ok(FileHandle(FitsFile::open(path, &call.opening()?)?))
    }

    /// Opens a copy of these bytes.
    pub(crate) fn of_bytes(name: &str, bytes: &[u8], call: &Call<'_>) -> Outcome<FileHandle> {
        let bytes = memory::copied(bytes, "a copy of the file")?;
        Ok(FileHandle(FitsFile::from_bytes(name, bytes, &call.opening()?)?))
    }

    /// Returns the number of the first HDU with this name, and with this version unless it is 0.
    pub(crate) fn find(&self, name: &str, version: i64) -> Outcome<usize> {
        let is_match = |hdu: &tachyfits::Hdu| {
            let is_version = version == 0 || extver(hdu) == version;
            hdu.is_named(name) && is_version
        };
        let hdus = self.0.hdus();
        hdus.iter().position(|hdu| is_match(hdu)).ok_or_else(|| {
            let label = match version {
                0 => format!("'{name}'"),
                version => format!("'{name}' of EXTVER {version}"),
            };
            let expected = format!("an EXTNAME of {}", self.0.name());
            let hint = "see tachyfits_describe for the names of all HDUs";
            Failure::argument("HDU", label, &expected, hint)
        })
    }

    pub(crate) fn facts(&self, index: usize) -> Outcome<CFacts> {
        let hdu = self.0.hdu(index)?;
        let mut facts = CFacts {
            bytes: size_of::<CFacts>() as u32,
            kind: TACHYFITS_HDU_OTHER,
            pixel_type: 0,
            stored_type: 0,
            naxis: 0,
            is_scaled: 0,
            scale: 1.0,
            zero: 0.0,
            has_blank: 0,
            is_compressed: u32::from(!std::ptr::eq(&**hdu, &**self.0.stored_hdu(index)?)),
            blank: 0,
            axes: [1; 8],
            pixels: 0,
            rows: 0,
            columns: 0,
            extver: extver(hdu),
            extname: [0; 72],
        };
        fill(
            &mut facts.extname,
            hdu.header.get_text("EXTNAME").ok().flatten().unwrap_or("").trim(),
        );
        match hdu.kind {
            HduKind::Primary | HduKind::Image | HduKind::RandomGroups => {
                let image = self.0.image(index)?;
                let layout = image.layout();
                if layout.axes.is_empty() {
                    return Ok(facts);
                }
                facts.kind = TACHYFITS_HDU_IMAGE;
                facts.pixel_type = code_of(image.pixel_type());
                facts.stored_type = code_of(image.stored_type());
                facts.naxis = layout.axes.len() as u32;
                for (place, length) in facts.axes.iter_mut().zip(&layout.axes) {
                    *place = *length;
                }
                facts.pixels = layout.pixels;
                (facts.scale, facts.zero) = (layout.scale, layout.zero);
                facts.is_scaled = u32::from(layout.scaled);
                facts.has_blank = u32::from(layout.blank.is_some());
                facts.blank = layout.blank.unwrap_or(0);
            }
            HduKind::BinaryTable | HduKind::AsciiTable => {
                let table = self.0.table(index)?;
                facts.kind = match hdu.kind {
                    HduKind::AsciiTable => TACHYFITS_HDU_ASCII_TABLE,
                    _ => TACHYFITS_HDU_BINARY_TABLE,
                };
                facts.rows = table.layout().rows;
                facts.columns = table.layout().columns.len() as u64;
            }
            HduKind::Unknown(_) => {}
        }
        Ok(facts)
    }

    pub(crate) fn header(&self, index: usize) -> Outcome<HeaderHandle> {
        Ok(HeaderHandle(self.0.hdu(index)?.header.clone()))
    }

    /// Returns the image with other cards, except those of its structure and scaling.
    pub(crate) fn with_header(&self, index: usize, header: &HeaderHandle) -> Outcome<FileHandle> {
        let image = self.image(index)?;
        Ok(FileHandle(image.with_header(|cards| {
            *cards = header.0.clone();
            Ok(())
        })?))
    }

    pub(crate) fn warning(&self, number: usize) -> Option<String> {
        self.0.warnings().get(number).map(ToString::to_string)
    }

    pub(crate) fn image(&self, index: usize) -> Outcome<Image> {
        Ok(self.0.image(index)?)
    }

    pub(crate) fn table(&self, index: usize) -> Outcome<Table> {
        Ok(self.0.table(index)?)
    }
}

fn extver(hdu: &tachyfits::Hdu) -> i64 {
    hdu.header.get_i64("EXTVER").ok().flatten().unwrap_or(1)
}
