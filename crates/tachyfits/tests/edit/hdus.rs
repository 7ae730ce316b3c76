//! Edits of headers, and HDUs appended, inserted, removed and copied.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cells::errors;
use crate::common::{BLOCK, Numbers, fits};
use proptest::prelude::*;
use tachyfits::checksum::Agreement;
use tachyfits::{Card, Editor, Error, FitsFile, Header, OpenOptions, Reason, RunOptions, Value};
use tempfile::TempDir;

pub fn options() -> OpenOptions {
    OpenOptions::default()
}

pub fn open(path: &Path) -> FitsFile {
    FitsFile::open(path, &options()).unwrap()
}

pub fn edit(path: &Path) -> Editor {
    Editor::open(path, &options()).unwrap()
}

pub fn commit(editor: Editor) -> bool {
    editor.commit(false, &RunOptions::default()).unwrap().in_place
}

pub fn file(bytes: &[u8]) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("edited.fits");
    fs::write(&path, bytes).unwrap();
    (directory, path)
}

pub fn card(text: &str) -> String {
    format!("{text:<80}")
}

/// Returns an extension with these cards and data.
pub fn extension(cards: &[&str], data: &[u8], fill: u8) -> Vec<u8> {
    let mut bytes: Vec<u8> = cards.iter().flat_map(|text| card(text).into_bytes()).collect();
    bytes.extend(card("END").into_bytes());
    bytes.resize(bytes.len().next_multiple_of(BLOCK), b' ');
    bytes.extend(data);
    bytes.resize(bytes.len().next_multiple_of(BLOCK), fill);
    bytes
}

pub fn image_extension(name: &str, data: &[u8]) -> Vec<u8> {
    let cards = [
        "XTENSION= 'IMAGE   '",
        "BITPIX  =                    8",
        "NAXIS   =                    1",
        &format!("NAXIS1  = {:>20}", data.len()),
        "PCOUNT  =                    0",
        "GCOUNT  =                    1",
        &format!("EXTNAME = '{name:<8}'"),
    ];
    extension(&cards, data, 0)
}

fn ascii_table(rows: u64) -> Vec<u8> {
    let cards = [
        "XTENSION= 'TABLE   '",
        "BITPIX  =                    8",
        "NAXIS   =                    2",
        "NAXIS1  =                    5",
        &format!("NAXIS2  = {rows:>20}"),
        "PCOUNT  =                    0",
        "GCOUNT  =                    1",
        "TFIELDS =                    1",
        "TBCOL1  =                    1",
        "TFORM1  = 'A5      '",
    ];
    extension(&cards, &vec![b'x'; 5 * rows as usize], b' ')
}

/// Returns a primary image and three extensions.
pub fn several() -> Vec<u8> {
    let cards = [card("EXTEND  =                    T"), card("NEXTEND =                    3")];
    let mut bytes = fits(16, &[50, 30], &cards, &[7; 3000]);
    bytes.extend(image_extension("ONE", &[1; 5000]));
    bytes.extend(ascii_table(700));
    bytes.extend(image_extension("THREE", &[3; 100]));
    bytes
}

pub fn data_of(file: &FitsFile, whole: &[u8], hdu: usize) -> Vec<u8> {
    let hdu = &file.hdus()[hdu];
    whole[hdu.data_offset as usize..][..hdu.data_bytes as usize].to_vec()
}

