"""Parameters of a DALI request: names in any case, several values, from a query or a form."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from fastapi import Request
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException

from tachyfits.server.body import body_bytes
from tachyfits.server.errors import RequestError
from tachyfits.server.vo.failures import MultiValued

#: Parameters of a request.
MOST_VALUES = 1000


class Parameters:
    """The parameters of a request, by their names in capitals; values as they were sent.

    >>> given = Parameters([("id", "cube.fits"), ("Pol", "I"), ("POL", "Q")])
    >>> given.single("ID"), given.values("POL"), given.single("BAND")
    ('cube.fits', ['I', 'Q'], None)
    """

    def __init__(self, items: Iterable[tuple[str, str]]) -> None:
        self.items = [(name.upper(), value) for name, value in items]
        if len(self.items) > MOST_VALUES:
            raise RequestError(f"{len(self.items)} parameters: expected at most {MOST_VALUES}")
        self._values: dict[str, list[str]] = {}
        for name, value in self.items:
            self._values.setdefault(name, []).append(value)

    def values(self, name: str) -> list[str]:
        """Return all values of a parameter."""
        return self._values.get(name, [])

    def single(self, name: str) -> str | None:
        """Return the value of a parameter, None without one.

        Raises
        ------
        MultiValued
            It has several.
        """
        found = self.values(name)
        if len(found) > 1:
            raise MultiValued(f"{len(found)} values of {name}: expected one")
        return found[0] if found else None


async def parameters_of(request: Request) -> Parameters:
    """Return the parameters of a request: of its query, and of its form.

    Raises
    ------
    RequestError
        The form is too long, or it is not a form.
    """
    items = request.query_params.multi_items()
    if request.method != "POST":
        return Parameters(items)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await body_bytes(request)
    if not body:
        return Parameters(items)
    if kind not in ("application/x-www-form-urlencoded", "multipart/form-data"):
        raise RequestError(
            f"invalid Content-Type {kind[:100]!r}: expected application/x-www-form-urlencoded or "
            "multipart/form-data"
        )

    async def stream() -> AsyncIterator[dict[str, object]]:
        yield {"type": "http.request", "body": body, "more_body": False}

    replay = stream()
    copy = Request(request.scope, replay.__anext__)
    try:
        async with copy.form(max_fields=MOST_VALUES, max_files=0) as form:
            for name, value in form.multi_items():
                if isinstance(value, UploadFile):
                    raise RequestError(f"parameter {name[:100]!r}: files are not expected")
                items.append((name, value))
    except RequestError:
        raise
    except MultiPartException as error:
        raise RequestError(f"invalid form: {error.message}") from None
    except Exception as error:
        # Starlette and python-multipart raise many kinds for damaged forms.
        raise RequestError(f"invalid form: {str(error)[:200]}") from None
    return Parameters(items)
