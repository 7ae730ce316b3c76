//! The real tables and the trap files: in the folder that TACHYFITS_SHARED names, or in `../shared` beside the repository.
//! Where they are missing, the tests say so and go on without them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The folder, if it is there.
pub fn folder() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = FOLDER.get_or_init(|| {
        let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
        let folder = std::env::var_os("TACHYFITS_SHARED").map_or_else(beside, PathBuf::from);
        if folder.join("traps").is_dir() {
            return Some(folder);
        }
        // Straight to stderr: what a passing test prints with `eprintln!` is not shown.
        let line = format!(
            "REAL TABLES LEFT OUT: no folder {}/traps; set TACHYFITS_SHARED to where they are\n",
            folder.display()
        );
        std::io::stderr().write_all(line.as_bytes()).expect("stderr takes a line");
        None
    });
    found.as_deref()
}
