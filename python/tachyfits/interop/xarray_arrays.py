"""Arrays that xarray indexes: pixels, columns, and positions on the sky.

It imports xarray, so other modules import it on demand.
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
    """An array in a file, read in parts when needed, in any process."""

    def __init__(self, source: Pixels | Column) -> None:
        self.source = source
        self.shape, self.dtype = source.shape, source.dtype

    def __getitem__(self, key: Any) -> Any:
        reader: Callable[[Any], Any] = self.source.__getitem__
        support = indexing.IndexingSupport.BASIC
        return indexing.explicit_indexing_adapter(key, self.shape, support, reader)


def lazy_pixels(image: Image) -> Any:
    """Wrap the pixels in a lazily indexed xarray array."""
    return indexing.LazilyIndexedArray(FileArray(Pixels(image)))


def lazy_column(table: Table, key: str) -> Any:
    """Wrap a column in a lazily indexed xarray array."""
    return indexing.LazilyIndexedArray(FileArray(Column(table, key)))


class SkyTransform(CoordinateTransform):
    """Longitude and latitude in degrees of the pixels of two axes, computed when needed."""

    def __init__(self, sky: Sky, names: tuple[str, str], sizes: dict[str, int]) -> None:
        super().__init__(names, sizes, np.dtype(np.float64))
        self.sky = sky
        #: Names of the lower and of the higher axis.
        self.along = tuple(reversed(tuple(sizes)))

    def forward(self, dim_positions: dict[str, Any]) -> dict[Hashable, Any]:
        """Return the degrees of 0-based pixels."""
        lower, higher = (dim_positions[name] for name in self.along)
        return dict(zip(self.coord_names, self.sky.degrees(lower, higher), strict=True))

    def reverse(self, coord_labels: dict[Hashable, Any]) -> dict[str, Any]:
        """Return the 0-based pixels of degrees."""
        longitude, latitude = (coord_labels[name] for name in self.coord_names)
        return dict(zip(self.along, self.sky.pixels(longitude, latitude), strict=True))

    def equals(self, other: Any, exclude: frozenset[Hashable] | None = None) -> bool:
        """Return whether two transforms have the same positions."""
        if not isinstance(other, SkyTransform) or self.dim_size != other.dim_size:
            return False
        corners = {name: np.array([0.0, size - 1.0]) for name, size in self.dim_size.items()}
        mine, theirs = self.forward(corners), other.forward(corners)
        return self.sky == other.sky and all(
            np.array_equal(mine[a], theirs[b], equal_nan=True)
            for a, b in zip(mine, theirs, strict=True)
        )


def sky_coordinates(sky: Sky, names: tuple[str, str], sizes: dict[str, int]) -> xr.Coordinates:
    """Return the sky coordinates over two axes, without computing them."""
    index = CoordinateTransformIndex(SkyTransform(sky, names, sizes))
    coordinates: xr.Coordinates = xr.Coordinates.from_xindex(index)
    for name in names:
        coordinates[name].attrs.update(units="deg", frame=sky.frame)
    return coordinates
