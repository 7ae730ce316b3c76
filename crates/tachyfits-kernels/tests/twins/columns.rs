//! Table columns against their twins, and against their inverses.

use crate::content::tiers;
use proptest::prelude::*;
use tachyfits_kernels::{
    Fields, PixelType, TEXT_INTEGER_WIDTH, Tier, Transfer, add_to_real_parts, decode_logical,
    encode_logical, gather_field_bytes, gather_fields, integers_of_text, mark_nulls, naive,
    narrow_text, pack_bits, put_nulls, scatter_field_bytes, scatter_fields, stream_fields,
    streaming, swap_in_place, trim_text, unpack_bits, widen_text,
};

/// Rows that contain one field each.
#[derive(Clone, Debug)]
struct Rows {
    fields: Fields,
    count: usize,
    bytes: Vec<u8>,
}

/// Generates rows with fields of `elements` elements of `size` bytes; the last row ends with its field or later.
fn rows(elements: usize, size: usize) -> impl Strategy<Value = Rows> {
    let sizes = (0..12usize, 0..300usize, 0..70usize, 0..20usize, any::<u64>());
    sizes.prop_map(move |(offset, count, beyond, after, seed)| {
        let run = elements * size;
        let fields = Fields { offset, stride: run + beyond, elements };
        let last = count.checked_sub(1).map_or(0, |last| last * fields.stride + run);
        Rows { fields, count, bytes: random(offset + last + after, seed) }
    })
}

fn random(count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    (0..count).map(|_| next()).collect()
}

/// Generates numbers of elements per field: few, near the limit of long fields, and many.
fn elements() -> impl Strategy<Value = usize> {
    prop_oneof![Just(1usize), 0..6usize, 2..40usize, 100..140usize]
}

fn rows_and_pixel() -> impl Strategy<Value = (Rows, PixelType)> {
    (elements(), prop::sample::select(PixelType::ALL.to_vec())).prop_flat_map(
        |(elements, pixel)| rows(elements, pixel.bytes()).prop_map(move |rows| (rows, pixel)),
    )
}

/// Returns random characters that occur in strings and logical values.
fn text(count: usize, seed: u64) -> Vec<u8> {
    const BYTES: &[u8] = b"TTFF  ab\0\x01\xe9";
    random(count, seed).iter().map(|&byte| BYTES[usize::from(byte) % BYTES.len()]).collect()
}

