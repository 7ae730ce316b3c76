"""Comments in the headers of computed images."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf

COMMENT = "increment that the pipeline fitted to 112 stars"


@pytest.fixture
def cube(tmp_path: Path) -> Path:
    """A cube whose cards have no room for one more digit."""
    hdu = fits.PrimaryHDU(np.ones((4, 6, 7), "f4"))
    for axis, (kind, unit) in enumerate(
        (("RA---TAN", "deg"), ("DEC--TAN", "deg"), ("VRAD", "m/s")), 1
    ):
        hdu.header[f"CTYPE{axis}"], hdu.header[f"CUNIT{axis}"] = kind, unit
        hdu.header[f"CDELT{axis}"] = (-1e-4, COMMENT)
    path = tmp_path / "cube.fits"
    hdu.writeto(path)
    return path


def test_comment_cut_in_a_computed_header_is_whole_in_history(cube: Path, tmp_path: Path) -> None:
    """Three times -1e-4 is -0.00030000000000000003, which is longer than the fixed format."""
    out = tmp_path / "out.fits"
    tf.open(cube)[0].rebin((1, 3, 3)).write(out)
    header = fits.getheader(out)
    history = "".join(f"{line!s:<72}" for line in header["HISTORY"])
    for axis in (1, 2):
        assert header.comments[f"CDELT{axis}"] == COMMENT[:44]
        assert f"comment of CDELT{axis}: {COMMENT}" in history
    assert header.comments["CDELT3"] == COMMENT
    assert "comment of CDELT3" not in history


def test_whole_comments_leave_no_history(cube: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.fits"
    tf.open(cube)[0].reorder("zxy").write(out)
    header = fits.getheader(out)
    assert header.comments["CDELT2"] == COMMENT
    assert "comment of" not in "".join(str(line) for line in header["HISTORY"])
