"""`/api/v1/figure`: a figure of a plane for print, and the command and lines that draw it."""

from __future__ import annotations

import shlex
import tempfile
import threading
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response

import tachyfits as tf
from tachyfits.plot import plane_figure, save_figure, title_of
from tachyfits.server.answers import of_two_files
from tachyfits.server.asked import Asked, answered
from tachyfits.server.endpoints.image import plane_of
from tachyfits.server.errors import RequestError, TooLarge
from tachyfits.server.figure_marks import OPTIONS, Marks, MarksAsked
from tachyfits.server.parameters import REGION_BODY, At, Others, Region, numbers_of, others_of
from tachyfits.server.place import Place
from tachyfits.server.planes import Collapse, OnePlane, PlaneAsked
from tachyfits.server.polarisation import ANGLE, INTENSITY
from tachyfits.text import Range, parse_channels, parse_region

router = APIRouter()

#: Most pixels of a plane that is drawn.
_MOST_PIXELS = 1 << 24

#: matplotlib draws one picture at a time: its caches are not for several threads.
_DRAWING = threading.Lock()

_TYPES = {"png": "image/png", "svg": "image/svg+xml", "pdf": "application/pdf"}
_FIGURE: dict[int | str, dict[str, Any]] = {
    200: {"content": {kind: {} for kind in _TYPES.values()}, "description": "The figure."}
}


@dataclass(frozen=True)
class _Look:
    """The parameters of a figure, as `tachyfits.plot.plane_figure` takes them; also a key."""

    width: float
    title: str | None
    stretch: str
    low: float | None
    high: float | None
    cmap: str | None
    levels: str | None
    scale_bar: bool
    region: str | None

    def options(self) -> dict[str, Any]:
        """Return the keywords that differ from their defaults."""
        levels = None if self.levels is None else numbers_of(self.levels, "levels", most=50)
        keywords = {
            "figsize": self.width, "title": self.title, "low": self.low, "high": self.high,
            "stretch": None if self.stretch == "linear" else self.stretch, "cmap": self.cmap,
            "contours": levels, "scale_bar": self.scale_bar or None,
            "regions": None if self.region is None else self.region.splitlines(),
        }  # fmt: skip
        return {name: value for name, value in keywords.items() if value is not None}


async def _colours(
    stretch: Annotated[
        str, Query(pattern="^(linear|log|asinh|sqrt)$", description="From values to colours.")
    ] = "linear",
    low: Annotated[float | None, Query(allow_inf_nan=False, description="First colour.")] = None,
    high: Annotated[float | None, Query(allow_inf_nan=False, description="Last colour.")] = None,
    colormap: Annotated[
        str | None, Query(pattern=r"^\w{1,40}$", description="A colour map of matplotlib.")
    ] = None,
) -> dict[str, Any]:
    return {"stretch": stretch, "low": low, "high": high, "cmap": colormap}


async def _look(
    region: Region,
    colours: Annotated[dict[str, Any], Depends(_colours)],
    width: Annotated[
        float,
        Query(ge=2, le=20, description="Inches: 3.5 is a column of a journal, 7.1 a page."),
    ] = 3.5,
    title: Annotated[
        str | None, Query(max_length=200, description="Without it the object or the file.")
    ] = None,
    levels: Annotated[
        str | None, Query(max_length=1000, description="Values of contours, 50 at most.")
    ] = None,
    scale_bar: Annotated[bool, Query(description="Draw a bar of a round angle.")] = False,
) -> _Look:
    if title is not None and not title.isprintable():
        raise RequestError("invalid title: expected printable text")
    if region is not None:
        parse_region(region)
    return _Look(width, title, levels=levels, scale_bar=scale_bar, region=region, **colours)


LookAsked = Annotated[_Look, Depends(_look)]


@dataclass(frozen=True)
class _Overlay:
    """Another image whose contours are drawn; also a key."""

    id: str
    hdu: int | None
    of: OnePlane
    levels: str

    def open(self, asked: Asked) -> Asked:
        """Return the request about that image."""
        file = asked.state.datasets.open(self.id)
        return replace(asked, file=file, place=Place(self.id, self.hdu))

    @property
    def values(self) -> list[float]:
        """The values of the contours."""
        return numbers_of(self.levels, "overlay_levels", most=50)


