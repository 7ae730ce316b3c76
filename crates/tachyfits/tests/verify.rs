//! Verification of files: every rule about data is provoked, findings are the same for any number of threads
//! and storage, no finding hides another, and arbitrary bytes end in findings.
#![expect(clippy::disallowed_methods, reason = "the tests write files of their own")]

mod common;

use common::{Numbers, fits, header};
use tachyfits::verify::{Finding, Severity, Verification, VerifyOptions};
use tachyfits::{Editor, FitsFile, OpenOptions, RunOptions, Source, verify};

fn verified_with(bytes: &[u8], threads: usize) -> Verification {
    let run = RunOptions::default().threads(threads);
    verify(Source::bytes("made.fits", bytes.to_vec()), &VerifyOptions::default(), &run).unwrap()
}

fn findings(bytes: &[u8]) -> Vec<Finding> {
    verified_with(bytes, 1).findings
}

fn codes(bytes: &[u8]) -> Vec<&'static str> {
    findings(bytes).iter().map(|finding| finding.code).collect()
}

/// Returns a table after an empty primary HDU.
fn table(xtension: &str, axes: [usize; 2], heap: usize, cards: &[String], data: &[u8]) -> Vec<u8> {
    let mut all = vec![
        format!("XTENSION= '{xtension:<8}'"),
        format!("BITPIX  = {:>20}", 8),
        format!("NAXIS   = {:>20}", 2),
        format!("NAXIS1  = {:>20}", axes[0]),
        format!("NAXIS2  = {:>20}", axes[1]),
        format!("PCOUNT  = {heap:>20}"),
        format!("GCOUNT  = {:>20}", 1),
    ];
    all.extend_from_slice(cards);
    all.push("END".to_owned());
    let mut bytes = header(8, &[], &[]);
    bytes.extend(all.iter().flat_map(|card| format!("{card:<80}").into_bytes()));
    bytes.resize(bytes.len().next_multiple_of(2880), b' ');
    bytes.extend_from_slice(data);
    let fill = if xtension == "TABLE" { b' ' } else { 0 };
    bytes.resize(bytes.len().next_multiple_of(2880), fill);
    bytes
}

fn columns(forms: &[&str]) -> Vec<String> {
    let mut cards = vec![format!("TFIELDS = {:>20}", forms.len())];
    for (number, form) in (1..).zip(forms) {
        let (ttype, tform) = (format!("TTYPE{number}"), format!("TFORM{number}"));
        cards.push(format!("{ttype:<8}= 'C{number}      '"));
        cards.push(format!("{tform:<8}= '{form:<8}'"));
    }
    cards
}

fn binary(forms: &[&str], axes: [usize; 2], heap: usize, data: &[u8]) -> Vec<u8> {
    table("BINTABLE", axes, heap, &columns(forms), data)
}

/// Returns an ASCII table with one column as wide as its rows.
fn ascii(form: &str, rows: &[&str]) -> Vec<u8> {
    let width = rows[0].len();
    let mut cards = columns(&[form]);
    cards.push(format!("TBCOL1  = {:>20}", 1));
    table("TABLE", [width, rows.len()], 0, &cards, rows.concat().as_bytes())
}

#[test]
fn a_file_that_is_right_has_no_findings() {
    assert_eq!(codes(&fits(16, &[3], &[], &[0; 6])), [""; 0]);
    assert_eq!(
        codes(&binary(&["1L", "4A", "3X"], [6, 2], 0, b"Tabc\0\xe0\0\0\xff\xffz\x20")),
        [""; 0]
    );
    assert_eq!(codes(&ascii("I4", &["  12", "    ", "-3  "])), [""; 0]);
    assert_eq!(codes(&ascii("E8.2", &[" 1.5E+02", "1.5+3   ", "     -0."])), [""; 0]);
}

#[test]
fn the_values_of_binary_tables_are_checked() {
    let list = findings(&binary(&["1L", "4A"], [5, 4], 0, b"TabcdXab\x07dFabcd\x01ab\xe9d"));
    let summary: Vec<_> = list
        .iter()
        .map(|f| (f.code, f.place.row, f.place.column.clone().unwrap().0, f.repeats))
        .collect();
    assert_eq!(summary, [("logical-value", Some(2), 1, 1), ("text-value", Some(2), 2, 1)]);
    assert_eq!(list[0].place.offset, Some(2880 * 2 + 5));
}

#[test]
fn strings_are_checked_up_to_their_first_nul() {
    assert_eq!(codes(&binary(&["8A"], [8, 1], 0, b"abc\0\x01\xff\0z")), [""; 0]);
    assert_eq!(codes(&binary(&["8A4"], [8, 1], 0, b"abc\0\x01bcd")), ["text-value"]);
}

