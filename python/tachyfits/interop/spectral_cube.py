"""Conversion of cubes and projections of spectral-cube, which is imported on demand."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from tachyfits.base.errors import either, foreign_errors, warn
from tachyfits.base.optional import needed
from tachyfits.file.file import open as open_file
from tachyfits.header.beam_table import beam_rows
from tachyfits.header.cards import Header
from tachyfits.header.given import given_cards
from tachyfits.interop.dask_arrays import dask_array
from tachyfits.interop.lazy_array import physical_header
from tachyfits.results.measured import with_unit
from tachyfits.results.plane import Plane
from tachyfits.text.pixel_units import pixel_unit
from tachyfits.text.units import text_of_unit

if TYPE_CHECKING:
    import spectral_cube

    from tachyfits.image.image import Image


def spectral_cube_of(image: Image) -> spectral_cube.SpectralCube:
    """Return a spectral-cube cube on dask, whose pixels the engine reads when they are needed.

    Axes are ordered and polarisations separated as spectral-cube does with a file; beams of
    channels are included.
    """
    library = needed("spectral_cube", "a cube of spectral-cube")
    from astropy.io import fits

    header = with_unit(physical_header(image), _unit_of(image))
    hdus = fits.HDUList([fits.PrimaryHDU(dask_array(image), header=header.to_astropy())])
    if image.beams is not None:
        hdus.append(_beams_table(image))
    with warnings.catch_warnings():
        # Silence notes on the header: this package runs its own checks.
        warnings.simplefilter("ignore")
        with foreign_errors(
            f"{image._where()}: spectral-cube cannot read the header",
            either("correct the card, or use image.to_xarray()", "correct the card"),
        ):
            cube: spectral_cube.SpectralCube = library.SpectralCube.read(hdus, use_dask=True)
    return cube


def _unit_of(image: Image) -> str | None:
    """Return the unit of an image in astropy's format; None, with a warning, if unknown."""
    if not image.unit:
        return None
    unit = pixel_unit(image.unit)
    if unit is None:
        warn(
            f"{image._where()}: the cube has no unit: {image.unit!r} (BUNIT) is unknown\n"
            "hint: correct BUNIT"
        )
        return None
    # Units without a name in the Standard have one in astropy.
    return text_of_unit(unit)


def _beams_table(image: Image) -> Any:
    from astropy.io import fits

    rows = beam_rows(image) or []
    columns = [
        fits.Column(name, form, unit=unit, array=np.array([row[place] or 0 for row in rows]))
        for name, form, unit, place in (
            ("BMAJ", "D", "deg", 2), ("BMIN", "D", "deg", 3), ("BPA", "D", "deg", 4),
            ("CHAN", "J", None, 0), ("POL", "J", None, 1),
        )
    ]  # fmt: skip
    return fits.BinTableHDU.from_columns(columns, name="BEAMS")


def image_of_cube(cube: Any) -> Image:
    """Return a spectral-cube cube as an image in memory; computes the whole cube."""
    from astropy.io import fits

    stream = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        hdus = fits.HDUList(cube.hdulist)
        # astropy writes dask arrays to named files only.
        hdus[0].data = np.asarray(hdus[0].data)
        hdus.writeto(stream)
    image: Image = open_file(stream.getvalue())[0]
    return image


def projection_of(plane: Plane) -> spectral_cube.Projection:
    """Return a spectral-cube projection: values, unit, coordinates and beam."""
    library = needed("spectral_cube", "a projection of spectral-cube")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        projection: spectral_cube.Projection = library.Projection(
            plane.quantity,
            wcs=plane.wcs,
            header=plane.header.to_astropy(),
            read_beam="BMAJ" in plane.header,
            meta={"BUNIT": plane.unit or ""},
        )
    return projection


def plane_of_projection(projection: Any) -> Plane:
    """Return a spectral-cube projection or slice as a `Plane`."""
    unit = text_of_unit(projection.unit)
    cards = given_cards(projection.header)
    header = Header([card for card in cards if not card[0].startswith("NAXIS")])
    header = with_unit(header, unit)
    return Plane(np.array(projection.value, dtype=np.float64), unit, header, "projection")
