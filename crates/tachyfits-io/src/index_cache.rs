//! The folder that stores the headers of remote files, so that opening them again needs few requests.

#[cfg(feature = "remote")]
pub(crate) mod entry;

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock};

/// Environment variable that names the folder, or turns the cache off.
const VARIABLE: &str = "TACHYFITS_INDEX_CACHE";

/// Folder set by the program; `Some(None)`: the cache is off.
static CHOSEN: RwLock<Option<Option<PathBuf>>> = RwLock::new(None);

/// Sets the folder in which this process stores the headers of remote files; `None` turns the cache off.
///
/// ```
/// use tachyfits_io::{index_cache, set_index_cache};
/// set_index_cache(None);
/// assert_eq!(index_cache(), None);
/// ```
pub fn set_index_cache(folder: Option<PathBuf>) {
    *CHOSEN.write().unwrap_or_else(PoisonError::into_inner) = Some(folder);
}

/// Returns the folder that stores the headers of remote files; `None` if the cache is off.
///
/// It is the folder set by [`set_index_cache`], otherwise the one named by the variable `TACHYFITS_INDEX_CACHE` ("off"
/// for none), otherwise a folder in the user's cache directory.
#[must_use]
pub fn index_cache() -> Option<PathBuf> {
    if let Some(folder) = &*CHOSEN.read().unwrap_or_else(PoisonError::into_inner) {
        return folder.clone();
    }
    folder(|name| env::var_os(name).filter(|value| !value.is_empty()))
}

/// Returns the folder that environment variables name.
fn folder(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    match variable(VARIABLE) {
        Some(value) if value == "off" => return None,
        Some(folder) => return Some(folder.into()),
        None => {}
    }
    // The XDG specification ignores relative paths.
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
        let xdg_and_home = [("XDG_CACHE_HOME", "/caches"), ("HOME", "/home/me")];
        assert_eq!(of(&xdg_and_home), path("/caches/tachyfits/index"));
        let relative = of(&[("XDG_CACHE_HOME", "caches"), ("HOME", "/home/me")]);
        assert!(relative.is_some_and(|folder| folder.starts_with("/home/me")));
        assert_eq!(of(&[("HOME", "home")]), None);
    }
}
