"""Spectra and pictures: the spectral axis, the axes that remain, coordinates and headers.

The engine loops over pixels. "Degenerate" axes (a polarisation axis of length 1) are dropped; the
section must cut a longer axis to one value, because a mix of Stokes I and V has no meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tachyfits._core import UsageError
from tachyfits.base.errors import either, usage, warn
from tachyfits.base.reports import last, reports
from tachyfits.header.beam import BEAM_KEYWORDS, beam_cards, beam_of_part
from tachyfits.header.brightness import flux_units
from tachyfits.header.cards import Card, Header
from tachyfits.header.coordinates import Coordinates
from tachyfits.header.distortions import distortions
from tachyfits.header.frequency import frequency_cards
from tachyfits.header.photometry import sampled_unit
from tachyfits.header.spectral_frames import frame_of
from tachyfits.header.spectral_units import Channels, Line
from tachyfits.image.brightness import FLUX, prepared
from tachyfits.image.reductions import reduced
from tachyfits.image.weights import check_weights, weighted
from tachyfits.results.plane import Plane
from tachyfits.results.spectrum import Spectrum
from tachyfits.text.axes import WorldAxis
from tachyfits.text.regions import Region
from tachyfits.text.sections import Section
from tachyfits.text.statistics import UNITLESS

if TYPE_CHECKING:
    from tachyfits.base.progress import Progress
    from tachyfits.image.pixels import Pixels
    from tachyfits.image.selection import Choice
    from tachyfits.image.weights import Weights


#: Other names of the rest frequency, dropped if RESTFRQ is set.
OTHER_REST = ("RESTFREQ", "RESTWAV")


def spectra(
    choice: Choice, statistic: str, weights: Weights | None, line: Line, **run: Any
) -> list[Spectrum]:
    """Return a spectrum per region, or a single one; ``run``: threads and progress."""
    image, where, selected = choice.image, choice.section, choice.regions
    asks_flux = isinstance(statistic, str) and statistic == FLUX
    if asks_flux and image.ndim == 2 and image.coordinates.channel_axis is None:
        raise usage(
            f"{image._where()}: an image of 2 axes has one flux, and no spectrum",
            either("use flux(region)", "use tachyfits stats --flux", "use statistics"),
        )
    axis = choice.channel_axis
    choice.check_single((axis, *choice.sky_axes))
    choice.check_sky()
    # Validate before any pixel is read.
    ready = prepared(image, statistic, line, (where, axis))
    pixels = choice.masked(ready.pixels)
    channels = choice.channels(ready.line)
    world = WorldAxis(channels.name, channels.unit, channels.values)
    others = [number for number in range(image.ndim) if number != axis]
    is_weighted = check_weights(weights, ready.statistic, selected)
    with reports() as costs:
        if is_weighted:
            values = weighted(choice, pixels, ready.statistic, others, **run)
        else:
            values = reduced(pixels, ready.statistic, others, where, regions=selected.cores, **run)
    unit = ready.unit
    regions: Sequence[Region | None] = [None] if selected.regions is None else selected.regions
    rows = np.asarray(values, dtype=np.float64).reshape(len(regions), len(world)) * ready.factor
    same_quantity = statistic not in (*UNITLESS, FLUX)
    header = result_header(image, where, (axis,), same_quantity=same_quantity)
    changes = {"BUNIT": (unit, "")} if unit else {}
    untrue = () if unit else ("BUNIT",)
    axis_cards = _axis_cards(header, channels, frame_of(image.coordinates))
    if "RESTFRQ" in axis_cards:
        untrue = (*untrue, *OTHER_REST)
    header = header.replaced(changes | axis_cards, without=untrue)
    # If all regions are outside of the image, nothing is read.
    report = last(costs)
    return [
        Spectrum(world, row, unit, statistic, region, header, report, image.file.name)
        for row, region in zip(rows, regions, strict=True)
    ]


def _axis_cards(header: Header, channels: Channels, frame: str | None) -> dict[str, Any]:
    """Return the axis cards of a spectrum whose coordinates were converted."""
    described = channels.described
    if described is None:
        return {}
    cards: dict[str, Any] = {
        "CTYPE1": described.ctype,
        "CUNIT1": described.cunit,
        "CRVAL1": described.crval,
    }
    for keyword in ("CDELT1", "CD1_1"):
        step = header.get(keyword, 1.0 if keyword == "CDELT1" else None)
        if step is not None:
            cards[keyword] = step * described.factor
    if channels.rest_hz is not None:
        cards["RESTFRQ"] = (channels.rest_hz, "[Hz] rest frequency")
    if frame is not None and not header.get("SPECSYS"):
        # The replaced CTYPE may have named the frame: VELO-LSR.
        cards["SPECSYS"] = frame
    return cards


def picture(image: Pixels, section: Any, threads: int | None, progress: Progress | None) -> Plane:
    """Return the pixels of two axes; the section must cut all other axes to one value."""
    where = image._section(section)
    if image.ndim < 2:
        raise usage(
            "an image of one axis cannot be drawn as a picture",
            either("use read(), or plot the array", "draw it: tachyfits spectrum FILE -o OUT.png"),
        )
    if 0 in where.full_shape:
        raise usage("an image without pixels cannot be drawn", "choose pixels")
    axes = [axis for axis, count in enumerate(where.full_shape) if count != 1]
    for axis in reversed(range(image.ndim)):
        # A picture of a single row still has x and y.
        if len(axes) < 2 and axis not in axes:
            axes.append(axis)
    if len(axes) > 2:
        raise usage(
            f"{len(axes)} axes of the section have more than one pixel, a picture has two",
            either(
                "choose one pixel of the others: plane(np.s_[10]) is a channel of a cube",
                "choose one pixel of the others: --section '*,*,10' is a channel of a cube",
            ),
        )
    axes.sort()
    values = image.read(where, dtype="float64", threads=threads, progress=progress)
    header = result_header(image, where, axes, with_tables=True)
    unit = sampled_unit(image.unit, image.coordinates, where.steps)
    if unit:
        header = header.replaced({"BUNIT": unit, **dropped_frequency(image, where, axes)})
    elif image.unit:
        header = header.replaced({}, without=("BUNIT",))
    shape = (where.full_shape[axes[0]], where.full_shape[axes[1]])
    return Plane(
        values.reshape(shape), unit, header, "pixels", source=image.file.name,
        companions=result_tables(image, where, axes),
    )  # fmt: skip


def dropped_frequency(
    image: Pixels, where: Section, kept: Sequence[int], line: Line | None = None
) -> dict[str, Any]:
    """Return the frequency cards of a result without the spectral axis."""
    axis = image.coordinates.spectral_axis
    if axis in kept or not image.unit or (axis is not None and flux_units(image.unit) is None):
        return {}
    piece = None if axis is None else where.ranges[axis]
    return frequency_cards(image.coordinates, piece, line)


def result_header(
    image: Pixels,
    where: Section,
    kept: Sequence[int],
    collapsed: Sequence[int] = (),
    *,
    same_quantity: bool = True,
    with_tables: bool = False,
) -> Header:
    """Return the header of a result that keeps some axes of a section of an image (NumPy numbers).

    ``same_quantity`` False: the values are not of the quantity named by BTYPE. ``with_tables``: the
    HDUs of `result_tables` accompany the result. A warning names dropped distortions.
    """
    cards = image._core_image().result_cards(
        list(where.ranges),
        kept=list(kept),
        collapsed=list(collapsed),
        same_quantity=same_quantity,
        with_tables=with_tables,
        kind=Card,
    )
    header = Header(cards)
    if with_tables:
        _warn_of_lost(image, header)
    return _with_plane_beam(header, image, where)


def result_tables(
    image: Pixels, where: Section, kept: Sequence[int], collapsed: Sequence[int] = ()
) -> bytes:
    """Return the HDUs that the coordinates of a result need, as bytes."""
    return image._core_image().result_tables(
        list(where.ranges), kept=list(kept), collapsed=list(collapsed)
    )


def _warn_of_lost(image: Pixels, header: Header) -> None:
    """Warn about a plane of the sky that lost the distortions of its image."""
    lost = [key for key in distortions(image.header) if key not in header]
    if lost and image.coordinates.sky is not None and Coordinates(header, 2).sky is not None:
        warn(
            f"{image._where()}: the distortion of its coordinates ({lost[0]}) is left out of a "
            "plane of other pixels: its positions are those of the linear part"
        )


def _with_plane_beam(header: Header, image: Pixels, where: Section) -> Header:
    """Return a header with the beam of a section's single plane, from the table BEAMS."""
    if image._core_image().beams() is None:
        return header
    try:
        beam = beam_of_part(image, where.ranges)
    except UsageError as error:
        warn(f"{str(error).partition(chr(10))[0]}: the result has no beam")
        return header.replaced({}, without=BEAM_KEYWORDS)
    if beam is None or "BMAJ" in header:
        return header
    cards = [card for card in header.cards if not str(card.value).endswith("BEAMS is left out")]
    return Header([*cards, *beam_cards(beam)])
