"""Fits of spectra: against the truth, SciPy, NumPy, and with undefined and hostile channels."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import tachyfits as tf
from fitsbytes import primary
from realfiles import path_of

CHANNELS, HEIGHT, WIDTH = 64, 12, 10
NOISE = 0.2

CARDS = {
    "CTYPE1": "RA---TAN", "CRVAL1": 40.0, "CDELT1": -1e-3, "CRPIX1": 1.0, "CUNIT1": "deg",
    "CTYPE2": "DEC--TAN", "CRVAL2": 20.0, "CDELT2": 1e-3, "CRPIX2": 1.0, "CUNIT2": "deg",
    "CTYPE3": "VRAD", "CRVAL3": 1000.0, "CDELT3": 500.0, "CRPIX3": 1.0, "CUNIT3": "m/s",
    "BUNIT": "K",
}  # fmt: skip


def cube(values: NDArray[Any]) -> tf.Image:
    return tf.open(primary(values, [*CARDS.items()]))[0]


def velocities(channels: int = CHANNELS) -> NDArray[np.float64]:
    return 1000.0 + 500.0 * np.arange(channels)


def gaussian(x: NDArray[Any], amplitude: Any, centre: Any, fwhm: Any) -> NDArray[np.float64]:
    return np.asarray(amplitude * np.exp(-4 * math.log(2) * ((x - centre) / fwhm) ** 2))


def truth(shape: tuple[int, int] = (HEIGHT, WIDTH), seed: int = 1) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    return {
        "amplitude": random.uniform(2, 4, shape) * random.choice([-1, 1], shape),
        "centre": random.uniform(9e3, 24e3, shape),
        "fwhm": random.uniform(2e3, 6e3, shape),
    }


def noisy(
    known: dict[str, Any], seed: int = 2, noise: float = NOISE, dtype: str = "f8"
) -> NDArray[Any]:
    x = velocities()[:, None, None]
    values = gaussian(x, known["amplitude"], known["centre"], known["fwhm"])
    values += noise * np.random.default_rng(seed).normal(size=values.shape)
    return values.astype(dtype)


def by_scipy(x: NDArray[Any], y: NDArray[Any], first: Any, baseline: bool = False) -> Any:
    """Return the parameters and errors of `scipy.optimize.curve_fit`, amplitudes first."""
    optimize = pytest.importorskip("scipy.optimize", reason="COMPARISONS LEFT OUT: scipy")
    scale = np.array([1.0, 1e3, 1e3] * (len(first) // 3) + [1.0] * (len(first) % 3))

    def model(x: Any, *given: float) -> Any:
        parameters = np.array(given) * scale
        total = np.zeros(len(x))
        for line in range(len(first) // 3):
            total += gaussian(x, *parameters[3 * line : 3 * line + 3])
        if baseline:
            total += parameters[-2] + parameters[-1] * (x - x[len(x) // 2]) / 1e4
        return total

    found, covariance = optimize.curve_fit(
        model, x, y, np.array(first) / scale, ftol=1e-15, xtol=1e-15, gtol=1e-15, maxfev=5000
    )
    return found * scale, np.sqrt(np.diag(covariance)) * scale


def test_fits_of_every_pixel_are_those_of_scipy() -> None:
    known = truth()
    values = noisy(known)
    fits = cube(values).fit_gaussians()
    assert (fits.flags.values == 0).all()
    assert (fits.channels.values == CHANNELS).all()
    for place in np.ndindex(HEIGHT, WIDTH):
        y = values[(slice(None), *place)]
        first = [known[name][place] for name in ("amplitude", "centre", "fwhm")]
        found, errors = by_scipy(velocities(), y, first)
        for name, expected, error in zip(
            ("amplitude", "centre", "fwhm"), found, errors, strict=True
        ):
            assert getattr(fits[0], name).values[place] == pytest.approx(expected, abs=1e-5 * error)
            assert getattr(fits[0], f"{name}_error").values[place] == pytest.approx(error, rel=1e-4)
        residual = y - gaussian(velocities(), *found)
        assert fits.chi2.values[place] == pytest.approx((residual**2).sum(), rel=1e-9)
        rms = math.sqrt((residual**2).sum() / (CHANNELS - 3))
        assert fits.rms.values[place] == pytest.approx(rms, rel=1e-9)


def test_lines_on_a_baseline_are_those_of_scipy() -> None:
    x = velocities()
    random = np.random.default_rng(5)
    values = np.zeros((CHANNELS, 2, 3))
    for place in np.ndindex(2, 3):
        values[(slice(None), *place)] = (
            gaussian(x, 4, 10e3, 3e3) + gaussian(x, 2, 21e3, 5e3) + 1.5 - 0.4 * (x - x[32]) / 1e4
            + 0.1 * random.normal(size=CHANNELS)
        )  # fmt: skip
    fits = cube(values).fit_gaussians(2, baseline=1)
    assert (fits.flags.values == 0).all()
    for place in np.ndindex(2, 3):
        y = values[(slice(None), *place)]
        first = [4, 10e3, 3e3, 2, 21e3, 5e3, 1.5, -0.4]
        found, errors = by_scipy(x, y, first, baseline=True)
        ours = [
            getattr(maps, name).values[place]
            for maps in fits
            for name in ("amplitude", "centre", "fwhm")
        ]
        ours += [fits.baseline[0].values[place], fits.baseline[1].values[place] * 1e4]
        np.testing.assert_allclose(ours, found, rtol=0, atol=1e-4 * errors.max())
        assert np.all(np.abs(np.array(ours) - found) < 1e-4 * errors)
        assert fits.baseline_errors[0].values[place] == pytest.approx(errors[6], rel=1e-3)
    assert (fits[0].amplitude.values > fits[1].amplitude.values).all()
    assert fits.baseline[1].unit == "K s m-1"
    assert fits.reference == x[32]


def test_errors_are_those_of_the_noise() -> None:
    known = truth((40, 40), seed=3)
    fits = cube(noisy(known, seed=4)).fit_gaussians(noise=NOISE)
    good = fits.flags.values == 0
    assert good.mean() > 0.99
    for name, true in known.items():
        errors = getattr(fits[0], f"{name}_error").values[good]
        pulls = (getattr(fits[0], name).values[good] - true[good]) / errors
        # The mean of 1600 normal numbers has an error of 0.025, their deviation one of 0.018.
        assert abs(pulls.mean()) < 0.12, name
        assert 0.9 < pulls.std() < 1.1, name
    area = known["amplitude"] * known["fwhm"] * math.sqrt(math.pi / math.log(2)) / 2
    pulls = (fits[0].integral.values - area)[good] / fits[0].integral_error.values[good]
    assert abs(pulls.mean()) < 0.12
    assert 0.9 < pulls.std() < 1.1
    reduced = fits.chi2.values[good] / (CHANNELS - 3)
    assert abs(reduced.mean() - 1) < 0.03
    assert fits.chi2.unit is None


def test_results_have_the_same_bits_however_they_are_read(tmp_path: Path) -> None:
    values = noisy(truth(), dtype="f4")
    values[3, 2, 5] = np.nan
    image = cube(values)
    expected = image.fit_gaussians(2, baseline=0, threads=1)
    image.reorder("zxy").write(tmp_path / "zxy.fits")
    image.write(tmp_path / "tiles.fits", compress="gzip")
    others = [
        image.fit_gaussians(2, baseline=0, threads=4),
        tf.open(tmp_path / "zxy.fits")[0].fit_gaussians(2, baseline=0),
        tf.open(tmp_path / "tiles.fits")[1].fit_gaussians(2, baseline=0, threads=3),
        image.select(section=np.s_[:, 2:9, 3:7]).fit_gaussians(2, baseline=0),
    ]
    for number, other in enumerate(others):
        part = np.s_[2:9, 3:7] if number == 3 else np.s_[:, :]
        for ours, theirs in zip(expected._named().values(), other._named().values(), strict=True):
            np.testing.assert_array_equal(ours.values[part], theirs.values)


def test_fit_of_a_line_has_units_and_coordinates(tmp_path: Path) -> None:
    values = noisy(truth(), dtype="f4")
    fits = cube(values).fit_gaussians(unit="km/s")
    maps = fits[0]
    assert [maps.amplitude.unit, maps.centre.unit, maps.fwhm_error.unit] == [
        "K",
        "km s-1",
        "km s-1",
    ]
    assert maps.integral.unit == "K km s-1"
    assert fits.chi2.unit == "K2"
    moment = cube(values).moment(0, unit="km/s").values
    assert np.abs(maps.integral.values - moment).max() < 5 * NOISE * math.sqrt(CHANNELS) * 0.5
    fits.write(tmp_path / "fits.fits")
    with tf.open(tmp_path / "fits.fits") as file:
        assert [hdu.name for hdu in file][:4] == [
            "PRIMARY", "AMPLITUDE1", "AMPLITUDE_ERROR1", "CENTRE1"
        ]  # fmt: skip
        assert file[3].unit == "km s-1"
        assert file[3].header["CTYPE1"] == "RA---TAN"
        np.testing.assert_array_equal(file[3][:], maps.centre.values)
        assert "centre along NAXIS3" in str(file[3].header["HISTORY"])


def test_channels_regions_and_limits_choose_pixels() -> None:
    known = truth()
    values = noisy(known)
    values[40:] += 100 * gaussian(np.arange(24.0), 1, 12, 5)[:, None, None]
    inside = np.abs(known["centre"] - 12e3) < 4e3
    fits = cube(values).fit_gaussians(channels=slice(0, 40))
    assert (fits.channels.values == 40).all()
    near = np.abs(fits[0].centre.values - known["centre"]) < 1500
    assert near[inside & (fits.flags.values == 0)].all()
    several = cube(values).fit_gaussians(channels=[slice(0, 20), "12..20 km/s"])
    assert (several.channels.values == 37).all()
    region = tf.Circle(4, 5, 2.5)
    part = cube(values).select(region).fit_gaussians(channels=slice(0, 40))
    mask = np.hypot(*np.indices((HEIGHT, WIDTH)) - np.array([5, 4])[:, None, None]) <= 2.5
    np.testing.assert_array_equal(part[0].centre.values[mask], fits[0].centre.values[mask])
    assert np.isnan(part.flags.values[~mask]).all()
    positive = cube(values).fit_gaussians(
        channels=slice(0, 40), limits={"amplitude": (0, None), "fwhm": (1000, 9000)}
    )
    good = positive.flags.values == 0
    assert (positive[0].amplitude.values[good] >= 0).all()
    assert np.isnan(positive[0].amplitude.values[~good]).all()


def test_hostile_spectra_fail_with_a_flag() -> None:
    x = velocities()
    line = gaussian(x, 3, 12e3, 4e3) + 0.01 * np.random.default_rng(7).normal(size=CHANNELS)
    values = np.repeat(line[:, None, None], 8, axis=2)
    values[:, 0, 1] = np.nan
    values[4:, 0, 2] = np.nan
    values[9, 0, 3] = np.inf
    values[:, 0, 4] = 0.0
    values[:, 0, 5] = 5.0
    values[:, 0, 6] *= 1e300
    values[::3, 0, 7] = np.nan
    fits = cube(values).fit_gaussians(baseline=0)
    assert fits.flags.values[0].tolist() == [0, 1, 1, 2, 3, 3, 0, 0]
    assert set(fits.flags.values[0]) <= set(tf.GaussianFits.meanings)
    failed = fits.flags.values[0] > 0
    for name, plane in fits._named().items():
        if name not in ("FLAGS", "CHANNELS"):
            assert np.isnan(plane.values[0, failed]).all(), name
    good = fits[0].centre.values[0, ~failed]
    np.testing.assert_allclose(good, 12e3, rtol=1e-2)
    assert fits[0].amplitude.values[0, 6] == pytest.approx(fits[0].amplitude.values[0, 0] * 1e300)
    assert math.isfinite(fits[0].amplitude_error.values[0, 6])


def test_invalid_requests_are_refused() -> None:
    image = cube(noisy(truth()))
    with pytest.raises(tf.UsageError, match="invalid n 4: expected 1 to 3 Gaussians"):
        image.fit_gaussians(4)
    with pytest.raises(tf.UsageError, match="invalid order 6 of a baseline: expected 0 to 5"):
        image.fit_gaussians(baseline=6)
    with pytest.raises(tf.UsageError, match="invalid order -1 of a baseline: expected 0 to 9"):
        image.subtract_baseline(-1)
    with pytest.raises(
        tf.UsageError, match="invalid limits of fwhm: expected low <= high, above 0"
    ):
        image.fit_gaussians(limits={"fwhm": (-1, 5)})
    with pytest.raises(tf.UsageError, match="invalid limit of 'width'"):
        image.fit_gaussians(limits={"width": (1, 5)})
    with pytest.raises(tf.UsageError, match="invalid noise -1"):
        image.fit_gaussians(noise=-1)


@pytest.mark.parametrize("order", [0, 1, 3, 9])
def test_baselines_are_those_of_numpy(order: int) -> None:
    random = np.random.default_rng(order)
    values = random.normal(size=(CHANNELS, 3, 4)) + np.linspace(0, 5, CHANNELS)[:, None, None]
    channels = [slice(0, 20), slice(40, 64)]
    used = np.r_[0:20, 40:64]
    fits = cube(values).fit_baseline(order, channels=channels, unit="km/s")
    x = velocities() / 1000
    reference = x[used[0] : used[-1] + 1][32]
    assert fits.reference == pytest.approx(reference)
    flat = cube(values).subtract_baseline(order, channels=channels)
    for place in np.ndindex(3, 4):
        y = values[(slice(None), *place)]
        found, covariance = np.polyfit(x[used] - reference, y[used], order, cov=True)
        ours = [plane.values[place] for plane in fits.baseline]
        np.testing.assert_allclose(ours, found[::-1], rtol=1e-6, atol=1e-12)
        errors = [plane.values[place] for plane in fits.baseline_errors]
        np.testing.assert_allclose(errors, np.sqrt(np.diag(covariance))[::-1], rtol=1e-6)
        expected = y - np.polyval(found, x - reference)
        np.testing.assert_allclose(flat.read()[(slice(None), *place)], expected, atol=1e-8)


def test_subtracted_baselines_compose_and_are_written(tmp_path: Path) -> None:
    random = np.random.default_rng(8)
    values = (random.normal(size=(CHANNELS, HEIGHT, WIDTH)) + 3).astype("f4")
    values[2, 3, 4] = np.nan
    values[:, 5, 6] = np.nan
    image = cube(values)
    flat = image.subtract_baseline(1, channels=[slice(0, 20), slice(50, None)])
    flat.write(tmp_path / "flat.fits")
    whole = tf.open(tmp_path / "flat.fits")[0]
    assert whole.dtype == np.float32
    assert "baseline of order 1" in str(whole.header["HISTORY"])
    assert "1-20, 51-64" in " ".join(str(whole.header["HISTORY"]).split())
    pixels = whole.read()
    np.testing.assert_array_equal(flat[10], pixels[10])
    np.testing.assert_array_equal(flat[3:60:7, 2:9, 4], pixels[3:60:7, 2:9, 4])
    np.testing.assert_array_equal(np.isnan(pixels), np.isnan(values))
    assert flat.mean() == whole.mean()
    np.testing.assert_array_equal(flat.moment(0).values, whole.moment(0).values)
    np.testing.assert_array_equal(flat.smooth("hanning").read(), whole.smooth("hanning").read())
    turned = image.reorder("zxy").subtract_baseline(1, channels=[slice(0, 20), slice(50, None)])
    np.testing.assert_array_equal(turned.read().transpose(2, 0, 1), pixels)
    doubled = (flat * 2).read()
    np.testing.assert_array_equal(doubled, pixels * 2)
    few = values.copy()
    few[1:20, 0, 0] = np.nan
    few[50:, 0, 0] = np.nan
    few[0, 1, 1] = np.inf
    left = cube(few).subtract_baseline(1, channels=[slice(0, 20), slice(50, None)]).read()
    assert np.isnan(left[:, 0, 0]).all()
    assert np.isnan(left[:, 1, 1]).all()


def test_spectrum_fit_is_that_of_its_pixel() -> None:
    image = cube(noisy(truth()))
    fits = image.fit_gaussians(unit="km/s", baseline=0)
    spectrum = image.spectrum(tf.Point(3, 4), unit="km/s")
    fit = spectrum.fit_gaussians(baseline=0)
    assert (fit.flag, fit.channels) == (0, CHANNELS)
    for name in ("amplitude", "centre", "fwhm", "integral", "amplitude_error", "integral_error"):
        assert getattr(fit[0], name) == getattr(fits[0], name).values[4, 3]
    assert fit.baseline == (fits.baseline[0].values[4, 3],)
    assert (fit.rms, fit.chi2) == (fits.rms.values[4, 3], fits.chi2.values[4, 3])
    residual = spectrum.values - fit.model.values
    assert (residual**2).sum() == pytest.approx(fit.chi2)
    part = spectrum.fit_gaussians(channels="5..30 km/s", noise=NOISE)
    assert part.channels < CHANNELS
    failed = image.spectrum(tf.Point(3, 4)).fit_gaussians(channels=slice(0, 3))
    assert failed.flag == 1
    assert math.isnan(failed[0].centre)
    assert repr(failed) == "<tachyfits SpectrumFit: no more defined channels than parameters>"


@pytest.mark.real_files
def test_lines_of_a_real_cube_are_those_of_scipy() -> None:
    image = tf.open(path_of("data/cubes/l1448_13co.fits"))[0]
    values = image.read(dtype="float64")
    fits = image.fit_gaussians(unit="m/s")
    x = image.spectrum(unit="m/s").axis.values
    strong = (fits.flags.values == 0) & (fits[0].amplitude.values > 10 * fits.rms.values)
    assert strong.sum() > 50
    for place in np.argwhere(strong)[::17]:
        place = tuple(place)
        first = [getattr(fits[0], name).values[place] for name in ("amplitude", "centre", "fwhm")]
        found, errors = by_scipy(x, values[(slice(None), *place)], first)
        assert np.all(np.abs(np.array(first) - found) < 1e-4 * errors)
