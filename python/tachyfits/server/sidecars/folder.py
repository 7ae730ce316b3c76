"""Folder: storage of sidecars, their completion, and eviction.

A complete sidecar is a folder NAME.zarr; during the build the folder has another name. A sidecar is
renamed before it is removed: if the name still exists after a read, no chunk was missing.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

from tachyfits.server.datasets import OpenFile
from tachyfits.server.file_lock import hold, is_held

#: Version of the layout of sidecars; other versions are not read.
_FORMAT = 2


class Folder:
    """The sidecars in a cache folder, which several servers may share.

    Parameters
    ----------
    path
        The folder; created with the first sidecar.
    budget
        Maximum bytes of all sidecars; the least recently used ones are evicted.
    """

    def __init__(self, path: Path, budget: int) -> None:
        self.path = path
        self.budget = budget

    @staticmethod
    def name(file: OpenFile, hdu: int, kind: str) -> str:
        """Return the name of a sidecar of this version of a file."""
        text = f"{_FORMAT}\0{file.target.address}\0{file.version.unique}\0{hdu}"
        return f"{hashlib.sha256(text.encode()).hexdigest()[:32]}-{kind}"

    def complete(self, name: str) -> Path | None:
        """Return the folder of a complete sidecar; None if it is incomplete or missing."""
        path = self.path / f"{name}.zarr"
        return path if path.is_dir() else None

    def used(self, name: str) -> None:
        """Record a use of a sidecar, so that others are evicted first."""
        with contextlib.suppress(OSError):
            os.utime(self.path / f"{name}.zarr")

    def building(self, name: str) -> Path:
        """Return the folder of a sidecar during the build."""
        return self.path / f"{name}.building"

    def under_way(self, name: str) -> Path:
        """Create the folder for the build; keep the work of another process."""
        path = self.building(name)
        path.mkdir(parents=True, exist_ok=True)
        return path

    def publish(self, name: str) -> None:
        """Rename a sidecar to mark it as complete."""
        self.building(name).rename(self.path / f"{name}.zarr")

    def remove(self, name: str) -> None:
        """Remove a sidecar, complete or not."""
        for suffix in ("zarr", "building"):
            self._remove(self.path / f"{name}.{suffix}")

    def make_room(self, size: int, keep: str) -> bool:
        """Evict the least recently used sidecars; return whether ``size`` bytes fit."""
        if size > self.budget:
            return False
        sizes = {entry: _bytes_of(entry) for entry in self._entries() if keep not in entry.name}
        total = sum(sizes.values())
        for entry in sorted(sizes, key=_time_of):
            if total + size <= self.budget:
                break
            # Do not remove a sidecar that another server is building.
            if entry.suffix == ".building" and time.time() - _time_of(entry) < 86400:
                continue
            total -= sizes[entry]
            self._remove(entry)
        return total + size <= self.budget

    def _entries(self) -> list[Path]:
        if not self.path.is_dir():
            return []
        return [entry for entry in self.path.iterdir() if entry.suffix in (".zarr", ".building")]

    def _remove(self, entry: Path) -> None:
        renamed = entry.with_suffix(f".gone{os.getpid()}")
        with contextlib.suppress(OSError):
            entry.rename(renamed)
        shutil.rmtree(renamed, ignore_errors=True)

    @contextlib.contextmanager
    def lock(self, name: str) -> Iterator[bool]:
        """Lock a sidecar for building; yield False if another process holds the lock."""
        path = self.path / f"{name}.lock"
        handle = hold(path)
        if handle is None:
            yield False
            return
        try:
            yield True
        finally:
            path.unlink(missing_ok=True)
            os.close(handle)

    def is_locked(self, name: str) -> bool:
        """Return whether a server is building a sidecar."""
        try:
            return is_held(self.path / f"{name}.lock")
        except OSError:
            return False


def _bytes_of(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.stat(os.path.join(parent, name)).st_size
    return total


def _time_of(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0
