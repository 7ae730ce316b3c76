"""Reductions, moments, histograms, regions, cutouts: axis orders and translation, against NumPy."""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits

from tachyfits import _core

#: write(path, pixels, **keywords)
Write = Callable[..., Path]


@pytest.fixture
def image(cube: Path) -> _core.Image:
    return _core.FitsFile.open(cube).hdu(0).image()


@pytest.fixture
def pixels(cube: Path) -> np.ndarray:
    return fits.getdata(cube).astype(np.float64)


def test_stats_agree_with_numpy(image: _core.Image, pixels: np.ndarray) -> None:
    (stats,) = image.stats()
    assert (stats.count, stats.nan, stats.sum) == (59, 1, np.nansum(pixels))
    assert stats.mean == pytest.approx(np.nanmean(pixels), rel=1e-15)
    assert stats.std == pytest.approx(np.nanstd(pixels), rel=1e-15)
    assert stats.standard_deviation(1) == pytest.approx(np.nanstd(pixels, ddof=1), rel=1e-15)
    assert stats.rms == pytest.approx(math.sqrt(np.nanmean(pixels**2)), rel=1e-15)
    assert (stats.min, stats.min_position) == (0.0, (0, 0, 0))
    assert (stats.max, stats.max_position) == (59.0, (2, 3, 4))
    assert image.total() == (59, stats.sum)
    report = stats.report
    assert report is not None
    assert report.bytes == 240
    assert report.storage == "auto"


def test_positions_are_numpy_indices_in_the_section(image: _core.Image, pixels: np.ndarray) -> None:
    section = [(2, 2, -1), (3, 2, -2), (4, 2, -3)]
    part = pixels[2:0:-1, 3:0:-2, 4:0:-3]
    (stats,) = image.stats(section)
    assert part[stats.max_position] == stats.max == np.nanmax(part)
    assert part[stats.min_position] == stats.min == np.nanmin(part)


@pytest.mark.parametrize("axes", [c for n in range(4) for c in itertools.combinations(range(3), n)])
def test_any_axes_are_reduced_in_numpys_order(
    image: _core.Image, pixels: np.ndarray, axes: tuple[int, ...]
) -> None:
    names = [name for name, *_, is_order in _core.statistics() if not is_order]
    found = image.reduce(names, axes)
    assert list(found) == names
    good = ~np.isnan(pixels)
    np.testing.assert_array_equal(found["count"], good.sum(axis=axes))
    np.testing.assert_array_equal(found["nan"], (~good).sum(axis=axes))
    sums = np.where(good.any(axis=axes), np.nansum(pixels, axis=axes), np.nan)
    np.testing.assert_array_equal(found["sum"], sums)
    with np.errstate(all="ignore"):
        low = np.where(good, pixels, np.inf).min(axis=axes)
        high = np.where(good, pixels, -np.inf).max(axis=axes)
    none = found["count"] == 0
    np.testing.assert_array_equal(found["min"], np.where(none, np.nan, low))
    np.testing.assert_array_equal(found["max"], np.where(none, np.nan, high))
    assert found["mean"].shape == low.shape
    assert found["count"].dtype == np.int64
    kept = [n for n in range(3) if n not in axes]
    flat = np.moveaxis(pixels, kept, range(len(kept))).reshape(*low.shape, -1)
    first = np.where(none, -1, np.argmax(np.nan_to_num(flat, nan=-1.0), axis=-1))
    np.testing.assert_array_equal(found["max_position"], first)


def test_regions_come_first(image: _core.Image, pixels: np.ndarray) -> None:
    regions = [_core.Region.circle(1.0, 1.0, 1.2), _core.Region.box(3.0, 2.0, 2.0, 2.0)]
    found = image.reduce(["sum", "count"], [1, 2], regions=regions)
    states = image.stats(regions=regions)
    for row, region in enumerate(regions):
        mask = region.mask(4, 5)
        assert mask.dtype == bool
        assert mask.shape == (4, 5)
        np.testing.assert_array_equal(found["sum"][row], np.nansum(pixels[:, mask], axis=1))
        assert states[row].sum == np.nansum(pixels[:, mask])
        assert mask[states[row].max_position[1:]]
    assert image.reduce(["sum"], [1, 2], regions=[])["sum"].shape == (0, 3)
    histogram = image.histogram(0.0, 60.0, 3, regions=regions)
    both = pixels[:, regions[0].mask(4, 5) | regions[1].mask(4, 5)]
    np.testing.assert_array_equal(
        histogram.counts, np.histogram(both[~np.isnan(both)], 3, (0, 60))[0]
    )


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_moments_along_any_axis(image: _core.Image, pixels: np.ndarray, axis: int) -> None:
    where = np.linspace(-1.0, 4.0, pixels.shape[axis])
    shape = [1, 1, 1]
    shape[axis] = -1
    along = where.reshape(shape)
    total = np.nansum(pixels, axis=axis)
    mean = np.nansum(pixels * along, axis=axis) / total
    spread = np.nansum(pixels * (along - np.expand_dims(mean, axis)) ** 2, axis=axis) / total
    width = where[1] - where[0]
    moments = image.moments([0, 1, 2], axis, where)
    np.testing.assert_allclose(moments[0], total * width, rtol=1e-14)
    np.testing.assert_allclose(moments[1], mean, rtol=1e-13)
    np.testing.assert_allclose(moments[2], np.sqrt(spread), rtol=1e-12)
    backwards = image.moments([0], axis, where[::-1].copy())[0]
    np.testing.assert_allclose(backwards, total * width, rtol=1e-14)
    double = image.moments([0], axis, where, widths=np.array([2.0]))[0]
    np.testing.assert_allclose(double, total * 2, rtol=1e-14)
    own = np.arange(1.0, 1 + len(where))
    expected = np.nansum(pixels * own.reshape(shape), axis=axis)
    each = image.moments([0], axis, where, widths=own)[0]
    np.testing.assert_allclose(each, expected, rtol=1e-14)
    for order, coordinates in ((3, where), (-1, where), (1, where[1:])):
        with pytest.raises(_core.UsageError) as raised:
            image.moments([order], axis, coordinates)
        assert raised.value.code == "moment"


