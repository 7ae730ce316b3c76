"""Names, coordinates and attributes of an image's arrays for other libraries."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tachyfits.base.errors import warn
from tachyfits.header.cards import Header
from tachyfits.header.coordinates import PIXEL, Coordinates

if TYPE_CHECKING:
    from tachyfits.file.hdu import Hdu

#: Attributes with the cards, the shape and the axis names of the source, from which an array
#: converts back to an image.
HEADER = "fits_header"
SHAPE = "fits_shape"
AXES = "fits_axes"


def attributes(
    unit: str | None, header: Header, shape: Sequence[int], names: Sequence[str]
) -> dict[str, Any]:
    """Return the attributes of an array."""
    text = header.to_astropy().tostring(sep="\n")
    return {"units": unit or "", HEADER: text, SHAPE: list(shape), AXES: list(names)}


def warn_of_beams(image: Any) -> None:
    """Warn about beams of planes, which an array cannot represent."""
    if image._core_image().beams() is not None:
        warn(
            f"{image._where()}: the beams of its planes (table BEAMS) are left out of the array\n"
            "hint: smooth the image to one beam first"
        )


def group_name(hdu: Hdu, used: Collection[str]) -> str:
    """Return the name of an HDU in a tree of groups: "SCI", "SCI_2", "hdu1"."""
    name = hdu.name.strip().replace("/", "_") or f"hdu{hdu.index}"
    name = f"{name}_{hdu.version}" if name in used else name
    return f"{name}_hdu{hdu.index}" if name in used else name


def axis_values(coordinates: Coordinates, number: int, count: int) -> tuple[Any, str]:
    """Return the coordinates of an axis and their unit; 0-based pixel numbers if it has none."""
    axis = coordinates.axis(number)
    pixels = np.arange(count, dtype=np.float64)
    if not axis.has_coordinate or axis.unit == PIXEL:
        return np.arange(count), "pixel"
    return axis.values(pixels), axis.unit


def axis_names(coordinates: Coordinates) -> list[str]:
    """Return a name for each NumPy axis."""
    names: list[str] = []
    sky = coordinates.sky
    celestial = () if sky is None else sky.axes
    for number in range(coordinates.ndim, 0, -1):
        ctype = coordinates.ctypes[number - 1].split("-")[0].lower()
        if celestial:
            name = ("x", "y")[celestial.index(number)] if number in celestial else ctype
        else:
            name = ctype or ("x", "y", "z")[number - 1] if number <= 3 else ctype
        name = name or f"axis{number}"
        names.append(f"{name}{number}" if name in names else name)
    return names
