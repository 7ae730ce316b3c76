//! Unformatted Fortran files: results compared with the raw bytes for any threads and storage, and rejected requests.

use proptest::prelude::*;
use tachyfits_records::{
    Code, Conversion, Error, FileOrder, Narrowing, NewRecords, PixelType, Problem, RecordAccess,
    RecordField, RecordFile, RecordForm, RecordLayout, RecordMarkers, RecordNumber, RecordOptions,
    RecordPart, RecordWriter, RunOptions, Stats,
};

/// Creates a file with records of these bytes.
fn content(markers: RecordMarkers, records: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::new();
    for record in records {
        let marker = markers.write(record.len() as i64);
        out.extend_from_slice(&marker[..markers.bytes()]);
        out.extend_from_slice(record);
        out.extend_from_slice(&marker[..markers.bytes()]);
    }
    out
}

fn given(markers: RecordMarkers) -> RecordOptions {
    RecordOptions::default().marker_bytes(Some(markers.bytes())).order(Some(markers.order()))
}

fn opened(markers: RecordMarkers, records: &[Vec<u8>]) -> RecordFile {
    RecordFile::from_bytes("made.dat", content(markers, records), &given(markers)).unwrap()
}

fn threads(threads: usize) -> RunOptions<'static> {
    RunOptions::default().threads(threads)
}

/// Returns the numbers of a record in the machine's byte order, swapped one by one.
fn native(record: &[u8], size: usize, order: FileOrder) -> Vec<u8> {
    let mut out = record.to_vec();
    if order != FileOrder::NATIVE {
        out.chunks_exact_mut(size).for_each(<[u8]>::reverse);
    }
    out
}

fn bytes(count: usize, seed: u64) -> Vec<u8> {
    let mut state = seed | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    (0..count).map(|_| next()).collect()
}

/// Contiguous derived types, and a field after them: as repeated fields, and as many fields without repetition. A type
/// has fields of some numbers of some bytes, and gaps before them in record and item.
fn derived_types(
    first: u64,
    kinds: &[(u64, u64, u64, u64)],
    repeats: u64,
    seed: u64,
) -> (RecordLayout, RecordLayout) {
    let (mut offset, mut to) = (0, 0);
    let mut types = Vec::new();
    for &(size, elements, gap, to_gap) in kinds {
        types.push(RecordField::once(first + offset + gap, size, elements, 1 + to + to_gap));
        (offset, to) = (offset + gap + size * elements, to + to_gap + size * elements);
    }
    // A type without bytes needs a step of at least 1.
    let (step, to_step) = (offset.max(1), to.max(1));
    let (record_bytes, item_bytes) = (first + repeats * step + 3, repeats * to_step + 5);
    let last = RecordField::once(record_bytes - 3, 1, 3, 1 + repeats * to_step);
    let mut repeated: Vec<_> =
        types.iter().map(|field| RecordField { repeats, step, to_step, ..*field }).collect();
    // Fields may be in any order.
    repeated.insert(seed as usize % (repeated.len() + 1), last);
    let mut apart = vec![last];
    for n in 0..repeats {
        let repetition = |field: &RecordField| RecordField {
            offset: field.offset + n * step,
            to: field.to + n * to_step,
            ..*field
        };
        apart.extend(types.iter().map(repetition));
    }
    let layout = |fields| RecordLayout { record_bytes, item_bytes, fields };
    (layout(repeated), layout(apart))
}

/// Returns the items of records, with 9 between the fields, and the records with 0 between them; computed one by one.
fn moved(records: &[Vec<u8>], layout: &RecordLayout, order: FileOrder) -> (Vec<u8>, Vec<Vec<u8>>) {
    let mut items = vec![9; records.len() * layout.item_bytes as usize];
    let mut copies: Vec<_> = records.iter().map(|record| vec![0; record.len()]).collect();
    let each = items.chunks_exact_mut(layout.item_bytes as usize).zip(&mut copies);
    for (record, (item, copies)) in records.iter().zip(each) {
        for field in &layout.fields {
            let bytes = (field.size * field.elements) as usize;
            let from = field.offset as usize..field.offset as usize + bytes;
            copies[from.clone()].copy_from_slice(&record[from.clone()]);
            let numbers = native(&record[from], field.size as usize, order);
            item[field.to as usize..][..bytes].copy_from_slice(&numbers);
        }
    }
    (items, copies)
}

