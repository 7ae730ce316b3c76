"""Messages and exit statuses of commands that fail."""

from __future__ import annotations

import click

from tachyfits import TachyfitsError, UsageError


def complain(error: TachyfitsError) -> int:
    """Print an error and return its exit status."""
    click.echo(f"tachyfits: {error}", err=True)
    return 2 if isinstance(error, UsageError) else 1


def unwritten(error: OSError) -> int:
    """Print an error about the output, and return the exit status."""
    subject = error.filename or "the output cannot be written"
    click.echo(f"tachyfits: {subject}: {error.strerror or error}", err=True)
    return 1
