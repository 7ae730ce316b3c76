"""One column as the engine writes it: a native array (or `Ragged`) and what the header says of it.

What NumPy has and FITS has not is translated here, where nothing is lost, and refused where it
would be: FITS has integers of 8 to 64 bits, floats and complex numbers of 32 and 64, truth values
and ASCII text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachyfits._errors import usage
from tachyfits._ragged import LARGE_INTEGER, Ragged, exact_type, joined


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
        Where integers and truth values are undefined, of the values' shape; None: nowhere. Such
        integers hold ``null``; undefined floats are NaN, undefined text is empty.
    null
        The value (of the values' type) that means undefined: TNULLn.
    unit, display, description
        TUNITn, TDISPn; the comment of TTYPEn, and TCOMMn where that has not room for it.
    time_scale
        Of times that say it: their scale, as TIMESYS has it.
    position, coordinate
        TRPOSn; TCTYPn where that names a time scale.
    location
        Of times that say it: geocentric x, y, z in metres, of all or (another axis) of each.
    carried
        Other cards: the word before the column's number, and the value.
    """

    name: str
    values: NDArray[Any] | Ragged
    undefined: NDArray[np.bool_] | None = None
    null: int | None = None
    unit: str | None = None
    display: str | None = None
    description: str = ""
    time_scale: str | None = None
    position: str | None = None
    coordinate: str | None = None
    location: NDArray[np.float64] | None = None
    carried: tuple[tuple[str, Any], ...] = ()

    @property
    def rows(self) -> int:
        """Number of cells."""
        return len(self.values)


def column_data(
    name: str,
    values: Any,
    *,
    unit: str | None = None,
    null: int | None = None,
    display: str | None = None,
    description: str = "",
    time_scale: str | None = None,
    position: str | None = None,
    coordinate: str | None = None,
    location: NDArray[np.float64] | None = None,
    carried: tuple[tuple[str, Any], ...] = (),
) -> ColumnData:
    """Translate the values of a column.

    Parameters
    ----------
    values
        An array (masked where undefined), a list (None where undefined), or a `Ragged`. Lists of
        lists of one length become an axis more, of different lengths a `Ragged`.
    null
        What is to stand for undefined integers; None: a value that does not occur.

    Notes
    -----
    float16 becomes float32. Dates become ISO 8601 text, durations float64 seconds. Undefined text
    is empty. Integers in a list stay integers; what no type holds with all its digits is refused.

    Examples
    --------
    >>> import numpy as np
    >>> column_data("N", [1, None, 3]).values, column_data("N", [1, None, 3]).null
    (array([                   1, -9223372036854775808,                    3]), -9223372036854775808)
    >>> column_data("T", ["a", "bcd"]).values
    array([b'a', b'bcd'], dtype='|S3')
    """  # noqa: E501
    array = as_array(name, values)
    said = (display, description, time_scale, position, coordinate, location, carried)
    if isinstance(array, Ragged):
        whole = array.compact()
        plain, mask, implied = _elements(name, whole.values)
        filled, undefined, null = _filled(name, plain, mask, null)
        ragged = Ragged(whole.offsets, filled, cell_shape=whole.cell_shape)
        return ColumnData(name, ragged, undefined, null, unit or implied, *said)
    if array.ndim == 0:
        raise usage(f"column {name!r} is a single value", "give one for every row")
    plain, mask, implied = _elements(name, array)
    filled, undefined, null = _filled(name, plain, mask, null)
    contiguous = np.ascontiguousarray(filled).reshape(filled.shape)
    return ColumnData(name, contiguous, undefined, null, unit or implied, *said)


def with_numpys_mask(values: Any) -> Any:
    """Return an array of astropy's Masked as NumPy's masked array; anything else as it is.

    NumPy takes such an array for one without a mask.
    """
    if not (isinstance(values, np.ndarray) and hasattr(values, "unmasked")):
        return values
    masked: Any = values
    return np.ma.MaskedArray(np.asarray(masked.unmasked), mask=np.asarray(masked.mask))


