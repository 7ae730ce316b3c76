//! Any bytes as a stream of GZIP_1 or GZIP_2: pixels that can be encoded again, or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use tachyfits_format::Gzip;
use tachyfits_fuzz::{FuzzTile, check_codec};

fuzz_target!(|bytes: &[u8]| {
    let Some(tile) = FuzzTile::of(bytes) else { return };
    check_codec(&Gzip { shuffled: tile.form % 2 == 1 }, &tile);
});
