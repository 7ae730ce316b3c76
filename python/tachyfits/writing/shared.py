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

#: Bytes that a task holds in memory at a time.
_BLOCK = 16 << 20


def write_shared(
    image: Any,
    path: str | os.PathLike[str],
    cluster: Cluster,
    *,
    overwrite: bool,
    checksum: bool = False,
) -> None:
    """Write a computed image by tasks; each computes and writes a range of the file.

    The file has a temporary name in its folder until it is complete on disk. Tasks compute sums of
    the bytes that they write; the header with these sums is written last.
    """
    name = fits_name(path)
    core = image.file._open_core()
    if core.storage != "computed":
        raise usage(
            f"{image._where()}: expected an image that is computed, found one of a file",
            "copy the file, or use image.write",
        )
    content = FileBytes(image)
    data, end = 0, content.size  # Bytes that the tasks write.
    header, companions = b"", b""
    if checksum:
        data, end = image.data_offset, place_of(image)[2]
        header = core.hdu(image.index).header_with_checksums([])
        companions = _companions(content)
    place = len(header)  # Position of the first of them.
    size = end - data + place + len(companions)
    output = _core.OutputFile.shared(os.path.abspath(name), size, overwrite=overwrite)
    temporary = str(output.shared_path)
    ranges = [
        (temporary, begin, min(begin + cluster.chunk_bytes, end), data, place)
        for begin in range(data, end, cluster.chunk_bytes)
    ]
    try:
        sums = results(cluster, _write, pickle.dumps(image), ranges)
        if checksum:
            with Path(temporary).open("r+b") as file:
                file.write(core.hdu(image.index).header_with_checksums([*chain(*sums)]))
                file.seek(size - len(companions))
                file.write(companions)
                file.flush()
                os.fsync(file.fileno())
        output.commit()
    finally:
        output.discard()


def _companions(content: FileBytes) -> bytes:
    """Return the HDUs of tables that follow the image, with headers that state their sums."""
    if not content.companions:
        return b""
    writer = _core.FileWriter.spooled("tables of the image", checksum=True)
    try:
        writer.write_empty([])  # the companions are extensions
        for source in content.companions:
            source.write(writer, content.names)
        core = writer.open(raw=True)
    finally:
        writer.discard()
    return core.read_bytes(core.hdu(1).header_offset, core.bytes).tobytes()


def _write(pickled: bytes, path: str, begin: int, end: int, data: int, place: int) -> list[int]:
    """Write a range of the content in the process of a task; return the sums of its parts.

    ``place``: position in the file of byte ``data`` of the content, where the sums begin.
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
