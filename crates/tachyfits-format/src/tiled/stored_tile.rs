//! Where the bytes of one tile are, from the bytes of its row.

use super::quantised::{TileQuantisation, blank_of};
use super::tiled_layout::TiledLayout;
use crate::code::Code;
use crate::codec::{CodecError, Gzip, TileCodec, Verbatim};
use crate::error::{FormatError, Place};
use crate::hdu::StoredType;
use crate::table::Field;

/// How the bytes of a tile are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TileForm {
    /// In COMPRESSED_DATA, by the codec of the image.
    Compressed,
    /// In GZIP_COMPRESSED_DATA: the pixels themselves by gzip, without quantisation.
    Gzip,
    /// In UNCOMPRESSED_DATA: the pixels themselves.
    Plain,
}

/// Where the bytes of one tile are and what they mean.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StoredTile {
    /// The tile, from 0; its row in the table.
    pub tile: u64,
    /// How its bytes are stored.
    pub form: TileForm,
    /// The column that has them, from 0.
    pub column: usize,
    /// Byte offset of its stream in the file.
    pub offset: u64,
    /// Bytes of its stream.
    pub bytes: u64,
    /// How its integers become floating-point pixels; `None` if the stream has the pixels themselves.
    pub quantisation: Option<TileQuantisation>,
    /// The integer that means undefined in an integer tile, from the column ZBLANK.
    pub blank: Option<i64>,
    /// Byte offset and bytes of the mask of undefined pixels in the file, if the tile has one.
    pub mask: Option<(u64, u64)>,
}

impl TiledLayout {
    /// Where the bytes of a tile are; `row` are the bytes of its row, which begins at [`TiledLayout::row_offset`].
    ///
    /// # Errors
    /// [`Code::TileStream`] if no column has bytes of the tile, or too few for its pixels, so that no memory is allocated for
    /// them; [`Code::DescriptorRange`] if they lie outside of the heap.
    ///
    /// # Panics
    /// If the table has no such tile, or `row` has fewer bytes than a row of the table.
    pub fn stored_tile(&self, tile: u64, row: &[u8]) -> Result<StoredTile, FormatError> {
        let columns = [
            (TileForm::Compressed, self.columns.compressed),
            (TileForm::Gzip, self.columns.gzip),
            (TileForm::Plain, self.columns.plain),
        ];
        let mut first = None;
        for (form, column) in columns {
            let Some(column) = column else { continue };
            first = first.or(Some(column));
            let Some((offset, bytes)) = self.array(column, tile, row)? else { continue };
            let quantisation = match &self.quantisation {
                Some(quantisation) if form == TileForm::Compressed => {
                    Some(quantisation.of_tile(&self.table, tile, row)?)
                }
                _ => None,
            };
            let mask = self.columns.mask.map(|column| self.array(column, tile, row));
            let mask = mask.transpose()?.flatten();
            let blank = self.blank_of_tile(row);
            let stored =
                StoredTile { tile, form, column, offset, bytes, quantisation, blank, mask };
            self.check_bytes(&stored)?;
            return Ok(stored);
        }
        let place = self.table.place(first.expect("a layout has one of them"), Some(tile));
        let expected = "the bytes of the tile in one of its columns";
        Err(FormatError::new(Code::TileStream, place, expected, "no bytes in any"))
    }

    /// The integer that the column ZBLANK gives for undefined pixels of an integer tile, from the bytes of its row.
    #[must_use]
    pub fn blank_of_tile(&self, row: &[u8]) -> Option<i64> {
        let blank = blank_of(&self.table, self.blank_column?, row)?;
        let (least, greatest) = self.image.stored.integer_range()?;
        (least..=greatest).contains(&blank).then_some(blank)
    }

    /// The stream of a tile can have its pixels.
    fn check_bytes(&self, stored: &StoredTile) -> Result<(), FormatError> {
        let most = self.codec_of(stored.form).most_pixels(stored.bytes);
        if self.grid.most_pixels() <= most {
            return Ok(());
        }
        let pixels = self.grid.tile(stored.tile).pixels();
        if pixels <= most {
            return Ok(());
        }
        let expected = format!("the stream of {pixels} pixels");
        let found = format!("{} bytes, which have at most {most} pixels", stored.bytes);
        Err(self.tile_error(stored, CodecError::stream(0, expected, found)))
    }

