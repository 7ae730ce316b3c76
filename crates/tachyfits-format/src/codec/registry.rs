//! The table of all codecs. A new codec needs a file, a fuzz target and a row here.

use super::parameters::CodecParameters;
use super::slab::SlabAlgorithm;
use super::tile::TileCodec;
use super::{gzip, hcompress, plio, rice, verbatim};
use crate::error::FormatError;

/// Creates a codec, or returns the error of an invalid parameter.
type Make = fn(&CodecParameters<'_>) -> Result<Box<dyn TileCodec>, FormatError>;

/// Names and abilities of a codec, for every interface.
///
/// ```
/// use tachyfits_format::codec_facts;
/// let facts = codec_facts("gzip").unwrap();
/// assert_eq!((facts.name(), facts.keeps_bits), ("GZIP_2", true));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodecFacts {
    /// Names for users, in lower case; the first is displayed.
    pub words: &'static [&'static str],
    /// Names in ZCMPTYPE and ZCTYPn, in upper case; the first is written.
    pub names: &'static [&'static str],
    /// Whether it preserves the bits of floats and of 64-bit integers; other codecs need integers of up to 32 bits.
    pub keeps_bits: bool,
    /// Whether it can compress columns of tables.
    pub of_columns: bool,
    /// Purpose, in a few words.
    pub purpose: &'static str,
}

impl CodecFacts {
    /// Value of ZCMPTYPE that is written.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.names[0]
    }
}

/// A codec for reading and writing.
struct Codec {
    words: &'static [&'static str],
    names: &'static [&'static str],
    keeps_bits: bool,
    purpose: &'static str,
    /// Constructor, for images.
    make: Make,
    /// The codec of table columns, if it supports them.
    of_columns: Option<SlabAlgorithm>,
}

const CODECS: [Codec; 6] = [
    Codec {
        words: &["rice"],
        names: &["RICE_1", "RICE_ONE"],
        keeps_bits: false,
        purpose: "fast",
        make: rice::make,
        of_columns: Some(SlabAlgorithm::Rice),
    },
    Codec {
        words: &["gzip", "gzip2"],
        names: &["GZIP_2"],
        keeps_bits: true,
        purpose: "keeps floats bit for bit",
        make: gzip::make_shuffled,
        of_columns: Some(SlabAlgorithm::ShuffledGzip),
    },
    Codec {
        words: &["gzip1"],
        names: &["GZIP_1"],
        keeps_bits: true,
        purpose: "gzip of bytes that are not shuffled",
        make: gzip::make,
        of_columns: Some(SlabAlgorithm::Gzip),
    },
    Codec {
        words: &["hcompress"],
        names: &["HCOMPRESS_1"],
        keeps_bits: false,
        purpose: "for images of the sky",
        make: hcompress::make,
        of_columns: None,
    },
    Codec {
        words: &["plio"],
        names: &["PLIO_1"],
        keeps_bits: false,
        purpose: "for masks",
        make: plio::make,
        of_columns: None,
    },
    Codec {
        words: &["none"],
        names: &["NOCOMPRESS"],
        keeps_bits: true,
        purpose: "tiles as they are",
        make: verbatim::make,
        of_columns: Some(SlabAlgorithm::Plain),
    },
];

/// Facts about every codec, in display order.
pub fn codecs() -> impl Iterator<Item = CodecFacts> {
    CODECS.iter().map(|codec| CodecFacts {
        words: codec.words,
        names: codec.names,
        keeps_bits: codec.keeps_bits,
        of_columns: codec.of_columns.is_some(),
        purpose: codec.purpose,
    })
}

/// Finds a codec by a name of the Standard or of users, in any case.
#[must_use]
pub fn codec_facts(name: &str) -> Option<CodecFacts> {
    let is_it = |each: &&str| each.eq_ignore_ascii_case(name.trim());
    codecs().find(|codec| codec.names.iter().chain(codec.words).any(is_it))
}

/// Lists the names of the codecs that satisfy a condition, for an error: "GZIP_2, GZIP_1 or NOCOMPRESS".
#[must_use]
pub fn codec_names(condition: impl Fn(&CodecFacts) -> bool) -> String {
    let names: Vec<&str> = codecs().filter(condition).map(|codec| codec.name()).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} or {last}", others.join(", ")),
        _ => names.concat(),
    }
}

fn named(name: &str) -> Option<&'static Codec> {
    let upper = name.trim().to_ascii_uppercase();
    CODECS.iter().find(|codec| codec.names.contains(&upper.as_str()))
}

impl SlabAlgorithm {
    /// Value of ZCTYPn.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        let is_this = |codec: &&Codec| codec.of_columns == Some(self);
        CODECS.iter().find(is_this).expect("every algorithm has a row").names[0]
    }

    /// Finds the codec of this name.
    #[must_use]
    pub fn of_name(name: &str) -> Option<SlabAlgorithm> {
        named(name)?.of_columns
    }
}

/// Creates the codec of this name, which is the value of `keyword` in the header (ZCMPTYPE, ZMASKCMP or ZCTYPn).
///
/// # Errors
/// [`crate::Code::CodecUnknown`] if the codec is unknown, or does not support the parameters.
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
            let expected = codec_names(|_| true);
            Err(parameters.unknown(keyword, &expected, name))
        }
    }
}
