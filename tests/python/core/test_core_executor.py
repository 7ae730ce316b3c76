"""Requests that share an executor: their limits, cancelling, and the threads that enter them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import tachyfits as tf
from tachyfits import _core


@pytest.fixture
def zeros(tmp_path: Path, write: Callable[..., Path]) -> tf.Image:
    """An image of 4 MiB."""
    return tf.open(write(tmp_path / "zeros.fits", np.zeros((1024, 1024), np.float32)))[0]


def test_an_executor_has_one_thread_per_core_or_those_requested() -> None:
    assert _core.Executor().threads >= 1
    executor = _core.Executor(3)
    assert (executor.threads, executor.busy) == (3, 0)
    with pytest.raises(ValueError, match="threads"):
        _core.Executor(-1)


def test_requests_give_the_results_of_any_operation(zeros: tf.Image) -> None:
    executor = _core.Executor(2)

    def work(number: int) -> float:
        with executor.request(priority=["interactive", "normal", "background"][number % 3]):
            return zeros.stats().mean + float(zeros.median()) + float((zeros + 1).read()[5, 5])

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(work, range(12))) == [1.0] * 12
    assert executor.busy == 0


def test_more_threads_than_an_executor_has_are_not_used(zeros: tf.Image) -> None:
    with _core.Executor(1).request(), tf.reports() as reports:
        zeros.stats(threads=8)
    assert reports[0].threads == 1


def test_a_byte_budget_holds_for_all_operations_of_a_request(zeros: tf.Image) -> None:
    request = _core.Executor(2).request(bytes=9 << 20)
    with request:
        zeros.stats()
        zeros.read()
        with pytest.raises(tf.LimitError, match="byte budget exceeded: expected at most") as caught:
            zeros.stats()
        assert caught.value.code == "io-budget"
        # A computed image reads too.
        with pytest.raises(tf.LimitError, match="byte budget"):
            (zeros + 1).read()
    zeros.stats()
    # Another thread of the same request.
    with ThreadPoolExecutor(1) as pool:

        def work() -> None:
            with request:
                zeros.stats()

        with pytest.raises(tf.LimitError, match="byte budget"):
            pool.submit(work).result()


def test_a_row_and_a_pixel_are_charged_and_reported_as_all_else(zeros: tf.Image) -> None:
    token = _core.CancelToken()
    with _core.Executor(1).request(bytes=4100, token=token), tf.reports() as reports:
        assert zeros[3, 4] == 0
        assert zeros[3].shape == (1024,)
        with pytest.raises(tf.LimitError, match="byte budget"):
            zeros[3, 4]
    token.cancel()
    with _core.Executor(1).request(token=token), pytest.raises(tf.TachyfitsError) as caught:
        zeros[3, 4]
    assert caught.value.code == "io-cancelled"
    assert [report.bytes for report in reports] == [4, 4096]
    told: list[tuple[int, int]] = []
    with tf.options(progress=lambda done, total: told.append((done, total))):
        zeros[3, 4]
    assert told == [(4, 4)]
    with pytest.raises(ValueError, match="threads"):
        zeros._core_image().indexed((3, 4), -1)


def test_a_time_budget_ends_an_operation(zeros: tf.Image) -> None:
    with (
        _core.Executor(1).request(seconds=0),
        pytest.raises(tf.LimitError, match="time budget exceeded: expected at most 0 s") as caught,
    ):
        zeros.stats()
    assert caught.value.code == "io-budget"
    with _core.Executor(1).request(seconds=600):
        assert zeros.stats().mean == 0


def test_a_token_cancels_from_another_thread(zeros: tf.Image) -> None:
    token = _core.CancelToken()
    executor = _core.Executor(1)
    told = threading.Event()

    def work() -> None:
        with executor.request(token=token):
            while True:
                zeros.smooth("boxcar", 9, axis="x").read()
                told.set()

    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(work)
        assert told.wait(60)
        assert not token.cancelled
        token.cancel()
        with pytest.raises(tf.TachyfitsError) as caught:
            future.result(timeout=60)
    assert (caught.value.code, token.cancelled, executor.busy) == ("io-cancelled", True, 0)


def test_inner_requests_end_before_outer_ones(zeros: tf.Image) -> None:
    outer, inner = _core.Executor(1).request(seconds=0), _core.Executor(1).request()
    with outer:
        with inner:
            zeros.stats()
        with pytest.raises(tf.LimitError):
            zeros.stats()
    zeros.stats()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"priority": "urgent"}, "interactive"),
        ({"seconds": -1.0}, "seconds"),
        ({"seconds": float("nan")}, "seconds"),
        ({"bytes": -1}, "bytes"),
    ],
)
def test_invalid_limits_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _core.Executor(1).request(**options)  # type: ignore[arg-type]
