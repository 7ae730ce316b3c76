"""Output of `tachyfits --version`."""

from __future__ import annotations

import platform
from importlib import metadata

from tachyfits import __version__, info

#: Packages whose versions are useful in bug reports.
LIBRARIES = ("numpy", "astropy", "click", "rich", "matplotlib")


def version_text(*, verbose: bool) -> str:
    """Return the version; if verbose, also the vector tier, the cores and the libraries."""
    first = f"tachyfits {__version__}"
    if not verbose:
        return first
    rows = [(name, _as_text(value)) for name, value in info.build().items()]
    rows = [row for row in rows if row[0] != "version"]
    rows.append(("python", f"{platform.python_version()} {platform.machine()}"))
    rows += [(name, _library_version(name)) for name in LIBRARIES]
    width = max(len(name) for name, _ in rows)
    return "\n".join([first, *(f"  {name:<{width}}  {value}" for name, value in rows)])


def _as_text(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _library_version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
