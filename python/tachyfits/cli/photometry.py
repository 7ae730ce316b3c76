"""`tachyfits photometry`: background-subtracted fluxes of regions of an image, with errors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import click

from tachyfits import File, Image, Photometry, region
from tachyfits.cli._common import Common, common_options, described
from tachyfits.cli._group import packed
from tachyfits.cli._output import columns_text, csv_text, json_text
from tachyfits.cli._parts import (
    WRITTEN,
    Document,
    PixelOptions,
    beam_option,
    document_options,
    part_options,
)
from tachyfits.text import parse_numbers

COLUMNS = ("flux", "error", "area", "background", "noise")


@dataclass(frozen=True)
class Measure:
    """Options of the measurement: background, noise and unit."""

    background: str | None
    noise: str | None
    unit: str | None
    frequency: str | None
    beam: str | None
    centres: bool

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of `Image.photometry`."""
        radii = None if self.background is None else parse_numbers(self.background)
        ring: Any = None
        if self.background is not None:
            ring = radii if radii is not None and len(radii) == 2 else region(self.background)
        return {
            "background": ring, "noise": self.noise, "unit": self.unit, "beam": self.beam,
            "frequency": self.frequency, "weights": None if self.centres else "exact",
        }  # fmt: skip


@click.command()
@common_options()
@part_options("regions", "channels", "pol", "section")
@click.option(
    "--background",
    metavar="R1,R2|SHAPE",
    help="Subtract the median of a ring of these radii in pixels about each region, or of a shape.",
)
@click.option(
    "--noise",
    metavar="VALUE",
    help="Noise of a pixel, as 0.2 or '0.2 mJy/beam'. Default: that of the background.",
)
@click.option("--unit", metavar="UNIT", help="Unit of the fluxes: Jy, mJy, 'mag(AB)'.")
@click.option("--frequency", metavar="VALUE", help="Frequency where the unit needs it: '1.4 GHz'.")
@beam_option
@click.option(
    "--centres", is_flag=True, help="Count pixels whose centre is inside, and not shares of them."
)
@click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values.")
@document_options
@packed("measure", Measure)
def command(
    common: Common, pixels: PixelOptions, measure: Measure, as_csv: bool, document: Document
) -> int:
    """Measure the flux of regions of an image of two axes, or of one channel.

    The flux is the sum of the pixels times their solid angle, less the background. Pixels on the
    border count by their share inside. The error is that of the noise of the pixels and of the
    background; within a beam the noise is alike.

    \b
    Examples:
      tachyfits photometry image.fits --region 'circle(512,480,6)' --background 9,14
      tachyfits photometry image.fits --region sources.reg --background 9,14 --unit 'mag(AB)'
      tachyfits photometry image.fits --region sources.reg --noise '20 uJy/beam' --unit mJy --csv
    """
    if as_csv and (common.json or document.suffix not in ("", ".csv")):
        raise click.UsageError("--csv does not go with another form: use one of them")
    if document.suffix not in ("", *WRITTEN):
        raise click.UsageError(f"fluxes are not drawn: expected {', '.join(WRITTEN)}")
    if pixels.selection.regions is None:
        raise click.UsageError("give --region")
    document.check(common)

    def show(file: File) -> None:
        image = common.image(file)
        result = _plane(image, pixels).photometry(pixels.selection.regions, **measure.options)
        suffix = document.suffix or (".json" if common.json else ".csv" if as_csv else ".txt")
        document.write(_text(image, pixels.names, result, suffix))
        document.tell(common, image)

    return common.each(show)


def _plane(image: Image, pixels: PixelOptions) -> Image:
    """Return the plane selected by the options other than regions."""
    selection = replace(pixels.selection, regions=None)
    return image if selection.keeps_axes else image.select(selection)


def _text(image: Image, names: list[str], result: Photometry, suffix: str) -> str:
    table = result.to_dict() | {"region": names}
    if suffix == ".json":
        return json_text(described(image, photometry=table)) + "\n"
    units = [table["flux_unit"], table["error_unit"], "pixels", result.unit, result.unit]
    heads = [
        f"{name}[{unit}]".replace(" ", "") if unit else name
        for name, unit in zip(COLUMNS, units, strict=True)
    ]
    rows = list(zip(table["region"], *(table[name] for name in COLUMNS), strict=True))
    if suffix == ".csv":
        return csv_text(["region", *heads], rows)
    return columns_text(["region", *heads], rows) + "\n"
