"""DS9 and CASA region files, parsed by astropy-regions, with the frames of these formats.

astropy-regions supports neither physical pixels, DS9's default frame, nor the frame of the image
itself, CASA's default. Therefore lines with the same frame are parsed together, and their shapes
get the frame afterwards.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

from tachyfits.base.errors import (
    either,
    foreign_errors,
    io_error,
    listed,
    memory_error,
    usage,
    warn,
)
from tachyfits.base.optional import needed
from tachyfits.interop.regions import AREAS_HINT, parts_of_astropy
from tachyfits.text.region_text import parse_region
from tachyfits.text.regions import Line, Parts, Region, labelled, like, physical
from tachyfits.text.sky_regions import SkyRegion, in_own_frame

#: Maximum number of characters of a region file, far more than people draw.
_MOST_CHARACTERS = 1 << 26

#: DS9 frames that astropy-regions supports.
_READ = ("image", "icrs", "fk5", "j2000", "fk4", "b1950", "galactic", "ecliptic")
#: DS9 frames that need more than the image has.
_REFUSED = re.compile(r"linear|amplifier|detector|tile|wcs[a-z1-9]")
#: DS9 drawings, which have no pixels inside.
_DRAWN = ("text", "vector", "ruler", "compass", "projection")
#: Lines with several segments, which astropy-regions does not parse: from DS9, and from CARTA's
#: CASA files.
_SEGMENT = re.compile(r"#?\s*segment\s*\(([^()]*)\)(.*)", re.IGNORECASE | re.DOTALL)
_POLYLINE = re.compile(
    r"\s*polyline\s*(\[\s*\[[^\]]*\](?:\s*,\s*\[[^\]]*\])*\s*\])(.*)", re.IGNORECASE
)
_LABEL = re.compile(r"""\b(?:text|label)\s*=\s*(?:\{([^{}]*)\}|"([^"]*)"|'([^']*)')""")
_COLOR = re.compile(r"""\bcolor\s*=\s*["']?(#[0-9a-fA-F]{3,8}|[A-Za-z]{1,20})\b""")
#: Parts of a line in which ";" is literal.
_QUOTED = re.compile(r"\{[^{}]*\}|(?<==)\s*(?:\"[^\"]*\"|'[^']*')")
#: Properties other than the label, whose text is in quotes.
_PROPERTY = re.compile(r"\b(?!text\b)[a-z]+\s*=\s*(?:\{[^{}]*\}|\"[^\"]*\"|'[^']*')", re.IGNORECASE)
_WORD = re.compile(r"#?\s*(?:[-+!]\s*)?([A-Za-z][A-Za-z0-9]*)")
_ANGLED = re.compile(
    r"(?P<sign>[-+]?)\s*(?P<name>box|rotbox|ellipse)(?:\s*\(|\s)(?P<numbers>[^()#]*)\)?",
    re.IGNORECASE,
)

_CASA_LINE = re.compile(r"[-+]?\s*(?P<ann>ann\s+)?(?P<name>[a-z]+)\s*(?=\[)", re.IGNORECASE)
_CASA_COORD = re.compile(r"\bcoord\s*=\s*['\"]?(\w+)", re.IGNORECASE)
_ANGULAR = re.compile(r"[\d.](?:arcsec|arcmin|deg|rad|\"|')")
_BARE = re.compile(r"(?:[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)?")


class _Piece(NamedTuple):
    """A line of a file: the frame of its shape, and text for astropy-regions."""

    frame: str
    text: str
    #: Whether it is a box on the sky, given by two corners.
    is_box: bool = False