#[test]
fn a_header_is_changed_in_place_and_nothing_else() {
    let before = several();
    let (_directory, path) = file(&before);
    let mut editor = edit(&path);
    editor.set(1, "OBJECT", "M 31", "the target").unwrap();
    editor.set(1, "EXTNAME", "FIRST", "").unwrap();
    editor.rename(1, "OBJECT", "TARGET").unwrap();
    assert_eq!(editor.delete(3, "EXTNAME").unwrap(), 1);
    let history = Card::commentary("HISTORY", "by hand").unwrap();
    editor.insert_card(3, 7, history[0].clone()).unwrap();
    assert!(commit(editor));
    let after = fs::read(&path).unwrap();
    let (old, new) =
        (FitsFile::from_bytes("old", before.clone(), &options()).unwrap(), open(&path));
    assert_eq!(after.len(), before.len());
    for index in 0..4 {
        assert_eq!(data_of(&old, &before, index), data_of(&new, &after, index));
    }
    let header = &new.hdus()[1].header;
    assert_eq!(header.get_text("TARGET"), Ok(Some("M 31")));
    assert_eq!(header.cards()[header.position("TARGET").unwrap()].comment(), "the target");
    assert_eq!(new.hdus()[1].extname.as_deref(), Some("FIRST"));
    assert_eq!(new.hdus()[3].header.cards()[6].comment(), "by hand");
    assert!(new.warnings().is_empty(), "{:?}", new.warnings());
}

#[test]
fn a_header_uses_its_blank_cards_and_gives_them_back() {
    let (_directory, path) = file(&several());
    let size = fs::metadata(&path).unwrap().len();
    // A header that grows beyond its block moves everything; when it shrinks again, it keeps the blocks as
    // blank cards.
    let mut editor = edit(&path);
    for number in 0..60 {
        editor.set(0, &format!("KEY{number}"), number, "").unwrap();
    }
    assert!(!commit(editor));
    assert_eq!(fs::metadata(&path).unwrap().len(), size + BLOCK as u64);
    let mut editor = edit(&path);
    for number in 0..60 {
        editor.delete(0, &format!("KEY{number}")).unwrap();
    }
    assert!(commit(editor));
    assert_eq!(fs::metadata(&path).unwrap().len(), size + BLOCK as u64);
    let blank = |path: &Path| {
        open(path).hdus()[0].header.cards().iter().filter(|card| card.is_blank()).count()
    };
    assert!(blank(&path) > 20);
    let mut editor = edit(&path);
    for number in 0..30 {
        editor.set(0, &format!("KEY{number}"), number, "").unwrap();
    }
    assert!(commit(editor));
    assert_eq!(open(&path).hdus()[0].header.get_i64("KEY29"), Ok(Some(29)));
    assert_eq!(fs::metadata(&path).unwrap().len(), size + BLOCK as u64);
}

#[test]
fn hdus_are_appended_at_the_end_and_nothing_else_is_written() {
    let (_directory, path) = file(&several());
    let mut editor = edit(&path);
    editor.copy(9, &open(&path), 0).unwrap();
    editor.copy(9, &open(&path), 2).unwrap();
    let committed = editor.commit(true, &RunOptions::default()).unwrap();
    assert!(committed.in_place);
    // NEXTEND and the appended HDUs are written, but not the 3000 pixels before them.
    assert!(committed.bytes_written <= 2880 + 2880 + 5760 + 2880 + 5760, "{committed:?}");
    let (file, bytes) = (open(&path), fs::read(&path).unwrap());
    let kinds: Vec<_> = file.hdus().iter().map(|hdu| hdu.kind.as_str().to_owned()).collect();
    assert_eq!(kinds, ["primary", "image", "ascii table", "image", "image", "ascii table"]);
    assert_eq!(data_of(&file, &bytes, 4), data_of(&file, &bytes, 0));
    assert_eq!(data_of(&file, &bytes, 5), data_of(&file, &bytes, 2));
    assert_eq!(bytes.last(), Some(&b' '));
    assert_eq!(file.hdus()[0].header.get_i64("NEXTEND"), Ok(Some(5)));
    assert!(file.warnings().is_empty(), "{:?}", file.warnings());
}

