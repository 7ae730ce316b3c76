//! Settings of image compression: codec, shape of tiles, and quantisation.

use tachyfits_format::{
    CodecParameters, Directives, Dither, Header, NewImage, QuantisationLevel, SeedDirective,
    StoredType, TileCodec, TileDirective, codec_facts, hcompress_divisor, hcompress_tile_shape,
    suits_hcompress, tile_codec, tile_shape,
};

use tachyfits_kernels::{Encoding, PixelType};

use super::tile_encoder::Quantising;
use crate::error::{Error, Reason};

tachyfits_io::options! {
    /// Settings for compressing an image.
    ///
    /// ```
    /// use tachyfits::tiled::TileCompression;
    /// let usual = TileCompression::default();
    /// assert_eq!((usual.codec.as_str(), usual.level, usual.tile), ("RICE_1", Some(4.0), None));
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct TileCompression {
        /// ZCMPTYPE: "RICE_1", "GZIP_1", "GZIP_2", "PLIO_1", "HCOMPRESS_1" or "NOCOMPRESS".
        pub codec: String,
        /// Shape of a tile in FITS order; missing axes have length 1. `None` selects long rows, or
        /// squares of a plane.
        pub tile: Option<Vec<u64>>,
        /// Quantisation level of floats: steps are the noise of each tile divided by this, or have
        /// this size if it is negative. `None` preserves every bit, which requires GZIP_1, GZIP_2
        /// or NOCOMPRESS.
        pub level: Option<f64>,
        /// Random numbers added to floats before rounding.
        pub dither: Dither,
        /// ZDITHER0, 1 to 10000; `None` derives it from the first tile, so that the same pixels
        /// produce the same file.
        pub seed: Option<u64>,
        /// Divisor of HCOMPRESS_1; 0 is lossless.
        pub scale: i32,
        /// Whether FZALGOR, FZTILE, FZQVALUE, FZQMETHD, FZDTHRSD, FZI2F and FZHSCALE in the header
        /// of the image take precedence over the other fields, as in fpack.
        pub directives: bool,
    }
}

impl Default for TileCompression {
    fn default() -> TileCompression {
        TileCompression {
            codec: "RICE_1".to_owned(),
            tile: None,
            level: Some(4.0),
            dither: Dither::Subtractive,
            seed: None,
            scale: 0,
            directives: false,
        }
    }
}

impl TileCompression {
    /// Applies the directives in a header; `None` if they disable compression.
    pub(crate) fn directed(
        &self,
        header: &Header,
        stored: StoredType,
        axes: &[u64],
    ) -> Result<Option<Self>, Error> {
        let mut settings = self.clone();
        if !self.directives {
            return Ok(Some(settings));
        }
        let of_header = |error| Error::Format { file: "the header".to_owned(), error };
        let directives = Directives::of(header).map_err(of_header)?;
        let refused = |expected: &str, found: &str| {
            let expected = format!("{expected}; {{directives=False|--ignore-directives}} goes on");
            Err(Error::refused(Reason::TileCompression, expected, found))
        };
        match directives.codec.as_deref() {
            Some("NONE") => return Ok(None),
            Some("RICE_ONE" | "RICE") => settings.codec = "RICE_1".to_owned(),
            Some("GZIP") => settings.codec = "GZIP_1".to_owned(),
            Some("PLIO") => settings.codec = "PLIO_1".to_owned(),
            Some("HCOMPRESS") => settings.codec = "HCOMPRESS_1".to_owned(),
            Some(codec) => settings.codec = codec.to_owned(),
            None => {}
        }
        settings.tile = match directives.tile {
            Some(TileDirective::Row) => Some(axes.iter().take(1).copied().collect()),
            Some(TileDirective::Whole) => Some(axes.to_vec()),
            Some(TileDirective::Shape(shape)) => Some(shape),
            None => settings.tile,
        };
        if let Some(level) = directives.level {
            settings.level = level.map(QuantisationLevel::number);
        }
        settings.dither = directives.dither.unwrap_or(settings.dither);
        settings.seed = match directives.seed {
            Some(SeedDirective::OfData) => None,
            Some(SeedDirective::Fixed(seed)) => Some(seed),
            None => settings.seed,
        };
        if directives.integers_as_floats == Some(true) && !stored.is_float() {
            return refused("FZI2F = F: integers are not quantised", "FZI2F = T");
        }
        if let Some(scale) = directives.hcompress_scale {
            if scale > 0.0 {
                return refused(
                    "FZHSCALE of 0 or less: the divisor is not taken from the noise",
                    &format!("FZHSCALE = {scale}"),
                );
            }
            settings.scale = hcompress_divisor(scale, 0.0);
        }
        let keeps_bits = codec_facts(&settings.codec).is_some_and(|codec| codec.keeps_bits);
        if stored.is_float() && settings.level.is_none() && !keeps_bits {
            // As in fpack, which preserves the bits of floats only with gzip.
            settings.codec = "GZIP_2".to_owned();
        }
        Ok(Some(settings))
    }

