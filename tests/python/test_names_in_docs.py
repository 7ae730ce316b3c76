"""Names of the package in documents and docstrings exist: `tf.open`, `Image.stats`.

Examples in code blocks are run by other tests; this reads names in backquotes.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tachyfits as tf
from tachyfits import fortran, plot

ROOT = Path(__file__).resolve().parents[2]

#: Documents and modules; pages of performance have names of peers.
FILES = [
    *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "DESIGN.md")),
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if "performance" not in path.parts),
    *sorted((ROOT / "python" / "tachyfits").rglob("*.py")),
]

#: Text in backquotes, and the names with a dot in it.
_QUOTED = re.compile(r"``([^`]+)``|`([^`\n]+)`")
_DOTTED = re.compile(r"(?<![\w./\"'-])([A-Za-z]\w*)((?:\.[A-Za-z_]\w*)+)")

#: Files of C that begin as names of the package do.
_HEADERS = ("tachyfits.h", "tachyfits.hpp")


def names_in(text: str) -> Iterator[str]:
    """Give the names with a dot that a text has in backquotes."""
    for quoted in _QUOTED.finditer(text):
        for name in _DOTTED.finditer(quoted[1] or quoted[2]):
            yield name[0]


def namespace(of_records: bool) -> dict[str, Any]:
    """Return what names begin with, and what it is."""
    classes = {name: getattr(tf, name) for name in tf.__all__ if name[0].isupper()}
    if of_records:
        classes |= {name: getattr(fortran, name) for name in fortran.__all__}
    return {"tf": tf, "tachyfits": tf, "fortran": fortran, "plot": plot, **classes}


def exists(name: str, heads: dict[str, Any]) -> bool:
    """Say whether a name exists; one of another package does not count."""
    head, *rest = name.split(".")
    thing = heads.get(head)
    if thing is None or name in _HEADERS:
        return True
    for number, part in enumerate(rest, 1):
        if not hasattr(thing, part):
            if head != "tachyfits":
                return False
            try:
                importlib.import_module(".".join([head, *rest[:number]]))
            except ImportError:
                return False
        thing = getattr(thing, part)
    return True


@pytest.mark.once
def test_names_in_documents_and_docstrings_exist() -> None:
    unknown = []
    count = 0
    for path in FILES:
        heads = namespace("records" in path.parts or path.stem == "fortran")
        for name in names_in(path.read_text(encoding="utf-8")):
            count += 1
            if not exists(name, heads):
                unknown.append(f"{path.relative_to(ROOT)}: {name}")
    assert not unknown, "\n".join(unknown)
    assert count > 1000


def test_a_name_that_does_not_exist_is_found() -> None:
    heads = namespace(of_records=False)
    text = (
        "`tf.open(a)`, ``Image.mean``, `Image.maen`, `tf.info.build`, `np.no`, `tachyfits.text.no`"
    )
    names = list(names_in(text))
    assert [name for name in names if not exists(name, heads)] == [
        "Image.maen",
        "tachyfits.text.no",
    ]
