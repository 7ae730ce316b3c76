"""The benchmark of tables: inputs have exact answers, a wrong value or row is caught.

The makers' fingerprints are computed here again: by astropy from the file, and in fractions.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from bench import BenchError, data, makers, tables  # noqa: E402
from bench.table_outputs import described  # noqa: E402

pytestmark = pytest.mark.once

TABLES = ("table-mixed", "table-scaled", "speed-binary", "speed-ascii", "speed-ascii-zeros")


def made(tmp_path: Path, name: str, **changes: Any) -> tuple[Path, dict[str, Any], dict[str, Any]]:
    """Make a small one of the benchmark's own inputs: its path, recipe and answers."""
    recipe = data.load(tmp_path, size="small")[name].recipe | changes
    path = tmp_path / f"{name}.fits"
    return path, recipe, makers.MAKERS[recipe["maker"]](path, recipe)


def values_of(path: Path, name: str) -> Any:
    """Read a column by astropy, TNULL left as it is; text as integers."""
    with fits.open(path, memmap=False) as hdus:
        return np.array(hdus[1].data[name])


def plain_fingerprint(values: Any) -> int:
    """Work a fingerprint out value by value."""
    floats = values.dtype.kind == "f"
    total = 0
    for number, value in enumerate(values.tolist()):
        if floats:
            value = np.nan if np.isnan(value) else value
            bits = int(np.float64(value).view("u8"))
        else:
            bits = value % 2**64
        total += bits * (2 * number + 1)
    return total % 2**64


@pytest.mark.parametrize("name", TABLES)
def test_the_answers_are_those_of_the_values_in_the_file(tmp_path: Path, name: str) -> None:
    path, recipe, answers = made(tmp_path, name, rows=1501)
    with fits.open(path) as hdus:
        hdus.verify("exception")
    for column in tables.columns(recipe):
        values = values_of(path, column.name)
        assert answers["all"][column.name] == plain_fingerprint(values)
        there = values[~np.isnan(values)] if values.dtype.kind == "f" else values
        if column.null is not None:
            there = there[there != column.null]
            assert answers["nulls"][column.name] == values.size - there.size > 0
        if column.nan:
            assert there.size < values.size
        exact = sum(Fraction(value) for value in there.tolist())
        found = answers["sums"][column.name]
        assert found == (exact if isinstance(found, int) else float(exact))


def test_the_whole_of_a_table_is_in_its_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _, whole = made(tmp_path, "table-mixed", rows=6000)
    before = path.read_bytes()
    monkeypatch.setattr(tables, "ROWS", 1000)
    _, _, parts = made(tmp_path, "table-mixed", rows=6000)
    assert whole == parts
    assert path.read_bytes() == before


def test_the_condition_selects_about_one_row_in_a_hundred(tmp_path: Path) -> None:
    path, recipe, answers = made(tmp_path, "table-mixed", rows=50_000)
    magnitude, class_ = values_of(path, "MAG"), values_of(path, "CLASS")
    (low, limit), (same, value) = recipe["condition"]["below"], recipe["condition"]["equal"]
    assert (low, same) == ("MAG", "CLASS")
    rows = np.flatnonzero((magnitude < limit) & (class_ == value))
    assert answers["selected"] == {"rows": rows.size, "fingerprint": plain_fingerprint(rows)}
    assert 0.007 < rows.size / 50_000 < 0.013


def test_no_value_moves_or_changes_unseen() -> None:
    def fingerprint(values: Any) -> int:
        one = tables.Fingerprint()
        one.add(np.asarray(values))
        return one.value

    right = fingerprint([1, 2, 3, 4])
    assert right == plain_fingerprint(np.array([1, 2, 3, 4]))
    for wrong in ([2, 1, 3, 4], [1, 2, 3, 5], [1, 2, 3], [4, 3, 2, 1]):
        assert fingerprint(wrong) != right
    assert fingerprint([1.0, 2.0, 3.0, 4.0]) != right
    assert fingerprint([0.0]) != fingerprint([-0.0])
    signalling = np.array([0x7FA0_0001, 0xFFC0_0000], "u4").view("f4")
    assert fingerprint(signalling) == fingerprint([np.nan, np.nan])
    parts = tables.Fingerprint()
    for part in ([1], [2, 3], [4]):
        parts.add(np.array(part))
    assert parts.value == right


