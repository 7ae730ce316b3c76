"""`/api/v1/lines`: a table of spectral lines, and their positions on the spectral axis."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Query, Request, Response
from numpy.typing import NDArray

import tachyfits as tf
from tachyfits.header import Line, converted
from tachyfits.server.asked import Asked, answered
from tachyfits.server.errors import RequestError
from tachyfits.server.lines import GROUPS, LINES, SOURCE
from tachyfits.server.parameters import At
from tachyfits.server.spectral_axis import AskedAxis, AxisForm, spectral_number

router = APIRouter()


@router.get("/api/v1/lines", summary="Return spectral lines on the axis")
async def lines(
    request: Request,
    at: At,
    form: AskedAxis,
    groups: Annotated[
        str | None,
        Query(max_length=200, pattern=r"^[a-z]+(,[a-z]+)*$",
              description=f"Groups with commas between: {', '.join(GROUPS)}. Without it all."),
    ] = None,
) -> Response:  # fmt: skip
    """Return lines, each with its fractional channel (from 1) and its coordinate.

    Both are null for a line outside the axis. Coordinates are as in `/api/v1/axis` with the same
    parameters; the redshift is in their frame. ``rest_hz`` is the rest frequency. ``problem`` names
    what the header lacks if no line has a position; else it is null.
    """
    names = tuple(groups.split(",")) if groups else tuple(GROUPS)
    for name in names:
        if name not in GROUPS:
            raise RequestError(f"invalid groups {name!r}: expected {', '.join(GROUPS)}")

    def make(asked: Asked) -> Response:
        def compute() -> dict[str, Any]:
            cube = asked.view.cube
            table = [line for line in LINES if line.group in names]
            hertz = np.array([line.rest_hz for line in table]) / (1 + (form.redshift or 0.0))
            # An invalid form is an error; lines outside the axis are not.
            form.values(cube.coordinates, spectral_number(cube), np.zeros(1))
            channels, values = np.full((2, len(table)), np.nan)
            problem = None
            try:
                channels, values = _places(cube, form, hertz)
            except tf.UsageError as error:
                problem = asked.state.datasets.hidden(str(error).partition("\nhint: ")[0])
            return {
                "problem": problem,
                "groups": GROUPS,
                "source": SOURCE,
                "lines": [
                    {"name": line.name, "group": line.group, "rest_hz": line.rest_hz,
                     "channel": channel + 1, "value": value}
                    for line, channel, value in zip(table, channels, values, strict=True)
                ],
            }  # fmt: skip

        return asked.json(("lines", form, names), compute)

    return await answered(request, at, make)


def _places(
    cube: tf.Image, form: AxisForm, hertz: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the pixels (from 0) and the coordinates of frequencies; NaN outside the axis."""
    number = spectral_number(cube)
    coordinates, count = cube.coordinates, cube.shape[number]
    axis = coordinates.axis(number)
    pixels = np.full(len(hertz), np.nan)
    values = pixels.copy()
    if not axis.is_spectral:
        return pixels, values
    observed = hertz / form.factor(coordinates)
    # The header's rest frequency takes precedence: the request's only affects the output.
    rest_value = form.rest if coordinates.rest_frequency() is None else None
    line = Line("Hz", rest_value, form.convention)
    ends = converted(axis, coordinates, axis.values(np.array([-0.5, count - 0.5])), line)
    within = (observed >= ends.min()) & (observed <= ends.max())
    if within.any():
        convention: Any = form.convention  # checked by the request
        world = coordinates.world_to_pixel(
            spectral=observed[within] * _hertz(), rest=rest_value, convention=convention
        )
        pixels[within] = world[axis.number - 1]
        values[within] = form.values(coordinates, number, pixels[within])
    return pixels, values


def _hertz() -> Any:
    import astropy.units as u

    return u.Hz
