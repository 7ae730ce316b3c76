"""Data of any kind become the same HDUs wherever they go: new files, edited files and streams."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import astropy.units as u
import numpy as np
import pandas
import pyarrow.parquet as pq
import pytest
from astropy.nddata import CCDData, StdDevUncertainty
from astropy.table import QTable
from astropy.time import Time

import tachyfits as tf
from tachyfits.writing import sources
from tachyfits.writing.sinks import FileBytes

CARDS = {
    "CTYPE1": "RA---SIN", "CTYPE2": "DEC--SIN", "CTYPE3": "VRAD", "CUNIT3": "km/s", "CRVAL3": 1.0,
    "CDELT1": -0.1, "CDELT2": 0.1, "CDELT3": 2.0, "BUNIT": "K", "OBJECT": "M 31",
}  # fmt: skip
COLUMNS = {"N": np.arange(3, dtype="i4"), "S": ["a", "bc", ""], "V": [[1.5], [], [2.5, 3.5]]}


def cube() -> Any:
    pixels = np.arange(60, dtype="f4").reshape(3, 4, 5)
    tf.write("cube.fits", pixels, CARDS, overwrite=True)
    return tf.open("cube.fits")[0]


def table() -> Any:
    tf.write("table.fits", COLUMNS, overwrite=True)
    return tf.open("table.fits")[1]


def compressed() -> tf.File:
    tf.write("small.fits", cube(), compress="gzip", overwrite=True)
    return tf.open("small.fits")


def parquet() -> str:
    pq.write_table(tf.open("table.fits")[1].read(["N", "S"]).to_arrow(), "table.parquet")
    return "table.parquet"


def frame() -> Any:
    return pandas.DataFrame({"N": [1, 2], "S": ["a", "b"]})


KINDS: dict[str, Callable[[], Any]] = {
    "array": lambda: np.arange(6, dtype=">u2").reshape(2, 3),
    "masked array": lambda: np.ma.array([[1.0, 2.0]], mask=[[True, False]]),
    "quantity": lambda: np.ones((2, 3)) * u.Jy,
    "pair with a header": lambda: (np.ones((2, 3), "i2"), {"OBJECT": "M 33", "EXTNAME": "SCI"}),
    "stored image": cube,
    "image of tiles": lambda: compressed()[1],
    "computed image": lambda: cube().smooth("hanning"),
    "image under a header": lambda: (cube(), {"OBJECT": "M 33"}),
    "cutout": lambda: cube().cutout(channels=slice(1, 3)),
    "plane": lambda: cube().moment(0),
    "spectrum": lambda: cube().spectrum("circle(3,2,1)"),
    "nddata": lambda: CCDData(
        np.ones((2, 3)), unit="adu", uncertainty=StdDevUncertainty(np.ones((2, 3)))
    ),
    "empty HDU": lambda: compressed()[0],
    "dict": lambda: COLUMNS,
    "structured": lambda: np.array([(1, 2.5)], "i4,f8"),
    "astropy": lambda: QTable({"F": [1.0, 2.0] * u.Jy, "T": Time([50000, 50001], format="mjd")}),
    "pandas": frame,
    "columns": lambda: table().read(),
    "stored table": table,
    "table under a header": lambda: (table(), {"OBSERVER": "me"}),
    "Parquet file": lambda: (table(), parquet())[1],
}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def edited(change: Callable[[tf.Editor], None]) -> bytes:
    tf.write("edited.fits", [None], overwrite=True)
    with tf.edit("edited.fits") as editor:
        change(editor)
    return Path("edited.fits").read_bytes()


@pytest.mark.parametrize("kind", KINDS)
def test_data_become_the_same_bytes_in_every_sink(kind: str) -> None:
    data = KINDS[kind]()
    one, header = data if isinstance(data, tuple) else (data, None)
    cards = {} if header is None else {"header": header}
    stream = io.BytesIO()
    tf.write("new.fits", [None, data])
    tf.write(stream, [None, data])
    expected = Path("new.fits").read_bytes()
    assert tf.verify("new.fits").ok
    part = FileBytes([None, data])
    found = {
        "stream": stream.getvalue(),
        "bytes": part.read(0, part.size).tobytes(),
        "append": edited(lambda editor: editor.append(one, **cards)),
        "insert": edited(lambda editor: editor.insert(1, one, **cards)),
        "list": edited(lambda editor: editor.append([(one, header)])),
    }
    assert {name: content == expected for name, content in found.items()} == dict.fromkeys(
        found, True
    )
    tf.write("alone.fits", one, **cards)
    tf.write(alone := io.BytesIO(), one, **cards)
    part = FileBytes(one, **cards)
    written = Path("alone.fits").read_bytes()
    assert alone.getvalue() == part.read(0, part.size).tobytes() == written
    if kind_takes_an_extension(written):
        assert written[2880:] == expected[2880:]


def kind_takes_an_extension(content: bytes) -> bool:
    """Return whether a file has an empty primary HDU, after which its only data are."""
    with tf.open(content) as file:
        return len(file) > 1 and not file[0].data_bytes


def test_a_new_kind_of_data_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    class Counts:
        _data_kind: ClassVar[str] = "counts"

    def row(data: Any, options: Any) -> Any:
        return sources.sources_of({"COUNT": [1, 2, 3]}, options)

    monkeypatch.setitem(sources.KINDS, "counts", sources.Kind(row))
    tf.write("a.fits", Counts(), name="A")
    tf.write(stream := io.BytesIO(), [Counts()])
    content = edited(lambda editor: editor.append(Counts()))
    for file in (tf.open("a.fits"), tf.open(stream.getvalue()), tf.open(content)):
        assert file[1]["COUNT"].tolist() == [1, 2, 3]


#: Layers whose functions decide what data are and hand them on.
LAYERS = ("editing", "writing", "base/kinds.py")


def passed(insert: Callable[[], None], data: Any) -> set[str]:
    """Return the functions that data pass through; see the test."""
    package = Path(tf.__file__).parent
    homes = tuple(str(package / layer) for layer in LAYERS)
    found = set()

    def is_data(value: Any) -> bool:
        if isinstance(value, list):
            return any(isinstance(each, sources.HduSource) for each in value)
        return value is data or isinstance(value, sources.HduSource)

    def see(frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        is_ours = event == "call" and code.co_filename.startswith(homes)
        if is_ours and any(is_data(value) for value in frame.f_locals.values()):
            found.add(f"{code.co_name}:{code.co_firstlineno}")

    sys.setprofile(see)
    try:
        insert()
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize(
    "kind", ["array", "computed image", "stored image", "stored table", "dict", "quantity"]
)
def test_inserted_data_pass_ten_functions_at_most(kind: str) -> None:
    """Count the functions between `Editor.insert` and the compiled module that get the data.

    A function counts once, if it is of the layers `editing` or `writing`, or recognises kinds, and
    has the data themselves, or the source of HDUs that they became, as an argument or in its
    closure. Other layers convert columns and read pixels; wrappers of public methods do neither.
    """
    data = KINDS[kind]()
    tf.write("edited.fits", np.zeros((2, 3)))
    with tf.edit("edited.fits") as editor:
        found = passed(lambda: editor.insert(1, data, name="NEW"), data)
    assert tf.open("edited.fits")["NEW"].name == "NEW"
    assert 3 < len(found) <= 10, found


# Standard output.


def piped(*words: str, given: bytes | None = None) -> bytes:
    """Return what a command writes to standard output, which is a pipe."""
    command = [sys.executable, "-m", "tachyfits", *words]
    done = subprocess.run(command, input=given, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stderr
    return done.stdout


@pytest.mark.parametrize(
    "words",
    [
        ["cutout", "cube.fits", "--channels", "2:3"],
        ["rebin", "cube.fits", "1", "2", "1", "--bitpix", "-64", "--report"],
        ["collapse", "cube.fits", "--moment", "0"],
        ["compress", "cube.fits", "--codec", "gzip", "--checksum"],
    ],
)
def test_a_pipe_gets_the_bytes_of_the_file(words: list[str]) -> None:
    cube()
    content = piped(*words, "-o", "-")
    piped(*words, "-o", "named.fits")
    assert content == Path("named.fits").read_bytes()
    assert not Path("-").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["smooth", "cube.fits", "--axis", "x"],
        ["reorder", "cube.fits", "zxy"],
        ["math", "a * 2", "a=cube.fits"],
        ["pv", "cube.fits", "--path", "1,1 4,3"],
        ["cutout", "cube.fits", "--section", "*,*,2"],
        ["decompress", "small.fits"],
        ["collapse", "cube.fits", "--json"],
    ],
)
def test_commands_write_fits_to_standard_output(
    words: list[str], capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    from tachyfits.cli import run

    compressed()
    assert run([*words, "-o", "-"]) == 0
    content = capsysbinary.readouterr().out
    assert run([*words, "-o", "named.fits"]) == 0
    assert content == Path("named.fits").read_bytes()


def test_a_pipeline_of_two_commands_works() -> None:
    cube()
    content = piped("cutout", "cube.fits", "--channels", "2:3", "-o", "-")
    again = piped("rebin", "-", "1", "1", "2", "-o", "-", given=content)
    expected = cube()[1:3].mean(axis=0)
    np.testing.assert_allclose(tf.open(again)[0][0], expected)


def test_a_terminal_gets_no_fits() -> None:
    cube()
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "tachyfits", "cutout", "cube.fits", "--section", "*,*,1"]
    try:
        done = subprocess.run(
            [*command, "-o", "-"], stdout=theirs, stderr=subprocess.PIPE, text=True, check=False
        )
    finally:
        os.close(theirs)
        os.close(ours)
    assert done.returncode == 2
    assert "expected a file or a pipe as standard output, found a terminal" in done.stderr


def test_a_failed_stream_has_no_bytes() -> None:
    stream = io.BytesIO()
    with pytest.raises(tf.UsageError, match="FITS has no image of that type"):
        tf.write(stream, [np.ones((2, 3)), (np.array(["a"]), None)])
    assert stream.getvalue() == b""


def test_several_maps_need_names(capsys: pytest.CaptureFixture[str]) -> None:
    from tachyfits.cli import run

    cube()
    assert run(["collapse", "cube.fits", "--moment", "0,1", "-o", "-"]) == 2
    assert "-o - takes one map" in capsys.readouterr().err
