"""Answers of the guard, which are given before a request reaches the application."""

from __future__ import annotations

from typing import Any

from tachyfits.server.answers import json_bytes

Headers = list[tuple[bytes, bytes]]

_TITLES = {
    400: "Bad request", 401: "Token needed", 403: "Forbidden", 421: "Unknown host",
    429: "Too many requests",
}  # fmt: skip


async def refuse(
    send: Any, status: int, detail: str, hint: str = "", headers: Headers | None = None
) -> None:
    """Send a problem document (RFC 9457)."""
    document = {"type": "about:blank", "title": _TITLES[status], "status": status, "detail": detail}
    body = json_bytes(document | ({"hint": hint} if hint else {}))
    own: Headers = [
        (b"content-type", b"application/problem+json"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
    ]
    await answer(send, status, [*own, *(headers or [])], body)


async def answer(send: Any, status: int, headers: Headers, body: bytes = b"") -> None:
    """Send an answer."""
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def header_of(scope: Any, name: bytes) -> str | None:
    """Return the last value of a header, or None."""
    found = None
    for key, value in scope["headers"]:
        if key == name:
            found = value.decode("latin-1")
    return found
