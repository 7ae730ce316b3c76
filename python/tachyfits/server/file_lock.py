"""File locks of the operating system, released when the process that holds them ends."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows: without locks between processes
    fcntl = None

#: Seconds to wait for a lock, which `is_held` takes briefly, and between two attempts.
_PATIENCE, _AGAIN = 0.2, 0.01


def hold(path: Path, mode: int = 0o666) -> int | None:
    """Create and lock a file; return its descriptor, or None if another process holds the lock."""
    path.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + _PATIENCE
    while True:
        handle = os.open(path, os.O_CREAT | os.O_RDWR | getattr(os, "O_CLOEXEC", 0), mode)
        if _locked(handle, shared=False) and _is_at(path, handle):
            return handle
        os.close(handle)
        if time.monotonic() > deadline:
            return None
        time.sleep(_AGAIN)


def is_held(path: Path) -> bool:
    """Return whether a process holds the lock of a file."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        return not _locked(handle, shared=True)
    finally:
        os.close(handle)


def _locked(handle: int, *, shared: bool) -> bool:
    """Try to lock a file; return whether it worked."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _is_at(path: Path, handle: int) -> bool:
    """Return whether an open file is still at its path; its owner may have removed it."""
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except OSError:
        return False
