"""Tables in compressed tiles: which tables, and writing one of them."""

from __future__ import annotations

from tachyfits import _core
from tachyfits.base.progress import Progress
from tachyfits.writing.compression import Compression

#: Bytes of data below which fpack copies a table.
LEAST_BYTES = 5760


def suits_compression(hdu: _core.Hdu) -> bool:
    """Return whether a table is compressed: a binary one that is large enough."""
    return hdu.kind == "binary table" and hdu.data_bytes >= LEAST_BYTES


def write_compressed_table(
    writer: _core.FileWriter,
    table: _core.Table,
    how: Compression,
    threads: int,
    progress: Progress | None,
) -> None:
    """Write a whole binary table as the next HDU, in compressed tiles."""
    names = [column.name for column in table.columns()]
    options = how.table_options(names)
    writer.write_compressed_table(table, **options, threads=threads, progress=progress)
