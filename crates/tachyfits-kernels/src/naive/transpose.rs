//! Twin of transposing: one pixel after another.

/// Twin of [`crate::transpose`].
pub fn transpose(
    bytes: &[u8],
    rows: usize,
    columns: usize,
    pixel_bytes: usize,
    in_pitch: usize,
    out: &mut [u8],
    out_pitch: usize,
) {
    for row in 0..rows {
        for column in 0..columns {
            for byte in 0..pixel_bytes {
                out[(column * out_pitch + row) * pixel_bytes + byte] =
                    bytes[(row * in_pitch + column) * pixel_bytes + byte];
            }
        }
    }
}
