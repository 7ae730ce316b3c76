"""Named pipes: waiting for a writer ends at Ctrl-C, and changing one is refused at once."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tachyfits as tf
from tachyfits import fortran
from tachyfits.cli import run

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")

WAITS = {
    "open": "tf.open(path)", "verify": "tf.verify(path)", "diff": "tf.diff(path, path)",
    "fortran.open": "fortran.open(path)", "command": "sys.exit(run(['stats', path]))",
}  # fmt: skip


@pytest.fixture
def pipe(tmp_path: Path) -> str:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return str(path)


@pytest.mark.parametrize("call", WAITS)
@pytest.mark.parametrize("has_writer", [False, True])
def test_waiting_ends_at_an_interrupt(pipe: str, call: str, has_writer: bool) -> None:
    code = (
        "import signal, sys\nimport tachyfits as tf\nfrom tachyfits import fortran\n"
        "from tachyfits.cli import run\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"path = {pipe!r}\nprint('ready', flush=True)\n{WAITS[call]}"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    # The reader must be there first: opening for writing would wait for it.
    writer = os.open(pipe, os.O_RDWR) if has_writer else None
    try:
        if writer is not None:
            os.write(writer, b"SIMPLE  = ")
        time.sleep(0.5)
        for _ in range(40):
            child.send_signal(signal.SIGINT)
            try:
                child.wait(0.5)
                break
            except subprocess.TimeoutExpired:
                continue
        assert child.returncode in (-signal.SIGINT, 1, 130)
        assert "KeyboardInterrupt" in (said := child.communicate()[1]) or "interrupted" in said
    finally:
        child.kill()
        child.wait()
        if writer is not None:
            os.close(writer)


def fed(path: str, content: bytes) -> threading.Thread:
    thread = threading.Thread(target=lambda: Path(path).write_bytes(content))
    thread.start()
    return thread


def test_what_a_pipe_gives_is_read_to_its_end(pipe: str, tmp_path: Path) -> None:
    pixels = np.arange(120_000.0).reshape(300, 400)
    tf.write(tmp_path / "a.fits", pixels)
    fortran.write(tmp_path / "r.dat", pixels)
    plain, records = (tmp_path / "a.fits").read_bytes(), (tmp_path / "r.dat").read_bytes()
    cases: list[tuple[bytes, Callable[[], Any]]] = [
        (plain, lambda: tf.open(pipe)[0].sum() == pixels.sum()),
        (gzip.compress(plain), lambda: tf.open(pipe)[0].sum() == pixels.sum()),
        (plain, lambda: tf.verify(pipe).ok),
        (records, lambda: len(fortran.open(pipe)) == 1),
    ]
    for content, holds in cases:
        thread = fed(pipe, content)
        assert holds()
        thread.join()


def test_a_pipe_cannot_be_changed(pipe: str) -> None:
    calls: list[Callable[[str], Any]] = [
        tf.edit, tf.repair, tf.update_checksums, lambda path: fortran.append(path, 1.0),
        lambda path: tf.write(path, np.ones(3), overwrite=True),
        lambda path: fortran.write(path, 1.0, overwrite=True),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(tf.IoError, match="expected a regular file") as refused:
            call(pipe)
        assert refused.value.code == "io-not-a-file"
    for ending in ("csv", "parquet", "arrow"):
        os.mkfifo(f"{pipe}.{ending}")
        assert run(["table", f"{pipe}.{ending}"]) == 1
