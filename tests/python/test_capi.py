"""The C interface: programs in C and C++ compiled as users do, and what the library exports."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf
from nativeprograms import environment, require, run_guide

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]
CRATE = ROOT / "crates" / "tachyfits-capi"
PROGRAMS = ROOT / "tests" / "capi"
HEADER = (CRATE / "include" / "tachyfits.h").read_text(encoding="utf-8")

#: Warnings that headers of a library must not give.
STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror"]


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the library with the function that panics; return a folder of its own."""
    command = ["cargo", "build", "--release", "--quiet", "-p", "tachyfits-capi"]
    subprocess.run([*command, "--features", "test-panic"], cwd=ROOT, env=environment(), check=True)
    folder = tmp_path_factory.mktemp("library")
    built = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
    shutil.copy(built / "libtachyfits_c.so", folder)
    return folder


def compiled(library: Path, source: Path, folder: Path, compiler: str, *flags: str) -> Path:
    """Compile a program against the library; return its path."""
    program = folder / source.stem
    subprocess.run(
        [
            compiler, *flags, *STRICT, f"-I{CRATE / 'include'}", str(source), "-o", str(program),
            f"-L{library}", f"-Wl,-rpath,{library}", "-ltachyfits_c",
        ],
        check=True,
    )  # fmt: skip
    return program


def run(*command: object) -> str:
    found = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


@pytest.mark.parametrize("standard", ["c99", "c17"])
def test_program_in_c_uses_every_function(library: Path, tmp_path: Path, standard: str) -> None:
    program = compiled(
        library, PROGRAMS / "interface.c", tmp_path, "cc", f"-std={standard}",
        "-D_POSIX_C_SOURCE=200809L",
    )  # fmt: skip
    path = tmp_path / "made.fits"
    assert run(program, path).endswith("passed\n")
    with fits.open(path, checksum=True) as hdus:
        hdus.verify("exception")
        assert hdus[0].header["OBJECT"] == "NGC 224"
        assert np.nansum(hdus[0].data) == 1763
        assert list(hdus[1].data["NAME"]) == ["one", "two", "six"]
        np.testing.assert_array_equal(hdus[2].data, hdus[0].data)
    assert not [finding for finding in tf.verify(path) if finding.severity == "error"]
    used = set(re.findall(r"\btachyfits_\w+(?=\()", (PROGRAMS / "interface.c").read_text()))
    assert functions() - used <= {"tachyfits_arrays_free"}


@pytest.mark.parametrize("standard", ["c++17", "c++20", "c++23"])
def test_program_in_cpp_uses_the_header(library: Path, tmp_path: Path, standard: str) -> None:
    if shutil.which("c++") is None:
        pytest.skip("COMPARISONS LEFT OUT: no C++ compiler")
    program = compiled(library, PROGRAMS / "interface.cpp", tmp_path, "c++", f"-std={standard}")
    assert run(program, tmp_path / "made.fits").endswith("passed\n")


def test_programs_of_the_guide_run(capi_prefix: Path, tmp_path: Path) -> None:
    for compiler in ("cc", "c++", "pkg-config", "gfortran"):
        require(compiler)
    cube = tmp_path / "cube.fits"
    fits.PrimaryHDU(np.arange(24.0).reshape(2, 3, 4), fits.Header({"OBJECT": "M 31"})).writeto(cube)
    output = run_guide(ROOT / "docs" / "guides" / "from-c.md", capi_prefix, tmp_path)
    assert output["mean.c"] == "24 pixels, mean 11.5\n"
    assert output["median.cpp"].endswith("M 31: median 11.5\nfirst pixel 0\n")
    assert "24 pixels, mean   11.5000" in output["mean.f90"]
    description = (capi_prefix / "lib" / "pkgconfig" / "tachyfits.pc").read_text()
    assert "-ltachyfits" in description


def test_panic_becomes_an_error(library: Path, tmp_path: Path) -> None:
    source = tmp_path / "panics.c"
    source.write_text(
        '#define TACHYFITS_TEST_PANIC\n#include "tachyfits.h"\n#include <stdio.h>\n'
        "int main(void) { tachyfits_error e; int kind = tachyfits_test_panic(&e);\n"
        'printf("%d %s", kind, e.message); return 0; }\n'
    )
    program = compiled(library, source, tmp_path, "cc", "-std=c99")
    assert run(program) == "6 internal error: a panic of the test"


def functions() -> set[str]:
    """Return the names of the functions that the header declares."""
    declared = set(re.findall(r"\b(tachyfits_\w+)\(", HEADER))
    return declared - {"tachyfits_test_panic"}


def test_header_declares_what_the_sources_export() -> None:
    exported = set()
    for path in (CRATE / "src" / "ffi").glob("*.rs"):
        code = path.read_text(encoding="utf-8")
        exported |= set(re.findall(r'extern "C" fn (tachyfits_\w+)', code))
    assert functions() == exported - {"tachyfits_test_panic"}


def test_library_exports_nothing_else(library: Path) -> None:
    if shutil.which("nm") is None:
        pytest.skip("COMPARISONS LEFT OUT: nm")
    listed = run("nm", "-D", "--defined-only", library / "libtachyfits_c.so")
    symbols = {line.split()[-1] for line in listed.splitlines()}
    assert {name for name in symbols if name.startswith("tachyfits_")} == functions() | {
        "tachyfits_test_panic"
    }
    assert not {name for name in symbols if not name.startswith(("tachyfits_", "_", "rust_"))}
