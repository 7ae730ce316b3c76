"""Answers of the guard, sent before a request reaches the application."""

from __future__ import annotations

from typing import Any

from tachyfits.server.answers import json_bytes

Headers = list[tuple[bytes, bytes]]

_TITLES = {
    400: "Bad request", 401: "Token needed", 403: "Forbidden", 421: "Unknown host",
    429: "Too many requests",
}  # fmt: skip


#: Labels of SODA for plain-text errors of the Virtual Observatory protocols.
_LABELS = {401: "AuthenticationError", 403: "AuthorizationError", 429: "ServiceUnavailable"}
_VO = "/vo/"


async def refuse(
    send: Any,
    status: int,
    detail: str,
    hint: str = "",
    headers: Headers | None = None,
    path: str = "",
) -> None:
    """Send a problem document (RFC 9457), or a label and the detail for a path below ``/vo/``."""
    if path.startswith(_VO):
        content_type = b"text/plain; charset=utf-8"
        hint = f" ({hint})" if hint else ""
        body = f"{_LABELS.get(status, 'UsageError')}: {detail}{hint}\n".encode()
    else:
        content_type = b"application/problem+json"
        document = {
            "type": "about:blank", "title": _TITLES[status], "status": status, "detail": detail,
        }  # fmt: skip
        body = json_bytes(document | ({"hint": hint} if hint else {}))
    standard: Headers = [
        (b"content-type", content_type),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
    ]
    await answer(send, status, [*standard, *(headers or [])], body)


async def answer(send: Any, status: int, headers: Headers, body: bytes = b"") -> None:
    """Send an answer."""
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def header_of(scope: Any, name: bytes) -> str | None:
    """Return the last value of a header, or None."""
    result = None
    for key, value in scope["headers"]:
        if key == name:
            result = value.decode("latin-1")
    return result
