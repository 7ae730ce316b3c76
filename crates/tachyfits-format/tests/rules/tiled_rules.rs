//! Hand-made compressed images: valid and invalid headers and rows of tiles.

use std::fmt::Write;

use tachyfits_format::{
    Code, CodecScratch, Dither, FormatError, Pixels, PixelsMut, PlainTile, StoredType, Tile,
    TileCodec, TileForm, TileValue, TiledLayout, Verbatim,
};

use crate::build::{table_file, table_hdu};

/// Returns the records of columns, each given as `ROOT=value ROOT=value`.
fn columns(columns: &[&str]) -> Vec<String> {
    let mut records = vec![format!("TFIELDS = {:>20}", columns.len())];
    for (number, column) in (1..).zip(columns) {
        for card in column.split_whitespace() {
            let (root, value) = card.split_once('=').expect("ROOT=value");
            records.push(format!("{:<8}= {value:<20}", format!("{root}{number}")));
        }
    }
    records
}

/// Creates a file with a compressed image: cards as `KEYWORD=value`, columns as above, rows, heap.
fn file(cards: &str, fields: &[&str], rows: &[Vec<u8>], heap: &[u8]) -> Vec<u8> {
    let mut records = columns(fields);
    records.push("ZIMAGE  =                    T".to_owned());
    for card in cards.split_whitespace() {
        let (keyword, value) = card.split_once('=').expect("KEYWORD=value");
        records.push(format!("{keyword:<8}= {value:<20}"));
    }
    let row_bytes = rows.first().map_or(8, Vec::len) as u64;
    let bytes = [rows.concat(), heap.to_vec()].concat();
    table_file("BINTABLE", [row_bytes, rows.len() as u64], heap.len() as u64, &records, &bytes)
}

fn layout(file: &[u8]) -> Result<TiledLayout, FormatError> {
    table_hdu(file).tiled_image()
}

/// Returns a 32-bit descriptor.
fn descriptor(count: i32, offset: i32) -> Vec<u8> {
    [count, offset].map(i32::to_be_bytes).concat()
}

/// Returns the row of tile 0.
fn first_row<'a>(layout: &TiledLayout, file: &'a [u8]) -> &'a [u8] {
    &file[layout.row_offset(0) as usize..][..layout.table.row_bytes as usize]
}

/// Creates three rows of four 16-bit pixels without compression; `cards` follow the mandatory ones.
fn plain(cards: &str) -> Vec<u8> {
    let heap: Vec<u8> = (0..12i16).flat_map(i16::to_be_bytes).collect();
    let rows: Vec<Vec<u8>> = (0..3).map(|row| descriptor(8, row * 8)).collect();
    let mandatory = "ZCMPTYPE='NOCOMPRESS' ZBITPIX=16 ZNAXIS=2 ZNAXIS1=4 ZNAXIS2=3";
    let fields = ["TTYPE='compressed_data' TFORM='PB'"];
    file(&format!("{mandatory} {cards}"), &fields, &rows, &heap)
}

#[test]
fn tiles_are_rows_unless_the_header_says_otherwise() {
    let file = plain("");
    let layout = layout(&file).unwrap();
    assert_eq!((layout.grid.tile_shape(), layout.grid.count()), (&[4, 1][..], 3));
    let stored = layout.stored_tile(0, first_row(&layout, &file)).unwrap();
    assert_eq!((stored.form, stored.bytes, stored.quantisation), (TileForm::Compressed, 8, None));
    let mut pixels = [0; 4];
    let stream = &file[stored.offset as usize..][..8];
    let mut tile = Tile { stream, shape: &[4, 1], pixels: PixelsMut::I16(&mut pixels) };
    let codec = layout.codec_of(stored.form);
    codec.decode(&mut tile, &mut CodecScratch::new()).unwrap();
    assert_eq!(pixels, [0, 1, 2, 3]);
}

#[test]
fn scaling_and_blank_are_those_of_the_image() {
    let layout = layout(&plain("BSCALE=0.5 BZERO=7.0 BLANK=-1")).unwrap();
    assert_eq!((layout.image.scale, layout.image.zero, layout.image.scaled), (0.5, 7.0, true));
    assert_eq!(layout.image.blank, Some(-1));
    // Files of Pan-STARRS have ZBLANK for integers.
    let layout = self::layout(&plain("ZBLANK=-32768")).unwrap();
    assert_eq!(layout.image.blank, Some(-32_768));
    let layout = self::layout(&plain("BZERO=32768")).unwrap();
    assert!(layout.image.flips_sign() && !layout.image.scaled);
}

