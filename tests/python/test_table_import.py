"""Parquet, Arrow and CSV files become FITS tables, batch by batch as well as whole."""

from __future__ import annotations

import datetime
import decimal
import errno
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from astropy.table import Table
from hypothesis import given, settings
from hypothesis import strategies as st

import tachyfits as tf
from tachyfits.cli import run
from tachyfits.interop import table_files


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write_arrow(path: str, table: pa.Table) -> None:
    with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


WRITE = {"parquet": lambda path, table: pq.write_table(table, path), "arrow": write_arrow}

#: Parquet has no times of whole seconds: what it has is compared.
READ = {"parquet": pq.read_table, "arrow": lambda path: pa.ipc.open_file(path).read_all()}


def several(rows: int) -> pa.Table:
    """Return a table of every kind of column, with undefined cells, text and lists that grow."""
    every = range(rows)

    def some(make: Any) -> list[Any]:
        return [None if row % 5 == 3 else make(row) for row in every]

    day = datetime.date(2020, 1, 1)
    return pa.table(
        {
            "I1": pa.array(some(lambda row: row % 100 - 50), pa.int8()),
            "U1": pa.array(some(lambda row: row % 256), pa.uint8()),
            "I2": pa.array(some(lambda row: row - 32768), pa.int16()),
            "U8": pa.array(some(lambda row: 2**64 - 1 - row), pa.uint64()),
            "I8": pa.array(some(lambda row: -row), pa.int64()),
            "FULL": pa.array(every, pa.int32()),
            "F4": pa.array(some(lambda row: row / 3), pa.float32()),
            "OK": pa.array(some(lambda row: row % 2 == 0), pa.bool_()),
            "NAME": pa.array(some(lambda row: "n" * row)),
            "RAW": pa.array(some(lambda row: b"r" * (row % 7)), pa.binary()),
            "CLASS": pa.array(some(lambda row: "ab"[row % 2])).dictionary_encode(),
            "NOTHING": pa.array([None] * rows, pa.string()),
            "DAY": pa.array(some(lambda row: day + datetime.timedelta(days=row))),
            "TIME": pa.array(some(lambda row: datetime.time(1, 2, row % 60)), pa.time32("s")),
            "PRICE": pa.array(some(lambda row: decimal.Decimal(row) / 4), pa.decimal128(9, 2)),
            "HITS": pa.array(some(lambda row: [row] * (row % 4)), pa.list_(pa.int16())),
            "PAIR": pa.array([[row, -row] for row in every], pa.list_(pa.float64(), 2)),
        }
    )


@pytest.mark.parametrize("form", ["parquet", "arrow"])
@pytest.mark.parametrize("rows", [0, 1, 30])
def test_batches_give_the_bytes_of_the_whole(
    form: str, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_files, "BATCH_ROWS", 4)
    WRITE[form](f"table.{form}", several(rows))
    table = READ[form](f"table.{form}")
    options: dict[str, Any] = {"name": "T", "units": {"F4": "Jy"}, "checksum": True}
    tf.write("whole.fits", table, **options)
    tf.write("batches.fits", f"table.{form}", **options)
    assert Path("batches.fits").read_bytes() == Path("whole.fits").read_bytes()
    made = tf.open("batches.fits")["T"]
    assert len(made) == rows
    if rows == 30:
        # A value that no batch has is undefined, though some of them could have had another.
        assert made["I2"].mask.tolist() == [row % 5 == 3 for row in range(30)]
        assert made["NAME"].tolist()[28:] == ["", "n" * 29]
        assert made["TIME"][7].startswith("01:02:07")
        assert made["HITS"][2].tolist() == [2, 2]


WHOLE = pa.decimal128(38, 0)


