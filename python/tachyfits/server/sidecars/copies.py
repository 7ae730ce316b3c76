"""Copies: the two kinds of sidecars, with functions to build and read them."""

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

#: The first level of a pyramid: tiles of lower levels read about 1 MiB of the file or less.
FIRST_LEVEL = 3

#: Limits of a chunk of a spectral copy: minimum and maximum side in pixels, maximum channels.
_SIDE, _LONGEST_SIDE, _DEPTH = 16, 64, 4096

#: Minimum number of pixels of a chunk, unless its sides have the maximum length.
_CHUNK_PIXELS = 1 << 14

#: Minimum size of a plane for a pyramid, and of a cube for a spectral copy, in pixels.
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
        """Whether the image is large enough and the copy can hold its pixels."""

    @property
    @abc.abstractmethod
    def bytes(self) -> int:
        """Approximate size of the copy in bytes."""

    @abc.abstractmethod
    def create(self, path: Path) -> None:
        """Create the empty arrays."""

    @abc.abstractmethod
    def units(self) -> list[tuple[int, ...]]:
        """Return the units of work, in order."""

    @abc.abstractmethod
    def build(self, path: Path, unit: tuple[int, ...]) -> None:
        """Compute one unit of work; idempotent."""

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
        # The checksum detects damaged chunks.
        compressors=[Crc32cCodec()], config={"write_empty_chunks": True},
    )  # fmt: skip


def _to_write(path: Path) -> Any:
    import zarr

    # Also write chunks of undefined pixels: a missing chunk means damage.
    array: Any = zarr.open_array(path, mode="r+")
    return array.with_config({"write_empty_chunks": True})


class Pyramid(Copy):
    """Tiles of high levels, as computed by `View.tile`; one tile per chunk."""

    kind = "pyramid"

    @property
    def levels(self) -> range:
        """Levels of the pyramid."""
        return range(FIRST_LEVEL, self.view.levels)

    @property
    def is_useful(self) -> bool:
        """Whether the planes are large enough."""
        return self.view.width * self.view.height >= _LEAST_PLANE and len(self.levels) > 0

    @property
    def bytes(self) -> int:
        """Approximate size of the copy in bytes."""
        planes = math.prod(self._outer)
        return sum(4 * planes * math.prod(self._shape(level)) for level in self.levels)

    def _shape(self, level: int) -> tuple[int, int]:
        return -(-self.view.height >> level), -(-self.view.width >> level)

    def create(self, path: Path) -> None:
        """Create the empty arrays, one per level, each with its own axes."""
        import zarr

        group = zarr.open_group(path, mode="w", zarr_format=3)
        for level in self.levels:
            shape = (*self._outer, *(-(-n // (1 << level)) for n in self.view.cube.shape[-2:]))
            chunks = (*(1 for _ in self._outer), TILE, TILE)
            names = [*self._names[:-2], f"y{level}", f"x{level}"]
            _create(group, f"level{level}", shape, chunks, np.float32, names, endian="little")

    def units(self) -> list[tuple[int, ...]]:
        """Return (plane, level, row of tiles), ordered by their position in the file."""
        result: list[tuple[int, ...]] = []
        top = max(self.levels)
        rows = [-(-self.view.height // (TILE << level)) for level in range(top + 1)]
        for plane in range(math.prod(self._outer)):
            for strip in range(rows[top]):
                for level in reversed(self.levels):
                    share = 1 << (top - level)
                    last = min(rows[level], (strip + 1) * share)
                    result += [(plane, level, row) for row in range(strip * share, last)]
        return result

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
        window = (*index, rows, slice(None))
        array[window] = pixels


class Spectral(Copy):
    """Unchanged pixels in chunks of 16 x 16 lines of sight, or more if these are short."""

    kind = "spectral"

    @property
    def is_useful(self) -> bool:
        """Whether the cube is large enough, and its pixels are floats without scaling."""
        view = self.view
        scaling = view.image.scaling
        is_plain = view.image.bitpix < 0 and (scaling.bscale, scaling.bzero) == (1.0, 0.0)
        return is_plain and view.channels > 1 and view.image.size >= _LEAST_CUBE

    @property
    def bytes(self) -> int:
        """Approximate size of the copy in bytes."""
        return self.view.image.size * self.view.image.dtype.itemsize

    @property
    def _side(self) -> int:
        """Side of a chunk in pixels; it grows for few channels, to avoid many small files."""
        side = _SIDE
        while side < _LONGEST_SIDE and side * side * self.view.channels < _CHUNK_PIXELS:
            side *= 2
        return side

    def create(self, path: Path) -> None:
        """Create the empty array."""
        import zarr

        shape = self.view.cube.shape
        depth = min(self.view.channels, _DEPTH)
        chunks = (*(1 for _ in shape[:-3]), depth, self._side, self._side)
        group = zarr.open_group(path, mode="w", zarr_format=3)
        dtype = self.view.image.dtype
        # Big-endian as in the file: the engine reads chunks and file alike.
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
        """Copy a strip of rows of a range of channels."""
        number, channel, row = unit
        array = _to_write(path / "pixels")
        index = tuple(int(at) for at in np.unravel_index(number, self._outer[:-1]))
        # Copy the columns in parts, to limit the memory for any width.
        side = self._side
        wide = (1 << 24) // (side * min(_DEPTH, self.view.channels))
        columns = max(side, wide // side * side)
        for first in range(0, self.view.width, columns):
            window = (
                *index, slice(channel, channel + _DEPTH), slice(row, row + side),
                slice(first, first + columns),
            )  # fmt: skip
            array[window] = self.view.cube.read(window, dtype="exact")

    @staticmethod
    def image(path: Path, view: View) -> tf.Image:
        """Return the cube of a complete copy."""
        return image_of_chunks(path / "pixels", view.cube)


@functools.lru_cache(maxsize=256)
def _opened(path: Path) -> Any:
    import zarr

    return zarr.open_array(path, mode="r")


def pixels_of(path: Path, index: tuple[Any, ...]) -> NDArray[Any]:
    """Return the pixels of an array at a NumPy index.

    Raises
    ------
    OSError
        A chunk is missing; zarr would return undefined pixels for it.
    """
    array = _opened(path)
    ranges = []
    for item, length, chunk in zip(index, array.shape, array.chunks, strict=True):
        first, last, _ = (item if isinstance(item, slice) else slice(item, item + 1)).indices(
            length
        )
        ranges.append(range(first // chunk, -(-last // chunk)))
    for numbers in itertools.product(*ranges):
        if not os.path.exists(os.path.join(path, "c", *map(str, numbers))):
            raise OSError("a chunk is missing")
    return np.asarray(array[index])


#: All kinds of sidecars.
KINDS: tuple[type[Copy], ...] = (Pyramid, Spectral)
