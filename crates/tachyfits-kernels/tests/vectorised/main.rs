//! Proves that the kernels are vector code, by reading the machine code that is linked into this test.
//!
//! The kernels are plain loops that the compiler vectorises. A small change of the source can silently prevent that, on
//! one tier or for one pixel type. So the test locates each kernel in the program file by its address, for each
//! encoding and each x86-64 tier of this machine, disassembles it, and counts the floating-point operations of its
//! loops: those on vectors of at least the tier's width, and scalar ones. The scalar tier is not checked.
//!
//! The test profile keeps the checks of a debug build, which prevent vector code, but the shipped code matters. So in a
//! debug build the only test runs this file in the release profile, whose kernels are those of the Python package,
//! compiled once for both.

#[cfg(all(debug_assertions, target_arch = "x86_64", target_os = "linux"))]
#[test]
fn every_kernel_is_vector_code_in_the_release_build() {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = std::process::Command::new(cargo)
        .args(["test", "--release", "--package", env!("CARGO_PKG_NAME"), "--test", "vectorised"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo ran this test and can run another");
    let words = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && words.contains("3 passed"), "{words}{errors}");
}

#[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
#[test]
fn only_x86_64_linux_is_checked() {
    eprintln!(
        "VECTOR CODE NOT CHECKED: the check reads x86-64 machine code of Linux programs only"
    );
}

#[cfg(all(not(debug_assertions), target_arch = "x86_64", target_os = "linux"))]
mod x86;
