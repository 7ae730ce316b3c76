"""FITS images as Zarr arrays: a store whose chunks are decoded when they are read.

Programs that read Zarr version 3 can read any image: scaled, compressed, computed, or on a server.
Nothing is copied or written.

>>> import tachyfits as tf
>>> import zarr
>>> store = tf.zarr.Store(tf.open("cube.fits")[0], chunks=(1, 2, 3))
>>> array = zarr.open_group(store, mode="r")["data"]
>>> array.chunks, float(array[2, 3, 4])
((1, 2, 3), 59.0)
"""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import os
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import zarr.abc.store as abc

from tachyfits.base.boundary import public
from tachyfits.base.errors import either, usage
from tachyfits.base.whole_numbers import whole_number
from tachyfits.file.file import File
from tachyfits.file.file import open as open_file
from tachyfits.file.image_hdu import ImageHdu
from tachyfits.interop.dask_arrays import file_chunks
from tachyfits.interop.lazy_array import physical_header
from tachyfits.interop.named_axes import (
    attributes,
    axis_names,
    axis_values,
    group_name,
    warn_of_beams,
)
from tachyfits.interop.virtual_images import manifest_store

if TYPE_CHECKING:
    from virtualizarr.manifests import ManifestStore
    from zarr.core.buffer import Buffer, BufferPrototype

    from tachyfits.image.image import Image

__all__ = ["Parser", "Store"]

#: Approximate chunk size: viewers request a few at a time.
CHUNK_BYTES = 4 << 20


