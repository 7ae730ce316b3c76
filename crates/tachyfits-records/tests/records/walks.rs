//! Records of unformatted Fortran files: compared with a walk that has the whole file in memory; truncated, damaged,
//! and arbitrary bytes.

use proptest::prelude::*;
use tachyfits_records::{
    Code, Detection, FileOrder, ItemKind, MarkerDetector, Problem, RecordForm, RecordIndex,
    RecordItem, RecordLimits, RecordMarkers, RecordStep, RecordWalker,
};

/// Creates a sequential file with records of these bytes, subrecords of at most `longest`.
pub(crate) fn file(markers: RecordMarkers, records: &[Vec<u8>], longest: u64) -> Vec<u8> {
    let mut out = Vec::new();
    for record in records {
        let mut rest = &record[..];
        for part in markers.subrecords(record.len() as u64, longest) {
            let (bytes, later) = rest.split_at(part.bytes as usize);
            out.extend_from_slice(&markers.write(part.leading)[..markers.bytes()]);
            out.extend_from_slice(bytes);
            out.extend_from_slice(&markers.write(part.trailing)[..markers.bytes()]);
            rest = later;
        }
    }
    out
}

/// Walks over a file; checks that reading terminates.
pub(crate) fn walk(
    markers: RecordMarkers,
    file: &[u8],
    limits: RecordLimits,
    recover: bool,
) -> RecordIndex {
    let mut walker = RecordWalker::new(markers, file.len() as u64, limits, recover);
    let mut steps = 0;
    while let RecordStep::Read { offset, bytes } = walker.step() {
        assert!(bytes > 0, "an empty read");
        steps += 1;
        assert!(steps < 1000 + 20 * file.len(), "it never ends");
        walker.supply(&file[offset as usize..][..bytes]);
    }
    walker.finish()
}

fn index(markers: RecordMarkers, file: &[u8], recover: bool) -> RecordIndex {
    // Any distance between records, so that both ways of reading are tested.
    let near = RecordLimits::default().near_bytes(100);
    let result = walk(markers, file, near, recover);
    assert_eq!(result, walk(markers, file, RecordLimits::default(), recover));
    result
}

pub(crate) fn detect(file: &[u8]) -> Result<Detection, Problem> {
    let mut detector = MarkerDetector::new(None, None, file.len() as u64);
    let mut steps = 0;
    while let RecordStep::Read { offset, bytes } = detector.step() {
        steps += 1;
        assert!(bytes > 0 && steps < 100_000, "it never ends");
        detector.supply(&file[offset as usize..][..bytes]);
    }
    detector.finish()
}

/// Returns the bytes of each record of an index.
fn contents(index: &RecordIndex, file: &[u8]) -> Vec<Vec<u8>> {
    (0..index.len())
        .map(|record| {
            let pieces = index.payload(record);
            let bytes: Vec<u8> = pieces
                .into_iter()
                .flat_map(|p| file[p.start as usize..p.end as usize].to_vec())
                .collect();
            assert_eq!(index.bytes(record), Some(bytes.len() as u64));
            bytes
        })
        .collect()
}

fn markers() -> impl Strategy<Value = RecordMarkers> {
    prop::sample::select(RecordMarkers::ALL.to_vec())
}

/// Records that include runs of equal lengths.
fn records() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let length = prop_oneof![0..40usize, Just(8usize), 100..3000usize];
    let run = (length, prop_oneof![Just(1usize), 1..30usize], any::<u8>());
    prop::collection::vec(run, 0..12).prop_map(|runs| {
        let mut records = Vec::new();
        for (length, count, seed) in runs {
            for record in 0..count {
                let byte =
                    |at: usize| seed.wrapping_mul(31).wrapping_add((at * 7 + record * 13) as u8);
                records.push((0..length).map(byte).collect());
            }
        }
        records
    })
}

