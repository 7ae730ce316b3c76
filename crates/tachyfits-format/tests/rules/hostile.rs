//! Arbitrary bytes: a value, a warning or an error, and never a panic, an endless walk, or more
//! work than the size of the file justifies.

use proptest::prelude::*;
use tachyfits_format::{
    AxisSelection, Context, Hdu, Header, ReadOptions, Step, Walker, cutout_header, fixed_header,
    padded, verify_header,
};

use crate::build::{data, empty_primary, extension, header, i16s, image_of_two, primary, walk};
use crate::shared;

/// Calls every method of an HDU.
pub fn ask_everything(hdu: &Hdu) {
    if let Ok(groups) = hdu.random_groups() {
        assert!(groups.group_count_present <= groups.group_count);
        assert_eq!(groups.parameters(&[0x7f; 64]).len(), groups.names().len());
        let _ = groups.group_offset(u64::MAX);
    }
    if let Ok(image) = hdu.image() {
        assert!(image.pixels_present <= image.pixels);
    }
    for axis in 0..=hdu.axes.len().min(20) + 1 {
        let _ = hdu.linear_axis(axis).map(|axis| axis.value(1.0));
    }
    let sizes = || hdu.axes.iter().copied();
    let whole: Vec<_> = sizes()
        .map(|count| AxisSelection { first: 0, count, step: 1, keep: true, before: 0, after: 0 })
        .collect();
    let backwards: Vec<_> = sizes()
        .map(|size| AxisSelection {
            first: size.saturating_sub(1),
            count: size.div_ceil(2),
            step: -2,
            keep: true,
            before: 0,
            after: 0,
        })
        .collect();
    let mut last_plane = whole.clone();
    if let [_, .., last] = &mut last_plane[..] {
        *last = AxisSelection {
            first: last.count / 2,
            count: 1,
            step: 1,
            keep: false,
            before: 0,
            after: 0,
        };
    }
    for axes in [whole, backwards, last_plane] {
        check_cutout(hdu, &axes);
    }
}

/// Checks that a cutout has the requested axes, and that its pixels keep their coordinates.
fn check_cutout(hdu: &Hdu, axes: &[AxisSelection]) {
    let Ok(bytes) = cutout_header(hdu, axes) else { return };
    // Each description may add at most a few cards per axis.
    let letters = 27;
    let most = hdu.header.block_bytes() + 80 * (letters * 4 * axes.len() as u64 + 100);
    assert!(bytes.len() as u64 <= padded(most));
    let cut = walk(&bytes).hdus.remove(0);
    let lengths: Vec<u64> = axes.iter().filter(|axis| axis.keep).map(|axis| axis.count).collect();
    assert_eq!(cut.axes, lengths);
    let (new, old) = (cut.image().unwrap(), hdu.image().unwrap());
    assert_eq!((new.stored, new.value, new.blank), (old.stored, old.value, old.blank));
    assert_eq!((new.scale, new.zero, new.scaled), (old.scale, old.zero, old.scaled));
}

/// Walks over the bytes leniently and strictly, and calls every method of each HDU.
fn read_everything(file: &[u8]) {
    let walked = walk(file);
    assert!(walked.bytes_read <= file.len() as u64, "bytes were read twice");
    for hdu in &walked.hdus {
        let start = hdu.header_offset as usize;
        let header = hdu.header.to_bytes();
        let held = &file[start..file.len().min(start + header.len())];
        assert!(header.starts_with(held), "the header's bytes are not kept");
        ask_everything(hdu);
        check_records(&hdu.header);
    }
    let strict = crate::build::walk_strictly(file);
    assert!(strict.warnings.is_empty() && strict.hdus.len() <= walked.hdus.len());
}

/// Checks that parsing a card's own records restores the card.
fn check_records(header: &Header) {
    for card in header.cards() {
        let again = tachyfits_format::Card::from_records(card.raw());
        assert_eq!(again.as_ref(), Some(card));
    }
}

