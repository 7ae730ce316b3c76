//! Detects the markers of a file: tries each width and order on the first records, and keeps the results as evidence.
//!
//! A marker precedes and follows each record, so accidental matches are quickly excluded: other bytes would have to
//! repeat a length at exactly that distance. If several interpretations fit nevertheless (empty records look alike in
//! each), detection fails.

use std::fmt;

use crate::bytes::{Bytes, Fault, Need, Stop};
use crate::error::{Code, Problem};
use crate::markers::{FileOrder, RecordMarkers};
use crate::walk::RecordStep;

/// Number of non-empty records to check: empty ones look alike in both byte orders.
const LOOKED_AT: u64 = 64;

/// Number of subrecords to check: a file may have very short ones, or begin with many empty records.
const PIECES_LOOKED_AT: u64 = 4096;

/// Bytes of the first read, and of a look at another position.
const FIRST_READ_BYTES: usize = 64 << 10;
const LOOK_BYTES: usize = 64;

/// Result of trying markers on a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MarkerEvidence {
    /// The tested markers.
    pub markers: RecordMarkers,
    /// Whole records before the first contradiction.
    pub records: u64,
    /// Bytes in these records.
    pub bytes: u64,
    /// Whether the last of them ends at the end of the file.
    pub reached_end: bool,
    /// The first contradiction.
    pub against: Option<String>,
}

impl fmt::Display for MarkerEvidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MarkerEvidence { markers, records, bytes, .. } = self;
        match &self.against {
            Some(against) if *records == 0 => return write!(f, "{markers}: {against}"),
            _ => write!(f, "{markers}: {records} whole records of {bytes} bytes")?,
        }
        match (&self.against, self.reached_end) {
            (Some(against), _) => write!(f, ", then {against}"),
            (None, true) => write!(f, ", and the file ends with the last one"),
            (None, false) => write!(f, ", no contradiction (the first ones were checked)"),
        }
    }
}

/// The markers of a file, and the evidence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Detection {
    /// The markers.
    pub markers: RecordMarkers,
    /// Reason of the decision, as a sentence.
    pub reason: String,
    /// Result for each tested width and byte order.
    pub evidence: Vec<MarkerEvidence>,
}

/// Detects the markers of a file of known size, from bytes that the caller supplies.
///
/// ```
/// use tachyfits_records::{FileOrder, MarkerDetector, RecordStep};
/// // A record of two bytes, big-endian.
/// let file = [0, 0, 0, 2, 7, 9, 0, 0, 0, 2];
/// let mut detector = MarkerDetector::new(None, None, file.len() as u64);
/// while let RecordStep::Read { offset, bytes } = detector.step() {
///     detector.supply(&file[offset as usize..][..bytes]);
/// }
/// let found = detector.finish()?;
/// assert_eq!((found.markers.bytes(), found.markers.order()), (4, FileOrder::Big));
/// # Ok::<(), tachyfits_records::Problem>(())
/// ```
#[derive(Debug)]
pub struct MarkerDetector {
    bytes: Bytes,
    trials: Vec<Trial>,
    begun: bool,
}

/// A test of one kind of markers.
#[derive(Debug)]
struct Trial {
    markers: RecordMarkers,
    at: u64,
    continued: bool,
    pieces: u64,
    /// Bytes of the incomplete record.
    open: u64,
    records: u64,
    /// Number of records with bytes.
    filled: u64,
    in_records: u64,
    fault: Option<Fault>,
    done: bool,
}

impl MarkerDetector {
    /// Tries every width and order, or only the specified ones.
    #[must_use]
    pub fn new(width: Option<usize>, order: Option<FileOrder>, file_bytes: u64) -> MarkerDetector {
        let fits = |markers: &RecordMarkers| {
            width.is_none_or(|width| width == markers.bytes())
                && order.is_none_or(|order| order == markers.order())
        };
        let trials = RecordMarkers::ALL.into_iter().filter(fits).map(Trial::new).collect();
        MarkerDetector { bytes: Bytes::new(file_bytes), trials, begun: false }
    }

    /// Continues as far as the supplied bytes allow; returns [`RecordStep::Done`] after enough records.
    pub fn step(&mut self) -> RecordStep {
        if self.bytes.file_bytes == 0 {
            return RecordStep::Done;
        }
        if !self.begun {
            self.begun = true;
            let need = self.bytes.want(Need { offset: 0, bytes: FIRST_READ_BYTES }, false);
            return need.into();
        }
        for trial in &mut self.trials {
            if let Some(need) = trial.advance(&self.bytes) {
                let need = Need { bytes: need.bytes.max(LOOK_BYTES), ..need };
                return self.bytes.want(need, true).into();
            }
        }
        RecordStep::Done
    }

