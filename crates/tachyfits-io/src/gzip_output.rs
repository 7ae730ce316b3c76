//! Compression of a complete file with gzip.

use std::io::{self, Write};

use flate2::write::GzEncoder;

use crate::error::IoError;
use crate::output::OutputFile;
use crate::storage::Storage;

/// Bytes compressed at a time.
const PIECE_BYTES: u64 = 1 << 20;

/// Writer that appends bytes to an output file, and keeps its error.
struct Appending<'a> {
    output: &'a mut OutputFile,
    error: Option<IoError>,
}

impl Write for Appending<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.output.write_all(bytes).map_err(|error| {
            let kind = io::Error::other(error.to_string());
            self.error = Some(error);
            kind
        })?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Compresses the bytes of a storage with gzip into an output file, as a single member, which every program reads.
///
/// ```
/// use tachyfits_io::{OutputFile, SpoolFile, SpoolOptions, gzip, spool};
///
/// # let directory = tempfile::tempdir()?;
/// # let path = directory.path().join("out.fits.gz");
/// let content = SpoolFile::new("content")?;
/// content.write_all_at(0, b"SIMPLE")?;
/// let mut output = OutputFile::create(&path, false)?;
/// gzip(&*content.finish()?, &mut output)?;
/// output.commit()?;
/// let compressed = std::fs::read(&path)?;
/// let inflated = spool("out.fits.gz", &compressed[..], &SpoolOptions::default())?;
/// assert_eq!(inflated.bytes(), 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`IoError::Write`] if the disk is full or fails, and if the storage cannot be read.
pub fn gzip(content: &dyn Storage, output: &mut OutputFile) -> Result<(), IoError> {
    let path = output.path().to_owned();
    let mut encoder =
        GzEncoder::new(Appending { output, error: None }, flate2::Compression::default());
    let size = content.bytes();
    // At most PIECE_BYTES.
    let mut piece = vec![0; size.min(PIECE_BYTES) as usize];
    let mut at = 0;
    let mut result = Ok(());
    while at < size && result.is_ok() {
        let count = (size - at).min(PIECE_BYTES);
        let piece = &mut piece[..count as usize];
        content.read_exact_at(at, piece)?;
        result = encoder.write_all(piece);
        at += count;
    }
    let result = result.and_then(|()| encoder.try_finish());
    let cause = encoder.get_mut().error.take();
    result.map_err(|source| {
        cause.unwrap_or(IoError::Write { path, offset: at, expected: size, source })
    })
}
