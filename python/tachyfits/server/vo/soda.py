"""SODA: which part of a dataset a request asks for.

Regions and bands are those of `text/`; the section is that of `Image.cut`. Assumptions,
such as the frame of an axis whose header names none, are noted for the HISTORY of the cutout.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tachyfits as tf
from tachyfits.base.errors import NoOverlap, usage
from tachyfits.header.spectral_frames import frame_of, frequency_factor
from tachyfits.header.spectral_selection import channel_slice, polarisations_of
from tachyfits.header.spectral_units import Line
from tachyfits.image.parts import Part, part_of
from tachyfits.server.errors import RequestError
from tachyfits.server.view import View
from tachyfits.server.view_parts import image_of_part
from tachyfits.server.vo.failures import MultiValued, NoPixels
from tachyfits.server.vo.identifiers import Found
from tachyfits.server.vo.parameters import Parameters
from tachyfits.server.vo.times import interval_of, times_of
from tachyfits.text.region_text import parse_position
from tachyfits.text.regions import Region
from tachyfits.text.spectral_ranges import SpectralRange, parse_band
from tachyfits.text.stokes import STOKES, stokes_name

#: Polarisation states of SODA; the last two are degree and angle of linear polarisation.
POLARISATIONS = (*STOKES, "POLI", "POLA")

#: Formats that RESPONSEFORMAT may name.
FORMATS = ("application/fits", "image/fits", "fits")

#: Characters of one shape, and vertices of a polygon: time grows with them and with the pixels.
LONGEST_SHAPE = 50_000
MOST_VERTICES = 1000
#: Results of one job.
MOST_RESULTS = 200

_LONGEST_RUNID = 64


@dataclass(frozen=True)
class Wanted:
    """One cutout: a dataset, and what filters it.

    ``shape``, ``band`` and ``time`` are as the client wrote them; "" is no filter.
    """

    identifier: str
    shape: str = ""
    band: str = ""
    time: str = ""
    polarisations: tuple[str, ...] = ()

    @property
    def is_whole(self) -> bool:
        """Whether nothing filters the dataset."""
        return not (self.shape or self.band or self.time or self.polarisations)

    def __str__(self) -> str:
        given = {
            "ID": self.identifier, "POS": self.shape[:200], "BAND": self.band, "TIME": self.time,
            "POL": " ".join(self.polarisations),
        }  # fmt: skip
        return ", ".join(f"{name}={value}" for name, value in given.items() if value)


def one_wanted(given: Parameters) -> Wanted:
    """Return the cutout of a synchronous request.

    Raises
    ------
    MultiValued
        A parameter other than POL has several values; CIRCLE, POLYGON and POS are one.
    RequestError
        A value is not as SODA has it.
    """
    check_common(given)
    if len(found := _shapes(given)) > 1:
        raise MultiValued(f"{len(found)} values of CIRCLE, POLYGON and POS: expected one")
    for name in ("ID", "BAND", "TIME"):
        given.single(name)
    return next(every_wanted(given))


def every_wanted(given: Parameters) -> Iterator[Wanted]:
    """Return the cutouts of a job: one for each combination of values.

    Raises
    ------
    RequestError
        A value is not as SODA has it, or the combinations are too many.
    """
    check_common(given)
    if not given.values("ID"):
        raise RequestError("ID is missing: expected the identifier of a dataset")
    bands = [band for band in given.values("BAND") if band.strip()]
    times = [time for time in given.values("TIME") if time.strip()]
    polarisations = tuple(word for word in given.values("POL") if word.strip())
    for word in polarisations:
        if word not in POLARISATIONS:
            expected = " ".join(POLARISATIONS)
            raise RequestError(f"invalid POL {word[:40]!r}: expected one of {expected}")
    shapes = _shapes(given)
    for shape in shapes:
        parse_shape(shape)
    for band in bands:
        parse_band(band)
    for time in times:
        interval_of("TIME", time)
    axes = (given.values("ID"), shapes or [""], bands or [""], times or [""])
    if (count := math.prod(map(len, axes))) > MOST_RESULTS:
        raise RequestError(f"{count} combinations of parameters: expected at most {MOST_RESULTS}")
    return (Wanted(*values, polarisations) for values in itertools.product(*axes))


def check_common(given: Parameters) -> None:
    """Check RESPONSEFORMAT and RUNID."""
    wanted = given.single("RESPONSEFORMAT")
    if wanted and wanted.partition(";")[0].strip().lower() not in FORMATS:
        raise RequestError(
            f"invalid RESPONSEFORMAT {wanted[:100]!r}: expected {' or '.join(FORMATS[:2])}"
        )
    check_run(given.single("RUNID"))


def check_run(run: str | None) -> None:
    """Check a RUNID."""
    if run and len(run) > _LONGEST_RUNID:
        raise RequestError(f"RUNID of {len(run)} characters: expected at most {_LONGEST_RUNID}")


def media_type(given: Parameters) -> str:
    """Return the type of a cutout: image/fits on request."""
    wanted = given.single("RESPONSEFORMAT") or ""
    return FORMATS[1] if wanted.partition(";")[0].strip().lower() == FORMATS[1] else FORMATS[0]


def _shapes(given: Parameters) -> list[str]:
    found = [
        f"{name} {value}"
        for name in ("CIRCLE", "POLYGON")
        for value in given.values(name)
        if value.strip()
    ]
    return found + [value for value in given.values("POS") if value.strip()]


def parse_shape(text: str) -> Region:
    """Return a shape on the sky: a POS, or a CIRCLE or POLYGON after its name."""
    if len(text) > LONGEST_SHAPE:
        limit = f"expected at most {LONGEST_SHAPE} characters"
        raise RequestError(f"a shape of {len(text)} characters: {limit}")
    word = re.match(r"\s*(\w*)", text)
    assert word is not None
    if word[1].upper() not in ("CIRCLE", "RANGE", "POLYGON"):
        raise RequestError(
            f"unsupported-xtype: {word[1][:40]}: expected CIRCLE, RANGE or POLYGON in {text[:80]!r}"
        )
    if (count := len(text.split()) // 2) > MOST_VERTICES:
        raise RequestError(f"a polygon of {count} vertices: expected at most {MOST_VERTICES}")
    return parse_position(text)


def cutout_of(found: Found, wanted: Wanted) -> tf.Image:
    """Return a cutout, whose pixels are read when it is sent or written.

    Raises
    ------
    NoPixels
        No pixel of the dataset is in it.
    UsageError
        The image has no axis that a filter is about.
    """
    try:
        part, notes = _part(found.view, wanted)
    except NoOverlap as error:
        raise NoPixels(str(error).partition("\nhint: ")[0]) from None
    image = image_of_part(found.view, part)
    if not notes:
        return image
    cards = [("HISTORY", f"tachyfits: {note}", "") for note in notes]
    made = tf.File.computed(image._core_image().with_cards(cards), None)[0]
    assert isinstance(made, tf.Image)
    return made


def _part(view: View, wanted: Wanted) -> tuple[Part, list[str]]:
    """Return the part of a view, and what was assumed."""
    cube = view.cube
    notes: list[str] = []
    index: list[Any] = [slice(None)] * cube.ndim
    if wanted.time:
        _check_time(view, wanted.time, notes)
    if wanted.band:
        number, channels = _channels(cube, parse_band(wanted.band), wanted.band, notes)
        index[number] = channels
    if wanted.polarisations:
        number, states = _states(cube, wanted.polarisations, notes)
        index[number] = states
    shape = parse_shape(wanted.shape) if wanted.shape else None
    part = part_of(cube, shape, None, tuple(index))
    if wanted.shape:
        notes.insert(0, f"SODA {' '.join(wanted.shape.split())[:120]} (ICRS, degrees)")
    return part, notes


def _channels(
    cube: tf.Image, asked: SpectralRange, text: str, notes: list[str]
) -> tuple[int, slice]:
    coordinates = cube._coordinates
    number = coordinates.spectral_axis
    if number is None:
        raise usage("BAND: the dataset has no spectral axis", "leave BAND out")
    said = f"SODA BAND {' '.join(text.split())} (m, vacuum"
    if asked.low is None and asked.high is None:
        return number, slice(None)
    own = frame_of(coordinates)
    try:
        factor = frequency_factor(coordinates, asked)
        notes.append(f"{said}, barycentric) of the {own} axis: frequencies x {1 / factor:.10g}")
    except tf.UsageError as error:
        asked = SpectralRange(asked.low, asked.high, asked.unit)
        reason = "its header names no frame (SPECSYS)" if own is None else _reason(error, cube)
        notes += [f"{said}) taken in the frame of the axis, not barycentric:", reason]
    return number, channel_slice(coordinates, number, cube.shape[number], asked, Line())


def _reason(error: Exception, cube: tf.Image) -> str:
    text = str(error).partition("\nhint: ")[0]
    return text.removeprefix(f"{cube._coordinates.where}: ").rpartition("converted: ")[2]


def _states(cube: tf.Image, wanted: tuple[str, ...], notes: list[str]) -> tuple[int, slice]:
    number, values = polarisations_of(cube._coordinates, cube.shape, wanted)
    places = [n for n, value in enumerate(values) if stokes_name(value) in wanted]
    notes.append(f"SODA POL {' '.join(wanted)}")
    if not places:
        known = ", ".join(map(stokes_name, values))
        raise NoOverlap(f"no polarisation of {', '.join(wanted)}: the dataset has {known}")
    steps = {later - earlier for earlier, later in itertools.pairwise(places)}
    step = steps.pop() if len(steps) == 1 else 1
    if steps:
        notes.append("POL: not at equal steps of the STOKES axis, so all between are kept")
    return number, slice(places[0], places[-1] + 1, step)


def _check_time(view: View, text: str, notes: list[str]) -> None:
    """Check that a dataset is of some time: it has no axis of times that could be cut."""
    low, high = interval_of("TIME", text)
    own = times_of(view.image.header)
    if own is None:
        raise usage("TIME: the header does not say when the dataset was observed", "leave it out")
    if own[1] < low or own[0] > high:
        raise NoOverlap(f"TIME: the dataset is of MJD {own[0]:.8f} to {own[1]:.8f}")
    notes.append(f"SODA TIME {' '.join(text.split())}: the dataset has no axis of times to cut")
