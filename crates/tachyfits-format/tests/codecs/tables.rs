//! Compressed tables: one of fpack, byte by byte (see `tests/data/compressed/make_tiles.py`), and tables that fpack
//! does not write or funpack cannot read.

use tachyfits_format::{
    Card, Code, CodecScratch, CompressedTable, Descriptor, Element, Field, Hdu, Header, NewColumn,
    NewCompressedTable, NewTable, SlabAlgorithm, SlabCodec, TableKind, TableLayout, ValueType,
    encode_descriptors,
};

use crate::goldens::all_hdus;
use crate::headers::{inflated, records};

/// Returns the data of the original table: rows and heap.
fn restored(table: &CompressedTable, file: &[u8]) -> Vec<u8> {
    let layout = &table.layout;
    let row_bytes = layout.row_bytes as usize;
    let rows = row_bytes * layout.rows as usize;
    let start = layout.heap.offset - layout.data_offset;
    let mut data = vec![0; (start + layout.heap.bytes) as usize];
    let mut scratch = CodecScratch::new();
    for tile in 0..table.table.rows {
        let at = (table.table.data_offset + tile * table.table.row_bytes) as usize;
        let row = &file[at..][..table.table.row_bytes as usize];
        let (first, count) = table.rows_of_tile(tile);
        for (number, codec) in table.columns.iter().enumerate() {
            let Some(codec) = codec else { continue };
            let column = &layout.columns[number];
            let (offset, bytes) = table.slab(number, tile, row).unwrap();
            let stream = &file[offset as usize..][..bytes as usize];
            let width = column.field.row_bytes() as usize;
            let mut slab = vec![0; width * count as usize];
            if let Field::Variable { .. } = column.field {
                let result = table.arrays(number, tile, stream, offset, &mut scratch).unwrap();
                slab.copy_from_slice(&result.fields);
                for array in &result.arrays {
                    put_array(&mut data, start as usize, codec, array, file);
                }
            } else {
                codec.decode(stream, &mut scratch, &mut slab).unwrap();
            }
            for (index, field) in slab.chunks(width).enumerate() {
                let at = (first as usize + index) * row_bytes + column.offset as usize;
                data[at..at + width].copy_from_slice(field);
            }
        }
    }
    assert!(rows <= data.len());
    data
}

fn put_array(
    data: &mut [u8],
    heap: usize,
    codec: &SlabCodec,
    array: &tachyfits_format::StoredArray,
    file: &[u8],
) {
    let stream = &file[array.offset as usize..][..array.bytes as usize];
    let out = &mut data[heap + array.plain.offset as usize..][..array.plain_bytes as usize];
    codec.decode_array(stream, &mut CodecScratch::new(), out).unwrap();
}

fn put_descriptor(cell: &mut [u8], wide: bool, descriptor: Descriptor) {
    let numbers = [descriptor.count, descriptor.offset];
    let bytes: Vec<u8> = match wide {
        true => numbers.iter().flat_map(|number| number.to_be_bytes()).collect(),
        false => numbers.iter().flat_map(|&number| (number as u32).to_be_bytes()).collect(),
    };
    cell.copy_from_slice(&bytes);
}

/// Returns a file of fpack, and the file that funpack restores from it.
fn files() -> [(Vec<u8>, Hdu); 2] {
    let packed = include_bytes!("../../../../tests/data/compressed/tables.fits.fz.gz");
    let plain = include_bytes!("../../../../tests/data/compressed/tables.fits.gz");
    [&packed[..], &plain[..]].map(table_in)
}

/// Returns a file, and its second HDU.
fn table_in(gzip: &[u8]) -> (Vec<u8>, Hdu) {
    let file = inflated(gzip);
    let hdu = all_hdus(&file).remove(1);
    (file, hdu)
}

#[test]
fn a_table_of_fpack_has_the_bytes_that_funpack_restores() {
    let [(packed, compressed), (plain, original)] = files();
    let table = compressed.compressed_table().unwrap();
    assert!(table.table.rows > 1 && table.warnings.is_empty());
    assert_eq!(table.columns.iter().filter(|codec| codec.is_none()).count(), 1);
    assert_eq!(records(&table.original.header), records(&original.header));
    let data = restored(&table, &packed);
    let expected = &plain[original.data_offset as usize..][..original.data_bytes as usize];
    assert!(data == expected);
}