def parts_of_file(path: str | os.PathLike[str]) -> Parts:
    """Return the shapes of a DS9 or CASA file, in the order in which they apply.

    Raises
    ------
    IoError
        The file does not exist.
    UsageError
        The package ``regions`` is missing, or the file has no readable shape.
    """
    name = os.fspath(path)
    try:
        with open(name, encoding="utf-8-sig", errors="replace") as file:
            text = file.read(_MOST_CHARACTERS + 1)
    except OSError as error:
        raise io_error(
            f"{name}: {error.strerror}", "give the name of a region file", "io-not-found",
            path=name, number=error.errno,
        ) from error  # fmt: skip
    except ValueError as error:
        raise usage(f"invalid name {name!r} of a region file", "give another one") from error
    if len(text) > _MOST_CHARACTERS:
        raise memory_error(
            f"{name}: a region file of more than {_MOST_CHARACTERS} characters",
            "use fewer shapes, or a mask: a FITS image",
        )
    return parts_of_text(text, name)


def parts_of_text(text: str, name: str = "the text", *, lines_too: bool = False) -> Parts:
    """Return the shapes of a DS9 or CASA text, in the order in which they apply.

    Parameters
    ----------
    lines_too
        Keep lines even beside shapes with pixels inside.
    """
    regions = needed("regions", "reading region files of DS9 and CASA", extra="regions")
    is_casa = text.lstrip().startswith("#CRTF") or "[[" in text
    lines = list(_casa_lines(text, name) if is_casa else _ds9_lines(text, name))
    shared = "".join(f"{line.text}\n" for line in lines if line.frame == "global")
    parts: list[tuple[bool, Region]] = []
    shapes = (line for line in lines if line.frame != "global")
    for (frame, is_box), run in groupby(shapes, key=lambda line: (line.frame, line.is_box)):
        if frame == "line":
            parts.extend((True, _line_of_text(line.text)) for line in run)
            continue
        body = "".join(f"{line.text}\n" for line in run)
        if is_casa:
            parsed = _parsed(regions, shared + body, "crtf", name)
        else:
            base_frame = frame if frame in _READ else "image" if frame == "physical" else "icrs"
            parsed = _parsed(regions, f"{shared}{base_frame}\n{body}", "ds9", name)
        place = _PLACED.get(frame, _as_it_is)
        for added, part in parts_of_astropy(parsed):
            parts.append((added, place(_between_corners(part) if is_box else part)))
    if not parts:
        raise usage(f"{name}: no shape was found in it", AREAS_HINT)
    areas = [part for part in parts if not _is_line(part[1])]
    if areas and len(areas) < len(parts) and not lines_too:
        # A file with lines only describes a path.
        count = len(parts) - len(areas)
        warn(f"{name}: lines, which have no pixels inside, are left out: {count}")
        parts = areas
    if not is_casa:
        # In DS9, excluded pixels stay excluded whatever follows; CASA applies shapes in order.
        parts.sort(key=lambda part: not part[0])
    return parts


def _line_of_text(text: str) -> Region:
    """Return a line with several segments; the text has a line for its shape, then properties."""
    shape, _, properties = text.partition("\n")
    label, color = _LABEL.search(properties), _COLOR.search(properties)
    name = next(filter(None, label.groups()), "") if label else ""
    return labelled(parse_region(shape), name, color[1] if color else "")


def _is_line(region: Region) -> bool:
    return isinstance(region, Line) or (isinstance(region, SkyRegion) and region.shape == "line")


def _between_corners(region: Region) -> Region:
    """Return a CASA box on the sky: the directions between two longitudes and two latitudes.

    astropy-regions parses it as a rectangle, as if a degree of longitude were one on the sky.
    """
    if not isinstance(region, SkyRegion) or region.shape != "box":
        return region
    ((longitude, latitude),), (width, height) = region.points, region.sizes
    if width > 180.0:
        # The shorter way between the corners crosses longitude 0.
        longitude, width = longitude + 180.0, 360.0 - width
    ends = (longitude - width / 2, longitude + width / 2)
    result = SkyRegion.range(
        ends, (latitude - height / 2, latitude + height / 2), frame=region.frame
    )
    return like(result, region)


def _as_it_is(region: Region) -> Region:
    return region


