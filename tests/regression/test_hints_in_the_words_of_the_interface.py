"""Hints name flags on the command line, and arguments in Python.

The walk reads every message in the sources, Python and Rust: a word of one interface must be inside
`either` (Python) or `{python|command line}` (Rust), on the side of that interface.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tachyfits as tf
from smallcubes import write_cube
from tachyfits import _core
from tachyfits.base.errors import either
from tachyfits.cli import run

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python" / "tachyfits"

#: Functions that take a hint, and at which place; names that hold one.
HINTED = {"usage": 1, "not_found": 1, "io_error": 1, "memory_error": 1, "with_hint": 1,
          "format_error": 1, "foreign_errors": 1,
          "_misfit": -1, "warn": 0}  # fmt: skip
HELD = re.compile(r"hint$|^_?[A-Z_]*HINT$")

FLAG = re.compile(r"(?<![\w-])--[a-z]")
#: ``name=`` or ``.name(``, ``name()``: words of Python. Fortran has ``recl=``.
PYTHON = re.compile(r"\b(?!recl=)[a-z_]+=(?!=)|\.[a-z_]+\(|\b[a-z_]+\(\)")


def texts(node: ast.AST) -> Iterator[str]:
    """Give the text in an expression that is not inside `either`."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "either":
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    for child in ast.iter_child_nodes(node):
        yield from texts(child)


def called(node: ast.AST) -> str:
    function = node.func if isinstance(node, ast.Call) else None
    return str(getattr(function, "id", getattr(function, "attr", "")))


def sources() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_messages_of_python_modules(path: Path) -> None:
    of_command_line = "cli" in path.parts
    wrong = []
    for node in ast.walk(ast.parse(path.read_text())):
        said: list[str] = []
        if called(node) in HINTED and isinstance(node, ast.Call) and len(node.args) > 0:
            said = list(texts(node.args[HINTED[called(node)]]))
        elif isinstance(node, ast.Assign) and HELD.search(getattr(node.targets[0], "id", "")):
            said = list(texts(node.value))
        forbidden = [PYTHON] if of_command_line else [PYTHON, FLAG]
        wrong += [text for text in said for pattern in forbidden if pattern.search(text)]
        if called(node) == "either":
            python, *flags = [" ".join(map(str, constants(argument))) for argument in node.args]
            wrong += [text for text in [python] if FLAG.search(text)]
            wrong += [text for text in flags if PYTHON.search(text)]
    assert wrong == []


def constants(node: ast.AST) -> Iterator[str]:
    for child in ast.walk(node):
        if isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield child.value


def rust_hints() -> Iterator[tuple[str, str]]:
    literal = r'"((?:[^"\\]|\\.|\\\n)*)"'
    pattern = re.compile(rf"\bhint(?: |\(\s*(?:format!\(\s*)?|: ){literal}", re.DOTALL)
    for path in sorted((ROOT / "crates").rglob("src/**/*.rs")):
        if path.stem not in ("tests", "interface"):
            for found in pattern.findall(path.read_text()):
                yield path.name, re.sub(r"\\\n\s*", "", found).replace('\\"', '"')
    # The hints of I/O errors are the arms of a match.
    source = (ROOT / "crates/tachyfits-io/src/error.rs").read_text()
    start = source.index("pub fn hint")
    for found in re.findall(literal, source[start : source.index("\n    }", start)]):
        yield "error.rs", found.replace('\\"', '"')


def test_hints_of_the_compiled_module() -> None:
    hints = list(rust_hints())
    assert len(hints) > 150
    choice = re.compile(r"\{([^{}|]*)\|([^{}|]*)\}")
    for place, hint in hints:
        for python, flag in choice.findall(hint):
            assert not FLAG.search(python), (place, hint)
            assert not PYTHON.search(flag.replace("s=spectrum.fits@z", "")), (place, hint)
        rest = choice.sub("", hint)
        assert not FLAG.search(rest), (place, hint)
        assert not PYTHON.search(rest), (place, hint)
    rules = [row[4] for row in _core.verify_rules()]
    assert not any("|" in hint or FLAG.search(hint) for hint in rules)


def test_the_interface_is_the_command_line_only_while_it_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_cube(tmp_path / "cube.fits")
    assert either("a", "b") == "a"
    assert run(["cutout", str(path), "--section", "1:2", "-o", str(path)]) == 1
    assert "replace the file: --overwrite" in capsys.readouterr().err
    with pytest.raises(tf.IoError, match="replace the file: overwrite=True"):
        tf.write(path, np.zeros((2, 2)))
    with pytest.raises(tf.IoError, match="replace the file: overwrite=True"):
        tf.open(path)[0].collapse("mean").write(path)
    assert either("a", "b") == "a"


@pytest.mark.parametrize(
    ("words", "flag"),
    [
        (["spectrum", "pol.fits"], "--section '*,*,*,1'"),
        (["collapse", "pol.fits", "-o", "x.fits"], "--section '*,*,*,1'"),
        (["collapse", "cube.fits", "--moment", "1", "--rest", "x", "-o", "x.fits"], "--unit"),
        (
            ["collapse", "cube.fits", "--statistic", "mean", "--unit", "km/s", "-o", "x.fits"],
            "--unit",
        ),
        (["histogram", "cube.fits", "--region", "circle(900,1,1)", "--range", "0", "1"], ""),
        (["math", "a+1", "a=cube.fits", "-o", "cube.fits"], "--overwrite"),
        (["smooth", "casa.fits", "--sky", "10arcsec", "-o", "x.fits"], "--keep-beam"),
        (["stats", "cube.fits", "--section", "1:99"], ""),
        (
            [
                "collapse",
                "cube.fits",
                "--region",
                "circle(2,2,1)",
                "--rest",
                "1 GHz",
                "-o",
                "x.fits",
            ],
            "",
        ),
        (["reorder", "cube.fits", "--order", "xx", "-o", "x.fits"], ""),
        (["spectrum", "cube.fits", "--hdu", "NONE"], ""),
        (["info", "text.fits"], ""),
    ],
)
def test_messages_of_commands_name_flags(
    words: list[str],
    flag: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    write_cube(tmp_path / "cube.fits")
    four: dict[str, Any] = {"CTYPE4": "STOKES", "CRVAL4": 1.0, "CRPIX4": 1.0, "CDELT4": 1.0}
    write_cube(tmp_path / "pol.fits", four, data=np.ones((4, 6, 5, 4), "f4"))
    write_cube(tmp_path / "casa.fits", {"CASAMBM": True})
    (tmp_path / "text.fits").write_text("no FITS file")
    status = run(words)
    said = capsys.readouterr().err
    assert flag in said
    assert not PYTHON.search(said.partition("hint: ")[2]), said
    assert status in (0, 1, 2)
