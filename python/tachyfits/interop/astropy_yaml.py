"""Edit astropy's YAML description of columns: select, rename and describe columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from typing import Any

from tachyfits.base.optional import needed

#: Key of a table's meta that maps astropy objects to their columns.
OBJECTS = "__serialized_columns__"

_PART_TAG = "!astropy.table.SerializedColumn"

#: Exceptions for YAML that astropy did not write: any program may have written it.
ODD = (LookupError, TypeError, AttributeError, ValueError, RecursionError)


def changed(
    lines: list[str],
    names: Collection[str] | None,
    renamed: tuple[str, str] | None,
    descriptions: Mapping[str, str],
) -> list[str]:
    """Return the YAML of these columns alone; no lines if it is empty."""
    yaml = needed("yaml", "the comments in which astropy describes columns")
    try:
        root = yaml.compose("\n".join(lines), Loader=yaml.SafeLoader)
        if renamed is not None:
            _rename(root, *renamed)
        changed = _describe(yaml, root, descriptions) or renamed is not None
        if names is None:
            names = {name for each in dict(_pairs(root))["datatype"].value if (name := _name(each))}
        is_cut = _cut(root, frozenset(names))
        if is_cut is None:
            return []
        if not (is_cut or changed):
            return lines
        text: str = yaml.serialize(root, Dumper=yaml.SafeDumper, width=1 << 16)
    except (yaml.YAMLError, *ODD):
        return []
    return text.splitlines()


def _describe(yaml: Any, root: Any, descriptions: Mapping[str, str]) -> bool:
    """Set the descriptions of columns; return whether any column has one."""
    has_description = False
    for column in dict(_pairs(root))["datatype"].value:
        old = dict(_pairs(column)).get("description")
        description = descriptions.get(_name(column) or "")
        if old is not None and description is not None:
            new = yaml.ScalarNode(old.tag, description)
            column.value = [(key, new if node is old else node) for key, node in column.value]
            has_description = True
    return has_description


def _cut(root: Any, names: frozenset[str]) -> bool | None:
    """Keep these columns only; return whether others were removed, or None if nothing remains."""
    sections = dict(_pairs(root))
    columns = sections["datatype"]
    remaining = [column for column in columns.value if _name(column) in names]
    objects = [
        pair for section in _pairs(sections.get("meta")) if section[0] == OBJECTS
        for pair in section[1].value
    ]  # fmt: skip
    complete = [pair for pair in objects if _parts_named(pair[1]) <= names]
    if len(remaining) == len(columns.value) and len(complete) == len(objects):
        return False
    if not complete and not any(
        {"description", "meta"} & dict(_pairs(each)).keys() for each in remaining
    ):
        return None
    columns.value = remaining
    for key, node in _pairs(sections.get("meta")):
        if key == OBJECTS:
            node.value = complete
    return True


def _pairs(node: Any) -> Iterator[tuple[str, Any]]:
    """Yield keys and nodes of a YAML mapping, which may be ordered (a list of mappings)."""
    for part in getattr(node, "value", ()):
        if isinstance(part, tuple):
            yield part[0].value, part[1]
        else:
            yield from _pairs(part)


def _rename(root: Any, old: str, new: str) -> None:
    """Rename a column in the YAML, and an object that consists of this column alone."""
    sections = dict(_pairs(root))
    for column in sections["datatype"].value:
        _rename_in(column, old, new)
    for section, node in _pairs(sections.get("meta")):
        for key, parts in node.value if section == OBJECTS else ():
            if key.value == old and _parts_named(parts) == {old}:
                key.value = new
            _rename_parts(parts, old, new)


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
    """Return the names of all columns of an object."""
    if not isinstance(node.value, list):
        return frozenset()
    parts = [part[1] if isinstance(part, tuple) else part for part in node.value]
    names = frozenset(chain.from_iterable(map(_parts_named, parts)))
    own = _name(node) if node.tag == _PART_TAG else None
    return names if own is None else names | {own}
