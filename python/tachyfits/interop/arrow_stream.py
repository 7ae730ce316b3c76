"""Rows of a table as a stream of Arrow batches from the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tachyfits.interop.arrow import arrow_reader, field_metadata, pyarrow_module, table_metadata
from tachyfits.table.part import Part

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class ArrowStream:
    """A part of a table that other libraries read batch by batch; see `Table.arrow_stream`."""

    part: Part

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return a new stream in a capsule; the schema is that of the table."""
        part = self.part
        if not isinstance(part.rows, tuple) or any(column.delimiter for column in part.columns):
            return self._batches().__arrow_c_stream__(requested_schema)
        empty = part.read((0, 0), "bytes")
        fields = [field_metadata(empty.info.get(key), array) for key, array in empty.items()]
        metadata = (list(table_metadata(empty).items()), [list(each.items()) for each in fields])
        return part.table._stream(
            part.columns, part.rows, part.where, part.batch_rows, part.threads, metadata
        )

    def reader(self) -> pa.RecordBatchReader:
        """Return a pyarrow reader."""
        reader: pa.RecordBatchReader = pyarrow_module().RecordBatchReader.from_stream(self)
        return reader

    def _batches(self) -> pa.RecordBatchReader:
        """Return a reader of batches built in Python."""
        part = self.part
        batches = (part.read(piece, "bytes") for piece in part.pieces())
        return arrow_reader(part.read((0, 0), "bytes"), batches)
