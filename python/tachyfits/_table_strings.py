"""Strings of which a cell has any number, and strings of any length, out of characters.

Nothing here reads a file.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachyfits._ragged import Ragged


def strings(
    offsets: NDArray[np.int64], characters: NDArray[np.uint8], *, as_bytes: bool
) -> NDArray[np.object_]:
    """Return text of any length as an array of str (or bytes): it ends at the first NUL.

    >>> characters = np.frombuffer(b"alpha beta  x", np.uint8)
    >>> strings(np.array([0, 5, 12, 12]), characters, as_bytes=False)
    array(['alpha', ' beta', ''], dtype=object)
    """
    data = characters.tobytes()
    return _as_array((data[a:b] for a, b in pairwise(offsets.tolist())), as_bytes)


def strings_of_width(
    offsets: NDArray[np.int64],
    characters: NDArray[np.uint8],
    width: int,
    cell_shape: tuple[int, ...],
    *,
    as_bytes: bool,
) -> Ragged:
    """Return cells of so many strings as there are, of ``width`` characters each (TDIMn).

    The last string of a cell has what is left. Each ends at its first NUL.

    >>> characters = np.frombuffer(b"NGCM  ICM", np.uint8)
    >>> strings_of_width(np.array([0, 8, 8, 9]), characters, 3, (3,), as_bytes=False).to_list()
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
    return Ragged(ends, _as_array(pieces, as_bytes), cell_shape=cell_shape)


def characters_of(
    values: Ragged | NDArray[Any], width: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return cells of strings (NumPy's S) as characters of the heap, and where cells begin.

    Blanks fill each up to ``width``: who does not know TDIMn takes a cell for one string, which a
    NUL would end.
    """
    if not isinstance(values, Ragged):
        count = int(np.prod(values.shape[1:]))
        values = Ragged(np.arange(len(values) + 1) * count, values.reshape(-1))
    filled = np.char.ljust(values.values.astype(f"S{width}"), width)
    return np.frombuffer(filled.tobytes(), np.uint8), values.offsets * width


def _as_array(pieces: Iterable[bytes], as_bytes: bool) -> NDArray[np.object_]:
    """Return strings as FITS has them: up to the first NUL, without blanks at the end."""
    texts = [piece.partition(b"\0")[0].rstrip(b" ") for piece in pieces]
    cells = np.empty(len(texts), dtype=object)
    cells[:] = texts if as_bytes else [text.decode("latin-1") for text in texts]
    return cells
