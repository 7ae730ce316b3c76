"""Log: one line of JSON per request, and counts for `/metrics`."""

from __future__ import annotations

import json
import logging
import time
from typing import Any

from tachyfits.server.state import State

log = logging.getLogger("tachyfits.access")

#: Maximum length of a path or a query in the log.
_LONGEST = 1000


class Log:
    """Count each request, and log it at its end."""

    def __init__(self, app: Any, state: State) -> None:
        self._app = app
        self._metrics = state.metrics

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request (ASGI)."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begin = time.perf_counter()
        status, size = 0, 0

        async def sending(message: Any) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
            else:
                size += len(message.get("body", b""))
            await send(message)

        self._metrics.running += 1
        try:
            await self._app(scope, receive, sending)
        finally:
            self._metrics.running -= 1
            seconds = time.perf_counter() - begin
            route = getattr(scope.get("route"), "path", "") or "other"
            self._metrics.count(route, scope["method"], status, seconds, size)
            if log.isEnabledFor(logging.INFO):
                log.info(_line(scope, status, size, seconds))


def _line(scope: Any, status: int, size: int, seconds: float) -> str:
    record = {
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "client": scope["client"][0] if scope.get("client") else "",
        "user": scope.get("tachyfits.user", ""),
        "method": scope["method"],
        "path": scope["path"][:_LONGEST],
        "query": scope["query_string"].decode("latin-1")[:_LONGEST],
        "status": status,
        "bytes": size,
        "ms": round(1000 * seconds, 2),
    }
    return json.dumps(record, separators=(",", ":"))