proptest! {
    #![proptest_config(crate::content::cases(96))]

    #[test]
    fn fields_are_those_of_the_twin_and_come_back((rows, pixel) in rows_and_pixel()) {
        let Rows { fields, count, bytes } = rows;
        let expected = naive::gather_fields(&bytes, fields, pixel, count);
        let emptied: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
        let mut scattered = emptied.clone();
        naive::scatter_fields(&expected, fields, pixel, &mut scattered);
        for tier in tiers() {
            let mut out = vec![7; expected.len()];
            gather_fields(&bytes, fields, pixel, tier, &mut out);
            prop_assert_eq!(&out, &expected, "{:?}", tier);
            // At any alignment of the column in memory.
            let mut streamed = vec![7; fields.offset + expected.len()];
            let column = &mut streamed[fields.offset..];
            streaming(|stores| stream_fields(&bytes, fields, pixel, tier, column, stores));
            prop_assert_eq!(&streamed[fields.offset..], &expected, "{:?}", tier);
            prop_assert!(streamed[..fields.offset].iter().all(|&byte| byte == 7));
            let mut back = emptied.clone();
            scatter_fields(&out, fields, pixel, tier, &mut back);
            prop_assert_eq!(&back, &scattered, "{:?}", tier);
            // Bytes between the fields stay, and the fields are restored.
            let mut restored = vec![7; expected.len()];
            gather_fields(&back, fields, pixel, tier, &mut restored);
            prop_assert_eq!(&restored, &expected);
        }
    }

    #[test]
    fn bytes_of_fields_are_those_of_the_twin_and_come_back(
        rows in elements().prop_flat_map(|elements| rows(elements, 1)),
    ) {
        let Rows { fields, count, bytes } = rows;
        let expected = naive::gather_field_bytes(&bytes, fields, count);
        let mut out = vec![7; expected.len()];
        gather_field_bytes(&bytes, fields, &mut out);
        prop_assert_eq!(&out, &expected);
        let mut back: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
        let mut scattered = back.clone();
        naive::scatter_field_bytes(&expected, fields, &mut scattered);
        scatter_field_bytes(&out, fields, &mut back);
        prop_assert_eq!(&back, &scattered);
    }

    #[test]
    fn logical_values_are_those_of_the_twin(count in 0..700usize, seed in any::<u64>()) {
        let bytes = text(count, seed);
        let expected = naive::decode_logical(&bytes);
        for tier in tiers() {
            let (mut values, mut nulls) = (bytes.clone(), vec![7; count]);
            let odd = decode_logical(&mut values, &mut nulls, tier);
            prop_assert_eq!(&(values.clone(), nulls.clone(), odd), &expected, "{:?}", tier);
            encode_logical(&mut values, Some(&nulls));
            let plain = |&byte: &u8| match byte { 1 => b'T', b'T' | b'F' => byte, _ => 0 };
            prop_assert_eq!(&values, &bytes.iter().map(plain).collect::<Vec<u8>>());
        }
    }

    #[test]
    fn bits_are_those_of_the_twin_and_come_back(
        bits in 0..40usize,
        rows in 0..60usize,
        seed in any::<u64>(),
    ) {
        let bytes = random(rows * bits.div_ceil(8), seed);
        let expected = naive::unpack_bits(&bytes, bits, rows);
        let mut out = vec![7; rows * bits];
        unpack_bits(&bytes, bits, &mut out);
        prop_assert_eq!(&out, &expected);
        let mut packed = vec![7; bytes.len()];
        pack_bits(&out, bits, &mut packed);
        prop_assert_eq!(naive::unpack_bits(&packed, bits, rows), expected);
        // Bits beyond the last are 0.
        let unused = (8 - bits % 8) % 8;
        let last = packed.chunks(bits.div_ceil(8).max(1)).filter_map(|field| field.last());
        prop_assert!(last.into_iter().all(|byte| u32::from(*byte).trailing_zeros() >= unused as u32));
    }

    #[test]
    fn text_is_that_of_the_twin(width in 0..20usize, count in 0..60usize, seed in any::<u64>()) {
        let bytes = text(width * count, seed);
        let expected = naive::trim_text(&bytes, width);
        let mut trimmed = bytes.clone();
        trim_text(&mut trimmed, width);
        prop_assert_eq!(&trimmed, &expected);
        for tier in tiers() {
            let mut wide = vec![7; 4 * bytes.len()];
            widen_text(&trimmed, tier, &mut wide);
            let one_by_one: Vec<u8> =
                trimmed.iter().flat_map(|&byte| u32::from(byte).to_ne_bytes()).collect();
            prop_assert_eq!(&wide, &one_by_one, "{:?}", tier);
            let mut narrow = vec![7; bytes.len()];
            let odd = narrow_text(&wide, &mut narrow);
            let foreign = trimmed.iter().filter(|byte| !byte.is_ascii()).count();
            let question = |&byte: &u8| if byte.is_ascii() { byte } else { b'?' };
            let ascii: Vec<u8> = trimmed.iter().map(question).collect();
            prop_assert_eq!((odd, &narrow), (foreign as u64, &ascii));
        }
    }

    #[test]
    fn nulls_are_those_of_the_twin_and_come_back(
        pixel in prop::sample::select(PixelType::ALL.to_vec()),
        count in 0..300usize,
        seed in any::<u64>(),
        foreign in any::<i64>(),
    ) {
        let stored = random(count * pixel.bytes(), seed);
        // Null values that occur, and one that fits few types.
        let present = stored.chunks_exact(pixel.bytes()).last().map_or(0, |bytes| {
            let wide = bytes.iter().fold(0i64, |wide, &byte| (wide << 8) | i64::from(byte));
            match pixel.bytes() { 1 => wide, 2 => (wide as i16).into(), 4 => (wide as i32).into(), _ => wide }
        });
        for null in [present, foreign] {
            let expected = naive::mark_nulls(&stored, pixel, null);
            let native = naive::decode_native(&stored, pixel);
            for tier in tiers() {
                let mut nulls = vec![7; count];
                mark_nulls(&native, pixel, null, tier, &mut nulls);
                prop_assert_eq!(&nulls, &expected, "{:?} {:?}", pixel, tier);
            }
            // All bits set except in null elements.
            let mut values = vec![255; native.len()];
            put_nulls(&mut values, pixel, null, &expected);
            let pairs = values.chunks_exact(pixel.bytes()).zip(native.chunks_exact(pixel.bytes()));
            for ((result, before), is_null) in pairs.zip(&expected) {
                prop_assert_eq!(result == before || *is_null == 0, true);
                prop_assert!(*is_null == 1 || result.iter().all(|&byte| byte == 255));
            }
        }
    }
}

