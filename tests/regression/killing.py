"""Child processes that are killed while they change a file: what that leaves behind is tested."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path


def journal_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.tachyfits-undo")


def _child(change: Callable[[], object]) -> int:
    child = os.fork()
    if child:
        return child
    try:
        change()
    finally:
        os._exit(0)


def kill_after(seconds: float, change: Callable[[], object]) -> bool:
    """Kill a child so long after it begins a change; return whether it was still at it."""
    child = _child(change)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def interrupt(path: Path, change: Callable[[], object]) -> bytes:
    """Kill a child that has written a part of its change of a file; return the bytes before.

    The change must be large enough to take longer than it takes to see it begin.
    """
    old, journal = path.read_bytes(), journal_of(path)
    for attempt in range(80):
        before = path.stat()
        child = _child(change)
        while not os.waitpid(child, os.WNOHANG)[0]:
            now = path.stat()
            has_begun = (now.st_mtime_ns, now.st_size) != (before.st_mtime_ns, before.st_size)
            if has_begun and journal.exists():
                # The system may set the time before it has the bytes: later from time to time.
                time.sleep((attempt % 40) * 2.5e-4)
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                break
        # Neither too early nor too late: something is written, and not all of it.
        is_writing = journal.exists() and journal.read_bytes()[16:24] == b"writing "
        if is_writing and path.read_bytes() != old:
            return old
        journal.unlink(missing_ok=True)
        path.unlink()
        path.write_bytes(old)
    raise AssertionError("the change was over each time, or had not begun")
