"""A cube for tests of the protocols: sky, frequencies in LSRK, two polarisations, a date."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from astropy.io import fits

#: Axes of the cube in NumPy order: polarisations, channels, y, x.
SHAPE = (3, 40, 30, 36)

RA, DEC = 83.63, 22.01
PIXEL = 0.01
FREQUENCY, WIDTH = 1.42e9, 1e5


def header() -> fits.Header:
    """Return the header of the cube."""
    made = fits.Header()
    made["OBJECT"] = "M 1"
    made["TELESCOP"], made["INSTRUME"], made["BUNIT"] = "TEST", "RECEIVER", "Jy/beam"
    made["BMAJ"], made["BMIN"], made["BPA"] = 0.02, 0.02, 0.0
    axes = (
        ("RA---SIN", "deg", RA, 18.5, -PIXEL),
        ("DEC--SIN", "deg", DEC, 15.5, PIXEL),
        ("FREQ", "Hz", FREQUENCY, 20.0, WIDTH),
        ("STOKES", "", 1.0, 1.0, 1.0),
    )
    for number, (ctype, unit, value, pixel, step) in enumerate(axes, 1):
        made[f"CTYPE{number}"], made[f"CUNIT{number}"] = ctype, unit
        made[f"CRVAL{number}"], made[f"CRPIX{number}"] = value, pixel
        made[f"CDELT{number}"] = step
    made["RADESYS"], made["SPECSYS"] = "ICRS", "LSRK"
    made["DATE-OBS"], made["EXPTIME"] = "2024-03-01T00:00:00", 8640.0
    return made


def pixels() -> np.ndarray:
    """Return the pixels of the cube: every value is another one, some are NaN."""
    found = np.arange(np.prod(SHAPE), dtype=np.float32).reshape(SHAPE)
    found[:, ::7, ::5, ::6] = np.nan
    return found


def write(path: Path, **cards: object) -> Path:
    """Write the cube; cards with the value None are left out."""
    made = header()
    for keyword, value in cards.items():
        if value is None:
            del made[keyword]
        else:
            made[keyword] = value
    fits.PrimaryHDU(pixels(), made).writeto(path, overwrite=True)
    return path