fn four(order: FileOrder) -> RecordMarkers {
    RecordMarkers::new(4, order).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn every_record_is_found(markers in markers(), records in records(), longest in prop_oneof![Just(u64::MAX), 1..50u64]) {
        let bytes = file(markers, &records, longest);
        let index = index(markers, &bytes, false);
        prop_assert!(index.damage().is_none());
        prop_assert_eq!(index.end(), bytes.len() as u64);
        prop_assert_eq!(contents(&index, &bytes), records);
    }

    #[test]
    fn records_that_are_passed_are_those_that_a_walk_finds(
        markers in markers(), records in records(), longest in prop_oneof![Just(u64::MAX), 1..50u64],
        broken in prop::option::of(any::<prop::sample::Index>()), recover in any::<bool>(),
        most in prop::collection::vec(0..20u64, 1..8),
    ) {
        let mut bytes = file(markers, &records, longest);
        if let Some(place) = broken.filter(|_| !bytes.is_empty()) {
            let place = place.index(bytes.len());
            bytes[place] ^= 0x5a;
        }
        let limits = RecordLimits::default().near_bytes(100);
        let mut walker = RecordWalker::new(markers, bytes.len() as u64, limits.clone(), recover);
        for (turn, most) in (0..200).zip(most.into_iter().cycle()) {
            let rest = walker.before_record().map_or(&[][..], |at| &bytes[at as usize..]);
            if turn % 3 == 2 || rest.len() < markers.bytes() {
                if let RecordStep::Read { offset, bytes: count } = walker.step() {
                    walker.supply(&bytes[offset as usize..][..count]);
                }
                continue;
            }
            let length = markers.read(rest);
            if length >= 0 {
                let count = markers.equal_records(rest, length as u64).min(most);
                let before = walker.so_far().len();
                prop_assert!(walker.pass(length as u64, count));
                prop_assert_eq!(walker.so_far().len(), before + count);
            }
        }
        while let RecordStep::Read { offset, bytes: count } = walker.step() {
            walker.supply(&bytes[offset as usize..][..count]);
        }
        prop_assert_eq!(walker.finish(), walk(markers, &bytes, limits, recover));
    }

    #[test]
    fn every_so_manyth_record_is_where_it_is(
        markers in markers(), records in records(), longest in prop_oneof![Just(u64::MAX), 1..50u64],
        first in 0..40u64, step in prop_oneof![1..6u64, Just(u64::MAX)], count in 0..40u64,
    ) {
        let bytes = file(markers, &records, longest);
        let index = index(markers, &bytes, false);
        let selection = index.every(first, step, count).unwrap();
        let all = contents(&index, &bytes);
        let step = usize::try_from(step).unwrap();
        let expected = all.iter().skip(first as usize).step_by(step).take(count as usize);
        prop_assert_eq!(contents(&selection, &bytes), expected.cloned().collect::<Vec<_>>());
        prop_assert_eq!(selection.len(), selection.runs().iter().map(|run| run.count).sum::<u64>());
    }

    #[test]
    fn markers_are_found_out_or_the_file_is_called_ambiguous(markers in markers(), records in records()) {
        let bytes = file(markers, &records, u64::MAX);
        match detect(&bytes) {
            Ok(detection) if !bytes.is_empty() => prop_assert_eq!(detection.markers, markers),
            Ok(_) => {}
            Err(error) => {
                prop_assert_eq!(error.code, Code::FramingAmbiguous);
                prop_assert!(records.iter().take(64).all(|record| record.len() < 9), "{error}");
            }
        }
    }

    #[test]
    fn whole_records_before_a_cut_stay_readable(
        markers in markers(), records in records(), cut in any::<prop::sample::Index>(),
    ) {
        let bytes = file(markers, &records, 60);
        prop_assume!(!bytes.is_empty());
        let head = &bytes[..cut.index(bytes.len())];
        let index = index(markers, head, false);
        let result = contents(&index, head);
        prop_assert_eq!(&result[..], &records[..result.len()]);
        match index.damage() {
            None => prop_assert_eq!(index.end(), head.len() as u64),
            Some(damage) => {
                prop_assert_eq!(damage.code, Code::Cut);
                prop_assert_eq!(damage.record, Some(index.len() + 1));
            }
        }
    }

    #[test]
    fn any_bytes_are_walked_over_or_refused(bytes in prop::collection::vec(prop_oneof![Just(0u8), Just(1), Just(255), any::<u8>()], 0..600)) {
        let _ = detect(&bytes);
        for markers in RecordMarkers::ALL {
            for recover in [false, true] {
                let index = index(markers, &bytes, recover);
                let _ = contents(&index, &bytes);
                prop_assert!(!recover || index.damage().is_none());
            }
        }
    }

    #[test]
    fn damage_is_got_past(
        markers in markers(), before in 0..6usize, after in 2..20usize, broken in any::<[u8; 4]>(),
        lost in 0..30usize,
    ) {
        let record = |number: usize| vec![number as u8 | 0x80; 24 + number % 3];
        let records: Vec<_> = (0..before + 1 + after).map(record).collect();
        let stored = |records: &[Vec<u8>]| file(markers, records, u64::MAX);
        let mut bytes = stored(&records[..before]);
        let mut damaged = stored(&records[before..=before]);
        // A wrong marker, and some missing bytes.
        damaged[..4].copy_from_slice(&broken);
        damaged.drain(8..8 + lost.min(damaged.len() - 8));
        prop_assume!(damaged != stored(&records[before..=before]));
        bytes.extend(damaged);
        let rest = stored(&records[before + 1..]);
        bytes.extend(&rest);
        let index = index(markers, &bytes, true);
        let result = contents(&index, &bytes);
        prop_assert_eq!(index.end(), bytes.len() as u64);
        prop_assert_eq!(&result[..before], &records[..before]);
        // By chance one record more or less may come of the damaged bytes; the following ones are present.
        let tail = &result[result.len() - (after - 1)..];
        prop_assert_eq!(tail, &records[records.len() - (after - 1)..]);
        prop_assert_eq!(index.skipped().len(), 1);
    }

    #[test]
    fn forms_of_any_text_are_read_or_refused(text in "[ifrclax0-9*,() \
        ]{0,24}", bytes in 0..200u64) {
        if let Ok(form) = RecordForm::parse(&text)
            && let Ok(items) = form.items(bytes)
        {
            prop_assert_eq!(filled(&items), bytes);
        }
    }

    #[test]
    fn groups_are_their_items_again_and_again(
        text in group_text(),
        filling in prop::option::of("(i2|f8|a3|x5|2[(]i4,a1[)])"),
        behind in any::<bool>(),
        times in 0..4u64,
    ) {
        let [before, after] = if behind { [&*text, ""] } else { ["", &*text] };
        let filler = filling.as_ref().map(|item| match item.strip_prefix('2') {
            Some(group) => group,
            None => item,
        });
        let with = |count: &str| {
            let item = filler.map(|item| format!("{count}{item}"));
            let all = [Some(before), item.as_deref(), Some(after)];
            all.into_iter().flatten().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(",")
        };
        let expected = one_by_one(&with(&times.to_string()));
        let bytes = expected.last().map_or(0, |(offset, item)| offset + size(item));
        let form = RecordForm::parse(&with("*")).unwrap();
        let items = form.items(bytes).unwrap();
        prop_assert_eq!(filled(&items), bytes);
        prop_assert_eq!(form.fills(), filler.is_some());
        prop_assert_eq!(form.least_bytes() + times * filler.map_or(0, bytes_of_one), bytes);
        let mut result = Vec::new();
        elements(&items, 0, &mut result);
        prop_assert_eq!(result, expected);
        prop_assert!(form.items(bytes + 1).is_err() || filler.is_some_and(|item| bytes_of_one(item) == 1));
    }
}

