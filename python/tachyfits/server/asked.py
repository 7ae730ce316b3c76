"""Asked: what endpoints about a file do alike: open it, tell caches, compute, compare versions.

An endpoint gives `answered` a function that makes the answer on a thread.
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
    #: Called by the engine, for a request with a name.
    progress: Callable[[int, int], bool | None] | None = None

    @property
    def view(self) -> View:
        """The image, as planes."""
        return self.file.view(self.place.hdu)

    @property
    def caching(self) -> dict[str, str]:
        """Headers for caches."""
        return caching(self.request, self.file, self.place.version)

    def kept(self, key: Hashable, make: Callable[[], _T], weigh: Callable[[_T], int]) -> _T:
        """Return a value of this version of the image from the cache, or compute it."""

        def checked() -> _T:
            found = make()
            self.file.check()
            return found

        return self.state.cache.get(self._key(key), checked, weigh, lambda: self.token.cancelled)

    def found(self, key: Hashable) -> Any:
        """Return a value of this version of the image if the cache has it, else None."""
        return self.state.cache.find(self._key(key))

    def _key(self, key: Hashable) -> Hashable:
        return (self.file.name, self.file.version, self.view.image.index, key)

    def json(self, key: Hashable, make: Callable[[], Any]) -> Response:
        """Answer with a value as JSON, which the cache keeps as it is sent."""
        body = self.kept(("json", key), lambda: json_bytes(make()), len)
        return Response(body, headers=self.caching, media_type="application/json")


async def answered(request: Request, place: Place, make: Callable[[Asked], Response]) -> Response:
    """Answer a request about a file: 304 if the client has the answer, else what ``make`` makes.

    A request with a name (``job``) has the time of a job, and gives way to those without.
    """
    state = State.of(request)
    jobs = state.jobs.running(client_of(request), place.job) if place.job else None
    shown = None if place.view is None else (place.view, place.turn)

    def call(token: tf.CancelToken, job: Job | None = None) -> Response:
        file = state.datasets.open(place.id)
        if (answer := unchanged(request, file, place.version)) is not None:
            return answer
        asked = Asked(request, state, file, place, token, job.progress if job else None)
        threads = state.workers.executor.threads
        with state.decoding.reserved(asked.view.tile_bytes, threads, lambda: token.cancelled):
            return make(asked)

    if jobs is None:
        token = tf.CancelToken()
        return await state.workers.run(request, lambda: call(token), view=shown, token=token)
    with jobs as job:
        return await state.workers.run(
            request, lambda: call(job.token, job), view=shown, priority="normal", token=job.token,
            seconds=state.settings.job_seconds, most_bytes=state.settings.job_bytes,
        )  # fmt: skip
