//! Converts the header of a compressed image to the layout of its tiles (Sect. 10.1).

use std::sync::Arc;

use super::grid::TileGrid;
use super::quantised::{self, Quantisation};
use crate::code::Code;
use crate::codec::{CodecParameters, TileCodec, tile_codec};
use crate::error::{FormatError, Warning, quoted};
use crate::hdu::{Hdu, HduKind, StoredType};
use crate::header::Header;
use crate::image::{ImageLayout, ValueType, array_layout};
use crate::limits::Limits;
use crate::table::{Field, TableLayout};
use crate::value::Value;

/// An image whose tiles are compressed in the rows of a table.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TiledLayout {
    /// The uncompressed image: axes, type and scaling, without a place in the file. Its offset is 0.
    pub image: ImageLayout,
    /// Division into tiles. Tile n is in row n of the table.
    pub grid: TileGrid,
    /// Codec of COMPRESSED_DATA.
    pub codec: Arc<dyn TileCodec>,
    /// Codec of NULL_PIXEL_MASK, whose pixels are bytes: 1 if a pixel is undefined.
    pub mask_codec: Option<Arc<dyn TileCodec>>,
    /// Columns with the bytes of tiles.
    pub columns: TileColumns,
    /// Column ZBLANK for integers: the integer of undefined pixels in each tile, in addition to BLANK of the image.
    pub blank_column: Option<usize>,
    /// Whether a keyword defines the integer of undefined pixels in all tiles.
    states_blank: bool,
    /// Quantisation of floating-point pixels; `None` if the tiles contain unquantised pixels.
    pub quantisation: Option<Quantisation>,
    /// Layout of the table.
    pub table: TableLayout,
    /// Warnings about tolerated faults.
    pub warnings: Vec<Warning>,
}

/// Indices, from 0, of the columns with the bytes of tiles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TileColumns {
    /// COMPRESSED_DATA.
    pub compressed: Option<usize>,
    /// GZIP_COMPRESSED_DATA.
    pub gzip: Option<usize>,
    /// UNCOMPRESSED_DATA.
    pub plain: Option<usize>,
    /// NULL_PIXEL_MASK.
    pub mask: Option<usize>,
}

impl TiledLayout {
    /// Sets BLANK of an integer image from the column ZBLANK in the first row, unless a keyword defines it.
    pub fn take_blank_of_column(&mut self, row: &[u8]) {
        if !self.states_blank {
            self.image.blank = self.blank_of_tile(row);
        }
    }

    /// Whether a keyword, BLANK or ZBLANK, defines the integer of undefined pixels in all tiles.
    #[must_use]
    pub fn states_blank(&self) -> bool {
        self.states_blank
    }

    /// Whether the compression is lossless: floats are not quantised, and HCOMPRESS_1 does not divide.
    #[must_use]
    pub fn is_lossless(&self) -> bool {
        self.quantisation.is_none() && self.mask_codec.is_none() && self.codec.is_lossless()
    }
}

/// Maximum number of pixels per tile: CFITSIO counts them in 32 bits.
const MOST_TILE_PIXELS: u64 = 1 << 31;

impl Hdu {
    /// Whether the table contains the tiles of a compressed image (ZIMAGE = T).
    #[must_use]
    pub fn is_tiled_image(&self) -> bool {
        self.kind == HduKind::BinaryTable
            && self.header.get("ZIMAGE") == Some(&Value::Logical(true))
    }

