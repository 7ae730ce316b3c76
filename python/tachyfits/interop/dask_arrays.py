"""Images and tables on dask, which is imported on demand: each chunk is one read of the engine.

A task carries the location of the data. A process that runs tasks opens the file once.
"""

from __future__ import annotations

import functools
import math
import pickle
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tachyfits._core import UsageError
from tachyfits.base.errors import usage, warn
from tachyfits.base.optional import needed

if TYPE_CHECKING:
    from tachyfits.file.hdu import Hdu
    from tachyfits.image.image import Image
    from tachyfits.table.table import Table

#: Maximum number of images and tables that a process keeps open for tasks.
_OPEN = 64

#: Approximate size of a partition of a table.
_PARTITION_BYTES = 64 << 20

#: Chunk size, dask's default.
CHUNK_BYTES = 128 << 20


@functools.lru_cache(maxsize=_OPEN)
def open_pickled(pickled: bytes) -> Any:
    """Return the HDU of a pickle; each process opens it once."""
    return pickle.loads(pickled)


class Pixels:
    """The pixels of an image as an array that dask and xarray index."""

    def __init__(self, image: Image) -> None:
        self.image = image
        self.shape, self.dtype, self.ndim = image.shape, image.dtype, image.ndim

    def __getitem__(self, index: Any) -> Any:
        # Tasks run in parallel, so a task uses one thread unless the file says otherwise.
        return self.image.read(index, threads=self.image.file.threads or 1)

    def __reduce__(self) -> tuple[Any, ...]:
        return _pixels, (pickle.dumps(self.image),)


def _pixels(pickled: bytes) -> Pixels:
    return Pixels(open_pickled(pickled))


class Column:
    """The cells of a column as an array that xarray indexes; undefined numbers are NaN."""

    def __init__(self, table: Table, key: str) -> None:
        self.table, self.key = table, key
        column = next(column for column in table.columns if column.key == key)
        self.shape = (len(table), *column.shape)
        is_nullable = column.null is not None and column.dtype.kind in "iu"
        self.dtype = np.dtype(np.float64) if is_nullable else column.dtype
        if is_nullable and column.dtype.itemsize == 8:
            warn(
                f"{table._where()}: integers beyond 2**53 of column {key} are rounded, "
                "since undefined ones are NaN in the array"
            )

    def __getitem__(self, index: tuple[Any, ...]) -> Any:
        rows, cell = index[0], index[1:]
        is_single = not isinstance(rows, slice)
        part = slice(rows, rows + 1) if is_single else rows
        cells = self.table.read([self.key], rows=part, threads=self.table.file.threads or 1)
        values = cells[self.key]
        undefined = np.ma.getmaskarray(values)
        values = np.ma.getdata(values).astype(self.dtype, copy=False)
        if self.dtype.kind in "fc":
            values[undefined] = np.nan
        elif undefined.any():
            filled = {"b": "false", "U": "empty text"}.get(self.dtype.kind, "0")
            warn(f"{self.table._where()}: undefined cells of column {self.key} are {filled}")
        place = (0 if is_single else slice(None), *cell)
        return values[place]

    def __reduce__(self) -> tuple[Any, ...]:
        return _column, (pickle.dumps(self.table), self.key)


def _column(pickled: bytes, key: str) -> Column:
    return Column(open_pickled(pickled), key)


class Rows:
    """Rows of a table as pandas frames."""

    def __init__(self, table: Table, columns: Sequence[str] | None) -> None:
        self.table, self.columns = table, columns

    def __call__(self, rows: tuple[int, int]) -> Any:
        """Return the rows of a range (start, stop)."""
        threads = self.table.file.threads or 1
        frame = self.table.to_pandas(self.columns, rows=slice(*rows), threads=threads)
        frame.index += rows[0]
        return frame

    def __reduce__(self) -> tuple[Any, ...]:
        return _rows, (pickle.dumps(self.table), self.columns)


def _rows(pickled: bytes, columns: Sequence[str] | None) -> Rows:
    return Rows(open_pickled(pickled), columns)


def dask_token(hdu: Hdu) -> object:
    """Return a token that identifies the data of an HDU, without reading them."""
    try:
        return "tachyfits", pickle.dumps(hdu)
    except UsageError:
        # An image from a stream never equals another array.
        return uuid.uuid4().hex


def dask_array(image: Image, chunks: Any = "auto") -> Any:
    """Return a dask array of the pixels; each chunk is one read by the engine."""
    da = needed("dask.array", "an array of dask")
    if chunks == "auto":
        chunks = file_chunks(image, _chunk_bytes())
    name = f"tachyfits-{needed('dask.base', 'an array of dask').tokenize(image, chunks)}"
    return da.from_array(
        Pixels(image), chunks, name=name, asarray=False, fancy=False, inline_array=True,
        meta=np.empty((0,) * image.ndim, image.dtype),
    )  # fmt: skip


def _chunk_bytes() -> int:
    config = needed("dask.config", "an array of dask").get("array.chunk-size", "128MiB")
    return int(needed("dask.utils", "an array of dask").parse_bytes(config))


def file_chunks(image: Image, most_bytes: int) -> tuple[int, ...]:
    """Return the shape of chunks of at most about ``most_bytes`` that are contiguous in the file.

    Chunks are whole rows, as many whole planes as fit, or whole tiles of a compressed image.

    >>> import tachyfits as tf
    >>> file_chunks(tf.open("cube.fits")[0], 100)
    (1, 4, 5)
    """
    shape = image.shape
    compression = image.compression
    tile = compression.tile if compression is not None else ()
    chunk = list(tile) if len(tile) == len(shape) else [1] * (len(shape) - 1) + list(shape[-1:])
    chunk = [max(1, min(size, length)) for size, length in zip(chunk, shape, strict=True)]
    for axis in reversed(range(len(shape))):
        most = most_bytes // (math.prod(chunk) * image.dtype.itemsize)
        chunk[axis] = min(max(shape[axis], 1), chunk[axis] * max(1, most))
        if chunk[axis] < shape[axis]:
            break
    return tuple(chunk)


def dask_frame(table: Table, columns: Sequence[str] | None, rows: int | None) -> Any:
    """Return a dask DataFrame of the rows; each partition is one read by the engine."""
    dd = needed("dask.dataframe", "a DataFrame of dask")
    if rows is None:
        rows = max(1, _PARTITION_BYTES // max(1, table.row_bytes))
    if rows < 1:
        raise usage(f"invalid rows {rows}: expected at least 1", "leave it out")
    reader = Rows(table, columns)
    count = len(table)
    starts = range(0, max(count, 1), rows)
    parts = [(start, min(start + rows, count)) for start in starts]
    borders = (*starts, max(count - 1, 0))
    return dd.from_map(reader, parts, meta=reader((0, 0)), divisions=borders, label="tachyfits")
