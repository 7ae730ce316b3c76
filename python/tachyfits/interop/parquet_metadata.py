"""Column descriptions in Parquet files: astropy's YAML, VOParquet's VOTable, and pandas'.

They are in the metadata of the schema. Arrow's metadata of a field, which tachyfits writes, has
precedence.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any
from xml.etree import ElementTree

import numpy as np

from tachyfits.base.errors import warn
from tachyfits.interop.astropy_private import description_of_columns, yaml_of_columns
from tachyfits.interop.astropy_yaml import OBJECTS, ODD
from tachyfits.interop.formats import display_of, format_of
from tachyfits.interop.mixins import BEGIN, block_of_lines
from tachyfits.interop.times import said_in_meta
from tachyfits.table.columns import Columns, TableColumn
from tachyfits.table.ragged import elements_of
from tachyfits.text.units import fits_unit, text_of_unit

#: Keys of the metadata.
_YAML = b"table_meta_yaml"
_VOTABLE = b"IVOA.VOTable-Parquet.content"
_VERSION = b"IVOA.VOTable-Parquet.version"
_PANDAS = b"PANDAS_ATTRS"

#: Maximum metadata size to read: more cannot be descriptions of columns.
_MOST_BYTES = 1 << 22

#: VOTable types by NumPy type; a type that VOTable lacks maps to the next wider one.
_DATATYPES = {
    "bool": "boolean", "uint8": "unsignedByte", "int8": "short", "int16": "short", "uint16": "int",
    "int32": "int", "uint32": "long", "int64": "long", "uint64": "long", "float32": "float",
    "float64": "double", "complex64": "floatComplex", "complex128": "doubleComplex",
}  # fmt: skip

_NAMESPACE = "http://www.ivoa.net/xml/VOTable/v1.3"


def said_of_columns(metadata: Mapping[Any, Any] | None) -> Mapping[str, dict[str, Any]]:
    """Return the column properties in the metadata of a schema, by name.

    "unit" and "description" are text, "format" is Python's, "carried" are other cards.
    """
    metadata = metadata or {}
    return _said(*(bytes(metadata.get(key, b"")) for key in (_PANDAS, _VOTABLE, _YAML)))


@lru_cache(maxsize=8)
def _said(pandas: bytes, votable: bytes, yaml: bytes) -> dict[str, dict[str, Any]]:
    properties: dict[str, dict[str, Any]] = {}
    for form, text, reader in (
        ("attributes", pandas, _of_pandas), ("VOTable", votable, _of_votable),
        ("YAML", yaml, _of_yaml),
    ):  # fmt: skip
        if not text:
            continue
        try:
            if len(text) > _MOST_BYTES:
                raise ValueError(f"more than {_MOST_BYTES} bytes")
            for name, entry in reader(text.decode()):
                properties.setdefault(name, {}).update(entry)
        except (ElementTree.ParseError, *ODD) as error:
            message = "".join(c if c.isprintable() else "?" for c in " ".join(str(error).split()))
            warn(f"the {form} in the metadata of the file describes no columns: {message}")
    return properties


def _of_pandas(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the units that `to_pandas` stored in the attributes of a frame."""
    units = dict(json.loads(text)).get("units") or {}
    yield from ((name, {"unit": unit}) for name, unit in units.items() if isinstance(unit, str))


