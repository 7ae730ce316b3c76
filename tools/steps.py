"""Run the steps of `make test` or `make check` and print a summary.

A failed step does not stop the next ones: one run shows everything that is wrong. The exit status
is 0 only when every step passed. Run with the environment's Python from the repository root.
"""

from __future__ import annotations

import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

PYTHON = sys.executable
#: Slow tests are named, so that one sees where the time goes.
PYTEST = [PYTHON, "-m", "pytest", "--durations=20", "--durations-min=3"]

#: The features of the engine that lints and the documentation cover.
FEATURES = "tachyfits/ndarray,tachyfits/remote"

#: Linking the compiled module as a test program needs Python's development files. It only
#: translates, and the Python tests cover it.
RUST_TESTS = ["--workspace", "--exclude", "tachyfits-python", "--features", "tachyfits/ndarray"]
RUST_TESTS += ["--no-fail-fast"]

#: Python tests of numerical results; they run again under each vector tier. Rust tests do not: the
#: kernel tests run every tier themselves, and same_bits restarts itself under each.
NUMERIC_TESTS = [
    f"tests/python/test_{name}.py"
    for name in ("pixels", "reductions", "regions", "spectral", "real_files")
]

PYTHON_CODE = ["python", "tests", "tools", "bench", "examples"]

LONG_FILE = 600  # lines

#: Steps that run at the same time, and lists that the Python tests are divided into for it.
AT_A_TIME, PARTS = 2, 4

