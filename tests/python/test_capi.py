"""The C interface: programs in C and C++ compiled as users do, and what the library exports."""

from __future__ import annotations

import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf
from capiprograms import CRATE, INCLUDE, PROGRAMS, ROOT, compiled, environment, library, run

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


def test_header_of_cpp_compiles_quickly(tmp_path: Path) -> None:
    """Compare it with the headers of the library of C++ that any program of its kind includes."""
    if shutil.which("g++") is None:
        pytest.skip("COMPARISONS LEFT OUT: g++")

    def seconds(name: str, *includes: str) -> float:
        source = tmp_path / name
        source.write_text("".join(f"#include <{path}>\n" for path in includes))
        command = ["g++", "-std=c++17", f"-I{INCLUDE}", "-fsyntax-only", str(source)]
        times = []
        for _ in range(5):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(command, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.append(after.ru_utime - before.ru_utime)
        return min(times)

    # In processor time, and as a ratio, since machines differ and other programs run.
    common = seconds("common.cpp", "iostream", "string", "vector", "memory", "algorithm")
    assert seconds("ours.cpp", "tachyfits.hpp") < max(0.5, 2.5 * common)


def test_program_in_fortran_uses_the_module(tmp_path: Path) -> None:
    if shutil.which("gfortran") is None:
        pytest.skip("COMPARISONS LEFT OUT: gfortran")
    table = tmp_path / "table.fits"
    columns = {"PI": [10, 40, 31], "ENERGY": [0.5, 1.5, 2.5], "NAME": ["one", "two", "six"]}
    types = {"PI": "int32", "ENERGY": "float64", "NAME": "U4"}
    tf.write(table, {name: np.array(values, types[name]) for name, values in columns.items()})
    program = tmp_path / "program"
    subprocess.run(
        [
            "gfortran", "-std=f2018", "-Wall", "-Wextra", "-J", str(tmp_path),
            str(ROOT / "fortran" / "src" / "tachyfits.f90"), str(PROGRAMS / "interface.f90"),
            "-o", str(program), f"-L{library()}", f"-Wl,-rpath,{library()}", "-ltachyfits_c",
        ],
        check=True,
    )  # fmt: skip
    assert run(program, tmp_path / "made.fits", table).endswith("passed\n")


def test_fortran_module_is_as_its_script_writes_it() -> None:
    command = [sys.executable, str(ROOT / "tools" / "fortran_module.py"), "--check"]
    subprocess.run(command, check=True)


def test_programs_of_the_guide_run(tmp_path: Path) -> None:
    prefix = tmp_path / "installed"
    command = [sys.executable, str(ROOT / "tools" / "install_capi.py"), str(prefix)]
    subprocess.run(command, env=environment(), check=True, stdout=subprocess.DEVNULL)
    cube = tmp_path / "cube.fits"
    fits.PrimaryHDU(np.arange(24.0).reshape(2, 3, 4), fits.Header({"OBJECT": "M 31"})).writeto(cube)
    guide = (ROOT / "docs" / "guides" / "from-c.md").read_text(encoding="utf-8")
    programs = dict(re.findall(r"```(c|cpp|fortran)\n(.*?)```", guide, re.DOTALL))
    expected = {
        "c": "24 pixels, mean 11.5\n",
        "cpp": "M 31: median 11.5\nfirst pixel 0\n",
        "fortran": "24 pixels, mean   11.500000000000000",
    }
    assert set(programs) == set(expected)
    module = prefix / "share" / "tachyfits" / "fortran" / "tachyfits.f90"
    compilers = {
        "c": ["cc", "-std=c99"], "cpp": ["c++", "-std=c++17"], "fortran": ["gfortran", str(module)],
    }  # fmt: skip
    for language, source in programs.items():
        compiler = compilers[language]
        if shutil.which(compiler[0]) is None:
            continue
        path = tmp_path / f"program.{'f90' if language == 'fortran' else language}"
        path.write_text(source)
        program = tmp_path / f"{language}-program"
        subprocess.run(
            [
                *compiler, str(path), "-o", str(program), f"-I{prefix / 'include'}",
                f"-L{prefix / 'lib'}", f"-Wl,-rpath,{prefix / 'lib'}", "-ltachyfits",
            ],
            check=True, cwd=tmp_path,
        )  # fmt: skip
        assert expected[language] in run(program, cube)
    assert "-ltachyfits" in (prefix / "lib" / "pkgconfig" / "tachyfits.pc").read_text()


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
