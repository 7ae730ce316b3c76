"""Common steps of endpoints about a file: open it, set cache headers, compute, check its version.

An endpoint passes `answered` a function that computes the answer on a thread.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import Request, Response

import tachyfits as tf
from tachyfits.server.answers import caching, json_bytes, unchanged
from tachyfits.server.datasets import OpenFile
from tachyfits.server.jobs import Job
from tachyfits.server.place import Place
from tachyfits.server.state import State
from tachyfits.server.view import View
from tachyfits.server.work import client_of

_T = TypeVar("_T")


@dataclass(frozen=True)
class Asked:
    """A request about an open file."""

    request: Request
    state: State
    file: OpenFile
    place: Place
    token: tf.CancelToken
    #: Progress callback for the engine; only set for a request with a job name.
    progress: Callable[[int, int], bool | None] | None = None

    @property
    def view(self) -> View:
        """View of the image as planes."""
        return self.file.view(self.place.hdu)

    @property
    def caching(self) -> dict[str, str]:
        """Cache headers of the answer."""
        return caching(self.request, self.file, self.place.version)

    def kept(self, key: Hashable, make: Callable[[], _T], weigh: Callable[[_T], int]) -> _T:
        """Return a value of this version of the image from the cache, or compute and cache it."""

        def checked() -> _T:
            value = make()
            self.file.check()
            return value

        return self.state.cache.get(self._key(key), checked, weigh, lambda: self.token.cancelled)

    def found(self, key: Hashable) -> Any:
        """Return a value of this version of the image from the cache, or None."""
        return self.state.cache.find(self._key(key))

    def _key(self, key: Hashable) -> Hashable:
        return (self.file.name, self.file.version, self.view.image.index, key)

    def json(self, key: Hashable, make: Callable[[], Any]) -> Response:
        """Return a JSON answer; the cache holds its encoded body."""
        body = self.kept(("json", key), lambda: json_bytes(make()), len)
        return Response(body, headers=self.caching, media_type="application/json")


async def answered(request: Request, place: Place, make: Callable[[Asked], Response]) -> Response:
    """Answer a request about a file: 304 if the client has the answer, else the result of ``make``.

    A request with a job name (``job``) has the time limit of a job, and a lower priority.
    """
    state = State.of(request)
    jobs = state.jobs.running(client_of(request), place.job) if place.job else None
    display = None if place.view is None else (place.view, place.turn)

    def call(token: tf.CancelToken, job: Job | None = None) -> Response:
        file = state.datasets.open(place.id)
        if (answer := unchanged(request, file, place.version)) is not None:
            return answer
        file_request = Asked(request, state, file, place, token, job.progress if job else None)
        threads = state.workers.executor.threads
        with state.decoding.reserved(
            file_request.view.tile_bytes, threads, lambda: token.cancelled
        ):
            return make(file_request)

    if jobs is None:
        token = tf.CancelToken()
        return await state.workers.run(request, lambda: call(token), view=display, token=token)
    with jobs as job:
        return await state.workers.run(
            request, lambda: call(job.token, job), view=display, priority="normal", token=job.token,
            seconds=state.settings.job_seconds, most_bytes=state.settings.job_bytes,
        )  # fmt: skip
