"""Optional libraries, imported on demand."""

from __future__ import annotations

import importlib
from typing import Any

from tachyfits.base.errors import usage

#: Modules of the extra ``server`` that the server requires.
SERVER = ("fastapi", "python_multipart", "uvicorn", "zstandard")


def needed(module: str, what_for: str, *, extra: str | None = None) -> Any:
    """Import a library, or raise an error that names the package to install.

    Raises
    ------
    UsageError
        The library is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        library = module.partition(".")[0].replace("_", "-")
        how = f"pip install 'tachyfits[{extra}]' (or: pip install {library})" if extra else (
            f"pip install {library}"
        )  # fmt: skip
        raise usage(f"{what_for} needs {library}, which is not installed ({error})", how) from error
