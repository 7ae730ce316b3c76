"""Jobs: long requests with a name from the client, and their progress."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

import tachyfits as tf
from tachyfits.server.errors import RequestError


class JobExists(RequestError):
    """The client already runs a request with this name."""

    status = 409
    title = "The name is in use"


@dataclass
class Job:
    """A running request."""

    name: str
    token: tf.CancelToken = field(default_factory=tf.CancelToken)
    done: int = 0
    total: int = 0

    def progress(self, done: int, total: int) -> bool:
        """Record the progress; return false to stop the engine."""
        self.done, self.total = done, total
        return not self.token.cancelled

    @property
    def fraction(self) -> float:
        """Fraction of the bytes already read."""
        return min(1.0, self.done / self.total) if self.total else 0.0


class Jobs:
    """The jobs of all clients; `Workers` limits the number of running requests and jobs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: dict[tuple[str, str], Job] = {}

    def find(self, client: str, name: str) -> Job | None:
        """Return a job; None before it begins and after it ends."""
        return self._jobs.get((client, name))

    def __len__(self) -> int:
        return len(self._jobs)

    @contextlib.contextmanager
    def running(self, client: str, name: str) -> Iterator[Job]:
        """Register a job while it runs.

        Raises
        ------
        JobExists
            The client already has a job with this name.
        """
        job = Job(name)
        with self._lock:
            if (client, name) in self._jobs:
                raise JobExists(f"invalid job {name!r}: expected a name that is not in use")
            self._jobs[client, name] = job
        try:
            yield job
        finally:
            del self._jobs[client, name]

    def cancel(self) -> None:
        """Cancel all jobs."""
        for job in list(self._jobs.values()):
            job.token.cancel()
