"""Known parameters: unknown or repeated parameters are errors."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from fastapi import Request
from fastapi.dependencies.models import Dependant

from tachyfits.server.errors import RequestError


class UnknownParameter(RequestError):
    """The endpoint does not have this parameter.

    The problem document describes the parameter with the closest spelling, by its name (an
    extension member of RFC 9457).
    """

    def __init__(self, name: str, descriptions: dict[str, str]) -> None:
        matches = difflib.get_close_matches(name, descriptions, n=1)
        expected = ", ".join(matches or descriptions) or "none"
        super().__init__(f"unknown parameter {name!r}: expected {expected}")
        self.members = {match: descriptions[match] for match in matches}


async def known_parameters(request: Request) -> None:
    """Raise an error for unknown or repeated parameters.

    Raises
    ------
    RequestError
        A parameter is unknown or repeated; the message suggests the closest spelling.
    """
    names = [name for name, _ in request.query_params.multi_items()]
    if not names:
        return
    descriptions = dict(sorted(_descriptions_of(request.scope["route"].dependant)))
    for name in names:
        if name not in descriptions:
            raise UnknownParameter(name[:100], descriptions)
        if names.count(name) > 1:
            raise RequestError(
                f"parameter {name!r} is given {names.count(name)} times: expected one"
            )


def _descriptions_of(dependant: Dependant) -> Iterator[tuple[str, str]]:
    for field in dependant.query_params:
        yield field.alias, field.field_info.description or ""
    for part in dependant.dependencies:
        yield from _descriptions_of(part)