proptest! {
    #![proptest_config(crate::content::cases(96))]

    #[test]
    fn transfers_are_those_of_the_twin(
        elements in elements(),
        size in prop::sample::select(vec![1usize, 2, 4, 8, 16]),
        swap in any::<bool>(),
        count in 0..200usize,
        offsets in (0..9usize, 0..9usize),
        gaps in (prop_oneof![Just(0usize), 1..40usize], prop_oneof![Just(0usize), 1..40usize]),
        seed in any::<u64>(),
    ) {
        let run = elements * size;
        let fields = |offset, gap| Fields { offset, stride: run + gap, elements };
        let (from, to) = (fields(offsets.0, gaps.0), fields(offsets.1, gaps.1));
        let bytes = |fields: Fields| fields.offset + count * fields.stride;
        let transfer = Transfer { size, swap, count, from, to };
        let content = random(bytes(from), seed);
        let mut expected = random(bytes(to), seed ^ 5);
        let before = expected.clone();
        naive::transfer(&transfer, &content, &mut expected);
        for tier in tiers() {
            let mut result = before.clone();
            transfer.run(&content, &mut result, tier);
            prop_assert_eq!(&result, &expected);
        }
    }

    #[test]
    fn swapping_in_place_is_a_transfer(
        size in prop::sample::select(vec![1usize, 2, 4, 8, 16]),
        count in 0..200usize,
        seed in any::<u64>(),
    ) {
        let content = random(count * size, seed);
        let fields = Fields { offset: 0, stride: size, elements: 1 };
        let mut expected = content.clone();
        let transfer = Transfer { size, swap: true, count, from: fields, to: fields };
        naive::transfer(&transfer, &content, &mut expected);
        for tier in tiers() {
            let mut result = content.clone();
            swap_in_place(&mut result, size, tier);
            prop_assert_eq!(&result, &expected);
        }
    }
}

/// Generates fields of `width` characters that mostly contain an integer, some with one character changed.
fn integer_texts(width: usize) -> impl Strategy<Value = Vec<Vec<u8>>> {
    const OTHERS: &[u8] = b"0123456789 +-.E\0\x8f\xb5\xff:/";
    let number = (0..=width as u32).prop_flat_map(|digits| 0..10i64.pow(digits));
    let sign = prop::sample::select(vec!["", "-"]);
    let change = prop::option::weighted(0.02, (0..width, prop::sample::select(OTHERS.to_vec())));
    let field = (number, sign, any::<bool>(), change);
    let field = field.prop_map(move |(number, sign, zeros, change)| {
        let text = if zeros { format!("{sign}{number:04}") } else { format!("{sign}{number}") };
        let text = if text.len() <= width { text } else { String::new() };
        let mut field = format!("{text:>width$}").into_bytes();
        if let Some((at, byte)) = change {
            field[at] = byte;
        }
        field
    });
    prop::collection::vec(field, 0..150)
}

proptest! {
    #![proptest_config(crate::content::cases(256))]

    #[test]
    fn integers_of_text_are_those_of_the_twin(
        (texts, before, between) in (1..=TEXT_INTEGER_WIDTH)
            .prop_flat_map(|width| (integer_texts(width), 0..4usize, 0..12usize)),
        seed in any::<u64>(),
    ) {
        let Some(width) = texts.first().map(Vec::len) else { return Ok(()) };
        let mut rows = random(before, seed);
        for (row, text) in texts.iter().enumerate() {
            rows.extend(text);
            // The last row may end with its field.
            if row + 1 < texts.len() {
                rows.extend(random(between, seed ^ row as u64));
            }
        }
        let fields = Fields { offset: before, stride: width + between, elements: width };
        let expected: Option<Vec<i64>> =
            texts.iter().map(|text| naive::integer_of_text(text)).collect();
        for tier in tiers() {
            let mut out = vec![[7; 8]; texts.len()];
            let all = integers_of_text(&rows, fields, tier, &mut out);
            let out: Vec<i64> = out.into_iter().map(i64::from_ne_bytes).collect();
            prop_assert_eq!(all.then_some(&out), expected.as_ref());
        }
    }
}

#[test]
fn every_character_at_every_place_is_judged_as_by_the_twin() {
    for width in [1, 2, 7, 8, 9, 15, 16] {
        let usual = format!("{:>width$}", if width == 1 { "7" } else { "-7" }).into_bytes();
        for text in [usual, vec![b'4'; width], vec![b' '; width]] {
            for at in 0..width {
                for byte in 0..=255 {
                    let mut text = text.clone();
                    text[at] = byte;
                    let fields = Fields { offset: 0, stride: width, elements: width };
                    for tier in tiers() {
                        let mut out = [[7; 8]];
                        let all = integers_of_text(&text, fields, tier, &mut out);
                        let result = all.then_some(i64::from_ne_bytes(out[0]));
                        assert_eq!(result, naive::integer_of_text(&text), "{text:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn zero_is_added_to_real_parts_only() {
    let mut values = [2.0, 4.0, -0.0, -0.0];
    add_to_real_parts(&mut values, 10.0);
    assert_eq!(values.map(f64::to_bits), [12.0, 4.0, 10.0, -0.0f64].map(f64::to_bits));
}

#[test]
#[should_panic(expected = "fields do not overlap")]
fn fields_longer_than_the_stride_are_refused() {
    let fields = Fields { offset: 0, stride: 3, elements: 2 };
    gather_fields(&[0; 9], fields, PixelType::I16, Tier::SCALAR, &mut [0; 8]);
}

#[test]
#[should_panic(expected = "out of range")]
fn rows_that_end_before_the_last_field_are_refused() {
    let fields = Fields { offset: 1, stride: 4, elements: 1 };
    gather_fields(&[0; 6], fields, PixelType::I16, Tier::SCALAR, &mut [0; 4]);
}