class _Array:
    """An array of the store: the pixels of an image, or coordinates."""

    def __init__(
        self, source: Any, chunks: Sequence[int], names: Sequence[str], attributes: dict[str, Any]
    ) -> None:
        self.source = source
        self.shape = tuple(source.shape)
        self.dtype = np.dtype(source.dtype).newbyteorder("<")
        self.chunks = tuple(chunks)
        self.fill = np.nan if self.dtype.kind == "f" else 0
        self.metadata = {
            "zarr_format": 3,
            "node_type": "array",
            "shape": list(self.shape),
            "data_type": self.dtype.name,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(chunks)}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
            "fill_value": {"f": "NaN", "b": False}.get(self.dtype.kind, 0),
            "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
            "dimension_names": list(names),
            "attributes": attributes,
            "storage_transformers": [],
        }

    def counts(self) -> tuple[int, ...]:
        """Return the number of chunks along each axis."""
        return tuple(-(-n // chunk) for n, chunk in zip(self.shape, self.chunks, strict=True))

    def has(self, words: Sequence[str]) -> bool:
        """Return whether these are the parts of a chunk key."""
        counts = self.counts()
        if len(words) != len(counts) + 1 or words[0] != "c":
            return False
        numbers = [int(word) if word.isascii() and word.isdigit() else -1 for word in words[1:]]
        return all(0 <= n < count for n, count in zip(numbers, counts, strict=True))

    def chunk(self, words: Sequence[str]) -> bytes:
        """Return the bytes of a chunk; pixels beyond the edge of the array are undefined."""
        numbers = [int(word) for word in words[1:]]
        starts = [n * chunk for n, chunk in zip(numbers, self.chunks, strict=True)]
        index = tuple(
            slice(start, min(start + chunk, length))
            for start, chunk, length in zip(starts, self.chunks, self.shape, strict=True)
        )
        values = np.asarray(self.source[index])
        if values.shape != self.chunks:
            padded = np.full(self.chunks, self.fill, self.dtype)
            padded[tuple(slice(0, count) for count in values.shape)] = values
            values = padded
        return np.ascontiguousarray(values, self.dtype).tobytes()

    def every_key(self) -> Iterator[str]:
        """Return all chunk keys of the array."""
        yield "zarr.json"
        for numbers in itertools.product(*map(range, self.counts())):
            yield "/".join(["c", *map(str, numbers)])


@public
class Store(abc.Store):
    """A read-only Zarr version 3 store of an image or of a file.

    The group of an image has the array "data" and the coordinates of its axes, by the names that
    xarray expects. A file has such a group for each image, by EXTNAME as in `xarray`'s
    ``open_datatree``; tables are left out.

    Parameters
    ----------
    source
        An image, a `File`, or a source for `tachyfits.open`.
    chunks
        Shape of the chunks of an image; None: whole rows, planes or tiles of about 4 MiB.

    Raises
    ------
    UsageError
        There are no pixels, ``chunks`` does not fit the image, or pixels are complex.
    """

    def __init__(
        self,
        source: Image | File | str | os.PathLike[str] | bytes,
        *,
        chunks: Sequence[int] | None = None,
    ) -> None:
        super().__init__(read_only=True)
        data: Any = source
        if not isinstance(data, (File, ImageHdu)):
            data = open_file(data)
        self._source, self._chunks = data, chunks
        self._arrays: dict[str, _Array] = {}
        if isinstance(data, ImageHdu):
            self._add("", data, chunks)
        else:
            for hdu in data:
                if isinstance(hdu, ImageHdu) and hdu.size:
                    self._add(f"{group_name(hdu, self._groups())}/", hdu, chunks)
        if not self._arrays:
            raise usage(f"{data.name}: no HDU has pixels", "print(file) lists the HDUs")
        self._documents = self._metadata()

    def _add(self, group: str, image: Any, chunks: Sequence[int] | None) -> None:
        warn_of_beams(image)
        shape = image.shape
        chunk = file_chunks(image, CHUNK_BYTES) if chunks is None else _chunk_shape(chunks, image)
        coordinates = image.coordinates
        names = axis_names(coordinates)
        facts = attributes(image.unit, physical_header(image), shape, names)
        self._arrays[f"{group}data"] = _Array(image, chunk, names, facts)
        for number, name in enumerate(names):
            values, unit = axis_values(coordinates, number, shape[number])
            more = {"units": unit, "ctype": coordinates.ctypes[-1 - number]}
            length = [max(1, shape[number])]
            self._arrays[f"{group}{name}"] = _Array(np.asarray(values), length, [name], more)

    def _groups(self) -> set[str]:
        return {name.rpartition("/")[0] for name in self._arrays}

    def _metadata(self) -> dict[str, bytes]:
        """Return the documents by key; that of the root contains all others."""
        group: dict[str, Any] = {"zarr_format": 3, "node_type": "group", "attributes": {}}
        nodes = {name: group for name in self._groups() if name}
        nodes |= {name: array.metadata for name, array in self._arrays.items()}
        consolidated = {"kind": "inline", "must_understand": False, "metadata": nodes}
        root = group | {"consolidated_metadata": consolidated}
        return {
            "/".join([*filter(None, [name]), "zarr.json"]): json.dumps(node).encode()
            for name, node in {"": root, **nodes}.items()
        }

    def _content(self, key: str) -> bytes | None:
        """Return the bytes of a key, or None."""
        if key in self._documents:
            return self._documents[key]
        array, words = self._place(key)
        return None if array is None else array.chunk(words)

    def _place(self, key: str) -> tuple[_Array | None, list[str]]:
        """Return the array with the chunk of this key, and the parts of the chunk key."""
        for name, array in self._arrays.items():
            words = key[len(name) + 1 :].split("/")
            if key.startswith(f"{name}/c") and array.has(words):
                return array, words
        return None, []

    def _keys(self) -> Iterator[str]:
        yield from (key for key in self._documents if self._array_of(key) is None)
        for name, array in self._arrays.items():
            yield from (f"{name}/{key}" for key in array.every_key())

    def _array_of(self, key: str) -> _Array | None:
        return self._arrays.get(key.rpartition("/")[0])

    # The interface of Zarr.

    def __eq__(self, value: object) -> bool:
        """Return whether both stores are of the same object."""
        return isinstance(value, Store) and value._source is self._source

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<tachyfits Store of {self._source!r}>"

    def __getstate__(self) -> dict[str, Any]:
        return {"source": self._source, "chunks": self._chunks}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["source"], chunks=state["chunks"])  # type: ignore[misc]

    async def get(
        self,
        key: str,
        prototype: BufferPrototype | None = None,
        byte_range: abc.ByteRequest | None = None,
    ) -> Buffer | None:
        """Return the bytes of a key, or a range of them."""
        from zarr.core.buffer import default_buffer_prototype

        content = await asyncio.to_thread(self._content, key)
        if content is None:
            return None
        first, end = _range(byte_range, len(content))
        prototype = default_buffer_prototype() if prototype is None else prototype
        buffer: Buffer = prototype.buffer.from_bytes(content[first:end])
        return buffer

    async def get_partial_values(
        self,
        prototype: BufferPrototype,
        key_ranges: Iterable[tuple[str, abc.ByteRequest | None]],
    ) -> list[Buffer | None]:
        """Return ranges of bytes of several keys."""
        return await asyncio.gather(
            *(self.get(key, prototype, byte_range) for key, byte_range in key_ranges)
        )

    async def exists(self, key: str) -> bool:
        """Return whether a key has bytes; nothing is read."""
        return key in self._documents or self._place(key)[0] is not None

    async def getsize(self, key: str) -> int:
        """Return the number of bytes of a key; nothing is read."""
        if key in self._documents:
            return len(self._documents[key])
        array, _ = self._place(key)
        if array is None:
            raise FileNotFoundError(key)
        size: int = math.prod(array.chunks) * array.dtype.itemsize
        return size

    @property
    def supports_writes(self) -> bool:
        """Whether the store is writable: False, because other functions write FITS files."""
        return False

    @property
    def supports_deletes(self) -> bool:
        """Whether keys can be deleted: False."""
        return False

    @property
    def supports_listing(self) -> bool:
        """Whether keys can be listed: True."""
        return True

    async def set(self, key: str, value: Buffer) -> None:
        """Refuse to write."""
        raise _read_only(key)

    async def delete(self, key: str) -> None:
        """Refuse to delete."""
        raise _read_only(key)

    async def list(self) -> AsyncIterator[str]:
        """List every key."""
        for key in self._keys():
            yield key

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """List the keys that begin with a text."""
        for key in self._keys():
            if key.startswith(prefix):
                yield key

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """List the direct children of a group or an array."""
        words = [word for word in prefix.split("/") if word]
        for depth in range(len(words)):
            array = self._arrays.get("/".join(words[:depth]))
            if array is not None and words[depth] == "c":
                for number in range([*array.counts(), 0][len(words) - depth - 1]):
                    yield str(number)
                return
        if "/".join(words) in self._arrays:
            yield "c"
        keys = (key.split("/") for key in self._documents)
        below = (key[len(words)] for key in keys if key[: len(words)] == words)
        for name in dict.fromkeys(below):
            yield name


@public
class Parser:
    """A parser for VirtualiZarr: references to the chunks of plain images.

    Calling it with the URL of a file and a registry of stores reads the headers, and returns a
    ``ManifestStore``. Its array "data" has the axes of the image in NumPy order, its stored
    numbers, and their factor and offset as the attributes ``scale_factor`` and ``add_offset``, as
    xarray expects. Floats keep their NaN. Without ``hdu``, each image is in a group, by EXTNAME as
    in `Store`; tables are left out.

    Parameters
    ----------
    hdu
        Number of the HDU with the image, counted from 0; None: all images of the file.

    Raises
    ------
    UsageError
        An image or the file is compressed, has BLANK, random groups, or scaled integers of 64 bits
        (`Store` decodes these); the URL has a query; or VirtualiZarr is not installed.

    Examples
    --------
    >>> from pathlib import Path
    >>> import tachyfits as tf
    >>> import xarray as xr
    >>> from obspec_utils.registry import ObjectStoreRegistry
    >>> from obstore.store import LocalStore
    >>> registry = ObjectStoreRegistry({"file://": LocalStore()})
    >>> store = tf.zarr.Parser(hdu=0)(Path("cube.fits").resolve().as_uri(), registry)
    >>> float(xr.open_zarr(store, consolidated=False, zarr_format=3)["data"][2, 3, 4])
    59.0
    """

    def __init__(self, hdu: int | None = None) -> None:
        self.hdu = hdu

    def __call__(self, url: str, registry: Any) -> ManifestStore:
        """Return the references to the images of a file."""
        return manifest_store(url, registry, self.hdu)

    def __repr__(self) -> str:
        return f"Parser(hdu={self.hdu})"


def _read_only(key: str) -> Exception:
    return usage(f"invalid key {key!r}: a store of a FITS file is only read", "use tachyfits.write")


def _range(byte_range: abc.ByteRequest | None, length: int) -> tuple[int, int]:
    """Return the byte range (start, stop) of a request."""
    if isinstance(byte_range, abc.RangeByteRequest):
        return byte_range.start, byte_range.end
    if isinstance(byte_range, abc.OffsetByteRequest):
        return byte_range.offset, length
    if isinstance(byte_range, abc.SuffixByteRequest):
        return max(0, length - byte_range.suffix), length
    return 0, length


def _chunk_shape(chunks: Sequence[int], image: Any) -> tuple[int, ...]:
    lengths = [whole_number(length, least=1) for length in chunks]
    if len(lengths) != image.ndim or None in lengths:
        raise usage(
            f"invalid chunks {chunks!r}: expected {image.ndim} lengths of at least 1",
            either("leave chunks out"),
        )
    return tuple(length for length in lengths if length is not None)
