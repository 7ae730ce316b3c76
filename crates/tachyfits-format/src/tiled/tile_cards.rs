//! Cards of a compressed HDU that define its data: the parsers of compressed images and tables read them, so an editor
//! must not change them.

use super::restored::{NUMBERED, OF_TABLE};
use crate::card::numbered;
use crate::hdu::Hdu;
use crate::tile_keywords::TileContent;

/// Cards of tile columns that change their values; TTYPEn and TFORMn are in [`NUMBERED`].
const VALUES: [&str; 4] = ["TDIM", "TNULL", "TSCAL", "TZERO"];

impl Hdu {
    /// Whether a keyword, in either case, defines layout or meaning of the tiles of this compressed image or table.
    /// False for other HDUs, and for the checksums, which an editor computes.
    ///
    /// ```
    /// use tachyfits_format::{Hdu, Header};
    /// let mut header = Header::new();
    /// for (keyword, value) in [("XTENSION", "BINTABLE"), ("TTYPE1", "COMPRESSED_DATA"), ("TFORM1", "1PB")] {
    ///     header.set(keyword, value, "")?;
    /// }
    /// for (keyword, value) in [
    ///     ("BITPIX", 8), ("NAXIS", 2), ("NAXIS1", 8), ("NAXIS2", 1), ("PCOUNT", 0), ("GCOUNT", 1), ("TFIELDS", 1),
    /// ] {
    ///     header.set(keyword, value, "")?;
    /// }
    /// header.set("ZIMAGE", true, "")?;
    /// let hdu = Hdu::of_header(header, 1)?;
    /// assert!(hdu.is_tile_card("ZTILE1") && hdu.is_tile_card("ttype1") && !hdu.is_tile_card("BUNIT"));
    /// # Ok::<(), tachyfits_format::FormatError>(())
    /// ```
    #[must_use]
    pub fn is_tile_card(&self, keyword: &str) -> bool {
        let keyword = &*keyword.to_ascii_uppercase();
        let (root, number) = numbered(keyword);
        let has = |plain: &[&str], roots: &[&str]| {
            plain.contains(&keyword) || (!number.is_empty() && roots.contains(&root))
        };
        if keyword.ends_with("CHECKSUM") || keyword.ends_with("DATASUM") || keyword == "ZHECKSUM" {
            return false;
        }
        if self.is_tiled_image() {
            return TileContent::Image.has(keyword)
                || has(&OF_TABLE, &NUMBERED)
                || has(&[], &VALUES);
        }
        self.is_compressed_table() && TileContent::Table.has(keyword)
    }
}
