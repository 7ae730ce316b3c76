"""Targets: served files and folders, local or in object stores."""

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

#: Suffixes of files in listings.
ENDINGS = (
    ".fits", ".fit", ".fts", ".fits.gz", ".fit.gz", ".fits.bz2", ".fits.xz", ".fits.zst", ".fz",
)  # fmt: skip

#: Maximum number of entries in the listing of a folder.
MOST_ENTRIES = 5000

#: Seconds for which the state of an object is cached: a page requests the same file many times.
_BELIEVED = 5.0

#: Maximum number of cached states of objects.
_REMEMBERED = 1000

#: Folder that lists the descriptors of this process, if the system has one.
_DESCRIPTORS = "/proc/self/fd"

#: Flag for binary files on Windows.
_BINARY = getattr(os, "O_BINARY", 0)

#: Number of bytes needed to recognise the compression of a file.
_RECOGNISED = 16

#: Held while a file is opened, so that a new descriptor belongs to this file.
_OPENING = threading.Lock()


class Version(Protocol):
    """The version of a file: it changes if the file is replaced or modified."""

    @property
    def size(self) -> int:
        """Size of the file in bytes."""

    @property
    def unique(self) -> str:
        """Text that differs between all versions of files at this address."""


class Target(Protocol):
    """A served file or folder."""

    @property
    def name(self) -> str:
        """The last part of the address."""

    @property
    def address(self) -> str:
        """The name in caches: clients never see it, and it contains no secrets."""

    @property
    def shown(self) -> str:
        """The address in error messages of the engine, without secrets."""

    @property
    def is_folder(self) -> bool:
        """Whether the target is a folder."""

    @property
    def modified(self) -> float:
        """Time of modification in seconds since 1970; 0 for a folder."""

    def version(self) -> Version:
        """Return the current version."""

    def check(self, version: Version) -> bool:
        """Return whether the file still has this version."""

    def open(self, version: Version) -> tf.File:
        """Open the file; raise `Changed` if it has another version."""

    def content(self, version: Version, most: int) -> bytes:
        """Return the content of this version; raise `TooLarge` if it exceeds ``most`` bytes."""

    def below(self, parts: list[str]) -> Target | None:
        """Return the target at a path below a folder; None if it is missing or outside."""

    def entries(self) -> Iterator[tuple[str, Target]]:
        """Yield the files and folders of a folder, with their names in listings."""


@dataclass(frozen=True)
class FileVersion:
    """Device, inode, size and time of a file."""

    device: int
    inode: int
    size: int
    modified: int

    @classmethod
    def of(cls, path: Path) -> FileVersion:
        """Return the version of a regular file."""
        try:
            status = os.stat(path)
        except OSError:
            raise NotFound(f"{path.name}: the file is gone") from None
        if not stat.S_ISREG(status.st_mode):
            raise NotFound(f"{path.name}: not a regular file")
        return cls.of_status(status)

    @classmethod
    def of_status(cls, status: os.stat_result) -> FileVersion:
        """Return the version from the status of a file."""
        return cls(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)

    @property
    def unique(self) -> str:
        """The version and the device: inode numbers are only unique within a device."""
        return f"{self.device:x}\0{self}"

    def __str__(self) -> str:
        return f"{self.inode:x}-{self.size:x}-{self.modified:x}"


class _Pinned:
    """A readable file with a name, for content that is decompressed while it is read."""

    def __init__(self, name: str, file: BinaryIO) -> None:
        self.name = name
        self._file = file

    def read(self, size: int = -1, /) -> bytes:
        """Return at most ``size`` bytes."""
        return self._file.read(size)