    /// Offset in the file and bytes of the array of a cell; `None` if it has no elements.
    fn array(
        &self,
        column: usize,
        tile: u64,
        row: &[u8],
    ) -> Result<Option<(u64, u64)>, FormatError> {
        let found = &self.table.columns[column];
        let Field::Variable { element, .. } = found.field else {
            unreachable!("the layout has checked its columns")
        };
        let field = &row[found.offset as usize..][..found.field.row_bytes() as usize];
        let descriptor = self.table.descriptor(column, tile, field)?;
        let bytes = element.total_bytes(descriptor.count).expect("checked against the heap");
        let is_there = (descriptor.count > 0).then_some(());
        Ok(is_there.map(|()| (self.table.heap.offset + descriptor.offset, bytes)))
    }

    /// The codec of the stream of a tile.
    #[must_use]
    pub fn codec_of(&self, form: TileForm) -> &dyn TileCodec {
        match form {
            TileForm::Compressed => &*self.codec,
            TileForm::Gzip => &Gzip { shuffled: false },
            TileForm::Plain => &Verbatim,
        }
    }

    /// The type of the numbers in the stream of a tile: integers of 32 bits where pixels are quantised, else that of the
    /// pixels.
    #[must_use]
    pub fn stream_type(&self, stored: &StoredTile) -> StoredType {
        match stored.quantisation {
            Some(_) => StoredType::I32,
            None => self.image.stored,
        }
    }

    /// An error of a codec, with the place of the tile in the file.
    #[must_use]
    pub fn tile_error(&self, stored: &StoredTile, error: CodecError) -> FormatError {
        error.at(self.table.place(stored.column, Some(stored.tile)), stored.offset)
    }

    /// The error of a tile whose row or stream, of some bytes from an offset on, is not whole in a file of `file_bytes`; `None`
    /// if it is whole.
    #[must_use]
    pub fn cut_off(
        &self,
        tile: u64,
        (offset, bytes): (u64, u64),
        file_bytes: u64,
    ) -> Option<FormatError> {
        let is_whole = offset.checked_add(bytes).is_some_and(|end| end <= file_bytes);
        (!is_whole).then(|| {
            let place = Place {
                hdu: Some(self.table.hdu),
                row: Some(tile + 1),
                offset: Some(offset),
                ..Place::default()
            };
            let found =
                format!("{} bytes, then the end of the file", file_bytes.saturating_sub(offset));
            FormatError::new(Code::TileStream, place, format!("{bytes} bytes of the tile"), found)
        })
    }

    /// A pixel without a value, big-endian: NaN, or BLANK; `None` of integers without BLANK.
    #[must_use]
    pub fn undefined_pixel(&self) -> Option<Vec<u8>> {
        match (self.image.stored, self.image.blank) {
            (StoredType::F32, _) => Some(f32::NAN.to_be_bytes().to_vec()),
            (StoredType::F64, _) => Some(f64::NAN.to_be_bytes().to_vec()),
            (kind, Some(blank)) => Some(blank.to_be_bytes()[8 - kind.bytes()..].to_vec()),
            (_, None) => None,
        }
    }

    /// The error of a damaged tile whose pixels have no value for what is missing.
    #[must_use]
    pub fn without_blank(&self, damage: &FormatError) -> FormatError {
        let problem = damage.problem();
        let found = format!(
            "{}; pixels of BITPIX {} without BLANK have no value for damaged tiles",
            problem.found,
            self.image.stored.bitpix()
        );
        FormatError::new(problem.code, problem.place.clone(), problem.expected.clone(), found)
    }

    /// Byte offset in the file of the row of a tile.
    #[must_use]
    pub fn row_offset(&self, tile: u64) -> u64 {
        self.table.data_offset + tile * self.table.row_bytes
    }
}
