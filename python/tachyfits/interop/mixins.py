"""astropy's block of comments: column properties that have no keyword in FITS.

The block is YAML in COMMENT cards between two marks. It has descriptions, and the columns of
objects such as a SkyCoord. Its readers expect every column in it, so it is rewritten when columns
are removed. astropy splits objects into columns and restores them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from tachyfits.base.errors import usage
from tachyfits.header.given import Cards
from tachyfits.interop.astropy_private import (
    columns_of_mixins,
    description_of_columns,
    table_with_mixins,
    yaml_of_columns,
)
from tachyfits.interop.astropy_yaml import OBJECTS, ODD, changed
from tachyfits.interop.times import left_in_meta
from tachyfits.text.units import unit_text

BEGIN = "--BEGIN-ASTROPY-SERIALIZED-COLUMNS--"
END = "--END-ASTROPY-SERIALIZED-COLUMNS--"


#: Characters of a line in one card; a backslash after them continues the line.
_LINE = 70


#: Attributes of an object that do not depend on rows: names and units of columns, which are
#: converted, and its representation.
_SHOWN = frozenset(["name", "unit", "wrap_angle", "format", "precision", "in_subfmt", "out_subfmt"])

#: Subclasses of Quantity that astropy's readers restore.
_QUANTITIES = frozenset(["Angle", "Latitude", "Longitude", "Distance"])


def cards_for(
    cards: Sequence[tuple[str, Any, str]],
    names: Collection[str] | None,
    renamed: tuple[str, str] | None = None,
    descriptions: Mapping[str, str] | None = None,
) -> Cards:
    """Return the cards of a table with these columns only, and a block that describes no others.

    ``names``: None for all. ``renamed``: the old name in the block and the new one among ``names``.
    ``descriptions``: replacements of descriptions in the block.

    >>> block = [BEGIN, "datatype:", "- {name: A, description: first}", "- {name: B}", END]
    >>> cards = [("COMMENT", "mine", ""), *(("COMMENT", line, "") for line in block)]
    >>> [value for _, value, _ in cards_for(cards, ["A"])][2:4]
    ['datatype:', '- {name: A, description: first}']
    >>> cards_for(cards, ["B"])
    [('COMMENT', 'mine', '')]
    >>> cards_for(cards, ["Q", "B"], renamed=("A", "Q"))[3]
    ('COMMENT', '- {name: Q, description: first}', '')
    """
    places = [place for place, card in enumerate(cards) if card[0] == "COMMENT"]
    comments = [str(cards[place][1]) for place in places]
    bounds = _bounds(comments)
    if bounds is None:
        return list(cards)
    begin, end = bounds
    old = comments[begin + 1 : end]
    yaml = changed(_lines(old), names, renamed, descriptions or {})
    if yaml == _lines(old):
        return list(cards)
    ours = set(places[begin : end + 1])
    new: Cards = [("COMMENT", text, "") for text in block_of_lines(yaml)]
    before = [card for place, card in enumerate(cards) if place < places[begin]]
    behind = [
        card for place, card in enumerate(cards) if place > places[begin] and place not in ours
    ]
    return [*before, *new, *behind]


def parted(comments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the comments of a table without the block, and the YAML lines of the block."""
    bounds = _bounds(comments)
    if bounds is None:
        return list(comments), []
    begin, end = bounds
    return [*comments[:begin], *comments[end + 1 :]], _lines(comments[begin + 1 : end])


