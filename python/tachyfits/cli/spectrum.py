"""`tachyfits spectrum`: a number for each channel, as text or as a plot."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from tachyfits import File, Image, Spectrum, statistics
from tachyfits._writer import write_atomically
from tachyfits.cli._common import (
    ChannelsOption,
    Common,
    RegionOptions,
    SectionOption,
    channels_option,
    common_options,
    described,
    heading,
    index_of,
    overwrite_option,
    region_option,
    regions_of,
    section_option,
    slice_of,
    suffix_of,
)
from tachyfits.cli._output import columns_text, csv_text, json_text

DRAWN = (".png", ".svg", ".pdf")
WRITTEN = (".txt", ".csv", ".json")


@click.command()
@common_options()
@region_option
@click.option(
    "--statistic",
    type=click.Choice([name for name, _ in statistics()]),
    default="mean",
    show_default=True,
    help="What is made of the pixels of a channel.",
)
@channels_option
@section_option
@click.option("--csv", "as_csv", is_flag=True, help="Print comma-separated values.")
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
    regions: RegionOptions,
    statistic: str,
    channels: ChannelsOption,
    section: SectionOption,
    as_csv: bool,
    output: str | None,
    overwrite: bool,
) -> int:
    """Reduce every channel of a cube, over regions or over every pixel.

    The spectral axis is the first of a spectral CTYPE, else NAXIS3; its values are in CUNIT where
    the header describes a linear axis, pixel numbers (from 1) otherwise. A fourth axis longer than
    1 must be cut to one value by --section.

    \b
    Examples:
      tachyfits spectrum cube.fits --region 'circle(512,480,12)'
      tachyfits spectrum cube.fits --region 'box(90,90,5,5)' --statistic sum --channels 40:90
      tachyfits spectrum cube.fits --region 'circle(512,480,12)' -o spectrum.svg
    """
    if output is not None and len(common.files) > 1:
        raise click.UsageError("one output cannot hold several files")
    if as_csv and common.json:
        raise click.UsageError("choose one of --csv and --json")
    suffix = suffix_of(output, WRITTEN + DRAWN) if output is not None else ""

    def show(file: File) -> None:
        image = common.image(file)
        numbers = _channel_numbers(image, channels, section)
        spectra = _spectra(common, image, regions, statistic, channels, section)
        if suffix in DRAWN and output is not None:
            from tachyfits.plot import save_figure, spectrum_figure

            figure = spectrum_figure(spectra, title=heading(image), labels=_labels(regions))
            save_figure(figure, output, overwrite=overwrite)
            return
        chosen = suffix or (".json" if common.json else ".csv" if as_csv else ".txt")
        text = _text(image, spectra, numbers, _labels(regions), chosen)
        if output is None:
            click.echo(text, nl=False)
        else:
            write_atomically(output, lambda s: s.write(text.encode()), overwrite=overwrite)

    return common.each(show)


def _spectra(
    common: Common,
    image: Image,
    regions: RegionOptions,
    statistic: str,
    channels: ChannelsOption,
    section: SectionOption,
) -> list[Spectrum]:
    with common.meter("spectrum") as progress:
        chosen = regions_of(regions)
        options: dict[str, Any] = {
            "statistic": statistic,
            "channels": slice_of(channels, image),
            "section": index_of(section, image),
            "progress": progress,
        }
        if chosen is None:
            return [image.spectrum(**options)]
        return image.spectrum(chosen, **options)


def _channel_numbers(image: Image, channels: ChannelsOption, section: SectionOption) -> list[int]:
    """Return the channels, counted from 1."""
    axis = image.spectral_axis
    index = index_of(section, image)
    piece = slice_of(channels, image) or (index[axis] if index else slice(None))
    return [pixel + 1 for pixel in range(image.shape[axis])[piece]]


def _labels(regions: RegionOptions) -> list[str]:
    return ["".join(text.split()) for text, _ in regions] or [""]


def _text(
    image: Image, spectra: list[Spectrum], numbers: list[int], labels: list[str], suffix: str
) -> str:
    """Return the spectra in one of the written formats."""
    first = spectra[0]
    coordinates = first.axis.values
    if first.axis.unit == "pixel":
        # Pixels are counted from 1 on the command line.
        coordinates = coordinates + 1
    if suffix == ".json":
        return json_text(_as_json(image, spectra, numbers, labels, coordinates)) + "\n"
    names = ["channel", f"{first.axis.name}[{first.axis.unit}]"]
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
