//! Tables of coordinates (-TAB) that go with an image: copied whole, because a part of an image may need any row.

use tachyfits_format::{Header, TableKind};

use super::{Companion, MOST_BYTES, hdu_bytes};
use crate::error::{Error, Reason};

/// A table of coordinates: its header, and its rows and heap in memory.
#[derive(Debug)]
pub(crate) struct CoordinateTable {
    /// EXTNAME and EXTVER, by which PSi_0 and PVi_1 name it.
    pub(super) name: (String, i64),
    pub(super) header: Header,
    pub(super) data: Vec<u8>,
}

impl CoordinateTable {
    /// Reads the table.
    ///
    /// # Errors
    /// If it is cut short or too large to go along: the image would lose its coordinates.
    pub(super) fn read(file: &str, of: &Companion) -> Result<CoordinateTable, Error> {
        let hdu = &of.hdu;
        let is_binary = hdu.table().is_ok_and(|layout| layout.kind == TableKind::Binary);
        let is_whole = hdu.data_bytes <= hdu.data_bytes_present;
        if !is_binary || !is_whole || hdu.data_bytes > MOST_BYTES {
            let expected = format!("a table of coordinates of at most {MOST_BYTES} bytes");
            let found = format!("{} of {} bytes", hdu.data_bytes_present, hdu.data_bytes);
            return Err(Error::refused(Reason::DataMissing, expected, found).at(file, hdu.index));
        }
        let mut data = vec![0; hdu.data_bytes as usize];
        of.storage.read_exact_at(hdu.data_offset, &mut data)?;
        let mut header = hdu.header.clone();
        for keyword in ["CHECKSUM", "DATASUM"] {
            header.remove(keyword);
        }
        let name = (hdu.extname.clone().unwrap_or_default(), hdu.extver);
        Ok(CoordinateTable { name, header, data })
    }

    /// The bytes of a file whose HDU 1 is the table.
    pub(super) fn file_bytes(&self) -> Vec<u8> {
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
        bytes.extend(hdu_bytes(&self.header, &self.data));
        bytes
    }
}
