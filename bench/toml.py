"""Reading TOML on every supported Python.

`tomllib` is in the standard library from 3.11 on; before that the same code is the package `tomli`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from bench import BenchError

if sys.version_info >= (3, 11):
    import tomllib
else:
    try:
        import tomli as tomllib
    except ModuleNotFoundError:
        raise SystemExit("bench needs Python 3.11, or: pip install tomli") from None


def load(path: Path) -> dict[str, Any]:
    """Read the document in `path`; an error names the file."""
    try:
        with path.open("rb") as stream:
            document: dict[str, Any] = tomllib.load(stream)
            return document
    except OSError as error:
        raise BenchError(f"{path}: {error.strerror}") from error
    except tomllib.TOMLDecodeError as error:
        raise BenchError(f"{path}: not TOML: {error}") from error
