"""Foundations of every layer: errors, options, whole numbers, and sources of bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tachyfits.base.rooms import interface

if TYPE_CHECKING:
    from tachyfits.base.boundary import public
    from tachyfits.base.errors import (
        NoOverlap,
        either,
        foreign_errors,
        listed,
        placed,
        printable,
        set_on_command_line,
        usage,
        warn,
        with_hint,
        worded_for_http,
    )
    from tachyfits.base.hints import command_hint, option_hint
    from tachyfits.base.optional import SERVER, needed
    from tachyfits.base.output import FORMATS, check_output, format_of, write_atomically
    from tachyfits.base.progress import Progress
    from tachyfits.base.sources import is_compressed

__getattr__ = interface(
    __name__,
    {
        "boundary": ("public",),
        "sources": ("is_compressed",),
        "errors": (
            "NoOverlap",
            "either",
            "foreign_errors",
            "listed",
            "placed",
            "printable",
            "set_on_command_line",
            "usage",
            "warn",
            "with_hint",
            "worded_for_http",
        ),
        "hints": ("command_hint", "option_hint"),
        "optional": ("SERVER", "needed"),
        "output": ("FORMATS", "check_output", "format_of", "write_atomically"),
        "progress": ("Progress",),
    },
)
