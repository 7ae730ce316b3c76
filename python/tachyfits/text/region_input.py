"""Regions as users give them: objects, text, files, masks, and objects of astropy.

It decides what something is; the shapes of astropy-regions and files of DS9 and CASA are read by
`interop.regions`, which is above this layer.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from tachyfits.base.boundary import public
from tachyfits.base.errors import either, usage
from tachyfits.base.lazy_numpy import np
from tachyfits.base.upper import upper
from tachyfits.text.region_text import REGION_FORMS, parse_region
from tachyfits.text.regions import MaskRegion, Region
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
        One region, also of a file with several shapes.

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
    if isinstance(given, Region):
        return given
    if isinstance(given, (str, os.PathLike)):
        return _from_text(os.fspath(given))
    if hasattr(given, "spherical"):
        return SkyRegion.point(given)
    if type(given).__module__.partition(".")[0] == "regions":
        found: Region = upper.region_of_astropy(given)
        return found
    if _is_plane(given):
        pixels = np.asarray(np.ma.filled(given, 0) if np.ma.isMaskedArray(given) else given)
        return MaskRegion(np.ascontiguousarray((pixels != 0) & (pixels == pixels)))
    raise usage(
        f"invalid region {given!r}: expected a region, text, a SkyCoord or a mask",
        either("use tf.Circle(x, y, radius), or text: ", "use ", "use ") + REGION_FORMS,
    )


def is_list_of_regions(given: Any) -> bool:
    """Say whether something is several regions, each for itself.

    >>> is_list_of_regions(["circle(1,1,1)"]), is_list_of_regions("circle(1,1,1)")
    (True, False)
    """
    if isinstance(given, (Region, str, os.PathLike)) or _is_plane(given):
        return False
    if hasattr(given, "spherical"):
        return not given.isscalar
    is_shape = type(given).__module__.partition(".")[0] == "regions" and not hasattr(
        given, "__len__"
    )
    if is_shape:
        return False
    try:
        len(given)
    except TypeError:
        return False
    return True


def _is_plane(given: Any) -> bool:
    """Say whether something is an array of two axes, or an image."""
    return getattr(given, "ndim", None) == 2 and hasattr(given, "__array__")


def _from_text(text: str) -> Region:
    ending = os.path.splitext(text.lower())[1]
    is_name = "\n" not in text
    if is_name and text.lower().endswith(_MASKS):
        return MaskRegion(upper.mask_of_file(text))
    if is_name and (ending in _FILES or ("(" not in text and os.path.exists(text))):
        found: Region = upper.region_of_file(text)
        return found
    if text.lstrip().startswith("#CRTF") or "[[" in text or "global " in text:
        crtf: Region = upper.region_of_text(text)
        return crtf
    return parse_region(text)
