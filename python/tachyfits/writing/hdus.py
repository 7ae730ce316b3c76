"""A new file of several consecutive HDUs, images and tables."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tachyfits import _core
from tachyfits.base.errors import listed, usage, warn
from tachyfits.base.kinds import kind_of
from tachyfits.base.output import fits_name
from tachyfits.base.progress import Progress
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
    writer = _core.FileWriter(fits_name(path), overwrite=overwrite, checksum=checksum, sync=sync)
    errors = []
    try:
        for place, hdu in enumerate(hdus):
            data, header = hdu if isinstance(hdu, tuple) and len(hdu) == 2 else (hdu, None)
            if data is None and place == 0:
                # A primary HDU without data comes by itself before a table; before an image not.
                data = np.zeros((0,), np.uint8)
            if data is None:
                raise usage(
                    f"HDU {place} (0-based) is None: only the primary HDU can be without data",
                    "put a pair of array and header into a list: [(array, None)]",
                )
            for one, cards in parts_of(data, header):
                error = _write_hdu(writer, one, cards, threads, progress, compress)
                if error > 0:
                    errors.append(f"{error:.6g} in HDU {place}")
        for table in tables:
            _copy_other(writer, table, None, threads, progress)
        writer.commit()
    finally:
        writer.discard()
    if errors:
        warn(
            f"{os.fspath(path)}: values were rounded; the largest errors are "
            f"{listed(errors)} of the list"
        )


#: A primary HDU without data.
_PRIMARY = "".join(
    card.ljust(80)
    for card in (
        "SIMPLE  =                    T",
        "BITPIX  =                    8",
        "NAXIS   =                    0",
        "END",
    )
)


def tables_of_images(
    images: Iterable[tuple[str, Any]], beside: Iterable[tuple[str, Any]]
) -> list[Hdu]:
    """Return the tables of beams and coordinates that images need and are not beside them.

    Images find them by name, so two images of one file cannot have different tables of one name.
    HDUs come with their names for messages; only images and tables count.
    """
    known: dict[tuple[str, int], tuple[str, Hdu]] = {}
    for place, hdu in beside:
        if kind_of(hdu) == "table":
            known.setdefault((hdu.name.upper(), hdu.version), (place, hdu))
    needed = []
    for place, hdu in images:
        found = hdu._core_image().companion_bytes() if kind_of(hdu) == "image" else b""
        if not found:
            continue
        core = _core.FitsFile.open(_PRIMARY.ljust(2880).encode() + found, name=hdu.file.name)
        for table in list(File.computed(core, None))[1:]:
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


def _data_of(table: Hdu) -> tuple[int, int]:
    return table.data_bytes, table.checksum(threads=1).datasum


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
    threads: int,
    progress: Progress | None,
    compress: Compression | str | None,
) -> float:
    """Write an HDU; return the largest error of rounding."""
    kind = kind_of(data)
    if kind == "image":
        data._warn_of_groups()
    if kind == "image" and header is None:
        how = engine_compression(compress, data.shape) if data.size else None
        core = data._core_image()
        return writer.write_image(core, compression=how, threads=threads, progress=progress)
    if kind in ("image", "array", "list"):
        array, unit = stacked(data) if kind == "list" else (data, unit_of(data))
        cards = image_cards(header, unit)
        array = native(array)
        how = engine_compression(compress, array.shape) if array.size else None
        return writer.write_array(array, cards, compression=how, threads=threads, progress=progress)
    if kind == "hdu":
        _copy_other(writer, data, header, threads, progress)
        return 0.0
    tiles = table_compression(compress)
    if tiles is not None:
        _write_compressed(writer, data, header, threads, progress, tiles)
    elif kind == "table" and data._hdu().stored is not None:
        # Byte by byte: arrays of a table that was compressed stay where they were in its heap.
        _copy_other(writer, data, header, threads, progress)
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
        error = _write_hdu(writer, data, header, threads, progress, compress)
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
            _write_hdu(writer, data, header, threads, progress, None)
            return
        write_compressed_table(writer, data._core_table(), how, threads, progress)
        return
    spool = _core.FileWriter.spooled("a new table")
    try:
        _write_hdu(spool, data, header, threads, progress, None)
        write_spooled_table(writer, spool.open(), how, threads, progress)
    finally:
        spool.discard()


def _copy_other(
    writer: _core.FileWriter, hdu: Hdu, header: Any, threads: int, progress: Progress | None
) -> None:
    """Copy an HDU that is neither image nor table: one without data, or a foreign extension."""
    if hdu.kind in ("primary", "random groups"):
        if hdu.data_bytes:
            raise usage(f"{hdu._where()} ({hdu.kind}) cannot be copied", "copy the whole file")
        cards = image_cards(hdu.header if header is None else header)
        writer.write_array(np.zeros((0,), np.uint8), cards, threads=threads, progress=progress)
        return
    core, cards = hdu.file._open_core(), table_cards(header)
    writer.copy(core, hdu.index, cards, threads=threads, progress=progress)
