"""Records of a Fortran file as arrays: selection, layout, and target memory.

`records.record_file` defines records and the order in which they are read.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits._core import TachyfitsError, UsageError
from tachyfits.base.errors import either, not_found, placed, usage
from tachyfits.base.whole_numbers import check_threads
from tachyfits.records.fields import Field, Layout
from tachyfits.records.forms import is_form, is_items, least_bytes
from tachyfits.records.layouts import empty_layout, layout
from tachyfits.records.numbers import (
    Numbers,
    names_of_dtype,
    number_names,
    numbers_of,
    numbers_of_form,
)

Progress = Callable[[int, int], bool | None]

#: A row of `File.index`: number of the first record in a run of records of equal length, number of
#: records, bytes of each, and file offset of the first one's bytes.
INDEX = np.dtype([("first", "u8"), ("records", "u8"), ("bytes", "u8"), ("offset", "u8")])
#: Stands for all records.
_ALL = 2**64 - 1


def _one_length_hint() -> str:
    """Return advice for records of different lengths."""
    index = either("file.index", "tachyfits fortran info")
    return f"read records of one length at a time, or one by one; {index} has the length of each"


def index_of(core: _core.RecordFile) -> NDArray[Any]:
    """Return the locations of the records: a row of `INDEX` for each run of equal lengths."""
    return np.ascontiguousarray(core.runs()[:, :4]).view(INDEX).reshape(-1)


def number_from_0(core: _core.RecordFile, number: int) -> int:
    """Return the number of an existing record; negative ones count from the end."""
    if number < 0:
        count = core.records()
        if number < -count:
            raise _no_record(core, f"{number}")
        return number + count
    if number >= core.whole_records():
        raise _no_record(core, f"{number} (from 0)")
    return number


def _no_record(core: _core.RecordFile, number: str) -> TachyfitsError:
    """Return the error for a missing record; raise the error of damage if that may hide it."""
    hint = f"the file has {core.records()} records"
    return not_found(f"{core.name}: no record {number}", hint)


class Arrays:
    """The records of an open file, read as arrays."""

    def __init__(self, core: _core.RecordFile) -> None:
        self._core = core

    def within(self, first: int, count: int | None) -> tuple[int, int]:
        """Return the first record and the number of records; count None: up to the end."""
        first = operator.index(first)
        if first < 0 or (count is not None and operator.index(count) < 0):
            many = "all" if count is None else count
            raise usage(
                f"{self._core.name}: invalid first {first}, count {many}: expected 0 or more",
                "records are counted from 0; file[-1] is the last one",
            )
        last = first if count is None else first + operator.index(count) - 1
        if count is not None and last < _ALL:
            return first, operator.index(count)
        if last > self._core.records():
            raise _no_record(self._core, f"{last} (from 0)")
        return first, self._core.records() - first

    def together(
        self,
        first: int,
        count: int | None,
        dtype: Any,
        out: NDArray[Any] | None,
        threads: int,
        progress: Progress | None,
    ) -> tuple[NDArray[Any], Layout]:
        """Read consecutive records."""
        first = operator.index(first)
        most = _ALL if count is None else operator.index(count)
        exactly = count is not None
        ahead = self._ahead(first, most, dtype, lambda *_: out, threads, progress, exactly=exactly)
        if ahead is not None:
            return ahead
        first, most = self.within(first, count)
        if not most:
            return self._nothing(dtype, out)
        record_layout = self.layout(dtype, first, most)
        array = self._into(out, record_layout, record_layout.shape(most))
        self._read(first, most, record_layout, array, threads, progress)
        return array, record_layout

    def every(self, first: int, count: int | None, step: int) -> range:
        """Return record numbers at a fixed step."""
        if step < 1:
            raise usage(
                f"invalid step {step}: expected 1 or more", either("use step=2 for every second")
            )
        first, remaining = self.within(first, count)
        return range(first, first + remaining * (1 if count is None else step), step)

    def apart(
        self,
        records: range,
        dtype: Any,
        out: NDArray[Any] | None,
        threads: int,
        progress: Progress | None,
    ) -> tuple[NDArray[Any], Layout]:
        """Read records of equal length that are not consecutive."""
        if not records:
            return self._nothing(dtype, out)
        number_from_0(self._core, records[-1])
        bytes_each = self._core.record(records[0])[0]
        self._check_lengths(records, bytes_each)
        record_layout = layout(
            dtype, bytes_each, f"{self._core.name}: record {records[0]} (from 0)"
        )
        array = self._into(out, record_layout, record_layout.shape(len(records)))
        step = records.step if len(records) > 1 else 1
        self._read(records[0], len(records), record_layout, array, threads, progress, step=step)
        return array, record_layout

    def _check_lengths(self, records: range, record_bytes: int) -> None:
        """Refuse existing records of different lengths."""
        index = index_of(self._core)
        if len(index) == 1 or len(records) == 1:
            return
        each = np.arange(records[0], records[-1] + 1, records.step, dtype=np.uint64)
        lengths = index["bytes"][np.searchsorted(index["first"], each, side="right") - 1]
        if (odd := np.flatnonzero(lengths != record_bytes)).size:
            raise usage(
                f"{self._core.name}: records {records[0]} and {records[odd[0]]} (from 0) have "
                f"{record_bytes} and {lengths[odd[0]]} bytes",
                _one_length_hint(),
            )

    def batches(self, dtype: Any, records: int, threads: int) -> Iterator[NDArray[Any]]:
        """Yield the records of a file, all of equal length, in batches."""
        if records < 1:
            raise usage(
                f"invalid records {records}: expected 1 or more", "read some records at a time"
            )
        threads = check_threads(threads)
        buffer: NDArray[Any] | None = None
        first = 0

        def again(record_layout: Layout, number: int) -> NDArray[Any] | None:
            fits = buffer is not None and buffer.shape == record_layout.shape(number)
            return buffer if fits and record_layout.dtype == record_layout.result else None

        while True:
            ahead = self._ahead(first, records, dtype, again, threads, None)
            if ahead is not None:
                array, record_layout = ahead
            else:
                number = min(records, self._core.whole_records() - first)
                if number <= 0:
                    self._core.records()
                    return
                record_layout = self.layout(dtype, first, number)
                array = self._into(
                    again(record_layout, number), record_layout, record_layout.shape(number)
                )
                self._read(first, number, record_layout, array, threads, None)
            buffer = record_layout.finished(array)
            first += len(buffer)
            yield buffer

    def one(self, number: int, record_bytes: int, dtype: Any, threads: int) -> NDArray[Any]:
        """Read one record of ``record_bytes`` bytes."""
        record_layout = layout(dtype, record_bytes, f"{self._core.name}: record {number} (from 0)")
        array = self._into(None, record_layout, (record_layout.elements,))
        self._read(number, 1, record_layout, array, threads, None)
        return record_layout.finished(array)

    def numbers(self, first: int, count: int, dtype: Any, field: str | None) -> Numbers:
        """Return the numbers of the records to reduce."""
        with placed(self._core.name):
            return self._numbers(first, count, dtype, field)

    def _numbers(self, first: int, count: int, dtype: Any, field: str | None) -> Numbers:
        form = dtype if is_form(dtype) else None
        if field is None and not is_items(dtype):
            # All records, which may differ in length.
            numbers = numbers_of_form(form, 0) if form else numbers_of(empty_layout(dtype), dtype)
            return replace(numbers, places=None)
        place = f"{self._core.name}: record {first} (from 0)"
        if form:
            record_bytes = self._common_bytes(first, count) if count else least_bytes(form)
            return numbers_of_form(form, record_bytes, field, place)
        record_layout = self.layout(dtype, first, count) if count else empty_layout(dtype)
        return numbers_of(record_layout, dtype, field)

    def number_fields(self, first: int, count: int, dtype: Any) -> list[str]:
        """Return the names of the fields of mixed records that have statistics."""
        if is_items(dtype):
            record_bytes = self._common_bytes(first, count) if count else least_bytes(dtype)
            place = f"{self._core.name}: record {first} (from 0)"
            return number_names(dtype, record_bytes, place, reduced=True)
        # A plain type has no fields, and NumPy may lack it.
        return [] if is_form(dtype) else list(names_of_dtype(empty_layout(dtype).dtype))

    def layout(self, dtype: Any, first: int, count: int) -> Layout:
        """Return the layout of records of equal length."""
        place = f"{self._core.name}: record {first} (from 0)"
        return layout(dtype, self._common_bytes(first, count), place)

    def _common_bytes(self, first: int, count: int) -> int:
        try:
            return self._core.common_bytes(first, count)
        except UsageError as error:
            if error.code == "record-type":
                problem = str(error).partition("\nhint: ")[0]
                error.args = (f"{problem}\nhint: {_one_length_hint()}",)
            raise

    def _nothing(self, dtype: Any, out: NDArray[Any] | None) -> tuple[NDArray[Any], Layout]:
        """Return the array of no records."""
        record_layout = empty_layout(dtype)
        empty = isinstance(out, np.ndarray) and out.shape[:1] == (0,)
        own = out.shape if out is not None and empty else record_layout.shape(0)
        return self._into(out, record_layout, own), record_layout

    def _into(
        self, out: NDArray[Any] | None, record_layout: Layout, own: tuple[int, ...]
    ) -> NDArray[Any]:
        if out is None:
            try:
                # Padding between the fields of an aligned dtype must be 0.
                return (np.zeros if record_layout.dtype.names else np.empty)(
                    own, record_layout.dtype
                )
            except (MemoryError, ValueError) as error:
                raise _core.LimitError(
                    f"{self._core.name}: not enough memory for {own} of {record_layout.dtype}\n"
                    "hint: read fewer records at a time"
                ) from error
        if not isinstance(out, np.ndarray):
            raise usage(
                f"invalid out of type {type(out).__name__}: expected an array",
                f"give a writeable array of {record_layout.result} and shape {own}",
            )
        if record_layout.dtype != record_layout.result:
            raise usage(
                "cannot use out= for logical values, which become a new array of bool",
                "read integers instead, i4 for l4: every value but 0 is true",
            )
        fits = out.dtype == record_layout.dtype and out.shape == own
        if not fits or not out.flags.c_contiguous or not out.flags.writeable:
            lies = "" if out.flags.c_contiguous else ", not contiguous in C order"
            suffix = "" if out.flags.writeable else ", which cannot be written"
            raise usage(
                f"out is an array of {out.dtype} and shape {out.shape}{lies}{suffix}",
                f"give a writeable array of {record_layout.result} and shape {own}, contiguous in "
                "C order",
            )
        return out

    def _ahead(
        self,
        first: int,
        most: int,
        dtype: Any,
        out: Callable[[Layout, int], NDArray[Any] | None],
        threads: int,
        progress: Progress | None,
        *,
        exactly: bool = False,
    ) -> tuple[NDArray[Any], Layout] | None:
        """Read records that may all have one length, and check their markers on the way.

        Return None if their lengths differ, or after another fault; the index then decides.
        """
        there = 0 <= first <= _ALL and most > 0
        guess = self._core.ahead(first, min(most, _ALL)) if there else None
        if guess is None or (exactly and guess[0] != most):
            return None
        count, record_bytes = guess
        try:
            record_layout = layout(dtype, record_bytes)
            array = self._into(out(record_layout, count), record_layout, record_layout.shape(count))
        except (UsageError, _core.LimitError):
            return None
        result = self._core.read(
            *self._arguments(first, count, record_layout, array),
            ahead=True,
            threads=check_threads(threads),
            progress=progress,
        )
        return (array, record_layout) if result else None

    def _arguments(
        self, first: int, count: int, record_layout: Layout, array: NDArray[Any]
    ) -> tuple[int, int, int, int, tuple[Field, ...], NDArray[np.uint8]]:
        bytes_of = array.reshape(-1).view(np.uint8) if array.size else np.empty(0, np.uint8)
        return (
            first,
            count,
            record_layout.record_bytes,
            record_layout.item_bytes,
            record_layout.fields,
            bytes_of,
        )

    def _read(
        self,
        first: int,
        count: int,
        record_layout: Layout,
        array: NDArray[Any],
        threads: int,
        progress: Progress | None,
        *,
        step: int = 1,
    ) -> None:
        self._core.read(
            *self._arguments(first, count, record_layout, array),
            step=step,
            threads=check_threads(threads),
            progress=progress,
        )
