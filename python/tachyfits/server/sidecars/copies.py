"""Copies: the two kinds of sidecars, their units of work, and how they are read."""

from __future__ import annotations

import abc
import functools
import itertools
import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

import tachyfits as tf
from tachyfits.server.sidecars.spectra import image_of_chunks
from tachyfits.server.view import TILE, View

#: The first level of a pyramid: tiles of lower ones read at most a mebibyte or so of the file.
FIRST_LEVEL = 3

#: Least and most pixels along x and y of a chunk of a spectral copy, and its most channels.
_SIDE, _LONGEST_SIDE, _DEPTH = 16, 64, 4096

#: Pixels of a chunk, at least where its sides are not the longest.
_CHUNK_PIXELS = 1 << 14

#: Smallest planes with a pyramid and smallest cubes with a spectral copy, in pixels.
_LEAST_PLANE, _LEAST_CUBE = 1 << 22, 1 << 24


class Copy(abc.ABC):
    """A kind of sidecar of a view."""

    #: The name of the kind.
    kind: ClassVar[str]

    def __init__(self, view: View) -> None:
        self.view = view

    @property
    @abc.abstractmethod
    def is_useful(self) -> bool:
        """Whether the image is large enough, and has pixels that the copy can hold."""

    @property
    @abc.abstractmethod
    def bytes(self) -> int:
        """About how many it takes."""

    @abc.abstractmethod
    def create(self, path: Path) -> None:
        """Make the empty arrays."""

    @abc.abstractmethod
    def units(self) -> list[tuple[int, ...]]:
        """Return the units of work, in order."""

    @abc.abstractmethod
    def build(self, path: Path, unit: tuple[int, ...]) -> None:
        """Do one unit of work; doing it again gives the same."""

    @property
    def _outer(self) -> tuple[int, ...]:
        """Lengths of the axes after x and y, in NumPy order."""
        return self.view.cube.shape[:-2]

    @property
    def _names(self) -> list[str]:
        """Names of the axes, in NumPy order."""
        names = ["x", "y", "z", *(f"axis{n}" for n in range(4, 1000))]
        return names[: self.view.cube.ndim][::-1]


def _create(
    group: Any, name: str, shape: Any, chunks: Any, dtype: Any, names: list[str], endian: str
) -> None:
    from zarr.codecs import BytesCodec, Crc32cCodec

    group.create_array(
        name, shape=shape, chunks=chunks, dtype=dtype, fill_value=np.nan, dimension_names=names,
        serializer=BytesCodec(endian=endian),
        # Chunks of damaged disks are refused, not shown.
        compressors=[Crc32cCodec()], config={"write_empty_chunks": True},
    )  # fmt: skip


def _to_write(path: Path) -> Any:
    import zarr

    # Chunks of undefined pixels are written, too: a missing chunk is damage.
    array: Any = zarr.open_array(path, mode="r+")
    return array.with_config({"write_empty_chunks": True})