#[test]
fn a_table_in_front_gets_an_empty_primary_hdu() {
    let (_directory, path) = file(&several());
    let mut editor = edit(&path);
    editor.remove(0).unwrap();
    editor.remove(0).unwrap();
    assert_eq!(editor.hdus(), 3);
    assert_eq!(editor.header(0).unwrap().get_i64("NAXIS"), Ok(Some(0)));
    commit(editor);
    let file = open(&path);
    let kinds: Vec<_> = file.hdus().iter().map(|hdu| hdu.kind.as_str().to_owned()).collect();
    assert_eq!(kinds, ["primary", "ascii table", "image"]);
    assert!(file.warnings().is_empty());
    // The image that becomes the primary HDU loses keywords of extensions.
    let mut editor = edit(&path);
    editor.remove(0).unwrap();
    assert_eq!(editor.hdus(), 3);
    editor.copy(0, &open(&path), 2).unwrap();
    commit(editor);
    let file = open(&path);
    assert_eq!(file.hdus()[0].kind.as_str(), "primary");
    assert_eq!(file.hdus()[0].extname.as_deref(), Some("THREE"));
    assert!(file.hdus()[0].header.position("PCOUNT").is_none());
    assert_eq!(file.hdus()[1].kind.as_str(), "image", "the empty primary HDU became one");
    assert!(file.warnings().is_empty(), "{:?}", file.warnings());
}

#[test]
fn the_preview_is_the_file_that_is_written() {
    let (directory, path) = file(&several());
    let mut editor = edit(&path);
    editor.remove(1).unwrap();
    editor.set(0, "OBJECT", "M 31", "").unwrap();
    editor.copy(1, &open(&path), 3).unwrap();
    let preview = editor.preview().unwrap();
    let image = preview.image(1).unwrap();
    let out = directory.path().join("image.fits");
    image.write(&out, &tachyfits::WriteOptions::default(), &RunOptions::default()).unwrap();
    let headers: Vec<_> = (0..3).map(|hdu| preview.header_bytes(hdu).unwrap()).collect();
    let size = preview.bytes();
    commit(editor);
    let file = open(&path);
    assert_eq!(file.bytes(), size);
    for (index, header) in headers.iter().enumerate() {
        assert_eq!(&file.header_bytes(index).unwrap(), header);
    }
    assert_eq!(open(&out).hdus()[0].data_bytes, 100);
}

#[test]
fn sums_stay_right() {
    let (_directory, path) = file(&several());
    let mut editor = edit(&path);
    (0..4).for_each(|hdu| editor.update_checksums(hdu).unwrap());
    commit(editor);
    let check = |path: &Path| {
        let file = open(path);
        for hdu in 0..file.hdus().len() {
            let (sum, _) = file.checksum(hdu, &RunOptions::default()).unwrap();
            let whole = match file.hdus()[hdu].header.position("CHECKSUM") {
                Some(_) => Agreement::Right,
                None => Agreement::NotStated,
            };
            assert_eq!((sum.data, sum.whole), (Agreement::Right, whole), "HDU {hdu}");
        }
    };
    check(&path);
    let mut editor = edit(&path);
    editor.set(2, "EXTNAME", "TEXT", "").unwrap();
    editor.copy(0, &open(&path), 3).unwrap();
    editor.remove(2).unwrap();
    commit(editor);
    check(&path);
    assert!(open(&path).hdus()[1].header.position("CHECKSUM").is_some());
    // A header with only DATASUM gets no CHECKSUM.
    let mut editor = edit(&path);
    editor.delete(1, "CHECKSUM").unwrap();
    editor.set(1, "OBJECT", "M 31", "").unwrap();
    commit(editor);
    check(&path);
    assert!(open(&path).hdus()[1].header.position("CHECKSUM").is_none());
}

#[test]
fn a_wrong_sum_of_data_is_not_made_right_by_editing_the_header() {
    let (_directory, path) = file(&several());
    let mut editor = edit(&path);
    editor.update_checksums(0).unwrap();
    commit(editor);
    let mut bytes = fs::read(&path).unwrap();
    bytes[BLOCK + 5] ^= 1;
    fs::write(&path, &bytes).unwrap();
    let mut editor = edit(&path);
    editor.set(0, "OBJECT", "M 31", "").unwrap();
    commit(editor);
    let (sum, _) = open(&path).checksum(0, &RunOptions::default()).unwrap();
    assert_eq!(sum.data, Agreement::Wrong);
}

