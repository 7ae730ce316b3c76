"""Work: calls of the engine on threads, with a priority, a budget, and an end when nobody waits.

All requests share one executor. A call ends early when its client is gone, when a newer request of
the same view takes its place, and when its budget is spent.
"""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import TypeVar

from fastapi import Request

import tachyfits as tf
from tachyfits.server.errors import Busy, Superseded
from tachyfits.server.settings import Settings

_T = TypeVar("_T")


class Workers:
    """Threads that call the engine for requests."""

    def __init__(self, settings: Settings) -> None:
        self.executor = tf.Executor(settings.threads)
        self._settings = settings
        self._pool = ThreadPoolExecutor(settings.concurrent, thread_name_prefix="tachyfits")
        self._views: dict[str, tf.CancelToken] = {}
        self.running = 0

    async def run(
        self,
        request: Request,
        call: Callable[[], _T],
        *,
        view: str | None = None,
        priority: str = "interactive",
        seconds: float | None = None,
    ) -> _T:
        """Call a function on a thread and return its result.

        Parameters
        ----------
        view
            Name of the place where the answer is shown. A newer request of the same view cancels
            the one before.

        Raises
        ------
        Superseded
            The client is gone, or a newer request of the view came.
        Busy
            Too many requests wait.
        """
        if self.running >= self._settings.concurrent:
            raise Busy("too many requests wait: try again in a second")
        token = tf.CancelToken()
        if view is not None:
            if (older := self._views.get(view)) is not None:
                older.cancel()
            self._views[view] = token
        self.running += 1
        loop = asyncio.get_running_loop()
        limits = self.executor.request(
            priority=priority,
            seconds=seconds or self._settings.request_seconds,
            bytes=self._settings.request_bytes,
            token=token,
        )
        work = loop.run_in_executor(self._pool, functools.partial(_within, limits, call))
        gone = asyncio.ensure_future(_gone(request))
        try:
            await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                token.cancel()
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            token.cancel()
            raise
        except Exception:
            if token.cancelled:
                raise Superseded("a newer request took the place of this one") from None
            raise
        finally:
            gone.cancel()
            self.running -= 1
            if view is not None and self._views.get(view) is token:
                del self._views[view]

    def close(self) -> None:
        """Cancel what runs and end the threads."""
        for token in list(self._views.values()):
            token.cancel()
        self._pool.shutdown(wait=False, cancel_futures=True)


def _within(limits: AbstractContextManager[None], call: Callable[[], _T]) -> _T:
    with limits:
        return call()


async def _gone(request: Request) -> None:
    """Return when the client has closed the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
