"""Coordinates of an axis in a table (-TAB, Paper III, section 6): its cards and its table."""

from __future__ import annotations

import io
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tachyfits.base.lazy_numpy import np
from tachyfits.header.cards import Header

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tachyfits.text.axes import WorldAxis

#: Name of the column of coordinates.
_COLUMN = "COORDS"


@dataclass(frozen=True)
class Tabulated:
    """An axis whose coordinates are in a table.

    Attributes
    ----------
    cards
        CTYPE, CUNIT, the reference pixel, and the name of the table.
    rows, header
        The table, with one row whose cell has the coordinates, and the card of its name.
    """

    cards: dict[str, Any]
    rows: NDArray[Any]
    header: Header

    def hdu_bytes(self) -> bytes:
        """Return the table as the bytes of an HDU."""
        from astropy.io import fits

        stream = io.BytesIO()
        fits.BinTableHDU(self.rows, self.header.to_astropy()).writeto(stream)
        # astropy writes a primary HDU without data, one block, before it.
        return stream.getvalue()[2880:]


def tabulated(axis: WorldAxis, number: int) -> Tabulated | None:
    """Return the table of an axis, 1 for NAXIS1; None if its type does not have four letters.

    >>> import numpy as np
    >>> from tachyfits.text.axes import WorldAxis
    >>> tabulated(WorldAxis("WAVE-TAB", "um", np.array([4.9, 5.5])), 3).cards["CTYPE3"]
    'WAVE-TAB'
    """
    kind = axis.name.partition("-")[0].upper()
    if not 0 < len(kind) <= 4:
        return None
    rows: NDArray[Any] = np.zeros(1, dtype=[(_COLUMN, "f8", (len(axis), 1))])
    rows[_COLUMN][0, :, 0] = axis.values
    # Images of one file find their tables by name, so different coordinates need different names.
    name = f"WCS-{zlib.crc32(rows.tobytes()):08X}"
    cards = {
        "CTYPE": f"{kind:-<4}-TAB", "CUNIT": axis.unit, "CRPIX": 1.0, "CRVAL": 1.0, "CDELT": 1.0,
    }  # fmt: skip
    numbered = {f"{root}{number}": value for root, value in cards.items() if value != ""}
    numbered |= {f"PS{number}_0": name, f"PS{number}_1": _COLUMN}
    return Tabulated(numbered, rows, Header([("EXTNAME", name, "")]))