async def _overlay(
    overlay: Annotated[
        str | None,
        Query(min_length=1, max_length=4096, description="Another dataset, whose contours are "
              "drawn where its own coordinates put them."),
    ] = None,
    overlay_hdu: Annotated[int | None, Query(ge=0, le=1_000_000, description="Its HDU.")] = None,
    overlay_channel: Annotated[
        int, Query(ge=1, le=2**53, description="Its channel, from 1.")
    ] = 1,
    overlay_collapse: Annotated[
        str | None,
        Query(pattern="^(mean|max|sum|moment0)$", description="In place of a channel: how all of "
              "its channels become a plane."),
    ] = None,
    overlay_others: Others = None,
    overlay_levels: Annotated[
        str | None, Query(max_length=1000, description="Values of its contours, 50 at most.")
    ] = None,
) -> _Overlay | None:  # fmt: skip
    if overlay is None or overlay_levels is None:
        if (overlay, overlay_levels) != (None, None):
            raise RequestError("give both overlay and overlay_levels, or neither")
        return None
    collapse = (
        None if overlay_collapse is None else Collapse(overlay_collapse, None, overlay_others)
    )
    plane = OnePlane(collapse, overlay_channel, overlay_others)
    return _Overlay(overlay, overlay_hdu, plane, overlay_levels)


OverlayAsked = Annotated[_Overlay | None, Depends(_overlay)]


@router.post(
    "/api/v1/figure", summary="Draw a figure with many regions", response_class=Response,
    responses=_FIGURE, openapi_extra=REGION_BODY,
)  # fmt: skip
@router.get("/api/v1/figure", summary="Draw a figure", response_class=Response, responses=_FIGURE)
async def figure(
    request: Request,
    at: At,
    of: PlaneAsked,
    look: LookAsked,
    over: OverlayAsked,
    marks: MarksAsked,
    answer_format: Annotated[
        str, Query(alias="format", pattern="^(png|svg|pdf)$", description="png, svg or pdf.")
    ] = "pdf",
) -> Response:
    """Draw a plane with axes, colour bar, beam, contours and regions, for a column of a journal.

    ``catalogues`` and ``vectors`` draw points and vectors of polarisation, too. It is what
    `tachyfits collapse` draws with the options of `/api/v1/figure/lines`.
    """

    def make(asked: Asked) -> Response:
        other = None if over is None else over.open(asked)
        opened = marks.opened(asked)

        def compute() -> bytes:
            plane = _plane(asked, of)
            options = _named(asked, of, look.options())
            overlays = []
            if other is not None and over is not None:
                overlays.append(_plane(other, over.of))
                options["overlay_levels"] = over.values
                other.file.check()
            options["overlay"] = overlays + opened.overlays(asked, of)
            with _DRAWING, tempfile.TemporaryDirectory(prefix="tachyfits-figure-") as folder:
                path = Path(folder) / f"figure.{answer_format}"
                save_figure(plane_figure(plane, **options), path)
                body = path.read_bytes()
            opened.check()
            return body

        versions = other and other.file.version, opened.key
        key = ("figure", of, look, over, marks, versions, answer_format)
        body = asked.kept(key, compute, len)
        name = f'attachment; filename="figure.{answer_format}"'
        headers = asked.caching | {"Content-Disposition": name}
        answer = Response(body, headers=headers, media_type=_TYPES[answer_format])
        return of_two_files(answer) if other is not None or opened.tables else answer

    return await answered(request, at, make)


def _collapse_of(asked: Asked, of: OnePlane) -> Collapse | None:
    """Return how channels become the plane: one is the mean of itself, as a command draws it.

    None: the image has no channels.
    """
    if of.collapse is not None or asked.view.image.channel_axis is None:
        return of.collapse
    return Collapse("mean", f"{of.channel}:{of.channel}", of.others)


def _named(asked: Asked, of: OnePlane, options: dict[str, Any]) -> dict[str, Any]:
    """Return options of a figure whose title and label name the channel, not a mean."""
    view = asked.view
    if of.collapse is not None or view.image.channel_axis is None:
        return options
    unit = f" ({view.cube.unit})" if view.cube.unit else ""
    title = title_of(view.image.header, "", Path(asked.file.name).name)
    return {"title": title, "label": f"Channel {of.channel}{unit}", **options}