#: Functions that move shapes to frames that astropy-regions lacks.
_PLACED: dict[str, Callable[[Region], Region]] = {
    "physical": physical, "wcs": in_own_frame, "wcs0": in_own_frame, "own": in_own_frame,
}  # fmt: skip


def _parsed(regions: Any, text: str, form: str, name: str) -> list[Any]:
    """Return the shapes of a text; a warning names those that astropy-regions ignores."""
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        with foreign_errors(f"{name}: invalid region file", "save it by DS9 or CASA again"):
            shapes = [*regions.Regions.parse(text, format=form)]
    for note in dict.fromkeys(str(note.message) for note in notes):
        warn(f"{name}: {note}")
    return shapes


# DS9.


def _ds9_lines(text: str, name: str) -> Iterator[_Piece]:
    # Without a frame DS9 assumes physical pixels.
    frame, drawn, count = "physical", set[str](), 0
    for piece in _pieces(text):
        match = _WORD.match(piece)
        word = match[1].lower() if match else ""
        if piece.startswith("#") and word not in (*_DRAWN, "segment", "composite"):
            continue
        if word == "global":
            yield _Piece("global", piece)
        elif word in _READ or word in _PLACED:
            frame = word
        elif _REFUSED.fullmatch(word):
            raise usage(
                f"{name}: invalid frame {word!r}: expected {', '.join(_READ)}, physical or wcs",
                "save the file in another coordinate system by DS9",
            )
        elif word == "segment" and (match := _SEGMENT.fullmatch(piece)):
            yield _Piece("line", f"{frame}; line({match[1]})\n{match[2]}")
        elif word in _DRAWN:
            drawn.add(word)
            count += 1
        else:
            if frame in ("wcs", "wcs0") and ":" in piece.partition("#")[0]:
                raise usage(
                    f"{name}: invalid position in {piece!r}: in the frame wcs it may be hours or "
                    "degrees",
                    "write degrees",
                )
            yield _Piece(frame, _with_angle(piece))
    if count:
        warn(
            f"{name}: shapes without pixels inside are left out: {count} ({listed(sorted(drawn))})"
        )


def _with_angle(piece: str) -> str:
    """Add an angle for astropy-regions if DS9 or CIAO omitted it."""
    piece = f"-{piece[1:]}" if piece.startswith("!") else piece
    match = _ANGLED.match(piece)
    if match is None:
        return piece
    numbers = re.split(r"[\s,]+", match["numbers"].strip())
    angle = "" if len(numbers) % 2 else ",0"
    name = match["name"].lower().removeprefix("rot")
    return f"{match['sign']}{name}({','.join(numbers)}{angle}){piece[match.end() :]}"


def _pieces(text: str) -> Iterator[str]:
    """Yield the pieces between line ends and semicolons outside quoted text."""
    for line in text.splitlines():
        if line.lstrip().startswith("#"):
            yield line.strip()
            continue
        masked = _QUOTED.sub(lambda match: "_" * len(match[0]), line)
        begin = 0
        for end in [at for at, letter in enumerate(masked) if letter == ";"] + [len(line)]:
            piece = line[begin:end].strip()
            if piece:
                # astropy-regions keeps semicolons only in labels.
                yield _PROPERTY.sub(lambda match: match[0].replace(";", ","), piece)
            begin = end + 1


# CASA.


def _casa_lines(text: str, name: str) -> Iterator[_Piece]:
    shared, annotations, dropped = "", 0, set[str]()
    for line in map(str.strip, text.splitlines()):
        if not line or line.startswith("#"):
            continue
        if line.startswith("global"):
            shared = f"{shared}, {line[6:]}"
            yield _Piece("global", line)
            dropped.update(_unused(line))
            continue
        match = _CASA_LINE.match(line)
        if match is not None and (match["ann"] or match["name"].lower() == "text"):
            # Annotations are for display only in CASA.
            annotations += 1
            continue
        dropped.update(_unused(line))
        if (path := _POLYLINE.fullmatch(line)) is not None:
            yield _casa_polyline(line, path, shared, name)
            continue
        yield _casa_shape(line, match, shared, name)
    if annotations:
        warn(f"{name}: annotations, which have no pixels inside, are left out: {annotations}")
    if dropped:
        warn(
            f"{name}: {listed(sorted(dropped))} of its regions choose channels or polarisations: "
            f"they are not used; "
            + either(
                "give channels= and pol=", "give --channels and --pol", "give channels and pol"
            )
        )


