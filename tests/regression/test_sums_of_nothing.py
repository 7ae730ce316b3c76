"""A sum without a defined pixel is NaN, as its mean is; the count says 0."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient

import tachyfits as tf
from smallcubes import write_cube
from tachyfits.cli import run
from tachyfits.server.app import create_app
from tachyfits.server.settings import Settings

BEAM = {"BMAJ": 4e-3, "BMIN": 3e-3, "BPA": 20.0}
OUTSIDE = tf.Circle(50, 50, 2)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    data = np.ones((6, 5, 4), "f4")
    data[3] = np.nan
    data[:, 0, 0] = np.nan
    return write_cube(tmp_path / "cube.fits", BEAM, data=data)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "i4", "i8"])
def test_spectra_and_planes_have_no_sum_where_no_pixel_is_defined(
    tmp_path: Path, dtype: str
) -> None:
    data = np.ones((6, 5, 4), dtype)
    blank = np.nan if dtype[0] == "f" else -99
    data[3], data[:, 0, 0] = blank, blank
    cards = BEAM if dtype[0] == "f" else BEAM | {"BLANK": -99}
    cube = tf.open(write_cube(tmp_path / "cube.fits", cards, data=data))[0]
    for region in (None, "circle(2,2,1)"):
        for statistic in ("sum", "flux"):
            values = cube.spectrum(region, statistic=statistic).values
            assert np.flatnonzero(np.isnan(values)).tolist() == [3]
        assert cube.spectrum(region, statistic="count").values[3] == 0
    for values in (cube.collapse("sum").values, cube.sum("z"), cube.stats(axis="z")["sum"]):
        assert np.argwhere(np.isnan(values)).tolist() == [[0, 0]]
        assert values[1, 1] == 5.0
    sums = cube.select(section=np.s_[2:5]).reduce("sum", "xy")
    np.testing.assert_array_equal(sums, [19, np.nan, 19])
    # Sums that exist stay exact integers.
    exact = cube.select(section=np.s_[:3]).sum("xy")
    assert exact.dtype == ("f8" if dtype[0] == "f" else "i8")


@pytest.mark.filterwarnings("ignore::tachyfits.TachyfitsWarning")
def test_a_region_without_pixels_has_no_sum(path: Path) -> None:
    cube = tf.open(path)[0]
    for stats in (
        cube.stats(OUTSIDE),
        cube.select(section=np.s_[3]).stats(),
        cube.select(section=np.s_[:, 0, 0]).stats(),
    ):
        assert stats.count == 0
        assert np.isnan(stats.sum)
    merged = cube.select(section=np.s_[3]).stats().merge(cube.select(section=np.s_[2]).stats())
    assert (merged.count, merged.sum) == (19, 19.0)
    assert np.isnan(cube.select(OUTSIDE).sum(weights="exact"))
    assert np.isnan(cube.spectrum(OUTSIDE, statistic="flux", weights="exact").values).all()
    assert np.isnan(cube.select(where=cube > 5).sum())
    assert np.isnan(cube.select(OUTSIDE).collapse("sum").values).all()


def test_functions_of_numpy_are_those_of_numpy(path: Path) -> None:
    cube = tf.open(path)[0]
    pixels = cube.read()
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(np.nansum(cube, axis=0), np.nansum(pixels, axis=0))
        np.testing.assert_array_equal(np.nansum(cube, axis=(1, 2)), np.nansum(pixels, axis=(1, 2)))
    assert np.isnan(np.sum(cube, axis=(1, 2))[3])
    # Truth values are counted: nothing is 0.
    none = (cube > 3).cutout(section=np.s_[:])
    assert np.sum(none) == 0
    assert np.count_nonzero(cube > 3) == 0


def test_json_of_the_command_line_has_null(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["spectrum", str(path), "--statistic", "sum", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["spectra"][0]["values"][3] is None
    assert run(["stats", str(path), "--section", "[*,*,4]", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["statistics"]
    assert (row["count"], row["nan"], row["sum"]) == (0, 20, None)


def test_json_of_the_server_has_null(path: Path) -> None:
    with TestClient(create_app(Settings(paths=(path.parent,)))) as client:
        at = {"id": f"{path.parent.name}/{path.name}", "region": "circle(2,2,1)"}
        for statistic in ("sum", "flux"):
            answer = client.get("/api/v1/spectrum", params=at | {"statistic": statistic})
            values = answer.json()["values"]
            assert [value is None for value in values] == [False] * 3 + [True] + [False] * 2
        found = client.get("/api/v1/statistics", params=at | {"channel": 4}).json()
        assert (found["count"], found["undefined"], found["sum"]) == (0, 5, None)
