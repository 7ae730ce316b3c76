"""Place: the image of a request, and the view that shows the answer."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """Parameters common to all endpoints about an image."""

    id: str
    hdu: int | None = None
    version: str | None = None
    view: str | None = None
    turn: int | None = None
    job: str | None = None