    /// Returns the encoding of the pixels in tiles. PLIO_1 has no negative integers, which the
    /// stored form of unsigned ones may be: CFITSIO adds 32768 to 16-bit integers, astropy does
    /// not, and both read 32-bit integers unchanged.
    pub(crate) fn encoding(&self, pixels: Encoding) -> Encoding {
        let zero = match pixels.pixel {
            PixelType::U16 => 1 << 15,
            PixelType::U32 => 1 << 31,
            _ => return pixels,
        };
        if !self.codec.eq_ignore_ascii_case("PLIO_1") {
            return pixels;
        }
        Encoding { pixel: PixelType::I32, blank: pixels.blank.map(|blank| blank + zero), ..pixels }
    }

    /// Returns the shape of a tile for an image with these axes.
    pub(super) fn tile_shape(
        &self,
        axes: &[u64],
        codec: &dyn TileCodec,
    ) -> Result<Vec<u64>, Error> {
        let refused = |expected: &str, found: String| {
            Err(Error::refused(Reason::TileCompression, expected, found))
        };
        let is_hcompress = codec.name() == "HCOMPRESS_1";
        let Some(tile) = &self.tile else {
            return match hcompress_tile_shape(axes).filter(|_| is_hcompress) {
                Some(shape) => Ok(shape),
                None if is_hcompress => {
                    refused("4 pixels or more along NAXIS1 and NAXIS2", format!("axes {axes:?}"))
                }
                None => Ok(tile_shape(axes)),
            };
        };
        if tile.len() > axes.len() || tile.contains(&0) {
            let expected = format!("tiles of 1 to {} axes, each of 1 pixel or more", axes.len());
            return refused(&expected, format!("{tile:?}"));
        }
        let mut shape = vec![1; axes.len()];
        for ((shape, &tile), &axis) in shape.iter_mut().zip(tile).zip(axes) {
            *shape = tile.min(axis.max(1));
        }
        if is_hcompress && !suits_hcompress(axes, &shape) {
            let expected = "HCOMPRESS_1 tiles with 4 pixels or more along two axes, at edges too";
            return refused(expected, format!("{tile:?} of {axes:?}"));
        }
        Ok(shape)
    }

    /// Returns the codec for stored pixels, or for the integers of quantised floats.
    pub(super) fn tile_codec(
        &self,
        image: &NewImage,
        quantised: bool,
    ) -> Result<Box<dyn TileCodec>, Error> {
        let stored = if quantised { StoredType::I32 } else { image.stored };
        let unsigned = image.scaling.is_some_and(|(scale, zero)| {
            scale == 1.0 && (zero == 32_768.0 || zero == 2_147_483_648.0)
        });
        let mut header = Header::new();
        let set = |header: &mut Header| {
            header.set("ZNAME1", "SCALE", "")?;
            header.set("ZVAL1", i64::from(self.scale), "")
        };
        let of_request = |error| Error::Format { file: "the new image".to_owned(), error };
        if self.codec.eq_ignore_ascii_case("HCOMPRESS_1") {
            set(&mut header).map_err(of_request)?;
        }
        let mut parameters = CodecParameters::none(&header, stored);
        if !header.cards().is_empty() {
            parameters = CodecParameters::of(&header, stored, unsigned).map_err(of_request)?;
        }
        parameters.unsigned = unsigned;
        tile_codec("ZCMPTYPE", &self.codec, &parameters).map_err(of_request)
    }

    /// Returns the quantisation of floats; `None` for lossless compression and for integers.
    pub(super) fn quantising(&self, stored: StoredType, seed: u64) -> Option<Quantising> {
        let level = self.level.and_then(QuantisationLevel::of_number)?;
        stored.is_float().then_some(Quantising { level, dither: self.dither, seed })
    }
}
