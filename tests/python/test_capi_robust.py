"""The C interface under careless programs: threads, forks, few descriptors, files that change.

Memory checkers look for faults. The library is not instrumented for the sanitizers: they see the
programs, the headers, and what the library does to the memory of programs.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits

from capiprograms import EXAMPLES, PROGRAMS, compiled
from nativeprograms import ROOT, run

pytestmark = pytest.mark.once

#: Exit status of valgrind if it finds an error.
FAULT = "9"

POSIX = ["-std=c99", "-D_XOPEN_SOURCE=700", "-g"]


def write_image(path: Path, first: int) -> Path:
    """Write an image of float pixels whose first one is a number and the next ones 1 more each."""
    pixels = first + np.arange(64 * 50, dtype=np.float32).reshape(50, 64)
    fits.PrimaryHDU(pixels).writeto(path, overwrite=True)
    return path


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compiled(PROGRAMS / "robust.c", tmp_path_factory.mktemp("program"), "cc", *POSIX)


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("images")
    return [write_image(folder / f"{number}.fits", number) for number in range(64)]


def test_64_threads_read_a_file_each(program: Path, images: list[Path]) -> None:
    assert run(program, "threads", *images) == "passed\n"


def test_child_of_a_fork_reads_what_its_parent_has_open(program: Path, images: list[Path]) -> None:
    assert run(program, "fork", images[0]) == "passed\n"


def test_10000_opens_and_errors_need_few_descriptors(
    program: Path, images: list[Path], tmp_path: Path
) -> None:
    other = tmp_path / "text.fits"
    other.write_text("no FITS file" * 1000)
    assert run(program, "opens", images[0], other) == "passed\n"


@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_open_file_stays_the_old_one(program: Path, tmp_path: Path, how: str) -> None:
    path, other = write_image(tmp_path / "a.fits", 0), write_image(tmp_path / "b.fits", 7)
    assert run(program, how, path, other) == "passed\n"


@pytest.mark.parametrize(("how", "code"), [("truncated", "io-short"), ("rewritten", "io-changed")])
def test_file_that_changes_while_open_is_an_error(
    program: Path, tmp_path: Path, how: str, code: str
) -> None:
    path, other = write_image(tmp_path / "a.fits", 0), write_image(tmp_path / "b.fits", 7)
    assert run(program, how, path, other) == f"{code}\npassed\n"


def valgrind(*command: object) -> str:
    if shutil.which("valgrind") is None:
        pytest.skip("COMPARISONS LEFT OUT: valgrind")
    checks = [f"--error-exitcode={FAULT}", "--leak-check=full", "--errors-for-leak-kinds=definite"]
    suppressions = f"--suppressions={PROGRAMS / 'valgrind.supp'}"
    return run("valgrind", "--quiet", *checks, suppressions, *command)


def test_valgrind_finds_no_fault_in_programs(
    program: Path, images: list[Path], tmp_path: Path
) -> None:
    cpp = compiled(PROGRAMS / "interface.cpp", tmp_path, "c++", "-std=c++17", "-g")
    assert valgrind(cpp, tmp_path / "made.fits").endswith("passed\n")
    assert valgrind(program, "threads", *images[:4]) == "passed\n"


def test_valgrind_finds_no_fault_in_the_examples(images: list[Path], tmp_path: Path) -> None:
    flags = ["-std=c++17", "-g"]
    rotate = compiled(EXAMPLES / "rotate.cpp", tmp_path, "c++", *flags)
    valgrind(rotate, 90, images[1], tmp_path / "turned.fits.gz")
    paste = compiled(EXAMPLES / "copy_paste.cpp", tmp_path, "c++", *flags)
    valgrind(paste, tmp_path / "turned.fits.gz", tmp_path / "pasted.fits", 1, 2, 3, 5, 6)
    with fits.open(tmp_path / "pasted.fits") as hdus:
        np.testing.assert_array_equal(hdus[0].data[6:9, 5:8], hdus[0].data[2:5, 1:4])


def test_valgrind_finds_no_fault_in_the_program_that_uses_every_function(tmp_path: Path) -> None:
    """Evaluate an expression without NaN, which valgrind 3.19 compares in its own way."""
    without_nan = "where(isnan(a + b), 0, 0)"
    source = tmp_path / "interface.c"
    text = (PROGRAMS / "interface.c").read_text()
    source.write_text(
        text.replace("stats.count == 59 && stats.min", "stats.min").replace(
            'evaluate("a - b"', f'evaluate("{without_nan}"'
        )
    )
    flags = ["-std=c99", "-D_POSIX_C_SOURCE=200809L", "-g"]
    c = compiled(source, tmp_path, "cc", *flags)
    assert valgrind(c, tmp_path / "made.fits").endswith("passed\n")


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("sanitizer", ["address,undefined", "thread"])
def test_sanitizers_find_no_fault_in_programs(
    images: list[Path], tmp_path: Path, compiler: str, sanitizer: str
) -> None:
    flags = ["-g", f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all"]
    # The sanitizer of threads does not know how threads of the library wait for each other.
    environ = {"TSAN_OPTIONS": "ignore_noninstrumented_modules=1"}
    program = compiled(PROGRAMS / "robust.c", tmp_path, compiler, *POSIX, *flags)
    assert run(program, "threads", *images, environ=environ) == "passed\n"
    source = PROGRAMS / "interface.c"
    program = compiled(source, tmp_path, compiler, "-std=c99", "-D_POSIX_C_SOURCE=200809L", *flags)
    assert run(program, tmp_path / "c.fits", environ=environ).endswith("passed\n")
    cpp = {"gcc": "g++", "clang": "clang++"}[compiler]
    program = compiled(PROGRAMS / "interface.cpp", tmp_path, cpp, "-std=c++17", *flags)
    assert run(program, tmp_path / "cpp.fits", environ=environ).endswith("passed\n")
    source = ROOT / "examples" / "c" / "pence.c"
    program = compiled(source, tmp_path, compiler, "-std=c17", "-D_POSIX_C_SOURCE=200809L", *flags)
    assert run(program, cwd=tmp_path, environ=environ).startswith("write the image")
