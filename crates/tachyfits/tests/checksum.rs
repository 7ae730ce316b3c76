//! Checksums of HDUs, compared with sums taken word by word, for any number of threads and every notation in
//! real headers.

mod common;

use common::{Numbers, fits};
use tachyfits::checksum::{Agreement, Checksum};
use tachyfits::{FitsFile, OpenOptions, RunOptions};

fn checksum_with(bytes: Vec<u8>, threads: usize) -> Checksum {
    let file = FitsFile::from_bytes("made.fits", bytes, &OpenOptions::default()).unwrap();
    let run = RunOptions::default().threads(threads);
    file.checksum(0, &run).unwrap().0
}

fn checksum(bytes: Vec<u8>) -> Checksum {
    checksum_with(bytes, 1)
}

/// The definition: words are added one by one, with the carry added immediately.
fn naive(bytes: &[u8]) -> u32 {
    bytes.chunks(4).fold(0u32, |sum, word| {
        let mut padded = [0; 4];
        padded[..word.len()].copy_from_slice(word);
        let (sum, carry) = sum.overflowing_add(u32::from_be_bytes(padded));
        sum.wrapping_add(carry.into())
    })
}

fn text(keyword: &str, value: &str) -> String {
    format!("{keyword:<8}= '{value:<8}'")
}

#[test]
fn sums_are_those_of_the_definition_for_any_number_of_threads() {
    let mut numbers = Numbers(1);
    for bytes in [1, 7, 2880, 2881, (1 << 20) + 5, (5 << 20) + 3] {
        let data: Vec<u8> = (0..bytes).map(|_| numbers.next() as u8).collect();
        let file = fits(8, &[bytes], &[], &data);
        for threads in [1, 2, 5] {
            let actual = checksum_with(file.clone(), threads);
            assert_eq!(actual.datasum, naive(&file[2880..]), "{bytes} bytes, {threads} threads");
            assert_eq!(actual.sum, naive(&file), "{bytes} bytes, {threads} threads");
            assert_eq!((actual.data, actual.whole), (Agreement::NotStated, Agreement::NotStated));
        }
    }
}

#[test]
fn datasum_is_read_in_every_form_that_it_has() {
    let data = [0, 0, 1, 2];
    let state = |card: String| checksum(fits(8, &[4], &[card], &data)).data;
    assert_eq!(state(text("DATASUM", "258")), Agreement::Right);
    assert_eq!(state(text("DATASUM", "0000000258")), Agreement::Right);
    assert_eq!(state(text("DATASUM", "  258")), Agreement::Right);
    assert_eq!(state("DATASUM =                  258".to_owned()), Agreement::Right);
    assert_eq!(state(text("DATASUM", "")), Agreement::NotStated);
    assert_eq!(state("DATASUM =".to_owned()), Agreement::NotStated);
    assert_eq!(state(text("DATASUM", "259")), Agreement::Wrong);
    assert_eq!(state(text("DATASUM", "4294967296")), Agreement::Unreadable);
    assert_eq!(state(text("DATASUM", "many")), Agreement::Unreadable);
}

#[test]
fn both_forms_of_zero_are_the_same_sum() {
    let ones = checksum(fits(8, &[4], &[text("DATASUM", "0")], &[255; 4]));
    assert_eq!((ones.datasum, ones.data), (u32::MAX, Agreement::Right));
    let none = checksum(fits(8, &[4], &[text("DATASUM", "4294967295")], &[0; 4]));
    assert_eq!((none.datasum, none.data), (0, Agreement::Right));
}

#[test]
fn a_checksum_is_right_when_the_sum_is_all_ones_or_zeros() {
    let card = text("CHECKSUM", "0000000000000000");
    let actual = checksum(fits(8, &[4], &[card], &[1, 2, 3, 4]));
    assert_eq!(actual.whole, Agreement::Wrong);
    let right = tachyfits_kernels::encode_checksum(actual.sum, true);
    let card = text("CHECKSUM", std::str::from_utf8(&right).unwrap());
    let actual = checksum(fits(8, &[4], std::slice::from_ref(&card), &[1, 2, 3, 4]));
    assert_eq!((actual.sum, actual.whole), (u32::MAX, Agreement::Right));
    let changed = checksum(fits(8, &[4], &[card], &[1, 2, 3, 5]));
    assert_eq!((changed.whole, changed.is_good()), (Agreement::Wrong, false));
    let short = checksum(fits(8, &[4], &[text("CHECKSUM", "abc")], &[1, 2, 3, 5]));
    assert_eq!(short.whole, Agreement::Unreadable);
}

#[test]
fn missing_fill_counts_as_zeros_and_missing_data_are_an_error() {
    let file = fits(16, &[4], &[text("DATASUM", "655370")], &[0, 1, 0, 2, 0, 9, 0, 8]);
    let whole = checksum(file.clone());
    assert_eq!(whole.data, Agreement::Right);
    assert_eq!(checksum(file[..2888].to_vec()), whole);
    let short = FitsFile::from_bytes("short", file[..2887].to_vec(), &OpenOptions::default());
    let error = short.unwrap().checksum(0, &RunOptions::default()).unwrap_err();
    assert_eq!(error.code(), "data-missing");
}
