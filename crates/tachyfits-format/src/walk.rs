//! Sequence of the HDUs of a file that the caller reads: a state machine that requests byte ranges and returns HDUs. It
//! stores the bytes of one header at a time and never requests data.
//!
//! Reads are few: four blocks per header, doubled each time a header continues. Headers that follow each other without
//! data are parsed from the same bytes.

use crate::code::Code;
use crate::error::{FormatError, Place, Warning, Warnings, quoted};
use crate::hdu::Hdu;
use crate::header::{Context, Header, is_end};
use crate::limits::{BLOCK_BYTES, CARD_BYTES, ReadOptions};
use crate::scan;
use tachyfits_memory as memory;

const FIRST_READ_BYTES: usize = 4 * BLOCK_BYTES;
const LARGEST_READ_BYTES: usize = 256 * BLOCK_BYTES;

/// Result of [`Walker::step`].
#[derive(Debug)]
pub enum Step {
    /// Supply these bytes with [`Walker::supply`].
    Read {
        /// Byte offset in the file.
        offset: u64,
        /// Number of bytes, all within the file as it was when the walk began.
        bytes: usize,
    },
    /// The next HDU.
    Hdu(Box<Hdu>),
    /// There are no more HDUs.
    Done,
}

/// Whether content that begins with these bytes, a keyword or more, may be FITS.
///
/// ```
/// use tachyfits_format::begins_fits;
/// assert!(begins_fits(b"SIMPLE  =                    T"));
/// assert!(!begins_fits(&[0; 2880]) && !begins_fits(b""));
/// ```
#[must_use]
pub fn begins_fits(first: &[u8]) -> bool {
    let keyword = &first[..first.len().min(8)];
    keyword.starts_with(b"SIMPLE") && keyword[6..].iter().all(|&byte| scan::is_blank(byte))
}

/// Walks over the HDUs of a file of known size.
///
/// ```
/// use tachyfits_format::{ReadOptions, Step, Walker};
/// let cards = "SIMPLE  =                    T|BITPIX  =                   16|\
///     NAXIS   =                    1|NAXIS1  =                    3|END";
/// let mut file: Vec<u8> = Vec::new();
/// cards.split('|').for_each(|card| file.extend(format!("{card:<80}").as_bytes()));
/// file.resize(2880, b' ');
/// file.resize(5760, 0);
/// let mut walker = Walker::new(ReadOptions::default(), file.len() as u64);
/// let mut hdus = Vec::new();
/// loop {
///     match walker.step()? {
///         Step::Read { offset, bytes } => walker.supply(&file[offset as usize..][..bytes]),
///         Step::Hdu(hdu) => hdus.push(hdu),
///         Step::Done => break,
///     }
/// }
/// assert_eq!((hdus.len(), hdus[0].data_bytes), (1, 6));
/// # Ok::<(), tachyfits_format::FormatError>(())
/// ```
#[derive(Debug)]
pub struct Walker {
    options: ReadOptions,
    file_bytes: u64,
    /// Index and offset of the next header.
    next: Context,
    /// Bytes of the file from that offset.
    buffer: Vec<u8>,
    /// Number of leading bytes of the buffer without END.
    scanned: usize,
    request_bytes: usize,
    finished: bool,
    /// Alternative end of the preceding HDU: PCOUNT of a compressed table may omit the gap before its heap.
    after_gap: Option<u64>,
    warnings: Vec<Warning>,
}

impl Walker {
    /// Creates a walk over a file of `file_bytes`.
    #[must_use]
    pub fn new(options: ReadOptions, file_bytes: u64) -> Self {
        Walker {
            options,
            file_bytes,
            next: Context::default(),
            buffer: Vec::new(),
            scanned: 0,
            request_bytes: 0,
            finished: false,
            after_gap: None,
            warnings: Vec::new(),
        }
    }

    /// Creates a walk that starts at the HDU `hdu`, counted from 0, whose header begins at `offset`: for callers that
    /// know its position.
    #[must_use]
    pub fn at(options: ReadOptions, file_bytes: u64, hdu: usize, offset: u64) -> Self {
        Walker { next: Context { hdu, offset }, ..Walker::new(options, file_bytes) }
    }

