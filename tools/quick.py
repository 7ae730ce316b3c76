"""Check what a change touches: `make quick`, about 90 seconds once everything is built.

The change is what differs from the last commit, or that commit if nothing does. Changed Python
files are linted, and their examples run, and the tests that mention most of their names; changed
crates have tests of their own. `make check test` is still what a change must pass.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from steps import NUMERIC_TESTS, PYTEST, PYTHON

#: Seconds for the Python tests.
BUDGET = 60

#: Python tests of crates that no Python module is of.
OF_CRATES = {
    "tachyfits-capi": ["tests/python/test_capi_arrays.py"],
    "tachyfits-cfitsio": ["tests/python/test_cfitsio.py"],
    "tachyfits-format": ["tests/python/test_file.py", "tests/python/test_verify.py"],
    "tachyfits-io": ["tests/python/test_file.py", "tests/python/test_remote.py"],
    "tachyfits-records": ["tests/python/test_fortran_numbers.py"],
}

#: Names that say nothing about what a test is about.
COMMON = {"main", "open", "read", "write", "run", "image", "table", "file", "stats", "errors"}


def lines(*command: str) -> list[str]:
    """Return the lines that a command prints."""
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    return process.stdout.splitlines()


def files_of_change() -> list[Path]:
    """List the files of the change."""
    names = lines("git", "diff", "--name-only", "HEAD")
    names += lines("git", "ls-files", "--others", "--exclude-standard")
    names = names or lines("git", "diff", "--name-only", "HEAD~1")
    return [path for path in map(Path, names) if path.is_file()]


def names_of(path: Path) -> set[str]:
    """Return the name of a module and what it defines for others."""
    text = path.read_text(encoding="utf-8")
    names = {*re.findall(r"^(?:class|def|    def) ([a-zA-Z]\w+)", text, re.MULTILINE), path.stem}
    return {name for name in names if len(name) > 3} - COMMON


def tests_of(files: list[Path]) -> list[str]:
    """List tests, those first that mention most names of the changed modules."""
    tests = {path for path in files if path.name.startswith("test_")}
    for crate in {path.parts[1] for path in files if path.parts[0] == "crates"}:
        tests |= set(map(Path, OF_CRATES.get(crate, NUMERIC_TESTS)))
    modules = [path for path in files if path.parts[:2] == ("python", "tachyfits")]
    names = {name for path in modules if path.suffix == ".py" for name in names_of(path)}
    scores = {}
    if names:
        pattern = re.compile(rf"\b(?:{'|'.join(sorted(names))})\b")
        for test in Path("tests").rglob("test_*.py"):
            scores[test] = len(set(pattern.findall(test.read_text(encoding="utf-8"))))
    best = sorted((test for test in scores if scores[test]), key=lambda test: -scores[test])
    return [*map(str, sorted(tests)), *(str(test) for test in best[:12] if test not in tests)]


def steps(files: list[Path]) -> Iterator[tuple[list[str], float | None]]:
    """List commands, and the seconds after which one is stopped without being a failure."""
    code = [str(path) for path in files if path.suffix == ".py"]
    if code:
        yield [PYTHON, "-m", "ruff", "check", *code], None
        yield [PYTHON, "-m", "ruff", "format", "--check", *code], None
    if any(path.suffix == ".rs" for path in files):
        crates = sorted({path.parts[1] for path in files if path.parts[0] == "crates"})
        packages = [word for crate in crates for word in ("-p", crate)]
        yield ["cargo", "clippy", *packages, "--", "--deny", "warnings"], None
    modules = [name for name in code if name.startswith("python/tachyfits")]
    if modules:
        yield [PYTHON, "-m", "mypy", "python/tachyfits"], None
    yield [PYTHON, "tools/prose.py"], None
    if paths := [*modules, *tests_of(files)]:
        yield [*PYTEST, "--quiet", "--exitfirst", *paths], BUDGET


def main() -> int:
    """Run the steps; 0 when all passed."""
    start = time.monotonic()
    for command, seconds in steps(files_of_change()):
        print(f"--- {' '.join(command)[:160]}", flush=True)
        try:
            code = subprocess.run(command, timeout=seconds, check=False).returncode
        except subprocess.TimeoutExpired:
            print(f"stopped after {seconds:.0f} s; no test had failed", flush=True)
            continue
        # 5: pytest found no test.
        if code not in (0, 5):
            return code
    print(f"--- passed in {time.monotonic() - start:.0f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
