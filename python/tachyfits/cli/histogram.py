"""`tachyfits histogram`: counts in bins, as numbers or as a plot."""

from __future__ import annotations

from typing import Any

import click

from tachyfits import File, Histogram, Image
from tachyfits._writer import write_atomically
from tachyfits.cli._common import (
    Common,
    RegionOptions,
    SectionOption,
    common_options,
    described,
    heading,
    index_of,
    overwrite_option,
    region_option,
    regions_of,
    section_option,
    suffix_of,
)
from tachyfits.cli._output import columns_text, csv_text, json_text, say

COLUMNS = ("low", "high", "count")
DRAWN = (".png", ".svg", ".pdf")
WRITTEN = (".txt", ".csv", ".json")


@click.command()
@common_options()
@click.option(
    "--bins",
    type=click.IntRange(min=1, max=2**24),
    default=256,
    show_default=True,
    help="Number of bins, of equal width.",
)
@click.option(
    "--range",
    "limits",
    type=float,
    nargs=2,
    metavar="LOW HIGH",
    help="From LOW to HIGH, both inside. Default: from min to max (one more pass).",
)
@region_option
@section_option
@click.option("--log", is_flag=True, help="Draw the counts on a logarithmic axis.")
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="OUT",
    help="Write .txt, .csv or .json, or draw .png, .svg or .pdf.",
)
@overwrite_option
def command(
    common: Common,
    bins: int,
    limits: tuple[float, float] | None,
    regions: RegionOptions,
    section: SectionOption,
    log: bool,
    output: str | None,
    overwrite: bool,
) -> int:
    """Count the pixels in bins of equal width; a pixel in several regions counts once.

    \b
    Examples:
      tachyfits histogram cube.fits --bins 100 --range -0.01 0.05
      tachyfits histogram cube.fits --log -o histogram.png
      tachyfits histogram cube.fits --json | jq .counts
    """
    if output is not None and len(common.files) > 1:
        raise click.UsageError("one output cannot hold several files")
    suffix = suffix_of(output, WRITTEN + DRAWN) if output is not None else ""

    def show(file: File) -> None:
        image = common.image(file)
        with common.meter("histogram") as progress:
            histogram = image.histogram(
                bins,
                limits,
                section=index_of(section, image),
                region=regions_of(regions),
                progress=progress,
            )
        if suffix in DRAWN and output is not None:
            _draw(image, histogram, output, log=log, overwrite=overwrite)
            return
        text = _text(image, histogram, suffix or (".json" if common.json else ".txt"))
        if output is None:
            click.echo(text, nl=False)
        else:
            write_atomically(output, lambda s: s.write(text.encode()), overwrite=overwrite)

    return common.each(show)


def _draw(image: Image, histogram: Histogram, output: str, *, log: bool, overwrite: bool) -> None:
    from tachyfits.plot import histogram_figure, save_figure

    figure = histogram_figure(histogram, unit=image.unit, log=log, title=heading(image))
    save_figure(figure, output, overwrite=overwrite)


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
