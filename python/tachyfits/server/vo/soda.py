"""SODA: which part of a dataset a request asks for.

A lenient `Selection` says what is meant, and what it assumed, such as the frame of an axis whose
header names none, is noted in the HISTORY of the cutout.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import tachyfits as tf
from tachyfits import Region, Selection
from tachyfits.base import NoOverlap, usage
from tachyfits.image import Choice, with_cards
from tachyfits.server.errors import RequestError
from tachyfits.server.view import View
from tachyfits.server.vo.failures import MultiValued, NoPixels
from tachyfits.server.vo.identifiers import Found
from tachyfits.server.vo.parameters import Parameters
from tachyfits.server.vo.times import interval_of, times_of
from tachyfits.text import STOKES, parse_band, parse_position

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
class Cutout:
    """A cutout of a job: a dataset, and the filters of it.

    Attributes
    ----------
    identifier
        ID of the dataset.
    texts
        POS, BAND, TIME and POL as the client wrote them, those that are not empty.
    selection
        Their meaning, except for TIME.
    """

    identifier: str
    texts: dict[str, str]
    selection: Selection

    @property
    def is_whole(self) -> bool:
        """Whether nothing filters the dataset."""
        return not self.texts

    def __str__(self) -> str:
        parts = {"ID": self.identifier} | self.texts
        return ", ".join(f"{name}={value[:200]}" for name, value in parts.items())


def one_cutout(given: Parameters) -> Cutout:
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
    return next(every_cutout(given))


def every_cutout(given: Parameters) -> Iterator[Cutout]:
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
    states = tuple(word for word in given.values("POL") if word.strip())
    for word in states:
        if word not in POLARISATIONS:
            expected = " ".join(POLARISATIONS)
            raise RequestError(f"invalid POL {word[:40]!r}: expected one of {expected}")
    shapes = [(text, parse_shape(text)) for text in _shapes(given)]
    ranges = [(band, parse_band(band)) for band in bands]
    for time in times:
        interval_of("TIME", time)
    nothing = [("", None)]
    axes = (given.values("ID"), shapes or nothing, ranges or nothing, times or [""])
    if (count := math.prod(map(len, axes))) > MOST_RESULTS:
        raise RequestError(f"{count} combinations of parameters: expected at most {MOST_RESULTS}")
    return (
        _cutout(identifier, {"POS": shape, "BAND": band, "TIME": (time, None),
                             "POL": (" ".join(states), states or None)})
        for identifier, shape, band, time in itertools.product(*axes)
    )  # fmt: skip


def _cutout(identifier: str, filters: dict[str, tuple[str, Any]]) -> Cutout:
    """Return the cutout of texts and their meanings."""
    texts = {name: text for name, (text, _) in filters.items() if text}
    words = {"region": filters["POS"][1], "channels": filters["BAND"][1], "pol": filters["POL"][1]}
    return Cutout(identifier, texts, Selection.typed(words, mode="trim", is_lenient=True))


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


def cutout_of(found: Found, cutout: Cutout) -> tf.Image:
    """Return a cutout, whose pixels are read when it is sent or written.

    Raises
    ------
    NoPixels
        No pixel of the dataset is in it.
    UsageError
        The image has no axis that a filter is about.
    """
    view, times = found.view, []
    try:
        if time := cutout.texts.get("TIME"):
            times.append(_time_note(view, time))
        axis = _check_band(view.cube, cutout)
        choice = replace(cutout.selection, channel_axis=axis).resolve(view.cube)
    except NoOverlap as error:
        raise NoPixels(str(error).partition("\nhint: ")[0]) from None
    notes = _notes(choice, cutout.texts, times)
    image = view.cutout(choice)
    if not notes:
        return image
    cards = [("HISTORY", f"tachyfits: {note}", "") for note in notes]
    return with_cards(image, cards)


def _check_band(cube: tf.Image, cutout: Cutout) -> int | None:
    """Return the axis of wavelengths, which a BAND needs."""
    axis = cube.coordinates.spectral_axis
    if axis is None and "BAND" in cutout.texts:
        raise usage("BAND: the dataset has no spectral axis", "leave BAND out")
    return axis


def _notes(choice: Choice, texts: dict[str, str], times: list[str]) -> list[str]:
    """Return what HISTORY says of the filters, and of what was assumed."""
    notes = []
    if "POS" in texts:
        notes.append(f"SODA {' '.join(texts['POS'].split())[:120]} (ICRS, degrees)")
    notes += times
    if (frame := choice.frame) is not None:
        said = f"SODA BAND {' '.join(texts['BAND'].split())} (m, vacuum"
        if frame.factor is not None:
            ratio = f"frequencies x {1 / frame.factor:.10g}"
            notes.append(f"{said}, barycentric) of the {frame.own} axis: {ratio}")
        else:
            where = choice.image.coordinates.where
            reason = frame.reason.removeprefix(f"{where}: ").rpartition("converted: ")[2]
            no_frame = "its header names no frame (SPECSYS)"
            notes += [f"{said}) taken in the frame of the axis, not barycentric:",
                      no_frame if frame.own is None else reason]  # fmt: skip
    if "POL" in texts:
        notes.append(f"SODA POL {texts['POL']}")
    return [*notes, *choice.notes]


def _time_note(view: View, text: str) -> str:
    """Return the note of a TIME that the dataset is of: it has no axis of times to cut."""
    low, high = interval_of("TIME", text)
    own = times_of(view.image.header)
    if own is None:
        raise usage("TIME: the header does not say when the dataset was observed", "leave it out")
    if own[1] < low or own[0] > high:
        raise NoOverlap(f"TIME: the dataset is of MJD {own[0]:.8f} to {own[1]:.8f}")
    return f"SODA TIME {' '.join(text.split())}: the dataset has no axis of times to cut"
