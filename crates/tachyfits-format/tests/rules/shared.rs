//! Real files and trap files, from the folder in the variable TACHYFITS_SHARED, or `../shared`
//! beside the repository. If it is missing, the tests print a note and continue without it.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Returns the folder, if it exists.
pub fn folder() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let result = FOLDER.get_or_init(|| {
        let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
        let folder = std::env::var_os("TACHYFITS_SHARED").map_or_else(beside, PathBuf::from);
        if folder.join("traps").is_dir() {
            return Some(folder);
        }
        // Written to stderr directly: the test runner hides `eprintln!` output of passing tests.
        let line = format!(
            "REAL FILES LEFT OUT: no folder {}/traps; set TACHYFITS_SHARED to where they are\n",
            folder.display()
        );
        std::io::stderr().write_all(line.as_bytes()).expect("stderr takes a line");
        None
    });
    result.as_deref()
}

/// Reads the bytes of a file.
#[expect(clippy::disallowed_methods, reason = "the crate knows no files, only its tests read some")]
pub fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Tests a rule with the file built here, and with the trap file of that name.
pub fn on_both(name: &str, built: &[u8], rule: impl Fn(&[u8])) {
    rule(built);
    if let Some(folder) = folder() {
        rule(&bytes(&folder.join("traps").join(format!("{name}.fits"))));
    }
}

/// Returns the `.fits` files of a folder and its subfolders, in order.
pub fn fits_files(folder: &Path) -> Vec<PathBuf> {
    let entries =
        std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.expect("an entry of a folder").path();
        match path.extension() {
            _ if path.is_dir() => paths.extend(fits_files(&path)),
            Some(extension) if extension == "fits" => paths.push(path),
            _ => {}
        }
    }
    paths.sort();
    paths
}
