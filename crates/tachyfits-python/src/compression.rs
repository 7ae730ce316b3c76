//! Compression options of images, as passed by Python.

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};
use tachyfits::header::Dither;
use tachyfits::tiled::{self, TileCompression};

use crate::errors::argument;

/// Codec, tile shape in NumPy order, quantisation level, dither, its seed, scale of HCOMPRESS, whether directives in
/// the header take precedence.
pub(crate) type GivenCompression =
    (String, Option<Vec<u64>>, Option<f64>, String, Option<u64>, i32, bool);

/// Converts compression options for the engine.
pub(crate) fn engine_compression(
    py: Python<'_>,
    given: Option<GivenCompression>,
) -> PyResult<Option<TileCompression>> {
    let Some((codec, tile, level, dither, seed, scale, directives)) = given else {
        return Ok(None);
    };
    let Some(dither) = Dither::of_name(&dither) else {
        let expected = "NO_DITHER, SUBTRACTIVE_DITHER_1 or SUBTRACTIVE_DITHER_2";
        return Err(argument(py, expected, &format!("dither {dither:?}"), "leave dither out"));
    };
    let tile = tile.map(|mut tile| {
        tile.reverse();
        tile
    });
    Ok(Some(
        TileCompression::default()
            .codec(codec)
            .tile(tile)
            .level(level)
            .dither(dither)
            .seed(seed)
            .scale(scale)
            .directives(directives),
    ))
}

/// Return (words, name in the Standard, is lossless, supports columns, purpose) of each codec.
#[pyfunction]
#[expect(clippy::type_complexity, reason = "a tuple that Python unpacks")]
pub(crate) fn codecs(
    py: Python<'_>,
) -> PyResult<Vec<(Bound<'_, PyTuple>, &'static str, bool, bool, &'static str)>> {
    let facts = tiled::codecs().map(|codec| {
        let words = PyTuple::new(py, codec.words.iter().map(|word| PyString::new(py, word)))?;
        Ok((words, codec.name(), codec.keeps_bits, codec.of_columns, codec.purpose))
    });
    facts.collect()
}