@pytest.mark.parametrize(
    ("kind", "cells", "expected"),
    [
        (WHOLE, [2**53 + 1, None, -(2**63)], np.int64),
        (WHOLE, [2**63 + 1, 7], np.uint64),
        (pa.decimal128(20, -2), [100 * (2**53 + 1)], np.int64),
        (pa.decimal256(60, 0), [2**53 + 1], np.int64),
        (pa.decimal128(38, 0), [10**22, None], np.float64),
        (pa.decimal128(38, 18), ["0.1", "-123456.789", None], np.float64),
        (pa.decimal128(15, 10), ["12345.6789012345"], np.float64),
    ],
)
def test_decimals_keep_all_digits(kind: Any, cells: list[Any], expected: type) -> None:
    numbers = [None if cell is None else decimal.Decimal(cell) for cell in cells]
    tf.write("d.fits", pa.table({"D": pa.array(numbers, kind)}))
    found = tf.open("d.fits")[1]["D"]
    assert found.dtype == expected
    texts = [None if np.ma.is_masked(v) or v != v else str(v) for v in found]
    assert [text and decimal.Decimal(text) for text in texts] == numbers


@pytest.mark.parametrize(
    ("kind", "cell"),
    [(WHOLE, 2**64 + 1), (pa.decimal128(38, 2), "12345678901234567.89")],
)
def test_decimals_with_more_digits_than_any_type_are_refused(kind: Any, cell: Any) -> None:
    table = pa.table({"D": pa.array([decimal.Decimal(cell)], kind)})
    with pytest.raises(tf.UsageError, match=r"column 'D' has decimals of .* with more digits"):
        tf.write("d.fits", table)
    assert not Path("d.fits").exists()


def test_decimals_of_a_file_are_written_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_files, "BATCH_ROWS", 2)
    numbers = [decimal.Decimal(cell) for cell in (1, 2, 2**53 + 1)]
    pq.write_table(pa.table({"D": pa.array(numbers, WHOLE)}), "d.parquet")
    tf.write("d.fits", "d.parquet")
    assert tf.open("d.fits")[1]["D"].tolist() == numbers
    numbers[2] = decimal.Decimal(2**63)
    pq.write_table(pa.table({"D": pa.array(numbers, WHOLE)}), "d.parquet")
    with pytest.raises(tf.UsageError, match="column 'D' has values of uint64 after the first"):
        tf.write("d.fits", "d.parquet", overwrite=True)


@settings(max_examples=30, deadline=None)
@given(
    cells=st.lists(st.none() | st.integers(-128, 127), max_size=300),
    batch_rows=st.integers(1, 50),
)
def test_any_integers_in_any_batches(cells: list[int | None], batch_rows: int) -> None:
    table = pa.table({"N": pa.array(cells, pa.int8()), "M": pa.array(cells, pa.int64())})
    pq.write_table(table, "any.parquet")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_files, "BATCH_ROWS", batch_rows)
        try:
            tf.write("any.fits", "any.parquet", overwrite=True)
        except tf.UsageError as error:
            assert "free to mean undefined" in str(error) or "neither can" in str(error)  # noqa: PT017
            assert set(range(-128, 128)) <= set(cells)
            return
    tf.write("whole.fits", table, overwrite=True)
    assert Path("any.fits").read_bytes() == Path("whole.fits").read_bytes()


def test_integers_with_no_value_for_undefined_are_refused() -> None:
    ends = np.iinfo(np.int64)
    great = range(int(ends.max) - 15, int(ends.max) + 1)
    table = pa.table({"N": pa.array([int(ends.min), None, *great], pa.int64())})
    pq.write_table(table, "full.parquet")
    with pytest.raises(tf.UsageError, match="nulls="):
        tf.write("full.fits", "full.parquet")
    assert not Path("full.fits").exists()
    tf.write("full.fits", "full.parquet", nulls={"N": 7})
    assert tf.open("full.fits")[1]["N"].tolist() == [int(ends.min), None, *great]


