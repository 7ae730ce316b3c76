"""File: an open FITS file as a sequence of HDUs, and the function that opens it.

Opening reads the headers. This module reads no pixels. The modules that read pixels or rows are
imported when an HDU with data is requested, so listing HDUs needs neither them nor NumPy.
"""

from __future__ import annotations

import html
import os
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast, overload

from tachyfits import _core
from tachyfits.base.boundary import public
from tachyfits.base.errors import (
    either,
    existing,
    in_lines,
    io_error,
    listed,
    not_found,
    usage,
    warn,
    warn_of,
)
from tachyfits.base.hints import no_attribute
from tachyfits.base.sources import Source, given, read_source
from tachyfits.base.upper import upper
from tachyfits.base.whole_numbers import check_threads, whole_number
from tachyfits.file.hdu import Hdu, compression_of, no_pixels_hint
from tachyfits.file.image_hdu import ImageHdu

if TYPE_CHECKING:
    from tachyfits.base.progress import Progress
    from tachyfits.checks.verify import Verification
    from tachyfits.image.image import Image
    from tachyfits.table.table import Table

#: How to restore an object when it is unpickled: a function and its arguments.
Recipe = tuple[Callable[..., Any], tuple[Any, ...]]

#: Ways of reading a file; see `open`.
STORAGES = ("auto", "pread", "mmap", "direct")

#: Treatments of damaged tiles of compressed images; see `open`.
DAMAGED = ("error", "nan")
#: Ways of reading ahead; see `open`.
BUFFERINGS = ("auto", "single", "double")


@public
def open(  # noqa: A001 - tf.open is the name people expect
    source: Source,
    *,
    strict: bool = False,
    storage: str = "auto",
    threads: int = 0,
    decompress_tiles: bool = True,
    damaged: str = "error",
    buffering: str = "auto",
) -> File:
    """Open a FITS file; reads only its headers.

    Parameters
    ----------
    source
        A path (``~`` is the home directory), "-" for standard input, the bytes of a file, or a file
        object with ``read()``. A file object that can seek, such as one of fsspec, is read on
        demand from its beginning, and must stay open; its position does not change. Any other is
        read to its end. Content compressed by gzip, bzip2, xz or zstd is recognised by its first
        bytes and decompressed into memory or, beyond 64 MiB, into a temporary file; zstd needs
        Python 3.14 or one of the packages zstandard and pyarrow.
    strict
        Refuse violations of the FITS Standard instead of warning about them; and refuse to combine
        an image with one whose pixels are at other positions.
    storage
        How bytes are read: "auto" (through a memory map if they are in the page cache, copied
        otherwise; the default), "pread" (copied by positioned reads), "mmap" (always through a
        memory map), or "direct" (bypassing the page cache, for cubes far larger than memory).
    threads
        Default number of threads of the operations on this file; 0 means one per core. Results do
        not depend on it.
    decompress_tiles
        Present tile-compressed images and tables as ordinary ones, decompressed as they are read.
        False presents the binary tables that store them.
    damaged
        How to read the pixels of damaged tiles of compressed images: "error", the default, raises a
        FormatError; "nan" gives NaN, or BLANK for integer pixels. Integers without BLANK have no
        such value, and raise the error. Tables are not affected.
    buffering
        How order statistics, and writers of images, read ahead: "single", each thread reads its own
        blocks; "double", other threads read ahead; "auto" (the default), ahead if the bytes are not
        in memory. Images computed from the file inherit it. Results do not depend on it.

    Returns
    -------
    File
        A context manager and a sequence of HDUs.

    Raises
    ------
    IoError
        The file cannot be read (also an OSError). For a missing file it is a FileNotFoundError, for
        a directory an IsADirectoryError, without permission a PermissionError.
    FormatError
        The file is not a FITS file (also a ValueError).
    LimitError
        The decompressed content exceeds 64 GiB.

    Warns
    -----
    TachyfitsWarning
        The file violates the Standard; one warning lists how. Another warning reports that an
        interrupted edit was undone, or that a journal beside the file belongs to another file. With
        ``damaged="nan"``, an operation on an image warns about the damaged tiles that it is the
        first to read, with HDU, row and byte of each.

    Examples
    --------
    >>> import tachyfits as tf
    >>> with tf.open("cube.fits") as file:
    ...     print(len(file), file[0].shape)
    1 (3, 4, 5)
    """
    if storage not in STORAGES:
        expected = ", ".join(STORAGES)
        raise usage(f"invalid storage {storage!r}: expected one of {expected}", 'use "auto"')
    if damaged not in DAMAGED:
        expected = " or ".join(DAMAGED)
        raise usage(f"invalid damaged {damaged!r}: expected {expected}", 'use "error"')
    if buffering not in BUFFERINGS:
        expected = ", ".join(BUFFERINGS)
        raise usage(f"invalid buffering {buffering!r}: expected one of {expected}", 'use "auto"')
    file = File(
        source, strict=strict, storage=storage, threads=threads,
        decompress_tiles=decompress_tiles, damaged=damaged, buffering=buffering,
    )  # fmt: skip
    warn_of(file.name, file.notices)
    if file.warnings:
        warn(f"{file.name}:\n{in_lines(file.warnings)}")
    return file