/// Text of nested items and groups, with blanks here and there.
fn group_text() -> impl Strategy<Value = String> {
    let items = "[0-3]?(i1|i2|r4|f8|c16|l4|a3|x5)";
    let item = items.prop_map(|item| item.replace("a3", "a3 "));
    item.prop_recursive(4, 24, 4, |inner| {
        let list = prop::collection::vec(inner, 1..4).prop_map(|list| list.join(","));
        let count = prop::sample::select(vec!["", "0", "1", "2", "3", " 2"]);
        // A group without bytes is invalid.
        (count, list).prop_map(|(count, list)| format!("{count}(i1,{list}) "))
    })
}

/// Expands a form by repeating the parentheses: returns position and type of each element.
fn one_by_one(text: &str) -> Vec<(u64, String)> {
    let mut text = text.replace(' ', "");
    while let Some(close) = text.find(')') {
        let open = text[..close].rfind('(').unwrap();
        let digits = text[..open].rfind(|c: char| !c.is_ascii_digit()).map_or(0, |at| at + 1);
        let count = text[digits..open].parse().unwrap_or(1);
        let repetition = vec![&text[open + 1..close]; count].join(",");
        text = format!("{}{repetition}{}", &text[..digits], &text[close + 1..]);
    }
    let mut all = Vec::new();
    let mut offset = 0;
    for item in text.split(',').filter(|item| !item.is_empty()) {
        let letter = item.find(|c: char| !c.is_ascii_digit()).unwrap();
        let kind = item[letter..].replace('r', "f");
        for _ in 0..item[..letter].parse().unwrap_or(1) {
            all.push((offset, kind.clone()));
            offset += size(&kind);
        }
    }
    all
}

fn size(item: &str) -> u64 {
    item[1..].parse().unwrap()
}

