"""Destinations of HDUs: a new file, a stream, a temporary file, bytes computed on demand."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits.base.errors import either, listed, usage, warn
from tachyfits.base.output import fits_name, tell_rounding
from tachyfits.file.hdu import Hdu
from tachyfits.writing.options import Options
from tachyfits.writing.sources import HduSource, Name, sources_of, with_needed

#: A new file: a path, "-" for standard output, or a binary file object.
Output: TypeAlias = str | os.PathLike[str] | BinaryIO

#: Name of standard output.
STDOUT = "-"

#: Bytes of a temporary file in memory at a time.
_STEP = 1 << 24

#: Bytes of a block of a FITS file.
_BLOCK = 2880


def write_new(
    path: Output,
    data: Any,
    *,
    overwrite: bool = False,
    checksum: bool = False,
    sync: bool = False,
    **options: Any,
) -> None:
    """Write data as a new file: see `tachyfits.write` for the options."""
    sources = sources_of(data, Options.of(**options))
    companions, names = with_needed(sources, ())
    with new_file(path, overwrite=overwrite, checksum=checksum, sync=sync) as writer:
        errors = [source.write(writer, names) for source in [*sources, *companions]]
    rounded = [(each, error) for each, error in zip(sources, errors, strict=False) if error > 0]
    of_list = [
        f"{error:.6g} in HDU {each.options.place}"
        for each, error in rounded
        if each.options.place is not None
    ]
    if of_list:
        warn(
            f"{name_of(path)}: values were rounded; the largest errors are "
            f"{listed(of_list)} of the list"
        )
        return
    for each, error in rounded:
        tell_rounding(name_of(path), error, each.unit)


@contextmanager
def new_file(
    path: Output, *, overwrite: bool = False, checksum: bool = False, sync: bool = False
) -> Iterator[_core.FileWriter]:
    """Yield a writer of HDUs; at the end, name the file, or copy all bytes to the stream.

    After an error, neither a file nor a stream has any output: pixels are written in any order, so
    the bytes for a stream are collected in a temporary file first.
    """
    stream = stream_of(path)
    if stream is None:
        name = fits_name(cast("Any", path))
        writer = _core.FileWriter(name, overwrite=overwrite, checksum=checksum, sync=sync)
    else:
        writer = _core.FileWriter.spooled(name_of(path), checksum=checksum)
    try:
        yield writer
        if stream is None:
            writer.commit()
        else:
            core = writer.open(raw=True)
            for begin in range(0, core.bytes, _STEP):
                stream.write(core.read_bytes(begin, min(begin + _STEP, core.bytes)).data)
            stream.flush()
    finally:
        writer.discard()


def stream_of(path: Output) -> BinaryIO | None:
    """Return the stream of an output; None for the name of a file.

    Raises
    ------
    UsageError
        The output is standard output, and that is a terminal, or takes text only.
    """
    if path != STDOUT:
        return cast("BinaryIO", path) if hasattr(path, "write") else None
    buffer: BinaryIO | None = getattr(sys.stdout, "buffer", None)
    if buffer is None or sys.stdout.isatty():
        actual = "a stream of text" if buffer is None else "a terminal"
        raise usage(
            f"invalid name '-': expected a file or a pipe as standard output, found {actual}",
            either("name a file", "name a file, or send the output to one: > OUT.fits"),
        )
    return buffer


def name_of(path: Output) -> str:
    """Return the name of an output for messages."""
    if path == STDOUT:
        return "standard output"
    if hasattr(path, "write"):
        return str(getattr(path, "name", "the stream"))
    return os.fspath(path)


def temporary_file(
    sources: Collection[HduSource], names: Collection[Name], label: str, *, checksum: bool = False
) -> tuple[_core.FitsFile, list[float]]:
    """Return HDUs as an open temporary file without a name, and their rounding errors.

    Compressed HDUs keep their tiles. ``label`` is the file's name in messages.
    """
    writer = _core.FileWriter.spooled(label, checksum=checksum)
    try:
        errors = [source.write(writer, names) for source in sources]
        return writer.open(raw=True), errors
    finally:
        writer.discard()


class FileBytes:
    """The bytes of the file that `tachyfits.write` would write; any range of them can be read.

    Bytes of a computed image are computed when they are read; none are stored, and the size is
    known beforehand. Other data are in a temporary file.
    """

    def __init__(self, data: Any, **options: Any) -> None:
        sources = sources_of(data, Options.of(**options))
        #: HDUs of beams and coordinates, which follow the image, and the names of all HDUs.
        self.companions, self.names = with_needed(sources, ())
        all_sources = [*sources, *self.companions]
        if _is_made(sources):
            self._parts = [place_of(one.hdu) for one in all_sources if one.hdu is not None]
        else:
            core, _ = temporary_file(all_sources, self.names, "a new file")
            self._parts = [(core, 0, core.bytes)]
        #: Total number of bytes.
        self.size = sum(end - begin for _, begin, end in self._parts)

    def read(self, begin: int, end: int, *, threads: int = 0) -> NDArray[np.uint8]:
        """Return the bytes in [``begin``, ``end``)."""
        pieces = []
        for core, first, last in self._parts:
            size = last - first
            if begin < size and end > 0 and begin < end:
                place = first + max(begin, 0), first + min(end, size)
                pieces.append(core.read_bytes(*place, threads=threads))
            begin, end = begin - size, end - size
        return pieces[0] if len(pieces) == 1 else np.concatenate([np.zeros(0, np.uint8), *pieces])


def _is_made(sources: Sequence[HduSource]) -> bool:
    """Return whether the only HDU is computed or in memory."""
    [source, *others] = sources
    if others or source.hdu is None or not source.is_copy or source.options.name is not None:
        return False
    core = source.hdu.file._open_core()
    is_alone = len(core) == 1 and not {"CHECKSUM", "DATASUM"} & {*source.hdu.header}
    return is_alone and core.storage in ("computed", "memory")


def place_of(hdu: Hdu) -> tuple[_core.FitsFile, int, int]:
    """Return the open file of an HDU, and where the HDU begins and ends in it."""
    core = hdu.file._open_core()
    target = core.hdu(hdu.index)
    return core, target.header_offset, target.data_offset + -(-target.data_bytes // _BLOCK) * _BLOCK
