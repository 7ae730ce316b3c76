"""Spectra as results: fits, noise, smoothing, bins and downloads, beside the engine and astropy."""

from __future__ import annotations

import csv
import io
from typing import Any

import astropy.units as u
import numpy as np
import pytest
import specutils
from astropy.io import fits
from fastapi.testclient import TestClient

import tachyfits as tf
from tachyfits.server.app import create_app
from tachyfits.server.settings import Settings

pytestmark = pytest.mark.once

CHANNELS = np.arange(1, 61)
REST = 115.2712018e9
CARDS = {
    "CTYPE1": "RA---TAN", "CUNIT1": "deg", "CRVAL1": 30.0, "CRPIX1": 2.0, "CDELT1": -1e-3,
    "CTYPE2": "DEC--TAN", "CUNIT2": "deg", "CRVAL2": 10.0, "CRPIX2": 2.0, "CDELT2": 1e-3,
    "CTYPE3": "FREQ", "CUNIT3": "Hz", "CRVAL3": 115.0e9, "CRPIX3": 1.0, "CDELT3": 10e6,
    "RESTFRQ": REST, "SPECSYS": "LSRK", "BUNIT": "K",
}  # fmt: skip
REGION = "box(3,3,4,4)"


def gaussian(amplitude: float, centre: float, fwhm: float) -> Any:
    return amplitude * np.exp(-4 * np.log(2) * ((CHANNELS - centre) / fwhm) ** 2)