def _of_yaml(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for column in description_of_columns(text.split("\n"))["datatype"]:
        properties = {
            "unit": _unit(column.get("unit")),
            "description": column.get("description"),
            "format": column.get("format"),
        }
        properties = {
            key: text for key, text in properties.items() if isinstance(text, str) and text
        }
        yield str(column["name"]), properties | said_in_meta(dict(column.get("meta") or {}))


def _of_votable(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    for element in ElementTree.fromstring(text).iter():
        if _local(element) != "FIELD" or not element.get("name"):
            continue
        texts = [part.text for part in element if _local(part) == "DESCRIPTION"]
        properties = {
            "unit": _unit(element.get("unit")),
            "description": " ".join((texts[0] or "").split()) if texts else "",
            **said_in_meta({"TUCD": element.get("ucd") or None}),
        }
        yield str(element.get("name")), {key: value for key, value in properties.items() if value}


def _local(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


def _unit(unit: Any) -> str | None:
    """Return a unit in the Standard's spelling; unchanged if it is unknown."""
    text = str(unit or "").strip()
    parsed = fits_unit(text) if text else None
    return text or None if parsed is None else text_of_unit(parsed) or text


def meta_of_yaml(metadata: Mapping[Any, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the table's meta and its astropy objects from astropy's YAML."""
    text = metadata.get(_YAML, b"")
    if not text or len(text) > _MOST_BYTES:
        return
    try:
        lines = text.decode().split("\n")
        meta = dict(description_of_columns(lines).get("meta") or {})
        objects = dict(meta.pop(OBJECTS, {}))
        is_plain = all(
            str(attributes["__class__"]).endswith("quantity.Quantity")
            for attributes in objects.values()
        )
    except ODD:
        # Reading the columns has already warned.
        return
    yield from meta.items()
    if not is_plain:
        yield "COMMENT", block_of_lines(lines)


def foreign_metadata(columns: Columns) -> dict[bytes, bytes]:
    """Return the schema metadata for other readers; a few rows of the columns suffice."""
    widths = {
        f"table::len::{key}".encode(): str(info.dtype.itemsize // 4).encode()
        for key, info in columns.info.items()
        if info.dtype.kind == "U" and not info.is_variable and info.delimiter is None
    }
    votable = _votable(columns)
    return {_YAML: _yaml(columns), _VERSION: b"1.0", _VOTABLE: votable, **widths}


def _yaml(columns: Columns) -> bytes:
    from astropy.table import Column

    described = []
    for key, values in columns.items():
        kind, info = elements_of(values).dtype, columns.info.get(key)
        shape = () if elements_of(values) is not values else values.shape[1:]
        column = Column(np.zeros((0, *shape), "U1" if kind.kind in "OS" else kind), name=key)
        if info is not None:
            column.unit = fits_unit(info.unit) if info.unit else None
            column.description = info.description or None
            column.meta.update(dict(info.carried))
            column.info.format = _format(info)
        described.append(column)
    comments = columns.meta.get("COMMENT")
    lines: Sequence[str] = comments if isinstance(comments, list) else ()
    meta = {key: value for key, value in columns.meta.items() if key != "COMMENT"}
    meta |= {"comments": list(lines)} if lines and BEGIN not in lines else {}
    return "\n".join(yaml_of_columns(described, meta)).encode()


def _format(info: TableColumn) -> str | None:
    """Return the format of a column, if it survives a round trip."""
    form = format_of(info.display)
    return form if form is not None and display_of(form, info.dtype) == info.display else None


def _votable(columns: Columns) -> bytes:
    root = ElementTree.Element("VOTABLE", version="1.4", xmlns=_NAMESPACE)
    resource = ElementTree.SubElement(root, "RESOURCE", type="results")
    table = ElementTree.SubElement(resource, "TABLE")
    for number, (key, values) in enumerate(columns.items(), 1):
        info, elements = columns.info.get(key), elements_of(values)
        kind = elements.dtype
        size = "x".join(map(str, reversed(values.shape[1:]))) if elements is values else "*"
        if kind.kind in "SUO":
            size = "*"
        attributes = {
            "ID": f"col{number}",
            "name": key,
            "datatype": _DATATYPES.get(kind.name, "char"),
        }
        attributes |= {"arraysize": size} if size else {}
        if info is not None:
            ucd = dict(info.carried).get("TUCD")
            unit = fits_unit(info.unit) if info.unit else None
            text = info.unit if unit is None else unit.to_string("vounit")
            attributes |= {"unit": text} if text else {}
            attributes |= {"ucd": ucd} if isinstance(ucd, str) else {}
        field = ElementTree.SubElement(table, "FIELD", attributes)
        if info is not None and info.description:
            ElementTree.SubElement(field, "DESCRIPTION").text = info.description
    ElementTree.SubElement(table, "PARQUET", type="Parquet-local-XML")
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document
