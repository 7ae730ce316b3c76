//! Checks a file against the Standard, as far as a program can: headers by the rules of the format
//! crate, data in one pass over the bytes that a rule concerns, in bounded memory. Checking
//! continues after a finding.

mod ascii;
mod data;
mod decoded_tiles;
mod fields;
mod heap;
mod tally;

use std::collections::HashMap;
use std::sync::Arc;

use tachyfits_format::{
    Code, Context, Hdu, Header, Limits, Place, ReadOptions, Step, Walker, Warning, verify_header,
};
pub use tachyfits_format::{Finding, Fix, Rule, Severity};
use tachyfits_io::operation::RunOptions;
use tachyfits_io::{
    Notice, Purpose, ReadAhead, Source, SourceOptions, SpoolOptions, Storage, StorageKind,
};
use tachyfits_memory as memory;

use crate::edit::is_zeros;
use crate::error::Error;
use crate::file::{FitsFile, check_plain, for_fits};
use crate::image::tier;
use data::{DataCheck, read_range};
use decoded_tiles::check_tiles;

tachyfits_io::options! {
    /// Options for verifying a file.
    #[derive(Clone, Debug, Default)]
    pub struct VerifyOptions {
        /// Whether to check only headers, and read no data.
        pub headers_only: bool,
        /// Access method for the bytes.
        pub storage: StorageKind,
        /// Limits on the headers.
        pub limits: Limits,
        /// Storage of decompressed input: how much and where.
        pub spool: SpoolOptions,
    }
}

/// Findings in a file.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Verification {
    /// Name of the file.
    pub file: String,
    /// Number of HDUs.
    pub hdus: usize,
    /// Violations of the Standard, in the order of the file.
    pub findings: Vec<Finding>,
    /// Notices about the file, such as an interrupted edit that was undone.
    pub notices: Vec<Notice>,
}

/// Maximum attempts, if another process changes the file during verification.
const VERIFY_ATTEMPTS: usize = 3;

impl Verification {
    /// Counts the findings of a severity, including repeats.
    pub fn count(&self, severity: Severity) -> u64 {
        let of = self.findings.iter().filter(|finding| finding.severity == severity);
        of.map(|finding| finding.repeats + 1).sum()
    }
}

/// Verifies a file, by its name or any other [`Source`]: gzip content is inflated.
///
/// # Errors
/// If the file cannot be read. Faults in its content are findings, not errors.
///
/// ```
/// use tachyfits::{RunOptions, Source, verify};
/// use tachyfits::verify::{Severity, VerifyOptions};
/// let cards = ["SIMPLE  =                    T", "BITPIX  =                   16", "NAXIS   =                    1",
///     "NAXIS1  =                    3", "DATE    = 'yesterday'", "END"];
/// let mut bytes: Vec<u8> = cards.iter().flat_map(|card| format!("{card:<80}").into_bytes()).collect();
/// bytes.resize(2880, b' ');
/// bytes.extend([0, 1, 0, 2, 0, 6]);
/// // Three pixels without fill, written "yesterday".
/// let source = Source::bytes("three pixels", bytes);
/// let verified = verify(source, &VerifyOptions::default(), &RunOptions::default())?;
/// let codes: Vec<&str> = verified.findings.iter().map(|finding| finding.code).collect();
/// assert_eq!(codes, ["data-padding", "date-form"]);
/// assert_eq!(verified.count(Severity::Error), 2);
/// # Ok::<(), tachyfits::Error>(())
/// ```
pub fn verify(
    source: impl Into<Source>,
    options: &VerifyOptions,
    run: &RunOptions<'_>,
) -> Result<Verification, Error> {
    let (kind, spool) = (options.storage, for_fits(options.spool.clone()));
    let source_options = SourceOptions::default().kind(kind).spool(spool).purpose(Purpose::Reading);
    let check = |storage: Arc<dyn Storage>| verify_storage(&storage, options, run);
    let source = source.into();
    let (verification, notices) =
        source.read(&source_options, VERIFY_ATTEMPTS, Error::is_changed, check)?;
    Ok(Verification { notices, ..verification })
}

impl FitsFile {
    /// Verifies the file; see [`verify`].
    ///
    /// # Errors
    /// As [`verify`].
    pub fn verify(
        &self,
        options: &VerifyOptions,
        run: &RunOptions<'_>,
    ) -> Result<Verification, Error> {
        verify_storage(self.shared_bytes(), options, run)
    }
}

fn verify_storage(
    shared: &Arc<dyn Storage>,
    options: &VerifyOptions,
    run: &RunOptions<'_>,
) -> Result<Verification, Error> {
    let storage = &**shared;
    check_plain(storage)?;
    let walked = Walked::new(storage, &options.limits)?;
    let mut findings = Vec::new();
    let tier = tier();
    for (hdu, warnings) in &walked.hdus {
        findings.extend(verify_header(&hdu.header, Some(hdu), warnings));
        if !options.headers_only {
            DataCheck { storage, hdu, run, tier }.check(&mut findings)?;
            check_tiles(shared, hdu, run, tier, &mut findings)?;
        }
    }
    findings.extend(walked.wrong_extensions());
    let mut rest = walked.rest;
    for finding in rest.iter_mut().filter(|finding| finding.code == Code::TrailingBytes.as_str()) {
        let begin = finding.place.offset.unwrap_or_default();
        finding.fixable = is_zeros(storage, begin..storage.bytes())?;
    }
    findings.extend(rest);
    findings.extend(repeated_names(&walked.hdus));
    storage.check_unchanged()?;
    let (file, hdus) = (storage.name().to_owned(), walked.hdus.len());
    Ok(Verification { file, hdus, findings, notices: Vec::new() })
}

