"""Units, nulls and damage of other libraries' tables: kept, converted, or named in a message."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import astropy.units as u
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from astropy.coordinates import SkyCoord
from astropy.table import QTable, Table

import tachyfits as tf
from tachyfits.cli import run

# Quantities without dimension.


@pytest.mark.parametrize(
    ("unit", "value"), [("%", 50.0), ("10**-2", 50.0), ("10**3", 0.0005), (None, 0.5), ("", 0.5)]
)
@pytest.mark.parametrize(
    "given",
    [
        u.Quantity([0.5]), [u.Quantity(0.5)], u.Quantity([50.0], "%"),
        QTable({"A": [0.5] * u.one})["A"], Table({"A": [0.5] * u.one})["A"],
    ],
    ids=["array", "list", "percent", "qtable", "column"],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:.*has no unit")
def test_numbers_without_dimension_are_converted(
    tmp_path: Path, unit: str | None, value: float, given: Any
) -> None:
    path = tmp_path / "t.fits"
    tf.write(path, {"A": np.array([1.0])}, units={"A": unit} if unit else None)
    with tf.edit(path) as editor:
        editor[1].append({"A": given})
        editor[1].update("A", given, rows=[0])
    percent = not unit and getattr(given, "unit", None) == u.percent
    assert tf.open(path)[1]["A"] == pytest.approx([50.0 if percent else value] * 2)


@pytest.mark.parametrize("unit", ["m", "deg", "mag", "count", "d"])
def test_numbers_without_dimension_are_no_lengths(tmp_path: Path, unit: str) -> None:
    path = tmp_path / "t.fits"
    tf.write(path, {"A": np.array([1.0])}, units={"A": unit})
    with tf.edit(path) as editor:
        with pytest.raises(tf.UsageError, match=f"without dimension.*\n.*{unit!r}"):
            editor[1].append({"A": u.Quantity([0.5])})
        editor[1].append({"A": [0.5]})
    assert tf.open(path)[1]["A"].tolist() == [1.0, 0.5]


def test_columns_without_dimension_have_no_unit_card(tmp_path: Path) -> None:
    path = tmp_path / "t.fits"
    tf.write(path, {"A": u.Quantity([0.5]), "B": u.Quantity([0.5], "%")})
    assert [column.unit for column in tf.open(path)[1].columns] == [None, "10**-2"]


# Parquet: astropy's metadata, and VOParquet's.


def _parquet(path: Path, form: str) -> None:
    table = QTable({"RA": np.radians([150.0, 151.0]) * u.rad, "V": [1.0, 2.0] * u.km / u.s})
    table["N"] = [1, 2]
    table["V"].info.description = "radial velocity"
    if form == "parquet":
        table["V"].info.format = "8.3f"
        table.meta["OBSERVER"] = "me"
        table.write(path, format=form)
        return
    said = {
        "RA": {"unit": "rad", "ucd": "pos.eq.ra", "utype": "", "description": ""},
        "V": {"unit": "km/s", "ucd": "", "utype": "", "description": "radial velocity"},
        "N": {"unit": "", "ucd": "", "utype": "", "description": ""},
    }
    Table(table).write(path, format=form, metadata=said)


@pytest.mark.parametrize("form", ["parquet", "parquet.votable"])
def test_units_of_parquet_files_are_read(tmp_path: Path, form: str, capsys: Any) -> None:
    path, out = tmp_path / "t.parquet", tmp_path / "t.fits"
    _parquet(path, form)
    for given in (path, str(path), pa.parquet.read_table(path)):
        tf.write(out, given, overwrite=True)
        table = tf.open(out)[1]
        assert [column.unit for column in table.columns] == ["rad", "km s-1", None]
        assert table.columns[1].description == "radial velocity"
        if form == "parquet":
            assert table.columns[1].display == "F8.3"
            assert table.header["OBSERVER"] == "me"
        else:
            assert table.header["TUCD1"] == "pos.eq.ra"
    assert run(["table", str(path), "--list", "--json"]) in (0, 2)
    capsys.readouterr()
    assert run(["table", str(path), "-o", str(out), "--overwrite"]) == 0
    assert tf.open(out)[1].columns[0].unit == "rad"


def test_objects_of_parquet_files_come_back(tmp_path: Path) -> None:
    path, out = tmp_path / "t.parquet", tmp_path / "t.fits"
    sky = SkyCoord([1.0, 2.0] * u.deg, [3.0, 4.0] * u.deg, frame="galactic")
    QTable({"sky": sky, "A": [1.0, 2.0] * u.Jy}).write(path)
    tf.write(out, path)
    table = tf.open(out)[1].to_astropy()
    assert table["A"].unit == u.Jy
    assert table["sky"].frame.name == "galactic"
    assert table["sky"].l.deg.tolist() == [1.0, 2.0]


def test_our_parquet_files_have_units_for_others(tmp_path: Path) -> None:
    path, out = tmp_path / "t.fits", tmp_path / "t.parquet"
    columns = {
        "RA": np.array([1.0, 2.0]), "NAME": np.array(["a", "bcd"]), "W": np.zeros((2, 3), "f4"),
        "N": np.ma.array([1, 2], mask=[0, 1]), "L": [[1], [2, 3]], "T": ["x", "yz"],
    }  # fmt: skip
    tf.write(
        path, columns, units={"RA": "deg", "W": "Jy/beam"}, descriptions={"RA": "right ascension"},
        header={"OBJECT": "M 31"},
    )  # fmt: skip
    with tf.edit(path) as editor:
        editor[1].header["TUCD1"] = "pos.eq.ra"
    tf.open(path)[1].write(out)
    theirs = Table.read(out, include_names=["RA", "NAME", "W"])
    assert theirs["RA"].unit == u.deg
    assert theirs["W"].unit == u.Jy / u.beam
    assert theirs["RA"].description == "right ascension"
    assert theirs.meta["OBJECT"] == "M 31"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tf.open(path)[1].write(tmp_path / "vo.parquet", ["RA", "NAME"])
        votable = Table.read(tmp_path / "vo.parquet", format="parquet.votable")
    assert votable["RA"].unit == u.deg
    said = pa.parquet.read_schema(tmp_path / "vo.parquet").metadata
    assert b'ucd="pos.eq.ra"' in said[b"IVOA.VOTable-Parquet.content"]
    tf.write(tmp_path / "back.fits", out)
    back = tf.open(tmp_path / "back.fits")[1]
    assert [each.unit for each in back.columns[:3]] == ["deg", None, "Jy/beam"]
    assert back.columns[0].description == "right ascension"
    assert back.header["TUCD1"] == "pos.eq.ra"
    assert back.header["OBJECT"] == "M 31"


def test_units_of_frames_survive_parquet(tmp_path: Path) -> None:
    tf.write(tmp_path / "t.fits", {"A": [1.0]}, units={"A": "Jy"})
    tf.open(tmp_path / "t.fits")[1].to_pandas().to_parquet(tmp_path / "t.parquet")
    tf.write(tmp_path / "back.fits", tmp_path / "t.parquet")
    assert tf.open(tmp_path / "back.fits")[1].columns[0].unit == "Jy"


@pytest.mark.parametrize(
    "metadata",
    [
        {"table_meta_yaml": "no: [yaml"}, {"table_meta_yaml": "7"}, {"table_meta_yaml": b"\xff"},
        {"table_meta_yaml": "datatype: [3]"}, {"IVOA.VOTable-Parquet.content": "<VOTABLE>"},
        {"IVOA.VOTable-Parquet.content": "<a/>"}, {"PANDAS_ATTRS": "[1]"}, {"PANDAS_ATTRS": "{"},
        {"PANDAS_ATTRS": '{"units": 3}'},
    ],
)  # fmt: skip
def test_other_metadata_is_no_error(tmp_path: Path, metadata: dict[str, Any]) -> None:
    path = tmp_path / "t.parquet"
    pa.parquet.write_table(pa.table({"a": [1, 2]}).replace_schema_metadata(metadata), path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tf.TachyfitsWarning)
        tf.write(tmp_path / "t.fits", path)
    assert tf.open(tmp_path / "t.fits")[1]["a"].tolist() == [1, 2]


# Null lists.


_NULL_LISTS = [[1, 2], None, [], None]


def _null_lists(way: str, folder: Path) -> Any:
    """Return a table with two null lists and one without elements."""
    frame = pl.DataFrame({"l": _NULL_LISTS}, schema={"l": pl.List(pl.Int32)})
    arrow = frame.to_arrow()
    objects = np.empty(4, object)
    objects[:] = _NULL_LISTS
    if way == "parquet":
        # Batches, which are read twice.
        pa.parquet.write_table(arrow, folder / "t.parquet", row_group_size=1)
        return folder / "t.parquet"
    if way == "feather":
        pa.feather.write_feather(arrow, folder / "t.feather", chunksize=1)
        return folder / "t.feather"
    tables: dict[str, Any] = {
        "lists": {"l": _NULL_LISTS},
        "text": {"l": [["a", "b"], None, [], None]},
        "arrays": {"l": [np.array([1, 2]), None, np.array([], int), None]},
        "objects": {"l": objects},
        "masked": {"l": np.ma.MaskedArray(objects, [False, True, False, True])},
        "astropy": Table({"l": objects}),
        "pandas": frame.to_pandas(),
        "pandas nullable": _with_types_of_arrow(frame),
        "polars": frame,
        "arrow": arrow,
        "large lists": pa.table({"l": arrow["l"].cast(pa.large_list(pa.int32()))}),
        "views": pa.table({"l": pa.array(_NULL_LISTS, pa.list_view(pa.int32()))}),
        "stream": pa.table({"l": pa.chunked_array([_NULL_LISTS[:2], _NULL_LISTS[2:]])}).to_reader(),
    }
    return tables[way]


def _with_types_of_arrow(frame: pl.DataFrame) -> Any:
    """Return a frame of pandas with the types of Arrow."""
    import pandas as pd

    return frame.to_pandas(types_mapper=pd.ArrowDtype)


@pytest.mark.parametrize(
    "way",
    [
        "lists", "text", "arrays", "objects", "masked", "astropy", "pandas", "pandas nullable",
        "polars", "arrow", "large lists", "views", "stream", "parquet", "feather",
    ],
)  # fmt: skip
def test_null_lists_are_counted_by_one_warning(tmp_path: Path, way: str) -> None:
    path = tmp_path / "t.fits"
    only_written = ["text", "parquet", "feather"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tf.write(path, _null_lists(way, tmp_path))
        if way not in only_written:
            with tf.edit(path) as editor:
                editor[1].append(_null_lists(way, tmp_path))
    problem = "column 'l': 2 null lists become arrays without elements"
    warned = [str(warning.message) for warning in caught]
    assert len(warned) == (1 if way in only_written else 2), warned
    assert all(text.startswith(problem) for text in warned)
    cells = [len(cell) for cell in tf.open(path)[1]["l"]]
    assert cells == [2, 0, 0, 0] * (1 if way in only_written else 2)


def test_lists_without_elements_do_not_warn(tmp_path: Path) -> None:
    path = tmp_path / "t.fits"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tf.write(path, {"l": [[1, 2], [], [3]]})
        with tf.edit(path) as editor:
            # The documentation says that None gives no elements.
            editor[1].update("l", None, rows=[0])
    with tf.edit(path) as editor, pytest.warns(tf.TachyfitsWarning, match="'l': 1 null list beco"):
        editor[1].update("l", [[5], None], rows=[0, 1])
    assert [cell.tolist() for cell in tf.open(path)[1]["l"]] == [[5], [], [3]]


def test_null_arrays_of_one_length_stay_undefined(tmp_path: Path) -> None:
    path = tmp_path / "t.fits"
    array = pa.array([[1, 2], None], pa.list_(pa.int32(), 2))
    tf.write(path, pa.table({"l": array}))
    assert np.ma.getmaskarray(tf.open(path)[1]["l"]).tolist() == [[False] * 2, [True] * 2]


# Damage.


def _damaged(path: Path, value: bytes, columns: Any) -> None:
    pa.feather.write_feather(columns, path, compression="uncompressed")
    content = bytearray(path.read_bytes())
    offsets = (3).to_bytes(4, "little") + (7).to_bytes(4, "little") + (9).to_bytes(4, "little")
    at = content.index(offsets)
    content[at + 4 : at + 8] = value
    path.write_bytes(content)


@pytest.mark.parametrize(
    "value", [(2_000_000_000).to_bytes(4, "little"), (-5).to_bytes(4, "little", signed=True)]
)
@pytest.mark.parametrize("kind", ["text", "lists", "dictionary"])
def test_damaged_arrow_files_are_refused(tmp_path: Path, value: bytes, kind: str) -> None:
    path = tmp_path / "x.arrow"
    text = pa.array(["abc", "defg", "hi"] * 20)
    lists = pa.array([[1] * 3, [2] * 4, [3] * 2] * 20)
    column = {"text": text, "lists": lists, "dictionary": text.dictionary_encode()}[kind]
    _damaged(path, value, pa.table({"s": column, "n": list(range(60))}))
    code = (
        "import tachyfits as tf, sys\n"
        "try: tf.write(sys.argv[2], sys.argv[1], overwrite=True); print('written')\n"
        "except tf.UsageError as error: print('refused')\n"
    )
    given = [sys.executable, "-c", code, str(path), str(tmp_path / "t.fits")]
    result = subprocess.run(given, capture_output=True, text=True)
    assert result.stdout == "refused\n", result.stderr
    # Columns that are whole stay readable.
    tf.write(tmp_path / "n.fits", path, columns=["n"])
    assert tf.open(tmp_path / "n.fits")[1]["n"].tolist() == list(range(60))


@pytest.mark.parametrize(
    ("old", "columns"), [(b"efgh", {"s": ["abcd", "efgh"]}), (b"nname", {"nname": ["a"]})]
)
def test_parquet_that_is_not_utf8_is_refused(
    tmp_path: Path, old: bytes, columns: dict[str, list[str]]
) -> None:
    path = tmp_path / "x.parquet"
    pa.parquet.write_table(
        pa.table(columns), path, compression="none", write_statistics=False, use_dictionary=False,
        store_schema=False,
    )  # fmt: skip
    path.write_bytes(path.read_bytes().replace(old, old[:-1] + b"\xff"))
    with pytest.raises(tf.UsageError, match=r"x\.parquet"):
        tf.write(tmp_path / "t.fits", path)
    assert run(["table", str(path)]) == 2


# CSV.


def test_hexadecimal_text_of_csv_stays_text(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("A,B,C,A\n0x1F,1,0xZ,0X2\n0x20,2,b,7\n,3,,8\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tf.TachyfitsWarning)
        tf.write(tmp_path / "t.fits", path)
        table = tf.open(tmp_path / "t.fits")[1]
        values = [table[number].tolist() for number in range(4)]
    assert values == [["0x1F", "0x20", ""], [1, 2, 3], ["0xZ", "b", ""], ["0X2", "7", "8"]]


def test_every_csv_spells_truth_values_alike(tmp_path: Path) -> None:
    from tachyfits.cli._output import csv_text

    tf.write(tmp_path / "t.fits", {"L": [True, False]})
    tf.open(tmp_path / "t.fits")[1].write(tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_text() == "L\ntrue\nfalse\n"
    assert csv_text(["L"], [[True], [np.bool_(False)]]) == "L\ntrue\nfalse\n"


def test_display_forms_follow_the_written_form(tmp_path: Path) -> None:
    from astropy.io import fits

    path, out = tmp_path / "t.fits", tmp_path / "o.fits"
    bits = np.zeros((4, 24), bool)
    bits[:, 3] = True
    columns = [fits.Column("BITS", "24X", array=bits, disp="Z6")]
    columns += [fits.Column("I", "I", array=np.arange(4), disp="Z4")]
    fits.BinTableHDU.from_columns(columns).writeto(path)
    table = tf.open(path)[1]
    forms = {"BITS": "24X"}
    tf.write(out, table.read())
    assert "TDISP1" not in tf.open(out)[1].header
    assert tf.open(out)[1].header["TDISP2"] == "Z4"
    tf.write(out, table.read(), forms=forms, overwrite=True)
    assert tf.open(out)[1].header["TDISP1"] == "Z6"
    tf.write(out, table.read(), forms={"I": "E"}, overwrite=True)
    assert "TDISP2" not in tf.open(out)[1].header
    assert not [each for each in tf.verify(out) if each.severity == "error"]


# Numbers of CSV that float64 does not have.


@pytest.mark.parametrize(
    ("cells", "odd"),
    [
        (["9007199254740993", "0.5"], "9007199254740993"),
        (["123456789012345678901234567890", "1.5"], "123456789012345678901234567890"),
        (["1e400", "1"], "1e400"), (["-1e400", "0.5"], "-1e400"),
        (["1", "99999999999999999999"], "integers beyond 64 bits"),
        (["9007199254740992", "0.5"], None), (["inf", "-inf", "1e300"], None),
        (["1e20", "0.1", ""], None), (["+9007199254740994", "nan", "0.5"], None),
    ],
)  # fmt: skip
def test_numbers_of_csv_that_are_rounded_are_named(
    tmp_path: Path, cells: list[str], odd: str | None
) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"{cell},1\n" for cell in cells))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tf.write(tmp_path / "t.fits", path)
    warned = [str(warning.message) for warning in caught]
    assert len(warned) == (odd is not None), warned
    assert all(odd in text and "column 'a'" in text for text in warned if odd)
    values = tf.open(tmp_path / "t.fits")[1]["a"]
    np.testing.assert_array_equal(values, [float(cell or "nan") for cell in cells])
