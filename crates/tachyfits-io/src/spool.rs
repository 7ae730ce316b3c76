//! Input that can only be read sequentially (gzip content, a pipe, a stream), copied to a storage that can be read at
//! offsets: in memory if it is small, otherwise in an unlinked temporary file, up to a limit.
//!
//! The temporary file has no name, so nothing is left behind however the process ends.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use flate2::bufread::GzDecoder;
use tachyfits_memory as memory;

use crate::backend::file::FileStorage;
use crate::backend::memory::MemoryStorage;
use crate::error::IoError;
use crate::executor::CancelToken;
use crate::storage::Storage;

/// Compressed format, recognised by the first bytes of the content and never by a name. Only gzip is inflated here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Compression {
    /// RFC 1952.
    Gzip,
    /// The format of bzip2.
    Bzip2,
    /// The .xz container of XZ Utils.
    Xz,
    /// RFC 8878.
    Zstd,
}

impl Compression {
    /// Number of first bytes that [`Compression::of`] needs.
    pub const MAGIC_BYTES: usize = 10;

    /// Returns the format of content that begins with these bytes; `None` if it is not compressed.
    ///
    /// ```
    /// use tachyfits_io::Compression;
    /// assert_eq!(Compression::of(b"\x28\xb5\x2f\xfd"), Some(Compression::Zstd));
    /// assert_eq!(Compression::of(b"SIMPLE  = "), None);
    /// ```
    pub fn of(first: &[u8]) -> Option<Compression> {
        // bzip2: the level, then the magic number of a block, or of the end of an empty stream.
        let is_bzip2 = |rest: &[u8]| {
            matches!(rest, [b'1'..=b'9', block @ ..]
                if block.starts_with(b"1AY&SY") || block.starts_with(b"\x17\x72\x45\x38\x50\x90"))
        };
        match first {
            [0x1f, 0x8b, ..] => Some(Compression::Gzip),
            [b'B', b'Z', b'h', rest @ ..] if is_bzip2(rest) => Some(Compression::Bzip2),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Compression::Xz),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Compression::Zstd),
            _ => None,
        }
    }

    /// Returns the name in lower case.
    pub fn name(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip",
            Compression::Bzip2 => "bzip2",
            Compression::Xz => "xz",
            Compression::Zstd => "zstd",
        }
    }
}

/// The first byte of a gzip member (RFC 1952, section 2.3.1).
const GZIP_FIRST: u8 = 0x1f;

const BLOCK_BYTES: usize = 256 << 10;

options! {
    /// Limits for unseekable or compressed input, and the place where it is kept.
    #[derive(Clone, Debug)]
    pub struct SpoolOptions {
        /// Maximum bytes kept in memory; 64 MiB.
        pub memory_bytes: u64,
        /// Maximum bytes of the input; 64 GiB. A few kB of gzip can inflate to gigabytes.
        pub total_bytes: u64,
        /// Directory of the temporary file; `None` means the system's (`TMPDIR`).
        pub directory: Option<PathBuf>,
        /// Token that is checked after each block of 256 KiB.
        pub token: CancelToken,
        /// Checks whether the first block may begin the expected content; `None` accepts any. The rest of other
        /// content, which may be a few kB that inflate to gigabytes, is not read, and the storage ends with that block.
        pub is_content: Option<fn(&[u8]) -> bool>,
    }
}

impl Default for SpoolOptions {
    fn default() -> SpoolOptions {
        let token = CancelToken::new();
        SpoolOptions {
            memory_bytes: 64 << 20,
            total_bytes: 64 << 30,
            directory: None,
            token,
            is_content: None,
        }
    }
}

