"""Functions of upper layers that methods of lower layers call, such as `Plane.plot`.

A layer imports only layers below it. The top module ``tachyfits`` provides the others: its table
names these functions, and each is imported when it is first used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Upper:
    """Functions and classes of upper layers, as attributes."""

    def __init__(self) -> None:
        self._find: Callable[[str], Any] | None = None

    def provide(self, find: Callable[[str], Any]) -> None:
        """Set the function that finds an object by its name."""
        self._find = find

    def __getattr__(self, name: str) -> Any:
        if self._find is None or name.startswith("__"):
            raise AttributeError(name)
        value = self._find(name)
        setattr(self, name, value)
        return value


upper = Upper()
