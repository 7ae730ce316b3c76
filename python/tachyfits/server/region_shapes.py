"""Region shapes: regions of files and clients as text in pixels, and as files of DS9 and CASA.

Text is never a file name here: `text.region_text` and the parsers of astropy-regions read it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tachyfits as tf
from tachyfits.base.errors import foreign_errors
from tachyfits.base.optional import needed
from tachyfits.header.coordinates import Sky
from tachyfits.image.chosen_regions import border_of, in_pixels
from tachyfits.interop.region_files import parts_of_text
from tachyfits.interop.regions import region_of_astropy
from tachyfits.server.errors import RequestError, TooLarge
from tachyfits.text.region_text import is_file_text, parse_region
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
    numbers_of,
    union_of,
)
from tachyfits.text.sky_regions import OWN_FRAME, SkyRegion

#: Most shapes of a file.
MOST_SHAPES = 5000


@dataclass(frozen=True)
class Shape:
    """A shape of a file.

    Attributes
    ----------
    text
        In pixels from 1, as the parameter ``region`` takes it.
    excluded
        Its pixels are left out.
    outline
        Points along its border, pixels from 1.
    label
        The text beside it; "" without any.
    """

    text: str
    excluded: bool
    outline: NDArray[np.float64]
    label: str = ""


def shapes_of(image: tf.Image, text: str) -> list[Shape]:
    """Return the shapes of the text of a region file, in the pixels of an image.

    Shapes on the sky get the scale and the angle that the sky has at their centre.
    """
    found = union_of(parts_of_text(text)) if is_file_text(text) else parse_region(text)
    parts = list(_parts(found, excluded=False))
    if len(parts) > MOST_SHAPES:
        raise TooLarge(f"a region file of more than {MOST_SHAPES} shapes")
    shapes = []
    for excluded, part in parts:
        border = border_of(image, part) + 1
        shape = _near(image, part) if isinstance(part, SkyRegion) else in_pixels(image, part)
        if shape is None:
            corners = border[np.isfinite(border).all(axis=1)]
            if len(corners) < 3:
                continue
            shape = Polygon([(x, y) for x, y in (corners - 1).tolist()])
        shapes.append(Shape(text_of(shape), excluded, np.round(border, 3), part.label))
    return shapes


def _parts(region: Region, *, excluded: bool) -> Iterator[tuple[bool, Region]]:
    if isinstance(region, CompoundRegion):
        for added, part in region.parts:
            yield from _parts(part, excluded=excluded != (not added))
    else:
        yield excluded, region


def _near(image: tf.Image, region: SkyRegion) -> PixelRegion | None:
    """Return a shape on the sky as one in pixels; None where it has none of that kind."""
    if region.shape == "point":
        return in_pixels(image, region)
    sky = image._coordinates.sky
    if region.shape == "range" or sky is None:
        return None
    regions = needed("regions", "shapes on the sky in pixels", extra="regions")
    from astropy import units as u
    from astropy.coordinates import SkyCoord

    with foreign_errors(f"{region} has no shape in pixels", "give it in pixels"):
        frame = sky.astropy_frame if region.frame == OWN_FRAME else region.frame
        places = SkyCoord(region.points, unit="deg", frame=frame)
        if region.shape in ("polygon", "line"):
            corners = np.column_stack(sky.wcs.world_to_pixel(places)).tolist()
            if not np.isfinite(corners).all():
                return None
            return (
                Polygon(corners) if region.shape == "polygon" else Line(tuple(map(tuple, corners)))
            )
        centre = places[0]
        first, second = (size * u.deg for size in region.sizes)
        if region.is_circle:
            shape = regions.CircleSkyRegion(centre, first)
        elif region.shape == "ellipse":
            angle = region.angle * u.deg
            shape = regions.EllipseSkyRegion(centre, 2 * first, 2 * second, angle)
        else:
            shape = regions.RectangleSkyRegion(centre, first, second, region.angle * u.deg)
        found = region_of_astropy(shape.to_pixel(sky.wcs))
    assert isinstance(found, PixelRegion)
    return found


def text_of(region: PixelRegion) -> str:
    """Return a shape as text, in pixels from 1, with all digits.

    >>> text_of(Circle(9, 4, 2.5)), text_of(Polygon([(0, 0), (2, 0), (2, 2)]))
    ('circle(10.0,5.0,2.5)', 'polygon(1.0,1.0,3.0,1.0,3.0,3.0)')
    """
    if isinstance(region, (Polygon, Line)):
        numbers = [float(at) + 1 for vertex in region.vertices for at in vertex]
    elif isinstance(region, (Box, Circle, Ellipse, Point)):
        x, y, *others = numbers_of(region)
        numbers = [float(x) + 1, float(y) + 1, *map(float, others)]
    else:
        raise RequestError("the region has no text in pixels")
    return f"{type(region).__name__.lower()}({','.join(map(repr, numbers))})"


def file_of(lines: list[str], form: str, sky: Sky | None) -> str:
    """Return regions in pixels as a file of DS9 or CASA.

    Parameters
    ----------
    lines
        Text of regions in pixels.
    form
        "ds9" or "crtf".
    sky
        Write them on the sky; None: in pixels.
    """
    regions = needed("regions", "files of regions", extra="regions")
    if form == "crtf" and sky is None:
        # astropy-regions writes pixels in this form that it does not read.
        raise RequestError("invalid system 'image': files of CASA are written on the sky; use sky")
    if len(lines) > MOST_SHAPES:
        raise TooLarge(f"more than {MOST_SHAPES} regions")
    found = []
    for line in lines:
        for excluded, part in _parts(parse_region(line), excluded=False):
            if not isinstance(part, PixelRegion):
                raise RequestError(f"invalid region {line[:100]!r}: expected one in pixels")
            shape = _foreign(regions, part)
            if excluded:
                shape.meta["include"] = False
            with foreign_errors(f"{line[:100]!r} has no place on the sky", "write it in pixels"):
                found.append(shape if sky is None else shape.to_sky(sky.wcs))
    frame = "image" if sky is None else sky.astropy_frame.name
    with foreign_errors(
        f"files of regions ({form}) cannot be in the frame {frame}",
        "use the format ds9 and the system image",
    ):
        text: str = regions.Regions(found).serialize(format=form)
    return text


def _foreign(regions: Any, region: PixelRegion) -> Any:
    """Return a shape as one of astropy-regions."""
    from astropy import units as u

    def at(x: float, y: float) -> Any:
        return regions.PixCoord(x, y)

    if isinstance(region, Circle):
        return regions.CirclePixelRegion(at(region.x, region.y), region.radius)
    if isinstance(region, Ellipse):
        x, y, first, second, angle = numbers_of(region)
        return regions.EllipsePixelRegion(at(x, y), 2 * first, 2 * second, angle * u.deg)
    if isinstance(region, Box):
        x, y, width, height, angle = numbers_of(region)
        return regions.RectanglePixelRegion(at(x, y), width, height, angle * u.deg)
    if isinstance(region, Polygon):
        columns, rows = zip(*region.vertices, strict=True)
        return regions.PolygonPixelRegion(regions.PixCoord(columns, rows))
    if isinstance(region, Point):
        return regions.PointPixelRegion(at(region.x, region.y))
    if isinstance(region, Line) and len(region.vertices) == 2:
        return regions.LinePixelRegion(*(at(x, y) for x, y in region.vertices))
    raise RequestError("files of regions have no lines of several sides")