/// Returns the concatenated bytes of a field of all records.
fn numbers_of(records: &[Vec<u8>], field: &RecordField) -> Vec<u8> {
    let bytes = (field.size * field.elements) as usize;
    let of_record = |record: &Vec<u8>| -> Vec<u8> {
        let begin = |n: u64| (field.offset + n * field.step) as usize;
        (0..field.repeats).flat_map(|n| record[begin(n)..][..bytes].to_vec()).collect()
    };
    records.iter().flat_map(of_record).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn records_are_read_for_any_threads_and_storage(
        markers in prop::sample::select(RecordMarkers::ALL.to_vec()),
        size in prop::sample::select(vec![1usize, 2, 4, 8, 16]),
        elements in prop_oneof![1..20usize, 900..1100usize, 3000..9000usize],
        count in prop_oneof![1..60usize, Just(300usize)],
        seed in any::<u64>(),
    ) {
        let records: Vec<_> = (0..count).map(|n| bytes(elements * size, seed ^ n as u64)).collect();
        let expected: Vec<u8> = records.iter().flat_map(|r| native(r, size, markers.order())).collect();
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("made.dat");
        std::fs::write(&path, content(markers, &records)).unwrap();
        let layout = RecordLayout::plain((elements * size) as u64, size as u64);
        let files = [opened(markers, &records), RecordFile::open(&path, &given(markers)).unwrap()];
        for file in &files {
            for options in [threads(1), threads(3)] {
                let mut out = vec![0; expected.len()];
                file.read(0, count as u64, &layout, &mut out, &options).unwrap();
                prop_assert!(out == expected);
            }
        }
        let stats = |file: &RecordFile, options| -> Stats {
            file.stats(0, count as u64, PixelType::I8, None, &options).unwrap().0
        };
        prop_assert_eq!(stats(&files[0], threads(1)), stats(&files[1], threads(3)));
        // Writing the items again restores the bytes of the file.
        let copy = directory.path().join("copy.dat");
        let new = NewRecords::default().marker_bytes(markers.bytes()).order(markers.order());
        let mut writer = RecordWriter::create(&copy, &new).unwrap();
        let part = RecordPart { items: &expected, count: count as u64, layout: &layout };
        writer.write(&part, &threads(2)).unwrap();
        writer.finish().unwrap();
        prop_assert!(std::fs::read(&copy).unwrap() == std::fs::read(&path).unwrap());
    }

    #[test]
    fn every_so_manyth_record_is_read_whatever_is_between(
        markers in prop::sample::select(RecordMarkers::ALL.to_vec()),
        elements in prop_oneof![1..20usize, 900..1100usize, 3000..9000usize],
        between in prop::collection::vec(prop_oneof![0..40usize, 2000..9000usize], 0..4),
        is_regular in any::<bool>(), count in 1..60usize, first in 0..3usize, fields in any::<bool>(),
    ) {
        let record = |n: usize| bytes(8 * elements, n as u64);
        let mut records = vec![vec![1; 3]; first];
        for n in 0..count {
            records.push(record(n));
            records.extend(between.iter().map(|length| vec![2; length + if is_regular { 0 } else { n }]));
        }
        let step = between.len() as u64 + 1;
        let expected: Vec<u8> = (0..count).flat_map(|n| native(&record(n), 8, markers.order())).collect();
        let mut layout = RecordLayout::plain(8 * elements as u64, 8);
        if fields {
            let (first, rest) = (RecordField::once(0, 8, 1, 0), RecordField::once(8, 8, elements as u64 - 1, 8));
            layout.fields = vec![first, rest];
        }
        let file = opened(markers, &records);
        for options in [threads(1), threads(3)] {
            let mut out = vec![0; expected.len()];
            file.read_every(first as u64, step, count as u64, &layout, &mut out, &options).unwrap();
            prop_assert!(out == expected);
        }
    }

    #[test]
    fn reading_ahead_gives_what_the_index_gives(
        markers in prop::sample::select(RecordMarkers::ALL.to_vec()),
        elements in prop_oneof![1..20usize, 900..1100usize, 3000..9000usize, 30_000..30_005usize],
        count in prop_oneof![1..60usize, Just(300usize)],
        batch in prop_oneof![1..9u64, 20..400u64],
        broken in prop::option::of(any::<prop::sample::Index>()),
        recover in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let count = if elements > 3000 { count.min(40) } else { count };
        let records: Vec<_> = (0..count).map(|n| bytes(elements * 8, seed ^ n as u64)).collect();
        let mut content = content(markers, &records);
        if let Some(place) = broken {
            content[place.index(count) * (elements * 8 + 2 * markers.bytes())] ^= 0x40;
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("made.dat");
        std::fs::write(&path, &content).unwrap();
        let options = given(markers).recover(recover);
        let walked = RecordFile::open(&path, &options).unwrap();
        let index = walked.index().unwrap();
        let layout = RecordLayout::plain(elements as u64 * 8, 8);
        let files = [
            RecordFile::from_bytes("made.dat", content, &options).unwrap(),
            RecordFile::open(&path, &options).unwrap(),
        ];
        for (file, run) in files.iter().zip([threads(1), threads(3)]) {
            let mut first = 0;
            while let Some((number, length)) = file.ahead(first, batch).unwrap() {
                let mut out = vec![0; (number * length) as usize];
                let mut expected = out.clone();
                if file.read_ahead(first, number, &layout, &mut out, &run).unwrap().is_none() {
                    break;
                }
                walked.read(first, number, &layout, &mut expected, &run).unwrap();
                prop_assert!(out == expected);
                // Again, and from the middle on.
                let half = number / 2;
                let part = &mut out[(half * length) as usize..];
                file.read_ahead(first + half, number - half, &layout, part, &run).unwrap().unwrap();
                prop_assert!(out == expected);
                first += number;
            }
            prop_assert_eq!(file.index().unwrap(), index);
            if broken.is_none() {
                prop_assert_eq!(first, count as u64);
            }
        }
    }

    #[test]
    fn derived_types_are_as_many_fields(
        first in 0..9u64,
        kinds in prop::collection::vec(
            (prop::sample::select(vec![1u64, 2, 4, 8, 16]), 0..4u64, 0..6u64, 0..6u64), 1..4,
        ),
        repeats in prop_oneof![0..4u64, 20..60u64, Just(9_000u64), Just(40_000u64)],
        count in 1..4usize,
        turned in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let (repeated, apart) = derived_types(first, &kinds, repeats, seed);
        let order = if turned { FileOrder::Big } else { FileOrder::Little };
        let markers = RecordMarkers::new(4, order).unwrap();
        let length = repeated.record_bytes as usize;
        let records: Vec<_> = (0..count).map(|n| bytes(length, seed ^ n as u64)).collect();
        let file = opened(markers, &records);
        let (expected, copies) = moved(&records, &apart, order);
        let mut out = vec![9; expected.len()];
        file.read(0, count as u64, &repeated, &mut out, &threads(2)).unwrap();
        prop_assert!(out == expected);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("made.dat");
        let new = NewRecords::default().order(order);
        let mut writer = RecordWriter::create(&path, &new).unwrap();
        let part = RecordPart { items: &out, count: count as u64, layout: &repeated };
        writer.write(&part, &threads(2)).unwrap();
        writer.finish().unwrap();
        prop_assert!(std::fs::read(&path).unwrap() == content(markers, &copies));
        // Their statistics equal those of the concatenated numbers.
        for field in repeated.fields.iter().filter(|field| field.size == 2) {
            let alone = opened(markers, &[numbers_of(&records, field)]);
            let (all, _) = alone.stats(0, 1, PixelType::I16, None, &threads(1)).unwrap();
            let (stats, _) =
                file.stats(0, count as u64, PixelType::I16, Some(&[*field]), &threads(2)).unwrap();
            prop_assert_eq!(
                (stats.count, stats.sum.value(), stats.min, stats.max),
                (all.count, all.sum.value(), all.min, all.max)
            );
        }
    }

    #[test]
    fn a_field_is_the_same_alone_and_among_others(
        before in 0..9u64, elements in 1..40u64, after in 0..9u64, count in 1..200usize, seed in any::<u64>(),
    ) {
        let record_bytes = before + 4 * elements + after;
        let markers = RecordMarkers::new(4, FileOrder::Big).unwrap();
        let records: Vec<_> = (0..count).map(|n| bytes(record_bytes as usize, seed ^ n as u64)).collect();
        let file = opened(markers, &records);
        let field = RecordField::once(before, 4, elements, 3);
        let item_bytes = 4 * elements + 5;
        let layout = RecordLayout { record_bytes, item_bytes, fields: vec![field] };
        let mut out = vec![9; count * item_bytes as usize];
        file.read(0, count as u64, &layout, &mut out, &threads(2)).unwrap();
        for (record, item) in records.iter().zip(out.chunks_exact(item_bytes as usize)) {
            let numbers = &record[before as usize..(before + 4 * elements) as usize];
            let expected = [vec![9; 3], native(numbers, 4, FileOrder::Big), vec![9; 2]].concat();
            prop_assert_eq!(item, &expected[..]);
        }
        let (stats, _) = file.stats(0, count as u64, PixelType::I32, Some(&[field]), &threads(2)).unwrap();
        prop_assert_eq!(stats.count, count as u64 * elements);
    }
}

#[test]
fn long_records_are_written_as_they_should_be() {
    let directory = tempfile::tempdir().unwrap();
    for (length, count) in [(12 << 10, 70), (1 << 20, 3), ((1 << 20) + 8, 3), ((16 << 20) + 8, 2)] {
        let records: Vec<_> = (0..count).map(|n| bytes(length, n)).collect();
        for markers in RecordMarkers::ALL {
            let order = markers.order();
            let items: Vec<u8> = records.iter().flat_map(|r| native(r, 8, order)).collect();
            let path = directory.path().join("made.dat");
            let new =
                NewRecords::default().marker_bytes(markers.bytes()).order(order).overwrite(true);
            let mut writer = RecordWriter::create(&path, &new).unwrap();
            let layout = RecordLayout::plain(length as u64, 8);
            let part = RecordPart { items: &items, count, layout: &layout };
            writer.write(&part, &threads(2)).unwrap();
            writer.finish().unwrap();
            assert!(std::fs::read(&path).unwrap() == content(markers, &records), "{length}");
        }
    }
}

#[test]
fn gaps_of_records_are_0_whatever_was_written_before() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("made.dat");
    let mut writer = RecordWriter::create(&path, &NewRecords::default()).unwrap();
    let plain = RecordLayout::plain(16, 4);
    let items = vec![7; 16 * 40_000];
    writer
        .write(&RecordPart { items: &items, count: 40_000, layout: &plain }, &threads(1))
        .unwrap();
    let fields = vec![RecordField::once(4, 4, 1, 0)];
    let gaps = RecordLayout { record_bytes: 12, item_bytes: 4, fields };
    let part = RecordPart { items: &items, count: 160_000, layout: &gaps };
    writer.write(&part, &threads(1)).unwrap();
    writer.write(&part, &threads(3)).unwrap();
    writer.finish().unwrap();
    let result = std::fs::read(&path).unwrap();
    let record = [12u32.to_ne_bytes(), [0; 4], [7; 4], [0; 4], 12u32.to_ne_bytes()].concat();
    assert!(result[40_000 * 24..].chunks(20).all(|result| result == record));
    assert_eq!(result.len(), 40_000 * 24 + 2 * 160_000 * 20);
}

