//! Memory aligned for every number type.

use tachyfits::Error;
use tachyfits_memory as memory;

/// Bytes aligned to 16, as libraries expect for arrays of numbers.
#[derive(Debug)]
pub struct AlignedBytes {
    words: Vec<u128>,
    length: usize,
}

impl AlignedBytes {
    /// Allocates zeros.
    ///
    /// # Errors
    /// Returns an error if there is too little memory.
    pub fn zeros(bytes: u64) -> Result<AlignedBytes, Error> {
        let length = usize::try_from(bytes).unwrap_or(usize::MAX);
        let words = memory::filled(length.div_ceil(size_of::<u128>()), 0, "values")?;
        Ok(AlignedBytes { words, length })
    }

    /// Copies bytes to aligned memory.
    ///
    /// # Errors
    /// Returns an error if there is too little memory.
    pub fn copy_of(bytes: &[u8]) -> Result<AlignedBytes, Error> {
        let mut copy = AlignedBytes::zeros(bytes.len() as u64)?;
        copy.bytes_mut().copy_from_slice(bytes);
        Ok(copy)
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.length]
    }

    /// Returns the bytes for writing.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.length]
    }
}
