"""Forms of Fortran records: whatever they are, NumPy ends no process and no other error leaves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tachyfits as tf
from tachyfits import fortran
from tachyfits.cli import run

#: Text that NumPy reads as a dtype whose newbyteorder() ends the process, or that is not a form.
TEXTS = [
    "8T", "1T", "T", "i4,T", "(2,)T", "i4,8T", "<T", "8<T", "float64,T", "()T", "O", "8O", "M8",
    "m8[s]", "8M8[s]", "object", "datetime64", "0f", "0f8", "(0,)f8", "(2,0)f8", "f8,0f8", "f0",
    "S0", "", ",", "f 8", "f8\0", "f8" + chr(0xDCFF), "(i4" + chr(0xDCFF) + ")", "é8", "U4", "V0",
    "9" * 50 + "f8", "2147483648f8", "-1f8", "2(" * 40 + "f8" + ")" * 40,
    "(" * 5000 + "f8" + ")" * 5000, "(" + "1," * 100 + "1)f8",
]  # fmt: skip
OBJECTS: list[Any] = [
    np.dtype("T") if np.lib.NumpyVersion(np.__version__) >= "2.0.0" else "T", object, str, bytes,
    np.dtype(("f8", (0,))), np.dtype([("a", "O")]), [("a", "8T")], 2.5, [1], [()], type, b"8T",
    {"names": ["a"], "formats": ["8T"]}, np.dtype("S0"), [("a", "f8", (2,) * 70)],
]  # fmt: skip


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("forms") / "run.dat"
    fortran.write(found, np.arange(12.0))
    return found


def test_text_that_is_no_form_ends_no_process(path: Path) -> None:
    # In another process: one that NumPy ends takes this one with it.
    code = f"""
import tachyfits as tf
from tachyfits import fortran
for text in {TEXTS!r}:
    for call in (lambda f: f[0].read(text), lambda f: f.records(0, 1, text),
                 lambda f: list(f.batches(text)), lambda f: f.stats(text)):
        with fortran.open({str(path)!r}) as file:
            try:
                call(file)
            except tf.TachyfitsError as error:
                str(error).encode()
            else:
                print("accepted:", ascii(text))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "")


def test_objects_that_are_no_dtype_are_errors_of_the_package(path: Path) -> None:
    for what in OBJECTS:
        with pytest.raises(tf.TachyfitsError):
            fortran.open(path)[0].read(what)


def test_the_command_line_refuses_text_that_is_no_form(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for text in ("8T", "0f", "f8" + chr(0xDCFF)):
        assert run(["fortran", "dump", str(path), "--form", text]) in (1, 2)
        assert "invalid form" in capsys.readouterr().err


@pytest.mark.parametrize(
    "what", ["f8", "<f8", "=f8", "(3,)f8", "( 2 , 2 )f8", "float64", "d", "double", "i4, (2,)i2",
             "V8", " f8 ", "S8", "c16", "<3f8", "12f8"],
)  # fmt: skip
def test_dtypes_of_numpy_are_read_as_before(path: Path, what: str) -> None:
    array = fortran.open(path)[0].read(what)
    assert array.nbytes == 96
