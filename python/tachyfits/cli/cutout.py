"""`tachyfits cutout`: a part of an image as a file of its own."""

from __future__ import annotations

from pathlib import Path

import click

from tachyfits import File
from tachyfits.cli._common import Common, common_options, described, overwrite_option
from tachyfits.cli._output import json_text, say, size_text
from tachyfits.cli._parts import Part, part_options


@click.command()
@common_options(many=False)
@part_options("section", "channels")
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    required=True,
    metavar="OUT",
    help="The new file; it appears when it is complete.",
)
@click.option("--drop-degenerate", is_flag=True, help="Remove axes of length 1.")
@overwrite_option
def command(
    common: Common,
    part: Part,
    output: str,
    drop_degenerate: bool,
    overwrite: bool,
) -> int:
    """Write a part of an image; the pixels keep their type, the header its coordinates.

    A range is a:b, a:b:step, a single pixel, or * for the whole axis; axes that are not named are
    taken whole. CRPIX, CDELT, CD or PC and LTV, LTM follow the section.

    \b
    Examples:
      tachyfits cutout cube.fits --section '[100:200,50:60,1:10]' -o part.fits
      tachyfits cutout cube.fits --section '*:4,*:4' -o every-fourth.fits
      tachyfits cutout cube.fits --channels 40:90 -o line.fits --overwrite
    """
    if part.is_whole:
        raise click.UsageError("give --section or --channels")

    def cut(file: File) -> None:
        image = common.image(file)
        slices = part.slices(image)
        with common.meter("cutout") as progress:
            image.cutout(
                slices,
                output,
                drop_degenerate=drop_degenerate,
                overwrite=overwrite,
                progress=progress,
            )
        size = Path(output).stat().st_size
        shape = [len(range(n)[s]) for n, s in zip(image.shape, slices, strict=True)]
        if common.json:
            naxis = list(reversed(shape))
            answer = described(image, output=output, output_naxis=naxis, output_bytes=size)
            click.echo(json_text(answer))
        else:
            say(f"{output}: {' x '.join(map(str, reversed(shape)))} pixels, {size_text(size)}")

    return common.each(cut)
