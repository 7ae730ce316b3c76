//! The one table of codecs. A new one is a file, its fuzz target and a row here.

use super::parameters::CodecParameters;
use super::slab::SlabAlgorithm;
use super::tile::TileCodec;
use super::{gzip, hcompress, plio, rice, verbatim};
use crate::error::FormatError;

/// Makes a codec, or says which parameter it does not take.
type Make = fn(&CodecParameters<'_>) -> Result<Box<dyn TileCodec>, FormatError>;

/// A codec that is read and written.
struct Codec {
    /// Its names in ZCMPTYPE and ZCTYPn, in upper case; the first one is written.
    names: &'static [&'static str],
    /// Makes it, for images.
    make: Make,
    /// The same codec for the columns of tables, if it is for them.
    of_columns: Option<SlabAlgorithm>,
}

const CODECS: [Codec; 6] = [
    Codec {
        names: &["RICE_1", "RICE_ONE"],
        make: rice::make,
        of_columns: Some(SlabAlgorithm::Rice),
    },
    Codec { names: &["GZIP_1"], make: gzip::make, of_columns: Some(SlabAlgorithm::Gzip) },
    Codec {
        names: &["GZIP_2"],
        make: gzip::make_shuffled,
        of_columns: Some(SlabAlgorithm::ShuffledGzip),
    },
    Codec { names: &["PLIO_1"], make: plio::make, of_columns: None },
    Codec { names: &["HCOMPRESS_1"], make: hcompress::make, of_columns: None },
    Codec { names: &["NOCOMPRESS"], make: verbatim::make, of_columns: Some(SlabAlgorithm::Plain) },
];

fn named(name: &str) -> Option<&'static Codec> {
    let upper = name.trim().to_ascii_uppercase();
    CODECS.iter().find(|codec| codec.names.contains(&upper.as_str()))
}

impl SlabAlgorithm {
    /// The value of ZCTYPn.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        let is_this = |codec: &&Codec| codec.of_columns == Some(self);
        CODECS.iter().find(is_this).expect("every algorithm has a row").names[0]
    }

    /// The codec of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<SlabAlgorithm> {
        named(name)?.of_columns
    }
}

/// The codec of this name, which `keyword` of the header gives (ZCMPTYPE, ZMASKCMP or ZCTYPn).
///
/// # Errors
/// [`crate::Code::CodecUnknown`] if there is none, or it does not take the parameters.
///
/// ```
/// use tachyfits_format::{CodecParameters, Header, StoredType, tile_codec};
/// let header = Header::new();
/// let parameters = CodecParameters::none(&header, StoredType::I16);
/// assert_eq!(tile_codec("ZCMPTYPE", "rice_one", &parameters)?.name(), "RICE_1");
/// assert!(tile_codec("ZCMPTYPE", "BZIP2_1", &parameters).is_err());
/// # Ok::<(), tachyfits_format::FormatError>(())
/// ```
pub fn tile_codec(
    keyword: &str,
    name: &str,
    parameters: &CodecParameters<'_>,
) -> Result<Box<dyn TileCodec>, FormatError> {
    match named(name) {
        Some(codec) => (codec.make)(parameters),
        None => {
            let known: Vec<&str> = CODECS.iter().map(|codec| codec.names[0]).collect();
            let expected = format!("one of {}", known.join(", "));
            Err(parameters.unknown(keyword, &expected, name))
        }
    }
}