    /// Returns the layout of a compressed image.
    ///
    /// # Errors
    /// [`Code::NotAnImage`] if it is not one; [`Code::CodecUnknown`] for its codec, [`Code::KeywordMissing`],
    /// [`Code::KeywordRange`], [`Code::ColumnForm`] and similar codes if keywords or columns do not define its tiles.
    ///
    /// ```
    /// use tachyfits_format::{Header, Hdu, Value};
    /// let mut header = Header::new();
    /// let cards = [
    ///     ("XTENSION", Value::from("BINTABLE")), ("BITPIX", 8.into()), ("NAXIS", 2.into()), ("NAXIS1", 8.into()),
    ///     ("NAXIS2", 3.into()), ("PCOUNT", 99.into()), ("GCOUNT", 1.into()), ("TFIELDS", 1.into()),
    ///     ("TTYPE1", "COMPRESSED_DATA".into()), ("TFORM1", "1PB".into()), ("ZIMAGE", true.into()),
    ///     ("ZCMPTYPE", "RICE_1".into()), ("ZBITPIX", 16.into()), ("ZNAXIS", 2.into()), ("ZNAXIS1", 40.into()),
    ///     ("ZNAXIS2", 3.into()),
    /// ];
    /// for (keyword, value) in cards { header.set(keyword, value, "")?; }
    /// let hdu = Hdu::of_header(header, 1)?;
    /// let layout = hdu.tiled_image()?;
    /// assert_eq!((layout.codec.name(), layout.grid.tile_shape()), ("RICE_1", &[40, 1][..]));
    /// assert_eq!((layout.image.stored.bitpix(), layout.grid.count()), (16, 3));
    /// # Ok::<(), tachyfits_format::FormatError>(())
    /// ```
    pub fn tiled_image(&self) -> Result<TiledLayout, FormatError> {
        if !self.is_tiled_image() {
            let found = self.kind.as_str();
            return Err(FormatError::new(Code::NotAnImage, self.place(), "ZIMAGE = T", found));
        }
        let table = self.table()?;
        let header = &self.header;
        let stored = pixel_type(header)?;
        let axes = axes(header, stored)?;
        let grid = TileGrid::new(axes.clone(), tile_shape(header, &axes)?);
        check_tiles(header, &grid, &table)?;
        let columns = TileColumns::of(&table, header)?;
        let mut image = array_layout(header, stored, axes)?;
        image.pixels_present = image.pixels;
        let mut warnings = std::mem::take(&mut image.warnings);
        warnings.extend(table.warnings.iter().cloned());
        use_zblank(&mut image, header)?;
        let unsigned = matches!(image.value, ValueType::U16 | ValueType::U32);
        let parameters = CodecParameters::of(header, stored, unsigned)?;
        let codec = codec(header, "ZCMPTYPE", &parameters)?;
        let mask_codec = match columns.mask {
            Some(_) => {
                let parameters = CodecParameters::none(header, StoredType::U8);
                Some(self::codec(header, "ZMASKCMP", &parameters)?)
            }
            None => None,
        };
        let (quantisation, blank_column) = match stored.is_float() {
            true => (Quantisation::of(header, &table)?, None),
            false => (None, quantised::column(&table, "ZBLANK")?),
        };
        let states_blank = image.blank.is_some();
        Ok(TiledLayout {
            states_blank,
            image,
            grid,
            codec,
            mask_codec,
            columns,
            blank_column,
            quantisation,
            table,
            warnings,
        })
    }
}

fn codec(
    header: &Header,
    keyword: &str,
    parameters: &CodecParameters<'_>,
) -> Result<Arc<dyn TileCodec>, FormatError> {
    match header.get_text(keyword)? {
        Some(name) => Ok(Arc::from(tile_codec(keyword, name, parameters)?)),
        None => Err(header.missing(keyword, "the name of a codec")),
    }
}

/// Reads ZBITPIX.
fn pixel_type(header: &Header) -> Result<StoredType, FormatError> {
    let Some(bitpix) = header.get_i64("ZBITPIX")? else {
        return Err(header.missing("ZBITPIX", "the type of the pixels"));
    };
    let stored = StoredType::from_bitpix(bitpix);
    stored.ok_or_else(|| header.out_of_range("ZBITPIX", "8, 16, 32, 64, -32 or -64"))
}

