//! Tables of coordinates (-TAB) and images of corrections that accompany an image. They are copied
//! whole, because a part of an image may need any row.

use tachyfits_format::{FormatError, HduKind, Header, Real, TableKind, Value};
use tachyfits_memory::{self as memory, NoMemory};

use super::{Companion, MOST_BYTES, hdu_bytes};
use crate::error::{Error, Reason};

/// A table of coordinates or an image of corrections: its header, and its data in memory.
#[derive(Clone, Debug)]
pub(crate) struct CoordinateTable {
    /// EXTNAME and EXTVER, to which PSi_0 and PVi_1, or DPi and D2IMi, refer.
    pub(super) name: (String, i64),
    /// Whether it is an image, whose CRVAL1 and CRVAL2 are pixels of the corrected image.
    is_lookup: bool,
    pub(super) header: Header,
    pub(super) data: Vec<u8>,
}

impl CoordinateTable {
    /// Reads the table.
    ///
    /// # Errors
    /// If it is truncated or too large: without it, the image would lose its coordinates.
    pub(super) fn read(file: &str, of: &Companion) -> Result<CoordinateTable, Error> {
        let hdu = &of.hdu;
        let is_lookup = hdu.kind == HduKind::Image;
        let is_binary = hdu.table().is_ok_and(|layout| layout.kind == TableKind::Binary);
        let is_whole = hdu.data_bytes <= hdu.data_bytes_present;
        if !(is_lookup || is_binary) || !is_whole || hdu.data_bytes > MOST_BYTES {
            let expected = format!("a table of coordinates of at most {MOST_BYTES} bytes");
            let found = format!("{} of {} bytes", hdu.data_bytes_present, hdu.data_bytes);
            return Err(Error::refused(Reason::DataMissing, expected, found).at(file, hdu.index));
        }
        let mut data = memory::filled(hdu.data_bytes as usize, 0, "a table of coordinates")?;
        of.storage.read_exact_at(hdu.data_offset, &mut data)?;
        let mut header = hdu.header.clone();
        for keyword in ["CHECKSUM", "DATASUM"] {
            header.remove(keyword);
        }
        let name = (hdu.extname.clone().unwrap_or_default(), hdu.extver);
        Ok(CoordinateTable { name, is_lookup, header, data })
    }

    /// Shifts an image of corrections for a part of the pixels that begins at `corner`; tables are unchanged.
    pub(super) fn moved(&self, corner: [f64; 2]) -> Result<CoordinateTable, FormatError> {
        let mut table = self.clone();
        if self.is_lookup {
            for (keyword, pixels) in ["CRVAL1", "CRVAL2"].into_iter().zip(corner) {
                let value = table.header.get_f64(keyword)?.unwrap_or(0.0) - pixels;
                if pixels != 0.0
                    && let Some(real) = Real::from_f64(value)
                {
                    table.header.set(keyword, Value::Real(real), "")?;
                }
            }
        }
        Ok(table)
    }

    /// Returns the bytes of a file whose HDU 1 is the table.
    pub(super) fn file_bytes(&self) -> Result<Vec<u8>, NoMemory> {
        let mut bytes: Vec<u8> = Vec::new();
        for card in [
            "SIMPLE  =                    T",
            "BITPIX  =                    8",
            "NAXIS   =                    0",
            "END",
        ] {
            bytes.extend(format!("{card:<80}").as_bytes());
        }
        bytes.resize(2880, b' ');
        memory::extend(
            &mut bytes,
            &hdu_bytes(&self.header, &self.data)?,
            "a table of coordinates",
        )?;
        Ok(bytes)
    }
}
