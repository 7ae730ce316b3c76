//! HDUs that move to another position of the file, where their header must change.

use std::fs;
use std::path::Path;

use crate::common::{BLOCK, fits};
use crate::hdus::{
    card, commit, data_of, edit, extension, file, image_extension, open, options, several,
};
use tachyfits::verify::VerifyOptions;
use tachyfits::{Card, FitsFile, RunOptions, verify};

/// Returns an image, an image extension and a table with a SIMPLE card, and an image of groups.
fn misleading() -> Vec<u8> {
    let later = String::from_utf8(image_extension("LATER", b"xyz")).unwrap();
    let simple = format!("{}{}", card("SIMPLE  =                    T"), card("END"));
    let later = later.replacen(&format!("{}{}", card("END"), card("")), &simple, 1);
    let table = [
        "XTENSION= 'BINTABLE'",
        "BITPIX  =                    8",
        "NAXIS   =                    2",
        "NAXIS1  =                    4",
        "NAXIS2  =                    2",
        "PCOUNT  =                    8",
        "GCOUNT  =                    1",
        "TFIELDS =                    0",
        "SIMPLE  =                    T",
    ];
    let grouped = [
        "XTENSION= 'IMAGE   '",
        "BITPIX  =                    8",
        "NAXIS   =                    1",
        "NAXIS1  =                    3",
        "PCOUNT  =                 4000",
        "GCOUNT  =                    2",
    ];
    let primary = fits(8, &[3], &[card("XTENSION= 'IMAGE   '")], b"abc");
    assert_eq!(later.len(), 2 * BLOCK);
    let table = extension(&table, b"rows of 4 bytes.", 0);
    [primary, later.into_bytes(), table, extension(&grouped, &[b'g'; 8006], 0)].concat()
}

/// Returns the kinds of the HDUs and their data.
fn kinds_and_data(path: &Path) -> Vec<(&'static str, Vec<u8>)> {
    let (file, whole) = (open(path), fs::read(path).unwrap());
    assert!(file.warnings().iter().all(|warning| warning.code().as_str() != "trailing-bytes"));
    let each = file.hdus().iter().enumerate();
    each.map(|(index, hdu)| {
        let kind = ["primary", "image", "binary table"]
            .into_iter()
            .find(|kind| *kind == hdu.kind.as_str());
        (kind.unwrap(), data_of(&file, &whole, index))
    })
    .collect()
}

#[test]
fn the_first_card_alone_determines_the_kind_of_an_hdu() {
    let (_directory, path) = file(&misleading());
    let before = kinds_and_data(&path);
    // The primary image becomes an extension.
    let mut editor = edit(&path);
    editor.copy(0, &open(&path), 1).unwrap();
    commit(editor);
    let actual = kinds_and_data(&path);
    assert_eq!(actual[..2], [("primary", b"xyz".to_vec()), ("image", b"abc".to_vec())]);
    assert_eq!(actual[2..], before[1..]);
    // An extension becomes the primary image, except for tables and images of groups.
    let empty = ("primary", Vec::new());
    for begin in [
        vec![("primary", b"abc".to_vec()), before[1].clone()],
        vec![("primary", b"xyz".to_vec())],
        vec![empty.clone()],
    ] {
        let mut editor = edit(&path);
        editor.remove(0).unwrap();
        commit(editor);
        assert_eq!(kinds_and_data(&path), [&begin[..], &before[2..]].concat());
    }
    let mut editor = edit(&path);
    editor.remove(1).unwrap();
    editor.remove(0).unwrap();
    commit(editor);
    assert_eq!(kinds_and_data(&path), [empty, before[3].clone()]);
}

#[test]
fn the_position_of_an_hdu_determines_its_header() {
    let free = "NAXIS1  = 3";
    let image = String::from_utf8(image_extension("ONE", b"xyz")).unwrap();
    let image = image.replacen(&card(&format!("NAXIS1  = {:>20}", 3)), &card(free), 1);
    let (_directory, path) = file(&[&fits(8, &[3], &[], b"abc"), image.as_bytes()].concat());
    let mut editor = edit(&path);
    editor.copy(0, &open(&path), 1).unwrap();
    editor.delete(0, "EXTNAME").unwrap();
    assert_eq!(editor.repair().unwrap().len(), 2);
    for (hdu, first) in ["SIMPLE", "XTENSION", "XTENSION"].into_iter().enumerate() {
        let keywords = editor.header(hdu).unwrap().cards().iter().map(Card::keyword);
        let expected = [first, "BITPIX", "NAXIS", "NAXIS1"];
        assert_eq!(keywords.take(4).collect::<Vec<_>>(), expected);
    }
    // An HDU that is complete in its own file, at an offset beyond the end of this one.
    let other = [several(), image_extension("OTHER", b"xyz")].concat();
    let other = FitsFile::from_bytes("other", other, &options()).unwrap();
    editor.copy(3, &other, 4).unwrap();
    assert_eq!(editor.repair().unwrap(), []);
    commit(editor);
    let verification = verify(&path, &VerifyOptions::default(), &RunOptions::default()).unwrap();
    assert_eq!(verification.findings, []);
}
