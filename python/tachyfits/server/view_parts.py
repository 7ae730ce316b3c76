"""Parts of a view as images of its file: the axes of the view are not those of the file."""

from __future__ import annotations

import math

import tachyfits as tf
from tachyfits.image.parts import Part
from tachyfits.server.errors import TooLarge
from tachyfits.server.settings import GIBIBYTE
from tachyfits.server.view import View


def image_of_part(view: View, part: Part) -> tf.Image:
    """Return a part of the cube of a view as an image with the axes of the file.

    Raises
    ------
    TooLarge
        The margins have more bytes than the image may have.
    """
    image, ndim = view.image, view.cube.ndim
    margins = part.margins or ((0, 0),) * ndim
    pixels = math.prod(
        count + sum(margin) for count, margin in zip(part.section.full_shape, margins, strict=True)
    )
    item = image.dtype.itemsize
    if part.margins and pixels * item > max(GIBIBYTE, image.size * item):
        raise TooLarge("the part with its margins has more bytes than the image; use trim")
    ranges = [(0, 1, 1)] * ndim
    around = [(0, 0)] * ndim
    for axis, place in enumerate(places_in_image(view)):
        ranges[place] = part.section.ranges[axis]
        around[place] = margins[axis]
    if image.ndim == 1:
        ranges, around = ranges[:1], around[:1]
    core = image._core_image().cut(ranges, margins=around if part.margins else ())
    found = tf.File.computed(core, None)[0]
    assert isinstance(found, tf.Image)
    return found


def places_in_image(view: View) -> list[int]:
    """Return the NumPy axis in the image of each NumPy axis of the cube of its view.

    The pixel of a line has axes 1 and 2, which the image lacks.
    """
    ndim = view.cube.ndim
    if view.image.ndim == 1:
        return list(range(ndim))
    return [ndim - view.axes[ndim - 1 - axis] for axis in range(ndim)]
