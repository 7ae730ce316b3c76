"""Opening a file and listing what is in it load the modules that this takes, and no others.

A module that reads pixels or rows, or NumPy, would make `tachyfits info` as slow as its peers.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits

from smallcubes import write_cube

#: Modules of this package that open files and describe their HDUs.
OPENING = {
    "_core", "base", "base.boundary", "base.errors", "base.hints", "base.lazy_numpy", "base.rooms",
    "base.whole_numbers",
    "base.sources",
    "base.upper", "file", "file.file", "file.hdu", "file.image_hdu", "header", "header.beam",
    "header.beam_table",
    "header.cards", "header.companion_hdus", "header.coordinates", "header.frame_names",
    "header.image_coordinates",
    "header.sky", "header.summary", "header.wcs_cards", "text", "text.axes", "text.beams",
    "text.units",
}  # fmt: skip

#: Modules of this package that any command loads besides.
COMMANDS = {
    "cli", "cli._common", "cli._failures", "cli._group", "cli._output", "cli._progress",
    "cli._syntax", "info", "results", "results.json", "text.fits_sections", "text.regions",
    "text.sections", "text.statistics",
}  # fmt: skip

#: Libraries that take long to import, and that listing needs for no usual header.
SLOW = {"astropy", "asyncio", "email", "logging", "multiprocessing", "numpy", "rich", "unittest"}

BEAM = {"BMAJ": 1e-2, "BMIN": 5e-3, "BPA": 30.0, "CROTA2": 10.0}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return a file of a cube with sky, velocities and a beam, and of a table."""
    table = fits.BinTableHDU.from_columns([fits.Column("A", "J", array=np.arange(3))], name="T")
    return write_cube(tmp_path / "both.fits", BEAM, extra=[table])


def loaded(program: str, *arguments: str) -> set[str]:
    """Return the modules that a program loads, beside those of an interpreter that starts."""
    code = f"import sys\nbefore = set(sys.modules)\n{program}\nprint(*(set(sys.modules) - before))"
    command = [sys.executable, "-c", code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split())


def of_package(modules: set[str]) -> set[str]:
    return {
        name.partition(".")[2]
        for name in modules
        if name.startswith("tachyfits.")
    }  # fmt: skip


@pytest.mark.parametrize("action", ["", "print(file)", "file.info()", "file._index_of('T')"])
def test_opening_and_listing_load_only_descriptions(path: Path, action: str) -> None:
    modules = loaded(
        f"import tachyfits\nwith tachyfits.open(sys.argv[1]) as file:\n    {action or 'pass'}",
        str(path),
    )
    assert of_package(modules) - OPENING == set()
    assert modules & SLOW == set()


@pytest.mark.parametrize("words", [["info"], ["info", "--json"], ["header"], ["header", "--json"]])
def test_commands_on_headers_load_only_descriptions(path: Path, words: list[str]) -> None:
    modules = loaded(
        "from tachyfits.cli import run\nassert run(sys.argv[1:]) == 0", *words, str(path)
    )
    own = {f"cli.{words[0]}", *(["cli._cards"] if words[0] == "header" else [])}
    assert of_package(modules) - OPENING - COMMANDS - own == set()
    assert modules & SLOW == set()


def test_nouns_are_whole_where_lists_are_not(path: Path) -> None:
    code = """
import tachyfits
with tachyfits.open(sys.argv[1]) as file:
    text = str(file)
    assert type(file[0]).__name__ == "Image" and type(file["T"]).__name__ == "Table"
    assert file[0] is file.image() and file["T"] is file.table() and str(file) == text
    assert isinstance(file[0], tachyfits.Image) and isinstance(file[1], tachyfits.Table)
"""
    assert {"tachyfits.image.image", "tachyfits.table.table", "numpy"} <= loaded(code, str(path))
