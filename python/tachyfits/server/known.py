"""Known parameters: a misspelt or repeated one is refused, never ignored."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from fastapi import Request
from fastapi.dependencies.models import Dependant

from tachyfits.server.errors import RequestError


class UnknownParameter(RequestError):
    """A parameter that the endpoint does not have.

    The problem document describes the parameter that is spelt most alike, by its name (extension
    members of RFC 9457).
    """

    def __init__(self, name: str, known: dict[str, str]) -> None:
        alike = difflib.get_close_matches(name, known, n=1)
        expected = ", ".join(alike or known) or "none"
        super().__init__(f"unknown parameter {name!r}: expected {expected}")
        self.members = {one: known[one] for one in alike}


async def known_parameters(request: Request) -> None:
    """Refuse parameters that the endpoint does not have, and values given twice.

    Raises
    ------
    RequestError
        It names the parameter, and the one that is spelt most alike.
    """
    names = [name for name, _ in request.query_params.multi_items()]
    if not names:
        return
    known = dict(sorted(_descriptions_of(request.scope["route"].dependant)))
    for name in names:
        if name not in known:
            raise UnknownParameter(name[:100], known)
        if names.count(name) > 1:
            raise RequestError(
                f"parameter {name!r} is given {names.count(name)} times: expected one"
            )


def _descriptions_of(dependant: Dependant) -> Iterator[tuple[str, str]]:
    for field in dependant.query_params:
        yield field.alias, field.field_info.description or ""
    for part in dependant.dependencies:
        yield from _descriptions_of(part)
