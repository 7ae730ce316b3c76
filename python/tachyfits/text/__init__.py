"""Text and indices as users write them: axes, sections, regions, statistics and units."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tachyfits.base.rooms import interface

if TYPE_CHECKING:
    from tachyfits.text.axes import counted_axes, is_celestial, is_latitude
    from tachyfits.text.cones import cone_of_text
    from tachyfits.text.fits_sections import (
        Range,
        fits_position,
        numpy_index,
        parse_channels,
        parse_points,
        parse_range,
        parse_section,
    )
    from tachyfits.text.numbers import parse_numbers
    from tachyfits.text.pixel_units import pixel_unit, split_units
    from tachyfits.text.region_input import listed_regions
    from tachyfits.text.region_text import is_file_text, parse_position, parse_region
    from tachyfits.text.regions import annulus, labelled, numbers_of, ring_of, union_of
    from tachyfits.text.sky_regions import OWN_FRAME, frame_name
    from tachyfits.text.spectral_ranges import listed_channels, parse_band
    from tachyfits.text.statistics import (
        PERCENTILES,
        STANDARD_STATISTICS,
        UNITLESS,
        order_statistic,
    )
    from tachyfits.text.stokes import STOKES, stokes_name
    from tachyfits.text.units import ANGLE, LIGHT, SPECTRAL, asked_quantity, fits_unit

__getattr__ = interface(
    __name__,
    {
        "axes": ("counted_axes", "is_celestial", "is_latitude"),
        "cones": ("cone_of_text",),
        "fits_sections": (
            "Range",
            "fits_position",
            "numpy_index",
            "parse_channels",
            "parse_points",
            "parse_range",
            "parse_section",
        ),
        "numbers": ("parse_numbers",),
        "pixel_units": ("pixel_unit", "split_units"),
        "region_input": ("listed_regions",),
        "region_text": ("is_file_text", "parse_position", "parse_region"),
        "regions": ("annulus", "labelled", "numbers_of", "ring_of", "union_of"),
        "sky_regions": ("OWN_FRAME", "frame_name"),
        "spectral_ranges": ("listed_channels", "parse_band"),
        "statistics": ("PERCENTILES", "STANDARD_STATISTICS", "UNITLESS", "order_statistic"),
        "stokes": ("STOKES", "stokes_name"),
        "units": ("ANGLE", "LIGHT", "SPECTRAL", "asked_quantity", "fits_unit"),
    },
)
