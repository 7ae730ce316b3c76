"""`tachyfits pv`: position-velocity cut along a path, as FITS and as a picture."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import click

from tachyfits import File, Image, Region
from tachyfits.base import check_output, foreign_errors, usage
from tachyfits.cli._common import Common, common_options, refuse_without, suffix_of, title
from tachyfits.cli._group import packed
from tachyfits.cli._output import say
from tachyfits.cli._parts import (
    DRAWING,
    DRAWN,
    Drawing,
    PixelOptions,
    ValueUnit,
    drawing_options,
    part_options,
    value_unit_options,
)
from tachyfits.cli._syntax import PATH
from tachyfits.cli._written import Output, output_options


@dataclass(frozen=True)
class Path:
    """Options of the path."""

    points: tuple[str, list[tuple[float, float]] | Region]
    sky: bool

    def of(self, image: Image) -> Any:
        """Return the path as an argument of `Image.pv`."""
        _, points = self.points
        if isinstance(points, Region):
            if self.sky:
                raise click.UsageError("--sky is for points: a line names its frame")
            return points
        if not self.sky:
            return [(x - 1, y - 1) for x, y in points]
        coordinates = image.coordinates.sky
        if coordinates is None:
            raise usage(
                f"{image.file.name}: HDU {image.index} has no sky coordinates",
                "leave --sky out and give pixels, counted from 1",
            )
        longitudes, latitudes = zip(*points, strict=True)
        hint = "give longitude,latitude in degrees, or leave --sky out and give pixels"
        with foreign_errors("invalid --path", hint):
            from astropy.coordinates import SkyCoord

            frame = coordinates.astropy_frame
            return SkyCoord(list(longitudes), list(latitudes), unit="deg", frame=frame)


@dataclass(frozen=True)
class Samples:
    """Options of samples along the path."""

    width: int
    spacing: float


@click.command()
@common_options(many=False)
@click.option(
    "--path",
    "points",
    type=PATH,
    required=True,
    metavar="'X,Y X,Y ...'",
    help="Points of the path in pixels, counted from 1; with --sky in degrees. Or a line as a "
    "region: 'icrs; line(83.6,22.0,83.7,22.1)', or a region file with one.",
)
@click.option("--sky", is_flag=True, help="The points are longitude,latitude of the image's frame.")
@click.option(
    "--width",
    type=click.IntRange(1, 1024),
    default=1,
    show_default=True,
    metavar="PIXELS",
    help="Number of pixels across the path to average.",
)
@click.option(
    "--spacing",
    type=click.FloatRange(0, min_open=True),
    default=1.0,
    show_default=True,
    metavar="PIXELS",
    help="Distance between samples.",
)
@part_options("pol")
@value_unit_options
@click.option(
    "--png",
    "picture",
    type=click.Path(),
    metavar="OUT",
    help="Also draw a picture: .png, .svg or .pdf.",
)
@drawing_options
@output_options
@packed("path", Path)
@packed("samples", Samples)
def command(
    common: Common,
    path: Path,
    samples: Samples,
    pixels: PixelOptions,
    values: ValueUnit,
    picture: str | None,
    drawing: Drawing,
    output: Output,
) -> int:
    """Cut along a path through the planes of a cube: offset by velocity.

    The path is straight between its points, which may lie between pixels. A sample is interpolated
    between the four pixels around it; NaN, BLANK and what is beyond the image are left out. The
    offset is in degrees where the scale on the sky is the same along the path, else in pixels.

    \b
    Examples:
      tachyfits pv cube.fits --path '10,20 30,40' --width 3 -o pv.fits
      tachyfits pv cube.fits --path 'icrs; line(148.5,4.5,148.2,4.7)' -o pv.fits
      tachyfits pv cube.fits --path '10,20 30,40 60,45' -o bent.fits --png pv.png --contours
    """  # fmt: skip
    if picture is None:
        refuse_without("--png", DRAWING)
    else:
        suffix_of(picture, DRAWN)
        check_output(picture, overwrite=output.overwrite)

    def cut(file: File) -> None:
        source = common.image(file)
        image = values.of(pixels.of(source))
        diagram = image.pv(path.of(image), **asdict(samples))
        parameters = {"path": path.points[0], **asdict(samples)}
        if picture is None:
            output.write(common, diagram, "pv", source, **parameters)
            return
        from tachyfits.plot import pv_figure

        # Draw first: an error must occur before the file is written.
        paper = drawing.paper
        figure = pv_figure(
            diagram, title=paper.titled(title(source)), scale_bar=drawing.bar, **drawing.options
        )
        output.write(common, diagram, "pv", source, **parameters)
        paper.save(figure, picture, overwrite=output.overwrite)
        say(f"{picture}: drawn")

    return common.each(cut)
