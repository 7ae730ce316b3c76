//! Limits on sizes in a file, checked before any allocation, and the strictness of parsing.

/// Bytes in a FITS block (Standard 4.0, Sect. 3.1).
pub const BLOCK_BYTES: usize = 2880;
/// Bytes in a card, the Standard's "keyword record" (Sect. 4.1.1).
pub const CARD_BYTES: usize = 80;
/// Cards in a block.
pub(crate) const CARDS_PER_BLOCK: usize = BLOCK_BYTES / CARD_BYTES;

options! {
    /// Limits on the sizes in a file. The defaults are far above real files and far below harmful
    /// sizes.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Limits {
        /// Blocks of one header: 8192 are 295 000 cards, 24 MB.
        pub max_header_blocks: usize,
        /// HDUs of one file.
        pub max_hdus: usize,
        /// Axes of one array; the Standard allows 999 (Sect. 4.4.1.1).
        pub max_naxis: usize,
        /// Declared data bytes of one HDU: 2^60, so that offsets always fit in 63 bits.
        pub max_data_bytes: u64,
    }
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            max_header_blocks: 8192,
            max_hdus: 65_536,
            max_naxis: 999,
            max_data_bytes: 1 << 60,
        }
    }
}

options! {
    /// Options for reading a file.
    ///
    /// ```
    /// use tachyfits_format::ReadOptions;
    /// // Each warning is an error.
    /// let options = ReadOptions::default().strict(true);
    /// assert_eq!(options.limits.max_naxis, 999);
    /// ```
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct ReadOptions {
        /// Turn each warning into an error.
        pub strict: bool,
        /// Limits on the sizes in the file.
        pub limits: Limits,
    }
}

/// Rounds `bytes` up to whole blocks.
///
/// ```
/// assert_eq!(tachyfits_format::padded(1), 2880);
/// assert_eq!(tachyfits_format::padded(2880), 2880);
/// ```
#[must_use]
pub const fn padded(bytes: u64) -> u64 {
    bytes.div_ceil(BLOCK_BYTES as u64).saturating_mul(BLOCK_BYTES as u64)
}
