"""Order statistics beside NumPy's and SciPy's, over every type, scaling, BLANK, NaN and section."""

from __future__ import annotations

import json
import math
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import tachyfits as tf
from fitsbytes import STORED, physical, primary, sections, stored_arrays
from tachyfits.cli import run

SCALINGS = [(1.0, 0.0), (0.25, 100.0), (-3e-4, 7.5)]


def opened(
    stored: np.ndarray, scaling: tuple[float, float] = (1.0, 0.0), blank: int | None = None
) -> tuple[tf.Image, np.ndarray]:
    """An image of these stored pixels, and its physical values, zeros without sign."""
    cards: list[tuple[str, object]] = []
    if scaling != (1.0, 0.0):
        cards += [("BSCALE", scaling[0]), ("BZERO", scaling[1])]
    if blank is not None and stored.dtype.kind in "iu":
        cards.append(("BLANK", blank))
    image = tf.open(primary(stored, cards))[0]
    with np.errstate(all="ignore"):
        return image, physical(stored, *scaling, blank) + 0.0


def percentile(values: np.ndarray, q: float) -> float:
    """NumPy's percentile of what is not NaN; but no NaN from interpolating at an infinity."""
    good = np.sort(values[~np.isnan(values)])
    if not good.size:
        return math.nan
    place = (good.size - 1) * (q / 100)
    low, high = good[math.floor(place)], good[min(math.floor(place) + 1, good.size - 1)]
    if np.isfinite([low, high]).all() and np.isfinite(high - low):
        return float(np.percentile(good, q))
    part = place - math.floor(place)
    return float(low if part == 0 or low == high else low * (1 - part) + high * part)


