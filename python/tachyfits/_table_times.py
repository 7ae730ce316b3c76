"""Times in tables: ISO 8601 text in columns, and the time scale, which a table says once (TIMESYS).

The Standard (Sect. 9.2.1) has one scale for all times of a table, UTC where none is said. So times
of astropy, which say theirs, are written if they agree, and refused if they do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tachyfits._errors import usage
from tachyfits._table_values import ColumnData

#: Other names of time scales (Table 30 of the Standard).
_SAME = {"GMT": "UTC", "TDT": "TT", "ET": "TT", "IAT": "TAI"}

#: Digits of a second that text has at most, and those that are left out where all are 0.
_DIGITS = 9


def time_text(times: Any) -> Any:
    """Return an astropy Time as text of its own scale, to the nanosecond, masked where undefined.

    Zeros that end every time are left out, down to milliseconds.
    """
    exact = times.copy(format="isot")
    exact.precision = _DIGITS
    # No times are an array of floats.
    text, missing = np.asarray(exact.unmasked.value).astype("U"), np.asarray(times.mask)
    known = text[~missing] if missing.any() else text
    for digits in (3, 6):
        rest = _DIGITS - digits
        if np.char.endswith(known, "0" * rest).all():
            width = int(np.char.str_len(text).max(initial=rest + 1))
            text = text.astype(f"U{width - rest}")
            break
    return np.ma.MaskedArray(text, mask=missing) if missing.any() else text


def scale_cards(
    cards: Sequence[tuple[str, Any, str]], columns: Sequence[ColumnData]
) -> list[tuple[str, Any, str]]:
    """Return the cards of a new table, with TIMESYS if its columns say a time scale.

    Raises
    ------
    UsageError
        They say several, or another than the cards.
    """
    named = {column.time_scale: column.name for column in columns if column.time_scale}
    if not named:
        return list(cards)
    scale, *others = named
    if others:
        raise usage(
            f"the times of the columns {named[scale]!r} and {named[others[0]]!r} are of the scales "
            f"{scale} and {others[0]}: a table has one (TIMESYS)",
            f"bring them to one: table[{named[others[0]]!r}].{scale.lower()}",
        )
    stated = next((value for keyword, value, _ in cards if keyword == "TIMESYS"), None)
    if stated is not None:
        check_scale(stated, columns, "the table's cards")
        return list(cards)
    return [*cards, ("TIMESYS", scale, "time scale of the columns of times")]


def check_scale(stated: Any, columns: Sequence[ColumnData], where: str) -> None:
    """Refuse times of another scale than a table states; None states UTC."""
    known = str(stated or "UTC").partition("(")[0].strip().upper()
    wanted = _SAME.get(known, known)
    for column in columns:
        if column.time_scale and column.time_scale != wanted:
            raise usage(
                f"{where}, column {column.name!r}: times of the scale {column.time_scale}, where "
                f"TIMESYS says {wanted}",
                f"convert them: times.{wanted.lower()}; or write them as text, which says no scale",
            )
