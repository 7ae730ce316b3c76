//! Damaged tiles: each is an error, read as undefined pixels, or listed.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use tachyfits_format::FormatError;
use tachyfits_io::FirstFew;

/// Treatment of damaged tiles of compressed images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DamagedTiles {
    /// A damaged tile is an error.
    #[default]
    Refused,
    /// Pixels are NaN, or BLANK for integers; a [`crate::io::Note`] of the run names each tile
    /// once. For integers without BLANK, a damaged tile is an error.
    Undefined,
}

/// Treatment of damage by a reader of tiles.
#[derive(Debug)]
pub(crate) enum OnDamage {
    Refuse,
    /// Pixels are undefined. Tiles known to be damaged are not decoded again.
    Undefine(Mutex<BTreeSet<u64>>),
    /// The damage is listed; the bytes are arbitrary.
    List(Arc<DamageList>),
}

/// Damaged part: the tile, the column of a table, and the index of an array within the column.
pub(crate) type DamagedPart = (u64, usize, Option<usize>);

/// Damage detected by readers.
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
    /// Creates a list that counts all parts and stores the errors of the first `most`.
    pub(crate) fn new(most: usize) -> Arc<DamageList> {
        Arc::new(DamageList(Mutex::new(FirstFew::new(most))))
    }

    pub(crate) fn add(&self, part: DamagedPart, error: FormatError) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add(part, || error);
    }

    /// Returns the first errors, and the number of damaged parts.
    pub(crate) fn found(&self) -> (Vec<FormatError>, u64) {
        let list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (list.values().cloned().collect(), list.count())
    }
}
