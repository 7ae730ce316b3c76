"""The examples in Fortran and C: by the command lines of their page, with and without valgrind."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits

from nativeprograms import ROOT, blocks, require, run

pytestmark = pytest.mark.once

COMMANDS = [text for _, text in blocks((ROOT / "examples/fortran/README.md").read_text("utf-8"))]
#: Each program with the files that it writes, and what it needs.
PROGRAMS = {
    "pence": ("", "gfortran"), "pence_fitsio": ("fitsio_", "gfortran"),
    "pence_c": ("", "gcc"), "pence_cfitsio": ("cfitsio_", "gcc"),
}  # fmt: skip


@pytest.fixture
def folder(capi_prefix: Path, tmp_path: Path) -> Path:
    """Return a folder that looks like the root of the repository after `make capi`."""
    (tmp_path / "target").mkdir()
    (tmp_path / "target" / "capi").symlink_to(capi_prefix)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    return tmp_path


@pytest.mark.parametrize("name", PROGRAMS)
def test_example_writes_and_reads_an_image_and_a_table(folder: Path, name: str) -> None:
    prefix, compiler = PROGRAMS[name]
    require(compiler)
    if "fitsio" in name and "cfitsio" not in run("sh", "-c", "ldconfig -p"):
        pytest.skip("COMPARISONS LEFT OUT: CFITSIO")
    (command,) = [text for text in COMMANDS if text.endswith(f"./{name}\n")]
    printed = run("sh", "-ec", command, cwd=folder)
    times = dict(re.findall(r"^(.+?) +(\d+\.\d+) ms$", printed, re.MULTILINE))
    steps = ["write the image", "write the table", "read the image", "read the table"]
    assert list(times) == steps
    assert all(float(time) > 0 for time in times.values())
    with fits.open(folder / f"{prefix}image.fits") as hdus:
        hdus.verify("exception")
        first = 1 if compiler == "gfortran" else 0
        assert list(hdus[0].data.ravel()[:3]) == [first, first + 1, first + 2]
        assert hdus[0].data.dtype == ">i2"
    with fits.open(folder / f"{prefix}table.fits") as hdus:
        hdus.verify("exception")
        assert hdus[1].columns.names == list("ABCDE")
        np.testing.assert_array_equal(hdus[1].data["E"], np.arange(400_000, 500_000) + first)


def test_example_in_fortran_uses_no_memory_wrongly(folder: Path) -> None:
    valgrind, _ = require("valgrind"), require("gfortran")
    (command,) = [text for text in COMMANDS if text.endswith("./pence\n")]
    checks = "--quiet --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite"
    script = command.replace("./pence\n", f"{valgrind} {checks} ./pence\n")
    assert "read the table" in run("sh", "-ec", script, cwd=folder)
