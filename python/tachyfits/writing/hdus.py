"""A new file of several consecutive HDUs, images and tables."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tachyfits import _core
from tachyfits.base.errors import listed, usage, warn
from tachyfits.base.kinds import kind_of
from tachyfits.base.output import fits_name
from tachyfits.base.progress import Progress
from tachyfits.file.companions import companion_hdus
from tachyfits.file.file import File
from tachyfits.file.hdu import Hdu
from tachyfits.interop.nddata import parts_of as nddata_parts
from tachyfits.interop.to_columns import table_cards, to_columns
from tachyfits.table.part import Part
from tachyfits.writing.compression import (
    Compression,
    check_table_compression,
    engine_compression,
    suits_compression,
    table_compression,
    write_compressed_table,
    write_spooled_table,
)
from tachyfits.writing.copying import copy_into
from tachyfits.writing.images import image_cards, native, unit_of
from tachyfits.writing.stacking import stacked
from tachyfits.writing.tables import new_columns, write_columns


def write_hdus(
    path: str | os.PathLike[str],
    hdus: Sequence[Any],
    overwrite: bool,
    checksum: bool,
    sync: bool,
    threads: int,
    progress: Progress | None,
    compress: Compression | str | None = None,
) -> None:
    """Write a file of these HDUs; see `tachyfits.write`."""
    named = [(f"HDU {place} of the list", hdu) for place, hdu in enumerate(hdus)]
    tables = tables_of_images(named, named)
    beside = {(hdu.name.upper(), hdu.version) for hdu in tables} | names_of(hdus)
    writer = _core.FileWriter(fits_name(path), overwrite=overwrite, checksum=checksum, sync=sync)
    errors = []
    try:
        for place, hdu in enumerate(hdus):
            data, header = hdu if isinstance(hdu, tuple) and len(hdu) == 2 else (hdu, None)
            if data is None and place == 0:
                writer.write_empty(image_cards(header))
                continue
            if data is None:
                raise usage(
                    f"HDU {place} (0-based) is None: only the primary HDU can be without data",
                    "put a pair of array and header into a list: [(array, None)]",
                )
            for one, cards in parts_of(data, header):
                is_first = place == 0
                error = _write_hdu(
                    writer, one, cards, is_first, threads, progress, compress, beside
                )
                if error > 0:
                    errors.append(f"{error:.6g} in HDU {place}")
        for table in tables:
            _copy_hdu(writer, table, None, threads, progress)
        writer.commit()
    finally:
        writer.discard()
    if errors:
        warn(
            f"{os.fspath(path)}: values were rounded; the largest errors are "
            f"{listed(errors)} of the list"
        )


@dataclass(frozen=True)
class RestoredPrimary:
    """An image that was the primary array before it was compressed, and the empty HDU before it."""

    image: Hdu
    primary: Hdu


def restored_hdus(file: File) -> list[Hdu | RestoredPrimary]:
    """Return the HDUs of a file as they were before it was compressed.

    Compression puts an empty primary HDU before the table of a primary array. It has cards of its
    own in some archives.
    """
    hdus: list[Hdu | RestoredPrimary] = list(file)
    if len(hdus) > 1 and not file[0].shape and file[1].was_primary:
        return [RestoredPrimary(file[1], file[0]), *hdus[2:]]
    return hdus


def _write_restored(
    writer: _core.FileWriter, pair: RestoredPrimary, threads: int, progress: Progress | None
) -> None:
    """Write an image with the cards of the empty primary HDU that it does not have."""
    image, primary = pair.image, pair.primary
    others = writer.write_restored(image.file._open_core(), threads=threads, progress=progress)
    if others:
        warn(
            f"{primary._where()}: cards that the image of HDU {image.index} has with another value "
            f"are left out: {listed(others)}"
        )


def tables_of_images(
    images: Iterable[tuple[str, Any]], beside: Iterable[tuple[str, Any]]
) -> list[Hdu]:
    """Return the HDUs of beams and coordinates that images need and are not beside them.

    They are tables (BEAMS, -TAB) and images of corrections (CPDIS, D2IM). Images find them by name,
    so two images of one file cannot have different ones of one name. HDUs come with their names for
    messages; only images, planes and tables count.
    """
    known: dict[tuple[str, int], tuple[str, Hdu]] = {}
    for place, hdu in beside:
        if isinstance(hdu, Hdu) and hdu.name:
            known.setdefault((hdu.name.upper(), hdu.version), (place, hdu))
    needed = []
    for place, hdu in images:
        for table in companion_hdus(*_companions_of(hdu)):
            owner = f"the image of {place}"
            other, same = known.setdefault((table.name.upper(), table.version), (owner, table))
            if same is table:
                needed.append(table)
            elif _data_of(same) != _data_of(table):
                raise usage(
                    f"{owner} and {other} have different tables {table.name!r}, and images of one "
                    "file share it",
                    "write them to separate files, and leave out tables of other channels",
                )
    return needed


def names_of(hdus: Iterable[Any]) -> set[tuple[str, int]]:
    """Return EXTNAME, in capitals, and EXTVER of HDUs of a list, as far as they have a name."""
    names = set()
    for hdu in hdus:
        if isinstance(hdu, Hdu):
            names.add((hdu.name.upper(), hdu.version))
        elif isinstance(hdu, tuple) and len(hdu) == 2 and hasattr(hdu[1], "get"):
            version = hdu[1].get("EXTVER", 1)
            number = version if isinstance(version, int) else 1
            names.add((str(hdu[1].get("EXTNAME", "")).strip().upper(), number))
    return names


def _companions_of(data: Any) -> tuple[bytes, str]:
    """Return the HDUs that an image or a plane needs, and the name of its file."""
    kind = kind_of(data)
    if kind == "image":
        # An image whose pixels cannot be read is copied as it is, with the HDUs of the list.
        readable = data._problem() is None
        return data._core_image().companion_bytes() if readable else b"", data.file.name
    return (data.companions, data.source) if kind == "measured" else (b"", "")


#: Cards of an image of corrections that say which pixels it corrects.
_PLACE = [f"{root}{axis}" for root in ("CRPIX", "CRVAL", "CDELT") for axis in (1, 2)]


def _data_of(hdu: Hdu) -> tuple[Any, ...]:
    """Return what must be equal in HDUs of one name that images share."""
    image: Any = hdu
    if kind_of(hdu) == "image" and image._problem() is None:
        # Of a compressed image the pixels count.
        place = [hdu.header.get(keyword) for keyword in _PLACE]
        return image.shape, image.read(dtype="raw").tobytes(), *place
    return hdu.data_bytes, hdu.checksum(threads=1).datasum


def parts_of(data: Any, header: Any) -> Sequence[tuple[Any, Any]]:
    """Return the HDUs that some data become, with their headers: several for a CCDData."""
    kind = kind_of(data)
    if kind == "measured":
        return [data.as_written(header)]
    if kind == "nddata":
        return nddata_parts(data, header)
    return [(data, header)]


def _write_hdu(
    writer: _core.FileWriter,
    data: Any,
    header: Any,
    is_first: bool,
    threads: int,
    progress: Progress | None,
    compress: Compression | str | None,
    beside: Collection[tuple[str, int]] = (),
) -> float:
    """Write an HDU; return the largest error of rounding."""
    kind = kind_of(data)
    if isinstance(data, RestoredPrimary):
        _write_restored(writer, data, threads, progress)
        return 0.0
    if kind == "image" and header is None and is_first and data.kind == "random groups":
        # Their parameters are not pixels.
        _copy_hdu(writer, data, None, threads, progress)
        return 0.0
    if kind == "image" and header is None and data._problem() is not None:
        # Pixels that the header does not describe are bytes.
        _copy_hdu(writer, data, None, threads, progress)
        return 0.0
    if kind == "image":
        data._warn_of_groups()
    if kind == "image" and header is None:
        how = engine_compression(compress, data.shape, None, data.bitpix)
        core = data._core_image()
        return writer.write_image(core, compression=how, threads=threads, progress=progress)
    if kind in ("image", "array", "list"):
        array, unit = stacked(data) if kind == "list" else (data, unit_of(data))
        cards = image_cards(header, unit, beside)
        array = native(array)
        how = engine_compression(compress, array.shape, array.dtype)
        return writer.write_array(array, cards, compression=how, threads=threads, progress=progress)
    if kind == "hdu":
        _copy_hdu(writer, data, header, threads, progress)
        return 0.0
    tiles = table_compression(compress)
    if tiles is not None:
        _write_compressed(writer, data, header, threads, progress, tiles)
    elif kind == "table" and data._hdu().stored is not None:
        # Byte by byte: arrays of a table that was compressed stay where they were in its heap.
        _copy_hdu(writer, data, header, threads, progress)
    elif kind == "table":
        part = Part(data, data.columns, (0, len(data)), threads=threads, progress=progress)
        copy_into(writer, part, cards=table_cards(header))
    else:
        table = to_columns(data)
        new = new_columns(table.columns, "binary", None)
        write_columns(writer, new, table.cards(header), "binary", None, threads, progress)
    return 0.0


def compressed_file(
    data: Any,
    header: Any,
    compress: Compression | str,
    threads: int,
    progress: Progress | None,
) -> tuple[_core.FitsFile, float]:
    """Return a temporary file whose last HDU is an image or a table, compressed as by `write`.

    It has the tiles as they are stored. The number is the largest error of rounding.
    """
    if kind_of(data) not in ("image", "array"):
        check_table_compression(compress)
    writer = _core.FileWriter.spooled("a new HDU")
    try:
        error = _write_hdu(writer, data, header, False, threads, progress, compress)
        return writer.open(raw=True), error
    finally:
        writer.discard()


def _write_compressed(
    writer: _core.FileWriter,
    data: Any,
    header: Any,
    threads: int,
    progress: Progress | None,
    how: Compression,
) -> None:
    """Write a table in compressed tiles, or copy one that is small, of text, or compressed."""
    if kind_of(data) == "table" and header is None:
        hdu = data._hdu()
        if not suits_compression(hdu) or data._compression is not None:
            _write_hdu(writer, data, header, False, threads, progress, None)
            return
        write_compressed_table(writer, data._core_table(), how, threads, progress)
        return
    spool = _core.FileWriter.spooled("a new table")
    try:
        _write_hdu(spool, data, header, False, threads, progress, None)
        write_spooled_table(writer, spool.open(), how, threads, progress)
    finally:
        spool.discard()


def _copy_hdu(
    writer: _core.FileWriter, hdu: Hdu, header: Any, threads: int, progress: Progress | None
) -> None:
    """Copy an HDU byte by byte; one without data may have another header."""
    if header is not None and hdu.kind in ("primary", "image") and not hdu.data_bytes:
        writer.write_empty(image_cards(header))
        return
    core, cards = hdu.file._open_core(), table_cards(header)
    writer.copy(core, hdu.index, cards, threads=threads, progress=progress)
