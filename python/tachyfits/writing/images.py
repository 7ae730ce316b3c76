"""Images to write: arrays in the engine's form, and their cards."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import either, listed, usage, warn
from tachyfits.base.whole_numbers import whole_number
from tachyfits.header.cards import Header
from tachyfits.header.distortions import hdus_needed
from tachyfits.header.given import Cards, given_cards
from tachyfits.text.units import text_of_unit


def image_cards(cards: Cards, unit: Any = None, beside: Collection[tuple[str, int]] = ()) -> Cards:
    """Return the cards for an image: ``cards``, and BUNIT.

    Cards that need another HDU (corrections of pixels, coordinates or beams in a table) are dropped
    with a warning if the file lacks it.

    Parameters
    ----------
    unit
        Unit of the pixels, of astropy; written if the header has none.
    beside
        EXTNAME, in upper case, and EXTVER of the HDUs of the file.
    """
    lost: set[str] = set()
    for (name, version), keywords in hdus_needed(Header(cards)).items():
        if (name, version) not in beside:
            lost.update(keywords)
            warn(
                f"{listed(sorted(set(keywords)))} need the HDU {name!r} of version {version}, "
                "which is not written, and are left out\nhint: write the image and not its array, "
                "or put that HDU into the list"
            )
    cards = [card for card in cards if card[0].upper() not in lost]
    text = text_of_unit(unit)
    if text is not None and not any(card[0].upper() == "BUNIT" for card in cards):
        cards.append(("BUNIT", text, ""))
    return cards


def cards_given(header: Any) -> Cards:
    """Return the cards of a header, or values by keyword; empty for None."""
    return list(header.cards) if isinstance(header, Header) else given_cards(header)


#: Hint for an array of a type that images lack, by NumPy's kind.
_OTHER_TYPES = {
    "b": 'give array.astype("uint8"), which holds the same values',
    "f": 'give array.astype("float32"), or "float64" for wider types',
    "c": "give array.real and array.imag, as two images",
    "U": "give numbers, or a dict of columns for a table",
}


def native(array: Any) -> NDArray[Any]:
    """Return an array for the engine: native-endian, contiguous in C order, not masked."""
    original = array
    # ``__array__`` may return a masked array.
    array = array if isinstance(array, np.ndarray) else np.asanyarray(array)
    if np.ma.is_masked(array):
        if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
            _refuse_rounding(np.asarray(np.ma.filled(array, 0)))
        floats = array if array.dtype.kind == "f" else array.astype(np.float64)
        array = np.ma.filled(floats, np.nan)
    array = np.asarray(array)
    kind, size = array.dtype.kind, array.dtype.itemsize
    if kind == "O" and not isinstance(original, (np.ndarray, list, tuple)):
        raise _no_data(original)
    if kind not in "iuf" or (kind == "f" and size not in (4, 8)):
        raise usage(
            f"an array of {array.dtype}: FITS has no image of that type",
            either(_OTHER_TYPES.get(kind, "give numbers, or a dict of columns for a table")),
        )
    if not array.ndim:
        raise usage(
            f"invalid data {array}: FITS has no image of a single value",
            either(f"give an array, np.array([{array}]); each item of a list is an HDU"),
        )
    result: NDArray[Any] = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    return result


def _no_data(value: object) -> Exception:
    actual = f"an object of {type(value).__name__}"
    if isinstance(value, type):
        actual = f"the class {value.__name__}"
    hint = either("give an array, or a dict of columns for a table")
    if hasattr(value, "data") and hasattr(value, "header"):
        hint = either("give hdu.data, and header=hdu.header")
    problem = f"invalid data: expected numbers, a table or an HDU, found {actual}"
    return usage(problem, hint)


#: Offsets of the conventions for unsigned integers and signed bytes.
ZEROS = {"int8": -(2**7), "uint16": 2**15, "uint32": 2**31, "uint64": 2**63}


def with_blank(array: Any, dtype: Any, blank: int) -> Any:
    """Return integers of a type, exact, with BLANK where they are masked.

    Other values, and values that become floats, are returned unchanged. ``dtype`` None: their own
    type.

    Raises
    ------
    UsageError
        A defined value equals BLANK, or a value does not fit the type.
    """
    array = array if isinstance(array, np.ndarray) else np.asanyarray(array)
    own = array.dtype.newbyteorder("=")
    kind = own if dtype is None else np.dtype(dtype)
    number = whole_number(blank, least=-(2**63))
    if array.dtype.kind not in "iu" or kind.kind not in "iu" or number is None:
        return array
    limits, zero = np.iinfo(kind), ZEROS.get(kind.name, 0)
    stands = number + zero
    if not limits.min <= stands <= limits.max:
        raise usage(
            f"invalid blank {number}: expected a stored value of {kind} pixels, "
            f"from {limits.min - zero} to {limits.max - zero}",
            "choose one that does not occur",
        )
    mask = np.ma.getmaskarray(array) if np.ma.is_masked(array) else None
    data = np.ma.getdata(array)
    defined = data if mask is None else data[~mask]
    least, greatest = (int(defined.min()), int(defined.max())) if defined.size else (0, 0)
    if not limits.min <= least <= greatest <= limits.max:
        odd = least if least < limits.min else greatest
        raise usage(f"{odd} does not fit pixels of {kind}", "choose a wider dtype")
    if least <= stands <= greatest and bool((defined == stands).any()):
        raise usage(
            f"invalid blank {number}: {stands} is among the defined values",
            "choose one that does not occur",
        )
    filled = data.astype(kind)
    if mask is not None:
        filled[mask] = stands
    return filled


def _refuse_rounding(integers: NDArray[Any]) -> None:
    """Refuse masked integers that float64, whose NaN would represent the mask, cannot represent."""
    odd = integers[(integers > 2**53) | (integers < -(2**53))]
    if odd.size:
        raise usage(
            f"cannot convert masked integers to float64 exactly: {odd[0]} is among them",
            either("give an integer that does not occur: blank="),
        )