#[test]
fn text_and_bits_of_any_length_are_those_of_astropy() {
    let text = [
        &include_bytes!("../../../../tests/data/compressed/text.fits.fz.gz")[..],
        &include_bytes!("../../../../tests/data/compressed/text.fits.gz")[..],
    ];
    let bits = [
        &include_bytes!("../../../../tests/data/compressed/bits.fits.fz.gz")[..],
        &include_bytes!("../../../../tests/data/compressed/bits.fits.gz")[..],
    ];
    for (files, first, forms) in
        [(text, 1, ["PA(42)", "QA(30)"]), (bits, 0, ["1PX(88)", "1QX(232)"])]
    {
        let [(packed, compressed), (plain, original)] = files.map(table_in);
        let table = compressed.compressed_table().unwrap();
        let columns = &table.layout.columns[first..first + 2];
        let found: Vec<&str> = columns.iter().map(|column| column.form.trim()).collect();
        assert_eq!(found, forms);
        let data = restored(&table, &packed);
        let expected = &plain[original.data_offset as usize..][..original.data_bytes as usize];
        assert!(data == expected, "{forms:?}");
    }
}

/// Compresses a table in memory: returns its header and data, as one HDU that begins at offset 0.
fn compress(layout: &TableLayout, header: &Header, data: &[u8], tile_rows: u64) -> Vec<u8> {
    let mut new = NewCompressedTable::of(layout);
    new.tile_rows = tile_rows;
    let (mut rows, mut heap, mut scratch) = (Vec::new(), Vec::new(), CodecScratch::new());
    let row_bytes = layout.row_bytes as usize;
    for tile in 0..new.tiles() {
        let first = (tile * tile_rows) as usize;
        let end = (first + tile_rows as usize).min(layout.rows as usize);
        for (number, column) in layout.columns.iter().enumerate() {
            let width = column.field.row_bytes() as usize;
            let fields: Vec<&[u8]> = (first..end)
                .map(|row| &data[row * row_bytes + column.offset as usize..][..width])
                .collect();
            let codec = new.columns[number];
            let mut stream = Vec::new();
            if let Field::Variable { element, .. } = column.field {
                let mut stored = Vec::new();
                for (row, &field) in (first as u64..).zip(&fields) {
                    let array = layout.descriptor(number, row, field).unwrap();
                    let at = (layout.heap.offset - layout.data_offset + array.offset) as usize;
                    let bytes = element.total_bytes(array.count).unwrap() as usize;
                    let start = heap.len() as u64;
                    if bytes > 0 {
                        codec.encode_array(&data[at..at + bytes], &mut scratch, &mut heap).unwrap();
                    }
                    stored.push((heap.len() as u64 - start, start));
                }
                encode_descriptors(&fields.concat(), &stored, &mut scratch, &mut stream).unwrap();
            } else if width > 0 {
                codec.encode(&fields.concat(), &mut scratch, &mut stream).unwrap();
            }
            rows.extend((stream.len() as u64).to_be_bytes());
            rows.extend((heap.len() as u64).to_be_bytes());
            heap.extend(stream);
        }
    }
    new.heap_bytes = heap.len() as u64;
    [new.header(header).unwrap().to_bytes(), rows, heap].concat()
}

/// Returns the HDU of a compressed table that begins at offset 0.
fn hdu(file: &[u8]) -> Hdu {
    let (header, _) = Header::parse(file, tachyfits_format::Context::default()).unwrap();
    Hdu::of_header(header, 1).unwrap()
}

#[test]
fn a_table_is_the_same_after_compression_and_restoring() {
    let [_, (plain, original)] = files();
    let layout = original.table().unwrap();
    let data = &plain[original.data_offset as usize..][..original.data_bytes as usize];
    for tile_rows in [1, 40, 1000] {
        let file = compress(&layout, &original.header, data, tile_rows);
        let table = hdu(&file).compressed_table().unwrap();
        assert_eq!(table.original.header.to_bytes(), original.header.to_bytes());
        assert_eq!(table.columns.len(), layout.columns.len());
        assert!(restored(&table, &file) == data);
    }
}

/// Creates a table with these columns, as a separate HDU.
fn table_of(fields: &[Field], rows: u64, heap_bytes: u64, heap_gap: u64) -> (Header, TableLayout) {
    let columns = (1..).zip(fields).map(|(n, &field)| NewColumn::new(&format!("C{n}"), field));
    let table = NewTable::new(TableKind::Binary, columns.collect())
        .rows(rows)
        .heap_gap(heap_gap)
        .heap_bytes(heap_bytes);
    let header = table.header(&Header::new()).unwrap();
    let layout = Hdu::of_header(header.clone(), 1).unwrap().table().unwrap();
    (header, layout)
}

