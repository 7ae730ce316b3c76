"""`tachyfits histogram`: count pixels in bins, as numbers or as a plot."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from tachyfits import Columns, File, Histogram, Image
from tachyfits.cli._common import Common, common_options, described, refuse_without, title
from tachyfits.cli._output import columns_text, csv_text, json_text, say
from tachyfits.cli._parts import (
    Document,
    PixelOptions,
    ValueUnit,
    drawn_rows_options,
    part_options,
    value_unit_options,
)
from tachyfits.table import columns_of

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
@value_unit_options
@click.option(
    "--log/--linear",
    default=None,
    help="Scale of the drawn counts. Default: log if most bins would be too low to see.",
)
@click.option(
    "--per-region", is_flag=True, help="Count the pixels of each region for itself, in one table."
)
@drawn_rows_options
def command(
    common: Common,
    bins: int | None,
    limits: tuple[float, float] | None,
    pixels: PixelOptions,
    values: ValueUnit,
    log: bool | None,
    per_region: bool,
    document: Document,
) -> int:
    """Count the pixels in bins of equal width; a pixel in several regions counts once.

    With --per-region each region has a column of its own, in the same bins.

    \b
    Examples:
      tachyfits histogram cube.fits --bins 100 --range -0.01 0.05
      tachyfits histogram cube.fits --log -o histogram.png
      tachyfits histogram cube.fits --json | jq .counts
      tachyfits histogram cube.fits --region sources.reg --per-region -o counts.csv
    """
    if not document.is_drawn:
        refuse_without("a picture (-o OUT.png)", ["log"])
    document.check(common)
    if per_region and document.is_drawn:
        raise click.UsageError("--per-region does not go with a picture: write a table")
    if per_region and not pixels.regions:
        raise click.UsageError("--per-region: only with --region")

    def show(file: File) -> None:
        source = common.image(file)
        image = values.of(source)
        if per_region:
            with common.meter("histogram") as progress:
                columns = pixels.of(image).histograms(bins=bins, range=limits, progress=progress)
            _write(source, columns, document, common)
            return
        with common.meter("histogram") as progress:
            histogram = pixels.of(image).histogram(bins, limits, progress=progress)
        if document.is_drawn:
            from tachyfits.plot import histogram_figure

            paper = document.paper
            figure = histogram_figure(
                histogram, unit=image.unit, log=log, title=paper.titled(title(source)),
                label=paper.label, figsize=paper.figsize,
            )  # fmt: skip
            document.draw(figure)
        elif document.is_table:
            edges, counts = histogram.edges, histogram.counts.astype(np.int64)
            arrays = {"low": edges[:-1], "high": edges[1:], "count": counts}
            columns = columns_of(arrays, {"low": image.unit, "high": image.unit})
            columns.write(document.path or "", overwrite=document.overwrite)
        else:
            suffix = document.suffix or (".json" if common.json else ".txt")
            document.write(_text(source, histogram, image.unit, suffix))
        document.tell(common, source)

    return common.each(show)


def _write(image: Image, columns: Columns, document: Document, common: Common) -> None:
    """Write or print the histograms of regions."""
    suffix = document.suffix or (".json" if common.json else ".txt")
    if document.is_table:
        columns.write(document.path or "", overwrite=document.overwrite)
    elif suffix == ".json":
        low, high = columns["low"], columns["high"]
        counts = [{"region": name, "counts": values} for name, values in columns.items()
                  if name not in ("low", "high")]  # fmt: skip
        edges = np.concatenate([low[:1], high])
        document.write(json_text(described(image, edges=edges, histograms=counts)) + "\n")
    else:
        rows = list(zip(*columns.values(), strict=True))
        names = ["".join(name.split()) for name in columns]
        csv = suffix == ".csv"
        document.write(csv_text(list(columns), rows) if csv else columns_text(names, rows) + "\n")
    document.tell(common, image)


def _text(image: Image, histogram: Histogram, unit: str | None, suffix: str) -> str:
    edges, counts = histogram.edges, histogram.counts
    rows = list(zip(edges[:-1], edges[1:], counts, strict=True))
    if suffix == ".json":
        return json_text(_as_json(image, histogram, unit)) + "\n"
    if suffix == ".csv":
        return csv_text(COLUMNS, rows)
    say(f"below {histogram.below}, above {histogram.above}, nan {histogram.nan}")
    return columns_text(COLUMNS, rows) + "\n"


def _as_json(image: Image, histogram: Histogram, unit: str | None) -> dict[str, Any]:
    return described(
        image,
        unit=unit,
        counts=histogram.counts,
        edges=histogram.edges,
        below=histogram.below,
        above=histogram.above,
        nan=histogram.nan,
    )
