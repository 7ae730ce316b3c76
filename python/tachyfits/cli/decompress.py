"""`tachyfits decompress`: restore files from compressed tiles."""

from __future__ import annotations

import click

import tachyfits
from tachyfits import File
from tachyfits.cli._common import Common, common_options, overwrite_option
from tachyfits.cli.compress import tell
from tachyfits.writing import restored_hdus


@click.command()
@common_options()
@click.option(
    "-o",
    "--output",
    type=click.Path(),
    metavar="OUT",
    help="The new file, of one FILE. Default: the name of FILE without .fz. -: FITS on stdout.",
)
@click.option("--checksum", is_flag=True, help="Write DATASUM and CHECKSUM.")
@overwrite_option
def command(common: Common, output: str | None, checksum: bool, overwrite: bool) -> int:
    """Restore the images and tables of files from compressed tiles, as funpack does.

    An image that was the primary array becomes it again, with the cards of the empty HDU before it
    that it does not have; other HDUs are copied.

    \b
    Examples:
      tachyfits decompress small.fits.fz
      tachyfits decompress small.fits.fz -o plain.fits --overwrite
    """  # fmt: skip
    if common.hdu is not None:
        raise click.UsageError("--hdu does not apply: all HDUs of a file are written")
    if output is not None and len(common.files) > 1:
        raise click.UsageError("-o names the output of one FILE; leave it out for several")

    def decompress(file: File) -> None:
        path = common.path_of(file)
        name = output or path.removesuffix(".fz")
        if name == path:
            raise click.UsageError(f"name the new file with -o: {file.name} does not end in .fz")
        with common.meter("decompress") as progress:
            tachyfits.write(
                name, restored_hdus(file), checksum=checksum, overwrite=overwrite,
                threads=common.threads, progress=progress,
            )  # fmt: skip
        tell(common, file, name)

    return common.each(decompress)