fn bytes_of_one(item: &str) -> u64 {
    one_by_one(item).iter().map(|(_, kind)| size(kind)).sum()
}

/// Collects the same of parsed items.
fn elements(items: &[RecordItem], begin: u64, all: &mut Vec<(u64, String)>) {
    for item in items {
        for n in 0..item.count {
            let at = begin + item.offset + n * item.size;
            match item.kind {
                ItemKind::Group => elements(&item.parts, at, all),
                kind => all.push((at, format!("{}{}", kind.letter(), item.size))),
            }
        }
    }
}

/// Returns the bytes of items, after checking that they are contiguous.
fn filled(items: &[RecordItem]) -> u64 {
    items.iter().fold(0, |offset, item| {
        assert_eq!(item.offset, offset, "{items:?}");
        assert!(item.parts.is_empty() || filled(&item.parts) == item.size, "{items:?}");
        offset + item.bytes()
    })
}

#[test]
fn records_of_one_length_are_one_run() {
    let records = vec![vec![7; 16]; 10_000];
    let markers = four(FileOrder::Big);
    let bytes = file(markers, &records, u64::MAX);
    let index = index(markers, &bytes, false);
    assert_eq!((index.runs().len(), index.len()), (1, 10_000));
    let few = RecordLimits::default().max_runs(3);
    let mixed: Vec<_> = (0..10).map(|number| vec![1; number]).collect();
    let damage = walk(markers, &file(markers, &mixed, u64::MAX), few, false);
    assert_eq!(damage.damage().unwrap().code, Code::IndexTooLarge);
}

#[test]
fn recovery_ends_after_the_most_damaged_stretches() {
    let markers = four(FileOrder::Big);
    let whole = file(markers, &[vec![1; 5], vec![2; 5]], u64::MAX);
    let bytes = [&whole[..], b"damage"].concat().repeat(8);
    let most = |count| RecordLimits::default().max_skipped(count);
    let result = walk(markers, &bytes, most(3), true);
    let damage = result.damage().unwrap();
    assert_eq!((damage.code, result.skipped().len(), result.len()), (Code::IndexTooLarge, 3, 8));
    let message = damage.to_string();
    assert!(message.contains("expected at most 3 damaged stretches, found one more"), "{message}");
    let all = walk(markers, &bytes, most(8), true);
    assert!(all.damage().is_none(), "the limit is not exceeded");
    assert_eq!((all.skipped().len(), all.len()), (8, 16));
}

#[test]
fn records_that_alternate_are_two_runs() {
    let markers = four(FileOrder::Big);
    let records: Vec<_> = (0..1000).map(|number| vec![number as u8; 4 + number % 2 * 8]).collect();
    let index = index(markers, &file(markers, &records, u64::MAX), false);
    assert_eq!(index.runs().len(), 1000);
    for first in 0..2 {
        let selection = index.every(first, 2, 500).unwrap();
        assert_eq!((selection.runs().len(), selection.runs()[0].stride), (1, 32));
    }
    // Records far apart are not read with the bytes between them.
    let long: Vec<_> = (0..20).map(|number| vec![1; 4 + number % 2 * 8000]).collect();
    let index = self::index(markers, &file(markers, &long, u64::MAX), false);
    let few = index.every(0, 2, 10).unwrap();
    assert_eq!((few.runs().len(), few.len()), (10, 10));
}

#[test]
fn errors_say_record_and_offset() {
    let markers = four(FileOrder::Little);
    let mut bytes = file(markers, &[vec![1; 8], vec![2; 8]], u64::MAX);
    bytes[28] = 9;
    let index = index(markers, &bytes, false);
    let text = index.damage().unwrap().to_string();
    assert_eq!(index.len(), 1);
    assert!(
        text.starts_with(
            "record 2 (from 1), byte 28: expected a trailing marker of 8, like the leading one at \
         byte 16, found 9"
        ),
        "{text}"
    );
}

#[test]
fn the_place_that_the_damaged_record_points_to_is_tried_first() {
    let markers = four(FileOrder::Big);
    // Numbers that are also valid markers of records of 4 bytes.
    let codes = 4u32.to_be_bytes().repeat(100);
    let records = [vec![200; 48], codes, vec![201; 64], vec![202; 72]];
    let whole = file(markers, &records, u64::MAX);
    let mut bytes = whole.clone();
    bytes[463] = 0x85;
    let result = index(markers, &bytes, true);
    assert_eq!(contents(&result, &bytes), [&records[..1], &records[2..]].concat());
    assert_eq!(result.skipped()[0].0, 56..464);
    // In the last record the marker points to the end of the file.
    let end = 464;
    let mut bytes = whole[..end].to_vec();
    bytes[463] = 0x85;
    let result = index(markers, &bytes, true);
    assert_eq!((result.len(), result.skipped()[0].0.clone()), (1, 56..464));
}

