"""Datasets: the served files and folders, by IDs that do not reveal paths.

An ID is the name of a served file, or the name of a served folder and a path below it, such as
"cubes/2024/co.fits".
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import tachyfits as tf
from tachyfits.base import printable
from tachyfits.server.decoding import check_tile, tile_bytes
from tachyfits.server.errors import Changed, NotFound
from tachyfits.server.targets import (
    ENDINGS,
    MOST_ENTRIES,
    LocalTarget,
    RemoteTarget,
    Target,
    Version,
)
from tachyfits.server.view import View

#: Suffixes of files that are compressed as a whole.
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")

#: Maximum number of files that stay open.
_OPEN = 64


@dataclass(frozen=True)
class Entry:
    """A file or a folder in a listing."""

    id: str
    name: str
    is_folder: bool
    bytes: int = 0
    modified: float = 0.0


class OpenFile:
    """An open file of one version, with the views of its images."""

    def __init__(self, name: str, target: Target, version: Version, memory: int) -> None:
        self.name = name
        self._memory = memory
        self.target = target
        self.version = version
        self._file = target.open(version)
        self._lock = threading.Lock()
        self._views: dict[int, View] = {}
        self.check()

    @property
    def resident_bytes(self) -> int:
        """Bytes of its content in memory; 0 unless it is a small compressed file."""
        return self._file.size_bytes if self._file.storage == "memory" else 0

    @property
    def tile_bytes(self) -> int:
        """Bytes of the largest decoded tile of the viewed images."""
        with self._lock:
            return max((view.tile_bytes for view in self._views.values()), default=0)

    @property
    def stem(self) -> str:
        """The name of the file without folders and suffixes."""
        name = self.name.rpartition("/")[2]
        for suffix in (*COMPRESSED, ".fz", ".fits", ".fit", ".fts"):
            name = name.removesuffix(suffix)
        return name

    def check(self) -> None:
        """Raise `Changed` if the file was replaced or modified since it was opened.

        Also called after each read, so that an answer never mixes bytes of two versions.
        """
        if not self.target.check(self.version):
            raise Changed(f"{self.name}: the file changed while it was read")

    def images(self) -> list[tf.Image]:
        """Return the images that have pixels, in the order of the file."""
        with self._lock:
            return [
                hdu
                for hdu in self._file
                if isinstance(hdu, tf.Image) and hdu.ndim >= 1 and hdu.size
            ]

    def tables(self) -> list[tf.Table]:
        """Return the tables, in the order of the file."""
        with self._lock:
            return [hdu for hdu in self._file if isinstance(hdu, tf.Table)]

    def view(self, hdu: int | None) -> View:
        """Return the view of an image; by default the first one, preferably with two axes."""
        if hdu is None:
            images = sorted(self.images(), key=lambda image: image.ndim < 2)
            if not images:
                raise NotFound(f"{self.name}: no HDU is an image with pixels")
            hdu = images[0].index
        with self._lock:
            if hdu not in self._views:
                if not 0 <= hdu < len(self._file):
                    last = len(self._file) - 1
                    raise NotFound(f"{self.name}: HDU {hdu} is not one of 0 to {last}")
                image = self._file[hdu]
                if not isinstance(image, tf.Image) or image.ndim < 1 or not image.size:
                    raise NotFound(f"{self.name}: HDU {hdu} is not an image with pixels")
                check_tile(tile_bytes(image), self._memory)
                view = View(image)
                self.check()
                self._views[hdu] = view
            return self._views[hdu]


class Datasets:
    """The files under some paths and URLs."""

    def __init__(self, paths: Sequence[Path | str], memory: int = 1 << 29) -> None:
        self._roots: dict[str, Target] = {}
        #: Maximum bytes of a decoded tile, and of the content of all open files.
        self._memory = memory
        self._opening: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()
        self._open: OrderedDict[str, OpenFile] = OrderedDict()
        for path in paths:
            self.add(path)

    def add(self, path: Path | str) -> str:
        """Serve another file or folder and return its ID; an already served path keeps its ID.

        A string is a URL.
        """
        target: Target
        if isinstance(path, str):
            target = RemoteTarget.served(path)
        else:
            target = LocalTarget(path.resolve(strict=True))
        with self._lock:
            name = original = printable(target.name) or "root"
            count = 1
            while self._roots.get(name, target) != target:
                count += 1
                name = f"{original}-{count}"
            self._roots[name] = target
        return name

    def target(self, name: str) -> Target:
        """Return the file or folder of an ID.

        Raises
        ------
        NotFound
            It does not exist, or it is outside the served folders; both have the same message.
        """
        not_found = NotFound(f"unknown ID {name[:200]!r}")
        root_name, _, path = name.partition("/")
        root = self._roots.get(root_name)
        parts = path.split("/") if path else []
        if root is None or any(part in ("", ".", "..") or "\0" in part for part in parts):
            raise not_found
        target = root.below(parts)
        if target is None:
            raise not_found
        return target

    def is_complete(self) -> bool:
        """Return whether all served local paths exist; remote ones are not checked."""
        targets = self._roots.values()
        return all(at.path.exists() for at in targets if isinstance(at, LocalTarget))

    def __len__(self) -> int:
        """Return the number of open files."""
        return len(self._open)

    def hidden(self, text: str) -> str:
        """Replace local paths in a message by IDs."""
        # Replace the longest path first: a served file may be inside a served folder.
        for name, root in sorted(self._roots.items(), key=lambda item: -len(item[1].address)):
            replacement = name.replace("\\", r"\\")
            if isinstance(root, LocalTarget) and root.path == Path(root.path.anchor):
                text = re.sub(r"(?<![\w./])/(?=[\w.])", f"{replacement}/", text)
            else:
                address = re.escape(printable(root.shown))
                text = re.sub(rf"{address}(?!\w)", replacement, text)
        return text

    def open(self, name: str, *, keep: bool = True) -> OpenFile:
        """Return the open file of an ID in its current version.

        ``keep``: keep the file open, and close the least recently used one if there are too many.
        """
        with self._lock:
            opening = self._opening.setdefault(name, threading.Lock())
        # One lock per file: concurrent requests inflate a compressed file only once.
        with opening:
            try:
                return self._opened(name, keep=keep)
            finally:
                with self._lock:
                    self._opening.pop(name, None)

    def _opened(self, name: str, *, keep: bool) -> OpenFile:
        target = self.target(name)
        version = target.version()
        with self._lock:
            file = self._open.get(name)
            if file is not None and file.version == version and file.target == target:
                self._open.move_to_end(name)
                return file
        new_file = OpenFile(name, target, version, self._memory)
        if self.target(name) != target:
            raise Changed(f"{name}: the file was replaced while it was opened")
        if not keep:
            return new_file
        with self._lock:
            self._open[name] = new_file
            self._open.move_to_end(name)
            # An evicted file that is still being read closes after the last reader.
            while len(self._open) > _OPEN or (len(self._open) > 1 and self._is_full()):
                self._open.popitem(last=False)
        return new_file

    def _is_full(self) -> bool:
        return sum(file.resident_bytes for file in self._open.values()) > self._memory

    def versioned(self, name: str) -> tuple[Target, Version]:
        """Return the file of an ID and its current version."""
        target = self.target(name)
        return target, target.version()

    def list(self, folder: str, endings: tuple[str, ...] = ENDINGS) -> list[Entry]:
        """Return the subfolders of a folder and its files with the given suffixes.

        The folder "" lists the served paths.
        """
        if not folder:
            return [_entry(name, name, target) for name, target in self._roots.items()]
        target = self.target(folder)
        return sorted(
            self._children(folder, target, endings), key=lambda at: (not at.is_folder, at.name)
        )

    def _children(self, folder: str, target: Target, endings: tuple[str, ...]) -> Iterator[Entry]:
        count = 0
        for label, child in target.entries():
            if label.startswith(".") or count >= MOST_ENTRIES:
                continue
            try:
                # Skip links that lead out of the served folders.
                self.target(f"{folder}/{label}")
                if child.is_folder or label.lower().endswith(endings):
                    count += 1
                    yield _entry(f"{folder}/{label}", label, child)
            except (NotFound, OSError):
                continue


def _entry(name: str, label: str, target: Target) -> Entry:
    if target.is_folder:
        return Entry(name, label, is_folder=True)
    return Entry(name, label, False, target.version().size, target.modified)
