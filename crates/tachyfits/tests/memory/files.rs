//! Memory of headers, whole files and operations on them: opening, copying, editing, comparison and
//! verification.

use std::path::Path;

use tachyfits::verify::VerifyOptions;
use tachyfits::{
    Array, AxisRange, Editor, Error, FileWriter, FitsFile, Header, OpenOptions, StorageKind,
    WriteOptions, verify,
};
use tempfile::TempDir;

use crate::allocator::{granted, in_child};
use crate::common::{fits, header};
use crate::{RUN, check, digest};

/// Numbers of cards: a header larger than a large request, and one whose copies are smaller. The number of
/// cards is limited ([`tachyfits::header::Limits`]), and copies of cards are not refused.
const CARDS: [usize; 2] = [40_000, 2_000];

/// Returns a file with two headers with this number of cards, and an image of 2 MB.
fn content(cards: usize) -> Vec<u8> {
    let cards: Vec<String> = (0..cards).map(|n| format!("KEY{n:<5}= {n:>20} / a card")).collect();
    let data: Vec<u8> = (0..1_000_000u32).flat_map(|n| (n as i16 & 0xfff).to_be_bytes()).collect();
    let mut bytes = fits(16, &[1000, 1000], &cards, &data);
    let more = header(8, &[], &cards);
    let mut more = more.split_at(80).1.to_vec();
    more.splice(0..0, format!("{:<80}", "XTENSION= 'IMAGE   '").into_bytes());
    let counts = ["PCOUNT  =                    0", "GCOUNT  =                    1"];
    let counts: Vec<u8> = counts.iter().flat_map(|c| format!("{c:<80}").into_bytes()).collect();
    more.splice(240..240, counts);
    let end = more.iter().rposition(|&byte| byte != b' ').unwrap() + 1;
    more.truncate(end);
    more.resize(end.next_multiple_of(2880), b' ');
    bytes.extend(more);
    bytes
}

fn open(path: &Path, kind: StorageKind) -> Result<FitsFile, Error> {
    FitsFile::open(path, &OpenOptions::default().storage(kind))
}

fn bytes(path: &Path) -> u64 {
    granted(|| digest(&std::fs::read(path).unwrap()))
}

#[test]
fn opened_files() {
    in_child("files::opened_files", || {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("file.fits");
        std::fs::write(&path, content(CARDS[0])).unwrap();
        for kind in [
            StorageKind::Auto,
            StorageKind::Positioned,
            StorageKind::Mapped,
            StorageKind::Direct,
            StorageKind::Memory,
        ] {
            check(&format!("opening by {kind:?}"), || {
                let file = open(&path, kind)?;
                Ok((
                    file.hdus().len(),
                    file.image(0)?.stats(&file.image(0)?.whole(), None, &RUN)?.0,
                ))
            });
        }
        let file = open(&path, StorageKind::Positioned).unwrap();
        check("the bytes of a header", || Ok(digest(&file.header_bytes(0)?)));
        std::fs::write(&path, content(CARDS[1])).unwrap();
        let file = open(&path, StorageKind::Positioned).unwrap();
        check("a changed header", || {
            let image = file.image(0)?;
            let changed = image.with_header(|header| header.set("OBJECT", "M31", "a galaxy"))?;
            Ok(changed.hdus().len())
        });
        check("sums", || Ok(file.checksum(0, &RUN)?.0));
        check("verification", || {
            Ok(verify(&*path, &VerifyOptions::default(), &RUN)?.findings.len())
        });
        check("comparison", || {
            let other = open(&path, StorageKind::Positioned)?;
            Ok(tachyfits::diff(&file, &other, &Default::default(), &RUN)?.is_same())
        });
        check("a copied HDU", || {
            let out = directory.path().join("out.fits");
            let mut writer =
                FileWriter::create(&out, &WriteOptions::default().overwrite(true).checksum(true))?;
            for hdu in 0..2 {
                writer.copy(&file, hdu, file.hdu(hdu)?.header.clone(), &RUN)?;
            }
            writer.commit()?;
            Ok(bytes(&out))
        });
        check("a spooled HDU", || {
            let mut writer = FileWriter::spooled("spooled", true)?;
            writer.copy(&file, 0, file.hdu(0)?.header.clone(), &RUN)?;
            let file = writer.into_file()?;
            Ok(file.image(0)?.stats(&file.image(0)?.whole(), None, &RUN)?.0)
        });
    });
}