#[test]
fn a_few_bytes_behind_the_damaged_record_are_skipped_with_it() {
    for markers in RecordMarkers::ALL {
        let records = vec![vec![7; 16]; 4];
        for tail in 0..=2 * markers.bytes() {
            let mut bytes = file(markers, &records, u64::MAX);
            let end = bytes.len();
            bytes[end - markers.bytes()..].fill(0x63);
            bytes.extend(vec![b'z'; tail]);
            let result = index(markers, &bytes, true);
            assert_eq!(result.len(), 3, "{markers} and {tail} bytes");
            assert_eq!(result.skipped().last().unwrap().0.end, bytes.len() as u64);
        }
    }
}

#[test]
fn empty_records_do_not_prevent_recovery() {
    for markers in RecordMarkers::ALL {
        let width = markers.bytes();
        let filled = |number: usize| vec![number as u8 | 0x80; 20 + number];
        let pair = |number: usize| [filled(number), vec![]];
        let records: Vec<_> = (0..6).flat_map(pair).collect();
        let whole = file(markers, &records, u64::MAX);
        let begins = |number: usize| file(markers, &records[..number], u64::MAX).len();
        // A damaged trailing marker: the leading one still locates the record without bytes.
        let mut bytes = whole.clone();
        bytes[begins(5) - 1] ^= 0x55;
        let result = index(markers, &bytes, true);
        assert_eq!(contents(&result, &bytes), [&records[..4], &records[5..]].concat(), "{markers}");
        // A damaged leading marker: the next record with bytes is searched for.
        let mut bytes = whole.clone();
        bytes[begins(4)..begins(4) + width].fill(0x7b);
        let result = index(markers, &bytes, true);
        assert_eq!(contents(&result, &bytes), [&records[..4], &records[6..]].concat(), "{markers}");
        assert_eq!(result.skipped()[0].0, begins(4) as u64..begins(6) as u64);
        // Zeros alone do not form a record with bytes.
        let zeros = vec![0; 100 * width];
        let noise = file(markers, &[vec![0xf0; 9]], u64::MAX);
        let mut bytes = whole[..begins(4)].to_vec();
        bytes.extend([vec![0x7b; width], noise, zeros, vec![0x7b; width]].concat());
        let result = index(markers, &bytes, true);
        assert_eq!(contents(&result, &bytes), records[..4], "{markers}");
    }
}

#[test]
fn records_without_bytes_at_the_beginning_decide_nothing() {
    for markers in RecordMarkers::ALL {
        let mut records = vec![vec![]; 100];
        records.resize(105, b"abcd".to_vec());
        let detection = detect(&file(markers, &records, u64::MAX)).unwrap();
        assert_eq!(detection.markers, markers);
    }
}

#[test]
fn a_long_record_is_cut_as_gfortran_does() {
    let parts: Vec<_> = four(FileOrder::Little)
        .subrecords(3_000_000_000, u64::MAX)
        .map(|x| (x.leading, x.trailing))
        .collect();
    assert_eq!(parts, [(-2_147_483_639, 2_147_483_639), (852_516_361, -852_516_361)]);
    assert_eq!(four(FileOrder::Big).stored_bytes(3_000_000_000), 3_000_000_016);
}

#[test]
fn forms_give_places() {
    let form = RecordForm::parse("i4, 3f8,c16,l4,a16,x8").unwrap();
    let items = form.items(4 + 24 + 16 + 4 + 16 + 8).unwrap();
    assert_eq!(
        (items[2].kind, items[2].offset, items[2].number_bytes()),
        (ItemKind::Complex, 28, 8)
    );
    for wrong in ["", "f3", "8", "*f8,*f4", "i4,,i4", "a0", "-1f8", "99999999999999999999f8"] {
        assert_eq!(RecordForm::parse(wrong).unwrap_err().code, Code::Form, "{wrong}");
    }
    assert!(form.items(71).is_err());
    assert!(RecordForm::parse("i4,*f8").unwrap().items(11).is_err());
}

