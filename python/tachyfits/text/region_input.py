"""Regions as users give them: objects, text, files, masks, and objects of astropy.

This module detects the form of the input. `interop.regions` and `interop.region_files`, in a layer
above, read shapes of astropy-regions and files of DS9 and CASA.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from tachyfits.base.boundary import public
from tachyfits.base.errors import either, foreign_errors, usage, warn
from tachyfits.base.lazy_numpy import np
from tachyfits.base.upper import upper
from tachyfits.text.region_text import REGION_FORMS, is_file_text, parse_region
from tachyfits.text.regions import MaskRegion, Parts, Region, each_of, union_of
from tachyfits.text.sky_regions import SkyRegion

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Accepted types of a single region, and of one or several.
OneRegion: TypeAlias = "Region | str | os.PathLike[str] | NDArray[Any]"
Regions: TypeAlias = "OneRegion | Sequence[OneRegion] | None"

#: Suffixes of region files.
_FILES = (".reg", ".crtf", ".crf", ".ds9")
#: Suffixes of mask files.
_MASKS = (".fits", ".fit", ".fts", ".fits.gz")


@public
def region(given: Any) -> Region:
    """Return a region from an object, text, a file, a position or a mask.

    Parameters
    ----------
    given
        A region of this package. Text: ``"circle(512,480,12)"`` in image pixels, counted from 1 as
        in DS9, or with a frame ``"icrs; circle(5:34:32, 22.01, 30arcsec)"``; several shapes
        are separated by ";", and ``-`` before one excludes it. The name of a region file of DS9 or
        CASA, or their text (these need the package ``regions``). An astropy SkyCoord: the pixel
        that contains it. A region of the package ``regions``. A mask: an array of the shape of a
        plane, or the name of a FITS file with one; pixels that are neither 0 nor NaN belong to it.

    Returns
    -------
    Region
        One region. For a file with several shapes, the union of all of them, with a warning;
        `tachyfits.regions` returns each shape.

    Raises
    ------
    UsageError
        The input has another type, or its text cannot be parsed.

    Examples
    --------
    >>> import tachyfits as tf
    >>> tf.region("circle(10,5,2.5)")
    Circle(x=9.0, y=4.0, radius=2.5)
    >>> tf.region("fk5; ellipse(83.6, 22.0, 0.5, 0.25, 30)").frame
    'fk5'
    """
    parts = _parts_of(given)
    if parts is not None:
        shapes = each_of(parts)
        if not parts:
            raise usage("an empty list of regions", f"use {REGION_FORMS}")
        if len(shapes) > 1:
            name = os.fspath(given) if isinstance(given, (str, os.PathLike)) else "the list"
            name = "the text" if "\n" in name else name
            warn(
                f"{name}: its {len(shapes)} shapes are one region here, with the pixels of all; "
                + either("tf.regions() gives each of them", "spectrum and stats take each of them")
            )
        return union_of(parts)
    return _one(given)


def regions(given: Any) -> list[Region]:
    r"""Return the regions of a file or a list: one per shape, with its label.

    Functions that take a list of regions use it, so that a file of three shapes gives three
    spectra.

    Parameters
    ----------
    given
        The name of a region file of DS9 or CASA, or its text: one region per included shape,
        without the pixels of the shapes excluded after it (in DS9 files, of all excluded shapes).
        ``Region.label`` is the text beside a shape. Or a list of anything that `tachyfits.region`
        accepts, including files. Anything else is one region.

    Returns
    -------
    list of Region

    Raises
    ------
    IoError
        The file does not exist.
    UsageError
        The input does not describe a region.

    Examples
    --------
    >>> import tachyfits as tf
    >>> with open("sources.reg", "w") as file:
    ...     _ = file.write("image\ncircle(2,2,1) # text={core}\ncircle(4,3,1)\n")
    >>> [(region.label, region.x) for region in tf.regions("sources.reg")]
    [('core', 1.0), ('', 3.0)]
    >>> tf.open("cube.fits")[0].spectrum("sources.reg")[1].values
    array([13., 33., 53.])
    """
    return listed_regions(given)[0]


def listed_regions(value: Any) -> tuple[list[Region], bool]:
    """Return the regions of an argument, and whether the argument is a list.

    A file with a single shape is not a list.

    >>> len(listed_regions(["circle(1,1,1)"])[0]), listed_regions("circle(1,1,1)")[1]
    (1, False)
    """
    is_list = _is_list(value)
    result: list[Region] = []
    for item in value if is_list and not _is_shapes(value) else [value]:
        parts = _parts_of(item)
        result += [_one(item)] if parts is None else each_of(parts) if parts else []
    return result, is_list or len(result) > 1


def _parts_of(value: Any) -> Parts | None:
    """Return the shapes of a region file, of its text, or of a list of astropy-regions."""
    if isinstance(value, (str, os.PathLike)):
        text = os.fspath(value)
        if not isinstance(text, str):
            raise usage(f"invalid region {text!r}: expected text", f"use {REGION_FORMS}")
        if _is_file_name(text):
            parts: Parts = upper.parts_of_file(text)
            return parts
        if is_file_text(text):
            of_text: Parts = upper.parts_of_text(text)
            return of_text
        return None
    if _is_shapes(value):
        shapes: Parts = upper.parts_of_astropy(value)
        return shapes
    return None


def _one(value: Any) -> Region:
    """Return the region of an input that is not a list of shapes."""
    if isinstance(value, Region):
        return value
    if isinstance(value, (str, os.PathLike)):
        text = os.fspath(value)
        if "\n" not in text and text.lower().endswith(_MASKS):
            return MaskRegion(*upper.mask_of_file(text))
        return parse_region(text)
    if hasattr(value, "spherical"):
        return SkyRegion.point(value)
    if _is_foreign(value):
        shape: Region = upper.region_of_astropy(value)
        return shape
    if _is_plane(value):
        with foreign_errors("invalid mask", "give an array of numbers of the shape of a plane"):
            pixels = np.asarray(np.ma.filled(value, 0) if np.ma.isMaskedArray(value) else value)
            mask = np.asarray((pixels != 0) & (pixels == pixels), dtype=np.bool_)
        grid = value._grid() if hasattr(type(value), "_grid") else None
        return MaskRegion(np.ascontiguousarray(mask), grid)
    raise usage(
        f"invalid region {value!r}: expected a region, text, a SkyCoord or a mask",
        either("use tf.Circle(x, y, radius), or text: ", "use ", "use ") + REGION_FORMS,
    )


def _is_list(value: Any) -> bool:
    """Return whether the input is a list of regions."""
    if isinstance(value, (Region, str, bytes, os.PathLike)) or _is_plane(value):
        return False
    if hasattr(value, "spherical"):
        return not value.isscalar
    try:
        iter(value), len(value)
    except TypeError:
        return False
    return True


def _is_foreign(value: Any) -> bool:
    """Return whether the object belongs to the package ``regions``."""
    return type(value).__module__.partition(".")[0] == "regions"


def _is_shapes(value: Any) -> bool:
    """Return whether the object is a ``Regions`` list of the package ``regions``."""
    return _is_foreign(value) and type(value).__name__ == "Regions"


def _is_plane(value: Any) -> bool:
    """Return whether the object is a 2-D array or a 2-D image."""
    return getattr(value, "ndim", None) == 2 and hasattr(value, "__array__")


def _is_file_name(text: str) -> bool:
    """Return whether the text names a region file; the file need not exist."""
    if "\n" in text or text.lower().endswith(_MASKS):
        return False
    suffix = os.path.splitext(text.lower())[1]
    return suffix in _FILES or ("(" not in text and "[" not in text and os.path.exists(text))
