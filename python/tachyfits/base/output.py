"""Output: names and formats of new files, which appear only when they are complete.

A full disk, an error or a kill leaves the old file unchanged.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypedDict

from tachyfits import _core
from tachyfits.base.errors import either, usage, warn
from tachyfits.base.sources import path_text

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

#: Endings of compressed files.
COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".z", ".zip")

#: Endings of pictures.
PICTURES = (".png", ".svg", ".pdf", ".jpg", ".jpeg")

#: Endings of table files that can be read and written, and their formats.
FORMATS = {
    ".fits": "fits", ".fit": "fits", ".fts": "fits", ".csv": "csv",
    ".parquet": "parquet", ".arrow": "arrow", ".feather": "arrow",
}  # fmt: skip

#: Endings of files that astropy writes; tachyfits does not read them.
ASTROPY_FORMATS = {".vot": "votable", ".ecsv": "ecsv"}

#: Endings of table files that can be written.
WRITTEN_FORMATS = FORMATS | ASTROPY_FORMATS


class ImageOptions(TypedDict, total=False):
    """Keyword arguments about the pixels of an image to write; see `Image.write`."""

    dtype: Any
    scaling: tuple[float, float] | None
    blank: int | None
    drop_degenerate: bool


class _Stream(io.RawIOBase):
    """The bytes of a new file, as a seekable stream."""

    def __init__(self, output: _core.OutputFile) -> None:
        self._output = output
        self._position = self._size = 0

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer) -> int:
        block = bytes(data)
        self._output.write_at(self._position, block)
        self._position += len(block)
        self._size = max(self._size, self._position)
        return len(block)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = base + offset
        return self._position

    def tell(self) -> int:
        return self._position


def check_output(path: str | os.PathLike[str], *, overwrite: bool) -> None:
    """Raise the error that writing this file would raise, before the work for it."""
    _core.OutputFile(path_text(path), overwrite=overwrite)


def write_atomically(
    path: str | os.PathLike[str], produce: Callable[[BinaryIO], object], *, overwrite: bool
) -> None:
    """Let ``produce`` write a file, and name the file when it is complete on disk.

    Raises
    ------
    IoError
        The file exists and ``overwrite`` is false, or it cannot be written.
    """
    output = _core.OutputFile(path_text(path), overwrite=overwrite)
    stream = io.BufferedWriter(_Stream(output), 1 << 20)
    produce(stream)
    if not stream.closed:
        stream.flush()
    output.commit()


def format_of(path: str | os.PathLike[str]) -> str:
    """Return the format for the ending of a name.

    Raises
    ------
    UsageError
        The format is not one of `WRITTEN_FORMATS`.
    """
    suffix = Path(path).suffix.lower()
    if suffix not in WRITTEN_FORMATS:
        raise usage(f"unknown format of {os.fspath(path)!r}", f"use {', '.join(WRITTEN_FORMATS)}")
    return WRITTEN_FORMATS[suffix]


def fits_name(path: str | os.PathLike[str]) -> str:
    """Return the name of a new FITS file.

    Raises
    ------
    UsageError
        The ending is that of a compressed file or of another format, which the file would not have.
    """
    name = path_text(path)
    ending = Path(name).suffix.lower()
    if ending in COMPRESSED:
        raise usage(
            f"cannot write a compressed file: {name!r}",
            "write a file with a name that ends in .fits, and compress it",
        )
    if ending in PICTURES:
        raise usage(
            f"invalid name {name!r}: expected the name of a FITS file",
            either("use .fits; Plane.png draws a plane", "use .fits; tachyfits collapse draws"),
        )
    if WRITTEN_FORMATS.get(ending, "fits") != "fits":
        raise usage(
            f"invalid name {name!r}: expected the name of a FITS file",
            "use .fits; a table is written as CSV, Parquet and Arrow by Table.write",
        )
    return name


def tell_rounding(path: str | os.PathLike[str], error: float, unit: Any) -> None:
    """Warn about rounded values, with the largest error."""
    if error > 0:
        of_unit = f" {unit}" if unit is not None and str(unit) else ""
        warn(f"{os.fspath(path)}: values were rounded; the largest error is {error:.6g}{of_unit}")
