//! Every check of a header against the Standard; each finding has its place and advice. The engine checks the data,
//! whose bytes only it has, with findings of the same type ([`Finding`], [`Rule`]).
//!
//! Problems detected during parsing ([`crate::Code`]) are findings as well; [`Rule`] contains the rules that parsing
//! does not need. Checking continues after a finding.

mod card_rules;
mod column_rules;
mod finding;
mod fix;
mod rules;
mod structure_rules;
mod subject;
mod wcs_rules;

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::error::{Problem, Warning};
use crate::hdu::{Hdu, HduKind};
use crate::header::Header;

pub use finding::Finding;
pub use fix::{Fix, fixed_header};
pub use rules::{Rule, Severity};
use subject::{Report, Subject};

/// Searches a header for one kind of problem.
type Check = fn(&Subject<'_>, &mut Report);

/// The checks of a header, in the order of the rules.
const CHECKS: &[Check] = &[
    card_rules::fixed_format,
    card_rules::xtension_padding,
    card_rules::index_zeros,
    card_rules::continue_forbidden,
    card_rules::undefined_value,
    card_rules::repeated,
    card_rules::date_form,
    card_rules::old_date,
    card_rules::deprecated,
    card_rules::unit_brackets,
    card_rules::value_range,
    card_rules::reserved_value,
    structure_rules::forbidden_keyword,
    structure_rules::misplaced_keyword,
    structure_rules::index_range,
    structure_rules::extension_shape,
    structure_rules::fields_place,
    structure_rules::inherit_place,
    structure_rules::unregistered,
    structure_rules::compressed,
    column_rules::form,
    column_rules::unnamed,
    column_rules::name,
    column_rules::display,
    column_rules::dimensions,
    column_rules::keyword,
    column_rules::heap_keyword,
    column_rules::heap_unused,
    column_rules::scale_zero,
    wcs_rules::axes_place,
    wcs_rules::matrices,
    wcs_rules::singular,
    wcs_rules::types,
    wcs_rules::units,
    wcs_rules::alternates,
];

/// Returns all faults of a header: warnings of the walk, and findings of the rules. `hdu` is the result of the walk, if
/// it succeeded.
///
/// ```
/// use tachyfits_format::{Context, Header, Severity, verify_header};
/// let cards = ["SIMPLE  = T", "BITPIX  =                   16", "NAXIS   =                    0", "DATE    = 'today'"];
/// let mut bytes: Vec<u8> = cards.iter().flat_map(|card| format!("{card:<80}").into_bytes()).collect();
/// bytes.extend(b"END");
/// bytes.resize(2880, b' ');
/// let (header, warnings) = Header::parse(&bytes, Context::default())?;
/// let findings = verify_header(&header, None, &warnings);
/// let codes: Vec<&str> = findings.iter().map(|finding| finding.code).collect();
/// assert_eq!(codes, ["fixed-format", "date-form"]);
/// assert!(findings.iter().all(|finding| finding.severity == Severity::Error));
/// # Ok::<(), tachyfits_format::FormatError>(())
/// ```
#[must_use]
pub fn verify_header(header: &Header, hdu: Option<&Hdu>, warnings: &[Warning]) -> Vec<Finding> {
    let subject = Subject::new(header, hdu);
    let mut report = Report::default();
    let noticed = warnings.iter().map(|warning| Finding::of_problem(warning.problem()));
    report.findings.extend(noticed);
    if let Some(hdu) = hdu {
        report.findings.extend(layout_findings(hdu).iter().map(Finding::of_problem));
    }
    for check in CHECKS {
        report.begin();
        check(&subject, &mut report);
    }
    let mut findings = without_repeats(report.findings);
    excuse_conventions(&subject, &mut findings);
    fix::mark_fixable(header, &mut findings);
    findings.sort_by_key(|finding| finding.place.card.unwrap_or(0));
    findings
}

/// Returns faults in the layout of the data.
fn layout_findings(hdu: &Hdu) -> Vec<Problem> {
    let problems = |warnings: Vec<Warning>| -> Vec<Problem> {
        warnings.iter().map(|warning| warning.problem().clone()).collect()
    };
    match hdu.kind {
        HduKind::Primary | HduKind::Image => match hdu.image() {
            Ok(layout) => problems(layout.warnings),
            Err(error) => vec![error.problem().clone()],
        },
        HduKind::RandomGroups => match hdu.random_groups() {
            Ok(groups) => problems(groups.array.warnings),
            Err(error) => vec![error.problem().clone()],
        },
        HduKind::BinaryTable | HduKind::AsciiTable => match hdu.table() {
            Ok(layout) => {
                let mut result = problems(layout.warnings);
                result.extend(layout.heap_error.map(|error| error.problem().clone()));
                result
            }
            Err(error) => vec![error.problem().clone()],
        },
        HduKind::Unknown(_) => Vec::new(),
    }
}

/// Maps codes with the same meaning for a card, one of the reader and one of a rule, to a common subject.
fn subject_of(code: &'static str) -> &'static str {
    match code {
        "keyword-type" | "numeric-text" | "reserved-type" | "whole-real" => "type",
        "keyword-range" | "extension-shape" | "image-groups" => "shape",
        "null-ignored" | "scaling-ignored" | "column-keyword" => "column-keyword",
        "value-indicator" => "type",
        other => other,
    }
}

/// Merges findings of a rule and of the reader about the same fault of the same card: the reader's text is kept, with
/// the higher severity.
fn without_repeats(findings: Vec<Finding>) -> Vec<Finding> {
    let mut firsts = HashMap::new();
    // At most the number of findings.
    let mut result: Vec<Finding> = Vec::with_capacity(findings.len());
    for finding in findings {
        let place = &finding.place;
        let column = place.column.as_ref().map(|(number, _)| *number);
        let detail = if place.card.is_some() { "" } else { finding.found.as_str() };
        let subject = subject_of(finding.code);
        match firsts.entry((subject, place.keyword.clone(), place.card, column, detail.to_owned()))
        {
            Entry::Occupied(first) => {
                let first: &mut Finding = &mut result[*first.get()];
                first.severity = first.severity.max(finding.severity);
            }
            Entry::Vacant(entry) => {
                entry.insert(result.len());
                result.push(finding);
            }
        }
    }
    result
}

/// Lowers the severity for conventions, which are not part of the Standard: a HIERARCH card is a comment there, and
/// VELREF an ordinary keyword.
fn excuse_conventions(subject: &Subject<'_>, findings: &mut [Finding]) {
    for finding in findings.iter_mut().filter(|finding| finding.severity == Severity::Error) {
        let syntax = matches!(
            finding.code,
            "invalid-value" | "unterminated-string" | "missing-slash" | "lower-case-exponent"
        );
        let hierarch = || finding.place.card.is_some_and(|record| subject.is_hierarch(record));
        let velref = finding.place.keyword.as_deref() == Some("VELREF");
        if (syntax && hierarch()) || (velref && subject_of(finding.code) == "type") {
            finding.severity = Severity::Warning;
        }
    }
}