def as_array(name: str, values: Any) -> NDArray[Any] | Ragged:
    """Return the values of a column as an array of one type, masked where undefined, or a `Ragged`.

    Raises
    ------
    UsageError
        They are of several types, or of none that FITS has.
    """
    if isinstance(values, Ragged) and values.dtype.kind == "O":
        # Strings; of none it cannot be seen.
        flat = as_array(name, values.values) if values.values.size else np.zeros(0, "S1")
        return Ragged(values.offsets, flat, cell_shape=values.cell_shape)
    if isinstance(values, (Ragged, np.ndarray)):
        array = values
    elif isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
        array = np.asanyarray(values)
    else:
        array = _of_sequence(values)
    if isinstance(array, np.ndarray) and array.dtype.kind == "O":
        return _of_objects(name, array)
    return array


def _of_sequence(values: Sequence[Any]) -> NDArray[Any]:
    """Return a list as an array: of objects where NumPy would make other values of them."""
    kinds = set(map(type, values))
    if any(issubclass(kind, np.ma.MaskedArray) for kind in kinds):
        # NumPy forgets what is masked in a list.
        shapes = set(map(np.shape, values))
        return _objects(values) if () in shapes or len(shapes) > 1 else np.ma.stack(values)
    try:
        array = np.asanyarray(values)
    except (ValueError, OverflowError):
        # Lists of different lengths, or integers beyond 64 bits, which are refused later.
        return _objects(values)
    if _may_be_changed(array, values, kinds):
        return np.array(values, dtype=object)
    return array


def _may_be_changed(array: NDArray[Any], values: Sequence[Any], kinds: set[type]) -> bool:
    """Say whether NumPy may have made text of numbers, or floats of integers, which it rounds."""
    text = array.dtype.kind in "US"
    large = array.dtype.kind in "fc" and bool((np.abs(array) >= LARGE_INTEGER).any())
    if array.ndim > 1 and (text or large):
        kinds = set(map(type, np.array(values, dtype=object).reshape(-1).tolist()))
    if text:
        return not all(issubclass(kind, (str, bytes)) for kind in kinds)
    if large:
        return not all(issubclass(kind, (float, complex, np.inexact)) for kind in kinds)
    integers = all(issubclass(kind, (int, np.integer)) for kind in kinds)
    return array.dtype.kind == "f" and array.ndim == 1 and integers


def _objects(values: Sequence[Any]) -> NDArray[np.object_]:
    cells = np.empty(len(values), dtype=object)
    for row, cell in enumerate(values):
        cells[row] = None if cell is np.ma.masked else cell
    return cells


def _of_objects(name: str, array: NDArray[Any]) -> NDArray[Any] | Ragged:
    """Give objects the type that all of them have; None and masked ones are undefined."""
    cells = [None if cell is np.ma.masked else cell for cell in array.reshape(-1).tolist()]
    if any(_is_array(cell) for cell in cells):
        if array.ndim != 1:
            raise usage(f"column {name!r}: arrays in an array of several axes", "use one axis")
        return _of_arrays(name, cells)
    missing = np.array([cell is None for cell in cells], bool)
    known = [cell for cell in cells if cell is not None]
    typed = _typed(name, known)
    full = np.zeros(len(cells), typed.dtype)
    full[~missing] = typed
    shaped = full.reshape(array.shape)
    return np.ma.MaskedArray(shaped, mask=missing.reshape(array.shape)) if missing.any() else shaped


def _is_array(cell: Any) -> bool:
    return cell.ndim > 0 if isinstance(cell, np.ndarray) else isinstance(cell, (list, tuple))


