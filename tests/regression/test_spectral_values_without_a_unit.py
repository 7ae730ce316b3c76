"""A frequency or rest frequency without a unit is an error that names Hz, wherever it is taken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import astropy.units as u
import numpy as np
import pytest

import tachyfits as tf
from smallcubes import write_cube
from tachyfits.cli import run

CARDS = {"CTYPE3": "FREQ", "CUNIT3": "Hz", "CRVAL3": 230.538e9, "CDELT3": -1e6, "CRPIX3": 1.0,
         "RESTFRQ": 230.538e9}  # fmt: skip

PLACES: dict[str, Callable[[tf.Image, Any], Any]] = {
    "spectrum": lambda image, value: image.spectrum(unit="km/s", rest=value),
    "moment": lambda image, value: image.moment(1, unit="km/s", rest=value),
    "channels": lambda image, value: image.select(channels="-200..200 km/s", rest=value).spectrum(),
    "pixel": lambda image, value: image.coordinates.world_to_pixel(spectral="1 km/s", rest=value),
    "cut": lambda image, value: image.cutout(channels="-200..200 km/s", rest=value),
    "frequency": lambda image, value: image.to("K", frequency=value, beam="30arcsec"),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_cube(tmp_path / "cube.fits", CARDS)


@pytest.mark.parametrize("place", PLACES)
def test_a_number_alone_is_no_frequency(path: Path, place: str) -> None:
    image = tf.open(path)[0]
    for value in ("230.538", " 2.30538e11 ", 230.538, 230538000000, np.float64(2.3e11),
                  230.538 * u.one):  # fmt: skip
        with pytest.raises(tf.UsageError, match="expected a number with a unit") as refused:
            PLACES[place](image, value)
        assert f"'{str(value).strip()} Hz'" in str(refused.value)
    for good in ("230.538 GHz", "230538000000 Hz", 230.538 * u.GHz, "1.3 mm"):
        PLACES[place](image, good)


def test_the_command_line_names_hz(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    commands = [
        ["spectrum", str(path), "--unit", "km/s"],
        ["collapse", str(path), "--statistic", "moment1", "--unit", "km/s", "-o", "m.fits"],
        ["cutout", str(path), "--channels", "0..1 km/s", "-o", "c.fits"],
        ["stats", str(path), "--channels", "0..1 km/s"],
    ]
    for words in commands:
        assert run([*words, "--rest", "230.538"]) != 0
        assert "'230.538 Hz'" in capsys.readouterr().err
