"""Tables byte by byte, without any FITS library; and what their cells mean, by plain code.

A column here is its name, its form, the bytes of its cells, and the values that the Standard says
they have.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fitsbytes import empty_primary, header, pad

#: TFORM letter to the type of the stored elements.
STORED = {"B": "u1", "I": "i2", "J": "i4", "K": "i8", "E": "f4", "D": "f8", "C": "c8", "M": "c16"}

#: TZERO of the unsigned conventions, and the type that they mean.
UNSIGNED = {"B": (-128, "i1"), "I": (2**15, "u2"), "J": (2**31, "u4"), "K": (2**63, "u8")}


@dataclass
class Made:
    """One column: what its header says, the bytes of its cells, what they mean."""

    name: str
    form: str
    cells: list[bytes]
    values: Any
    nulls: np.ndarray | None = None
    cards: dict[str, Any] = field(default_factory=dict)  # TSCAL, TNULL, ... without the number
    heap: bytes = b""


def binary_table(
    columns: Sequence[Made], cards: Sequence[tuple[str, Any]] = (), *, rows: int | None = None
) -> bytes:
    """A file of an empty primary HDU and one binary table; heaps one behind another."""
    count = len(columns[0].cells) if rows is None else rows
    described: list[tuple[str, Any]] = []
    for number, column in enumerate(columns, 1):
        described += [(f"TTYPE{number}", column.name), (f"TFORM{number}", column.form)]
        described += [(f"{name}{number}", value) for name, value in column.cards.items()]
    data = b"".join(b"".join(column.cells[row] for column in columns) for row in range(count))
    width = sum(form_bytes(column.form) for column in columns)
    heap = b"".join(column.heap for column in columns)
    first = [("XTENSION", "BINTABLE"), ("BITPIX", 8), ("NAXIS", 2), ("NAXIS1", width)]
    first += [("NAXIS2", count), ("PCOUNT", len(heap)), ("GCOUNT", 1), ("TFIELDS", len(columns))]
    return empty_primary() + header([*first, *described, *cards]) + pad(data + heap)


def big(values: Any) -> bytes:
    # Not of a NumPy scalar, which has no byte order.
    array = np.asarray(values)
    return array.astype(array.dtype.newbyteorder(">")).tobytes()


def form_bytes(form: str) -> int:
    """Bytes of a field of a form such as 3J, 11X or PE(4)."""
    found = re.match(r"(\d*)([A-Z])", form)
    assert found
    repeat, letter = int(found[1] or 1), found[2]
    sizes = {"L": 1, "A": 1, "P": 8, "Q": 16}
    if letter == "X":
        return -(-repeat // 8)
    return repeat * (sizes.get(letter) or np.dtype(STORED[letter]).itemsize)


def packed_bits(bits: np.ndarray) -> bytes:
    return np.packbits(bits).tobytes()


@st.composite
def number_columns(draw: st.DrawFn, name: str, rows: int) -> Made:
    """B I J K E D C M of any repeat: plain, unsigned, scaled, with nulls; TDIM now and then."""
    letter = draw(st.sampled_from(sorted(STORED)))
    repeat = draw(st.sampled_from([1, 1, 1, 0, 2, 3, 6, 17]))
    stored = draw(hnp.arrays(np.dtype(STORED[letter]), (rows, repeat)))
    made = Made(name, f"{repeat}{letter}", [big(row) for row in stored], stored)
    integer = letter in "BIJK"
    way = draw(st.sampled_from(["plain", "scaled", *(["unsigned"] if integer else [])]))
    if way == "unsigned":
        zero, kind = UNSIGNED[letter]
        made.cards |= {"TZERO": zero}
        # Wraps around as the convention does.
        flip = np.array(1 << (8 * stored.itemsize - 1), np.dtype(f"u{stored.itemsize}"))
        made.values = (stored.view(f"u{stored.itemsize}") ^ flip).view(kind)
    elif way == "scaled":
        scale, zero = draw(st.sampled_from([(0.5, 0.0), (-2.0, 1.5), (1.0, 7.0), (1e-3, -40.0)]))
        made.cards |= {"TSCAL": scale, "TZERO": zero}
        made.values = _scaled(stored, scale, zero)
    if integer and draw(st.booleans()):
        null = int(stored.flat[0]) if stored.size else 1
        made.cards["TNULL"] = null
        nulls = stored == null
        if way == "scaled":
            made.values = np.where(nulls, np.nan, made.values)
        else:
            made.nulls = nulls
    return _with_shape(draw, made, rows, repeat)


def _scaled(stored: np.ndarray, scale: float, zero: float) -> np.ndarray:
    with np.errstate(all="ignore"):
        if stored.dtype.kind != "c":
            return zero + scale * stored.astype("f8")
        result = np.empty(stored.shape, "c16")
        result.real = zero + scale * stored.real.astype("f8")
        result.imag = scale * stored.imag.astype("f8")
        return result


def _with_shape(draw: st.DrawFn, made: Made, rows: int, repeat: int) -> Made:
    shape: tuple[int, ...] = () if repeat == 1 else (repeat,)
    if repeat == 6 and draw(st.booleans()):
        made.cards["TDIM"] = "(2,3)"
        shape = (3, 2)
    made.values = made.values.reshape(rows, *shape)
    if made.nulls is not None:
        made.nulls = made.nulls.reshape(rows, *shape)
    return made


@st.composite
def logical_columns(draw: st.DrawFn, name: str, rows: int) -> Made:
    repeat = draw(st.sampled_from([1, 1, 3]))
    cells = draw(hnp.arrays("u1", (rows, repeat), elements=st.sampled_from([84, 70, 0])))
    made = Made(name, f"{repeat}L", [row.tobytes() for row in cells], cells == 84, cells == 0)
    return _with_shape(draw, made, rows, repeat)


@st.composite
def bit_columns(draw: st.DrawFn, name: str, rows: int) -> Made:
    repeat = draw(st.sampled_from([1, 7, 8, 13]))
    bits = draw(hnp.arrays(np.bool_, (rows, repeat)))
    made = Made(name, f"{repeat}X", [packed_bits(row) for row in bits], bits)
    return _with_shape(draw, made, rows, repeat)


@st.composite
def text_columns(draw: st.DrawFn, name: str, rows: int) -> Made:
    """Text that ends at a NUL or with blanks; bytes after a NUL have no meaning."""
    width = draw(st.sampled_from([1, 4, 9]))
    characters = st.sampled_from(b"Ab z~ \0")
    cells = [bytes(draw(st.lists(characters, min_size=width, max_size=width))) for _ in range(rows)]
    texts = [cell.partition(b"\0")[0].rstrip(b" ").decode() for cell in cells]
    return Made(name, f"{width}A", cells, np.array(texts, f"U{width}"))


@st.composite
def ragged_columns(draw: st.DrawFn, name: str, rows: int) -> Made:
    """P and Q of numbers; the offsets are into a heap of this column alone."""
    letter = draw(st.sampled_from(sorted(set(STORED) - {"C", "M"})))
    lengths = draw(st.lists(st.integers(0, 5), min_size=rows, max_size=rows))
    arrays = [draw(hnp.arrays(np.dtype(STORED[letter]), length)) for length in lengths]
    wide = draw(st.booleans())
    kind, at, heap, cells = np.dtype(">i8" if wide else ">i4"), 0, b"", []
    for array in arrays:
        # An array of nothing may point anywhere.
        where = at if len(array) else draw(st.sampled_from([0, at, 10**9]))
        cells.append(np.array([len(array), where], kind).tobytes())
        heap += big(array)
        at = len(heap)
    most = max(lengths, default=0)
    form = f"{'Q' if wide else 'P'}{letter}({most})"
    return Made(name, form, cells, arrays, heap=heap)


@st.composite
def tables(draw: st.DrawFn, *, ragged: bool = True) -> list[Made]:
    """Columns of every type, of the same rows; at most one with a heap."""
    rows = draw(st.integers(0, 9))
    kinds = [number_columns, number_columns, logical_columns, bit_columns, text_columns]
    count = draw(st.integers(1, 6))
    columns = [draw(draw(st.sampled_from(kinds))(f"C{n}", rows)) for n in range(count)]
    if ragged and draw(st.booleans()):
        columns.insert(draw(st.integers(0, count)), draw(ragged_columns("VAR", rows)))
    return columns
