"""`tachyfits cutout`: a part of an image as a file of its own."""

from __future__ import annotations

from dataclasses import replace

import click

from tachyfits import File
from tachyfits.cli._common import (
    Common,
    common_options,
    described,
    overwrite_option,
    refuse_without,
)
from tachyfits.cli._output import bytes_of, print_answer, say, written
from tachyfits.cli._parts import PixelOptions, part_options
from tachyfits.image.rectangles import MODES


@click.command()
@common_options(many=False)
@part_options("regions", "section", "channels", "pol", rest=True)
@click.option(
    "--mode",
    type=click.Choice(MODES),
    default="trim",
    show_default=True,
    help="For a region that reaches beyond the image: trim leaves out what is beyond, partial "
    "fills it with NaN or BLANK, strict refuses it.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    required=True,
    metavar="OUT",
    help="The new file; it appears when it is complete. -: FITS on stdout.",
)
@click.option("--drop-degenerate", is_flag=True, help="Remove axes of length 1.")
@overwrite_option
def command(
    common: Common,
    pixels: PixelOptions,
    mode: str,
    output: str,
    drop_degenerate: bool,
    overwrite: bool,
) -> int:
    """Write a part of an image; the pixels keep their type, the header its coordinates.

    A range is a:b, a:b:step, a: to the end, a single pixel, or * for the whole axis; axes that are
    not named are taken whole. CRPIX, CDELT, CD or PC and LTV, LTM follow the section. Of a region,
    the box of pixels around those whose centres are inside is written.

    \b
    Examples:
      tachyfits cutout cube.fits --section '[100:200,50:60,1:10]' -o part.fits
      tachyfits cutout cube.fits --section '*:4,*:4' -o every-fourth.fits
      tachyfits cutout cube.fits --channels 40:90 -o line.fits --overwrite
      tachyfits cutout cube.fits --region 'icrs; circle(9:54:00,4.5,2arcmin)' -o source.fits
      tachyfits cutout cube.fits --channels '5..15 km/s' -o line.fits --overwrite
      tachyfits cutout cube.fits --channels 40:90 -o - | tachyfits stats -
    """
    if pixels.is_whole:
        raise click.UsageError("give --region, --section, --channels or --pol")
    if not pixels.regions:
        refuse_without("--region", ["mode"])

    def cut(file: File) -> None:
        image = common.image(file)
        selection = replace(pixels.selection, regions=pixels.one_region(), mode=mode)
        part = image._cutout(selection, drop_degenerate)
        with common.meter("cutout") as progress:
            part.write(output, overwrite=overwrite, progress=progress)
        naxis = list(reversed(part.shape))
        if common.json:
            told = described(
                image, output=output, output_naxis=naxis, output_bytes=bytes_of(output)
            )
            print_answer(told, output)
        else:
            say(written(output, f"{' x '.join(map(str, naxis))} pixels"))

    return common.each(cut)
