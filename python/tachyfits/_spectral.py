"""Spectra and pictures: which axis is spectral, what is left of it, coordinates and headers.

The loops are the engine's. "Degenerate" axes (a polarisation axis of length 1) are dropped; a
longer one must be cut to one value by the section, because mixing Stokes I and V means nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tachyfits import _core
from tachyfits._axes import WorldAxis, default_unit, is_spectral, spectral_axis
from tachyfits._errors import usage
from tachyfits._header import Header
from tachyfits._regions import Region
from tachyfits._results import Plane, Spectrum
from tachyfits._section import Section, slice_range
from tachyfits._spectral_units import Channels, NativeAxis, converted
from tachyfits._statistics import reduced

if TYPE_CHECKING:
    from tachyfits._pixels import Pixels, Progress

#: Beginnings of the CTYPE of celestial axes; GLON, ELAT, TLON and the like end in LON and LAT.
_CELESTIAL = ("RA", "DEC")


def spectral_axis_of(image: Pixels) -> int:
    """Return the NumPy number of an image's spectral axis."""
    return spectral_axis(ctypes_of(image))


def sky_axes(ctypes: Sequence[str], spectral: int) -> tuple[int, ...]:
    """Return the NumPy numbers of the two sky axes; ``ctypes`` are CTYPE1, CTYPE2, ...

    Those of a celestial type when there are two; else the first two FITS axes that are not
    spectral (one, when there is no more).

    >>> sky_axes(["DEC--NCP", "STOKES", "FREQ", "RA---NCP"], 1)
    (0, 3)
    >>> sky_axes(["", "", ""], 0)
    (1, 2)
    """
    ndim = len(ctypes)
    celestial = [ndim - 1 - n for n, ctype in enumerate(ctypes) if is_celestial(ctype)]
    if len(celestial) == 2:
        return tuple(sorted(celestial))
    others = [axis for axis in range(ndim) if axis != spectral]
    return tuple(others[-2:])


def is_celestial(ctype: str) -> bool:
    """Say whether a CTYPE is of a coordinate on the sky."""
    name = ctype.strip().upper().split("-")[0]
    return name in _CELESTIAL or name[-3:] in ("LON", "LAT")


def ctypes_of(image: Pixels) -> list[str]:
    """Return CTYPE1, CTYPE2, ..., "" for those that are not there."""
    header = image.header
    return [str(header.get(f"CTYPE{n}") or "") for n in range(1, image.ndim + 1)]


def world_axis(image: Pixels, axis: int, channels: slice | None) -> WorldAxis:
    """Return the world values along one axis, over a slice of it."""
    pieces = slice_range(channels or slice(None), image.shape[axis])
    return _world_axis(image, axis, pieces)


def _world_axis(image: Pixels, axis: int, pieces: tuple[int, int, int]) -> WorldAxis:
    """Return linear spectral values in CUNIT, and honest pixel numbers for any other axis."""
    start, count, step = pieces
    linear = _linear_spectral(image, axis)
    if linear is None:
        return WorldAxis("pixel", "pixel", np.arange(count, dtype=np.float64) * step + start)
    ctype = linear.ctype.strip()
    values = np.asarray(linear.values(start, count, step))
    return WorldAxis(ctype, linear.cunit.strip() or default_unit(ctype), values)


def channels_in(
    image: Pixels,
    axis: int,
    pieces: tuple[int, int, int],
    unit: str | None,
    rest: Any,
    convention: str | None,
) -> Channels:
    """Return where the channels of a section are and how wide; ``unit`` None: the header's.

    The width is the header's increment times the step, which a single channel has as well:
    differences of values far from zero have lost digits.
    """
    start, count, step = pieces
    world = _world_axis(image, axis, pieces)
    linear = _linear_spectral(image, axis)
    if unit is None:
        if rest is not None or convention is not None:
            raise usage("rest= and convention= are for another unit", 'name it: unit="km/s"')
        width = abs(step * (1.0 if linear is None else linear.cdelt))
        return Channels(world.values, np.array([width]), world.unit)
    pixels = np.arange(count, dtype=np.float64) * step + start
    native = _native_axis(image, axis, linear, world)
    return converted(native, pixels, step, unit, rest, convention)


