"""Combining pixels at other places on the sky or along the spectral axis gives a warning."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.coordinates import SkyCoord

import tachyfits as tf
from smallcubes import CARDS, write_cube
from tachyfits.cli import run


def cube(path: Path, **cards: Any) -> tf.Image:
    return tf.open(write_cube(path, {"SPECSYS": "LSRK", **cards}, data=np.ones((6, 5, 4), "f4")))[0]


def told(make: Callable[[], Any]) -> list[str]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        make()
    return [str(each.message) for each in seen if isinstance(each.message, tf.TachyfitsWarning)]


@pytest.fixture
def here(tmp_path: Path) -> tf.Image:
    return cube(tmp_path / "here.fits")


_AT = SkyCoord(CARDS["CRVAL1"], CARDS["CRVAL2"], unit="deg")
_STEP = CARDS["RESTFRQ"] * CARDS["CDELT3"] / 299792458.0


@pytest.mark.parametrize(
    "cards",
    [
        {},
        {"CRPIX1": 2.0009},
        {"CDELT1": None, "CDELT2": None, "CD1_1": -1e-3, "CD2_2": 1e-3},
        {"CUNIT1": "arcsec", "CDELT1": -3.6, "CRVAL1": 540000.0,
         "CUNIT2": "arcsec", "CDELT2": 3.6, "CRVAL2": 7200.0},
        # Near the centre, tangent and orthographic planes are one.
        {"CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN"},
        {"CUNIT3": "km/s", "CRVAL3": 5.0, "CDELT3": 2.0},
        {"CTYPE3": "FREQ", "CUNIT3": "Hz", "CDELT3": -_STEP,
         "CRVAL3": CARDS["RESTFRQ"] * (1 - CARDS["CRVAL3"] / 299792458.0)},
        # Maps of two lines on the same velocities.
        {"RESTFRQ": 1.4e9},
        {"BUNIT": "Jy/beam", "OBJECT": "other"},
        # Without coordinates, pixels are at no other place.
        {"CTYPE1": None, "CTYPE2": None, "CTYPE3": None},
    ],
)  # fmt: skip
def test_a_thousandth_of_a_pixel_is_equal_whatever_the_cards(
    here: tf.Image, tmp_path: Path, cards: dict[str, Any]
) -> None:
    assert told(lambda: here - cube(tmp_path / "there.fits", **cards)) == []


@pytest.mark.parametrize(
    ("cards", "words"),
    [
        ({"CRPIX1": 2.01}, "CRPIX1 = 2.0 in .*here.fits and 2.01 in .*there.fits, 0.01 pixels"),
        ({"CRVAL2": 42.0}, "CRVAL2 = 2.0 in .* and 42.0 in .* pixels apart on the sky"),
        ({"CDELT1": 1e-3}, "CDELT1 = -0.001 in .* and 0.001 in"),
        ({"CTYPE1": "GLON-SIN", "CTYPE2": "GLAT-SIN", "CRVAL1": _AT.galactic.l.deg,
          "CRVAL2": _AT.galactic.b.deg}, "CTYPE1 = 'RA---SIN' in .* and 'GLON-SIN'"),
        ({"RADESYS": "FK4"}, "RADESYS = absent in .* and 'FK4' in"),
        ({"CRVAL3": 7000.0}, "CRVAL3 = 5000.0 in .* and 7000.0 in .*, 1 channels apart"),
        ({"CRPIX3": 3.002}, "CRPIX3 = 3.0 in .* and 3.002 in .* channels apart"),
        ({"SPECSYS": "BARYCENT"}, "SPECSYS = 'LSRK' in .* and 'BARYCENT' in"),
        ({"CTYPE3": "FREQ", "CUNIT3": "Hz", "CRVAL3": 1.4e9, "CDELT3": 1e4},
         "CTYPE3 = 'VRAD' in .* and 'FREQ' in"),
    ],
)  # fmt: skip
def test_the_first_difference_is_named(
    here: tf.Image, tmp_path: Path, cards: dict[str, Any], words: str
) -> None:
    there = cube(tmp_path / "there.fits", **cards)
    with pytest.warns(tf.TachyfitsWarning, match=words):
        assert (here - there)[0, 0, 0] == 0.0
    with pytest.raises(tf.UsageError, match=words):
        tf.evaluate("a - b", a=here, b=there, strict=True)


def test_every_way_of_combining_tells(here: tf.Image, tmp_path: Path) -> None:
    sky = cube(tmp_path / "sky.fits", CRVAL1=155.0)
    line = cube(tmp_path / "line.fits", CRVAL3=9000.0)
    plane = sky.collapse("max")
    calls: list[Callable[[], Any]] = [
        lambda: here + sky,
        lambda: here > sky,
        lambda: (here > 0) & (sky > 0),
        lambda: (here > 0) ^ (sky > 0),
        lambda: np.maximum(here, line),
        lambda: np.where(here > 0, line, 0),
        lambda: tf.evaluate("a / b", a=here, b=tmp_path / "sky.fits"),
        lambda: tf.evaluate("a * s", a=here, s=tf.along(line.spectrum(), "z")),
        lambda: here - plane,
        lambda: plane - here.collapse("max"),
        lambda: plane > here.collapse("max"),
        lambda: here * line.spectrum(),
        lambda: line.spectrum() * here,
        lambda: here.select(where=sky > 0).moment(0),
        lambda: here.select(where=str(tmp_path / "sky.fits")).collapse("max"),
        lambda: here.select(where=plane).collapse("max"),
        lambda: here.select(where=sky > 0).mean(),
        lambda: here.stats(plane),
    ]
    for number, call in enumerate(calls):
        assert len(told(call)) == 1, number
    # Images without coordinates are at any place, and keep no others from being compared.
    mask = tf.open(write_cube(tmp_path / "m.fits", dict.fromkeys(CARDS), data=np.ones((6, 5, 4))))
    assert len(told(lambda: tf.evaluate("where(m, a, b)", m=mask[0], a=here, b=sky))) == 1
    # A chain tells once, and what has the coordinates of the result no more.
    assert len(told(lambda: (here - sky) * 2 + here)) == 1
    assert told(lambda: here - here.collapse("max") * here.spectrum().values[0]) == []
    assert told(lambda: here * here.spectrum(unit="km/s")) == []


def test_a_mask_in_a_file_is_at_its_own_place(here: tf.Image, tmp_path: Path) -> None:
    cards = dict.fromkeys(("CTYPE3", "CRVAL3", "CRPIX3", "CDELT3", "CUNIT3"))
    for name, more in (("same.fits", {}), ("other.fits", {"CRVAL1": 151.0})):
        path = write_cube(tmp_path / name, cards | more, data=np.ones((5, 4), "u1"))
        found = told(lambda path=path: here.stats(str(path)))  # type: ignore[misc]
        assert len(found) == (name == "other.fits")


def test_spectra_of_other_channels_are_refused(here: tf.Image, tmp_path: Path) -> None:
    one, two = (
        here.select(channels=slice(0, 3)).spectrum(),
        here.select(channels=slice(1, 4)).spectrum(),
    )
    for call in (lambda: one - two, lambda: one > two):
        with pytest.raises(tf.UsageError, match=r"different axes: .* 1 channels apart"):
            call()
    other = cube(tmp_path / "bary.fits", SPECSYS="BARYCENT").spectrum()
    with pytest.raises(tf.UsageError, match="SPECSYS"):
        here.spectrum() - other


def test_files_opened_strictly_refuse(here: tf.Image, tmp_path: Path) -> None:
    sky = cube(tmp_path / "sky.fits", CRVAL1=155.0)
    strict = tf.open(tmp_path / "here.fits", strict=True)[0]
    for image in (strict, strict * 2, strict.cutout(section=np.s_[:]), 1 - strict):
        with pytest.raises(tf.UsageError, match="pixels at different places cannot be combined"):
            image - sky
        with pytest.raises(tf.UsageError, match="pixels at different places cannot be combined"):
            image.select(where=sky > 0).mean()
    assert pickle.loads(pickle.dumps(strict)).file.is_strict


def test_the_command_line_warns_and_with_strict_refuses(
    here: tf.Image, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cube(tmp_path / "sky.fits", CRVAL1=155.0)
    words = ["math", "a/b", f"a={tmp_path / 'here.fits'}", f"b={tmp_path / 'sky.fits'}"]
    assert run(words) == 0
    assert "warning: pixels at different places are combined: CRVAL1" in capsys.readouterr().err
    assert run([*words, "--strict"]) != 0
    assert "leave --strict out" in capsys.readouterr().err


def test_cards_that_cannot_be_used_do_not_keep_pixels_from_being_combined(
    here: tf.Image, tmp_path: Path
) -> None:
    there = tf.open(write_cube(tmp_path / "bad.fits", raw={"CRVAL1": "'east'"},
                               data=np.ones((6, 5, 4), "f4")))[0]  # fmt: skip
    assert float((here - there).max()) == 0.0
