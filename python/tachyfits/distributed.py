"""Reduce and write cubes on a dask cluster: statistics, spectra, moments, medians, histograms.

Each task is one pass of the engine over a part of the file, which the worker opens itself: no
pixels are sent. Results have the same bits as in one process, whatever the workers and the size of
parts.

>>> import tachyfits as tf
>>> cube = tf.open("cube.fits")[0]
>>> with tf.distributed.on("threads", chunk="80 B"):
...     peak = cube.collapse("max")
>>> peak.values[0]
array([40., 41., 42., 43., 44.])
>>> tf.distributed.stats(cube, client="threads").mean
29.5

The files must have the same path or URL on every worker, as on a shared file system or in an object
store; a worker that finds another version of a file raises an IoError. Images from bytes are sent
to the workers. Skewness, kurtosis and the robust rms of all pixels are computed by this process.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tachyfits.base.boundary import public
from tachyfits.base.cluster import Cluster, reduced_by
from tachyfits.base.errors import foreign_errors, usage
from tachyfits.base.optional import needed
from tachyfits.writing.shared import write_shared

if TYPE_CHECKING:
    from tachyfits.image.image import Image

__all__ = [
    "collapse", "flux", "histogram", "mad", "median", "moment", "moments", "on", "percentile",
    "reduce", "robust_rms", "spectrum", "stats", "write",
]  # fmt: skip


#: Default size of the part of a file that a task reads.
CHUNK = "128 MiB"


@public
@contextmanager
def on(client: Any = None, *, chunk: int | str = CHUNK) -> Iterator[None]:
    """Run the reductions of this thread on a cluster, within a ``with`` block.

    Parameters
    ----------
    client
        A ``dask.distributed.Client``; "threads", "processes" or "synchronous"; None: dask's
        default.
    chunk
        Size of the part of a file that a task reads: bytes, or text such as "64 MiB". A worker
        needs memory for a few chunks per thread.

    Raises
    ------
    UsageError
        dask is not installed, or ``chunk`` is not a size.
    """
    with reduced_by(_cluster(client, chunk)):
        yield


def _cluster(client: Any, chunk: int | str) -> Cluster:
    utils = needed("dask.utils", "a cluster")
    with foreign_errors(f"invalid chunk {chunk!r}", 'give bytes, or text such as "64 MiB"'):
        size = int(utils.parse_bytes(chunk))
    if size < 1:
        raise usage(f"invalid chunk {chunk!r}: expected at least 1 byte", "leave it out")
    return Cluster(client, size)


def _method(name: str) -> Callable[..., Any]:
    """Build the function that calls a method of an image on a cluster."""

    def function(
        image: Image,
        *parameters: Any,
        client: Any = None,
        chunk: int | str = CHUNK,
        **options: Any,
    ) -> Any:
        with on(client, chunk=chunk):
            return getattr(image, name)(*parameters, **options)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"Return `Image.{name}`, made by a cluster; ``client``, ``chunk`` as of `on`."
    )
    return public(function)


@public
def write(
    image: Image,
    path: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    checksum: bool = False,
    client: Any = None,
    chunk: int | str = CHUNK,
) -> None:
    """Write a computed image by a cluster: each task computes and writes a range of the file.

    The bytes are the same as from `Image.write`. The file appears under its name when it is
    complete on disk; a failure leaves nothing. All workers must have access to its folder.

    Parameters
    ----------
    path
        Path of the new file.
    overwrite
        Replace a file of this name.
    checksum
        Write DATASUM and CHECKSUM. Tasks sum the bytes that they write, so no bytes are read again.
    client, chunk
        As of `on`.

    Raises
    ------
    UsageError
        The image is read from a file, which can be copied instead.
    IoError
        The file exists, or cannot be written.

    Examples
    --------
    >>> import tachyfits as tf
    >>> tf.distributed.write(tf.open("cube.fits")[0] * 2, "twice.fits", client="threads")
    >>> tf.open("twice.fits")[0].max()
    np.float64(118.0)
    """
    write_shared(image, path, _cluster(client, chunk), overwrite=overwrite, checksum=checksum)


collapse = _method("collapse")
flux = _method("flux")
histogram = _method("histogram")
mad = _method("mad")
median = _method("median")
moment = _method("moment")
moments = _method("moments")
percentile = _method("percentile")
reduce = _method("reduce")
robust_rms = _method("robust_rms")
spectrum = _method("spectrum")
stats = _method("stats")
