//! Real tables and files with pitfalls, in the folder TACHYFITS_SHARED or in `../shared` beside the
//! repository. If they are missing, the tests print a message and skip them.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Returns the folder if it exists.
pub fn folder() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let existing_folder = FOLDER.get_or_init(|| {
        let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
        let folder = std::env::var_os("TACHYFITS_SHARED").map_or_else(beside, PathBuf::from);
        if folder.join("traps").is_dir() {
            return Some(folder);
        }
        // Written directly to stderr: the test runner hides `eprintln!` output of passing tests.
        let line = format!(
            "REAL TABLES LEFT OUT: no folder {}/traps; set TACHYFITS_SHARED to where they are\n",
            folder.display()
        );
        std::io::stderr().write_all(line.as_bytes()).expect("stderr takes a line");
        None
    });
    existing_folder.as_deref()
}
