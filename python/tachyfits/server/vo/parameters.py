"""Parameters of a DALI request: names in any case, several values, from a query or a form."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable

from fastapi import Request
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException

from tachyfits.server.body import body_bytes
from tachyfits.server.errors import RequestError
from tachyfits.server.vo.failures import MultiValued

#: Maximum number of parameters of a request.
MOST_VALUES = 1000


class Parameters:
    """The parameters of a request, by their names in capitals; values are unchanged.

    >>> parameters = Parameters([("id", "cube.fits"), ("Pol", "I"), ("POL", "Q")])
    >>> parameters.single("ID"), parameters.values("POL"), parameters.single("BAND")
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
        """Return the value of a parameter; None if it is missing.

        Raises
        ------
        MultiValued
            The parameter has several values.
        """
        values = self.values(name)
        if len(values) > 1:
            raise MultiValued(f"{len(values)} values of {name}: expected one")
        return values[0] if values else None


async def parameters_of(request: Request) -> Parameters:
    """Return the parameters of a request, from its query and its form.

    Raises
    ------
    RequestError
        The form is too long or invalid.
    """
    items = request.query_params.multi_items()
    if request.method != "POST":
        return Parameters(items)
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await body_bytes(request)
    if not body:
        return Parameters(items)
    if content_type not in ("application/x-www-form-urlencoded", "multipart/form-data"):
        raise RequestError(
            f"invalid Content-Type {content_type[:100]!r}: expected "
            "application/x-www-form-urlencoded or multipart/form-data"
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
        # Starlette and python-multipart raise many types of errors for damaged forms.
        raise RequestError(f"invalid form: {str(error)[:200]}") from None
    return Parameters(items)
