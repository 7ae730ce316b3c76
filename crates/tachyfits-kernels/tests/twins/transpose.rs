//! Transposing against its twin, and transposing twice, which restores the input.

use proptest::prelude::*;
use tachyfits_kernels::{naive, transpose};

/// Generates sides at the boundaries of tiles and blocks, or any.
fn sides() -> impl Strategy<Value = usize> {
    prop_oneof![0..5usize, 14..18usize, 60..68usize, 126..131usize, 254..259usize, 0..300usize]
}

proptest! {
    #![proptest_config(crate::content::cases(96))]

    #[test]
    fn transposing_moves_the_pixels_of_its_twin_and_no_others(
        rows in sides(),
        columns in sides(),
        beyond in (0..9usize, 0..9usize),
        pixel_bytes in prop::sample::select(vec![1usize, 2, 4, 8]),
        seed in any::<u64>(),
        shift in 0..9usize,
    ) {
        let (in_pitch, out_pitch) = (columns + beyond.0, rows + beyond.1);
        let mut state = seed | 1;
        let bytes: Vec<u8> = (0..shift + rows * in_pitch * pixel_bytes)
            .map(|_| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (state >> 56) as u8
            })
            .collect();
        let bytes = &bytes[shift..];
        // The last row ends with its pixels, without a gap.
        let ends = |rows: usize, pitch: usize, columns: usize| {
            rows.checked_sub(1).map_or(0, |last| (last * pitch + columns) * pixel_bytes)
        };
        let bytes = &bytes[..ends(rows, in_pitch, columns)];
        let mut expected = vec![7; ends(columns, out_pitch, rows)];
        let mut result = expected.clone();
        let row = |row| &bytes[row * in_pitch * pixel_bytes..];
        naive::transpose(row, rows, columns, pixel_bytes, &mut expected, out_pitch);
        transpose(row, rows, columns, pixel_bytes, &mut result, out_pitch);
        prop_assert_eq!(&result, &expected);
        let mut back = bytes.to_vec();
        let column = |column| &result[column * out_pitch * pixel_bytes..];
        transpose(column, columns, rows, pixel_bytes, &mut back, in_pitch);
        prop_assert_eq!(&back, bytes);
    }
}

#[test]
#[should_panic(expected = "pixels of 1, 2, 4 or 8 bytes, not 3")]
fn pixels_of_other_sizes_are_refused() {
    transpose(|_| &[0; 3], 1, 1, 3, &mut [0; 3], 1);
}
