"""An open unformatted file of a Fortran program, and its records: see `tachyfits.fortran`."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterator
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits._core import Report, Stats, TachyfitsError, UsageError
from tachyfits._errors import cancelled, not_found, usage
from tachyfits._record_convert import convert_file
from tachyfits._record_numbers import numbers_of
from tachyfits._records import Field, Layout, MemoryOrder, empty_layout, is_items, layout, shaped
from tachyfits._threads import check_threads

_Progress = Callable[[int, int], bool | None]

#: A row of `File.index`: the first record of a run of records of one length, how many there are,
#: the bytes of each, and where those of the first begin in the file.
INDEX = np.dtype([("first", "u8"), ("records", "u8"), ("bytes", "u8"), ("offset", "u8")])
#: Bytes from one wanted record to the next that are read sooner than a call is made for each.
_NEAR = 4 << 10
#: Bytes of records that are then read at a time.
_BLOCK = 4 << 20
#: As many records as there are.
_ALL = 2**64 - 1
_ONE_LENGTH = (
    "read records of one length at a time, or one by one; file.index, or `tachyfits fortran info`, "
    "has the length of each"
)


class EndOfRecords(UsageError, EOFError):
    """There is no further record to read."""


class File:
    """An open unformatted file: a sequence of records, read when asked for."""

    def __init__(self, core: _core.RecordFile, access: str) -> None:
        self._core = core
        self._position = 0
        #: How it is accessed: "sequential", "direct" or "stream".
        self.access = access

    @property
    def name(self) -> str:
        """The path."""
        return self._core.name

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
        """How the markers were found out; None where they were given, or there are none."""
        return self._core.reason

    @property
    def evidence(self) -> list[str]:
        """What speaks for and against each width and order of markers that was tried."""
        return self._core.evidence

    @property
    def index(self) -> NDArray[Any]:
        """Where the records are: a row for each run of records of one length.

        Rows have the fields first (the number of the first record), records, bytes, offset.
        """
        runs = self._core.runs()
        return np.ascontiguousarray(runs).view(INDEX).reshape(-1)

    @property
    def damage(self) -> str | None:
        """What is wrong after the last whole record; None where nothing is."""
        return self._core.damage()

    @property
    def whole_records(self) -> int:
        """Number of whole records before the end of the file or the first damage."""
        return self._core.whole_records()

    @property
    def skipped(self) -> list[tuple[int, int, str]]:
        """What recovery passed over: (first byte, byte after the last, why)."""
        return self._core.skipped()

    @property
    def last_report(self) -> Report | None:
        """What the latest operation cost."""
        return self._core.last_report

    def __len__(self) -> int:
        """Return the number of records; FitsFormatError where damage hides how many there are."""
        return self._core.records()

    @overload
    def __getitem__(self, number: int) -> Record: ...
    @overload
    def __getitem__(self, number: slice) -> list[Record]: ...
    def __getitem__(self, number: int | slice) -> Record | list[Record]:
        """Return a record by its number from 0, negative ones counting from the end; or a slice."""
        if isinstance(number, slice):
            return [Record(self, one) for one in self._numbers_of(number)]
        number = operator.index(number)
        if number < 0:
            count = len(self)
            if number < -count:
                raise self._no_record(f"{number}")
            number += count
        elif number >= self._core.whole_records():
            raise self._no_record(f"{number} (from 0)")
        return Record(self, number)

    def _no_record(self, number: str) -> TachyfitsError:
        hint = f"the file has {len(self)} records"
        return not_found(f"{self.name}: there is no record {number}", hint)

    def _numbers_of(self, chosen: slice) -> range:
        """Return the numbers of a slice; damage behind them does not matter."""
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
            raise usage(f"{number} is no record", "records are counted from 0")
        self._position = number

    def skip(self, records: int = 1) -> None:
        """Go on by some records without reading them; back where the number is negative."""
        self.position = self._position + operator.index(records)

    def read(
        self,
        dtype: Any = None,
        *,
        shape: int | tuple[int, ...] | None = None,
        order: MemoryOrder = "F",
        threads: int = 0,
    ) -> NDArray[Any]:
        """Read the next record, as `Record.read` does, and go on to the one after it.

        Raises
        ------
        EndOfRecords
            There is none, which is an EOFError too.
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
        shape: int | tuple[int, ...] | None = None,
        order: MemoryOrder = "F",
        out: NDArray[Any] | None = None,
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> NDArray[Any]:
        """Read records of one length as one array, by all threads, without a call for each.

        Parameters
        ----------
        first, count
            Which records, from 0; without a count those up to the end.
        dtype
            What a record is made of: a NumPy dtype, structured for mixed records, or a form.
        step
            2 for every second record, and so on: those between may have other lengths. Then, and
            where they are long, records are read one by one, by one thread each.
        shape, order
            Of each record, as in `Record.read`.
        out
            An array to read into: of the dtype and shape of the result, contiguous in C order, and
            not for logical values. Saves the making of a new one.

        Returns
        -------
        array of native-endian elements
            The first axis counts the records; the second one their elements, or ``shape``. A
            structured dtype with one element a record has no second axis.

        Raises
        ------
        UsageError
            Records have different lengths, or are no whole number of such elements; or they may be
            those of a structured dtype both with and without what aligns its fields.
        FitsFormatError
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
        if step == 1:
            array, found = self._together(first, count, dtype, out, threads, progress)
        else:
            every = self._every(first, count, step)
            array, found = self._apart(every, dtype, out, threads, progress)
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

        The array is the same one each time where the number of records is: copy what is to be kept.
        The file is read once and no further than asked for; damage is raised after the last whole
        record before it.
        """
        if records < 1:
            raise usage(f"records={records} at a time", "read one record or more at a time")
        threads = check_threads(threads)
        kept: NDArray[Any] | None = None
        first = 0

        def again(found: Layout, number: int) -> NDArray[Any] | None:
            same = kept is not None and kept.shape == found.shape(number)
            return kept if same and found.dtype == found.result else None

        while True:
            ahead = self._ahead(first, records, dtype, again, threads, None)
            if ahead is not None:
                array, found = ahead
            else:
                number = min(records, self._core.whole_records() - first)
                if number <= 0:
                    self._core.records()
                    return
                found = self._layout(dtype, first, number)
                array = self._into(again(found, number), found, found.shape(number))
                self._read(first, number, found, array, threads, None)
            kept = found.finished(array)
            first += len(kept)
            yield kept

    def stats(
        self,
        dtype: Any = "f8",
        *,
        first: int = 0,
        count: int | None = None,
        field: str | None = None,
        threads: int = 0,
        progress: _Progress | None = None,
    ) -> Stats:
        """Return the statistics of the numbers of records, straight from the file's byte order.

        Parameters
        ----------
        dtype
            int8, int16, int32, int64, float32 or float64: all numbers of the records, which may
            have different lengths. Or of records of one length: a form of one item besides what
            is passed over, as "x4,3f8"; a structured dtype or a form of several items.
        first, count
            Which records; all without.
        field
            Of mixed records of one length: the name of the field ("f0", "f1", ... of a form).

        Returns
        -------
        Stats
            NaN is counted in ``nan`` and otherwise ignored; positions are (record, element), both
            from 0, where records have one length, else the number of the element among all.

        Examples
        --------
        >>> from tachyfits import fortran
        >>> fortran.write("run.dat", [1.0, 2.0], [6.0])
        >>> stats = fortran.open("run.dat").stats("f8")
        >>> stats.count, stats.mean, stats.max, stats.max_position
        (3, 3.0, 6.0, (2,))
        """
        first, count = self._range(first, count)
        part = field is not None or is_items(dtype)
        found = self._layout(dtype, first, count) if part and count else empty_layout(dtype)
        name, place = numbers_of(found, dtype, field, part=part)
        threads = check_threads(threads)
        return self._core.stats(first, count, name, field=place, threads=threads, progress=progress)

    def _range(self, first: int, count: int | None) -> tuple[int, int]:
        first = operator.index(first)
        if first < 0 or (count is not None and operator.index(count) < 0):
            raise usage(f"{count} records from {first} on", "records are counted from 0")
        last = first if count is None else first + operator.index(count) - 1
        if count is not None and last < _ALL:
            return first, operator.index(count)
        if last > len(self):
            raise self._no_record(f"{last} (from 0)")
        return first, len(self) - first

    def _together(
        self,
        first: int,
        count: int | None,
        dtype: Any,
        out: NDArray[Any] | None,
        threads: int,
        progress: _Progress | None,
    ) -> tuple[NDArray[Any], Layout]:
        """Read records that follow each other."""
        first = operator.index(first)
        most = _ALL if count is None else operator.index(count)
        exactly = count is not None
        ahead = self._ahead(first, most, dtype, lambda *_: out, threads, progress, exactly=exactly)
        if ahead is not None:
            return ahead
        first, most = self._range(first, count)
        if not most:
            return self._nothing(dtype, out)
        found = self._layout(dtype, first, most)
        array = self._into(out, found, found.shape(most))
        self._read(first, most, found, array, threads, progress)
        return array, found

    def _every(self, first: int, count: int | None, step: int) -> range:
        """Return the numbers of every so manyth record."""
        if step < 1:
            raise usage(f"step={step}", "every second record has step=2; they come in their order")
        first, rest = self._range(first, count)
        return range(first, first + rest * (1 if count is None else step), step)

    def _apart(
        self,
        records: range,
        dtype: Any,
        out: NDArray[Any] | None,
        threads: int,
        progress: _Progress | None,
    ) -> tuple[NDArray[Any], Layout]:
        """Read records that do not follow each other, and have one length."""
        if not records:
            return self._nothing(dtype, out)
        last = self[records[-1]]
        index = self.index
        row = np.searchsorted(index["first"], np.asarray(records), side="right") - 1
        lengths = index["bytes"][row]
        if (other := np.flatnonzero(lengths != lengths[0])).size:
            raise usage(
                f"{self.name}: records {records[0]} and {records[other[0]]} (from 0) have "
                f"{lengths[0]} and {lengths[other[0]]} bytes",
                _ONE_LENGTH,
            )
        found = layout(dtype, last.nbytes, f"{self.name}: record {records[0]} (from 0)")
        array = self._into(out, found, found.shape(len(records)))
        bytes_each = last.nbytes
        step_bytes = records.step * max(bytes_each, found.item_bytes, 1)
        near = row[0] == row[-1] and step_bytes <= _NEAR
        at_a_time = _BLOCK // step_bytes if near else 1
        for place in range(0, len(records), at_a_time):
            part = array[place : place + at_a_time]
            self._every_into(part, records[place], records.step, found, threads)
            done = (place + len(part)) * bytes_each, len(records) * bytes_each
            if progress is not None and progress(*done) is False:
                raise cancelled()
        return array, found

    def _every_into(
        self, part: NDArray[Any], first: int, step: int, found: Layout, threads: int
    ) -> None:
        """Read every so manyth record of a run of one length, with those between."""
        count = (len(part) - 1) * step + 1
        whole = part if count == 1 else self._into(None, found, found.shape(count))
        self._read(first, count, found, whole, threads, None)
        if count > 1:
            part[...] = whole[::step]

    def _layout(self, dtype: Any, first: int, count: int) -> Layout:
        """Return the layout of records of one length."""
        try:
            record_bytes = self._core.common_bytes(first, count)
        except UsageError as error:
            if error.code == "record-type":
                problem = str(error).partition("\nhint: ")[0]
                error.args = (f"{problem}\nhint: {_ONE_LENGTH}",)
            raise
        return layout(dtype, record_bytes, f"{self.name}: record {first} (from 0)")

    def _nothing(self, dtype: Any, out: NDArray[Any] | None) -> tuple[NDArray[Any], Layout]:
        """Return the array of no records."""
        found = empty_layout(dtype)
        empty = isinstance(out, np.ndarray) and out.shape[:1] == (0,)
        own = out.shape if out is not None and empty else found.shape(0)
        return self._into(out, found, own), found

    def _into(self, out: NDArray[Any] | None, found: Layout, own: tuple[int, ...]) -> NDArray[Any]:
        if out is None:
            try:
                # What is between the fields of an aligned dtype is 0.
                return (np.zeros if found.dtype.names else np.empty)(own, found.dtype)
            except (MemoryError, ValueError) as error:
                raise _core.LimitError(
                    f"{self.name}: there is no memory for {own} of {found.dtype}\n"
                    "hint: read fewer records at a time"
                ) from error
        if not isinstance(out, np.ndarray):
            raise usage(
                f"out is a {type(out).__name__}, no array",
                f"give a writeable array of {found.result} and shape {own}",
            )
        fits = out.dtype == found.dtype and found.dtype == found.result and out.shape == own
        if not fits or not out.flags.c_contiguous or not out.flags.writeable:
            raise usage(
                f"out is an array of {out.dtype} and shape {out.shape}",
                f"give a writeable one of {found.result} and shape {own}, contiguous in C order",
            )
        return out

    def _ahead(
        self,
        first: int,
        most: int,
        dtype: Any,
        out: Callable[[Layout, int], NDArray[Any] | None],
        threads: int,
        progress: _Progress | None,
        *,
        exactly: bool = False,
    ) -> tuple[NDArray[Any], Layout] | None:
        """Read records that may all have one length while their markers are looked at.

        None: they have not, or something else is the matter; the index knows.
        """
        there = 0 <= first <= _ALL and most > 0
        guess = self._core.ahead(first, min(most, _ALL)) if there else None
        if guess is None or (exactly and guess[0] != most):
            return None
        count, record_bytes = guess
        try:
            found = layout(dtype, record_bytes)
            array = self._into(out(found, count), found, found.shape(count))
        except (UsageError, _core.LimitError):
            return None
        done = self._core.read(
            *self._arguments(first, count, found, array),
            ahead=True,
            threads=check_threads(threads),
            progress=progress,
        )
        return (array, found) if done else None

    def _arguments(
        self, first: int, count: int, found: Layout, array: NDArray[Any]
    ) -> tuple[int, int, int, int, tuple[Field, ...], NDArray[np.uint8]]:
        bytes_of = array.reshape(-1).view(np.uint8) if array.size else np.empty(0, np.uint8)
        return first, count, found.record_bytes, found.item_bytes, found.fields, bytes_of

    def _read(
        self,
        first: int,
        count: int,
        found: Layout,
        array: NDArray[Any],
        threads: int,
        progress: _Progress | None,
    ) -> None:
        self._core.read(
            *self._arguments(first, count, found, array),
            threads=check_threads(threads),
            progress=progress,
        )

    def convert(self, target: str | os.PathLike[str], **options: Any) -> int:
        """Write the records as another file, with the options of `tachyfits.fortran.convert`."""
        return convert_file(self._core, target, self.access, **options)

    def close(self) -> None:
        """Do nothing: the file is closed when nothing refers to it any more."""

    def __enter__(self) -> File:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        how = f"{self.markers}-byte markers" if self.markers else f"{self.access} access"
        return f"<fortran.File {self.name!r}: {self.nbytes} bytes, {how}, {self.order}-endian>"


class Record:
    """A record of a file: its length, and its content when asked for."""

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
        shape: int | tuple[int, ...] | None = None,
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
            element, with the fields f0, f1, ...; logical values are bool, text is bytes.

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
        place = f"{self._file.name}: record {self.number} (from 0)"
        found = layout(dtype, self.nbytes, place)
        array = self._file._into(None, found, (found.elements,))
        self._file._read(self.number, 1, found, array, threads, None)
        return shaped(found.finished(array), shape, order, ())

    def __bytes__(self) -> bytes:
        """Return the bytes as they are in the file."""
        return self.read(None).tobytes()

    def __repr__(self) -> str:
        return f"<fortran.Record {self.number}: {self.nbytes} bytes at byte {self.offset}>"