    /// Supplies the bytes of the latest [`RecordStep::Read`].
    pub fn supply(&mut self, bytes: &[u8]) {
        self.bytes.supply(bytes);
    }

    /// Returns the result.
    ///
    /// # Errors
    /// Returns an error if no markers fit, or several do.
    pub fn finish(self) -> Result<Detection, Problem> {
        let file_bytes = self.bytes.file_bytes;
        if file_bytes == 0 {
            let native = self.trials.iter().find(|t| t.markers.order() == FileOrder::NATIVE);
            let trial = native.or(self.trials.first());
            let markers = trial.map_or(RecordMarkers::ALL[0], |trial| trial.markers);
            let reason =
                "the file is empty: the usual markers of this machine are assumed".to_owned();
            return Ok(Detection { markers, reason, evidence: Vec::new() });
        }
        let evidence: Vec<_> = self.trials.iter().map(|t| t.evidence(file_bytes)).collect();
        let holds: Vec<_> =
            evidence.iter().filter(|candidate| candidate.against.is_none()).collect();
        let detection =
            |markers, reason| Ok(Detection { markers, reason, evidence: evidence.clone() });
        if let [candidate] = holds.as_slice() {
            let (markers, records) = (candidate.markers, candidate.records);
            let rest = match evidence.len() {
                1 => "no other was allowed",
                _ => "every other width and order fails",
            };
            let reason = format!("{markers} match the {records} records checked; {rest}");
            return detection(markers, reason);
        }
        if holds.len() > 1 {
            return Err(error(
                Code::FramingAmbiguous,
                "markers with only one interpretation",
                &evidence,
            ));
        }
        // In case of damage further on, the whole records before it decide, if they are more than chance would produce.
        let best = evidence.iter().max_by_key(|candidate| (candidate.bytes > 0, candidate.records));
        let next = |best: &MarkerEvidence| {
            let others = evidence.iter().filter(|candidate| candidate.markers != best.markers);
            others.map(|candidate| candidate.records).max().unwrap_or(0)
        };
        match best {
            Some(best) if best.bytes > 0 && best.records > next(best) => {
                let (markers, records) = (best.markers, best.records);
                let reason = format!(
                    "{markers} match {records} records, more than any other; then the file is \
                     damaged"
                );
                detection(markers, reason)
            }
            _ => Err(error(Code::Framing, "markers before and after each record", &evidence)),
        }
    }
}

fn error(code: Code, expected: &str, evidence: &[MarkerEvidence]) -> Problem {
    let found: Vec<_> = evidence.iter().map(ToString::to_string).collect();
    Problem::new(code, expected, found.join("; ")).at(1, 0)
}

impl Trial {
    fn new(markers: RecordMarkers) -> Trial {
        Trial {
            markers,
            at: 0,
            continued: false,
            pieces: 0,
            open: 0,
            records: 0,
            filled: 0,
            in_records: 0,
            fault: None,
            done: false,
        }
    }

    /// Continues; returns the bytes it needs, or `None` when it is done.
    fn advance(&mut self, bytes: &Bytes) -> Option<Need> {
        while !self.done {
            let at_end = self.at == bytes.file_bytes && !self.continued;
            if at_end || self.filled == LOOKED_AT || self.pieces == PIECES_LOOKED_AT {
                self.done = true;
                break;
            }
            match bytes.subrecord(self.markers, self.at, self.continued) {
                Ok(whole) => {
                    self.open += whole.payload.end - whole.payload.start;
                    self.pieces += 1;
                    self.at = whole.next;
                    self.continued = whole.goes_on;
                    if !whole.goes_on {
                        self.records += 1;
                        self.filled += u64::from(self.open > 0);
                        self.in_records += std::mem::take(&mut self.open);
                    }
                }
                Err(Stop::Need(need)) => return Some(need),
                Err(Stop::Fault(fault)) => {
                    self.fault = Some(fault);
                    self.done = true;
                }
            }
        }
        None
    }

    fn evidence(&self, file_bytes: u64) -> MarkerEvidence {
        let against = self.fault.as_ref().map(|fault| {
            format!("at byte {}: expected {}, found {}", fault.offset, fault.expected, fault.found)
        });
        MarkerEvidence {
            markers: self.markers,
            records: self.records,
            bytes: self.in_records,
            reached_end: self.at == file_bytes,
            against,
        }
    }
}
