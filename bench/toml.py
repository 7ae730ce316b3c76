"""Reading TOML on every supported Python.

`tomllib` is in the standard library from 3.11 on; before that the same code is the package `tomli`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench import BenchError

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    try:
        import tomli as tomllib  # type: ignore[no-redef]
    except ModuleNotFoundError:
        raise SystemExit("bench needs Python 3.11, or: pip install tomli") from None


def load(path: Path) -> dict[str, Any]:
    """Read the document in `path`; an error names the file."""
    try:
        with path.open("rb") as stream:
            return tomllib.load(stream)
    except OSError as error:
        raise BenchError(f"{path}: {error.strerror}") from error
    except tomllib.TOMLDecodeError as error:
        raise BenchError(f"{path}: not TOML: {error}") from error
