"""`tachyfits preload`: run a program that uses CFITSIO with faster reading."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import click

#: The library that is loaded before CFITSIO.
NAME = "libtachyfits_cfitsio.so"

#: Folders of `make capi`, relative to the sources.
BUILT = ("target/capi/lib", "target/release")


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    "--mode",
    type=click.Choice(["on", "check", "off"]),
    default="on",
    show_default=True,
    help="check: let CFITSIO read too, and compare every bit.",
)
@click.option(
    "--least",
    type=click.IntRange(min=0),
    metavar="BYTES",
    help="Leave reads of fewer bytes to CFITSIO.  [default: 262144]",
)
@click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Append what was read, and what was left to CFITSIO and why.",
)
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    metavar="N",
    help="Threads for large reads.  [default: the cores, at most 4]",
)
@click.option(
    "--library",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help=f"Use this {NAME}.",
)
@click.argument("program", metavar="PROGRAM")
@click.argument("arguments", metavar="[ARGUMENT]...", nargs=-1, type=click.UNPROCESSED)
def command(
    program: str,
    arguments: tuple[str, ...],
    mode: str,
    least: int | None,
    report: Path | None,
    threads: int | None,
    library: Path | None,
) -> int:
    """Run a program that uses CFITSIO with faster reading of large images and columns.

    PROGRAM and the programs that it starts need no change: a library is loaded before CFITSIO
    (LD_PRELOAD), serves large reads from files on disk, and leaves everything else to CFITSIO.
    Results have the same bits; --mode check compares them. Linux on x86-64 only.

    \b
    Examples:
      tachyfits preload aststatistics image.fits
      tachyfits preload --mode check --report report.txt imcopy image.fits copy.fits
      tachyfits preload --threads 1 python analysis.py
    """
    executable = shutil.which(program)
    if executable is None:
        raise click.BadParameter(
            f"expected a program, found no {program!r} in PATH", param_hint="PROGRAM"
        )
    variables = environment(library or find_library(), os.environ.get("LD_PRELOAD", ""))
    variables["TACHYFITS_CFITSIO"] = mode
    if least is not None:
        variables["TACHYFITS_CFITSIO_LEAST"] = str(least)
    if report is not None:
        # Use an absolute path: the program may change its working directory.
        variables["TACHYFITS_CFITSIO_REPORT"] = str(report.resolve())
    if threads is not None:
        variables["TACHYFITS_THREADS"] = str(threads)
    sys.stdout.flush()
    os.execve(executable, [program, *arguments], {**os.environ, **variables})


def environment(library: Path, preloaded: str) -> dict[str, str]:
    """Return LD_PRELOAD with the library before other preloaded libraries."""
    other_libraries = [
        name for name in preloaded.replace(":", " ").split() if Path(name).name != NAME
    ]
    path = str(library.resolve())
    if " " in path or ":" in path:
        raise click.UsageError(
            f"invalid library {path!r}: expected a path without blanks and colons, because "
            "LD_PRELOAD separates names by them; install it elsewhere"
        )
    return {"LD_PRELOAD": ":".join([path, *other_libraries])}


def find_library() -> Path:
    """Find the library: named by TACHYFITS_CFITSIO_LIBRARY, installed, or built in the sources."""
    path = os.environ.get("TACHYFITS_CFITSIO_LIBRARY")
    if path is not None:
        if Path(path).is_file():
            return Path(path)
        raise click.UsageError(
            f"invalid TACHYFITS_CFITSIO_LIBRARY {path!r}: expected {NAME}, found no file"
        )
    root = Path(__file__).resolve().parents[3]
    folders = [Path(sys.prefix) / "lib", Path("/usr/local/lib"), Path("/usr/lib")]
    folders += [root / folder for folder in BUILT if (root / "Cargo.toml").is_file()]
    for folder in folders:
        if (folder / NAME).is_file():
            return folder / NAME
    raise click.UsageError(
        f"found no {NAME} in {', '.join(map(str, folders))}: install it with `make capi "
        "PREFIX=/usr/local` from the sources, or name it with --library"
    )
