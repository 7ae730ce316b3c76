"""Spectra and pictures: which axis is spectral, what is left of it, coordinates and headers.

The loops are the engine's. "Degenerate" axes (a polarisation axis of length 1) are dropped; a
longer one must be cut to one value by the section, because mixing Stokes I and V means nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tachyfits.base.errors import either, usage
from tachyfits.base.reports import reports
from tachyfits.header.cards import Card, Header
from tachyfits.header.spectral_frames import frame_of
from tachyfits.header.spectral_selection import channel_slice, stokes_slice
from tachyfits.header.spectral_units import Channels, Line, channels_of
from tachyfits.image.brightness import FLUX, prepared
from tachyfits.image.chosen_regions import ChosenRegions
from tachyfits.image.reductions import UNITLESS, reduced
from tachyfits.image.weights import check_weights, weighted
from tachyfits.results.plane import Plane
from tachyfits.results.spectrum import Spectrum
from tachyfits.text.axes import WorldAxis
from tachyfits.text.regions import Region
from tachyfits.text.sections import Section, slice_range
from tachyfits.text.spectral_ranges import AskedChannels, asked_channels

if TYPE_CHECKING:
    from tachyfits.base.progress import Progress
    from tachyfits.image.image import Image
    from tachyfits.image.pixels import Pixels


#: Other names of the rest frequency: left out where RESTFRQ is set.
OTHER_REST = ("RESTFREQ", "RESTWAV")


def cube_section(
    image: Pixels,
    section: Any,
    channels: AskedChannels,
    axis: int,
    line: Line | None = None,
    pol: str | Sequence[str] | None = None,
) -> Section:
    """Return the section with the channels cut out of the spectral axis, and polarisations.

    ``line``: the rest frequency and convention of velocities.
    """
    where = image._section(section)
    if pol is not None:
        stokes, pixels = stokes_slice(image._coordinates, image.shape, pol)
        if where.ranges[stokes] != (0, image.shape[stokes], 1):
            raise usage(
                either(
                    f"both pol= and section= cut the STOKES axis (NumPy axis {stokes})",
                    "both --pol and --section cut the STOKES axis",
                    "both pol and others choose a pixel of the STOKES axis",
                ),
                "use one of them",
            )
        where = where.replace(stokes, slice_range(pixels, image.shape[stokes]))
    if channels is None:
        return where
    if where.ranges[axis] != (0, image.shape[axis], 1):
        raise usage(
            either(
                f"both channels= and section= cut the spectral axis (NumPy axis {axis})",
                "both --channels and --section cut the spectral axis",
                "both channels and section cut the spectral axis",
            ),
            "use one of them",
        )
    found = channel_slice(image._coordinates, axis, image.shape[axis], channels, line or Line())
    return where.replace(axis, slice_range(found, image.shape[axis]))


def line_of_values(line: Line, channels: AskedChannels) -> Line:
    """Return the requested coordinates, without a rest frequency that is for a range alone."""
    of_range = channels is not None and not isinstance(asked_channels(channels), slice)
    return Line() if of_range and line.unit is None else line


def one_of_axis(ndim: int, axis: int) -> str:
    """Return a section as the command line takes it: the first pixel of one NumPy axis.

    >>> one_of_axis(4, 1)
    '*,*,1,*'
    """
    return ",".join("1" if number == axis else "*" for number in reversed(range(ndim)))


def check_single(image: Pixels, where: Section, kept: Sequence[int]) -> None:
    """Refuse axes that are neither sky nor spectral and have more than one value."""
    ctypes = image._coordinates.ctypes
    for axis, count in enumerate(where.full_shape):
        if axis not in kept and count != 1:
            number = image.ndim - axis
            name = ctypes[number - 1] or "no CTYPE"
            raise usage(
                f"NAXIS{number} ({name}) has {count} values, and they cannot be mixed",
                either(
                    f"choose one: section= with an integer for NumPy axis {axis}",
                    f"choose one: --section '{one_of_axis(image.ndim, axis)}'",
                    "choose one by others",
                )
                + (
                    either(', or pol="I"', ", or --pol I", ", or by pol")
                    if axis == image._coordinates.stokes_axis
                    else ""
                ),
            )


def check_plane(image: Pixels, sky: tuple[int, ...]) -> None:
    """Refuse regions of an image whose sky is not on its last two NumPy axes."""
    if sky != (image.ndim - 2, image.ndim - 1):
        raise usage(
            "a region needs the sky on the first two FITS axes; here the sky is on "
            + ", ".join(f"NAXIS{image.ndim - number}" for number in reversed(sky)),
            either(
                "leave region= out, and cut with section=",
                "leave --region out, and cut with --section",
                "leave the region out",
            ),
        )


def spectra(
    image: Image,
    chosen: ChosenRegions,
    statistic: str,
    channels: AskedChannels,
    section: Any,
    pol: str | Sequence[str] | None,
    weights: str | None,
    line: Line,
    threads: int | None,
    progress: Progress | None,
) -> list[Spectrum]:
    """Return one spectrum per region, or one of every pixel."""
    asks_flux = isinstance(statistic, str) and statistic == FLUX
    if asks_flux and image.ndim == 2 and not image._coordinates.has_spectral_type:
        raise usage(
            f"{image._where()}: an image of 2 axes has one flux, and no spectrum",
            either("use flux(region)", "use tachyfits stats --flux", "use statistics"),
        )
    axis = image.spectral_axis
    sky = image._coordinates.sky_axes(axis)
    where = cube_section(image, section, channels, axis, line, pol)
    line = line_of_values(line, channels)
    check_single(image, where, (axis, *sky))
    if chosen.regions is not None:
        check_plane(image, sky)
    # Before any pixel is read: they may fail.
    ready = prepared(image, statistic, line, (where, axis))
    known = channels_of(image._coordinates, axis, where.ranges[axis], ready.line)
    world = WorldAxis(known.name, known.unit, known.values)
    others = [number for number in range(image.ndim) if number != axis]
    is_weighted = check_weights(weights, ready.statistic, chosen)
    with reports() as costs:
        values = (
            weighted(
                ready.pixels,
                ready.statistic,
                others,
                where,
                chosen.regions or [],
                threads,
                progress,
            )
            if is_weighted
            else reduced(
                ready.pixels,
                ready.statistic,
                others,
                where,
                regions=chosen.cores,
                threads=threads,
                progress=progress,
            )
        )
    unit = ready.unit
    regions: Sequence[Region | None] = [None] if chosen.regions is None else chosen.regions
    rows = np.asarray(values, dtype=np.float64).reshape(len(regions), len(world)) * ready.factor
    same = statistic not in (*UNITLESS, FLUX)
    header = result_header(image, where, (axis,), same_quantity=same)
    changes = {"BUNIT": (unit, "")} if unit else {}
    untrue = () if unit else ("BUNIT",)
    axis_cards = _axis_cards(header, known, frame_of(image._coordinates))
    if "RESTFRQ" in axis_cards:
        untrue = (*untrue, *OTHER_REST)
    header = header.replaced(changes | axis_cards, without=untrue)
    # Weights of regions outside of the image read nothing.
    report = costs[-1] if costs else None
    return [
        Spectrum(world, row, unit, statistic, region, header, report, image.file.name)
        for row, region in zip(rows, regions, strict=True)
    ]


def _axis_cards(header: Header, channels: Channels, frame: str | None) -> dict[str, Any]:
    """Return the cards of the axis of a spectrum whose coordinates were converted."""
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
        # The CTYPE that was replaced may have named the frame: VELO-LSR.
        cards["SPECSYS"] = frame
    return cards


def picture(image: Pixels, section: Any, threads: int | None, progress: Progress | None) -> Plane:
    """Return pixels of two axes as they are; others must be cut to one value."""
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
        # A picture of one row is one of x and y all the same.
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
    header = result_header(image, where, axes)
    if image.unit:
        header = header.replaced({"BUNIT": image.unit})
    shape = (where.full_shape[axes[0]], where.full_shape[axes[1]])
    return Plane(values.reshape(shape), image.unit, header, "pixels", source=image.file.name)


def result_header(
    image: Pixels,
    where: Section,
    kept: Sequence[int],
    collapsed: Sequence[int] = (),
    *,
    same_quantity: bool = True,
) -> Header:
    """Return the header of a result that has some axes of a section of an image (NumPy numbers).

    Without ``same_quantity`` its values are not of the quantity that BTYPE names.
    """
    cards = image._core_image().result_cards(
        list(where.ranges),
        kept=list(kept),
        collapsed=list(collapsed),
        same_quantity=same_quantity,
        kind=Card,
    )
    return Header(cards)