/// Reads `reader` to its end into a storage; inflates gzip content.
///
/// ```
/// use tachyfits_io::{SpoolOptions, spool};
///
/// let storage = spool("standard input", &b"SIMPLE  ="[..], &SpoolOptions::default())?;
/// assert_eq!(storage.bytes(), 9);
/// # Ok::<(), tachyfits_io::IoError>(())
/// ```
///
/// # Errors
/// If reading fails, the gzip content is damaged, a limit is exceeded or the temporary file cannot be written.
/// [`IoError::Cancelled`] if the token is cancelled.
pub fn spool(
    name: &str,
    reader: impl Read,
    options: &SpoolOptions,
) -> Result<Arc<dyn Storage>, IoError> {
    let mut reader = BufReader::with_capacity(BLOCK_BYTES, reader);
    let mut writer = SpoolWriter::new(name, options.clone());
    // A pipe may deliver its first byte alone, so the first bytes, at most a few, are read separately.
    let mut first = Vec::with_capacity(Compression::MAGIC_BYTES);
    let result = reader.by_ref().take(Compression::MAGIC_BYTES as u64).read_to_end(&mut first);
    result.map_err(|source| writer.read_error(source))?;
    let compression = Compression::of(&first);
    let mut input = io::Cursor::new(first).chain(reader);
    match compression {
        Some(Compression::Gzip) => inflate(input, &mut writer)?,
        _ => writer.copy(&mut input).map(drop)?,
    }
    writer.finish()
}

/// Returns the compression format of a storage, according to its first bytes.
///
/// # Errors
/// If the first bytes cannot be read.
pub fn compression_of(storage: &dyn Storage) -> Result<Option<Compression>, IoError> {
    let mut first = [0; Compression::MAGIC_BYTES];
    let length = first.len().min(usize::try_from(storage.bytes()).unwrap_or(usize::MAX));
    storage.read_exact_at(0, &mut first[..length])?;
    Ok(Compression::of(&first[..length]))
}

/// Sequential reader of a storage.
pub(crate) struct StorageReader<'a> {
    storage: &'a dyn Storage,
    offset: u64,
}

impl<'a> StorageReader<'a> {
    pub(crate) fn new(storage: &'a dyn Storage) -> StorageReader<'a> {
        StorageReader { storage, offset: 0 }
    }
}

impl Read for StorageReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = self.storage.bytes() - self.offset;
        let length = buffer.len().min(usize::try_from(rest).unwrap_or(usize::MAX));
        self.storage.read_exact_at(self.offset, &mut buffer[..length]).map_err(io::Error::other)?;
        self.offset += length as u64;
        Ok(length)
    }
}

/// Inflates all members, one after another. Zeros may follow the last one (RFC 1952 does not mention padding, but tapes
/// have it).
fn inflate(mut reader: impl BufRead, writer: &mut SpoolWriter) -> Result<(), IoError> {
    let mut member = 0;
    loop {
        let mut decoder = GzDecoder::new(reader);
        writer.member = Some(member);
        if writer.copy(&mut decoder)? == Copied::FirstBlock {
            return Ok(());
        }
        reader = decoder.into_inner();
        let rest = skip_zeros(&mut reader).map_err(|source| writer.read_error(source))?;
        match rest {
            None => return Ok(()),
            Some((0, first)) if first == GZIP_FIRST => member += 1,
            Some((zeros, first)) => {
                let detail = format!("followed by {zeros} zeros and then a byte {first:#04x}");
                return Err(writer.gzip_error(&detail));
            }
        }
    }
}

/// Skips zeros; returns their number and the first other byte, or `None` at the end of the input.
fn skip_zeros(reader: &mut impl BufRead) -> io::Result<Option<(u64, u8)>> {
    let mut zeros = 0;
    loop {
        let buffer = reader.fill_buf()?;
        if buffer.is_empty() {
            return Ok(None);
        }
        let length = buffer.len();
        let position = buffer.iter().position(|&byte| byte != 0).map(|at| (at, buffer[at]));
        let skipped = position.map_or(length, |(at, _)| at);
        reader.consume(skipped);
        zeros += skipped as u64;
        if let Some((_, first)) = position {
            return Ok(Some((zeros, first)));
        }
    }
}

/// Content that [`SpoolWriter::copy`] added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Copied {
    All,
    /// The first block of unexpected content.
    FirstBlock,
}

/// Writer of sequential bytes that become a storage: the counterpart of [`spool()`] for callers that produce bytes.
///
/// ```
/// use tachyfits_io::{SpoolOptions, SpoolWriter};
///
/// let mut kept = SpoolWriter::new("heap", SpoolOptions::default());
/// kept.write_all(b"SIMPLE")?;
/// kept.write_all(b"  =")?;
/// assert_eq!((kept.bytes(), kept.finish()?.bytes()), (9, 9));
/// # Ok::<(), tachyfits_io::IoError>(())
/// ```
#[derive(Debug)]
pub struct SpoolWriter {
    name: String,
    options: SpoolOptions,
    memory: Vec<u8>,
    file: Option<File>,
    bytes: u64,
    /// Number of the gzip member that is being inflated; `None` for other input.
    member: Option<u64>,
}

