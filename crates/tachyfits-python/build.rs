//! Passes the compiler and profile of the build to the module, for `build_info()`.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=TACHYFITS_RUSTC={}", compiler().unwrap_or("unknown".to_owned()));
    println!("cargo::rustc-env=TACHYFITS_PROFILE={}", variable("PROFILE"));
}

/// Returns the version of the compiler, in one line.
fn compiler() -> Option<String> {
    let output = Command::new(variable("RUSTC")).arg("--version").output().ok()?;
    let words = String::from_utf8(output.stdout).ok()?;
    words.lines().next().map(str::to_owned)
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_default()
}
