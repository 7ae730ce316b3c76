"""Datasets: the images of files under the served folders, by an ID that reveals no path.

An ID is the name of a served file, or of a served folder and a path below it: "cubes/2024/co.fits".
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import tachyfits as tf
from tachyfits import _core
from tachyfits.base.errors import printable
from tachyfits.server.decoding import check_tile, tile_bytes
from tachyfits.server.errors import Changed, NotFound
from tachyfits.server.view import View

#: Endings of files that lists show.
ENDINGS = (
    ".fits", ".fit", ".fts", ".fits.gz", ".fit.gz", ".fits.bz2", ".fits.xz", ".fits.zst", ".fz",
)  # fmt: skip

#: Endings of files that are compressed as a whole.
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")

#: Files that stay open.
_OPEN = 64

#: Entries of one folder that a list shows.
MOST_ENTRIES = 5000


#: Descriptors of this process, where the system tells them.
_DESCRIPTORS = "/proc/self/fd"

#: Flag of Windows for files that are not text.
_BINARY = getattr(os, "O_BINARY", 0)

#: First bytes of a file that tell how it is compressed.
_RECOGNISED = 16

#: Held while a file is opened, so that a new descriptor is that of this file.
_OPENING = threading.Lock()


@dataclass(frozen=True)
class Version:
    """Device, inode, size and time of a file: they change when it is replaced or written to."""

    device: int
    inode: int
    size: int
    modified: int

    @classmethod
    def of(cls, path: Path) -> Version:
        """Return the version of a regular file."""
        try:
            found = os.stat(path)
        except OSError:
            raise NotFound(f"{path.name}: the file is gone") from None
        if not stat.S_ISREG(found.st_mode):
            raise NotFound(f"{path.name}: not a regular file")
        return cls.of_status(found)

    @classmethod
    def of_status(cls, found: os.stat_result) -> Version:
        """Return the version that the status of a file says."""
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)

    def __str__(self) -> str:
        return f"{self.inode:x}-{self.size:x}-{self.modified:x}"


class _Pinned:
    """The bytes of an open file by its name, for content that is decompressed as it is read."""

    def __init__(self, name: str, file: BinaryIO) -> None:
        self.name = name
        self._file = file

    def read(self, size: int = -1, /) -> bytes:
        """Return some bytes, ``size`` at the most."""
        return self._file.read(size)


def _opened(path: Path, version: Version) -> tf.File:
    """Open a file, and see that it is the one of this version.

    A link may take the place of a folder after its name was resolved, and give it back before the
    version is compared again. Compressed files are read as a whole from the descriptor that was
    compared; of others the engine's descriptor is.
    """
    replaced = Changed(f"{path.name}: the file was replaced while it was opened")
    with _binary(path) as file:
        if Version.of_status(os.fstat(file.fileno())) != version:
            raise replaced
        if _core.compression(file.read(_RECOGNISED)) is not None:
            file.seek(0)
            return tf.open(_Pinned(str(path), file))
    with _OPENING:
        before = _descriptors_of(version)
        found = tf.open(path)
        after = _descriptors_of(version)
    if after == before and os.path.isdir(_DESCRIPTORS):
        raise replaced
    return found


def _binary(path: Path) -> BinaryIO:
    try:
        # A pipe in place of the file would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _BINARY)
    except FileNotFoundError:
        raise NotFound(f"{path.name}: the file is gone") from None
    except OSError:
        tf.open(path).close()  # its message says why
        raise Changed(f"{path.name}: the file was replaced while it was opened") from None
    return os.fdopen(descriptor, "rb")


def _descriptors_of(version: Version) -> set[int]:
    """Return the open descriptors of a file; none where the system does not tell them."""
    found = set()
    with contextlib.suppress(OSError):
        for descriptor in map(int, os.listdir(_DESCRIPTORS)):
            with contextlib.suppress(OSError):  # that of the list itself
                at = os.fstat(descriptor)
                if (at.st_ino, at.st_dev) == (version.inode, version.device):
                    found.add(descriptor)
    return found


@dataclass(frozen=True)
class Entry:
    """A file or a folder in a list."""

    id: str
    name: str
    is_folder: bool
    bytes: int = 0
    modified: float = 0.0


class OpenFile:
    """An open file of one version, with the views of its images."""

    def __init__(self, name: str, path: Path, version: Version, memory: int) -> None:
        self.name = name
        self._memory = memory
        self.path = path
        self.version = version
        self._file = _opened(path, version)
        self._lock = threading.Lock()
        self._views: dict[int, View] = {}
        self.check()

    @property
    def resident_bytes(self) -> int:
        """Bytes of its content in memory: of a small compressed file."""
        return self._file.size_bytes if self._file.storage == "memory" else 0

    @property
    def tile_bytes(self) -> int:
        """Bytes of the largest decoded tile of the images that were viewed."""
        with self._lock:
            return max((view.tile_bytes for view in self._views.values()), default=0)

    @property
    def stem(self) -> str:
        """The name of the file without folders and its endings."""
        name = self.name.rpartition("/")[2]
        for ending in (*COMPRESSED, ".fz", ".fits", ".fit", ".fts"):
            name = name.removesuffix(ending)
        return name

    def check(self) -> None:
        """Raise `Changed` if the file is not the one that was opened.

        Called after each read, too: a reader never mixes the bytes of two versions.
        """
        if Version.of(self.path) != self.version:
            raise Changed(f"{self.name}: the file changed while it was read")

    def images(self) -> list[tf.Image]:
        """Return the images with pixels, in the order of the file."""
        with self._lock:
            return [
                hdu
                for hdu in self._file
                if isinstance(hdu, tf.Image) and hdu.ndim >= 1 and hdu.size
            ]

    def view(self, hdu: int | None) -> View:
        """Return the view of an image; ``hdu`` None: of the first, with two axes if any has."""
        if hdu is None:
            found = sorted(self.images(), key=lambda image: image.ndim < 2)
            if not found:
                raise NotFound(f"{self.name}: no HDU is an image with pixels")
            hdu = found[0].index
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


def _resolved(root: Path, parts: list[str]) -> Path | None:
    """Return a path below a folder, links followed; None if it does not exist."""
    try:
        return root.joinpath(*parts).resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        return None


def _stored(part: str) -> str:
    r"""Return a part of an ID as the name of a file: bytes that are not UTF-8 are ``\xe9`` in IDs.

    >>> _stored(r"\xe9toile.fits").encode("utf-8", "surrogateescape")
    b'\xe9toile.fits'
    """
    return re.sub(r"\\x([89a-f][0-9a-f])", lambda byte: chr(0xDC00 + int(byte[1], 16)), part)


class Datasets:
    """The files under some paths."""

    def __init__(self, paths: tuple[Path, ...], memory: int = 1 << 29) -> None:
        self._roots: dict[str, Path] = {}
        #: Most bytes of a decoded tile, and of the content of open files together.
        self._memory = memory
        self._opening: dict[str, threading.Lock] = {}
        self._lock = threading.Lock()
        self._open: OrderedDict[str, OpenFile] = OrderedDict()
        for path in paths:
            self.add(path)

    def add(self, path: Path) -> str:
        """Serve a file or folder, too, and return its ID; that which it has if it is served."""
        resolved = path.resolve(strict=True)
        with self._lock:
            name = original = printable(resolved.name) or "root"
            count = 1
            while self._roots.get(name, resolved) != resolved:
                count += 1
                name = f"{original}-{count}"
            self._roots[name] = resolved
        return name

    def path(self, name: str) -> Path:
        """Return the path of a file or folder by its ID, links followed.

        Raises
        ------
        NotFound
            It does not exist, or it is not below a served path. The message is the same.
        """
        missing = NotFound(f"unknown ID {name[:200]!r}")
        root_name, _, rest = name.partition("/")
        root = self._roots.get(root_name)
        parts = rest.split("/") if rest else []
        if root is None or any(part in ("", ".", "..") or "\0" in part for part in parts):
            raise missing
        found = _resolved(root, parts) or _resolved(root, [*map(_stored, parts)])
        if found is None:
            raise missing
        if found != root and root not in found.parents:
            raise missing
        return found

    def __len__(self) -> int:
        """Return the number of open files."""
        return len(self._open)

    def hidden(self, text: str) -> str:
        """Return a message with IDs in place of the paths of this machine."""
        # The longest first: a served file may lie in a served folder.
        for name, root in sorted(self._roots.items(), key=lambda item: -len(str(item[1]))):
            shown = name.replace("\\", r"\\")
            if root == Path(root.anchor):
                text = re.sub(r"(?<![\w./])/(?=[\w.])", f"{shown}/", text)
            else:
                path = re.escape(printable(str(root)))
                text = re.sub(rf"{path}(?!\w)", shown, text)
        return text

    def open(self, name: str, *, keep: bool = True) -> OpenFile:
        """Return the open file of an ID, in the version that is on disk now.

        ``keep``: let it stay open, in place of the one that was used longest ago.
        """
        with self._lock:
            opening = self._opening.setdefault(name, threading.Lock())
        # A compressed file is inflated once, though several requests ask for it.
        with opening:
            try:
                return self._opened(name, keep=keep)
            finally:
                with self._lock:
                    self._opening.pop(name, None)

    def _opened(self, name: str, *, keep: bool) -> OpenFile:
        path = self.path(name)
        version = Version.of(path)
        with self._lock:
            found = self._open.get(name)
            if found is not None and found.version == version and found.path == path:
                self._open.move_to_end(name)
                return found
        opened = OpenFile(name, path, version, self._memory)
        if self.path(name) != path:
            raise Changed(f"{name}: the file was replaced while it was opened")
        if not keep:
            return opened
        with self._lock:
            self._open[name] = opened
            self._open.move_to_end(name)
            # Files that others still read close when these are done.
            while len(self._open) > _OPEN or (len(self._open) > 1 and self._is_full()):
                self._open.popitem(last=False)
        return opened

    def _is_full(self) -> bool:
        return sum(file.resident_bytes for file in self._open.values()) > self._memory

    def list(self, folder: str) -> list[Entry]:
        """Return the folders and files below a folder; the served paths for ""."""
        if not folder:
            return [self._entry(name, name, path) for name, path in self._roots.items()]
        found = self.path(folder)
        if not found.is_dir():
            raise NotFound(f"{folder!r} is not a folder")
        return sorted(self._children(folder, found), key=lambda at: (not at.is_folder, at.name))

    def _children(self, folder: str, path: Path) -> Iterator[Entry]:
        count = 0
        with os.scandir(path) as entries:
            for entry in entries:
                if entry.name.startswith(".") or count >= MOST_ENTRIES:
                    continue
                try:
                    label = printable(entry.name)
                    inside = self.path(f"{folder}/{label}")
                    if inside.is_dir() or label.lower().endswith(ENDINGS):
                        count += 1
                        yield self._entry(f"{folder}/{label}", label, inside)
                except (NotFound, OSError):
                    continue

    def _entry(self, name: str, label: str, path: Path) -> Entry:
        if path.is_dir():
            return Entry(name, label, is_folder=True)
        found = path.stat()
        return Entry(name, label, False, found.st_size, found.st_mtime)
