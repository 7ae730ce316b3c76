"""tachyfits: FITS images, cubes and tables, decoded inside the loop that consumes them.

Axis order in Python is NumPy's (reversed FITS): a cube has shape (z, y, x), and an axis is a NumPy
index or a FITS letter ("x" is NAXIS1). Pixel coordinates are 0-based, integers are pixel centres.

>>> import tachyfits as tf
>>> with tf.open("cube.fits") as file:
...     cube = file[0]
...     print(cube.shape, cube.dtype, cube.unit)
...     print(cube[1:, 2, ::-1].shape, cube.mean())
(3, 4, 5) float32 Jy/beam
(2, 5) 29.5
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from tachyfits.base.upper import upper

if TYPE_CHECKING:
    from tachyfits import distributed, fortran, info, zarr
    from tachyfits._core import (
        CancelToken,
        Checksum,
        Executor,
        Finding,
        FormatError,
        Histogram,
        IoError,
        IoExistsError,
        IoIsADirectoryError,
        IoNotADirectoryError,
        IoNotFoundError,
        IoPermissionError,
        LimitError,
        Report,
        Request,
        Stats,
        TachyfitsError,
        TachyfitsWarning,
        UsageError,
        __version__,
    )
    from tachyfits.base.errors import UsageKeyError
    from tachyfits.base.options import options
    from tachyfits.base.reports import reports
    from tachyfits.checks.diff import FileDifference, diff
    from tachyfits.checks.verify import Fix, Verification, repair, update_checksums, verify
    from tachyfits.editing.edited_hdu import EditedHdu
    from tachyfits.editing.edited_header import EditedHeader
    from tachyfits.editing.editor import Editor, edit
    from tachyfits.file.file import File, open  # noqa: A004 - tf.open is the name people expect
    from tachyfits.file.hdu import CompressedTiles, Hdu
    from tachyfits.file.remote import RemoteEntry, remote_entries, remote_entry
    from tachyfits.header.beam import Beam, Beams
    from tachyfits.header.cards import Card, Cards, Header
    from tachyfits.header.image_coordinates import ImageCoordinates
    from tachyfits.header.sky_frames import HeaderFrame
    from tachyfits.header.summary import CoordinateSummary
    from tachyfits.image.expressions import along, evaluate
    from tachyfits.image.image import Image
    from tachyfits.image.selection import Selection
    from tachyfits.plot import figure
    from tachyfits.results.aperture import Photometry
    from tachyfits.results.fits import (
        BaselineFits,
        Gaussian,
        GaussianFits,
        GaussianMaps,
        SpectrumFit,
    )
    from tachyfits.results.plane import Plane
    from tachyfits.results.spectrum import Spectrum
    from tachyfits.table.columns import Columns, TableColumn
    from tachyfits.table.ragged import Ragged
    from tachyfits.table.table import Table
    from tachyfits.text.axes import WorldAxis
    from tachyfits.text.region_input import region, regions
    from tachyfits.text.regions import (
        Box,
        Circle,
        CompoundRegion,
        Ellipse,
        Line,
        PixelRegion,
        Point,
        Polygon,
        Region,
    )
    from tachyfits.text.sky_regions import SkyRegion
    from tachyfits.text.spectral_ranges import SpectralRange
    from tachyfits.writing.compression import Codec, Compression, codecs
    from tachyfits.writing.write import write

__all__ = [
    "BaselineFits",
    "Beam",
    "Beams",
    "Box",
    "CancelToken",
    "Card",
    "Cards",
    "Checksum",
    "Circle",
    "Codec",
    "Columns",
    "CompoundRegion",
    "CompressedTiles",
    "Compression",
    "CoordinateSummary",
    "EditedHdu",
    "EditedHeader",
    "Editor",
    "Ellipse",
    "Executor",
    "File",
    "FileDifference",
    "Finding",
    "Fix",
    "FormatError",
    "Gaussian",
    "GaussianFits",
    "GaussianMaps",
    "Hdu",
    "Header",
    "HeaderFrame",
    "Histogram",
    "Image",
    "ImageCoordinates",
    "IoError",
    "IoExistsError",
    "IoIsADirectoryError",
    "IoNotADirectoryError",
    "IoNotFoundError",
    "IoPermissionError",
    "LimitError",
    "Line",
    "Photometry",
    "PixelRegion",
    "Plane",
    "Point",
    "Polygon",
    "Ragged",
    "Region",
    "RemoteEntry",
    "Report",
    "Request",
    "Selection",
    "SkyRegion",
    "SpectralRange",
    "Spectrum",
    "SpectrumFit",
    "Stats",
    "Table",
    "TableColumn",
    "TachyfitsError",
    "TachyfitsWarning",
    "UsageError",
    "UsageKeyError",
    "Verification",
    "WorldAxis",
    "__version__",
    "along",
    "codecs",
    "diff",
    "distributed",
    "edit",
    "evaluate",
    "figure",
    "fortran",
    "info",
    "open",
    "options",
    "region",
    "regions",
    "remote_entries",
    "remote_entry",
    "repair",
    "reports",
    "update_checksums",
    "verify",
    "write",
    "zarr",
]

#: Modules and the public names that they define. A module is imported when one of its names is
#: first used, so that opening an image does not load the modules that edit tables.
_NAMES = {
    "_core": (
        "CancelToken",
        "Checksum",
        "Executor",
        "Finding",
        "FormatError",
        "Histogram",
        "IoError",
        "IoExistsError",
        "IoIsADirectoryError",
        "IoNotADirectoryError",
        "IoNotFoundError",
        "IoPermissionError",
        "LimitError",
        "Report",
        "Request",
        "Stats",
        "TachyfitsError",
        "TachyfitsWarning",
        "UsageError",
        "__version__",
    ),
    "base.errors": ("UsageKeyError",),
    "base.options": ("options",),
    "base.reports": ("reports",),
    "checks.diff": ("FileDifference", "diff"),
    "checks.verify": ("Fix", "Verification", "repair", "update_checksums", "verify"),
    "editing.editor": ("Editor", "edit"),
    "editing.edited_hdu": ("EditedHdu",),
    "editing.edited_header": ("EditedHeader",),
    "file.file": ("File", "open"),
    "file.hdu": ("CompressedTiles", "Hdu"),
    "file.remote": ("RemoteEntry", "remote_entries", "remote_entry"),
    "header.beam": ("Beam", "Beams"),
    "header.cards": ("Card", "Cards", "Header"),
    "header.image_coordinates": ("ImageCoordinates",),
    "header.sky_frames": ("HeaderFrame",),
    "header.summary": ("CoordinateSummary",),
    "image.expressions": ("along", "evaluate"),
    "image.image": ("Image",),
    "image.selection": ("Selection",),
    "results.aperture": ("Photometry",),
    "results.fits": (
        "BaselineFits",
        "Gaussian",
        "GaussianFits",
        "GaussianMaps",
        "SpectrumFit",
    ),
    "plot": ("figure",),
    "results.plane": ("Plane",),
    "results.spectrum": ("Spectrum",),
    "table.columns": ("Columns", "TableColumn"),
    "table.ragged": ("Ragged",),
    "table.table": ("Table",),
    "text.axes": ("WorldAxis",),
    "text.region_input": ("region", "regions"),
    "text.regions": (
        "Box",
        "Circle",
        "CompoundRegion",
        "Ellipse",
        "Line",
        "PixelRegion",
        "Point",
        "Polygon",
        "Region",
    ),
    "text.sky_regions": ("SkyRegion",),
    "text.spectral_ranges": ("SpectralRange",),
    "writing.compression": ("Codec", "Compression", "codecs"),
    "writing.write": ("write",),
}
_MODULES = {name: module for module, names in _NAMES.items() for name in names}

#: Functions and classes that methods of lower layers use, through `base.upper`, and their modules.
_UPPER = {
    "Image": "image.image",
    "ArrowStream": "interop.arrow_stream",
    "SpreadImage": "interop.dask_reductions",
    "Table": "table.table",
    "Verification": "checks.verify",
    "arrow_table": "interop.arrow",
    "astropy_table": "interop.astropy",
    "ccd_data": "interop.nddata",
    "columns_of": "table.columns",
    "dask_array": "interop.dask_arrays",
    "dask_frame": "interop.dask_arrays",
    "dask_token": "interop.dask_arrays",
    "data_array": "interop.xarray_backend",
    "export": "writing.export",
    "image_of_array": "image.expressions",
    "image_of_cube": "interop.spectral_cube",
    "image_of_data_array": "interop.xarray",
    "lazy_frame": "interop.polars_scan",
    "mask_of_file": "interop.regions",
    "parts_of_astropy": "interop.regions",
    "parts_of_file": "interop.region_files",
    "parts_of_text": "interop.region_files",
    "pandas_frame": "interop.pandas",
    "plane_figure": "plot",
    "plane_of": "interop.nddata",
    "plane_of_projection": "interop.spectral_cube",
    "polars_frame": "interop.polars",
    "projection_of": "interop.spectral_cube",
    "region_of_astropy": "interop.regions",
    "save_figure": "plot",
    "section_of": "image.selecting",
    "spectral_cube_of": "interop.spectral_cube",
    "spectrum_figure": "plot",
    "spectrum_of": "interop.specutils",
    "specutils_spectrum": "interop.specutils",
    "viewer": "server.notebook",
    "write": "writing.write",
    "write_columns": "writing.export",
    "write_new": "writing.sinks",
}


def _load(module: str, name: str) -> Any:
    """Import a module when a name is first used; no other function imports by name."""
    return getattr(importlib.import_module(f"tachyfits.{module}"), name)


upper.provide(lambda name: _load(_UPPER[name], name))


if not TYPE_CHECKING:  # type checkers know every name from the imports above

    def __getattr__(name: str) -> Any:
        """Import the module of a public name when the name is first used."""
        if name in ("distributed", "fortran", "info", "zarr"):
            return importlib.import_module(f"tachyfits.{name}")
        if name not in _MODULES:
            from tachyfits.base.hints import no_attribute

            message = no_attribute("tachyfits", name, known=__all__)
            message = message.replace("'tachyfits' object", "module 'tachyfits'")
            raise AttributeError(message, name=name, obj=sys.modules[__name__])
        value = globals()[name] = _load(_MODULES[name], name)
        return value


def __dir__() -> list[str]:
    return [*globals(), *(name for name in __all__ if name not in globals())]
