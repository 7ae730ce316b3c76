"""Body: text sent by a client, with a limit on its length and on the time to receive it."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import Request
from starlette.requests import ClientDisconnect

from tachyfits.server.errors import RequestError, Superseded, TooLarge

#: Maximum size in bytes, and maximum time to receive it in seconds.
MOST_BYTES = 1 << 20
MOST_SECONDS = 20.0


class SlowClient(RequestError):
    """The body did not arrive in time."""

    status = 408
    title = "Request timeout"


def text_body(longest: int, example: str = "", *, required: bool = False) -> dict[str, Any]:
    """Return the OpenAPI description of a text body."""
    schema = {"type": "string", "maxLength": longest}
    content = {"schema": schema} | ({"example": example} if example else {})
    return {"requestBody": {"required": required, "content": {"text/plain": content}}}


async def body_text(request: Request) -> str:
    """Return the body of a request as text.

    Raises
    ------
    TooLarge
        The body is larger than 1 MiB.
    SlowClient
        The body did not arrive within 20 seconds.
    """
    try:
        return (await body_bytes(request)).decode("utf-8")
    except UnicodeDecodeError:
        raise RequestError("invalid body: expected text in UTF-8") from None


async def body_bytes(request: Request) -> bytes:
    """Return the body of a request; see `body_text`."""
    try:
        return await asyncio.wait_for(_body(request), MOST_SECONDS)
    except asyncio.TimeoutError:
        raise SlowClient(f"the body did not come within {MOST_SECONDS:g} seconds") from None
    except ClientDisconnect:
        raise Superseded("the client is gone") from None


async def _body(request: Request) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BYTES:
            raise TooLarge(f"a body of more than {MOST_BYTES} bytes")
        parts.append(part)
    return b"".join(parts)
