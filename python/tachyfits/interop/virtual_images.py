"""Plain images as virtual chunks for VirtualiZarr: byte ranges of the file, no copies.

A reference states the byte range of a chunk and how Zarr decodes it. It therefore supports only
images whose pixels are the stored numbers, scaled by one factor and one offset;
`tachyfits.zarr.Store` decodes the others. Chunks divide the image, because FITS has no padding at
its edges.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tachyfits.base.errors import usage
from tachyfits.base.optional import needed
from tachyfits.base.sources import is_compressed
from tachyfits.file.file import open as open_file
from tachyfits.file.image_hdu import ImageHdu
from tachyfits.interop.dask_arrays import file_chunks
from tachyfits.interop.lazy_array import physical_header
from tachyfits.interop.named_axes import attributes, axis_names, group_name, warn_of_beams

if TYPE_CHECKING:
    from virtualizarr.manifests import ManifestArray, ManifestStore

#: Approximate chunk size: a dask task reads one chunk.
CHUNK_BYTES = 16 << 20

#: Bytes per read of the headers: less than the latency of a request is worth.
_BLOCK_BYTES = 64 << 10

#: Integers of up to this many bits are exact in float64 with an offset.
_EXACT_BITS = 32


def manifest_store(url: str, registry: Any, hdu: int | None) -> ManifestStore:
    """Return references to one image, or to the images of all HDUs, each in a group."""
    manifests = needed("virtualizarr.manifests", "references to chunks")
    readers = needed("obspec_utils.readers", "references to chunks")
    if "?" in url:
        # References are stored and sent, and the query may contain a signature.
        raise usage(
            f"{url.partition('?')[0]}: expected a URL without a query",
            "give the credentials to the store in the registry",
        )
    store, path = registry.resolve(url)
    reader = readers.BlockStoreReader(store, path, block_size=_BLOCK_BYTES)
    if is_compressed(reader.read(_BLOCK_BYTES)):
        raise _refused(url, "the whole file is compressed")
    reader.seek(0)
    groups: dict[str, Any] = {}
    with open_file(reader) as file:
        if hdu is not None:
            root = _group(file.image(hdu), url)
        else:
            for image in file:
                if isinstance(image, ImageHdu) and image.size:
                    groups[group_name(image, groups)] = _group(image, url)
            root = manifests.ManifestGroup(groups=groups)
    result: ManifestStore = manifests.ManifestStore(root, registry=registry)
    return result


def _group(image: Any, url: str) -> Any:
    manifests = needed("virtualizarr.manifests", "references to chunks")
    warn_of_beams(image)
    return manifests.ManifestGroup(arrays={"data": _array(image, url)})


def _array(image: Any, url: str) -> ManifestArray:
    """Return the references to the chunks of an image."""
    manifests = needed("virtualizarr.manifests", "references to chunks")
    utils = needed("virtualizarr.manifests.utils", "references to chunks")
    kind = _stored_type(image)
    chunks = dividing_chunks(image.shape, file_chunks(image, CHUNK_BYTES))
    names = axis_names(image.coordinates)
    facts = attributes(image.unit, physical_header(image), image.shape, names)
    scaling = image.scaling
    if (scaling.bscale, scaling.bzero) != (1.0, 0.0):
        facts |= {"scale_factor": scaling.bscale, "add_offset": scaling.bzero}
    metadata = utils.create_v3_array_metadata(
        shape=image.shape, data_type=kind, chunk_shape=chunks, attributes=facts,
        dimension_names=names, codecs=[{"name": "bytes", "configuration": {"endian": "big"}}],
    )  # fmt: skip
    counts = [length // chunk for length, chunk in zip(image.shape, chunks, strict=True)]
    size = math.prod(chunks) * kind.itemsize
    offsets = image.data_offset + size * np.arange(math.prod(counts), dtype=np.uint64)
    manifest = manifests.ChunkManifest.from_arrays(
        paths=np.full(counts, url, np.dtypes.StringDType()),
        offsets=offsets.reshape(counts),
        lengths=np.full(counts, size, np.uint64),
    )
    array: ManifestArray = manifests.ManifestArray(metadata, manifest)
    return array


def dividing_chunks(shape: tuple[int, ...], chunks: tuple[int, ...]) -> tuple[int, ...]:
    """Return the largest chunks, at most of these sizes, that divide a shape.

    >>> dividing_chunks((9, 100, 70), (6, 100, 70))
    (3, 100, 70)
    """
    return tuple(
        next(size for size in range(chunk, 0, -1) if length % size == 0)
        for length, chunk in zip(shape, chunks, strict=True)
    )


def _stored_type(image: Any) -> np.dtype[Any]:
    """Return the type of the stored numbers; raise an error if they are not the pixels."""
    place = image._where()
    if image.compression is not None:
        raise _refused(place, "the image is compressed")
    if image.kind == "random groups":
        raise _refused(place, "random groups have parameters between the pixels")
    if image.scaling.blank is not None:
        raise _refused(place, "BLANK marks undefined pixels")
    bits = image.bitpix
    is_scaled = (image.scaling.bscale, image.scaling.bzero) != (1.0, 0.0)
    if is_scaled and bits > _EXACT_BITS:
        raise _refused(place, "float64 does not hold scaled integers of 64 bits exactly")
    return np.dtype("u1" if bits == 8 else f">{'i' if bits > 0 else 'f'}{abs(bits) // 8}")


def _refused(place: str, reason: str) -> Exception:
    return usage(
        f"{place}: expected an image whose stored numbers are its pixels, found that {reason}",
        "tf.zarr.Store decodes such an image",
    )
