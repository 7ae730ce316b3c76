"""Frames, Arrow and containers of other libraries as tables: all of them is taken, or refused."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tachyfits as tf
from tablebytes import Made, big, binary_table

pa = pytest.importorskip("pyarrow", reason="LEFT OUT: pyarrow is not installed")


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(data: Any, **options: Any) -> tf.Table:
    tf.write("written.fits", data, overwrite=True, **options)
    table = tf.open("written.fits")[1]
    assert isinstance(table, tf.Table)
    return table


def cells(table: tf.Table, name: str) -> Any:
    values = table[name]
    return values.to_list() if isinstance(values, tf.Ragged) else values.tolist()


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_cells_without_an_element_survive_arrow_files(form: str) -> None:
    numbers = np.array([1, 2], "i4")
    shaped = Made("SHAPED", "0J", [b""] * 2, None, cards={"TDIM": "(0,3)"})
    nothing = [Made(name, name, [b""] * 2, None) for name in ("0D", "0X", "0M")]
    made = [Made("N", "1J", [big(number) for number in numbers], numbers), *nothing, shaped]
    table = tf.open(binary_table(made))[1]
    table.write(f"nothing.{form}")
    if form == "parquet":
        assert pytest.importorskip("pyarrow.parquet").read_table("nothing.parquet").num_rows == 2
    back = written(f"nothing.{form}")
    assert back["N"].tolist() == [1, 2]
    for column, kind in (("0D", "f8"), ("0X", "?"), ("0M", "c16"), ("SHAPED", "i4")):
        assert cells(back, column) == [[], []]
        assert back[column].dtype == kind


def test_polars_takes_cells_without_an_element() -> None:
    polars = pytest.importorskip("polars", reason="LEFT OUT: polars is not installed")
    table = tf.open(binary_table([Made("Z", "0D", [b""] * 2, None)]))[1]
    assert polars.DataFrame(table)["Z"].to_list() == [[], []]


def test_complex_arrays_of_different_lengths_survive_arrow() -> None:
    arrays = tf.Ragged.from_cells([[1 + 2j], [], [3j, 4]], "c8")
    table = written({"C": arrays, "N": [1, 2, 3]})
    table.write("complex.parquet")
    for data in (table.to_arrow(), "complex.parquet"):
        back = written(data)
        assert back["C"].dtype == np.complex64
        assert cells(back, "C") == [[1 + 2j], [], [3j, 4]]


def test_lists_of_pairs_other_than_complex_numbers_are_refused() -> None:
    pairs = pa.array([[[1.0, 2.0]], []], pa.list_(pa.list_(pa.float64(), 2)))
    with pytest.raises(tf.UsageError, match="column 'P': lists of lists"):
        written(pa.table({"P": pairs}))


def test_arrow_types_that_say_the_same_in_another_way() -> None:
    pytest.importorskip("pyarrow", "16.0", reason="LEFT OUT: pyarrow has no views")
    numbers = pa.DictionaryArray.from_arrays(pa.array([1, None, 0]), pa.array([2.5, 4.0]))
    text = pa.DictionaryArray.from_arrays(
        pa.array([0, None, 1], pa.uint32()), pa.array(["x", "yz"]).cast(pa.string_view())
    )
    data = {
        "NUMBERS": numbers,
        "TEXT": text,
        "BYTES": pa.array([b"ab", b"cd", None], pa.binary(2)),
        "LISTS": pa.array([[1], None, [2, 3]], pa.list_view(pa.int16())),
        "LARGE": pa.array([[1], None, [2, 3]], pa.large_list_view(pa.int16())),
    }
    table = written(pa.table(data))
    assert [column.form for column in table.columns] == ["1D", "2A", "2A", "1PI(2)", "1PI(2)"]
    np.testing.assert_array_equal(table["NUMBERS"], [4.0, np.nan, 2.5])
    assert cells(table, "TEXT") == ["x", "", "yz"]
    assert cells(table, "BYTES") == ["ab", "cd", ""]
    assert cells(table, "LISTS") == cells(table, "LARGE") == [[1], [], [2, 3]]
    assert len(written(pa.table(data).slice(0, 0))) == 0


def test_categories_of_polars_are_text() -> None:
    polars = pytest.importorskip("polars", reason="LEFT OUT: polars is not installed")
    for kind in (polars.Categorical, polars.Enum(["x", "y"])):
        series = polars.Series(["y", None, "x"], dtype=kind)
        assert cells(written(polars.DataFrame({"C": series})), "C") == ["y", "", "x"]
        assert len(written(polars.DataFrame({"C": series[:0]}))) == 0


STARS = {"NAME": ["a", "bc"], "N": [1, 2]}


def test_the_index_of_pandas_is_a_column_unless_it_numbers_the_rows() -> None:
    pandas = pytest.importorskip("pandas", reason="LEFT OUT: pandas is not installed")
    stars = pandas.DataFrame(STARS)
    for frame in (stars, stars.set_index("NAME"), stars.set_index("NAME", drop=False)):
        table = written(frame)
        assert table.names == ("NAME", "N")
        assert cells(table, "NAME") == ["a", "bc"]
    assert written(stars[stars["N"] > 1]).names == ("NAME", "N")
    assert written(stars.set_index(["N", "NAME"])).names == ("N", "NAME")
    assert written(stars.set_index("N"))["N"].tolist() == [1, 2]
    unnamed = pandas.DataFrame({"N": [1, 2]}, index=["a", "b"])
    assert cells(written(unnamed), "index") == ["a", "b"]
    assert len(written(pandas.DataFrame())) == 0


def test_the_unit_of_an_index_stays() -> None:
    pytest.importorskip("pandas", reason="LEFT OUT: pandas is not installed")
    table = written({"T": [1.0, 2.0], "N": [1, 2]}, units={"T": "s"})
    assert written(table.to_pandas().set_index("T")).column("T").unit == "s"


def test_an_index_that_is_called_as_another_column_is_refused() -> None:
    frame = (
        pytest.importorskip("pandas", reason="LEFT OUT: pandas is not installed")
        .DataFrame(STARS)
        .set_index("NAME", drop=False)
    )
    frame["NAME"] = ["x", "y"]
    with pytest.raises(tf.UsageError, match=r"'NAME'.*\n.*reset_index"):
        written(frame)


def test_an_index_of_any_kind_is_compared_with_the_column_of_its_name() -> None:
    pandas = pytest.importorskip("pandas", reason="LEFT OUT: pandas is not installed")
    numbers, texts = [0, 1], ["p", "q"]
    dates = pandas.date_range("2026-01-01", periods=2)
    for index, same in (
        (pandas.RangeIndex(2), numbers),
        (dates, dates),
        (pandas.timedelta_range("1s", periods=2), None),
        (pandas.period_range("2026-01", periods=2), None),
        (pandas.interval_range(0, 2), None),
    ):
        frame = pandas.DataFrame({"X": texts}, index=index.rename("X"))
        with pytest.raises(tf.UsageError, match="'X'"):
            written(frame)
        if same is not None:
            assert written(frame.assign(X=same)).names == ("X",)


@pytest.mark.filterwarnings("ignore::tachyfits.TachyfitsWarning")
def test_columns_of_one_name_are_all_taken() -> None:
    frame = pytest.importorskip("pandas", reason="LEFT OUT: pandas is not installed").DataFrame(
        [[1, 2]], columns=["A", "A"]
    )
    table = written(frame)
    assert [table[0].tolist(), table[1].tolist()] == [[1], [2]]


def test_columns_of_other_libraries_in_a_dictionary() -> None:
    pandas = pytest.importorskip("pandas", reason="LEFT OUT: pandas is not installed")
    table = written(
        {
            "TEXT": pandas.Series(["a", None], index=[5, 6]),
            "KIND": pandas.Categorical(["x", None]),
            "N": pandas.array([2**62 + 1, None]),
            "OK": pandas.array([True, None]),
            "M": pa.array([2**62 + 1, None]),
            "L": pa.chunked_array([pa.array([[1, 2]]), pa.array([[3]])]),
        }
    )
    assert cells(table, "TEXT") == ["a", ""]
    assert cells(table, "KIND") == ["x", ""]
    assert cells(table, "N") == cells(table, "M") == [2**62 + 1, None]
    assert cells(table, "OK") == [True, None]
    assert cells(table, "L") == [[1, 2], [3]]


def test_a_single_column_is_refused_as_a_table() -> None:
    series = pytest.importorskip("pandas", reason="LEFT OUT: pandas is not installed").Series(
        [1, 2]
    )
    for column in (pa.chunked_array([[1, 2]]), series):
        with pytest.raises(tf.UsageError, match="invalid table of type"):
            written(column, kind="binary")  # without an option of tables it is an image


def test_a_lazy_frame_asks_for_collect() -> None:
    polars = pytest.importorskip("polars", reason="LEFT OUT: polars is not installed")
    frame = polars.LazyFrame({"A": [1]})
    ways: list[Callable[[], Any]] = [
        lambda: written(frame),
        lambda: tf.write("no.fits", frame),
        lambda: tf.write("no.fits", [(None, None), frame]),
    ]
    for way in ways:
        with warnings.catch_warnings():
            # polars warns when the columns are requested.
            warnings.simplefilter("error")
            with pytest.raises(tf.UsageError, match="collect"):
                way()


def astropy_hdu() -> Any:
    from astropy.io import fits

    def objects(cells: list[Any]) -> Any:
        made = np.empty(len(cells), object)
        for row, cell in enumerate(cells):
            made[row] = cell
        return made

    columns = [
        fits.Column("J", "J", unit="m", null=-9, array=[1, -9], disp="I5"),
        fits.Column("U", "I", bzero=32768, array=np.array([1, 40000], "u2")),
        fits.Column("S", "5A", array=["a", "b c"]),
        fits.Column("V", "PJ()", array=objects([np.array([1, 2]), np.array([], int)])),
        fits.Column("T", "PA()", array=objects(["a b", ""])),
        fits.Column("X", "11X", array=np.ones((2, 11), bool)),
        fits.Column("D", "6E", dim="(2,3)", array=np.arange(12).reshape(2, 3, 2)),
    ]
    hdu = fits.BinTableHDU.from_columns(columns, name="STARS")
    hdu.header["OBSERVER"] = "Hubble", "observer"
    hdu.header.comments["TTYPE1"] = "a length"
    hdu.header["HISTORY"] = "made here"
    return hdu


def test_tables_of_astropy_fits_keep_units_nulls_and_cards() -> None:
    from astropy.io import fits

    made = astropy_hdu()
    made.writeto("astropy.fits")
    with fits.open("astropy.fits") as hdus:
        for hdu in (made, hdus[1], made.data, hdus[1].data):
            table = written(hdu)
            first = table.column("J")
            assert (first.unit, first.null, first.display) == ("m", -9, "I5")
            assert cells(table, "J") == [1, None]
            assert table["U"].dtype == np.uint16
            assert cells(table, "U") == [1, 40000]
            assert cells(table, "S") == ["a", "b c"]
            assert cells(table, "V") == [[1, 2], []]
            assert cells(table, "T") == ["a b", ""]
            assert table["X"].shape == (2, 11)
            np.testing.assert_array_equal(table["D"], np.arange(12).reshape(2, 3, 2))
            if hasattr(hdu, "header"):
                assert first.description == "a length"
                assert table.name == "STARS"
                assert table.header["OBSERVER"] == "Hubble"
                assert table.header.comments["OBSERVER"] == "observer"
                assert table.header["HISTORY"] == ["made here"]


def test_nulls_of_scaled_columns_of_astropy_fits_are_undefined() -> None:
    from astropy.io import fits

    stored = np.array([3, 4], "i2")
    scaled = Made("S", "1I", [big(value) for value in stored], None)
    scaled.cards |= {"TSCAL": 0.1, "TZERO": 5, "TNULL": 3}
    signed = Made("B", "1B", [b"\3", b"\4"], None, cards={"TZERO": -128, "TNULL": 3})
    Path("scaled.fits").write_bytes(binary_table([scaled, signed]))
    with fits.open("scaled.fits") as hdus:
        table = written(hdus[1])
    np.testing.assert_array_equal(table["S"], [np.nan, 5.4])
    np.testing.assert_array_equal(table["B"], [np.nan, -124])


def test_undefined_elements_of_lists_of_different_lengths() -> None:
    table = written({"A": [[2**62 + 1, None], [2], None, [None], []], "B": [[None, True]] * 5})
    assert cells(table, "A") == [[2**62 + 1, None], [2], [], [None], []]
    assert table["A"].dtype == np.int64
    assert cells(table, "B") == [[None, True]] * 5


@pytest.mark.parametrize(
    "values", [[[[1, 2], [3]], [[4], [5, 6]]], [[[1, 2], [3]], [4, 5]], [["a"], [["b"], ["c"]]]]
)
def test_lists_that_no_column_has_are_refused(values: Any) -> None:
    for data in ({"L": values}, {"L": np.array([*values, None], object)[:-1]}):
        with pytest.raises(tf.UsageError, match=r"column 'L'.*of different lengths"):
            written(data)


def test_lists_of_text_of_different_lengths_whatever_has_them() -> None:
    lists = [["a"], ["b", "c"], []]
    frame = pytest.importorskip("pandas", reason="LEFT OUT: pandas is not installed").DataFrame(
        {"L": lists}
    )
    for data in ({"L": lists}, pa.table({"L": lists}), frame):
        assert written(data)["L"].to_list() == lists


def test_cells_with_axes_come_back_from_pandas() -> None:
    pytest.importorskip("pandas", reason="LEFT OUT: pandas is not installed")
    masked = np.ma.MaskedArray(np.arange(8).reshape(2, 2, 2), mask=[[[1, 0], [0, 0]], [[0, 0]] * 2])
    table = written({"TEXT": [["ab", "c"], ["d", ""]], "N": masked})
    back = written(table.to_pandas())
    assert back.column("TEXT").form == table.column("TEXT").form
    assert cells(back, "TEXT") == [["ab", "c"], ["d", ""]]
    assert cells(back, "N") == masked.tolist()


def test_no_rows_are_appended_to_columns_of_any_type() -> None:
    columns = {"S": ["a"], "N": [1], "OK": [True], "V": [[1, 2]], "P": [[1.0, 2.0]], "T": ["x"]}
    written({**columns, "V": tf.Ragged.from_cells([[1, 2]])})
    with tf.edit("written.fits") as editor:
        editor[1].append({name: [] for name in columns})
    table = tf.open("written.fits")[1]
    assert len(table) == 1
    assert cells(table, "V") == [[1, 2]]


def test_text_that_is_not_ascii_is_named_by_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(tf.UsageError, match=r"column 'S', row 1 \(0-based\): 'é'"):
        written({"S": [["a", "b"], ["c", "é"]]})
    monkeypatch.setattr("tachyfits.interop.table_files.BATCH_ROWS", 2)
    pytest.importorskip("pyarrow.parquet").write_table(pa.table({"S": [*"abcé"]}), "e.parquet")
    with pytest.raises(tf.UsageError, match=r"e.parquet: column 'S', row 3 \(0-based\)"):
        written("e.parquet")


# Columns that astronomers have in frames.


@pytest.mark.parametrize("dtype", ["u2", "u4", "u8"])
@pytest.mark.parametrize("form", ["whole", "parquet"])
def test_astropy_reads_unsigned_integers_with_undefined_ones(dtype: str, form: str) -> None:
    from astropy.table import Table as AstropyTable

    greatest = np.iinfo(dtype).max
    data: Any = {"N": np.ma.array([greatest, 1, 2], dtype, mask=[False, True, False])}
    if form == "parquet":
        written(data).write("n.parquet")
        data = "n.parquet"
    table = written(data)
    assert table["N"].tolist() == [greatest, None, 2]
    assert AstropyTable.read("written.fits")["N"][0] == greatest


def test_pandas_text_columns_without_text_stay_text() -> None:
    pd = pytest.importorskip("pandas", reason="LEFT OUT: pandas is not installed")
    kind = pd.CategoricalDtype(pd.array(["x"], dtype="string"))
    for dtype in ("string", "str", kind):
        for cells_given in ([], [None, None], ["x", None]):
            table = written(pd.DataFrame({"S": pd.array(cells_given, dtype=dtype)}))
            assert table.column("S").form == "1A"
            assert table["S"].tolist() == [cell or "" for cell in cells_given]


def test_columns_of_pandas_that_are_arrows() -> None:
    pd = pytest.importorskip("pandas", reason="LEFT OUT: pandas is not installed")
    days = pd.Series([datetime.date(2020, 1, 2), None], dtype=pd.ArrowDtype(pa.date32()))
    lists = pd.Series([[1, 2], None], dtype=pd.ArrowDtype(pa.list_(pa.int16())))
    numbers = pd.Series([1, None], dtype=pd.ArrowDtype(pa.int32()))
    for data in (pd.DataFrame({"D": days, "L": lists, "N": numbers}),
                 {"D": days, "L": lists, "N": numbers}):  # fmt: skip
        table = written(data)
        assert cells(table, "D") == ["2020-01-02", ""]
        assert cells(table, "L") == [[1, 2], []]
        assert (cells(table, "N"), table.column("N").form) == ([1, None], "1J")


def test_objects_of_polars_are_refused() -> None:
    polars = pytest.importorskip("polars", reason="LEFT OUT: polars is not installed")
    frame = polars.DataFrame({"O": polars.Series([object()], dtype=polars.Object)})
    with pytest.raises(tf.UsageError, match="column 'O': FITS has no type for polars' Object"):
        written({"O": frame["O"]})
    with pytest.raises(tf.UsageError, match="column 'O': FITS has no type for polars' Object"):
        written(frame)


def test_times_of_day_are_text() -> None:
    assert cells(written({"T": [datetime.time(1, 2, 3), None]}), "T") == ["01:02:03", ""]


def test_a_single_time_in_meta_is_left_out() -> None:
    from astropy.table import Table as AstropyTable
    from astropy.time import Time

    table = AstropyTable({"A": [1]}, meta={"WHEN": Time("2020-01-01"), "OBJECT": "M31"})
    with pytest.warns(tf.TachyfitsWarning, match="WHEN: a value of type Time"):
        assert written(table).header["OBJECT"] == "M31"


def test_text_that_no_card_holds_whole_is_refused() -> None:
    for data, options in (
        ({"x" * 69: [1]}, {}),
        ({"it's" * 15: [1]}, {}),
        ({"A": [1]}, {"units": {"A": "m " * 35}}),
        ({"A": [1]}, {"name": "x" * 69}),
    ):
        with pytest.raises(tf.UsageError, match="a card holds 68"):
            written(data, **options)
    assert written({"x" * 68: [1]}, name="y" * 68).name == "y" * 68


def test_a_column_without_a_name_is_warned_of() -> None:
    with pytest.warns(tf.TachyfitsWarning, match="column 2 .*expected a name"):
        written({"A": [1], "": [2]})


@pytest.mark.parametrize("said", ["(a,b)", "(-2,2)", ""])
def test_invalid_shapes_in_metadata_are_refused(tmp_path: Path, said: str) -> None:
    import pyarrow as pa

    field = pa.field("A", pa.list_(pa.int64()), metadata={"fits.TDIM": said})
    table = pa.table([pa.array([[1, 2], [3]])], schema=pa.schema([field]))
    with pytest.raises(tf.UsageError, match=r"column 'A': invalid fits.TDIM"):
        tf.write(tmp_path / "no.fits", table)


def test_metadata_of_others_may_be_no_text(tmp_path: Path) -> None:
    import pyarrow as pa

    field = pa.field("A", pa.int64(), metadata={b"theirs": b"\xff", b"\xfe": b"a"})
    tf.write(tmp_path / "a.fits", pa.table([pa.array([1, 2])], schema=pa.schema([field])))
    assert tf.open(tmp_path / "a.fits")[1]["A"].tolist() == [1, 2]
