"""Functions of astropy that its documentation does not list: all that this package uses are here.

A test calls each, so that a new astropy that changes one is noticed there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def table_with_mixins(table: Any) -> Any:
    """Return a table of the objects that its ``meta["__serialized_columns__"]`` describes."""
    from astropy.table.serialize import _construct_mixins_from_columns

    return _construct_mixins_from_columns(table)


def columns_of_mixins(table: Any) -> Any:
    """Return a table of columns alone, as astropy writes its objects to FITS."""
    from astropy.table.serialize import represent_mixins_as_columns
    from astropy.utils.data_info import serialize_context_as

    with serialize_context_as("fits"):
        return represent_mixins_as_columns(table)


def description_of_columns(lines: Sequence[str]) -> dict[str, Any]:
    """Return the columns that astropy's YAML describes; ValueError if it is other text."""
    from astropy.table.meta import YamlParseError, get_header_from_yaml

    try:
        return dict(get_header_from_yaml(list(lines)))
    except YamlParseError as error:
        raise ValueError("invalid YAML") from error


def yaml_of_columns(columns: Sequence[Any], meta: dict[str, Any]) -> list[str]:
    """Return the lines in which astropy describes columns and the objects made of them."""
    from astropy.table.meta import get_yaml_from_header

    return list(get_yaml_from_header({"cols": list(columns), "meta": meta}))
