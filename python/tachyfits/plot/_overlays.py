"""Things drawn over a plane: a scale bar, contours of another image, outlines of regions, marks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tachyfits import CompoundRegion, Plane, Region
from tachyfits.base import either, foreign_errors, usage
from tachyfits.image import border_of
from tachyfits.plot._marks import Catalogue, Vectors, image_of
from tachyfits.text import ANGLE, asked_quantity, listed_regions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Round lengths of scale bars, in arcsec.
_LENGTHS = [
    mantissa * unit
    for unit, mantissas in (
        (1e-3, (1, 2, 5, 10, 20, 50, 100, 200, 500)),
        (1.0, (1, 2, 5, 10, 15, 20, 30)),
        (60.0, (1, 2, 5, 10, 15, 20, 30)),
        (3600.0, (1, 2, 5, 10, 20, 45, 90)),
    )
    for mantissa in mantissas
]

#: Colours of lines over a picture and of their borders, which together show on any colour.
_LIGHT, _DARK = "white", "black"
#: Colour of outlines of regions, which differ from contours.
_REGION = "#40d8ff"


def angle_text(arcsec: float) -> str:
    r"""Return a round angle in the unit that suits it.

    >>> angle_text(0.5), angle_text(30.0), angle_text(90.0) == "1.5\N{PRIME}", angle_text(7200.0)
    ('500 mas', '30″', True, '2°')
    """
    for least, size, unit in ((3600.0, 3600.0, "°"), (60.0, 60.0, "\N{PRIME}"), (1.0, 1.0, "″")):
        if arcsec >= least:
            return f"{arcsec / size:.4g}{unit}"
    return f"{arcsec * 1e3:.4g} mas"


def draw_scale_bar(axes: Axes, sky: Any, columns: int, length: Any) -> None:
    """Draw a bar of an angle into the lower right corner of a plane of the sky.

    ``sky``: coordinates of the plane by astropy; ``length``: as in `draw_angle`.
    """
    from astropy.wcs.utils import proj_plane_pixel_scales

    scale = float(proj_plane_pixel_scales(sky.celestial)[0]) * 3600
    draw_angle(axes, columns, scale, length)


def draw_angle(axes: Axes, columns: int, scale: float, length: Any) -> None:
    """Draw a bar of an angle into the lower right corner.

    ``scale``: arcsec along x for each of ``columns`` pixels, which fill the width. ``length``: True
    for a round angle of about a fifth of the width, or an angle, "30arcsec".

    Raises
    ------
    UsageError
        The angle is invalid, or wider than the picture.
    """
    from matplotlib.patheffects import withStroke

    if length is True:
        angle = columns * scale / 5
        arcsec = max((one for one in _LENGTHS if one <= angle), default=_LENGTHS[0])
    else:
        hint = either('give scale_bar=True or an angle: "30arcsec"', "give --scale-bar 30arcsec")
        with foreign_errors(f"invalid scale bar {length!r}", hint):
            arcsec = float(asked_quantity(length, ANGLE).to_value("arcsec"))
    pixels = arcsec / scale
    if not 0 < pixels <= columns:
        raise usage(
            f"invalid scale bar {length!r}: expected an angle of at most {columns * scale:.4g} "
            "arcsec, the width of the picture",
            "give a smaller one",
        )
    around = [withStroke(linewidth=1.8, foreground=_DARK)]
    (left, end), (low, high) = axes.get_xlim(), axes.get_ylim()
    pixel = (end - left) / columns
    right, y = left + 0.95 * (end - left), low + 0.06 * (high - low)
    axes.plot([right - pixels * pixel, right], [y, y], color=_LIGHT, linewidth=1.5,
              path_effects=around, solid_capstyle="butt", scalex=False, scaley=False)  # fmt: skip
    axes.annotate(angle_text(arcsec), (right - pixels * pixel / 2, y), (0, 2.5),
                  textcoords="offset points", color=_LIGHT, ha="center", va="bottom",
                  fontsize="small", path_effects=around)  # fmt: skip


def draw_other(axes: Any, other: Plane, levels: Sequence[float]) -> None:
    """Draw contours of another plane of the sky, where its own coordinates put them.

    ``axes``: of astropy, with sky coordinates.

    Raises
    ------
    UsageError
        The plane has no sky coordinates.
    """
    with foreign_errors("the contours' image has no sky coordinates", "give an image of the sky"):
        sky = other.wcs.celestial
        if sky.naxis != 2:
            raise ValueError("it lacks longitude and latitude")
        transform = axes.get_transform(sky)
    limits = axes.get_xlim(), axes.get_ylim()
    drawn = axes.contour(
        np.ma.masked_invalid(other.values), levels=list(levels), colors=_LIGHT, linewidths=1.0,
        transform=transform,
    )  # fmt: skip
    _outlined(drawn)
    axes.set_xlim(limits[0])
    axes.set_ylim(limits[1])


def listed_overlays(overlay: Any) -> list[Plane | Catalogue | Vectors]:
    """Return what is drawn over a plane as a list."""
    if overlay is None:
        return []
    overlays = list(overlay) if isinstance(overlay, (list, tuple)) else [overlay]
    for one in overlays:
        if not isinstance(one, (Plane, Catalogue, Vectors)):
            raise usage(
                f"invalid overlay: expected a plane, a catalogue or vectors, found "
                f"{type(one).__name__}",
                either("give image.plane(), tachyfits.plot.Catalogue(table) or a list of them"),
            )
    return overlays


def draw_regions(axes: Any, regions: Any, plane: Plane, first: tuple[float, float]) -> None:
    """Draw the borders of regions in pixels of the plane or on the sky.

    ``first``: where the axes have the centre of the first pixel.
    """
    from matplotlib.patheffects import withStroke

    image = image_of(plane)
    around = [withStroke(linewidth=2.6, foreground=_DARK, alpha=0.6)]
    for item in listed_regions(regions)[0]:
        for part in _shapes_of(item):
            border = border_of(image, part)
            closed = np.concatenate([border, border[:1]])
            axes.plot(
                closed[:, 0] + first[0], closed[:, 1] + first[1], color=_REGION, linewidth=1.3,
                path_effects=around, scalex=False, scaley=False,
            )  # fmt: skip


def _shapes_of(item: Region) -> list[Region]:
    """Return the shapes of which a region is made."""
    if isinstance(item, CompoundRegion):
        return [shape for _, part in item.parts for shape in _shapes_of(part)]
    return [item]


def _outlined(contours: Any) -> None:
    """Draw a dark line around light ones, so that they show on any colour."""
    from matplotlib.patheffects import withStroke

    contours.set_path_effects([withStroke(linewidth=2.2, foreground=_DARK, alpha=0.6)])