def _of_arrays(name: str, cells: list[Any]) -> NDArray[Any] | Ragged:
    """Return arrays as a `Ragged`; of one shape and several axes, or text, with an axis more."""
    at_once = _of_plain_lists(name, cells)
    if at_once is not None:
        return at_once
    arrays = [np.zeros(0) if cell is None else as_array(name, cell) for cell in cells]
    plain = [array for array in arrays if not isinstance(array, Ragged)]
    if len(plain) < len(arrays):
        raise usage(
            f"column {name!r}: lists of lists of different lengths", "flatten the inner ones"
        )
    is_text = [array.dtype.kind in "US" for array in plain if array.size]
    first, text = plain[0], bool(is_text) and all(is_text)
    if (first.ndim > 1 or text) and all(array.shape == first.shape for array in plain):
        return (np.ma if any(map(np.ma.isMaskedArray, plain)) else np).stack(plain)  # type: ignore[no-any-return]
    if text and all(array.ndim == 1 for array in plain):
        known = [array.dtype for array in plain if array.size]
        return joined(plain, np.result_type(*known), f"column {name!r}")
    odd = next((array for array in plain if array.dtype.kind not in "biufc"), None)
    if odd is not None:
        raise usage(
            f"column {name!r} has cells that are arrays of {odd.dtype}, of different lengths",
            "those hold numbers, truth values or text of one axis: fill the cells up to one length",
        )
    return joined(plain, where=f"column {name!r}")


def _of_plain_lists(name: str, cells: list[Any]) -> NDArray[Any] | Ragged | None:
    """Return lists of Python's numbers, or of its text, all at once; None if they are others."""
    if not set(map(type, cells)) <= {list, tuple, type(None)}:
        return None
    lists = [cell or () for cell in cells]
    elements = list(chain.from_iterable(lists))
    kinds = set(map(type, elements)) - {type(None)}
    if not (kinds <= {int, float, complex} or kinds == {str}):
        return None
    values = as_array(name, elements)
    assert isinstance(values, np.ndarray)
    if kinds == {str} and len(set(map(len, lists))) == 1:
        return values.reshape(len(lists), -1)
    offsets = np.zeros(len(lists) + 1, np.int64)
    np.cumsum(list(map(len, lists)), out=offsets[1:])
    return Ragged(offsets, values)


def _typed(name: str, known: list[Any]) -> NDArray[Any]:
    """Return objects as an array of numbers, truth values, text or dates; nothing else is FITS."""
    kinds = {_kind_of(cell) for cell in known}
    if kinds <= {"number"} or (len(kinds) == 1 and "other" not in kinds):
        ways = {"date": _dates, "duration": _durations, "clock": _clock_times}
        way = next((ways[kind] for kind in kinds if kind in ways), np.array)
        try:
            array = way(known) if known else np.zeros(0)
        except (TypeError, ValueError, OverflowError) as error:
            raise usage(f"column {name!r}: {error}", _ONE_TYPE) from error
        if "number" in kinds:
            array = _exact(name, known, array)
        if array.dtype.kind in "biufcSUMm":
            return array
    shown = ", ".join(sorted({type(cell).__name__ for cell in known}))
    raise usage(
        f"column {name!r} has values of type {shown}, which make no column of FITS", _ONE_TYPE
    )


def _exact(name: str, known: list[Any], array: NDArray[Any]) -> NDArray[Any]:
    """Return the array that NumPy made of numbers, or one that holds integers which it rounded."""
    integers = [int(cell) for cell in known if isinstance(cell, (int, np.integer))]
    if array.dtype.kind in "iu" or not integers:
        return array
    least, greatest = min(integers), max(integers)
    if least < -(2**63) or greatest >= 2**64:
        odd = greatest if greatest >= 2**64 else least
        raise usage(f"column {name!r}: {odd} needs more than 64 bits", "use floats, or text")
    among = None if len(integers) == len(known) else integers
    kind = exact_type(array.dtype, least, greatest, among, f"column {name!r}")
    return array if kind == array.dtype else np.array(known, kind)


def _dates(known: list[Any]) -> NDArray[Any]:
    """Return dates, of whole days where all are; the Standard's have no time zone: they are UTC."""
    dates = np.array([_date(cell) for cell in known])
    # Undefined ones may have no unit.
    return dates.astype("M8[D]") if np.isnat(dates).all() else dates