@pytest.fixture(scope="module")
def cube(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A cube with two lines on a slope, with noise, and one undefined channel."""
    folder = tmp_path_factory.mktemp("spectra") / "served"
    folder.mkdir()
    line = gaussian(2.0, 20.3, 6.0) + gaussian(1.0, 33.0, 8.0) + 0.01 * CHANNELS
    pixels = line[:, None, None] + np.random.default_rng(5).normal(0, 0.1, (60, 6, 6))
    pixels[57] = np.nan
    hdu = fits.PrimaryHDU(pixels.astype(np.float32))
    hdu.header.update(CARDS)
    hdu.writeto(folder / "cube.fits")
    return folder / "cube.fits"


@pytest.fixture(scope="module")
def client(cube: Any) -> Any:
    with TestClient(create_app(Settings(paths=(cube.parent,)))) as found:
        yield found


def answer_of(client: TestClient, name: str, **parameters: Any) -> Any:
    asked = {"id": "served/cube.fits", "region": REGION} | parameters
    answer = client.get(f"/api/v1/{name}", params=asked)
    assert answer.status_code == 200, answer.text
    return answer


def spectrum_of(cube: Any, **options: Any) -> tf.Spectrum:
    with tf.open(cube) as file:
        return file[0].spectrum(tf.Box(1, 1, 5, 5), **options)


def test_fit_is_that_of_the_engine_with_the_noise_of_line_free_channels(
    client: TestClient, cube: Any
) -> None:
    found = answer_of(
        client, "fit", gaussians=2, baseline=1, channels="5:15,16:45", line_free="46:60",
        unit="km/s", convention="radio",
    ).json()  # fmt: skip
    spectrum = spectrum_of(cube, unit="km/s", convention="radio")
    free = np.arange(45, 60)[np.isfinite(spectrum.values[45:60])]
    slope = np.polynomial.Polynomial.fit(free, spectrum.values[free], 1)
    noise = np.sqrt(((spectrum.values[free] - slope(free)) ** 2).sum() / (len(free) - 2))
    assert found["noise"] == pytest.approx(noise, rel=1e-9)
    assert found["line_free"]["channels"] == 14
    expected = spectrum.fit_gaussians(2, channels=slice(4, 45), baseline=1, noise=found["noise"])
    for ours, theirs in zip(found["components"], expected, strict=True):
        assert ours == vars(theirs)
    assert found["units"]["integral"] == "K km s-1"
    assert (found["flag"], found["meaning"], found["channels"]) == (0, "converged", 41)
    assert found["first"] == 5
    np.testing.assert_array_equal(found["model"], expected.model.values[4:45])
    # The truth is within five errors, and the errors are those of the noise.
    for component, centre, width in zip(found["components"], (20.3, 33.0), (6.0, 8.0), strict=True):
        velocity = (1 - (115.0e9 + 1e7 * (centre - 1)) / REST) * 299792.458
        assert abs(component["centre"] - velocity) < 5 * component["centre_error"]
        step = 1e7 / REST * 299792.458
        assert abs(component["fwhm"] - width * step) < 5 * component["fwhm_error"]
        assert component["centre_error"] < step
    assert found["chi2"] / (41 - 8) == pytest.approx(1.0, abs=0.8)


def test_several_ranges_leave_channels_between_them_out(client: TestClient, cube: Any) -> None:
    found = answer_of(client, "fit", channels="1:26,50:57", baseline=1).json()
    mask = np.zeros(60, dtype=bool)
    mask[:26] = mask[49:57] = True
    expected = spectrum_of(cube).fit_gaussians(channels=mask, baseline=1)
    assert found["components"] == [vars(expected[0])]
    assert found["channels"] == 34
    posted = client.post(
        "/api/v1/fit",
        params={"id": "served/cube.fits", "channels": "1:26,50:57", "baseline": 1},
        content=REGION,
    )
    assert posted.json() == found


def test_fit_is_saved_as_a_table_with_units(client: TestClient) -> None:
    parameters = {"channels": "5:45", "gaussians": 2, "unit": "GHz", "statistic": "sum"}
    found = answer_of(client, "fit", **parameters).json()
    answer = answer_of(client, "fit", format="csv", **parameters)
    assert 'filename="cube_fit.csv"' in answer.headers["Content-Disposition"]
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    second = found["components"][1]
    centre = next(row for row in rows if (row["gaussian"], row["quantity"]) == ("2", "centre"))
    assert float(centre["value"]) == second["centre"]
    assert float(centre["error"]) == second["centre_error"]
    assert centre["unit"] == "GHz"


def test_fit_that_fails_says_why(client: TestClient) -> None:
    found = answer_of(client, "fit", channels="5:7", gaussians=2).json()
    assert found["components"][0]["centre"] is None
    assert found["meaning"] == "no more defined channels than parameters"


def test_smoothing_and_bins_are_those_of_the_cube(client: TestClient, cube: Any) -> None:
    values = spectrum_of(cube).values
    found = answer_of(client, "spectrum", bin=7).json()
    with np.errstate(invalid="ignore"):
        expected = np.nanmean(values[:56].reshape(-1, 7), axis=1)
    np.testing.assert_allclose(found["values"], expected, rtol=1e-12)
    centres = 115.0e9 + 10e6 * (np.arange(8) * 7 + 3)
    np.testing.assert_allclose(found["axis"]["values"], centres, rtol=1e-15)
    smooth = answer_of(client, "spectrum", smooth=4).json()["values"]
    sigma = 4 / np.sqrt(8 * np.log(2))
    offsets = np.arange(-int(4 * sigma), int(4 * sigma) + 1)
    weights = np.exp(-0.5 * (offsets / sigma) ** 2)
    near = values[29 + offsets]
    assert smooth[29] == pytest.approx(float((near * weights).sum() / weights.sum()), rel=1e-3)
    assert smooth[57] is None
    both = answer_of(client, "spectrum", smooth=4, bin=5).json()["values"]
    assert both[3] == pytest.approx(np.mean(smooth[15:20]), rel=1e-12)


@pytest.mark.parametrize(
    "form",
    [
        {},
        {"unit": "km/s"},
        {"unit": "km/s", "convention": "optical", "bin": 4},
        {"unit": "GHz", "frame": "BARYCENT"},
        {"unit": "km/s", "frame": "BARYCENT", "bin": 3, "smooth": 2},
        {"unit": "mm", "frame": "LSRD"},
    ],
)
def test_downloads_have_the_values_and_coordinates_of_the_answer(
    client: TestClient, form: dict[str, Any], tmp_path: Any
) -> None:
    found = answer_of(client, "spectrum", **form).json()
    answer = answer_of(client, "spectrum", format="fits", **form)
    assert int(answer.headers["Content-Length"]) == len(answer.content)
    path = tmp_path / "spectrum.fits"
    path.write_bytes(answer.content)
    own = np.array(found["values"], dtype=float)
    with fits.open(path) as hdus:
        assert hdus[0].header["SPECSYS"] == form.get("frame", "LSRK")
        assert hdus[0].header["BUNIT"] == "K"
        np.testing.assert_array_equal(hdus[0].data, own)
    read = specutils.Spectrum.read(path, format="wcs1d-fits")
    np.testing.assert_array_equal(read.flux.to_value("K"), own)
    axis = u.Quantity(found["axis"]["values"], found["axis"]["unit"])
    step = abs(axis[1] - axis[0])
    ours = read.spectral_axis.to(axis.unit)
    assert abs(ours - axis).max() < 1e-6 * step
    table = answer_of(client, "spectrum", format="csv", **form).text.splitlines()
    assert table[0] == f"{found['axis']['name']} [{found['axis']['unit']}],mean [K]"
    x, y = (float(number) for number in table[5].split(","))
    assert (x, y) == (found["axis"]["values"][4], found["values"][4])


def test_spectrum_in_another_frame_has_the_axis_of_that_frame(client: TestClient) -> None:
    form = {"unit": "km/s", "frame": "BARYCENT", "redshift": 0.001}
    found = answer_of(client, "spectrum", **form).json()
    axis = client.get("/api/v1/axis", params={"id": "served/cube.fits"} | form).json()
    np.testing.assert_allclose(found["axis"]["values"], axis["values"], rtol=1e-12, atol=1e-9)
