//! Headers of compressed images, and their original headers: see `tests/data/compressed/make_tiles.py`.

use std::io::Read;

use tachyfits_format::{
    Card, Context, Dither, Hdu, Header, NewQuantisation, NewTiledImage, Rice, Value,
};

use crate::goldens;

pub fn inflated(packed: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    flate2::bufread::GzDecoder::new(packed).read_to_end(&mut bytes).expect("it is gzip");
    bytes
}

/// Returns the HDUs of a file of fpack, and those that funpack restores from it.
fn files() -> [Vec<Hdu>; 2] {
    let packed = include_bytes!("../../../../tests/data/compressed/headers.fits.fz.gz");
    let restored = include_bytes!("../../../../tests/data/compressed/headers.fits.gz");
    [goldens::all_hdus(&inflated(packed)), goldens::all_hdus(&inflated(restored))]
}

/// Returns the records of a header, except for checksums, which funpack computes again.
pub fn records(header: &Header) -> Vec<String> {
    let sums = |card: &&Card| matches!(card.keyword(), "CHECKSUM" | "DATASUM");
    let cards = header.cards().iter().filter(|card| !sums(card));
    cards.map(|card| String::from_utf8_lossy(card.raw()).into_owned()).collect()
}

#[test]
fn headers_are_restored_as_funpack_does() {
    let [packed, restored] = files();
    assert_eq!((packed.len(), restored.len()), (4, 3));
    for (hdu, expected) in packed[1..].iter().zip(&restored) {
        let result = hdu.restored_header(Some(&packed[0])).unwrap();
        assert_eq!(result.is_primary, expected.index == 0);
        assert_eq!(records(&result.header), records(&expected.header));
        assert!(result.header.get("DATASUM").is_some() && result.header.get("ZDATASUM").is_none());
    }
}

#[test]
fn a_header_is_the_same_after_compression_and_restoring() {
    let [packed, originals] = files();
    for original in &originals {
        let codec = Rice::for_width(4);
        let mut tile = original.axes.clone();
        tile[1..].fill(1);
        let tiled = NewTiledImage {
            tile,
            codec: &codec,
            quantisation: original.stored.is_float().then_some(NewQuantisation {
                dither: Dither::SubtractiveKeepingZeros,
                seed: 77,
                blank: Some(-2_147_483_648),
            }),
            gzip_column: original.stored.is_float(),
            mask: None,
            tiles: original.axes[1..].iter().product(),
            heap_bytes: 100,
            wide: true,
            checksum: true,
        };
        let header = tiled.header(&original.header).unwrap();
        // The number of columns must follow GCOUNT.
        let at = header.position("GCOUNT").unwrap();
        assert_eq!(header.cards()[at + 1].keyword(), "TFIELDS");
        let index = original.index + 1;
        let hdu = Hdu::of_header(header, index).unwrap();
        let layout = hdu.tiled_image().unwrap();
        assert_eq!((&layout.image.axes, layout.image.stored), (&original.axes, original.stored));
        assert_eq!(layout.image.blank, original.image().unwrap().blank);
        if let Some(how) = &layout.quantisation {
            assert_eq!((how.seed, how.dither), (77, Dither::SubtractiveKeepingZeros));
        }
        let restored = hdu.restored_header(Some(&packed[0])).unwrap();
        assert_eq!(restored.header.to_bytes(), original.header.to_bytes());
    }
}

/// Creates a header with these cards, for a compressed image of 5 x 1 bytes with one tile per row.
fn tiled(more: &[(&str, Value)]) -> Hdu {
    let mut header = Header::new();
    let cards: [(&str, Value); 14] = [
        ("XTENSION", "BINTABLE".into()),
        ("BITPIX", 8.into()),
        ("NAXIS", 2.into()),
        ("NAXIS1", 8.into()),
        ("NAXIS2", 1.into()),
        ("PCOUNT", 0.into()),
        ("GCOUNT", 1.into()),
        ("TFIELDS", 1.into()),
        ("TTYPE1", "COMPRESSED_DATA".into()),
        ("TFORM1", "1PB".into()),
        ("ZIMAGE", true.into()),
        ("ZCMPTYPE", "GZIP_1".into()),
        ("ZNAXIS", 1.into()),
        ("ZNAXIS1", 5.into()),
    ];
    for (keyword, value) in cards.iter().chain(more) {
        header.set(keyword, value.clone(), "").unwrap();
    }
    let bytes = header.to_bytes();
    let context = Context { hdu: 1, offset: 2880 };
    Hdu::of_header(Header::parse(&bytes, context).unwrap().0, 1).unwrap()
}

#[test]
fn extra_cards_of_an_empty_primary_are_added() {
    let mut primary = Header::empty_primary();
    primary.set("TELESCOP", "ALMA", "").unwrap();
    primary.set("OBJECT", "other", "").unwrap();
    primary.push_commentary("HISTORY", "of the camera").unwrap();
    let primary = Hdu::of_header(primary, 0).unwrap();
    let bitpix = ("ZBITPIX", Value::from(8));
    let more = [bitpix.clone(), ("ZSIMPLE", true.into()), ("OBJECT", "M 31".into())];
    let result = tiled(&more).restored_header(Some(&primary)).unwrap();
    assert!(result.is_primary);
    let keywords: Vec<&str> = result.header.cards().iter().map(Card::keyword).collect();
    assert_eq!(keywords, ["SIMPLE", "BITPIX", "NAXIS", "NAXIS1", "OBJECT", "TELESCOP", "HISTORY"]);
    assert_eq!(result.header.get_text("OBJECT").unwrap(), Some("M 31"));

    // Without the primary HDU it is an extension; astropy 7 wrote both keywords.
    let both = [bitpix.clone(), ("ZSIMPLE", true.into()), ("ZTENSION", "IMAGE".into())];
    let result = tiled(&both).restored_header(None).unwrap();
    assert!(!result.is_primary);
    let keywords: Vec<&str> = result.header.cards().iter().map(Card::keyword).collect();
    assert_eq!(keywords, ["XTENSION", "BITPIX", "NAXIS", "NAXIS1", "PCOUNT", "GCOUNT"]);
    assert!(tiled(&both).restored_header(Some(&primary)).unwrap().is_primary);

    // ZBLANK of integers becomes BLANK; the name of an image without one vanishes.
    let more = [bitpix, ("ZBLANK", 255.into()), ("EXTNAME", "COMPRESSED_IMAGE".into())];
    let result = tiled(&more).restored_header(None).unwrap().header;
    assert_eq!((result.get_i64("BLANK").unwrap(), result.get("EXTNAME")), (Some(255), None));
    assert_eq!(result.get("ZBLANK"), None);
}
