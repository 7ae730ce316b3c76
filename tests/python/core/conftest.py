"""Shared by the tests of the compiled module: a function that writes files, and a small cube."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits


def _write(path: Path, pixels: np.ndarray, **keywords: object) -> Path:
    """Write pixels as they are, with further keywords."""
    hdu = fits.PrimaryHDU(pixels)
    for keyword, value in keywords.items():
        hdu.header[keyword] = value
    hdu.writeto(path)
    return path


@pytest.fixture(scope="session")
def write() -> Callable[..., Path]:
    """Give the function ``write(path, pixels, **keywords)``."""
    return _write


@pytest.fixture
def cube(tmp_path: Path) -> Path:
    """Give a cube of 3 x 4 x 5 float32, 0 to 59, one of them NaN."""
    pixels = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    pixels[1, 2, 3] = np.nan
    return _write(tmp_path / "cube.fits", pixels, BUNIT="Jy/beam", CTYPE3="VRAD", CDELT3=500.0)
