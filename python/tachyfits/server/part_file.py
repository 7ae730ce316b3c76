"""Part file: the FITS file that an image would be, as bytes that are read when they are sent.

The header, the pixels as they are stored and a table of beams are those that `Image.write` writes;
nothing of it is written anywhere. Its size is known before a pixel is read.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

import tachyfits as tf

#: Bytes of a block of a FITS file.
_BLOCK = 2880

#: Most bytes of a piece, except where a row has more.
_PIECE = 1 << 20

_Ranges = tuple[tuple[int, int, int], ...]


@dataclass(frozen=True)
class Piece:
    """Bytes that are read at once: pixels of a section, or bytes that are known."""

    begin: int
    end: int
    ranges: _Ranges | None
    known: bytes = b""


class PartFile:
    """A FITS file with one image.

    Parameters
    ----------
    image
        The primary array of a computed file, such as `Image.cut` returns.
    """

    def __init__(self, image: tf.Image) -> None:
        self._image = image
        core = self._image._core_image()
        self._header = image.file._open_core().hdu(image.index).header().raw()
        self._companion = core.companion_bytes()
        self._item = np.dtype(core.stored_dtype).itemsize
        self._data = self._item * math.prod(core.shape)
        self.shape: tuple[int, ...] = tuple(core.shape)
        self.bytes = len(self._header) + self._data + self._fill + len(self._companion)

    @property
    def _fill(self) -> int:
        return -self._data % _BLOCK

    def pieces(self, begin: int = 0, end: int | None = None) -> Iterator[Piece]:
        """Return the pieces that have bytes from ``begin`` to ``end`` of the file, in order."""
        last = self.bytes if end is None else end
        for piece in self._all(begin, last):
            if piece.begin < last and piece.end > begin:
                yield piece

    def read(self, piece: Piece) -> memoryview:
        """Return the bytes of a piece.

        Raises
        ------
        TachyfitsError
            Pixels cannot be read, or the request that this is a part of has no time left.
        """
        if piece.ranges is None:
            return memoryview(piece.known)
        pixels = self._image._core_image().read(list(piece.ranges), dtype="raw")
        pixels.byteswap(inplace=True)  # native, big-endian in the file
        return memoryview(cast("Any", pixels.reshape(-1).view(np.uint8)))

    def _all(self, begin: int, end: int) -> Iterator[Piece]:
        header, data = len(self._header), self._data
        yield Piece(0, header, None, self._header)
        yield from self._pixels(max(0, begin - header), min(data, end - header))
        fill = bytes(self._fill)
        yield Piece(header + data, header + data + len(fill), None, fill)
        yield Piece(self.bytes - len(self._companion), self.bytes, None, self._companion)

    def _pixels(self, begin: int, end: int) -> Iterator[Piece]:
        """Return pieces of the pixels: boxes that follow each other in the file."""
        shape = self.shape
        # The first axis along which a single step is no larger than a piece.
        axis, step = 0, self._data // shape[0]
        while axis < len(shape) - 1 and step > _PIECE:
            axis += 1
            step //= shape[axis]
        most = max(1, _PIECE // step)
        length = shape[axis]
        offset = len(self._header)
        number = begin // step if step else 0
        while number * step < end:
            outer, first = divmod(number, length)
            count = min(most, length - first)
            index = np.unravel_index(outer, shape[:axis]) if axis else ()
            ranges = (
                *((int(at), 1, 1) for at in index),
                (first, count, 1),
                *((0, size, 1) for size in shape[axis + 1 :]),
            )
            yield Piece(offset + number * step, offset + (number + count) * step, ranges)
            number += count