def test_the_width_of_a_single_channel_is_one(image: _core.Image, pixels: np.ndarray) -> None:
    section = [(2, 1, 1), (0, 4, 1), (0, 5, 1)]
    np.testing.assert_array_equal(image.moments([0], 0, np.array([9.0]), section)[0], pixels[2])


def test_histograms_count_merge_and_pickle(image: _core.Image, pixels: np.ndarray) -> None:
    histogram = image.histogram(10.0, 50.0, 7)
    good = pixels[~np.isnan(pixels)]
    counts, edges = np.histogram(good, 7, (10.0, 50.0))
    np.testing.assert_array_equal(histogram.counts, counts)
    np.testing.assert_array_equal(histogram.edges, edges)
    assert (histogram.below, histogram.above, histogram.nan) == (10, 9, 1)
    assert pickle.loads(pickle.dumps(histogram)) == histogram
    np.testing.assert_array_equal(histogram.merge(histogram).counts, 2 * counts)
    assert histogram.merge(histogram) != histogram
    with pytest.raises(_core.UsageError, match="7 bins"):
        histogram.merge(image.histogram(10.0, 50.0, 8))
    for low, high, bins in ((1.0, 1.0, 4), (0.0, 1.0, 0), (0.0, 1.0, -1), (0.0, math.nan, 3)):
        with pytest.raises(_core.UsageError) as raised:
            image.histogram(low, high, bins)
        assert raised.value.code == "histogram-range"


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_stats_pickle_bit_for_bit(write: Write, tmp_path: Path, protocol: int) -> None:
    odd = np.array([1e300, -1e300, 1.5, -0.0, np.inf, np.nan, 1e-310])
    path = write(tmp_path / "a.fits", odd)
    image = _core.FitsFile.open(path).hdu(0).image()
    for section in (None, [(2, 3, 1)], [(5, 1, 1)], [(0, 0, 1)]):
        (stats,) = image.stats(section)
        copy = pickle.loads(pickle.dumps(stats, protocol))
        assert copy == stats
        assert hash(copy) == hash(stats)
        assert repr(copy) == repr(stats)
    assert image.stats([(2, 1, 1)])[0] != image.stats([(3, 1, 1)])[0]
    assert math.isnan(image.stats([(5, 1, 1)])[0].min)
    assert image.stats([(5, 1, 1)])[0].min_position is None


def test_merging_keeps_positions_of_sections_of_one_shape(
    image: _core.Image, pixels: np.ndarray
) -> None:
    planes = [image.stats([(n, 1, 1), (0, 4, 1), (0, 5, 1)])[0] for n in range(3)]
    merged = planes[0].merge(planes[1]).merge(planes[2])
    (whole,) = image.stats()
    assert (merged.count, merged.nan, merged.sum) == (whole.count, whole.nan, whole.sum)
    assert (merged.min, merged.max) == (whole.min, whole.max)
    assert merged.std == pytest.approx(whole.std, rel=1e-15)
    assert merged.max_position == (0, 3, 4)
    other = merged.merge(whole)
    assert other.max_position is None
    assert other.max == 59.0
    assert other.merge(other).max_position is None


def test_cutouts_are_sections(image: _core.Image, pixels: np.ndarray, tmp_path: Path) -> None:
    path = tmp_path / "part.fits"
    section = [(2, 1, 1), (1, 2, 1), (0, 3, 2)]

    def write(where: Path | str, *drop: int, overwrite: bool = False) -> None:
        part = image.cut(section, drop_axes=drop).hdu(0).image()
        writer = _core.FileWriter(str(where), overwrite=overwrite)
        writer.write_image(part)
        writer.commit()

    write(path)
    np.testing.assert_array_equal(fits.getdata(path), pixels[2:3, 1:3, ::2])
    before = path.read_bytes()
    with pytest.raises(_core.IoError) as raised:
        write(path)
    assert raised.value.code == "io-exists"
    assert path.read_bytes() == before
    write(str(path), 0, overwrite=True)
    np.testing.assert_array_equal(fits.getdata(path), pixels[2, 1:3, ::2])
    with pytest.raises(_core.UsageError):
        write(path, 1, overwrite=True)
