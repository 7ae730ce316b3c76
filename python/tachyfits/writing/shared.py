"""A new file that several processes write, each its own range of bytes."""

from __future__ import annotations

import os
import pickle
from itertools import chain
from pathlib import Path
from typing import Any

from tachyfits import _core
from tachyfits.base.cluster import Cluster
from tachyfits.base.errors import usage
from tachyfits.base.output import fits_name
from tachyfits.interop.dask_arrays import open_pickled
from tachyfits.interop.dask_tasks import results
from tachyfits.writing.sinks import FileBytes, place_of

#: Bytes that a task has in memory at a time.
_BLOCK = 16 << 20


def write_shared(
    image: Any,
    path: str | os.PathLike[str],
    cluster: Cluster,
    *,
    overwrite: bool,
    checksum: bool = False,
) -> None:
    """Write a computed image by tasks, which compute and write a range of the file each.

    The file has another name in its folder until it is complete on the disk. Tasks sum what they
    write; the header that states the sum is written last.
    """
    name = fits_name(path)
    core = image.file._open_core()
    if core.storage != "computed":
        raise usage(
            f"{image._where()}: expected an image that is computed, found one of a file",
            "copy the file, or use image.write",
        )
    content = FileBytes(image)
    data, header = 0, b""
    if checksum:
        if content.size != place_of(image)[2]:
            raise usage(
                f"{image._where()}: expected an image without tables of its coordinates or beams",
                "leave out checksum, or use image.write",
            )
        data, header = image.data_offset, core.hdu(image.index).header_with_checksums([])
    place = len(header)  # of the first byte that tasks write
    size = content.size - data + place
    output = _core.OutputFile.shared(os.path.abspath(name), size, overwrite=overwrite)
    temporary = str(output.shared_path)
    begins = range(data, content.size, cluster.chunk_bytes)
    ranges = [
        (temporary, begin, min(begin + cluster.chunk_bytes, content.size), data, place)
        for begin in begins
    ]
    try:
        sums = results(cluster, _write, pickle.dumps(image), ranges)
        if checksum:
            with Path(temporary).open("r+b") as file:
                file.write(core.hdu(image.index).header_with_checksums([*chain(*sums)]))
                file.flush()
                os.fsync(file.fileno())
        output.commit()
    finally:
        output.discard()


def _write(pickled: bytes, path: str, begin: int, end: int, data: int, place: int) -> list[int]:
    """Write a range of the content, in the process of a task; return the sums of its parts.

    ``place``: where byte ``data`` of the content, from which on it is summed, is in the file.
    """
    content = FileBytes(open_pickled(pickled))
    sums = []
    with Path(path).open("r+b", buffering=0) as file:
        file.seek(place + begin - data)
        for first in range(begin, end, _BLOCK):
            block = content.read(first, min(first + _BLOCK, end), threads=1)
            sums.append(_core.sum_of_bytes(first - data, block))
            view = block.data
            while view:
                view = view[file.write(view) :]
        os.fsync(file.fileno())
    return sums
