//! Cards of an image that survive an operation on it: the only list of keywords about structure,
//! scaling, the file or the HDU. The engine's module of the same name decides about companion HDUs.

use crate::card::{Card, numbered};
use crate::value::Value;

/// Effect of an operation on the pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SurvivingPixels {
    /// They are copied as they are stored, so that their scaling stays true.
    Stored {
        /// Floating-point pixels must not have BLANK (Sect. 4.4.2.5).
        is_float: bool,
    },
    /// They get other values on the same grid, and a scaling of their own.
    New,
    /// They become numbers of a result, which is another HDU.
    Result,
}

/// Subject of a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CardSubject {
    /// The structure of the HDU, which the writer states.
    Structure,
    /// How stored pixels become values.
    Scaling,
    /// The old file, or all of the old pixels.
    File,
    /// The HDU among others.
    Hdu,
    /// Cards that stay true: coordinates, the observation, ...
    Other,
}

/// Whether a card stays true. Coordinates are another matter: they follow the pixels.
pub(crate) fn survives(card: &Card, pixels: SurvivingPixels) -> bool {
    let keyword = card.keyword().to_ascii_uppercase();
    match subject(&keyword) {
        CardSubject::Structure | CardSubject::File => false,
        CardSubject::Scaling => {
            matches!(pixels, SurvivingPixels::Stored { is_float } if !(is_float && keyword == "BLANK"))
        }
        CardSubject::Hdu if pixels == SurvivingPixels::Result => false,
        // Others may follow in a new file.
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