impl SpoolWriter {
    /// Returns an empty writer; `name` is for messages.
    pub fn new(name: &str, options: SpoolOptions) -> SpoolWriter {
        let name = name.to_owned();
        SpoolWriter { name, options, memory: Vec::new(), file: None, bytes: 0, member: None }
    }

    /// Returns the number of bytes so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds all bytes of a reader, or only the first block of unexpected content.
    fn copy(&mut self, reader: &mut impl Read) -> Result<Copied, IoError> {
        let mut block = vec![0; BLOCK_BYTES];
        loop {
            let count = self.fill(reader, &mut block)?;
            let is_first = self.bytes == 0;
            self.write_all(&block[..count])?;
            if is_first
                && count > 0
                && self.options.is_content.is_some_and(|is| !is(&block[..count]))
            {
                return Ok(Copied::FirstBlock);
            }
            if count < block.len() {
                return Ok(Copied::All);
            }
            if self.options.token.is_cancelled() {
                return Err(IoError::Cancelled);
            }
        }
    }

    /// Fills a block, unless the reader ends before; returns the number of bytes.
    fn fill(&self, reader: &mut impl Read, block: &mut [u8]) -> Result<usize, IoError> {
        let mut count = 0;
        while count < block.len() {
            match reader.read(&mut block[count..]) {
                Ok(0) => break,
                Ok(more) => count += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.read_error(error)),
            }
        }
        Ok(count)
    }

    /// Adds bytes.
    ///
    /// # Errors
    /// [`IoError::Limit`], [`IoError::Memory`], [`IoError::Temporary`].
    pub fn write_all(&mut self, block: &[u8]) -> Result<(), IoError> {
        let total = self.bytes + block.len() as u64;
        if total > self.options.total_bytes {
            let limit = self.options.total_bytes;
            return Err(IoError::Limit { name: self.name.clone(), limit });
        }
        if self.file.is_none() && total > self.options.memory_bytes {
            let mut file = self.temporary().map_err(|source| self.temporary_error(source))?;
            file.write_all(&self.memory).map_err(|source| self.temporary_error(source))?;
            self.memory = Vec::new();
            self.file = Some(file);
        }
        match &mut self.file {
            Some(file) => {
                let result = file.write_all(block);
                result.map_err(|source| self.temporary_error(source))?;
            }
            None => {
                let extended = memory::extend(&mut self.memory, block, "a spooled file");
                let name = || self.name.clone();
                extended.map_err(|_| IoError::Memory { name: name(), bytes: total })?;
            }
        }
        self.bytes = total;
        Ok(())
    }

    /// Returns the storage of all bytes.
    ///
    /// # Errors
    /// If the temporary file cannot be examined.
    pub fn finish(self) -> Result<Arc<dyn Storage>, IoError> {
        Ok(match self.file {
            Some(file) => Arc::new(FileStorage::from_file(Path::new(&self.name), file)?),
            None => Arc::new(MemoryStorage::new(self.name, self.memory)),
        })
    }

    fn temporary(&self) -> io::Result<File> {
        match &self.options.directory {
            Some(directory) => tempfile::tempfile_in(directory),
            None => tempfile::tempfile(),
        }
    }

    fn temporary_error(&self, source: io::Error) -> IoError {
        let directory = self.options.directory.clone().unwrap_or_else(std::env::temp_dir);
        IoError::Temporary { directory, source }
    }

    fn gzip_error(&self, detail: &str) -> IoError {
        IoError::Gzip {
            name: self.name.to_owned(),
            member: self.member.unwrap_or(0),
            inflated: self.bytes,
            detail: detail.to_owned(),
        }
    }

    /// Returns the error of a failed read: a few kinds mean damage found by the decoder, all others come from the
    /// input.
    fn read_error(&self, source: io::Error) -> IoError {
        // A storage that is inflated already returns a complete error.
        let source = match source.downcast::<IoError>() {
            Ok(error) => return error,
            Err(source) => source,
        };
        match (self.member, source.kind()) {
            (Some(_), io::ErrorKind::UnexpectedEof) => self.gzip_error("it is cut short"),
            (Some(_), io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData) => {
                self.gzip_error(&source.to_string())
            }
            _ => IoError::Read {
                name: self.name.to_owned(),
                offset: self.bytes,
                expected: BLOCK_BYTES as u64,
                source,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK_BYTES, Compression, SpoolOptions, compression_of, spool};
    use crate::CancelToken;
    use crate::conformance::{storage_suite, temporary_file};
    use crate::{IoError, Source, SourceOptions, Storage, StorageKind, open};
    use flate2::write::GzEncoder;
    use proptest::prelude::*;
    use std::io::Write;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn the_token_is_asked_after_each_block() {
        let content = vec![7; 8 * BLOCK_BYTES];
        for bytes in [gzip(&content), content] {
            let calls = Arc::new(AtomicUsize::new(0));
            let count = Arc::clone(&calls);
            let third = move || count.fetch_add(1, Ordering::Relaxed) == 2;
            let token = CancelToken::new().polling(third);
            let options = SpoolOptions { token, ..SpoolOptions::default() };
            let error = spool("x", &bytes[..], &options).unwrap_err();
            assert_eq!((error.code(), calls.load(Ordering::Relaxed)), ("io-cancelled", 3));
        }
    }

    fn all(storage: &dyn Storage) -> Vec<u8> {
        let mut content = vec![0; storage.bytes() as usize];
        storage.read_exact_at(0, &mut content).unwrap();
        content
    }

    /// Returns reproducible bytes that compress moderately.
    fn sample(length: usize) -> Vec<u8> {
        (0..length as u64).map(|i| (i.wrapping_mul(i) >> 5) as u8).collect()
    }

    #[test]
    fn gzip_conforms_in_memory_and_in_a_temporary_file() {
        for memory_bytes in [64 << 20, 100] {
            storage_suite(|content| {
                let (_directory, path) = temporary_file(&gzip(content));
                let options = SpoolOptions { memory_bytes, ..SpoolOptions::default() };
                let kind = StorageKind::Positioned;
                let options = SourceOptions { kind, spool: options, ..SourceOptions::default() };
                Source::from(&path).open(&options, &mut Vec::new()).unwrap()
            });
        }
    }

    #[test]
    fn where_the_content_is_kept_follows_from_its_size() {
        let options = SpoolOptions { memory_bytes: 1000, ..SpoolOptions::default() };
        let kind = |length| spool("pipe", &vec![3; length][..], &options).unwrap().kind();
        assert_eq!((kind(1000), kind(1001)), ("memory", "positioned"));
    }

    #[test]
    fn every_kind_of_storage_inflates_and_keeps_the_name() {
        let content = sample(300_000);
        let (_directory, path) = temporary_file(&gzip(&content));
        use StorageKind::{Direct, Mapped, Memory, Positioned};
        for kind in [Positioned, Mapped, Direct, Memory] {
            let storage = open(&path, kind).unwrap();
            assert_eq!(all(&*storage), content);
            assert_eq!(storage.name(), path.display().to_string());
        }
    }

    #[test]
    fn bytes_in_memory_are_inflated_as_files_are() {
        let content = sample(300_000);
        for bytes in [gzip(&content), content.clone()] {
            let storage = open(Source::bytes("<bytes>", bytes), StorageKind::Auto).unwrap();
            assert_eq!(all(&*storage), content);
        }
    }

    #[test]
    fn other_compressions_are_kept_as_they_are_and_named() {
        let formats: [(&[u8], Compression); 4] = [
            (b"BZh91AY&SY....", Compression::Bzip2),
            (b"BZh5\x17\x72\x45\x38\x50\x90\0\0\0\0", Compression::Bzip2),
            (b"\xfd7zXZ\0\0\x04", Compression::Xz),
            (b"\x28\xb5\x2f\xfd....", Compression::Zstd),
        ];
        for (content, expected) in formats {
            let options = SpoolOptions::default();
            let (_directory, path) = temporary_file(content);
            let storages = [
                spool("pipe", content, &options).unwrap(),
                open(Source::bytes("<bytes>", content), StorageKind::Auto).unwrap(),
                open(&path, StorageKind::Auto).unwrap(),
            ];
            for storage in storages {
                assert_eq!(compression_of(&*storage).unwrap(), Some(expected));
                assert_eq!(all(&*storage), content);
            }
        }
        for plain in [&b"BZh9 is a title"[..], b"BZh", b"\xfd7zXZ", b""] {
            assert_eq!(Compression::of(plain), None);
        }
    }

    #[test]
    fn members_are_joined_and_zeros_after_the_last_are_padding() {
        let (one, two) = (sample(70_000), sample(500));
        let mut compressed = gzip(&one);
        compressed.extend(gzip(&[]));
        compressed.extend(gzip(&two));
        compressed.extend([0; 1000]);
        let storage = spool("cube.fits.gz", &compressed[..], &SpoolOptions::default()).unwrap();
        assert_eq!(all(&*storage), [one, two].concat());
    }

    #[test]
    fn other_bytes_after_the_last_member_are_damage() {
        for (tail, member) in [(&b"more"[..], 0), (b"\0\0\x1f\x8b", 0), (b"\x1f", 1)] {
            let compressed = [&gzip(&sample(100)), tail].concat();
            let error = spool("a.gz", &compressed[..], &SpoolOptions::default()).unwrap_err();
            let IoError::Gzip { member: found, inflated, .. } = error else { panic!("{error}") };
            assert_eq!((found, inflated), (member, 100), "{tail:?}");
        }
    }

    #[test]
    fn every_truncation_is_an_error() {
        let compressed = gzip(&sample(2000));
        for length in 2..compressed.len() {
            let result = spool("a.gz", &compressed[..length], &SpoolOptions::default());
            assert_eq!(result.unwrap_err().code(), "io-gzip", "cut at {length}");
        }
    }

    #[test]
    fn a_bomb_stops_at_the_limit() {
        let compressed = gzip(&vec![0; 5 << 20]);
        assert!(compressed.len() < 100_000);
        let options =
            SpoolOptions { memory_bytes: 1 << 20, total_bytes: 4 << 20, ..SpoolOptions::default() };
        let error = spool("bomb.gz", &compressed[..], &options).unwrap_err();
        assert!(matches!(error, IoError::Limit { limit: 4_194_304, .. }), "{error}");
    }

    #[test]
    fn content_that_is_not_looked_for_ends_with_its_first_block() {
        let begins = |first: &[u8]| first.starts_with(b"SIMPLE");
        let options = SpoolOptions::default().is_content(Some(begins));
        for content in [vec![0; 9 * BLOCK_BYTES], b"SIMP".to_vec()] {
            for bytes in [gzip(&content), content.clone()] {
                let storage = spool("x", &bytes[..], &options).unwrap();
                assert_eq!(all(&*storage), content[..content.len().min(BLOCK_BYTES)]);
            }
        }
        let whole = [b"SIMPLE".to_vec(), vec![0; 3 * BLOCK_BYTES]].concat();
        let later = [gzip(&[]), gzip(&whole)].concat();
        for bytes in [later, gzip(&whole), whole.clone()] {
            assert_eq!(all(&*spool("x", &bytes[..], &options).unwrap()), whole);
        }
    }

    #[test]
    fn a_missing_directory_is_named() {
        let options = SpoolOptions {
            memory_bytes: 0,
            directory: Some("no/such".into()),
            ..Default::default()
        };
        let error = spool("pipe", &b"abc"[..], &options).unwrap_err();
        assert!(error.message().starts_with("no/such: cannot write a temporary file"), "{error}");
    }

    #[test]
    fn short_inputs_are_not_gzip() {
        for content in [&b""[..], b"\x1f", b"S"] {
            let storage = spool("pipe", content, &SpoolOptions::default()).unwrap();
            assert_eq!(all(&*storage), content);
            let (_directory, path) = temporary_file(content);
            let storage: Arc<dyn Storage> = open(&path, StorageKind::Positioned).unwrap();
            assert_eq!(all(&*storage), content);
        }
    }

    proptest! {
        /// After a change of any one byte of the compressed content, the result is the same bytes or an error, never
        /// other bytes.
        #[test]
        fn a_changed_byte_is_never_a_wrong_byte(at in 2usize..1000, value: u8) {
            let content = sample(2000);
            let mut compressed = gzip(&content);
            let at = at % compressed.len();
            compressed[at.max(2)] = value;
            match spool("a.gz", &compressed[..], &SpoolOptions::default()) {
                Ok(storage) => prop_assert_eq!(all(&*storage), content),
                Err(error) => prop_assert_eq!(error.code(), "io-gzip"),
            }
        }
    }
}
