"""The headers that astropy tests its world coordinates with give the same coordinates here."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import astropy.wcs
import numpy as np
import pytest
from astropy.io import fits
from astropy.wcs import WCS

import tachyfits as tf
from tachyfits.header.coordinates import Coordinates

DATA = Path(astropy.wcs.__file__).parent / "tests" / "data"
HEADERS = sorted(DATA.glob("**/*.hdr"))
FILES = [path for path in sorted(DATA.glob("*.fits*")) if "lookup" not in path.name]


def evaluated(world: WCS) -> Any:
    """Give the coordinates of a few pixels, or the name of the exception that there are none."""
    pixels = np.outer(np.linspace(1, 7, 5), np.linspace(0.5, 1, world.naxis))
    try:
        return world.all_pix2world(pixels, 0)
    except Exception as error:
        return type(error).__name__


def check(header: fits.Header, ours: Coordinates, file: Any = None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            theirs = WCS(header, fobj=file)
        except Exception:
            with pytest.raises(tf.TachyfitsError):
                ours.wcs()
            return
        np.testing.assert_array_equal(evaluated(ours.wcs()), evaluated(theirs))


@pytest.mark.skipif(not HEADERS, reason="LEFT OUT: astropy is installed without its test data")
def test_headers_as_text() -> None:
    for path in HEADERS:
        lines = path.read_text("ascii", "replace").splitlines()
        header = fits.Header.fromstring("".join(line.ljust(80) for line in lines))
        cards = [(card.keyword, card.value, "") for card in header.cards if card.keyword != "END"]
        naxis = header.get("NAXIS", 0)
        ours = Coordinates(tf.Header(cards), naxis)
        check(header, ours)


@pytest.mark.skipif(not FILES, reason="LEFT OUT: astropy is installed without its test data")
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_images_of_files(path: Path) -> None:
    with fits.open(path) as file:
        for hdu in tf.open(path):
            if isinstance(hdu, tf.Image) and hdu.ndim:
                check(hdu.header.to_astropy(), hdu.coordinates, file)
