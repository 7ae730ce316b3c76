//! Damaged tiles: each is an error, undefined pixels, or an entry of a list.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use tachyfits_format::FormatError;
use tachyfits_io::FirstFew;

/// How the pixels of damaged tiles of compressed images are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DamagedTiles {
    /// They are an error.
    #[default]
    Refused,
    /// They are NaN, or BLANK of integers; a [`crate::io::Note`] of the run tells the place of each tile once. Integers without
    /// BLANK are an error.
    Undefined,
}

/// The way a reader of tiles treats damage.
#[derive(Debug)]
pub(crate) enum OnDamage {
    Refuse,
    /// Pixels are undefined. Tiles that are known to be damaged are not decoded again.
    Undefine(Mutex<BTreeSet<u64>>),
    /// The damage is listed, and bytes have any value.
    List(Arc<DamageList>),
}

/// Where something damaged is: the tile, the column of a table, and the place of an array among those of the column.
pub(crate) type DamagedPart = (u64, usize, Option<usize>);

/// The damage that readers found.
#[derive(Debug)]
pub(crate) struct DamageList(Mutex<FirstFew<DamagedPart, FormatError>>);

impl OnDamage {
    pub(crate) fn of(tiles: DamagedTiles) -> OnDamage {
        match tiles {
            DamagedTiles::Refused => OnDamage::Refuse,
            DamagedTiles::Undefined => OnDamage::Undefine(Mutex::default()),
        }
    }
}

impl DamageList {
    /// A list of all parts, which keeps the errors of the first `most`.
    pub(crate) fn new(most: usize) -> Arc<DamageList> {
        Arc::new(DamageList(Mutex::new(FirstFew::new(most))))
    }

    pub(crate) fn add(&self, part: DamagedPart, error: FormatError) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add(part, || error);
    }

    /// The first errors, and the number of damaged parts.
    pub(crate) fn found(&self) -> (Vec<FormatError>, u64) {
        let list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (list.values().cloned().collect(), list.count())
    }
}
