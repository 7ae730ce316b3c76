"""Parameters that several endpoints have: their limits, and what the OpenAPI file says of them."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

#: Characters of a region: a polygon of some thousand corners.
LONGEST_REGION = 200_000

Id = Annotated[
    str,
    Query(
        alias="id",
        min_length=1,
        max_length=4096,
        description="The dataset: a name from /api/v1/files.",
        examples=["galaxy.fits"],
    ),
]
Hdu = Annotated[
    int | None,
    Query(ge=0, le=1_000_000, description="The HDU, from 0; without it the first image."),
]
Version = Annotated[
    str | None,
    Query(
        max_length=100,
        description="The version that the client knows; its answer may be cached for ever. "
        "409 if the file was replaced.",
    ),
]
ViewName = Annotated[
    str | None,
    Query(
        alias="view",
        max_length=100,
        description="Where the answer is shown. A newer request of the same view cancels this one.",
    ),
]
Channel = Annotated[int, Query(ge=1, le=2**53, description="The channel, from 1.")]
Others = Annotated[
    str | None,
    Query(
        max_length=200,
        pattern=r"^\d{1,15}(,\d{1,15})*$",
        description="Pixels, from 1, of the axes after the spectral one, with commas between.",
    ),
]
Region = Annotated[
    str | None,
    Query(
        max_length=LONGEST_REGION,
        description="A region: circle(x,y,r), box(x,y,w,h,angle), ellipse, annulus, polygon, "
        "point, in pixels from 1; or on the sky after a frame: 'icrs; circle(5:34:32,22.01,30\")'.",
        examples=["circle(40,40,5)"],
    ),
]
Statistic = Annotated[
    str,
    Query(max_length=40, description="sum, mean, min, max, rms, std, median, flux, ..."),
]
Unit = Annotated[
    str | None,
    Query(max_length=80, description="Unit of coordinates (km/s), values (K), or both (K, km/s)."),
]


def others_of(text: str | None) -> tuple[int, ...]:
    """Return the numbers of the parameter ``others``.

    >>> others_of("1,2"), others_of(None)
    ((1, 2), ())
    """
    return tuple(int(part) for part in text.split(",")) if text else ()
