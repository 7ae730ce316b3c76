"""`tachyfits image`: channels collapsed into a picture, as FITS or as PNG."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from tachyfits import File, Image, Plane, statistics
from tachyfits._errors import usage
from tachyfits.cli._common import (
    ChannelsOption,
    Common,
    SectionOption,
    channels_option,
    common_options,
    described,
    heading,
    index_of,
    overwrite_option,
    section_option,
    slice_of,
    suffix_of,
)
from tachyfits.cli._output import json_text, say

MOMENTS = {"moment0": 0, "moment1": 1, "moment2": 2}
STATISTICS = [*(name for name, _ in statistics()), *MOMENTS]
STRETCHES = ("linear", "log", "asinh", "sqrt")
DRAWN = (".png", ".svg", ".pdf")
FITS = (".fits", ".fit", ".fts")


@click.command()
@common_options(many=False)
@click.option(
    "--statistic",
    type=click.Choice(STATISTICS),
    metavar="NAME",
    help=f"One of {', '.join(STATISTICS)}. Default: mean. moment0 is the integral, "
    "moment1 the mean coordinate, moment2 the dispersion.",
)
@channels_option
@section_option
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    required=True,
    metavar="OUT",
    help="The picture: .fits, or drawn as .png, .svg or .pdf.",
)
@overwrite_option
@click.option(
    "--stretch",
    type=click.Choice(STRETCHES),
    default="linear",
    show_default=True,
    help="How values become colours.",
)
@click.option(
    "--percentile",
    type=click.FloatRange(50, 100, min_open=True),
    metavar="P",
    help="Cut at this percentile, and as much below. Default: from min to max.",
)
@click.option("--low", type=float, metavar="VALUE", help="The value of the first colour.")
@click.option("--high", type=float, metavar="VALUE", help="The value of the last colour.")
@click.option("--cmap", metavar="NAME", help="A colour map that matplotlib knows.")
@click.option(
    "--bare", is_flag=True, help="Only the pixels, one for one, y upwards; no axes, no colour bar."
)
def command(
    common: Common,
    statistic: str | None,
    channels: ChannelsOption,
    section: SectionOption,
    output: str,
    overwrite: bool,
    **drawing: Any,
) -> int:
    """Collapse the spectral axis of a cube into a picture. A picture is drawn as it is.

    Axes have the sky's coordinates and the colour bar the unit; the beam (BMAJ, BMIN, BPA) is in
    the corner where the header gives one.

    \b
    Examples:
      tachyfits image cube.fits --channels 40:90 --statistic moment0 -o moment0.fits
      tachyfits image cube.fits --statistic max --stretch asinh --percentile 99.5 -o max.png
      tachyfits image cube.fits --channels 40:90 --statistic moment1 --cmap RdBu_r -o velocity.png
    """
    suffix = suffix_of(output, FITS + DRAWN)
    if drawing["bare"] and suffix != ".png":
        raise click.UsageError("--bare needs an output that ends in .png")

    def make(file: File) -> None:
        image = common.image(file)
        with common.meter("image") as progress:
            plane = _plane(image, statistic, channels, section, progress)
        if suffix in FITS:
            plane.write(output, overwrite=overwrite)
        else:
            _draw(plane, output, overwrite=overwrite, **drawing)
        if common.json:
            click.echo(json_text(_as_json(image, plane, output)))
        else:
            say(f"{output}: {plane.name} of {heading(image)}")

    return common.each(make)


def _plane(
    image: Image,
    statistic: str | None,
    channels: ChannelsOption,
    section: SectionOption,
    progress: Any,
) -> Plane:
    index = index_of(section, image)
    if sum(length > 1 for length in image.shape) <= 2 and image.ndim >= 2:
        if statistic is not None or channels is not None:
            raise usage(
                f"{image.file.name}: HDU {image.index} is a picture: there is nothing to collapse",
                "leave --statistic and --channels out",
            )
        return image.plane(index, progress=progress)
    options: dict[str, Any] = {
        "channels": slice_of(channels, image),
        "section": index,
        "progress": progress,
    }
    name = statistic or "mean"
    if name in MOMENTS:
        return image.moment(MOMENTS[name], **options)
    return image.image(name, **options)


def _draw(plane: Plane, output: str, *, overwrite: bool, bare: bool, **drawing: Any) -> None:
    from tachyfits.plot import colormap_of, plane_figure, save_figure, save_pixels

    # An unknown colour map should fail by name, before anything is drawn.
    colormap = colormap_of(drawing.pop("cmap"), plane)
    if bare:
        save_pixels(plane, output, colormap=colormap, overwrite=overwrite, **drawing)
    else:
        figure = plane_figure(plane, colormap=colormap, **drawing)
        save_figure(figure, output, overwrite=overwrite)


def _as_json(image: Image, plane: Plane, output: str) -> dict[str, Any]:
    good = plane.values[np.isfinite(plane.values)]
    return described(
        image,
        output=output,
        statistic=plane.name,
        output_naxis=list(reversed(plane.shape)),
        output_unit=plane.unit,
        min=float(good.min()) if good.size else None,
        max=float(good.max()) if good.size else None,
    )