/// Cards that are nearly valid, so that they pass early checks.
fn card() -> impl Strategy<Value = Vec<u8>> {
    let keyword = prop_oneof![
        4 => "(NAXIS|PTYPE|PSCAL|CTYPE|CRPIX|CRVAL|CDELT|CROTA|LTV|CNPIX)[0-9]{1,3}A?",
        4 => "(PC|CD|LTM|PV|WAT)[0-9]{1,2}_[0-9]{1,3}A?",
        2 => "(PC|CD)00[0-9]00[0-9]",
        4 => "(SIMPLE|BITPIX|NAXIS|PCOUNT|GCOUNT|GROUPS|BSCALE|BZERO|BLANK|WCSAXES|EXTNAME|ALTRPIX)",
        1 => "(CONTINUE|HIERARCH [A-Z ]{1,20}|COMMENT|HISTORY|END|A_ORDER|CPDIS1|RESTFRQ)",
        1 => "[ -~]{0,8}",
    ];
    let value = prop_oneof![
        4 => "-?[0-9]{1,2}",
        2 => "-?[0-9]{1,40}",
        3 => "-?[0-9]{0,3}\\.[0-9]{0,3}([EDed][+-]?[0-9]{1,4})?",
        2 => "'(RA---TAN|DEC--TAN|FREQ|WAVE-TAB|[ -~]{0,60})&?'?",
        1 => "(T|F|\\([0-9.]{1,3},[0-9.]{1,3}\\)|)",
        1 => "[ -~]{0,20}",
    ];
    let indicator = prop_oneof![8 => Just("= "), 1 => Just(" "), 1 => Just("=")];
    (keyword, indicator, value).prop_map(|(keyword, indicator, value)| {
        let mut bytes = format!("{keyword:<8}{indicator}{value}").into_bytes();
        bytes.resize(80, b' ');
        bytes
    })
}

/// An HDU with some cards, and a few damaged bytes.
fn damaged_file() -> impl Strategy<Value = Vec<u8>> {
    let bitpix = prop::sample::select(vec![8i64, 16, 32, 64, -32, -64]);
    let axes = prop::collection::vec(0..5u64, 0..4);
    let cards = prop::collection::vec(card(), 0..40);
    let damage = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6);
    (bitpix, axes, cards, damage, any::<bool>()).prop_map(
        |(bitpix, axes, cards, damage, second)| {
            let mut file = if second {
                let image = extension("IMAGE", bitpix, &axes, [0, 1], &cards);
                [empty_primary::<&str>(&[]), image].concat()
            } else {
                primary(bitpix, &axes, &cards)
            };
            file.extend(vec![0; 5760]);
            for (at, byte) in damage {
                let at = at.index(file.len() - 5760);
                file[at] = byte;
            }
            file
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn any_bytes_are_a_header_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..6000)) {
        if let Ok((header, _)) = Header::parse(&bytes, Context::default()) {
            let again = header.to_bytes();
            prop_assert!(again.starts_with(&bytes[..bytes.len().min(again.len())]));
        }
        read_everything(&bytes);
    }

    #[test]
    fn any_records_are_a_header(mut bytes in prop::collection::vec(any::<u8>(), 2880)) {
        bytes[..30].copy_from_slice(b"SIMPLE  =                    T");
        bytes[2400..2480].fill(b' ');
        bytes[2400..2403].copy_from_slice(b"END");
        prop_assert!(Header::parse(&bytes, Context::default()).is_ok());
        read_everything(&bytes);
    }

    #[test]
    fn damaged_files_are_read_or_refused(file in damaged_file()) {
        read_everything(&file);
    }
}

/// Returns files that together contain nearly everything that this crate parses.
fn specimens() -> Vec<Vec<u8>> {
    let strings = [
        "LONGS   = 'It''s a &'",
        "CONTINUE  'long one' / cmt",
        "HIERARCH ESO DET CHIP1 ID = 'abc' / id",
        "CTYPE1  = 'RA---TAN'",
        "CRPIX1  =                  1.5",
        "CD1_1   =             -1.5D-03",
        "COMMENT text",
    ];
    let groups = [
        "GROUPS  =                    T",
        "PCOUNT  =                    2",
        "GCOUNT  =                    2",
        "PTYPE1  = 'DATE    '",
        "PSCAL1  =                    1",
    ];
    vec![
        [primary(16, &[2, 2], &strings), data(&i16s(&[1, 2, 3, 4])), image_of_two()].concat(),
        [primary(-32, &[0, 3], &groups), data(&[0; 40])].concat(),
        [
            empty_primary::<&str>(&[]),
            extension("FOREIGN", 8, &[3, 2], [4, 2], &[""]),
            data(&[0; 20]),
        ]
        .concat(),
    ]
}

