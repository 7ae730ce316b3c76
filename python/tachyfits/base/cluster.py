"""Choice of where reductions run: in this process, or in tasks; see `tachyfits.distributed`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Cluster:
    """The scheduler that runs tasks.

    Attributes
    ----------
    client
        A dask.distributed client, or the name of a dask scheduler; None: dask's default.
    chunk_bytes
        Approximate number of file bytes that a task reads.
    """

    client: Any
    chunk_bytes: int


_current: ContextVar[Cluster | None] = ContextVar("cluster", default=None)


def current() -> Cluster | None:
    """Return the current cluster; None: reductions run in this process."""
    return _current.get()


@contextmanager
def reduced_by(cluster: Cluster) -> Iterator[None]:
    """Run reductions of this thread on a cluster within the block."""
    before = _current.set(cluster)
    try:
        yield
    finally:
        _current.reset(before)
