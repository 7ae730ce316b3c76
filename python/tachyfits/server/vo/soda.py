"""SODA: convert the parameters of a request to a selection of a dataset.

The `Selection` is lenient. HISTORY cards of the cutout record its assumptions, such as the frame of
an axis whose header has none.
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

#: Valid values of RESPONSEFORMAT.
FORMATS = ("application/fits", "image/fits", "fits")

#: Maximum length of a shape, and vertices of a polygon: its time grows with vertices and pixels.
LONGEST_SHAPE = 50_000
MOST_VERTICES = 1000
#: Maximum number of results of a job.
MOST_RESULTS = 200

_LONGEST_RUNID = 64


@dataclass(frozen=True)
class Cutout:
    """A cutout of a job: a dataset and its filters.

    Attributes
    ----------
    identifier
        ID of the dataset.
    texts
        Non-empty POS, BAND, TIME and POL as written by the client.
    selection
        Selection by these filters, except TIME.
    """

    identifier: str
    texts: dict[str, str]
    selection: Selection

    @property
    def is_whole(self) -> bool:
        """Whether there are no filters."""
        return not self.texts

    def __str__(self) -> str:
        parts = {"ID": self.identifier} | self.texts
        return ", ".join(f"{name}={value[:200]}" for name, value in parts.items())


def one_cutout(parameters: Parameters) -> Cutout:
    """Return the cutout of a synchronous request.

    Raises
    ------
    MultiValued
        A parameter other than POL has several values; CIRCLE, POLYGON and POS count as one.
    RequestError
        A value is invalid.
    """
    check_common(parameters)
    if len(shapes := _shapes(parameters)) > 1:
        raise MultiValued(f"{len(shapes)} values of CIRCLE, POLYGON and POS: expected one")
    for name in ("ID", "BAND", "TIME"):
        parameters.single(name)
    return next(every_cutout(parameters))


def every_cutout(parameters: Parameters) -> Iterator[Cutout]:
    """Return the cutouts of a job: one for each combination of values.

    Raises
    ------
    RequestError
        A value is invalid, or there are too many combinations.
    """
    check_common(parameters)
    if not parameters.values("ID"):
        raise RequestError("ID is missing: expected the identifier of a dataset")
    bands = [band for band in parameters.values("BAND") if band.strip()]
    times = [time for time in parameters.values("TIME") if time.strip()]
    states = tuple(word for word in parameters.values("POL") if word.strip())
    for word in states:
        if word not in POLARISATIONS:
            expected = " ".join(POLARISATIONS)
            raise RequestError(f"invalid POL {word[:40]!r}: expected one of {expected}")
    shapes = [(text, parse_shape(text)) for text in _shapes(parameters)]
    ranges = [(band, parse_band(band)) for band in bands]
    for time in times:
        interval_of("TIME", time)
    nothing = [("", None)]
    axes = (parameters.values("ID"), shapes or nothing, ranges or nothing, times or [""])
    if (count := math.prod(map(len, axes))) > MOST_RESULTS:
        raise RequestError(f"{count} combinations of parameters: expected at most {MOST_RESULTS}")
    return (
        _cutout(identifier, {"POS": shape, "BAND": band, "TIME": (time, None),
                             "POL": (" ".join(states), states or None)})
        for identifier, shape, band, time in itertools.product(*axes)
    )  # fmt: skip


def _cutout(identifier: str, filters: dict[str, tuple[str, Any]]) -> Cutout:
    """Return a cutout from the texts and parsed values of its filters."""
    texts = {name: text for name, (text, _) in filters.items() if text}
    words = {"region": filters["POS"][1], "channels": filters["BAND"][1], "pol": filters["POL"][1]}
    return Cutout(identifier, texts, Selection.typed(words, mode="trim", is_lenient=True))


def check_common(parameters: Parameters) -> None:
    """Check RESPONSEFORMAT and RUNID."""
    response_format = parameters.single("RESPONSEFORMAT")
    if response_format and response_format.partition(";")[0].strip().lower() not in FORMATS:
        raise RequestError(
            f"invalid RESPONSEFORMAT {response_format[:100]!r}: expected {' or '.join(FORMATS[:2])}"
        )
    check_run(parameters.single("RUNID"))


def check_run(run: str | None) -> None:
    """Check a RUNID."""
    if run and len(run) > _LONGEST_RUNID:
        raise RequestError(f"RUNID of {len(run)} characters: expected at most {_LONGEST_RUNID}")


def media_type(parameters: Parameters) -> str:
    """Return the media type of a cutout: image/fits on request."""
    response_format = parameters.single("RESPONSEFORMAT") or ""
    return (
        FORMATS[1]
        if response_format.partition(";")[0].strip().lower() == FORMATS[1]
        else FORMATS[0]
    )


def _shapes(parameters: Parameters) -> list[str]:
    shapes = [
        f"{name} {value}"
        for name in ("CIRCLE", "POLYGON")
        for value in parameters.values(name)
        if value.strip()
    ]
    return shapes + [value for value in parameters.values("POS") if value.strip()]


def parse_shape(text: str) -> Region:
    """Parse a shape on the sky: a POS, or the value of CIRCLE or POLYGON after its name."""
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


def cutout_of(dataset: Found, cutout: Cutout) -> tf.Image:
    """Return a lazy cutout of a dataset.

    Raises
    ------
    NoPixels
        The cutout has no pixels.
    UsageError
        The image lacks the axis of a filter.
    """
    view, times = dataset.view, []
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
    """Return the spectral axis; raise UsageError if BAND needs it and it is missing."""
    axis = cube.coordinates.spectral_axis
    if axis is None and "BAND" in cutout.texts:
        raise usage("BAND: the dataset has no spectral axis", "leave BAND out")
    return axis


def _notes(choice: Choice, texts: dict[str, str], times: list[str]) -> list[str]:
    """Return notes for HISTORY about the filters and their assumptions."""
    notes = []
    if "POS" in texts:
        notes.append(f"SODA {' '.join(texts['POS'].split())[:120]} (ICRS, degrees)")
    notes += times
    if (frame := choice.frame) is not None:
        prefix = f"SODA BAND {' '.join(texts['BAND'].split())} (m, vacuum"
        if frame.factor is not None:
            ratio = f"frequencies x {1 / frame.factor:.10g}"
            notes.append(f"{prefix}, barycentric) of the {frame.own} axis: {ratio}")
        else:
            file_and_hdu = choice.image.coordinates.where
            reason = frame.reason.removeprefix(f"{file_and_hdu}: ").rpartition("converted: ")[2]
            no_frame = "its header names no frame (SPECSYS)"
            notes += [f"{prefix}) taken in the frame of the axis, not barycentric:",
                      no_frame if frame.own is None else reason]  # fmt: skip
    if "POL" in texts:
        notes.append(f"SODA POL {texts['POL']}")
    return [*notes, *choice.notes]


def _time_note(view: View, text: str) -> str:
    """Check that a dataset overlaps TIME; return a note that it has no time axis to cut."""
    low, high = interval_of("TIME", text)
    observed = times_of(view.image.header)
    if observed is None:
        raise usage("TIME: the header does not say when the dataset was observed", "leave it out")
    if observed[1] < low or observed[0] > high:
        raise NoOverlap(f"TIME: the dataset is of MJD {observed[0]:.8f} to {observed[1]:.8f}")
    return f"SODA TIME {' '.join(text.split())}: the dataset has no axis of times to cut"
