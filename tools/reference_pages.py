"""Write the pages of docs/reference, and a stub, from the tables in the compiled module.

`python tools/reference_pages.py` rewrites them; `--check` lists those that are not current.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from man_page import man_page

ROOT = Path(__file__).resolve().parents[1]

WRITTEN = (
    "<!-- Written by tools/reference_pages.py from the table in the code; `make check` compares "
    "the two. -->"
)

ERRORS = f"""\
# Errors and warnings

{WRITTEN}

An error names the file, the HDU (counted from 0), the keyword or card and the byte offset, then
what was expected and what was found. A line of its own says what to do. Codes are stable, so
programs can test them; `tachyfits errors` prints the same table. Codes that begin with `io-` have
an example of their message instead of a meaning.

Python raises one class per kind. Each class also derives from a built-in exception, and all derive
from `tachyfits.TachyfitsError`.

| kind | Python class | also a | about |
|---|---|---|---|
| Io | `IoError` | `OSError` | the file, the disk, the operating system |
| Format | `FormatError` | `ValueError` | the contents of the file |
| Usage | `UsageError` | `ValueError` | the request |
| Limit | `LimitError` | `ValueError` | a request or file beyond a limit |

A warning is a `tachyfits.TachyfitsWarning`; with `strict` it is an error of its kind.
"""

RULES = f"""\
# Rules of the Standard

{WRITTEN}

`tachyfits verify` checks these rules, besides the [format errors and warnings](errors.md) that
reading a file gives. `tachyfits verify --rules` prints the same table. Section numbers refer to the
FITS Standard 4.0. An error breaks a requirement of the Standard. A warning is against its advice,
or legal and probably not intended. Codes are stable.
"""


STATISTICS = f"""\
# Statistics

{WRITTEN}

`tachyfits.info.statistics()` lists these statistics. `Image.spectrum` and `Image.collapse` take the
names, as do `--statistic` on the command line, `statistic=` of the server and `tachyfits_reduce` of
C; `Image.reduce` takes those of one pass. NaN and BLANK pixels are ignored, except by `nan`, which
counts them. `Image` has a method for each: `count_nan` for `nan`, `argmin` and `argmax` for the
positions, otherwise of the same name. `percentile90`, or another number from 0 to 100, is an order
statistic too. Order statistics are exact and take several passes.
"""

STUB = """\
# Written by tools/reference_pages.py from the register of statistics.

from typing import Any

from tachyfits.text.axes import Axis

class ReductionMethods:
"""

NAMES = """\
\"\"\"Names of statistics, for type checkers.

Written by tools/reference_pages.py from the register of statistics.
\"\"\"

from typing import Literal, TypeAlias

#: Statistics of one pass.
OnePass: TypeAlias = Literal[
    {one_pass},
]

#: Statistics of the sorted pixels. Percentiles have any number; these are usual, and
#: `Image.percentile` takes others.
OrderStatistic: TypeAlias = Literal[
    {order},
]

#: Every statistic.
StatisticName: TypeAlias = Literal[OnePass, OrderStatistic]
"""

#: Percentiles that type checkers know.
PERCENTILES = ("0.1", "1", "2", "5", "10", "16", "25", "50", "75", "84", "90", "95", "98", "99",
               "99.5", "99.9")  # fmt: skip

METHOD = """\
    def {name}(
        self,
        axis: Axis | None = None,
        *,
        keepdims: bool = False,
        **options: Any,
    ) -> Any: ...
"""


def errors() -> str:
    """Return the text of the page of errors."""
    from tachyfits import info

    by_kind: dict[str, list[str]] = {}
    for code, kind, meaning in info.error_codes():
        by_kind.setdefault(kind, []).append(row(f"`{code}`", meaning))
    parts = [ERRORS]
    for kind, rows in by_kind.items():
        title = kind[:1].upper() + kind[1:]
        parts += ["", f"## {title}", "", "| code | what it means |", "|---|---|", *sorted(rows)]
    return "\n".join(parts) + "\n"


def rules() -> str:
    """Return the text of the page of rules."""
    from tachyfits import info

    rows = [
        row(f"`{rule.code}`", rule.severity, rule.section, rule.meaning, rule.advice)
        for rule in info.rules()
    ]
    heading = [
        "| code | severity | section | what is wrong | what to do |",
        "|---|---|---|---|---|",
    ]
    return "\n".join([RULES, *heading, *sorted(rows)]) + "\n"


def statistics() -> str:
    """Return the text of the page of statistics."""
    from tachyfits import info

    rows = [
        row(
            f"`{statistic.name}`",
            statistic.meaning,
            "that of the pixels" if statistic.has_unit else "",
            "order" if statistic.is_order else "one pass",
        )
        for statistic in info.statistics()
    ]
    heading = ["| name | meaning | unit | kind |", "|---|---|---|---|"]
    return "\n".join([STATISTICS, *heading, *rows]) + "\n"


def stub() -> str:
    """Return the stub of the methods that are one statistic each."""
    from tachyfits.image.reduction_methods import ReductionMethods

    names = [name for name in vars(ReductionMethods) if not name.startswith("_")]
    return STUB + "".join(METHOD.format(name=name) for name in names)


def statistic_names() -> str:
    """Return the module of the names of statistics."""
    from tachyfits import info

    entries = info.statistics()
    order = [entry.name for entry in entries if entry.is_order] + [
        f"percentile{n}" for n in PERCENTILES
    ]
    return NAMES.format(
        one_pass=_in_lines([entry.name for entry in entries if not entry.is_order]),
        order=_in_lines(order),
    )


def _in_lines(names: list[str]) -> str:
    """Return names in quotes, one a line."""
    return ",\n    ".join(f'"{name}"' for name in names)


def row(*cells: str) -> str:
    """Return a row of a table."""
    safe = (cell.replace("|", "\\|").replace("\n", " ") for cell in cells)
    return f"| {' | '.join(safe)} |"


PAGES: dict[str, Callable[[], str]] = {
    # First: the other pages import the package, which imports it.
    "python/tachyfits/text/statistic_names.py": statistic_names,
    "docs/reference/errors.md": errors,
    "docs/reference/rules.md": rules,
    "docs/reference/statistics.md": statistics,
    "packaging/data/share/man/man1/tachyfits.1": man_page,
    "python/tachyfits/image/reduction_methods.pyi": stub,
}


def main(arguments: list[str]) -> int:
    """Write or check the pages; 0 when they are current."""
    if arguments == ["--check"]:
        current = {
            name: (ROOT / name).is_file() and (ROOT / name).read_text(encoding="utf-8") == make()
            for name, make in PAGES.items()
        }
        for name in (name for name, is_current in current.items() if not is_current):
            print(f"{name} is not current; to write it: {sys.executable} tools/reference_pages.py")
        return 0 if all(current.values()) else 1
    if arguments:
        print("usage: reference_pages.py [--check]", file=sys.stderr)
        return 2
    for name, make in PAGES.items():
        (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / name).write_text(make(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
