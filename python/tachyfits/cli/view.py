"""`tachyfits view`: a file in the browser."""

from __future__ import annotations

from pathlib import Path

import click

from tachyfits.cli._serving import Served, options, run


@click.command()
@click.argument(
    "paths",
    metavar="FILE...",
    nargs=-1,
    required=True,
    type=Served(),
)
@options
def command(paths: tuple[Path | str, ...], **server_options: object) -> int:
    """Look at images and cubes in the browser: a server for these files, and its page.

    Drag a region and its spectrum follows. Two to four files are shown side by side, matched by
    the sky; more are in the page's list. The link has a token, without which no other user of
    this machine can see the files. Ctrl-C ends the server.

    \b
    Examples:
      tachyfits view cube.fits
      tachyfits view co.fits hi.fits
      tachyfits view cubes/
      tachyfits view https://archive.org/cube.fits
    """
    return run(paths, browser=True, **server_options)
