"""The day of examples/day.py and examples/day.sh: the same numbers, and those of other packages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import astropy.units as u
import numpy as np
import pyarrow.parquet
import pytest
from astropy.coordinates import SkyCoord
from astropy.modeling.fitting import LevMarLSQFitter
from astropy.modeling.models import Gaussian1D
from examples.galaxy.galaxy import Galaxy, write_galaxy
from scipy.ndimage import map_coordinates

import tachyfits as tf

pytestmark = pytest.mark.once

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

#: A small galaxy: 60 channels of 96 x 96 pixels.
GALAXY = Galaxy(side=96, channels=60, pixel=8.0, channel_width=9.0, field_radius=46.0,
                beam_major=30.0, beam_minor=24.0, dispersion=14.0)  # fmt: skip
MAPS = ("day-moment0.fits", "day-moment1.fits", "day-moment2.fits", "pv.fits")
#: The rest frequency of the cube, and the solid angle of the beam that the scripts give it.
REST = 1420.4057517667 * u.MHz
BEAM_AREA = 2 * np.pi * (40 * u.arcsec / np.sqrt(8 * np.log(2))) ** 2
#: 0-based columns and rows of the three sources.
SOURCES = ((47.5, 47.5), (27.0, 33.0), (68.0, 62.0))


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, str]]:
    """Run both scripts; return the folder and the output of each."""
    days = {}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for kind, program in (("python", sys.executable), ("shell", "sh")):
        folder = tmp_path_factory.mktemp(kind)
        write_galaxy(GALAXY, folder / "cube.fits", model_range=slice(5, 55))
        for name, seed, count in (("catalogue", 3, 200), ("other", 4, 300)):
            offsets = np.random.default_rng(seed).uniform(-0.2, 0.2, (2, count))
            tf.write(
                folder / f"{name}.fits",
                {"RA": 202.4696 + offsets[0], "DEC": 47.1952 + offsets[1], "N": np.arange(count)},
                units={"RA": "deg", "DEC": "deg"},
            )
        script = EXAMPLES / ("day.py" if kind == "python" else "day.sh")
        done = subprocess.run(
            [program, str(script)], cwd=folder, env=os.environ | {"PATH": path},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, "")
        days[kind] = folder, done.stdout
    return days


@pytest.fixture(scope="module")
def smooth(days: dict[str, tuple[Path, str]]) -> tf.Image:
    image: tf.Image = tf.open(days["shell"][0] / "smooth.fits")[0]
    return image


@pytest.fixture(scope="module")
def noise(days: dict[str, tuple[Path, str]]) -> float:
    return float(days["python"][1].split()[1])


@pytest.fixture(scope="module")
def kelvin(smooth: tf.Image) -> np.ndarray:
    """Return the pixels in K by astropy."""
    frequencies = REST * (1 - GALAXY.velocities[:, None, None] / 299792.458)
    scale = u.brightness_temperature(frequencies, BEAM_AREA)
    values: np.ndarray = (smooth.read().astype("f8") * u.Jy / u.beam).to_value(
        u.K, u.beam_angular_area(BEAM_AREA) + scale
    )
    return values


def gaussians(text: str) -> list[list[float]]:
    """Return amplitude, centre and full width of each source, as a script prints them."""
    found = []
    for line in text.splitlines():
        if line.strip().startswith("circle("):
            numbers = [float(word) for word in line.split()[2:]]
            found.append(numbers if len(numbers) == 3 else numbers[0:5:2])
    return found


def test_the_scripts_are_as_short_as_promised() -> None:
    for name, most in (("day.py", 30), ("day.sh", 15)):
        assert len((EXAMPLES / name).read_text(encoding="utf-8").splitlines()) <= most


def test_both_scripts_give_the_same_numbers(days: dict[str, tuple[Path, str]]) -> None:
    (ours, printed), (theirs, said) = days["python"], days["shell"]
    assert printed.splitlines()[0] == said.splitlines()[0]
    assert gaussians(printed) == gaussians(said)
    assert len(gaussians(said)) == 3
    for name in MAPS:
        one, other = tf.open(ours / name)[0], tf.open(theirs / name)[0]
        assert one.unit == other.unit
        np.testing.assert_array_equal(one.read(), other.read())
    rows = [pyarrow.parquet.read_table(folder / "matched.parquet") for folder in (ours, theirs)]
    assert rows[0].equals(rows[1])
    for folder in (ours, theirs):
        assert (folder / "day.png").read_bytes().startswith(b"\x89PNG")


def test_one_beam_is_that_of_spectral_cube(
    days: dict[str, tuple[Path, str]], smooth: tf.Image
) -> None:
    from astropy.convolution import convolve_fft
    from radio_beam import Beam

    old = Beam(30 * u.arcsec, 24 * u.arcsec, 30 * u.deg)
    kernel = Beam(40 * u.arcsec).deconvolve(old).as_kernel(8 * u.arcsec)
    plane = tf.open(days["shell"][0] / "cube.fits")[0][30].astype("f8")
    # As spectral-cube's convolve_to does: the sum per beam grows with the area of the beam.
    expected = convolve_fft(plane, kernel) * (40 * 40) / (30 * 24)
    inner = np.s_[24:72, 24:72]
    np.testing.assert_allclose(
        smooth[30][inner], expected[inner], atol=2e-3 * expected[inner].max()
    )


def test_noise_is_that_of_numpy(kelvin: np.ndarray, noise: float) -> None:
    free = np.concatenate([kelvin[:6], kelvin[54:]])
    assert noise == pytest.approx(np.nanstd(free), rel=1e-6)


def test_moments_are_those_of_spectral_cube(
    days: dict[str, tuple[Path, str]], smooth: tf.Image, kelvin: np.ndarray, noise: float
) -> None:
    from spectral_cube import SpectralCube

    whole = SpectralCube(data=kelvin * u.K, wcs=smooth.wcs)
    part = whole[6:54].with_spectral_unit(u.km / u.s, velocity_convention="radio")
    cube = part.with_mask(part > 4 * noise * u.K)
    for order in (0, 1, 2):
        ours = tf.open(days["python"][0] / f"day-moment{order}.fits")[0]
        theirs = cube.moment(order=order).value
        theirs = np.sqrt(theirs) if order == 2 else theirs
        mine = ours.read()
        # A pixel with one channel has a dispersion of 0, or of what rounding leaves.
        np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-4 if order == 2 else 1e-9)
        assert np.isfinite(mine).sum() > 2000
    assert tf.open(days["python"][0] / "day-moment0.fits")[0].unit == "K km s-1"


def test_the_cut_is_that_of_scipy(days: dict[str, tuple[Path, str]], smooth: tf.Image) -> None:
    diagram = tf.open(days["python"][0] / "pv.fits")[0].read()
    (x, y), (dx, dy) = (19.0, 27.0), (57.0, 41.0)
    length = float(np.hypot(dx, dy))
    steps = np.arange(diagram.shape[1]) / length
    across = (np.arange(3) - 1)[:, None] / length
    columns, rows = x + steps * dx - across * dy, y + steps * dy + across * dx
    for channel in (20, 30, 40):
        plane = smooth[channel].astype("f8")
        expected = map_coordinates(plane, [rows, columns], order=1).mean(axis=0)
        np.testing.assert_allclose(diagram[channel], expected, rtol=1e-5, atol=1e-8)


def test_spectra_in_jansky_and_their_fits_are_those_of_astropy(
    days: dict[str, tuple[Path, str]], smooth: tf.Image
) -> None:
    pixels = smooth.read().astype("f8")
    beam = BEAM_AREA.to_value(u.arcsec**2) / 64
    y, x = np.mgrid[:96, :96]
    for (column, row), numbers in zip(SOURCES, gaussians(days["python"][1]), strict=True):
        inside = np.hypot(x - column, y - row) <= 4
        flux = pixels[:, inside].sum(axis=1) / beam
        start = Gaussian1D(flux.max(), GALAXY.velocities[flux.argmax()], 30)
        fitted: Any = LevMarLSQFitter()(start, GALAXY.velocities, flux, maxiter=1000)
        expected = [fitted.amplitude.value, fitted.mean.value, fitted.fwhm]
        np.testing.assert_allclose(numbers, expected, rtol=2e-4)


def test_the_catalogues_match_as_by_astropy(days: dict[str, tuple[Path, str]]) -> None:
    folder = days["shell"][0]
    tables = [tf.open(folder / f"{name}.fits")[1].read() for name in ("catalogue", "other")]
    one, other = (SkyCoord(table["RA"], table["DEC"], unit="deg") for table in tables)
    index, angles, _ = one.match_to_catalog_sky(other)
    near = np.flatnonzero(angles <= 30 * u.arcsec)
    found = pyarrow.parquet.read_table(folder / "matched.parquet")
    assert found["N"].to_pylist() == near.tolist()
    assert found["N_2"].to_pylist() == index[near].tolist()
    assert 10 < near.size < 190


def test_the_fits_are_about_the_galaxy(days: dict[str, tuple[Path, str]]) -> None:
    nucleus, receding, approaching = gaussians(days["python"][1])
    assert nucleus[1] == pytest.approx(GALAXY.systemic, abs=2)
    assert receding[1] - GALAXY.systemic == pytest.approx(GALAXY.systemic - approaching[1], abs=3)
    assert re.match(r"noise 0\.0\d+ K$", days["python"][1].splitlines()[0])