COLOUR_CODES = re.compile(r"\x1b\[[0-9;]*m")
CARGO_RESULT = re.compile(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored")
PYTEST_RESULT = re.compile(r"^=* ?((?:\d+ [a-z]+,? ?)+in [0-9.]+s.*?)[ =]*$")
FAILED_TEST = re.compile(r"^(?:(?:FAILED|ERROR) \w+/.*|test .* \.\.\. FAILED)$")


class Screen:
    """Where one step prints at a time; the output of others waits, and they do not."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_taken = False
        self._waiting: list[str] = []

    def take(self) -> bool:
        """Take the screen, unless another step has it."""
        with self._lock:
            is_free = not self._is_taken
            self._is_taken = True
        return is_free

    def give(self) -> None:
        """Give the screen back, and print what waits for it."""
        with self._lock:
            self._is_taken = False
            self._print()

    def print_later(self, lines: list[str]) -> None:
        """Print lines, when the screen is free."""
        with self._lock:
            self._waiting += lines
            if not self._is_taken:
                self._print()

    def _print(self) -> None:
        for line in self._waiting:
            _print_line(line)
        self._waiting.clear()


@dataclass
class Step:
    """One command and its result."""

    name: str
    command: list[str]
    environment: dict[str, str] = field(default_factory=dict)
    needs: str = ""  # "a|b": the step is skipped without one of them, and the summary says so
    code: int | None = None
    seconds: float = 0.0
    counts: list[int] = field(default_factory=lambda: [0, 0, 0])
    pytest_line: str = ""
    failed_tests: list[str] = field(default_factory=list)

    def run(self, screen: Screen) -> None:
        """Run the command; print its output while no other step does, else when that has ended."""
        if screen.take():
            self._run(_print_line)
            screen.give()
            return
        lines: list[str] = []
        self._run(lines.append)
        screen.print_later(lines)

    def _run(self, take: Callable[[str], None]) -> None:
        """Run the command, hand over its output line by line and keep the test counts."""
        if self.needs and not any(map(shutil.which, self.needs.split("|"))):
            return
        words = [f"{key}={value}" for key, value in self.environment.items()]
        command = " ".join(words + self.command)
        take(f"\n--- {self.name}: {command[:200]}{' …' if len(command) > 200 else ''}\n")
        started = time.monotonic()
        with subprocess.Popen(
            self.command,
            env=os.environ | self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process:
            assert process.stdout is not None
            for line in process.stdout:
                take(line)
                self._note(COLOUR_CODES.sub("", line).rstrip())
        self.code = process.returncode
        self.seconds = time.monotonic() - started

    def _note(self, line: str) -> None:
        if match := CARGO_RESULT.match(line):
            self.counts = [a + int(b) for a, b in zip(self.counts, match.groups(), strict=True)]
        elif match := PYTEST_RESULT.match(line):
            self.pytest_line = match.group(1)
        elif FAILED_TEST.match(line):
            self.failed_tests.append(line)

    def summary(self) -> str:
        """Verdict, seconds, name and counts on one line; the tests that failed below it."""
        if self.code is None:
            missing = " or ".join(self.needs.split("|"))
            return f"NOT RUN             {self.name:<28} {missing} is not installed"
        verdict = "ok    " if self.code == 0 else "FAILED"
        counts = self.pytest_line
        if any(self.counts):
            counts = "{} passed, {} failed, {} ignored".format(*self.counts)
        line = f"{verdict} {self.seconds:6.1f} s  {self.name:<28} {counts}".rstrip()
        return "\n".join([line, *(f"    {test[:400]}" for test in self.failed_tests)])


def _print_line(line: str) -> None:
    print(line, end="", flush=True)


def run_together(steps: list[Step]) -> None:
    """Run steps in order, two at a time."""
    screen = Screen()
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        for future in [pool.submit(step.run, screen) for step in steps]:
            future.result()


def parts(count: int) -> list[list[str]]:
    """Divide the Python tests into lists of paths, by the size of the files.

    Tests that start servers wait for them, and take about three times as long.
    """

    def weight(path: Path) -> int:
        return path.stat().st_size * (3 if path.name.startswith(("test_server", "test_vo")) else 1)

    folders = ("tests/python", "tests/regression")
    files = [path for folder in folders for path in Path(folder).rglob("test_*.py")]
    lists: list[list[str]] = [["python/tachyfits"], *([] for _ in range(count - 1))]
    sizes = [0] * count
    for path in sorted(files, key=lambda path: (-weight(path), path)):
        lightest = sizes.index(min(sizes))
        lists[lightest].append(str(path))
        sizes[lightest] += weight(path)
    return [sorted(paths) for paths in lists]


def test_steps() -> Iterator[list[Step]]:
    """List the Rust and Python tests, two steps at a time, then the benchmarks."""
    from tachyfits import _core

    # Most tests use one core, as compilers do in the end, and those of the page wait for a browser.
    chromium = "chromium|chromium-browser|google-chrome"
    together = [Step("Rust", ["cargo", "test", *RUST_TESTS])]
    together.append(Step("page in a browser", [*PYTEST, "tests/web"], needs=chromium))
    for number, paths in enumerate(parts(PARTS), 1):
        together.append(Step(f"Python, part {number} of {PARTS}", [*PYTEST, "--quiet", *paths]))
    for tier in _core.build_info()["tiers"]:
        forced = {"TACHYFITS_TIER": tier}
        command = [*PYTEST, "--quiet", *NUMERIC_TESTS]
        together.append(Step(f"Python numbers, {tier}", command, forced))
    yield together
    yield [Step("benchmarks: answers and gate", [*PYTEST, "--quiet", "tests/bench"])]


def check_steps() -> Iterator[list[Step]]:
    """List the checks that a change must pass besides the tests, two at a time."""
    yield list(_checks())


def _checks() -> Iterator[Step]:
    code = [path for path in PYTHON_CODE if os.path.isdir(path)]
    yield Step("Cargo.lock is current", ["cargo", "fetch", "--locked"])
    yield Step("Rust format", ["cargo", "fmt", "--all", "--check"])
    features = ["--features", FEATURES]
    lints = ["--all-targets", *features, "--", "--deny", "warnings"]
    yield Step("Rust lints", ["cargo", "clippy", "--workspace", *lints])
    fuzz = ["cargo", "check", "--quiet", "--manifest-path", "fuzz/Cargo.toml"]
    # Without a name libFuzzer itself is compiled, which nothing here links.
    settings = {"CARGO_TARGET_DIR": "target", "CUSTOM_LIBFUZZER_PATH": "target/libfuzzer.a"}
    yield Step("fuzz targets compile", fuzz, settings)
    yield Step(
        "Rust documentation",
        ["cargo", "doc", "--workspace", "--no-deps", *features],
        {"RUSTDOCFLAGS": "--deny warnings"},
    )
    yield Step("Python format", [PYTHON, "-m", "ruff", "format", "--check", *code])
    yield Step("Python lints", [PYTHON, "-m", "ruff", "check", *code])
    yield Step("Python types", [PYTHON, "-m", "mypy", "python/tachyfits", "examples/galaxy"])
    # Without the path mypy.stubtest finds no stub for a private module, and passes.
    stubtest = [PYTHON, "-m", "mypy.stubtest", "tachyfits._core"]
    yield Step("stubs match the module", stubtest, {"MYPYPATH": "python"})
    rules = [f"tests/python/test_{name}.py" for name in ("architecture", "allocations")]
    yield Step("architecture", [*PYTEST, "--quiet", *rules])
    site = [PYTHON, "-m", "mkdocs", "build", "--quiet", "--site-dir", "target/site"]
    yield Step("documentation site", site, {"NO_MKDOCS_2_WARNING": "1"})
    yield Step("plain English", [PYTHON, "tools/prose.py"])
    yield Step("reference pages are current", [PYTHON, "tools/reference_pages.py", "--check"])
    capi = [PYTHON, "tools/capi_reference.py", "--check"]
    yield Step("reference of C is current", capi)
    types = ["node", "web/node_modules/typescript/bin/tsc", "--project", "web"]
    yield Step("types of the page", types, needs="npm")
    yield Step("licences and advisories", ["cargo", "deny", "check"], needs="cargo-deny")


def print_long_files() -> None:
    """List source files over 600 lines, as advice: a long file often has two subjects."""
    folders = ("bench", "crates", "examples", "fuzz", "python", "tests", "tools")
    process = subprocess.run(["git", "ls-files", *folders], capture_output=True, text=True)
    for name in process.stdout.splitlines():
        if name.endswith((".py", ".pyi", ".rs")) and os.path.isfile(name):
            with open(name, encoding="utf-8") as file:
                lines = sum(1 for _ in file)
            if lines > LONG_FILE:
                print(f"advice: {name} has {lines} lines; does it have one subject?")


def main(arguments: list[str]) -> int:
    """Run the named set of steps; 0 when all passed, 1 when one failed, 2 for an unknown name."""
    sets = {"test": test_steps, "check": check_steps}
    if len(arguments) != 1 or arguments[0] not in sets:
        print(f"usage: steps.py {'|'.join(sets)}", file=sys.stderr)
        return 2
    steps = []
    for together in sets[arguments[0]]():
        run_together(together)
        steps += together
    print(f"\n--- summary of make {arguments[0]}")
    for step in steps:
        print(step.summary())
    failed = sum(bool(step.code) for step in steps)
    passed = sum(step.code == 0 for step in steps)
    print(f"{passed} passed, {failed} failed, {len(steps) - passed - failed} not run", flush=True)
    if arguments[0] == "check":
        print_long_files()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
