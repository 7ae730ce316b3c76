"""Regions as text: shapes in the syntax of DS9, with a frame, and positions of SODA.

``circle(512,480,12)`` is in image pixels, counted from 1 as in DS9; ``icrs; circle(5:34:32, 22.01,
30")`` is on the sky. Shapes are separated by ";" or newlines; ``-`` before a shape removes it.
astropy-regions reads files of DS9 and CASA (`interop.regions`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from tachyfits.base.errors import usage
from tachyfits.text.regions import (
    Box,
    Circle,
    Ellipse,
    Line,
    Point,
    Polygon,
    Region,
    annulus,
    check_radii,
    physical,
    union_of,
)
from tachyfits.text.sky_regions import FRAMES, OWN_FRAME, SkyRegion, frame_name
from tachyfits.text.units import ANGLE, fits_unit

#: Shapes as messages list them.
REGION_FORMS = (
    "circle(x,y,r), ellipse(x,y,a,b,angle), box(x,y,width,height,angle), annulus(x,y,r1,r2), "
    "polygon(x1,y1,x2,y2,x3,y3), point(x,y) or line(x1,y1,x2,y2)"
)

# Each blank matches in one way only, to avoid backtracking: clients may send any text.
_SHAPE = re.compile(
    r"(?P<sign>[-+!]?)\s*(?P<name>[A-Za-z]+)"
    r"(?:\s*\((?P<inside>[^()]*)\)\s*|\s+(?P<bare>[^()#\s][^()#]*))(?:#.*)?",
    re.DOTALL,
)

#: Names of units after a number, in degrees.
_UNITS = {
    "": 1.0, "d": 1.0, "deg": 1.0, "degree": 1.0, "degrees": 1.0, "r": 180 / math.pi,
    "rad": 180 / math.pi, '"': 1 / 3600, "arcsec": 1 / 3600, "''": 1 / 3600, "'": 1 / 60,
    "arcmin": 1 / 60, "mas": 1 / 3.6e6,
}  # fmt: skip

_NUMBER = r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?"
_BOUND = rf"{_NUMBER}|[-+]?inf(?:inity)?"
_WITH_UNIT = re.compile(rf"({_NUMBER})\s*([A-Za-z\"']*)")
_SEXAGESIMAL = re.compile(
    r"([-+]?)(\d+)(?::|(?P<h>[hd]))(\d+)(?::|m)(\d+(?:\.\d*)?|\.\d+)s?", re.IGNORECASE
)

#: Frames whose longitudes are right ascensions: sexagesimal values are in hours.
_EQUATORIAL = ("icrs", "fk5", "fk4")

_IMAGE, _PHYSICAL = "image", "physical"


def parse_region(text: str) -> Region:
    """Parse one or several shapes in DS9's syntax; pixels are counted from 1.

    Raises
    ------
    UsageError
        The text has no shape, or an invalid shape.

    >>> parse_region("circle(512, 480, 12)")
    Circle(x=511.0, y=479.0, radius=12.0)
    >>> parse_region("galactic; box(184.5, -5.8, 2', 1', 30)").sizes
    (0.03333333333333333, 0.016666666666666666)
    >>> [added for added, _ in parse_region("circle(9,9,5); -circle(9,9,2)").parts]
    [True, False]
    """
    frame, parts = _IMAGE, []
    # Remove properties of shapes, such as text={a; b}, which may contain any characters.
    stripped = re.sub(r"\{[^{}\n]*\}", "", text)
    pieces = [piece for line in stripped.splitlines() for piece in line.split(";") if piece.strip()]
    for piece in pieces:
        words = piece.strip()
        if words.startswith("#"):
            continue
        if words.lower() in (_IMAGE, _PHYSICAL) or words.lower() in FRAMES:
            frame = words.lower()
            continue
        match = _SHAPE.fullmatch(words)
        if match is None:
            _refuse_word(words, text)
        assert match is not None
        arguments = match["inside"] if match["inside"] is not None else match["bare"]
        if match["inside"] is None:
            if not match["name"].isupper() or frame != _IMAGE:
                raise usage(
                    f"invalid region {text!r}: expected the numbers in parentheses",
                    f"use {REGION_FORMS}; or a position of SODA: CIRCLE 83.63 22.01 0.1",
                )
            # The syntax of SODA, whose positions are in ICRS.
            parts.append((True, _soda(match["name"].lower(), arguments, text)))
        else:
            shape = _shape(match["name"].lower(), arguments, frame, text)
            parts.append((match["sign"] not in ("-", "!"), shape))
    if not parts:
        raise usage(f"invalid region {text!r}: expected a shape", f"use {REGION_FORMS}")
    # In DS9, an excluded pixel stays excluded whatever follows.
    return union_of(sorted(parts, key=lambda part: not part[0]))


#: Words that occur in region files but not in the text of a single region.
_OF_FILES = ("#CRTF", "# Region file", "[[", "global ")


def is_file_text(text: str) -> bool:
    """Return whether the text is a region file of DS9 or CASA, not a single region.

    >>> is_file_text("circle[[30deg,20deg],20arcsec]"), is_file_text("circle(30,20,5)")
    (True, False)
    """
    return any(word in text for word in _OF_FILES)


def parse_position(text: str) -> Region:
    """Parse a POS of SODA, in degrees of ICRS: CIRCLE, RANGE or POLYGON.

    >>> parse_position("CIRCLE 12 34 0.1").sizes
    (0.1, 0.1)
    """
    name, _, arguments = " ".join(text.split()).partition(" ")
    return _soda(name.lower(), arguments, text)


def _refuse_word(words: str, text: str) -> None:
    if re.fullmatch(r"[A-Za-z0-9]+", words):
        frame_name(words)
    raise usage(f"invalid region {text!r}", f"use {REGION_FORMS}, after a frame: 'icrs; ...'")


def _soda(name: str, arguments: str, text: str) -> Region:
    """Return a shape of SODA from numbers in degrees of ICRS, separated by blanks."""
    words = arguments.split()
    pattern = _BOUND if name == "range" else _NUMBER
    numbers = [float(word) for word in words if re.fullmatch(pattern, word, re.IGNORECASE)]
    if len(numbers) < len(words):
        numbers = []
    if name == "circle" and len(numbers) == 3 and numbers[2] > 0:
        return SkyRegion.circle(numbers[:2], numbers[2])
    if name == "range" and len(numbers) == 4 and numbers[2] <= numbers[3]:
        west, east, south, north = numbers
        # An infinite bound is an open end: longitudes run from 0 to 360.
        longitudes = (west if math.isfinite(west) else 0.0, east if math.isfinite(east) else 360.0)
        return SkyRegion.range(longitudes, (max(-90.0, south), min(90.0, north)))
    if name == "polygon" and len(numbers) >= 6 and len(numbers) % 2 == 0:
        return SkyRegion.polygon(list(zip(numbers[::2], numbers[1::2], strict=True)))
    raise usage(
        f"invalid position {text!r}: expected numbers of a circle, a range or a polygon",
        "use CIRCLE lon lat radius, RANGE lon1 lon2 lat1 lat2 or POLYGON lon1 lat1 lon2 lat2 ..., "
        "in degrees; or " + REGION_FORMS,
    )


def _shape(name: str, arguments: str, frame: str, text: str) -> Region:
    words = [word for word in re.split(r"\s*,\s*|\s+", arguments.strip()) if word]
    if frame in (_IMAGE, _PHYSICAL):
        region = _in_pixels(name, [_pixels(word, text) for word in words], text)
        if frame == _PHYSICAL:
            return physical(region)
        return region
    return _on_sky(name, words, frame_name(frame), text)


def _pixels(word: str, text: str) -> float:
    match = _WITH_UNIT.fullmatch(word)
    if match is None or match[2].lower() not in ("", "i", "p"):
        if _SEXAGESIMAL.fullmatch(word) or (match is not None and match[2].lower() in _UNITS):
            raise usage(
                f"invalid region {text!r}: {word!r} is an angle, and the shape is in pixels",
                "name the frame of the sky: 'icrs; circle(83.63, 22.01, 30\")'",
            )
        raise usage(
            f"invalid region {text!r}: expected pixels, with plain numbers only",
            f"use {REGION_FORMS}",
        )
    return float(match[1])


def _in_pixels(name: str, numbers: Sequence[float], text: str) -> Region:
    """Return a shape in pixels from its numbers; positions are counted from 1."""
    reader = _PIXEL_SHAPES.get(name)
    if reader is None:
        raise usage(f"invalid shape {name!r}", f"use {REGION_FORMS}")
    counts, build = reader
    if name == "ellipse" and len(numbers) in _RINGS:
        return _elliptical_ring(numbers)
    _check_count(numbers, counts, name, text)
    return build(numbers)


def _check_count(items: Sequence[object], counts: tuple[int, ...], name: str, text: str) -> None:
    if counts:
        if len(items) in counts:
            return
        expected = " or ".join(map(str, counts))
        raise usage(
            f"invalid region {text!r}: {name} has {len(items)} numbers instead of {expected}",
            f"use {REGION_FORMS}",
        )
    minimum, minimum_pairs = (6, "three") if name == "polygon" else (4, "two")
    if len(items) < minimum or len(items) % 2:
        raise usage(
            f"invalid region {text!r}: expected {minimum_pairs} or more pairs of numbers",
            f"use {REGION_FORMS}",
        )


def _pairs(numbers: Sequence[float]) -> list[tuple[float, float]]:
    return [(x - 1, y - 1) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]


def _circle(n: Sequence[float]) -> Region:
    return Circle(n[0] - 1, n[1] - 1, n[2])


def _box(n: Sequence[float]) -> Region:
    return Box(n[0] - 1, n[1] - 1, *n[2:])


def _ellipse(n: Sequence[float]) -> Region:
    return Ellipse(n[0] - 1, n[1] - 1, *n[2:])


def _ring(n: Sequence[float]) -> Region:
    check_radii(*n[2:])
    return annulus(_circle(n[:3]), _circle((*n[:2], n[3])))


def _elliptical_ring(n: Sequence[float]) -> Region:
    """Return the ring between the ellipses of the first and the second pair of semi-axes."""
    angle = n[6:7]
    return annulus(_ellipse((*n[:4], *angle)), _ellipse((*n[:2], *n[4:6], *angle)))


#: Per shape: the accepted counts of numbers (empty: any number of pairs), and its constructor.
_PIXEL_SHAPES: dict[str, tuple[tuple[int, ...], Callable[[Sequence[float]], Region]]] = {
    "circle": ((3,), _circle),
    "box": ((4, 5), _box),
    "rotbox": ((5,), _box),
    "ellipse": ((4, 5), _ellipse),
    "annulus": ((4,), _ring),
    "polygon": ((), lambda n: Polygon(_pairs(n))),
    "point": ((2,), lambda n: Point(n[0] - 1, n[1] - 1)),
    "line": ((), lambda n: Line(tuple(_pairs(n)))),
}
# DS9 writes an elliptical ring as an ellipse with two pairs of semi-axes.
_RINGS = (6, 7)


def _on_sky(name: str, words: Sequence[str], frame: str, text: str) -> Region:
    if name not in _PIXEL_SHAPES:
        raise usage(f"invalid shape {name!r}", f"use {REGION_FORMS}")
    counts = _PIXEL_SHAPES[name][0]
    if name == "ellipse" and len(words) in _RINGS:
        counts = _RINGS
    _check_count(words, counts, name, text)
    positions = len(words) if not counts else 2
    pairs = zip(words[:positions:2], words[1:positions:2], strict=True)
    points = [(_longitude(x, frame, text), _latitude(y, frame, text)) for x, y in pairs]
    sizes = [_angle(word, text) for word in words[positions:]]
    if name == "polygon":
        return SkyRegion.polygon(points, frame=frame)
    if name == "line":
        return SkyRegion.line(points, frame=frame)
    centre = points[0]
    if name == "point":
        return SkyRegion.point(centre, frame=frame)
    if name == "circle":
        return SkyRegion.circle(centre, sizes[0], frame=frame)
    if name == "annulus":
        return SkyRegion.annulus(centre, *sizes, frame=frame)
    if name == "ellipse" and len(words) in _RINGS:
        inner, outer = (
            SkyRegion.ellipse(centre, *pair, *sizes[4:], frame=frame)
            for pair in (sizes[:2], sizes[2:4])
        )
        return annulus(inner, outer)
    make = SkyRegion.ellipse if name == "ellipse" else SkyRegion.box
    return make(centre, *sizes, frame=frame)


def _longitude(word: str, frame: str, text: str) -> float:
    match = _SEXAGESIMAL.fullmatch(word)
    if match is None:
        return _angle(word, text)
    if frame == OWN_FRAME and match["h"] is None:
        raise usage(
            f"invalid region {text!r}: {word!r} may be hours or degrees in the frame {frame}",
            "write degrees, or 5h34m32.0s",
        )
    hours = (match["h"] or ("h" if frame in _EQUATORIAL else "d")).lower() == "h"
    return _sexagesimal(match) * (15.0 if hours else 1.0)


def _latitude(word: str, frame: str, text: str) -> float:
    match = _SEXAGESIMAL.fullmatch(word)
    return _angle(word, text) if match is None else _sexagesimal(match)


def _sexagesimal(match: re.Match[str]) -> float:
    sign = -1.0 if match[1] == "-" else 1.0
    return sign * (float(match[2]) + float(match[4]) / 60 + float(match[5]) / 3600)


def _angle(word: str, text: str) -> float:
    match = _WITH_UNIT.fullmatch(word)
    unit = match[2].lower() if match else ""
    parsed = fits_unit(match[2], ANGLE) if match and unit not in _UNITS else None
    if match is not None and parsed is not None and parsed.is_equivalent(ANGLE[0]):
        return float(match[1]) * float(parsed.to(ANGLE[0]))
    if match is None or unit not in _UNITS:
        if unit in ("i", "p", "pix", "pixel", "pixels"):
            raise usage(
                f"invalid region {text!r}: {word!r} is in pixels, and the shape is on the sky",
                "give its sizes as angles: 30\", 2', 0.5d",
            )
        raise usage(
            f"invalid region {text!r}: {word!r} is not an angle",
            "use degrees, 30\", 2', 1.5rad, or 5:34:32.0 and 5h34m32.0s for positions",
        )
    return float(match[1]) * _UNITS[unit]
