"""A column in the engine's form: a native array (or `Ragged`) with its header properties.

NumPy types that FITS lacks are converted here if the conversion is exact, and refused otherwise:
FITS has integers of 8 to 64 bits, floats and complex numbers of 32 and 64, truth values and ASCII
text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import either, usage
from tachyfits.header.given import is_card_text
from tachyfits.table.cells import as_array, with_numpys_mask
from tachyfits.table.ragged import Ragged, elements_of, with_elements
from tachyfits.table.strings import decoded

#: Name, values and properties of each column of a table; the properties are arguments of
#: `column_data`.
Named = Iterator[tuple[str, Any, dict[str, Any]]]


@dataclass(frozen=True)
class ColumnData:
    """A column that can be written.

    Attributes
    ----------
    name
        TTYPEn.
    values
        bool, integers, float32, float64, complex64, complex128 or S; native-endian, contiguous,
        rows first; or a `Ragged` of these that begins at offset 0.
    undefined
        Mask of undefined integers, truth values and text, of the values' shape; None: all defined.
        Undefined integers are ``null``, undefined text is empty; undefined floats are NaN instead.
    null
        The value (of the values' type) that means undefined: TNULLn.
    unit, display, description
        TUNITn ("" for dimensionless quantities, None for numbers without a unit), TDISPn; the
        comment of TTYPEn, and TCOMMn if the comment does not fit.
    time_scale
        Time scale of times, if known, as in TIMESYS.
    location
        Location of times, if known: geocentric x, y, z in metres, for all or (with another axis)
        for each.
    carried
        Other cards: the word before the column's number, and the value.
    is_time
        Whether the text comes from times: trailing zeros have no meaning.
    """

    name: str
    values: NDArray[Any] | Ragged
    undefined: NDArray[np.bool_] | None = None
    null: int | None = None
    unit: str | None = None
    display: str | None = None
    description: str = ""
    time_scale: str | None = None
    location: NDArray[np.float64] | None = None
    carried: tuple[tuple[str, Any], ...] = ()
    is_time: bool = False

    @property
    def rows(self) -> int:
        """Number of cells."""
        return len(self.values)


def column_data(
    name: str, values: Any, *, unit: str | None = None, null: int | None = None, **said: Any
) -> ColumnData:
    """Convert the values of a column.

    Parameters
    ----------
    values
        An array (masked where undefined), a list (None where undefined), or a `Ragged`. Lists of
        equal length become another axis, lists of different lengths a `Ragged`.
    null
        Value of undefined integers; None: a value that does not occur.
    said
        Other attributes of the `ColumnData`.

    Notes
    -----
    float16 becomes float32. Dates become ISO 8601 text, durations float64 seconds. Undefined text
    is empty. Integers in a list stay integers; values that no type represents exactly are refused.

    Examples
    --------
    >>> import numpy as np
    >>> column_data("N", [1, None, 3]).values, column_data("N", [1, None, 3]).null
    (array([                   1, -9223372036854775808,                    3]), -9223372036854775808)
    >>> column_data("T", ["a", "bcd"]).values
    array([b'a', b'bcd'], dtype='|S3')
    """  # noqa: E501
    array = as_array(name, values)
    is_time = said.get("time_scale") is not None or array.dtype.kind == "M"
    compact = array.compact() if isinstance(array, Ragged) else array
    if elements_of(compact).ndim == 0:
        raise usage(f"column {name!r} is a single value", "give one for every row")
    plain, mask, implied = _plain(name, elements_of(compact))
    filled, undefined, null = _filled(name, plain, mask, null)
    contiguous = np.ascontiguousarray(filled).reshape(filled.shape)
    cells = with_elements(compact, contiguous)
    unit = implied if unit is None else unit
    return ColumnData(name, cells, undefined, null, unit, is_time=is_time, **said)


#: Item sizes that FITS has, by NumPy kind.
_SIZES = {"i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (4, 8), "c": (8, 16)}


def _plain(
    name: str, values: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.bool_] | None, str | None]:
    """Return values in a FITS type, the mask of undefined values, and a unit if implied."""
    values, mask = with_numpys_mask(values), None
    if np.ma.isMaskedArray(values) and np.ma.getmask(values) is not np.ma.nomask:
        mask = np.ma.getmaskarray(values)
        mask = mask if mask.any() else None
    data = np.ma.getdata(values)
    if data.dtype.kind == "T":
        # Missing text may be represented by another object.
        cells = data.astype(object)
        missing = np.frompyfunc(lambda cell: not isinstance(cell, str), 1, 1)(cells).astype(bool)
        mask = missing if mask is None else mask | missing
        data = np.where(missing, "", cells).astype("U")
    kind, size = data.dtype.kind, data.dtype.itemsize
    if kind == "b":
        return data, mask, None
    if kind in _SIZES:
        if kind == "f" and size == 2:
            data, size = data.astype(np.float32), 4
        if size not in _SIZES[kind]:
            raise usage(
                f"column {name!r} is of {data.dtype}, which FITS does not have",
                "round it yourself"
                + either(f": .astype('{'complex128' if kind == 'c' else 'float64'}')"),
            )
        return data.astype(data.dtype.newbyteorder("="), copy=False), mask, None
    if kind == "M":
        missing = np.isnat(data)
        text = np.datetime_as_string(data).astype("S")
        text[missing] = b""
        # NumPy reserves width for years that no date here has.
        longest = int(np.char.str_len(text).max(initial=1))
        return text.astype(f"S{longest}"), mask, None
    if kind == "m":
        return _seconds(name, data), mask, "s"
    if kind in "SU":
        return _ascii(name, data), mask, None
    raise usage(
        f"column {name!r} is of {data.dtype}, which FITS does not have",
        "use numbers, truth values, text or dates",
    )


def _seconds(name: str, data: NDArray[Any]) -> NDArray[np.float64]:
    if np.datetime_data(data.dtype)[0] in ("Y", "M", "generic"):
        raise usage(
            f"column {name!r}: {data.dtype} cannot be converted to seconds",
            "give durations of weeks or shorter units",
        )
    seconds = data / np.timedelta64(1, "s")
    seconds[np.isnat(data)] = np.nan
    return seconds


def _ascii(name: str, data: NDArray[Any]) -> NDArray[np.bytes_]:
    """Return text as NumPy's S; FITS allows only characters from blank to "~"."""
    if data.dtype.kind == "U":
        try:
            data = np.char.encode(data, "ascii") if data.size else data.astype("S")
        except UnicodeEncodeError as error:
            raise _not_ascii(name, data) from error
    data = np.ascontiguousarray(data)
    if data.dtype.itemsize == 0 or not data.size:
        return data
    characters = data.reshape(-1, 1).view(np.uint8).reshape(data.size, -1)
    printable = (characters >= 32) & (characters <= 126)
    # NumPy pads with NUL, which ends a string in FITS; a NUL within a string is not padding.
    within = np.arange(characters.shape[1]) < np.char.str_len(data).reshape(-1, 1)
    if not (printable | ~within).all():
        raise _not_ascii(name, data)
    return data


def _not_ascii(name: str, data: NDArray[Any]) -> Exception:
    a_row = max(data.size // max(len(data), 1), 1)
    for place, cell in enumerate(data.reshape(-1).tolist()):
        text = decoded(np.array([cell], object))[0] if isinstance(cell, bytes) else cell
        if not is_card_text(text):
            return usage(
                f"column {name!r}, row {place // a_row} (0-based): {text!r} has characters that "
                "FITS does not have",
                "FITS text is ASCII from blank to '~': write other characters in another way",
            )
    return usage(f"column {name!r} has text outside ASCII", "use ASCII text")


def _filled(
    name: str, data: NDArray[Any], mask: NDArray[np.bool_] | None, null: int | None
) -> tuple[NDArray[Any], NDArray[np.bool_] | None, int | None]:
    """Fill undefined values with the value for undefined: (values, mask, TNULL)."""
    kind = data.dtype.kind
    if not data.size and kind not in "iu":
        # Without rows, the form of the column determines the type.
        return data, None, null
    if null is not None or (kind in "iu" and mask is not None):
        return filled_integers(name, data, mask, null)
    if mask is None:
        return data, None, None
    if kind == "b":
        return data, mask, None
    filled = data.copy()
    filled[mask] = b"" if kind == "S" else np.nan
    return filled, mask if kind == "S" else None, None


def filled_integers(
    name: str, data: NDArray[Any], mask: NDArray[np.bool_] | None, null: int | None
) -> tuple[NDArray[Any], NDArray[np.bool_] | None, int]:
    """Fill undefined integers, by default with an unused value: (values, mask, TNULL)."""
    if data.dtype.kind not in "iu":
        raise usage(
            f"column {name!r} is of {data.dtype}, which has no null of its own",
            "only integers have one: undefined floats are NaN",
        )
    defined = data if mask is None else data[~mask]
    limits = np.iinfo(data.dtype)
    if null is None:
        occurring = Occurring(data.dtype, defined.size)
        occurring.see(defined)
        null = occurring.free(name)
    elif isinstance(null, bool) or not isinstance(null, (int, np.integer)):
        raise usage(
            f"column {name!r}: invalid null {null!r}: expected an integer",
            "use one that does not occur",
        )
    elif not limits.min <= null <= limits.max:
        raise usage(
            f"column {name!r}: invalid null {null}: expected {data.dtype}", "use a value in range"
        )
    elif mask is not None and bool((defined == null).any()):
        raise usage(
            f"column {name!r}: null={null} occurs among the values that are defined",
            "choose another value, or none: then one that does not occur is taken",
        )
    if mask is None:
        mask = data == null
        return data, mask if mask.any() else None, null
    filled = data.copy()
    filled[mask] = null
    return filled, mask, null


class Occurring:
    """Record of the values that occur: all values of types up to 16 bits, else the greatest ones.

    For wider types the greatest value and the ``below`` values beneath it are recorded; one of
    these stays free if ``below`` is at least the number of values.

    >>> import numpy as np
    >>> some = Occurring(np.dtype("u1"))
    >>> some.see(np.array([255, 3], "u1"))
    >>> some.free("N")
    254
    """

    def __init__(self, dtype: np.dtype[Any], below: int = 15) -> None:
        limits = np.iinfo(dtype)
        self._least, self._greatest = int(limits.min), int(limits.max)
        self._dtype = dtype
        span = self._greatest - self._least
        self._known = span if dtype.itemsize <= 2 else min(below, span)
        self._seen = np.zeros(self._known + 1, bool)
        self._has_least = False

    def see(self, values: NDArray[Any]) -> None:
        """Record values."""
        if not values.size:
            return
        self._has_least |= bool(values.min() == self._least)
        first = self._greatest - self._known
        great = values[values >= first]
        wide = great if great.dtype.itemsize == 8 else great.astype(np.int64)
        self._seen[(wide - wide.dtype.type(first)).astype(np.int64)] = True

    def free(self, name: str) -> int:
        """Return a value that does not occur, if possible the same as for a column in one batch.

        Raises
        ------
        UsageError
            No recorded value is free.
        """
        # Prefer the least value of a signed type; for unsigned types, a great value to 0.
        if self._least and not self._has_least:
            return self._least
        unused = np.flatnonzero(~self._seen)
        if unused.size:
            return int(unused[-1]) + self._greatest - self._known
        if not self._has_least:
            return self._least
        raise usage(
            f"column {name!r}: no {self._dtype} is free to mean undefined",
            either(
                "name a value that does not occur by nulls=, or use a wider type",
                "use a wider type",
            ),
        )


def with_null(column: ColumnData, null: int) -> ColumnData:
    """Return a column of integers whose undefined elements have another value.

    Raises
    ------
    UsageError
        It has no integers, or the value does not fit their type, or occurs.
    """
    values = elements_of(column.values)
    if not column.rows and values.dtype.kind not in "iu":
        return replace(column, null=null)
    filled, undefined, null = filled_integers(column.name, values, column.undefined, null)
    cells = with_elements(column.values, filled)
    return replace(column, values=cells, undefined=undefined, null=null)
