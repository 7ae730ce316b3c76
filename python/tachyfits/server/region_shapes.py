"""Region shapes: convert regions of files and clients to text in pixels.

Text is never a file name here: only `text.region_text` and the parsers of astropy-regions read it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

import tachyfits as tf
from tachyfits import (
    Box,
    Circle,
    CompoundRegion,
    Ellipse,
    Line,
    PixelRegion,
    Point,
    Polygon,
    Region,
    SkyRegion,
)
from tachyfits.base import foreign_errors, needed
from tachyfits.image import border_of, in_pixels
from tachyfits.interop import parts_of_text, region_of_astropy
from tachyfits.server.errors import RequestError, TooLarge
from tachyfits.text import (
    OWN_FRAME,
    annulus,
    is_file_text,
    numbers_of,
    parse_region,
    ring_of,
    union_of,
)

#: Maximum number of shapes in a file.
MOST_SHAPES = 5000

#: Maximum length of a line and of its properties: parsers search them many times.
_LONGEST_LINE, _LONGEST_COMMENT = 30_000, 2000


#: Unsupported shapes of DS9; annotations appear in comments.
_UNREAD = re.compile(
    r"(?:^|[;\n])[ #+!-]{0,9}"
    r"((?:|b|e)panda|vector|projection|ruler|compass|text) ?\(",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Shape:
    """A shape of a file.

    Attributes
    ----------
    text
        Text in pixels from 1, in the syntax of the parameter ``region``.
    excluded
        Whether the pixels of the shape are excluded.
    outline
        Points along the border, pixels from 1; NaN separates the two borders of a ring.
    label, color
        The text beside the shape and its colour; "" if there is none.
    """

    text: str
    excluded: bool
    outline: NDArray[np.float64]
    label: str = ""
    color: str = ""


def shapes_of(image: tf.Image, text: str) -> list[Shape]:
    """Parse the text of a region file into shapes in the pixels of an image.

    Shapes on the sky are converted by the scale and the angle of the sky at their centre.
    """
    region = (
        union_of(parts_of_text(_short_lines(text), lines_too=True))
        if is_file_text(text)
        else parse_region(text)
    )
    return shapes_in(image, region)


def shapes_in(image: tf.Image, region: Region) -> list[Shape]:
    """Return the shapes of a region, in the pixels of an image."""
    parts = list(parts_of(region, excluded=False))
    if len(parts) > MOST_SHAPES:
        raise TooLarge(f"a region file of more than {MOST_SHAPES} shapes")
    return [shape for excluded, part in parts for shape in _on(image, part, excluded=excluded)]


def _on(image: tf.Image, part: Region, *, excluded: bool) -> Iterator[Shape]:
    """Yield the shapes of a part; a ring is a single shape if both borders have a pixel form."""
    if isinstance(part, CompoundRegion):
        (_, outer), (_, inner) = part.parts
        ring = _ring_in_pixels(image, outer, inner)
        if ring is not None:
            lines = [_border(image, outer), np.full((1, 2), np.nan), _border(image, inner)]
            outline = np.concatenate(lines)
            yield Shape(text_of(ring), excluded, outline, part.label, part.color)
            return
        yield from _on(image, outer, excluded=excluded)
        yield from _on(image, inner, excluded=not excluded)
        return
    border = _border(image, part)
    shape = _in_pixels(image, part)
    if shape is None:
        corners = border[np.isfinite(border).all(axis=1)]
        if len(corners) < 3:
            return
        shape = Polygon([(x, y) for x, y in (corners - 1).tolist()])
    yield Shape(text_of(shape), excluded, border, part.label, part.color)


def _ring_in_pixels(image: tf.Image, outer: Region, inner: Region) -> CompoundRegion | None:
    """Convert a ring to pixels; None if a border has no such shape in pixels."""
    border = _in_pixels(image, outer)
    if isinstance(outer, SkyRegion) and isinstance(inner, SkyRegion):
        # Both borders share the scale and the angle at their common centre.
        shares = [small / large for small, large in zip(inner.sizes, outer.sizes, strict=True)]
        if isinstance(border, Circle):
            return annulus(replace(border, radius=border.radius * shares[0]), border)
        if isinstance(border, Ellipse):
            semi = {"semi_x": border.semi_x * shares[0], "semi_y": border.semi_y * shares[1]}
            return annulus(replace(border, **semi), border)
        return None
    hole = _in_pixels(image, inner)
    if border is None or hole is None:
        return None
    ring = annulus(hole, border)
    return ring if ring_of(ring) is not None else None


def _border(image: tf.Image, part: Region) -> NDArray[np.float64]:
    """Return points along the border of a shape, pixels from 1."""
    return np.round(border_of(image, part) + 1, 3)


def _in_pixels(image: tf.Image, part: Region) -> PixelRegion | None:
    return _near(image, part) if isinstance(part, SkyRegion) else in_pixels(image, part)


def left_out(text: str) -> list[str]:
    r"""Return the names of the unsupported shapes in a file of DS9.

    >>> left_out("image; circle(5,5,2); panda(9,9,0,90,1,2,3,1)\n# ruler(1,2,3,4)")
    ['panda', 'ruler']
    """
    return list(dict.fromkeys(name.lower() for name in _UNREAD.findall(text)))


def _short_lines(text: str) -> str:
    """Collapse the blanks of a file, and check the lengths of its lines.

    Raises
    ------
    TooLarge
        A line is longer than a polygon of some thousand vertices.
    """
    short = re.sub(r"[ \t]+", " ", text)
    for number, line in enumerate(short.splitlines(), 1):
        words = line.partition("#")[2] if line.lstrip()[:6].lower() != "global" else line
        if len(line) > _LONGEST_LINE or len(words) > _LONGEST_COMMENT:
            raise TooLarge(
                f"line {number} of the region file: expected at most {_LONGEST_LINE} characters, "
                f"and {_LONGEST_COMMENT} of properties"
            )
    return short


def parts_of(region: Region, *, excluded: bool) -> Iterator[tuple[bool, Region]]:
    """Yield (excluded, shape) for each shape of a region; a ring is one shape."""
    if isinstance(region, CompoundRegion) and not _is_ring(region):
        parts = region.parts
        first = CompoundRegion(parts[:2])
        if _is_ring(first):
            # CompoundRegion flattens a combination at its beginning: restore the ring.
            parts = ((True, first), *parts[2:])
        for added, part in parts:
            yield from parts_of(part, excluded=excluded != (not added))
    else:
        yield excluded, region


def _is_ring(region: CompoundRegion) -> bool:
    """Return whether a region is a shape minus a smaller one of the same kind and centre."""
    if [added for added, _ in region.parts] != [True, False]:
        return False
    (_, outer), (_, inner) = region.parts
    if isinstance(outer, SkyRegion) and isinstance(inner, SkyRegion):
        keys = ("shape", "points", "frame", "angle")
        return all(getattr(outer, name) == getattr(inner, name) for name in keys)
    return ring_of(region) is not None


def _near(image: tf.Image, region: SkyRegion) -> PixelRegion | None:
    """Convert a shape on the sky to a similar one in pixels; None if there is none."""
    if region.shape == "point":
        return in_pixels(image, region)
    sky = image.coordinates.sky
    if region.shape == "range" or sky is None:
        return None
    regions = needed("regions", "shapes on the sky in pixels", extra="regions")
    from astropy import units as u
    from astropy.coordinates import SkyCoord

    with foreign_errors(f"{region} has no shape in pixels", "give it in pixels"):
        frame = sky.astropy_frame if region.frame == OWN_FRAME else region.frame
        positions = SkyCoord(region.points, unit="deg", frame=frame)
        if region.shape in ("polygon", "line"):
            corners = np.column_stack(sky.pixels_of(positions)).tolist()
            if not np.isfinite(corners).all():
                return None
            return (
                Polygon(corners) if region.shape == "polygon" else Line(tuple(map(tuple, corners)))
            )
        centre = positions[0]
        first, second = (size * u.deg for size in region.sizes)
        if region.is_circle:
            shape = regions.CircleSkyRegion(centre, first)
        elif region.shape == "ellipse":
            angle = region.angle * u.deg
            shape = regions.EllipseSkyRegion(centre, 2 * first, 2 * second, angle)
        else:
            shape = regions.RectangleSkyRegion(centre, first, second, region.angle * u.deg)
        result = region_of_astropy(shape.to_pixel(sky.wcs))
    assert isinstance(result, PixelRegion)
    return result


def text_of(region: Region) -> str:
    """Return a shape or a ring as text, in pixels from 1, with all digits.

    >>> text_of(Circle(9, 4, 2.5)), text_of(Polygon([(0, 0), (2, 0), (2, 2)]))
    ('circle(10.0,5.0,2.5)', 'polygon(1.0,1.0,3.0,1.0,3.0,3.0)')
    >>> text_of(annulus(Ellipse(9, 4, 2, 1, 30), Ellipse(9, 4, 4, 3, 30)))
    'ellipse(10.0,5.0,2.0,1.0,4.0,3.0,30.0)'
    """
    ring = ring_of(region)
    if ring is not None:
        inner, outer = (
            list(map(float, numbers_of(shape)))
            for shape in ring
            if isinstance(shape, (Circle, Ellipse))
        )
        numbers = [inner[0] + 1, inner[1] + 1, *inner[2:4], *outer[2:4], *inner[4:]]
        name = "annulus" if isinstance(ring[0], Circle) else "ellipse"
        return f"{name}({','.join(map(repr, numbers))})"
    if isinstance(region, (Polygon, Line)):
        numbers = [float(at) + 1 for vertex in region.vertices for at in vertex]
    elif isinstance(region, (Box, Circle, Ellipse, Point)):
        x, y, *sizes = numbers_of(region)
        numbers = [float(x) + 1, float(y) + 1, *map(float, sizes)]
    else:
        raise RequestError("the region has no text in pixels")
    return f"{type(region).__name__.lower()}({','.join(map(repr, numbers))})"
