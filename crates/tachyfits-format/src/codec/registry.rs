//! The one table of codecs. A new one is a file, its fuzz target and a row here.

use super::parameters::CodecParameters;
use super::tile::TileCodec;
use super::{gzip, hcompress, plio, rice, verbatim};
use crate::error::FormatError;

/// Makes a codec, or says which parameter it does not take.
type Make = fn(&CodecParameters<'_>) -> Result<Box<dyn TileCodec>, FormatError>;

/// The names of each codec in ZCMPTYPE, in upper case, and what makes it.
const CODECS: [(&[&str], Make); 6] = [
    (&["RICE_1", "RICE_ONE"], rice::make),
    (&["GZIP_1"], gzip::make),
    (&["GZIP_2"], gzip::make_shuffled),
    (&["PLIO_1"], plio::make),
    (&["HCOMPRESS_1"], hcompress::make),
    (&["NOCOMPRESS"], verbatim::make),
];

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
    let upper = name.trim().to_ascii_uppercase();
    let found = CODECS.iter().find(|(names, _)| names.contains(&upper.as_str()));
    match found {
        Some((_, make)) => make(parameters),
        None => {
            let known: Vec<&str> = CODECS.iter().map(|(names, _)| names[0]).collect();
            let expected = format!("one of {}", known.join(", "));
            Err(parameters.unknown(keyword, &expected, name))
        }
    }
}
