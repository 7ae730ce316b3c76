"""`info`, `stats` and summaries say where an image is, and which cards are invalid."""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tachyfits as tf
from smallcubes import write_cube
from tachyfits.cli import run

BEAM = {"BMAJ": 4e-3, "BMIN": 2e-3, "BPA": 30.0, "RADESYS": "FK5"}


def test_a_summary_has_sky_scale_spectrum_beam_and_rest_frequency(tmp_path: Path) -> None:
    summary = tf.open(write_cube(tmp_path / "cube.fits", BEAM))[0].coordinates.summary
    sky, spectral, beam = summary.sky, summary.spectral, summary.beam
    assert (sky.longitude, sky.latitude, sky.frame) == (150.0, 2.0, "FK5")
    assert sky.pixel == (2.0, 3.0)
    np.testing.assert_allclose(sky.scale, 1e-3)
    assert (spectral.name, spectral.unit) == ("VRAD", "m/s")
    assert (spectral.first, spectral.last, spectral.step) == (1000.0, 11000.0, 2000.0)
    assert (beam.major, beam.minor, beam.angle) == (4e-3, 2e-3, 30.0)
    assert summary.rest_frequency == 1.420405752e9
    assert summary.problems == ()
    assert str(summary) == (
        "10:00:00.00 +02:00:00.0 (FK5) at pixel (2, 3); pixels 3.6 x 3.6 arcsec; VRAD 1000 to "
        "11000 m/s; beam 14.4 x 7.2 arcsec at 30 deg; rest frequency 1.420405752 GHz"
    )


@pytest.mark.parametrize("command", ["info", "stats"])
def test_commands_show_it_as_text_and_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    path = str(write_cube(tmp_path / "cube.fits", BEAM))
    assert run([command, path]) == 0
    text = capsys.readouterr().out
    for part in ("10:00:00.00 +02:00:00.0 (FK5)", "3.6 x 3.6 arcsec", "VRAD 1000 to 11000 m/s",
                 "beam 14.4 x 7.2 arcsec", "1.420405752 GHz"):  # fmt: skip
        assert part in text
    assert run([command, path, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    found = (answer["hdus"][0] if command == "info" else answer)["coordinates"]
    assert found["sky"]["longitude"] == 150.0
    assert found["spectral"]["last"] == 11000.0
    assert found["beam"] == {"major": 4e-3, "minor": 2e-3, "angle": 30.0}
    assert found["rest_frequency"] == 1.420405752e9
    assert found["problems"] == []


def test_far_from_the_reference_pixel_the_centre_is_shown(tmp_path: Path) -> None:
    path = write_cube(tmp_path / "cube.fits", {"CRPIX1": -400.0, "CRPIX2": 1000.0, "CRVAL1": -5.0})
    image = tf.open(path)[0]
    sky = image.coordinates.summary.sky
    assert sky.pixel == (2.5, 3.0)
    expected = image.wcs.celestial.pixel_to_world_values(1.5, 2.0)
    np.testing.assert_allclose([sky.longitude - 360, sky.latitude], expected, rtol=1e-12)
    assert 354 < sky.longitude < 355


BROKEN = [
    ({"CRVAL3": "5000.0"}, "invalid CRVAL3 '5000.0'"),
    ({"CDELT1": "-0.001"}, "invalid CDELT1 '-0.001'"),
    ({"RESTFRQ": "1.4E9"}, "RESTFRQ = '1.4E9' is ignored"),
    ({"BMAJ": "small"}, "BMAJ = 'small' is ignored"),
    ({"CUNIT2": "furlong"}, "invalid CUNIT2 'furlong'"),
    ({"CTYPE3": "WAVE-LOG", "CRVAL3": 0.0, "CUNIT3": "nm"}, "cannot be evaluated"),
    ({"CDELT2": 0.0}, "invalid CDELT2 0.0"),
    ({"PC1_3": 0.5}, "PC1_3"),
]


@pytest.mark.parametrize("command", ["info", "stats"])
@pytest.mark.parametrize(("cards", "problem"), BROKEN)
def test_broken_cards_are_named_and_the_rest_is_shown(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    cards: dict[str, Any],
    problem: str,
    command: str,
) -> None:
    path = str(write_cube(tmp_path / "cube.fits", cards))
    assert run([command, path]) == 0
    said = capsys.readouterr().out
    assert problem in said
    if not any(keyword.endswith("3") for keyword in cards):
        assert "VRAD 1000 to 11000 m/s" in said
    assert run([command, path, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    found = (answer["hdus"][0] if command == "info" else answer)["coordinates"]
    assert any(problem in one for one in found["problems"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert any(problem in one for one in tf.open(path)[0].coordinates.summary.problems)


def test_images_without_coordinates_have_empty_summaries(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tf.write(tmp_path / "plain.fits", np.zeros((3, 4)))
    summary = tf.open(tmp_path / "plain.fits")[0].coordinates.summary
    assert (summary.sky, summary.spectral, summary.beam, summary.problems) == (None,) * 3 + ((),)
    assert str(summary) == ""
    assert run(["info", str(tmp_path / "plain.fits")]) == 0
    assert "HDU 0:" not in capsys.readouterr().out


def test_lists_of_files_do_not_import_astropy(tmp_path: Path) -> None:
    path = write_cube(tmp_path / "cube.fits", {**BEAM, "CUNIT3": "KM/S"})
    code = (
        "import sys; from tachyfits.cli import run; "
        f"run(['info', {str(path)!r}]); print('astropy' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "km/s" in done.stdout
    assert done.stdout.endswith("False\n")
