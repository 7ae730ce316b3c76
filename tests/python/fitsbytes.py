"""FITS files from arrays, byte by byte, without any FITS library; and what they mean."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

BLOCK = 2880

#: BITPIX to the type of the stored pixels.
STORED = {8: "u1", 16: "i2", 32: "i4", 64: "i8", -32: "f4", -64: "f8"}


def card(keyword: str, value: object) -> bytes:
    """One card; a string is quoted, a ready-made card (bytes) is not touched."""
    if isinstance(value, bool):
        text = f"{'T' if value else 'F':>20}"
    elif isinstance(value, str):
        text = f"'{value:<8}'"
    elif isinstance(value, float):
        text = f"{value!r:>20}".upper()
    else:
        text = f"{value!s:>20}"
    line = f"{keyword:<8}= {text}".encode()
    assert len(line) <= 80
    return line.ljust(80)


def pad(data: bytes, fill: bytes = b"\0") -> bytes:
    return data + fill * (-len(data) % BLOCK)


def header(cards: Iterable[tuple[str, object]]) -> bytes:
    return pad(b"".join(card(*pair) for pair in cards) + b"END".ljust(80), b" ")


def bitpix_of(array: np.ndarray) -> int:
    return next(b for b, name in STORED.items() if np.dtype(name) == array.dtype.newbyteorder("="))


def primary(array: np.ndarray, cards: Sequence[tuple[str, object]] = ()) -> bytes:
    """The stored pixels of a primary HDU, with more cards."""
    axes = [(f"NAXIS{n}", length) for n, length in enumerate(reversed(array.shape), 1)]
    first = [("SIMPLE", True), ("BITPIX", bitpix_of(array)), ("NAXIS", array.ndim), *axes]
    big = array.astype(array.dtype.newbyteorder(">"))
    return header([*first, *cards]) + pad(big.tobytes())


def extension(
    array: np.ndarray, cards: Sequence[tuple[str, object]] = (), kind: str = "IMAGE"
) -> bytes:
    axes = [(f"NAXIS{n}", length) for n, length in enumerate(reversed(array.shape), 1)]
    first = [("XTENSION", kind), ("BITPIX", bitpix_of(array)), ("NAXIS", array.ndim), *axes]
    big = array.astype(array.dtype.newbyteorder(">"))
    return header([*first, ("PCOUNT", 0), ("GCOUNT", 1), *cards]) + pad(big.tobytes())


def empty_primary() -> bytes:
    return header([("SIMPLE", True), ("BITPIX", 8), ("NAXIS", 0), ("EXTEND", True)])


def physical(
    stored: np.ndarray, bscale: float = 1.0, bzero: float = 0.0, blank: int | None = None
) -> np.ndarray:
    """The Standard's formula in float64 (section 4.4.2.5), NaN where blank."""
    values = stored.astype(np.float64)
    if (bscale, bzero) != (1.0, 0.0):
        values = bzero + bscale * values
    if blank is not None and stored.dtype.kind in "iu":
        values[stored == blank] = np.nan
    return values


def cube_cards(unit: str = "Jy/beam") -> list[tuple[str, object]]:
    """The coordinates of a cube: RA, Dec, velocity."""
    cards: list[tuple[str, object]] = [("BUNIT", unit), ("OBJECT", "test")]
    axes = [
        ("RA---TAN", "deg", 3.0, 150.0, -0.01),
        ("DEC--TAN", "deg", 2.0, 2.5, 0.01),
        ("VRAD", "m/s", 1.0, 1000.0, 250.0),
    ]
    for number, values in enumerate(axes, 1):
        names = ("CTYPE", "CUNIT", "CRPIX", "CRVAL", "CDELT")
        cards += [(f"{n}{number}", v) for n, v in zip(names, values, strict=True)]
    return cards


# Strategies.

shapes = hnp.array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=7)


def stored_arrays(
    bitpix: st.SearchStrategy[int] = st.sampled_from(sorted(STORED)),  # noqa: B008
    shape: st.SearchStrategy[tuple[int, ...]] = shapes,
    *,
    finite: bool = False,
) -> st.SearchStrategy[np.ndarray]:
    """Stored pixels of any BITPIX; floats with NaN and infinities unless ``finite``."""

    def of(kind: int) -> st.SearchStrategy[np.ndarray]:
        elements = None
        if kind < 0 and finite:
            limit = 2.0**60
            elements = st.floats(-limit, limit, width=-kind) | st.just(math.nan)
        return hnp.arrays(np.dtype(STORED[kind]), shape, elements=elements)

    return bitpix.flatmap(of)


@st.composite
def sections(draw: st.DrawFn, shape: tuple[int, ...]) -> tuple[object, ...]:
    """A NumPy index of integers and slices with any step, maybe with an Ellipsis."""
    items: list[object] = []
    for length in shape:
        if draw(st.integers(0, 4)) == 0:
            items.append(draw(st.integers(-length, length - 1)))
        else:
            items.append(draw(st.slices(length)))
    if draw(st.booleans()):
        cut = draw(st.integers(0, len(items)))
        return (*items[:cut], Ellipsis)
    return tuple(items)
