"""Reductions by tasks of dask have the bits of one process, whatever the parts."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits
from hypothesis import given, settings
from hypothesis import strategies as st

import tachyfits as tf
from tachyfits.base.cluster import current
from tachyfits.interop import dask_reductions
from tachyfits.writing import shared
from test_units import beams_cube

pytestmark = pytest.mark.once

STATISTICS = [*(one.name for one in tf.info.statistics()), "percentile12.5"]

#: More percentiles than the engine searches one by one.
MANY = [0, 1, 10, 25, 33.3, 50, 66.6, 75, 90, 99.9, 100]

#: Measurements of an image, by their names.
MEASURES: dict[str, Callable[[tf.Image], Any]] = {
    "stats": lambda image: repr(image.stats()),
    "stats of regions": lambda image: repr(image.stats([tf.Circle(9, 8, 6), tf.Box(3, 4, 5, 6)])),
    "stats of planes": lambda image: list(image.stats(axis="xy").items()),
    "mean": lambda image: image.mean(),
    "every statistic": lambda image: [
        [name, image.reduce(name, ddof=1), image.select(tf.Circle(9, 8, 6)).reduce(name)]
        for name in STATISTICS
    ],
    "statistics of nothing": lambda image: [
        image.select(where="> 1e9 K").reduce(name) for name in STATISTICS
    ],
    "sum along z": lambda image: image.sum(axis="z"),
    "std along xz": lambda image: image.std(axis="xz", keepdims=True),
    "kurtosis along y": lambda image: image.reduce("kurtosis", axis="y"),
    "max position": lambda image: image.reduce("max_position", axis="yz"),
    "spectrum": lambda image: image.spectrum().values,
    "spectra": lambda image: [
        spectrum.values for spectrum in image.spectrum([tf.Circle(9, 8, 6), tf.Circle(2, 2, 3)])
    ],
    "spectrum of shares": lambda image: image.spectrum(
        tf.Circle(9, 8, 5.2), weights="exact"
    ).values,
    "flux": lambda image: image.select(tf.Circle(9, 8, 6)).spectrum(statistic="mean").header,
    "moments": lambda image: [p.values for p in image.moments((0, 1, 2), unit="km/s")],
    "moment of a selection": lambda image: image.select(
        tf.Circle(9, 8, 7), channels=slice(2, 9), where="> 0.5 K"
    ).moment(1).values,
    "peak": lambda image: image.collapse("max_coordinate", unit="km/s").values,
    "header of a plane": lambda image: image.collapse("max").header,
    "median": lambda image: image.median(),
    "median along z": lambda image: image.median(axis="z"),
    "percentiles of planes": lambda image: image.percentile([10, 90], axis="xy"),
    "median of regions": lambda image: [
        image.select([tf.Circle(9, 8, 6), tf.Box(3, 4, 5, 6)]).percentile([0, 33.3, 100]),
        image.select(section=np.s_[8:2:-2, ::3, 1:]).median(),
    ],
    "mad of all pixels": lambda image: image.mad(),
    "mad of a region": lambda image: image.select(tf.Circle(9, 8, 6)).mad(),
    "robust rms of planes": lambda image: image.robust_rms(per_plane=True),
    "robust rms": lambda image: image.robust_rms(),
    "histogram": lambda image: (image.histogram(bins=7).counts, image.histogram(bins=7).edges),
    "histogram of a region": lambda image: image.select(tf.Box(3, 3, 4, 4)).histogram().counts,
}  # fmt: skip


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tf.Image]:
    rng = np.random.default_rng(3)
    values = rng.normal(size=(11, 23, 19)) * 10 ** rng.uniform(-3, 3, (11, 23, 19))
    values[rng.random(values.shape) < 0.02] = np.nan
    cards = {
        "CTYPE1": "RA---SIN", "CTYPE2": "DEC--SIN", "CTYPE3": "FREQ", "CUNIT3": "Hz", "BUNIT": "K",
        "CRVAL1": 10.0, "CRVAL2": 20.0, "CRVAL3": 1e9, "CRPIX1": 3.0, "CRPIX2": 4.0, "CRPIX3": 1.0,
        "CDELT1": -1e-3, "CDELT2": 1e-3, "CDELT3": 1e5, "RESTFRQ": 1e9,
    }  # fmt: skip
    path = tmp_path_factory.mktemp("cluster") / "cube.fits"
    fits.PrimaryHDU(values.astype("f4"), fits.Header(cards)).writeto(path)
    with tf.open(path) as file:
        yield file[0]


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("chunk", [1, 3000, 10**9])
def test_every_number_has_the_bits_of_one_process(image: tf.Image, name: str, chunk: int) -> None:
    measure = MEASURES[name]
    with tf.distributed.on("synchronous", chunk=chunk):
        found = measure(image)
    assert current() is None
    np.testing.assert_equal(found, measure(image))


def test_other_processes_measure_the_file(image: tf.Image, tmp_path: Path) -> None:
    image.write(tmp_path / "packed.fits", compress="RICE_1")
    packed = tf.open(tmp_path / "packed.fits").image()
    for one in (image, packed, image * 2, image.cutout(tf.Box(4, 4, 9, 9))):
        with tf.distributed.on("processes", chunk=9000):
            found = one.spectrum().values, one.moment(0).values, one.stats(axis="xy")["std"]
        np.testing.assert_array_equal(found[0], one.spectrum().values)
        np.testing.assert_array_equal(found[1], one.moment(0).values)
        np.testing.assert_array_equal(found[2], one.stats(axis="xy")["std"])


def test_functions_take_what_methods_take(image: tf.Image) -> None:
    plane = tf.distributed.moment(image, 1, unit="km/s", client="threads", chunk="4 kB")
    assert plane.unit == "km s-1"
    np.testing.assert_array_equal(plane.values, image.moment(1, unit="km/s").values)
    assert tf.distributed.median(image, client="threads") == image.median()
    for name in tf.distributed.__all__:
        assert getattr(tf.distributed, name).__doc__


def test_bad_chunks_are_refused(image: tf.Image) -> None:
    for chunk in ("a lot", 0, -5, None):
        with pytest.raises(tf.UsageError, match="invalid chunk"):
            tf.distributed.stats(image, client="threads", chunk=chunk)


def test_a_worker_that_dies_changes_no_bit(image: tf.Image) -> None:
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        first = tf.distributed.moment(image, 1, client=client, chunk=2000)
        np.testing.assert_array_equal(first.values, image.moment(1).values)
        workers = list(client.run(os.getpid).values())
        os.kill(workers[0], signal.SIGKILL)
        again = tf.distributed.median(image, axis="z", client=client, chunk=2000)
        np.testing.assert_array_equal(again, image.median(axis="z"))


@pytest.mark.parametrize("most", [0, 3, 100])
def test_ranks_are_narrowed_until_values_fit(
    image: tf.Image, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_reductions, "_KEPT", most)
    steps = np.round(np.asarray(image)).clip(-3, 3)
    steps[2, 3, 4] = np.inf
    few = tf.open(fits_bytes(steps))[0]
    for one in (image, few, image * 0, -(image * 0), image * 1e-320):
        with tf.distributed.on("synchronous", chunk=3000):
            found = one.median(), one.mad(), one.percentile(MANY)
        np.testing.assert_equal(found, (one.median(), one.mad(), one.percentile(MANY)))


def fits_bytes(values: Any) -> bytes:
    stream = io.BytesIO()
    fits.PrimaryHDU(values).writeto(stream)
    return stream.getvalue()


@pytest.mark.parametrize("chunk", [1500, "1 MB"])
def test_a_file_has_the_bytes_of_one_process(image: tf.Image, chunk: Any, tmp_path: Path) -> None:
    for one in (image * 2, image.cutout(tf.Box(4, 4, 9, 9)), image.smooth("hanning", axis="z")):
        one.write(tmp_path / "one.fits", overwrite=True)
        path = tmp_path / "several.fits"
        tf.distributed.write(one, path, overwrite=True, client="processes", chunk=chunk)
        assert path.read_bytes() == (tmp_path / "one.fits").read_bytes()
    assert {entry.name for entry in tmp_path.iterdir()} == {"one.fits", "several.fits"}


def check_sums(image: tf.Image, folder: Path, client: str, chunk: int) -> None:
    image.write(folder / "one.fits", overwrite=True, checksum=True)
    path = folder / "several.fits"
    tf.distributed.write(image, path, overwrite=True, checksum=True, client=client, chunk=chunk)
    assert path.read_bytes() == (folder / "one.fits").read_bytes()
    assert tf.open(path)[0].checksum().ok


@pytest.mark.parametrize("chunk", [997, 6000, 1 << 20])
def test_merged_sums_are_those_of_one_process(image: tf.Image, chunk: int, tmp_path: Path) -> None:
    for one in (image * 2, image * 0, image.cutout(tf.Box(4, 4, 9, 9))):
        check_sums(one, tmp_path, "threads", chunk)


def test_other_processes_sum_what_they_write(image: tf.Image, tmp_path: Path) -> None:
    check_sums(image * 2, tmp_path, "processes", 6000)


@pytest.mark.parametrize("cards", range(28, 34))
def test_cards_of_sums_may_need_another_block(cards: int, tmp_path: Path) -> None:
    hdu = fits.PrimaryHDU(np.arange(50, dtype="i2"))
    hdu.header.extend([(f"CARD{number}", number) for number in range(cards)])
    hdu.writeto(tmp_path / "cards.fits")
    check_sums(tf.open(tmp_path / "cards.fits")[0] + 1, tmp_path, "synchronous", 30)


def test_sums_of_the_original_are_not_those_of_the_image(tmp_path: Path) -> None:
    tf.write(tmp_path / "sums.fits", np.arange(50, dtype="i2"), checksum=True)
    check_sums(tf.open(tmp_path / "sums.fits")[0] + 1, tmp_path, "synchronous", 30)


@pytest.mark.parametrize("chunk", [3000, 1 << 20])
def test_tables_of_an_image_state_their_sums_too(chunk: int, tmp_path: Path) -> None:
    check_sums(beams_cube(tmp_path / "beams.fits") * 2, tmp_path, "threads", chunk)
    assert tf.open(tmp_path / "several.fits")["BEAMS"].checksum().ok


def test_a_failed_write_leaves_nothing(image: tf.Image, tmp_path: Path) -> None:
    path = tmp_path / "new.fits"
    with pytest.raises(tf.UsageError, match="found one of a file"):
        tf.distributed.write(image, path, client="threads")
    path.write_bytes(b"old")
    with pytest.raises(tf.IoError, match="exists"):
        tf.distributed.write(image * 2, path, client="threads")

    def failed(*arguments: Any) -> None:
        raise RuntimeError("a worker failed")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared, "_write", failed)
        with pytest.raises(RuntimeError, match="a worker failed"):
            tf.distributed.write(image * 2, path, overwrite=True, client="threads")
    assert {entry.name: entry.read_bytes() for entry in tmp_path.iterdir()} == {"new.fits": b"old"}


def test_a_replaced_file_keeps_its_rights_and_its_link(image: tf.Image, tmp_path: Path) -> None:
    path, link = tmp_path / f"{'x' * 250}.fits", tmp_path / "link.fits"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)
    tf.distributed.write(image * 2, link, overwrite=True, client="threads", chunk=4000)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640
    np.testing.assert_array_equal(tf.open(path)[0].read(), image.read() * 2)


@pytest.mark.parametrize("scheduler", ["processes", "threads"])
def test_warnings_of_tasks_are_given_here_once(
    image: tf.Image, scheduler: str, tmp_path: Path
) -> None:
    path = tmp_path / "damaged.fits"
    image.write(path, compress="GZIP_1")
    content = bytearray(path.read_bytes())
    content[-3200:-3100] = bytes(100)
    path.write_bytes(content)
    damaged = tf.open(path, damaged="nan").image()
    with pytest.warns(tf.TachyfitsWarning, match="damaged") as seen:
        stats = tf.distributed.stats(damaged, client=scheduler, chunk=3000)
    assert len({str(one.message) for one in seen}) == len(seen)
    assert stats.nan > image.stats().nan


@settings(max_examples=20)
@given(
    shape=st.tuples(st.integers(1, 9), st.integers(1, 70), st.sampled_from([1, 2, 17, 300, 9001])),
    kind=st.sampled_from(["f4", "f8", "i2", "i4"]),
    statistic=st.sampled_from([one.name for one in tf.info.statistics()]),
    axis=st.sampled_from(["x", "y", "z", "xy", "xz", "yz", "xyz"]),
    parts=st.integers(1, 9),
    seed=st.integers(0, 99),
)
def test_additions_do_not_depend_on_the_lengths_of_kept_axes(
    shape: tuple[int, int, int], kind: str, statistic: str, axis: str, parts: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    values = (rng.normal(size=shape) * 10 ** rng.uniform(-3, 3, shape)).astype(kind)
    image = tf.open(fits_bytes(values))[0]
    with tf.distributed.on("synchronous", chunk=max(1, values.nbytes // parts)):
        found = image.reduce(statistic, axis=axis)
    np.testing.assert_array_equal(found, image.reduce(statistic, axis=axis))
