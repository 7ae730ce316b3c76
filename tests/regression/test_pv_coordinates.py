"""Coordinates of position-velocity cuts: degrees where they hold, and never half a sky."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits
from astropy.wcs import WCS

import tachyfits as tf
from smallcubes import write_cube
from tachyfits.cli import run


def opened(path: Path, cards: Any = None, **options: Any) -> tf.Image:
    image: tf.Image = tf.open(write_cube(path / "cube.fits", cards, **options))[0]
    return image


@pytest.mark.parametrize("path", [[(0, 0), (3, 4)], [(0, 0), (3, 0), (3, 4)], [(1, 0), (1, 4)]])
@pytest.mark.parametrize("ratio", [1.0, 1.001, 0.999, 1.002])
def test_offsets_are_degrees_where_pixels_are_nearly_square(
    tmp_path: Path, ratio: float, path: list[tuple[float, float]]
) -> None:
    diagram = opened(tmp_path, {"CDELT2": 1e-3 * ratio}).pv(path)
    assert diagram.header["CUNIT1"] == "deg"
    np.testing.assert_allclose(diagram.header["CDELT1"], 1e-3, rtol=2.1e-3)


def test_offsets_in_pixels_say_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    image = opened(tmp_path, {"CDELT2": 1.1e-3})
    assert image.pv([(0, 0), (3, 4)]).header["CUNIT1"] == "deg"
    bent = [(0, 0), (3, 0), (3, 4)]
    with pytest.warns(tf.TachyfitsWarning, match=r"offsets .* are in pixels: the scale .* %"):
        diagram = image.pv(bent)
    assert "CUNIT1" not in diagram.header
    path, out = str(tmp_path / "cube.fits"), str(tmp_path / "pv.fits")
    assert run(["pv", path, "--path", "1,1 4,1 4,5", "-o", out]) == 0
    assert "are in pixels: the scale" in capsys.readouterr().err
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # No coordinates, no surprise.
        plain = {f"{root}{n}": None for root in ("CTYPE", "CUNIT", "CRVAL") for n in (1, 2)}
        opened(tmp_path, plain).pv(bent)


ORDERS = [
    ("RA---SIN", "STOKES", "FREQ", "DEC--SIN"),
    ("DEC--SIN", "STOKES", "FREQ", "RA---SIN"),
    ("FREQ", "GLAT-CAR", "GLON-CAR", "STOKES"),
    ("RA---TAN", "VRAD", "DEC--TAN", ""),
]


@pytest.mark.parametrize("matrix", ["CDELT", "PC", "CD"])
@pytest.mark.parametrize("ctypes", ORDERS)
def test_no_axis_of_the_sky_is_left_alone(
    tmp_path: Path, ctypes: tuple[str, ...], matrix: str
) -> None:
    cards: dict[str, Any] = {"CDELT1": None, "CDELT2": None, "CDELT3": None, "BUNIT": "K"}
    for n, ctype in enumerate(ctypes, 1):
        cards |= {f"CTYPE{n}": ctype or None, f"CRVAL{n}": 10.0 * n, f"CRPIX{n}": 1.0,
                  f"CUNIT{n}": None}  # fmt: skip
        cards |= {f"CD{n}_{n}": 0.5} if matrix == "CD" else {f"CDELT{n}": 0.5}
        if matrix == "PC":
            cards[f"PC{n}_{n}"] = 1.0
    image = opened(tmp_path, cards, data=np.ones((2, 3, 5, 4), "f4"))
    with pytest.warns(tf.TachyfitsWarning, match="no coordinates along the other one, NAXIS"):
        diagram = image.pv([(0, 0), (3, 4)])
    out = tmp_path / "pv.fits"
    diagram.write(out)
    header = fits.getheader(out)
    wcs = WCS(header)
    wcs.wcs.set()
    assert not wcs.has_celestial
    assert "were left out" in str(header["COMMENT"])
    kept = {header.get(f"CTYPE{n}", "") for n in (2, 3)}
    assert kept == {"" if "LAT" in c or "LON" in c or "RA" in c or "DEC" in c else c
                    for c in ctypes[2:]}  # fmt: skip
    if "FREQ" in ctypes[2:]:
        n = ctypes.index("FREQ")
        expected = 10.0 * (n + 1) + 0.5 * np.arange(3)
        np.testing.assert_allclose(diagram.world_axis(2 - n + 1).values, expected[:3])


def test_rounding_noise_of_the_matrix_does_not_keep_from_cutting(tmp_path: Path) -> None:
    cards = {"PC1_1": 1.0, "PC2_2": 1.0, "PC3_3": 1.0, "PC1_3": 1e-18, "PC3_2": -1e-17}
    diagram = opened(tmp_path, cards).pv([(0, 0), (3, 4)])
    assert diagram.header["CUNIT1"] == "deg"
    np.testing.assert_array_equal(diagram.world_axis("y").values, 1000.0 + 2000.0 * np.arange(6))


@pytest.mark.parametrize("path", [[("a", "b")], "line", [(1, 2), (3,)], [None, None], 5])
def test_invalid_paths_are_refused(tmp_path: Path, path: Any) -> None:
    with pytest.raises(tf.UsageError, match="hint: "):
        opened(tmp_path).pv(path)
