"""The kind of some data: one function decides it, without importing any library."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

#: Kinds of tables.
TABLES = frozenset(
    ["table", "columns", "mapping", "records", "structured", "astropy", "pandas", "arrow",
     "table file", "lazy", "unknown table"]
)  # fmt: skip


def kind_of(data: Any) -> str:
    """Return the kind of some data, for writing.

    Classes of this package state it themselves (``_data_kind``): "image", "table", "columns",
    "hdu", "measured" (a plane or spectrum), "table file". Other tables are "mapping", "records" (of
    astropy.io.fits), "structured", "astropy", "pandas", "arrow" or "unknown table"; "lazy" tables
    have no rows yet, and an "arrow column" is a single column. Anything else is "path", "nddata"
    (of astropy), "list", "none" or "array".

    >>> [kind_of(data) for data in ({}, "stars.csv", [1, 2], np.zeros(3), np.zeros(3, "f4,i2"))]
    ['mapping', 'path', 'list', 'array', 'structured']
    """
    own = getattr(type(data), "_data_kind", None)
    if isinstance(own, str):
        return own
    if type(data) is np.ndarray:
        return "array" if data.dtype.names is None else "structured"
    if data is None:
        return "none"
    if isinstance(data, (str, os.PathLike)):
        return "path"
    if isinstance(data, (list, tuple)):
        return "list"
    if isinstance(data, Mapping):
        return "mapping"
    # A FITS_rec, or an astropy HDU that has one.
    records = getattr(data, "data", None) if hasattr(data, "header") else data
    if any(kind.__name__ == "FITS_rec" for kind in type(records).__mro__):
        return "records"
    if isinstance(data, np.ndarray):
        return "array" if data.dtype.names is None else "structured"
    return _kind_of_a_library(data)


def _kind_of_a_library(data: Any) -> str:
    libraries = {base.__module__.partition(".")[0] for base in type(data).__mro__}
    if "astropy" in libraries and hasattr(data, "itercols"):
        return "astropy"
    if hasattr(data, "uncertainty") and _is_nddata(data):
        return "nddata"
    if hasattr(data, "collect") and not hasattr(data, "__arrow_c_stream__"):
        # Resolving its columns is expensive, and polars warns about it.
        return "lazy"
    has_columns = hasattr(data, "columns") or hasattr(data, "batches")
    if has_columns and "pandas" in libraries:
        return "pandas"
    if hasattr(data, "__arrow_c_stream__"):
        # A single column also exports a stream, and is an array.
        is_table = has_columns or not hasattr(data, "__array__")
        return "arrow" if is_table else "arrow column"
    return "unknown table" if has_columns else "array"


def _is_nddata(data: Any) -> bool:
    return any(base.__module__.startswith("astropy.nddata") for base in type(data).__mro__)