#[test]
fn complex_and_bit_columns_and_gaps_before_the_heap_are_restored() {
    let fixed = |element, repeat| Field::Fixed { element, repeat, width: 1 };
    let array = |element| Field::Variable { element, wide: false, repeat: 1, most: None };
    let fields = [
        fixed(Element::Complex32, 2),
        fixed(Element::Complex64, 1),
        fixed(Element::Number(ValueType::U64), 1),
        array(Element::Bit),
        array(Element::Complex64),
    ];
    let (header, layout) = table_of(&fields, 3, 60, 100);
    let mut data: Vec<u8> =
        (0..3 * layout.row_bytes + 160).map(|byte| (byte * 7 % 50) as u8).collect();
    data[3 * layout.row_bytes as usize..][..100].fill(0);
    for row in 0..3 {
        let at = (row * layout.row_bytes + layout.columns[3].offset) as usize;
        put_descriptor(&mut data[at..at + 8], false, Descriptor { count: 9, offset: row * 2 });
        let array = Descriptor { count: row, offset: if row == 0 { 0 } else { 10 + row * 8 } };
        put_descriptor(&mut data[at + 8..at + 16], false, array);
    }
    let heap = 3 * layout.row_bytes as usize + 100;
    data[heap + 6..heap + 18].fill(0);
    data[heap + 58..].fill(0);
    let file = compress(&layout, &header, &data, 2);
    let compressed = hdu(&file);
    assert!(compressed.header.get("THEAP").is_none() && compressed.header.get("ZTHEAP").is_some());
    let table = compressed.compressed_table().unwrap();
    assert_eq!(table.original.header.to_bytes(), header.to_bytes());
    assert!(restored(&table, &file) == data);
}

#[test]
fn descriptors_may_be_in_either_order() {
    let field = Field::Variable {
        element: Element::Number(ValueType::I16),
        wide: true,
        repeat: 1,
        most: None,
    };
    let (header, layout) = table_of(&[field], 2, 40, 0);
    let new = NewCompressedTable { heap_bytes: 1000, ..NewCompressedTable::of(&layout) };
    let table =
        Hdu::of_header(new.header(&header).unwrap(), 1).unwrap().compressed_table().unwrap();
    let (plain, stored) = ([(5u64, 0u64), (0, 0)], [(10u64, 500u64), (0, 0)]);
    let bytes = |pairs: [(u64, u64); 2]| -> Vec<u8> {
        pairs.iter().flat_map(|&(a, b)| [a, b]).flat_map(u64::to_be_bytes).collect()
    };
    let codec = SlabCodec { algorithm: SlabAlgorithm::Gzip, element: Element::Character };
    let arrays = |cell: Vec<u8>| {
        let (mut stream, mut scratch) = (Vec::new(), CodecScratch::new());
        codec.encode(&cell, &mut scratch, &mut stream).unwrap();
        table.arrays(0, 0, &stream, 77, &mut scratch)
    };
    let cfitsio = arrays([bytes(plain), bytes(stored)].concat()).unwrap();
    let standard = arrays([bytes(stored), bytes(plain)].concat()).unwrap();
    assert_eq!(cfitsio, standard);
    let first = cfitsio.arrays[0];
    assert_eq!((first.plain.count, first.plain_bytes, first.bytes), (5, 10, 10));
    assert_eq!(first.offset, table.table.heap.offset + 500);
    let error = arrays(bytes([(5, 0), (5, 0)]).repeat(2)).unwrap();
    assert_eq!(error.arrays.len(), 2);
    let outside = [(5, 2000), (0, 0)];
    let error = arrays([bytes(outside), bytes(outside)].concat()).unwrap_err();
    assert_eq!((error.code(), error.problem().place.offset), (Code::TileStream, Some(77)));
    assert!(arrays(vec![0; 10]).is_err());
}

