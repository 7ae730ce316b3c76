"""The command line: `tachyfits COMMAND FILE ...`.

A command is a module of this package with a click command named ``command``, listed in
``COMMANDS``. A module is imported when its command runs, to keep other commands fast.
The command line uses FITS coordinates: x first, counted from 1, both ends included.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any

import click

from tachyfits import TachyfitsError
from tachyfits.base import option_hint, set_on_command_line
from tachyfits.cli._failures import complain, unwritten
from tachyfits.cli._group import Group
from tachyfits.cli._output import warnings_said

#: Commands and their descriptions, by purpose, as listed by ``tachyfits --help``.
SECTIONS = {
    "Look at files": {
        "info": "list the HDUs of files: shape, type, unit, size, warnings",
        "header": "print or change a header, or single keywords of it",
        "table": "show a table, choose columns and rows, write FITS, CSV, Parquet, VOTable",
        "match": "join two tables by position: nearest or all within a radius, inner or left",
        "collapse": "make one picture of channels: mean, max, moments; or draw one; FITS or PNG",
        "figure": "draw images, moments, diagrams and spectra as the panels of one picture",
    },
    "Measure": {
        "stats": "count, sum, mean, rms, std, min, max; median, percentiles, robust rms; per plane",
        "photometry": "measure the flux of regions of an image: background, error, Jy or mag(AB)",
        "histogram": "count the pixels in bins of equal width, or plot them",
        "spectrum": "reduce every channel of a cube to a number, or plot the spectrum",
        "fit": "fit Gaussians and baselines to spectra of regions or of every pixel",
    },
    "Make new images": {
        "cutout": "write a part of an image as a FITS file with right coordinates",
        "math": "compute an expression over images, spectra and numbers; write a FITS file",
        "smooth": "smooth along an axis or on the sky: Hanning, boxcar, Gaussian, any weights",
        "rebin": "combine blocks of pixels: mean, sum, median, min, max",
        "reorder": "reorder the axes; pixels keep their bits",
        "pv": "cut along a path through a cube: position-velocity; FITS and PNG",
    },
    "Make files smaller": {
        "compress": "compress images and tables in tiles, which stay readable part by part",
        "decompress": "restore images and tables from compressed tiles",
    },
    "Check": {
        "verify": "check files against the FITS Standard: each departure, where it is, what to do",
        "checksum": "compare DATASUM and CHECKSUM with the bytes of files",
        "diff": "compare two files: HDUs, cards, pixels and cells within tolerances",
    },
    "Show and share": {
        "view": "look at an image or a cube in the browser: spectra follow dragged regions",
        "serve": "serve files and folders over HTTP: a viewer page, and an interface for programs",
    },
    "Other": {
        "preload": "run a program that uses CFITSIO with faster reading of images and columns",
        "fortran": "unformatted Fortran records: info, dump, statistics, conversion",
        "errors": "list the codes of errors and warnings",
    },
}
COMMANDS = {name: text for part in SECTIONS.values() for name, text in part.items()}

EPILOG = """\b
Coordinates are FITS ones: x (NAXIS1) first, counted from 1, both ends included.
A FILE may be compressed (gzip, bzip2, xz, zstd); - is standard input.
Data goes to stdout, messages to stderr.
Exit status: 0 done, 1 failed or not as wanted, 2 wrong use, 130 interrupted (Ctrl-C).

\b
Examples:
  tachyfits info cube.fits
  tachyfits stats cube.fits --json
  tachyfits collapse cube.fits -o cube.png
  tachyfits spectrum cube.fits --region 'circle(512,480,12)' -o spectrum.png
  tachyfits collapse cube.fits --channels 40:90 --statistic moment0 -o moment0.fits
  tachyfits cutout cube.fits --section '100:200,50:60,1:10' -o part.fits
  tachyfits stats --help
"""

#: Exit status of a program ended by SIGINT, as in shells: 128 + 2.
INTERRUPTED = 130

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


@contextlib.contextmanager
def _closed_pipe_is_success() -> Iterator[None]:
    """Exit with 0 if the reader closes the pipe (``| head``), which click treats as a failure."""
    try:
        yield
    except BrokenPipeError:
        _discard_output()
        raise click.exceptions.Exit(0) from None


class LazyGroup(Group):
    """A group whose commands are imported on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of commands, in the order of ``COMMANDS``."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command and return it; None for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        command = importlib.import_module(f"tachyfits.cli.{cmd_name}").command
        assert isinstance(command, click.Command)
        return command

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """Parse the command line; options such as --help print text here."""
        with _closed_pipe_is_success():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with _closed_pipe_is_success(), warnings_said():
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        longest = max(map(len, COMMANDS))
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl([(name.ljust(longest), text) for name, text in commands.items()])


@click.group(cls=LazyGroup, invoke_without_command=True, context_settings=SETTINGS, epilog=EPILOG)
@click.option("--version", is_flag=True, help="Show the version and exit.")
@click.option("--verbose", is_flag=True, help="With --version: vector tier, cores, libraries.")
@click.pass_context
def group(context: click.Context, version: bool, verbose: bool) -> None:
    """Measure and cut FITS images and cubes in one pass over their bytes."""
    if version:
        from tachyfits.cli._version import version_text

        click.echo(version_text(verbose=verbose))
        context.exit(0)
    if verbose:
        raise click.UsageError("--verbose belongs to --version", context)
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        context.exit(2)


def end_in_order() -> None:
    """Exit cleanly on SIGTERM (`kill`, batch systems) and SIGHUP, without partial files."""

    def stop(number: int, _: object) -> None:
        sys.exit(128 + number)

    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # Keep SIGHUP ignored under nohup.
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, stop)


def main() -> None:
    """Run the command line and exit: 0 success (also for a closed pipe), 1 failure, 2 wrong use."""
    end_in_order()
    if sys.stdout is None:
        # The shell has closed it: `tachyfits info image.fits >&-`.
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    try:
        status = run(sys.argv[1:])
        sys.stdout.flush()
    except OSError as error:
        _discard_output()
        # Flushing the buffer may be the first write to a closed pipe.
        status = 0 if isinstance(error, BrokenPipeError) else unwritten(error)
    sys.exit(status)


def _discard_output() -> None:
    """Redirect stdout to the null device: Python flushes it once more at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit status; print errors to stderr."""
    before = set_on_command_line(True)
    try:
        status = group.main(args=arguments, prog_name="tachyfits", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return int(stop.exit_code)
    except click.NoSuchOption as error:
        name = str(error.ctx.info_name) if error.ctx is not None else ""
        hint = option_hint(name, error.option_name)
        message = click.UsageError(f"{error.message} Hint: {hint}.", error.ctx) if hint else error
        message.show()
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        click.echo("tachyfits: interrupted", err=True)
        return INTERRUPTED
    except TachyfitsError as error:
        return complain(error)
    finally:
        set_on_command_line(before)
    return status if isinstance(status, int) else 0
