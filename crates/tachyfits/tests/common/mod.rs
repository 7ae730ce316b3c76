//! Helpers of several tests: files built card by card, a pseudo-random generator, and exact sums.

#![allow(dead_code, reason = "each test takes what it needs")]

use tachyfits::{FitsFile, Image, OpenOptions, Table};

/// Bytes of a FITS block.
pub const BLOCK: usize = 2880;

/// Returns the header of a primary HDU, in whole blocks.
pub fn header(bitpix: i64, axes: &[u64], cards: &[String]) -> Vec<u8> {
    let mut all = vec![
        format!("SIMPLE  = {:>20}", "T"),
        format!("BITPIX  = {bitpix:>20}"),
        format!("NAXIS   = {:>20}", axes.len()),
    ];
    all.extend((1..).zip(axes).map(|(n, axis)| format!("{:<8}= {axis:>20}", format!("NAXIS{n}"))));
    all.extend_from_slice(cards);
    all.push("END".to_owned());
    let mut bytes: Vec<u8> =
        all.iter().flat_map(|card| format!("{card:<80}").into_bytes()).collect();
    bytes.resize(bytes.len().next_multiple_of(BLOCK), b' ');
    bytes
}

/// Returns a file with one image.
pub fn fits(bitpix: i64, axes: &[u64], cards: &[String], data: &[u8]) -> Vec<u8> {
    let mut bytes = header(bitpix, axes, cards);
    bytes.extend_from_slice(data);
    bytes.resize(bytes.len().next_multiple_of(BLOCK), 0);
    bytes
}

/// Returns an empty primary HDU and an extension with these cards and data. Structural keywords other than
/// XTENSION, NAXIS1 and NAXIS2 have their usual values unless `cards` sets them.
pub fn table_file(
    xtension: &str,
    axes: [u64; 2],
    heap: u64,
    cards: &[String],
    data: &[u8],
) -> Vec<u8> {
    let fields = cards.iter().filter(|card| card.starts_with("TFORM")).count();
    let mut all = vec![
        format!("XTENSION= {:<20}", format!("'{xtension:<8}'")),
        format!("BITPIX  = {:>20}", 8),
        format!("NAXIS   = {:>20}", 2),
        format!("NAXIS1  = {:>20}", axes[0]),
        format!("NAXIS2  = {:>20}", axes[1]),
        format!("PCOUNT  = {heap:>20}"),
        format!("GCOUNT  = {:>20}", 1),
        format!("TFIELDS = {fields:>20}"),
    ];
    all.extend_from_slice(cards);
    all.push("END".to_owned());
    let mut bytes = header(8, &[], &[]);
    bytes.extend(all.iter().flat_map(|card| format!("{card:<80}").into_bytes()));
    bytes.resize(bytes.len().next_multiple_of(BLOCK), b' ');
    bytes.extend_from_slice(data);
    let fill = if xtension == "TABLE" { b' ' } else { 0 };
    bytes.resize(bytes.len().next_multiple_of(BLOCK), fill);
    bytes
}

/// Opens the first extension of a file in memory as a table.
pub fn table(bytes: Vec<u8>) -> Table {
    let file = FitsFile::from_bytes("made.fits", bytes, &OpenOptions::default());
    file.and_then(|file| file.table(1)).expect("the file is well made")
}

/// Opens the first image of a file in memory.
pub fn image(bytes: Vec<u8>) -> Image {
    let file = FitsFile::from_bytes("made.fits", bytes, &OpenOptions::default());
    file.and_then(|file| file.image(0)).expect("the file is well made")
}

/// Pseudo-random numbers, the same in every run (Steele, Lea and Flood's SplitMix64).
pub struct Numbers(pub u64);

impl Numbers {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// Returns a number in `0..count`.
    pub fn below(&mut self, count: u64) -> u64 {
        self.next() % count
    }

    /// Returns true in about one case of `count`.
    pub fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

/// Returns the exact sum of finite numbers, rounded once, from non-overlapping partial sums (Shewchuk 1997),
/// as Python's `math.fsum` computes it.
pub fn exact_sum(terms: impl IntoIterator<Item = f64>) -> f64 {
    let mut partials: Vec<f64> = Vec::new();
    for mut x in terms {
        let mut count = 0;
        for index in 0..partials.len() {
            let mut y = partials[index];
            if x.abs() < y.abs() {
                std::mem::swap(&mut x, &mut y);
            }
            let high = x + y;
            let low = y - (high - x);
            if low != 0.0 {
                partials[count] = low;
                count += 1;
            }
            x = high;
        }
        partials.truncate(count);
        partials.push(x);
    }
    // From the largest down the partial sums do not overlap: their sum is exact to a unit in the last place.
    partials.iter().rev().sum()
}
