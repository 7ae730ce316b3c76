"""An open unformatted file of a Fortran program, and its records: see `tachyfits.fortran`."""

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

    A file, and a record, pickles as its path and options: unpickling opens the file again.
    """

    def __init__(self, core: _core.RecordFile, access: str, recipe: Recipe) -> None:
        self._opened: tuple[_core.RecordFile, Arrays] | None = core, Arrays(core)
        self._name = core.name
        self._recipe = recipe
        self._position = 0
        #: How it is accessed: "sequential", "direct" or "stream".
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
        """The path."""
        return self._name

    @property
    def nbytes(self) -> int:
        """Bytes of the file."""
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
        """How the markers were detected; None if they were given, or the file has none."""
        return self._core.reason

    @property
    def evidence(self) -> list[str]:
        """Evidence for and against each width and byte order of markers that was tried."""
        return self._core.evidence

    @property
    def index(self) -> NDArray[Any]:
        """Where the records are: a row for each run of records of one length.

        Rows have the fields first (the number of the first record), records, bytes, offset.
        """
        return index_of(self._core)

    @property
    def damage(self) -> str | None:
        """The damage after the last whole record; None without damage."""
        return self._core.damage()

    @property
    def whole_records(self) -> int:
        """Number of whole records before the end of the file or the first damage."""
        return self._core.whole_records()

    @property
    def skipped(self) -> list[tuple[int, int, str]]:
        """Bytes skipped by recovery: (first byte, byte after the last, why)."""
        return self._core.skipped()

    def __len__(self) -> int:
        """Return the number of records; FormatError where damage hides how many there are."""
        return self._core.records()

    @overload
    def __getitem__(self, number: int) -> Record: ...
    @overload
    def __getitem__(self, number: slice) -> list[Record]: ...
    def __getitem__(self, number: int | slice) -> Record | list[Record]:
        """Return a record by its number from 0, negative ones counting from the end; or a slice."""
        if isinstance(number, slice):
            return [Record(self, one) for one in self._numbers_of(number)]
        return Record(self, number_from_0(self._core, operator.index(number)))

    def _numbers_of(self, chosen: slice) -> range:
        """Return the numbers of a slice; damage after them does not matter."""
        whole = self._core.whole_records()
        backwards = chosen.step is not None and operator.index(chosen.step) < 0
        last = chosen.start if backwards else chosen.stop
        given = [operator.index(end) for end in (chosen.start, chosen.stop) if end is not None]
        known = last is not None and min(given) >= 0 and operator.index(last) + backwards <= whole
        return range(*chosen.indices(whole if known else len(self)))

    def __iter__(self) -> Iterator[Record]:
        """Give each record; damage is raised after the last whole one."""
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
        """Go on by some records without reading them; back where the number is negative."""
        self.position = self._position + operator.index(records)

    def read(
        self,
        dtype: Any = None,
        *,
        shape: Shape | None = None,
        order: MemoryOrder = "F",
        threads: int = 0,
    ) -> NDArray[Any]:
        """Read the next record, as `Record.read` does, and go on to the one after it.

        Raises
        ------
        EndOfRecords
            No record is left, which is an EOFError too.
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
        """Read records of one length as one array, by all threads, without a call for each.

        Parameters
        ----------
        first, count
            Which records, from 0; without a count those up to the end.
        dtype
            What a record is made of: a NumPy dtype, structured for mixed records, or a form.
        step
            2 for every second record, and so on: those between may have other lengths.
        shape, order
            Of each record, as in `Record.read`.
        out
            An array to read into: of the dtype and shape of the result, contiguous in C order (with
            a ``shape`` of several axes and ``order="F"``, each record in Fortran order), and not
            for logical values. Saves the making of a new one.

        Returns
        -------
        array of native-endian elements
            The first axis counts the records; the second one their elements, or ``shape``. A
            structured dtype with one element a record has no second axis.

        Raises
        ------
        UsageError
            Records have different lengths, or do not hold a whole number of elements; or the fields
            of a structured dtype may be aligned or packed, or in the order of their names or of
            their offsets.
        FormatError
            The file is damaged before the last of them.

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
            array, found = self._arrays.together(first, count, dtype, into, threads, progress)
        else:
            every = self._arrays.every(first, count, step)
            array, found = self._arrays.apart(every, dtype, into, threads, progress)
        if out is not None:
            return out
        return shaped(found.finished(array), shape, order, (len(array),))

    def batches(
        self,
        dtype: Any = None,
        *,
        records: int = 65_536,
        threads: int = 0,
    ) -> Iterator[NDArray[Any]]:
        """Give the records of a file, all of one length, some at a time: bounded memory.

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
        """Return the statistics of the numbers of records, straight from the file's byte order.

        Parameters
        ----------
        dtype
            Integers, signed or unsigned, reals or complex numbers: all numbers of the records,
            which may have different lengths. Or for records of one length: a form of one item
            besides skipped ones, as "x4,3f8"; a structured dtype or a form of several items. "f16"
            and "c32" also where NumPy lacks these types.
        first, count
            Which records; all without.
        field
            Of mixed records of one length: the name of the field ("f0", "f1", ... of a form), with
            a dot before one in a group or a nested dtype: "f1.f0".

        Returns
        -------
        Stats, or ComplexStats of complex numbers
            NaN is counted in ``nan`` and otherwise ignored; positions are (record, element), both
            from 0, where records have one length, else the number of the element among all.
            Numbers are reduced as float64: integers of 8 bytes and reals of 16 are rounded to it
            before, as int64 pixels of images are. All others are exact.

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
        """Write the records as another file, with the options of `tachyfits.fortran.convert`."""
        access = options.pop("access", None) or self.access
        return convert_file(
            self._core, target, Conversion(access, **options), overwrite=overwrite, sync=sync,
            threads=threads, progress=progress,
        )  # fmt: skip

    def close(self) -> None:
        """Close the file, from which nothing more is read then; arrays that were read stay."""
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
        #: Its number, from 0.
        self.number = number
        #: Bytes of it, and where they begin in the file, after the marker.
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
            What it is made of: a NumPy dtype that fills it, structured for a mixed record; or a
            form such as "i4,3f8"; None: bytes. Byte order is the file's, whatever the dtype says.
        shape
            Of the Fortran array; one length may be -1.
        order
            "F": ``shape`` is as Fortran has it, the first index the fastest. "C": ``shape`` is
            reversed, the last index the fastest.

        Returns
        -------
        array of native-endian elements
            One axis without a shape. A form of several items gives a structured array of one
            element, with the fields f0, f1, ...; a group is a structured array of its own. Logical
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
        """Return the bytes as they are in the file."""
        return self.read(None).tobytes()

    def __repr__(self) -> str:
        return f"<fortran.Record {self.number}: {self.nbytes} bytes at byte {self.offset}>"


def fields_of_records(
    file: File, first: int, count: int | None, dtype: Any
) -> tuple[int, int, list[str]]:
    """Return the first record, their number, and the names of the fields that have statistics.

    ``count``: None for all up to the end.
    """
    first, count = file._arrays.within(first, count)
    return first, count, file._arrays.number_fields(first, count, dtype)


def subrecords(file: File) -> NDArray[np.uint64]:
    """Return of how many pieces the records of each run are."""
    return file._core.runs()[:, 4]
