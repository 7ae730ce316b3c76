"""Decoding: memory for tiles of compressed images, shared by all requests.

The engine decodes a tile as a whole, and one on each thread at a time. A file of some kilobytes may
claim tiles of gigabytes, so requests wait for their share of the server's memory.
"""

from __future__ import annotations

import contextlib
import math
import threading
from collections.abc import Callable, Iterator

import tachyfits as tf
from tachyfits.base import with_hint
from tachyfits.file import stored_table
from tachyfits.server.errors import Superseded, TooLarge

#: Bytes of a pixel while its tile is decoded: integers of 64 bits, or floats that become integers.
_PIXEL_BYTES = 8

#: Tiles that together are no larger than this wait for nothing.
_SMALL = 1 << 20

#: Seconds between two looks whether a request that waits is still needed.
_PATIENCE = 0.05


def tile_bytes(image: tf.Image) -> int:
    """Return the bytes of a decoded tile of a compressed image; 0 of another image."""
    table = stored_table(image)
    if table is None:
        return 0
    header = table.header()
    sides = []
    for number, length in enumerate(reversed(image.shape), 1):
        name = f"ZTILE{number}"
        # Without the card tiles are rows (Standard 4.0, section 10.1.1).
        side = header.get(name) if name in header else (length if number == 1 else 1)
        sides.append(min(side, length) if isinstance(side, int) and side > 0 else length)
    return math.prod(sides) * _PIXEL_BYTES


class Decoding:
    """A budget of bytes of decoded tiles.

    >>> with Decoding(1 << 30).reserved(tile=1 << 20, threads=4):
    ...     pass
    """

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._left = budget
        self._changed = threading.Condition()

    @property
    def bytes(self) -> int:
        """Bytes of tiles that are decoded now, at most."""
        return self._budget - self._left

    @contextlib.contextmanager
    def reserved(
        self, tile: int, threads: int, cancelled: Callable[[], bool] = lambda: False
    ) -> Iterator[None]:
        """Hold memory for a tile on each of some threads; wait for it.

        Raises
        ------
        TooLarge
            A single tile has more bytes than the budget.
        """
        check_tile(tile, self._budget)
        share = min(tile * threads, self._budget)
        if share <= _SMALL:
            yield
            return
        with self._changed:
            while self._left < share:
                if cancelled():
                    raise Superseded("cancelled while other requests decoded tiles")
                self._changed.wait(_PATIENCE)
            self._left -= share
        try:
            yield
        finally:
            with self._changed:
                self._left += share
                self._changed.notify_all()


def check_tile(tile: int, budget: int) -> None:
    """Refuse an image whose decoded tile has more bytes than the memory of the server."""
    if tile > budget:
        problem = f"a compressed tile of {tile} bytes; the server has {budget} bytes of memory"
        raise TooLarge(with_hint(problem, "ask the operator of the server for more memory"))