#[test]
fn the_heap_of_a_table_with_a_gap_is_where_fpack_puts_it() {
    let field = Field::Fixed { element: Element::Number(ValueType::U8), repeat: 1, width: 1 };
    let (header, layout) = table_of(&[field], 10, 8, 1000);
    let new = NewCompressedTable { heap_bytes: 50, ..NewCompressedTable::of(&layout) };
    let mut cards: Vec<Card> = new.header(&header).unwrap().cards().to_vec();
    let gap = cards.iter().position(|card| card.keyword() == "ZTHEAP").unwrap();
    cards[gap] = Card::new("THEAP", 1010, "").unwrap();
    let hdu = Hdu::of_header(Header::from_cards(cards), 1).unwrap();
    let table = hdu.compressed_table().unwrap();
    assert_eq!(table.table.heap.offset, hdu.data_offset + 1010);
    assert_eq!((table.table.heap.bytes, table.warnings.len()), (50, 1));
    assert_eq!(table.layout.heap.offset - table.layout.data_offset, 1010);
}

#[test]
fn headers_that_do_not_define_the_table_are_errors() {
    let field = Field::Fixed { element: Element::Number(ValueType::F32), repeat: 1, width: 1 };
    let (header, layout) = table_of(&[field], 10, 0, 0);
    let header = NewCompressedTable::of(&layout).header(&header).unwrap();
    let error = |keyword: &str, value: Option<&str>| {
        let mut copy = header.clone();
        match (value, value.and_then(|value| value.parse::<i64>().ok())) {
            (None, _) => assert_eq!(copy.remove(keyword), 1),
            (_, Some(number)) => copy.set(keyword, number, "").unwrap(),
            (Some(text), None) => copy.set(keyword, text, "").unwrap(),
        }
        let error = Hdu::of_header(copy, 1).unwrap().compressed_table().unwrap_err();
        (error.code(), error.problem().place.keyword.clone().unwrap_or_default())
    };
    assert_eq!(error("ZTILELEN", None), (Code::KeywordMissing, "ZTILELEN".into()));
    assert_eq!(error("ZTILELEN", Some("0")), (Code::KeywordRange, "ZTILELEN".into()));
    assert_eq!(error("ZTILELEN", Some("3")), (Code::KeywordRange, "NAXIS2".into()));
    assert_eq!(error("ZNAXIS2", None), (Code::KeywordMissing, "ZNAXIS2".into()));
    for keyword in ["ZNAXIS1", "ZPCOUNT"] {
        assert_eq!(error(keyword, Some("99999999")), (Code::DataTooLarge, "ZNAXIS1".into()));
    }
    assert_eq!(error("ZFORM1", None), (Code::KeywordMissing, "ZFORM1".into()));
    assert_eq!(error("ZCTYP1", Some("HCOMPRESS_1")), (Code::CodecUnknown, "ZCTYP1".into()));
    assert_eq!(error("ZCTYP1", Some("RICE_1")), (Code::CodecUnknown, "ZCTYP1".into()));
    assert_eq!(error("ZTABLE", None).0, Code::NotATable);
    let mut copy = header;
    copy.remove("ZCTYP1");
    let table = Hdu::of_header(copy, 1).unwrap().compressed_table().unwrap();
    assert_eq!(table.columns[0].unwrap().algorithm, SlabAlgorithm::ShuffledGzip);
}

#[test]
fn streams_of_columns_that_are_damaged_are_errors() {
    let element = Element::Number(ValueType::I32);
    let slab: Vec<u8> = (0..400u32).map(|byte| (byte % 7) as u8).collect();
    let algorithms = [
        SlabAlgorithm::Rice,
        SlabAlgorithm::Gzip,
        SlabAlgorithm::ShuffledGzip,
        SlabAlgorithm::Plain,
    ];
    for algorithm in algorithms {
        let codec = SlabCodec { algorithm, element };
        let (mut stream, mut scratch) = (Vec::new(), CodecScratch::new());
        codec.encode(&slab, &mut scratch, &mut stream).unwrap();
        let mut out = vec![0; slab.len()];
        codec.decode(&stream, &mut scratch, &mut out).unwrap();
        assert_eq!(out, slab, "{algorithm:?}");
        for end in 0..stream.len() - 1 {
            assert!(
                codec.decode(&stream[..end], &mut scratch, &mut out).is_err(),
                "{algorithm:?} {end}"
            );
        }
        let mut array = Vec::new();
        codec.encode_array(&slab[..8], &mut scratch, &mut array).unwrap();
        assert!(array.len() <= 8);
        codec.decode_array(&array, &mut scratch, &mut out[..8]).unwrap();
        assert_eq!(out[..8], slab[..8]);
    }
    let floats = SlabCodec { algorithm: SlabAlgorithm::Rice, element: Element::Complex32 };
    let error = floats.encode(&slab, &mut CodecScratch::new(), &mut Vec::new()).unwrap_err();
    assert_eq!(error.code, Code::TileValue);
}
