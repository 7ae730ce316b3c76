"""`tachyfits fit`, `tachyfits photometry`, and --unit of commands that measure."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tachyfits as tf
from fitsbytes import primary
from tachyfits.cli import run
from test_fitting import CARDS, noisy, truth
from test_photometry import image, pixels

pytestmark = pytest.mark.once


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Any:
    """Run a command among some files; returns stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cube.fits").write_bytes(primary(noisy(truth()), [*CARDS.items()]))
    image(pixels()).write("image.fits")

    def call(*words: str, status: int = 0) -> tuple[str, str]:
        assert run([*words]) == status, capsys.readouterr().err
        said = capsys.readouterr()
        return said.out, said.err

    return call


def test_maps_are_those_of_python(cli: Any) -> None:
    out, _ = cli(
        "fit", "cube.fits", "--baseline", "0", "--unit", "km/s", "-o", "fits.fits", "--json"
    )
    told = json.loads(out)
    cube = tf.open("cube.fits")[0]
    fits = cube.fit_gaussians(baseline=0, unit="km/s")
    assert told["pixels"]["converged"] == int((fits.flags.values == 0).sum())
    with tf.open("fits.fits") as file:
        np.testing.assert_array_equal(file["CENTRE1"][:], fits[0].centre.values)
        np.testing.assert_array_equal(file["FLAGS"][:], fits.flags.values)
    cli(
        "fit", "cube.fits", "-n", "0", "--baseline", "1", "--channels", "1:10,50:64", "-o", "b.fits"
    )
    found = cube.fit_baseline(1, channels=[slice(0, 10), slice(49, 64)])
    with tf.open("b.fits") as file:
        np.testing.assert_array_equal(file["BASELINE1"][:], found.baseline[1].values)
    words = ("--baseline", "1", "--channels", "1:10,50:64", "--subtract", "-o", "flat.fits")
    cli("fit", "cube.fits", *words)
    flat = cube.subtract_baseline(1, channels=[slice(0, 10), slice(49, 64)])
    np.testing.assert_array_equal(tf.open("flat.fits")[0][:], flat[:])


def test_spectra_of_regions_are_fitted(cli: Any) -> None:
    words = ("fit", "cube.fits", "--region", "point(4,5)", "--region", "circle(5,5,2)")
    out, _ = cli(*words, "--unit", "km/s", "--fwhm", "0.5,9", "--json")
    told = json.loads(out)
    spectrum = tf.open("cube.fits")[0].spectrum("point(4,5)", unit="km/s")
    fit = spectrum.fit_gaussians(limits={"fwhm": (0.5, 9)})
    assert told["fits"][0]["gaussians"][0]["centre"] == fit[0].centre
    assert [each["region"] for each in told["fits"]] == ["point(4,5)", "circle(5,5,2)"]
    out, _ = cli(*words)
    assert "amplitude[K]" in out
    assert "centre[m/s]" in out


def test_wrong_words_are_refused(cli: Any) -> None:
    for words, problem in (
        (("--subtract", "-o", "a.fits"), "--subtract needs --baseline"),
        (("-n", "0", "-o", "a.fits"), "--gaussians 0 needs --baseline"),
        (("--baseline", "1", "--subtract"), "give the new file"),
        (("--fwhm", "3"), "write LOW,HIGH"),
        (("-o", "a.png"), "a.png"),
    ):
        _, said = cli("fit", "cube.fits", *words, status=2)
        assert problem in said


def test_photometry_is_that_of_python(cli: Any) -> None:
    words = ("photometry", "image.fits", "--region", "circle(21.3,31.8,5)", "--background", "8,12")
    out, _ = cli(*words, "--unit", "mag(AB)", "--json")
    found = tf.open("image.fits")[0].photometry(
        tf.Circle(20.3, 30.8, 5), background=(8, 12), unit="mag(AB)"
    )
    told = json.loads(out)["photometry"]
    assert told["flux"] == found.flux.value.tolist()
    assert told["flux_unit"] == "mag(AB)"
    out, _ = cli(*words, "--noise", "0.1 MJy/sr", "--unit", "mJy", "--csv")
    assert out.startswith("region,flux[mJy],error[mJy],area[pixels]")
    _, said = cli("photometry", "image.fits", status=2)
    assert "give --region" in said


def test_unit_converts_what_is_measured(cli: Any) -> None:
    out, _ = cli("stats", "image.fits", "--unit", "kJy/sr", "--json")
    told = json.loads(out)
    assert told["unit"] == "kJy sr-1"
    assert told["file"] == "image.fits"
    expected = tf.open("image.fits")[0].mean() * 1000
    assert told["statistics"][0]["mean"] == pytest.approx(expected, rel=1e-12)
    out, _ = cli("histogram", "image.fits", "--unit", "kJy/sr", "--bins", "3", "--json")
    edges = json.loads(out)["edges"]
    assert edges[0] == pytest.approx(tf.open("image.fits")[0].min() * 1000, rel=1e-6)
    cli("pv", "cube.fits", "--unit", "mK", "--path", "2,2 8,8", "-o", "pv.fits")
    assert tf.open("pv.fits")[0].unit == "mK"
    _, said = cli("stats", "image.fits", "--frequency", "1 GHz", status=2)
    assert "--frequency is for --unit" in said