/// Returns a gzip file of stored blocks.
fn gzip(content: &[u8]) -> Vec<u8> {
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let blocks = content.chunks(0xffff);
    let last = blocks.len() - 1;
    for (number, block) in blocks.enumerate() {
        out.push(u8::from(number == last));
        let length = block.len() as u16;
        out.extend(length.to_le_bytes());
        out.extend((!length).to_le_bytes());
        out.extend_from_slice(block);
    }
    out.extend(crc32(content).to_le_bytes());
    out.extend((content.len() as u32).to_le_bytes());
    out
}

/// Returns the CRC-32 of gzip, computed bit by bit.
fn crc32(content: &[u8]) -> u32 {
    !content.iter().fold(!0, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| (sum >> 1) ^ (0xedb8_8320 * (sum & 1)))
    })
}

#[test]
fn gzip_files() {
    in_child("files::gzip_files", || {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("file.fits.gz");
        std::fs::write(&path, gzip(&content(CARDS[0]))).unwrap();
        check("gzip", || {
            let file = open(&path, StorageKind::Auto)?;
            Ok((file.hdus().len(), file.image(0)?.stats(&file.image(0)?.whole(), None, &RUN)?.0))
        });
    });
}

#[test]
fn arrays() {
    in_child("files::arrays", || {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("out.fits");
        let pixels: Vec<f32> = (0..1_000_000).map(|n| n as f32).collect();
        let array = Array::new(&pixels, &[1000, 1000]);
        let options = WriteOptions::default().overwrite(true).checksum(true);
        check("an array", || {
            array.write(&path, &Header::new(), &options, &RUN)?;
            Ok(bytes(&path))
        });
        check("an array in memory", || {
            let image = array.to_file("array", &Header::new())?.image(0)?;
            Ok(image.stats(&image.whole(), None, &RUN)?.0)
        });
    });
}

#[test]
fn edited_files() {
    in_child("files::edited_files", || {
        let directory = TempDir::new().unwrap();
        let path = directory.path().join("file.fits");
        std::fs::write(&path, content(CARDS[1])).unwrap();
        let copy = directory.path().join("edited.fits");
        type Change<'a> = (&'static str, Box<dyn Fn(&mut Editor) -> Result<(), Error> + 'a>);
        let whole = [
            AxisRange { first: 0, count: 1000, step: 1 },
            AxisRange { first: 0, count: 1000, step: 1 },
        ];
        let each_other = [
            AxisRange { first: 0, count: 500, step: 2 },
            AxisRange { first: 0, count: 1000, step: 1 },
        ];
        let pixels = vec![0u8; 2_000_000];
        let changes: Vec<Change<'_>> = vec![
            ("a card", Box::new(|editor| editor.set(0, "OBJECT", "M31", "a galaxy"))),
            ("a renamed card", Box::new(|editor| editor.rename(1, "KEY17", "KEY_17").map(drop))),
            ("sums", Box::new(|editor| editor.update_checksums(0))),
            ("pixels", Box::new(|editor| editor.update_pixels(0, &whole, &pixels))),
            (
                "some pixels",
                Box::new(|editor| editor.update_pixels(0, &each_other, &pixels[..1_000_000])),
            ),
            ("an HDU less", Box::new(|editor| editor.remove(1))),
            (
                "a copy",
                Box::new(|editor| editor.copy(1, &open(&path, StorageKind::Positioned)?, 0)),
            ),
            ("repairs", Box::new(|editor| editor.repair().map(drop))),
            ("a preview", Box::new(|editor| editor.preview().map(drop))),
        ];
        for (name, change) in &changes {
            for sync in [false, true] {
                check(&format!("edit: {name}"), || {
                    granted(|| std::fs::copy(&path, &copy).unwrap());
                    let mut editor = Editor::open(&copy, &OpenOptions::default())?;
                    change(&mut editor)?;
                    editor.commit(sync, &RUN)?;
                    Ok(bytes(&copy))
                });
            }
        }
    });
}
