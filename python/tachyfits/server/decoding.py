"""Decoding: memory for tiles of compressed images, shared by all requests.

Each thread of the engine decodes one whole tile at a time. A file of some kilobytes may claim tiles
of gigabytes, so requests wait for their share of the server's memory.
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

#: Bytes per pixel while a tile is decoded: 64-bit integers, or floats converted to integers.
_PIXEL_BYTES = 8

#: Requests whose tiles need at most this many bytes do not wait.
_SMALL = 1 << 20

#: Seconds between two checks whether a waiting request is cancelled.
_PATIENCE = 0.05


def tile_bytes(image: tf.Image) -> int:
    """Return the bytes of a decoded tile of a compressed image; 0 for other images."""
    table = stored_table(image)
    if table is None:
        return 0
    header = table.header()
    sides = []
    for number, length in enumerate(reversed(image.shape), 1):
        name = f"ZTILE{number}"
        # Without this card, tiles are rows (Standard 4.0, section 10.1.1).
        side = header.get(name) if name in header else (length if number == 1 else 1)
        sides.append(min(side, length) if isinstance(side, int) and side > 0 else length)
    return math.prod(sides) * _PIXEL_BYTES


class Decoding:
    """Memory budget for decoded tiles.

    >>> with Decoding(1 << 30).reserved(tile=1 << 20, threads=4):
    ...     pass
    """

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._left = budget
        self._changed = threading.Condition()

    @property
    def bytes(self) -> int:
        """Bytes reserved now, an upper limit of the memory in use."""
        return self._budget - self._left

    @contextlib.contextmanager
    def reserved(
        self, tile: int, threads: int, cancelled: Callable[[], bool] = lambda: False
    ) -> Iterator[None]:
        """Reserve memory for one tile per thread; wait until it is free.

        Raises
        ------
        TooLarge
            A single tile exceeds the budget.
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
    """Raise `TooLarge` if a decoded tile exceeds the memory of the server."""
    if tile > budget:
        problem = f"a compressed tile of {tile} bytes; the server has {budget} bytes of memory"
        raise TooLarge(with_hint(problem, "ask the operator of the server for more memory"))
