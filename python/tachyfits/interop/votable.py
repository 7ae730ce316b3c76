"""VOTables as tables to write: by astropy, with what FITS says of their columns."""

from __future__ import annotations

import os
import warnings
from typing import Any, BinaryIO

import numpy as np

from tachyfits.base.errors import either, foreign_errors, io_error, listed, usage
from tachyfits.base.sources import regular_path

#: Endings of their files.
VOTABLES = (".vot", ".votable", ".xml")

#: Values of RADESYS by the systems of COOSYS; galactic columns say it by their UCDs.
_SYSTEMS = {"icrs": "ICRS", "eq_fk5": "FK5", "eq_fk4": "FK4"}


def votable_from_file(
    path: str | os.PathLike[str], number: int | str | None
) -> tuple[Any, dict[str, str]]:
    """Return a table of a file, by its number from 0 or its name, as `written_votable`.

    Raises
    ------
    UsageError
        The file is not a VOTable, or has no such table.
    IoError
        The file cannot be read.
    """
    name = regular_path(path)
    try:
        with (
            open(name, "rb") as stream,
            foreign_errors(f"{name}: no VOTable can be read", "check that the file is complete"),
        ):
            document = parsed_votable(stream)
            tables = list(document.iter_tables())
            element = _table(tables, number)
            if element is None:
                names = [str(one.name or one.ID or place) for place, one in enumerate(tables)]
                raise usage(
                    f"{name}: invalid table {0 if number is None else number!r}: expected one of "
                    f"{len(tables)}, by its number from 0 or its name: {listed(names)}",
                    either("give hdu=0", "give --catalogue-hdu 0"),
                )
            return written_votable(document, element)
    except OSError as error:
        raise io_error(
            f"{name}: {error.strerror}", "check the name and the current directory",
            "io-not-found", path=name, number=error.errno or 0,
        ) from error  # fmt: skip


def _table(tables: list[Any], number: int | str | None) -> Any:
    """Return the table that has a number or a name; None without such a table."""
    if isinstance(number, str):
        return next((one for one in tables if number in (one.name, one.ID)), None)
    place = 0 if number is None else int(number)
    return tables[place] if 0 <= place < len(tables) else None


def parsed_votable(stream: BinaryIO) -> Any:
    """Return a document of astropy; small breaches of the standard are not told."""
    from astropy.io import votable

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return votable.parse(stream, verify="ignore")


def written_votable(document: Any, element: Any) -> tuple[Any, dict[str, str]]:
    """Return a table of a document as `tachyfits.write` takes it, and the cards of its header.

    UCDs become TUCDn, the system of COOSYS becomes RADESYS.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = element.to_table(use_names_over_ids=True)
    table.meta.clear()
    for field, column in zip(element.fields, table.itercols(), strict=True):
        column.info.meta = {"TUCD": str(field.ucd)} if field.ucd else {}
        column.info.description = None
    system = _system_of(document, element)
    return _in_ascii(table), {} if system is None else {"RADESYS": system}


def _system_of(document: Any, table: Any) -> str | None:
    """Return RADESYS of the columns that name a COOSYS; None if none is known."""
    systems = {one.ID: str(one.system).lower() for one in document.iter_coosys()}
    used = {systems[field.ref] for field in table.fields if field.ref in systems}
    return _SYSTEMS.get(used.pop()) if len(used) == 1 else None


def _in_ascii(table: Any) -> Any:
    r"""Return a table of astropy with text that FITS has: é becomes \xe9."""
    for name in table.colnames:
        column = table[name]
        if column.dtype.kind == "O":
            column = _text_of_objects(column)
        if column.dtype.kind == "U":
            text = np.char.encode(np.ma.filled(column, ""), "ascii", "backslashreplace")
            meta, unit = table[name].info.meta, table[name].unit
            table[name] = text
            table[name].info.meta, table[name].unit = meta, unit
    return table


def _text_of_objects(column: Any) -> Any:
    """Return cells of text as one array; other cells of varying length as they are."""
    cells = list(np.ma.filled(column, ""))
    if all(isinstance(cell, (str, bytes)) for cell in cells):
        return np.array(
            [cell.decode("latin-1") if isinstance(cell, bytes) else cell for cell in cells],
            dtype=np.str_,
        )
    return column
