//! Keywords that request a certain compression of their HDU: FZALGOR and others, which fpack obeys.

use super::choice::QuantisationLevel;
use super::quantised::Dither;
use crate::error::FormatError;
use crate::header::Header;
use crate::value::Value;

/// Requests of the keywords; `None` for an absent keyword.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Directives {
    /// FZALGOR: the codec, in upper case, or NONE.
    pub codec: Option<String>,
    /// FZTILE.
    pub tile: Option<TileDirective>,
    /// FZQVALUE: `Some(None)` requests no quantisation.
    pub level: Option<Option<QuantisationLevel>>,
    /// FZQMETHD.
    pub dither: Option<Dither>,
    /// FZDTHRSD.
    pub seed: Option<SeedDirective>,
    /// FZI2F: quantise integers like floats.
    pub integers_as_floats: Option<bool>,
    /// FZHSCALE: a multiple of the noise of a tile, or the divisor itself if negative.
    pub hcompress_scale: Option<f64>,
    /// FZTILELN: rows per tile of a table.
    pub table_rows: Option<u64>,
}

/// Tile shape requested by FZTILE.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TileDirective {
    /// One row of the image per tile.
    Row,
    /// The whole image as one tile.
    Whole,
    /// Sizes in FITS order; missing sizes are 1.
    Shape(Vec<u64>),
}

/// Start of the random numbers requested by FZDTHRSD.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeedDirective {
    /// Derived from the data. The clock, which fpack uses on request, would make outputs irreproducible.
    OfData,
    /// A fixed start, from 1 to 10000.
    Fixed(u64),
}

impl Directives {
    /// Reads the keywords.
    ///
    /// # Errors
    /// [`crate::Code::KeywordType`] or [`crate::Code::KeywordRange`] for an invalid value.
    ///
    /// ```
    /// use tachyfits_format::{Directives, Header, TileDirective};
    /// let mut header = Header::new();
    /// header.set("FZALGOR", "rice_1", "")?;
    /// header.set("FZTILE", "(100, 50)", "")?;
    /// let found = Directives::of(&header)?;
    /// assert_eq!(found.codec.as_deref(), Some("RICE_1"));
    /// assert_eq!(found.tile, Some(TileDirective::Shape(vec![100, 50])));
    /// # Ok::<(), tachyfits_format::FormatError>(())
    /// ```
    pub fn of(header: &Header) -> Result<Directives, FormatError> {
        let level = header.get_f64("FZQVALUE")?.map(QuantisationLevel::of_number);
        let codec = word(header, "FZALGOR")?;
        let rows = header.get_i64("FZTILELN")?.map(|rows| {
            let rows = u64::try_from(rows).ok().filter(|rows| *rows > 0);
            rows.ok_or_else(|| header.out_of_range("FZTILELN", "1 row or more"))
        });
        Ok(Directives {
            codec,
            tile: tile(header)?,
            level,
            dither: dither(header)?,
            seed: seed(header)?,
            integers_as_floats: header.get_logical("FZI2F")?,
            hcompress_scale: header.get_f64("FZHSCALE")?,
            table_rows: rows.transpose()?,
        })
    }

    /// Reads FZALGn: the codec requested for a column of a table, in upper case.
    ///
    /// # Errors
    /// [`crate::Code::KeywordType`] if it is not a string.
    pub fn column_codec(header: &Header, number: usize) -> Result<Option<String>, FormatError> {
        word(header, &format!("FZALG{number}"))
    }
}

/// Reads a word and converts it to upper case.
fn word(header: &Header, keyword: &str) -> Result<Option<String>, FormatError> {
    let word = header.get_text(keyword)?.map(|word| word.trim().to_ascii_uppercase());
    Ok(word.filter(|word| !word.is_empty()))
}

fn tile(header: &Header) -> Result<Option<TileDirective>, FormatError> {
    let Some(word) = word(header, "FZTILE")? else { return Ok(None) };
    let sizes = || -> Option<Vec<u64>> {
        let inside = word.strip_prefix('(')?.strip_suffix(')')?;
        let size = |text: &str| text.trim().parse().ok().filter(|size| *size > 0);
        inside.split(',').map(size).collect()
    };
    match word.as_str() {
        "ROW" => Ok(Some(TileDirective::Row)),
        "WHOLE" => Ok(Some(TileDirective::Whole)),
        _ => match sizes() {
            Some(sizes) => Ok(Some(TileDirective::Shape(sizes))),
            None => {
                Err(header.out_of_range("FZTILE", "'row', 'whole' or sizes such as '(100,50)'"))
            }
        },
    }
}

fn dither(header: &Header) -> Result<Option<Dither>, FormatError> {
    let Some(word) = word(header, "FZQMETHD")? else { return Ok(None) };
    let result = Dither::of_name(&word).map(Some);
    let expected = "'NO_DITHER', 'SUBTRACTIVE_DITHER_1' or 'SUBTRACTIVE_DITHER_2'";
    result.ok_or_else(|| header.out_of_range("FZQMETHD", expected))
}

fn seed(header: &Header) -> Result<Option<SeedDirective>, FormatError> {
    let refused = || header.out_of_range("FZDTHRSD", "'checksum', 'clock' or 1 to 10000");
    let number = match header.get("FZDTHRSD") {
        None | Some(Value::Undefined) => return Ok(None),
        Some(Value::Text(text)) => {
            match text.trim().to_ascii_uppercase().as_str() {
                "CHECKSUM" | "CLOCK" => return Ok(Some(SeedDirective::OfData)),
                // fpack expects the number as a string.
                other => other.parse().map_err(|_| refused())?,
            }
        }
        Some(value) => value.as_whole().ok_or_else(refused)?,
    };
    let seed = u64::try_from(number).ok().filter(|seed| (1..=10_000).contains(seed));
    seed.map(|seed| Some(SeedDirective::Fixed(seed))).ok_or_else(refused)
}