/// Returns the specimens and the trap files, except those of tables, whose structure adds nothing.
fn small_files() -> Vec<Vec<u8>> {
    let mut files = specimens();
    if let Some(folder) = shared::folder() {
        let paths = shared::fits_files(&folder.join("traps"));
        assert!(paths.len() > 50, "the trap files are not complete");
        let name = |path: &&std::path::PathBuf| path.file_name().map(|name| name.to_owned());
        let of_table = |path: &&std::path::PathBuf| {
            name(path).is_some_and(|name| {
                matches!(name.as_encoded_bytes(), [b'a' | b'b', b't', b'_', ..])
            })
        };
        files.extend(paths.iter().filter(|path| !of_table(path)).map(|path| shared::bytes(path)));
    }
    files
}

#[test]
fn files_cut_anywhere_are_read_or_refused() {
    for file in small_files() {
        for end in (0..file.len()).step_by(100) {
            read_everything(&file[..end]);
        }
    }
}

#[test]
fn files_with_any_byte_changed_are_read_or_refused() {
    for mut file in small_files() {
        for at in 0..file.len().min(2880 * 3) {
            let record = &file[at / 80 * 80..][..(file.len() - at / 80 * 80).min(80)];
            if record.iter().all(|byte| *byte == record[0]) {
                continue;
            }
            let was = file[at];
            // A bit of a digit; a byte outside ASCII.
            for byte in [was ^ 1, was ^ 0x80] {
                file[at] = byte;
                read_everything(&file);
            }
            file[at] = was;
        }
    }
}

#[test]
fn a_file_that_shrinks_while_it_is_walked_ends_the_walk() {
    let file = [primary::<&str>(16, &[2], &[]), data(&i16s(&[1, 2])), image_of_two()].concat();
    for held in 0..60 {
        let held = held * 100;
        let mut walker = Walker::new(ReadOptions::default(), file.len() as u64);
        let mut steps = 0;
        while let Ok(step) = walker.step() {
            match step {
                Step::Read { offset, bytes } => {
                    let end = (offset as usize + bytes).min(held);
                    walker.supply(file.get(offset as usize..end).unwrap_or_default());
                }
                Step::Hdu(hdu) => assert!(hdu.data_bytes_present <= hdu.data_bytes),
                Step::Done => break,
            }
            steps += 1;
            assert!(steps < 20, "the walk does not end");
        }
    }
}

/// Each of these headers would take quadratic time, or more, if every card were compared with every
/// other.
#[test]
fn headers_of_many_cards_are_verified_and_repaired_in_one_pass() {
    const CARDS: usize = 100_000;
    let cards = |first: &str, other: &str| {
        let image =
            ["SIMPLE  =                    T", "BITPIX  =                    8", "NAXIS   = 0"];
        let others = std::iter::repeat_n(other, CARDS);
        header(&image.into_iter().chain([first]).chain(others).collect::<Vec<_>>())
    };
    for (first, other, code) in [
        ("CTYPE1  = 'FREQ'", "WCSAXES =                    2", "wcsaxes-place"),
        ("CRPIX1  = 1.0", "CUNIT1  = 'Hz'", ""),
    ] {
        let bytes = cards(first, other);
        let (parsed, _) = Header::parse(&bytes, Context::default()).unwrap();
        let hdu = walk(&bytes).hdus.remove(0);
        assert!(!verify_header(&parsed, Some(&hdu), &[]).is_empty());
        let (repaired, fixes) = fixed_header(&parsed, Some(&hdu));
        let of_code = fixes.iter().filter(|fix| fix.code == code).count();
        assert_eq!(of_code, if code.is_empty() { 0 } else { CARDS });
        assert_eq!(repaired.cards().len(), parsed.cards().len());
        assert_eq!(
            repaired.cards()[3].keyword(),
            if code.is_empty() { "CRPIX1" } else { "WCSAXES" }
        );
        let (_, again) = fixed_header(&repaired, None);
        assert_eq!(again, []);
    }
}

#[test]
fn many_keywords_in_lower_case_are_repaired_in_one_pass() {
    let image = ["SIMPLE  =                    T", "BITPIX  =                    8", "NAXIS   = 0"];
    let others = (0..100_000).map(|number| format!("{:<8}= 1", format!("x{number}")));
    let cards: Vec<String> = image.map(str::to_owned).into_iter().chain(others).collect();
    let (parsed, _) = Header::parse(&header(&cards), Context::default()).unwrap();
    let (repaired, _) = fixed_header(&parsed, None);
    assert!(repaired.cards()[3..].iter().all(|card| card.keyword().starts_with('X')));
}
