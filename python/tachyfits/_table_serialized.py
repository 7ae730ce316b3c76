"""astropy's block of comments: what it keeps of columns that FITS has no keyword for.

Descriptions, and which columns together are a SkyCoord or another object, are YAML in COMMENT cards
between two marks. Whoever reads the block trusts that every column in it is there, so it is written
anew when columns go. Which columns an object is made of, and making it again, is astropy's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from tachyfits._errors import usage
from tachyfits._optional import needed
from tachyfits._table_times import SAID_IN_META
from tachyfits._units import unit_text

BEGIN = "--BEGIN-ASTROPY-SERIALIZED-COLUMNS--"
END = "--END-ASTROPY-SERIALIZED-COLUMNS--"

#: Key of a table's meta in which astropy keeps which columns are parts of which object.
OBJECTS = "__serialized_columns__"

#: Characters of a line in one card; a backslash behind them says that the line goes on.
_LINE = 70

_PART_TAG = "!astropy.table.SerializedColumn"

#: What an object says that is no matter of rows: names and units of columns, which are converted,
#: and how it is shown.
_SHOWN = frozenset(["name", "unit", "wrap_angle", "format", "precision", "in_subfmt", "out_subfmt"])

#: Quantities of which astropy's readers make the class again.
_QUANTITIES = frozenset(["Angle", "Latitude", "Longitude", "Distance"])

#: What is raised where YAML is not built as astropy builds it: anyone may have written it.
_ODD = (LookupError, TypeError, AttributeError, ValueError, RecursionError)

#: Cards as the engine takes them.
Cards = list[tuple[str, Any, str]]


def cards_for(
    cards: Sequence[tuple[str, Any, str]],
    names: Collection[str] | None,
    renamed: tuple[str, str] | None = None,
    descriptions: Mapping[str, str] | None = None,
) -> Cards:
    """Return the cards of a table that has these columns alone: the block speaks of no others.

    ``names``: None for all. ``renamed``: the old name in the block and the new one among ``names``.
    ``descriptions``: in the place of those that the block has.

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
    found = _bounds(comments)
    if found is None:
        return list(cards)
    begin, end = found
    old = comments[begin + 1 : end]
    kept = _changed(_lines(old), names, renamed, descriptions or {})
    if kept == _lines(old):
        return list(cards)
    ours = set(places[begin : end + 1])
    new: Cards = [("COMMENT", text, "") for text in _block(kept)]
    before = [card for place, card in enumerate(cards) if place < places[begin]]
    behind = [
        card for place, card in enumerate(cards) if place > places[begin] and place not in ours
    ]
    return [*before, *new, *behind]


