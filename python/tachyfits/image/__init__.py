"""Images: reading, reducing and computing pixels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tachyfits.base.rooms import interface

if TYPE_CHECKING:
    from tachyfits.image.chosen_regions import border_of, in_pixels, line_points
    from tachyfits.image.collapse import PEAKS, MomentOrder
    from tachyfits.image.computed import (
        cut_with_margins,
        image_of_pixels,
        image_of_zarr_chunks,
        with_cards,
    )
    from tachyfits.image.conditions import ChannelMask, masked, threshold_of_values
    from tachyfits.image.expressions import evaluated, image_of_array
    from tachyfits.image.flux import flux_values
    from tachyfits.image.image import statistics_of_regions
    from tachyfits.image.measuring import region_names
    from tachyfits.image.operations import for_pictures
    from tachyfits.image.order_statistics import order_arrays
    from tachyfits.image.polarisation import PolarisationVectors, polarisation_vectors
    from tachyfits.image.rectangles import MODES, extent_on_image, slices_of
    from tachyfits.image.reductions import reduced_arrays
    from tachyfits.image.reshape import BlockStatistic, Remainder
    from tachyfits.image.selecting import choice_of
    from tachyfits.image.selection import Choice, Selection

__getattr__ = interface(
    __name__,
    {
        "computed": ("cut_with_margins", "image_of_zarr_chunks", "image_of_pixels", "with_cards"),
        "selecting": ("choice_of",),
        "operations": ("for_pictures",),
        "image": ("statistics_of_regions",),
        "chosen_regions": ("border_of", "in_pixels", "line_points"),
        "collapse": ("PEAKS", "MomentOrder"),
        "conditions": ("ChannelMask", "masked", "threshold_of_values"),
        "expressions": ("evaluated", "image_of_array"),
        "flux": ("flux_values",),
        "measuring": ("region_names",),
        "order_statistics": ("order_arrays",),
        "polarisation": ("PolarisationVectors", "polarisation_vectors"),
        "rectangles": ("MODES", "extent_on_image", "slices_of"),
        "reductions": ("reduced_arrays",),
        "reshape": ("BlockStatistic", "Remainder"),
        "selection": ("Choice", "Selection"),
    },
)
