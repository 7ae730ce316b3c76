"""Routes that answer failures as required by the standards: plain text, or a VOTable."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.responses import PlainTextResponse
from fastapi.routing import APIRoute

from tachyfits.server.state import State
from tachyfits.server.vo.failures import NoPixels, failure, fault
from tachyfits.server.vo.votable import error_document, votable_answer


def text_answer(status: int, text: str) -> Response:
    """Return an error of SODA or UWS: plain text that starts with a label."""
    headers = {"Retry-After": "1"} if status in (429, 503) else None
    return PlainTextResponse(text + "\n", status, headers)


class TextRoute(APIRoute):
    """A route that answers failures with plain text."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, which converts exceptions to answers."""
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                return await handle(request)
            except NoPixels:
                return Response(status_code=204)
            except Exception as error:
                return text_answer(*failure(State.of(request).datasets, error))

        return answer


class FaultRoute(APIRoute):
    """A route that answers failures with a VOTable."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, which converts exceptions to answers."""
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            try:
                return await handle(request)
            except Exception as error:
                status, text = fault(State.of(request).datasets, error)
                return votable_answer(error_document(text), status)

        return answer
