"""`tachyfits view`: a file in the browser."""

from __future__ import annotations

from pathlib import Path

import click

from tachyfits.cli._serving import options, run


@click.command()
@click.argument("path", metavar="FILE", type=click.Path(exists=True, path_type=Path))
@options
def command(path: Path, **given: object) -> int:
    """Look at an image or a cube in the browser: a server for this file, and its page.

    Drag a region and its spectrum follows. The link has a token, without which no other user of
    this machine can see the file. Ctrl-C ends the server.

    \b
    Examples:
      tachyfits view cube.fits
      tachyfits view cubes/
    """
    return run((path,), browser=True, **given)
