"""Several ranges of channels: one meaning in Python, on the command line and over HTTP."""

from __future__ import annotations

import io
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import tachyfits as tf
from fitsbytes import cube_cards, primary
from servedcube import NAME
from servedcube import cube as served
from tachyfits.cli import run

CHANNELS = 12


def pixels() -> NDArray[np.float32]:
    random = np.random.default_rng(8)
    values = random.gamma(2, 1, (CHANNELS, 6, 7)).astype("f4")
    values[random.random(values.shape) < 0.1] = np.nan
    return values


def cube(values: Any = None) -> tf.Image:
    image: tf.Image = tf.open(primary(pixels() if values is None else values, cube_cards()))[0]
    return image


ranges = st.lists(
    st.tuples(st.integers(0, CHANNELS - 1), st.integers(0, CHANNELS - 1)).map(sorted),
    min_size=1,
    max_size=4,
)


@given(ends=ranges)
def test_statistics_are_those_of_the_concatenated_ranges(ends: list[list[int]]) -> None:
    inside = np.zeros(CHANNELS, dtype=bool)
    for first, last in ends:
        inside[first : last + 1] = True
    values = pixels()[inside].astype("f8")
    chosen = cube().select(channels=[slice(first, last + 1) for first, last in ends])
    stats = chosen.stats()
    assert stats.count == np.isfinite(values).sum()
    assert (stats.min, stats.max) == (np.nanmin(values), np.nanmax(values))
    close: dict[str, Any] = {"rtol": 1e-12}
    np.testing.assert_allclose([stats.sum, stats.mean, stats.std],
                               [np.nansum(values), np.nanmean(values), np.nanstd(values)],
                               **close)  # fmt: skip
    assert chosen.median() == np.nanmedian(values)
    assert chosen.mad() == np.nanmedian(abs(values - np.nanmedian(values)))
    # A pixel without a defined channel is NaN.
    empty = np.where(np.isfinite(values).any(axis=0), 0, np.nan)
    total = np.nansum(values, axis=0) + empty
    np.testing.assert_allclose(chosen.sum("z"), total, **close)
    np.testing.assert_array_equal(chosen.max("z"), np.nanmax(values, axis=0, initial=0) + empty)
    limits = (0.5, 4.0)
    counts = np.histogram(values[np.isfinite(values)], 8, limits)[0]
    np.testing.assert_array_equal(chosen.histogram(8, limits).counts, counts)
    velocities = cube().world_axis().values[inside]
    moment = np.nansum(values * velocities[:, None, None], axis=0) / total
    np.testing.assert_allclose(chosen.moment(1).values, moment, rtol=1e-7)
    spectrum = chosen.spectrum()
    known = np.isfinite(spectrum.values)
    np.testing.assert_allclose(spectrum.values[known], np.nanmean(values, axis=(1, 2)), rtol=1e-12)
    np.testing.assert_array_equal(spectrum.axis.values[known], velocities)


@given(ends=ranges, axes=st.permutations([0, 1, 2]), dtype=st.sampled_from(["f4", "f8"]))
def test_channels_that_are_not_read_have_the_bits_of_a_mask(
    ends: list[list[int]], axes: list[int], dtype: str
) -> None:
    inside = np.zeros(CHANNELS, dtype=bool)
    for first, last in ends:
        inside[first : last + 1] = True
    values = pixels().astype(dtype).transpose(axes)
    axis = axes.index(0)
    image: tf.Image = tf.open(primary(np.ascontiguousarray(values)))[0]
    shape = [1, 1, 1]
    shape[axis] = CHANNELS
    mask = inside.reshape(shape).astype("u1")
    masked = tf.evaluate("where(m, a, nan)", dtype=np.dtype(dtype).name, a=image, m=mask)
    parts = image._with_channels(axis, inside)
    assert parts.dtype == masked.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(parts.read(), masked.read())
    np.testing.assert_array_equal(parts[1:, ::2, 3], masked[1:, ::2, 3])
    for reduced in (None, 0, (1, 2)):
        for name in ("count", "nan", "sum", "std", "max_position", "median"):
            one, other = (each.reduce(name, reduced) for each in (parts, masked))
            np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(parts)).read(), masked.read())


def test_robust_noise_is_that_of_the_concatenated_ranges() -> None:
    random = np.random.default_rng(3)
    values = random.normal(0, 1, (CHANNELS, 40, 50)).astype("f4")
    values[4:9] += 30
    chosen = cube(values).select(channels=[slice(0, 4), slice(9, 12)])
    alone = cube(np.concatenate([values[:4], values[9:]])).robust_rms()
    assert chosen.robust_rms() == alone
    assert abs(float(chosen.mad()) * 1.4826 - 1) < 0.05


