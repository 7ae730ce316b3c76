"""Planes: a range of channels collapsed to one plane of the sky."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from fastapi import Depends, Query

import tachyfits as tf
from tachyfits import _core
from tachyfits.header.spectral_units import Line
from tachyfits.server.asked import Asked
from tachyfits.server.errors import TooLarge
from tachyfits.server.parameters import (
    Channels,
    Convention,
    Others,
    Pol,
    Rest,
    Unit,
    others_of,
)
from tachyfits.server.selection import channels_of, cube_section, region_of

#: Most bytes of a plane that is computed as a whole, which the cache then keeps.
MOST_BYTES = 256 << 20

Progress = Callable[[int, int], bool | None]


@dataclass(frozen=True)
class Collapse:
    """The parameters of a plane: a statistic of the engine, or "moment0" to "moment2"."""

    statistic: str
    channels: str | None = None
    others: str | None = None
    pol: str | None = None
    unit: str | None = None
    rest: str | None = None
    convention: str | None = None
    threshold: float | None = None
    region: str | None = None

    def plane(self, asked: Asked) -> tf.Plane:
        """Return the plane, from the cache or computed.

        Raises
        ------
        TooLarge
            It has too many pixels.
        """
        view = asked.view
        if view.width * view.height * 8 > MOST_BYTES:
            raise TooLarge(
                f"a plane of {view.width} x {view.height} pixels is too large to be computed as a "
                "whole: ask for tiles, or for a cutout"
            )
        return asked.kept(self, lambda: self._compute(asked), lambda plane: plane.values.nbytes)

    def _compute(self, asked: Asked) -> tf.Plane:
        view = asked.view
        options: dict[str, Any] = {
            "channels": channels_of(view, self.channels, Line(None, self.rest, self.convention)),
            "section": cube_section(view, others_of(self.others)),
            "pol": self.pol,
            "region": region_of(self.region),
            "threshold": self.threshold,
            "unit": self.unit,
            "rest": self.rest,
            "convention": self.convention,
            "progress": asked.progress,
        }
        if self.statistic.startswith("moment"):
            return view.cube.moment(int(self.statistic.removeprefix("moment")), **options)
        return view.cube.collapse(self.statistic, **options)


def image_of(plane: tf.Plane) -> tf.Image:
    """Return a plane as an image, which is cut and binned as others are."""
    cards = [(card.keyword, card.value, card.comment) for card in plane.header.cards]
    values = np.ascontiguousarray(plane.as_written()[0].reshape(plane.values.shape))
    image = tf.File.computed(_core.array_file(values, cards), None)[0]
    assert isinstance(image, tf.Image)
    return image


async def _collapse(
    collapse: Annotated[
        str | None,
        Query(
            max_length=40,
            pattern=r"^(moment[0-2]|[a-ln-z][a-z_]*[0-9.]*|m[a-np-z][a-z_]*)$",
            description="Collapse channels to one plane: sum, mean, max, min, rms, std, median, "
            "max_coordinate, ..., or moment0, moment1, moment2.",
            examples=["mean"],
        ),
    ] = None,
    channels: Channels = None,
    others: Others = None,
    pol: Pol = None,
    unit: Unit = None,
    rest: Rest = None,
    convention: Convention = None,
    threshold: Annotated[
        float | None,
        Query(allow_inf_nan=False, description="Pixels below it are left out of the plane."),
    ] = None,
) -> Collapse | None:
    if collapse is None:
        return None
    return Collapse(collapse, channels, others, pol, unit, rest, convention, threshold)


#: How channels are collapsed; None: they are not.
CollapseAsked = Annotated[Collapse | None, Depends(_collapse)]
