"""Results with a unit and coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tachyfits.base.rooms import interface

if TYPE_CHECKING:
    from tachyfits.results.fits import NUMBERS, units_of
    from tachyfits.results.json import plain
    from tachyfits.results.measured import with_unit
    from tachyfits.results.viewer import Viewer

__getattr__ = interface(
    __name__,
    {
        "fits": ("NUMBERS", "units_of"),
        "json": ("plain",),
        "measured": ("with_unit",),
        "viewer": ("Viewer",),
    },
)
