//! Twin of transposing: one pixel after another.

/// Twin of [`crate::transpose`].
pub fn transpose<'a>(
    mut row: impl FnMut(usize) -> &'a [u8],
    rows: usize,
    columns: usize,
    pixel_bytes: usize,
    out: &mut [u8],
    out_pitch: usize,
) {
    for number in 0..rows {
        let bytes = row(number);
        for column in 0..columns {
            for byte in 0..pixel_bytes {
                out[(column * out_pitch + number) * pixel_bytes + byte] =
                    bytes[column * pixel_bytes + byte];
            }
        }
    }
}