#[test]
fn a_report_of_progress_may_write_records_too() {
    let directory = tempfile::tempdir().unwrap();
    let [path, other] = ["made.dat", "other.dat"].map(|name| directory.path().join(name));
    let create = |path| RecordWriter::create(path, &NewRecords::default()).unwrap();
    let layout = RecordLayout {
        record_bytes: 12,
        item_bytes: 4,
        fields: vec![RecordField::once(4, 4, 1, 0)],
    };
    let (items, more) = ([1; 4 * 100], [2; 4 * 10]);
    let log = std::sync::Mutex::new(create(&other));
    let write_more = |_, _| {
        let part = RecordPart { items: &more, count: 10, layout: &layout };
        log.lock().unwrap().write(&part, &threads(1)).unwrap();
    };
    let mut writer = create(&path);
    let part = RecordPart { items: &items, count: 100, layout: &layout };
    writer.write(&part, &threads(1).progress(Some(&write_more))).unwrap();
    writer.finish().unwrap();
    log.into_inner().unwrap().finish().unwrap();
    let expected = |count: usize, byte: u8| {
        let marker = 12u32.to_ne_bytes();
        [marker, [0; 4], [byte; 4], [0; 4], marker].concat().repeat(count)
    };
    assert_eq!(std::fs::read(&path).unwrap(), expected(100, 1));
    assert_eq!(std::fs::read(&other).unwrap(), expected(10, 2));
}

