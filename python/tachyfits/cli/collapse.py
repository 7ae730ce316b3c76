"""`tachyfits collapse`: channels collapsed into a picture, as FITS or as PNG."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import click
import numpy as np

from tachyfits import File, Header, Image, Plane, info
from tachyfits.base import check_output, usage
from tachyfits.cli._common import (
    Common,
    common_options,
    described,
    heading,
    overwrite_option,
    refuse_together,
    refuse_without,
    suffix_of,
    title,
)
from tachyfits.cli._group import packed
from tachyfits.cli._output import STDOUT, json_text, print_answer, report_dict, report_line, say
from tachyfits.cli._over import OVER, Over, over_options, refuse_alone
from tachyfits.cli._parts import (
    DRAWING,
    DRAWN,
    PAPER,
    Drawing,
    PixelOptions,
    beam_option,
    drawing_options,
    line_options,
    part_options,
)
from tachyfits.cli._syntax import StatisticType
from tachyfits.cli._written import report_option
from tachyfits.image import PEAKS, MomentOrder, threshold_of_values
from tachyfits.text import PERCENTILES
from tachyfits.writing import stream_of

MOMENTS: dict[str, MomentOrder] = {"moment0": 0, "moment1": 1, "moment2": 2}
STATISTICS = [*(each.name for each in info.statistics()), *PEAKS, *MOMENTS]
FITS = (".fits", ".fit", ".fts")


@dataclass(frozen=True)
class MapOptions:
    """The options of which maps are made."""

    names: tuple[str, ...]
    orders: str | None
    peak_channel: bool
    threshold: float | None
    mask: str | None
    keep_axis: bool
    beam: str | None

    @property
    def statistics(self) -> list[str]:
        """The names of the maps, each once."""
        peak = ["max_channel"] if self.peak_channel else []
        return list(dict.fromkeys([*self.names, *_moments(self.orders), *peak]))


@dataclass(frozen=True)
class Files:
    """The options of the files that are written."""

    outputs: tuple[str, ...]
    overwrite: bool
    checksum: bool
    sync: bool
    report: bool

    def write(self, plane: Plane, output: str) -> None:
        """Write a map as FITS."""
        plane.write(output, overwrite=self.overwrite, checksum=self.checksum, sync=self.sync)


@dataclass(frozen=True)
class Layout:
    """The options of pictures without axes, and of several maps in one."""

    bare: bool
    channel_maps: int | None
    triptych: bool


@click.command()
@common_options(many=False)
@click.option(
    "--statistic",
    "names",
    type=StatisticType(STATISTICS),
    multiple=True,
    metavar="NAME",
    help=f"One of {', '.join(STATISTICS)}, {PERCENTILES}. Default: mean. May be "
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
    help="Output: .fits, or a picture as .png, .svg or .pdf; -: FITS of one map on stdout. May be "
    "repeated. Several maps get their names before the ending: OUT-moment1.fits.",
)
@overwrite_option
@click.option("--checksum", is_flag=True, help="Write DATASUM and CHECKSUM into FITS files.")
@click.option("--sync", is_flag=True, help="Return only when FITS files survive a power failure.")
@report_option
@drawing_options
@click.option(
    "--channel-maps",
    type=click.IntRange(1, 100),
    metavar="N",
    help="Draw at most N channels in one picture: every n-th of --channels, n as small as fits.",
)
@click.option("--triptych", is_flag=True, help="Draw the maps side by side in one picture.")
@over_options
@click.option(
    "--bare",
    is_flag=True,
    help="Draw only the pixels, one to one, y upwards, without axes and colour bar.",
)
@packed("maps", MapOptions)
@packed("files", Files)
@packed("layout", Layout)
def command(
    common: Common,
    maps: MapOptions,
    pixels: PixelOptions,
    files: Files,
    drawing: Drawing,
    layout: Layout,
    over: Over,
    **line: Any,
) -> int:
    """Collapse the spectral axis of a cube into pictures. A picture is drawn as it is.

    Axes have the sky's coordinates and the colour bar the unit; the beam (BMAJ, BMIN, BPA) is in
    the corner where the header gives one. Undefined pixels are grey, as are those outside of
    regions.

    \b
    Examples:
      tachyfits collapse cube.fits --channels 40:90 --moment 0,1,2 --unit km/s -o a.fits -o a.png
      tachyfits collapse cube.fits --section '*,*,10' -o plane.png
      tachyfits collapse cube.fits --statistic max --stretch asinh --contours -o max.pdf
      tachyfits collapse cube.fits --channels 40:90 --moment 1 --limits 5,25 -o velocity.svg
      tachyfits collapse cube.fits --region 'circle(512,480,60)' --peak-channel -o peak.fits
      tachyfits collapse cube.fits --channels 40:90 --channel-maps 12 --unit km/s -o channels.png
      tachyfits collapse cube.fits --channels 40:90 --moment 0,1,2 --triptych -o three.png
      tachyfits collapse cube.fits --scale-bar auto --outline 'circle(90,80,12)' -o mean.png
    """  # fmt: skip
    suffixes = [
        ".fits" if output == STDOUT else suffix_of(output, FITS + DRAWN) for output in files.outputs
    ]
    drawn = set(suffixes) - set(FITS)
    if layout.bare and drawn != {".png"}:
        raise click.UsageError("--bare needs an output that ends in .png")
    if not drawn:
        refuse_without("a picture (-o OUT.png)", [*DRAWING, *OVER])
    if drawn.issuperset(suffixes):
        refuse_without("a FITS file (-o OUT.fits)", ["checksum", "sync"])
    together = layout.channel_maps is not None or layout.triptych
    if together and (layout.bare or set(suffixes) & set(FITS)):
        raise click.UsageError("--channel-maps and --triptych need pictures: .png, .svg or .pdf")
    refuse_together(ALONE)
    refuse_alone(over)
    statistics = maps.statistics
    endings = statistics if len(statistics) > 1 and not together else [""]
    if files.outputs.count(STDOUT) * len(endings) > 1:
        raise click.UsageError("-o - takes one map: a stream is one FITS file")
    for output in (_named(output, ending) for output in files.outputs for ending in endings):
        if stream_of(output) is None:
            check_output(output, overwrite=files.overwrite)

    def make(file: File) -> None:
        image = common.image(file)
        if maps.beam is not None:
            image = image.with_beam(maps.beam)
        reported: list[dict[str, Any]] = []
        map_maker = Maps(common, pixels.with_line(line), maps, pixels.line_of_values(line))
        if together:
            if layout.channel_maps is not None:
                figure = map_maker.channels(image, layout.channel_maps, drawing)
            else:
                planes = [plane for _, plane in map_maker.planes(image, statistics)]
                figure = _triptych(image, planes, drawing)
            return _save(figure, image, files, drawing, common.json)
        for name, plane in map_maker.planes(image, statistics):
            written = [
                _named(output, name if len(statistics) > 1 else "") for output in files.outputs
            ]
            for output, suffix in zip(written, suffixes, strict=True):
                if suffix in FITS:
                    files.write(plane, output)
                else:
                    _draw(common, image, plane, output, drawing, over, bare=layout.bare,
                          overwrite=files.overwrite)  # fmt: skip
            costs: dict[str, Any] = {}
            if files.report and plane.report is not None:
                costs = {"report": report_dict(plane.report)}
            if common.json:
                print_answer(_as_json(image, plane, written) | costs, *written)
                continue
            names = " ".join("stdout" if output == STDOUT else output for output in written)
            say(f"{names}: {plane.name} of {heading(image)}")
            # Moments share one pass, whose cost is reported once.
            if plane.report is not None and costs and costs not in reported:
                say(report_line(plane.report))
                reported.append(costs)
        return None

    return common.each(make)


#: Options with which others have no meaning: maps in one picture are drawn with fewer of them.
_OF_ONE_MAP = ("keep-axis", "report", "contours", "levels", *OVER)
ALONE = {
    "bare": ("contours", "levels", "scale-bar", *OVER, *PAPER),
    "channel-maps": ("triptych", "statistic", "moment", "peak-channel", "region", "threshold",
                     "mask", *_OF_ONE_MAP),
    "triptych": (*_OF_ONE_MAP, "limits", "percentile", "low", "high", "cmap", "label"),
}  # fmt: skip


def _triptych(image: Image, planes: list[Plane], drawing: Drawing) -> Any:
    from tachyfits.plot import figure

    return figure(
        planes, title=drawing.paper.titled(title(image, "")), scale_bar=drawing.bar, shared=False,
        columns=len(planes), figsize=drawing.paper.figsize, **drawing.colours,
    )  # fmt: skip


def _save(figure: Any, image: Image, files: Files, drawing: Drawing, json: bool) -> None:
    for output in files.outputs:
        drawing.paper.save(figure, output, overwrite=files.overwrite)
    if not json:
        say(f"{' '.join(files.outputs)}: {heading(image)}")
    else:
        click.echo(json_text(described(image, output=list(files.outputs))))


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


@dataclass(frozen=True)
class Maps:
    """The options that say how channels become maps."""

    common: Common
    pixels: PixelOptions
    options: MapOptions
    #: Unit, rest frequency and convention of coordinates.
    line: dict[str, Any]

    def planes(self, image: Image, names: list[str]) -> Iterator[tuple[str, Plane]]:
        """Make the requested maps, moments together, in the order of their names."""
        selection = self.pixels.selection
        map_options = self.options
        options = [
            map_options.threshold,
            map_options.mask,
            map_options.keep_axis or None,
            *self.line.values(),
        ]
        of_cubes = bool(
            names
            or selection.channels is not None
            or selection.regions
            or any(value is not None for value in options)
        )
        is_flat = sum(length > 1 for length in image.shape) <= 2
        if image.ndim >= 2 and (is_flat or (image.channel_axis is None and not of_cubes)):
            if of_cubes:
                raise usage(
                    f"{image.file.name}: HDU {image.index} is a picture: there is nothing to "
                    "collapse",
                    "use --section to select pixels, and leave out the options for cubes",
                )
            with self.common.meter("image") as progress:
                yield "pixels", image.plane(self.pixels.index(image), progress=progress)
            return
        cube = self.pixels.of(image, *self._conditions(image))
        orders = [name for name in names if name in MOMENTS]
        maps: dict[str, Plane] = {}
        if orders:
            numbers = [MOMENTS[name] for name in orders]
            with self.common.meter("moments") as progress:
                planes = cube.moments(
                    numbers, keep_axis=map_options.keep_axis, **self.line, progress=progress
                )
            maps = dict(zip(orders, planes, strict=True))
        for name in names or ["mean"]:
            if name not in maps:
                of_line = name.endswith("_coordinate")
                # Units are for coordinates: statistics beside moments have that of the pixels.
                line = self.line if of_line or not orders else {}
                with self.common.meter(name) as progress:
                    plane = cube.collapse(
                        cast("Any", name),
                        keep_axis=map_options.keep_axis,
                        **line,
                        progress=progress,
                    )
                maps[name] = _from_one(plane) if name.endswith("_channel") else plane
            yield name, maps[name]

    def _conditions(self, image: Image) -> list[Any]:
        """Return the mask and the threshold, in the unit of the values."""
        mask, threshold = self.options.mask, self.options.threshold
        conditions: list[Any] = [] if mask is None else [Path(mask)]
        if threshold is not None:
            conditions.append(threshold_of_values(image, threshold, self.line.get("unit")))
        return conditions

    def channels(self, image: Image, count: int, drawing: Drawing) -> Any:
        """Draw channels in one picture."""
        from tachyfits.plot import channel_figure

        with self.common.meter("channel maps"):
            return channel_figure(
                self.pixels.of(image), count=count, scale_bar=drawing.bar,
                title=drawing.paper.titled(title(image, "")), **self.line, **drawing.colours,
                **drawing.words,
            )  # fmt: skip


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
    common: Common, image: Image, plane: Plane, output: str, drawing: Drawing, over: Over, *,
    bare: bool, overwrite: bool,
) -> None:  # fmt: skip
    from tachyfits.plot import plane_figure, save_pixels

    if bare:
        save_pixels(plane, output, overwrite=overwrite, **drawing.colours)
        return
    name = "" if plane.name == "pixels" else plane.name
    options = drawing.options | over.options(common) | {"scale_bar": drawing.bar}
    named = drawing.paper.titled(title(image, name))
    drawing.paper.save(plane_figure(plane, title=named, **options), output, overwrite=overwrite)


def _as_json(image: Image, plane: Plane, outputs: list[str]) -> dict[str, Any]:
    good = plane.values[np.isfinite(plane.values)]
    return described(
        image,
        output=outputs[0] if len(outputs) == 1 else outputs,
        statistic=plane.name,
        output_naxis=list(reversed(plane.as_written()[0].shape)),
        output_unit=plane.unit,
        min=float(good.min()) if good.size else None,
        max=float(good.max()) if good.size else None,
    )