def test_a_fits_table_comes_back_from_parquet() -> None:
    stars = {"NAME": ["alpha", "b"], "MAG": [1.5, None], "N": [3, None], "Z": [1 + 2j, 0j]}
    tf.write("stars.fits", stars, units={"MAG": "mag"}, descriptions={"N": "how many"})
    tf.open("stars.fits")[1].write("stars.parquet")
    tf.write("back.fits", "stars.parquet")
    first, back = tf.open("stars.fits")[1], tf.open("back.fits")[1]
    for name in stars:
        assert back.column(name).unit == first.column(name).unit
        assert back.column(name).description == first.column(name).description
        np.testing.assert_array_equal(back[name], first[name])


CSV = "NAME,MAG,N,AT,OK\nalpha,1.5,3,2020-01-02,true\nbeta,,,,false\n"


def test_csv_becomes_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    Path("stars.csv").write_text(CSV)
    assert run(["table", "stars.csv", "-o", "stars.fits"]) == 0
    assert "stars.fits: 2 rows, 5 columns" in capsys.readouterr().err
    table = tf.open("stars.fits")[1]
    assert [column.form for column in table.columns] == ["5A", "1D", "1K", "10A", "1L"]
    assert table["N"].tolist() == [3, None]
    assert table["OK"].tolist() == [True, False]
    assert run(["table", "stars.csv", "-o", "part.fits", "--columns", "N, NAME", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["columns"] == ["N", "NAME"]
    tf.write("text.fits", "stars.csv", kind="ascii", columns=["NAME", "N"])
    assert tf.open("text.fits")[1]["N"].tolist() == [3, None]


@pytest.mark.parametrize(
    ("cells", "found"),
    [
        (["18446744073709551615", "1"], [2**64 - 1, 1]),
        (["18446744073709551615", ""], [2**64 - 1, None]),
        (["+5", ""], [5, None]),
        (["+5", "-7"], [5, -7]),
        (["1e300", "1"], [1e300, 1.0]),
        (["5.0", "+6"], [5.0, 6.0]),
        (["9007199254740994", "1.5"], [2.0**53 + 2, 1.5]),
    ],
)
def test_integers_of_csv_stay_integers(cells: list[str], found: list[Any]) -> None:
    Path("big.csv").write_text("\n".join(["N,X", *(f"{cell},7" for cell in cells)]))
    tf.write("big.fits", "big.csv")
    column = tf.open("big.fits")[1]["N"]
    assert column.tolist() == found
    assert (column.dtype.kind == "f") == isinstance(found[0], float)


def test_names_in_csv_are_without_blanks_and_quotes() -> None:
    Path("named.csv").write_text('A , "B", C\n1,2,3\n')
    tf.write("named.fits", "named.csv")
    assert [column.name for column in tf.open("named.fits")[1].columns] == ["A", "B", "C"]
    assert Table.read("named.csv", format="csv").colnames == ["A", "B", "C"]


def test_quotes_within_names_stay() -> None:
    names = ['disk 6"', '"', '"B"', "C"]
    tf.write("quoted.fits", {name: [1] for name in names})
    tf.open("quoted.fits")[1].write("quoted.csv")
    tf.write("again.fits", "quoted.csv")
    assert list(tf.open("again.fits")[1].names) == names


def test_invalid_csv_files_are_named() -> None:
    Path("odd.csv").write_text("# made by hand\nA,B\n1,2\n")
    with pytest.raises(tf.UsageError, match=r"odd.csv: .*\nhint: .*no comments"):
        tf.write("odd.fits", "odd.csv")
    Path("odd.csv").write_text("A;B\n1;2\n")
    with pytest.warns(tf.TachyfitsWarning, match=r"odd.csv: one column, 'A;B'\nhint: .*commas"):
        tf.write("odd.fits", "odd.csv")


def test_csv_names_in_another_encoding_are_reported(capsys: pytest.CaptureFixture[str]) -> None:
    Path("odd.csv").write_bytes("NAME,GRÖSSE\n1,2\n".encode("latin-1"))
    assert run(["table", "odd.csv"]) == 2
    assert "odd.csv: the first line is not UTF-8" in capsys.readouterr().err


def test_integers_of_csv_that_no_type_holds_are_floats_with_a_warning() -> None:
    Path("big.csv").write_text("N\n-1\n9223372036854775808\n")
    with pytest.warns(tf.TachyfitsWarning, match=r"'N'.*float64"):
        tf.write("big.fits", "big.csv")
    assert tf.open("big.fits")[1]["N"].tolist() == [-1, 2.0**63]


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["stars.csv", "--where", "B > 1"], 2, "one of the columns NAME, MAG"),
        (["stars.csv", "--columns", "B"], 2, "stars.csv: no column is named 'B'"),
        (["stars.csv", "--rows", "4:9"], 2, "stars.csv has the rows 1 to 2; found 4"),
        (["stars.csv", "--rows", "0"], 2, "stars.csv has the rows 1 to 2; found 0"),
        (["stars.csv", "--rows", "9" * 20], 2, "stars.csv has the rows 1 to 2"),
        (["stars.csv", "--rows", f"1:{'9' * 20}", "--json"], 2, "stars.csv has the rows 1 to 2"),
        (["stars.csv", "--rows", "9" * 5000], 2, "invalid range"),
        (["stars.csv", "--columns", "²"], 2, "stars.csv: no column is named '²'"),
        (["stars.csv", "--columns", "NAME", "--where", "B > 1"], 2, "columns NAME, MAG, N, AT, OK"),
        (["stars.csv", "--list", "--head", "2"], 2, "--list shows columns"),
        (["none.parquet"], 1, "no such file"),
        (["stars.csv", "-o", "out.fits", "--hdu", "1"], 2, "leave out --hdu"),
        (["stars.csv", "-o", "out.fits", "--columns", "B"], 2, "the columns are NAME, MAG"),
        (["none.csv", "-o", "out.fits"], 1, "no such file"),
        (["uneven.csv", "-o", "out.fits"], 2, "uneven.csv"),
        (["short.parquet", "-o", "out.fits"], 2, "short.parquet"),
        (["short.arrow", "-o", "out.fits"], 2, "short.arrow"),
    ],
)
def test_unusable_files_and_columns_are_named(
    words: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("stars.csv").write_text(CSV)
    Path("uneven.csv").write_text("A,B\n1,2\n3\n")
    Path("short.parquet").write_bytes(b"PAR1 and no more")
    Path("short.arrow").write_bytes(b"ARROW1 and no more")
    assert run(["table", *words]) == status
    assert said in capsys.readouterr().err
    assert not Path("out.fits").exists()


def test_growing_lists_of_strings_get_a_free_separator(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(table_files, "BATCH_ROWS", 2)
    lists = [["a"], [], ["b|c", "d"], None, ["e;f", "long", "longer"]]
    pq.write_table(pa.table({"L": lists}), "lists.parquet")
    tf.write("lists.fits", "lists.parquet")
    table = tf.open("lists.fits")[1]
    assert (table.header["TFORM1"], table.header["TSSTR1"]) == ("16A", "SSTR6/044")
    assert table["L"].to_list() == [cell or [] for cell in lists]


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv"])
def test_files_of_other_formats_are_shown_and_filtered(
    form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    table = pa.table({"NAME": ["a", "b", "c"] * 20, "N": pa.array([*range(59), None], pa.int64())})
    name = f"table.{form}"
    (WRITE | {"csv": lambda path, table: pa_csv.write_csv(table, path)})[form](name, table)

    def said(*words: str) -> tuple[str, str]:
        assert run(["table", name, *words]) == 0
        return tuple(capsys.readouterr())  # type: ignore[return-value]

    shown, of = said()
    assert len(shown.splitlines()) == 21
    assert of == "20 of 60 rows; --head or --rows shows more\n"
    assert said("--head", "2", "--columns", "n,1")[0].split() == ["N", "NAME", "0", "a", "1", "b"]
    assert said("--rows", "59:")[0].split() == ["NAME", "N", "b", "58", "c", "--"]
    found, of = said("--where", "N > 56 && NAME == 'b'")
    assert (found.split(), of) == (["NAME", "N", "b", "58"], "1 of 60 rows\n")
    assert said("--where", "N > 3")[1] == (
        "20 of 55 rows that fit, of 60; --head or --rows shows more\n"
    )
    answer = json.loads(said("--json", "--head", "1")[0])
    assert (answer["file"], answer["rows"], answer["data"]["N"]) == (name, 60, [0])
    assert "60 rows" in said("--list")[0]
    assert said("-o", "-", "--rows", "59:60")[0] == "NAME,N\nb,58\nc,\n"
    said("--where", "isnull(N)", "-o", "one.parquet")
    assert pq.read_table("one.parquet").to_pylist() == [{"NAME": "c", "N": None}]
    said("--head", "2", "-o", "two.fits")
    assert tf.open("two.fits")[1]["N"].tolist() == [0, 1]


def test_the_first_rows_are_all_that_is_taken_of_a_file_where_they_are_enough(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(table_files, "BATCH_ROWS", 10)
    pq.write_table(several(100), "table.parquet")
    taken = []
    batches = table_files.TableFile.batches

    def counted(self: Any, columns: Any) -> Any:
        for batch in batches(self, columns):
            taken.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(table_files.TableFile, "batches", counted)
    for more in ([], ["--json"], ["-o", "-"]):
        assert run(["table", "table.parquet", "--head", "15", *more]) == 0
        assert taken == [10, 5, 10, 5]
        taken.clear()


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv"])
def test_some_rows_alone_are_taken_of_a_file(
    form: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(table_files, "BATCH_ROWS", 10)
    table = pa.table({"N": range(100), "T": ["x" * (n // 30) for n in range(100)]})
    ways = {
        "parquet": lambda path: pq.write_table(table, path, row_group_size=30),
        "arrow": lambda path: write_arrow(path, table),
        "csv": lambda path: pa_csv.write_csv(table, path),
    }
    ways[form](f"t.{form}")
    taken = []
    batches = table_files.TableFile.batches

    def counted(self: Any, columns: Any) -> Any:
        for batch in batches(self, columns):
            taken.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(table_files.TableFile, "batches", counted)

    def said(*words: str) -> dict[str, Any]:
        taken.clear()
        assert run(["table", f"t.{form}", "--json", *words]) == 0
        return json.loads(capsys.readouterr().out)  # type: ignore[no-any-return]

    for words, first, last in (
        (["--rows", "26:34"], 25, 34),
        (["--rows", "26:", "--head", "7"], 25, 32),
        (["--rows", "100"], 99, 100),
        (["--rows", "61:90"], 60, 90),
        (["--head", "0"], 0, 0),
        (["--rows", "1:100"], 0, 100),
    ):
        answer = said(*words)
        assert answer["data"]["N"] == [*range(first, last)]
        assert (answer["rows"], answer["hdu"]) == (100, None)
        assert sum(taken) == 2 * (last - first)
    assert said("--rows", "26:", "--head", "7")["rows_chosen"] == 75
    # The types of the columns do not depend on the rows shown.
    kinds = [{"name": "N", "unit": None, "form": None, "type": "int64"}]
    kinds.append({"name": "T", "unit": None, "form": None, "type": "string"})
    assert said("--head", "2")["columns"] == said("--where", "N > 97")["columns"] == kinds
    assert said("--head", "2", "--columns", "T,T")["columns"] == kinds[1:]


@pytest.mark.parametrize(
    "names", [["A", "a", "", "A_2", ""], ["A", "A", "A_2", "a_2_2"], ["col2", "", "COL1"], [" A "]]
)
def test_columns_of_other_files_are_called_as_in_fits(
    names: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    table = pa.table([pa.array([n]) for n in range(len(names))], names=names)
    pq.write_table(table, "t.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tf.write("t.fits", "t.parquet")
        expected = list(tf.open("t.fits")[1].names)
    source = table_files.open_table_file("t.parquet")
    assert source.keys == expected
    assert [source.place(key) for key in expected] == [*range(len(names))]
    for place, key in enumerate(expected):
        assert run(["table", "t.parquet", "--columns", key]) == 0
        assert capsys.readouterr().out.split("\n")[1].strip() == str(place)


@pytest.mark.parametrize("name", ["t.parquet", "t.fits"])
def test_names_with_commas_are_names(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    table = pa.table({"x,y": [1], "A": [2], "a, b, c": [3], "x": [4]})
    pq.write_table(table, "t.parquet")
    tf.write("t.fits", "t.parquet")
    for text, found in (
        ("a, b, c,A", ["3", "2"]),
        ("A,x,y,4", ["2", "1", "4"]),
        ("4,x,A,y", None),
        ("A,a, b, c", ["2", "3"]),
    ):
        code = run(["table", name, "--columns", text])
        out, err = capsys.readouterr()
        if found is None:
            assert (code, "no column is named 'y'" in err) == (2, True)
        else:
            assert (code, out.split("\n")[1].split()) == (0, found)


def test_progress_rises_over_both_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_files, "BATCH_ROWS", 10)
    pq.write_table(several(30), "table.parquet")
    told: list[tuple[int, int]] = []
    tf.write("out.fits", "table.parquet", progress=lambda *now: told.append(now))
    assert told == [(done, 60) for done in range(10, 61, 10)]
    with pytest.raises(tf.IoError, match="cancelled") as caught:
        tf.write("no.fits", "table.parquet", progress=lambda done, _: done < 50)
    assert caught.value.code == "io-cancelled"
    assert not Path("no.fits").exists()


def test_a_file_without_columns_is_a_table_without_columns() -> None:
    pq.write_table(pa.table({}), "none.parquet")
    tf.write("none.fits", "none.parquet")
    assert tf.open("none.fits")[1].names == ()


def test_errors_have_their_codes() -> None:
    with pytest.raises(tf.IoError) as caught:
        tf.write("out.fits", "none.csv")
    assert caught.value.code == "io-not-found"
    assert caught.value.filename == "none.csv"
    assert caught.value.errno == errno.ENOENT


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_errors_name_the_file_and_the_row_in_it(form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_files, "BATCH_ROWS", 2)
    texts = ["a", "b", "c", "d", "\xe4"]
    WRITE[form](f"odd.{form}", pa.table({"T": texts}))
    with pytest.raises(tf.UsageError, match=rf"^odd.{form}: column 'T', row 4 \(0-based\): '\xe4'"):
        tf.write("no.fits", f"odd.{form}")
    WRITE[form](f"odd.{form}", pa.table({"T": [{"A": 1}]}))
    with pytest.raises(
        tf.UsageError, match=rf"^odd.{form}: column 'T': FITS has no type for Arrow's struct"
    ):
        tf.write("no.fits", f"odd.{form}")


def test_quoted_text_of_a_file_is_printable() -> None:
    Path("odd.csv").write_bytes(b"A\n1,\x1b[31m\x07\n")
    with pytest.raises(tf.UsageError, match=r"got 2: 1,\?\[31m\?"):
        tf.write("no.fits", "odd.csv")


def test_duplicate_columns_give_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("pyarrow", reason="LEFT OUT: pyarrow is not installed")
    monkeypatch.chdir(tmp_path)
    Path("stars.csv").write_text("N,n\n1,2\n")
    assert run(["table", "stars.csv", "-o", "stars.fits"]) == 0
    said = capsys.readouterr().err
    assert said.startswith("warning: column 2 (from 1)")
    assert said.count("warning") == 1


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv"])
def test_columns_of_one_name_are_selected_by_position(
    form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    name = f"twice.{form}"
    big = 2**64 - 1
    columns = [pa.array([1, 2]), pa.array([3, 4]), pa.array([big, 6], pa.uint64())]
    table = pa.table(columns, names=["A", "B", "A"])
    if form == "csv":
        Path(name).write_text(f"A,B,A\n1,3,{big}\n2,4,6\n")
    else:
        WRITE[form](name, table)
    with pytest.warns(tf.TachyfitsWarning, match=r"column 3 \(from 1\).*'A' beside 'A'"):
        tf.write("twice.fits", name)
    made = tf.open("twice.fits")[1]
    assert [made[place].tolist() for place in range(3)] == [[1, 2], [3, 4], [big, 6]]
    tf.write("one.fits", name, columns=["A"])
    assert tf.open("one.fits")[1]["A"].tolist() == [1, 2]

    def said(*words: str) -> list[str]:
        assert run(["table", name, *words]) == 0
        out, err = capsys.readouterr()
        assert err.count("beside 'A'") <= 1
        return out.split()

    assert said() == ["A", "B", "A_3", "1", "3", str(big), "2", "4", "6"]
    assert said("--columns", "a_3,B", "--head", "1") == ["A_3", "B", str(big), "3"]
    assert said("--list")[10:].count("A_3") == 1
    assert said("--columns", "3,B", "--where", "A < 2") == ["A_3", "B", str(big), "3"]
    said("--columns", "3", "-o", "third.fits")
    assert tf.open("third.fits")[1]["A"].tolist() == [big, 6]


def test_columns_are_named_alike_for_every_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    structs = pa.array([{"x": 1}] * 3)
    names = ["a", "S", "B", "odd name"]
    columns = [pa.array([1, 2, 3]), structs, pa.array([4, 5, 6]), pa.array(["u", "v", "a"])]
    about = {"odd name": {"unit": "Jy", "description": "flux"}, "S": {b"odd": b"\xff"}}
    fields = [
        pa.field(name, column.type, metadata=about.get(name))
        for name, column in zip(names, columns, strict=True)
    ]
    pq.write_table(pa.table(columns, schema=pa.schema(fields)), "t.parquet")
    taken: list[list[str]] = []
    empty = table_files.TableFile.empty

    def noted(self: Any, places: Any) -> Any:
        taken.append([self.schema.names[place] for place in places])
        return empty(self, places)

    monkeypatch.setattr(table_files.TableFile, "empty", noted)

    def said(*words: str) -> list[str]:
        assert run(["table", "t.parquet", *words]) == 0, capsys.readouterr().err
        return capsys.readouterr().out.split()

    for text in ("b,A", "3,1", " B , 1"):
        assert said("--columns", text, "--head", "1") == ["B", "a", "4", "1"]
        for more in ([], ["--rows", "1:3"]):
            said("--columns", text, *more, "-o", "q.fits", "--overwrite")
            made = tf.open("q.fits")[1]
            assert (made.names, made["B"].tolist()) == (("B", "a"), [4, 5, 6])
        assert said("--columns", text, "-o", "-") == ["B,a", "4,1", "5,2", "6,3"]
    assert all(names == ["B", "a"] for names in taken)
    taken.clear()
    assert said("--columns", "B", "--where", "`odd name` == 'a' && isnan(A) == 0 && row > 1") == [
        "B",
        "6",
    ]
    assert taken == [["B", "a", "odd name"]]
    # A struct cannot be a FITS column: the error comes when it is read.
    assert run(["table", "t.parquet", "--columns", "S"]) == 2
    assert "'S'" in capsys.readouterr().err
    taken.clear()
    listed = said("--list")
    assert listed[:4] == ["t.parquet:", "3", "rows", "column"]
    assert "struct<x:" in listed
    assert listed[-5:] == ["odd", "name", "string", "Jy", "flux"]
    assert run(["table", "t.parquet", "--list", "--columns", "b", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    column = {"column": 3, "name": "B", "type": "int64", "unit": "", "description": ""}
    assert answer == {"file": "t.parquet", "rows": 3, "columns": [column]}
    assert taken == []


def test_selecting_rows_of_an_empty_table_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    Path("none.csv").write_text("A,B\n")
    tf.write("none.fits", {"A": []})
    for name, place in (("none.csv", ""), ("none.fits", ": HDU 1 (0-based)")):
        assert run(["table", name, "--rows", "1"]) == 2
        assert f"{name}{place} has no rows; found 1" in capsys.readouterr().err
