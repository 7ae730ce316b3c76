"""`tachyfits spectrum`: one number per channel, as text or as a plot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from tachyfits import File, Image, Spectrum
from tachyfits.cli._common import Common, common_options, described, title
from tachyfits.cli._group import packed
from tachyfits.cli._output import columns_text, csv_text, json_text, report_dict, report_line, say
from tachyfits.cli._parts import (
    Document,
    PixelOptions,
    beam_option,
    document_options,
    line_options,
    part_options,
)
from tachyfits.cli._syntax import SPECTRUM_STATISTICS, StatisticType
from tachyfits.cli._written import report_option
from tachyfits.text import PERCENTILES


@dataclass(frozen=True)
class Values:
    """Options of the values of a spectrum."""

    statistic: str
    weights: str | None
    beam: str | None


@click.command()
@common_options()
@part_options("regions", "channels", "pol", "section")
@click.option(
    "--statistic",
    type=StatisticType(SPECTRUM_STATISTICS),
    metavar="NAME",
    default="mean",
    show_default=True,
    help="Statistic of the pixels of a channel: one of "
    f"{', '.join(SPECTRUM_STATISTICS)}, {PERCENTILES}. flux: the sum of the pixels times their "
    "solid angle, in Jy for Jy/beam.",
)
@click.option(
    "--weights",
    type=click.Choice(["exact"]),
    help="Weight pixels by their share inside the region (sum, mean and flux), as photutils does. "
    "Default: pixels whose centre is inside.",
)
@line_options
@beam_option
@click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values.")
@report_option
@document_options
@packed("values", Values)
def command(
    common: Common,
    pixels: PixelOptions,
    values: Values,
    as_csv: bool,
    report: bool,
    document: Document,
    **line: Any,
) -> int:
    """Reduce every channel of a cube, over regions or over every pixel.

    The spectral axis is the first of a spectral CTYPE, else NAXIS3; its values are in CUNIT, or in
    --unit, and pixel numbers (from 1) where it has no coordinate. Pixels are in BUNIT, or in
    --unit. A fourth axis longer than 1 must be cut to one value by --section.

    \b
    Examples:
      tachyfits spectrum cube.fits --region 'circle(512,480,12)'
      tachyfits spectrum cube.fits --region 'box(90,90,5,5)' --statistic sum --channels 40:90
      tachyfits spectrum cube.fits --region 'icrs; circle(9:54:00,4.5,2arcmin)'
      tachyfits spectrum cube.fits --channels '5..15 km/s'
      tachyfits spectrum cube.fits --unit km/s --rest '1.420405752 GHz'
      tachyfits spectrum cube.fits --region 'circle(512,480,12)' --statistic flux --unit mJy,km/s
      tachyfits spectrum cube.fits --region 'circle(512,480,12)' --unit K
      tachyfits spectrum cube.fits --region 'circle(512,480,12)' -o spectrum.svg
    """
    if as_csv and (common.json or document.suffix not in ("", ".csv")):
        option = "--json" if common.json else f"-o {document.path}"
        raise click.UsageError(f"--csv does not go with {option}: use one of them")
    document.check(common)

    pixels = pixels.with_line(line)
    options = {
        "statistic": values.statistic, "weights": values.weights, **pixels.line_of_values(line),
    }  # fmt: skip

    def show(file: File) -> None:
        image = common.image(file)
        if values.beam is not None:
            image = image.with_beam(values.beam)
        with common.meter("spectrum") as progress:
            result = pixels.of(image).spectrum(**options, progress=progress)
        spectra = result if isinstance(result, list) else [result]
        cost = spectra[0].report if report else None
        suffix = document.suffix or (".json" if common.json else ".csv" if as_csv else ".txt")
        if cost is not None and suffix != ".json":
            say(report_line(cost))
        if document.is_drawn:
            from tachyfits.plot import spectrum_figure

            paper = document.paper
            figure = spectrum_figure(
                spectra, title=paper.titled(title(image)), labels=paper.labels or pixels.labels,
                figsize=paper.figsize,
            )  # fmt: skip
            document.draw(figure)
        else:
            numbers = _channel_numbers(image, pixels)
            costs = {} if cost is None else {"report": report_dict(cost)}
            document.write(_text(image, spectra, numbers, pixels.labels, suffix, costs))
        document.tell(common, image)

    return common.each(show)


def _channel_numbers(image: Image, pixels: PixelOptions) -> list[int]:
    """Return the channel numbers, counted from 1."""
    axis = image.coordinates.required_channel_axis()
    return [pixel + 1 for pixel in range(image.shape[axis])[pixels.index(image)[axis]]]


def _text(
    image: Image,
    spectra: list[Spectrum],
    numbers: list[int],
    labels: list[str],
    suffix: str,
    costs: dict[str, Any],
) -> str:
    """Return the spectra as text in the format of a suffix."""
    first = spectra[0]
    coordinates = first.axis.values
    if suffix == ".json":
        return json_text(_as_json(image, spectra, numbers, labels, coordinates) | costs) + "\n"
    axis_unit = f"[{first.axis.unit}]".replace(" ", ".") if first.axis.unit else ""
    names = ["channel", f"{first.axis.name}{axis_unit}"]
    unit = f"[{first.unit}]".replace(" ", "") if first.unit else ""
    names += [f"{first.statistic}{unit}{':' + label if label else ''}" for label in labels]
    columns = [np.array(numbers), coordinates, *(spectrum.values for spectrum in spectra)]
    rows = list(zip(*columns, strict=True))
    return csv_text(names, rows) if suffix == ".csv" else columns_text(names, rows) + "\n"


def _as_json(
    image: Image,
    spectra: list[Spectrum],
    numbers: list[int],
    labels: list[str],
    coordinates: Any,
) -> dict[str, Any]:
    first = spectra[0]
    return described(
        image,
        unit=first.unit,
        statistic=first.statistic,
        channels=numbers,
        axis={"name": first.axis.name, "unit": first.axis.unit, "values": coordinates},
        spectra=[
            {"region": label or None, "values": spectrum.values}
            for label, spectrum in zip(labels, spectra, strict=True)
        ],
    )