#[test]
fn wrong_keywords_are_errors_that_name_them() {
    let cases = [
        ("ZTILE1=0", Code::KeywordRange, "ZTILE1"),
        ("ZTILE2=2", Code::KeywordRange, "NAXIS2"),
        ("ZTILE1='4'", Code::NumericText, "ZTILE1"),
        ("BZERO='32768'", Code::NumericText, "BZERO"),
    ];
    for (cards, code, keyword) in cases {
        let error = layout(&plain(cards)).unwrap_err();
        let place = &error.problem().place;
        assert_eq!(
            (error.code(), place.keyword.as_deref(), place.hdu),
            (code, Some(keyword), Some(1))
        );
    }
    let of = |cards: &str| layout(&file(cards, &["TTYPE='COMPRESSED_DATA' TFORM='PB'"], &[], &[]));
    let cases = [
        ("ZCMPTYPE='RICE_1' ZNAXIS=0", Code::KeywordMissing, "ZBITPIX"),
        ("ZCMPTYPE='RICE_1' ZBITPIX=12 ZNAXIS=0", Code::KeywordRange, "ZBITPIX"),
        ("ZCMPTYPE='RICE_1' ZBITPIX=8", Code::KeywordMissing, "ZNAXIS"),
        ("ZCMPTYPE='RICE_1' ZBITPIX=8 ZNAXIS=1", Code::KeywordMissing, "ZNAXIS1"),
        ("ZCMPTYPE='RICE_1' ZBITPIX=8 ZNAXIS=1 ZNAXIS1=-4", Code::KeywordRange, "ZNAXIS1"),
        (
            "ZCMPTYPE='RICE_1' ZBITPIX=8 ZNAXIS=2 ZNAXIS1=4294967296 ZNAXIS2=4294967296",
            Code::DataTooLarge,
            "ZNAXIS",
        ),
        ("ZBITPIX=8 ZNAXIS=0", Code::KeywordMissing, "ZCMPTYPE"),
        ("ZCMPTYPE='BZIP2_1' ZBITPIX=8 ZNAXIS=0", Code::CodecUnknown, "ZCMPTYPE"),
        (
            "ZCMPTYPE='RICE_1' ZBITPIX=8 ZNAXIS=0 ZNAME1='BYTEPIX' ZVAL1=8",
            Code::CodecUnknown,
            "ZVAL1",
        ),
    ];
    for (cards, code, keyword) in cases {
        let error = of(cards).unwrap_err();
        let found = error.problem().place.keyword.as_deref();
        assert_eq!((error.code(), found), (code, Some(keyword)), "{cards}");
    }
    for (cards, found) in [("ZNAXIS=0", "no such card"), ("ZBITPIX= ZNAXIS=0", "an empty value")] {
        let error = of(&format!("ZCMPTYPE='RICE_1' {cards}")).unwrap_err();
        assert_eq!((error.code(), &*error.problem().found), (Code::KeywordMissing, found));
    }
    let many = file(
        "ZCMPTYPE='RICE_1' ZBITPIX=8 ZNAXIS=1 ZNAXIS1=4294967296",
        &["TTYPE='COMPRESSED_DATA' TFORM='PB'"],
        &[descriptor(0, 0)],
        &[],
    );
    assert_eq!(layout(&many).unwrap_err().code(), Code::DataTooLarge);
    let fixed = file(
        "ZCMPTYPE='RICE_1' ZBITPIX=8 ZNAXIS=0",
        &["TTYPE='COMPRESSED_DATA' TFORM='8B'"],
        &[],
        &[],
    );
    assert_eq!(layout(&fixed).unwrap_err().code(), Code::ColumnForm);
    // Rows without bytes contain no descriptor of the tile.
    let no_arrays = file(
        "ZCMPTYPE='RICE_1' ZBITPIX=16 ZNAXIS=1 ZNAXIS1=10",
        &["TTYPE='COMPRESSED_DATA' TFORM='0PB'"],
        &[Vec::new()],
        &[],
    );
    assert_eq!(layout(&no_arrays).unwrap_err().code(), Code::ColumnForm);
    let other =
        file("ZCMPTYPE='RICE_1' ZBITPIX=8 ZNAXIS=0", &["TTYPE='DATA' TFORM='PB'"], &[], &[]);
    assert_eq!(layout(&other).unwrap_err().code(), Code::KeywordMissing);
    let table = table_file("BINTABLE", [8, 0], 0, &columns(&["TFORM='PB'"]), &[]);
    assert_eq!(layout(&table).unwrap_err().code(), Code::NotAnImage);
}

