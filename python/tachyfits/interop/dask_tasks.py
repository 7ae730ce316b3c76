"""Tasks of dask about one image."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from typing import Any

from tachyfits.base.cluster import Cluster
from tachyfits.base.optional import needed


def results(
    cluster: Cluster,
    function: Callable[..., Any],
    pickled: bytes,
    arguments: Iterable[tuple[Any, ...]],
) -> list[Any]:
    """Run a function of a pickled image for several arguments; return the results in order."""
    dask = needed("dask", "a cluster")
    task = dask.delayed(function, pure=False)
    # The tasks share it: of an image in memory it has all pixels.
    image = dask.delayed(pickled, name=f"tachyfits-image-{uuid.uuid4().hex}", traverse=False)
    tasks = [task(image, *one) for one in arguments]
    return list(dask.compute(*tasks, scheduler=cluster.client))
