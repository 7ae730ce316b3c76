//! Memory limits of order statistics.

/// Memory limits of order statistics. They never change a result; tests use small ones.
#[derive(Clone, Copy, Debug)]
pub struct OrderLimits {
    /// Maximum number of pixels of an output gathered in memory: a thread needs 8 bytes per pixel.
    pub gathered: u64,
    /// Bytes of the pixels of outputs in memory at the same time.
    pub tile_bytes: u64,
    /// Maximum number of values that a pass keeps (64 MiB). Images with fewer pixels are not sampled.
    pub kept: u64,
    /// Number of pixels of a sample.
    pub sample: u64,
    /// Maximum number of bins per pass, at least 2.
    pub bins: usize,
    /// Maximum number of ranges that a pass treats separately, at least 1; more ranges are replaced by cuts.
    pub ranges: usize,
}

impl Default for OrderLimits {
    fn default() -> OrderLimits {
        OrderLimits {
            gathered: 1 << 20,
            tile_bytes: 128 << 20,
            kept: 8 << 20,
            sample: 1 << 20,
            bins: 1 << 14,
            ranges: 8,
        }
    }
}
