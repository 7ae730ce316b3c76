//! Counts of calls, for the file named by `TACHYFITS_CFITSIO_REPORT`, and differences found in the mode `check`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Mutex;

use crate::cfitsio;
use crate::request::Request;
use crate::settings::Settings;
use crate::shared::lock;

/// Reason for forwarding a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reason {
    /// The call reads few bytes.
    Small,
    /// An earlier error is pending.
    Status,
    /// The arguments are unusual.
    Arguments,
    /// The type of the array is not supported.
    Type,
    /// This CFITSIO lacks a function, or failed the test.
    Library,
    /// CFITSIO reports an error about the request.
    Refused,
    /// The HDU or the column is of an unsupported kind.
    Form,
    /// The file is not a file on disk, open for reading only.
    File,
    /// The file on disk has been replaced, or is too short.
    Changed,
    /// Some values have no defined conversion.
    Value,
    /// A compressed image with changed scaling, or of an unsupported form.
    Compressed,
    /// Another thread held a lock for too long.
    Busy,
    /// The process has little memory left.
    Memory,
    /// Reading failed.
    Reading,
    /// A fault of this library.
    Panic,
}

impl Reason {
    fn words(self) -> &'static str {
        match self {
            Reason::Small => "few bytes",
            Reason::Status => "an error before the call",
            Reason::Arguments => "unusual arguments",
            Reason::Type => "type of the array",
            Reason::Library => "this CFITSIO",
            Reason::Refused => "an error of CFITSIO",
            Reason::Form => "kind of the HDU or column",
            Reason::File => "not a file on disk that is open for reading only",
            Reason::Changed => "the file on disk is another one",
            Reason::Value => "values without a defined conversion",
            Reason::Compressed => "compressed image",
            Reason::Busy => "another thread is at work",
            Reason::Memory => "little memory",
            Reason::Reading => "reading failed",
            Reason::Panic => "a fault of tachyfits",
        }
    }
}

/// Outcome of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Served, with the number of bytes read; in the mode `check`, with the same result as CFITSIO's.
    Served(u64),
    Forwarded(Reason),
    /// The result differs from CFITSIO's.
    Differs(String),
}

/// Calls of one function.
#[derive(Debug, Default)]
struct Counts {
    served: u64,
    bytes: u64,
    forwarded: BTreeMap<Reason, u64>,
    differ: u64,
}

#[derive(Debug, Default)]
struct Report {
    functions: BTreeMap<&'static str, Counts>,
    /// First differences.
    differences: Vec<String>,
}

static REPORT: Mutex<Option<Report>> = Mutex::new(None);

/// Maximum number of described differences.
const MOST_DIFFERENCES: usize = 100;

/// Counts a call of a function.
pub(crate) fn count(name: &'static str, outcome: Outcome) {
    let settings = Settings::get();
    if let Outcome::Differs(text) = &outcome
        && settings.report.is_none()
    {
        eprintln!("tachyfits-cfitsio: {}: {text}", name);
    }
    if settings.report.is_none() {
        return;
    }
    let Some(mut report) = lock(&REPORT) else { return };
    if report.is_none() {
        cfitsio::at_exit(write);
    }
    report.get_or_insert_default().add(name, outcome);
}

/// Appends the report of this process to the file.
fn write() {
    let Some(path) = &Settings::get().report else { return };
    let Some(report) = lock(&REPORT).and_then(|mut report| report.take()) else { return };
    let program = std::env::args_os().next().unwrap_or_default();
    let heading = format!("{} (process {})", program.to_string_lossy(), std::process::id());
    // A report that cannot be written must not make the program fail.
    let _ = tachyfits::io::append_text(path, &report.text(&heading));
}

impl Report {
    fn add(&mut self, name: &'static str, outcome: Outcome) {
        let counts = self.functions.entry(name).or_default();
        match outcome {
            Outcome::Served(bytes) => {
                counts.served += 1;
                counts.bytes += bytes;
            }
            Outcome::Forwarded(reason) => *counts.forwarded.entry(reason).or_default() += 1,
            Outcome::Differs(text) => {
                counts.differ += 1;
                if self.differences.len() < MOST_DIFFERENCES {
                    self.differences.push(format!("{}: {text}", name));
                }
            }
        }
    }

    fn text(&self, heading: &str) -> String {
        let mut text = format!("{heading}\n");
        for (name, counts) in &self.functions {
            let Counts { served, bytes, forwarded, differ } = counts;
            let _ = writeln!(text, "  {name}: {served} calls served, {bytes} bytes");
            for (reason, calls) in forwarded {
                let _ = writeln!(text, "  {name}: {calls} calls forwarded: {}", reason.words());
            }
            if *differ > 0 {
                let _ = writeln!(text, "  {name}: {differ} calls DIFFER");
            }
        }
        for difference in &self.differences {
            let _ = writeln!(text, "  DIFFERENCE {difference}");
        }
        text
    }
}

/// Describes how the results of a call differ: pairs (CFITSIO's, ours) of values, flags, any null and status.
pub(crate) fn difference(
    request: &Request,
    values: (&[u8], &[u8]),
    flags: (Option<&[u8]>, Option<&[u8]>),
    any_null: (Option<i32>, i32),
    status: (i32, i32),
) -> String {
    let mut text = format!("{request:?}: status {} and {}", status.0, status.1);
    if let Some(expected) = any_null.0 {
        let _ = write!(text, ", anynul {expected} and {}", any_null.1);
    }
    let size = request.kind.bytes();
    let differ = values.0.chunks(size).zip(values.1.chunks(size)).enumerate();
    let mut differ = differ.filter(|(_, (theirs, ours))| theirs != ours);
    if let Some((index, (theirs, ours))) = differ.next() {
        let more = differ.count();
        let _ = write!(text, ", element {index}: {theirs:02x?} and {ours:02x?}, {more} more");
    }
    if let (Some(theirs), Some(ours)) = flags
        && let Some(index) = theirs.iter().zip(ours).position(|(theirs, ours)| theirs != ours)
    {
        let _ = write!(text, ", flag {index}: {} and {}", theirs[index], ours[index]);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Outcome, Reason, Report, difference};
    use crate::request::{NullWish, Place, Request};
    use tachyfits::PixelType;

    #[test]
    fn text_names_functions_reasons_and_differences() {
        let mut report = Report::default();
        report.add("ffgpxv", Outcome::Served(5));
        report.add("ffgpxv", Outcome::Served(7));
        report.add("ffgpxv", Outcome::Forwarded(Reason::Small));
        report.add("ffgpxv", Outcome::Differs("odd".to_owned()));
        let expected = "a program\n  ffgpxv: 2 calls served, 12 bytes\n  ffgpxv: 1 calls forwarded: few bytes\n  \
                        ffgpxv: 1 calls DIFFER\n  DIFFERENCE ffgpxv: odd\n";
        assert_eq!(report.text("a program"), expected);
    }

    #[test]
    fn difference_names_the_first_element() {
        let place = Place::Run { group: 1, first: 1, count: 2 };
        let request = Request {
            place,
            kind: PixelType::I16,
            is_long: false,
            nulls: NullWish::Flags,
            is_block: false,
        };
        let text = difference(
            &request,
            (&[1, 0, 2, 0], &[1, 0, 3, 0]),
            (Some(&[0, 1]), Some(&[0, 0])),
            (Some(1), 0),
            (0, 412),
        );
        for part in
            ["status 0 and 412", "anynul 1 and 0", "element 1: [02, 00] and [03, 00], 0", "flag 1"]
        {
            assert!(text.contains(part), "{text}");
        }
    }
}
