"""Catalogues: tables that are drawn over an image, of FITS, VOTable, CSV, Parquet and Arrow files.

A file of another format becomes a FITS table in memory, which the cache keeps: conditions, UCDs and
positions are read in one way. A cone of a service comes as a VOTable (`cones`).
"""

from __future__ import annotations

import io
import re
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tachyfits as tf
from tachyfits.base import foreign_errors
from tachyfits.interop import (
    VOTABLES,
    arrow_in_ascii,
    open_table_file,
    parsed_votable,
    written_votable,
)
from tachyfits.server.cones import answer_of
from tachyfits.server.errors import NotFound, RequestError, TooLarge
from tachyfits.server.parameters import numbers_of
from tachyfits.server.state import State
from tachyfits.server.targets import ENDINGS

#: Endings of files of other formats.
COLUMNAR = (".csv", ".parquet", ".arrow", ".feather")

#: Endings of files that lists of catalogues show.
CATALOGUE_ENDINGS = (*ENDINGS, *VOTABLES, *COLUMNAR)

#: Most bytes of a file of another format, which is read whole.
MOST_BYTES = 256 << 20

#: Most rows of a catalogue.
MOST_ROWS = 20_000_000

#: Conversions at a time: each needs some times the bytes of its file.
_CONVERTING = threading.BoundedSemaphore(2)

#: Definitions of entities, with which a short document grows, in the encodings of XML.
_ENTITIES = tuple("<!ENTITY".encode(code) for code in ("utf-8", "utf-16-le", "utf-16-be"))

#: First bytes of compressed content, which astropy would inflate without a limit.
_COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"PK\x03\x04", b"\x1f\x9d")

#: Most elements of a cell: astropy reserves memory for what a FIELD claims.
_MOST_ELEMENTS = 1 << 16
_ARRAYSIZE = re.compile(r"""\barraysize\s*=\s*["']([^"']*)""", re.IGNORECASE)

#: Frames of columns of positions: a pattern.
FRAME = "^(icrs|fk5|fk4|galactic|supergalactic|ecliptic|pixels)$"

#: Names of the tables of a file, and one of them as a FITS file.
_Converted = tuple[bytes, tuple[tuple[int, str], ...]]


@dataclass(frozen=True)
class Source:
    """Where a catalogue is: a file with the number of a table, or a cone of a service."""

    name: str | None = None
    number: int | None = None
    service: str | None = None
    cone: tuple[float, float, float] | None = None


def source_of(
    catalogue: str | None, table: int | None, service: str | None, cone: str | None
) -> Source:
    """Return the source that parameters name.

    Raises
    ------
    RequestError
        They name two, or an invalid cone.
    """
    if (service is None) != (cone is None):
        raise RequestError("give both service and cone, or neither")
    if service is None or cone is None:
        return Source(catalogue, table)
    if catalogue is not None or table is not None:
        raise RequestError("give catalogue and table, or service and cone")
    numbers = numbers_of(cone, "cone", most=3)
    if len(numbers) != 3 or abs(numbers[1]) > 90 or not 0 < numbers[2] <= 180:
        raise RequestError(
            f"invalid cone {cone!r}: expected right ascension, declination within 90 degrees, and "
            "a radius of at most 180 degrees"
        )
    return Source(service=service, cone=(numbers[0] % 360, numbers[1], numbers[2]))


def names_of(longitude: str | None, latitude: str | None) -> tuple[str, str] | None:
    """Return the columns that parameters name; None without both.

    Raises
    ------
    RequestError
        One of them is missing.
    """
    if (longitude is None) != (latitude is None):
        raise RequestError("give both longitude and latitude, or neither")
    return None if longitude is None or latitude is None else (longitude, latitude)


@dataclass(frozen=True)
class Catalogue:
    """An open table.

    Attributes
    ----------
    key
        Changes with the content.
    number
        The HDU of a FITS file, the place of a table in a VOTable from 0; 0 of other files.
    tables
        Numbers and names of the tables of the file.
    check
        Raises `Changed` if the file is not the one that was opened.
    """

    key: tuple[Any, ...]
    label: str
    number: int
    table: tf.Table
    tables: tuple[tuple[int, str], ...]
    check: Callable[[], None] = lambda: None


def opened(
    state: State, source: Source, cancelled: Callable[[], bool] = lambda: False
) -> Catalogue:
    """Open a catalogue.

    Raises
    ------
    NotFound
        The file or the table does not exist.
    RequestError
        It is not a table, or the service refuses.
    """
    if source.service is not None and source.cone is not None:
        catalogue = _of_cone(state, source.service, source.cone, cancelled)
    elif source.name is None:
        raise RequestError("the parameter catalogue is missing: name a file, or service and cone")
    elif source.name.lower().endswith((*VOTABLES, *COLUMNAR)):
        catalogue = _of_other_format(state, source.name, source.number or 0, cancelled)
    else:
        catalogue = _of_fits(state, source.name, source.number)
    if len(catalogue.table) > MOST_ROWS:
        raise TooLarge(f"a catalogue of {len(catalogue.table)} rows: at most {MOST_ROWS} are drawn")
    return catalogue


