"""Dask tasks for one image."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from typing import Any

from tachyfits.base.cluster import Cluster
from tachyfits.base.errors import kept_warnings, warn
from tachyfits.base.optional import needed


def results(
    cluster: Cluster,
    function: Callable[..., Any],
    pickled: bytes,
    arguments: Iterable[tuple[Any, ...]],
) -> list[Any]:
    """Run a function of a pickled image for several arguments; return the results in order.

    Warnings of tasks are issued here, each once.
    """
    dask = needed("dask", "a cluster")
    task = dask.delayed(_with_warnings, pure=False)
    # Tasks share the pickle, which has all pixels of an image in memory.
    image = dask.delayed(pickled, name=f"tachyfits-image-{uuid.uuid4().hex}", traverse=False)
    tasks = [task(function, image, *values) for values in arguments]
    pairs = dask.compute(*tasks, scheduler=cluster.client)
    for message in dict.fromkeys(message for _, messages in pairs for message in messages):
        warn(message)
    return [result for result, _ in pairs]


def _with_warnings(function: Callable[..., Any], *arguments: Any) -> tuple[Any, list[str]]:
    """Run a function in the process of a task; return its result and its warnings."""
    with kept_warnings() as messages:
        return function(*arguments), messages
