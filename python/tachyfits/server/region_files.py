"""Region files: write regions in pixels as files of DS9 or CASA, with names and colours.

astropy-regions writes the shapes. This module writes polylines, which astropy-regions lacks, and
corrects pixel coordinates for CASA, which astropy-regions writes with the unit degree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tachyfits import Box, Circle, Ellipse, Line, PixelRegion, Point, Polygon, Region
from tachyfits.base import foreign_errors, needed
from tachyfits.header import Sky
from tachyfits.server.errors import RequestError, TooLarge
from tachyfits.server.region_shapes import MOST_SHAPES, parts_of
from tachyfits.text import labelled, numbers_of, parse_region, ring_of

#: Decimals of numbers: the precision of float64 for degrees, more than enough for pixels.
_DECIMALS = 16

#: Properties after a shape.
_NAME = re.compile(r"text=\{([^{}]*)\}")
_COLOR = re.compile(r"color=(#[0-9a-fA-F]{3,8}|[A-Za-z]{1,20})(?:\s|$)")

#: A position in pixels of CASA, as astropy-regions writes it.
_POSITION = re.compile(r"\[(-?\d+\.\d+)deg, (-?\d+\.\d+)deg\]")

#: Names of frames in files of CASA.
_FRAMES = {"icrs": "ICRS", "fk5": "J2000", "fk4": "B1950", "galactic": "GALACTIC"}


@dataclass(frozen=True)
class _Entry:
    """A line of a file: a shape of astropy-regions, or the vertices of a line or polygon."""

    shape: Any
    path: Any
    name: str
    color: str
    word: str = "polyline"


def region_of_line(line: str) -> Region:
    """Parse a line of text into a region with its name and colour.

    >>> region = region_of_line("circle(1,2,3) # text={core} color=#58a6ff")
    >>> region.label, region.color, region
    ('core', '#58a6ff', Circle(x=0.0, y=1.0, radius=3.0))
    """
    shape, _, words = line.partition("#")
    name, color = _NAME.search(words), _COLOR.search(words)
    return labelled(parse_region(shape), name[1] if name else "", color[1] if color else "")


def file_of(lines: list[str], form: str, sky: Sky | None) -> str:
    """Return the text of a file of DS9 or CASA for regions in pixels.

    Parameters
    ----------
    lines
        Regions in pixels, one per line, optionally with ``# text={core} color=#58a6ff``.
    form
        "ds9" or "crtf".
    sky
        Write the regions on this sky; None: in pixels.
    """
    regions = needed("regions", "files of regions", extra="regions")
    if len(lines) > MOST_SHAPES:
        raise TooLarge(f"more than {MOST_SHAPES} regions")
    frame = "image" if sky is None else sky.astropy_frame.name
    if frame != "image" and frame not in _FRAMES:
        raise RequestError(
            f"files of regions ({form}) cannot be in the frame {frame}\nhint: use the system image"
        )
    entries = [entry for line in lines for entry in _entries(regions, line, form, sky)]
    write = _ds9 if form == "ds9" else _casa
    return write(regions, entries, frame)


def _entries(regions: Any, line: str, form: str, sky: Sky | None) -> Iterator[_Entry]:
    region = region_of_line(line)
    for excluded, part in parts_of(region, excluded=False):
        ring = ring_of(part)
        if ring is None and not isinstance(part, PixelRegion):
            raise RequestError(f"invalid region {line[:100]!r}: expected one in pixels")
        with foreign_errors(f"{line[:100]!r} has no place on the sky", "write it in pixels"):
            is_path = isinstance(part, Line) and len(part.vertices) > 2
            # astropy-regions takes quadratic time in the number of vertices of a CASA polygon.
            is_polygon = form == "crtf" and isinstance(part, Polygon) and not excluded
            if isinstance(part, (Line, Polygon)) and (is_path or is_polygon):
                path = np.array(part.vertices)
                if sky is not None:
                    path = np.column_stack(sky.degrees(*path.T))
                if not np.isfinite(path).all():
                    raise ValueError("a point is outside the projection")
                word = "polyline" if is_path else "poly"
                yield _Entry(None, path, region.label, region.color, word)
                continue
            shape = _foreign(regions, part) if ring is None else _foreign_ring(regions, *ring)
            if excluded:
                shape.meta["include"] = False
            shape = shape if sky is None else shape.to_sky(sky.wcs)
            yield _Entry(shape, None, region.label, region.color)


def _ds9(regions: Any, entries: Iterable[_Entry], frame: str) -> str:
    body = [frame]
    for entry in entries:
        name = re.sub(r"[{}\r\n]", " ", entry.name)
        words = [f"text={{{name}}}"] if name else []
        words += [f"color={entry.color}"] if entry.color else []
        if entry.path is not None:
            vertices = entry.path + 1 if frame == "image" else entry.path
            numbers = ",".join(repr(float(number)) for number in vertices.reshape(-1))
            body.append(f"# segment({numbers}) {' '.join(words)}".rstrip())
            continue
        text = regions.Regions([entry.shape]).serialize(format="ds9", precision=_DECIMALS)
        line = text.strip().splitlines()[-1].partition(" #")[0]
        body.append(f"{line} # {' '.join(words)}" if words else line)
    return "\n".join(["# Region file format: DS9", *body, ""])


def _casa(regions: Any, entries: Iterable[_Entry], frame: str) -> str:
    system = None if frame == "image" else _FRAMES[frame]
    # Pixels are 0-based in CASA, as in astropy-regions.
    words = "" if system is None else f", coord={system}"
    body = []
    for entry in entries:
        name = re.sub(r"['\",\r\n\[\]=]", " ", entry.name)
        properties = words + (f", color={entry.color}" if entry.color else "")
        properties += f", label='{name}'" if name else ""
        if entry.path is not None:
            unit = "pix" if system is None else "deg"
            pairs = ", ".join(f"[{x!r}{unit}, {y!r}{unit}]" for x, y in entry.path.tolist())
            body.append(f"{entry.word}[{pairs}]{properties}")
            continue
        if type(entry.shape).__name__.startswith("EllipseAnnulus"):
            raise RequestError(
                "files of CASA have no elliptical annuli\nhint: use ds9, or leave them out"
            )
        options = {"coordsys": "image" if system is None else frame, "fmt": f".{_DECIMALS}f"}
        options |= {"radunit": "pix"} if system is None else {}
        text = regions.Regions([entry.shape]).serialize(format="crtf", **options)
        shape = _up_to_bracket(text.splitlines()[-1])
        if shape.startswith("point"):
            # CASA's syntax for a point: astropy-regions parses it but does not write it.
            shape = f"symbol{shape.removeprefix('point').removesuffix(']')}, .]"
            properties = f", coord=image{properties}" if system is None else properties
        if system is None:
            shape = _POSITION.sub(r"[\1pix, \2pix]", shape)
        body.append(shape + properties)
    return "\n".join(["#CRTFv0", *body, ""])


def _up_to_bracket(line: str) -> str:
    """Remove the properties after the last bracket of a shape."""
    return line[: line.rindex("]") + 1]


def _foreign_ring(regions: Any, inner: PixelRegion, outer: PixelRegion) -> Any:
    """Convert a ring to astropy-regions."""
    from astropy import units as u

    if isinstance(inner, Circle) and isinstance(outer, Circle):
        centre = regions.PixCoord(inner.x, inner.y)
        return regions.CircleAnnulusPixelRegion(centre, inner.radius, outer.radius)
    assert isinstance(inner, Ellipse)
    assert isinstance(outer, Ellipse)
    return regions.EllipseAnnulusPixelRegion(
        regions.PixCoord(inner.x, inner.y),
        2 * inner.semi_x,
        2 * outer.semi_x,
        2 * inner.semi_y,
        2 * outer.semi_y,
        inner.angle_degrees * u.deg,
    )


def _foreign(regions: Any, region: Region) -> Any:
    """Convert a shape to astropy-regions."""
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
    if isinstance(region, Line):
        return regions.LinePixelRegion(*(at(x, y) for x, y in region.vertices))
    raise RequestError("the region has no form in files")
