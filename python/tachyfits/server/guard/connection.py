"""Connection: uvicorn's protocols, which close connections whose requests do not come in time."""

from __future__ import annotations

import asyncio
import importlib.util
from typing import Any

from uvicorn.config import HTTP_PROTOCOLS
from uvicorn.importer import import_from_string

#: Seconds in which the head of a request has to come, and its most bytes.
HEAD_SECONDS = 15.0
HEAD_BYTES = 1 << 19


def protocol(seconds: float = HEAD_SECONDS) -> Any:
    """Return uvicorn's fastest protocol, with a limit for slow senders."""
    # httptools parses several times as fast as h11, and is optional.
    kind = "httptools" if importlib.util.find_spec("httptools") else "h11"
    base: Any = import_from_string(HTTP_PROTOCOLS[kind])  # type: ignore[index,unused-ignore]

    class Impatient(base):  # type: ignore[misc,unused-ignore]
        """A protocol that does not wait for ever."""

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
            """Start the clock if a request is awaited, and stop it if one is answered."""
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
