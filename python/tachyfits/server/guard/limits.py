"""Limits: rate and concurrency of the requests of a client."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from tachyfits.server.guard.access import OPEN
from tachyfits.server.guard.answers import refuse
from tachyfits.server.settings import Settings

#: Maximum number of tracked clients.
_MOST_CLIENTS = 10_000

#: Maximum burst of requests, in seconds of the allowed rate.
_BURST = 2.0


@dataclass
class _Client:
    """State of a client: remaining requests, time of the last one, and running requests."""

    left: float
    seen: float
    running: int = 0


class Limits:
    """Answer 429 to a client with too many requests per second or at a time."""

    def __init__(self, app: Any, settings: Settings) -> None:
        self._app = app
        self._rate = settings.client_rate
        self._most = settings.client_concurrent
        self._clients: OrderedDict[str, _Client] = OrderedDict()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request (ASGI)."""
        if scope["type"] != "http" or scope["path"] in OPEN:
            await self._app(scope, receive, send)
            return
        address = scope["client"][0] if scope.get("client") else ""
        client = self._client(scope.get("tachyfits.user") or address)
        if client.left < 1:
            wait = max(1, math.ceil((1 - client.left) / self._rate))
            await _refuse(send, scope, "more requests a second than a client may make", wait)
            return
        if client.running >= self._most:
            await _refuse(send, scope, "more requests at a time than a client may make", 1)
            return
        client.left -= 1
        client.running += 1
        try:
            await self._app(scope, receive, send)
        finally:
            client.running -= 1

    def _client(self, name: str) -> _Client:
        now = time.monotonic()
        maximum = _BURST * self._rate
        client = self._clients.get(name)
        if client is None:
            client = self._clients[name] = _Client(maximum, now)
            if len(self._clients) > _MOST_CLIENTS:
                self._forget()
        client.left = min(maximum, client.left + (now - client.seen) * self._rate)
        client.seen = now
        self._clients.move_to_end(name)
        return client

    def _forget(self) -> None:
        """Forget the least recently seen client that has no running request."""
        for name, client in self._clients.items():
            if client.running == 0:
                del self._clients[name]
                return


async def _refuse(send: Any, scope: Any, detail: str, seconds: int) -> None:
    headers = [(b"retry-after", str(seconds).encode())]
    await refuse(send, 429, detail, f"ask again in {seconds} s", headers, scope["path"])