#[test]
fn descriptors_and_their_arrays_are_checked() {
    let descriptors = |pairs: &[[i32; 2]]| -> Vec<u8> {
        pairs.iter().flatten().flat_map(|number| number.to_be_bytes()).collect()
    };
    let file = |form: &str, pairs: &[[i32; 2]], heap: &[u8]| {
        let data = [descriptors(pairs), heap.to_vec()].concat();
        binary(&[form], [8, pairs.len()], heap.len(), &data)
    };
    // Shared bytes, gaps and empty arrays with any offset are legal.
    assert_eq!(codes(&file("PI(2)", &[[2, 0], [1, 2], [0, 99]], &[0; 8])), [""; 0]);
    let list = findings(&file("PI(2)", &[[2, 0], [-1, 0], [2, 5], [3, 0]], &[0; 8]));
    let summary: Vec<_> = list.iter().map(|f| (f.code, f.place.row, f.repeats)).collect();
    assert_eq!(summary, [("descriptor-range", Some(2), 1), ("descriptor-length", Some(4), 0)]);
    assert_eq!(codes(&file("PL(4)", &[[4, 0]], b"TF\0T")), [""; 0]);
    assert_eq!(codes(&file("PL(4)", &[[2, 0], [2, 2]], b"TF\0X")), ["logical-value"]);
    assert_eq!(codes(&file("PA(4)", &[[4, 0]], b"ab\0\xff")), [""; 0]);
    assert_eq!(codes(&file("PA(4)", &[[4, 0]], b"a\xffcd")), ["text-value"]);
}

#[test]
fn arrays_that_come_to_far_more_than_the_heap_are_not_read() {
    let rows = 1000;
    let mut data: Vec<u8> = (0..rows).flat_map(|_| [0, 0, 1, 0, 0, 0, 0, 0]).collect();
    data.extend([b'a'; 256]);
    assert_eq!(codes(&binary(&["PA(256)"], [8, rows], 256, &data)), ["not-checked"]);
}

#[test]
fn the_text_of_ascii_tables_is_looked_at() {
    let list = findings(&ascii("I4", &["  12", "1 2 ", "12.0", "    "]));
    let summary: Vec<_> = list.iter().map(|f| (f.code, f.place.row, f.repeats)).collect();
    assert_eq!(summary, [("ascii-entry", Some(2), 1)]);
    assert_eq!(codes(&ascii("F4.1", &["1.5e"])), ["ascii-entry"]);
    assert_eq!(codes(&ascii("A4", &["ab\x07d"])), ["ascii-text"]);
    let mut cards = columns(&["I2"]);
    cards.push(format!("TBCOL1  = {:>20}", 1));
    cards.push("TNULL1  = '*'".to_owned());
    let gaps = |data: &[u8]| codes(&table("TABLE", [4, 2], 0, &cards, data));
    assert_eq!(gaps(b"12\r\n* \r\n"), [""; 0]);
    assert_eq!(gaps(b"12\r\n* \xe9\n"), ["ascii-gap"]);
}

#[test]
fn fill_is_checked() {
    let mut file = fits(8, &[4], &[], &[1; 4]);
    file[5000] = 1;
    file[5001] = 2;
    let list = findings(&file);
    assert_eq!((list[0].code, list[0].place.offset, list[0].repeats), ("data-fill", Some(5000), 1));
    let mut file = ascii("I4", &["  12"]);
    let last = file.len() - 1;
    file[last] = 0;
    assert_eq!(codes(&file), ["data-fill"]);
}

#[test]
fn sums_are_compared_also_where_rows_are_checked() {
    let mut cards = columns(&["1A", "PB(3)"]);
    cards.push("DATASUM = '0       '".to_owned());
    cards.push("CHECKSUM= '0000000000000000'".to_owned());
    // Rows of 9 bytes: the heap begins in the middle of a word.
    let mut data = [&b"a"[..], &[0, 0, 0, 3, 0, 0, 0, 0]].concat().repeat(3);
    data.extend([7, 8, 9]);
    let file = table("BINTABLE", [9, 3], 3, &cards, &data);
    let list = findings(&file);
    let summary: Vec<_> = list.iter().map(|f| (f.code, f.severity)).collect();
    assert_eq!(summary, [("datasum", Severity::Warning), ("checksum", Severity::Warning)]);
    let opened = FitsFile::from_bytes("made", file, &OpenOptions::default()).unwrap();
    let (sums, _) = opened.checksum(1, &RunOptions::default()).unwrap();
    assert!(list[0].expected.contains(&format!("'{}'", sums.datasum)), "{}", list[0]);
}

