//! How much memory order statistics take.

/// How much order statistics keep in memory. Nothing here changes a result; tests make it small.
#[derive(Clone, Copy, Debug)]
pub struct OrderLimits {
    /// The most pixels of an output that are gathered in memory: a thread needs 8 bytes for each.
    pub gathered: u64,
    /// Bytes of the pixels of outputs that are in memory together.
    pub tile_bytes: u64,
    /// The most values that a pass keeps (64 MiB). Images of fewer pixels are not sampled.
    pub kept: u64,
    /// Pixels of a sample.
    pub sample: u64,
    /// The most bins that a pass counts in, at least 2.
    pub bins: usize,
    /// The most ranges that a pass looks at one by one, at least 1; more are cut out of the order together.
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
