"""Where pixels are reduced: in this process, or by tasks; see `tachyfits.distributed`."""

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
        Of dask.distributed; or the name of a scheduler of dask; None: the one that dask has.
    chunk_bytes
        Of the file that a task reads, about.
    """

    client: Any
    chunk_bytes: int


_current: ContextVar[Cluster | None] = ContextVar("cluster", default=None)


def current() -> Cluster | None:
    """Return the cluster that reduces now; None: this process does."""
    return _current.get()


@contextmanager
def reduced_by(cluster: Cluster) -> Iterator[None]:
    """Let a cluster reduce, in this thread and within the block."""
    before = _current.set(cluster)
    try:
        yield
    finally:
        _current.reset(before)
