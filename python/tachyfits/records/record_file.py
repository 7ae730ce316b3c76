"""An open unformatted Fortran file, and its records: see `tachyfits.fortran`."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterator
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits._core import Stats, UsageError
from tachyfits.base.boundary import public
from tachyfits.base.errors import usage
from tachyfits.base.progress import Progress
from tachyfits.base.whole_numbers import check_threads
from tachyfits.file.file import Recipe
from tachyfits.records.arrays import Arrays, index_of, number_from_0
from tachyfits.records.convert import Conversion, convert_file
from tachyfits.records.layouts import MemoryOrder, Shape, one_axis_each, shaped
from tachyfits.records.numbers import ComplexStats


class EndOfRecords(UsageError, EOFError):
    """There is no further record to read."""


@public
class File:
    """An open unformatted file: a sequence of records, read on request.

    A file or a record pickles as its path and options; unpickling opens the file again.
    """

    def __init__(self, core: _core.RecordFile, access: str, recipe: Recipe) -> None:
        self._opened: tuple[_core.RecordFile, Arrays] | None = core, Arrays(core)
        self._name = core.name
        self._recipe = recipe
        self._position = 0
        #: Access: "sequential", "direct" or "stream".
        self.access = access

    def _while_open(self) -> tuple[_core.RecordFile, Arrays]:
        if self._opened is None:
            raise usage(
                f"{self._name}: the file is closed",
                "use it inside its 'with' block, or open it again with fortran.open",
            )
        return self._opened

    @property
    def _core(self) -> _core.RecordFile:
        return self._while_open()[0]

    @property
    def _arrays(self) -> Arrays:
        return self._while_open()[1]

    @property
    def name(self) -> str:
        """Path of the file."""
        return self._name

    @property
    def nbytes(self) -> int:
        """Size of the file in bytes."""
        return self._core.bytes

    @property
    def markers(self) -> int | None:
        """Bytes of a marker, 4 or 8; None without markers."""
        return self._core.markers

    @property
    def order(self) -> str:
        """Byte order: "big" or "little"."""
        return self._core.order

    @property
    def reason(self) -> str | None:
        """How the markers were detected; None if they were specified, or the file has none."""
        return self._core.reason

    @property
    def evidence(self) -> list[str]:
        """Evidence for and against each width and byte order of markers that was tried."""
        return self._core.evidence

    @property
    def index(self) -> NDArray[Any]:
        """Locations of the records: a row for each run of records of equal length.

        Fields are first (the number of the first record), records, bytes, offset.
        """
        return index_of(self._core)

    @property
    def damage(self) -> str | None:
        """Damage after the last whole record, or None."""
        return self._core.damage()

    @property
    def whole_records(self) -> int:
        """Number of whole records before the end of the file or the first damage."""
        return self._core.whole_records()

    @property
    def skipped(self) -> list[tuple[int, int, str]]:
        """Bytes skipped by recovery: (first byte, byte after the last, reason)."""
        return self._core.skipped()

    def __len__(self) -> int:
        """Return the number of records; FormatError if damage hides it."""
        return self._core.records()

    @overload
    def __getitem__(self, number: int) -> Record: ...
    @overload
    def __getitem__(self, number: slice) -> list[Record]: ...
    def __getitem__(self, number: int | slice) -> Record | list[Record]:
        """Return a record by its 0-based number (negative: from the end), or a slice."""
        if isinstance(number, slice):
            return [Record(self, index) for index in self._numbers_of(number)]
        return Record(self, number_from_0(self._core, operator.index(number)))

    def _numbers_of(self, key: slice) -> range:
        """Return the record numbers of a slice; damage after them does not matter."""
        whole_records = self._core.whole_records()
        backwards = key.step is not None and operator.index(key.step) < 0
        last = key.start if backwards else key.stop
        ends = [operator.index(end) for end in (key.start, key.stop) if end is not None]
        is_known = (
            last is not None
            and min(ends) >= 0
            and operator.index(last) + backwards <= whole_records
        )
        return range(*key.indices(whole_records if is_known else len(self)))

    def __iter__(self) -> Iterator[Record]:
        """Yield each record; damage is raised after the last whole one."""
        for number in range(self._core.whole_records()):
            yield Record(self, number)
        self._core.records()

    @property
    def position(self) -> int:
        """Number of the record that `read` reads next."""
        return self._position

    @position.setter
    def position(self, number: int) -> None:
        number = operator.index(number)
        if number < 0:
            raise usage(f"invalid record {number}", "records are counted from 0")
        self._position = number

    def skip(self, records: int = 1) -> None:
        """Skip records without reading them; a negative number goes back."""
        self.position = self._position + operator.index(records)

    def read(
        self,
        dtype: Any = None,
        *,
        shape: Shape | None = None,
        order: MemoryOrder = "F",
        threads: int = 0,
    ) -> NDArray[Any]:
        """Read the next record, as `Record.read` does, and advance to the one after it.

        Raises
        ------
        EndOfRecords
            No record is left; also an EOFError.
        """
        if self._position >= self._core.whole_records() and self._position >= len(self):
            raise EndOfRecords(
                f"{self.name}: all {len(self)} records were read\n"
                "hint: set position to 0 to begin again"
            )
        array = self[self._position].read(dtype, shape=shape, order=order, threads=threads)
        self._position += 1
        return array

    def records(
        self,
        first: int = 0,
        count: int | None = None,
        dtype: Any = None,
        *,
        step: int = 1,
        shape: Shape | None = None,
        order: MemoryOrder = "F",
        out: NDArray[Any] | None = None,
        threads: int = 0,
        progress: Progress | None = None,
    ) -> NDArray[Any]:
        """Read records of equal length as one array, in parallel, without a call for each.

        Parameters
        ----------
        first, count
            Number of the first record, from 0, and number of records; None: up to the end.
        dtype
            Type of a record: a NumPy dtype, structured for mixed records, or a form.
        step
            Read every ``step``-th record; the skipped ones may have other lengths.
        shape, order
            Shape of each record and its memory order, as in `Record.read`.
        out
            An array to read into: of the dtype and shape of the result, contiguous in C order (with
            a ``shape`` of several axes and ``order="F"``, each record in Fortran order), and not
            for logical values. Avoids allocating a new one.

        Returns
        -------
        array of native-endian elements
            The first axis counts the records; the second their elements, or ``shape``. A structured
            dtype with one element per record has no second axis.

        Raises
        ------
        UsageError
            Records have different lengths, or do not hold a whole number of elements; or it is
            ambiguous whether the fields of a structured dtype are aligned or packed, or in the
            order of their names or of their offsets.
        FormatError
            The file is damaged before the last of these records.

        Examples
        --------
        >>> import numpy as np
        >>> from tachyfits import fortran
        >>> with fortran.create("run.dat", order="big") as new:
        ...     new.write_records(np.arange(6.0).reshape(3, 2))
        >>> fortran.open("run.dat").records(1, 2, "f8")
        array([[2., 3.],
               [4., 5.]])
        >>> fortran.open("run.dat").records(dtype="f8,f8")["f1"]
        array([1., 3., 5.])
        """
        step = operator.index(step)
        into = out
        if shape is not None and isinstance(out, np.ndarray):
            into = one_axis_each(out, shape, order)
        if step == 1:
            array, record_layout = self._arrays.together(
                first, count, dtype, into, threads, progress
            )
        else:
            numbers = self._arrays.every(first, count, step)
            array, record_layout = self._arrays.apart(numbers, dtype, into, threads, progress)
        if out is not None:
            return out
        return shaped(record_layout.finished(array), shape, order, (len(array),))

    def batches(
        self,
        dtype: Any = None,
        *,
        records: int = 65_536,
        threads: int = 0,
    ) -> Iterator[NDArray[Any]]:
        """Yield the records of a file, all of equal length, in batches of bounded memory.

        The array is reused if the number of records stays the same: copy values to keep them. The
        file is read once and no further than requested; damage is raised after the last whole
        record before it.
        """
        return self._arrays.batches(dtype, records, threads)

    def stats(
        self,
        dtype: Any = "f8",
        *,
        first: int = 0,
        count: int | None = None,
        field: str | None = None,
        threads: int = 0,
        progress: Progress | None = None,
    ) -> Stats | ComplexStats:
        """Return the statistics of the numbers of records, read in the file's byte order.

        Parameters
        ----------
        dtype
            Integers, signed or unsigned, reals or complex numbers: all numbers of the records,
            which may have different lengths. Or for records of one length: a form with a single
            item besides skipped ones, as "x4,3f8"; a structured dtype or a form of several items.
            "f16" and "c32" are supported even if NumPy lacks these types.
        first, count
            The records; by default all.
        field
            For mixed records of one length: the name of the field ("f0", "f1", ... of a form), with
            dots for fields in a group or a nested dtype: "f1.f0".

        Returns
        -------
        Stats, or ComplexStats of complex numbers
            NaN is counted in ``nan`` and otherwise ignored; positions are (record, element), both
            from 0, if records have one length, else the number of the element among all. Numbers
            are reduced as float64: integers of 8 bytes and reals of 16 are rounded to it first,
            like int64 pixels of images. All others are exact.

        Examples
        --------
        >>> from tachyfits import fortran
        >>> fortran.write("run.dat", [1.0, 2.0], [6.0])
        >>> stats = fortran.open("run.dat").stats("f8")
        >>> stats.count, stats.mean, stats.max, stats.max_position
        (3, 3.0, 6.0, (2,))
        >>> fortran.write("run.dat", [1 + 2j, 3 - 2j], overwrite=True)
        >>> stats = fortran.open("run.dat").stats("c16")
        >>> stats.mean, stats.std, stats.imag.min
        ((2+0j), 2.23606797749979, -2.0)
        """
        first, count = self._arrays.within(first, count)
        numbers = self._arrays.numbers(first, count, dtype, field)
        parts = self._core.stats(
            first,
            count,
            numbers.name,
            fields=numbers.places,
            is_complex=numbers.is_complex,
            threads=check_threads(threads),
            progress=progress,
        )
        return ComplexStats(*parts) if numbers.is_complex else parts[0]

    def convert(
        self,
        target: str | os.PathLike[str],
        *,
        overwrite: bool = False,
        sync: bool = False,
        threads: int = 0,
        progress: Progress | None = None,
        **options: Any,
    ) -> int:
        """Write the records to another file, with the options of `tachyfits.fortran.convert`."""
        access = options.pop("access", None) or self.access
        return convert_file(
            self._core, target, Conversion(access, **options), overwrite=overwrite, sync=sync,
            threads=threads, progress=progress,
        )  # fmt: skip

    def close(self) -> None:
        """Close the file; arrays that were read stay valid."""
        self._opened = None

    def __enter__(self) -> File:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        return (*self._recipe, {"_position": self._position})

    def __repr__(self) -> str:
        if self._opened is None:
            return f"<fortran.File {self.name!r}: closed>"
        how = f"{self.markers}-byte markers" if self.markers else f"{self.access} access"
        return f"<fortran.File {self.name!r}: {self.nbytes} bytes, {how}, {self.order}-endian>"


@public
class Record:
    """A record of a file: its length, and its content on request."""

    def __init__(self, file: File, number: int) -> None:
        self._file = file
        #: Number, from 0.
        self.number = number
        #: Size in bytes, and offset in the file, after the marker.
        self.nbytes, self.offset = file._core.record(number)

    def read(
        self,
        dtype: Any = None,
        *,
        shape: Shape | None = None,
        order: MemoryOrder = "F",
        threads: int = 0,
    ) -> NDArray[Any]:
        """Read the record.

        Parameters
        ----------
        dtype
            Type of the content: a NumPy dtype that fills it, structured for a mixed record; or a
            form such as "i4,3f8"; None: bytes. The byte order is the file's, whatever the dtype
            says.
        shape
            Shape of the Fortran array; one length may be -1.
        order
            "F": ``shape`` is in Fortran order, the first index the fastest. "C": ``shape`` is
            reversed, the last index the fastest.

        Returns
        -------
        array of native-endian elements
            One axis without a shape. A form of several items gives a structured array of one
            element, with the fields f0, f1, ...; a group becomes a nested structured array. Logical
            values are bool, text is bytes.

        Examples
        --------
        >>> import numpy as np
        >>> from tachyfits import fortran
        >>> fortran.write("run.dat", np.array([[1, 2, 3], [4, 5, 6]]), (np.int32(7), "seven"))
        >>> file = fortran.open("run.dat")
        >>> file[0].read("i8", shape=(2, 3))
        array([[1, 2, 3],
               [4, 5, 6]])
        >>> file[1].read("i4,a5")["f1"]
        array([b'seven'], dtype='|S5')
        """
        array = self._file._arrays.one(self.number, self.nbytes, dtype, threads)
        return shaped(array, shape, order, ())

    def __bytes__(self) -> bytes:
        """Return the bytes as stored in the file."""
        return self.read(None).tobytes()

    def __repr__(self) -> str:
        return f"<fortran.Record {self.number}: {self.nbytes} bytes at byte {self.offset}>"


def fields_of_records(
    file: File, first: int, count: int | None, dtype: Any
) -> tuple[int, int, list[str]]:
    """Return the first record, the number of records, and the field names that have statistics.

    ``count`` None: up to the end.
    """
    first, count = file._arrays.within(first, count)
    return first, count, file._arrays.number_fields(first, count, dtype)


def subrecords(file: File) -> NDArray[np.uint64]:
    """Return the number of subrecords of the records in each run."""
    return file._core.runs()[:, 4]