    /// Continues as far as the supplied bytes allow.
    ///
    /// # Errors
    /// Returns an error if the next HDU cannot be read, or in strict mode for the first warning. HDUs returned before
    /// stay valid; the walk is over and the next step is [`Step::Done`].
    pub fn step(&mut self) -> Result<Step, FormatError> {
        let result = self.advance();
        if !matches!(result, Ok(Step::Read { .. } | Step::Hdu(_))) {
            self.finished = true;
            self.buffer = Vec::new();
        }
        result
    }

    /// Supplies the bytes of the latest [`Step::Read`]. Fewer bytes than requested mean that the file ends there.
    pub fn supply(&mut self, bytes: &[u8]) {
        let bytes = &bytes[..bytes.len().min(self.request_bytes)];
        self.buffer.extend_from_slice(bytes);
        if bytes.len() < self.request_bytes {
            self.file_bytes = self.next.offset + self.buffer.len() as u64;
        }
        self.request_bytes = 0;
    }

    /// Warnings about tolerated faults so far, in file order.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    fn advance(&mut self) -> Result<Step, FormatError> {
        let remaining = self.file_bytes.saturating_sub(self.next.offset);
        if self.finished || (remaining == 0 && self.next.hdu > 0) {
            return Ok(Step::Done);
        }
        let complete = self.buffer.len() as u64 >= remaining;
        if self.buffer.len() < CARD_BYTES && !complete {
            return self.read(remaining);
        }
        if self.scanned == 0 && self.skips_gap()? {
            return self.advance();
        }
        if self.scanned == 0 && !self.begins_hdu(remaining)? {
            return Ok(Step::Done);
        }
        match self.find_end() {
            Some(header_bytes) => self.hdu(header_bytes).map(|hdu| Step::Hdu(Box::new(hdu))),
            None if complete => Err(self.no_end("the end of the file")),
            None if self.buffer.len() / BLOCK_BYTES >= self.options.limits.max_header_blocks => {
                Err(self.too_long())
            }
            None => self.read(remaining),
        }
    }

    fn read(&mut self, remaining: u64) -> Result<Step, FormatError> {
        let held = self.buffer.len();
        let longest = self.options.limits.max_header_blocks.saturating_mul(BLOCK_BYTES);
        let target =
            held.saturating_mul(2).clamp(FIRST_READ_BYTES, held.saturating_add(LARGEST_READ_BYTES));
        let target = target.min(longest.max(BLOCK_BYTES)) as u64;
        self.request_bytes = (target.min(remaining) as usize).saturating_sub(held);
        memory::reserve(&mut self.buffer, self.request_bytes, "a header")?;
        Ok(Step::Read { offset: self.next.offset + held as u64, bytes: self.request_bytes })
    }

    /// Whether the buffer begins with an HDU. Bytes after the last HDU may be anything that does not begin with
    /// XTENSION (Sect. 3.5).
    fn begins_hdu(&mut self, remaining: u64) -> Result<bool, FormatError> {
        let keyword = &self.buffer[..self.buffer.len().min(8)];
        if self.next.hdu > 0 {
            if keyword == b"XTENSION" && remaining >= CARD_BYTES as u64 {
                return self.check_count().map(|()| true);
            }
            let start = quoted(&scan::decode(keyword));
            let found = format!("{remaining} bytes that begin with {start}");
            self.warn(Code::TrailingBytes, "XTENSION or the end of the file", found)?;
            return Ok(false);
        }
        if begins_fits(keyword) {
            return Ok(true);
        }
        let start = quoted(&scan::decode(keyword));
        let found = match keyword {
            [] => "an empty file".to_owned(),
            [0x1f, 0x9d, ..] => "compress (.Z) data".to_owned(),
            _ => start,
        };
        Err(FormatError::new(
            Code::NotFits,
            self.place(0),
            "SIMPLE at the start of the file",
            found,
        ))
    }

    /// Moves to the end of the preceding HDU if its PCOUNT omits a gap, as fpack writes it, and no HDU begins here.
    fn skips_gap(&mut self) -> Result<bool, FormatError> {
        let Some(end) = self.after_gap.take().filter(|end| *end <= self.file_bytes) else {
            return Ok(false);
        };
        if self.buffer.starts_with(b"XTENSION") {
            return Ok(false);
        }
        let gap = end - self.next.offset;
        let place = Place { hdu: Some(self.next.hdu - 1), ..self.place(0) };
        let found = format!("data that go on for {gap} bytes, as THEAP says");
        let expected = "the end of the compressed table, as PCOUNT says";
        self.keep(Warning::new(Code::HeapPlace, place, expected, found))?;
        let used = usize::try_from(gap).unwrap_or(usize::MAX);
        self.buffer.drain(..used.min(self.buffer.len()));
        self.next.offset = end;
        Ok(true)
    }

    fn check_count(&self) -> Result<(), FormatError> {
        let most = self.options.limits.max_hdus;
        if self.next.hdu < most {
            return Ok(());
        }
        let expected = format!("at most {most} HDUs");
        Err(FormatError::new(Code::TooManyHdus, self.place(0), expected, "one more"))
    }

    /// Returns the bytes of the header in whole blocks, once END is in the buffer.
    fn find_end(&mut self) -> Option<usize> {
        let (records, _) = self.buffer[self.scanned..].as_chunks::<CARD_BYTES>();
        match records.iter().position(is_end) {
            Some(at) => {
                let bytes = self.scanned + (at + 1) * CARD_BYTES;
                Some(bytes.next_multiple_of(BLOCK_BYTES))
            }
            None => {
                self.scanned += records.len() * CARD_BYTES;
                None
            }
        }
    }

    fn hdu(&mut self, header_bytes: usize) -> Result<Hdu, FormatError> {
        // Reads are whole blocks except at the end of the file, where the fill of a header may be missing.
        let held = header_bytes.min(self.buffer.len());
        let (header, header_warnings) = Header::parse(&self.buffer[..held], self.next)?;
        let mut warnings = Warnings::default();
        for warning in header_warnings {
            warnings.push(warning);
        }
        let hdu = Hdu::new(header, &self.options.limits, self.file_bytes, &mut warnings)?;
        for warning in warnings.into_vec() {
            self.keep(warning)?;
        }
        self.check_data(&hdu)?;
        self.after_gap = hdu.end_after_gap();
        let end = hdu.end_offset();
        let used = usize::try_from(end - self.next.offset).unwrap_or(usize::MAX);
        self.buffer.drain(..used.min(self.buffer.len()));
        self.next = Context { hdu: self.next.hdu + 1, offset: end };
        self.scanned = 0;
        Ok(hdu)
    }

    fn check_data(&mut self, hdu: &Hdu) -> Result<(), FormatError> {
        if hdu.data_bytes_present < hdu.data_bytes {
            let expected =
                format!("{} bytes of data from byte {}", hdu.data_bytes, hdu.data_offset);
            let found = format!("{} bytes, then the end of the file", hdu.data_bytes_present);
            self.warn(Code::TruncatedData, &expected, found)
        } else if hdu.data_bytes > 0 && hdu.end_offset() > self.file_bytes {
            let missing = hdu.end_offset() - self.file_bytes;
            let found = format!("the end of the file {missing} bytes before that");
            self.warn(Code::DataPadding, "data filled up to 2880 bytes", found)
        } else {
            Ok(())
        }
    }

    fn warn(&mut self, code: Code, expected: &str, found: String) -> Result<(), FormatError> {
        let place = self.place(0);
        self.keep(Warning::new(code, place, expected, found))
    }

    fn keep(&mut self, warning: Warning) -> Result<(), FormatError> {
        if self.options.strict {
            return Err(warning.into());
        }
        self.warnings.push(warning);
        Ok(())
    }

    fn place(&self, bytes: usize) -> Place {
        Place {
            hdu: Some(self.next.hdu),
            offset: Some(self.next.offset + bytes as u64),
            ..Place::default()
        }
    }

    fn no_end(&self, what: &str) -> FormatError {
        let held = self.buffer.len();
        let found = format!("{what} after {held} bytes of header");
        FormatError::new(Code::EndMissing, self.place(held), "an END card", found)
    }

    fn too_long(&self) -> FormatError {
        let blocks = self.buffer.len() / BLOCK_BYTES;
        let most = self.options.limits.max_header_blocks;
        let expected = format!("END within {most} blocks");
        let found = format!("none in {blocks}");
        FormatError::new(Code::HeaderTooLong, self.place(self.buffer.len()), expected, found)
    }
}
