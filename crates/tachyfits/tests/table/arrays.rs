//! Arrays in the heap, compared with the twin.

use proptest::prelude::*;
use tachyfits::Rows;

use crate::common::{Numbers, table};
use crate::made::{TableFixture, variable_column};
use crate::model::{Scaling, Spec, same_values};
use crate::read::ONE;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn arrays_are_those_of_the_twin(
        columns in prop::collection::vec(variable_column(), 1..4),
        count in prop_oneof![0..5usize, 0..400usize],
        seed in any::<u64>(),
        raw in any::<bool>(),
        is_list in any::<bool>(),
        threads in 1..4usize,
    ) {
        let fixture = TableFixture::new(columns, count, seed);
        let table = table(fixture.bytes());
        let mut numbers = Numbers(seed ^ 1);
        let some: Vec<u64> = match count {
            0 => Vec::new(),
            _ => (0..numbers.below(50)).map(|_| numbers.below(count as u64)).collect(),
        };
        let all: Vec<u64> = (0..count as u64).collect();
        let (selection, rows) = match is_list {
            true => (Rows::List(&some), &some),
            false => (Rows::Range(0..count as u64), &all),
        };
        for (index, column) in fixture.columns.iter().enumerate() {
            let options = ONE.threads(threads);
            let (arrays, _) = table.read_arrays(index, raw, &selection, &options).unwrap();
            let (mut values, mut nulls, mut offsets) = (Vec::new(), Vec::new(), vec![0i64]);
            for &row in rows {
                let (bytes, count) = fixture.array(index, row as usize);
                let (value, null) = column.elements(bytes, count, raw);
                values.extend(value);
                nulls.extend(null);
                offsets.push(offsets[offsets.len() - 1] + count as i64);
            }
            prop_assert_eq!(&arrays.offsets, &offsets);
            let plain = Spec { scaling: Scaling::None, ..column.clone() };
            let as_read = if raw { &plain } else { column };
            prop_assert!(same_values(as_read, &arrays.values, &values), "{:?}", column);
            match arrays.nulls {
                Some(actual) => prop_assert_eq!(actual, nulls),
                None => prop_assert!(nulls.iter().all(|&null| null == 0), "{:?}", column),
            }
            if !raw {
                prop_assert_eq!(arrays.cells, table.cells(index, false).unwrap());
            }
        }
    }
}

/// Arrays longer than a task, before and after short ones, at any byte of the heap.
#[test]
fn long_arrays_are_read_in_pieces() {
    for letter in "XBEM".chars() {
        let column = Spec {
            letter,
            repeat: 1,
            scaling: if letter == 'B' { Scaling::By(0.5, 1.0) } else { Scaling::None },
            null: None,
            dimensions: Vec::new(),
            pointer: Some('Q'),
        };
        let mut fixture = TableFixture::new(vec![column.clone()], 5, 3);
        let mut numbers = Numbers(4);
        fixture.data.clear();
        fixture.heap = (0..3_000_000).map(|_| numbers.next() as u8).collect();
        let most = if letter == 'X' { 8 * 2_999_000 } else { 2_999_000 / column.element_bytes() };
        // The last array begins within the first one.
        for (count, offset) in [(3u64, 0u64), (most as u64, 5), (0, 9), (7, 77), (100_001, 11)] {
            fixture.data.extend([count, offset].map(u64::to_be_bytes).concat());
        }
        let table = table(fixture.bytes());
        for threads in [1, 2] {
            let options = ONE.threads(threads);
            let (arrays, _) = table.read_arrays(0, false, &Rows::Range(0..5), &options).unwrap();
            let mut expected = Vec::new();
            for row in 0..5 {
                let (bytes, count) = fixture.array(0, row);
                expected.extend(column.elements(bytes, count, false).0);
            }
            assert!(arrays.values == expected, "{letter}");
        }
    }
}

/// Descriptors are checked before any data is read.
#[test]
fn descriptors_are_checked_before_anything_is_read() {
    let column = Spec {
        letter: 'J',
        repeat: 1,
        scaling: Scaling::None,
        null: None,
        dimensions: Vec::new(),
        pointer: Some('P'),
    };
    let with = |descriptors: &[[i32; 2]], heap: usize| {
        let mut fixture = TableFixture::new(vec![column.clone()], descriptors.len(), 1);
        fixture.data =
            descriptors.iter().flat_map(|pair| pair.map(i32::to_be_bytes).concat()).collect();
        fixture.heap = vec![1; heap];
        fixture
    };
    let read = |bytes: Vec<u8>, rows: u64| {
        table(bytes).read_arrays(0, false, &Rows::Range(0..rows), &ONE).map(|(arrays, _)| arrays)
    };
    let text = |descriptors: &[[i32; 2]]| {
        let fixture = with(descriptors, 40);
        read(fixture.bytes(), descriptors.len() as u64).unwrap_err().to_string()
    };
    for wrong in [[1, 37], [11, 0], [-1, 0], [1, -4], [i32::MAX, 0], [i32::MIN, i32::MIN]] {
        let text = text(&[[1, 36], wrong, [2, 0]]);
        assert!(text.contains("row 2") && text.contains("made.fits"), "{text}");
    }
    // The same row of a list that is not sorted.
    let fixture = with(&[[1, 0], [9, 9], [2, 0]], 40);
    let error = table(fixture.bytes()).read_arrays(0, false, &Rows::List(&[2, 0, 1]), &ONE);
    assert!(error.unwrap_err().to_string().contains("row 2"));
    assert!(table(fixture.bytes()).read_arrays(0, false, &Rows::List(&[2, 0]), &ONE).is_ok());
    // Many arrays of the same bytes: too large for a file of this size.
    let fixture = with(&[[1 << 20, 0]; 100], 4 << 20);
    assert_eq!(read(fixture.bytes(), 100).unwrap_err().code(), "memory");
    assert_eq!(read(fixture.bytes(), 9).unwrap().values.len(), 36 << 20);
    // The file ends within the heap: arrays before the end can be read.
    let fixture = with(&[[1000, 0], [1000, 4000], [1, 7996]], 8000);
    let cut = fixture.bytes()[..2 * 2880 + 24 + 6000].to_vec();
    let error = read(cut.clone(), 3).unwrap_err();
    assert_eq!(error.code(), "data-missing");
    assert!(error.to_string().contains("row 2 (from 1)"), "{error}");
    assert_eq!(read(cut, 1).unwrap().values.len(), 4000);
}