def known_of(lines: Sequence[str]) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Return the properties of each column in a block, and the objects built from columns.

    Raises
    ------
    ValueError
        The lines are not a block of astropy's YAML.
    """
    try:
        header = description_of_columns(lines)
        columns = {column["name"]: dict(column) for column in header["datatype"]}
        return columns, dict(header.get("meta", {}).get(OBJECTS, {}))
    except ODD as error:
        raise ValueError(f"no description of columns: {error}") from error


def with_parts(
    data: Any,
    descriptions: Mapping[str, str] | None = None,
    theirs: Collection[str] = (),
) -> tuple[Any, dict[str, list[str]]]:
    """Return an astropy Table with objects (a SkyCoord) split into columns, and names by object.

    The table's meta lists these columns, as in astropy, with the ``descriptions`` of objects. Other
    data is returned unchanged. ``theirs``: column names of the table that gets these rows, in which
    times may be pairs of days as astropy writes them.

    Raises
    ------
    UsageError
        A column has the name of a part of an object.
    """
    if not hasattr(data, "itercols"):
        return data, {}
    odd = {
        column.info.name
        for column in data.itercols()
        if not _is_column(column) or f"{column.info.name}.jd1" in theirs
    }
    if not odd:
        return data, {}
    from astropy.table import QTable, Table

    kind = QTable if isinstance(data, QTable) else Table
    columns: list[Any] = []
    names: dict[str, list[str]] = {}
    objects = dict(data.meta.get(OBJECTS) or {})
    for column in data.itercols():
        name = column.info.name
        if name not in odd:
            columns.append(column)
            continue
        alone = kind([column], names=[name])
        if descriptions and name in descriptions:
            alone[name].info.description = str(descriptions[name] or "") or None
        parts = columns_of_mixins(alone)
        columns.extend(parts.itercols())
        names[name] = parts.colnames
        objects |= parts.meta.get(OBJECTS, {})
    count = Counter(column.info.name for column in columns)
    twice = next((name for name in count if count[name] > 1), None)
    if twice is not None:
        raise usage(
            f"a column and a part of an object are both named {twice!r}",
            "rename the column or the object: table.rename_column",
        )
    new_table = kind(columns, copy=False)
    new_table.meta = {**data.meta, OBJECTS: objects}
    return new_table, names


def _is_column(column: Any) -> bool:
    """Return whether FITS keywords describe an astropy column fully: numbers, text, times."""
    from astropy.time import Time, TimeDelta

    if type(column).__name__ in _QUANTITIES and hasattr(column, "unit"):
        try:
            unit_text(column.unit)
        except ValueError:
            # astropy would not restore an object from a unit that FITS lacks.
            return True
        return False
    plain = isinstance(column, np.ndarray) and column.dtype.names is None
    return plain or isinstance(column, (Time, TimeDelta))


def check_objects(comments: Sequence[str], new: Sequence[str], where: str) -> None:
    """Refuse rows whose objects differ in frame from the table's: only numbers are appended.

    Parameters
    ----------
    comments, new
        Comments of the table, and of the source of the rows.
    """
    # For plain numbers with a unit, only the unit is compared.
    objects = {
        name: parts for name, parts in _objects_of(new).items() if _columns_of(parts) != {name}
    }
    theirs = {
        name.upper(): parts for name, parts in (_objects_of(comments) if objects else {}).items()
    }
    for name, parts in objects.items():
        existing = theirs.get(name.upper())
        odd = None if existing is None else _odd_attribute(existing, parts)
        if odd is not None:
            attribute, expected, actual = odd
            raise usage(
                f"{where}: rows with objects {name!r} {_difference(attribute, expected, actual)}",
                _to_be_alike(attribute, expected, actual),
            )


def _difference(attribute: str, expected: Any, actual: Any) -> str:
    """Describe how an attribute differs; an attribute with columns is a mapping."""
    ours, new = ("none" if value is None else value for value in (expected, actual))
    if isinstance(actual, Mapping):
        return f"with a {attribute} of each row, where those of the table have {ours}"
    if isinstance(expected, Mapping):
        return f"without a {attribute} of each row, where those of the table have one"
    return f"whose {attribute} is {new}, where those of the table have {ours}"


def _to_be_alike(attribute: str, expected: Any, actual: Any) -> str:
    """Return a hint for converting objects to the table's frame."""
    if attribute == "scale":
        return f"convert them: times.{expected}"
    if attribute == "representation_type":
        return f'convert them first: coords.representation_type = "{expected}"'
    if isinstance(actual, Mapping) and expected is None:
        return "leave it out: SkyCoord(coords.ra, coords.dec, frame=coords.frame.name), for example"
    if isinstance(expected, Mapping):
        return f"give each its own: SkyCoord(..., {attribute}=...)"
    return (
        "transform them first: coords.transform_to(frame, merge_attributes=False); "
        "SkyCoord(coords.frame) drops attributes outside the frame"
    )


def _objects_of(comments: Sequence[str]) -> dict[str, Any]:
    """Return the objects of a block among comments; empty without a readable block."""
    lines = parted(comments)[1]
    try:
        return known_of(lines)[1] if lines else {}
    except ValueError:
        return {}


