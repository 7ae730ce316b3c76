"""Write docs/reference/c.md from the header of the C interface.

`python tools/capi_reference.py` rewrites the page; `--check` says whether it is current.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CRATE = ROOT / "crates" / "tachyfits-capi"
HEADER = CRATE / "include" / "tachyfits.h"
PAGE = ROOT / "docs" / "reference" / "c.md"

#: Titles of the modules that functions are exported from, in the order of the page.
MODULES = {
    "jobs": "The library and jobs",
    "files": "Files",
    "headers": "Headers",
    "images": "Images",
    "tables": "Tables",
    "arrow": "Tables as Arrow",
    "writing": "New files, and changes of existing ones",
}

INTRODUCTION = """\
# The C interface

<!-- Written by tools/capi_reference.py from tachyfits.h; `make check` compares the two. -->

`tachyfits.h` declares everything below; the [guide](../guides/from-c.md) has programs. Functions
that return `int32_t` return 0 or the kind of the error and fill the caller's `tachyfits_error`,
which may be NULL. Pixels, rows, columns, axes and HDUs are counted from 0; axis 0 is NAXIS1. Many
threads may use a file at the same time, one a writer or editor.
"""


def comment_of(lines: list[str], end: int) -> str:
    """Return the comment above a line; its lines are joined, its paragraphs are not."""
    begin = end
    while begin > 0 and lines[begin - 1].lstrip().startswith("//"):
        begin -= 1
    words = [line.strip().removeprefix("//").strip() for line in lines[begin:end]]
    return "\n\n".join(" ".join(part.split("\n")) for part in "\n".join(words).split("\n\n"))


def escaped(text: str) -> str:
    """Return text for a cell of a table."""
    return text.replace("|", "\\|").replace("\n\n", " ")


def constants(lines: list[str]) -> Iterator[str]:
    """Give the rows of the table of constants."""
    yield from ("| constant | value | meaning |", "|---|---|---|")
    for number, line in enumerate(lines):
        if match := re.match(r"#define (TACHYFITS_\w+) (-?\d+)$", line):
            meaning = escaped(comment_of(lines, number))
            yield f"| `{match[1]}` | {match[2]} | {meaning} |"


def structs(lines: list[str]) -> Iterator[str]:
    """Give a section for each struct, with a table of its members."""
    for number, line in enumerate(lines):
        if match := re.match(r"typedef struct (tachyfits_\w+) (tachyfits_\w+);", line):
            yield from (f"### {match[1]}", "", comment_of(lines, number) + " Opaque.", "")
        if not (match := re.match(r"typedef struct (tachyfits_\w+) \{", line)):
            continue
        yield from (f"### {match[1]}", "", comment_of(lines, number), "")
        yield from ("| member | meaning |", "|---|---|")
        end = lines.index(f"}} {match[1]};", number)
        for member in range(number + 1, end):
            if lines[member].strip().endswith(";"):
                declared = lines[member].strip().rstrip(";").replace("struct ", "")
                yield f"| `{declared}` | {escaped(comment_of(lines, member))} |"
        yield ""


def functions(lines: list[str]) -> dict[str, list[str]]:
    """Return the section of each function by its name."""
    sections = {}
    for number, line in enumerate(lines):
        match = re.match(r"[a-z].*\b(tachyfits_\w+)\(", line)
        if not match or line.startswith("typedef") or match[1] == "tachyfits_test_panic":
            continue
        end = next(n for n in range(number, len(lines)) if lines[n].endswith(";"))
        words = [part.strip() for part in lines[number : end + 1]]
        declared = " ".join(words).replace("( ", "(")
        comment = comment_of(lines, number)
        code = ["```c", *wrapped(declared), "```", ""]
        sections[match[1]] = [f"### {match[1]}", "", comment, "", *code]
    return sections


def wrapped(declared: str) -> Iterator[str]:
    """Give a declaration on one line if it is short, else an argument a line."""
    declared = declared.replace("struct tachyfits", "tachyfits")
    if len(declared) <= 90:
        yield declared
        return
    head, arguments = declared.rstrip(");").split("(", 1)
    yield f"{head}("
    parts = arguments.split(", ")
    for number, argument in enumerate(parts):
        yield f"    {argument}{',' if number + 1 < len(parts) else ''}"
    yield ");"


def page() -> str:
    """Return the text of the page."""
    lines = HEADER.read_text(encoding="utf-8").splitlines()
    sections = functions(lines)
    text = [INTRODUCTION]
    for module, title in MODULES.items():
        source = (CRATE / "src" / "ffi" / f"{module}.rs").read_text(encoding="utf-8")
        text += [f"## {title}", ""]
        for name in re.findall(r'extern "C" fn (tachyfits_\w+)', source):
            text += sections.pop(name, [])
    assert not sections, f"add the module of {', '.join(sections)} to MODULES"
    text += ["## Structs", "", *structs(lines), "## Constants", "", *constants(lines), ""]
    text += [
        "`struct ArrowArrayStream`, `struct ArrowSchema` and `struct ArrowArray` belong to Apache",
        "Arrow's C data interface, under the usual guards; `DLManagedTensorVersioned` belongs to",
        "DLPack 1.0. A program that uses `dlpack.h` includes it first.",
        "",
    ]
    return "\n".join(text)


def main(arguments: list[str]) -> int:
    """Write or check the page; 1 if it is not current."""
    text = page()
    if "--check" not in arguments:
        PAGE.write_text(text, encoding="utf-8")
        return 0
    if PAGE.exists() and PAGE.read_text(encoding="utf-8") == text:
        return 0
    print(f"{PAGE.relative_to(ROOT)} is not current: run tools/capi_reference.py")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