/// Returns an image extension without pixels.
fn empty_image(name: &str) -> Vec<u8> {
    let cards = [
        "XTENSION= 'IMAGE   '".to_owned(),
        format!("BITPIX  = {:>20}", 8),
        format!("NAXIS   = {:>20}", 0),
        format!("PCOUNT  = {:>20}", 0),
        format!("GCOUNT  = {:>20}", 1),
        format!("EXTNAME = '{name}'"),
        "END".to_owned(),
    ];
    let mut bytes: Vec<u8> =
        cards.iter().flat_map(|card| format!("{card:<80}").into_bytes()).collect();
    bytes.resize(2880, b' ');
    bytes
}

#[test]
fn duplicate_names_are_found() {
    let images = ["SCI", "ERR", "sci"].map(empty_image).concat();
    let list = findings(&[header(8, &[], &[]), images].concat());
    assert_eq!(list.len(), 1);
    assert_eq!((list[0].code, list[0].place.hdu), ("name-repeated", Some(3)));
}

#[test]
fn the_first_header_is_compared_with_the_extensions() {
    let (image, two) = (empty_image("ONE"), ["ONE", "TWO"].map(empty_image).concat());
    let extension_findings = |cards: &[&str], behind: &[u8]| -> Vec<(&str, String, String)> {
        let cards: Vec<String> = cards.iter().map(|&card| card.to_owned()).collect();
        let all_findings = findings(&[&header(8, &[], &cards)[..], behind].concat());
        let selected =
            all_findings.into_iter().filter(|finding| finding.code.starts_with("extension"));
        selected
            .map(|finding| {
                assert_eq!((finding.severity, finding.place.hdu), (Severity::Warning, Some(0)));
                (finding.code, finding.place.keyword.unwrap(), finding.found)
            })
            .collect()
    };
    let count = |count_text: &str| ("extension-count", "NEXTEND".to_owned(), count_text.to_owned());
    for right in ["NEXTEND = 2", "nextend = 2", "NEXTEND = '3'", "NEXTEND =", "EXTEND  = T"] {
        assert_eq!(extension_findings(&[right], &two), []);
    }
    assert_eq!(extension_findings(&["NEXTEND = 0"], &[]), []);
    assert_eq!(extension_findings(&["NEXTEND = 3"], &two), [count("2 extensions")]);
    assert_eq!(extension_findings(&["nextend = 3"], &image), [count("1 extension")]);
    assert_eq!(extension_findings(&["NEXTEND = -1"], &[]), [count("0 extensions")]);
    let denied = ("extensions-denied", "EXTEND".to_owned(), "2 extensions".to_owned());
    assert_eq!(extension_findings(&["EXTEND  = F"], &[]), []);
    assert_eq!(
        extension_findings(&["EXTEND  = F", "NEXTEND = 0"], &two),
        [denied.clone(), count("2 extensions")]
    );
    // The number of extensions is unknown if one of them cannot be located.
    let broken = String::from_utf8(image.clone()).unwrap().replace("NAXIS   = ", "NAXIS   = -");
    let more = [&two[..], broken.as_bytes(), &image].concat();
    assert_eq!(extension_findings(&["EXTEND  = F", "NEXTEND = 4"], &more), [denied]);
}

#[test]
fn a_header_without_a_location_is_checked_nevertheless() {
    let mut file = fits(16, &[3], &["DATE    = 'today'".to_owned()], &[0; 6]);
    file[160..240].copy_from_slice(format!("{:<80}", "NAXIS   = 'many'").as_bytes());
    assert_eq!(codes(&file), ["numeric-text", "date-form", "not-checked"]);
    assert_eq!(codes(b""), ["not-fits", "not-checked"]);
    assert_eq!(codes(b"<html>xyz"), ["not-fits", "not-checked"]);
}

#[test]
fn bytes_after_the_last_hdu_and_missing_data_are_found() {
    let file = fits(16, &[3], &[], &[0; 6]);
    assert_eq!(codes(&[file.clone(), vec![0; 100]].concat()), ["trailing-bytes"]);
    assert_eq!(codes(&file[..2884]), ["truncated-data"]);
    assert_eq!(codes(&file[..2886]), ["data-padding"]);
}