def median(values: np.ndarray) -> float:
    good = np.sort(values[~np.isnan(values)])
    if not good.size:
        return math.nan
    low, high = good[(good.size - 1) // 2], good[good.size // 2]
    both = low + high
    return float(low / 2 + high / 2 if np.isinf(both) else both / 2)


def mad(values: np.ndarray) -> float:
    middle = median(values)
    return median(np.abs(values - middle)) if math.isfinite(middle) else math.nan


def along(function: Any, values: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """A function of all pixels of each output."""
    kept = [axis for axis in range(values.ndim) if axis not in axes]
    flat = np.transpose(values, (*kept, *axes)).reshape(*(values.shape[a] for a in kept), -1)
    found = np.array([function(row) for row in flat.reshape(-1, flat.shape[-1])])
    return found.reshape(flat.shape[:-1])


@settings(max_examples=40)
@given(st.data())
def test_of_any_pixels_along_any_axes(data: st.DataObject) -> None:
    stored = data.draw(stored_arrays())
    scaling = data.draw(st.sampled_from(SCALINGS))
    flat = stored.ravel().tolist()
    blank = data.draw(st.none() | st.sampled_from(flat)) if stored.dtype.kind in "iu" else None
    image, values = opened(stored, scaling, blank)
    axes = tuple(sorted(data.draw(st.sets(st.integers(0, stored.ndim - 1)))))
    q = data.draw(st.lists(st.floats(0, 100) | st.sampled_from([0, 50, 100]), min_size=1))
    with np.errstate(all="ignore"):
        expected = {
            "median": along(median, values, axes),
            "mad": along(mad, values, axes),
            "percentile": np.stack(
                [along(lambda v, p=p: percentile(v, p), values, axes) for p in q]
            ),
        }
    np.testing.assert_array_equal(image.median(axes), expected["median"])
    np.testing.assert_array_equal(image.mad(axes), expected["mad"])
    np.testing.assert_array_equal(image.percentile(q, axes), expected["percentile"])


@settings(max_examples=40)
@given(st.data())
def test_of_any_section(data: st.DataObject) -> None:
    stored = data.draw(stored_arrays(finite=True))
    index = data.draw(sections(stored.shape))
    image, values = opened(stored)
    chosen = values[index]
    assert np.array_equal(
        image.select(section=index).median(), median(np.ravel(chosen)), equal_nan=True
    )
    found = image.select(section=index).percentile(30)
    assert np.array_equal(found, percentile(np.ravel(chosen), 30), equal_nan=True)


@pytest.mark.parametrize("bitpix", sorted(STORED))
def test_like_numpy_and_scipy(bitpix: int) -> None:
    rng = np.random.default_rng(bitpix + 100)
    stored = rng.integers(0, 200, (5, 6, 7)).astype(STORED[bitpix])
    if bitpix < 0:
        stored[rng.random(stored.shape) < 0.2] = np.nan
        stored[0, 0] = np.nan
    image, values = opened(stored, blank=199)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for letters, axes in (("x", 2), ("z", 0), ("xy", (1, 2)), (None, None)):
            np.testing.assert_array_equal(image.median(letters), np.nanmedian(values, axes))
            np.testing.assert_allclose(
                image.percentile([1, 50, 99, 100], letters),
                np.nanpercentile(values, [1, 50, 99, 100], axes),
                rtol=1e-15,
            )
            np.testing.assert_allclose(
                image.mad(letters),
                stats.median_abs_deviation(values, axes, nan_policy="omit"),
                rtol=1e-15,
            )


def test_of_regions() -> None:
    rng = np.random.default_rng(3)
    stored = rng.normal(size=(4, 20, 30)).astype("f4")
    image, values = opened(stored)
    shapes = [tf.Circle(12, 9, 5), tf.Box(3, 3, 2, 2), tf.Circle(900, 900, 1)]
    masks = [shape.mask(20, 30) for shape in shapes]
    found = image.select(shapes).median("xy")
    assert found.shape == (3, 4)
    for row, mask in zip(found, masks, strict=True):
        expected = [median(plane[mask]) for plane in values]
        np.testing.assert_array_equal(row, expected)
    whole = image.select(shapes[0]).percentile([10, 90])
    inside = values[:, masks[0]].ravel()
    np.testing.assert_array_equal(whole, [percentile(inside, 10), percentile(inside, 90)])
    with pytest.raises(tf.UsageError, match="NAXIS1 and NAXIS2"):
        image.select(shapes[0]).median("z")


def test_the_same_bits_for_any_threads_buffering_and_storage(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    stored = rng.normal(size=(3, 700, 1100)).astype("f4")
    stored[0, :9] = np.nan
    path = tmp_path / "cube.fits"
    path.write_bytes(primary(stored))
    answers = set()
    for storage in ("auto", "pread", "mmap", "direct"):
        for threads, buffering in ((1, "single"), (3, "double"), (2, "auto")):
            with tf.open(path, storage=storage, threads=threads, buffering=buffering) as file:
                image = file[0]
                answers.add(pickle.dumps([
                    np.asarray(image.median()).tobytes(),
                    np.asarray(image.mad()).tobytes(),
                    image.percentile([1, 99], "z").tobytes(),
                    image.median("xy").tobytes(),
                    image.robust_rms(per_plane=True).tobytes(),
                    np.asarray(image.robust_rms()).tobytes(),
                ]))  # fmt: skip
    assert len(answers) == 1


def test_the_robust_rms_is_that_of_the_noise() -> None:
    rng = np.random.default_rng(6)
    noise = rng.normal(scale=[[[0.5]], [[2.0]], [[30.0]]], size=(3, 300, 400)).astype("f4")
    sources = noise.copy()
    sources[:, ::17, ::13] += 1e4
    image, _ = opened(sources)
    found = image.robust_rms(per_plane=True)
    np.testing.assert_allclose(found, [0.5, 2.0, 30.0], rtol=0.03)
    assert image.select(section=np.s_[1]).robust_rms() == found[1]
    part = image.select(section=np.s_[1:, :200, ::2]).robust_rms(per_plane=True)
    np.testing.assert_allclose(part, [2.0, 30.0], rtol=0.05)
    with tf.reports() as reports:
        repeated = image._core_image().robust_rms(True, repeat=0)
    assert np.isnan(repeated).all()
    assert [report.bytes for report in reports] == [sources.nbytes]
    assert np.isnan(opened(np.full((2, 3), np.nan, "f4"))[0].robust_rms())


def test_invalid_arguments_of_order_statistics_are_refused() -> None:
    image, _ = opened(np.zeros((3, 4), "f4"))
    for q in (-1, 100.5, math.nan):
        with pytest.raises(tf.UsageError, match="from 0 to 100"):
            image.percentile(q)
    with pytest.raises(tf.UsageError, match="invalid percentiles"):
        image.percentile([])
    with pytest.raises(tf.UsageError, match="buffering"):
        tf.open("no.fits", buffering="triple")
    with pytest.raises(tf.UsageError, match="no planes"):
        opened(np.zeros(5, "f4"))[0].robust_rms(per_plane=True)


class TestCommand:
    @pytest.fixture
    def cube(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> np.ndarray:
        monkeypatch.chdir(tmp_path)
        stored = np.random.default_rng(8).normal(1, 2, (3, 40, 50)).astype("f4")
        (tmp_path / "cube.fits").write_bytes(primary(stored))
        return stored.astype("f8")

    def json(self, capsys: pytest.CaptureFixture[str], *words: str) -> Any:
        assert run(["stats", "cube.fits", "--json", *words]) == 0
        return json.loads(capsys.readouterr().out)

    def test_of_everything(self, cube: np.ndarray, capsys: pytest.CaptureFixture[str]) -> None:
        said = self.json(capsys, "--median", "--mad", "--percentile", "1,99.5", "--report")
        (row,) = said["statistics"]
        assert row["median"] == np.median(cube)
        assert row["mad"] == mad(cube.ravel())
        assert (row["p1"], row["p99.5"]) == tuple(np.percentile(cube, [1, 99.5]))
        assert said["report"]["order"]["bytes"] >= cube.size * 4

    def test_of_planes_and_regions(
        self, cube: np.ndarray, capsys: pytest.CaptureFixture[str]
    ) -> None:
        said = self.json(capsys, "--median", "--per-plane", "--region", "box(11,11,21,21)",
                         "--region", "circle(30,20,5)")  # fmt: skip
        rows = said["statistics"]
        assert [(row["region"], row["plane"]) for row in rows[::3]] == [
            ("box(11,11,21,21)", [1]), ("circle(30,20,5)", [1])]  # fmt: skip
        assert rows[1]["median"] == np.median(cube[1, :21, :21])

    def test_robust(self, cube: np.ndarray, capsys: pytest.CaptureFixture[str]) -> None:
        said = self.json(capsys, "--robust", "--per-plane", "--buffering",
                         "double", "--report", "--median")  # fmt: skip
        image = tf.open("cube.fits")[0]
        found = [row["robust_rms"] for row in said["statistics"]]
        assert found == image.robust_rms(per_plane=True).tolist()
        assert set(said["report"]) == {"order", "robust"}
        assert said["report"]["robust"]["buffering"] == "ahead"
        assert run(["stats", "cube.fits", "--robust", "--median", "--report"]) == 0
        out, err = capsys.readouterr()
        assert "robust_rms" in out
        assert "median" in out
        assert "mean" not in out
        assert err.startswith("order: ")
        assert "\nrobust: " in err

    @pytest.mark.usefixtures("cube")
    def test_wrong_use(self, capsys: pytest.CaptureFixture[str]) -> None:
        for words in (
            ["--percentile", "101"], ["--percentile", "a"],
        ):  # fmt: skip
            assert run(["stats", "cube.fits", *words]) == 2, words
            assert capsys.readouterr().err


def test_several_rows_of_percentiles_come_first() -> None:
    image, values = opened(np.arange(24, dtype="i2").reshape(2, 3, 4))
    found = image.percentile([[1, 50, 60], [99, 100, 0]], "z")
    assert found.shape == (2, 3, 3, 4)
    np.testing.assert_array_equal(found[1, 1], values.max(axis=0))


def test_reduce_takes_every_statistic_by_its_name(tmp_path: Path) -> None:
    fits.PrimaryHDU(np.random.default_rng(1).normal(size=(3, 8, 9))).writeto(tmp_path / "a.fits")
    image = tf.open(tmp_path / "a.fits")[0]
    for one in tf.info.statistics():
        assert np.shape(image.reduce(one.name, axis="xy", keepdims=True)) == (3, 1, 1)
    assert image.reduce("median") == image.median()
    np.testing.assert_array_equal(
        image.reduce("percentile30", axis="z"), image.percentile(30, axis="z")
    )
    with pytest.raises(tf.UsageError, match="percentile101"):
        image.reduce("percentile101")