def _odd_attribute(ours: Any, new: Any) -> tuple[str, Any, Any] | None:
    """Return the first attribute that differs between two objects, and both values."""
    if not (isinstance(ours, Mapping) and isinstance(new, Mapping)):
        return None if _is_same(ours, new) else ("", ours, new)
    # The other attributes depend on the first two.
    for key in dict.fromkeys(["frame", "representation_type", *ours, *new]):
        if key in _SHOWN:
            continue
        odd = _odd_attribute(ours.get(key), new.get(key))
        if odd is not None:
            inner, expected, actual = odd
            return f"{key}.{inner}".rstrip("."), expected, actual
    return None


def _is_same(ours: Any, new: Any) -> bool:
    if isinstance(ours, str) and isinstance(new, str):
        # Versions of astropy define one class in different modules.
        return ours.rpartition(".")[2] == new.rpartition(".")[2]
    if ours is None or new is None:
        return ours is new
    try:
        return bool(np.all(ours == new))
    except ODD:
        return False


def block_of(table: Any) -> list[str]:
    """Return the block for an astropy Table; empty if FITS keywords describe everything."""
    objects = table.meta.get(OBJECTS) or {}
    columns = list(table[:0].itercols())
    for column in columns:
        column.info.meta = left_in_meta(column.info.meta)
    is_described = any(column.info.description or column.info.meta for column in columns)
    if not objects and not is_described:
        return []
    return block_of_lines(yaml_of_columns(columns, {OBJECTS: objects}))


def _bounds(comments: Sequence[str]) -> tuple[int, int] | None:
    try:
        begin = comments.index(BEGIN)
        return begin, comments.index(END, begin)
    except ValueError:
        return None


def _lines(comments: Sequence[str]) -> list[str]:
    """Return the lines in cards, with continued lines joined."""
    lines: list[str] = []
    goes_on = False
    for text in comments:
        if goes_on:
            lines[-1] += text[:_LINE]
        else:
            lines.append(text[:_LINE])
        goes_on = len(text) > _LINE
    return lines


def block_of_lines(lines: Sequence[str]) -> list[str]:
    """Return the comments of a block of these lines; empty for no lines."""
    return [BEGIN, *chain.from_iterable(map(_parts, lines)), END] if lines else []


def _parts(line: str) -> Iterator[str]:
    # Trailing blanks of a card are lost: the backslash keeps those within a line.
    for first in range(0, max(len(line), 1), _LINE):
        yield line[first : first + _LINE] + ("\\" if first + _LINE < len(line) else "")


def with_objects(table: Any, objects: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return an astropy Table with objects of `known_of` built from columns, and the others.

    The others are those that a Table stores as columns of numbers, quantities, and those that
    astropy cannot build.
    """
    from astropy.table import Table
    from astropy.units import Quantity

    columns = dict(table.columns)
    remaining = {}
    for name, attributes in objects.items():
        parts = [key for key in columns if key in _columns_of(attributes)]
        if not parts or (name in columns and name not in parts):
            # The object has no columns, or would overwrite another column.
            remaining[name] = attributes
            continue
        alone = Table(
            [columns[key] for key in parts], names=parts, meta={OBJECTS: {name: attributes}}
        )
        try:
            new = table_with_mixins(alone)[name]
        except ODD:
            # For example, another version of astropy wrote it.
            remaining[name] = attributes
            continue
        if isinstance(new, Quantity) and parts == [name]:
            columns[name].unit = new.unit
            remaining[name] = attributes
            continue
        columns = {
            name if key == parts[0] else key: new if key == parts[0] else column
            for key, column in columns.items() if key not in parts[1:]
        }  # fmt: skip
    if len(remaining) == len(objects):
        return table, remaining
    return Table(
        list(columns.values()), names=list(columns), copy=False, meta=table.meta
    ), remaining


def without_lost(objects: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return the objects of `known_of` all of whose columns are in ``names``.

    Raises
    ------
    ValueError
        The mapping does not describe objects built from columns.
    """
    try:
        return {
            name: attributes
            for name, attributes in objects.items()
            if _columns_of(attributes) <= set(names)
        }
    except ODD as error:
        raise ValueError(f"no objects made of columns: {error}") from error


def _columns_of(attributes: Any) -> set[str]:
    if not isinstance(attributes, Mapping):
        return set()
    own = (
        {attributes["name"]}
        if type(attributes).__name__ == "SerializedColumn" and "name" in attributes
        else set()
    )
    return own.union(*(_columns_of(part) for part in attributes.values()))
