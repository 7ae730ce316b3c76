"""Writes docs/reference/errors.md from the codes that the compiled module lists.

`python tools/error_page.py` rewrites the page; with `--check` it says whether the page is current.
"""

from __future__ import annotations

import sys
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "errors.md"

HEAD = """\
# Errors and warnings

<!-- Written by tools/error_page.py from the table in the code; `make check` compares the two. -->

Each error says the file, the HDU (counted from 0), the keyword or card, the byte offset, what was
expected, what was found, and on a line of its own what to do. The code is stable: programs may look
at it, and `tachyfits errors` lists the same table.

Python raises one class per kind, each also of the built-in kind that people catch. All of them are
`tachyfits.TachyfitsError`.

| kind | Python class | also a | what it is about |
|---|---|---|---|
| Io | `FitsIoError` | `OSError` | the file, the disk, the operating system |
| Format | `FitsFormatError` | `ValueError` | what is in the file |
| Usage | `UsageError` | `ValueError` | what was asked for |
| Limit | `LimitError` | `ValueError` | more than the limits allow |

A warning is a `tachyfits.TachyfitsWarning`; with `strict` it is an error of its kind.
"""


def page() -> str:
    """Return the text of the page."""
    from tachyfits import _core

    parts = [HEAD]
    by_kind: dict[str, list[str]] = {}
    for code, kind, meaning in _core.error_codes():
        cell = meaning.replace("|", "\\|").replace("\n", " ")
        by_kind.setdefault(kind, []).append(f"| `{code}` | {cell} |")
    for kind, rows in by_kind.items():
        title = kind[:1].upper() + kind[1:]
        parts += ["", f"## {title}", "", "| code | what it means |", "|---|---|", *sorted(rows)]
    return "\n".join(parts) + "\n"


def main(arguments: list[str]) -> int:
    """Write or check the page; 0 when it is current."""
    if arguments == ["--check"]:
        if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == page():
            return 0
        print(f"{PAGE.name} is not current; to write it: {sys.executable} tools/error_page.py")
        return 1
    if arguments:
        print("usage: error_page.py [--check]", file=sys.stderr)
        return 2
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
