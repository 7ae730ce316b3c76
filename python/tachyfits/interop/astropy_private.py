"""Undocumented functions of astropy: every one that this package uses is here.

A test calls each of them, to detect changes in a new astropy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def table_with_mixins(table: Any) -> Any:
    """Return a table with the objects that its ``meta["__serialized_columns__"]`` describes."""
    from astropy.table.serialize import _construct_mixins_from_columns

    return _construct_mixins_from_columns(table)


def columns_of_mixins(table: Any) -> Any:
    """Return a table of plain columns, as astropy writes its objects to FITS."""
    from astropy.table.serialize import represent_mixins_as_columns
    from astropy.utils.data_info import serialize_context_as

    with serialize_context_as("fits"):
        return represent_mixins_as_columns(table)


def description_of_columns(lines: Sequence[str]) -> dict[str, Any]:
    """Return the columns described by astropy's YAML; ValueError if it is other text."""
    from astropy.table.meta import YamlParseError, get_header_from_yaml

    try:
        return dict(get_header_from_yaml(list(lines)))
    except YamlParseError as error:
        raise ValueError("invalid YAML") from error


def yaml_of_columns(columns: Sequence[Any], meta: dict[str, Any]) -> list[str]:
    """Return the lines in which astropy describes columns and the objects built from them."""
    from astropy.table.meta import get_yaml_from_header

    return list(get_yaml_from_header({"cols": list(columns), "meta": meta}))
