//! Any bytes as the header of a compressed image and its table: a layout whose tiles lie in the heap, or an error. Headers
//! are restored to images of the same shape.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tachyfits_format::{Directives, Hdu};
use tachyfits_fuzz::{file_of_extension, walk};

fuzz_target!(|bytes: &[u8]| {
    let file = file_of_extension(bytes);
    let hdus = walk(&file);
    for hdu in &hdus {
        let _ = Directives::of(&hdu.header);
        let Ok(layout) = hdu.tiled_image() else { continue };
        assert_eq!(layout.grid.count(), layout.table.rows);
        for tile in 0..layout.grid.count().min(8) {
            let place = layout.grid.tile(tile);
            assert!(place.pixels() <= layout.grid.most_pixels());
            let at = layout.row_offset(tile) as usize;
            let Some(row) = file.get(at..at + layout.table.row_bytes as usize) else { break };
            if let Ok(stored) = layout.stored_tile(tile, row) {
                let heap = layout.table.heap;
                assert!(stored.offset >= heap.offset);
                assert!(stored.offset + stored.bytes <= heap.offset + heap.bytes);
                let _ = (layout.codec_of(stored.form), layout.stream_type(&stored));
            }
        }
        let Ok(restored) = hdu.restored_header(hdus.first()) else { continue };
        let index = usize::from(!restored.is_primary);
        if let Ok(image) = Hdu::of_header(restored.header, index) {
            assert_eq!(image.axes, layout.image.axes);
            assert_eq!(image.stored, layout.image.stored);
        }
    }
});