def test_every_form_of_several_ranges_has_the_same_pixels() -> None:
    import astropy.units as u

    image = cube()
    inside = np.zeros(CHANNELS, dtype=bool)
    inside[[1, 2, 3, 8, 9]] = True
    expected = image.select(channels=[slice(1, 4), slice(8, 10)])[...]
    assert np.isnan(expected[3:7]).all()
    for channels in (
        [1, 2, 3, slice(8, 10)],
        "1.25..1.75 km/s, 3.0..3.25 km/s",
        ["1.25..1.75 km/s", slice(3.0 * u.km / u.s, 3.25 * u.km / u.s)],
        inside,
        np.flatnonzero(inside),
        [slice(1, 4), np.array([8, 9])],
    ):
        np.testing.assert_array_equal(image.select(channels=channels)[...], expected)
        part = image.cutout(channels=channels)
        np.testing.assert_array_equal(part[...], expected)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(part))[...], expected)
        np.testing.assert_array_equal(
            image.world_axis(channels=channels).values, part.world_axis().values
        )
    composed = image.select(channels=slice(1, 10)).select(channels=[slice(0, 3), slice(7, 9)])
    np.testing.assert_array_equal(composed[...], expected)
    both = image.select("circle(3,3,2)", where="> 0").select(channels=inside)
    assert both.stats().count == image.select(channels=inside, region="circle(3,3,2)",
                                              where="> 0").stats().count  # fmt: skip
    assert "channels 2 to 4, 9 to 10 (from 1)" in " ".join(part.header.history())


def test_ranges_that_touch_are_one_and_keep_the_type_of_the_pixels() -> None:
    image = cube(np.arange(CHANNELS * 42, dtype=">i2").reshape(CHANNELS, 6, 7))
    near = image.cutout(channels=[slice(3, 5), slice(5, 8), 4])
    assert (near.dtype, near.shape) == (np.dtype("i2"), (5, 6, 7))
    apart = image.cutout(channels=[3, 7], region="circle(2,2,1)")
    assert apart.dtype.kind == "f"
    assert apart[[0, 4], 1, 1].tolist() == [3 * 42 + 8, 7 * 42 + 8]
    assert np.isnan(apart[1:4]).all()


@pytest.mark.parametrize(
    ("channels", "words"),
    [
        ([], "an empty list of channels"),
        (np.zeros(CHANNELS, dtype=bool), "an empty list of channels"),
        (np.ones(5, dtype=bool), "expected 12 of them, one for each channel"),
        (np.ones((2, 2)), "an array of float64"),
        ([slice(0, 2), 40], "40"),
        ("1..2 km/s, 90..95 km/s", "no channel in 90..95 km/s"),
        ("1..2 km/s,", "expected a range with a unit"),
    ],
)
def test_invalid_lists_of_channels_are_refused(channels: Any, words: str) -> None:
    for verb in ("select", "cutout"):
        with pytest.raises((tf.UsageError, IndexError), match=words):
            getattr(cube(), verb)(channels=channels)


def answer(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    assert run(list(words)) == 0
    return json.loads(capsys.readouterr().out)


def test_the_command_line_takes_lists_and_repeated_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "cube.fits")
    cube().write(path)
    expected = cube().select(channels=[slice(1, 4), slice(8, 10)]).stats()
    for options in (["--channels", "2:4,9:10"], ["--channels", "2:4", "--channels", "9:10"],
                    ["--channels", "1.25..1.75 km/s", "--channels", "9:10"]):  # fmt: skip
        row = answer(capsys, "stats", path, "--json", *options)["statistics"][0]
        assert (row["count"], row["sum"], row["std"]) == (
            expected.count, expected.sum, expected.standard_deviation(),
        )  # fmt: skip
        told = answer(capsys, "spectrum", path, "--json", *options)
        assert told["channels"] == list(range(2, 11))
        assert [n for n, value in zip(told["channels"], told["spectra"][0]["values"], strict=True)
                if value is not None] == [2, 3, 4, 9, 10]  # fmt: skip
        output = tmp_path / "part.fits"
        assert run(["cutout", path, *options, "-o", str(output), "--overwrite"]) == 0
        part = cube().cutout(channels=[slice(1, 4), slice(8, 10)])
        np.testing.assert_array_equal(fits.getdata(output), part[...])
        assert fits.getheader(output)["CRPIX3"] == part.header["CRPIX3"]
        capsys.readouterr()
    assert run(["stats", path, "--channels", "2:4,x"]) == 2
    assert "invalid channels 'x'" in capsys.readouterr().err


@pytest.mark.once
def test_the_server_takes_lists(client: TestClient) -> None:
    channels = [slice(1, 3), slice(6, 9)]
    asked = {"id": NAME, "channels": "2:3,7:9"}
    stats = client.get("/api/v1/statistics", params=asked).json()
    expected = served().select(channels=channels).stats()
    assert (stats["count"], stats["max"]) == (expected.count, expected.max)
    spectrum = client.get("/api/v1/spectrum", params=asked | {"region": "circle(40,50,7)"}).json()
    missing = [number for number, value in enumerate(spectrum["values"], 2) if value is None]
    assert missing == [4, 5, 6]
    cutout = client.get("/api/v1/cutout", params=asked | {"region": "circle(40,50,7)"})
    part = served().cutout("circle(40,50,7)", channels=channels)
    with fits.open(io.BytesIO(cutout.content)) as file:
        np.testing.assert_array_equal(file[0].data, part[...])
        assert file[0].header["CRVAL3"] == part.header["CRVAL3"]
    size = client.get("/api/v1/cutout/size", params=asked).json()
    assert size["naxis"][2] == 8
