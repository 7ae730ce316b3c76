"""`tachyfits reorder`: change the order of axes."""

from __future__ import annotations

import click

from tachyfits import File
from tachyfits.cli._common import Common, common_options
from tachyfits.cli._parts import PixelOptions, part_options
from tachyfits.cli._written import Output, output_options


@click.command()
@common_options(many=False)
@click.argument("order", metavar="ORDER")
@part_options("pol")
@output_options
def command(common: Common, order: str, pixels: PixelOptions, output: Output) -> int:
    """Put the axes of an image in another order, pixels bit for bit, at any size.

    ORDER names the old axes in their new order: zxy makes z the new x, x the new y, y the new z.
    Numbers do too, as MIRIAD's reorder has them: 312. Keywords of axes get their new numbers.

    \b
    Examples:
      tachyfits reorder cube.fits zxy -o spectra.fits
      tachyfits reorder cube.fits 132 -o xzy.fits --checksum
    """  # fmt: skip

    def reorder(file: File) -> None:
        image = common.image(file)
        output.write(common, pixels.of(image).reorder(order), "reorder", image, order=order)

    return common.each(reorder)
