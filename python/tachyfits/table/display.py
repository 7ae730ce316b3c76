"""Tables as text and HTML: names, units, and cells in readable form.

Numbers have the digits that restore them exactly; long cells are cut. Nothing here reads a file.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.table.ragged import elements_of, with_elements
from tachyfits.table.strings import decoded

#: Text of an undefined cell.
UNDEFINED = "--"

#: Maximum number of array elements shown; the others are "...".
SHOWN_ELEMENTS = 4

#: Maximum number of characters of a cell shown.
SHOWN_CHARACTERS = 40

#: Assumed width of a terminal line; columns beyond it are not shown.
LINE_CHARACTERS = 120


def own_digits(values: Any) -> Any:
    """Return float32 values as the float64 values with the same shortest decimal text.

    complex64 becomes complex128, and a `Ragged` converts its elements. Other types stay unchanged.

    >>> own_digits(np.array([0.1], "f4")).tolist(), own_digits(np.array([0.1j], "c8")).tolist()
    ([0.1], [0.1j])
    """
    return with_elements(values, _own_digits(elements_of(values)))


def _own_digits(values: NDArray[Any]) -> NDArray[Any]:
    data = np.ma.getdata(values)
    digits: NDArray[Any]
    if data.dtype.kind == "c" and data.dtype.itemsize == 8:
        digits = np.empty(data.shape, np.complex128)
        digits.real, digits.imag = _own_digits(data.real), _own_digits(data.imag)
    elif data.dtype.kind == "f" and data.dtype.itemsize < 8:
        digits = data.astype(np.str_).astype(np.float64)
    else:
        return values
    is_masked = np.ma.isMaskedArray(values)
    return np.ma.MaskedArray(digits, mask=np.ma.getmask(values)) if is_masked else digits


def cell_text(value: Any, characters: int | None = SHOWN_CHARACTERS) -> str:
    """Return one cell as text, arrays and text longer than ``characters`` cut.

    >>> import numpy as np
    >>> [cell_text(v) for v in (np.float32(0.1), np.bool_(True), "NGC 1", np.ma.masked)]
    ['0.1', 'T', 'NGC 1', '--']
    >>> cell_text(np.arange(6)), cell_text(np.complex64(1 - 2j)), cell_text(np.array([], "f4"))
    ('[0, 1, 2, 3, ...]', '1.0-2.0j', '[]')
    """
    if value is np.ma.masked:
        return UNDEFINED
    if isinstance(value, np.ndarray):
        flat = value.reshape(-1)
        texts = [cell_text(cell, characters) for cell in flat[:SHOWN_ELEMENTS]]
        return f"[{', '.join(texts + ['...'] * (flat.size > SHOWN_ELEMENTS))}]"
    if isinstance(value, (bool, np.bool_)):
        return "T" if value else "F"
    if isinstance(value, (bytes, np.bytes_)):
        value = str(decoded(np.array([value], object))[0])
    if isinstance(value, str):
        clean = "".join(c if c.isprintable() else "?" for c in value)
        if characters is None or len(clean) <= characters:
            return clean
        return clean[: characters - 3] + "..."
    if isinstance(value, (complex, np.complexfloating)):
        value = own_digits(np.asarray(value))[()]
        return f"{value.real}{value.imag:+}j" if _finite(value) else str(value)
    return str(value)


def _finite(value: Any) -> bool:
    return bool(np.isfinite(value))


def columns_of_text(
    arrays: Mapping[str, Any], units: Sequence[str], characters: int | None = SHOWN_CHARACTERS
) -> tuple[list[list[str]], list[bool]]:
    """Return the lines of each column (name, unit if any, cells), and which are right-aligned."""
    with_units = any(units)
    columns, flush = [], []
    for (key, array), unit in zip(arrays.items(), units, strict=True):
        head = [key, f"[{unit}]" if unit else ""] if with_units else [key]
        columns.append([*head, *(cell_text(cell, characters) for cell in array)])
        kind = getattr(array, "dtype", np.dtype(object)).kind
        flush.append(kind in "iufc" and getattr(array, "ndim", 2) == 1)
    return columns, flush


def text_of(
    arrays: Mapping[str, Any], units: Sequence[str], *, width: int | None = LINE_CHARACTERS
) -> str:
    """Return aligned text: a line of names, a line of units if there are any, the cells.

    Parameters
    ----------
    arrays
        Arrays by name, cut to the rows to show.
    units
        Unit of each column, "" for none.
    width
        Drop columns in the middle if a line is longer; None: show all.

    Examples
    --------
    >>> print(text_of({"ID": np.array([7, 12]), "BAND": np.array(["g", "i"])}, ["", "mag"]))
    ID  BAND
        [mag]
     7  g
    12  i
    """
    columns, flush = columns_of_text(arrays, units)
    widths = [max(map(len, column)) for column in columns]
    numbers = _that_fit(widths, width)
    lines = []
    for row in zip(*columns, strict=True):
        cells: list[str] = []
        for index in numbers:
            if index is None:
                cells.append("...")
            else:
                cell, size = row[index], widths[index]
                cells.append(cell.rjust(size) if flush[index] else cell.ljust(size))
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def _that_fit(widths: Sequence[int], width: int | None) -> Iterable[int | None]:
    """Return the numbers of the columns to show; None marks those left out."""
    everything = range(len(widths))
    if width is None or sum(widths) + 2 * len(widths) - 2 <= width:
        return everything
    room, first, last = width - 5, 0, len(widths)
    while first < last:
        from_front = first <= len(widths) - last
        size = widths[first if from_front else last - 1] + 2
        if size > room:
            break
        room -= size
        first, last = (first + 1, last) if from_front else (first, last - 1)
    # The first column is always shown, at any width.
    front = max(first, 1)
    back = range(max(last, front), len(widths))
    return [*range(front), *([None] if front < back.start else []), *back]


def html_of(arrays: Mapping[str, Any], units: Sequence[str], caption: str) -> str:
    """Return the same as an HTML table for notebooks."""
    columns, flush = columns_of_text(arrays, units)
    heads = 2 if any(units) else 1
    lines = []
    for number, row in enumerate(zip(*columns, strict=True)):
        tag = "th" if number < heads else "td"
        cells = (
            f'<{tag} style="text-align:{"right" if right else "left"}">{html.escape(cell)}</{tag}>'
            for cell, right in zip(row, flush, strict=True)
        )
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return f"<table><caption>{html.escape(caption)}</caption>{''.join(lines)}</table>"
