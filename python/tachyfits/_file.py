"""File: an open FITS file as a sequence of HDUs, and the function that opens it.

Opening costs the headers. Nothing here reads pixels.
"""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, overload

from tachyfits import _core
from tachyfits._errors import not_found, usage, warn
from tachyfits._hdu import Hdu, compression_of
from tachyfits._image import Image
from tachyfits._table import Table
from tachyfits._threads import check_threads
from tachyfits._whole import whole_number

if TYPE_CHECKING:
    from tachyfits._checks import Verification
    from tachyfits._pixels import Progress

#: How an object is made again when it is unpickled: a function and its arguments.
Recipe = tuple[Callable[..., Any], tuple[Any, ...]]

#: Ways of reading a file; see `open`.
STORAGES = ("auto", "pread", "mmap", "direct")


def open(  # noqa: A001 - tf.open is the name people expect
    source: str | os.PathLike[str] | bytes | bytearray | memoryview,
    *,
    strict: bool = False,
    storage: str = "auto",
    threads: int = 0,
) -> File:
    """Open a FITS file. Costs the headers.

    Parameters
    ----------
    source
        A path (``.fits``, or ``.fits.gz``, which is decompressed into memory), or the bytes of a
        file.
    strict
        Refuse what the FITS Standard does not allow, instead of reading it with a warning.
    storage
        How bytes are read: "auto" (what lies in the page cache is looked at there where that is
        faster, the rest is copied; the default), "pread" (copied by positioned reads), "mmap"
        (looked at through a memory map without asking which is faster), or "direct" (past the
        page cache, for cubes far larger than memory).
    threads
        Default number of threads of the operations on this file; 0 means one per core.
        Results do not depend on it.

    Returns
    -------
    File
        A context manager and a sequence of HDUs.

    Raises
    ------
    FitsIoError
        The file cannot be read (an OSError too).
    FitsFormatError
        It is no FITS file (a ValueError too).

    Warns
    -----
    TachyfitsWarning
        The file departs from the Standard; one warning lists how.

    Examples
    --------
    >>> import tachyfits as tf
    >>> with tf.open("cube.fits") as file:
    ...     print(len(file), file[0].shape)
    1 (3, 4, 5)
    """
    if storage not in STORAGES:
        raise usage(f"storage={storage!r} is none", f"use one of {', '.join(STORAGES)}")
    if isinstance(source, (bytes, bytearray, memoryview)):
        file = File(bytes(source), strict=strict, storage=storage, threads=threads)
    else:
        file = File(os.fspath(source), strict=strict, storage=storage, threads=threads)
    if file.warnings:
        listed = "\n".join(f"  - {warning}" for warning in file.warnings)
        warn(f"{file.name}:\n{listed}")
    return file


