//! Any bytes as a list of PLIO_1: pixels that can be encoded again, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tachyfits_format::Plio;
use tachyfits_fuzz::{FuzzTile, check_codec};

fuzz_target!(|bytes: &[u8]| {
    let Some(tile) = FuzzTile::of(bytes) else { return };
    check_codec(&Plio { unsigned_16: tile.form % 2 == 1 }, &tile);
});
