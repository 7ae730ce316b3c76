//! Position of the bytes of one tile, from its table row.

use super::quantised::{TileQuantisation, blank_of};
use super::tiled_layout::TiledLayout;
use crate::code::Code;
use crate::codec::{CodecError, Gzip, TileCodec, Verbatim};
use crate::error::{FormatError, Place};
use crate::hdu::StoredType;
use crate::table::Field;

/// Encoding of the bytes of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TileForm {
    /// In COMPRESSED_DATA, encoded by the codec of the image.
    Compressed,
    /// In GZIP_COMPRESSED_DATA: pixels compressed by gzip, without quantisation.
    Gzip,
    /// In UNCOMPRESSED_DATA: plain pixels.
    Plain,
}

/// Position and interpretation of the bytes of one tile.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct StoredTile {
    /// Number of the tile, from 0; also its row in the table.
    pub tile: u64,
    /// Encoding of its bytes.
    pub form: TileForm,
    /// Column with its bytes, from 0.
    pub column: usize,
    /// Byte offset of its stream in the file.
    pub offset: u64,
    /// Bytes of its stream.
    pub bytes: u64,
    /// Quantisation of its floating-point pixels; `None` if the stream contains the pixels unquantised.
    pub quantisation: Option<TileQuantisation>,
    /// Integer of undefined pixels in an integer tile, from the column ZBLANK.
    pub blank: Option<i64>,
    /// Byte offset and length in the file of the mask of undefined pixels, if the tile has one.
    pub mask: Option<(u64, u64)>,
}

impl TiledLayout {
    /// Locates the bytes of a tile; `row` contains its table row, which begins at [`TiledLayout::row_offset`].
    ///
    /// # Errors
    /// [`Code::TileStream`] if no column has bytes of the tile, or too few for its pixels, so that no memory is
    /// allocated for them; [`Code::DescriptorRange`] if they are outside of the heap.
    ///
    /// # Panics
    /// Panics if the table has no such tile, or `row` is shorter than a table row.
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

    /// Returns the integer in column ZBLANK that marks undefined pixels of an integer tile, from the bytes of its row.
    #[must_use]
    pub fn blank_of_tile(&self, row: &[u8]) -> Option<i64> {
        let blank = blank_of(&self.table, self.blank_column?, row)?;
        let (least, greatest) = self.image.stored.integer_range()?;
        (least..=greatest).contains(&blank).then_some(blank)
    }

    /// Checks that the stream of a tile is long enough for its pixels.
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

    /// Returns offset in the file and length of the array of a cell; `None` if it has no elements.
    fn array(
        &self,
        column: usize,
        tile: u64,
        row: &[u8],
    ) -> Result<Option<(u64, u64)>, FormatError> {
        let definition = &self.table.columns[column];
        let Field::Variable { element, .. } = definition.field else {
            unreachable!("the layout has checked its columns")
        };
        let field = &row[definition.offset as usize..][..definition.field.row_bytes() as usize];
        let descriptor = self.table.descriptor(column, tile, field)?;
        let bytes = element.total_bytes(descriptor.count).expect("checked against the heap");
        let is_there = (descriptor.count > 0).then_some(());
        Ok(is_there.map(|()| (self.table.heap.offset + descriptor.offset, bytes)))
    }

    /// Returns the codec for the stream of a tile.
    #[must_use]
    pub fn codec_of(&self, form: TileForm) -> &dyn TileCodec {
        match form {
            TileForm::Compressed => &*self.codec,
            TileForm::Gzip => &Gzip { shuffled: false },
            TileForm::Plain => &Verbatim,
        }
    }

    /// Type of the numbers in the stream of a tile: 32-bit integers if pixels are quantised, otherwise the type of the
    /// pixels.
    #[must_use]
    pub fn stream_type(&self, stored: &StoredTile) -> StoredType {
        match stored.quantisation {
            Some(_) => StoredType::I32,
            None => self.image.stored,
        }
    }

    /// Adds the place of the tile in the file to an error of a codec.
    #[must_use]
    pub fn tile_error(&self, stored: &StoredTile, error: CodecError) -> FormatError {
        error.at(self.table.place(stored.column, Some(stored.tile)), stored.offset)
    }

    /// Returns the error of a tile whose row or stream (`bytes` bytes from `offset`) is truncated in a file of
    /// `file_bytes`; `None` if it is complete.
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

    /// Returns an undefined pixel, big-endian: NaN or BLANK; `None` for integers without BLANK.
    #[must_use]
    pub fn undefined_pixel(&self) -> Option<Vec<u8>> {
        match (self.image.stored, self.image.blank) {
            (StoredType::F32, _) => Some(f32::NAN.to_be_bytes().to_vec()),
            (StoredType::F64, _) => Some(f64::NAN.to_be_bytes().to_vec()),
            (kind, Some(blank)) => Some(blank.to_be_bytes()[8 - kind.bytes()..].to_vec()),
            (_, None) => None,
        }
    }

    /// Returns the error of a damaged tile whose pixels have no value for missing data.
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