#[test]
fn parameters_are_found_by_name_and_swapped_ones_are_repaired() {
    let codec = |cards: &str| {
        let cards = format!("ZBITPIX=16 ZNAXIS=0 {cards}");
        let file = file(&cards, &["TTYPE='COMPRESSED_DATA' TFORM='PB'"], &[], &[]);
        format!("{:?}", layout(&file).unwrap().codec)
    };
    let rice = "Rice { block_size: 16, byte_pix: 2 }";
    let by_name = "ZCMPTYPE='RICE_ONE' ZNAME1='bytepix' ZVAL1=2 ZNAME2='BlockSize' ZVAL2=16";
    assert_eq!(codec(by_name), rice);
    let swapped = "ZCMPTYPE='RICE_1' ZNAME1='BLOCKSIZE' ZVAL1=2 ZNAME2='BYTEPIX' ZVAL2=16";
    assert_eq!(codec(swapped), rice);
    let old = "ZCMPTYPE='RICE_1' ZNAME1='BLOCKSIZE' ZVAL1=32 ZNAME2='NOISEBIT' ZVAL2=4";
    assert_eq!(codec(old), "Rice { block_size: 32, byte_pix: 4 }");
    let smooth = "ZCMPTYPE='HCOMPRESS_1' ZNAME1='SCALE' ZVAL1=2.5 ZNAME2='SMOOTH' ZVAL2=1";
    assert!(codec(smooth).contains("smooth: true"));
    assert!(codec("ZCMPTYPE='HCOMPRESS_1' ZNAME1='SCALE' ZVAL1=0").contains("smooth: false"));
    assert!(codec("ZCMPTYPE='PLIO_1' BZERO=32768").contains("unsigned_16: true"));
}

/// Creates one tile of four quantised pixels; `fields` and `row` define scale, zero and blank.
fn quantised(cards: &str, fields: &[&str], row: &[Vec<u8>]) -> Result<TiledLayout, FormatError> {
    let heap: Vec<u8> = (1..5i32).flat_map(i32::to_be_bytes).collect();
    let mandatory = "ZCMPTYPE='NOCOMPRESS' ZBITPIX=-32 ZNAXIS=1 ZNAXIS1=4";
    let all = [&["TTYPE='COMPRESSED_DATA' TFORM='1PB'"], fields].concat();
    let row = [descriptor(16, 0), row.concat()].concat();
    layout(&file(&format!("{mandatory} {cards}"), &all, &[row], &heap))
}

fn doubles(values: &[f64]) -> Vec<Vec<u8>> {
    values.iter().map(|value| value.to_be_bytes().to_vec()).collect()
}

#[test]
fn scale_and_zero_are_in_columns_or_keywords() {
    let fields =
        ["TTYPE='zscale' TFORM='1D'", "TTYPE='ZZERO' TFORM='D'", "TTYPE='ZBLANK' TFORM='J'"];
    let row = [doubles(&[0.5, 7.0]), vec![(-9i32).to_be_bytes().to_vec()]].concat();
    let layout =
        quantised("ZBLANK=5 ZQUANTIZ='SUBTRACTIVE_DITHER_2' ZDITHER0=10000", &fields, &row)
            .unwrap();
    let bytes = [descriptor(16, 0), row.concat()].concat();
    let stored = layout.stored_tile(0, &bytes).unwrap();
    let how = stored.quantisation.unwrap();
    assert_eq!((how.scale, how.zero, how.blank), (0.5, 7.0, Some(-9)));
    assert_eq!((how.dither, how.first_random), (Dither::SubtractiveKeepingZeros, 9_999));
    assert_eq!(layout.stream_type(&stored), StoredType::I32);

    let layout = quantised("ZSCALE=0.5 ZZERO=10 ZBLANK=-2147483647", &[], &[]).unwrap();
    let how = layout.stored_tile(0, &descriptor(16, 0)).unwrap().quantisation.unwrap();
    assert_eq!((how.scale, how.zero, how.blank), (0.5, 10.0, Some(-2_147_483_647)));
    assert_eq!((how.dither, how.first_random), (Dither::None, 0));
    assert_eq!(layout.quantisation.as_ref().unwrap().scale, TileValue::Same(0.5));
}

#[test]
fn floats_without_scale_are_lossless_whatever_zquantiz_says() {
    let layout = quantised("ZQUANTIZ='SUBTRACTIVE_DITHER_1'", &[], &[]).unwrap();
    assert_eq!(layout.quantisation, None);
    let stored = layout.stored_tile(0, &descriptor(16, 0)).unwrap();
    assert_eq!(layout.stream_type(&stored), StoredType::F32);
}

