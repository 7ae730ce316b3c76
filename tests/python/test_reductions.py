"""Reductions beside exact arithmetic and NumPy's nan-functions, over anything and in any order."""

from __future__ import annotations

import itertools
import math
import pickle
import warnings
from typing import Any

import astropy.units as u
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tachyfits as tf
from fitsbytes import STORED, physical, primary, sections, stored_arrays

NAMES = ("count", "nan", "sum", "mean", "rms", "std", "min", "max")


def exact(values: np.ndarray) -> dict[str, float]:
    """The statistics by sums without rounding (math.fsum) over float64 values."""
    flat = [float(v) for v in np.asarray(values, dtype=np.float64).ravel()]
    good = [v for v in flat if not math.isnan(v)]
    answer = {"count": len(good), "nan": len(flat) - len(good), "sum": math.fsum(good)}
    if not good:
        return answer | dict.fromkeys(("sum", "mean", "rms", "std", "min", "max"), math.nan)
    mean = answer["sum"] / len(good)

    def root_of_mean_square(values: list[float]) -> float:
        # By a power of two, so that squares of the smallest numbers are not 0.
        unit = math.ldexp(1.0, math.frexp(max(map(abs, values)))[1])
        return unit * math.sqrt(math.fsum((v / unit) ** 2 for v in values) / len(values))

    return answer | {
        "mean": mean,
        "rms": root_of_mean_square(good),
        "std": root_of_mean_square([v - mean for v in good]),
        "min": min(good),
        "max": max(good),
    }


def assert_close(found: dict[str, float], values: np.ndarray) -> None:
    expected = exact(values)
    good = np.asarray(values, dtype=np.float64).ravel()
    good = good[~np.isnan(good)]
    size = float(np.abs(good).max(initial=0.0))
    for name in NAMES:
        if name in ("count", "nan", "min", "max"):
            np.testing.assert_equal(found[name], expected[name], err_msg=name)
        else:
            scale = size * len(good) if name == "sum" else size
            # The squares of numbers below 1e-154 have fewer digits, and from 1e-162 on none.
            least = 3e-154 if name in ("rms", "std") else 0.0
            np.testing.assert_allclose(
                found[name], expected[name], rtol=1e-14, atol=1e-14 * scale + least, err_msg=name
            )


def keeping(index: tuple[object, ...], ndim: int) -> tuple[slice, ...]:
    """The same pixels with every axis kept: integers become slices of one pixel."""
    items = [item for item in index if item is not Ellipsis]
    items += [slice(None)] * (ndim - len(items))
    return tuple(
        item if isinstance(item, slice) else slice(item, item + 1 or None) for item in items
    )


def as_dict(stats: tf.Stats) -> dict[str, float]:
    return {name: getattr(stats, name) for name in NAMES}


@given(data=st.data(), stored=stored_arrays(finite=True))
def test_stats_are_exact_arithmetic(data: st.DataObject, stored: np.ndarray) -> None:
    index = data.draw(sections(stored.shape))
    stats = tf.open(primary(stored))[0].select(section=index).stats()
    assert_close(as_dict(stats), stored[index])


@given(data=st.data(), stored=stored_arrays(bitpix=st.sampled_from([8, 16, 32, 64])))
def test_stats_of_scaled_integers_with_blank(data: st.DataObject, stored: np.ndarray) -> None:
    blank = int(data.draw(st.sampled_from(stored.ravel().tolist())))
    cards = [("BSCALE", 0.25), ("BZERO", -7.5), ("BLANK", blank)]
    stats = tf.open(primary(stored, cards))[0].stats()
    assert_close(as_dict(stats), physical(stored, 0.25, -7.5, blank))


@given(data=st.data(), stored=stored_arrays(finite=True))
def test_positions_are_those_of_the_first_extreme_pixel(
    data: st.DataObject, stored: np.ndarray
) -> None:
    index = data.draw(sections(stored.shape))
    stats = tf.open(primary(stored))[0].select(section=index).stats()
    # Integers drop axes of NumPy's result; a position names every axis of the image.
    values = stored[keeping(index, stored.ndim)].astype(np.float64)
    if np.isnan(values).all():
        assert stats.min_position is None
        assert stats.max_position is None
        return
    for found, extreme in (
        (stats.min_position, np.nanmin(values)),
        (stats.max_position, np.nanmax(values)),
    ):
        first = np.argwhere(values == extreme)[0]
        assert found == tuple(first.tolist()), "the first, in the section's own order"