#[test]
fn nextend_is_updated_when_extensions_change() {
    let wrong = String::from_utf8_lossy(&several()[..BLOCK]).replace("     3 ", "     7 ");
    let bytes = [wrong.as_bytes(), &several()[BLOCK..]].concat();
    let (_directory, path) = file(&bytes);
    let nextend = |editor: &Editor| editor.header(0).unwrap().get_i64("NEXTEND").unwrap();
    let mut editor = edit(&path);
    editor.set(1, "OBJECT", "M 31", "").unwrap();
    editor.repair().unwrap();
    commit(editor);
    let mut editor = edit(&path);
    assert_eq!(nextend(&editor), Some(7));
    editor.remove(3).unwrap();
    assert_eq!(nextend(&editor), Some(2));
}

#[test]
fn an_edit_that_changes_nothing_writes_nothing() {
    let (_directory, path) = file(&several());
    let committed = edit(&path).commit(true, &RunOptions::default()).unwrap();
    assert_eq!(committed.bytes_written, 0);
    assert_eq!(fs::read(&path).unwrap(), several());
}

#[test]
fn impossible_edits_are_refused_and_the_file_is_unchanged() {
    let (_directory, path) = file(&several());
    let mut editor = edit(&path);
    let reason = |error: Error| match error {
        Error::Refused(refusal) => refusal.reason,
        other => panic!("{other}"),
    };
    for (hdu, keyword) in [(0, "NAXIS1"), (0, "SIMPLE"), (2, "TFORM1"), (2, "TFIELDS")] {
        assert_eq!(reason(editor.set(hdu, keyword, 2, "").unwrap_err()), Reason::Structure);
        assert_eq!(reason(editor.delete(hdu, keyword).unwrap_err()), Reason::Structure);
        let renamed = editor.rename(hdu, keyword, "OTHER").unwrap_err();
        assert_eq!(reason(renamed), Reason::Structure);
    }
    let text = format!("{:#}", editor.set(2, "TFORM1", 2, "").unwrap_err());
    let message =
        "edited.fits: HDU 2 (0-based): expected TFORM1 unchanged, found another card or order";
    assert!(text.contains(message) && text.contains("\nhint: change the data"), "{text}");
    let text = editor.set(0, "EXTEND", false, "").unwrap_err().to_string();
    let message = "HDU 0 (0-based): expected EXTEND = T, as long as extensions follow, here 3, found EXTEND = F";
    assert!(text.contains(message), "{text}");
    editor.set(1, "EXTEND", false, "").unwrap();
    let inserted = editor.insert_card(0, 1, Card::new("OBJECT", "M 31", "").unwrap());
    assert_eq!(reason(inserted.unwrap_err()), Reason::Structure);
    assert_eq!(reason(editor.set(7, "OBJECT", 1, "").unwrap_err()), Reason::NoSuchHdu);
    assert_eq!(reason(editor.remove(4).unwrap_err()), Reason::NoSuchHdu);
    editor.set(0, "OBJECT", "M 31", "").unwrap();
    // Another editor was faster.
    let mut other = edit(&path);
    other.set(0, "OBJECT", "M 33", "").unwrap();
    commit(other);
    let bytes = fs::read(&path).unwrap();
    let error = editor.commit(false, &RunOptions::default()).unwrap_err();
    assert_eq!(error.code(), "io-changed");
    assert_eq!(fs::read(&path).unwrap(), bytes);
}

