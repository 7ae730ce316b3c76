"""The rows of the page for users of other programs, compared with those programs or astropy."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import fitsio
import numpy as np
import pytest
from astropy.coordinates import SkyCoord
from astropy.io import fits
from astropy.table import Table

import tachyfits as tf
from fitsbytes import cube_cards, primary

pytestmark = pytest.mark.once

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "coming-from.md").read_text("utf-8")
PROGRAMS = ("fitsio", "FTOOLS", "TOPCAT and STILTS", "MIRIAD", "CARTA")
ROWS = {
    (program, theirs.strip("`"), ours)
    for program in PROGRAMS
    for theirs, ours in re.findall(
        r"^\| ([^|]+?) \| `(.+?)` \| [^|]+ \|$",
        PAGE.partition(f"## From {program}\n")[2].partition("\n## ")[0],
        re.M,
    )
}


@pytest.fixture(scope="module")
def names(tmp_path_factory: Any) -> Iterator[dict[str, Any]]:
    folder = tmp_path_factory.mktemp("programs")
    random = np.random.default_rng(2)
    with chdir(folder):
        cube = random.normal(20, 5, (12, 20, 30)).astype("f4")
        Path("cube.fits").write_bytes(primary(cube, cube_cards()))
        stars = {
            "NAME": ["alpha", "beta", "gamma", "delta"],
            "RA": [10.0, 20.0, 30.0, 40.0],
            "DEC": [0.0, 1.0, 2.0, 3.0],
            "MAG": [18.5, 21.0, np.nan, 17.0],
        }
        tf.write("table.fits", stars)
        near = {"ID": [1, 2, 3], "RA": [10.0002, 10.0001, 40.0], "DEC": [0.0, 0.0, 3.0]}
        tf.write("other.fits", near)
        tf.write("events.fits", {"TIME": [0.0, 1.0, 2.0, 3.0]})
        tf.write("gti.fits", {"START": [1.0], "STOP": [2.0]}, name="GTI")
        yield {
            "tf": tf, "np": np, "fitsio": fitsio, "cube": tf.open("cube.fits")[0],
            "table": tf.open("table.fits")[1], "other": tf.open("other.fits")[1],
            "events": tf.open("events.fits")[1], "gti": tf.open("gti.fits")["GTI"],
        }  # fmt: skip


def _partners(radius: float, *, every: bool, left: bool) -> list[int | None]:
    """Return the IDs that a match of the two tables has, by astropy's angles."""
    table, other = Table.read("table.fits"), Table.read("other.fits")
    there = SkyCoord(other["RA"], other["DEC"], unit="deg")
    partners: list[int | None] = []
    for star in table:
        angles = there.separation(SkyCoord(star["RA"], star["DEC"], unit="deg")).arcsec
        near = [int(other["ID"][row]) for row in np.argsort(angles) if angles[row] <= radius]
        partners += (near if every else near[:1]) or ([None] if left else [])
    return partners


def _answers() -> dict[str, Any]:
    """Return what astropy and NumPy give, by the start of the words of the other program."""
    with fits.open("cube.fits") as file:
        cube, header = file[0].data.astype("f8"), file[0].header.copy()
    stars, events = Table.read("table.fits"), Table.read("events.fits")
    magnitudes = np.ma.filled(stars["MAG"], np.nan)
    y, x = np.mgrid[:20, :30]
    circle = np.hypot(x - 9, y - 9) <= 4
    times = events["TIME"]
    return {
        "ftselect table": stars["NAME"][magnitudes < 20],
        "ftselect events": times[(times >= 1) & (times <= 2)],
        "ftsort": stars["NAME"][np.argsort(magnitudes)],
        "ftlist": stars["NAME"][1:3],
        "fkeyprint": header["CTYPE3"],
        "ftimgcalc": 2 * cube,
        "tpipe in=table.fits cmd='select": stars["NAME"][magnitudes < 20],
        "tpipe in=table.fits cmd='keepcols": ("NAME", "MAG"),
        "tskymatch2 in1=table.fits in2=other.fits error=2 find=best1 join=all1": _partners(
            2, every=False, left=True
        ),
        "tskymatch2 in1=table.fits in2=other.fits error=2 find=all": _partners(
            2, every=True, left=False
        ),
        "tskymatch2 in1=table.fits in2=other.fits error=2 find=best1": _partners(
            2, every=False, left=False
        ),
        "imsub in=cube region='abs": cube[:, 11:18, 9:20],
        "imsub in=cube region='image": cube[3:9],
        "maths": cube + cube,
        "statistics": cube[5][circle].sum(),
        "spectral profile": cube[:, circle].mean(axis=1),
        "save image": cube[3:9],
    }


@pytest.mark.parametrize(("program", "theirs", "ours"), sorted(ROWS))
def test_rows_give_the_numbers_of_the_other_program(
    program: str, theirs: str, ours: str, names: dict[str, Any]
) -> None:
    value = eval(ours, names)
    if program == "fitsio":
        expected = eval(theirs, names)
    elif theirs.startswith("tcopy"):
        value, expected = Table.read("out.vot")["NAME"], Table.read("table.fits")["NAME"]
    else:
        expected = next(answer for start, answer in _answers().items() if theirs.startswith(start))
    if isinstance(expected, list):
        assert value.tolist() == expected
        return
    actual, expected = np.asarray(value), np.asarray(expected)
    if actual.dtype.kind == "U":
        # astropy reads text as bytes.
        assert actual.tolist() == expected.astype("U").tolist()
    else:
        np.testing.assert_allclose(actual, expected, rtol=1e-6)


STILTS = sorted(theirs for program, theirs, _ in ROWS if program == "TOPCAT and STILTS")


@pytest.mark.parametrize("words", STILTS)
def test_stilts_has_the_answers_of_its_rows(words: str, names: dict[str, Any]) -> None:
    """The order of several matches is its own."""
    if shutil.which("stilts") is None:
        pytest.skip("COMPARISONS LEFT OUT: stilts")
    if words.startswith("tcopy"):
        subprocess.run(["stilts", "tcopy", "table.fits", "theirs.vot"], check=True)
        names["table"].write("ours.vot", overwrite=True)
        theirs, ours = Table.read("theirs.vot"), Table.read("ours.vot")
        assert theirs.colnames == ours.colnames
        assert theirs["RA"].tolist() == ours["RA"].tolist()
        return
    command = ["stilts", *shlex.split(words), "ofmt=csv", "out=theirs.csv"]
    subprocess.run(command, check=True, capture_output=True)
    found = Table.read("theirs.csv", format="ascii.csv")
    expected = next(answer for start, answer in _answers().items() if words.startswith(start))
    if "keepcols" in words:
        assert tuple(found.colnames) == expected
    elif words.startswith("tpipe"):
        assert found["NAME"].tolist() == expected.astype("U").tolist()
    else:
        ours = [-1 if value is None else value for value in expected]
        assert sorted(np.ma.filled(found["ID"], -1).tolist()) == sorted(ours)


def test_every_row_of_these_programs_is_tested() -> None:
    assert len(ROWS) == 6 + 6 + 6 + 3 + 3