def _of_fits(state: State, name: str, number: int | None) -> Catalogue:
    file = state.datasets.open(name)
    tables = file.tables()
    if not tables:
        raise NotFound(f"{name}: no HDU is a table")
    index = tables[0].index if number is None else number
    table = next((one for one in tables if one.index == index), None)
    if table is None:
        raise NotFound(f"{name}: HDU {index} is not a table")
    names = tuple((one.index, one.name) for one in tables)
    return Catalogue((name, str(file.version), index), name, index, table, names, file.check)


def _of_other_format(
    state: State, name: str, number: int, cancelled: Callable[[], bool]
) -> Catalogue:
    target, version = state.datasets.versioned(name)

    def convert() -> _Converted:
        content = target.content(version, min(MOST_BYTES, state.settings.cache_bytes))
        with _CONVERTING, _reading(f"{name}: no table can be read"):
            if name.lower().endswith(VOTABLES):
                return fits_of_votable(content, number)
            return fits_of_columnar(content, Path(target.name).suffix), ((0, ""),)

    if number and not name.lower().endswith(VOTABLES):
        raise NotFound(f"{name}: table {number} is not one of 0 to 0")
    key = ("catalogue", name, str(version), number)
    content, names = state.cache.get(key, convert, lambda made: len(made[0]), cancelled)
    return Catalogue(key, name, number, _table_of(content), names)


def _of_cone(
    state: State, service: str, cone: tuple[float, float, float], cancelled: Callable[[], bool]
) -> Catalogue:
    def convert() -> _Converted:
        content = answer_of(state.settings.cone_hosts, service, cone)
        with _CONVERTING, _reading("the service sent no table"):
            return fits_of_votable(content, 0)

    key = ("cone", service, cone)
    content, names = state.cache.get(key, convert, lambda made: len(made[0]), cancelled)
    return Catalogue(key, service, 0, _table_of(content), names)


@contextmanager
def _reading(problem: str) -> Iterator[None]:
    """Turn exceptions of libraries into errors of the request; refusals stay as they are."""
    refusal = None
    with foreign_errors(problem, "check what it holds"):
        try:
            yield
        except RequestError as error:
            refusal = error
    if refusal is not None:
        raise refusal


def _table_of(content: bytes) -> tf.Table:
    table = tf.open(content)[1]
    assert isinstance(table, tf.Table)
    return table


def fits_of_votable(content: bytes, number: int) -> _Converted:
    """Return a table of a VOTable as a FITS file, and the names of all its tables.

    UCDs become TUCDn, the system of COOSYS becomes RADESYS.

    Raises
    ------
    RequestError
        The document defines entities, is compressed, or says that a service failed.
    """
    if content.startswith(_COMPRESSED):
        raise RequestError("a compressed VOTable\nhint: decompress it first")
    if any(entity in content for entity in _ENTITIES):
        raise RequestError("a VOTable that defines entities is not read")
    for claimed in _ARRAYSIZE.findall(content.replace(b"\0", b"").decode("latin-1")):
        count = 1
        for part in re.findall(r"\d+", claimed[:100]):
            count *= max(1, int(part))
        if count > _MOST_ELEMENTS:
            raise TooLarge(f"a VOTable with cells of {claimed[:40]} elements")
    document = parsed_votable(io.BytesIO(content))
    tables = list(document.iter_tables())
    if not tables:
        raise RequestError(_failure_of(document) or "the VOTable has no table")
    if not 0 <= number < len(tables):
        raise NotFound(f"table {number} is not one of 0 to {len(tables) - 1}")
    stream = io.BytesIO()
    tf.write(stream, *written_votable(document, tables[number]))
    names = tuple((place, str(one.name or one.ID or "")) for place, one in enumerate(tables))
    return stream.getvalue(), names


def _failure_of(document: Any) -> str:
    """Return what a service says of its failure; "" for nothing."""
    places = [document, *document.resources]
    infos = [info for place in places for info in (*place.infos, *getattr(place, "params", ()))]
    said = [
        str(info.value) for info in infos if str(info.name).lower() in ("error", "query_status")
    ]
    return f"the service has no table: {said[0][:300]}" if said else ""


def fits_of_columnar(content: bytes, ending: str) -> bytes:
    """Return a CSV, Parquet or Arrow file as a FITS file; see `tachyfits.write`."""
    stream = io.BytesIO()
    with tempfile.TemporaryDirectory(prefix="tachyfits-catalogue-") as folder:
        path = Path(folder) / f"catalogue{ending.lower()}"
        path.write_bytes(content)
        table = open_table_file(str(path)).read(None)
    tf.write(stream, arrow_in_ascii(table))
    return stream.getvalue()


def column_named(table: tf.Table, name: str) -> tf.TableColumn:
    """Return a column by its name.

    Raises
    ------
    NotFound
        No column has it.
    """
    try:
        return table.column(name)
    except KeyError:
        raise NotFound(f"no column is named {name!r:.100}") from None
