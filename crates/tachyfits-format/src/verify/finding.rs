//! One violation of the Standard, with place and advice.

use std::fmt;

use super::rules::{Rule, Severity};
use crate::card_writer;
use crate::code::Code;
use crate::error::{Place, Problem};

/// One violation of the Standard.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// Severity of the violation.
    pub severity: Severity,
    /// Stable text of the [`Rule`] or [`Code`].
    pub code: &'static str,
    /// Place of the violation.
    pub place: Place,
    /// The expected value, as words that follow "expected".
    pub expected: String,
    /// The actual value, as words that follow "found".
    pub found: String,
    /// Number of further findings of the same kind that are not listed.
    pub repeats: u64,
    /// Advice.
    pub advice: &'static str,
    /// Section of the Standard 4.0; empty if no section applies.
    pub section: &'static str,
    /// Whether `verify --fix` can repair it unambiguously.
    pub fixable: bool,
}

impl Finding {
    /// Creates a finding of a rule.
    #[must_use]
    pub fn of_rule(
        rule: Rule,
        place: Place,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Finding {
            severity: rule.severity(),
            code: rule.as_str(),
            place,
            expected: expected.into(),
            found: found.into(),
            repeats: 0,
            advice: rule.hint(),
            section: rule.section(),
            fixable: matches!(rule, Rule::DataFill),
        }
    }

    /// Converts a problem detected while reading, fatal or not.
    #[must_use]
    pub fn of_problem(problem: &Problem) -> Self {
        Finding {
            severity: severity(problem),
            code: problem.code.as_str(),
            place: problem.place.clone(),
            expected: problem.expected.clone(),
            found: problem.found.clone(),
            repeats: problem.repeats as u64,
            advice: problem.code.hint(),
            section: "",
            fixable: matches!(
                problem.code,
                Code::HeaderFill | Code::HeaderPadding | Code::DataPadding
            ),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.severity.as_str())?;
        let place = self.place.to_string();
        if !place.is_empty() {
            write!(f, "{place}: ")?;
        }
        write!(f, "expected {}, found {}", self.expected, self.found)?;
        if self.repeats > 0 {
            write!(f, " (and {} similar ones)", self.repeats)?;
        }
        write!(f, " [{}]", self.code)?;
        if f.alternate() { write!(f, "\nhint: {}", self.advice) } else { Ok(()) }
    }
}

/// Returns a warning for matters that the Standard leaves open or only recommends.
fn severity(problem: &Problem) -> Severity {
    let keyword = problem.place.keyword.as_deref().unwrap_or_default();
    match problem.code {
        Code::DuplicateKeyword if card_writer::is_mandatory(keyword) => Severity::Error,
        // SIMPLE = F is legal. Any other value is invalid.
        Code::SimpleFalse if problem.found != "F" => Severity::Error,
        Code::SimpleFalse
        | Code::OrphanContinue
        | Code::DuplicateKeyword
        | Code::NullIgnored
        | Code::DuplicateColumn => Severity::Warning,
        _ => Severity::Error,
    }
}
