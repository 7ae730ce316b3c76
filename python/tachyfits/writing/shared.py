"""A new file that several processes write, each its own range of bytes."""

from __future__ import annotations

import os
import pickle
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tachyfits.base.cluster import Cluster
from tachyfits.base.errors import usage
from tachyfits.base.optional import needed
from tachyfits.base.output import check_output, fits_name
from tachyfits.interop.dask_arrays import opened
from tachyfits.writing.sinks import FileBytes

#: Bytes that a task has in memory at a time.
_BLOCK = 16 << 20


def write_shared(
    image: Any, path: str | os.PathLike[str], cluster: Cluster, *, overwrite: bool
) -> None:
    """Write a computed image by tasks, which compute and write a range of the file each.

    The file has another name in its folder until it is complete on the disk.
    """
    name = fits_name(path)
    check_output(name, overwrite=overwrite)
    if image.file._open_core().storage != "computed":
        raise usage(
            f"{image._where()}: expected an image that is computed, found one of a file",
            "copy the file, or use image.write",
        )
    size = FileBytes(image).size
    pickled = pickle.dumps(image)
    dask = needed("dask", "a cluster")
    task: Callable[..., Any] = dask.delayed(_write, pure=False)
    with _complete(Path(os.path.abspath(name)), size, overwrite) as temporary:
        begins = range(0, size, cluster.chunk_bytes)
        tasks = [
            task(pickled, temporary, begin, min(begin + cluster.chunk_bytes, size))
            for begin in begins
        ]
        dask.compute(*tasks, scheduler=cluster.client)


@contextmanager
def _complete(path: Path, size: int, overwrite: bool) -> Iterator[str]:
    """Make a file of a size beside ``path``, and give it this name after the block."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}.part")
    try:
        with temporary.open("xb") as file:
            file.truncate(size)
        yield str(temporary)
        if overwrite:
            temporary.replace(path)
        else:
            os.link(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _write(pickled: bytes, path: str, begin: int, end: int) -> None:
    """Write a range of the file, in the process of a task."""
    content = FileBytes(opened(pickled))
    with Path(path).open("r+b", buffering=0) as file:
        for first in range(begin, end, _BLOCK):
            last = min(first + _BLOCK, end)
            block = content.read(first, last).data
            file.seek(first)
            while block:
                block = block[file.write(block) :]
        os.fsync(file.fileno())
