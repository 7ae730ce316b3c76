"""Sources: arguments of `open` converted for the engine: a path, bytes, or a stream.

The engine recognises compressed content by its first bytes and inflates gzip. bzip2, xz and zstd
are decompressed here while they are read; the engine stores the content and limits its size.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib
import io
import os
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol, TypeVar

from tachyfits import _core
from tachyfits._core import IoError, TachyfitsError
from tachyfits.base.errors import either, io_error, printable, usage
from tachyfits.base.whole_numbers import whole_number

_T = TypeVar("_T")

#: Bytes read at a time from a compressed stream.
_BLOCK = 1 << 16

#: Number of first bytes, more than enough to recognise the compression.
_RECOGNISED = 64

#: Maximum memory for decompressing xz; its presets need at most 65 MiB.
_XZ_MEMORY = 1 << 30

#: Modules with the zstd decompressor of Python 3.14's standard library.
_ZSTD = ("compression.zstd", "backports.zstd")

#: The engine's error code for compressed content.
_COMPRESSED = "io-compressed"


class Readable(Protocol):
    """A file object: anything whose ``read(size)`` returns bytes, or no bytes at the end."""

    def read(self, size: int = -1, /) -> bytes:
        """Return up to ``size`` bytes; all for a negative number."""


#: Sources to open: a path, "-" for standard input, the bytes of a file, or a file object.
Source = str | os.PathLike[str] | bytes | bytearray | memoryview | Readable


def path_text(path: str | os.PathLike[str]) -> str:
    """Return a path as text, with a leading ~ or ~user replaced by the home directory.

    >>> path_text("cube.fits")
    'cube.fits'
    """
    if not isinstance(path, (str, os.PathLike)):
        raise usage(
            f"invalid path of type {type(path).__name__}: expected text or a path",
            either('give "image.fits" or a pathlib.Path'),
        )
    text = os.fsdecode(os.fspath(path))
    try:
        os.fsencode(text)
    except UnicodeEncodeError as error:
        raise usage(
            f"invalid path {text!r}: expected characters that a file name can have",
            "give the name as the system lists it",
        ) from error
    return os.path.expanduser(text) if text.startswith("~") else text


def regular_path(path: str | os.PathLike[str]) -> str:
    """Return the path, as `path_text`, of a file to change or to read in random order.

    Raises
    ------
    IoError
        The path is a pipe: opening it would wait for a writer.
    """
    name = path_text(path)
    if (url := _core.url_name(name)) is not None:
        raise usage(
            f"{url}: expected a file of this machine, found an object of a server",
            "download it, and give the path of the copy",
        )
    if _is_pipe(name):
        raise io_error(
            f"{name}: expected a regular file, found a pipe",
            "name a regular file", "io-not-a-file",
            path=name,
        )  # fmt: skip
    return name


def _is_pipe(path: str) -> bool:
    try:
        return stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def given(source: Any) -> str | bytes | Readable:
    """Return a source as a path, the bytes of a file, or an object with ``read``.

    A file object that was opened for reading by its path is replaced by that path, so that any part
    of the file can be read later.
    """
    if isinstance(source, (str, os.PathLike)):
        if source == "-":
            return _standard_input()
        return path_text(source)
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source)
    if isinstance(source, io.BytesIO):
        with _told(source):
            return source.getvalue()
    if isinstance(source, io.TextIOBase):
        raise usage(
            f"invalid source {source!r}: expected bytes, found a file opened as text",
            'open it with mode "rb", or give its path',
        )
    if callable(getattr(source, "read", None)):
        readable: Readable = source
        return _path_of(readable) or readable
    raise usage(
        f"invalid source of the type {type(source).__name__}: expected a path, bytes or a file "
        "object",
        either("give the path of a FITS file, its bytes, or an object with read()"),
    )


def name_of(source: str | bytes | Readable) -> str:
    """Return the name of a source for messages."""
    if isinstance(source, str):
        return printable(_core.url_name(source) or source)
    if isinstance(source, bytes):
        return "<bytes>"
    name = None
    with contextlib.suppress(Exception):
        name = getattr(source, "name", None)
    return printable(name) if isinstance(name, str) and name else "<stream>"


def read_source(
    source: str | bytes | Readable, read: Callable[[str | bytes | Readable, dict[str, Any]], _T]
) -> _T:
    """Call a function of the engine with a source, decompressed if necessary.

    ``read`` receives the source and the engine's arguments about it: its name for messages, and
    whether an object is read on demand.
    """
    name = name_of(source)
    if isinstance(source, (str, bytes)):
        return _read(source, name, read)
    guarded = _Guarded(source)
    with _told(source, guarded):
        return _read(guarded, name, read)


def _read(
    source: str | bytes | _Guarded, name: str, read: Callable[[Any, dict[str, Any]], _T]
) -> _T:
    on_demand = isinstance(source, _Guarded) and source.seeks_quickly()
    # Python opens and reads pipes, so that Ctrl-C interrupts the wait.
    waits = isinstance(source, str) and _is_pipe(source)
    if on_demand or (isinstance(source, (str, bytes)) and not waits):
        try:
            return read(source, {"name": name, "on_demand": on_demand})
        except IoError as error:
            if error.code != _COMPRESSED:
                raise
    with _stream(source) as stream:
        return read(_decompressed(name, stream), {"name": name})


@contextmanager
def _told(source: Readable, guarded: _Guarded | None = None) -> Iterator[None]:
    """Convert a file object's exceptions to IoError; only its own errors if it is guarded."""
    try:
        yield
    except TachyfitsError:
        raise
    except Exception as error:
        if guarded is not None and guarded.fault is None:
            raise
        message = str(error) or type(error).__name__
        hint = "open the file object again, in binary mode, or give the path of the file"
        raise io_error(f"{name_of(source)}: cannot be read: {message}", hint, "io-read") from error


