"""Arrays that xarray indexes: pixels, columns, and positions on the sky.

It imports xarray, so that modules import it when they need it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from xarray.backends import BackendArray
from xarray.core import indexing
from xarray.indexes import CoordinateTransform, CoordinateTransformIndex

from tachyfits.interop.dask_arrays import Column, Pixels

if TYPE_CHECKING:
    from tachyfits.header.sky import Sky
    from tachyfits.image.image import Image
    from tachyfits.table.table import Table


class FileArray(BackendArray):
    """An array of a file: parts of it are read when they are needed, in any process."""

    def __init__(self, source: Pixels | Column) -> None:
        self.source = source
        self.shape, self.dtype = source.shape, source.dtype

    def __getitem__(self, key: Any) -> Any:
        read: Callable[[Any], Any] = self.source.__getitem__
        support = indexing.IndexingSupport.BASIC
        return indexing.explicit_indexing_adapter(key, self.shape, support, read)


def lazy_pixels(image: Image) -> Any:
    """Return the pixels of an image as xarray takes those of files."""
    return indexing.LazilyIndexedArray(FileArray(Pixels(image)))


def lazy_column(table: Table, key: str) -> Any:
    """Return a column as xarray takes those of files."""
    return indexing.LazilyIndexedArray(FileArray(Column(table, key)))


class SkyTransform(CoordinateTransform):
    """Longitude and latitude of the pixels of two axes, degrees, computed when they are needed."""

    def __init__(self, sky: Sky, names: tuple[str, str], sizes: dict[str, int]) -> None:
        super().__init__(names, sizes, np.dtype(np.float64))
        self.sky = sky
        #: Names of the lower and of the higher axis.
        self.along = tuple(reversed(tuple(sizes)))

    def forward(self, dim_positions: dict[str, Any]) -> dict[Hashable, Any]:
        """Return the degrees of pixels, counted from 0."""
        lower, higher = (dim_positions[name] for name in self.along)
        return dict(zip(self.coord_names, self.sky.degrees(lower, higher), strict=True))

    def reverse(self, coord_labels: dict[Hashable, Any]) -> dict[str, Any]:
        """Return the pixels of degrees, counted from 0."""
        longitude, latitude = (coord_labels[name] for name in self.coord_names)
        return dict(zip(self.along, self.sky.pixels(longitude, latitude), strict=True))

    def equals(self, other: Any, exclude: frozenset[Hashable] | None = None) -> bool:
        """Tell whether two transforms have the same positions."""
        if not isinstance(other, SkyTransform) or self.dim_size != other.dim_size:
            return False
        corners = {name: np.array([0.0, size - 1.0]) for name, size in self.dim_size.items()}
        mine, others = self.forward(corners), other.forward(corners)
        return self.sky == other.sky and all(
            np.array_equal(mine[a], others[b], equal_nan=True)
            for a, b in zip(mine, others, strict=True)
        )


def sky_coordinates(sky: Sky, names: tuple[str, str], sizes: dict[str, int]) -> xr.Coordinates:
    """Return the coordinates of the sky over two axes; nothing is computed yet."""
    index = CoordinateTransformIndex(SkyTransform(sky, names, sizes))
    coordinates: xr.Coordinates = xr.Coordinates.from_xindex(index)
    for name in names:
        coordinates[name].attrs.update(units="deg", frame=sky.frame)
    return coordinates
