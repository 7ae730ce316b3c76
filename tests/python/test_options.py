"""Options of the process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tachyfits as tf
from fitsbytes import primary


def test_progress_of_the_options_is_told_and_forgotten() -> None:
    image = tf.open(primary(np.ones((30, 40), "f4")))[0]
    told: list[tuple[int, int]] = []
    own: list[tuple[int, int]] = []
    with tf.options(progress=lambda done, total: told.append((done, total))):
        image.stats()
        assert told[-1] == (4800, 4800)
        told.clear()
        image.stats(progress=lambda done, total: own.append((done, total)))
        assert (told, own[-1]) == ([], (4800, 4800))
    image.stats()
    assert told == []
    assert tf.options.progress is None


def test_progress_of_the_options_can_stop_work() -> None:
    def stop(done: int, total: int) -> bool:
        raise ZeroDivisionError

    image = tf.open(primary(np.ones((30, 40), "f4")))[0]
    with tf.options(progress=stop), pytest.raises(ZeroDivisionError):
        image.stats()
    assert image.stats().count == 1200


def test_threads_of_the_options_serve_operations_that_are_given_none() -> None:
    image = tf.open(primary(np.ones((30, 40), "f4")))[0]
    with tf.options(threads=1):
        assert tf.options.threads == 1
        report = image.stats().report
        assert report is not None
        assert report.threads == 1
    assert tf.options.threads == 0


@pytest.mark.parametrize("threads", ["two", 1.5, -1])
def test_invalid_threads_leave_the_options_as_they_were(threads: object) -> None:
    with pytest.raises(tf.UsageError, match="threads"):
        tf.options.threads = threads  # type: ignore[assignment]
    assert tf.options.threads == 0


def test_progress_is_a_function() -> None:
    with pytest.raises(tf.UsageError, match="invalid progress 3: expected a function"):
        tf.options.progress = 3  # type: ignore[assignment]
    assert tf.options.progress is None


@pytest.mark.parametrize("maps", [True, False])
def test_without_maps_the_signals_of_the_process_are_left_alone(maps: bool, tmp_path: Path) -> None:
    path = tmp_path / "image.fits"
    path.write_bytes(primary(np.ones((400, 400), "f4")))
    program = f"""
import signal
import tachyfits as tf

tf.options.maps = {maps}
assert tf.open({str(path)!r})[0].sum() == 160_000
status = open("/proc/self/status").read()
caught = int(status.split("SigCgt:")[1].split()[0], 16)
print(bool(caught >> (signal.SIGBUS - 1) & 1))
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (found.stdout, found.stderr) == (f"{maps}\n", "")
