"""`tachyfits serve`: files over HTTP, with a viewer page."""

from __future__ import annotations

from pathlib import Path

import click

from tachyfits.cli._serving import Served, options, run


@click.command()
@click.argument(
    "paths",
    metavar="PATH...",
    nargs=-1,
    required=True,
    type=Served(),
)
@options
def command(paths: tuple[Path | str, ...], **server_options: object) -> int:
    """Serve files and folders: a viewer page, and an HTTP API for programs.

    Files open without preloading: tiles, spectra and cutouts are computed from the bytes of the
    file on request. Only files below the given paths can be read, nothing is written
    there. The server binds to this machine alone; for any other address it makes a token, which the
    printed link holds. A URL serves a file of a web server, or a file or a folder of an object
    store, with the credentials of the environment.

    \b
    Examples:
      tachyfits serve cubes/
      tachyfits serve cube.fits --port 8080
      tachyfits serve s3://survey/cubes
      tachyfits serve /data/alma --host 0.0.0.0 --name archive.example.org
    """
    return run(paths, browser=False, **server_options)
