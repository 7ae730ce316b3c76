"""`tachyfits rebin`: combine blocks of pixels."""

from __future__ import annotations

from typing import get_args

import click

from tachyfits import File
from tachyfits.base import usage
from tachyfits.cli._common import Common, common_options
from tachyfits.cli._parts import PixelOptions, part_options
from tachyfits.cli._written import Output, output_options
from tachyfits.image import BlockStatistic, Remainder


@click.command()
@common_options(many=False)
@click.argument("block", metavar="NX NY ...", nargs=-1, required=True, type=click.IntRange(min=1))
@click.option(
    "--statistic",
    type=click.Choice(get_args(BlockStatistic)),
    default="mean",
    show_default=True,
    help="Statistic of the defined pixels of a block; NaN if it has none.",
)
@click.option(
    "--partial",
    type=click.Choice(get_args(Remainder)),
    default="drop",
    show_default=True,
    help="Incomplete blocks at the end of an axis: drop them or keep them as a pixel.",
)
@part_options("pol")
@output_options
def command(
    common: Common, block: tuple[int, ...], statistic: BlockStatistic, partial: Remainder,
    pixels: PixelOptions, output: Output,
) -> int:  # fmt: skip
    """Make one pixel of each block of NX by NY by ... pixels; coordinates follow.

    Axes that are not named stay as they are. NaN and BLANK are left out of every block.
    CASA's imrebin and astropy's block_reduce drop what is left at the end of an axis too.

    \b
    Examples:
      tachyfits rebin cube.fits 2 2 1 -o half.fits
      tachyfits rebin cube.fits 1 1 5 --statistic sum --partial keep -o channels.fits
      tachyfits rebin cube.fits 3 3 --statistic median -o median.fits --overwrite
    """  # fmt: skip

    def rebin(file: File) -> None:
        image = common.image(file)
        if len(block) > image.ndim:
            raise usage(
                f"a block of {len(block)} axes for an image of {image.ndim}",
                "give the pixels of a block along each axis, x (NAXIS1) first",
            )
        sizes = [*reversed(block)]
        sizes = [1] * (image.ndim - len(sizes)) + sizes
        rebinned = pixels.of(image).rebin(sizes, statistic=statistic, partial=partial)
        output.write(common, rebinned, "rebin", image, block=list(block), statistic=statistic)

    return common.each(rebin)