#[test]
fn a_quantisation_that_is_not_defined_is_an_error() {
    let code = |cards: &str| quantised(cards, &[], &[]).unwrap_err().code();
    assert_eq!(code("ZSCALE=1.0"), Code::KeywordMissing);
    assert_eq!(code("ZSCALE=1.0 ZZERO=0 ZQUANTIZ='DITHER_9'"), Code::CodecUnknown);
    assert_eq!(code("ZSCALE=1.0 ZZERO=0 ZDITHER0=-1"), Code::KeywordRange);
    // fpack writes 0 if no tile is quantised.
    let zero = "ZSCALE=1.0 ZZERO=0 ZDITHER0=0";
    assert!(quantised(zero, &[], &[]).unwrap().stored_tile(0, &descriptor(16, 0)).is_ok());
    let dithered = format!("{zero} ZQUANTIZ='SUBTRACTIVE_DITHER_1'");
    let layout = quantised(&dithered, &[], &[]).unwrap();
    // CFITSIO and astropy read such tiles.
    assert!(layout.stored_tile(0, &descriptor(16, 0)).is_ok());
    assert_eq!(code("ZSCALE='1.0' ZZERO=0"), Code::NumericText);
    let error = quantised(
        "",
        &["TTYPE='ZSCALE' TFORM='8A'", "TTYPE='ZZERO' TFORM='D'"],
        &doubles(&[1.0, 0.0]),
    );
    assert_eq!(error.unwrap_err().code(), Code::ColumnForm);
    let fields = ["TTYPE='ZSCALE' TFORM='D'", "TTYPE='ZZERO' TFORM='D'"];
    let row = doubles(&[f64::NAN, 0.0]);
    let layout = quantised("", &fields, &row).unwrap();
    let error = layout.stored_tile(0, &[descriptor(16, 0), row.concat()].concat()).unwrap_err();
    assert_eq!((error.code(), error.problem().place.row), (Code::TileStream, Some(1)));
}

#[test]
fn a_tile_is_looked_for_in_three_columns() {
    let fields = [
        "TTYPE='UNCOMPRESSED_DATA' TFORM='1PE'",
        "TTYPE='COMPRESSED_DATA' TFORM='1PB'",
        "TTYPE='GZIP_COMPRESSED_DATA' TFORM='1QB'",
        "TTYPE='NULL_PIXEL_MASK' TFORM='1PB'",
    ];
    let cards =
        "ZCMPTYPE='RICE_1' ZMASKCMP='GZIP_1' ZBITPIX=-32 ZNAXIS=1 ZNAXIS1=2 ZSCALE=1.0 ZZERO=0.0";
    let wide = |count: i64, offset: i64| [count, offset].map(i64::to_be_bytes).concat();
    let row = |[plain, compressed, gzip]: [i32; 3]| {
        [descriptor(plain, 4), descriptor(compressed, 2), wide(gzip.into(), 1), descriptor(1, 0)]
            .concat()
    };
    let file = file(cards, &fields, &[row([0; 3])], &[0; 20]);
    let layout = layout(&file).unwrap();
    let heap = layout.table.heap.offset;
    let form = |counts| {
        let stored = layout.stored_tile(0, &row(counts)).unwrap();
        assert_eq!(stored.quantisation.is_some(), stored.form == TileForm::Compressed);
        assert_eq!(stored.mask, Some((heap, 1)));
        (stored.form, stored.offset - heap, stored.bytes)
    };
    assert_eq!(form([2, 3, 4]), (TileForm::Compressed, 2, 3));
    assert_eq!(form([2, 0, 4]), (TileForm::Gzip, 1, 4));
    // The column has elements of four bytes.
    assert_eq!(form([2, 0, 0]), (TileForm::Plain, 4, 8));
    let error = layout.stored_tile(0, first_row(&layout, &file)).unwrap_err();
    assert_eq!((error.code(), error.problem().place.row), (Code::TileStream, Some(1)));
    let error = layout.stored_tile(0, &row([9, 0, 0])).unwrap_err();
    assert_eq!(error.code(), Code::DescriptorRange);
    assert_eq!(layout.mask_codec.as_ref().unwrap().name(), "GZIP_1");
}

#[test]
fn errors_of_a_stream_have_the_byte_in_the_file() {
    let file = plain("");
    let layout = layout(&file).unwrap();
    let mut stored = layout.stored_tile(0, first_row(&layout, &file)).unwrap();
    stored.tile = 2;
    let mut out = [0i16; 3];
    let mut tile = Tile { stream: &[0; 5], shape: &[3], pixels: PixelsMut::I16(&mut out) };
    let error = Verbatim.decode(&mut tile, &mut CodecScratch::new()).unwrap_err();
    let error = layout.tile_error(&stored, error);
    let place = &error.problem().place;
    assert_eq!((place.hdu, place.row, place.offset), (Some(1), Some(3), Some(stored.offset)));
    let mut words = String::new();
    write!(words, "{error}").unwrap();
    assert!(words.contains("COMPRESSED_DATA") || words.contains("compressed_data"), "{words}");
    let mut out = Vec::new();
    let tile = PlainTile { shape: &[1], pixels: Pixels::I16(&[258]) };
    Verbatim.encode(&tile, &mut CodecScratch::new(), &mut out).unwrap();
    assert_eq!(out, [1, 2]);
}