class _Guarded:
    """A file object that separates its own errors from those of other arguments.

    Attributes
    ----------
    fault
        Last exception of one of its methods, or about a returned value.
    """

    #: pyarrow reads this attribute.
    closed = False

    def __init__(self, source: Any) -> None:
        self._source = source
        self.name = name_of(source)
        self.fault: Exception | None = None

    def _call(self, method: str, *args: Any) -> Any:
        try:
            return getattr(self._source, method)(*args)
        except Exception as error:
            self.fault = error
            raise

    def read(self, size: int = -1, /) -> Any:
        """Return up to ``size`` bytes."""
        return self._call("read", size)

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> None:
        """Move to another position."""
        self._call("seek", offset, whence)

    def tell(self) -> int:
        """Return the position."""
        place = self._call("tell")
        position = whole_number(place)
        if position is None or position >= 1 << 63:
            self.fault = ValueError(f"tell() gives {str(place)[:40]!r}, expected a position")
            raise self.fault
        return position

    def seekable(self) -> bool:
        """Return whether it has positions."""
        if not hasattr(self._source, "seekable"):
            return False
        try:
            return bool(self._call("seekable"))
        except Exception as error:
            self.fault = error
            raise

    def seeks_quickly(self) -> bool:
        """Return whether any part of it can be read at any time."""
        if not self.seekable():
            return False
        inner = getattr(self._source, "raw", self._source)
        loaded = ((sys.modules[module], name) for module, name in _SLOW if module in sys.modules)
        return not isinstance(inner, tuple(getattr(module, name) for module, name in loaded))


def _stream(source: str | bytes | _Guarded) -> AbstractContextManager[Readable]:
    if isinstance(source, str):
        return builtins.open(source, "rb")
    if isinstance(source, bytes):
        return io.BytesIO(source)
    return _from_the_beginning(source)


#: Classes that seek by reading everything before the position, as modules and names.
_SLOW = (
    ("gzip", "GzipFile"),
    ("bz2", "BZ2File"),
    ("lzma", "LZMAFile"),
    ("zipfile", "ZipExtFile"),
)


def _standard_input() -> Readable:
    """Return standard input as bytes."""
    stream: Any = sys.stdin
    if stream is None:
        raise usage("invalid source '-': standard input is closed", "give a path")
    buffer: Readable = getattr(stream, "buffer", stream)
    return buffer


def _path_of(source: Readable) -> str | None:
    """Return the path by which a file object was opened, for reading only."""
    name = getattr(source, "name", None)
    if not isinstance(source, (io.BufferedReader, io.FileIO)) or not isinstance(name, str):
        return None
    try:
        of_object, of_path = os.fstat(source.fileno()), os.stat(name)
    except (AttributeError, OSError, ValueError):
        # A member of an archive, which has a name but no file of its own.
        return None
    is_same = os.path.samestat(of_object, of_path) and os.path.isfile(name)
    return name if is_same and not source.writable() else None


@contextmanager
def _from_the_beginning(source: _Guarded) -> Iterator[Readable]:
    """Rewind a seekable source and restore its position afterwards; leave a pipe unchanged."""
    if not source.seekable():
        yield source
        return
    position = source.tell()
    source.seek(0)
    try:
        yield source
    finally:
        source.seek(position)


class _Joined:
    """First bytes, followed by the rest of a stream."""

    #: pyarrow reads this attribute.
    closed = False

    def __init__(self, first: bytes, rest: Readable) -> None:
        self._first, self._rest = first, rest

    def close(self) -> None:
        """Leave the stream open for its owner."""

    def read(self, size: int = -1, /) -> bytes:
        """Return up to ``size`` bytes."""
        if not self._first:
            return self._rest.read(size)
        data, self._first = self._first[:size], self._first[size:]
        return data


def is_compressed(first: bytes) -> bool:
    """Return whether the first bytes are those of a file compressed by a program such as gzip."""
    return _core.compression(first) is not None


