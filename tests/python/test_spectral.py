"""Spectra, pictures and moments beside the formulas, with axes, units and headers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tachyfits as tf
from fitsbytes import cube_cards, primary

CUBE = (6, 5, 4)
VELOCITY = 1000.0 + 250.0 * np.arange(6)


def cube(stored: np.ndarray, *more: tuple[str, object]) -> tf.Image:
    return tf.open(primary(stored, [*cube_cards(), *more]))[0]


def noise(shape: tuple[int, ...] = CUBE, seed: int = 1) -> np.ndarray:
    random = np.random.default_rng(seed)
    values = random.normal(2, 1, shape).astype("f4")
    values[random.random(shape) < 0.1] = np.nan
    return values


def test_a_spectrum_has_the_axis_of_the_header() -> None:
    stored = noise()
    spectrum = cube(stored).spectrum(tf.Box(1.5, 2, 2, 3))
    np.testing.assert_allclose(
        spectrum.values, np.nanmean(stored[:, 1:4, 1:3].astype("f8"), axis=(1, 2)), rtol=1e-13
    )
    np.testing.assert_array_equal(spectrum.axis.values, VELOCITY)
    assert (spectrum.axis.name, spectrum.axis.unit, spectrum.unit) == ("VRAD", "m/s", "Jy/beam")
    assert cube(stored).spectrum(statistic="count").unit is None


def test_channels_cut_the_spectrum_and_its_axis() -> None:
    stored = noise()
    spectrum = cube(stored).select(channels=slice(1, 6, 2)).spectrum()
    np.testing.assert_array_equal(spectrum.axis.values, VELOCITY[1:6:2])
    np.testing.assert_allclose(
        spectrum.values, np.nanmean(stored[1:6:2].astype("f8"), axis=(1, 2)), rtol=1e-13
    )
    backwards = cube(stored).select(channels=slice(None, None, -1)).spectrum()
    np.testing.assert_array_equal(backwards.axis.values, VELOCITY[::-1])


@pytest.mark.parametrize(
    "statistic", [each.name for each in tf.info.statistics() if not each.is_order]
)
def test_every_statistic_makes_spectra_and_pictures(statistic: str) -> None:
    stored = noise()
    image = cube(stored)
    regions = [tf.Circle(1, 2, 1), tf.Box(2, 2, 3, 3)]
    rows = image.select(regions).reduce(statistic, "xy")
    for spectrum, row in zip(image.spectrum(regions, statistic=statistic), rows, strict=True):
        np.testing.assert_array_equal(spectrum.values, row.astype("f8"))
    plane = image.select(channels=slice(1, 4)).collapse(statistic)
    found = image.select(section=np.s_[1:4]).reduce(statistic, "z")
    np.testing.assert_array_equal(plane.values, found.astype("f8"))
    assert plane.shape == (5, 4)


def test_spectra_are_written_as_fits_and_as_csv(tmp_path: object) -> None:
    spectrum = cube(noise()).select(channels=slice(2, 5)).spectrum()
    spectrum.write(tmp_path / "s.fits")
    with tf.open(tmp_path / "s.fits", strict=True) as file:
        np.testing.assert_array_equal(file[0][...], spectrum.values)
        np.testing.assert_array_equal(file[0].world_axis("x").values, VELOCITY[2:5])
        assert file[0].unit == "Jy/beam"
    spectrum.write(tmp_path / "s.csv")
    lines = (tmp_path / "s.csv").read_text().splitlines()
    assert lines[0] == "VRAD [m/s],mean [Jy/beam]"
    values = [[float(cell) for cell in line.split(",")] for line in lines[1:]]
    np.testing.assert_array_equal(values, np.stack([VELOCITY[2:5], spectrum.values], axis=1))
    with pytest.raises(tf.IoError, match="exists"):
        spectrum.write(tmp_path / "s.csv")


def moments(values: np.ndarray, axis: np.ndarray, width: float) -> list[np.ndarray]:
    """Moments 0, 1 and 2 along the first axis by their definitions, NaN left out."""
    weights = np.where(np.isnan(values), 0.0, values)
    along = axis[:, None, None]
    with np.errstate(all="ignore"):
        total = weights.sum(0)
        total[np.isnan(values).all(0)] = np.nan
        first = (weights * along).sum(0) / total
        second = np.sqrt((weights * (along - first) ** 2).sum(0) / total)
    return [total * width, first, second]


def lines(values: st.SearchStrategy[float]) -> st.SearchStrategy[np.ndarray]:
    """Cubes of positive values, with at least two good channels in each line of sight."""

    def complete(stored: np.ndarray) -> np.ndarray:
        return np.concatenate([stored, np.ones((2, *CUBE[1:]))])

    return hnp.arrays(np.dtype("f8"), (CUBE[0] - 2, *CUBE[1:]), elements=values).map(complete)


@given(stored=lines(st.floats(0.5, 1e3) | st.just(np.nan)))
def test_moments_are_their_formulas(stored: np.ndarray) -> None:
    image = cube(stored)
    expected = moments(stored, VELOCITY, 250.0)
    for order, tolerance in ((0, 1e-12), (1, 1e-12), (2, 1e-6)):
        plane = image.moment(order)
        np.testing.assert_allclose(
            plane.values, expected[order], rtol=tolerance, atol=1e-3 if order == 2 else 0
        )
    assert image.moment(0).unit == "Jy beam-1 m s-1"
    assert image.moment(1).unit == "m/s"


def test_moments_of_a_line_far_from_zero_keep_their_digits() -> None:
    axis = np.arange(64)
    line = np.exp(-0.5 * ((axis - 30.0) / 4) ** 2)
    stored = np.broadcast_to(line[:, None, None], (64, 2, 3)).copy()
    cards = [("CTYPE3", "FREQ"), ("CUNIT3", "Hz"), ("CRPIX3", 1.0), ("CRVAL3", 1.4e11)]
    image = tf.open(primary(stored, [*cards, ("CDELT3", 1000.0)]))[0]
    np.testing.assert_allclose(image.moment(1).values, 1.4e11 + 30e3, rtol=1e-15)
    np.testing.assert_allclose(image.moment(2).values, 4e3, rtol=1e-6)


def test_a_descending_axis_integrates_to_a_positive_flux() -> None:
    stored = np.ones(CUBE)
    descending = [(k, v) if k != "CDELT3" else (k, -250.0) for k, v in cube_cards()]
    plane = tf.open(primary(stored, descending))[0].moment(0)
    np.testing.assert_allclose(plane.values, 6 * 250.0)


@pytest.mark.parametrize(
    ("channels", "width"),
    [(slice(2, 3), 250.0), (slice(5, 2, -2), 500.0), (slice(2, 3, 3), 750.0)],
)
def test_channels_have_a_width_even_a_single_one(channels: slice, width: float) -> None:
    stored = np.arange(120.0).reshape(CUBE)
    plane = cube(stored).select(channels=channels).moment(0)
    np.testing.assert_array_equal(plane.values, stored[channels].sum(0) * width)
    without = tf.open(primary(stored))[0].select(channels=channels).moment(0)
    np.testing.assert_array_equal(without.values, stored[channels].sum(0) * width / 250.0)


def test_degenerate_axes_are_dropped_and_longer_ones_must_be_cut() -> None:
    stored = noise((2, *CUBE))
    cards = [*cube_cards(), ("CTYPE4", "STOKES")]
    image = tf.open(primary(stored, cards))[0]
    assert image.channel_axis == 1
    with pytest.raises(tf.UsageError, match="NAXIS4"):
        image.spectrum()
    spectrum = image.select(section=np.s_[1]).spectrum()
    np.testing.assert_allclose(
        spectrum.values, np.nanmean(stored[1].astype("f8"), axis=(1, 2)), rtol=1e-13
    )
    single = tf.open(primary(stored[:1], cards))[0].collapse("max")
    np.testing.assert_array_equal(single.values, np.nanmax(stored[0], axis=0))


def test_the_spectral_axis_may_be_any() -> None:
    stored = noise((5, 4, 6))
    cards = [("CTYPE1", "FREQ"), ("CTYPE2", "RA---SIN"), ("CTYPE3", "DEC--SIN")]
    cards += [("CRVAL1", 1e9), ("CDELT1", 2e6), ("CRPIX1", 1.0)]
    image = tf.open(primary(stored, cards))[0]
    assert image.channel_axis == 2
    spectrum = image.spectrum()
    np.testing.assert_allclose(
        spectrum.values, np.nanmean(stored.astype("f8"), axis=(0, 1)), rtol=1e-13
    )
    np.testing.assert_array_equal(spectrum.axis.values, 1e9 + 2e6 * np.arange(6))
    assert spectrum.axis.unit == "Hz"
    np.testing.assert_array_equal(image.collapse("min").values, np.nanmin(stored, axis=2))
    with pytest.raises(tf.UsageError, match="sky"):
        image.spectrum(tf.Circle(1, 1, 1))


@pytest.mark.parametrize(
    "cards",
    [
        [("CTYPE3", "WAVE-LOG"), ("CDELT3", 1e-9)],
        [("CTYPE3", "VRAD"), ("CD3_3", 5.0), ("CD3_1", 0.1)],
        [],
    ],
)
def test_axes_without_a_coordinate_count_pixels_from_1(cards: list[tuple[str, object]]) -> None:
    axis = tf.open(primary(noise(), cards))[0].world_axis("z", slice(1, 5, 2))
    assert (axis.unit, axis.values.tolist()) == ("pixel", [2.0, 4.0])


def test_pictures_keep_the_coordinates_of_the_sky(tmp_path: object) -> None:
    image = cube(noise())
    plane = image.select(channels=slice(1, 3), section=np.s_[:, 1::2, 2:]).collapse("sum")
    assert plane.shape == (2, 2)
    for pixel, there in (((0, 0), (2, 1)), ((1, 1), (3, 3))):
        here = plane.wcs.pixel_to_world_values(*pixel)
        np.testing.assert_allclose(
            here, image.wcs.celestial.pixel_to_world_values(*there), rtol=0, atol=1e-12
        )
    plane.write(tmp_path / "p.fits")
    with tf.open(tmp_path / "p.fits", strict=True) as file:
        np.testing.assert_array_equal(file[0][...], plane.values)
        assert file[0].unit == "Jy/beam"
        assert "pixels 2 to 3 by 1" in " ".join(file[0].header.history())


def test_planes_of_pictures_and_channels() -> None:
    stored = noise()
    image = cube(stored)
    np.testing.assert_array_equal(image.plane(np.s_[2]).values, stored[2])
    np.testing.assert_array_equal(image.plane(np.s_[:, 1]).values, stored[:, 1])
    with pytest.raises(tf.UsageError):
        image.plane()
    picture = tf.open(primary(stored[:1], cube_cards()))[0].plane()
    np.testing.assert_array_equal(picture.values, stored[0])
    assert picture.wcs.has_celestial


def test_pictures_without_channels_are_refused() -> None:
    image = tf.open(primary(np.zeros((3, 4), "f4")))[0]
    for operation in (image.spectrum, image.collapse, lambda: image.moment(1)):
        with pytest.raises(tf.UsageError) as caught:
            operation()
        assert "hint: " in str(caught.value)
    with pytest.raises(tf.UsageError):
        cube(noise()).moment(3)
    with pytest.raises(tf.UsageError):
        cube(noise()).spectrum(statistic="best")
    with pytest.raises(tf.UsageError):
        cube(noise()).select(channels=slice(1, 3), section=np.s_[2:3]).spectrum()


@pytest.mark.parametrize("elsewhere", [np.nan, 0.0])
def test_the_dispersion_of_a_line_in_one_channel_is_zero(elsewhere: float) -> None:
    stored = np.full(CUBE, elsewhere)
    stored[1] = np.linspace(100, 200, 20).reshape(5, 4)
    np.testing.assert_array_equal(cube(stored).moment(2).values, 0.0)
