"""`tachyfits histogram`: counts in bins, as numbers or as a plot."""

from __future__ import annotations

from typing import Any

import click

from tachyfits import File, Histogram, Image
from tachyfits.cli._common import Common, common_options, described, refuse_without, title
from tachyfits.cli._output import columns_text, csv_text, json_text, say
from tachyfits.cli._parts import Document, PixelOptions, document_options, part_options

COLUMNS = ("low", "high", "count")


@click.command()
@common_options()
@click.option(
    "--bins",
    type=click.IntRange(min=1, max=2**24),
    help="Number of bins, of equal width. Default: 256; for integers at most 256 of whole width.",
)
@click.option(
    "--range",
    "limits",
    type=float,
    nargs=2,
    metavar="LOW HIGH",
    help="Range from LOW to HIGH, both included. Default: from min to max (one more pass).",
)
@part_options("regions", "section", "channels", "pol", rest=True)
@click.option(
    "--log/--linear",
    default=None,
    help="Scale of the drawn counts. Default: log if most bins would be too low to see.",
)
@document_options
def command(
    common: Common,
    bins: int | None,
    limits: tuple[float, float] | None,
    pixels: PixelOptions,
    log: bool | None,
    document: Document,
) -> int:
    """Count the pixels in bins of equal width; a pixel in several regions counts once.

    \b
    Examples:
      tachyfits histogram cube.fits --bins 100 --range -0.01 0.05
      tachyfits histogram cube.fits --log -o histogram.png
      tachyfits histogram cube.fits --json | jq .counts
    """
    if not document.is_drawn:
        refuse_without("a picture (-o OUT.png)", ["log"])
    document.check(common)

    def show(file: File) -> None:
        image = common.image(file)
        with common.meter("histogram") as progress:
            histogram = pixels.of(image).histogram(bins, limits, progress=progress)
        if document.is_drawn:
            from tachyfits.plot import histogram_figure

            figure = histogram_figure(histogram, unit=image.unit, log=log, title=title(image))
            document.draw(figure)
        else:
            suffix = document.suffix or (".json" if common.json else ".txt")
            document.write(_text(image, histogram, suffix))
        document.tell(common, image)

    return common.each(show)


def _text(image: Image, histogram: Histogram, suffix: str) -> str:
    edges, counts = histogram.edges, histogram.counts
    rows = list(zip(edges[:-1], edges[1:], counts, strict=True))
    if suffix == ".json":
        return json_text(_as_json(image, histogram)) + "\n"
    if suffix == ".csv":
        return csv_text(COLUMNS, rows)
    say(f"below {histogram.below}, above {histogram.above}, nan {histogram.nan}")
    return columns_text(COLUMNS, rows) + "\n"


def _as_json(image: Image, histogram: Histogram) -> dict[str, Any]:
    return described(
        image,
        counts=histogram.counts,
        edges=histogram.edges,
        below=histogram.below,
        above=histogram.above,
        nan=histogram.nan,
    )