#[test]
fn faults_of_a_form_name_their_position() {
    for (text, expected, found) in [
        ("i4,f9", "items such as", "\"f9\" at character 4 of \"i4,f9\""),
        ("i4,, i4", "items such as", "nothing at character 4"),
        ("i4, 2 (f8, zz)", "items such as", "\"zz\" at character 12"),
        ("", "items such as", "nothing at character 1"),
        ("2(f8,", "items such as", "nothing at character 6"),
        ("i4,2(f8,3(i4)", "a ) for each (", "\"(\" at character 5"),
        ("i4,2(f8))", "no ) without a (", "\")\" at character 9"),
        ("2(f8)i4", "a comma after a group", "\"i\" at character 6"),
        ("ü(f8)", "items such as", "\"ü\" at character 1"),
        ("2(f8)(i4)", "a comma after a group", "\"(\" at character 6"),
        ("i4,-2(f8)", "items such as", "\"-2\" at character 4"),
        ("2()", "items such as", "nothing at character 3"),
        ("i4,2(0f8)", "a group of some bytes", "\"(0f8)\" at character 5"),
        ("*f8, *i4", "at most one item with *", "\"*\" at character 6"),
        ("i4,2(i4,*f8)", "at most one item with *, outside groups", "\"*\" at character 9"),
        ("9999999999(9999999999f8)", "items of fewer than 2^60 bytes", "at character 1"),
        ("99999999999999999999(i4)", "items such as", "at character 1"),
    ] {
        let message = RecordForm::parse(text).unwrap_err().to_string();
        assert!(message.contains(&format!("expected {expected}")), "{message}");
        assert!(message.contains(found), "{found} in {message}");
    }
    let deep = |depth: usize| format!("{}i4{}", "(".repeat(depth), ")".repeat(depth));
    assert!(RecordForm::parse(&deep(16)).is_ok());
    for depth in [17, 100_000] {
        let message = RecordForm::parse(&deep(depth)).unwrap_err().to_string();
        assert!(
            message.contains("at most 16 deep in each other, found \"(\" at character 17"),
            "{message}"
        );
    }
    let many = vec!["(i4,i4)"; 400_000].join(",");
    assert!(RecordForm::parse(&many).unwrap_err().to_string().contains("at most 1048576 items"));
}

/// Returns the errors of such files.
pub(crate) fn problems() -> Vec<Problem> {
    let markers = four(FileOrder::Little);
    let whole = file(markers, &[vec![1; 8]], u64::MAX);
    let mut wrong = whole.clone();
    wrong[12] = 9;
    let none = RecordLimits::default().max_runs(0);
    let damage = |index: RecordIndex| index.damage().unwrap().clone();
    vec![
        damage(index(markers, &wrong, false)),
        damage(index(markers, &whole[..9], false)),
        damage(walk(markers, &whole, none, false)),
        detect(b"a text file, which has no markers").unwrap_err(),
        detect(&[0; 16]).unwrap_err(),
        RecordForm::parse("z9").unwrap_err(),
    ]
}

/// C programs and SciPy write lengths of 2 to 4 GiB unsigned: one record if both ends agree.
#[test]
fn markers_without_a_sign_hold_a_record_of_more_than_2_gib() {
    const LONG: u64 = 2_400_000_000;
    let length = LONG as u32;
    for order in [FileOrder::Little, FileOrder::Big] {
        let markers = RecordMarkers::new(4, order).unwrap();
        let four = |n: u32| match order {
            FileOrder::Big => n.to_be_bytes(),
            _ => n.to_le_bytes(),
        };
        // Records of 8 bytes before and after the long one, in a file of zeros otherwise.
        let long = 16;
        let last = long + LONG + 8;
        let marks =
            [(0, 8), (12, 8), (long, length), (last - 4, length), (last, 8), (last + 12, 8)];
        let mut walker = RecordWalker::new(markers, last + 16, RecordLimits::default(), false);
        let mut steps = 0;
        while let RecordStep::Read { offset, bytes } = walker.step() {
            steps += 1;
            assert!(steps < 100, "it never ends");
            let mut block = vec![0; bytes];
            for (at, mark) in marks {
                for (place, byte) in (at..).zip(four(mark)) {
                    let inside =
                        place.checked_sub(offset).and_then(|place| usize::try_from(place).ok());
                    if let Some(place) = inside.and_then(|place| block.get_mut(place)) {
                        *place = byte;
                    }
                }
            }
            walker.supply(&block);
        }
        let index = walker.finish();
        assert_eq!((index.len(), index.damage().is_none()), (3, true));
        let payload = index.payload(1);
        assert_eq!((payload.len(), payload[0].clone()), (1, long + 4..long + 4 + LONG));
    }
}
