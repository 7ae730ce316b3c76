"""Values of Fortran records as text and JSON, and as FITS, NumPy and CSV files."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tachyfits as tf
from tachyfits.base import usage, write_atomically
from tachyfits.cli._output import csv_text, number_text
from tachyfits.table import own_digits

#: Padding characters of text.
_PADDING = " \0"


def plain(values: NDArray[Any]) -> list[Any]:
    """Convert values to Python numbers, text and lists; 4-byte reals keep their own digits.

    >>> plain(np.array([(1, [0.1, 0.2], b"a ")], "i4,2f4,S2"))
    [[1, [0.1, 0.2], 'a']]
    """
    if values.dtype.names is not None:
        if values.ndim > 1:
            return _nested(plain(values.reshape(-1)), values.shape[1:])
        fields = [plain(values[name]) for name in values.dtype.names]
        return [list(row) for row in zip(*fields, strict=True)]
    if values.dtype.kind == "S":
        return [_text(value) for value in values.tolist()]
    result: list[Any] = own_digits(values).tolist()
    return result


def _text(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("latin-1").rstrip(_PADDING)
    return [_text(item) for item in value]


def _nested(items: list[Any], shape: tuple[int, ...]) -> list[Any]:
    """Reshape a list to nested lists."""
    for length in reversed(shape):
        items = [items[start : start + length] for start in range(0, len(items), length)]
    return items


def line(values: NDArray[Any], most: int) -> str:
    """Return the first values of a record as text, with the total number if some are omitted."""
    total = values.size * _numbers(values.dtype)
    cells = _first(values, most)
    text = " ".join(repr(cell) if isinstance(cell, str) else number_text(cell) for cell in cells)
    return f"{text} ... ({total} values)" if total > most else text


def _numbers(dtype: np.dtype[Any]) -> int:
    """Return the number of values in an element, including those of nested derived types."""
    if dtype.subdtype is not None:
        return prod(dtype.shape) * _numbers(dtype.base)
    return 1 if dtype.names is None else sum(_numbers(dtype[name]) for name in dtype.names)


def _first(values: NDArray[Any], most: int) -> list[Any]:
    """Return the first ``most`` values in the order of the record."""
    values = values.reshape(-1)[:most]
    if values.dtype.names is None:
        return plain(values)
    cells: list[Any] = []
    for index in range(len(values)):
        for name in values.dtype.names:
            cells += _first(values[index : index + 1][name], most - len(cells))
            if len(cells) >= most:
                return cells
    return cells


def save(array: NDArray[Any], output: str, *, overwrite: bool) -> None:
    """Write records in the format given by the suffix of the output."""
    suffix = Path(output).suffix.lower()
    if suffix == ".npy":
        write_atomically(output, lambda stream: np.save(stream, array), overwrite=overwrite)
    elif suffix == ".csv":
        text = _csv(array)
        write_atomically(output, lambda stream: stream.write(text.encode()), overwrite=overwrite)
    elif suffix == ".fits":
        _save_fits(array, output, overwrite=overwrite)
    else:
        raise usage(f"{output} ends in none of .fits .npy .csv", "use one of these endings")


def _save_fits(array: NDArray[Any], output: str, *, overwrite: bool) -> None:
    if array.dtype.names is not None:
        tf.write(output, dict(_columns(array)), overwrite=overwrite)
    elif array.dtype.kind in "cbS":
        # Images cannot have pixels of these types: write a table.
        values = array[:, 0] if array.shape[1] == 1 else array
        tf.write(output, {"values": values}, overwrite=overwrite)
    elif array.dtype.kind in "iuf" and array.dtype != np.float16:
        tf.write(output, array, overwrite=overwrite)
    else:
        raise usage(f"an image cannot have pixels of {array.dtype}", "write .npy or .csv")


def _columns(array: NDArray[Any], before: str = "") -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the fields of records; nested fields get the names of both levels."""
    for name in array.dtype.names or ():
        if array[name].dtype.names is None:
            yield before + name, array[name]
        else:
            yield from _columns(array[name], f"{before}{name}_")


def _csv(array: NDArray[Any]) -> str:
    fields = {"v": array} if array.dtype.names is None else dict(_columns(array))
    heading: list[str] = []
    parts = []
    for name, field in fields.items():
        cells = field.reshape(len(field), prod(field.shape[1:]))
        count = cells.shape[1]
        if array.dtype.names is None:
            heading += [f"v{number}" for number in range(count)]
        else:
            heading += [name] if count == 1 else [f"{name}_{number}" for number in range(count)]
        parts.append(plain(cells))
    rows = [[cell for part in row for cell in part] for row in zip(*parts, strict=True)]
    return csv_text(heading, rows)