#[test]
fn cards_of_structure_are_kept_in_either_case() {
    let cards = [
        "XTENSION= 'BINTABLE'",
        "BITPIX  =                    8",
        "NAXIS   =                    2",
        "NAXIS1  =                    8",
        "naxis2  =                    1",
        "pcount  =                 4000",
        "Pcount  =                    0",
        "GCOUNT  =                    1",
        "TFIELDS =                    1",
        "tform1  = '1PB     '",
        "exptime =                  1.5",
    ];
    let table = extension(&cards, &[0; 4008], 0);
    let bytes = [&several()[..3 * BLOCK], &table, &image_extension("LAST", b"xyz")].concat();
    let (_directory, path) = file(&bytes);
    let mut editor = edit(&path);
    let expect_structure_error = |result: Result<(), Error>, keyword: &str| {
        let text = result.unwrap_err().to_string();
        assert!(text.contains(&format!("expected {keyword} unchanged")), "{text}");
    };
    for keyword in ["PCOUNT", "pcount", "Pcount", "NAXIS2", "TFORM1"] {
        let upper = &keyword.to_ascii_uppercase();
        expect_structure_error(editor.delete(1, keyword).map(drop), upper);
        expect_structure_error(editor.rename(1, keyword, "OTHER").map(drop), upper);
        expect_structure_error(editor.set(1, upper, 7, ""), upper);
    }
    // Otherwise the other card would be read.
    expect_structure_error(editor.rename(1, "Pcount", "PCOUNT").map(drop), "PCOUNT");
    assert!(editor.rename(1, "pcount", "PCOUNT").unwrap());
    assert!(editor.rename(1, "tform1", "TFORM1").unwrap());
    let comment = |header: &mut Header| header.comment("EXPTIME", "of one exposure");
    assert!(editor.change_header(1, comment).unwrap());
    commit(editor);
    let file = open(&path);
    let kinds: Vec<&str> = file.hdus().iter().map(|hdu| hdu.kind.as_str()).collect();
    assert_eq!(kinds, ["primary", "binary table", "image"]);
    assert_eq!(file.hdus()[1].parameter_count, 4000);
    let exposure = file.hdus()[1].header.cards().last().unwrap();
    assert_eq!((exposure.keyword(), exposure.comment()), ("exptime", "of one exposure"));
}

#[test]
fn truncated_or_unreadable_hdus_stay_unchanged() {
    let mut bytes = several();
    bytes.truncate(bytes.len() - BLOCK + 40);
    let (_directory, path) = file(&bytes);
    let mut editor = edit(&path);
    editor.set(3, "OBJECT", "M 31", "").unwrap();
    assert!(commit(editor));
    assert_eq!(fs::metadata(&path).unwrap().len(), bytes.len() as u64);
    let mut editor = edit(&path);
    assert_eq!(editor.copy(4, &open(&path), 3).unwrap_err().code(), "data-missing");
    editor.remove(1).unwrap();
    assert_eq!(editor.commit(false, &RunOptions::default()).unwrap_err().code(), "data-missing");
    // An HDU without END, after the others.
    let mut bytes = several();
    bytes.extend(card("XTENSION= 'IMAGE   '").into_bytes());
    bytes.resize(bytes.len() + 4000, b'x');
    let (_directory, path) = file(&bytes);
    let mut editor = edit(&path);
    editor.set(3, "OBJECT", "M 31", "").unwrap();
    assert!(commit(editor));
    assert_eq!(fs::read(&path).unwrap()[several().len()..], bytes[several().len()..]);
    let mut editor = edit(&path);
    editor.copy(4, &open(&path), 3).unwrap();
    assert_eq!(editor.commit(false, &RunOptions::default()).unwrap_err().code(), "edit");
}

#[test]
fn a_compressed_file_is_refused() {
    let (_directory, path) = file(&[0x1f, 0x8b]);
    // A minimal gzip file of a FITS file: stored blocks of deflate.
    let content = several();
    let mut gzip = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3];
    let chunks: Vec<_> = content.chunks(60_000).collect();
    for (index, chunk) in chunks.iter().enumerate() {
        gzip.push(u8::from(index + 1 == chunks.len()));
        gzip.extend((chunk.len() as u16).to_le_bytes());
        gzip.extend((!(chunk.len() as u16)).to_le_bytes());
        gzip.extend(*chunk);
    }
    let mut crc = !0u32;
    for byte in &content {
        crc ^= u32::from(*byte);
        (0..8).for_each(|_| crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg()));
    }
    gzip.extend((!crc).to_le_bytes());
    gzip.extend((content.len() as u32).to_le_bytes());
    fs::write(&path, gzip).unwrap();
    assert_eq!(Editor::open(&path, &options()).unwrap_err().code(), "edit");
}

