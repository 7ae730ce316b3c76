"""Statistics by two processes of dask, which are started before the clock."""

from __future__ import annotations

import functools
from typing import Any

from opened import opened
from python_runner import Model, Request

import tachyfits

#: Processes, of one thread each.
WORKERS = 2


@functools.cache
def client() -> Any:
    """Start the workers, and let each import the package."""
    from dask.distributed import Client

    workers = Client(n_workers=WORKERS, threads_per_worker=1, dashboard_address=None)
    workers.run(lambda: tachyfits.info.build())
    return workers


def stats(request: Request) -> dict[str, Any]:
    """Take all statistics in one pass of all workers."""
    with opened(request) as file:
        state = tachyfits.distributed.stats(file[0], client=client())
        names = ("count", "nan", "sum", "mean", "rms", "std", "min", "max")
        names += ("min_position", "max_position")
        return {name: getattr(state, name) for name in names}


MODELS = {"cluster-stats": Model(stats, prepare=lambda request: client() and None)}
