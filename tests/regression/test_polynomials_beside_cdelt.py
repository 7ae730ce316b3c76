"""Polynomials of the sky (TPV, TNX) take degrees, whichever cards have the linear part.

WCSLIB 8, and so astropy, evaluates them before it multiplies by CDELT.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tachyfits as tf

REFERENCE = {"CRVAL1": 33.0, "CRVAL2": 41.0, "CRPIX1": 17.3, "CRPIX2": 11.2}

#: Terms of TPV: of x, x², x³, and of y, y², x² (PV1_10 and PV2_10 are cubes of the other axis).
TERMS = {"PV1_1": 1.0, "PV1_4": 0.01, "PV1_7": 0.02, "PV2_1": 1.0, "PV2_4": -0.02, "PV2_10": 0.1}

IRAF = {
    "WAT0_001": "system=image",
    "WAT1_001": 'wtype=tnx axtype=ra lngcor = "3. 3. 3. 2. -1. 1. -1. 1. 0',
    "WAT1_002": '.01 0.1 0.2 0.03 .1 .2 "',
    "WAT2_001": 'wtype=tnx axtype=dec latcor = "3. 3. 3. 2. -1. 1. -1. 1. 0',
    "WAT2_002": '.02 0.1 -0.2 0.03 .1 .2 "',
}

COSINE, SINE = math.cos(math.radians(33)), math.sin(math.radians(33))

#: One matrix in the ways of the Standard.
MATRICES: dict[str, dict[str, float]] = {
    "CD": {"CD1_1": -0.01 * COSINE, "CD1_2": -0.02 * SINE, "CD2_1": -0.01 * SINE,
           "CD2_2": 0.02 * COSINE},
    "CROTA": {"CDELT1": -0.01, "CDELT2": 0.02, "CROTA2": 33.0},
    "PC": {"CDELT1": -0.01, "CDELT2": 0.02, "PC1_1": COSINE, "PC1_2": 2 * SINE,
           "PC2_1": -SINE / 2, "PC2_2": COSINE},
}  # fmt: skip


def image_of(path: Path, projection: str, ndim: int, cards: dict[str, Any]) -> tf.Image:
    header = {"CTYPE1": f"RA---{projection}", "CTYPE2": f"DEC--{projection}", **REFERENCE, **cards}
    if ndim == 3:
        header |= {"CTYPE3": "FREQ", "CRVAL3": 1e9, "CRPIX3": 1.0, "CUNIT3": "Hz"}
        header |= {"CD3_3": 1e6} if "CD1_1" in cards else {"CDELT3": 1e6}
    tf.write(path, np.zeros((2, 30, 40)[3 - ndim :], "f4"), header, overwrite=True)
    image = tf.open(path)[0]
    assert isinstance(image, tf.Image)
    return image


def position_of(image: tf.Image, *pixel: float) -> tuple[float, float]:
    found = image.coordinates.pixel_to_world(*pixel)
    sky = found[0] if isinstance(found, (list, tuple)) else found
    return float(sky.ra.deg), float(sky.dec.deg)


def by_hand(x: float, y: float) -> tuple[float, float]:
    """Return the position that TPV defines: a polynomial of degrees, and TAN."""
    matrix = MATRICES["CD"]
    x, y = x + 1 - REFERENCE["CRPIX1"], y + 1 - REFERENCE["CRPIX2"]
    u = matrix["CD1_1"] * x + matrix["CD1_2"] * y
    v = matrix["CD2_1"] * x + matrix["CD2_2"] * y
    # Terms of the second axis have x and y exchanged.
    xi = math.radians(u + 0.01 * u * u + 0.02 * u**3)
    eta = math.radians(v - 0.02 * v * v + 0.1 * u**3)
    pole = math.radians(REFERENCE["CRVAL2"])
    below = math.cos(pole) - eta * math.sin(pole)
    right_ascension = REFERENCE["CRVAL1"] + math.degrees(math.atan2(xi, below))
    declination = math.atan2(math.sin(pole) + eta * math.cos(pole), math.hypot(xi, below))
    return right_ascension, math.degrees(declination)


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("matrix", MATRICES)
@pytest.mark.parametrize("projection", ["TPV", "TAN"])
@pytest.mark.filterwarnings("ignore:.*PV")
def test_terms_of_tpv_take_degrees(tmp_path: Path, projection: str, matrix: str, ndim: int) -> None:
    # TAN with terms is how SCAMP wrote TPV.
    image = image_of(tmp_path / "i.fits", projection, ndim, MATRICES[matrix] | TERMS)
    for x, y in ((25, 12), (0, 0), (39, 29)):
        pixel = (x, y, 1)[:ndim]
        assert position_of(image, *pixel) == pytest.approx(by_hand(x, y), abs=1e-9)
        world = image.wcs.wcs_pix2world([pixel], 0)[0]
        assert world[:2] == pytest.approx(by_hand(x, y), abs=1e-9)
        assert world[2:] == pytest.approx([1.001e9] * (ndim - 2))
        found = image.coordinates.pixel_to_world(*pixel)
        back = (
            image.coordinates.world_to_pixel(*found)
            if ndim == 3
            else image.coordinates.world_to_pixel(found)
        )
        assert back == pytest.approx(pixel, abs=1e-6)


@pytest.mark.parametrize("matrix", ["CROTA", "PC"])
def test_polynomials_of_iraf_take_degrees(tmp_path: Path, matrix: str) -> None:
    usual = image_of(tmp_path / "cd.fits", "TNX", 2, MATRICES["CD"] | IRAF)
    image = image_of(tmp_path / "i.fits", "TNX", 2, MATRICES[matrix] | IRAF)
    assert position_of(image, 25, 12) == pytest.approx(position_of(usual, 25, 12), abs=1e-9)


def test_parts_of_images_with_polynomials_keep_their_positions(tmp_path: Path) -> None:
    image = image_of(tmp_path / "i.fits", "TPV", 2, MATRICES["PC"] | TERMS)
    for where, pixel in (
        (np.s_[5:20, 10:35], (15, 7)), (np.s_[::3, 1::4], (6, 4)), (np.s_[::-1, ::-1], (14, 17)),
    ):  # fmt: skip
        image.cutout(section=where).write(tmp_path / "part.fits", overwrite=True)
        part = tf.open(tmp_path / "part.fits")[0]
        assert isinstance(part, tf.Image)
        assert position_of(part, *pixel) == pytest.approx(by_hand(25, 12), abs=1e-9)
