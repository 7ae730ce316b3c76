"""Text outside ASCII has one meaning: for reading, conditions, CSV, Arrow and copies."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tachyfits as tf
from fitsbytes import empty_primary, header, pad
from tablebytes import Made, big, binary_table

LATIN, UTF = b"M\xfcller", "Müller".encode()

#: Cells of a column, and their text: UTF-8 only if all cells are.
COLUMNS = [
    ([UTF, b"abc", "Δ".encode()], ["Müller", "abc", "Δ"], False),
    ([LATIN, b"abc", b"x"], ["Müller", "abc", "x"], True),
    ([LATIN, UTF, b"abc"], ["Müller", "MÃ¼ller", "abc"], True),
    ([UTF + b"\0\xff", b"abc  ", b"\0\xff"], ["Müller", "abc", ""], False),
]


def _field(cells: list[bytes]) -> Made:
    return Made("N", "9A", [cell.ljust(9, b"\0") for cell in cells], None)


def _heap(cells: list[bytes]) -> Made:
    starts = np.cumsum([0, *map(len, cells)])
    places = [big(np.array([len(c), at], "i4")) for c, at in zip(cells, starts, strict=False)]
    return Made("N", "PA(9)", places, None, heap=b"".join(cells))


def _open(path: Path, column: Made) -> Any:
    path.write_bytes(
        binary_table([column, Made("I", "J", [big(np.int32(n)) for n in range(3)], 0)])
    )
    return tf.open(path)[1]


@pytest.mark.parametrize("made", [_field, _heap])
@pytest.mark.parametrize(("cells", "texts", "is_latin_1"), COLUMNS)
def test_every_way_of_reading_gives_the_same_text(
    tmp_path: Path, made: Any, cells: list[bytes], texts: list[str], is_latin_1: bool
) -> None:
    table = _open(tmp_path / "t.fits", made(cells))
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        assert table["N"].tolist() == texts
        parts = [table.read("N", rows=[row])["N"][0] for row in range(3)]
        assert parts == texts
        assert [text for each in table.batches("N", rows=2) for text in each["N"]] == texts
        assert table.read(["N"], where="I >= 0")["N"].tolist() == texts
        assert table.read(["N"], where="I >= 1")["N"].tolist() == texts[1:]
        assert table.to_arrow()["N"].to_pylist() == texts
        assert table.arrow_reader(rows=2).read_all()["N"].to_pylist() == texts
        assert table.to_pandas()["N"].tolist() == texts
        assert table.to_polars()["N"].to_list() == texts
        assert table.to_astropy()["N"].tolist() == texts
        table.write(tmp_path / "t.csv", batch_rows=1)
        table.write(tmp_path / "t.parquet", batch_rows=1)
    lines = (tmp_path / "t.csv").read_text(encoding="utf-8").splitlines()[1:]
    assert [line.rpartition(",")[0] for line in lines] == texts
    import pyarrow.parquet

    assert pyarrow.parquet.read_table(tmp_path / "t.parquet")["N"].to_pylist() == texts
    told = [str(each.message) for each in seen if "Latin-1" in str(each.message)]
    assert len(told) == is_latin_1
    assert all("column 'N'" in each for each in told)


@pytest.mark.parametrize(("cells", "texts", "is_latin_1"), COLUMNS)
def test_conditions_find_the_text_that_reading_gives(
    tmp_path: Path, cells: list[bytes], texts: list[str], is_latin_1: bool
) -> None:
    table = _open(tmp_path / "t.fits", _field(cells))
    for row, text in enumerate(texts):
        same = [n for n, each in enumerate(texts) if each == text]
        assert table.where(f"N == '{text}'").tolist() == same, text
        assert table.where(f"N != '{text}'").tolist() == sorted({0, 1, 2} - set(same))
        later = [n for n, each in enumerate(texts) if each > text]
        assert table.where(f"N > '{text}'").tolist() == later, text
        assert row in table.where(f"N in ('{text}', 'none')").tolist()


def test_columns_of_two_encodings_compare_as_text(tmp_path: Path) -> None:
    columns = [
        Made("A", "8A", [LATIN.ljust(8, b"\0"), b"b".ljust(8)], None),
        Made("B", "8A", [UTF.ljust(8, b"\0"), b"a".ljust(8)], None),
    ]
    path = tmp_path / "two.fits"
    path.write_bytes(binary_table(columns))
    table = tf.open(path)[1]
    assert table.where("A == B").tolist() == [0]
    assert table.where("A > B").tolist() == [1]


def test_several_strings_in_a_cell_are_decoded_each(tmp_path: Path) -> None:
    cells = ["Müaäb".encode().ljust(9, b"\0"), b"abcdefghi", b"a\0\xffb  \0"]
    several = [
        (Made("N", "9A", [c.ljust(9) for c in cells], None, cards={"TDIM": "(3,3)"}), (3,)),
        (Made("N", "9A3", [c.ljust(9) for c in cells], None), (3,)),
    ]
    for made, shape in several:
        table = _open(tmp_path / "t.fits", made)
        values = table["N"]
        assert values.shape == (3, *shape)
        assert values[0].tolist() == ["Mü", "aä", "b"]
    divided = Made("N", "9A:SSTR4/044", ["Mü,ä".encode().ljust(9), b"a,b".ljust(9), b" " * 9], None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = _open(tmp_path / "d.fits", divided)
        assert table["N"].to_list()[:2] == [["Mü", "ä"], ["a", "b"]]
        assert table.to_arrow()["N"].to_pylist()[:2] == [["Mü", "ä"], ["a", "b"]]


def test_text_of_ascii_tables_is_decoded_too(tmp_path: Path) -> None:
    rows = [UTF.ljust(8), b"abc     "]
    cards = [
        ("XTENSION", "TABLE"), ("BITPIX", 8), ("NAXIS", 2), ("NAXIS1", 8), ("NAXIS2", 2),
        ("PCOUNT", 0), ("GCOUNT", 1), ("TFIELDS", 1), ("TTYPE1", "N"), ("TBCOL1", 1),
        ("TFORM1", "A8"),
    ]  # fmt: skip
    path = tmp_path / "a.fits"
    path.write_bytes(empty_primary() + header(cards) + pad(b"".join(rows), b" "))
    table = tf.open(path)[1]
    assert table["N"].tolist() == ["Müller", "abc"]
    assert table.where("N == 'Müller'").tolist() == [0]


def test_stored_values_stay_bytes(tmp_path: Path) -> None:
    table = _open(tmp_path / "t.fits", _field([LATIN, UTF, b"a"]))
    raw = table.read("N", raw=True)
    assert raw["N"].tolist() == [LATIN, UTF, b"a"]
    # Bytes that say no encoding have the one that all of them are in.
    assert raw.to_arrow()["N"].to_pylist() == ["Müller", "MÃ¼ller", "a"]
    utf = _open(tmp_path / "u.fits", _field([UTF, b"b", b"a"])).read("N", raw=True)
    assert utf.to_pandas()["N"].tolist() == ["Müller", "b", "a"]


def test_a_late_cell_decides_for_the_first(tmp_path: Path) -> None:
    count = 20_000
    cells = [UTF.ljust(9, b"\0")] * (count - 1) + [LATIN.ljust(9, b"\0")]
    path = tmp_path / "long.fits"
    path.write_bytes(binary_table([Made("N", "9A", cells, None)]))
    table = tf.open(path)[1]
    with pytest.warns(tf.TachyfitsWarning, match="not UTF-8"):
        assert table.read("N", rows=[0])["N"][0] == "MÃ¼ller"
    assert len(table.where("N == 'MÃ¼ller'")) == count - 1


def test_differences_show_text_as_reading_does(tmp_path: Path) -> None:
    _open(tmp_path / "a.fits", _field([UTF, b"b", b"a"]))
    _open(tmp_path / "b.fits", _field([b"x", b"b", b"a"]))
    assert "Müller" in str(tf.diff(tmp_path / "a.fits", tmp_path / "b.fits"))


def test_csv_of_columns_is_utf8(tmp_path: Path) -> None:
    from tachyfits.table.columns import Columns
    from tachyfits.writing.export import csv_rows

    values = Columns({"A": np.array(["Δ", "b"]), "B": np.array([UTF, LATIN])})
    text = io.BytesIO(b"".join(csv_rows(values))).read().decode()
    assert text == "Δ,Müller\nb,Müller\n"


PIECES = st.sampled_from([b"a", b"b ", b"\xfc", "ü".encode(), "Δ".encode(), b"\0", b" ", b"\xce"])


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    cells=st.lists(st.lists(PIECES, max_size=4).map(b"".join), min_size=1, max_size=6),
    comparison=st.sampled_from(["==", "!=", "<", "<=", ">", ">="]),
    in_heap=st.booleans(),
)
@pytest.mark.filterwarnings("ignore::tachyfits.TachyfitsWarning")
def test_any_text_is_compared_as_it_is_read(
    tmp_path: Path, cells: list[bytes], comparison: str, in_heap: bool
) -> None:
    cells = [cell[:9] for cell in cells]
    path = tmp_path / "t.fits"
    path.write_bytes(binary_table([_heap(cells) if in_heap else _field(cells)]))
    table = tf.open(path)[1]
    texts = table["N"].tolist()
    bare = [cell.partition(b"\0")[0].rstrip(b" ") for cell in cells]
    try:
        right = [cell.decode() for cell in bare]
    except UnicodeDecodeError:
        right = [cell.decode("latin-1") for cell in bare]
    assert texts == right
    assert table.to_arrow()["N"].to_pylist() == right
    assert table.read("N", rows=[len(cells) - 1])["N"].tolist() == right[-1:]
    if in_heap:
        return
    compare = {
        "==": str.__eq__, "!=": str.__ne__, "<": str.__lt__, "<=": str.__le__, ">": str.__gt__,
        ">=": str.__ge__,
    }[comparison]  # fmt: skip
    for text in right:
        rows = [row for row, each in enumerate(right) if compare(each, text)]
        assert table.where(f"N {comparison} '{text}'").tolist() == rows