#[test]
fn findings_are_the_same_for_any_number_of_threads_and_any_storage() {
    let mut numbers = Numbers(7);
    let rows = 40_000;
    let data: Vec<u8> = (0..rows * 20)
        .map(|at| match at % 20 {
            0 if numbers.one_in(900) => b'X',
            0 => b'T',
            _ if numbers.one_in(3000) => 0xe9,
            _ => b'a',
        })
        .collect();
    let file = binary(&["1L", "12A", "7A"], [20, rows], 0, &data);
    let first = verified_with(&file, 1);
    assert_eq!(first.findings.len(), 3);
    assert!(first.count(Severity::Error) > 100);
    for threads in [2, 3, 8] {
        assert_eq!(verified_with(&file, threads).findings, first.findings);
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("table.fits");
    std::fs::write(&path, &file).unwrap();
    let verification = verify(&path, &VerifyOptions::default(), &RunOptions::default()).unwrap();
    assert_eq!(verification.findings, first.findings);
    let headers = VerifyOptions::default().headers_only(true);
    assert_eq!(verify(&path, &headers, &RunOptions::default()).unwrap().findings, []);
}

#[test]
fn very_long_rows_are_checked_by_field() {
    let long = 9 << 20;
    let mut data = vec![0; long];
    data[0] = b'X';
    data[long - 1] = 0xe9;
    let form = format!("{}B", long - 5);
    let file = binary(&["1L", &form, "4A"], [long, 1], 0, &data);
    assert_eq!(codes(&file), ["logical-value"]);
    data[long - 4..long - 1].copy_from_slice(b"abc");
    let file = binary(&["1L", &form, "4A"], [long, 1], 0, &data);
    assert_eq!(codes(&file), ["logical-value", "text-value"]);
}

#[test]
fn any_damage_ends_in_findings() {
    let whole = [
        binary(&["1L", "PA(3)", "2J"], [17, 3], 9, &[b'T'; 60]),
        ascii("F8.2", &["    1.50", "    2.50"]),
        fits(-32, &[5, 5], &["DATASUM = '1'".to_owned()], &[1; 100]),
    ];
    let mut numbers = Numbers(11);
    for file in &whole {
        for _ in 0..400 {
            let mut damaged = file.clone();
            for _ in 0..1 + numbers.below(6) {
                let at = numbers.below(damaged.len() as u64) as usize;
                // Digits change sizes and offsets; other bytes break cards.
                damaged[at] = match numbers.below(3) {
                    0 => b'0' + numbers.below(10) as u8,
                    1 => b' ',
                    _ => numbers.next() as u8,
                };
            }
            let cut = numbers.below(damaged.len() as u64 * 4) as usize;
            damaged.truncate(cut.max(1));
            let verification = verified_with(&damaged, 1);
            assert!(verification.findings.iter().all(|finding| !finding.advice.is_empty()));
        }
    }
}

#[test]
fn repairable_faults_are_repaired_and_nothing_else_changes() {
    let mut file = header(
        16,
        &[3],
        &["exptime =               1.5e+1".to_owned(), "DATE    = 'today'".to_owned()],
    );
    file[80..160].copy_from_slice(format!("{:<80}", "BITPIX  = 16 / free").as_bytes());
    file[2879] = 0;
    file.extend([0, 1, 0, 2, 0, 3]);
    file.resize(5760, 7);
    file.extend([0; 100]);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bad.fits");
    std::fs::write(&path, &file).unwrap();
    let (options, run) = (VerifyOptions::default(), RunOptions::default());
    let before_repair = verify(&path, &options, &run).unwrap().findings;
    let fixable = |findings: &[Finding]| -> Vec<&'static str> {
        findings.iter().filter(|finding| finding.fixable).map(|finding| finding.code).collect()
    };
    let mut before = fixable(&before_repair);
    let mut editor = Editor::open(&path, &OpenOptions::default()).unwrap();
    let fixes = editor.repair().unwrap();
    let mut repaired_codes: Vec<&str> = fixes.iter().map(|fix| fix.code).collect();
    editor.commit(false, &run).unwrap();
    before.sort_unstable();
    repaired_codes.sort_unstable();
    assert_eq!(repaired_codes, before);
    assert_eq!(repaired_codes.len(), 6, "{repaired_codes:?}");
    let remaining = verify(&path, &options, &run).unwrap().findings;
    assert_eq!(remaining.iter().map(|finding| finding.code).collect::<Vec<_>>(), ["date-form"]);
    let repaired = std::fs::read(&path).unwrap();
    assert_eq!(repaired.len(), 5760);
    assert_eq!(repaired[2880..2886], file[2880..2886]);
}

#[test]
fn a_wrong_datasum_stays_wrong_and_a_right_one_is_kept_right() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("sums.fits");
    let run = RunOptions::default();
    for (sum, expected) in [("'65538   '", vec![]), ("'9       '", vec!["datasum", "checksum"])] {
        let cards = [
            "exptime = 1".to_owned(),
            format!("DATASUM = {sum}"),
            "CHECKSUM= '0000000000000000'".to_owned(),
        ];
        std::fs::write(&path, fits(16, &[2], &cards, &[0, 1, 0, 2])).unwrap();
        let mut editor = Editor::open(&path, &OpenOptions::default()).unwrap();
        assert_eq!(editor.repair().unwrap().len(), 1);
        editor.commit(false, &run).unwrap();
        let remaining = verify(&path, &VerifyOptions::default(), &run).unwrap().findings;
        assert_eq!(remaining.iter().map(|finding| finding.code).collect::<Vec<_>>(), expected);
    }
}
