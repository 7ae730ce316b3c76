"""Targets: the files and folders that are served, of this machine or of object stores."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol

import tachyfits as tf
from tachyfits.base import is_compressed, printable, usage
from tachyfits.server.errors import Changed, NotFound, TooLarge

#: Endings of files that lists show.
ENDINGS = (
    ".fits", ".fit", ".fts", ".fits.gz", ".fit.gz", ".fits.bz2", ".fits.xz", ".fits.zst", ".fz",
)  # fmt: skip

#: Entries of one folder that a list shows.
MOST_ENTRIES = 5000

#: Seconds for which the state of an object is believed: a page asks many times for one file.
_BELIEVED = 5.0

#: Objects whose state is remembered.
_REMEMBERED = 1000

#: Descriptors of this process, where the system tells them.
_DESCRIPTORS = "/proc/self/fd"

#: Flag of Windows for files that are not text.
_BINARY = getattr(os, "O_BINARY", 0)

#: First bytes of a file that tell how it is compressed.
_RECOGNISED = 16

#: Held while a file is opened, so that a new descriptor is that of this file.
_OPENING = threading.Lock()


class Version(Protocol):
    """The state of a file, which changes when it is replaced or written to."""

    @property
    def size(self) -> int:
        """Bytes of the file."""

    @property
    def unique(self) -> str:
        """The version among all files of that address."""


class Target(Protocol):
    """A file or a folder that is served."""

    @property
    def name(self) -> str:
        """The last part of its address."""

    @property
    def address(self) -> str:
        """The name in caches, which clients never see: no secret is in it."""

    @property
    def shown(self) -> str:
        """The address in messages of the engine, without secrets."""

    @property
    def is_folder(self) -> bool:
        """Whether it has a list of files."""

    @property
    def modified(self) -> float:
        """Seconds since 1970; 0 of a folder."""

    def version(self) -> Version:
        """Return the version that is there now."""

    def check(self, version: Version) -> bool:
        """Return whether the file is still of a version."""

    def open(self, version: Version) -> tf.File:
        """Open the file; raise `Changed` unless it is of that version."""

    def content(self, version: Version, most: int) -> bytes:
        """Return the bytes of a file of that version; raise `TooLarge` above ``most``."""

    def below(self, parts: list[str]) -> Target | None:
        """Return what is at a path below a folder; None where nothing is, or outside of it."""

    def entries(self) -> Iterator[tuple[str, Target]]:
        """Return the files and folders of a folder, with their names in the list."""


@dataclass(frozen=True)
class FileVersion:
    """Device, inode, size and time of a file: they change when it is replaced or written to."""

    device: int
    inode: int
    size: int
    modified: int

    @classmethod
    def of(cls, path: Path) -> FileVersion:
        """Return the version of a regular file."""
        try:
            found = os.stat(path)
        except OSError:
            raise NotFound(f"{path.name}: the file is gone") from None
        if not stat.S_ISREG(found.st_mode):
            raise NotFound(f"{path.name}: not a regular file")
        return cls.of_status(found)

    @classmethod
    def of_status(cls, found: os.stat_result) -> FileVersion:
        """Return the version that the status of a file says."""
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)

    @property
    def unique(self) -> str:
        """The version with the device, whose inodes have numbers of their own."""
        return f"{self.device:x}\0{self}"

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


def _opened(path: Path, version: FileVersion) -> tf.File:
    """Open a file, and see that it is the one of this version.

    A link may take the place of a folder after its name was resolved, and give it back before the
    version is compared again. Compressed files are read as a whole from the descriptor that was
    compared; of others the engine's descriptor is.
    """
    replaced = Changed(f"{path.name}: the file was replaced while it was opened")
    with _binary(path) as file:
        if FileVersion.of_status(os.fstat(file.fileno())) != version:
            raise replaced
        if is_compressed(file.read(_RECOGNISED)):
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


def _descriptors_of(version: FileVersion) -> set[int]:
    """Return the open descriptors of a file; none where the system does not tell them."""
    found = set()
    with contextlib.suppress(OSError):
        for descriptor in map(int, os.listdir(_DESCRIPTORS)):
            with contextlib.suppress(OSError):  # that of the list itself
                at = os.fstat(descriptor)
                if (at.st_ino, at.st_dev) == (version.inode, version.device):
                    found.add(descriptor)
    return found


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


@dataclass(frozen=True)
class LocalTarget:
    """A file or a folder of this machine; links are followed."""

    path: Path

    @property
    def name(self) -> str:
        """The name of the file."""
        return self.path.name

    @property
    def address(self) -> str:
        """The path."""
        return str(self.path)

    @property
    def shown(self) -> str:
        """The path."""
        return self.address

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return self.path.is_dir()

    @property
    def modified(self) -> float:
        """Seconds since 1970."""
        return self.path.stat().st_mtime

    def version(self) -> FileVersion:
        """Return the version that is on disk now."""
        return FileVersion.of(self.path)

    def check(self, version: Version) -> bool:
        """Return whether the file is still of a version."""
        return self.version() == version

    def open(self, version: Version) -> tf.File:
        """Open the file; raise `Changed` unless it is of that version."""
        assert isinstance(version, FileVersion)
        return _opened(self.path, version)

    def content(self, version: Version, most: int) -> bytes:
        """Return the bytes of a file of that version; raise `TooLarge` above ``most``."""
        if version.size > most:
            raise TooLarge(f"{self.name}: a file of {version.size} bytes: at most {most} are read")
        with _binary(self.path) as file:
            content = file.read(most + 1)
            now = FileVersion.of_status(os.fstat(file.fileno()))
            if now != version or len(content) != version.size:
                raise Changed(f"{self.name}: the file was replaced while it was read")
        return content

    def below(self, parts: list[str]) -> LocalTarget | None:
        """Return what is at a path below this folder, unless links lead out of it."""
        found = _resolved(self.path, parts) or _resolved(self.path, [*map(_stored, parts)])
        if found is None or (found != self.path and self.path not in found.parents):
            return None
        return LocalTarget(found)

    def entries(self) -> Iterator[tuple[str, Target]]:
        """Give what the folder has, links that lead out of it too."""
        if not self.path.is_dir():
            raise NotFound(f"{self.name!r} is not a folder")
        with os.scandir(self.path) as entries:
            for entry in entries:
                yield printable(entry.name), LocalTarget(Path(entry.path))


@dataclass(frozen=True)
class ObjectVersion:
    """ETag or time, and size of an object."""

    text: str
    size: int

    @property
    def unique(self) -> str:
        """The version."""
        return str(self)

    def __str__(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()[:24]


class _States:
    """States of objects, each believed for some seconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[float, tf.RemoteEntry]] = OrderedDict()

    def of(self, url: str) -> tf.RemoteEntry:
        """Return what the server says of an object."""
        now = time.monotonic()
        with self._lock:
            asked, entry = self._kept.get(url, (-_BELIEVED, None))
        if entry is not None and now - asked < _BELIEVED:
            return entry
        try:
            entry = tf.remote_entry(url)
        except tf.IoNotFoundError:
            raise NotFound(f"{url.rpartition('/')[2][:200]}: the file is gone") from None
        self.keep(url, entry, now)
        return entry

    def keep(self, url: str, entry: tf.RemoteEntry, now: float) -> None:
        """Remember the state of an object, of which a list tells too."""
        with self._lock:
            self._kept[url] = (now, entry)
            self._kept.move_to_end(url)
            while len(self._kept) > _REMEMBERED:
                self._kept.popitem(last=False)


