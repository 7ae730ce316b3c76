"""Write tables of any kind as the next HDU of a file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tachyfits import _core
from tachyfits.base.errors import either, listed, not_found, usage
from tachyfits.base.kinds import kind_of
from tachyfits.header.given import Cards
from tachyfits.interop.mixins import cards_for
from tachyfits.interop.observatory import with_places
from tachyfits.interop.table_files import TableFile, open_table_file
from tachyfits.interop.times import time_cards
from tachyfits.interop.to_columns import table_cards, to_columns
from tachyfits.table.part import Part
from tachyfits.table.reading import TableReading
from tachyfits.table.table import Table
from tachyfits.table.values import ColumnData, with_null
from tachyfits.text.units import given_unit
from tachyfits.writing.ascii_columns import new_text_column
from tachyfits.writing.batches import batches_of, naming, write_batches
from tachyfits.writing.column_forms import formed_column
from tachyfits.writing.compression import (
    check_table_compression,
    suits_compression,
    table_compression,
    write_compressed_table,
    write_spooled_table,
)
from tachyfits.writing.copying import copy_into, refuse_part
from tachyfits.writing.new_columns import NewColumn, warn_of_names, with_descriptions
from tachyfits.writing.options import OF_TABLES, Options


def write_table(
    data: Any, options: Options, writer: _core.FileWriter, _: Collection[Any] = ()
) -> float:
    """Write a table as the next HDU of a file, compressed in tiles if the options request it."""
    compress, is_listed = options.compress, options.place is not None
    how = table_compression(compress) if is_listed else check_table_compression(compress)
    is_whole = isinstance(data, Table) and not options.among(["header", "name", *OF_TABLES])
    if how is None:
        _add_table(writer, data, options)
    elif not is_whole:
        spool = _core.FileWriter.spooled("a new table")
        try:
            _add_table(spool, data, options)
            write_spooled_table(writer, spool.open(), how, **options.run)
        finally:
            spool.discard()
    elif suits_compression(data._hdu()) and data._compression is None:
        write_compressed_table(writer, data._core_table(), how, **options.run)
    else:
        _add_table(writer, data, options)
    return 0.0


def _add_table(writer: _core.FileWriter, data: Any, options: Options) -> None:
    """Write a table as the next HDU of a file."""
    units, nulls, descriptions = options.units, options.nulls, options.descriptions
    forms, header, name = options.forms, options.header, options.name
    kind = "binary" if options.kind is None else options.kind
    _check_by_name(units=units, nulls=nulls, descriptions=descriptions, forms=forms)
    if kind_of(data) == "path":
        data = open_table_file(data)
    # An ASCII table in a list stays an ASCII table.
    is_kept = options.place is not None and options.kind is None
    is_copied = isinstance(data, Table) and (is_kept or data.kind == f"{kind} table")
    if is_copied and not (units or nulls or forms):
        _copy(writer, data, options)
        return
    if isinstance(data, TableReading):
        refuse_part(data)
    batches = isinstance(data, TableFile) and kind == "binary" and not forms
    places = data.chosen(options.columns) if batches else []
    if batches:
        with naming(data.name):
            table = to_columns(data.empty(places))
    else:
        table = to_columns(
            data.read(options.columns) if isinstance(data, TableFile) else data, descriptions
        )
    if descriptions:
        # Descriptions of objects are in the comments.
        objects = [name for name, names in table.parts.items() if name not in names]
        descriptions = {name: descriptions[name] for name in descriptions if name not in objects}
    names = None if options.columns is None else _names(options.columns, table.parts)
    cards = table.cards(header, names)
    if descriptions:
        cards = cards_for(cards, None, descriptions=descriptions)

    def made(columns: list[ColumnData]) -> list[ColumnData]:
        return described(chosen(columns, names), units, nulls, descriptions)

    if batches:

        def read() -> Iterator[list[ColumnData]]:
            tables = data.batches(places)
            return batches_of(data.name, tables, lambda batch: made(to_columns(batch).columns))

        with naming(data.name):
            empty = made(table.columns)
        write_batches(writer, empty, read, data.rows, cards, name, **options.run)
        return
    new = new_columns(made(table.columns), kind, forms)
    _write_columns(writer, new, cards, kind, options)


def _names(columns: str | Sequence[str], parts: Mapping[str, Sequence[str]]) -> list[str]:
    """Return column names from one name or several, with objects replaced by their ``parts``."""
    names = list(columns) if np.iterable(columns) and not isinstance(columns, str) else [columns]
    if not all(isinstance(name, str) for name in names):
        raise usage(
            f"invalid columns: expected names, found {columns!r}",
            either('as columns=["RA", "DEC"]'),
        )
    return [part for name in names for part in parts.get(name, [name])]


def _check_by_name(**options: Any) -> None:
    """Refuse options that are not mappings by column name."""
    for option, value in options.items():
        if value is not None and not isinstance(value, Mapping):
            raise usage(
                f"invalid {option}: expected a dict by column name, found {value!r}",
                f'as {option}={{"MAG": ...}}',
            )


def _copy(writer: _core.FileWriter, table: Table, options: Options) -> None:
    """Write a table as the next HDU of a file, its cells as stored."""
    descriptions, cards = options.descriptions or {}, table_cards(options.header)
    names = None if options.columns is None else _names(options.columns, {})
    selected = table._chosen(names)
    _refuse_unknown(descriptions, [column.name for column in selected], "descriptions")
    if descriptions:
        cards = cards_for(cards, None, descriptions=descriptions)
    if options.name is not None:
        cards = [*(card for card in cards if card[0] != "EXTNAME"), *options.name_cards]
    if table._hdu().stored is not None and names is None and not descriptions:
        # Arrays of a table that was compressed keep their positions in its heap.
        writer.copy(table.file._open_core(), table.index, cards, **options.run)
        return
    part = Part(table, selected, (0, len(table)), **options.run)
    copy_into(writer, part, cards=cards, descriptions=descriptions)


def _write_columns(
    writer: _core.FileWriter, new: Sequence[NewColumn], cards: Cards, kind: str, options: Options
) -> None:
    """Write columns as the next HDU of a file."""
    columns = [column.data for column in new]
    warn_of_names(columns)
    rows = new[0].data.rows if new else 0
    specs = [column.spec for column in new]
    about = cards_for(time_cards(cards, columns), [column.name for column in columns])
    new_cards = with_descriptions(about, columns)
    writer.begin_table(specs, new_cards, kind=kind, name=options.name, rows=rows)
    cells = [column.cells() for column in new]
    writer.write_rows(cells, rows, **options.run)
    writer.end_table()


def new_columns(
    columns: Sequence[ColumnData], kind: str, forms: Mapping[str, str] | None
) -> list[NewColumn]:
    """Return the columns of a new table of a kind."""
    columns = with_places(columns)
    if kind not in ("binary", "ascii"):
        raise usage(
            f"invalid kind={kind!r}: expected binary or ascii", either('leave it out for "binary"')
        )
    by_name = forms or {}
    _refuse_unknown(by_name, [column.name for column in columns], "forms")
    column_of = formed_column if kind == "binary" else new_text_column
    return [column_of(column, by_name.get(column.name)) for column in columns]


def chosen(made: list[ColumnData], names: Sequence[str] | None) -> list[ColumnData]:
    """Return the columns of these names, in this order; the first of repeated names; None: all."""
    if names is None:
        return made
    by_name: dict[str, ColumnData] = {}
    for column in made:
        by_name.setdefault(column.name, column)
    missing = [name for name in names if name not in by_name]
    if missing:
        raise not_found(f"no column is named {missing[0]!r}", f"the columns are {listed(by_name)}")
    return [by_name[name] for name in dict.fromkeys(names)]


def described(
    made: Sequence[ColumnData],
    units: Mapping[str, str] | None,
    nulls: Mapping[str, int] | None,
    descriptions: Mapping[str, str] | None,
) -> list[ColumnData]:
    """Return columns with these properties set."""
    for option, mapping in (("units", units), ("nulls", nulls), ("descriptions", descriptions)):
        _refuse_unknown(mapping or {}, [column.name for column in made], option)
    result = []
    for column in made:
        name = column.name
        if nulls and name in nulls:
            column = with_null(column, nulls[name])
        if units and name in units:
            column = replace(column, unit=given_unit(units[name]))
        if descriptions and name in descriptions:
            column = replace(column, description=descriptions[name] or "")
        result.append(column)
    return result


def _refuse_unknown(mapping: Mapping[str, Any], names: Sequence[str], option: str) -> None:
    unknown = [name for name in mapping if name not in names]
    if unknown:
        raise not_found(
            f"invalid {option}: no column is named {unknown[0]!r}",
            f"the columns are {listed(names)}",
        )