/// An HDU of the twin: its non-structural cards and its data.
type Twin = Vec<(Vec<(String, Value)>, Vec<u8>)>;

fn twin_of(file: &FitsFile, whole: &[u8]) -> Twin {
    let cards_and_values = |header: &Header| {
        let is_key = |keyword: &str| keyword.starts_with("KEY");
        let cards = header.cards().iter().filter(|card| is_key(card.keyword()));
        cards.map(|card| (card.keyword().to_owned(), card.value().unwrap().clone())).collect()
    };
    let hdus = file.hdus().iter().enumerate();
    hdus.map(|(index, hdu)| (cards_and_values(&hdu.header), data_of(file, whole, index))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Edits in any order, written in several commits, give the same HDUs as the same edits of a list.
    #[test]
    fn editors_are_what_lists_are(seed: u64, commits in 1usize..4, sums: bool) {
        let mut numbers = Numbers(seed);
        let (_directory, path) = file(&several());
        let other = tempfile::tempdir().unwrap();
        let other = other.path().join("other.fits");
        fs::write(&other, [&fits(8, &[33], &[], &[9; 33])[..], &image_extension("OTHER", &[8; 2880])].concat()).unwrap();
        let source = open(&other);
        let source_twin = twin_of(&source, &fs::read(&other).unwrap());
        let mut twin = twin_of(&open(&path), &several());
        for _ in 0..commits {
            let mut editor = edit(&path);
            if sums {
                (0..editor.hdus()).for_each(|hdu| editor.update_checksums(hdu).unwrap());
            }
            for _ in 0..numbers.below(6) {
                let hdu = numbers.below(twin.len() as u64) as usize;
                match numbers.below(5) {
                    0 | 1 => {
                        let keyword = format!("KEY{}", numbers.below(80));
                        let value = Value::from(numbers.below(1000));
                        editor.set(hdu, &keyword, value.clone(), "a comment").unwrap();
                        match twin[hdu].0.iter_mut().find(|(name, _)| *name == keyword) {
                            Some((_, current)) => *current = value,
                            None => twin[hdu].0.push((keyword, value)),
                        }
                    }
                    2 => {
                        let keyword = format!("KEY{}", numbers.below(80));
                        editor.delete(hdu, &keyword).unwrap();
                        twin[hdu].0.retain(|(name, _)| *name != keyword);
                    }
                    3 => {
                        let from = numbers.below(2) as usize;
                        editor.copy(hdu, &source, from).unwrap();
                        twin.insert(hdu, source_twin[from].clone());
                    }
                    _ => {
                        editor.remove(hdu).unwrap();
                        twin.remove(hdu);
                        // If a table became the first HDU, an empty primary HDU precedes it.
                        if editor.hdus() > twin.len() {
                            twin.insert(0, (Vec::new(), Vec::new()));
                        }
                    }
                }
            }
            prop_assert_eq!(editor.hdus(), twin.len());
            commit(editor);
            let (file, bytes) = (open(&path), fs::read(&path).unwrap());
            prop_assert!(bytes.len().is_multiple_of(BLOCK));
            prop_assert!(file.warnings().is_empty(), "{:?}", file.warnings());
            prop_assert_eq!(&twin_of(&file, &bytes), &twin);
            prop_assert!(errors(&file).is_empty(), "{:?}", errors(&file));
            for hdu in 0..file.hdus().len() {
                let (sum, _) = file.checksum(hdu, &RunOptions::default()).unwrap();
                prop_assert!(sum.is_good());
            }
        }
    }
}
