"""Reading tables: every type against plain code, row by row, and rows in any order."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import astropy.units as u
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tachyfits as tf
from fitsbytes import empty_primary, header, pad
from tablebytes import Made, big, binary_table, tables


def read_alike(found: Any, made: Made, rows: Any = slice(None)) -> None:
    """A column is what its bytes mean: type, shape, masks, and the bits of the values."""
    if isinstance(found, tf.Ragged):
        cells = [made.values[row] for row in np.arange(len(made.cells))[rows]]
        assert len(found) == len(cells)
        for cell, expected in zip(found, cells, strict=True):
            same_bits(cell, expected)
        return
    expected = made.values[rows]
    assert found.dtype.isnative
    assert found.shape == expected.shape
    nulls = np.zeros(expected.shape, bool) if made.nulls is None else made.nulls[rows]
    assert np.ma.isMaskedArray(found) == bool(nulls.any())
    np.testing.assert_array_equal(np.ma.getmaskarray(found), nulls)
    same_bits(np.ma.getdata(found)[~nulls], expected[~nulls])


def same_bits(found: np.ndarray, expected: np.ndarray) -> None:
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    if found.dtype.kind in "fc" and found.size:
        # Any NaN is as good as another where values are computed.
        part = f"f{found.dtype.itemsize // (2 if found.dtype.kind == 'c' else 1)}"
        a, b = (np.ascontiguousarray(x).view(part) for x in (found, expected))
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(np.signbit(a[a == 0]), np.signbit(b[b == 0]))
    else:
        np.testing.assert_array_equal(found, expected)


def opened(columns: list[Made], **options: Any) -> tf.Table:
    table = tf.open(binary_table(columns), **options)[1]
    assert isinstance(table, tf.Table)
    return table


@given(tables(), st.sampled_from([1, 2, 3]))
def test_every_type(columns: list[Made], threads: int) -> None:
    table = opened(columns)
    assert table.names == tuple(column.name for column in columns)
    everything = table.read(threads=threads)
    assert list(everything) == list(table.names)
    for number, made in enumerate(columns):
        read_alike(everything[made.name], made)
        read_alike(table[number], made)
        known = table.columns[number]
        if not known.is_variable:
            assert everything[made.name].dtype == known.dtype
            assert everything[made.name].shape[1:] == known.shape


@given(tables(), st.data())
def test_rows_in_any_order(columns: list[Made], data: st.DataObject) -> None:
    count = len(columns[0].cells)
    ways: list[st.SearchStrategy[Any]] = [st.slices(count)]
    if count:
        ways.append(st.lists(st.integers(-count, count - 1), max_size=20).map(np.array))
        ways.append(st.lists(st.booleans(), min_size=count, max_size=count).map(np.array))
    rows = data.draw(st.one_of(ways))
    if isinstance(rows, np.ndarray) and not rows.size:
        rows = rows.astype(int)
    found = opened(columns).read(rows=rows)
    for made in columns:
        read_alike(found[made.name], made, rows)


@given(tables(), st.integers(1, 4), st.booleans())
def test_batches_are_the_table_in_pieces(columns: list[Made], size: int, reuse: bool) -> None:
    table = opened(columns)
    first = 0
    for piece in table.batches(rows=size, reuse=reuse):
        assert piece.rows == min(size, len(table) - first)
        for made in columns:
            read_alike(piece[made.name], made, slice(first, first + piece.rows))
        first += piece.rows
    assert first == len(table)


def test_batches_share_their_memory_on_request() -> None:
    for reuse in (False, True):
        table = opened(stars())
        pieces = list(table.batches(rows=2, reuse=reuse))
        assert len(pieces) > 1
        for name in table.names:
            first, *others = (np.ma.getdata(piece[name]) for piece in pieces)
            assert all(np.shares_memory(first, other) == reuse for other in others), name


@given(tables(ragged=False))
def test_raw_values_are_those_that_are_stored(columns: list[Made]) -> None:
    table = opened(columns)
    stored = table.read(raw=True)
    for made in columns:
        values = np.ascontiguousarray(stored[made.name])
        # NumPy does not show NULs at the end of bytes.
        if values.dtype.kind == "S":
            assert values.tolist() == [cell.rstrip(b"\0") for cell in made.cells]
        else:
            assert big(values) == b"".join(made.cells)


def stars() -> list[Made]:
    names = np.array(["alpha", "beta", "gamma"])
    ra = np.array([10.0, 11.0, 12.0])
    count = np.array([1, -1, 3], "i2")
    nulls = np.array([False, True, False])
    return [
        Made("NAME", "8A", [n.encode().ljust(8) for n in names], names),
        Made("RA", "D", [big(v) for v in ra], ra, cards={"TUNIT": "deg"}),
        Made("N", "I", [big(v) for v in count], count, nulls, {"TNULL": -1}),
    ]


def test_columns_by_name_and_number() -> None:
    table = opened(stars())
    for key in ("RA", "ra", "Ra ", 1, -2, np.int64(1)):
        np.testing.assert_array_equal(table[key], [10.0, 11.0, 12.0])
    assert len(table) == 3
    assert "ra" in table
    assert "DEC" not in table
    assert list(table) == ["NAME", "RA", "N"]
    assert table.column("n").null == -1
    assert table.column("RA").unit == "deg"
    assert list(table[["N", "NAME"]]) == ["N", "NAME"]


@pytest.mark.parametrize("key", ["DEC", 3, -4, True, np.array([0.5]), int, b"N", u.Quantity(1)])
def test_missing_columns_are_named(key: Any) -> None:
    table = opened(stars())
    for found in (table.column, table.read().unit, lambda key: table.read(rows=[0]).unit(key)):
        with pytest.raises(KeyError) as caught:
            found(key)
        assert isinstance(caught.value, IndexError)
        assert "NAME, RA, N" in str(caught.value)
    if not isinstance(key, np.ndarray):
        with pytest.raises(KeyError):
            table.read(key)


def test_an_index_is_a_column_and_never_rows() -> None:
    with pytest.raises(tf.UsageError, match="rows="):
        opened(stars())[0:2]


@pytest.mark.parametrize("rows", [[3], [-4], np.array([2**63], "u8"), [0.5], [[0]], [True, False]])
def test_missing_rows_are_named(rows: Any) -> None:
    with pytest.raises(ValueError, match=r"row|mask"):
        opened(stars()).read(rows=np.asarray(rows))


@pytest.mark.parametrize(
    "rows",
    [
        2**70, [2**70], (0, 2**70), range(2**70), range(2**40), range(-9, 2), slice(1.5),
        slice("a", None), slice(0, 2, 0), [[0], 1],
    ],
)  # fmt: skip
def test_impossible_rows_are_refused_before_reading(rows: Any) -> None:
    with pytest.raises(tf.UsageError, match="row"):
        opened(stars()).read(rows=rows)


def test_masked_rows_are_refused_unless_they_are_a_mask() -> None:
    table = opened(stars())
    rows = np.ma.MaskedArray([1, 2], mask=[False, True])
    with pytest.raises(tf.UsageError, match=r"some row numbers are masked\nhint: .*compressed"):
        table.read(rows=rows)
    chosen = np.ma.MaskedArray([True, False, True], mask=[True, False, False])
    assert table.read("RA", rows=chosen)["RA"].tolist() == [12.0]


@pytest.mark.parametrize(
    "rows", [range(3), range(2, -1, -2), range(1, 2, 2**70), range(2**70, 0), slice(0, 2**70)]
)
def test_ranges_are_rows(rows: Any) -> None:
    expected = [0, 1, 2][rows] if isinstance(rows, slice) else list(rows)
    table = opened(stars())
    assert table.read("RA", rows=rows)["RA"].tolist() == table["RA"][expected].tolist()


def test_names_given_twice_have_keys_that_mean_the_same_everywhere() -> None:
    given = ["A", "a", "A_2", "", "col4"]
    content = binary_table(
        [Made(name, "J", [big(np.int32(n))], [n]) for n, name in enumerate(given)]
    )
    table = tf.open(content)[1]
    with pytest.warns(tf.TachyfitsWarning, match="a unique name|a name of its own"):
        names = table.names
    assert names == ("A", "a_2_2", "A_2", "col4_4", "col4")
    for number, key in enumerate(names):
        assert table[key].tolist() == table.read(key)[key].tolist() == [number]
        assert table.where(f"{key} == {number}").tolist() == [0]
        if key != "A":
            assert table.column(key.swapcase()).number == number
    with pytest.raises(tf.UsageError, match="columns A, a_2_2, A_2, col4_4, col4, found"):
        table.where("B == 1")


def test_cells_that_are_stored_past_the_caches_are_those_of_batches(tmp_path: Path) -> None:
    rows = 1_500_000
    counts = np.arange(rows, dtype="i8") * 2_654_435_761
    columns = {
        "K": counts,
        "U": counts.astype("u4"),
        "D": counts / 7,
        "E": (counts / 3).astype("f4"),
        "I": (counts >> 3).astype("i2"),
        "B": (counts >> 5).astype("u1"),
        "C": (counts + 1j * counts[::-1]).astype("c8"),
        "W": (counts[:, None] * np.arange(1, 6)).astype("i4"),
        "N": np.ma.MaskedArray(counts >> 7, mask=counts % 5 == 0),
        "S": (counts % 1000).astype("S3"),
    }
    path = tmp_path / "large.fits"
    tf.write(path, columns)
    with tf.edit(path) as editor:
        editor[1].header["TSCAL5"], editor[1].header["TZERO5"] = 0.5, 1.0
    with tf.open(path) as file:
        whole = file[1].read(raw=False)
        assert sum(np.ma.getdata(values).nbytes for values in whole.values()) > 64 << 20
        batches = list(file[1].batches(rows=100_003))
    for name in columns:
        parts = [batch[name] for batch in batches]
        same_bits(np.ma.getdata(whole[name]), np.concatenate([np.ma.getdata(x) for x in parts]))
        masks = np.concatenate([np.ma.getmaskarray(x) for x in parts])
        np.testing.assert_array_equal(np.ma.getmaskarray(whole[name]), masks)
    assert whole["I"][3] == columns["I"][3] * 0.5 + 1
    np.testing.assert_array_equal(whole["C"], columns["C"])


def test_warnings_point_to_the_calling_line() -> None:
    table = opened([Made("L", "L", [b"\1", b"T"], [True, True])])
    ways: list[Callable[[], Any]] = [
        table.read,
        lambda: table["L"],
        lambda: list(table.batches(rows=1)),
        lambda: list(table.batches(rows=1, where="ROW < 2")),
    ]
    for way in ways:
        with pytest.warns(tf.TachyfitsWarning, match="neither T, F nor 0") as caught:
            way()
        assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.filterwarnings("ignore::tachyfits.TachyfitsWarning")
def test_an_exactly_spelled_name_has_precedence(tmp_path: Path) -> None:
    path = tmp_path / "n.fits"
    given = ["Nn", "nN", "nn"]
    path.write_bytes(
        binary_table([Made(name, "J", [big(np.int32(n))], [n]) for n, name in enumerate(given)])
    )
    table = tf.open(path)[1]
    assert table.names == ("Nn", "nN_2", "nn_3")
    for name, number in [*zip(given, range(3), strict=True), ("NN", 0), ("NN_2", 1)]:
        assert table[name].tolist() == table.read()[name].tolist() == [number]
        assert table.read([name]).names == (table.names[number],)
        assert table.where(f"{name} == {number}").tolist() == [0]
        assert table.column(name).number == number
    with tf.edit(path) as editor:
        editor[1].append({"nn": [12], "Nn": [10], "nN": [11]})
        editor[1].update("nn", 22, rows=0)
        editor[1].delete_column("nN")
    table = tf.open(path)[1]
    assert {name: table[name].tolist() for name in ("Nn", "nn")} == {"Nn": [0, 10], "nn": [22, 12]}


def test_columns_behave_like_a_dictionary() -> None:
    columns = opened(stars()).read()
    assert list(columns) == list(columns.keys()) == ["NAME", "RA", "N"]
    assert (len(columns.items()), len(columns.values()), columns.num_columns) == (3, 3, 3)
    assert columns == {**columns}
    assert "ra" in columns
    np.testing.assert_array_equal(columns["ra"], columns[1])
    structured = columns.to_structured()
    assert structured.dtype.names == ("NAME", "RA", "N")
    assert structured["N"].tolist() == [1, None, 3]


def test_the_length_of_columns_is_that_of_the_table() -> None:
    table = opened(stars())
    bright = table.read(["RA", "N"], rows=slice(0, 2))
    assert len(bright) == len(bright["RA"]) == bright.rows == 2
    assert bright.shape == (2, 2)
    assert len(table.read()) == len(table)
    np.testing.assert_array_equal(bright[-2], bright["RA"])
    with pytest.raises(IndexError):
        bright[2]
    empty = table.read(rows=slice(0, 0))
    assert (len(empty), bool(empty), empty.num_columns) == (0, True, 3)
    assert empty.to_polars().schema == table.read().to_polars().schema


def test_a_table_shows_its_first_rows() -> None:
    table = opened(stars())
    text = repr(table)
    for word in ("3 rows of 3 columns", "NAME", "[deg]", "alpha", "--"):
        assert word in text
    assert "<td" in table._repr_html_()
    table.file.close()
    assert "closed" in repr(table)


def test_a_table_with_many_rows_shows_ten() -> None:
    values = np.arange(1000)
    table = opened([Made("N", "K", [big(v) for v in values], values)])
    assert "... 990 more rows" in repr(table)
    assert "... 990 more rows" in repr(table.read())


def test_tables_pickle_as_their_file(tmp_path: Path) -> None:
    path = tmp_path / "stars.fits"
    path.write_bytes(binary_table(stars()))
    table = pickle.loads(pickle.dumps(tf.open(path)[1]))
    np.testing.assert_array_equal(table["RA"], [10.0, 11.0, 12.0])


def test_a_closed_table_is_refused() -> None:
    table = opened(stars())
    table["RA"]
    table.file.close()
    with pytest.raises(tf.UsageError, match="closed"):
        table["RA"]


def test_progress_and_cancelling(tmp_path: Path) -> None:
    values = np.arange(2_000_000)
    path = tmp_path / "long.fits"
    content = binary_table([Made("N", "K", [], values)], rows=0)
    # The rows at once: one by one would take long.
    rows = f"NAXIS2  = {len(values):>20}".encode()
    header = content.replace(b"NAXIS2  =                    0", rows)
    data = big(values)
    path.write_bytes(header + data + bytes(-len(data) % 2880))
    table = tf.open(path)[1]
    told: list[tuple[int, int]] = []
    with tf.reports() as reports:
        found = table.read("N", progress=lambda done, total: told.append((done, total)))
    np.testing.assert_array_equal(found["N"], values)
    assert told[-1][0] == told[-1][1]
    assert reports[0].bytes >= 8 * len(values)


def test_rows_missing_from_a_file_cut_short_are_named_and_the_others_readable() -> None:
    content = binary_table(stars())
    cut = content[: len(content) - 2880 + 18 + 5]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = tf.open(cut)[1]
    assert table.rows_present == 1
    assert table.read(rows=[0])["NAME"].tolist() == ["alpha"]
    with pytest.raises(tf.FormatError, match="row"):
        table.read()
    assert "3 rows" in repr(table)


def test_storages_and_threads_give_the_same(tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    values = random.integers(-(2**31), 2**31, 30_000).astype("i4")
    path = tmp_path / "many.fits"
    path.write_bytes(binary_table([Made("N", "J", [big(v) for v in values], values)]))
    rows = random.integers(0, len(values), 5000)
    for storage in ("auto", "pread", "mmap", "direct"):
        for threads in (1, 4):
            table = tf.open(path, storage=storage)[1]
            np.testing.assert_array_equal(table.read(threads=threads)["N"], values)
            np.testing.assert_array_equal(table.read(rows=rows, threads=threads)["N"], values[rows])


def conditions() -> list[tuple[str, Any]]:
    """A condition, and what it means to NumPy; nothing undefined matches."""
    return [
        ("N > 3", lambda n, x, s: n > 3),
        ("N != 3 && X < 0.5", lambda n, x, s: (n != 3) & (x < 0.5)),
        ("S == 'b' || !(X >= 0.5)", lambda n, x, s: (s == "b") | (x < 0.5)),
        ("isnull(X)", lambda n, x, s: np.isnan(x)),
        ("ROW <= 5", lambda n, x, s: np.arange(len(n)) < 5),
        ("abs(N) == 2 && S >= 'b'", lambda n, x, s: (abs(n) == 2) & (s >= "b")),
    ]


@pytest.mark.parametrize(("text", "meaning"), conditions(), ids=[c[0] for c in conditions()])
def test_rows_by_condition(text: str, meaning: Any, tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    n = random.integers(-5, 6, 400).astype("i2")
    x = np.where(random.random(400) < 0.1, np.nan, random.random(400))
    s = random.choice(["a", "b", "c"], 400)
    path = tmp_path / "rows.fits"
    tf.write(path, {"N": n, "X": x, "S": s})
    table = tf.open(path)[1]
    with np.errstate(invalid="ignore"):
        mask = meaning(n.astype(int), x, s)
        if "!" in text.replace("!=", ""):
            # An undefined value makes the comparison false, and its opposite true.
            mask = mask | np.isnan(x)
    expected = np.flatnonzero(mask)
    assert table.where(text).tolist() == expected.tolist()
    np.testing.assert_array_equal(table.read("N", where=text, threads=3)["N"], n[expected])
    backwards = np.arange(399, -1, -1)
    assert table.where(text, rows=backwards).tolist() == expected[::-1].tolist()
    inside = expected[(expected >= 100) & (expected < 200)]
    assert table.where(text, rows=slice(100, 200)).tolist() == inside.tolist()
    pieces = [piece["N"] for piece in table.batches("N", where=text, rows=7)]
    assert all(len(piece) == 7 for piece in pieces[:-1])
    np.testing.assert_array_equal(np.concatenate([n[:0], *pieces]), n[expected])


@pytest.mark.parametrize("text", ["DEC > 1", "RA >", "NAME > 3", "RA == 'x'", "", "VAR > 1"])
def test_invalid_conditions_are_refused(text: str) -> None:
    with pytest.raises(tf.UsageError) as caught:
        opened(stars()).where(text)
    assert "\nhint: " in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected", "hint"),
    [
        ("Z == 1", "numbers that are not complex", "give their numbers"),
        ("V[1] > 1", "values are in the rows", "give their numbers"),
        ("D == 'a'", "a column of single strings", "give their numbers"),
        ("W > 1", r"one element: W\[1\] to W\[3\]", "count elements from 1"),
        ("S[3] == 'a'", r"one element: S\[1\] to S\[2\]", "count elements from 1"),
        ("W[0] > 1", "the number of an element, from 1", "correct"),
        ("W[1,2] > 1", '"]"', "in one number"),
        ("mean(W) > 1", "the name of a function", "row by row"),
    ],
)
def test_conditions_on_arrays_have_a_hint(text: str, expected: str, hint: str) -> None:
    columns = [
        Made("Z", "C", [big(np.complex64(1))], None),
        Made("V", "PJ", [big(np.array([0, 0], "i4"))], None),
        Made("D", "4A:SSTR2/032", [b"a b\0"], None),
        Made("W", "3J", [big(np.arange(3, dtype="i4"))], None),
        Made("S", "4A2", [b"a b "], None),
    ]
    table = opened(columns)
    with pytest.raises(tf.UsageError, match=rf"(?s)expected.*{expected}.*\nhint:.*{hint}"):
        table.where(text)
    assert table.where("W[2] == 1 && S[2] == 'b'").tolist() == [0]


@pytest.mark.parametrize("width", [1, 6, 8, 11, 16, 20])
@pytest.mark.parametrize("null", [None, "*", "-7"])
def test_integers_as_text_however_they_are_written(width: int, null: str | None) -> None:
    """Pieces that hold the usual text, with others among them that hold a field of another kind."""
    rng = np.random.default_rng(width)
    numbers = rng.integers(1 - 10 ** min(width - 1, 18), 10 ** min(width, 18), 3000)
    texts = [str(number).rjust(width) for number in numbers]
    for row, text in {700: "+5", 701: "8", 1500: "", 2999: "007"}.items():
        if len(text) <= width:
            texts[row] = text.ljust(width)
    if null is not None and len(null) <= width:
        texts[1100] = null.ljust(width)
        texts[1101] = null.ljust(width)
    cards = [("XTENSION", "TABLE"), ("BITPIX", 8), ("NAXIS", 2), ("NAXIS1", width + 2)]
    cards += [("NAXIS2", 3000), ("PCOUNT", 0), ("GCOUNT", 1), ("TFIELDS", 1), ("TTYPE1", "N")]
    cards += [("TBCOL1", 2), ("TFORM1", f"I{width}")]
    cards += [("TNULL1", null)] if null is not None else []
    data = "".join(f"|{text}|" for text in texts).encode()
    table = tf.open(empty_primary() + header(cards) + pad(data, b" "))[1]
    found = table.read("N")["N"]
    is_null = np.array([null is not None and text.rstrip() == null for text in texts])
    assert np.ma.getmaskarray(found).tolist() == is_null.tolist()
    expected = [
        0 if null else int(text.strip() or 0) for text, null in zip(texts, is_null, strict=True)
    ]
    assert np.ma.getdata(found).tolist() == expected