@dataclass(frozen=True)
class RemoteTarget:
    """An object, or a folder of objects, of a server."""

    url: str
    is_folder: bool
    states: _States = field(default_factory=_States, compare=False, repr=False)

    @classmethod
    def served(cls, url: str) -> RemoteTarget:
        """Return the target of an address that the operator gives, which must exist."""
        address = url.rstrip("/")
        if not url.endswith("/"):
            with contextlib.suppress(tf.IoNotFoundError):
                tf.remote_entry(address)
                return cls(address, is_folder=False)
        if not tf.remote_entries(address, 1):
            raise usage(f"{_public(url)}: no such file or folder", "give the URL of a file")
        return cls(address, is_folder=True)

    @property
    def name(self) -> str:
        """The last part of the URL."""
        return _public(self.url).rpartition("/")[2]

    @property
    def is_public(self) -> bool:
        """Whether browsers can read the URL, and nothing in it is secret."""
        return self.url == self.shown and self.url.lower().startswith("http")

    @property
    def address(self) -> str:
        """The URL without its query, and a digest of all of it."""
        return f"{self.shown} {hashlib.sha256(self.url.encode()).hexdigest()[:24]}"

    @property
    def shown(self) -> str:
        """The URL without its query and password."""
        return _public(self.url)

    @property
    def modified(self) -> float:
        """Seconds since 1970; 0 where the server does not say."""
        if self.is_folder:
            return 0.0
        time_of_change = self.states.of(self.url).modified
        return 0.0 if time_of_change is None else time_of_change.timestamp()

    def version(self) -> ObjectVersion:
        """Return the version that the server has now, or had some seconds ago."""
        entry = self.states.of(self.url)
        return ObjectVersion(entry.version or str(entry.size), entry.size)

    def check(self, version: Version) -> bool:
        """Return true: every request of the engine names the version that it wants."""
        return True

    def open(self, version: Version) -> tf.File:
        """Open the object; raise `Changed` unless it is of that version."""
        assert isinstance(version, ObjectVersion)
        file = tf.open(self.url)
        if file.version is not None and file.version != version.text:
            self.states.keep(self.url, tf.remote_entry(self.url), time.monotonic())
            raise Changed(f"{self.name}: the file was replaced while it was opened")
        return file

    def content(self, version: Version, most: int) -> bytes:
        """Raise `NotFound`: the engine reads FITS from servers, and nothing else."""
        raise NotFound(f"{self.name}: catalogues of servers are FITS tables")

    def below(self, parts: list[str]) -> RemoteTarget | None:
        """Return the object of a name below this folder, which may be missing."""
        if not parts:
            return self
        if not self.is_folder:
            return None
        *_, last = parts
        is_folder = not last.lower().endswith(ENDINGS)
        return RemoteTarget("/".join([self.url, *parts]), is_folder, self.states)

    def entries(self) -> Iterator[tuple[str, Target]]:
        """Return what the folder has, by requests for a thousand entries each."""
        now = time.monotonic()
        entries = tf.remote_entries(self.url, MOST_ENTRIES)
        if not entries:
            raise NotFound(f"{self.name!r} is not a folder")
        for entry in entries:
            if not entry.is_folder:
                self.states.keep(entry.url, entry, now)
            yield printable(entry.name), RemoteTarget(entry.url, entry.is_folder, self.states)


def _public(url: str) -> str:
    """Return a URL without its query and password.

    >>> _public("https://me:word@archive.org/m51.fits?signature=12")
    'https://archive.org/m51.fits'
    """
    match = re.fullmatch(r"(https?://)(?:[^/@]*@)?([^?#]*).*", url, re.IGNORECASE)
    return url if match is None else f"{match[1]}{match[2]}"
