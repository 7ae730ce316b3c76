"""Polarisations by their names: codes of the STOKES axis (Standard, table 29)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tachyfits.base.errors import usage

#: Names of Stokes parameters and correlations, and their codes.
STOKES = {
    "I": 1, "Q": 2, "U": 3, "V": 4, "RR": -1, "LL": -2, "RL": -3, "LR": -4, "XX": -5, "YY": -6,
    "XY": -7, "YX": -8,
}  # fmt: skip

_NAMES = {code: name for name, code in STOKES.items()}


def stokes_codes(names: str | Sequence[str]) -> list[int]:
    """Return the codes of polarisations: a name, a list, or comma-separated names.

    >>> stokes_codes("I"), stokes_codes("q, u"), stokes_codes(["XX", "YY"])
    ([1], [2, 3], [-5, -6])
    """
    words = re.split(r"[,\s]+", names.strip()) if isinstance(names, str) else list(names)
    unknown = [word for word in words if str(word).upper() not in STOKES]
    if unknown or not words:
        raise usage(
            f"invalid polarisation {unknown[0] if unknown else names!r}: expected "
            f"{', '.join(STOKES)}",
            "use the names of the header's STOKES axis",
        )
    return [STOKES[str(word).upper()] for word in words]


def stokes_name(code: float) -> str:
    """Return the name of a code of the STOKES axis; an unknown code as text.

    >>> stokes_name(1.0), stokes_name(-8), stokes_name(9)
    ('I', 'YX', '9')
    """
    return _NAMES.get(round(code), f"{code:g}")
