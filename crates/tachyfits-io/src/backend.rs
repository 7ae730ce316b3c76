//! Storages of this crate. The modules `storage` and `lend` define their traits and do not depend on them.

pub(crate) mod cached;
pub(crate) mod direct;
pub(crate) mod entered;
pub(crate) mod file;
pub(crate) mod joined;
pub(crate) mod memory;
pub(crate) mod mmap;
#[cfg(feature = "remote")]
pub(crate) mod remote;
