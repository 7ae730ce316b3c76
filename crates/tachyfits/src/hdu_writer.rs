//! Writer of the next HDU of a new file: reserves the header, writes data in any order from any
//! thread, and writes the header last.

use std::sync::{Mutex, PoisonError};

use tachyfits_format::{Header, padded};
use tachyfits_kernels::{OnesComplement, Tier};

use crate::byte_sums::update_checksums;
use crate::error::Error;
use crate::file_writer::FileWriter;

/// Writer of an HDU; each call receives the file.
#[derive(Debug)]
pub(crate) struct HduWriter {
    /// Offset of the header in the file.
    begin: u64,
    /// Bytes reserved for the header.
    header_bytes: u64,
    /// Sum of the written bytes, if checksums are requested.
    sum: Option<Mutex<OnesComplement>>,
    tier: Tier,
}

impl HduWriter {
    /// Begins an HDU whose header has as many blocks as `header`, with at least `data_bytes` bytes of data.
    ///
    /// # Errors
    /// If the disk is full.
    pub(crate) fn begin(
        file: &mut FileWriter,
        header: &Header,
        data_bytes: u64,
    ) -> Result<HduWriter, Error> {
        let (begin, header_bytes) = (file.end(), header.block_bytes());
        file.reserve(begin + header_bytes + padded(data_bytes))?;
        let sum = file.updates_checksums().then(Mutex::default);
        Ok(HduWriter { begin, header_bytes, sum, tier: file.tier() })
    }

    /// Offset of the data in the file.
    pub(crate) fn data_begin(&self) -> u64 {
        self.begin + self.header_bytes
    }

    /// Writes data from byte `offset` of the data on, from any thread; each byte must be written once.
    ///
    /// # Errors
    /// If writing fails.
    pub(crate) fn write(&self, file: &FileWriter, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        if let Some(sum) = &self.sum {
            let mut part = OnesComplement::default();
            part.accumulate(offset, bytes, self.tier);
            sum.lock().unwrap_or_else(PoisonError::into_inner).merge(part);
        }
        file.write_all_at(self.data_begin() + offset, bytes)
    }

    /// Ends the HDU with its header, once all `data_bytes` are written; `fill` is the padding byte.
    ///
    /// # Errors
    /// If writing fails.
    pub(crate) fn finish(
        self,
        file: &mut FileWriter,
        mut header: Header,
        data_bytes: u64,
        fill: u8,
    ) -> Result<(), Error> {
        // At most the bytes of a block.
        let padding = vec![fill; (padded(data_bytes) - data_bytes) as usize];
        self.write(file, data_bytes, &padding)?;
        let (begin, end) = (self.begin, self.data_begin() + padded(data_bytes));
        header.fit(self.header_bytes);
        if let Some(sum) = self.sum {
            let data = sum.into_inner().unwrap_or_else(PoisonError::into_inner);
            file.format_error(update_checksums(&mut header, data, self.tier))?;
        }
        file.write_all_at(begin, &header.to_bytes())?;
        file.ended(end);
        Ok(())
    }
}