@public
class File:
    """An open FITS file: a sequence of HDUs. Create one with `tachyfits.open`.

    ``file[0]`` is an HDU by its 0-based number, ``file["SCI"]`` by EXTNAME (any case, the first of
    that name), ``file["SCI", 2]`` by EXTNAME and EXTVER.

    A file pickles as its path, version and options, and unpickling reopens it if it has not
    changed; a file opened from bytes pickles as these bytes.
    """

    def __init__(
        self,
        source: Source,
        *,
        strict: bool = False,
        storage: str = "auto",
        threads: int = 0,
        decompress_tiles: bool = True,
        damaged: str = "error",
        buffering: str = "auto",
    ) -> None:
        opened = given(source)
        core = read_source(
            opened,
            lambda source, how: _core.FitsFile.open(
                source,
                strict=strict,
                storage=storage,
                raw=not decompress_tiles,
                damaged=damaged,
                **how,
            ),
        )
        remote = isinstance(opened, str) and "://" in opened and _core.url_name(opened) is not None
        # A path object would take a third of the time of opening.
        if isinstance(opened, str) and not remote and not os.path.isabs(opened):
            opened = os.path.join(os.getcwd(), opened)
        # Do not store a URL with secrets: a pickle would expose them.
        restores = isinstance(opened, bytes if remote and opened != core.name else (str, bytes))
        self._path = opened if isinstance(opened, str) and restores else None
        self._version = core.version
        if self._version is None and self._path is not None:
            # For a file compressed as a whole, the engine has the content.
            self._version = _core.file_version(self._path)
        options = {
            "strict": strict, "storage": storage, "threads": threads,
            "decompress_tiles": decompress_tiles, "damaged": damaged, "buffering": buffering,
        }  # fmt: skip
        recipe = (_reopen, (opened, self._version, options))
        self._begin(core, recipe if restores else None, threads, strict, buffering)

    @classmethod
    def computed(
        cls,
        core: _core.FitsFile,
        recipe: Recipe | None,
        *,
        threads: int = 0,
        strict: bool = False,
        buffering: str = "auto",
    ) -> File:
        """Return the file that the engine computes; ``recipe`` restores it when unpickled."""
        file = cls.__new__(cls)
        file._begin(core, recipe, threads, strict, buffering)
        return file

    @classmethod
    def deferred(
        cls, make: Callable[[], _core.FitsFile], like: Hdu, recipe: Recipe, note: str
    ) -> File:
        """Return a lazily computed file of one HDU, of the class of ``like``.

        ``note`` is added to the name of its file.
        """
        file = cls.__new__(cls)
        source = like._file
        file._begin(None, recipe, source.threads, source.is_strict, source.buffering)
        file._make, file._name = make, f"{source.name} ({note})"
        file._hdus[0] = type(like)(file, 0)
        return file

    def _lasting(self) -> File:
        """Return another file of the same content, which stays open when this one is closed."""
        file = type(self).__new__(type(self))
        file.__dict__.update(self.__dict__, _hdus={})
        return file

    #: Path of the file, if it has one.
    _path: str | None = None
    _version: str | None = None
    #: Creates the engine's file when it is first needed; None afterwards.
    _make: Callable[[], _core.FitsFile] | None = None
    _warnings: tuple[str, ...] = ()

    def _begin(
        self,
        core: _core.FitsFile | None,
        recipe: Recipe | None,
        threads: int,
        strict: bool,
        buffering: str,
    ) -> None:
        self._core: _core.FitsFile | None = core
        self._recipe = recipe
        self._threads = check_threads(threads)
        self._strict = bool(strict)
        self._buffering = buffering
        self._hdus: dict[int, Hdu] = {}
        if core is not None:
            self._name = core.name
            self._warnings = tuple(core.warnings)

    def _open_core(self) -> _core.FitsFile:
        if self._core is None and self._make is not None:
            self._core, self._make = self._make(), None
        if self._core is None:
            raise usage(
                f"{self._name}: the file is closed",
                "use it inside its 'with' block, or open it again with tf.open",
            )
        return self._core

    @property
    def name(self) -> str:
        """Path as text for messages, or "<bytes>"; see `path`."""
        return self._name

    @property
    def path(self) -> str | None:
        """Absolute path or URL, with which the file can be opened again.

        None for bytes, streams, and URLs with a password or a signature.
        """
        return self._path

    @property
    def version(self) -> str | None:
        """Text that changes with the content: from size, time and number of a file, or an ETag.

        None for bytes, streams and computed files, and if a server does not report it.
        """
        return self._version

    @property
    def size_bytes(self) -> int:
        """Size of the (decompressed) file."""
        return self._open_core().bytes

    @property
    def storage(self) -> str:
        """How the file is read: see `tachyfits.open`."""
        return self._open_core().storage

    @property
    def threads(self) -> int:
        """Default number of threads of operations; 0 means one per core."""
        return self._threads

    @property
    def buffering(self) -> str:
        """How operations on this file read ahead: see `tachyfits.open`."""
        return self._buffering

    @property
    def is_strict(self) -> bool:
        """Whether it was opened with ``strict``, or is computed from such a file."""
        return self._strict

    @property
    def warnings(self) -> tuple[str, ...]:
        """Violations of the Standard."""
        return self._warnings

    @property
    def notices(self) -> tuple[str, ...]:
        """Notices about the file when it was opened, such as an interrupted edit."""
        return tuple(self._open_core().notices)

    @property
    def closed(self) -> bool:
        """Whether the file was closed."""
        return self._core is None and self._make is None

    def close(self) -> None:
        """Close the file. Its HDUs cannot be used afterwards; closing twice has no effect."""
        self._core = self._make = None
        for hdu in self._hdus.values():
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

    # Image, Table or another Hdu: the type depends on the file, so Any saves callers a cast.
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
                hint = "use integers in a slice of HDUs"
                raise usage(f"{self._name}: {key!r}: {error}", hint) from error
            return [self._at(index) for index in indices]
        return self._at(self._index_of(key))

    def _index_of(self, key: int | str | tuple[str, int]) -> int:
        """Return the number of the HDU for a key."""
        if isinstance(key, str):
            return self._named(key, None)
        if isinstance(key, tuple) and len(key) == 2 and isinstance(key[0], str):
            version = whole_number(key[1], least=-(2**63))
            if version is not None:
                return self._named(key[0], version)
        elif not isinstance(key, bool) and hasattr(key, "__index__"):
            return self._numbered(key.__index__())
        hint = either('use file[0], file["EXTNAME"], file["EXTNAME", 2]')
        raise usage(f"{self._name}: invalid HDU {key!r}", hint)

    def _numbered(self, index: int) -> int:
        count = len(self)
        if not -count <= index < count:
            raise not_found(
                f"{self._name}: no HDU {index}; the file has {count}, counted from 0",
                existing("HDU", count),
            )
        return index % count

    def _at(self, index: int) -> Hdu:
        if index not in self._hdus:
            kind = _class_of(self._open_core().hdu(index))
            self._hdus[index] = kind(self, index)
        return self._hdus[index]

    def _described(self, index: int) -> Hdu:
        """Return an HDU without the methods that read its pixels or rows: for lists of HDUs."""
        return (ImageHdu if self._open_core().hdu(index).has_image else Hdu)(self, index)

    def _descriptions(self) -> Iterator[Hdu]:
        return (self._described(index) for index in range(len(self)))

    def _named(self, name: str, version: int | None) -> int:
        key = name.strip().upper()
        for hdu in self._descriptions():
            if hdu.name.strip().upper() == key and version in (None, hdu.version):
                return hdu.index
        which = f"{name!r}" if version is None else f"{name!r} and EXTVER {version}"
        names = listed(f"{hdu.index}: {hdu.name!r}" for hdu in self._descriptions())
        raise not_found(
            f"{self._name}: no HDU has EXTNAME {which}", f"the HDUs (0-based) are {names}"
        )

    def image(self, key: int | str | tuple[str, int] | None = None) -> Image:
        """Return an HDU that is an image; None: the first with pixels.

        Equals ``file[key]``, with a static type for type checkers.

        Raises
        ------
        UsageError
            The HDU is not an image, or no HDU has pixels.

        Examples
        --------
        >>> import tachyfits as tf
        >>> tf.open("cube.fits").image().shape
        (3, 4, 5)
        """
        if key is None:
            first = next(
                (hdu for hdu in self._descriptions() if isinstance(hdu, ImageHdu) and hdu.size),
                None,
            )
            if first is None:
                hint = no_pixels_hint(self._descriptions(), "choose a file with an image")
                raise usage(f"{self._name}: no HDU has pixels", hint)
            return cast("Image", self._at(first.index))
        hdu = self._at(self._index_of(key))
        if not isinstance(hdu, ImageHdu):
            hint = no_pixels_hint([hdu], "print(file) lists the HDUs")
            raise usage(f"{hdu._where()}: expected an image, found a {hdu.kind}", hint)
        return cast("Image", hdu)

    def table(self, key: int | str | tuple[str, int] | None = None) -> Table:
        """Return an HDU that is a table; None: the first one.

        Equals ``file[key]``, with a static type for type checkers.

        Raises
        ------
        UsageError
            The HDU is not a table, or the file has no table.

        Examples
        --------
        >>> import tachyfits as tf
        >>> tf.open("table.fits").table("STARS")["MAG"][0]
        np.float64(18.5)
        """
        if key is None:
            number = next((n for n in range(len(self)) if self._has_rows(n)), None)
            if number is None:
                raise usage(f"{self._name}: no HDU is a table", "print(file) lists the HDUs")
            return cast("Table", self._at(number))
        hdu = self._at(self._index_of(key))
        if not self._has_rows(hdu.index):
            problem = f"{hdu._where()}: expected a table, found a {hdu.kind}"
            raise usage(problem, "print(file) lists the HDUs")
        return cast("Table", hdu)

    def _has_rows(self, index: int) -> bool:
        core = self._open_core().hdu(index)
        return core.has_table and not core.has_image

    def info(self) -> None:
        """Print the table of HDUs, as astropy's ``info`` does."""
        print(self)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            hint = ""
            for kind, verb, place in (
                (upper.Image, "an image", "file.image()"), (upper.Table, "a table", "file.table()"),
            ):  # fmt: skip
                if not name.startswith("_") and not hint and hasattr(kind, name):
                    hint = f"{verb} has it: {place}.{name}"
            message = no_attribute("File", name, hint, dir(type(self)))
            raise AttributeError(message, name=name, obj=self)

    def _ipython_key_completions_(self) -> list[str]:
        return list(dict.fromkeys(hdu.name for hdu in self._descriptions() if hdu.name))

    def verify(
        self,
        *,
        headers_only: bool = False,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Verification:
        """Check the file against the FITS Standard; see `tachyfits.verify`."""
        number = self._threads if threads is None else check_threads(threads)
        if self._recipe is not None and self._recipe[0] is not _reopen:
            raise usage(f"{self._name} is computed", "write it, and verify the file")
        hdus, findings, _ = self._open_core().verify(
            headers_only=headers_only, threads=number, progress=progress
        )
        result: Verification = upper.Verification(self._name, hdus, findings)
        return result

    def rows(self) -> list[tuple[str, ...]]:
        """Return the table of HDUs as text: number, name, version, kind, type, shape, unit."""
        table: list[tuple[str, ...]] = []
        for hdu in self._descriptions():
            image = hdu if isinstance(hdu, ImageHdu) and hdu._problem() is None else None
            compression = compression_of(hdu)
            unknown = "unknown" if isinstance(hdu, ImageHdu) else ""
            table.append(
                (
                    str(hdu.index),
                    hdu.name,
                    str(hdu.version),
                    hdu.kind,
                    image._type_name if image else compression.text if compression else unknown,
                    (compression and compression.size_text) or self._shape_text(hdu),
                    (image.unit or "") if image else "",
                )
            )
        return table

    def _shape_text(self, hdu: Hdu) -> str:
        if self._has_rows(hdu.index):
            columns = hdu.header.get("TFIELDS")
            rows = hdu.header.get("NAXIS2")
            return (
                f"{rows} row{'' if rows == 1 else 's'}, "
                f"{columns} column{'' if columns == 1 else 's'}"
            )
        axes = tuple(reversed(hdu._hdu().axes))
        shape = axes if isinstance(hdu, ImageHdu) and hdu._problem() else hdu.shape
        return str(shape) if shape else ""

    def __repr__(self) -> str:
        if self.closed:
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
        if self.closed:
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
        if self._recipe is None:
            raise usage(
                f"{self._name} was read from a file object and cannot be pickled",
                either("open it by its path, or give its bytes: tachyfits.open(stream.read())"),
            )
        return self._recipe


def _class_of(core: _core.Hdu) -> type[Hdu]:
    """Return the class of an HDU; its data readers are imported when they are first needed."""
    kind: type[Hdu] = upper.Image if core.has_image else upper.Table if core.has_table else Hdu
    return kind


def _reopen(
    source: str | bytes,
    version: str | None,
    options: dict[str, Any],
) -> File:
    """Unpickle a File: open the same path again, with its options."""
    file = File(source, **options)
    if file.version != version:
        raise io_error(
            f"{file.name}: expected the file that was pickled, found another or a changed one",
            either("open it again, and repeat what was pickled", "run the command again"),
            "io-changed",
            path=file.path,
        )
    return file


def index_of(file: File, key: int | str | tuple[str, int]) -> int:
    """Return the number of the HDU for a key."""
    return file._index_of(key)


def description(file: File, index: int) -> Hdu:
    """Return an HDU without the methods that read its pixels or rows, which is cheaper."""
    return file._described(index)