def parted(comments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the comments of a table without the block, and the YAML lines of it."""
    found = _bounds(comments)
    if found is None:
        return list(comments), []
    begin, end = found
    return [*comments[:begin], *comments[end + 1 :]], _lines(comments[begin + 1 : end])


def known_of(lines: Sequence[str]) -> tuple[dict[str, dict[str, Any]], dict[str, Any]]:
    """Return what a block says of each column, and of the objects that columns are parts of.

    Raises
    ------
    ValueError
        It is no such block.
    """
    from astropy.table.meta import YamlParseError, get_header_from_yaml

    try:
        header = get_header_from_yaml(list(lines))
        columns = {column["name"]: dict(column) for column in header["datatype"]}
        return columns, dict(header.get("meta", {}).get(OBJECTS, {}))
    except (YamlParseError, *_ODD) as error:
        raise ValueError(f"no description of columns: {error}") from error


def with_parts(
    data: Any,
    descriptions: Mapping[str, str] | None = None,
    theirs: Collection[str] = (),
) -> tuple[Any, dict[str, list[str]]]:
    """Return an astropy Table whose objects (a SkyCoord) are columns, and their names by object.

    Which columns they are is in its meta, where astropy has it, with the ``descriptions`` of
    objects that are given. Anything else is returned as it is. ``theirs``: names of the columns of
    the table that these are rows of, in which times may be pairs of days as astropy writes them.

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
    from astropy.table.serialize import represent_mixins_as_columns
    from astropy.utils.data_info import serialize_context_as

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
        with serialize_context_as("fits"):
            parts = represent_mixins_as_columns(alone)
        columns.extend(parts.itercols())
        names[name] = parts.colnames
        objects |= parts.meta.get(OBJECTS, {})
    count = Counter(column.info.name for column in columns)
    twice = next((name for name in count if count[name] > 1), None)
    if twice is not None:
        raise usage(
            f"there is a column {twice!r}, and a part of an object has this name as well",
            "rename the column or the object: table.rename_column",
        )
    made = kind(columns, copy=False)
    made.meta = {**data.meta, OBJECTS: objects}
    return made, names


def _is_column(column: Any) -> bool:
    """Return whether FITS's own keywords say all of a column of astropy's: numbers, text, times."""
    from astropy.time import Time, TimeDelta

    if type(column).__name__ in _QUANTITIES and hasattr(column, "unit"):
        try:
            unit_text(column.unit)
        except ValueError:
            # In a unit that FITS has not astropy would not read the object.
            return True
        return False
    plain = isinstance(column, np.ndarray) and column.dtype.names is None
    return plain or isinstance(column, (Time, TimeDelta))


def check_objects(comments: Sequence[str], new: Sequence[str], where: str) -> None:
    """Refuse rows with objects that a table has too, but in another frame: numbers alone are added.

    Parameters
    ----------
    comments, new
        Those of the table, and of what the rows are taken from.
    """
    # Of numbers in a unit that is all there is to compare.
    objects = {name: made for name, made in _objects_of(new).items() if _columns_of(made) != {name}}
    theirs = {
        name.upper(): made for name, made in (_objects_of(comments) if objects else {}).items()
    }
    for name, made in objects.items():
        known = theirs.get(name.upper())
        odd = None if known is None else _odd_attribute(known, made)
        if odd is not None:
            attribute, expected, found = odd
            hint = (
                "bring them to that first: coords.transform_to(frame, merge_attributes=False); "
                "SkyCoord(coords.frame) leaves out what is no part of the frame"
            )
            raise usage(
                f"{where}: rows with objects {name!r} whose {attribute} is {found}, where those of "
                f"the table have {expected}",
                f"convert them: times.{expected}" if attribute == "scale" else hint,
            )


def _objects_of(comments: Sequence[str]) -> dict[str, Any]:
    """Return the objects of a block among comments; none where there is none that can be read."""
    lines = parted(comments)[1]
    try:
        return known_of(lines)[1] if lines else {}
    except ValueError:
        return {}


def _odd_attribute(ours: Any, new: Any) -> tuple[str, Any, Any] | None:
    """Return the first attribute that is not the same in two objects of `known_of`, and both."""
    if not (isinstance(ours, Mapping) and isinstance(new, Mapping)):
        return None if _is_same(ours, new) else ("", ours, new)
    for key in dict.fromkeys(["frame", *ours, *new]):
        if key in _SHOWN:
            continue
        odd = _odd_attribute(ours.get(key), new.get(key))
        if odd is not None:
            inner, expected, found = odd
            return f"{key}.{inner}".rstrip("."), expected, found
    return None


def _is_same(ours: Any, new: Any) -> bool:
    if isinstance(ours, str) and isinstance(new, str):
        # Versions of astropy have one class in several modules.
        return ours.rpartition(".")[2] == new.rpartition(".")[2]
    if ours is None or new is None:
        return ours is new
    try:
        return bool(np.all(ours == new))
    except _ODD:
        return False


def block_of(table: Any) -> list[str]:
    """Return the block for an astropy Table; nothing where FITS's own keywords say everything."""
    from astropy.table.meta import get_yaml_from_header

    objects = table.meta.get(OBJECTS) or {}
    columns = list(table[:0].itercols())
    for column in columns:
        # Cards of the column have it.
        meta = column.info.meta or {}
        column.info.meta = {key: meta[key] for key in meta if key not in SAID_IN_META}
    said = any(column.info.description or column.info.meta for column in columns)
    if not objects and not said:
        return []
    header = {"cols": columns, "meta": {OBJECTS: objects}}
    return _block(get_yaml_from_header(header))


def _bounds(comments: Sequence[str]) -> tuple[int, int] | None:
    try:
        begin = comments.index(BEGIN)
        return begin, comments.index(END, begin)
    except ValueError:
        return None


def _lines(comments: Sequence[str]) -> list[str]:
    """Return the lines that cards hold, the parts of long ones together."""
    lines: list[str] = []
    goes_on = False
    for text in comments:
        if goes_on:
            lines[-1] += text[:_LINE]
        else:
            lines.append(text[:_LINE])
        goes_on = len(text) > _LINE
    return lines


def _block(lines: Sequence[str]) -> list[str]:
    """Return the comments of a block of these lines; none of no lines."""
    return [BEGIN, *chain.from_iterable(map(_parts, lines)), END] if lines else []


def _parts(line: str) -> Iterator[str]:
    # Blanks at the end of a card are lost: the backslash keeps those within a line.
    for first in range(0, max(len(line), 1), _LINE):
        yield line[first : first + _LINE] + ("\\" if first + _LINE < len(line) else "")


def _changed(
    lines: list[str],
    names: Collection[str] | None,
    renamed: tuple[str, str] | None,
    descriptions: Mapping[str, str],
) -> list[str]:
    """Return the YAML that speaks of these columns alone; no lines if it would say nothing."""
    yaml = needed("yaml", "the comments in which astropy describes columns")
    try:
        root = yaml.compose("\n".join(lines), Loader=yaml.SafeLoader)
        if renamed is not None:
            _rename(root, *renamed)
        changed = _describe(yaml, root, descriptions) or renamed is not None
        if names is None:
            names = {name for each in dict(_pairs(root))["datatype"].value if (name := _name(each))}
        cut = _cut(root, frozenset(names))
        if cut is None:
            return []
        if not (cut or changed):
            return lines
        text: str = yaml.serialize(root, Dumper=yaml.SafeDumper, width=1 << 16)
    except (yaml.YAMLError, *_ODD):
        return []
    return text.splitlines()


def _describe(yaml: Any, root: Any, descriptions: Mapping[str, str]) -> bool:
    """Give columns these descriptions where they have one; say whether any has."""
    found = False
    for column in dict(_pairs(root))["datatype"].value:
        old = dict(_pairs(column)).get("description")
        given = descriptions.get(_name(column) or "")
        if old is not None and given is not None:
            new = yaml.ScalarNode(old.tag, given)
            column.value = [(key, new if node is old else node) for key, node in column.value]
            found = True
    return found


def _cut(root: Any, names: frozenset[str]) -> bool | None:
    """Leave these columns alone; say whether others are gone; None if what is left says nothing."""
    sections = dict(_pairs(root))
    columns = sections["datatype"]
    kept = [column for column in columns.value if _name(column) in names]
    objects = [
        pair for section in _pairs(sections.get("meta")) if section[0] == OBJECTS
        for pair in section[1].value
    ]  # fmt: skip
    whole = [pair for pair in objects if _parts_named(pair[1]) <= names]
    if len(kept) == len(columns.value) and len(whole) == len(objects):
        return False
    if not whole and not any({"description", "meta"} & dict(_pairs(each)).keys() for each in kept):
        return None
    columns.value = kept
    for key, node in _pairs(sections.get("meta")):
        if key == OBJECTS:
            node.value = whole
    return True


def _pairs(node: Any) -> Iterator[tuple[str, Any]]:
    """Give keys and nodes of a mapping of YAML, an ordered one (a list of mappings) too."""
    for part in getattr(node, "value", ()):
        if isinstance(part, tuple):
            yield part[0].value, part[1]
        else:
            yield from _pairs(part)


def _rename(root: Any, old: str, new: str) -> None:
    """Give a column another name in the YAML, and an object that is this column alone."""
    sections = dict(_pairs(root))
    for column in sections["datatype"].value:
        _rename_in(column, old, new)
    for section, node in _pairs(sections.get("meta")):
        for key, made in node.value if section == OBJECTS else ():
            if key.value == old and _parts_named(made) == {old}:
                key.value = new
            _rename_parts(made, old, new)


def _rename_parts(node: Any, old: str, new: str) -> None:
    if node.tag == _PART_TAG:
        _rename_in(node, old, new)
    for part in node.value if isinstance(node.value, list) else ():
        _rename_parts(part[1] if isinstance(part, tuple) else part, old, new)


def _rename_in(mapping: Any, old: str, new: str) -> None:
    node = dict(_pairs(mapping)).get("name")
    if node is not None and node.value == old:
        node.value = new


def _name(column: Any) -> str | None:
    node = dict(_pairs(column)).get("name")
    return None if node is None else str(node.value)


def _parts_named(node: Any) -> frozenset[str]:
    """Return the names of all columns that an object is made of."""
    if not isinstance(node.value, list):
        return frozenset()
    parts = [part[1] if isinstance(part, tuple) else part for part in node.value]
    named = frozenset(chain.from_iterable(map(_parts_named, parts)))
    own = _name(node) if node.tag == _PART_TAG else None
    return named if own is None else named | {own}


def with_objects(table: Any, objects: Mapping[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return an astropy Table with objects of `known_of` in place of their columns, and the others.

    These are what a Table has as columns of numbers, quantities, and what astropy cannot make.
    """
    from astropy.table import Table
    from astropy.table.serialize import _construct_mixins_from_columns
    from astropy.units import Quantity

    columns = dict(table.columns)
    left = {}
    for name, made in objects.items():
        parts = [key for key in columns if key in _columns_of(made)]
        if not parts or (name in columns and name not in parts):
            # No column would be in its place, or one of its name would go.
            left[name] = made
            continue
        alone = Table([columns[key] for key in parts], names=parts, meta={OBJECTS: {name: made}})
        try:
            new = _construct_mixins_from_columns(alone)[name]
        except _ODD:
            # Of another version of astropy, say.
            left[name] = made
            continue
        if isinstance(new, Quantity) and parts == [name]:
            columns[name].unit = new.unit
            left[name] = made
            continue
        columns = {
            name if key == parts[0] else key: new if key == parts[0] else column
            for key, column in columns.items() if key not in parts[1:]
        }  # fmt: skip
    if len(left) == len(objects):
        return table, left
    return Table(list(columns.values()), names=list(columns), copy=False, meta=table.meta), left


def without_lost(objects: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return the objects of `known_of` all of whose columns are among these.

    Raises
    ------
    ValueError
        They are no such objects.
    """
    try:
        return {name: made for name, made in objects.items() if _columns_of(made) <= set(names)}
    except _ODD as error:
        raise ValueError(f"no objects made of columns: {error}") from error


def _columns_of(made: Any) -> set[str]:
    if not isinstance(made, Mapping):
        return set()
    own = {made["name"]} if type(made).__name__ == "SerializedColumn" and "name" in made else set()
    return own.union(*(_columns_of(part) for part in made.values()))
