"""Place: the image that a request is about, and where its answer is shown."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Place:
    """The parameters that every endpoint about an image has."""

    id: str
    hdu: int | None = None
    version: str | None = None
    view: str | None = None
    turn: int | None = None
    job: str | None = None
