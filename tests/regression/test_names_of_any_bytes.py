"""Files whose names are not UTF-8, as old archives have them, can be read, written and served."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf
from tachyfits import fortran
from tachyfits.base.errors import printable
from tachyfits.cli import run
from tachyfits.server.datasets import Datasets

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="names are Unicode elsewhere")

PIXELS = np.arange(12.0).reshape(3, 4)


@pytest.fixture
def name(tmp_path: Path) -> str:
    path = os.fsdecode(os.fsencode(tmp_path) + b"/\xe9toile.fits")
    tf.write(path, PIXELS)
    return path


def test_python_takes_the_name(name: str) -> None:
    with tf.open(name) as file:
        assert file[0].sum() == PIXELS.sum()
        assert file.path == name
        file.name.encode()
        assert pickle.loads(pickle.dumps(file))[0].sum() == PIXELS.sum()
    assert tf.open(Path(name))[0].sum() == PIXELS.sum()
    with open(name, "rb") as stream:
        assert tf.open(stream)[0].sum() == PIXELS.sum()
    assert tf.verify(name).ok
    assert tf.diff(name, name).same
    assert tf.repair(name) == ()
    assert tf.update_checksums(name) == (0,)
    with tf.edit(name) as editor:
        editor[0].header["OBJECT"] = "star"
    assert fits.getheader(name)["OBJECT"] == "star"
    table = f"{name}.table.fits"
    tf.write(table, {"A": [1, 2]})
    for ending in ("csv", "parquet", "arrow"):
        tf.open(table)[1].write(f"{name}.{ending}")
        assert run(["table", f"{name}.{ending}", "-o", f"{name}.{ending}.fits"]) == 0
        assert tf.open(f"{name}.{ending}.fits")[1]["A"].tolist() == [1, 2]
    fortran.write(f"{name}.dat", PIXELS)
    fortran.append(f"{name}.dat", PIXELS)
    assert len(fortran.open(f"{name}.dat")) == 2


CALLS: dict[str, Callable[[str], Any]] = {
    "open": tf.open, "verify": tf.verify, "edit": tf.edit, "repair": tf.repair,
    "update_checksums": tf.update_checksums, "diff": lambda path: tf.diff(path, path),
    "fortran.open": fortran.open, "fortran.append": lambda path: fortran.append(path, PIXELS),
    "write": lambda path: tf.write(f"{path}/x.fits", PIXELS),
}  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("part", [chr(0xDCE9), chr(0xD800), "a\0b"])
def test_errors_are_those_of_the_package(tmp_path: Path, call: str, part: str) -> None:
    with pytest.raises(tf.TachyfitsError) as refused:
        CALLS[call](str(tmp_path / f"missing{part}.fits"))
    str(refused.value).encode()


def test_the_command_line_takes_the_name(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["info"], ["header"], ["stats", "--json"], ["verify", "--json"],
                  ["header", "--set", "A=1"], ["checksum", "--update"]):  # fmt: skip
        assert run([words[0], name, *words[1:]]) == 0
        out = capsys.readouterr().out
        out.encode()
        if "--json" in words:
            assert json.loads(out)["file"].endswith("toile.fits")
    done = subprocess.run(
        [sys.executable, "-m", "tachyfits", "stats", os.fsencode(name)], capture_output=True
    )
    assert done.returncode == 0
    assert not done.stderr


def test_a_mask_of_that_name_is_noted_in_ascii(name: str) -> None:
    tf.write(f"{name}.cube.fits", np.ones((2, 3, 4)), {"CTYPE3": "FREQ"})
    plane = tf.open(f"{name}.cube.fits")[0].select(where=name).collapse("sum")
    assert "\\xe9toile.fits" in "".join(plane.header.history())


def test_a_server_lists_and_opens_the_name(name: str) -> None:
    folder = Path(name).parent
    inner = os.fsdecode(os.fsencode(folder) + b"/d\xe8")
    os.mkdir(inner)
    tf.write(f"{inner}/b.fits", PIXELS)
    datasets = Datasets((folder, Path(inner)))
    listed = [entry.id for entry in datasets.list(folder.name)]
    assert listed == [f"{folder.name}/d\\xe8", f"{folder.name}/\\xe9toile.fits"]
    assert datasets.target(listed[1]).address == name
    assert [entry.id for entry in datasets.list(listed[0])] == [f"{listed[0]}/b.fits"]
    assert [entry.id for entry in datasets.list("")] == [folder.name, "d\\xe8"]
    assert datasets.hidden(f"{printable(inner)}/b.fits: damaged") == "d\\xe8/b.fits: damaged"
