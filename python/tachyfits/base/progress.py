"""Progress: the function that an operation calls while it works."""

from __future__ import annotations

from collections.abc import Callable

#: Called repeatedly with (bytes done, total bytes); returning False stops the operation.
Progress = Callable[[int, int], bool | None]
