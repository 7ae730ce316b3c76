//! Memory whose first byte is where every type of number may begin.

use tachyfits::Error;
use tachyfits_memory as memory;

/// Bytes aligned to 16, as libraries expect that take arrays of numbers.
#[derive(Debug)]
pub struct AlignedBytes {
    words: Vec<u128>,
    length: usize,
}

impl AlignedBytes {
    /// Zeros.
    ///
    /// # Errors
    /// If there is too little memory.
    pub fn zeros(bytes: u64) -> Result<AlignedBytes, Error> {
        let length = usize::try_from(bytes).unwrap_or(usize::MAX);
        let words = memory::filled(length.div_ceil(size_of::<u128>()), 0, "values")?;
        Ok(AlignedBytes { words, length })
    }

    /// The same bytes in aligned memory.
    ///
    /// # Errors
    /// If there is too little memory.
    pub fn copy_of(bytes: &[u8]) -> Result<AlignedBytes, Error> {
        let mut copy = AlignedBytes::zeros(bytes.len() as u64)?;
        copy.bytes_mut().copy_from_slice(bytes);
        Ok(copy)
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.length]
    }

    /// The bytes, to be filled.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.length]
    }
}
