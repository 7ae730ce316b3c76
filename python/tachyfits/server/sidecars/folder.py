"""Folder: where sidecars lie, which are complete, and which give way to others.

A sidecar is a folder NAME.zarr. While it is built it has another name, so that its own name means
that it is complete. It is renamed before it is removed: a read after which the name is still there
has met no missing chunk.
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

#: Counts changes of the layout of sidecars: those of another one are not read.
_FORMAT = 2


class Folder:
    """The sidecars of a cache folder, which several servers may share.

    Parameters
    ----------
    path
        The folder; it is made when the first sidecar is.
    budget
        Bytes of all sidecars: the ones used longest ago give way.
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
        """Return the folder of a complete sidecar; None where it is not."""
        found = self.path / f"{name}.zarr"
        return found if found.is_dir() else None

    def used(self, name: str) -> None:
        """Note that a sidecar is used, so that others give way first."""
        with contextlib.suppress(OSError):
            os.utime(self.path / f"{name}.zarr")

    def building(self, name: str) -> Path:
        """Return the folder of a sidecar while it is built."""
        return self.path / f"{name}.building"

    def under_way(self, name: str) -> Path:
        """Make that folder; what another process began stays."""
        found = self.building(name)
        found.mkdir(parents=True, exist_ok=True)
        return found

    def publish(self, name: str) -> None:
        """Give a sidecar its name: it is complete."""
        self.building(name).rename(self.path / f"{name}.zarr")

    def remove(self, name: str) -> None:
        """Remove a sidecar, complete or not."""
        for ending in ("zarr", "building"):
            self._remove(self.path / f"{name}.{ending}")

    def make_room(self, wanted: int, keep: str) -> bool:
        """Remove what was used longest ago until there is room; say whether there is."""
        if wanted > self.budget:
            return False
        sizes = {entry: _bytes_of(entry) for entry in self._entries() if keep not in entry.name}
        total = sum(sizes.values())
        for entry in sorted(sizes, key=_time_of):
            if total + wanted <= self.budget:
                break
            # One that another server builds is not ours to remove.
            if entry.suffix == ".building" and time.time() - _time_of(entry) < 86400:
                continue
            total -= sizes[entry]
            self._remove(entry)
        return total + wanted <= self.budget

    def _entries(self) -> list[Path]:
        if not self.path.is_dir():
            return []
        return [entry for entry in self.path.iterdir() if entry.suffix in (".zarr", ".building")]

    def _remove(self, entry: Path) -> None:
        gone = entry.with_suffix(f".gone{os.getpid()}")
        with contextlib.suppress(OSError):
            entry.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)

    @contextlib.contextmanager
    def lock(self, name: str) -> Iterator[bool]:
        """Hold the right to build a sidecar; it goes with the process. False: another has it."""
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
        """Say whether a server builds a sidecar now."""
        try:
            return is_held(self.path / f"{name}.lock")
        except OSError:
            return False


def _bytes_of(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.stat(os.path.join(place, name)).st_size
    return total


def _time_of(folder: Path) -> float:
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0