def _unused(line: str) -> Iterable[str]:
    return (word for word in ("range", "corr") if re.search(rf"\b{word}\s*=", line))


def _casa_shape(line: str, match: re.Match[str] | None, shared: str, name: str) -> _Piece:
    """Return a line with the frame of its coordinates: pixels, a named frame, or the image's."""
    if match is None or match["name"].lower() == "symbol":
        return _Piece("", line)
    shape = line[match.end() : _closing(line, match.end())]
    names = [*_CASA_COORD.findall(shared), *_CASA_COORD.findall(line)]
    first = re.match(r"\[\s*\[([^\]]*)\]", shape)
    position = first[1] if first else ""
    is_pixel = "pix" in position
    sizes = shape
    if match["name"].lower() in ("rotbox", "ellipse"):
        # The last number is an angle in any frame.
        sizes = shape.rpartition(",")[0]
    if is_pixel and _ANGULAR.search(sizes):
        raise _mixed(name, line, "in pixels", "angles")
    if not is_pixel and "pix" in shape:
        raise _mixed(name, line, "on the sky", "pixels")
    if is_pixel:
        return _Piece("image", f"{line}, coord=image")
    if names and names[-1].lower() == "image":
        return _Piece("", line)
    if any(_BARE.fullmatch(number.strip()) for number in position.split(",")):
        raise usage(
            f"{name}: invalid position in {line[:100]!r}: expected numbers with units",
            "write 30deg, 12h30m00s, +12.30.00.0 or 30pix, as CASA does",
        )
    is_box = match["name"].lower() == "box"
    if names:
        return _Piece("", line, is_box)
    return _Piece("own", f"{line}, coord=ICRS", is_box)


def _casa_polyline(line: str, path: re.Match[str], shared: str, name: str) -> _Piece:
    """Return a line with several segments, in DS9 syntax."""
    pairs = re.findall(r"\[\s*([^\[\],]+?)\s*,\s*([^\[\],]+?)\s*\]", path[1])
    words = [word for pair in pairs for word in pair]
    if all(word.endswith("pix") for word in words):
        numbers = [_casa_number(word.removesuffix("pix"), line, name) + 1 for word in words]
        return _Piece("line", f"image; line({','.join(map(repr, numbers))})\n{path[2]}")
    names = [*_CASA_COORD.findall(shared), *_CASA_COORD.findall(line)]
    frame = names[-1].lower() if names else "wcs"
    degrees = [_casa_number(word.removesuffix("deg"), line, name) for word in words]
    if not all(word.endswith("deg") for word in words):
        raise usage(f"{name}: invalid position in {line[:100]!r}", "write 30deg or 30pix")
    return _Piece("line", f"{frame}; line({','.join(map(repr, degrees))})\n{path[2]}")


def _casa_number(word: str, line: str, name: str) -> float:
    if not word or not _BARE.fullmatch(word):
        raise usage(f"{name}: invalid position in {line[:100]!r}", "write 30deg or 30pix")
    return float(word)


def _mixed(name: str, line: str, centre: str, sizes: str) -> Exception:
    return usage(
        f"{name}: invalid region {line[:100]!r}: its position is {centre} and it has {sizes}",
        "give all of them in pixels (pix), or all of them as angles (deg, arcsec)",
    )


def _closing(line: str, begin: int) -> int:
    """Return the position of the bracket that closes the one at ``begin``."""
    depth = 0
    for at in range(begin, len(line)):
        depth += {"[": 1, "]": -1}.get(line[at], 0)
        if not depth:
            return at + 1
    return len(line)
