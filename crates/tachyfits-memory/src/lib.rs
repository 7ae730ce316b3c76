//! Allocation of memory whose size comes from a file or a request: too little memory is an error and does not end the
//! process.
//!
//! Each function takes the purpose of the memory, as words that follow "memory for".
//!
//! ```
//! use tachyfits_memory::{NoMemory, filled};
//! assert_eq!(filled(3, 0.5, "weights")?, [0.5; 3]);
//! let error = filled(usize::MAX / 8, 0.5, "weights").unwrap_err();
//! assert_eq!(error.to_string(), "cannot allocate 18446744073709551608 bytes of memory for weights");
//! # Ok::<(), NoMemory>(())
//! ```
#![forbid(unsafe_code)]

use std::error::Error;
use std::fmt;

/// Error for too little memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMemory {
    /// Purpose of the memory, as words that follow "memory for".
    pub what: &'static str,
    /// Number of bytes needed.
    pub bytes: u128,
}

impl NoMemory {
    /// Returns the error for `count` elements.
    pub fn of<T>(count: usize, what: &'static str) -> NoMemory {
        NoMemory { what, bytes: count as u128 * size_of::<T>() as u128 }
    }
}

impl fmt::Display for NoMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot allocate {} bytes of memory for {}", self.bytes, self.what)
    }
}

impl Error for NoMemory {}

/// Returns an empty vector with capacity for `count` elements.
///
/// # Errors
/// If there is too little memory, as for all functions here.
pub fn with_room<T>(count: usize, what: &'static str) -> Result<Vec<T>, NoMemory> {
    let mut vector = Vec::new();
    vector.try_reserve_exact(count).map_err(|_| NoMemory::of::<T>(count, what))?;
    Ok(vector)
}

/// Returns a vector with `count` copies of a value.
///
/// # Errors
/// As [`with_room`].
pub fn filled<T: Clone>(count: usize, value: T, what: &'static str) -> Result<Vec<T>, NoMemory> {
    let mut vector = with_room(count, what)?;
    vector.resize(count, value);
    Ok(vector)
}

/// Returns a copy of some elements.
///
/// # Errors
/// As [`with_room`].
pub fn copied<T: Clone>(elements: &[T], what: &'static str) -> Result<Vec<T>, NoMemory> {
    let mut vector = with_room(elements.len(), what)?;
    vector.extend_from_slice(elements);
    Ok(vector)
}

/// Returns the elements of an iterator of known length.
///
/// # Errors
/// As [`with_room`].
pub fn collected<T>(
    elements: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
    what: &'static str,
) -> Result<Vec<T>, NoMemory> {
    let elements = elements.into_iter();
    let mut vector = with_room(elements.len(), what)?;
    vector.extend(elements);
    Ok(vector)
}

/// Reserves capacity for `more` elements, at least doubling it, so that the vector may grow by a few elements at a
/// time.
///
/// # Errors
/// As [`with_room`].
pub fn reserve<T>(vector: &mut Vec<T>, more: usize, what: &'static str) -> Result<(), NoMemory> {
    let all = vector.len().saturating_add(more);
    vector.try_reserve(more).map_err(|_| NoMemory::of::<T>(all, what))
}

/// Reserves capacity for exactly `more` elements.
///
/// # Errors
/// As [`with_room`].
pub fn reserve_exact<T>(
    vector: &mut Vec<T>,
    more: usize,
    what: &'static str,
) -> Result<(), NoMemory> {
    let all = vector.len().saturating_add(more);
    vector.try_reserve_exact(more).map_err(|_| NoMemory::of::<T>(all, what))
}

/// Resizes a vector; new elements have the value.
///
/// # Errors
/// As [`with_room`]; the vector is then unchanged.
pub fn resize<T: Clone>(
    vector: &mut Vec<T>,
    length: usize,
    value: T,
    what: &'static str,
) -> Result<(), NoMemory> {
    let more = length.saturating_sub(vector.len());
    reserve_exact(vector, more, what)?;
    vector.resize(length, value);
    Ok(())
}

/// Appends copies of elements.
///
/// # Errors
/// As [`with_room`]; the vector is then unchanged.
pub fn extend<T: Clone>(
    vector: &mut Vec<T>,
    elements: &[T],
    what: &'static str,
) -> Result<(), NoMemory> {
    reserve(vector, elements.len(), what)?;
    vector.extend_from_slice(elements);
    Ok(())
}

/// Appends an element.
///
/// # Errors
/// As [`with_room`]; the vector is then unchanged.
#[inline]
pub fn push<T>(vector: &mut Vec<T>, element: T, what: &'static str) -> Result<(), NoMemory> {
    if vector.len() == vector.capacity() {
        reserve(vector, 1, what)?;
    }
    vector.push(element);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More elements than any memory has, for every element size.
    const ALL: usize = usize::MAX;

    #[test]
    fn vectors_are_those_of_the_standard_library() {
        assert_eq!(filled(3, 7u8, "x"), Ok(vec![7; 3]));
        assert_eq!(copied(&["a", "b"], "x"), Ok(vec!["a", "b"]));
        assert_eq!(collected((0..4).rev(), "x"), Ok(vec![3, 2, 1, 0]));
        let mut vector = with_room(2, "x").unwrap();
        assert!(vector.is_empty() && vector.capacity() >= 2);
        for number in 0..100 {
            push(&mut vector, number, "x").unwrap();
        }
        assert_eq!(vector, (0..100).collect::<Vec<_>>());
        resize(&mut vector, 3, 9, "x").unwrap();
        resize(&mut vector, 4, 9, "x").unwrap();
        extend(&mut vector, &[5, 6], "x").unwrap();
        assert_eq!(vector, [0, 1, 2, 9, 5, 6]);
    }

    #[test]
    fn too_little_memory_is_an_error_that_says_how_much_and_for_what() {
        let error = |bytes: u128| NoMemory { what: "a tile", bytes };
        assert_eq!(with_room::<u64>(ALL, "a tile"), Err(error(ALL as u128 * 8)));
        assert_eq!(filled(ALL, 0u16, "a tile"), Err(error(ALL as u128 * 2)));
        let mut vector = vec![1u8, 2];
        assert_eq!(resize(&mut vector, ALL, 0, "a tile"), Err(error(ALL as u128)));
        assert_eq!(reserve(&mut vector, ALL, "a tile"), Err(error(ALL as u128)));
        assert_eq!(vector, [1, 2]);
    }
}
