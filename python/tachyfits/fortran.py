"""Read, write, append and convert unformatted files of Fortran programs.

A sequential file has a marker of 4 or 8 bytes before and after each record, in either byte order;
both are detected from the bytes. The file does not store types: pass them as a NumPy dtype, or as a
form such as ``"i4,3f8,a16"``.

The form of a record has items separated by commas, each with a count (1 by default, ``*`` once to
fill the record, as a single item does) and a type. Types are ``i1 i2 i4 i8 i16`` integer, ``f2 f4
f8 f16`` real (``r`` is the same), ``c8 c16 c32`` complex, ``l1 l2 l4 l8`` logical, ``aN`` text of N
characters, ``xN`` N bytes to skip. Sizes are in bytes. ``f16`` and ``c32`` are IEEE numbers of 128
bits: statistics and `convert` support them everywhere, arrays only where NumPy's longdouble is such
a number, which is not the case on x86. Only `convert` supports ``i16``: NumPy has no such integers.

Items in parentheses are a group with a count: ``1000(3f8,i4)`` is an array of 1000 derived types,
read as a structured dtype with the fields f0 and f1. Groups may be nested.

Arrays that are read have native byte order, whatever the order of the file. Records are counted
from 0 here; messages about damage count them from 1, and say so.

Examples
--------
>>> import numpy as np
>>> from tachyfits import fortran
>>> fortran.write("run.dat", np.arange(3), np.arange(3) + 0.5, order="big")
>>> with fortran.open("run.dat") as file:
...     print(file.markers, file.order, len(file))
...     file[0].read("i8"), file[1].read("f8")
4 big 2
(array([0, 1, 2]), array([0.5, 1.5, 2.5]))
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any

from tachyfits import _core
from tachyfits._core import FormatError
from tachyfits.base.boundary import public
from tachyfits.base.errors import usage, warn_of
from tachyfits.base.sources import Source, given, path_text, read_source, regular_path
from tachyfits.base.whole_numbers import check_threads
from tachyfits.records.layouts import MemoryOrder, check_access, check_name
from tachyfits.records.numbers import ComplexStats
from tachyfits.records.parts import Part, many_records, one_record
from tachyfits.records.record_file import EndOfRecords, File, Record

__all__ = [
    "ComplexStats",
    "EndOfRecords",
    "File",
    "Record",
    "Writer",
    "append",
    "convert",
    "create",
    "open",
    "write",
]

_Path = str | os.PathLike[str]
_Progress = Callable[[int, int], bool | None]


@public
def open(  # noqa: A001
    path: Source,
    markers: int | None = None,
    order: str | None = None,
    access: str = "sequential",
    record_bytes: int | None = None,
    *,
    recover: bool = False,
    storage: str = "auto",
) -> File:
    """Open an unformatted file.

    Parameters
    ----------
    path
        The file, its bytes or a file object, as in `tachyfits.open`; gzipped files are supported.
    markers
        Bytes of a marker, 4 or 8; None: detected. For sequential access only.
    order
        "big" or "little"; None: detected from the markers, or native without markers.
    access
        "sequential"; "direct": records of ``record_bytes`` bytes without markers; "stream": the
        file is one record.
    record_bytes
        Bytes of a record for direct access.
    recover
        Continue after damage, with the next intact record that is followed by another one (empty
        records between them are allowed).
    storage
        How bytes are read, as in `tachyfits.open`.

    Raises
    ------
    IoError
        The file cannot be read.
    FormatError
        No markers fit, or several do: then pass ``markers`` and ``order``.

    Examples
    --------
    >>> from tachyfits import fortran
    >>> fortran.write("run.dat", [1.0, 2.0], [3.0])
    >>> with fortran.open("run.dat") as file:
    ...     for record in file:
    ...         print(record.nbytes, record.read("f8"))
    16 [1. 2.]
    8 [3.]
    """
    check_access(access, markers, record_bytes)
    source = given(path)
    core = read_source(
        source,
        lambda source, how: _core.RecordFile.open(
            source,
            access=access,
            record_bytes=record_bytes,
            markers=markers,
            order=order,
            recover=recover,
            storage=storage,
            **how,
        ),
    )
    warn_of(core.name, core.notices)
    if isinstance(source, str):
        source = os.path.abspath(source)
    options = (markers, order, access, record_bytes, recover, storage)
    return File(core, access, (_reopen, (source, *options)))


def _reopen(path: Source, *options: Any) -> File:
    """Unpickle a File: open the same path again."""
    *most, recover, storage = options
    return open(path, *most, recover=recover, storage=storage)


@public
class Writer:
    """A file being written; created by `create`. It appears when it is complete.

    Several threads may write: their records follow one another, in no particular order.
    """

    def __init__(
        self,
        core: _core.RecordWriter | None,
        path: _Path,
        options: dict[str, Any],
        memory: MemoryOrder,
    ) -> None:
        self._core = core
        self._path = path_text(path)
        self._options = options
        self._memory: MemoryOrder = memory
        self._parts: list[Part] = []
        self._closed = False
        # Threads write one record after the other.
        self._turn = threading.RLock()

    def write(self, *items: Any, threads: int = 0) -> None:
        """Write one record: its items one after the other, as a WRITE statement does.

        Items are numbers, arrays, text (Latin-1) and bytes; bool becomes logical(4), 1 for true.
        Python's int is integer(8), its float real(8): ``np.int32(3)`` is the default integer of
        Fortran. An array of text becomes character(N), where N is the width of its dtype, padded
        with blanks, not NULs; bytes and arrays of V and u1 are written unchanged. Padding of
        structured arrays is not written.
        """
        self._write(one_record(items, self._memory), threads)

    def write_records(
        self, array: Any, *, threads: int = 0, progress: _Progress | None = None
    ) -> None:
        """Write many records in parallel: one for each index of the first axis.

        A structured array gives mixed records; padding of its fields in memory is not written.
        """
        self._write(many_records(array, self._memory), threads, progress)

    def _write(self, part: Part, threads: int, progress: _Progress | None = None) -> None:
        with self._turn:
            if self._closed:
                raise usage(f"{self._path} is written and closed", "create another writer")
            if self._core is None:
                # All records are appended at the end, or none: keep them until then.
                self._parts.append((part[0].copy(), *part[1:]))
                return
            self._core.write(*part, threads=check_threads(threads), progress=progress)

    def close(self) -> None:
        """Complete the file, which gets its name."""
        with self._turn:
            if self._closed:
                return
            self._closed = True
            if self._core is not None:
                self._core.finish()
            else:
                warn_of(self._path, _core.append_records(self._path, self._parts, **self._options))

    def abandon(self) -> None:
        """Discard the new file, or the records to append."""
        with self._turn:
            self._closed = True
            self._parts = []
            if self._core is not None:
                self._core.abandon()

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abandon()


@public
def create(
    path: _Path,
    *,
    markers: int | None = None,
    order: str | None = None,
    access: str = "sequential",
    record_bytes: int | None = None,
    memory: MemoryOrder = "F",
    append: bool = False,
    overwrite: bool = False,
    sync: bool = False,
) -> Writer:
    """Create a file, as a context manager: it appears at the end, or not at all.

    Parameters
    ----------
    path
        The file.
    markers
        Bytes of a marker: 4, the default, or 8. Records of more than 2147483639 bytes are split
        into subrecords between markers of 4 bytes, as gfortran and ifort do.
    order
        "big" or "little"; None: native.
    access, record_bytes
        As in `open`.
    memory
        Index of an array that varies fastest in the record: "F" the first, as in Fortran programs,
        or "C" the last, as in memory for most arrays.
    append
        Append to the records of an existing file, which stays unchanged if that fails. Markers and
        byte order are those of the file; others are an error. The records are kept in memory until
        the end, and are then flushed to disk with or without ``sync``.
    overwrite
        Replace an existing file.
    sync
        Return only when the file would survive a power failure.

    Examples
    --------
    >>> import numpy as np
    >>> from tachyfits import fortran
    >>> with fortran.create("run.dat", order="big") as file:
    ...     file.write(np.int32(3), 0.25, "text")
    ...     file.write_records(np.zeros((100, 4), "f4"))
    >>> len(fortran.open("run.dat"))
    101
    """
    check_access(access, markers, record_bytes)
    check_name(path)
    how = {"access": access, "record_bytes": record_bytes, "order": order}
    if append:
        if overwrite:
            raise usage("append=True and overwrite=True", "give one of them")
        _check_appended(regular_path(path), markers, how)
        return Writer(None, path, how | {"markers": markers}, memory)
    core = _core.RecordWriter.create(
        path_text(path),
        markers=4 if markers is None else markers,
        overwrite=overwrite,
        sync=sync,
        **how,  # type: ignore[arg-type]
    )
    return Writer(core, path, {}, memory)


def _check_appended(path: str, markers: int | None, how: dict[str, Any]) -> None:
    """Refuse files that cannot be appended to, and markers other than theirs, before any record."""
    order = how["order"]
    if how["access"] != "sequential" or (markers is None and order is None):
        warn_of(path, _core.RecordFile.open(path, markers=markers, **how).notices)
        return
    try:
        file = _core.RecordFile.open(path, **how | {"order": None})
    except FormatError:
        # An explicit option may decide what the bytes cannot.
        warn_of(path, _core.RecordFile.open(path, markers=markers, **how).notices)
        return
    warn_of(path, file.notices)
    matches = markers in (None, file.markers) and order in (None, file.order)
    if file.bytes and not matches:
        options = " and ".join(
            [f"markers={markers}"] * (markers is not None)
            + [f"order={order!r}"] * (order is not None)
        )
        raise usage(
            f"{path} has {file.markers}-byte {file.order}-endian markers, and {options} is given",
            "leave it out: appended records use the markers and byte order of the file; "
            "fortran.convert writes a file with others",
        )


@public
def write(path: _Path, *records: Any, threads: int = 0, **options: Any) -> None:
    """Write a file of records; a tuple is a record of several items. Options as in `create`.

    Examples
    --------
    >>> from tachyfits import fortran
    >>> fortran.write("run.dat", [1.0, 2.0], (7, "text"), order="big", markers=8)
    >>> [record.nbytes for record in fortran.open("run.dat")]
    [16, 12]
    """
    with create(path, **options) as file:
        for record in records:
            file.write(*(record if isinstance(record, tuple) else (record,)), threads=threads)


@public
def append(path: _Path, *records: Any, threads: int = 0, **options: Any) -> None:
    """Append records to a file, all of them or none; options as in `create`.

    Examples
    --------
    >>> from tachyfits import fortran
    >>> fortran.write("run.dat", [1.0, 2.0], order="big")
    >>> fortran.append("run.dat", [3.0])
    >>> fortran.open("run.dat")[-1].read("f8")
    array([3.])
    """
    write(path, *records, threads=threads, append=True, **options)


@public
def convert(
    source: _Path,
    target: _Path,
    *,
    source_markers: int | None = None,
    source_order: str | None = None,
    source_access: str = "sequential",
    source_record_bytes: int | None = None,
    recover: bool = False,
    storage: str = "auto",
    **options: Any,
) -> int:
    """Rewrite a file with other markers, byte order or precision; return the number of records.

    Parameters
    ----------
    source, target
        The old file and the new one, which appears when it is complete. They may be the same with
        ``overwrite``.
    source_markers, source_order, source_access, source_record_bytes, recover, storage
        As in `open`.
    markers, order, access
        For the new file, as in `create`; by default those of the source.
    forms
        Form of the records: a form such as "*f8" or a dtype for all, or a list of forms that
        records use in rotation: after the last one the first again. ``...`` at its end: all further
        records have the form before it, so ``["i4,f8", "*f8", ...]`` is a header and the rest.
        Required to change the byte order or the precision.
    record_bytes
        Record length for direct access; by default the converted length of the first record.
    precision
        "single": real(8) and complex(8) become real(4) and complex(4); "double": real(16) and
        complex(16) become real(8) and complex(8), which every NumPy supports. Numbers are rounded
        to the nearest; a number out of range is an error, and so are ``forms`` without any number
        to convert.
    overwrite, sync, threads, progress
        As in `create` and `File.stats`.

    Examples
    --------
    >>> from tachyfits import fortran
    >>> fortran.write("big.dat", [1.0, 2.0], [0.1], order="big")
    >>> fortran.convert("big.dat", "new.dat", order="little", forms="*f8", precision="single")
    2
    >>> fortran.open("new.dat")[1].read("f4")
    array([0.1], dtype=float32)
    """
    file = open(
        source,
        source_markers,
        source_order,
        source_access,
        source_record_bytes,
        recover=recover,
        storage=storage,
    )
    return file.convert(target, **options)


#: Native byte order, as `open` and `create` name it.
NATIVE = sys.byteorder
