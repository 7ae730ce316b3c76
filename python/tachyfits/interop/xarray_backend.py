"""FITS files in ``xarray.open_dataset`` and ``open_datatree``, through xarray's entry point.

The module also registers the accessor ``tachyfits``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

import xarray as xr
from xarray.backends import BackendEntrypoint

from tachyfits.base.errors import usage, warn
from tachyfits.file.file import open as open_file
from tachyfits.file.hdu import Hdu
from tachyfits.file.image_hdu import ImageHdu
from tachyfits.interop.named_axes import group_name
from tachyfits.interop.xarray import data_array, image_of_data_array
from tachyfits.interop.xarray_arrays import lazy_column

if TYPE_CHECKING:
    from tachyfits.file.file import File
    from tachyfits.image.image import Image
    from tachyfits.table.table import Table

#: File name endings of FITS files.
ENDINGS = (".fits", ".fit", ".fts", ".fits.gz", ".fits.fz")


class TachyfitsBackend(BackendEntrypoint):
    """Images, cubes, files of many HDUs and tables; pixels and cells are read when needed.

    The variable of an image is named by its EXTNAME, or "data" without one. A table has a variable
    for each column, along "row".
    """

    description = "FITS files: images, cubes, compressed images, tables"
    supports_groups = True

    def guess_can_open(self, filename_or_obj: Any) -> bool:
        """Return whether the file name has the ending of a FITS file."""
        is_name = isinstance(filename_or_obj, (str, os.PathLike))
        return is_name and os.fspath(filename_or_obj).lower().endswith(ENDINGS)

    def open_dataset(
        self,
        filename_or_obj: Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        hdu: int | str | tuple[str, int] | None = None,
        storage: str = "auto",
        damaged: str = "error",
    ) -> xr.Dataset:
        """Open one HDU.

        Parameters
        ----------
        filename_or_obj
            A path, a URL, or any other source of `tachyfits.open`.
        drop_variables
            Name or names of variables to leave out.
        hdu
            Number, EXTNAME, or EXTNAME and EXTVER; None: the first with pixels, else the first
            table.
        storage, damaged
            As in `tachyfits.open`.
        """
        file = open_file(filename_or_obj, storage=storage, damaged=damaged)
        data = file[hdu] if hdu is not None else _first(file)
        dataset: xr.Dataset = _dataset(data).drop_vars(_names(drop_variables), errors="ignore")
        dataset.set_close(file.close)
        return dataset

    def open_groups_as_dict(
        self,
        filename_or_obj: Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        storage: str = "auto",
        damaged: str = "error",
    ) -> dict[str, xr.Dataset]:
        """Open every HDU with data, by EXTNAME ("/SCI", "/SCI_2"), or "/hdu1" without one."""
        file = open_file(filename_or_obj, storage=storage, damaged=damaged)
        groups = {"/": xr.Dataset()}
        for hdu in file:
            if not _has_data(hdu):
                continue
            name = group_name(hdu, [name[1:] for name in groups])
            out = _names(drop_variables)
            groups[f"/{name}"] = _dataset(hdu).drop_vars(out, errors="ignore")
        groups["/"].set_close(file.close)
        return groups

    def open_datatree(
        self,
        filename_or_obj: Any,
        *,
        drop_variables: str | Iterable[str] | None = None,
        storage: str = "auto",
        damaged: str = "error",
    ) -> xr.DataTree:
        """Open every HDU with data as a node of a tree; names as of `open_groups_as_dict`."""
        groups = self.open_groups_as_dict(
            filename_or_obj, drop_variables=drop_variables, storage=storage, damaged=damaged
        )
        tree: xr.DataTree = xr.DataTree.from_dict(groups)
        tree.set_close(groups["/"]._close)
        return tree


def _names(variables: str | Iterable[str] | None) -> list[str]:
    return [variables] if isinstance(variables, str) else list(variables or ())


def _has_data(hdu: Hdu) -> bool:
    return bool(hdu.size) if isinstance(hdu, ImageHdu) else hdu._data_kind == "table"


def _first(file: File) -> Any:
    """Return the first HDU with pixels, else the first table."""
    hdus = [hdu for hdu in file if _has_data(hdu)]
    if not hdus:
        raise usage(f"{file.name}: no HDU has data", "print(file) lists the HDUs")
    return next((hdu for hdu in hdus if isinstance(hdu, ImageHdu)), hdus[0])


def _dataset(hdu: Any) -> xr.Dataset:
    if not isinstance(hdu, ImageHdu):
        return _of_table(hdu)
    array = data_array(cast("Image", hdu))
    return array.to_dataset(name=(hdu._hdu().extname or "").strip() or "data")


def _of_table(table: Table) -> xr.Dataset:
    """Return the columns of a table; cells that are arrays have their own axes."""
    variables = {}
    ragged = [column.key for column in table.columns if column.is_variable or column.delimiter]
    if ragged:
        warn(
            f"{table._where()}: columns whose cells have different lengths are left out: "
            f"{', '.join(ragged)}\nhint: read them by tachyfits.open"
        )
    for column in table.columns:
        if column.key in ragged:
            continue
        axes = ["row", *(f"{column.key}_{n}" for n in range(1, len(column.shape) + 1))]
        texts = {"units": column.unit, "description": column.description}
        attributes = {name: text for name, text in texts.items() if text}
        variables[column.key] = xr.Variable(axes, lazy_column(table, column.key), attributes)
    return xr.Dataset(variables)


@xr.register_dataarray_accessor("tachyfits")  # type: ignore[no-untyped-call]
class Accessor:
    """``array.tachyfits``: an xarray array as an image."""

    def __init__(self, array: xr.DataArray) -> None:
        self._array = array

    def image(self) -> Image:
        """Return the image in memory; see `Image.from_xarray`."""
        return image_of_data_array(self._array)

    def write(self, path: str | os.PathLike[str], **options: Any) -> None:
        """Write a FITS file with the header; options as of `tachyfits.write`."""
        self.image().write(path, **options)
