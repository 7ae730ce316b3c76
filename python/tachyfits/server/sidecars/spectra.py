"""Spectra from a spectral copy: the engine's own sums, over the same rows of the same pixels.

The box around a region is read from the copy and becomes an image in memory, in which the region is
a mask. The engine adds the same spans of pixels in the same order, so sums have the same bits.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import tachyfits as tf
from tachyfits import _core
from tachyfits.image.chosen_regions import core_of
from tachyfits.server.datasets import OpenFile
from tachyfits.server.sidecars.builder import Sidecars
from tachyfits.server.view import View
from tachyfits.text.regions import MaskRegion, Region

#: Channels whose pages are looked for.
_SAMPLES = 16

#: Most pixels of a plane whose mask is made, and most bytes of a box.
_MOST_PLANE, _MOST_BYTES = 1 << 26, 1 << 28


def part_of_copy(
    sidecars: Sidecars, file: OpenFile, view: View, region: Region | None, outer: tuple[Any, ...]
) -> tuple[tf.Image, Region] | None:
    """Return the box around a region as an image in memory, and the region in it.

    Parameters
    ----------
    outer
        NumPy's index of the axes before z, y and x, each of one pixel.

    Returns
    -------
    tuple or None
        None without a complete copy, and for boxes that are as fast to read from the file.
    """
    cube = view.cube
    height, width = cube.shape[-2:]
    if region is None or not sidecars.enabled or height * width > _MOST_PLANE:
        return None
    core = core_of(cube, region)
    rows, columns = core.bounds(height, width) or (None, None)
    if rows is None or columns is None:
        return None
    y, x = slice(rows[0], rows[1] + 1), slice(columns[0], columns[1] + 1)
    size = (y.stop - y.start) * (x.stop - x.start) * view.channels * cube.dtype.itemsize
    if size > _MOST_BYTES:
        return None
    if is_cached(file, view, (y.start + y.stop) // 2, (x.start + x.stop) // 2):
        return None
    where = (*outer, slice(0, view.channels), y, x)
    pixels = sidecars.box(file, view, where)
    if pixels is None:
        return None
    cards = [(c.keyword, c.value, c.comment) for c in cube.cut(section=where).header.cards]
    found = tf.File.computed(_core.array_file(np.ascontiguousarray(pixels), cards), None)[0]
    assert isinstance(found, tf.Image)
    return found, MaskRegion(np.ascontiguousarray(core.mask(height, width)[y, x]))


def is_cached(file: OpenFile, view: View, row: int, column: int) -> bool:
    """Say whether most of a line of sight is in the page cache: the file is faster to read then."""
    hdu = view.image._hdu()
    is_plain = hdu.stored is None and view.axes == tuple(range(1, view.image.ndim + 1))
    if not is_plain or not hasattr(os, "RWF_NOWAIT"):
        return not hasattr(os, "RWF_NOWAIT")
    item = view.image.dtype.itemsize
    step = max(1, view.channels // _SAMPLES)
    buffer = bytearray(1)
    found = []
    try:
        with file.path.open("rb", buffering=0) as stream:
            for channel in range(0, view.channels, step):
                pixel = (channel * view.height + row) * view.width + column
                try:
                    place = hdu.data_offset + item * pixel
                    os.preadv(stream.fileno(), [buffer], place, os.RWF_NOWAIT)
                    found.append(True)
                except BlockingIOError:
                    found.append(False)
    except OSError:  # a file system that cannot say
        return True
    return 2 * sum(found) >= len(found)
