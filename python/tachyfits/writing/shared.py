"""A new file that several processes write, each its own range of bytes."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

from tachyfits import _core
from tachyfits.base.cluster import Cluster
from tachyfits.base.errors import usage
from tachyfits.base.output import fits_name
from tachyfits.interop.dask_arrays import open_pickled
from tachyfits.interop.dask_tasks import results
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
    if image.file._open_core().storage != "computed":
        raise usage(
            f"{image._where()}: expected an image that is computed, found one of a file",
            "copy the file, or use image.write",
        )
    size = FileBytes(image).size
    output = _core.OutputFile.shared(os.path.abspath(name), size, overwrite=overwrite)
    temporary = str(output.shared_path)
    begins = range(0, size, cluster.chunk_bytes)
    ranges = [(temporary, begin, min(begin + cluster.chunk_bytes, size)) for begin in begins]
    try:
        results(cluster, _write, pickle.dumps(image), ranges)
        output.commit()
    finally:
        output.discard()


def _write(pickled: bytes, path: str, begin: int, end: int) -> None:
    """Write a range of the file, in the process of a task."""
    content = FileBytes(open_pickled(pickled))
    with Path(path).open("r+b", buffering=0) as file:
        for first in range(begin, end, _BLOCK):
            block = content.read(first, min(first + _BLOCK, end), threads=1).data
            file.seek(first)
            while block:
                block = block[file.write(block) :]
        os.fsync(file.fileno())
