"""VOTables 1.4 in TABLEDATA: result tables, service descriptors and error documents.

This module does not use astropy's writer, which writes "0 0 0" for a parameter without a value,
repeats the IDs of parameters, drops limits of arrays, and takes seconds for 10 000 rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree

from fastapi import Response

from tachyfits.server.vo.xml import child, clean, name

#: Media types of a VOTable, and of a VOTable from DataLink.
VOTABLE_TYPE = "application/x-votable+xml"
DATALINK_TYPE = "application/x-votable+xml;content=datalink"

_NAMESPACE = "http://www.ivoa.net/xml/VOTable/v1.3"
_SCHEMA = f"{_NAMESPACE} http://www.ivoa.net/xml/VOTable/VOTable-1.4.xsd"


@dataclass(frozen=True)
class Column:
    """A FIELD, or a PARAM of a service."""

    name: str
    datatype: str = "char"
    arraysize: str | None = None
    unit: str | None = None
    ucd: str | None = None
    utype: str | None = None
    xtype: str | None = None
    description: str = ""

    def attributes(self) -> dict[str, str]:
        """Return the attributes of the element; text columns have variable length."""
        size = self.arraysize or ("*" if self.datatype in ("char", "unicodeChar") else None)
        values = {
            "name": self.name, "datatype": self.datatype, "arraysize": size, "unit": self.unit,
            "ucd": self.ucd, "utype": self.utype, "xtype": self.xtype,
        }  # fmt: skip
        return {key: value for key, value in values.items() if value is not None}


@dataclass(frozen=True)
class Parameter:
    """An input of a service: column, fixed value or reference to a column, and valid values."""

    column: Column
    value: str = ""
    ref: str | None = None
    least: str | None = None
    most: str | None = None
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Service:
    """A service descriptor."""

    identifier: str | None
    label: str
    standard: str
    url: str
    inputs: Sequence[Parameter]
    content_type: str | None = None
    description: str = ""


@dataclass
class Document:
    """A VOTable: a table of results, descriptors of services, or an error."""

    columns: Sequence[Column] = ()
    rows: Iterable[Sequence[Any]] = ()
    infos: list[tuple[str, str, str]] = field(default_factory=list)
    #: The reason why the table is incomplete; "" if it is complete.
    overflow: str = ""
    services: list[Service] = field(default_factory=list)
    #: IDs, by name, of columns that descriptors refer to.
    column_ids: dict[str, str] = field(default_factory=dict)

    def to_xml(self) -> bytes:
        """Serialise the document."""
        root = ElementTree.Element(
            "VOTABLE",
            {"version": "1.4", "xmlns": _NAMESPACE, name("xsi:schemaLocation"): _SCHEMA},
        )
        results = child(root, "RESOURCE", attributes={"type": "results"})
        for key, value, text in self.infos:
            child(results, "INFO", text or None, {"name": key, "value": value})
        if self.columns:
            self._add_table(results)
        if self.overflow:
            # DALI requires this element after the table.
            attributes = {"name": "QUERY_STATUS", "value": "OVERFLOW"}
            child(results, "INFO", self.overflow, attributes)
        for service in self.services:
            _add_service(root, service)
        content: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
        return content

    def _add_table(self, results: ElementTree.Element) -> None:
        table = child(results, "TABLE")
        for column in self.columns:
            attributes = column.attributes()
            if column.name in self.column_ids:
                attributes["ID"] = self.column_ids[column.name]
            field_element = child(table, "FIELD", attributes=attributes)
            if column.description:
                child(field_element, "DESCRIPTION", column.description)
        body = child(child(table, "DATA"), "TABLEDATA")
        for row in self.rows:
            line = ElementTree.SubElement(body, "TR")
            for value in row:
                ElementTree.SubElement(line, "TD").text = cell(value)


def cell(value: Any) -> str | None:
    """Format a value for TABLEDATA; None is an empty cell, unknown numbers are NaN.

    >>> cell(0.25), cell(None), cell(True), cell("a")
    ('0.25', None, 'T', 'a')
    """
    if value is None:
        return None
    if isinstance(value, bool):
        return "T" if value else "F"
    return clean(value) if isinstance(value, str) else repr(value)


def _add_service(root: ElementTree.Element, service: Service) -> None:
    attributes = {"type": "meta", "utype": "adhoc:service", "name": service.label}
    if service.identifier:
        attributes["ID"] = service.identifier
    resource = child(root, "RESOURCE", attributes=attributes)
    if service.description:
        child(resource, "DESCRIPTION", service.description)
    properties = {"accessURL": service.url, "standardID": service.standard}
    if service.content_type:
        properties["contentType"] = service.content_type
    for key, value in properties.items():
        child(resource, "PARAM", attributes=Column(key).attributes() | {"value": value})
    group = child(resource, "GROUP", attributes={"name": "inputParams"})
    for parameter in service.inputs:
        attributes = parameter.column.attributes() | {"value": parameter.value}
        if parameter.ref:
            attributes["ref"] = parameter.ref
        param = child(group, "PARAM", attributes=attributes)
        if parameter.column.description:
            child(param, "DESCRIPTION", parameter.column.description)
        if parameter.least is None and parameter.most is None and not parameter.options:
            continue
        values = child(param, "VALUES")
        if parameter.least is not None:
            child(values, "MIN", attributes={"value": parameter.least})
        if parameter.most is not None:
            child(values, "MAX", attributes={"value": parameter.most})
        for option in parameter.options:
            child(values, "OPTION", attributes={"value": option})


def votable_answer(document: Document, status: int = 200, kind: str = VOTABLE_TYPE) -> Response:
    """Return an answer with a VOTable."""
    headers = {"Retry-After": "1"} if status == 503 else None
    return Response(document.to_xml(), status, headers, media_type=kind)


def error_document(text: str) -> Document:
    """Return the error document of DALI."""
    return Document(infos=[("QUERY_STATUS", "ERROR", text)])