def _plane(asked: Asked, of: OnePlane) -> tf.Plane:
    view = asked.view
    if view.width * view.height > _MOST_PIXELS:
        raise TooLarge("the plane has too many pixels for a figure: cut a part out")
    collapse = _collapse_of(asked, of)
    if collapse is not None:
        plane = collapse.plane(asked)
    else:
        plane = plane_of(asked, None, of.channel, of.others, 0).plane()
    return replace(plane, source=Path(asked.file.name).name)


@router.post(
    "/api/v1/figure/lines", summary="Return the command of a figure with many regions",
    openapi_extra=REGION_BODY,
)  # fmt: skip
@router.get("/api/v1/figure/lines", summary="Return the command of a figure")
async def figure_lines(
    request: Request, at: At, of: PlaneAsked, look: LookAsked, over: OverlayAsked, marks: MarksAsked
) -> Response:
    """Return the command line and the Python lines that draw the same figure.

    Both name the files as they are called here: run them in their folder. Contours of another image
    take a command before, vectors take two. Commands draw no catalogues of services.
    """

    def make(asked: Asked) -> Response:
        other = None if over is None else over.open(asked)
        key = ("figure lines", of, look, over, marks, other and other.file.version)
        answer = asked.json(key, lambda: _lines(asked, of, look, marks, (other, over)))
        return answer if other is None else of_two_files(answer)

    return await answered(request, at, make)


def _lines(
    asked: Asked, of: OnePlane, look: _Look, marks: Marks,
    contours: tuple[Asked | None, _Overlay | None],
) -> dict[str, str]:  # fmt: skip
    options = _named(asked, of, look.options())
    drawing = [f"{name}={value!r}" for name, value in options.items()]
    steps, lines = _steps(asked, of), _Lines(_flags(options))
    lines.python.append(f"plane = {steps.python}")
    other, over = contours
    if other is not None and over is not None:
        levels = ",".join(map(repr, over.values))
        lines.add("other", "contours.fits", _steps(other, over.of))
        lines.flags += ["--overlay=contours.fits", f"--overlay-levels={levels}"]
        lines.overlays.append("other")
        drawing.append(f"overlay_levels={over.values!r}")
    lines.add_catalogues(marks)
    if marks.vectors is not None:
        for name in "QU":
            plane_steps = _steps(asked, marks.vectors.plane(asked, of, name))
            lines.add(name.lower(), f"stokes-{name.lower()}.fits", plane_steps)
        vector_options = marks.vectors.options()
        lines.flags += ["--vectors", "stokes-q.fits", "stokes-u.fits"]
        lines.flags += [f"--vectors-{name}={value!r}" for name, value in vector_options.items()]
        lines.overlays.append(_call("Vectors", "q, u", vector_options))
    if lines.overlays:
        overlays = ", ".join(lines.overlays)
        drawing.append(
            f"overlay={overlays}" if len(lines.overlays) == 1 else f"overlay=[{overlays}]"
        )
    lines.commands.append(shlex.join([*steps.command, *lines.flags, "-o", "figure.pdf"]))
    lines.python.append(f"save_figure(plane.plot({', '.join(drawing)}), 'figure.pdf')")
    names = [name for name in ("Catalogue", "Vectors") if f"{name}(" in "".join(lines.overlays)]
    imports = ["import tachyfits as tf",
               f"from tachyfits.plot import {', '.join([*names, 'save_figure'])}", ""]  # fmt: skip
    if any("np.s_" in line for line in lines.python):
        imports.insert(0, "import numpy as np")
    python = "\n".join([*imports, *lines.python]) + "\n"
    return {"command": "\n".join(lines.commands), "python": python}


