//! Cards of an image that remain right after an operation: the only list of keywords about
//! structure, scaling, the file or the HDU. The engine's module of the same name handles companion
//! HDUs.

use crate::card::{Card, numbered};
use crate::value::Value;

/// Effect of an operation on the pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SurvivingPixels {
    /// Copied as stored, so that their scaling remains right.
    Stored {
        /// Whether pixels are floating-point numbers, which must not have BLANK (Sect. 4.4.2.5).
        is_float: bool,
    },
    /// Replaced by other values on the same grid, with new scaling.
    New,
    /// Replaced by numbers of a result, which is another HDU.
    Result,
}

/// Subject of a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CardSubject {
    /// Structure of the HDU, which the writer determines.
    Structure,
    /// Conversion of stored pixels to values.
    Scaling,
    /// The old file, or the set of all old pixels.
    File,
    /// The place of the HDU among others.
    Hdu,
    /// Anything else: coordinates, the observation, ...
    Other,
}

/// Whether a card remains right. Coordinates are handled separately: they follow the pixels.
pub(crate) fn survives(card: &Card, pixels: SurvivingPixels) -> bool {
    let keyword = card.keyword().to_ascii_uppercase();
    match subject(&keyword) {
        CardSubject::Structure | CardSubject::File => false,
        CardSubject::Scaling => {
            matches!(pixels, SurvivingPixels::Stored { is_float } if !(is_float && keyword == "BLANK"))
        }
        CardSubject::Hdu if pixels == SurvivingPixels::Result => false,
        // Other HDUs may follow in a new file.
        CardSubject::Hdu if pixels == SurvivingPixels::New && keyword == "EXTEND" => {
            card.value() != Some(&Value::Logical(false))
        }
        CardSubject::Hdu | CardSubject::Other => true,
    }
}

fn subject(keyword: &str) -> CardSubject {
    match keyword {
        "SIMPLE" | "XTENSION" | "BITPIX" | "NAXIS" | "PCOUNT" | "GCOUNT" | "GROUPS" => {
            CardSubject::Structure
        }
        _ if numbered(keyword).0 == "NAXIS" => CardSubject::Structure,
        "BSCALE" | "BZERO" | "BLANK" | "ZBLANK" => CardSubject::Scaling,
        "INHERIT" | "NEXTEND" | "BLOCKED" | "CHECKSUM" | "DATASUM" | "DATAMIN" | "DATAMAX" => {
            CardSubject::File
        }
        "EXTEND" | "EXTNAME" | "EXTVER" | "EXTLEVEL" | "END" => CardSubject::Hdu,
        _ => CardSubject::Other,
    }
}
