"""Connection: uvicorn's protocols with a time limit for receiving requests."""

from __future__ import annotations

import asyncio
import importlib.util
from typing import Any

from uvicorn.config import HTTP_PROTOCOLS
from uvicorn.importer import import_from_string

#: Maximum time to receive the head of a request in seconds, and its maximum size in bytes.
HEAD_SECONDS = 15.0
HEAD_BYTES = 1 << 19


def protocol(seconds: float = HEAD_SECONDS) -> Any:
    """Return uvicorn's fastest protocol, with a limit for slow senders."""
    # httptools is optional, and parses several times faster than h11.
    parser = "httptools" if importlib.util.find_spec("httptools") else "h11"
    base: Any = import_from_string(HTTP_PROTOCOLS[parser])  # type: ignore[index,unused-ignore]

    class Impatient(base):  # type: ignore[misc,unused-ignore]
        """A protocol that closes connections without a complete request in time."""

        _timer: asyncio.TimerHandle | None = None
        _bytes = 0

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._bytes += len(data)
            self._watch()
            if self._timer is not None and self._bytes > HEAD_BYTES:
                self._expire()

        def connection_lost(self, exc: Exception | None) -> None:
            if self._timer is not None:
                self._timer.cancel()
            super().connection_lost(exc)

        def _watch(self) -> None:
            """Start the timer while a request is awaited, and stop it during the answer."""
            waits = self.cycle is None or self.cycle.response_complete
            if waits and self._timer is None:
                self._timer = self.loop.call_later(seconds, self._expire)
            elif not waits and self._timer is not None:
                self._timer.cancel()
                self._timer = None
            if not waits:
                self._bytes = 0

        def _expire(self) -> None:
            self._timer = None
            if self.cycle is None or self.cycle.response_complete:
                self.transport.close()

    return Impatient