/// All HDUs that can be located, each with its warnings, and findings about the bytes after them.
struct Walked {
    hdus: Vec<(Hdu, Vec<Warning>)>,
    rest: Vec<Finding>,
}

impl Walked {
    fn new(storage: &dyn Storage, limits: &Limits) -> Result<Walked, Error> {
        let options = ReadOptions::default().limits(limits.clone());
        let mut walker = Walker::new(options, storage.bytes());
        let mut walked = Walked { hdus: Vec::new(), rest: Vec::new() };
        let (mut reported, mut end) = (0, 0);
        let (mut ahead, mut buffer) = (ReadAhead::new(storage), Vec::new());
        loop {
            match walker.step() {
                Ok(Step::Read { offset, bytes }) => {
                    memory::resize(&mut buffer, bytes, 0, "a header")?;
                    ahead.read_exact_at(offset, &mut buffer)?;
                    walker.supply(&buffer);
                }
                Ok(Step::Hdu(hdu)) => {
                    let warnings = walker.warnings()[reported..].to_vec();
                    reported = walker.warnings().len();
                    end = hdu.end_offset();
                    walked.hdus.push((*hdu, warnings));
                }
                Ok(Step::Done) => break,
                Err(error) if error.code() == Code::NoMemory => {
                    return Err(Error::Format { file: storage.name().to_owned(), error });
                }
                Err(error) => {
                    let context = Context { hdu: walked.hdus.len(), offset: end };
                    walked.rest.push(Finding::of_problem(error.problem()));
                    walked.unlocated(storage, context, limits)?;
                    break;
                }
            }
        }
        let later = &walker.warnings()[reported..];
        walked.rest.extend(later.iter().map(|warning| Finding::of_problem(warning.problem())));
        Ok(walked)
    }

    /// Returns wrong values in the first header about the extensions that follow.
    fn wrong_extensions(&self) -> Vec<Finding> {
        let Some(((first, _), extensions)) = self.hdus.split_first() else { return Vec::new() };
        let header = &first.header;
        let mut findings = Vec::new();
        let found = match extensions.len() {
            1 => "1 extension".to_owned(),
            count => format!("{count} extensions"),
        };
        let mut find = |rule, keyword, expected: String| {
            findings.push(Finding::of_rule(rule, header.place(keyword), expected, found.clone()));
        };
        if !extensions.is_empty() && header.get_logical("EXTEND") == Ok(Some(false)) {
            find(Rule::ExtensionsDenied, "EXTEND", "no extensions, because EXTEND = F".to_owned());
        }
        // The number of extensions is unknown if an HDU cannot be located.
        let is_end_known =
            self.rest.iter().all(|finding| finding.code != Rule::NotChecked.as_str());
        if let Some(declared) = header.get_i64("NEXTEND").ok().flatten()
            && declared != extensions.len() as i64
            && is_end_known
        {
            find(
                Rule::ExtensionCount,
                "NEXTEND",
                format!("{declared} extensions, as NEXTEND says"),
            );
        }
        findings
    }

    /// Checks a header whose HDU cannot be located, and reports that the rest of the file was not checked.
    fn unlocated(
        &mut self,
        storage: &dyn Storage,
        context: Context,
        limits: &Limits,
    ) -> Result<(), Error> {
        let most = (limits.max_header_blocks as u64).saturating_mul(2880);
        let header = read_range(storage, context.offset..context.offset.saturating_add(most))?;
        let begins_header = header.starts_with(b"SIMPLE") || header.starts_with(b"XTENSION");
        let parsed = Header::parse(&header, context).ok().filter(|_| begins_header);
        if let Some((header, warnings)) = parsed {
            let mut findings = verify_header(&header, None, &warnings);
            // The fault that ended the walk is reported already.
            let first = &self.rest[0];
            findings.retain(|finding| {
                finding.place.card.is_none() || finding.place.card != first.place.card
            });
            self.rest.extend(findings);
        }
        let place =
            Place { hdu: Some(context.hdu), offset: Some(context.offset), ..Place::default() };
        let found = "an HDU with unknown end";
        let expected = "an HDU that can be located";
        self.rest.push(Finding::of_rule(Rule::NotChecked, place, expected, found));
        Ok(())
    }
}

/// Reports HDUs with the same name (Standard 4.0, section 4.4.2.6).
fn repeated_names(hdus: &[(Hdu, Vec<Warning>)]) -> Vec<Finding> {
    let mut first = HashMap::new();
    let mut findings = Vec::new();
    for (hdu, _) in hdus {
        let Some(name) = hdu.extname.as_deref().filter(|name| !name.trim().is_empty()) else {
            continue;
        };
        // A primary array counts as an image.
        let kind = if hdu.index == 0 { "image" } else { hdu.kind.as_str() };
        let key = (kind, name.trim_end().to_ascii_uppercase(), hdu.extver, hdu.extlevel);
        if let Some(earlier) = first.get(&key) {
            let found = format!("{name:?}, EXTVER = {} as in HDU {earlier}", hdu.extver);
            let place = hdu.header.place("EXTNAME");
            let expected = "a name of its own";
            findings.push(Finding::of_rule(Rule::NameRepeated, place, expected, found));
        } else {
            first.insert(key, hdu.index);
        }
    }
    findings
}
