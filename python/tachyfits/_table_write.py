"""Writing tables: a new file from whatever is a table; nothing appears before it is complete."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tachyfits import _core
from tachyfits._errors import not_found, usage
from tachyfits._header import Header
from tachyfits._pixels import Progress
from tachyfits._table_ascii import new_text_column
from tachyfits._table_import import TableFile, is_table_file, open_table_file
from tachyfits._table_input import columns_of, meta_of_data
from tachyfits._table_meta import describing_cards
from tachyfits._table_spec import NewColumn, description_cards, new_column
from tachyfits._table_stream import write_batches
from tachyfits._table_values import ColumnData
from tachyfits._threads import check_threads
from tachyfits._writer import fits_name

#: Cards as the engine takes them.
Cards = list[tuple[str, Any, str]]


def write_table(
    path: str | os.PathLike[str],
    data: Any,
    *,
    columns: Sequence[str] | None = None,
    units: Mapping[str, str] | None = None,
    nulls: Mapping[str, int] | None = None,
    descriptions: Mapping[str, str] | None = None,
    name: str | None = None,
    header: Header | Mapping[str, Any] | None = None,
    kind: str = "binary",
    forms: Mapping[str, str] | None = None,
    overwrite: bool = False,
    checksum: bool = False,
    sync: bool = False,
    threads: int = 0,
    progress: Progress | None = None,
) -> None:
    """Write a table as the first extension of a new FITS file.

    The file appears under its name when it is complete.

    Parameters
    ----------
    path
        The new file.
    data
        A dict of arrays or lists, a structured array, an astropy Table or QTable, a pandas or
        polars frame, whatever gives an Arrow stream (pyarrow, DuckDB), `Columns`, a `Table`; or the
        path of a Parquet, Arrow or CSV file, which is read batch by batch (CSV whole) by pyarrow.
        Masked elements, None and null are undefined: TNULLn for integers (a value that does not
        occur, unless ``nulls`` says one), NaN for floats, the byte 0 for truth values, nothing for
        text. Cells of different lengths (lists, `Ragged`) go into the heap. Dates become ISO 8601
        text, durations seconds. The index of a pandas frame becomes columns, as reset_index() names
        them, unless it is one of integers without a name.
    columns
        Only these, in this order.
    units, nulls, descriptions
        TUNITn, TNULLn (as a value of the column) and the comment of TTYPEn by name of column,
        before what the data say.
    name
        EXTNAME.
    header
        More cards: of a `Header`, or keywords and values. What ``data`` has as ``meta`` comes
        before them.
    kind
        "binary" (BINTABLE), or "ascii" (TABLE): text that people can read, of single numbers and
        text alone.
    forms
        TFORMn by name of column, of ASCII tables: "I6", "F8.3", "E16.8", "D25.16", "A10". Floats
        are rounded to the decimals of their form; other values are refused if they do not fit it.
        Without one every digit is written.
    overwrite
        Replace an older file.
    checksum
        Write DATASUM and CHECKSUM.
    sync
        Return only when the file survives a loss of power.
    threads
        0: one per core.

    Raises
    ------
    UsageError
        A column cannot be said in FITS; nothing is changed to make it fit.
    FitsIoError
        The file exists and ``overwrite`` is false, or writing fails.

    Examples
    --------
    >>> import tachyfits as tf
    >>> stars = {"NAME": ["alpha", "beta"], "MAG": [1.5, None], "N": [3, None]}
    >>> tf.write_table("stars.fits", stars, units={"MAG": "mag"}, name="STARS")
    >>> tf.open("stars.fits")["STARS"]["N"]
    masked_array(data=[3, --],
                 mask=[False,  True],
           fill_value=999999)
    """
    source = open_table_file(data) if is_table_file(data) else data
    cards, workers = cards_of(source, header), check_threads(threads)

    def made(table: Any) -> list[ColumnData]:
        return described(chosen(columns_of(table), columns), units, nulls, descriptions)

    writer = _core.FileWriter(fits_name(path), overwrite=overwrite, checksum=checksum, sync=sync)
    try:
        if isinstance(source, TableFile) and kind == "binary" and not forms:
            names = source.chosen(columns)
            write_batches(
                writer,
                made(source.empty(names)),
                lambda: map(made, source.batches(names)),
                source.rows,
                cards,
                name,
                workers,
                progress,
            )
        else:
            whole = source.read(columns) if isinstance(source, TableFile) else source
            new = new_columns(made(whole), kind, forms)
            write_columns(writer, new, cards, kind, name, workers, progress)
        writer.commit()
    finally:
        writer.discard()


def write_columns(
    writer: _core.FileWriter,
    new: Sequence[NewColumn],
    cards: Cards,
    kind: str,
    name: str | None,
    threads: int,
    progress: Progress | None,
) -> None:
    """Write columns as the next HDU of a file."""
    rows = new[0].data.rows if new else 0
    comments = description_cards([column.data for column in new])
    specs = [column.spec for column in new]
    writer.begin_table(specs, [*comments, *cards], kind=kind, name=name, rows=rows)
    cells = [column.cells() for column in new]
    writer.write_rows(cells, rows, threads=threads, progress=progress)
    writer.end_table()


def new_columns(
    made: Sequence[ColumnData], kind: str, forms: Mapping[str, str] | None
) -> list[NewColumn]:
    """Return the columns of a new table of a kind."""
    if kind == "binary":
        if forms:
            raise usage("forms= is for ASCII tables", 'add kind="ascii", or leave it out')
        return [new_column(column) for column in made]
    if kind != "ascii":
        raise usage(f"kind={kind!r} is none", 'use "binary" or "ascii"')
    known = forms or {}
    _refuse_unknown(known, made, "forms")
    return [new_text_column(column, known.get(column.name)) for column in made]


def chosen(made: list[ColumnData], names: Sequence[str] | None) -> list[ColumnData]:
    """Return the columns of these names, in this order; all of them for None."""
    if names is None:
        return made
    by_name = {column.name: column for column in made}
    missing = [name for name in names if name not in by_name]
    if missing:
        raise not_found(f"there is no column {missing[0]!r}", f"there are {', '.join(by_name)}")
    return [by_name[name] for name in names]


def described(
    made: Sequence[ColumnData],
    units: Mapping[str, str] | None,
    nulls: Mapping[str, int] | None,
    descriptions: Mapping[str, str] | None,
) -> list[ColumnData]:
    """Return columns with what is said of them beside the data."""
    from tachyfits._table_values import with_null

    for option, said in (("units", units), ("nulls", nulls), ("descriptions", descriptions)):
        _refuse_unknown(said or {}, made, option)
    result = []
    for column in made:
        name = column.name
        if nulls and name in nulls:
            column = with_null(column, nulls[name])
        if units and name in units:
            column = replace(column, unit=str(units[name]) or None)
        if descriptions and name in descriptions:
            column = replace(column, description=descriptions[name])
        result.append(column)
    return result


def _refuse_unknown(said: Mapping[str, Any], made: Sequence[ColumnData], option: str) -> None:
    names = [column.name for column in made]
    unknown = [name for name in said if name not in names]
    if unknown:
        raise not_found(
            f"{option} names a column {unknown[0]!r} that there is not",
            f"there are {', '.join(names)}",
        )


def cards_of(data: Any, header: Header | Mapping[str, Any] | None) -> Cards:
    """Return the cards that a table brings, and those that are given."""
    from tachyfits._table import Table

    cards: Cards = []
    if isinstance(data, Table):
        cards += describing_cards(data.header)
    else:
        cards += _meta_cards(meta_of_data(data))
    if isinstance(header, Header):
        cards += describing_cards(header)
    elif header is not None:
        cards += _meta_cards(header)
    given = {keyword for keyword, _, _ in cards}
    if len(given) < len(cards):
        cards = _last_of_each(cards)
    return cards


def _last_of_each(cards: Cards) -> Cards:
    """Leave out cards whose keyword comes again, commentary aside."""
    last = {keyword: place for place, (keyword, _, _) in enumerate(cards)}
    return [
        card
        for place, card in enumerate(cards)
        if card[0] in ("", "COMMENT", "HISTORY") or last[card[0]] == place
    ]


def _meta_cards(meta: Mapping[str, Any]) -> Cards:
    """Return keywords and values as cards; what no card can hold is left out."""
    cards: Cards = []
    for key, value in meta.items():
        keyword = str(key).upper()
        if keyword in ("COMMENT", "HISTORY") or key == "comments":
            lines = [value] if isinstance(value, str) else value
            cards += [
                ("COMMENT" if key == "comments" else keyword, str(line), "") for line in lines
            ]
            continue
        if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], str):
            value, comment = value
        else:
            comment = ""
        value = value.item() if hasattr(value, "item") and getattr(value, "ndim", 1) == 0 else value
        if value is None or isinstance(value, (bool, int, float, str, complex)):
            cards.append((keyword, value, comment))
    return cards
