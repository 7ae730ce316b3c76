"""Headers of images as dask and xarray arrays, whose pixels are read when they are computed."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tachyfits.file.file import open as open_file
from tachyfits.header.cards import Card, Header

if TYPE_CHECKING:
    from tachyfits.image.image import Image


def physical_header(image: Image) -> Header:
    """Return the header for physical values: without BSCALE, BZERO and BLANK."""
    cards = image._core_image().result_cards(kept=list(range(image.ndim)), kind=Card)
    header = Header(cards)
    return header.replaced({"BUNIT": image.unit}) if image.unit else header


def section_header(
    cards: Sequence[tuple[str, Any, str]],
    shape: Sequence[int],
    ranges: Sequence[tuple[int, int, int]],
    kept: Sequence[int],
) -> Header:
    """Return the cards of a section of an image of this shape, from the header alone."""
    axes = [("NAXIS", len(shape), "")]
    axes += [(f"NAXIS{number}", length, "") for number, length in enumerate(reversed(shape), 1)]
    remaining = [card for card in cards if not card[0].startswith("NAXIS")]
    full = Header([("SIMPLE", True, ""), ("BITPIX", 8, ""), *axes, *remaining])
    with warnings.catch_warnings():
        # The pixels are missing, and are not read.
        warnings.simplefilter("ignore")
        image = open_file(full.to_astropy().tostring().encode("ascii")).image(0)
        return Header(image._core_image().result_cards(list(ranges), kept=list(kept), kind=Card))
