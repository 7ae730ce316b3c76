"""Failures as the standards answer them: a label, and a detail after a colon.

SODA has labels of its own; DataLink and SIA use those of DALI's faults.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.responses import PlainTextResponse
from fastapi.routing import APIRoute

from tachyfits.server.errors import RequestError, described
from tachyfits.server.state import State
from tachyfits.server.vo.votable import error_document, votable_answer

log = logging.getLogger("tachyfits.server")


class MultiValued(RequestError):
    """A parameter has several values where one is expected."""


class NoPixels(RequestError):
    """A cutout without any pixel: 204 in SODA."""

    status = 204


#: Labels of SODA (section 4.2) by status; others are "Error".
_LABELS = {
    400: "UsageError", 401: "AuthenticationError", 403: "AuthorizationError", 404: "UsageError",
    413: "UsageError", 429: "ServiceUnavailable", 503: "ServiceUnavailable",
}  # fmt: skip
#: Faults of DataLink and SIA.
_FAULTS = {400: "UsageFault", 404: "NotFoundFault", 413: "UsageFault", 503: "TransientFault"}


def failure(state: State, error: Exception) -> tuple[int, str]:
    """Return the status and the text of a failure, with SODA's label; paths become IDs."""
    status, _, text = described(error)
    if status == 500:
        log.error("request failed", exc_info=error)
    label = _LABELS.get(status, "Error")
    if isinstance(error, MultiValued):
        label = "MultiValuedParamNotSupported"
    return status, f"{label}: {_detail(state, text)}"


def fault(state: State, error: Exception) -> tuple[int, str]:
    """Return the status and the text of a failure, with the label of a fault of DALI."""
    status, _, text = described(error)
    if status == 500:
        log.error("request failed", exc_info=error)
    label = "FatalFault" if status == 500 else _FAULTS.get(status, "DefaultFault")
    return status, f"{label}: {_detail(state, text)}"


def _detail(state: State, text: str) -> str:
    # Hints name arguments of Python, which a client of the protocols does not have.
    return state.datasets.hidden(text.partition("\nhint: ")[0])


def text_answer(status: int, text: str) -> Response:
    """Return an error as SODA and UWS give it: plain text that begins with a label."""
    headers = {"Retry-After": "1"} if status in (429, 503) else None
    return PlainTextResponse(text + "\n", status, headers)


class TextRoute(APIRoute):
    """A route whose failures are answered with plain text."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, which turns exceptions into answers."""
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                return await handle(request)
            except NoPixels:
                return Response(status_code=204)
            except Exception as error:
                return text_answer(*failure(State.of(request), error))

        return answer


class FaultRoute(APIRoute):
    """A route whose failures are answered with a VOTable."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, which turns exceptions into answers."""
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                return await handle(request)
            except Exception as error:
                status, text = fault(State.of(request), error)
                return votable_answer(error_document(text), status)

        return answer
