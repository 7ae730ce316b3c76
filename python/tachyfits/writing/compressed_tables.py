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


def write_spooled_table(
    writer: _core.FileWriter,
    spool: _core.FitsFile,
    how: Compression,
    threads: int,
    progress: Progress | None,
) -> None:
    """Write the table of a spooled file, in compressed tiles if that suits it, else as it is.

    A stream of batches gives its rows once: they are in the spool only.
    """
    hdu = spool.hdu(1)
    if suits_compression(hdu):
        write_compressed_table(writer, hdu.table(), how, threads, progress)
    else:
        writer.copy(spool, 1, [], threads=threads, progress=progress)
