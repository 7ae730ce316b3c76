//! Twins.
