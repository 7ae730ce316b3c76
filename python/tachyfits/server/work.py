"""Work: engine calls on threads, with a priority, a budget, and cancellation.

All requests share one executor. A call is cancelled if its client disconnects, if a newer request
of the same view replaces it, or if its budget is spent.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from typing import TypeVar

from fastapi import Request
from starlette.types import Receive

import tachyfits as tf
from tachyfits.base import worded_for_http
from tachyfits.server.errors import Busy, Superseded
from tachyfits.server.settings import Settings

_T = TypeVar("_T")


_SUPERSEDED = "cancelled, or a newer request took the place of this one"


class Views:
    """Running requests, grouped by the view that shows their answers."""

    def __init__(self) -> None:
        self._views: dict[tuple[str, str], tuple[int, set[tf.CancelToken]]] = {}

    @contextlib.contextmanager
    def showing(
        self, client: str, view: str, turn: int | None, token: tf.CancelToken
    ) -> Iterator[None]:
        """Register a request of a view, and cancel its older requests.

        Parameters
        ----------
        client
            Owner of the view: a client cannot cancel requests of others.
        turn
            Requests of one turn belong together; requests of earlier turns are cancelled. None: a
            new turn after all others.

        Raises
        ------
        Superseded
            A later turn is already running.
        """
        key = (client, view)
        newest, tokens = self._views.get(key, (-1, set()))
        own_turn = newest + 1 if turn is None else turn
        if own_turn < newest:
            raise Superseded(_SUPERSEDED)
        if own_turn > newest:
            for older in tokens:
                older.cancel()
            tokens = set()
            self._views[key] = (own_turn, tokens)
        tokens.add(token)
        try:
            yield
        finally:
            tokens.discard(token)
            if not tokens and self._views.get(key, (own_turn, None))[1] is tokens:
                del self._views[key]

    def cancel(self) -> None:
        """Cancel the requests of all views."""
        for _, tokens in list(self._views.values()):
            for token in tokens:
                token.cancel()


class Workers:
    """Threads that call the engine for requests."""

    def __init__(self, settings: Settings) -> None:
        self.executor = tf.Executor(settings.threads)
        self.views = Views()
        self._settings = settings
        self._pool = ThreadPoolExecutor(settings.concurrent, thread_name_prefix="tachyfits")
        self.running = 0
        self.streams = 0
        self.closing = False

    async def run(
        self,
        request: Request,
        call: Callable[[], _T],
        *,
        view: tuple[str, int | None] | None = None,
        priority: str = "interactive",
        seconds: float | None = None,
        most_bytes: int | None = None,
        token: tf.CancelToken | None = None,
    ) -> _T:
        """Call a function on a thread and return its result; cancel it if the client disconnects.

        Parameters
        ----------
        view
            Name of the view that shows the answer, and its turn; see `Views.showing`.
        token
            Another way to cancel the call.

        Raises
        ------
        Superseded
            The client disconnected, or a newer request of the view arrived.
        Busy
            Too many requests are waiting.
        """
        token = token or tf.CancelToken()
        with contextlib.ExitStack() as stack:
            if view is not None:
                client = client_of(request)
                stack.enter_context(self.views.showing(client, view[0], view[1], token))
            work = asyncio.ensure_future(self.call(call, token, priority, seconds, most_bytes))
            disconnect = asyncio.ensure_future(gone(request.receive))
            try:
                await asyncio.wait((work, disconnect), return_when=asyncio.FIRST_COMPLETED)
                if not work.done():
                    token.cancel()
                return await asyncio.shield(work)
            except asyncio.CancelledError:
                token.cancel()
                raise
            except Exception:
                if token.cancelled:
                    raise Superseded(_SUPERSEDED) from None
                raise
            finally:
                disconnect.cancel()

    async def call(
        self,
        call: Callable[[], _T],
        token: tf.CancelToken,
        priority: str = "normal",
        seconds: float | None = None,
        most_bytes: int | None = None,
    ) -> _T:
        """Call a function on a thread, within the budget of a request.

        Raises
        ------
        Busy
            Too many requests are waiting.
        """
        if self.running >= self._settings.concurrent:
            raise Busy("too many requests wait: try again in a second")
        limits = self.executor.request(
            priority=priority,
            seconds=seconds or self._settings.request_seconds,
            bytes=most_bytes or self._settings.request_bytes,
            token=token,
        )
        loop = asyncio.get_running_loop()
        work = self._pool.submit(_within, limits, call)
        self.running += 1
        # The thread may outlast a caller that is cancelled.
        work.add_done_callback(lambda _: _soon(loop, self._ended))
        return await asyncio.wrap_future(work)

    def _ended(self) -> None:
        self.running -= 1

    @contextlib.contextmanager
    def stream(self) -> Iterator[None]:
        """Count a download while it is running.

        Raises
        ------
        Busy
            Too many downloads are running.
        """
        if self.streams >= self._settings.streams:
            raise Busy("too many downloads: try again in a second")
        self.streams += 1
        try:
            yield
        finally:
            self.streams -= 1

    def stop(self) -> None:
        """Cancel the requests of all views, and end streams of events."""
        self.closing = True
        self.views.cancel()

    def close(self) -> None:
        """Cancel running requests and stop the threads."""
        self.stop()
        self._pool.shutdown(wait=False, cancel_futures=True)


def _soon(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed: the server is stopping
        loop.call_soon_threadsafe(call)


def _within(limits: AbstractContextManager[None], call: Callable[[], _T]) -> _T:
    with limits, worded_for_http():
        return call()


def client_of(request: Request) -> str:
    """Return the client of a request, for limits and views: the proxy's user, or the address."""
    user = request.scope.get("tachyfits.user")
    if isinstance(user, str):
        return user
    return request.client.host if request.client is not None else ""


async def gone(receive: Receive) -> None:
    """Wait until the client closes the connection."""
    while (await receive())["type"] != "http.disconnect":
        pass
