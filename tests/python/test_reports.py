"""Costs are returned with results, and collected by blocks."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import tachyfits as tf
from fitsbytes import primary

PIXELS = np.arange(24, dtype="f4").reshape(2, 3, 4)


@pytest.fixture
def cube() -> tf.Image:
    return tf.open(primary(PIXELS))[0]


def test_results_have_the_report_of_their_operation(cube: tf.Image) -> None:
    box = tf.Box(0, 0, 2, 2)
    results = [
        cube.stats(),
        cube.collapse("mean"),
        cube.collapse("max_channel"),
        *cube.moments((0, 1)),
        cube.spectrum(),
        *cube.spectrum([box, box]),
    ]
    for result in results:
        assert result.report is not None
        assert result.report.bytes > 0
    assert not hasattr(cube, "last_report")


def test_merged_and_pickled_statistics_have_no_report(cube: tf.Image) -> None:
    first, second = cube.select(section=0).stats(), cube.select(section=1).stats()
    assert first.merge(second).report is None
    assert pickle.loads(pickle.dumps(first)).report is None
    assert first == pickle.loads(pickle.dumps(first))


def test_blocks_collect_every_operation_of_their_thread(cube: tf.Image, tmp_path: Path) -> None:
    with tf.reports() as outer:
        cube.mean()
        with tf.reports() as inner, ThreadPoolExecutor(1) as pool:
            cube[1]
            pool.submit(cube.median).result()
        cube.smooth("hanning", axis="z").write(tmp_path / "smooth.fits")
    cube.mean()
    assert [report.bytes for report in inner] == [48]
    assert [report.bytes for report in outer[:2]] == [96, 48]
    assert len(outer) == 3
    assert outer[2].write_seconds > 0


def test_a_block_that_fails_stops_collecting(cube: tf.Image) -> None:
    with pytest.raises(ZeroDivisionError), tf.reports() as reports:
        raise ZeroDivisionError
    cube.mean()
    assert reports == []


def test_columns_and_records_report_their_cost(tmp_path: Path) -> None:
    tf.write(tmp_path / "table.fits", {"N": np.arange(5)})
    tf.fortran.write(tmp_path / "records", [np.arange(5.0)])
    with tf.reports() as reports:
        tf.open(tmp_path / "table.fits")[1].read("N")
        tf.fortran.open(tmp_path / "records").stats("f8")
    assert [report.bytes for report in reports] == [40, 40]