@given(data=st.data(), stored=stored_arrays(finite=True))
def test_collapsing_any_axes_is_the_statistics_of_each_line(
    data: st.DataObject, stored: np.ndarray
) -> None:
    index = data.draw(sections(stored.shape))
    axes = data.draw(st.sets(st.integers(0, stored.ndim - 1), min_size=1).map(sorted))
    arrays = tf.open(primary(stored))[0].select(section=index).stats(axis=tuple(axes))
    # Axes that integers drop from an array stay in an image.
    kept = [a for a in range(stored.ndim) if a not in axes]
    where = keeping(index, stored.ndim)
    values = stored[where].transpose([*kept, *axes])
    shape = values.shape[: len(kept)]
    lines = values.reshape(*shape, -1) if values.size else None
    for name in NAMES:
        assert arrays[name].shape == shape, name
    for position, place in enumerate(np.ndindex(*shape)):
        found = {name: arrays[name].reshape(-1)[position] for name in NAMES}
        assert_close(found, lines[place] if lines is not None else np.empty(0))


@pytest.mark.parametrize("bitpix", sorted(STORED))
def test_the_nan_functions_of_numpy_agree(bitpix: int) -> None:
    random = np.random.default_rng(7)
    stored = (random.normal(0, 50, (5, 40, 37)) + 100).astype(STORED[bitpix])
    if bitpix < 0:
        stored[random.random(stored.shape) < 0.1] = np.nan
        stored[2] = np.nan
    image = tf.open(primary(stored))[0]
    values = stored.astype(np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for axis in [0, 1, 2, (0, 1), (1, 2), (0, 2), None]:
            for name in ("sum", "mean", "std", "min", "max"):
                expected = getattr(np, f"nan{name}")(values, axis=axis)
                if name == "sum":
                    good = (~np.isnan(values)).sum(axis=axis)
                    np.testing.assert_array_equal(image.count(axis), good)
                    np.testing.assert_allclose(np.nansum(image, axis=axis), expected, rtol=1e-12)
                    # A sum of nothing is NaN, as NumPy's of NaN alone is.
                    expected = np.where(good == 0, np.nan, expected)
                np.testing.assert_allclose(
                    getattr(image, name)(axis), expected, rtol=1e-12, atol=1e-9
                )
            np.testing.assert_allclose(
                image.rms(axis), np.sqrt(np.nanmean(values**2, axis=axis)), rtol=1e-12
            )


def test_axes_have_letters() -> None:
    stored = np.arange(24, dtype="f4").reshape(2, 3, 4)
    image = tf.open(primary(stored))[0]
    np.testing.assert_array_equal(image.sum("x"), stored.sum(2))
    np.testing.assert_array_equal(image.sum("xy"), stored.sum((1, 2)))
    np.testing.assert_array_equal(image.max(("z", 1)), stored.max((0, 1)))
    for bad in ("w", "xx", 3, (0, 0), -4, 1.5):
        with pytest.raises(tf.UsageError):
            image.sum(bad)


def test_ddof_is_the_divisor() -> None:
    stored = np.array([1, 2, 4, 8], "i2")
    image = tf.open(primary(stored))[0]
    assert image.stats().standard_deviation(1) == pytest.approx(np.std(stored, ddof=1), rel=1e-15)
    assert image.std(ddof=1) == pytest.approx(np.std(stored, ddof=1), rel=1e-15)
    assert np.isnan(image.std(ddof=4))
    for bad in (1.5, "1", True):
        with pytest.raises(tf.UsageError, match=f"invalid ddof {bad!r}: expected a whole number"):
            image.std(ddof=bad)  # type: ignore[arg-type]


def test_infinities_are_values() -> None:
    stored = np.array([1, np.inf, 2], "f4")
    stats = tf.open(primary(stored))[0].stats()
    assert (stats.count, stats.max, stats.sum, stats.max_position) == (3, np.inf, np.inf, (1,))
    both = tf.open(primary(np.array([np.inf, -np.inf], "f8")))[0].stats()
    assert np.isnan(both.sum)
    assert (both.min, both.max) == (-np.inf, np.inf)


@pytest.mark.parametrize("kind", ["f8", "i8", "f4"])
def test_a_large_offset_costs_no_digits(kind: str) -> None:
    random = np.random.default_rng(3)
    offset = 10**9 if kind != "f4" else 2**20
    stored = (offset + random.normal(0, 1000, 400_000)).astype(kind)
    stats = tf.open(primary(stored))[0].stats()
    numbers = [int(v * 2**30) for v in stored.tolist()]  # exact for all three types
    total = sum(numbers)
    mean = total / len(numbers) / 2**30
    squares = sum(n * n for n in numbers)
    variance = (squares * len(numbers) - total * total) / len(numbers) ** 2 / 2**60
    assert stats.mean == pytest.approx(mean, rel=1e-15)
    assert stats.std == pytest.approx(math.sqrt(variance), rel=1e-12)


def test_a_sum_beyond_two_to_the_24_pixels_of_float32_is_right() -> None:
    stored = np.ones(2**24 + 4096, "f4")
    assert tf.open(primary(stored))[0].sum() == 2**24 + 4096


@pytest.mark.parametrize("bitpix", [-32, 16])
def test_the_bits_do_not_depend_on_threads_or_storage(bitpix: int, tmp_path: object) -> None:
    random = np.random.default_rng(11)
    stored = (random.normal(0, 1, (9, 400, 333)) * 1000).astype(STORED[bitpix])
    if bitpix < 0:
        stored[random.random(stored.shape) < 0.05] = np.nan
    cards = [("BSCALE", 0.3), ("BZERO", 5.0), ("BLANK", 17)] if bitpix > 0 else []
    path = tmp_path / "image.fits"
    path.write_bytes(primary(stored, cards))
    regions = [tf.Circle(100, 90, 50.5), tf.Ellipse(200, 200, 90, 30, 33.0)]
    seen = set()
    ways = ["auto", "pread", "mmap", "direct", "bytes"]
    for storage, threads in itertools.product(ways, [1, 2, 3, 8]):
        source = path.read_bytes() if storage == "bytes" else path
        options = {} if storage == "bytes" else {"storage": storage}
        with tf.open(source, threads=threads, **options) as file:
            image = file[0]
            results = [
                as_dict(image.stats()),
                *map(as_dict, image.select(regions, section=np.s_[1:, ::-3, 5:]).stats()),
                [a.tobytes() for a in image.stats(axis="xy").values()],
                [a.tobytes() for a in image.stats(axis="z").values()],
                image.select(regions).reduce("mean", "xy").tobytes(),
                image.moment(2).values.tobytes(),
                image.histogram(64, (-3.0, 900.0)).counts.tobytes(),
            ]
        seen.add(repr(results))
    assert len(seen) == 1


@given(stored=stored_arrays(shape=st.just((6, 5)), finite=True), cut=st.integers(1, 5))
def test_states_merge_and_pickle(stored: np.ndarray, cut: int) -> None:
    image = tf.open(primary(stored))[0]
    above, below = (
        image.select(section=np.s_[:cut]).stats(),
        image.select(section=np.s_[cut:]).stats(),
    )
    merged = pickle.loads(pickle.dumps(above)).merge(pickle.loads(pickle.dumps(below)))
    assert_close(as_dict(merged), stored)
    whole = image.stats()
    # A position is an index within one section; of two unlike sections there is none.
    if cut != 3:
        assert merged.min_position is None
    assert as_dict(pickle.loads(pickle.dumps(whole))).__repr__() == repr(as_dict(whole))


@given(
    stored=stored_arrays(finite=True),
    bins=st.integers(1, 40),
    low=st.floats(-1e6, 1e6),
    width=st.floats(1e-3, 1e7),
)
def test_histograms_count_every_pixel_once(
    stored: np.ndarray, bins: int, low: float, width: float
) -> None:
    histogram = tf.open(primary(stored))[0].histogram(bins, (low, low + width))
    values = stored.astype(np.float64)
    good = values[~np.isnan(values)]
    assert histogram.nan == values.size - good.size
    assert histogram.below == (good < low).sum()
    assert histogram.above == (good > low + width).sum()
    edges, counts = histogram.edges, histogram.counts
    assert counts.dtype == np.uint64
    assert (len(counts), len(edges), edges[0], edges[-1]) == (bins, bins + 1, low, low + width)
    inside = good[(good >= low) & (good <= low + width)]
    assert counts.sum() == inside.size
    # A value within rounding of an inner edge may be on either side of it.
    near = np.abs(inside[:, None] - edges[None, 1:-1]).min(axis=1, initial=np.inf)
    if (near > 1e-9 * (width + abs(low))).all():
        np.testing.assert_array_equal(counts, np.histogram(inside, edges)[0])


def test_an_automatic_histogram_covers_min_to_max() -> None:
    random = np.random.default_rng(5)
    stored = random.normal(0, 1, (50, 60)).astype("f4")
    histogram = tf.open(primary(stored))[0].histogram(32)
    counts, edges = np.histogram(stored.astype("f8"), 32)
    np.testing.assert_array_equal(histogram.counts, counts)
    np.testing.assert_allclose(histogram.edges, edges, rtol=1e-14)
    flat = tf.open(primary(np.full(9, 3, "i2")))[0].histogram(4)
    assert (flat.edges[0], flat.edges[-1], flat.counts.sum()) == (2.5, 3.5, 9)
    assert tf.open(primary(np.full(9, np.nan, "f4")))[0].histogram(4).nan == 9


def test_histograms_merge() -> None:
    stored = np.arange(100, dtype="i2")
    image = tf.open(primary(stored))[0]
    first, second = (
        image.select(section=s).histogram(7, (3.0, 90.0)) for s in (np.s_[:40], np.s_[40:])
    )
    whole = image.histogram(7, (3.0, 90.0))
    merged = pickle.loads(pickle.dumps(first)).merge(second)
    np.testing.assert_array_equal(merged.counts, whole.counts)
    assert (merged.below, merged.above) == (whole.below, whole.above)
    with pytest.raises(tf.UsageError):
        first.merge(image.histogram(8, (3.0, 90.0)))


@pytest.mark.parametrize("limits", [(1.0, 1.0), (2.0, 1.0), (np.nan, 1.0), (0.0, np.inf)])
def test_invalid_histogram_ranges_are_refused(limits: tuple[float, float]) -> None:
    with pytest.raises(tf.UsageError):
        tf.open(primary(np.arange(4, dtype="i2")))[0].histogram(4, limits)
    with pytest.raises(tf.UsageError):
        tf.open(primary(np.arange(4, dtype="i2")))[0].histogram(0, (0.0, 1.0))


def test_a_histogram_range_may_be_an_array_or_quantities() -> None:
    image = tf.open(primary(np.arange(20, dtype="f4"), [("BUNIT", "Jy")]))[0]
    plain = image.histogram(4, (3.0, 9.0))
    for limits in (np.array([3.0, 9.0]), [3, 9], (3 * u.Jy, 9e3 * u.mJy), [3, 9] * u.Jy):
        found = image.histogram(4, limits)
        np.testing.assert_array_equal(found.edges, plain.edges)
        np.testing.assert_array_equal(found.counts, plain.counts)
    for limits in (3, (1, 2, 3), (None, 1), ("low", 1), (1 * u.K, 2 * u.K), ()):
        with pytest.raises(tf.UsageError, match=r"range|units") as caught:
            image.histogram(4, limits)  # type: ignore[arg-type]
        assert "\nhint: " in str(caught.value)


@pytest.mark.parametrize("axis", [None, 0, 1, 2, (1, 2), (0, 2)])
def test_skewness_and_kurtosis_are_those_of_scipy(axis: Any) -> None:
    from scipy import stats

    values = np.random.default_rng(3).gamma(2.0, 3.0, (7, 40, 33)).astype("f4") + 1000
    values[2, 3, ::2] = np.nan
    values[:, 5, 6] = np.nan
    image = tf.open(primary(values))[0]
    flat = values.astype("f8")
    if isinstance(axis, tuple):
        kept = next(n for n in range(3) if n not in axis)
        flat = np.moveaxis(flat, kept, 0).reshape(flat.shape[kept], -1)
    along = 1 if isinstance(axis, tuple) else axis
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, expected in (
            ("skewness", stats.skew(flat, axis=along, nan_policy="omit")),
            ("kurtosis", stats.kurtosis(flat, axis=along, nan_policy="omit")),
        ):
            found = getattr(image, name)(axis)
            np.testing.assert_allclose(found, np.ma.filled(expected, np.nan), rtol=1e-9, atol=1e-9)
            for threads in (1, 3):
                again = image.reduce(name, axis, threads=threads)
                np.testing.assert_array_equal(again, found)


#: Methods with another name than their statistic.
METHODS = {"nan": "count_nan", "min_position": "argmin", "max_position": "argmax"}


@pytest.mark.parametrize("statistic", tf.info.statistics(), ids=lambda each: each.name)
def test_every_statistic_has_a_method_and_the_unit_that_the_register_says(
    statistic: tf.info.Statistic,
) -> None:
    values = np.random.default_rng(5).normal(1.0, 3.0, (3, 20, 30)).astype("f4")
    cards = [("BUNIT", "Jy/beam"), ("CTYPE3", "VRAD"), ("CUNIT3", "m/s"), ("CDELT3", 500.0)]
    image, twice = (tf.open(primary(pixels, cards))[0] for pixels in (values, 2 * values))
    spectrum = image.spectrum(statistic=statistic.name)
    found = getattr(image, METHODS.get(statistic.name, statistic.name))("xy")
    np.testing.assert_array_equal(found, spectrum.values)
    assert (spectrum.unit or None) == (image.unit if statistic.has_unit else None)
    assert (image.collapse(statistic.name).unit or None) == (spectrum.unit or None)
    factor = 2 if statistic.has_unit else 1
    doubled = twice.spectrum(statistic=statistic.name).values
    np.testing.assert_array_equal(doubled, factor * spectrum.values)


def test_pixels_of_one_value_have_no_skewness() -> None:
    image = tf.open(primary(np.full((3, 4), 105.83)))[0]
    assert np.isnan(image.skewness())
    assert np.isnan(image.kurtosis(axis=0)).all()
    assert np.isnan(tf.open(primary(np.full((3, 4), np.nan)))[0].skewness())


@pytest.mark.parametrize("exponent", [-1040, -320, -300, -270, 250, 270, 1000])
def test_skewness_and_kurtosis_of_any_pixels_are_finite(exponent: int) -> None:
    values = np.random.default_rng(3).gamma(2.0, 3.0, (3, 70, 80)).astype("f4").astype("f8")
    values[1, 3, ::2] = np.nan
    pixels = np.ldexp(values, exponent)
    # The smallest pixels of f64 have fewer digits.
    values = np.ldexp(pixels, -exponent)
    image, usual = (tf.open(primary(pixels))[0] for pixels in (pixels, values))
    images = [image, image.select(tf.Circle(30, 30, 12)), image.select(section=np.s_[1:, 2:9, ::3])]
    others = [usual, usual.select(tf.Circle(30, 30, 12)), usual.select(section=np.s_[1:, 2:9, ::3])]
    whole: list[dict[str, Any]] = [
        {}, {"axis": 0}, {"axis": 1}, {"axis": 2}, {"axis": (1, 2)}, {"axis": (0, 2)},
    ]  # fmt: skip
    ways = [(0, way) for way in whole] + [(1, {"axis": "xy"}), (2, {})]
    for number, way in ways:
        for name in ("skewness", "kurtosis"):
            result = getattr(images[number], name)(**way)
            expected = getattr(others[number], name)(**way)
            assert np.isfinite(result).all(), (way, name)
            np.testing.assert_allclose(result, expected, rtol=1e-10, atol=1e-10)
            again = images[number].reduce(name, **way, threads=3)
            np.testing.assert_array_equal(again, result)


def test_the_skewness_of_a_region_and_of_a_plane_have_no_unit() -> None:
    values = np.random.default_rng(4).gamma(2.0, 3.0, (3, 20, 30)).astype("f4")
    cards = [("BUNIT", "Jy/beam"), ("CTYPE3", "VRAD"), ("CUNIT3", "m/s"), ("CDELT3", 500.0)]
    image = tf.open(primary(values, cards))[0]
    box = tf.Box(10, 10, 8, 6)
    found = image.spectrum(box, statistic="skewness")
    assert not found.unit
    np.testing.assert_array_equal(found.values, image.select(box).skewness((1, 2)))
    assert not image.collapse("kurtosis").unit
