//! Generated tables: columns of every type, rows of valid bytes, and arrays in a heap.

use proptest::prelude::*;

use crate::common::{Numbers, table_file};
use crate::model::{Scaling, Spec};

/// A generated table and its contents.
#[derive(Clone, Debug)]
pub struct TableFixture {
    pub columns: Vec<Spec>,
    pub rows: usize,
    pub row_bytes: usize,
    /// Bytes of all rows.
    pub data: Vec<u8>,
    pub heap: Vec<u8>,
}

impl TableFixture {
    /// Returns the file.
    pub fn bytes(&self) -> Vec<u8> {
        let cards: Vec<String> =
            (1..).zip(&self.columns).flat_map(|(number, column)| column.cards(number)).collect();
        let data = [&self.data[..], &self.heap].concat();
        let axes = [self.row_bytes as u64, self.rows as u64];
        table_file("BINTABLE", axes, self.heap.len() as u64, &cards, &data)
    }

    /// Returns the bytes of a field.
    pub fn field(&self, column: usize, row: usize) -> &[u8] {
        let before: usize = self.columns[..column].iter().map(Spec::field_bytes).sum();
        &self.data[row * self.row_bytes + before..][..self.columns[column].field_bytes()]
    }

    /// Returns the bytes of an array in the heap, and the number of its elements.
    pub fn array(&self, column: usize, row: usize) -> (&[u8], usize) {
        let field = self.field(column, row);
        if field.is_empty() {
            return (&[], 0);
        }
        let (count, offset) = field.split_at(field.len() / 2);
        let number = |bytes: &[u8]| bytes.iter().fold(0, |x, &byte| x << 8 | usize::from(byte));
        let (count, offset) = (number(count), number(offset));
        match count {
            0 => (&[], 0),
            _ => (&self.heap[offset..][..self.columns[column].bytes_of(count)], count),
        }
    }

    /// Generates rows of these columns from a seed.
    pub fn new(columns: Vec<Spec>, rows: usize, seed: u64) -> TableFixture {
        let row_bytes = columns.iter().map(Spec::field_bytes).sum();
        let mut fixture =
            TableFixture { columns, rows, row_bytes, data: Vec::new(), heap: Vec::new() };
        let mut numbers = Numbers(seed);
        for _ in 0..rows {
            for column in &fixture.columns {
                if column.pointer.is_some() {
                    let descriptor = descriptor(column, &mut fixture.heap, &mut numbers);
                    fixture.data.extend(descriptor);
                } else {
                    fixture.data.extend(content(column, column.repeat, &mut numbers));
                }
            }
        }
        fixture
    }
}

/// Returns the bytes of `count` elements.
fn content(column: &Spec, count: usize, numbers: &mut Numbers) -> Vec<u8> {
    const TEXT: &[u8] = b"ab c TF   \0";
    let bytes = column.bytes_of(count);
    // Nulls and similar small numbers are frequent.
    let small = column.is_integer() && numbers.one_in(2);
    let size = if small { column.element_bytes() } else { 1 };
    let mut out: Vec<u8> = (0..bytes)
        .map(|at| match column.letter {
            'L' => b"TFTF\0T\x01?"[numbers.below(8) as usize],
            'A' => TEXT[numbers.below(TEXT.len() as u64) as usize],
            _ if small && at % size + 1 < size => 0,
            _ if small => numbers.below(4) as u8,
            _ => numbers.next() as u8,
        })
        .collect();
    // Bits of NaN are preserved, but arithmetic may quieten a NaN.
    if column.letter == 'A' && numbers.one_in(9) && !out.is_empty() {
        out[0] = 0xe9;
    }
    out
}