def _first_bytes(source: Readable) -> bytes:
    """Return enough of the first bytes of a stream to recognise its format."""
    first = b""
    while len(first) < _RECOGNISED:
        try:
            block = source.read(_BLOCK)
        except Exception as error:
            if isinstance(error, TachyfitsError):
                raise
            problem = f"{name_of(source)}: cannot be read at offset {len(first)}: {error}"
            raise io_error(problem, "see the error of the file object", "io-read") from error
        if not isinstance(block, bytes):
            raise usage(
                f"{name_of(source)}: expected bytes of the file object, found that read() gives "
                f"{type(block).__name__}",
                'give a file object opened with mode "rb"',
            )
        if not block:
            break
        first += block
    return first


class _Decoder(Protocol):
    """A decompressor of the standard library for one stream."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class _Streams:
    """Decompressed content of one or more consecutive streams.

    Zeros may follow the last stream, as they may follow the members of gzip content.
    """

    def __init__(self, make: Callable[[], _Decoder], source: Readable) -> None:
        self._make, self._source = make, source
        self._decoder, self._rest = make(), b""

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes."""
        while not self._decoder.eof or self._next():
            data = b""
            if self._decoder.needs_input:
                data, self._rest = self._rest or self._source.read(_BLOCK), b""
                if not data:
                    raise EOFError("it is cut short")
            content = self._decoder.decompress(data, size)
            if content:
                return content
        return b""

    def _next(self) -> bool:
        """Begin the next stream; return False if there is none."""
        self._rest = self._decoder.unused_data.lstrip(b"\0")
        while not self._rest:
            block = self._source.read(_BLOCK)
            if not block:
                return False
            self._rest = block.lstrip(b"\0")
        self._decoder = self._make()
        return True


class _Named:
    """A stream of decompressed content whose errors name the file."""

    def __init__(self, name: str, compression: str, content: Any) -> None:
        self._name, self._compression, self._content = name, compression, content
        self._bytes = 0

    def read(self, size: int = -1, /) -> bytes:
        """Return at most ``size`` bytes."""
        try:
            content: bytes = self._content.read(size)
        except _damage() as error:
            raise io_error(
                f"{self._name}: {self._compression} content cannot be decompressed after "
                f"{self._bytes} bytes: {error}",
                "the file is damaged or incomplete; fetch it again",
                _COMPRESSED,
                path=self._name,
            ) from error
        self._bytes += len(content)
        return content


def _damage() -> tuple[type[Exception], ...]:
    """Return the error classes for damaged content of the loaded libraries."""
    names = dict.fromkeys((*_ZSTD, "zstandard"), "ZstdError") | {"lzma": "LZMAError"}
    loaded = (
        (sys.modules[module], name) for module, name in names.items() if module in sys.modules
    )
    return (EOFError, OSError, ValueError, *(getattr(module, name) for module, name in loaded))


def _decompressed(name: str, stream: Readable) -> Readable:
    """Return the content of a stream, decompressed except for gzip, which the engine inflates."""
    first = _first_bytes(stream)
    source, compression = _Joined(first, stream), _core.compression(first)
    if compression in (None, "gzip"):
        return source
    assert compression is not None
    if compression == "bzip2":
        content: Any = _Streams(importlib.import_module("bz2").BZ2Decompressor, source)
    elif compression == "xz":
        lzma = importlib.import_module("lzma")
        content = _Streams(lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, _XZ_MEMORY), source)
    else:
        content = _zstd(source)
    return _Named(name, compression, content)


class _Zstandard:
    """A decoder that limits its output, based on the library zstandard, which does not."""

    #: Bytes decompressed at a time: zstd expands 4 bytes to at most 128 KiB.
    _PIECE = 1 << 10

    def __init__(self, library: Any) -> None:
        self._decoder = library.ZstdDecompressor().decompressobj()
        self._input = self._output = b""

    @property
    def eof(self) -> bool:
        """Whether the stream is at its end."""
        return bool(self._decoder.eof) and not self._output

    @property
    def needs_input(self) -> bool:
        """Whether the decoder needs more input to continue."""
        return not self._input and not self._output

    @property
    def unused_data(self) -> bytes:
        """Input after the end of the stream."""
        unused: bytes = self._decoder.unused_data + self._input
        return unused

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        """Return at most ``max_length`` bytes of content."""
        self._input += data
        if not self._output:
            piece, self._input = self._input[: self._PIECE], self._input[self._PIECE :]
            self._output = self._decoder.decompress(piece)
        content, self._output = self._output[:max_length], self._output[max_length:]
        return content


def _zstd(source: Readable) -> Any:
    """Return the decompressed content of a zstd stream, with any available library."""
    for library in _ZSTD:
        try:
            return _Streams(importlib.import_module(library).ZstdDecompressor, source)
        except ImportError:
            continue
    try:
        zstandard = importlib.import_module("zstandard")
    except ImportError:
        pass
    else:
        return _Streams(lambda: _Zstandard(zstandard), source)
    try:
        arrow = importlib.import_module("pyarrow")
    except ImportError as error:
        raise usage(
            "zstd content needs a library that decompresses it, and none is installed",
            "pip install zstandard, or decompress the file first",
        ) from error
    return arrow.CompressedInputStream(arrow.PythonFile(source, "r"), "zstd")