def _date(cell: Any) -> Any:
    """Return a date as NumPy's; of pandas, which has nanoseconds, by its own way."""
    import datetime

    if isinstance(cell, np.datetime64):
        return cell
    if hasattr(cell, "to_datetime64"):
        return cell.to_datetime64()
    if not isinstance(cell, datetime.datetime):
        return np.datetime64(cell, "D")
    if cell.tzinfo is not None:
        cell = cell.astimezone(datetime.timezone.utc).replace(tzinfo=None)
    return np.datetime64(cell, "us")


def _clock_times(known: list[Any]) -> NDArray[Any]:
    return np.array([cell.isoformat() for cell in known])


def _durations(known: list[Any]) -> NDArray[Any]:
    return np.array([_duration(cell) for cell in known])


def _duration(cell: Any) -> Any:
    """Return a duration as NumPy's; of pandas, which has nanoseconds, by its own way."""
    if isinstance(cell, np.timedelta64):
        return cell
    return cell.to_timedelta64() if hasattr(cell, "to_timedelta64") else np.timedelta64(cell, "us")


def _kind_of(cell: Any) -> str:
    import datetime
    import numbers

    if isinstance(cell, (bool, np.bool_)):
        return "truth"
    if isinstance(cell, (datetime.timedelta, np.timedelta64)):
        # Before numbers, of which NumPy takes its durations for one.
        return "duration"
    if isinstance(cell, numbers.Number):
        return "number"
    if isinstance(cell, str):
        return "text"
    if isinstance(cell, bytes):
        return "bytes"
    if isinstance(cell, (datetime.date, np.datetime64)):
        return "date"
    if isinstance(cell, datetime.time) and cell.tzinfo is None:
        return "clock"
    return "other"


_ONE_TYPE = "use numbers (of at most 64 bits), truth values, text or dates, one type in a column"