def _native_axis(
    image: Pixels, axis: int, linear: _core.LinearAxis | None, world: WorldAxis
) -> NativeAxis:
    """Return a spectral axis at any pixel: by its two numbers, or by WCSLIB where it is curved."""
    if linear is not None:
        crval, cdelt, crpix = linear.crval, linear.cdelt, linear.crpix

        def values(pixels: NDArray[np.float64]) -> NDArray[np.float64]:
            return crval + cdelt * (pixels + 1 - crpix)

        return NativeAxis(world.name, world.unit, image.header, True, values)
    number = image.ndim - axis
    ctype = ctypes_of(image)[number - 1]
    if not is_spectral(ctype):
        name = ctype.strip() or "no CTYPE"
        raise usage(
            f"NAXIS{number} ({name}) is no spectral axis: its pixels have no unit",
            "leave unit= out, and coordinates are pixel numbers from 0",
        )
    try:
        alone = image.wcs.sub([number])
        alone.wcs.set()
        unit, ctype = str(alone.wcs.cunit[0]), str(alone.wcs.ctype[0])
    except Exception as error:  # astropy raises many kinds for headers that it cannot use
        raise usage(
            f"the coordinates of NAXIS{number} ({ctype.strip()}) cannot be evaluated: {error}",
            "leave unit= out, and coordinates are pixel numbers from 0",
        ) from None

    def evaluated(pixels: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(alone.wcs_pix2world(pixels.reshape(-1, 1), 0), dtype=np.float64)[:, 0]

    return NativeAxis(ctype, unit, image.header, False, evaluated)


def _linear_spectral(image: Pixels, axis: int) -> _core.LinearAxis | None:
    """Return the description of an axis that is spectral and linear; None for another."""
    try:
        linear = image._core_image().linear_axis(axis)
    except _core.TachyfitsError:
        # The header describes no linear axis: that is an answer here, not a failure.
        return None
    ctype = linear.ctype.strip()
    # A code behind the type (VOPT-F2W) says that the axis is not linear in it.
    is_linear = is_spectral(ctype) and not linear.coupled and not _is_nonlinear(ctype)
    return linear if is_linear else None


def _is_nonlinear(ctype: str) -> bool:
    """Say whether a spectral CTYPE carries an algorithm code (Standard, table 26) or a table.

    >>> [_is_nonlinear(ctype) for ctype in ("VOPT-F2W", "WAVE-LOG", "FELO-HEL", "VELO-LSR")]
    [True, True, True, False]
    """
    if ctype.upper().startswith("FELO"):
        # AIPS: optical velocities of channels that are equally spaced in frequency.
        return True
    code = ctype.upper()[5:8]
    return code in ("LOG", "TAB", "GRI", "GRA") or (len(code) == 3 and code[1] == "2")


def cube_section(image: Pixels, section: Any, channels: slice | None, axis: int) -> Section:
    """Return the section with the channels cut out of the spectral axis."""
    where = image._section(section)
    if channels is None:
        return where
    if where.ranges[axis] != (0, image.shape[axis], 1):
        raise usage(
            f"both channels= and section= cut the spectral axis (NumPy axis {axis})",
            "use one of them",
        )
    if not isinstance(channels, slice):
        raise usage(f"channels={channels!r} is no slice", "use channels=slice(40, 90)")
    return where.replace(axis, slice_range(channels, image.shape[axis]))


def check_single(image: Pixels, where: Section, kept: Sequence[int]) -> None:
    """Refuse axes that are neither sky nor spectral and have more than one value."""
    ctypes = ctypes_of(image)
    for axis, count in enumerate(where.full_shape):
        if axis not in kept and count != 1:
            number = image.ndim - axis
            name = ctypes[number - 1].strip() or "no CTYPE"
            raise usage(
                f"NAXIS{number} ({name}) has {count} values, and they cannot be mixed",
                f"choose one: section= with an integer for NumPy axis {axis}",
            )


def spectra(
    image: Pixels,
    regions: list[Region] | None,
    statistic: str,
    channels: slice | None,
    section: Any,
    threads: int | None,
    progress: Progress | None,
) -> list[Spectrum]:
    """Return one spectrum per region, or one of every pixel."""
    axis = spectral_axis_of(image)
    sky = sky_axes(ctypes_of(image), axis)
    where = cube_section(image, section, channels, axis)
    check_single(image, where, (axis, *sky))
    if regions is not None and sky != (image.ndim - 2, image.ndim - 1):
        raise usage(
            "a region needs the sky on the first two FITS axes; here the sky is on "
            + ", ".join(f"NAXIS{image.ndim - number}" for number in reversed(sky)),
            "leave region= out, and cut with section=",
        )
    others = [number for number in range(image.ndim) if number != axis]
    values = reduced(
        image, statistic, others, where, regions=regions, threads=threads, progress=progress
    )
    world = _world_axis(image, axis, where.ranges[axis])
    rows = np.asarray(values, dtype=np.float64).reshape(-1, len(world))
    unit = None if statistic in ("count", "nan") else image.unit
    chosen: Sequence[Region | None] = regions or [None]
    header = result_header(image, where, (axis,))
    header = header.replaced(
        {"BUNIT": (unit, "")} if unit else {}, without=() if unit else ("BUNIT",)
    )
    return [
        Spectrum(world, row, unit, statistic, region, header)
        for row, region in zip(rows, chosen, strict=True)
    ]


def picture(image: Pixels, section: Any, threads: int | None, progress: Progress | None) -> Plane:
    """Return pixels of two axes as they are; others must be cut to one value."""
    where = image._section(section)
    if image.ndim < 2:
        raise usage("an image of one axis is no picture", "use read(), or plot the array")
    axes = [axis for axis, count in enumerate(where.full_shape) if count != 1]
    for axis in reversed(range(image.ndim)):
        # A picture of one row is one of x and y all the same.
        if len(axes) < 2 and axis not in axes:
            axes.append(axis)
    if len(axes) > 2:
        raise usage(
            f"{len(axes)} axes of the section have more than one pixel, a picture has two",
            "choose one pixel of the others: plane(np.s_[10]) is a channel of a cube",
        )
    axes.sort()
    values = image.read(where, dtype="float64", threads=threads, progress=progress)
    header = result_header(image, where, axes)
    if image.unit:
        header = header.replaced({"BUNIT": image.unit})
    shape = (where.full_shape[axes[0]], where.full_shape[axes[1]])
    return Plane(values.reshape(shape), image.unit, header, "pixels")


def result_header(
    image: Pixels, where: Section, kept: Sequence[int], collapsed: Sequence[int] = ()
) -> Header:
    """Return the header of a result that has some axes of a section of an image (NumPy numbers)."""
    cards = image._core_image().result_cards(
        list(where.ranges), kept=list(kept), collapsed=list(collapsed)
    )
    return Header(cards)
