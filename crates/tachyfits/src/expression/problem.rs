//! Errors in an expression, with their positions.

use std::ops::Range;

use crate::error::{Error, ExpressionError, Reason};

/// An error at some bytes of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ExpressionProblem {
    reason: Reason,
    at: Range<usize>,
    expected: String,
    found: String,
    hint: Option<String>,
}

impl ExpressionProblem {
    /// Creates an error in the expression itself.
    pub(crate) fn new(
        at: Range<usize>,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> ExpressionProblem {
        let (expected, found) = (expected.into(), found.into());
        ExpressionProblem { reason: Reason::Expression, at, expected, found, hint: None }
    }

    /// Creates an error in the value of a name.
    pub(crate) fn input(
        at: Range<usize>,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> ExpressionProblem {
        ExpressionProblem {
            reason: Reason::ExpressionInput,
            ..ExpressionProblem::new(at, expected, found)
        }
    }

    /// Adds advice on what to do.
    pub(crate) fn hint(self, hint: impl Into<String>) -> ExpressionProblem {
        ExpressionProblem { hint: Some(hint.into()), ..self }
    }

    /// Shifts the position by `by` bytes.
    pub(crate) fn moved(self, by: usize) -> ExpressionProblem {
        ExpressionProblem { at: self.at.start + by..self.at.end + by, ..self }
    }

    /// Converts to an error that shows the expression.
    pub(crate) fn of(self, expression: &str) -> Error {
        let ExpressionProblem { reason, at, expected, found, hint } = self;
        let expression = expression.to_owned();
        Error::Expression(Box::new(ExpressionError {
            reason,
            expression,
            at,
            expected,
            found,
            hint: hint.unwrap_or_else(|| reason.hint().to_owned()),
        }))
    }
}
