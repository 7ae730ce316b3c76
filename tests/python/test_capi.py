"""The C interface: programs in C and C++ compiled as users do, and what the library exports."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf
from capiprograms import CRATE, INCLUDE, PROGRAMS, compiled, library
from nativeprograms import ROOT, blocks, link, require, run, run_guide
from rangeserver import range_server

pytestmark = pytest.mark.once

HEADER = (INCLUDE / "tachyfits.h").read_text(encoding="utf-8")

#: Compilers of C++ and the standards that each is tested with.
CPP = [(compiler, f"c++{year}") for compiler in ("g++", "clang++") for year in ("17", "20", "2b")]


@pytest.mark.parametrize("standard", ["c99", "c17"])
def test_program_in_c_uses_every_function(tmp_path: Path, standard: str) -> None:
    source = PROGRAMS / "interface.c"
    program = compiled(source, tmp_path, "cc", f"-std={standard}", "-D_POSIX_C_SOURCE=200809L")
    path = tmp_path / "made.fits"
    assert run(program, path).endswith("passed\n")
    with fits.open(path, checksum=True) as hdus:
        hdus.verify("exception")
        assert hdus[0].header["OBJECT"] == "NGC 224"
        assert np.nansum(hdus[0].data) == 1763
        assert list(hdus[1].data["NAME"]) == ["one", "two", "six", "new"]
        np.testing.assert_array_equal(hdus[2].data, hdus[0].data)
    assert not [finding for finding in tf.verify(path) if finding.severity == "error"]
    used = set(re.findall(r"\btachyfits_\w+(?=\()", (PROGRAMS / "interface.c").read_text()))
    assert functions() == used


@pytest.mark.parametrize(("compiler", "standard"), CPP)
def test_program_in_cpp_uses_the_header(tmp_path: Path, compiler: str, standard: str) -> None:
    program = compiled(PROGRAMS / "interface.cpp", tmp_path, compiler, f"-std={standard}")
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


def test_program_of_the_guide_reads_a_url(capi_prefix: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "guides" / "from-c.md").read_text(encoding="utf-8")
    (code,) = (text for language, text in blocks(page) if language == "c")
    (tmp_path / "mean.c").write_text(code, encoding="utf-8")
    program = tmp_path / "mean"
    run(
        "cc", tmp_path / "mean.c", f"-I{capi_prefix / 'include'}", "-o", program, *link(capi_prefix)
    )
    tf.write(tmp_path / "image.fits", np.arange(200_000, dtype=np.float32).reshape(400, 500))
    with range_server({"/image.fits": (tmp_path / "image.fits").read_bytes()}) as server:
        assert run(program, f"{server.url}/image.fits") == "200000 pixels, mean 99999.5\n"


def test_panic_becomes_an_error(tmp_path: Path) -> None:
    source = tmp_path / "panics.c"
    source.write_text(
        '#define TACHYFITS_TEST_PANIC\n#include "tachyfits.h"\n#include <stdio.h>\n'
        "int main(void) { tachyfits_error e; int kind = tachyfits_test_panic(&e);\n"
        'printf("%d %s", kind, e.message); return 0; }\n'
    )
    program = compiled(source, tmp_path, "cc", "-std=c99")
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


def test_functions_are_those_of_the_list() -> None:
    """A function that disappears breaks programs; a new one is added to the list."""
    assert sorted(functions()) == (PROGRAMS / "symbols.txt").read_text().split()


@pytest.mark.parametrize("compiler", ["gcc", "clang", "g++", "clang++"])
def test_structs_have_the_sizes_of_the_list(tmp_path: Path, compiler: str) -> None:
    language = ["-x", "c++", "-std=c++17"] if "++" in compiler else ["-std=c99"]
    if shutil.which(compiler) is None:
        pytest.skip(f"COMPARISONS LEFT OUT: {compiler}")
    program = tmp_path / "sizes"
    command = [compiler, *language, f"-I{INCLUDE}", str(PROGRAMS / "sizes.c"), "-o", str(program)]
    subprocess.run(command, check=True)
    assert run(program) == (PROGRAMS / "sizes.txt").read_text()
    structs = set(re.findall(r"^typedef struct (tachyfits_\w+) \{", HEADER, re.MULTILINE))
    assert structs <= set((PROGRAMS / "sizes.txt").read_text().split())


def test_library_exports_nothing_else() -> None:
    if shutil.which("nm") is None:
        pytest.skip("COMPARISONS LEFT OUT: nm")
    listed = run("nm", "-D", "--defined-only", library() / "libtachyfits_c.so")
    symbols = {line.split()[-1] for line in listed.splitlines()}
    assert {name for name in symbols if name.startswith("tachyfits_")} == functions() | {
        "tachyfits_test_panic"
    }
    assert not {name for name in symbols if not name.startswith(("tachyfits_", "_", "rust_"))}