#: NumPy's kinds of number whose types FITS has, by their bytes.
_SIZES = {"i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (4, 8), "c": (8, 16)}


def _elements(
    name: str, values: NDArray[Any]
) -> tuple[NDArray[Any], NDArray[np.bool_] | None, str | None]:
    """Return plain values of a type of FITS, where they are undefined, and a unit if implied."""
    values, mask = with_numpys_mask(values), None
    if np.ma.isMaskedArray(values) and np.ma.getmask(values) is not np.ma.nomask:
        mask = np.ma.getmaskarray(values)
        mask = mask if mask.any() else None
    data = np.ma.getdata(values)
    kind, size = data.dtype.kind, data.dtype.itemsize
    if kind == "b":
        return data, mask, None
    if kind in _SIZES:
        if kind == "f" and size == 2:
            data, size = data.astype(np.float32), 4
        if size not in _SIZES[kind]:
            raise usage(
                f"column {name!r} is of {data.dtype}, which FITS does not have",
                f"round it yourself: .astype('{'complex128' if kind == 'c' else 'float64'}')",
            )
        return data.astype(data.dtype.newbyteorder("="), copy=False), mask, None
    if kind == "M":
        missing = np.isnat(data)
        text = np.datetime_as_string(data).astype("S")
        text[missing] = b""
        # NumPy makes room for years that no date here has.
        longest = int(np.char.str_len(text).max(initial=1))
        return text.astype(f"S{longest}"), mask, None
    if kind == "m":
        return _seconds(name, data), mask, "s"
    if kind in "SUT":
        return _ascii(name, data), mask, None
    raise usage(
        f"column {name!r} is of {data.dtype}, which FITS does not have",
        "use numbers, truth values, text or dates",
    )


def _seconds(name: str, data: NDArray[Any]) -> NDArray[np.float64]:
    if np.datetime_data(data.dtype)[0] in ("Y", "M", "generic"):
        raise usage(
            f"column {name!r} is of {data.dtype}, which are no seconds",
            "give durations of weeks or shorter units",
        )
    seconds = data / np.timedelta64(1, "s")
    seconds[np.isnat(data)] = np.nan
    return seconds


def _ascii(name: str, data: NDArray[Any]) -> NDArray[np.bytes_]:
    """Return text as NumPy's S; FITS has the characters from blank to "~" alone."""
    if data.dtype.kind == "T":
        data = data.astype(object).astype("U")
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
    # NumPy fills with NUL, which FITS knows as the end of a string; within one it is none.
    within = np.arange(characters.shape[1]) < np.char.str_len(data).reshape(-1, 1)
    if not (printable | ~within).all():
        raise _not_ascii(name, data)
    return data


def is_card_text(text: str) -> bool:
    """Return whether FITS has all characters of a text: ASCII from blank to "~"."""
    return text.isascii() and (text.isprintable() or not text)


def _not_ascii(name: str, data: NDArray[Any]) -> Exception:
    a_row = max(data.size // max(len(data), 1), 1)
    for place, cell in enumerate(data.reshape(-1).tolist()):
        text = cell.decode("latin-1") if isinstance(cell, bytes) else cell
        if not is_card_text(text):
            return usage(
                f"column {name!r}, row {place // a_row} (0-based): {text!r} has characters that "
                "FITS does not have",
                "text in FITS is ASCII from blank to '~': write other characters another way",
            )
    return usage(f"column {name!r} is no ASCII text", "use ASCII text")


def _filled(
    name: str, data: NDArray[Any], mask: NDArray[np.bool_] | None, null: int | None
) -> tuple[NDArray[Any], NDArray[np.bool_] | None, int | None]:
    """Put what means undefined where it is undefined: (values, mask, TNULL)."""
    kind = data.dtype.kind
    if kind in "iu" and (mask is not None or null is not None):
        return _filled_integers(name, data, mask, null)
    if mask is None:
        return data, None, None
    if kind == "b":
        return data, mask, None
    filled = data.copy()
    filled[mask] = b"" if kind == "S" else np.nan
    return filled, None, None


def _filled_integers(
    name: str, data: NDArray[Any], mask: NDArray[np.bool_] | None, null: int | None
) -> tuple[NDArray[Any], NDArray[np.bool_] | None, int]:
    defined = data if mask is None else data[~mask]
    limits = np.iinfo(data.dtype)
    if null is None:
        null = _free_value(name, defined)
    elif not isinstance(null, (int, np.integer)):
        raise usage(f"column {name!r}: null={null!r} is no integer", "use one that does not occur")
    elif not limits.min <= null <= limits.max:
        raise usage(f"column {name!r}: null={null} is no {data.dtype}", "use one that is")
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


def _free_value(name: str, defined: NDArray[Any]) -> int:
    """Return a value that does not occur: the type's least or greatest if that is free."""
    limits = np.iinfo(defined.dtype)
    # Unsigned numbers use 0 more often than their greatest; and where what is stored for one is
    # negative, as for the lower half, astropy cannot read the table.
    first = [limits.min, limits.max] if limits.min else [limits.max]
    for value in first:
        if not bool((defined == value).any()):
            return int(value)
    occurring = set(np.unique(defined).tolist())
    for value in range(limits.max, limits.min - 1, -1):
        if value not in occurring:
            return int(value)
    raise usage(
        f"column {name!r}: every value of {defined.dtype} occurs, so none can mean undefined",
        "use a wider type",
    )


def with_null(column: ColumnData, null: int) -> ColumnData:
    """Return a column of integers whose undefined elements hold another value.

    Raises
    ------
    UsageError
        It holds no integers, or the value is none of them or occurs.
    """
    values = column.values
    if values.dtype.kind not in "iu":
        raise usage(
            f"column {column.name!r} is of {values.dtype}, which has no null of its own",
            "nulls= is for integers: undefined floats are NaN",
        )
    flat = values.values if isinstance(values, Ragged) else values
    filled, undefined, null = _filled_integers(column.name, flat, column.undefined, null)
    made = (
        Ragged(values.offsets, filled, cell_shape=values.cell_shape)
        if isinstance(values, Ragged)
        else filled
    )
    return replace(column, values=made, undefined=undefined, null=null)
