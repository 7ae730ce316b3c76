"""Write the Fortran module fortran/src/tachyfits.f90 from fortran/parts.

    python tools/fortran_module.py           # writes it
    python tools/fortran_module.py --check   # fails if the file differs

The parts are Fortran. Lines between `!for LIST` and `!end` are repeated for each item of a list,
with the words of the item in braces. The module is shipped as source, because a compiled one fits a
single compiler.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "fortran"
TARGET = FOLDER / "src" / "tachyfits.f90"
PARTS = ("declarations", "library", "files", "headers", "pixels", "columns", "writing")

Words = dict[str, str]


def table(text: str) -> list[Words]:
    """Read a table: the first line has the names, columns are divided by two blanks or more."""
    rows = [
        [cell.strip() for cell in line.split("  ") if cell.strip()] for line in text.splitlines()
    ]
    names, *items = filter(None, rows)
    return [dict(zip(names, item, strict=True)) for item in items]


def arrays(ranks: tuple[int, ...]) -> list[Words]:
    """Give the words of arrays of each rank."""
    return [
        {
            "rank": str(rank),
            "colons": ", ".join(":" * rank),
            "lengths": ", ".join(f"lengths({axis})" for axis in range(1, rank + 1)),
            "cells": "length" if rank == 1 else "elements, length",
            "chosen": "rows" if rank == 1 else ":, rows",
        }
        for rank in ranks
    ]


#: Items that lines are repeated for: types of numbers (their code in C), types of cards, ranks.
LISTS = {
    "number": table("""
        name    type            code  bytes  letter
        int8    integer(int8)   2     1      S
        int16   integer(int16)  4     2      I
        int32   integer(int32)  6     4      J
        int64   integer(int64)  8     8      K
        real32  real(real32)    9     4      E
        real64  real(real64)    10    8      D
    """),
    "rank": arrays((1, 2, 3, 4)),
    "column_rank": arrays((1, 2)),
    "value": table("""
        name     kind     type              zero     to_c
        int32    i64      integer(int32)    0        int(value, c_int64_t)
        int64    i64      integer(int64)    0        value
        real32   f64      real(real32)      0        real(value, c_double)
        real64   f64      real(real64)      0        value
        logical  logical  logical           .false.  merge(1_c_int, 0_c_int, value)
        text     text     character(len=*)  ""       c_text(value)
    """),
}

#: How values of cards are read, by the name of their type.
READ = "outcome = c_get_{kind}(self%handle, c_text(keyword), number, error)"
GETS = table("""
    name     c_type              from_c
    int32    integer(c_int64_t)  int(number, int32)
    int64    integer(c_int64_t)  number
    real32   real(c_double)      real(number, real32)
    real64   real(c_double)      number
    logical  integer(c_int)      number /= 0
    text     character(len=:), allocatable  number
""")
for item in LISTS["number"]:
    item["or_nan"] = " .or. ieee_is_nan(values)" if item["name"].startswith("real") else ""
for item, get in zip(LISTS["value"], GETS, strict=True):
    is_text = item["name"] == "text"
    item |= get
    item["output"] = get["c_type"] if is_text else item["type"]
    item["read"] = (
        "call header_text(self%handle, keyword, number, outcome, error)"
        if is_text
        else f"number = 0\n    {READ.format(**item)}"
    )
    check = "call check_range(keyword, number, int(huge(value), int64), outcome, error)"
    item["check"] = check if item["name"] == "int32" else ""


def expanded(lines: Iterator[str], words: Words) -> Iterator[str]:
    """Yield the lines up to an `!end`, with words filled in and lists written out."""
    for line in lines:
        command, _, name = line.strip().partition(" ")
        if command == "!end":
            return
        if command == "!for":
            body = list(block(lines))
            for item in LISTS[name]:
                yield from expanded(iter(body), words | item)
            continue
        result = line
        for key, value in words.items():
            result = result.replace("{" + key + "}", value)
        if result.strip() or not line.strip():
            yield result


def block(lines: Iterator[str]) -> Iterator[str]:
    """Yield the lines up to the `!end` of this block."""
    depth = 1
    for line in lines:
        depth += line.startswith("!for ") - (line.strip() == "!end")
        if depth == 0:
            return
        yield line


def module() -> str:
    """Return the source of the module."""
    texts = [(FOLDER / "parts" / f"{part}.f90").read_text(encoding="utf-8") for part in PARTS]
    return "\n".join(expanded(iter("".join(texts).splitlines()), {})) + "\n"


def main() -> int:
    """Write the module, or compare it."""
    text = module()
    if "--check" in sys.argv[1:]:
        same = TARGET.exists() and TARGET.read_text(encoding="utf-8") == text
        if not same:
            print(f"{TARGET} differs from fortran/parts: run tools/fortran_module.py")
        return 0 if same else 1
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
