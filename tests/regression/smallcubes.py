"""Small cubes for regression tests, written by astropy: flux only in channel 3, at 5000 m/s.

A test changes single cards, or replaces the bytes of a card where astropy would refuse its value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from astropy.io import fits

CARDS: dict[str, Any] = {
    "CTYPE1": "RA---SIN", "CTYPE2": "DEC--SIN", "CTYPE3": "VRAD",
    "CRVAL1": 150.0, "CRVAL2": 2.0, "CRVAL3": 5000.0,
    "CRPIX1": 2.0, "CRPIX2": 3.0, "CRPIX3": 3.0,
    "CDELT1": -1e-3, "CDELT2": 1e-3, "CDELT3": 2000.0,
    "CUNIT1": "deg", "CUNIT2": "deg", "CUNIT3": "m/s",
    "BUNIT": "Jy/beam", "RESTFRQ": 1.420405752e9,
}  # fmt: skip


def write_cube(
    path: Path,
    cards: Mapping[str, Any] | None = None,
    raw: Mapping[str, str] | None = None,
    data: np.ndarray | None = None,
    extra: Sequence[Any] = (),
) -> Path:
    """Write a cube of shape (6, 5, 4) or ``data``; return its path.

    ``cards`` replaces cards (None leaves a card out), ``raw`` replaces what follows the ``=`` of a
    card, byte for byte, and ``extra`` are further HDUs of astropy.
    """
    if data is None:
        data = np.zeros((6, 5, 4), "f4")
        data[2] = 1
    hdu = fits.PrimaryHDU(data)
    for keyword, value in (CARDS | dict(cards or {})).items():
        if value is not None:
            hdu.header[keyword] = value
    fits.HDUList([hdu, *extra]).writeto(path, overwrite=True, output_verify="silentfix")
    if raw:
        content = bytearray(path.read_bytes())
        for keyword, text in raw.items():
            start = content.index(keyword.ljust(8).encode() + b"=")
            content[start : start + 80] = f"{keyword:<8}= {text}".ljust(80).encode()
        path.write_bytes(content)
    return path
