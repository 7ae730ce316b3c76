"""Differences between two files: HDUs, cards, pixels, cells.

The engine compares; this module converts the differences to Python results.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from tachyfits import _core
from tachyfits.base.boundary import public
from tachyfits.base.errors import either, usage
from tachyfits.base.whole_numbers import check_threads
from tachyfits.file.file import File
from tachyfits.file.file import open as open_file
from tachyfits.header.cards import looked_up

if TYPE_CHECKING:
    from tachyfits.base.progress import Progress

#: Types of a source of bytes, including an open File.
Source = str | os.PathLike[str] | bytes | bytearray | memoryview | File


@dataclass(frozen=True)
class HduLabel:
    """An HDU: its number (from 0), EXTNAME, EXTVER, and its kind."""

    index: int
    name: str | None
    version: int
    kind: str


class CardDifference(NamedTuple):
    """A card that differs; ``change`` is "added", "removed", "value" or "comment".

    ``first`` and ``second`` are the values in FITS notation; None for a missing card.
    """

    keyword: str
    change: str
    first: str | None
    second: str | None


class DifferentValue(NamedTuple):
    """A value that differs, as text, and its position: NumPy indices; for cells (row, element)."""

    at: tuple[int, ...]
    first: str
    second: str


@dataclass(frozen=True)
class DataDifference:
    """A difference between the data of two HDUs.

    Attributes
    ----------
    what
        "values": pixels, or the cells of ``column``, differ; "shape": the axes (NumPy order)
        differ; "rows": tables have different numbers of rows, and the common rows are compared;
        "columns": only one table has the columns; "order": columns are in another order, ``found``
        has their names; "cells": the cells of ``column`` cannot be compared; "kind": one is an
        image or a table, and the other is not.
    found
        The differing properties of both HDUs, except values.
    column
        Column; None for pixels.
    compared, different, undefined
        Numbers of values: compared, different by more than the tolerances, and among the latter
        undefined in one file only.
    largest, largest_at
        Largest difference and its position; NaN and () if no values differ.
    places
        First values that differ.
    """

    what: str
    found: tuple[Any, Any] | None = None
    column: str | None = None
    compared: int = 0
    different: int = 0
    undefined: int = 0
    largest: float = float("nan")
    largest_at: tuple[int, ...] = ()
    places: tuple[DifferentValue, ...] = ()


@dataclass(frozen=True)
class HduDifference:
    """Differences between two HDUs: ``cards``, in no particular order, and ``data``.

    The keyword of a column's card has the number of the column in the first table.
    """

    hdus: tuple[HduLabel, HduLabel]
    cards: tuple[CardDifference, ...]
    data: tuple[DataDifference, ...]


@public
@dataclass(frozen=True)
class FileDifference:
    """Differences between two files; false in a condition if there are none.

    Attributes
    ----------
    files
        Their names.
    only
        HDUs of only the first file, and of only the second.
    hdus
        Pairs of HDUs that differ.
    compared
        Number of pairs that were compared.
    """

    files: tuple[str, str]
    only: tuple[tuple[HduLabel, ...], tuple[HduLabel, ...]]
    hdus: tuple[HduDifference, ...]
    compared: int = field(default=0)

    @property
    def same(self) -> bool:
        """Whether nothing differs."""
        return not self.hdus and not any(self.only)

    def __bool__(self) -> bool:
        return not self.same


@public
def diff(
    first: Source,
    second: Source,
    *,
    absolute: float = 0.0,
    relative: float = 0.0,
    ignore: Sequence[str] = (),
    ignore_comments: bool = False,
    places: int = 10,
    threads: int = 0,
    progress: Progress | None = None,
) -> FileDifference:
    """Compare two files: HDUs, cards, pixels and the cells of tables, in one pass over both.

    HDUs are paired by EXTNAME and EXTVER if both files have them, else by number; columns by name,
    and their cards with them. The order of cards does not matter, nor the notation of a number.
    Values are compared after scaling; NaN equals NaN and null equals null; BITPIX may differ.

    Parameters
    ----------
    first, second
        Paths, bytes of files, or open files.
    absolute, relative
        Numbers are equal if they differ by at most ``absolute``, or by at most ``relative`` times
        the larger magnitude of the two; this includes numbers in cards.
    ignore
        Keywords to ignore; ``"DATE*"`` matches all that begin with DATE. Keywords of columns have
        the numbers of the first table.
    ignore_comments
        Ignore the comments of cards.
    places
        Number of differing values to list per array or column.
    threads
        Number of threads; 0: one per core. The result does not depend on it.
    progress
        Called with (bytes done, total bytes); returning False cancels.

    Returns
    -------
    FileDifference
        ``same``, ``hdus`` and ``only``; true in a condition if something differs.

    Raises
    ------
    IoError, FormatError
        A file cannot be read, or ends within its data.

    Examples
    --------
    >>> import tachyfits as tf
    >>> with tf.open("cube.fits") as file:
    ...     (file[0] + 1).write("more.fits", overwrite=True)
    >>> loose = {"ignore": ["HISTORY"], "ignore_comments": True}
    >>> found = tf.diff("cube.fits", "more.fits", **loose)
    >>> found.same, found.hdus[0].data[0].different, found.hdus[0].data[0].largest
    (False, 60, 1.0)
    >>> tf.diff("cube.fits", "more.fits", absolute=1.0, **loose).same
    True
    """
    if not (absolute >= 0 and relative >= 0):
        problem = f"invalid tolerances {absolute!r} and {relative!r}: expected 0 or more"
        raise usage(problem, "leave them out to find every difference")
    if places < 0:
        raise usage(f"places={places!r}", "give the number of values to list: 0 or more")
    a, b = (_opened(source) for source in (first, second))
    result = _core.diff(
        a._open_core(),
        b._open_core(),
        absolute=float(absolute),
        relative=float(relative),
        ignore=[_pattern(keyword) for keyword in ([ignore] if isinstance(ignore, str) else ignore)],
        ignore_comments=ignore_comments,
        places=places,
        threads=check_threads(threads),
        progress=progress,
    )
    only = tuple(tuple(HduLabel(**label) for label in labels) for labels in result["only"])
    return FileDifference(
        files=(a.name, b.name),
        only=(only[0], only[1]),
        hdus=tuple(_hdu(item) for item in result["hdus"]),
        compared=result["compared"],
    )


def _pattern(keyword: str) -> str:
    """Return a keyword, or the beginning of several, as in cards: without the word HIERARCH."""
    if not isinstance(keyword, str):
        raise usage(
            f"invalid ignore {keyword!r}: expected keywords as text", either('as ignore=["DATE*"]')
        )
    name = looked_up(keyword)
    return name.removeprefix("HIERARCH ").lstrip() if name.endswith("*") else name


def _opened(source: Source) -> File:
    return source if isinstance(source, File) else open_file(source)


def _hdu(entry: dict[str, Any]) -> HduDifference:
    first, second = entry["hdus"]
    return HduDifference(
        hdus=(HduLabel(**first), HduLabel(**second)),
        cards=tuple(CardDifference(*card) for card in entry["cards"]),
        data=tuple(_data(item) for item in entry["data"]),
    )


def _data(entry: dict[str, Any]) -> DataDifference:
    what = entry["what"]
    if what == "shape":
        first, second = (tuple(reversed(axes)) for axes in entry["found"])
        return DataDifference(what, (first, second))
    if what != "values":
        return DataDifference(what, tuple(entry["found"]), entry.get("column"))
    # Pixel positions have FITS order in the engine; (row, element) is in NumPy order already.
    pixels = entry["column"] is None

    def order(at: list[int]) -> tuple[int, ...]:
        return tuple(reversed(at)) if pixels else tuple(at)

    return DataDifference(
        what,
        column=entry["column"],
        compared=entry["compared"],
        different=entry["different"],
        undefined=entry["undefined"],
        largest=entry["largest"],
        largest_at=order(entry["largest_at"]),
        places=tuple(DifferentValue(order(at), a, b) for at, a, b in entry["places"]),
    )
