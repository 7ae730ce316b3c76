"""`tachyfits image`: channels collapsed into a picture, as FITS or as PNG."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np

from tachyfits import File, Image, Plane, info
from tachyfits.base.errors import usage
from tachyfits.cli._common import (
    Common,
    common_options,
    described,
    heading,
    overwrite_option,
    suffix_of,
    title,
)
from tachyfits.cli._output import json_text, say
from tachyfits.cli._parts import (
    DRAWN,
    Drawing,
    Part,
    beam_option,
    drawing_options,
    line_options,
    part_options,
)
from tachyfits.cli._syntax import StatisticType
from tachyfits.cli._written import report_fields, report_option, report_text
from tachyfits.header.cards import Header
from tachyfits.image.collapse import PEAKS
from tachyfits.text.statistics import ORDER_STATISTICS

MOMENTS = {"moment0": 0, "moment1": 1, "moment2": 2}
STATISTICS = [*(name for name, _ in info.statistics()), *ORDER_STATISTICS, *PEAKS, *MOMENTS]
FITS = (".fits", ".fit", ".fts")


@click.command()
@common_options(many=False)
@click.option(
    "--statistic",
    "names",
    type=StatisticType(STATISTICS),
    multiple=True,
    metavar="NAME",
    help=f"One of {', '.join(STATISTICS)}, percentile90 (any number). Default: mean. May be "
    "repeated. Extreme channels are the first with the value, from 1.",
)
@click.option(
    "--moment",
    "orders",
    metavar="0,1,2",
    help="Moments, computed in one pass: 0 the integral, 1 the mean coordinate, 2 the dispersion.",
)
@click.option("--peak-channel", is_flag=True, help="The same as --statistic max_channel.")
@line_options
@beam_option
@part_options("channels", "pol", "section", "regions")
@click.option(
    "--threshold",
    type=float,
    metavar="VALUE",
    help="Ignore pixels below this value, in their unit (in --unit if that is one of values).",
)
@click.option(
    "--mask",
    type=click.Path(),
    metavar="FILE",
    help="Ignore pixels where this image (a cube or a plane) is 0 or undefined.",
)
@click.option("--keep-axis", is_flag=True, help="Keep the spectral axis with length 1.")
@click.option(
    "-o",
    "--output",
    "outputs",
    type=click.Path(),
    required=True,
    multiple=True,
    metavar="OUT",
    help="Output: .fits, or a picture as .png, .svg or .pdf. May be repeated. Several maps get "
    "their names before the ending: OUT-moment1.fits.",
)
@overwrite_option
@click.option("--checksum", is_flag=True, help="Write DATASUM and CHECKSUM into FITS files.")
@click.option("--sync", is_flag=True, help="Return only when FITS files survive a power failure.")
@report_option
@drawing_options
@click.option(
    "--bare",
    is_flag=True,
    help="Draw only the pixels, one to one, y upwards, without axes and colour bar.",
)
def command(
    common: Common,
    names: tuple[str, ...],
    orders: str | None,
    peak_channel: bool,
    part: Part,
    threshold: float | None,
    mask: str | None,
    keep_axis: bool,
    outputs: tuple[str, ...],
    overwrite: bool,
    checksum: bool,
    sync: bool,
    report: bool,
    unit: str | None,
    rest: str | None,
    convention: str | None,
    rest_medium: str | None,
    beam: str | None,
    drawing: Drawing,
    bare: bool,
) -> int:
    """Collapse the spectral axis of a cube into pictures. A picture is drawn as it is.

    Axes have the sky's coordinates and the colour bar the unit; the beam (BMAJ, BMIN, BPA) is in
    the corner where the header gives one. Undefined pixels are grey, as are those outside of
    regions.

    \b
    Examples:
      tachyfits image cube.fits --channels 40:90 --moment 0,1,2 --unit km/s -o line.fits -o line.png
      tachyfits image cube.fits --section '*,*,10' -o plane.png
      tachyfits image cube.fits --statistic max --stretch asinh --contours -o max.pdf
      tachyfits image cube.fits --channels 40:90 --moment 1 --limits 5,25 -o velocity.svg
      tachyfits image cube.fits --region 'circle(512,480,60)' --peak-channel -o peak.fits
    """  # fmt: skip
    suffixes = [suffix_of(output, FITS + DRAWN) for output in outputs]
    if bare and set(suffixes) - set(FITS) != {".png"}:
        raise click.UsageError("--bare needs an output that ends in .png")
    chosen = [*names, *_moments(orders), *(["max_channel"] if peak_channel else [])]
    line = {"unit": unit, "rest": rest, "convention": convention, "rest_medium": rest_medium}

    def make(file: File) -> None:
        image = common.image(file)
        if beam is not None:
            image = image.with_beam(beam)
        pixels = {"threshold": threshold, "mask": mask, "keep_axis": keep_axis}
        told: list[dict[str, Any]] = []
        of_line, of_values = part.with_line(line), part.line_of_values(line)
        for name, plane in _planes(common, image, chosen, of_line, pixels, of_values):
            written = [_named(output, name if len(chosen) > 1 else "") for output in outputs]
            for output, suffix in zip(written, suffixes, strict=True):
                if suffix in FITS:
                    plane.write(output, overwrite=overwrite, checksum=checksum, sync=sync)
                else:
                    _draw(image, plane, output, drawing, bare=bare, overwrite=overwrite)
            costs: dict[str, Any] = {}
            if report and plane.report is not None:
                costs = {"report": report_fields(plane.report)}
            if common.json:
                click.echo(json_text(_as_json(image, plane, written) | costs))
                continue
            say(f"{' '.join(written)}: {plane.name} of {heading(image)}")
            # Moments share one pass, whose cost is reported once.
            if plane.report is not None and costs and costs not in told:
                say(report_text(plane.report))
                told.append(costs)

    return common.each(make)


def _moments(orders: str | None) -> list[str]:
    """Return the names of the moments that a list of orders asks for."""
    if orders is None:
        return []
    names = [f"moment{order.strip()}" for order in orders.split(",")]
    if any(name not in MOMENTS for name in names):
        raise click.BadParameter(
            f"{orders!r}: write 0,1,2 or some of them", param_hint="'--moment'"
        )
    return names


def _named(output: str, name: str) -> str:
    """Return the name of one output of several."""
    path = Path(output)
    return str(path.with_name(f"{path.stem}-{name}{path.suffix}")) if name else output


def _planes(
    common: Common,
    image: Image,
    names: list[str],
    part: Part,
    pixels: dict[str, Any],
    line: dict[str, Any],
) -> Iterator[tuple[str, Plane]]:
    """Make the requested maps, moments together, in the order of their names."""
    if sum(length > 1 for length in image.shape) <= 2 and image.ndim >= 2:
        options = [*pixels.values(), *line.values()]
        asked = [value for value in options if value is not None and value is not False]
        if names or part.channels is not None or part.regions or asked:
            raise usage(
                f"{image.file.name}: HDU {image.index} is a picture: there is nothing to collapse",
                "use --section to select pixels, and leave out the options for cubes",
            )
        with common.meter("image") as progress:
            yield "pixels", image.plane(part.index(image), progress=progress)
        return
    where: dict[str, Any] = {
        "channels": part.channel_slice(image),
        "section": part.index(image),
        "region": part.shapes(),
        **pixels,
    }
    orders = [name for name in dict.fromkeys(names) if name in MOMENTS]
    made: dict[str, Plane] = {}
    if orders:
        with common.meter("moments") as progress:
            planes = image.moments(
                [MOMENTS[name] for name in orders], **where, **line, progress=progress
            )
        made = dict(zip(orders, planes, strict=True))
    for name in dict.fromkeys(names or ["mean"]):
        if name not in made:
            of_line = name.endswith("_coordinate")
            # Units are for coordinates: statistics beside moments have that of the pixels.
            given = line if of_line or not orders else {}
            with common.meter(name) as progress:
                plane = image.collapse(name, **where, **given, progress=progress)
            made[name] = _from_one(plane) if name.endswith("_channel") else plane
        yield name, made[name]


def _from_one(plane: Plane) -> Plane:
    """Count channels from 1, as the command line and FITS do."""
    name = plane.name.replace("(from 0)", "(from 1)")
    cards = [
        card._replace(value=str(card.value).replace("(from 0)", "(from 1)"))
        if card.keyword == "HISTORY"
        else card
        for card in plane.header.cards
    ]
    return replace(plane, values=plane.values + 1, header=Header(cards), name=name)


def _draw(
    image: Image, plane: Plane, output: str, drawing: Drawing, *, bare: bool, overwrite: bool
) -> None:
    from tachyfits.plot import plane_figure, save_figure, save_pixels

    if bare:
        save_pixels(plane, output, overwrite=overwrite, **drawing.colours)
        return
    name = "" if plane.name == "pixels" else plane.name
    figure = plane_figure(plane, title=title(image, name), **drawing.options)
    save_figure(figure, output, overwrite=overwrite)


def _as_json(image: Image, plane: Plane, outputs: list[str]) -> dict[str, Any]:
    good = plane.values[np.isfinite(plane.values)]
    return described(
        image,
        output=outputs[0] if len(outputs) == 1 else outputs,
        statistic=plane.name,
        output_naxis=list(reversed(plane.shape)),
        output_unit=plane.unit,
        min=float(good.min()) if good.size else None,
        max=float(good.max()) if good.size else None,
    )