class File:
    """An open FITS file: a sequence of HDUs. Make one with `tachyfits.open`.

    ``file[0]`` is an HDU by its 0-based number, ``file["SCI"]`` by EXTNAME (any case, the first
    of that name), ``file["SCI", 2]`` by EXTNAME and EXTVER.

    A file pickles as its path and options: unpickling reopens it.
    """

    def __init__(
        self, source: str | bytes, *, strict: bool = False, storage: str = "auto", threads: int = 0
    ) -> None:
        if isinstance(source, bytes):
            core = _core.FitsFile.from_bytes(source, strict=strict)
        else:
            core = _core.FitsFile.open(source, strict=strict, storage=storage)
            # A path object would take as long as a third of all of opening.
            if not os.path.isabs(source):
                source = os.path.join(os.getcwd(), source)
        self._begin(core, (_reopen, (source, strict, storage, threads)), threads)

    @classmethod
    def computed(cls, core: _core.FitsFile, recipe: Recipe, *, threads: int = 0) -> File:
        """Return the file that the engine computes; ``recipe`` makes it again for unpickling."""
        file = cls.__new__(cls)
        file._begin(core, recipe, threads)
        return file

    def _begin(self, core: _core.FitsFile, recipe: Recipe, threads: int) -> None:
        self._core: _core.FitsFile | None = core
        self._recipe = recipe
        self._threads = check_threads(threads)
        self._hdus: dict[int, Hdu] = {}
        self._name = core.name
        self._warnings = tuple(core.warnings)

    def _open_core(self) -> _core.FitsFile:
        if self._core is None:
            raise usage(
                f"{self._name}: the file is closed",
                "use it inside its 'with' block, or open it again with tf.open",
            )
        return self._core

    @property
    def name(self) -> str:
        """The path, or "<bytes>"."""
        return self._name

    @property
    def size_bytes(self) -> int:
        """Size of the (decompressed) file."""
        return self._open_core().bytes

    @property
    def storage(self) -> str:
        """How the file is read."""
        return self._open_core().storage

    @property
    def threads(self) -> int:
        """Default number of threads of operations; 0 means one per core."""
        return self._threads

    @property
    def warnings(self) -> tuple[str, ...]:
        """How the file departs from the Standard."""
        return self._warnings

    @property
    def closed(self) -> bool:
        """Whether the file was closed."""
        return self._core is None

    def close(self) -> None:
        """Close the file. Its HDUs cannot be used any more; closing twice is fine."""
        self._core = None
        for hdu in self._hdus.values():
            if isinstance(hdu, (Image, Table)):
                hdu._release()
        self._hdus.clear()

    def __enter__(self) -> File:
        self._open_core()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return len(self._open_core())

    def __iter__(self) -> Iterator[Hdu]:
        for index in range(len(self)):
            yield self._at(index)

    def __contains__(self, key: object) -> bool:
        try:
            self[key]  # type: ignore[call-overload]
        except (LookupError, TypeError, ValueError):
            return False
        return True

    # Image, Table or another Hdu: only the file knows which, so nobody has to cast.
    @overload
    def __getitem__(self, key: int | str | tuple[str, int]) -> Any: ...
    @overload
    def __getitem__(self, key: slice) -> list[Hdu]: ...
    def __getitem__(self, key: int | str | tuple[str, int] | slice) -> Hdu | list[Hdu]:
        if isinstance(key, slice):
            count = len(self)
            try:
                indices = range(*key.indices(count))
            except (TypeError, ValueError) as error:
                hint = "a slice of HDUs has whole numbers"
                raise usage(f"{self._name}: {key!r}: {error}", hint) from error
            return [self._at(index) for index in indices]
        if isinstance(key, str):
            return self._named(key, None)
        if isinstance(key, tuple) and len(key) == 2 and isinstance(key[0], str):
            version = whole_number(key[1], least=-(2**63))
            if version is not None:
                return self._named(key[0], version)
        elif not isinstance(key, bool) and hasattr(key, "__index__"):
            return self._numbered(key.__index__())
        hint = 'use file[0], file["EXTNAME"], file["EXTNAME", 2]'
        raise usage(f"{self._name}: {key!r} names no HDU", hint)

    def _numbered(self, index: int) -> Hdu:
        count = len(self)
        if not -count <= index < count:
            raise not_found(
                f"{self._name}: there is no HDU {index}; the file has {count}, counted from 0",
                f"use 0 to {count - 1}",
            )
        return self._at(index % count)

    def _at(self, index: int) -> Hdu:
        if index not in self._hdus:
            core = self._open_core().hdu(index)
            kind = Image if core.has_image else Table if core.has_table else Hdu
            self._hdus[index] = kind(self, index)
        return self._hdus[index]

    def _named(self, name: str, version: int | None) -> Hdu:
        wanted = name.strip().upper()
        for hdu in self:
            if hdu.name.strip().upper() == wanted and version in (None, hdu.version):
                return hdu
        which = f"{name!r}" if version is None else f"{name!r} and EXTVER {version}"
        names = ", ".join(f"{hdu.index}: {hdu.name!r}" for hdu in self)
        raise not_found(
            f"{self._name}: no HDU has EXTNAME {which}", f"the HDUs (0-based) are {names}"
        )

    def verify(
        self,
        *,
        headers_only: bool = False,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Verification:
        """Hold the file against the FITS Standard; see `tachyfits.verify`."""
        from tachyfits._checks import verify

        source = self._recipe[1][0]
        number = self._threads if threads is None else threads
        if self._recipe[0] is not _reopen:
            raise usage(f"{self._name} is computed", "write it, and verify the file")
        return verify(source, headers_only=headers_only, threads=number, progress=progress)

    def rows(self) -> list[tuple[str, ...]]:
        """Return the table of HDUs as text: number, name, version, kind, type, shape, unit."""
        table: list[tuple[str, ...]] = []
        for hdu in self:
            image = hdu if isinstance(hdu, Image) and hdu._problem() is None else None
            compression = compression_of(hdu)
            unknown = "unknown" if isinstance(hdu, Image) else ""
            table.append(
                (
                    str(hdu.index),
                    hdu.name,
                    str(hdu.version),
                    hdu.kind,
                    str(image.dtype) if image else compression.text if compression else unknown,
                    (compression and compression.size_text) or _shape_text(hdu),
                    (image.unit or "") if image else "",
                )
            )
        return table

    def __repr__(self) -> str:
        if self._core is None:
            return f"<tachyfits File {self._name}, closed>"
        heading = ("HDU", "name", "ver", "kind", "type", "shape (NumPy order)", "unit")
        rows = [heading, *self.rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(heading))]
        lines = [
            "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
            for row in rows
        ]
        count = f"{len(self)} HDU{'' if len(self) == 1 else 's'}"
        return "\n".join([f"{self._name}: {count}, {self.size_bytes} bytes", *lines])

    def _repr_html_(self) -> str:
        if self._core is None:
            return f"<p>{html.escape(repr(self))}</p>"
        heading = ("HDU", "name", "ver", "kind", "type", "shape (NumPy order)", "unit")
        head = "".join(f"<th>{name}</th>" for name in heading)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in self.rows()
        )
        return (
            f"<table><caption>{html.escape(self._name)}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )

    def __reduce__(self) -> Recipe:
        return self._recipe


def _shape_text(hdu: Hdu) -> str:
    if isinstance(hdu, Table):
        columns = hdu.header.get("TFIELDS")
        rows = hdu.header.get("NAXIS2")
        return (
            f"{rows} row{'' if rows == 1 else 's'}, {columns} column{'' if columns == 1 else 's'}"
        )
    axes = tuple(reversed(hdu._hdu().axes))
    shape = axes if isinstance(hdu, Image) and hdu._problem() else hdu.shape
    return str(shape) if shape else ""


def _reopen(source: str | bytes, strict: bool, storage: str, threads: int) -> File:
    """Unpickle a File: open the same path again."""
    return File(source, strict=strict, storage=storage, threads=threads)