/// Returns a problem of each code that a request provokes.
pub(crate) fn problems() -> Vec<Problem> {
    let markers = RecordMarkers::new(4, FileOrder::Big).unwrap();
    let large = 1e300f64.to_be_bytes().to_vec();
    let file = opened(markers, &[vec![1; 8], vec![3; 4], large]);
    let run = threads(1);
    let read = |first, count, item_bytes, out: &mut [u8]| {
        file.read(first, count, &RecordLayout::plain(8, item_bytes), out, &run).map(drop)
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.dat");
    let forms = ["8i1", "4i1", "f8"].map(|form| RecordForm::parse(form).unwrap()).to_vec();
    let narrowing = Some(Narrowing::Single);
    let single = Conversion::default().forms(forms).narrowing(narrowing);
    let access = RecordAccess::Direct(8);
    let new = NewRecords::default().access(access).order(FileOrder::Big);
    let direct = Conversion::default().new(new);
    [
        read(3, 1, 4, &mut [0; 8]),
        read(0, 1, 3, &mut [0; 8]),
        read(0, 1, 4, &mut [0; 7]),
        file.convert(&path, &single, &run).map(drop),
        file.convert(&path, &direct, &run).map(drop),
    ]
    .map(|outcome| match outcome {
        Err(Error::Problem(problem)) => *problem,
        other => panic!("no problem: {other:?}"),
    })
    .to_vec()
}

/// Returns the code; checks that the text names the file and contains advice.
fn code<T: std::fmt::Debug>(result: Result<T, Error>) -> Code {
    let error = result.unwrap_err();
    let text = format!("{error:#}");
    let Error::Problem(problem) = error else { panic!("another error: {text}") };
    assert!(text.ends_with(&format!("\nhint: {}", problem.code.hint())), "{text}");
    assert!(text.starts_with("made.dat: expected "), "{text}");
    problem.code
}

#[test]
fn derived_types_among_each_other_are_written_as_they_are() {
    // 40 000 types of 32 bytes, whose second half is itself an array of four types.
    let count = 40_000;
    let outer =
        RecordField { repeats: count, step: 32, to_step: 32, ..RecordField::once(0, 8, 2, 0) };
    let mut fields = vec![outer];
    for n in 0..count {
        let inner = RecordField::once(32 * n + 16, 2, 1, 32 * n + 16);
        fields.push(RecordField { repeats: 4, step: 4, to_step: 4, ..inner });
    }
    let layout = RecordLayout { record_bytes: 32 * count, item_bytes: 32 * count, fields };
    let items = bytes(32 * count as usize, 7);
    let mut new_items = items.clone();
    for (n, pair) in new_items.chunks_exact_mut(2).enumerate() {
        match n % 16 {
            0..8 => {}
            _ if n % 2 == 1 => pair.fill(0),
            _ => pair.reverse(),
        }
    }
    for numbers in new_items.chunks_exact_mut(32) {
        numbers[..8].reverse();
        numbers[8..16].reverse();
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("made.dat");
    let markers = RecordMarkers::new(4, FileOrder::NATIVE).unwrap();
    let other =
        RecordMarkers::ALL.into_iter().find(|of| of.bytes() == 4 && of.order() != markers.order());
    let other = other.unwrap();
    let new = NewRecords::default().order(other.order());
    let mut writer = RecordWriter::create(&path, &new).unwrap();
    writer.write(&RecordPart { items: &items, count: 1, layout: &layout }, &threads(2)).unwrap();
    writer.finish().unwrap();
    assert!(std::fs::read(&path).unwrap() == content(other, &[new_items]));
}

#[test]
fn derived_types_over_each_other_are_refused() {
    let file = opened(RecordMarkers::new(4, FileOrder::Big).unwrap(), &[vec![1; 64]]);
    let field = RecordField { repeats: 4, step: 16, to_step: 16, ..RecordField::once(0, 8, 2, 0) };
    for wrong in [
        RecordField { step: 15, ..field },
        RecordField { to_step: 15, ..field },
        RecordField { repeats: 5, ..field },
        RecordField { repeats: u64::MAX, ..field },
        RecordField { repeats: u64::MAX, step: u64::MAX, ..field },
        RecordField { offset: 1, ..field },
    ] {
        let layout = RecordLayout { record_bytes: 64, item_bytes: 64, fields: vec![wrong] };
        let result = file.read(0, 1, &layout, &mut [0; 64], &threads(1));
        assert_eq!(code(result), Code::Type, "{wrong:?}");
        assert_eq!(code(file.stats(0, 1, PixelType::F64, Some(&[wrong]), &threads(1))), Code::Type);
    }
    let layout = RecordLayout { record_bytes: 64, item_bytes: 64, fields: vec![field] };
    file.read(0, 1, &layout, &mut [0; 64], &threads(1)).unwrap();
}

#[test]
fn several_fields_are_the_numbers_of_groups_in_groups() {
    // Groups of a number and pairs each.
    for (groups, pairs) in [(2, 3), (3, 2), (3, 60_000), (60_000, 3)] {
        let step = 4 + 8 * pairs;
        let order = FileOrder::Big;
        let records: Vec<_> = (0..2).map(|n| bytes(groups as usize * step as usize, n)).collect();
        let file = opened(RecordMarkers::new(4, order).unwrap(), &records);
        let field = |at: u64, to: u64| RecordField::once(at, 4, 1, to);
        let fields: Vec<_> = if groups < pairs {
            let pairs = |n| RecordField {
                repeats: pairs,
                step: 8,
                to_step: 4,
                ..field(n * step + 4, 4 * n * pairs)
            };
            (0..groups).map(pairs).collect()
        } else {
            let each = |n| RecordField {
                repeats: groups,
                step,
                to_step: 4 * pairs,
                ..field(4 + 8 * n, 4 * n)
            };
            (0..pairs).map(each).collect()
        };
        let numbers: Vec<_> = records
            .iter()
            .flat_map(|record| record.chunks_exact(step as usize))
            .flat_map(|group| group[4..].chunks_exact(8).flat_map(|pair| pair[..4].to_vec()))
            .collect();
        let alone = opened(RecordMarkers::new(4, order).unwrap(), &[numbers]);
        let (all, _) = alone.stats(0, 1, PixelType::I32, None, &threads(1)).unwrap();
        let (stats, _) = file.stats(0, 2, PixelType::I32, Some(&fields), &threads(2)).unwrap();
        assert_eq!(
            (stats.count, stats.sum.value(), stats.min, stats.max),
            (all.count, all.sum.value(), all.min, all.max)
        );
        let turned: Vec<_> = fields.iter().rev().copied().collect();
        let beyond: Vec<_> =
            fields.iter().map(|field| RecordField { to: field.to + 4, ..*field }).collect();
        for wrong in [turned, beyond] {
            let result = file.stats(0, 2, PixelType::I32, Some(&wrong), &threads(1));
            assert_eq!(code(result), Code::Type);
        }
    }
}

#[test]
fn fields_that_reach_into_each_other_in_the_item_are_moved_one_by_one() {
    let record = bytes(1_920_000, 3);
    let file =
        opened(RecordMarkers::new(4, FileOrder::NATIVE).unwrap(), std::slice::from_ref(&record));
    let repeated = |offset, size, to| RecordField {
        repeats: 60_000,
        step: 32,
        to_step: 16,
        ..RecordField::once(offset, size, 1, to)
    };
    let fields = vec![repeated(0, 8, 10), repeated(8, 1, 1)];
    let layout = RecordLayout { record_bytes: 1_920_000, item_bytes: 960_010, fields };
    let mut out = vec![0; 960_010];
    file.read(0, 1, &layout, &mut out, &threads(2)).unwrap();
    assert!((0..60_000).all(|n| out[16 * n + 1] == record[32 * n + 8]));
    assert!((0..60_000).all(|n| out[16 * n + 10..16 * n + 17] == record[32 * n..32 * n + 7]));
}

#[test]
fn impossible_requests_are_refused() {
    let markers = RecordMarkers::new(4, FileOrder::Big).unwrap();
    let large = 1e300f64.to_be_bytes().to_vec();
    let file = opened(markers, &[vec![1; 8], vec![2; 8], vec![3; 4], large]);
    let run = threads(1);
    let layout = RecordLayout::plain(8, 4);
    assert_eq!(code(file.read(4, 1, &layout, &mut [0; 8], &run)), Code::Records);
    assert_eq!(code(file.read(u64::MAX, u64::MAX, &layout, &mut [], &run)), Code::Records);
    assert_eq!(code(file.read(0, 3, &layout, &mut [0; 24], &run)), Code::Type);
    assert_eq!(code(file.read(2, 1, &layout, &mut [0; 8], &run)), Code::Type);
    assert_eq!(code(file.read_every(0, 2, 2, &layout, &mut [0; 16], &run)), Code::Type);
    assert_eq!(code(file.read_every(0, 2, 3, &layout, &mut [0; 24], &run)), Code::Records);
    let far = file.read_every(1, u64::MAX, 2, &layout, &mut [0; 16], &run);
    assert_eq!(code(far), Code::Records);
    assert_eq!(code(file.read(0, 2, &layout, &mut [0; 15], &run)), Code::Array);
    let odd = RecordLayout::plain(8, 3);
    assert_eq!(code(file.read(0, 1, &odd, &mut [0; 8], &run)), Code::Type);
    assert_eq!(code(file.stats(0, 3, PixelType::F64, None, &run)), Code::Type);
    assert_eq!(code(file.stats(0, 1, RecordNumber::Quad, None, &run)), Code::Type);
    assert_eq!(code(file.complex_stats(2, 1, PixelType::F32, None, &run)), Code::Type);
    let odd = RecordField::once(0, 4, 1, 0);
    assert_eq!(code(file.complex_stats(0, 1, PixelType::F32, Some(&[odd]), &run)), Code::Type);
    let outside = RecordField::once(u64::MAX, 4, u64::MAX, 0);
    assert_eq!(code(file.stats(0, 1, PixelType::I32, Some(&[outside]), &run)), Code::Type);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("out.dat");
    let little_endian = NewRecords::default().order(FileOrder::Little);
    let conversion = Conversion::default().new(little_endian);
    assert_eq!(code(file.convert(&path, &conversion, &run)), Code::Type);
    let forms = ["8i1", "8i1", "4i1", "f8"].map(|form| RecordForm::parse(form).unwrap()).to_vec();
    let single = conversion.forms(forms).narrowing(Some(Narrowing::Single));
    assert_eq!(code(file.convert(&path, &single, &run)), Code::Precision);
    let access = RecordAccess::Direct(8);
    let new = NewRecords::default().access(access).order(FileOrder::Big);
    let mut writer = RecordWriter::create(&path, &new).unwrap();
    let part = RecordPart { items: &[0; 4], count: 1, layout: &RecordLayout::plain(4, 1) };
    assert_eq!(writer.write(&part, &run).unwrap_err().code(), Code::Length.as_str());
    drop(writer);
    let conversion = Conversion::default().new(new);
    assert_eq!(code(file.convert(&path, &conversion, &run)), Code::Length);
    assert!(!path.exists());
    let direct = RecordOptions::default().access(RecordAccess::Direct(0));
    assert!(RecordFile::from_bytes("made.dat", vec![0; 8], &direct).is_err());
}

#[test]
fn a_form_of_a_header_and_one_of_all_that_follows() {
    let markers = RecordMarkers::new(4, FileOrder::Big).unwrap();
    let mut records = vec![bytes(12, 1)];
    records.extend((2..300).map(|n| bytes(8 * (1 + n as usize / 100), n)));
    let file = opened(markers, &records);
    let form = |text| RecordForm::parse(text).unwrap();
    let new = NewRecords::default().order(FileOrder::Little).overwrite(true);
    let repeated =
        Conversion::default().new(new).forms(vec![form("3i4"), form("*f8")]).last_repeats(true);
    let mut forms = vec![form("*f8"); 299];
    forms[0] = form("3i4");
    let explicit = repeated.clone().forms(forms).last_repeats(false);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("new.dat");
    let convert = |conversion: &Conversion| {
        file.convert(&path, conversion, &threads(2)).unwrap();
        std::fs::read(&path).unwrap()
    };
    assert!(convert(&repeated) == convert(&explicit));
    // In rotation without it: the third record is not a header.
    let in_turn = repeated.last_repeats(false);
    assert!(file.convert(&path, &in_turn, &threads(2)).is_err());
}

#[test]
fn many_records_are_written_by_one_thread_and_by_two() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("records.dat");
    for markers in
        [FileOrder::Big, FileOrder::Little].map(|order| RecordMarkers::new(4, order).unwrap())
    {
        for (size, record) in [(8, 8), (8, 24_000), (4, 300_000), (16, 1 << 20), (1, 3)] {
            let records: Vec<_> =
                bytes(9 << 20, 5).chunks_exact(record).map(<[u8]>::to_vec).collect();
            let expected = content(markers, &records);
            let items = native(&records.concat(), size, markers.order());
            let layout = RecordLayout::plain(record as u64, size as u64);
            for workers in [1, 2] {
                let new = NewRecords::default().order(markers.order()).overwrite(true);
                let mut writer = RecordWriter::create(&path, &new).unwrap();
                // One record before and one after them, so that they begin and end within a block.
                let last = records.len() - 1;
                for part in [0..1, 1..last, last..last + 1] {
                    let items = &items[part.start * record..part.end * record];
                    let part = RecordPart { items, count: part.len() as u64, layout: &layout };
                    writer.write(&part, &threads(workers)).unwrap();
                }
                writer.finish().unwrap();
                assert!(std::fs::read(&path).unwrap() == expected);
            }
        }
    }
}
