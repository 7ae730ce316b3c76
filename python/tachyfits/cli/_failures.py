"""Messages and exit statuses of commands that fail."""

from __future__ import annotations

import click

from tachyfits import TachyfitsError, UsageError


def complain(error: TachyfitsError) -> int:
    """Say what went wrong, and return the exit status of that kind of error."""
    click.echo(f"tachyfits: {error}", err=True)
    return 2 if isinstance(error, UsageError) else 1


def unwritten(error: OSError) -> int:
    """Say that the output could not be written, and return the exit status."""
    where = error.filename or "the output cannot be written"
    click.echo(f"tachyfits: {where}: {error.strerror or error}", err=True)
    return 1
