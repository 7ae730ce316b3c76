//! Any bytes as uncompressed pixels: pixels that can be encoded again, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tachyfits_format::Verbatim;
use tachyfits_fuzz::{FuzzTile, check_codec};

fuzz_target!(|bytes: &[u8]| {
    let Some(tile) = FuzzTile::of(bytes) else { return };
    check_codec(&Verbatim, &tile);
});
