"""Conversion of astropy-regions shapes (package ``regions``), and masks in FITS files."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tachyfits.base.errors import foreign_errors, usage, warn
from tachyfits.header.alignment import Grid
from tachyfits.text.regions import (
    Box,
    Circle,
    CompoundRegion,
    Ellipse,
    Line,
    Parts,
    Point,
    Polygon,
    Region,
    annulus,
    labelled,
)
from tachyfits.text.sky_regions import SkyRegion

#: Alternatives to shapes without pixels.
AREAS_HINT = "use circles, ellipses, boxes, annuli, polygons and points"


def parts_of_astropy(shapes: Iterable[Any]) -> Parts:
    """Return shapes of the package ``regions`` in the order in which they apply.

    Texts and annotations are ignored. In DS9 an excluded shape overrides all later shapes; CASA
    shapes, which have a type, apply in order.
    """
    items = [*shapes]
    areas = [shape for shape in items if not _is_annotation(shape)]
    if len(areas) < len(items):
        texts = len(items) - len(areas)
        warn(f"{texts} of {len(items)} regions are text, which has no pixels")
    parts = [(_is_included(shape), region_of_astropy(shape)) for shape in areas]
    if not any("type" in getattr(shape, "meta", {}) for shape in areas):
        parts.sort(key=lambda part: not part[0])
    return parts


def _is_annotation(shape: Any) -> bool:
    is_text = type(shape).__name__.startswith("Text")
    return is_text or getattr(shape, "meta", {}).get("type") == "ann"


def _is_included(shape: Any) -> bool:
    value = getattr(shape, "meta", {}).get("include", True)
    return value not in (False, "-", "!")


def region_of_astropy(shape: Any) -> Region:
    """Convert a region of the package ``regions``.

    Raises
    ------
    UsageError
        The region has no pixels, such as text, or is of an unsupported kind.
    """
    name = type(shape).__name__
    if "Compound" in name:
        return _compound(shape)
    reader = _SHAPES.get(name)
    if reader is None:
        raise usage(f"invalid region of type {name}: expected an area", AREAS_HINT)
    with foreign_errors(f"invalid region {name}", AREAS_HINT):
        meta = getattr(shape, "meta", {})
        label = str(meta.get("text") or meta.get("label") or "")
        return labelled(reader(shape), label, _color_of(shape))


def _color_of(shape: Any) -> str:
    """Return the colour of a shape; "" without one, or if it is neither a name nor #rrggbb."""
    visual = getattr(shape, "visual", {})
    color = str(visual.get("color") or visual.get("edgecolor") or "")
    return color if re.fullmatch(r"#[0-9a-fA-F]{3,8}|[A-Za-z]{1,20}", color) else ""


def _compound(shape: Any) -> Region:
    """Return a combination; ``a | b | c`` nests on its left, without a limit on the depth."""
    spine = []
    while "Compound" in type(shape).__name__:
        spine.append(shape)
        shape = shape.region1
    result = region_of_astropy(shape)
    for each in reversed(spine):
        try:
            operand = region_of_astropy(each.region2)
        except RecursionError as error:
            raise usage("regions nested too deep", "combine them from the first on") from error
        result = _combined(result, operand, getattr(each.operator, "__name__", ""))
    return result


def _combined(one: Region, other: Region, operator: str) -> Region:
    if operator == "or_":
        return CompoundRegion(((True, one), (True, other)))
    without = CompoundRegion(((True, one), (False, other)))
    if operator == "xor":
        return CompoundRegion(((True, without), (True, annulus(one, other))))
    if operator == "and_":
        return CompoundRegion(((True, one), (False, without)))
    raise usage(
        f"invalid operator {operator!r} of regions: expected or, and or xor",
        "combine them by |, & or ^",
    )


def _centre(s: Any) -> tuple[float, float]:
    return float(s.center.x), float(s.center.y)


def _deg(angle: Any) -> float:
    return float(angle.to_value("deg"))


def _circle(s: Any) -> Region:
    return Circle(*_centre(s), float(s.radius))


def _ellipse(s: Any) -> Region:
    return Ellipse(*_centre(s), float(s.width / 2), float(s.height / 2), _deg(s.angle))


def _box(s: Any) -> Region:
    return Box(*_centre(s), float(s.width), float(s.height), _deg(s.angle))


def _pairs(s: Any) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in zip(s.vertices.x, s.vertices.y, strict=True)]


