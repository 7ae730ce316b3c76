"""Checks and comparisons of files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tachyfits.base.rooms import interface

if TYPE_CHECKING:
    from tachyfits.checks.diff import DataDifference, HduDifference, HduLabel

__getattr__ = interface(
    __name__,
    {
        "diff": ("DataDifference", "HduDifference", "HduLabel"),
    },
)
