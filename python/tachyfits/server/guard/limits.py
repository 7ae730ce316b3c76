"""Limits: how many requests a client may make in a second, and at a time."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from tachyfits.server.guard.access import OPEN
from tachyfits.server.guard.answers import refuse
from tachyfits.server.settings import Settings

#: Clients that are remembered.
_MOST_CLIENTS = 10_000

#: Seconds of requests that a client may make at once.
_BURST = 2.0


@dataclass
class _Client:
    """The requests of a client: those under way, and those that it may still make now."""

    left: float
    seen: float
    running: int = 0


class Limits:
    """Answer 429 to a client that asks too often, or too much at a time."""

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
        most = _BURST * self._rate
        found = self._clients.get(name)
        if found is None:
            found = self._clients[name] = _Client(most, now)
            if len(self._clients) > _MOST_CLIENTS:
                self._forget()
        found.left = min(most, found.left + (now - found.seen) * self._rate)
        found.seen = now
        self._clients.move_to_end(name)
        return found

    def _forget(self) -> None:
        """Forget the client that was seen longest ago and has no request under way."""
        for name, client in self._clients.items():
            if client.running == 0:
                del self._clients[name]
                return


async def _refuse(send: Any, scope: Any, detail: str, seconds: int) -> None:
    headers = [(b"retry-after", str(seconds).encode())]
    await refuse(send, 429, detail, f"ask again in {seconds} s", headers, scope["path"])