def _opened(path: Path, version: FileVersion) -> tf.File:
    """Open a file and check that it has this version.

    An attacker may replace a folder by a link after the name was resolved, and restore it before
    the version is compared again. So the version of the open descriptor is checked: compressed
    files are read from the checked descriptor; for other files the engine's descriptor is checked.
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
        result = tf.open(path)
        after = _descriptors_of(version)
    if after == before and os.path.isdir(_DESCRIPTORS):
        raise replaced
    return result


def _binary(path: Path) -> BinaryIO:
    try:
        # O_NONBLOCK: opening a pipe in place of the file would wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | _BINARY)
    except FileNotFoundError:
        raise NotFound(f"{path.name}: the file is gone") from None
    except OSError:
        tf.open(path).close()  # raises an error with the reason
        raise Changed(f"{path.name}: the file was replaced while it was opened") from None
    return os.fdopen(descriptor, "rb")


def _descriptors_of(version: FileVersion) -> set[int]:
    """Return the open descriptors of a file; empty if the system does not list them."""
    result = set()
    with contextlib.suppress(OSError):
        for descriptor in map(int, os.listdir(_DESCRIPTORS)):
            with contextlib.suppress(OSError):  # the descriptor of the listing is closed again
                status = os.fstat(descriptor)
                if (status.st_ino, status.st_dev) == (version.inode, version.device):
                    result.add(descriptor)
    return result


def _resolved(root: Path, parts: list[str]) -> Path | None:
    """Return a path below a folder with its links resolved; None if it does not exist."""
    try:
        return root.joinpath(*parts).resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        return None


def _stored(part: str) -> str:
    r"""Convert a part of an ID to a file name; IDs escape bytes that are not UTF-8, as ``\xe9``.

    >>> _stored(r"\xe9toile.fits").encode("utf-8", "surrogateescape")
    b'\xe9toile.fits'
    """
    return re.sub(r"\\x([89a-f][0-9a-f])", lambda byte: chr(0xDC00 + int(byte[1], 16)), part)


@dataclass(frozen=True)
class LocalTarget:
    """A local file or folder; links are resolved."""

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
        """Time of modification in seconds since 1970."""
        return self.path.stat().st_mtime

    def version(self) -> FileVersion:
        """Return the current version on disk."""
        return FileVersion.of(self.path)

    def check(self, version: Version) -> bool:
        """Return whether the file still has this version."""
        return self.version() == version

    def open(self, version: Version) -> tf.File:
        """Open the file; raise `Changed` if it has another version."""
        assert isinstance(version, FileVersion)
        return _opened(self.path, version)

    def content(self, version: Version, most: int) -> bytes:
        """Return the content of this version; raise `TooLarge` if it exceeds ``most`` bytes."""
        if version.size > most:
            raise TooLarge(f"{self.name}: a file of {version.size} bytes: at most {most} are read")
        with _binary(self.path) as file:
            content = file.read(most + 1)
            current = FileVersion.of_status(os.fstat(file.fileno()))
            if current != version or len(content) != version.size:
                raise Changed(f"{self.name}: the file was replaced while it was read")
        return content

    def below(self, parts: list[str]) -> LocalTarget | None:
        """Return the target at a path below this folder; None if links lead out of it."""
        resolved = _resolved(self.path, parts) or _resolved(self.path, [*map(_stored, parts)])
        if resolved is None or (resolved != self.path and self.path not in resolved.parents):
            return None
        return LocalTarget(resolved)

    def entries(self) -> Iterator[tuple[str, Target]]:
        """Yield the entries of the folder, including links that lead out of it."""
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
        """The text of the version."""
        return str(self)

    def __str__(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()[:24]


class _States:
    """States of objects, each cached for some seconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[float, tf.RemoteEntry]] = OrderedDict()

    def of(self, url: str) -> tf.RemoteEntry:
        """Return the state of an object, from the cache or the server."""
        now = time.monotonic()
        with self._lock:
            checked_at, entry = self._kept.get(url, (-_BELIEVED, None))
        if entry is not None and now - checked_at < _BELIEVED:
            return entry
        try:
            entry = tf.remote_entry(url)
        except tf.IoNotFoundError:
            raise NotFound(f"{url.rpartition('/')[2][:200]}: the file is gone") from None
        self.keep(url, entry, now)
        return entry

    def keep(self, url: str, entry: tf.RemoteEntry, now: float) -> None:
        """Cache the state of an object, from a request or from a listing."""
        with self._lock:
            self._kept[url] = (now, entry)
            self._kept.move_to_end(url)
            while len(self._kept) > _REMEMBERED:
                self._kept.popitem(last=False)


@dataclass(frozen=True)
class RemoteTarget:
    """An object, or a folder of objects, on a server."""

    url: str
    is_folder: bool
    states: _States = field(default_factory=_States, compare=False, repr=False)

    @classmethod
    def served(cls, url: str) -> RemoteTarget:
        """Return the target of an address from the operator; it must exist."""
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
        """Whether the URL has no secrets and browsers can read it."""
        return self.url == self.shown and self.url.lower().startswith("http")

    @property
    def address(self) -> str:
        """The URL without its query, and a digest of the full URL."""
        return f"{self.shown} {hashlib.sha256(self.url.encode()).hexdigest()[:24]}"

    @property
    def shown(self) -> str:
        """The URL without its query and password."""
        return _public(self.url)

    @property
    def modified(self) -> float:
        """Time of modification in seconds since 1970; 0 if unknown."""
        if self.is_folder:
            return 0.0
        time_of_change = self.states.of(self.url).modified
        return 0.0 if time_of_change is None else time_of_change.timestamp()

    def version(self) -> ObjectVersion:
        """Return the current version on the server, at most some seconds old."""
        entry = self.states.of(self.url)
        return ObjectVersion(entry.version or str(entry.size), entry.size)

    def check(self, version: Version) -> bool:
        """Return true: the engine requests a version explicitly."""
        return True

    def open(self, version: Version) -> tf.File:
        """Open the object; raise `Changed` if it has another version."""
        assert isinstance(version, ObjectVersion)
        file = tf.open(self.url)
        if file.version is not None and file.version != version.text:
            self.states.keep(self.url, tf.remote_entry(self.url), time.monotonic())
            raise Changed(f"{self.name}: the file was replaced while it was opened")
        return file

    def content(self, version: Version, most: int) -> bytes:
        """Raise `NotFound`: only FITS files are read from servers."""
        raise NotFound(f"{self.name}: catalogues of servers are FITS tables")

    def below(self, parts: list[str]) -> RemoteTarget | None:
        """Return the object at a path below this folder; it may not exist."""
        if not parts:
            return self
        if not self.is_folder:
            return None
        *_, last = parts
        is_folder = not last.lower().endswith(ENDINGS)
        return RemoteTarget("/".join([self.url, *parts]), is_folder, self.states)

    def entries(self) -> Iterator[tuple[str, Target]]:
        """Yield the entries of the folder, requested in pages of a thousand."""
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
