"""Selection: what parameters choose of a view, in the engine's terms.

Regions and channels are of the view: x and y are the sky where there is any, z is spectral. A
section is on the axes of the file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import tachyfits as tf
from tachyfits.base.errors import with_hint
from tachyfits.header.sky import Sky
from tachyfits.header.spectral_selection import channel_slice
from tachyfits.header.spectral_units import Line
from tachyfits.image.rectangles import extent_on_image
from tachyfits.server.errors import RequestError
from tachyfits.server.parameters import others_of
from tachyfits.server.view import View
from tachyfits.text.fits_sections import Range, parse_channels
from tachyfits.text.region_text import parse_region
from tachyfits.text.regions import Region
from tachyfits.text.units import SPECTRAL, asked_quantity

_T = TypeVar("_T")


def understood(parse: Callable[[str], _T], text: str) -> _T:
    """Return what a function makes of text; its ValueError becomes an answer."""
    try:
        return parse(text)
    except tf.TachyfitsError:
        raise
    except ValueError as error:
        raise RequestError(str(error)) from None


def line_of(unit: str | None, rest: str | None, convention: str | None) -> Line:
    """Return the parameters of a spectral line; a rest value is parsed though nothing needs it."""
    if rest is not None:
        try:
            asked_quantity(rest, SPECTRAL)
        except ValueError as error:
            problem = str(error).partition("\nhint: ")[0]
            raise RequestError(
                with_hint(f"invalid rest {rest!r}: {problem}", "write it as 1.420405752 GHz")
            ) from None
    return Line(unit, rest, convention)


def region_of(text: str | None) -> Region | None:
    """Return the region of a parameter. Text of clients never names a file."""
    return None if text is None else parse_region(text)


def region_on(cube: tf.Image, text: str | None) -> Region | None:
    """Return the region of a parameter for numbers of its pixels.

    Raises
    ------
    NoOverlap
        It is outside the image.
    """
    region = region_of(text)
    if region is not None and cube.ndim >= 2:
        extent_on_image(cube, region)
    return region


def channels_of(view: View, text: str | None, line: Line | None = None) -> slice | None:
    """Return the slice of the spectral axis that a parameter chooses; ``line``: for velocities."""
    if text is None:
        return None
    found = understood(parse_channels, text)
    cube = view.cube
    if cube.ndim < 3:
        raise RequestError("the image has no spectral axis: leave out the channels")
    if isinstance(found, Range):
        return found.to_slice(view.channels, "the spectral axis")
    axis = cube.ndim - 3
    return channel_slice(cube._coordinates, axis, cube.shape[axis], found, line or Line())


def planes_section(
    view: View, channel: int | None, channels: str | None, others: str | None
) -> tuple[Any, ...]:
    """Return NumPy's index of a channel, of some channels, or of all of them."""
    section = view.section(channel or 1, others_of(others))
    if view.cube.ndim < 3:
        channels_of(view, channels)
        return section
    if channel is None:
        section = (*section[:-1], channels_of(view, channels) or slice(None))
    elif channels is not None:
        raise RequestError("both channel and channels are given: use one of them")
    return section


def sky_of(view: View) -> Sky:
    """Return the sky of x and y.

    Raises
    ------
    RequestError
        They are not the axes of the sky.
    """
    sky = view.cube._coordinates.sky
    if sky is None or sky.axes != (1, 2):
        raise RequestError("the image has no sky coordinates along x and y: use pixels")
    return sky


def cube_section(view: View, others: tuple[int, ...]) -> tuple[Any, ...] | None:
    """Return NumPy's index of the whole cube at some pixels of the axes after z."""
    outer = view.section(1, others)[:-1]
    return (*outer, slice(None), slice(None), slice(None)) if outer else None