@dataclass
class _Lines:
    """Commands and lines of Python before the last one, and what these add to it."""

    flags: list[str]
    overlays: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    python: list[str] = field(default_factory=list)

    def add(self, name: str, path: str, steps: _Steps) -> None:
        """Add how another plane is made: as a file, and as a variable."""
        self.commands.append(shlex.join([*steps.command, "-o", path]))
        self.python.append(f"{name} = {steps.python}")

    def add_catalogues(self, marks: Marks) -> None:
        """Add the catalogues."""
        files = [one.of_file() for one in marks.catalogues]
        self.flags.extend(f"--catalogue={name}" for name, _ in files)
        for option in OPTIONS:
            values = [options.get(option, "") for _, options in files]
            if any(value != "" for value in values):
                texts = (",".join(v) if isinstance(v, tuple) else str(v) for v in values)
                self.flags.extend(f"--catalogue-{option}={text}" for text in texts)
        self.overlays.extend(_call("Catalogue", repr(name), options) for name, options in files)


def _call(name: str, first: str, options: dict[str, Any]) -> str:
    """Return a call in Python."""
    return f"{name}({', '.join([first, *(f'{key}={value!r}' for key, value in options.items())])})"


@dataclass(frozen=True)
class _Steps:
    """How a plane is made: the words of a command without its output, and an expression."""

    command: list[str]
    python: str


def _steps(asked: Asked, of: OnePlane) -> _Steps:
    view, collapse = asked.view, _collapse_of(asked, of)
    if view.axes != tuple(range(1, view.image.ndim + 1)) or view.cube.ndim < 2:
        raise RequestError("no lines: the axes of the file are in another order than on the page")
    if collapse is not None and collapse.statistic in (INTENSITY, ANGLE):
        raise RequestError("no lines: one command does not make images of polarisation")
    others = others_of(collapse.others if collapse is not None else of.others)
    first, last = of.channel, of.channel
    if collapse is not None:
        first, last = _ends(collapse.channels, view.channels)
    count = view.cube.ndim - 2
    pixels = [(first, last), *((at, at) for at in (*others, *(1,) * (count - 1 - len(others))))]
    name = Path(asked.file.name).name
    command = ["tachyfits", "collapse", name]
    index = view.image.index
    command += ["--hdu", str(index)] if index else []
    if count:
        ranges = [f"{a}" if a == b else f"{a}:{b}" for a, b in pixels[:count]]
        command += ["--section", ",".join(["*", "*", *ranges])]
    section = ", ".join(f"{a - 1}:{b}" for a, b in reversed(pixels[:count]))
    calls = f".select(section=np.s_[{section}]" if count else ""
    call = ".plane()"
    if collapse is None:
        # The title of a selection would name it.
        calls, call = "", f".plane(np.s_[{section}])" if count else call
    else:
        calls += f", where={collapse.threshold!r}" if collapse.threshold is not None else ""
        command += (
            ["--threshold", repr(collapse.threshold)] if collapse.threshold is not None else []
        )
        words = [
            (name, value)
            for name, value in (("unit", collapse.unit), ("rest", collapse.rest),
                                ("convention", collapse.convention))
            if value is not None
        ]  # fmt: skip
        command += [part for name, value in words for part in (f"--{name}", value)]
        keywords = "".join(f", {name}={value!r}" for name, value in words)
        order = collapse.statistic.removeprefix("moment")
        if collapse.statistic.startswith("moment"):
            command += ["--moment", order]
            call = f".moment({order}{keywords})"
        else:
            command += ["--statistic", collapse.statistic]
            call = f".collapse({collapse.statistic!r}{keywords})"
        calls += ")" if count else ""
    return _Steps(command, f"tf.open({name!r})[{index}]{calls}{call}")


def _ends(channels: str | None, count: int) -> tuple[int, int]:
    """Return the first and the last channel of a plain range."""
    selection = parse_channels("*" if channels is None else channels)
    if not isinstance(selection, Range) or selection.step != 1 or selection.backwards:
        raise RequestError("no lines: expected one range of channels, such as 10:40")
    return selection.first or 1, selection.last or count


def _flags(options: dict[str, Any]) -> list[str]:
    """Return the options of the command."""
    flags = {"contours": "levels", "scale_bar": "scale-bar"}
    words = []
    for name, value in options.items():
        if name == "regions":
            words += [f"--outline={line}" for line in value]
            continue
        text = ",".join(map(repr, value)) if isinstance(value, list) else str(value)
        if name == "scale_bar":
            text = "auto"
        elif isinstance(value, float):
            text = repr(value)
        # A value that begins with a minus sign is not taken for an option in this form.
        words.append(f"--{flags.get(name, name)}={text}")
    return words
