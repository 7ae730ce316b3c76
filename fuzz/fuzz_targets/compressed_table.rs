//! Any bytes as the header of a compressed table and its data: columns and arrays that lie in their heaps, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tachyfits_format::{CodecScratch, Context, Field, Hdu, Header};

fuzz_target!(|bytes: &[u8]| {
    let Ok((header, _)) = Header::parse(bytes, Context::default()) else { return };
    let Ok(hdu) = Hdu::of_header(header, 1) else { return };
    let Ok(table) = hdu.compressed_table() else { return };
    let mut scratch = CodecScratch::new();
    for tile in 0..table.table.rows.min(4) {
        let (first, rows) = table.rows_of_tile(tile);
        assert!(first + rows <= table.layout.rows);
        let at = (table.table.data_offset + tile * table.table.row_bytes) as usize;
        let Some(row) = bytes.get(at..at + table.table.row_bytes as usize) else { return };
        for (number, codec) in table.columns.iter().enumerate() {
            let Some(codec) = codec else { continue };
            let Ok((offset, length)) = table.slab(number, tile, row) else { continue };
            let end = offset.saturating_add(length).min(bytes.len() as u64);
            let Some(stream) = bytes.get(offset as usize..end as usize) else { continue };
            let field = table.layout.columns[number].field;
            if let Field::Variable { .. } = field {
                let Ok(arrays) = table.arrays(number, tile, stream, offset, &mut scratch) else {
                    continue;
                };
                for array in arrays.arrays {
                    let heap = table.layout.heap;
                    assert!(array.plain.offset + array.plain_bytes <= heap.bytes);
                }
            } else if rows.saturating_mul(field.row_bytes()) < 1 << 20 {
                let mut out = vec![0; (rows * field.row_bytes()) as usize];
                if let Err(error) = codec.decode(stream, &mut scratch, &mut out) {
                    let _ = table.slab_error(number, tile, offset, error).to_string();
                }
            }
        }
    }
});
