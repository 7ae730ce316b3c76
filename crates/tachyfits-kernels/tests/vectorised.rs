//! Proves that the kernels are vector code, by reading machine code: `src/vectorised.rs` does it, in a release build.
//!
//! The test profile keeps the checks of a debug build, with which the compiler makes no vector code at all; what matters
//! is the code that is shipped. So this test builds the unit tests of the crate as a release and runs those.

/// One minute of building the first time, nothing after.
#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[test]
fn every_kernel_is_vector_code_in_the_release_build() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = std::process::Command::new(cargo)
        .args(["test", "--release", "--lib", "--package", env!("CARGO_PKG_NAME")])
        .args(["--", "vectorised::"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo ran this test and can run another");
    let words = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && words.contains("2 passed"), "{words}{errors}");
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
#[test]
fn only_x86_64_linux_is_looked_at() {
    eprintln!(
        "VECTOR CODE NOT CHECKED: the check reads x86-64 machine code of Linux programs only"
    );
}
