"""Regions as users give them: objects, text, files, masks, and objects of astropy.

It decides what something is; the shapes of astropy-regions and files of DS9 and CASA are read by
`interop.regions` and `interop.region_files`, which are above this layer.
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

#: Forms of one region, and of several.
OneRegion: TypeAlias = "Region | str | os.PathLike[str] | NDArray[Any]"
Regions: TypeAlias = "OneRegion | Sequence[OneRegion] | None"

#: Endings of files of regions.
_FILES = (".reg", ".crtf", ".crf", ".ds9")
#: Endings of masks.
_MASKS = (".fits", ".fit", ".fts", ".fits.gz")


@public
def region(given: Any) -> Region:
    """Return a region of what describes one.

    Parameters
    ----------
    given
        A region of this package. Text: ``"circle(512,480,12)"`` in image pixels, counted from 1 as
        in DS9, or with a frame ``"icrs; circle(5:34:32, 22.01, 30arcsec)"``; several shapes
        are separated by ";", and ``-`` before one excludes it. The name of a region file of DS9 or
        CASA, or their text (these need the package ``regions``). An astropy SkyCoord: the pixel
        that has it. A region of the package ``regions``. A mask: an array of the shape of a plane,
        or the name of a FITS file with one; pixels that are not 0 (and not NaN) belong to it.

    Returns
    -------
    Region
        One region. Of a file with several shapes it has the pixels of all, with a warning;
        `tachyfits.regions` returns each.

    Raises
    ------
    UsageError
        It is none of these, or text that cannot be read.

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
        found = each_of(parts)
        if not parts:
            raise usage("an empty list of regions", f"use {REGION_FORMS}")
        if len(found) > 1:
            name = os.fspath(given) if isinstance(given, (str, os.PathLike)) else "the list"
            name = "the text" if "\n" in name else name
            warn(
                f"{name}: its {len(found)} shapes are one region here, with the pixels of all; "
                + either("tf.regions() gives each of them", "spectrum and stats take each of them")
            )
        return union_of(parts)
    return _one(given)


def regions(given: Any) -> list[Region]:
    r"""Return the regions of a file, or of a list: each shape for itself, with its label.

    Functions that take a list of regions use it, so that a file of three shapes gives three
    spectra.

    Parameters
    ----------
    given
        The name of a region file of DS9 or CASA, or its text: a region for each shape that is
        included, without the pixels of shapes that are excluded after it (in files of DS9, of all
        excluded ones). ``Region.label`` has the text beside a shape. A list of anything that
        `tachyfits.region` takes, of files among others. Anything else is one region.

    Returns
    -------
    list of Region

    Raises
    ------
    IoError
        The file does not exist.
    UsageError
        It describes no region.

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


def listed_regions(given: Any) -> tuple[list[Region], bool]:
    """Return the regions of an argument that takes several, and whether it has several.

    A file of one shape is one region.

    >>> len(listed_regions(["circle(1,1,1)"])[0]), listed_regions("circle(1,1,1)")[1]
    (1, False)
    """
    is_list = _is_list(given)
    found: list[Region] = []
    for item in given if is_list and not _is_shapes(given) else [given]:
        parts = _parts_of(item)
        found += [_one(item)] if parts is None else each_of(parts) if parts else []
    return found, is_list or len(found) > 1


def _parts_of(given: Any) -> Parts | None:
    """Return the shapes of a region file, of its text, or of a list of astropy-regions."""
    if isinstance(given, (str, os.PathLike)):
        text = os.fspath(given)
        if not isinstance(text, str):
            raise usage(f"invalid region {text!r}: expected text", f"use {REGION_FORMS}")
        if _is_file_name(text):
            parts: Parts = upper.parts_of_file(text)
            return parts
        if is_file_text(text):
            of_text: Parts = upper.parts_of_text(text)
            return of_text
        return None
    if _is_shapes(given):
        shapes: Parts = upper.parts_of_astropy(given)
        return shapes
    return None


def _one(given: Any) -> Region:
    """Return the region of anything that has no list of shapes."""
    if isinstance(given, Region):
        return given
    if isinstance(given, (str, os.PathLike)):
        text = os.fspath(given)
        if "\n" not in text and text.lower().endswith(_MASKS):
            return MaskRegion(*upper.mask_of_file(text))
        return parse_region(text)
    if hasattr(given, "spherical"):
        return SkyRegion.point(given)
    if _is_foreign(given):
        found: Region = upper.region_of_astropy(given)
        return found
    if _is_plane(given):
        with foreign_errors("invalid mask", "give an array of numbers of the shape of a plane"):
            pixels = np.asarray(np.ma.filled(given, 0) if np.ma.isMaskedArray(given) else given)
            inside = np.asarray((pixels != 0) & (pixels == pixels), dtype=np.bool_)
        grid = given._grid() if hasattr(type(given), "_grid") else None
        return MaskRegion(np.ascontiguousarray(inside), grid)
    raise usage(
        f"invalid region {given!r}: expected a region, text, a SkyCoord or a mask",
        either("use tf.Circle(x, y, radius), or text: ", "use ", "use ") + REGION_FORMS,
    )


def _is_list(given: Any) -> bool:
    """Say whether something is several regions, each for itself."""
    if isinstance(given, (Region, str, bytes, os.PathLike)) or _is_plane(given):
        return False
    if hasattr(given, "spherical"):
        return not given.isscalar
    try:
        iter(given), len(given)
    except TypeError:
        return False
    return True


def _is_foreign(given: Any) -> bool:
    """Say whether something is of the package ``regions``."""
    return type(given).__module__.partition(".")[0] == "regions"


def _is_shapes(given: Any) -> bool:
    """Say whether something is a list of shapes of the package ``regions``."""
    return _is_foreign(given) and type(given).__name__ == "Regions"


def _is_plane(given: Any) -> bool:
    """Say whether something is an array of two axes, or an image."""
    return getattr(given, "ndim", None) == 2 and hasattr(given, "__array__")


def _is_file_name(text: str) -> bool:
    """Say whether text names a file of regions, which need not exist."""
    if "\n" in text or text.lower().endswith(_MASKS):
        return False
    ending = os.path.splitext(text.lower())[1]
    return ending in _FILES or ("(" not in text and "[" not in text and os.path.exists(text))
