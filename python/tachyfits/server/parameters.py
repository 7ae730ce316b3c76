"""Parameters shared by several endpoints: their limits and OpenAPI descriptions."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Query, Request

from tachyfits.base import with_hint
from tachyfits.header import Line
from tachyfits.info import statistics
from tachyfits.server.body import body_text, text_body
from tachyfits.server.errors import RequestError, TooLarge
from tachyfits.server.place import Place
from tachyfits.text import PERCENTILES, SPECTRAL, asked_quantity, parse_numbers

#: Maximum length of a region: a polygon of some thousand vertices. uvicorn accepts addresses of at
#: most 65 535 bytes, proxies often only 8 KiB; POST therefore takes the region in its body.
LONGEST_REGION = 50_000

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
Turn = Annotated[
    int | None,
    Query(
        ge=0,
        le=2**53,
        description="Number of the state that the view shows, which grows. Requests of one turn "
        "belong together, such as the tiles of a screen; those of earlier turns are cancelled. "
        "Without it each request is a turn.",
    ),
]


#: Pattern of the names of long requests.
JOB_NAME = r"^[A-Za-z0-9_.-]{1,64}$"

JobName = Annotated[
    str | None,
    Query(
        pattern=JOB_NAME,
        description="A name for a request that takes long: /api/v1/jobs/NAME/events tells its "
        "progress, DELETE /api/v1/jobs/NAME cancels it.",
    ),
]


async def _place(
    name: Id,
    hdu: Hdu = None,
    version: Version = None,
    view: ViewName = None,
    turn: Turn = None,
    job: JobName = None,
) -> Place:
    return Place(name, hdu, version, view, turn, job)


#: The dataset, the HDU, the version, the view and its turn.
At = Annotated[Place, Depends(_place)]

Channel = Annotated[int, Query(ge=1, le=2**53, description="The channel, from 1.")]
OneChannel = Annotated[
    int | None, Query(ge=1, le=2**53, description="A channel, from 1; without it all channels.")
]
Others = Annotated[
    str | None,
    Query(
        max_length=200,
        pattern=r"^\d{1,15}(,\d{1,15})*$",
        description="Pixels, from 1, of the axes after the spectral one, with commas between.",
    ),
]


async def _region(
    request: Request,
    region: Annotated[
        str | None,
        Query(
            max_length=LONGEST_REGION,
            description="A region: circle(x,y,r), box(x,y,w,h,angle), ellipse, annulus, polygon, "
            "point, in pixels from 1; or on the sky after a frame: "
            "'icrs; circle(5:34:32,22.01,30\")'. POST takes it as the body. Numbers "
            "of a region outside the image are refused (400).",
            examples=["circle(40,40,5)"],
        ),
    ] = None,
) -> str | None:
    return await posted(request, region, "region", LONGEST_REGION)


async def posted(request: Request, value: str | None, name: str, longest: int) -> str | None:
    """Return the text of a parameter, which POST may have in its body; an empty body is ignored."""
    if request.method != "POST":
        return value
    text = (await body_text(request)).strip()
    if text and value is not None:
        raise RequestError(f"both {name} and a body are given: use one of them")
    if len(text) > longest:
        raise TooLarge(f"the {name} in the body has more than {longest} characters")
    return text or value


#: A region: in the address of GET, or in the body of POST, whose length proxies do not limit.
Region = Annotated[str | None, Depends(_region)]

#: OpenAPI description of this body.
REGION_BODY = text_body(LONGEST_REGION, "polygon(10,10,30,12,20,40)")

Channels = Annotated[
    str | None,
    Query(
        max_length=1000,
        description="Channels from 1, both ends included: '10:40', '10:40:2', '7'; or a range with "
        "a unit, and with a frame: '100..250 km/s', '230.5..230.6 GHz LSRK'. Several with commas "
        "between: the channels between them are undefined.",
        examples=["1:4"],
    ),
]
Section = Annotated[
    str | None,
    Query(
        max_length=1000,
        description="A section as in CFITSIO, on the axes of the file: '[100:200,50:60,*]'. Axes "
        "that are not named are taken whole.",
        examples=["[1:20,1:10]"],
    ),
]
Pol = Annotated[str | None, Query(max_length=200, description="Polarisations by name: 'I', 'Q,U'.")]
Rest = Annotated[
    str | None,
    Query(max_length=80, description="Rest frequency or wavelength: '1.420405752 GHz'."),
]
Convention = Annotated[
    str | None,
    Query(
        pattern="^(radio|optical|relativistic)$",
        description="Convention of velocities; without it that of the axis.",
    ),
]
LargestError = Annotated[
    float | None,
    Query(
        ge=0,
        allow_inf_nan=False,
        description="Largest error, 0 for exact float32; default: noise / 20.",
    ),
]
Level = Annotated[
    int,
    Query(ge=0, le=40, description="Zoom level: pixels are means of 2^level x 2^level."),
]
Statistic = Annotated[
    str,
    Query(
        max_length=40,
        description=f"One of {', '.join(each.name for each in statistics())}, {PERCENTILES}, flux.",
    ),
]
Unit = Annotated[
    str | None,
    Query(max_length=80, description="Unit of coordinates (km/s), values (K), or both (K, km/s)."),
]


def numbers_of(text: str, name: str, most: int) -> list[float]:
    """Parse at most ``most`` comma-separated finite numbers.

    >>> numbers_of("1,2.5", "q", most=3)
    [1.0, 2.5]
    """
    numbers = parse_numbers(text, most)
    if numbers is None:
        raise RequestError(
            f"invalid {name} {text[:100]!r}: expected at most {most} numbers with commas between"
        )
    return list(numbers)


def others_of(text: str | None) -> tuple[int, ...]:
    """Parse the numbers of the parameter ``others``.

    >>> others_of("1,2"), others_of(None)
    ((1, 2), ())
    """
    return tuple(int(part) for part in text.split(",")) if text else ()


def line_of(unit: str | None, rest: str | None, convention: str | None) -> Line:
    """Return the parameters of a spectral line; check the rest value even if it is not needed."""
    if rest is not None:
        try:
            asked_quantity(rest, SPECTRAL)
        except ValueError as error:
            problem = str(error).partition("\nhint: ")[0]
            raise RequestError(
                with_hint(f"invalid rest {rest!r}: {problem}", "write it as 1.420405752 GHz")
            ) from None
    return Line(unit, rest, convention)
