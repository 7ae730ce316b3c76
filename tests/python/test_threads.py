"""The GIL is released while the engine works, operations run side by side, and can be stopped."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tachyfits as tf
from fitsbytes import header, primary
from tachyfits import _core

STORED = np.zeros((8, 1024, 2048), "f4")


@pytest.fixture(scope="module")
def image() -> tf.Image:
    return tf.open(primary(STORED, [("CTYPE3", "FREQ"), ("CDELT3", 1.0)]))[0]


OPERATIONS = {
    "stats": lambda image, **options: image.stats(**options),
    "read": lambda image, **options: image.read(**options),
    "reduce": lambda image, **options: image.mean("z", **options),
    "moment": lambda image, **options: image.moment(1, **options),
    "histogram": lambda image, **options: image.histogram(9, (0.0, 1.0), **options),
    "region": lambda image, **options: image.stats(tf.Circle(500, 500, 400), **options),
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_another_python_thread_runs_during_an_operation(name: str, image: tf.Image) -> None:
    """With an endless switch interval a thread runs only while another gives the GIL up."""
    ticks = 0
    stop = threading.Event()

    def tick() -> None:
        nonlocal ticks
        while not stop.is_set():
            ticks += 1
            time.sleep(1e-5)

    interval = sys.getswitchinterval()
    other = threading.Thread(target=tick)
    sys.setswitchinterval(1000.0)
    try:
        other.start()
        seen = 0
        for _ in range(50):
            before = ticks
            OPERATIONS[name](image, threads=1)
            seen = max(seen, ticks - before)
            if seen >= 10:
                break
        assert seen >= 10
    finally:
        stop.set()
        sys.setswitchinterval(interval)
        other.join()


@pytest.fixture(scope="module")
def endless(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tf.Image]:
    """Four gigabytes of zeros that take no space: work that lasts, to be stopped by the tests."""
    path = tmp_path_factory.mktemp("endless") / "zeros.fits"
    axes = [("NAXIS1", 2048), ("NAXIS2", 2048), ("NAXIS3", 256)]
    cards = [("SIMPLE", True), ("BITPIX", -32), ("NAXIS", 3), *axes]
    head = header([*cards, ("CTYPE3", "FREQ"), ("CDELT3", 1.0)])
    with path.open("wb") as stream:
        stream.write(head)
        stream.truncate(len(head) + 2048 * 2048 * 256 * 4)
    with tf.open(path) as file:
        yield file[0]
    path.unlink()


class Stopped(Exception):
    """Raised by a progress function when the test has seen enough."""


# Reading would need the memory.
LASTING = [name for name in OPERATIONS if name != "read"]


@pytest.mark.parametrize("name", LASTING)
def test_two_operations_are_under_way_at_the_same_time(name: str, endless: tf.Image) -> None:
    """Each waits in a progress call, in the middle of its work, for the other to be in its own.

    There is one permit to compute: a thread lends it while it waits.
    """
    barrier = threading.Barrier(2, timeout=60)
    executor = _core.Executor(1)

    def meet(done: int, total: int) -> bool:
        assert done < total
        barrier.wait()
        raise Stopped

    def work() -> None:
        with executor.request(), pytest.raises(Stopped):
            OPERATIONS[name](endless, threads=1, progress=meet)

    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(work) for _ in range(2)]:
            future.result(timeout=120)


@pytest.mark.parametrize("name", OPERATIONS)
def test_progress_counts_bytes_up_to_all_of_them(name: str, image: tf.Image) -> None:
    calls: list[tuple[int, int]] = []
    OPERATIONS[name](image, progress=lambda done, total: calls.append((done, total)))
    assert calls
    assert all(0 <= done <= total for done, total in calls)
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    assert len({total for _, total in calls}) == 1
    assert calls[-1][0] == calls[-1][1] > 0


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("name", LASTING)
def test_false_stops_the_work(name: str, threads: int, endless: tf.Image) -> None:
    calls: list[tuple[int, int]] = []

    def stop(done: int, total: int) -> bool:
        calls.append((done, total))
        return False

    with pytest.raises(tf.TachyfitsError) as caught:
        OPERATIONS[name](endless, threads=threads, progress=stop)
    assert caught.value.code == "io-cancelled"
    assert len(calls) == 1
    assert calls[0][0] < calls[0][1]


def test_an_exception_in_progress_comes_out(endless: tf.Image) -> None:
    def stop(done: int, total: int) -> bool:
        raise Stopped

    with pytest.raises(Stopped):
        endless.stats(progress=stop)
    assert endless.select(section=np.s_[0]).stats().count == 2048 * 2048


def test_many_threads_share_one_image(image: tf.Image) -> None:
    with ThreadPoolExecutor(8) as pool:
        chosen = [image.select(section=np.s_[n % 8]) for n in range(32)]
        futures = [pool.submit(each.stats, threads=n % 3) for n, each in enumerate(chosen)]
        assert {future.result().count for future in futures} == {1024 * 2048}


def test_closing_during_an_operation_is_safe(tmp_path: Path) -> None:
    path = tmp_path / "image.fits"
    path.write_bytes(primary(STORED[:2]))
    file = tf.open(path)
    image = file[0]

    def close(done: int, total: int) -> bool:
        file.close()
        return True

    assert image.stats(progress=close).count == STORED[:2].size
    assert file.closed
    with pytest.raises(tf.UsageError):
        image.stats()
    with tf.open(path) as file, ThreadPoolExecutor(4) as pool:
        image = file[0]
        image.stats()
        futures = [pool.submit(image.stats) for _ in range(16)]
        file.close()
        errors = [future.exception(timeout=60) for future in futures]
    # Begun before the file was closed: the result; after: the error that says so.
    for future, error in zip(futures, errors, strict=True):
        if error is None:
            assert future.result().count == STORED[:2].size
        else:
            assert isinstance(error, tf.UsageError)
            assert "closed" in str(error)


def test_reports_give_the_cost_of_an_operation(image: tf.Image) -> None:
    report = image.stats(threads=2).report
    assert report is not None
    assert report.bytes >= STORED.nbytes
    assert report.wall_seconds > 0
    assert report.io_seconds >= 0
    assert report.compute_seconds > 0
    assert report.hidden_fraction <= 1
    assert report.threads == 2
    assert report.buffering in ("inline", "ahead", "borrowed")


#: Arguments that take integers: threads, rows of a batch, bins, HDUs.
COUNTED = {
    "open": lambda image, table, n: tf.open("made.fits", threads=n),
    "image": lambda image, table, n: image.stats(threads=n),
    "table": lambda image, table, n: table.read(threads=n),
    "batches": lambda image, table, n: table.batches(rows=n),
    "write": lambda image, table, n: table.write("no.csv", batch_rows=n),
    "arrow": lambda image, table, n: table.arrow_reader(rows=n),
    "new": lambda image, table, n: tf.write("no.fits", {"A": [1]}, threads=n),
    "array": lambda image, table, n: tf.write("no.fits", np.zeros(3), threads=n),
    "edit": lambda image, table, n: tf.edit("no.fits", threads=n),
    "verify": lambda image, table, n: tf.verify(b"", threads=n),
    "sums": lambda image, table, n: tf.update_checksums("no.fits", [n]),
    "bins": lambda image, table, n: image.histogram(n, (0.0, 1.0)),
}


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize("number", [-1, 2**63, 2**70, True, 1.5, "2", np.zeros(1, int)])
def test_numbers_that_count_nothing_are_refused(
    name: str, number: Any, image: tf.Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    tf.write("made.fits", {"A": [1, 2, 3]})
    with pytest.raises(
        tf.UsageError, match=r"expected an integer|expected numbers|expected a number|batches of"
    ):
        COUNTED[name](image, tf.open("made.fits")[1], number)
    assert [path.name for path in tmp_path.iterdir()] == ["made.fits"]


@pytest.mark.parametrize("number", [1, np.int64(2), np.uint8(2), np.array(2), 2**40])
def test_whole_numbers_of_any_library_count(number: Any, image: tf.Image, tmp_path: Path) -> None:
    path = tmp_path / "made.fits"
    tf.write(path, {"A": [1, 2, 3]}, threads=number)
    with tf.open(path, threads=number) as file:
        assert next(len(batch["A"]) for batch in file[1].batches(rows=number)) == min(number, 3)
    assert image.select(section=(0, 0)).stats(threads=number).count == 2048


def test_the_compiled_module_is_of_the_stable_abi() -> None:
    from tachyfits import _core

    assert _core.__file__ is not None
    assert ".abi3." in _core.__file__
    info = tf.info.build()
    assert info["version"] == tf.__version__
    assert info["tier"] in info["tiers"]


@pytest.mark.once
def test_the_wheel_is_tagged_for_python_3_10_and_later() -> None:
    from importlib import metadata

    wheel = metadata.distribution("tachyfits").read_text("WHEEL")
    assert wheel is not None
    tags = [line for line in wheel.splitlines() if line.startswith("Tag:")]
    assert tags
    assert all(line.startswith("Tag: cp310-abi3-") for line in tags)
