"""Cells with any number of strings, and strings of any length: conversion from and to characters.

Nothing here reads a file.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits.base.errors import usage
from tachyfits.table.ragged import Ragged

#: Possible separators of strings, the preferred ones first.
DELIMITERS = "|;,/:~^#%&*+=@$!?<>`"


#: Encoding of strings: "utf-8" or "latin-1", as reported by the engine for a column; None: detect a
#: common encoding; "bytes": do not decode.
Encoding = str | None


def decoded(values: NDArray[Any], encoding: Encoding = None) -> NDArray[Any]:
    r"""Return bytes (NumPy's S, or objects) as str, by the engine's only decoder.

    >>> decoded(np.array([b"M\xc3\xbcller", b"abc"]))
    array(['Müller', 'abc'], dtype='<U7')
    >>> decoded(np.array([b"M\xfcller", b"abc"]))
    array(['Müller', 'abc'], dtype='<U6')
    """
    texts = _core.decode_texts(values.reshape(-1).tolist(), encoding)
    if values.dtype.kind == "S":
        return np.array(texts, f"U{max(values.dtype.itemsize, 1)}").reshape(values.shape)
    cells = np.empty(len(texts), dtype=object)
    cells[:] = texts
    return cells.reshape(values.shape)


def is_ascii(values: NDArray[Any]) -> bool:
    """Return whether bytes (NumPy's S, or uint8) are all ASCII."""
    return not values.size or bool((np.ascontiguousarray(values).view(np.uint8) < 128).all())


def strings(
    offsets: NDArray[np.int64], characters: NDArray[np.uint8], encoding: Encoding = None
) -> NDArray[np.object_]:
    """Return text of any length, up to the first NUL, as an array of str (or bytes).

    >>> characters = np.frombuffer(b"alpha beta  x", np.uint8)
    >>> strings(np.array([0, 5, 12, 12]), characters)
    array(['alpha', ' beta', ''], dtype=object)
    """
    data = characters.tobytes()
    return _as_array((data[a:b] for a, b in pairwise(offsets.tolist())), encoding)


def strings_of_width(
    offsets: NDArray[np.int64],
    characters: NDArray[np.uint8],
    width: int,
    cell_shape: tuple[int, ...],
    encoding: Encoding = None,
) -> Ragged:
    """Return cells of strings of ``width`` characters each (TDIMn).

    The last string of a cell gets the remaining characters. Each ends at its first NUL.

    >>> characters = np.frombuffer(b"NGCM  ICM", np.uint8)
    >>> strings_of_width(np.array([0, 8, 8, 9]), characters, 3, (3,)).to_list()
    [['NGC', 'M', 'IC'], [], ['M']]
    """
    data = characters.tobytes()
    pieces = (
        data[at : min(at + width, end)]
        for first, end in pairwise(offsets.tolist())
        for at in range(first, end, width)
    )
    ends = np.zeros(len(offsets), np.int64)
    np.cumsum(-(-np.diff(offsets) // width), out=ends[1:])
    return Ragged(ends, _as_array(pieces, encoding), cell_shape=cell_shape)


def divided_strings(
    fields: NDArray[np.bytes_], delimiter: str, encoding: Encoding = None
) -> Ragged:
    r"""Return fields split at delimiters into strings (``rA:SSTRw/nnn``).

    The last string ends at a NUL, or with the field; a field that begins with a NUL has no strings.

    >>> divided_strings(np.array([b"g,r,,i", b"", b"z\0,y"]), ",").to_list()
    [['g', 'r', '', 'i'], [], ['z']]
    """
    between = delimiter.encode("latin-1")
    texts = [field.partition(b"\0")[0] for field in fields.tolist()]
    cells = [text.split(between) if text else [] for text in texts]
    offsets = np.zeros(len(cells) + 1, np.int64)
    np.cumsum([len(cell) for cell in cells], out=offsets[1:])
    return Ragged(offsets, _as_array(chain.from_iterable(cells), encoding))


def joined_strings(name: str, cells: Ragged, delimiter: str | None) -> NDArray[np.bytes_]:
    """Return cells of strings (NumPy's S) as fields, joined by a delimiter.

    The default is the first of `DELIMITERS` that no string contains. Every field has room for a
    NUL.

    Raises
    ------
    UsageError
        A string contains the delimiter.

    >>> joined_strings("BANDS", Ragged([0, 2, 2], np.array([b"g", b"r"])), None)
    array([b'g|r', b''], dtype='|S4')
    """
    texts = cells.values.tolist()
    between = (delimiter or delimiter_of(cells)).encode("latin-1")
    odd = next((text for text in texts if between in text), None)
    if odd is not None:
        raise usage(
            f"column {name!r}: the string {odd.decode('latin-1')!r} has a {between.decode()!r}, "
            "which separates strings",
            "write it in another way",
        )
    # A blank distinguishes a single empty string from an empty list.
    fields = [
        between.join(texts[a:b]) or b" " * (b - a) for a, b in pairwise(cells.offsets.tolist())
    ]
    return np.array(fields, f"S{field_width(cells)}")


def field_width(cells: Ragged) -> int:
    """Return the characters of the longest cell of strings, including separators."""
    ends = np.zeros(len(cells.values) + 1, np.int64)
    np.cumsum(np.char.str_len(cells.values) + 1, out=ends[1:])
    return int(np.diff(ends[cells.offsets]).max(initial=1))


def delimiter_of(cells: Ragged) -> str:
    """Return the separator for the strings of cells: the first that no string contains.

    >>> delimiter_of(Ragged([0, 1], np.array([b"a|b"])))
    ';'
    """
    return (free_delimiters(cells, DELIMITERS) or DELIMITERS)[0]


def free_delimiters(cells: Ragged, among: str) -> str:
    """Return the characters of ``among`` that no string contains."""
    characters = set(b"".join(cells.values.tolist()).decode("latin-1"))
    return "".join(each for each in among if each not in characters)


def as_ragged(values: Ragged | NDArray[Any]) -> Ragged:
    """Return an array of several axes as one cell for each row."""
    if isinstance(values, Ragged):
        return values
    count = int(np.prod(values.shape[1:]))
    return Ragged(np.arange(len(values) + 1) * count, values.reshape(-1))


def characters_of(
    values: Ragged | NDArray[Any], width: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return cells of strings (NumPy's S) as characters of the heap, and the offsets of cells.

    Blanks pad each string to ``width``: a program that ignores TDIMn reads a cell as one string,
    which a NUL would end.
    """
    values = as_ragged(values)
    padded = np.frombuffer(values.values.astype(f"S{width}").tobytes(), np.uint8)
    return np.where(padded, padded, np.uint8(ord(" "))), values.offsets * width


def _as_array(pieces: Iterable[bytes], encoding: Encoding) -> NDArray[np.object_]:
    """Return strings as FITS defines them: up to the first NUL, without trailing blanks."""
    texts = [piece.partition(b"\0")[0].rstrip(b" ") for piece in pieces]
    cells = np.empty(len(texts), dtype=object)
    cells[:] = texts
    return cells if encoding == "bytes" else decoded(cells, encoding)
