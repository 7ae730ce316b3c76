"""Where real files are: small ones in tests/data and in astropy, large ones in SHARED.

A test asks for a file by its name, "data/cubes/ngc6946.fits" or "traps/u16_blank.fits". The files
of tests/data are compressed, and are unpacked once per process.
"""

from __future__ import annotations

import atexit
import functools
import lzma
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import astropy
import pytest

TESTS = Path(__file__).resolve().parents[1]

#: Larger real files: not part of the repository, they lie beside it.
SHARED = Path(os.environ.get("TACHYFITS_SHARED") or TESTS.parents[1] / "shared")

#: Files of tests/data by the names that tests use.
COMMITTED = sorted(
    f"data/{path.relative_to(TESTS / 'data').with_suffix('').as_posix()}"
    for path in (TESTS / "data").rglob("*.fits*.xz")
)

#: Images in the astropy package: instruments, odd headers, world coordinates.
ASTROPY_IMAGES = [
    f"astropy/{name}"
    for name in (
        "io/fits/hdu/compressed/tests/data/m13.fits",
        "io/fits/tests/data/arange.fits",
        "io/fits/tests/data/blank.fits",
        "io/fits/tests/data/checksum.fits",
        "io/fits/tests/data/fixed-1890.fits",
        "io/fits/tests/data/o4sp040b0_raw.fits",
        "io/fits/tests/data/scale.fits",
        "io/fits/tests/data/test0.fits",
        "modeling/tests/data/1904-66_AZP.fits",
        "nddata/tests/data/sip-wcs.fits",
        "wcs/tests/data/dist.fits",
        "wcs/tests/data/ie6d07ujq_wcs.fits",
        "wcs/tests/data/j94f05bgq_flt.fits",
        "wcs/tests/data/tab-time-last-axis.fits",
    )
]


@functools.cache
def _unpacked() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="tachyfits-data-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name in COMMITTED:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        with lzma.open(TESTS / f"{name}.xz") as packed, target.open("wb") as file:
            shutil.copyfileobj(packed, file)
    with tarfile.open(TESTS / "data" / "traps.tar.xz") as traps:
        traps.extractall(folder, filter="data")
    return folder


def path_of(name: str) -> Path:
    """Return where a file is; one that lies beside the repository may be missing."""
    if name.startswith("astropy/"):
        return Path(astropy.__file__).parent / name.removeprefix("astropy/")
    if name in COMMITTED or name.startswith("traps/"):
        return _unpacked() / name
    return SHARED / name


def trap(name: str) -> Path:
    """Return the path of an edge case."""
    return path_of(f"traps/{name}.fits")


def traps() -> list[Path]:
    """Return the paths of all edge cases."""
    return sorted((_unpacked() / "traps").glob("*.fits"))


def files_under(folder: str) -> list[Path]:
    """Return the files of a folder such as "data/cubes" that are here, by their names."""
    names = {name for name in COMMITTED if name.startswith(f"{folder}/")}
    names |= {path.relative_to(SHARED).as_posix() for path in (SHARED / folder).rglob("*.fits*")}
    return [path_of(name) for name in sorted(names)]


def parameters(names: Iterable[str]) -> list[Any]:
    """Return names as parameters of a test: those beside the repository are marked so."""
    return [
        name
        if name in COMMITTED or name.startswith("astropy/")
        else pytest.param(name, marks=pytest.mark.real_files)
        for name in names
    ]