def _ring(make: Callable[..., Region]) -> Callable[[Any], Region]:
    """Return the converter of a ring of two ellipses or boxes; ``make`` builds the ring."""

    def read(s: Any) -> Region:
        centre = (s.center.x, s.center.y) if hasattr(s.center, "x") else (s.center,)
        inner, outer = (
            make(*centre, getattr(s, f"{side}_width"), getattr(s, f"{side}_height"), s.angle)
            for side in ("inner", "outer")
        )
        return annulus(inner, outer)

    return read


def _range(s: Any) -> Region:
    longitudes, latitudes = s.longitude_range, s.latitude_range
    if longitudes is None and latitudes is None:
        raise usage("a range that was transformed to another frame", "give it in its own frame")
    west, east = (0.0, 360.0) if longitudes is None else longitudes
    south, north = (-90.0, 90.0) if latitudes is None else latitudes
    frame = s.frame.name
    if latitudes is None or south <= north:
        return SkyRegion.range((west, east), (south, north), frame=frame)
    # The range covers both poles, and not the part between them.
    return CompoundRegion(
        tuple(
            (True, SkyRegion.range((west, east), pair, frame=frame))
            for pair in ((-90.0, north), (south, 90.0))
        )
    )


_SHAPES: dict[str, Callable[[Any], Region]] = {
    "CirclePixelRegion": _circle,
    "EllipsePixelRegion": _ellipse,
    "RectanglePixelRegion": _box,
    "PolygonPixelRegion": lambda s: Polygon(_pairs(s)),
    "RegularPolygonPixelRegion": lambda s: Polygon(_pairs(s)),
    "PointPixelRegion": lambda s: Point(*_centre(s)),
    "LinePixelRegion": lambda s: Line(((s.start.x, s.start.y), (s.end.x, s.end.y))),
    "CircleAnnulusPixelRegion": lambda s: annulus(
        Circle(*_centre(s), float(s.inner_radius)), Circle(*_centre(s), float(s.outer_radius))
    ),
    "EllipseAnnulusPixelRegion": _ring(lambda x, y, w, h, a: Ellipse(x, y, w / 2, h / 2, _deg(a))),
    "RectangleAnnulusPixelRegion": _ring(lambda x, y, w, h, a: Box(x, y, w, h, _deg(a))),
    "CircleSkyRegion": lambda s: SkyRegion.circle(s.center, s.radius),
    "CircleSphericalSkyRegion": lambda s: SkyRegion.circle(s.center, s.radius),
    "EllipseSkyRegion": lambda s: SkyRegion.ellipse(s.center, s.width / 2, s.height / 2, s.angle),
    "RectangleSkyRegion": lambda s: SkyRegion.box(s.center, s.width, s.height, s.angle),
    "PolygonSkyRegion": lambda s: SkyRegion.polygon(s.vertices),
    "PolygonSphericalSkyRegion": lambda s: SkyRegion.polygon(s.vertices),
    "RangeSphericalSkyRegion": _range,
    "LineSkyRegion": lambda s: SkyRegion.line([s.start, s.end]),
    "PointSkyRegion": lambda s: SkyRegion.point(s.center),
    "CircleAnnulusSkyRegion": lambda s: SkyRegion.annulus(s.center, s.inner_radius, s.outer_radius),
    "CircleAnnulusSphericalSkyRegion": lambda s: SkyRegion.annulus(
        s.center, s.inner_radius, s.outer_radius
    ),
    "EllipseAnnulusSkyRegion": _ring(lambda c, w, h, a: SkyRegion.ellipse(c, w / 2, h / 2, a)),
    "RectangleAnnulusSkyRegion": _ring(lambda c, w, h, a: SkyRegion.box(c, w, h, a)),
}


def mask_of_file(path: str) -> tuple[NDArray[np.bool_], Grid]:
    """Return a mask of the pixels of a FITS file's first image that are nonzero and defined.

    Also return the positions of the pixels.
    """
    from tachyfits.file.file import open as open_file

    with open_file(path) as file:
        hdus: Iterable[Any] = (hdu for hdu in file if getattr(hdu, "size", 0))
        image = next(iter(hdus), None)
        if image is None:
            raise usage(f"{path}: no HDU has pixels", "give a mask as an image")
        shape = tuple(length for length in image.shape if length != 1)
        plane = tuple(image.shape[-2:])
        if len(shape) > 2 or len(plane) < 2:
            raise usage(
                f"{path}: invalid mask of shape {image.shape}: expected one plane",
                "give a mask with a pixel for each pixel of a plane",
            )
        pixels = np.asarray(image.read()).reshape(plane)
        grid: Grid = image._grid()
    return np.ascontiguousarray((pixels != 0) & (pixels == pixels)), grid
