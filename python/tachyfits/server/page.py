"""Page: the static files of the viewer page."""

from __future__ import annotations

from pathlib import Path

WEB = Path(__file__).parents[1] / "web"


def page_paths() -> set[str]:
    """Return the URL paths of the page and its files.

    >>> {"/", "/main.js", "/vendor/uPlot.esm.js"} <= page_paths()
    True
    """
    files = (path for path in WEB.rglob("*") if path.is_file())
    return {"/", *(f"/{path.relative_to(WEB).as_posix()}" for path in files)}
