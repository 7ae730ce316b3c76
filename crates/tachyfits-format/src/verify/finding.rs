//! One departure from the Standard, with its place and what to do.

use std::fmt;

use super::rules::{Rule, Severity};
use crate::card_writer;
use crate::code::Code;
use crate::error::{Place, Problem};

/// One departure from the Standard.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The stable text of the [`Rule`] or [`Code`].
    pub code: &'static str,
    /// Where it is.
    pub place: Place,
    /// The expected value, as words that follow "expected".
    pub expected: String,
    /// The value found, as words that follow "found".
    pub found: String,
    /// How many more of the same it stands for.
    pub repeats: u64,
    /// The hint.
    pub advice: &'static str,
    /// The section of the Standard 4.0, where there is one to name.
    pub section: &'static str,
    /// Whether `verify --fix` can repair it without guessing.
    pub fixable: bool,
}

impl Finding {
    /// A finding of a rule.
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

    /// Problems noticed while reading, or that prevented it.
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

/// Matters that the Standard leaves open or only advises are warnings.
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
