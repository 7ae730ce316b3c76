"""`tachyfits cutout`: write a part of an image as a new file."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import click

from tachyfits import File
from tachyfits.cli._common import (
    Common,
    common_options,
    described,
    overwrite_option,
    refuse_without,
)
from tachyfits.cli._output import STDOUT, bytes_of, print_answer, say, written
from tachyfits.cli._parts import PixelOptions, part_options
from tachyfits.cli._written import drop_degenerate_option
from tachyfits.image import MODES, region_names


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
@click.option(
    "--each",
    is_flag=True,
    help="Write a file for each region: its label, or its number, goes before the ending: "
    "OUT-label.fits.",
)
@drop_degenerate_option
@overwrite_option
def command(
    common: Common,
    pixels: PixelOptions,
    mode: str,
    output: str,
    each: bool,
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
      tachyfits cutout cube.fits --region sources.reg --each -o source.fits --overwrite
      tachyfits cutout cube.fits --channels 40:90 -o - | tachyfits stats -
    """
    if pixels.is_whole:
        raise click.UsageError("give --region, --section, --channels or --pol")
    if not pixels.regions:
        refuse_without("--region", ["mode", "each"])
    if each and output == STDOUT:
        raise click.UsageError("-o - takes one image: a stream is one FITS file")

    def cut(file: File) -> None:
        image = common.image(file)
        shapes = [shape for _, parsed in pixels.regions for shape in parsed]
        regions = zip(region_names(shapes), shapes, strict=True) if each else [("", None)]
        for name, shape in regions:
            region = pixels.one_region() if shape is None else shape
            selection = replace(pixels.selection, regions=region, mode=mode)
            part = image.cutout(selection, drop_degenerate=drop_degenerate)
            path = _named(output, name)
            with common.meter("cutout") as progress:
                part.write(path, overwrite=overwrite, progress=progress)
            naxis = list(reversed(part.shape))
            if common.json:
                of = {"region": name} if each else {}
                answer = described(
                    image, **of, output=path, output_naxis=naxis, output_bytes=bytes_of(path)
                )
                print_answer(answer, path)
            else:
                say(written(path, f"{' x '.join(map(str, naxis))} pixels"))

    return common.each(cut)


def _named(output: str, name: str) -> str:
    """Return the output of a region: its name is appended to the stem.

    >>> _named("out/a.fits", "W3 (OH)/main"), _named("a.fits", "")
    ('out/a-W3_OH_main.fits', 'a.fits')
    """
    path = Path(output)
    safe_name = re.sub(r"[^\w.+-]+", "_", name).strip("_.")
    return str(path.with_name(f"{path.stem}-{safe_name}{path.suffix}")) if safe_name else output