/// Appends an array to the heap, or references existing bytes, and returns the descriptor.
fn descriptor(column: &Spec, heap: &mut Vec<u8>, numbers: &mut Numbers) -> Vec<u8> {
    if column.repeat == 0 {
        return Vec::new();
    }
    let most = if numbers.one_in(40) { 3000 } else { 12 };
    let count = numbers.below(most) as usize;
    let bytes = column.bytes_of(count);
    let offset = match numbers.below(4) {
        // Shares bytes with other arrays, at any offset.
        0 if heap.len() >= bytes => numbers.below((heap.len() - bytes) as u64 + 1) as usize,
        1 => {
            let gap = numbers.below(5) as usize;
            heap.resize(heap.len() + gap, 0xaa);
            heap.len()
        }
        _ => heap.len(),
    };
    if offset == heap.len() {
        heap.extend(content(column, count, numbers));
    }
    // The offset of an empty array does not matter.
    let offset = if count == 0 { 0x7fff_ff00 } else { offset };
    match column.pointer {
        Some('P') => [count as u32, offset as u32].map(u32::to_be_bytes).concat(),
        _ => [count as u64, offset as u64].map(u64::to_be_bytes).concat(),
    }
}

fn scaling(letter: char) -> BoxedStrategy<Scaling> {
    let by = (prop::sample::select(vec![0.5, -2.0, 1e-3, 1.0]), -100..100i32)
        .prop_map(|(scale, zero)| Scaling::By(scale, f64::from(zero) / 4.0 + 0.125));
    match letter {
        'B' | 'I' | 'J' | 'K' => {
            prop_oneof![2 => Just(Scaling::None), 1 => Just(Scaling::Flipped), 1 => by].boxed()
        }
        'E' | 'D' | 'C' | 'M' => prop_oneof![2 => Just(Scaling::None), 1 => by].boxed(),
        _ => Just(Scaling::None).boxed(),
    }
}

/// Returns sizes whose product is at most the repeat, or none; for characters exactly the repeat, since
/// others cause a warning.
fn dimensions(letter: char, repeat: usize) -> BoxedStrategy<Vec<usize>> {
    if repeat < 2 {
        return Just(Vec::new()).boxed();
    }
    let some = (1..=repeat, 1..=repeat).prop_map(move |(first, second)| {
        let second = second.min(repeat / first).max(1);
        let is_whole = letter != 'A' || repeat.is_multiple_of(first);
        match (letter, is_whole) {
            ('A', true) => vec![first, repeat / first],
            ('A', false) => vec![1, repeat],
            _ => vec![first, second],
        }
    });
    prop_oneof![3 => Just(Vec::new()), 1 => some].boxed()
}

/// Returns a column of any type with cells of fixed size.
pub fn column() -> impl Strategy<Value = Spec> {
    let letter = prop::sample::select("LXABIJKEDCM".chars().collect::<Vec<_>>());
    let repeat = prop_oneof![3 => Just(1usize), 1 => 0..6usize, 1 => 6..70usize];
    (letter, repeat).prop_flat_map(|(letter, repeat)| {
        let null = prop::option::of(0..4i64);
        (scaling(letter), null, dimensions(letter, repeat)).prop_map(
            move |(scaling, null, dimensions)| {
                let null = null.filter(|_| "BIJK".contains(letter));
                Spec { letter, repeat, scaling, null, dimensions, pointer: None }
            },
        )
    })
}

/// Returns a column of arrays in the heap.
pub fn variable_column() -> impl Strategy<Value = Spec> {
    let pointer = prop::sample::select(vec!['P', 'Q']);
    let repeat = prop_oneof![9 => Just(1usize), 1 => Just(0)];
    (column(), pointer, repeat).prop_map(|(column, pointer, repeat)| Spec {
        repeat,
        pointer: Some(pointer),
        dimensions: Vec::new(),
        ..column
    })
}

/// Returns a table of random columns, some of them with arrays in the heap.
pub fn tables() -> impl Strategy<Value = TableFixture> {
    let kinds = prop_oneof![5 => column().boxed(), 1 => variable_column().boxed()];
    let rows = prop_oneof![0..4usize, 60..70usize, 0..700usize];
    (prop::collection::vec(kinds, 1..8), rows, any::<u64>())
        .prop_map(|(columns, rows, seed)| TableFixture::new(columns, rows, seed))
}
