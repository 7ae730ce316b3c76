"""Properties of astropy columns and headers survive every way through a file."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import Any

import astropy.units as u
import numpy as np
import pytest
from astropy.coordinates import FK5, AltAz, EarthLocation, SkyCoord
from astropy.io import fits
from astropy.table import Column, MaskedColumn, QTable, Table
from astropy.time import Time

import tachyfits as tf
from tachyfits.interop import astropy_private

DAYS = ["2020-01-01", "2021-01-01"]


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def of_table(path: str, key: str | int) -> Any:
    with tf.open(path) as file:
        return file[1].column(key)


# Units.


def test_values_in_a_dict_say_their_units_and_descriptions() -> None:
    data = {
        "FLUX": [1.0, 2.0] * u.Jy,
        "SIZE": Column([1, 2], unit="m", description="longest", format="5d"),
        "N": MaskedColumn([1, 2], mask=[False, True], unit="s", description="how long"),
    }
    tf.write("new.fits", data)
    assert of_table("new.fits", "FLUX").unit == "Jy"
    size, n = of_table("new.fits", "SIZE"), of_table("new.fits", "N")
    assert (size.unit, size.description, size.display) == ("m", "longest", "I5")
    assert (n.unit, n.description) == ("s", "how long")
    tf.write("new.fits", data, units={"SIZE": "cm"}, overwrite=True)
    assert of_table("new.fits", "SIZE").unit == "cm"


@pytest.mark.parametrize("unit", [u.mag(u.AB), u.dex(u.cm / u.s**2), u.hourangle], ids=str)
def test_units_that_fits_has_no_name_for_come_back(unit: Any) -> None:
    tf.write("new.fits", QTable({"A": [1.5, 2.5] * unit}))
    back = QTable(tf.open("new.fits")[1].to_astropy())["A"]
    assert (type(back), back.unit) == (type([1.5] * unit), unit)
    tf.write("new.fits", {"A": [1.5]}, units={"A": "counts"}, overwrite=True)
    assert isinstance(tf.open("new.fits")[1].to_astropy()["A"].unit, u.UnrecognizedUnit)


def test_a_list_of_quantities_has_the_unit_of_the_first() -> None:
    tf.write("new.fits", {"A": [1 * u.m, None, 2 * u.km], "V": [[1, 2] * u.s, [1] * u.min, None]})
    table = tf.open("new.fits")[1]
    np.testing.assert_array_equal(table["A"], [1, np.nan, 2000])
    assert table["V"].to_list() == [[1, 2], [60], []]
    assert (table.column("A").unit, table.column("V").unit) == ("m", "s")
    with tf.edit("new.fits") as editor:
        editor[1].update("A", [1 * u.cm, 2 * u.cm, 3 * u.m])
        editor[1].add_column("B", [1 * u.Jy] * 3)
    assert tf.open("new.fits")[1]["A"].tolist() == [0.01, 0.02, 3]
    assert of_table("new.fits", "B").unit == "Jy"
    cells = np.array([[1, 2] * u.s, [1] * u.min, None], object)
    tf.write("new.fits", {"V": cells}, overwrite=True)
    assert (of_table("new.fits", "V").unit, tf.open("new.fits")[1]["V"][1]) == ("s", [60])
    for odd in ([1 * u.m, 2], [1 * u.m, 2 * u.s]):
        with pytest.raises(tf.UsageError, match="'A'"):
            tf.write("no.fits", {"A": odd})


def test_columns_of_astropys_files_are_taken() -> None:
    columns = [
        fits.Column("NAME", "5A", array=["a", "b"]),
        fits.Column("V", "PJ()", array=np.array([np.array([1]), np.array([1, 2])], object)),
    ]
    fits.BinTableHDU.from_columns(columns).writeto("old.fits")
    with fits.open("old.fits") as file:
        data = file[1].data
        tf.write("new.fits", {name: data[name] for name in ("NAME", "V")})
    table = tf.open("new.fits")[1]
    assert table["NAME"].tolist() == ["a", "b"]
    assert table["V"].to_list() == [[1], [1, 2]]


@pytest.fixture
def metres() -> str:
    data = {
        "D": [1.0, 2.0],
        "N": [1, 2],
        "BARE": [1.0, 2.0],
        "V": tf.Ragged.from_cells([[1.0], []]),
    }
    tf.write("m.fits", data, units={"D": "m", "N": "m", "V": "m"})
    return "m.fits"


def rows(**changed: Any) -> Any:
    return {"D": [5.0], "N": [5], "BARE": [5.0], "V": tf.Ragged.from_cells([[5.0]])} | changed


def test_quantities_are_converted_to_the_unit_of_the_column(metres: str) -> None:
    with tf.edit(metres) as editor:
        editor[1].append(rows(D=[5.0] * u.km, N=[5.0] * u.km))
        editor[1].append(QTable({"D": [5.0] * u.cm, "N": [5] * u.m, "BARE": [5.0], "V": [[5.0]]}))
        editor[1].update("D", 3 * u.km, rows=[0])
        editor[1].update("V", [[1.0, 2.0]] * u.km, rows=[1])
    table = tf.open(metres)[1]
    assert table["D"].tolist() == [3000.0, 2.0, 5000.0, 0.05]
    assert table["N"].tolist() == [1, 2, 5000, 5]
    assert table["V"].to_list()[1] == [1000.0, 2000.0]


def test_units_that_do_not_fit_are_refused(metres: str) -> None:
    with tf.edit(metres) as editor:
        for values in ([5.0] * u.s, Column([5.0], unit="furlong2")):
            with pytest.raises(tf.UsageError, match="convert them to that"):
                editor[1].append(rows(D=values))
        with pytest.raises(tf.UsageError, match="cannot hold"):
            editor[1].update("N", 1 * u.cm, rows=[0])  # 0.01 m is not an integer
        with pytest.warns(tf.TachyfitsWarning, match="'BARE' has no unit"):
            editor[1].update("BARE", 7 * u.km, rows=[0])
    assert tf.open(metres)[1]["BARE"].tolist() == [7.0, 2.0]


def test_a_column_that_is_added_has_its_unit(metres: str) -> None:
    with tf.edit(metres) as editor:
        editor[1].add_column("Q", [1, 2] * u.s)
        editor[1].add_column("C", Column([1, 2], unit="Jy", description="peak"), unit="mJy")
    assert of_table(metres, "Q").unit == "s"
    assert (of_table(metres, "C").unit, of_table(metres, "C").description) == ("mJy", "peak")


# Formats and nulls.


def test_formats_and_fill_values_come_back() -> None:
    made = Table({"N": MaskedColumn([1, 2, 3], mask=[0, 0, 1], fill_value=-7, format="5d")})
    made["BITS"] = Column([1, 2, 3], "u2", format="016b")
    made["X"] = Column([1.0, 2.0, 3.0], format="{:.3f}")
    made["K"] = MaskedColumn([1, -7, 3], mask=[0, 0, 1], fill_value=-7)
    tf.write("one.fits", made)
    with fits.open("one.fits") as file:
        header = file[1].header
        assert [header[f"TDISP{n}"] for n in (1, 2, 3)] == ["I5", "B16.16", "F12.3"]
        assert header["TNULL1"] == -7
        assert header["TNULL4"] != -7  # which is a value there
    tf.write("two.fits", tf.open("one.fits")[1].to_astropy())
    assert of_table("two.fits", "N").null == -7
    shown = [of_table("two.fits", key).display for key in ("N", "BITS", "X")]
    assert shown == ["I5", "B16.16", "F12.3"]


def test_numpys_fill_value_is_the_null() -> None:
    tf.write("n.fits", {"A": np.ma.masked_equal(np.array([1, -99], "i2"), -99)})
    assert of_table("n.fits", "A").null == -99
    tf.write("m.fits", {"A": np.ma.array([1, 2], mask=[0, 1], dtype="i2")})
    assert of_table("m.fits", "A").null == -32768


# The block of comments that astropy writes.


@pytest.fixture
def described_file() -> str:
    table = QTable({"A": [1.0, 2.0] * u.m, "SC": SkyCoord([1, 2], [3, 4], unit="deg"), "B": [1, 2]})
    table["T"] = Time(["2020-01-01", "2021-01-01"])
    table["B"].info.description = "a description that is " + "so " * 50 + "long"
    table.meta["OBJECT"] = "M31"
    table.meta["comments"] = ["mine"]
    table.write("ap.fits")
    return "ap.fits"


@pytest.mark.parametrize(
    ("names", "left"),
    [
        (["A", "B"], ["A", "B"]),
        (["A"], ["A"]),
        (["SC.ra", "B"], ["SC.ra", "B"]),
        (["B", "SC.dec", "SC.ra"], ["B", "SC"]),
        (None, ["A", "SC", "B", "T"]),
    ],
)
def test_astropy_reads_parts_of_its_tables(
    described_file: str, names: list[str] | None, left: list[str]
) -> None:
    table = tf.open(described_file)[1]
    table.write("copied.fits", names)
    tf.write("again.fits", table, columns=names)
    tf.write("read.fits", table.read(names))
    tf.write("astropy.fits", table.to_astropy(names))
    tf.write("chosen.fits", table.to_astropy(), columns=names)
    table.write("t.parquet", names)
    tf.write("parquet.fits", "t.parquet")
    for name in ("copied", "again", "read", "astropy", "chosen", "parquet"):
        found = QTable.read(f"{name}.fits")
        assert sorted(found.colnames) == sorted(left), name
        assert found.meta["OBJECT"] == "M31"
        assert found.meta["comments"] == ["mine"]
        if "B" in left:
            assert found["B"].info.description.endswith("so long")
        if "SC" in left:
            assert found["SC"].dec.deg.tolist() == [3, 4]


def test_descriptions_are_there_in_astropy_and_the_block_is_not(described_file: str) -> None:
    table = tf.open(described_file)[1].to_astropy()
    assert table["B"].description.endswith("so long")
    assert table.meta["COMMENT"] == ["mine"]
    assert (list(table.meta["__serialized_columns__"]), table["SC"].dec.deg.tolist()) == (
        ["A"],
        [3, 4],
    )
    assert "__serialized_columns__" not in tf.open(described_file)[1].to_astropy(["B"]).meta


def test_an_invalid_yaml_block_stays_among_the_comments() -> None:
    block = ["--BEGIN-ASTROPY-SERIALIZED-COLUMNS--", "{", "--END-ASTROPY-SERIALIZED-COLUMNS--"]
    tf.write("odd.fits", {"A": [1], "B": [2]}, header={"OBJECT": "M31"})
    with fits.open("odd.fits", mode="update") as file:
        for line in block:
            file[1].header["COMMENT"] = line
    table = tf.open("odd.fits")[1]
    assert table.to_astropy().meta["COMMENT"] == block
    table.write("part.fits", ["A"])
    assert "COMMENT" not in tf.open("part.fits")[1].header


@pytest.mark.parametrize(
    "yaml",
    [
        "datatype: [{name: A}]\nmeta: !!omap\n- __serialized_columns__: &x\n    obj: *x",
        "datatype: [{name: A}]\nmeta:\n  __serialized_columns__: text",
        "? [a]\n: 1",
        "datatype: [{? [a] : 1}]",
        "datatype: [{name: A, datatype: int32, meta: 5}]",
        "datatype: [{name: A}]\nmeta: !!omap\n- __serialized_columns__: {x: {}}",
        "datatype: [{name: A}]\nmeta: !!omap\n- __serialized_columns__:\n    B:\n"
        "      __class__: astropy.time.core.TimeDelta\n      format: jd\n"
        "      jd1: !astropy.table.SerializedColumn {name: A}\n      jd2: 0.0",
    ],
)
def test_a_foreign_yaml_block_does_not_prevent_reading(yaml: str) -> None:
    block = ["--BEGIN-ASTROPY-SERIALIZED-COLUMNS--", *yaml.splitlines()]
    block.append("--END-ASTROPY-SERIALIZED-COLUMNS--")
    tf.write("odd.fits", {"A": [1], "B": [2]})
    with fits.open("odd.fits", mode="update") as file:
        for line in block:
            file[1].header["COMMENT"] = line
    table = tf.open("odd.fits")[1]
    found = table.to_astropy()
    assert found.meta.get("COMMENT") == block or "__serialized_columns__" in found.meta
    assert (found["A"].tolist(), found["B"].tolist()) == ([1], [2])
    table.write("part.fits", ["A"])
    assert tf.open("part.fits")[1].names == ("A",)
    with tf.edit("odd.fits") as editor:
        editor[1].rename_column("A", "C")
        editor[1].delete_column("B")
    assert tf.open("odd.fits")[1].names == ("C",)


def test_astropy_reads_tables_whose_columns_were_edited(described_file: str) -> None:
    with tf.edit(described_file) as editor:
        editor[1].rename_column("B", "BE")
        editor[1].rename_column("A", "AY")
        editor[1].rename_column("SC.dec", "DE")
    found = QTable.read(described_file)
    assert found.colnames == ["AY", "SC", "BE", "T"]
    assert found["BE"].info.description.endswith("so long")
    assert (found["AY"].unit, found["SC"].dec.deg.tolist()) == (u.m, [3, 4])
    assert found.meta["comments"] == ["mine"]
    with tf.edit(described_file) as editor:
        editor[1].delete_column("DE", "AY")
        editor[1].rename_column("T", "TIME")
    found = QTable.read(described_file)
    assert found.colnames == ["SC.ra", "BE", "TIME"]
    assert found["BE"].info.description.endswith("so long")


# The header.


def test_meta_that_no_card_holds_is_left_out_with_a_warning() -> None:
    table = Table({"A": [1, 2]})
    table.meta = {
        "OBJECT": "M31", "N": np.nan, "LISTED": [1, 2], "WHEN": np.datetime64("2020-01-01"),
        "a long keyword": "x" * 200, "ARRAY": np.zeros(3), "K": np.float32(1.5),
        "TEXT": "\N{GREEK SMALL LETTER ALPHA}", "PAIR": (3, "its comment"), "HALF": "\ud800",
    }  # fmt: skip
    with pytest.warns(tf.TachyfitsWarning, match="no card can hold") as caught:
        tf.write("new.fits", table)
    assert len(caught) == 1
    for keyword in ("N", "LISTED", "WHEN", "ARRAY", "TEXT", "HALF"):
        assert f"  - {keyword}: " in str(caught[0].message)
    header = tf.open("new.fits")[1].header
    assert (header["OBJECT"], header["K"], header["PAIR"]) == ("M31", 1.5, 3)
    assert header.comments["PAIR"] == "its comment"
    assert not {"N", "LISTED", "WHEN", "ARRAY", "TEXT", "HALF"} & set(header)


def test_a_header_of_astropy_keeps_its_comments() -> None:
    header = fits.Header([("OBJECT", "M31", "what"), ("EXPTIME", fits.card.UNDEFINED, "long")])
    header["HISTORY"] = "made"
    for write, data in ((tf.write, {"A": [1]}), (tf.write, np.zeros((2, 2)))):
        write("new.fits", data, header=header, overwrite=True)
        cards = tf.open("new.fits")[-1].header.cards
        assert ("OBJECT", "M31", "what") in cards
        assert ("EXPTIME", None, "long") in cards
        assert ("HISTORY", "made", "") in cards


def test_a_header_that_is_given_must_be_one() -> None:
    for header, word in (
        ({"LISTED": [1, 2]}, "LISTED: a value of type list"),
        ([("A", 1)], "invalid header of type list"),
        ({"X": "\ud800"}, "keyword X: expected printable ASCII"),
        ({"\udfff": 1}, "expected 1 to 8 of A-Z"),
        ({"X": (1, "\ud800")}, "keyword X: expected printable ASCII"),
    ):
        with pytest.raises(tf.UsageError, match=word):
            tf.write("new.fits", {"A": [1]}, header=header)


def test_the_header_comes_back_from_every_way() -> None:
    header = tf.Header([("OBJECT", "M31", "what was seen"), ("EXPTIME", 2.5, "")])
    tf.write("k.fits", {"A": [1, 2]}, name="STARS", header=header)
    table = tf.open("k.fits")[1]
    table.write("k.parquet")
    table.write("k.arrow")
    sources = [table, table.read(), table.to_arrow(), "k.parquet", "k.arrow"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for source in sources:
            tf.write("back.fits", source, overwrite=True)
            found = tf.open("back.fits")[1].header
            assert (found["EXTNAME"], found["OBJECT"], found["EXPTIME"]) == ("STARS", "M31", 2.5)
            assert found.comments["OBJECT"] == "what was seen"
    tf.write("back.fits", "k.parquet", name="OTHER", overwrite=True)
    assert tf.open("back.fits")[1].name == "OTHER"
    foreign = table.to_arrow().replace_schema_metadata({"fits.header": "{"})
    tf.write("back.fits", foreign, overwrite=True)
    assert "OBJECT" not in tf.open("back.fits")[1].header


def test_shapes_of_arrays_in_the_heap_come_back_from_arrow() -> None:
    cells = tf.Ragged([0, 6, 6], np.arange(6.0), cell_shape=(2, 3))
    tf.write("v.fits", {"V": cells})
    tf.write("w.fits", tf.open("v.fits")[1].to_arrow())
    assert tf.open("w.fits")[1].header["TDIM1"] == tf.open("v.fits")[1].header["TDIM1"] == "(3,2)"


def test_pixel_coordinates_of_columns_survive_every_conversion() -> None:
    sky = {"TCTYP": "RA---TAN", "TCUNI": "deg", "TCRPX": 100.5, "TCRVL": 10.0, "TCDLT": -0.01,
           "TCROT": 2.0}  # fmt: skip
    header = {f"{word}2": value for word, value in sky.items()} | {"TCTYP1": "TT"}
    times = np.array(["2020-01-01T00:00:00"], "M8[s]")
    tf.write("ev.fits", {"T": times, "X": [1.0]}, header=header)
    table = tf.open("ev.fits")[1]
    assert dict(table.column("X").carried) == sky
    table.write("ev.parquet")
    read = table.to_astropy()
    assert dict(read["X"].meta) == sky
    assert "TCTYP2" not in read.meta
    with fits.open("ev.fits") as hdus:
        ways = [table, table.read(), table.to_arrow(), read, QTable(read), hdus[1]]
        for data in (*ways, read["X", "T"], "ev.parquet"):
            tf.write("new.fits", data, columns=["X", "T"], overwrite=True)
            new = tf.open("new.fits")[1].header
            assert {word: new.get(f"{word}1") for word in sky} == sky
            assert {key for key in new if key.startswith("TC") and key.endswith("2")} <= {"TCTYP2"}
            assert "COMMENT" not in new
            assert tf.open("new.fits")[1].to_astropy()["T"].scale == "tt"


def test_limits_and_archive_names_survive_every_conversion() -> None:
    header = {"TLMIN2": 0, "TLMAX2": 8.5, "TUCD2": "pos.cartesian.x", "TLMIN1": -1, "TDMAX2": 7.0}
    tf.write("ev.fits", {"N": [1, 2], "X": [1.0, 2.0]}, header=header)
    table = tf.open("ev.fits")[1]
    assert dict(table.column("X").carried) == {
        "TLMIN": 0,
        "TLMAX": 8.5,
        "TUCD": "pos.cartesian.x",
    }
    table.write("ev.parquet")
    read = table.to_astropy()
    assert dict(read["X"].meta) == dict(table.column("X").carried)
    with fits.open("ev.fits") as hdus:
        ways = [table, table.read(), table.to_arrow(), read, QTable(read), hdus[1]]
        for data in (*ways, read["X", "N"], "ev.parquet"):
            tf.write("new.fits", data, columns=["X"], overwrite=True)
            new = tf.open("new.fits")[1].header
            found = {key: new[key] for key in new if key[:5] in ("TLMIN", "TLMAX", "TUCD1")}
            assert found == {"TLMIN1": 0, "TLMAX1": 8.5, "TUCD1": "pos.cartesian.x"}
            assert "COMMENT" not in new
    # Given cards come first, and added columns have their own.
    tf.write("new.fits", read, header={"TUCD2": "meta"}, overwrite=True)
    assert tf.open("new.fits")[1].header["TUCD2"] == "meta"
    with tf.edit("new.fits") as editor:
        editor[1].add_column("Y", read["X"], before="N")
    header = tf.open("new.fits")[1].header
    assert (header["TLMAX1"], header["TUCD1"], header["TUCD3"]) == (8.5, "pos.cartesian.x", "meta")


# Tables of ours.


def test_a_table_is_copied_as_stored() -> None:
    columns = [
        fits.Column("BITS", "12X", array=np.ones((2, 12), bool)),
        fits.Column("SCALED", "I", null=-1, array=np.array([5, -1], "i2")),
        fits.Column("ARRAYS", "PJ()", array=np.array([[1], [1, 2]], object), unit="s"),
    ]
    fits.BinTableHDU.from_columns(columns, name="OLD").writeto("made.fits")
    with fits.open("made.fits", mode="update") as file:
        file[1].header["TSCAL2"] = 0.1
    table = tf.open("made.fits")[1]
    assert table["SCALED"].dtype == "f8"
    table.write("expected.fits")
    tf.write("new.fits", table)
    assert Path("new.fits").read_bytes() == Path("expected.fits").read_bytes()
    tf.write(
        "new.fits", table, columns=["SCALED", "BITS"], name="NEW", descriptions={"BITS": "flags"},
        header={"OBJECT": "M31"}, checksum=True, overwrite=True,
    )  # fmt: skip
    new = tf.open("new.fits")["NEW"]
    assert [(c.name, c.form, c.null) for c in new.columns] == [
        ("SCALED", "1I", -1),
        ("BITS", "12X", None),
    ]
    assert (new.column("BITS").description, new.header["OBJECT"]) == ("flags", "M31")
    assert "DATASUM" in new.header
    tf.write("both.fits", [(table, {"OBJECT": "M31"})])
    assert [c.form[:3] for c in tf.open("both.fits")[1].columns] == ["12X", "1I", "1PJ"]
    with pytest.raises(tf.TachyfitsError, match="'C'"):
        tf.write("no.fits", table, descriptions={"C": "none"})


def test_cells_with_new_properties_are_read_and_converted() -> None:
    tf.write("n.fits", {"N": [1, None], "OK": [True, False]})
    table = tf.open("n.fits")[1]
    tf.write("new.fits", table, nulls={"N": -5}, units={"N": "s"})
    assert of_table("new.fits", "N").null == -5
    assert of_table("new.fits", "N").unit == "s"
    tf.write("text.fits", table, columns=["N"], kind="ascii")
    assert tf.open("text.fits")[1].kind == "ascii table"
    tf.write("back.fits", tf.open("text.fits")[1])
    assert tf.open("back.fits")[1].kind == "binary table"


# Objects that are several columns.


def test_objects_are_written_as_astropy_writes_them() -> None:
    sky = SkyCoord(
        [1, 2] * u.deg, [3, 4] * u.deg, distance=[5, 6] * u.pc, obstime=Time("2020-01-01")
    )
    table = QTable({"N": [1, 2], "SC": sky, "T": Time(DAYS), "Q": [1, 2] * u.m})
    table["P"] = EarthLocation.from_geocentric([1, 2], [3, 4], [5, 6], unit="km")
    table["S"] = np.array([(1, 2.0), (3, 4.0)], [("a", "i4"), ("b", "f8")])
    table["SC"].info.description = "where it was"
    table.meta["OBJECT"] = "M31"
    before = table.colnames
    tf.write("one.fits", table)
    tf.write("two.fits", [table])
    tf.write("three.fits", Table(table), columns=["SC", "P", "S"])
    tf.write("four.fits", tf.open("one.fits")[1].to_astropy())
    assert table.colnames == before
    assert tf.open("three.fits")[1].names[:4] == ("SC.ra", "SC.dec", "SC.distance", "P.x")
    for name in ("one", "two", "three", "four"):
        found = QTable.read(f"{name}.fits", hdu=1)
        if name != "three":
            assert found.colnames == before
            assert found["Q"].unit == u.m
        assert found["SC"].separation_3d(sky).to_value("pc").tolist() == [0, 0]
        assert found["SC"].obstime == sky.obstime
        assert found["SC"].info.description == "where it was"
        assert found["P"].x.to_value("km").tolist() == [1, 2]
        assert found["S"]["b"].tolist() == [2.0, 4.0]
        assert found.meta["OBJECT"] == "M31"


def test_an_object_that_is_in_no_table_of_astropy_says_how_it_is_written() -> None:
    with pytest.raises(tf.UsageError, match="write a QTable with it"):
        tf.write("no.fits", {"SC": SkyCoord([1, 2], [3, 4], unit="deg")})


PARKES = EarthLocation.from_geodetic(148 * u.deg, -33 * u.deg, 415 * u.m)
SKY = SkyCoord([1.0] * u.deg, [3.0] * u.deg, frame="fk5")
ABOVE = AltAz(obstime=Time("2020-01-01"), location=PARKES)


@pytest.mark.parametrize(
    ("ours", "new", "attribute"),
    [
        (SKY, SKY.transform_to(FK5(equinox="J1975")), "equinox"),
        (SKY, SKY.transform_to("icrs"), "frame"),
        (
            SkyCoord(SKY.transform_to(ABOVE)),
            SKY.transform_to(AltAz(obstime=Time("2020-01-02"), location=PARKES)),
            "obstime",
        ),
    ],
)
def test_rows_in_another_frame_are_refused(
    tmp_path: Path, ours: SkyCoord, new: SkyCoord, attribute: str
) -> None:
    path = tmp_path / "objects.fits"
    other = tmp_path / "other.fits"
    tf.write(path, QTable({"C": ours}))
    tf.write(other, QTable({"C": new}))
    table = tf.open(other)[1]
    with tf.edit(path) as editor:
        for data in (QTable({"C": new}), table, table.read(), table.to_astropy()):
            with pytest.raises(
                tf.UsageError, match=rf"'C' whose {attribute} is .*\nhint: transform"
            ):
                editor[1].append(data)
        same = SkyCoord(new.transform_to(ours, merge_attributes=False).frame)
        editor[1].append(QTable({"C": same}))
        editor[1].append(tf.open(path)[1])
    sky = QTable.read(path)["C"]
    assert len(sky) == 3
    assert (sky.separation(ours) < 1e-6 * u.arcsec).all()


def test_rows_of_the_kind_that_was_written_are_appended(tmp_path: Path) -> None:
    path = tmp_path / "sky.fits"
    table = QTable({"pos": SkyCoord([1.0, 2.0], [3.0, 4.0], unit="deg"), "m": [1.0, 2.0]})
    tf.write(path, table)
    with tf.edit(path) as editor:
        editor[1].append(table)
        editor[1].insert(0, tf.open(path)[1].to_astropy()[1:])
    assert tf.open(path)[1]["pos.ra"].tolist() == [2.0, 1.0, 2.0, 1.0, 2.0]
    assert tf.open(path)[1]["m"].tolist() == [2.0, 1.0, 2.0, 1.0, 2.0]


def test_objects_get_the_descriptions_that_are_given(tmp_path: Path) -> None:
    path = tmp_path / "sky.fits"
    table = QTable({"pos": SkyCoord([1.0], [2.0], unit="deg"), "m": [1.0]})
    tf.write(path, table, descriptions={"pos": "where", "m": "how bright"})
    back = QTable.read(path)
    assert back["pos"].info.description == "where"
    assert tf.open(path)[1].column("m").description == "how bright"
    assert table["pos"].info.description is None
    with pytest.raises(tf.UsageKeyError, match="invalid descriptions: no column is named 'nope'"):
        tf.write(tmp_path / "no.fits", table, descriptions={"nope": "where"})


def test_a_column_that_has_the_name_of_a_part_is_refused(tmp_path: Path) -> None:
    table = QTable({"pos": SkyCoord([1.0], [2.0], unit="deg"), "pos.ra": [1.0]})
    with pytest.raises(tf.UsageError, match=r"are both named 'pos\.ra'"):
        tf.write(tmp_path / "no.fits", table)


def test_functions_that_astropy_does_not_document_do_what_is_expected() -> None:
    coords = SkyCoord([1.0, 2.0], [3.0, 4.0], unit="deg")
    parts = astropy_private.columns_of_mixins(QTable({"C": coords}))
    assert parts.colnames == ["C.ra", "C.dec"]
    objects = parts.meta["__serialized_columns__"]
    assert set(objects) == {"C"}
    restored = astropy_private.table_with_mixins(parts.copy())
    assert isinstance(restored["C"], SkyCoord)
    lines = astropy_private.yaml_of_columns(
        list(parts.itercols()), {"__serialized_columns__": objects}
    )
    told = astropy_private.description_of_columns(lines)
    assert [column["name"] for column in told["datatype"]] == ["C.ra", "C.dec"]
    assert set(told["meta"]["__serialized_columns__"]) == {"C"}
    with pytest.raises(ValueError, match="invalid YAML"):
        astropy_private.description_of_columns(["{"])


def test_private_functions_of_astropy_are_used_in_one_module() -> None:
    package = Path(astropy_private.__file__).parents[1]
    private = re.compile(r"astropy\S* import .*\b_\w|astropy\.table\.(meta|serialize) import")
    found = {path.name for path in package.rglob("*.py") if private.search(path.read_text())}
    assert found == {"astropy_private.py"}