/// Reads ZNAXISn, whose product must be within the limit of all data.
fn axes(header: &Header, stored: StoredType) -> Result<Vec<u64>, FormatError> {
    let limits = Limits::default();
    let Some(naxis) = header.get_i64("ZNAXIS")? else {
        return Err(header.missing("ZNAXIS", "the number of axes"));
    };
    let naxis = usize::try_from(naxis).ok().filter(|naxis| *naxis <= limits.max_naxis);
    let expected = || format!("0 to {}", limits.max_naxis);
    let naxis = naxis.ok_or_else(|| header.out_of_range("ZNAXIS", &expected()))?;
    let axis = |number| {
        let keyword = format!("ZNAXIS{number}");
        match header.get_i64(&keyword)? {
            Some(size) => {
                u64::try_from(size).map_err(|_| header.out_of_range(&keyword, "0 or more"))
            }
            None => Err(header.missing(&keyword, "the size of an axis")),
        }
    };
    let axes = (1..=naxis).map(axis).collect::<Result<Vec<u64>, _>>()?;
    // An axis of 0 must not hide others whose product would overflow.
    let sizes = axes.iter().map(|&size| u128::from(size.max(1)));
    let bytes = sizes.fold(stored.bytes() as u128, u128::saturating_mul);
    if bytes > u128::from(limits.max_data_bytes) {
        let expected = format!("at most {} bytes of pixels", limits.max_data_bytes);
        let found = format!("axes {axes:?}");
        return Err(FormatError::new(Code::DataTooLarge, header.place("ZNAXIS"), expected, found));
    }
    Ok(axes)
}

/// Reads ZTILEn; the default is one tile per row of the image.
fn tile_shape(header: &Header, axes: &[u64]) -> Result<Vec<u64>, FormatError> {
    let tile = |(axis, &size): (usize, &u64)| {
        let keyword = format!("ZTILE{}", axis + 1);
        match header.get_i64(&keyword)? {
            Some(tile) => {
                let tile = u64::try_from(tile).ok().filter(|tile| *tile > 0);
                tile.ok_or_else(|| header.out_of_range(&keyword, "1 or more"))
            }
            None if axis == 0 => Ok(size.max(1)),
            None => Ok(1),
        }
    };
    axes.iter().enumerate().map(tile).collect()
}

/// Checks that each tile has a row, and a size that codecs support.
fn check_tiles(header: &Header, grid: &TileGrid, table: &TableLayout) -> Result<(), FormatError> {
    if grid.count() != table.rows {
        let expected = format!("{} rows, one for each tile", grid.count());
        return Err(header.out_of_range("NAXIS2", &expected));
    }
    if grid.most_pixels() > MOST_TILE_PIXELS {
        let expected = format!("tiles of at most {MOST_TILE_PIXELS} pixels");
        let found = format!("tiles of {} pixels", grid.most_pixels());
        return Err(FormatError::new(Code::DataTooLarge, header.place("ZTILE1"), expected, found));
    }
    Ok(())
}

/// Uses ZBLANK of integers as BLANK: not in the Standard, but unambiguous if there is no BLANK.
fn use_zblank(image: &mut ImageLayout, header: &Header) -> Result<(), FormatError> {
    if let Some((least, greatest)) = image.stored.integer_range()
        && image.blank.is_none()
        && header.get("BLANK").is_none()
    {
        let blank = header.get_i64("ZBLANK")?;
        image.blank = blank.filter(|blank| (least..=greatest).contains(blank));
    }
    Ok(())
}

impl TileColumns {
    fn of(table: &TableLayout, header: &Header) -> Result<TileColumns, FormatError> {
        let column = |name: &str| {
            let Some(index) = table.column(name) else { return Ok(None) };
            match table.columns[index].field {
                Field::Variable { repeat: 1, .. } => Ok(Some(index)),
                _ => {
                    let (place, form) = (table.place(index, None), &table.columns[index].form);
                    let expected = "a column of one array of the heap (1P or 1Q)";
                    Err(FormatError::new(Code::ColumnForm, place, expected, quoted(form)))
                }
            }
        };
        let columns = TileColumns {
            compressed: column("COMPRESSED_DATA")?,
            gzip: column("GZIP_COMPRESSED_DATA")?,
            plain: column("UNCOMPRESSED_DATA")?,
            mask: column("NULL_PIXEL_MASK")?,
        };
        if columns.compressed.or(columns.gzip).or(columns.plain).is_none() {
            let (place, expected) = (header.place("TTYPE1"), "a column COMPRESSED_DATA");
            return Err(FormatError::new(Code::KeywordMissing, place, expected, "no such column"));
        }
        Ok(columns)
    }
}
