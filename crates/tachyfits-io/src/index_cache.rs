//! The folder in which the headers of remote files are kept, so that opening one again does not walk over them.

#[cfg(feature = "remote")]
pub(crate) mod entry;

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

/// Names the folder, or turns the cache off.
const VARIABLE: &str = "TACHYFITS_INDEX_CACHE";

/// The folder that a program chose; `Some(None)`: the cache is off.
static CHOSEN: RwLock<Option<Option<PathBuf>>> = RwLock::new(None);

/// Chooses the folder of this process in which the headers of remote files are kept; `None` keeps none.
///
/// ```
/// use tachyfits_io::{index_cache, set_index_cache};
/// set_index_cache(None);
/// assert_eq!(index_cache(), None);
/// ```
pub fn set_index_cache(folder: Option<PathBuf>) {
    *CHOSEN.write().unwrap_or_else(PoisonError::into_inner) = Some(folder);
}

/// The folder in which the headers of remote files are kept, if they are.
///
/// Unless [`set_index_cache`] chose one, the variable `TACHYFITS_INDEX_CACHE` names it ("off" keeps none), else it is in the
/// folder of caches of this user.
#[must_use]
pub fn index_cache() -> Option<PathBuf> {
    if let Some(chosen) = &*CHOSEN.read().unwrap_or_else(PoisonError::into_inner) {
        return chosen.clone();
    }
    folder(|name| env::var_os(name).filter(|value| !value.is_empty()))
}

/// The folder that variables of the environment name.
fn folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    match variable(VARIABLE) {
        Some(value) if value == "off" => return None,
        Some(folder) => return Some(folder.into()),
        None => {}
    }
    // The specification of XDG ignores a relative path.
    let absolute = |name| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let home = |below: &str| absolute("HOME").map(|home| home.join(below));
    let caches = absolute("XDG_CACHE_HOME").or_else(|| {
        if cfg!(target_os = "macos") { home("Library/Caches") } else { home(".cache") }
    });
    caches.map(|caches| caches.join(Path::new("tachyfits/index")))
}

#[cfg(test)]
mod tests {
    use super::folder;
    use std::ffi::OsString;
    use std::path::PathBuf;

    #[test]
    fn variables_name_the_folder() {
        let of = |variables: &[(&str, &str)]| {
            folder(|name| {
                variables
                    .iter()
                    .find(|(key, _)| *key == name)
                    .map(|(_, value)| OsString::from(value))
            })
        };
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(of(&[("TACHYFITS_INDEX_CACHE", "off"), ("HOME", "/home/me")]), None);
        assert_eq!(of(&[("TACHYFITS_INDEX_CACHE", "/fast"), ("HOME", "/home/me")]), path("/fast"));
        let both = [("XDG_CACHE_HOME", "/caches"), ("HOME", "/home/me")];
        assert_eq!(of(&both), path("/caches/tachyfits/index"));
        let relative = of(&[("XDG_CACHE_HOME", "caches"), ("HOME", "/home/me")]);
        assert!(relative.is_some_and(|folder| folder.starts_with("/home/me")));
        assert_eq!(of(&[("HOME", "home")]), None);
    }
}
