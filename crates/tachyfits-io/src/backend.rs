//! The storages of this crate. The traits that they implement are in `storage` and `lend`, which know none of them.

pub(crate) mod cached;
pub(crate) mod direct;
pub(crate) mod entered;
pub(crate) mod file;
pub(crate) mod joined;
pub(crate) mod memory;
pub(crate) mod mmap;
#[cfg(feature = "remote")]
pub(crate) mod remote;
