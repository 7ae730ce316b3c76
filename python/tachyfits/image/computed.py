"""Images that do not come straight from a file: from other cards, arrays, Zarr chunks or cutouts.

They cannot be pickled.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from tachyfits import _core
from tachyfits.file.file import File

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tachyfits.image.image import Image

    Cards = Sequence[tuple[str, Any, str]]


def with_cards(image: Image, cards: Cards, removed: Sequence[str] = ()) -> Image:
    """Return an image with ``cards`` updated and the keywords ``removed`` dropped."""
    return _image_of(image._core_image().with_cards(list(cards), list(removed)))


def image_of_pixels(pixels: NDArray[Any], cards: Cards, name: str) -> Image:
    """Return an array as an image; ``name`` is the file name for messages."""
    return _image_of(_core.array_file(pixels, list(cards), name=name))


def image_of_zarr_chunks(
    folder: os.PathLike[str], shape: Sequence[int], chunk: Sequence[int], pixel: str, like: Image
) -> Image:
    """Return the chunks of a Zarr array as an image with the cards of ``like``.

    ``chunk``: shape of a chunk. ``pixel``: NumPy name of the pixel type.
    """
    cards = [(card.keyword, card.value, card.comment) for card in like.header.cards]
    name = like.file.name
    return _image_of(_core.chunks_file(folder, list(shape), list(chunk), pixel, cards, name=name))


def cut_with_margins(
    image: Image,
    ranges: Sequence[tuple[int, int, int]],
    margins: Sequence[tuple[int, int]],
) -> Image:
    """Return a section with undefined pixels around it.

    ``ranges``: (start, count, step) along each NumPy axis. ``margins``: number of pixels before and
    after along each axis, or ().
    """
    return _image_of(image._core_image().cut(list(ranges), margins=list(margins)))


def _image_of(core: _core.FitsFile) -> Image:
    return cast("Image", File.computed(core, None)[0])