class Pyramid(Copy):
    """Tiles of high levels: the means that `View.tile` gives, one tile a chunk."""

    kind = "pyramid"

    @property
    def levels(self) -> range:
        """The levels it has."""
        return range(FIRST_LEVEL, self.view.levels)

    @property
    def is_useful(self) -> bool:
        """Whether planes are large."""
        return self.view.width * self.view.height >= _LEAST_PLANE and len(self.levels) > 0

    @property
    def bytes(self) -> int:
        """About how many it takes."""
        planes = math.prod(self._outer)
        return sum(4 * planes * math.prod(self._shape(level)) for level in self.levels)

    def _shape(self, level: int) -> tuple[int, int]:
        return -(-self.view.height >> level), -(-self.view.width >> level)

    def create(self, path: Path) -> None:
        """Make the empty arrays: one for each level, with axes of their own."""
        import zarr

        group = zarr.open_group(path, mode="w", zarr_format=3)
        for level in self.levels:
            shape = (*self._outer, *(-(-n // (1 << level)) for n in self.view.cube.shape[-2:]))
            chunks = (*(1 for _ in self._outer), TILE, TILE)
            names = [*self._names[:-2], f"y{level}", f"x{level}"]
            _create(group, f"level{level}", shape, chunks, np.float32, names, endian="little")

    def units(self) -> list[tuple[int, ...]]:
        """Return (plane, level, row of tiles), so that a strip of the file is read in one go."""
        found: list[tuple[int, ...]] = []
        top = max(self.levels)
        rows = [-(-self.view.height // (TILE << level)) for level in range(top + 1)]
        for plane in range(math.prod(self._outer)):
            for strip in range(rows[top]):
                for level in reversed(self.levels):
                    share = 1 << (top - level)
                    last = min(rows[level], (strip + 1) * share)
                    found += [(plane, level, row) for row in range(strip * share, last)]
        return found

    def build(self, path: Path, unit: tuple[int, ...]) -> None:
        """Compute a row of tiles."""
        number, level, row = unit
        array = _to_write(path / f"level{level}")
        index = tuple(int(at) for at in np.unravel_index(number, self._outer))
        channel, *others = (at + 1 for at in reversed(index or (0,)))
        plane = self.view.plane(channel, tuple(others))
        columns = -(-self.view.width // (TILE << level))
        tiles = [self.view.tile(plane, level, column, row) for column in range(columns)]
        pixels = np.concatenate(tiles, axis=1)
        first = row * TILE
        rows = slice(first, first + len(pixels))
        where = (*index, rows, slice(None))
        array[where] = pixels


class Spectral(Copy):
    """Pixels as they are, in chunks of 16 x 16 lines of sight, or more where these are short."""

    kind = "spectral"

    @property
    def is_useful(self) -> bool:
        """Whether the cube is large, and its pixels are floats without scaling."""
        view = self.view
        scaling = view.image.scaling
        is_plain = view.image.bitpix < 0 and (scaling.bscale, scaling.bzero) == (1.0, 0.0)
        return is_plain and view.channels > 1 and view.image.size >= _LEAST_CUBE

    @property
    def bytes(self) -> int:
        """About how many it takes."""
        return self.view.image.size * self.view.image.dtype.itemsize

    @property
    def _side(self) -> int:
        """Pixels of a chunk along x and y; few channels would make many small files."""
        side = _SIDE
        while side < _LONGEST_SIDE and side * side * self.view.channels < _CHUNK_PIXELS:
            side *= 2
        return side

    def create(self, path: Path) -> None:
        """Make the empty array."""
        import zarr

        shape = self.view.cube.shape
        depth = min(self.view.channels, _DEPTH)
        chunks = (*(1 for _ in shape[:-3]), depth, self._side, self._side)
        group = zarr.open_group(path, mode="w", zarr_format=3)
        dtype = self.view.image.dtype
        # Big-endian as in the file: the engine reads chunks as it reads that.
        _create(group, "pixels", shape, chunks, dtype, self._names, endian="big")

    def units(self) -> list[tuple[int, ...]]:
        """Return (cube, first channel, first row)."""
        return list(self._units())

    def _units(self) -> Iterator[tuple[int, ...]]:
        for number in range(math.prod(self._outer[:-1])):
            for channel in range(0, self.view.channels, _DEPTH):
                for row in range(0, self.view.height, self._side):
                    yield number, channel, row

    def build(self, path: Path, unit: tuple[int, ...]) -> None:
        """Copy some rows of some channels."""
        number, channel, row = unit
        array = _to_write(path / "pixels")
        index = tuple(int(at) for at in np.unravel_index(number, self._outer[:-1]))
        # Columns are taken in parts, so that a unit needs little memory for any width.
        side = self._side
        wide = (1 << 24) // (side * min(_DEPTH, self.view.channels))
        columns = max(side, wide // side * side)
        for first in range(0, self.view.width, columns):
            where = (
                *index, slice(channel, channel + _DEPTH), slice(row, row + side),
                slice(first, first + columns),
            )  # fmt: skip
            array[where] = self.view.cube.read(where, dtype="exact")

    @staticmethod
    def image(path: Path, view: View) -> tf.Image:
        """Return the cube of a complete copy."""
        return image_of_chunks(path / "pixels", view.cube)


@functools.lru_cache(maxsize=256)
def _opened(path: Path) -> Any:
    import zarr

    return zarr.open_array(path, mode="r")


def pixels_of(path: Path, where: tuple[Any, ...]) -> NDArray[Any]:
    """Return pixels of an array, in NumPy's index.

    Raises
    ------
    OSError
        A chunk is missing, for which zarr would give undefined pixels.
    """
    array = _opened(path)
    ranges = []
    for at, length, chunk in zip(where, array.shape, array.chunks, strict=True):
        first, last, _ = (at if isinstance(at, slice) else slice(at, at + 1)).indices(length)
        ranges.append(range(first // chunk, -(-last // chunk)))
    for numbers in itertools.product(*ranges):
        if not os.path.exists(os.path.join(path, "c", *map(str, numbers))):
            raise OSError("a chunk is missing")
    return np.asarray(array[where])


#: All kinds.
KINDS: tuple[type[Copy], ...] = (Pyramid, Spectral)