def test_the_peers_take_the_same_fingerprints(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "bench" / "peers" / "common"))
    import importlib

    shared: Any = importlib.import_module("tables")
    for values in (
        np.array([1.5, -0.0, np.nan, np.inf], "f4"),
        np.array([-5, 4, 2**31 - 1], "i4"),
        np.array([0, 65535], "u2"),
        np.ma.MaskedArray([1, -99, 3], [False, True, False], "i2"),
    ):
        assert shared.fingerprint(values) == plain_fingerprint(np.ma.getdata(values))
    with pytest.raises(TypeError, match=">f8"):
        shared.fingerprint(np.array([1.0], ">f8"))
    assert shared.fingerprint(np.array([1.0], ">f8"), native=False) > 0


@pytest.mark.parametrize("name", ["table-mixed", "speed-ascii"])
def test_expected_output_equals_the_stored_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "bench" / "peers" / "common"))
    import importlib

    path, recipe, _ = made(tmp_path, name, rows=700)
    columns = importlib.import_module("tables").stored_columns(str(path))
    assert list(columns) == [column.name for column in tables.columns(recipe)]
    for column, values in columns.items():
        assert values.dtype.isnative
        assert np.array_equal(values, values_of(path, column), equal_nan=values.dtype.kind == "f")


@pytest.mark.parametrize("name", ["table-mixed", "speed-ascii"])
def test_a_table_that_another_wrote_is_the_same(tmp_path: Path, name: str) -> None:
    path, _, _ = made(tmp_path, name, rows=300)
    with fits.open(path) as hdus:
        hdus.writeto(tmp_path / "written.fits")
    assert described(tmp_path / "written.fits") == described(path)


def test_a_wrong_table_is_caught(tmp_path: Path) -> None:
    path, _, _ = made(tmp_path, "table-mixed", rows=300)
    right, original = described(path), path.read_bytes()
    last = original.rstrip(b"\0")
    changes = {
        "a byte": last[:-1] + bytes([last[-1] ^ 1]) + original[len(last) :],
        "a name": original.replace(b"'MAG     '", b"'GAM     '"),
        "a form": original.replace(b"'1D      '", b"'1K      '", 1),
        "unsigned": original.replace(b"TZERO11 ", b"TZERX11 "),
    }
    for what, changed in changes.items():
        assert changed != original, what
        path.write_bytes(changed)
        assert described(path) != right, what
    path.write_bytes(original[:-2880])
    with pytest.raises(BenchError, match="its headers ask for"):
        described(path)
    text, _, _ = made(tmp_path, "speed-ascii", rows=300)
    right, original = described(text), text.read_bytes()
    digit = len(original.rstrip()) - 1
    text.write_bytes(
        original[:digit]
        + b"%d" % ((int(original[digit : digit + 1]) + 1) % 10)
        + original[digit + 1 :]
    )
    assert described(text) != right


def test_a_table_of_holes_has_the_sums_that_it_says(tmp_path: Path) -> None:
    path, recipe, answers = made(tmp_path, "table-sparse", rows=40_000, blocks=4, block_rows=50)
    for column in tables.columns(recipe):
        values = values_of(path, column.name)
        assert np.count_nonzero(values != values[100]) > 0
        exact = sum(Fraction(value) for value in values.tolist())
        found = answers["sums"][column.name]
        assert found == (exact if isinstance(found, int) else float(exact))


def test_files_of_many_headers_are_right(tmp_path: Path) -> None:
    path, _, answers = made(tmp_path, "hdus-10000", count=25)
    with fits.open(path) as hdus:
        hdus.verify("exception")
        assert (
            answers
            == {"hdus": len(hdus), "last": hdus[-1].header["EXTVER"]}
            == {"hdus": 25, "last": 24}
        )
        assert [hdu.header.get("EXTVER", 0) for hdu in hdus] == list(range(25))
    path, recipe, answers = made(tmp_path, "cards-50000", count=1003)
    with fits.open(path) as hdus:
        hdus.verify("exception")
        header = hdus[0].header
        last = makers.layout(recipe)["keyword"]
        assert answers == {"cards": len(header), "value": header[last]}
        assert answers["cards"] == 1003
