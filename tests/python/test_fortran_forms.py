"""Contents of records: forms and dtypes, empty records, statistics of parts, conversion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.lib.recfunctions import repack_fields
from numpy.testing import assert_array_equal

import tachyfits as tf
from tachyfits import fortran
from tachyfits.records import parts


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Give a file of five records of i4, 3 f8 and c8."""
    path = tmp_path / "mixed.dat"
    with fortran.create(path, order="big") as new:
        for step in range(5):
            new.write(np.int32(step), np.arange(3.0) + step, np.complex64(step + 1j))
    return path


@pytest.fixture
def headed(tmp_path: Path) -> Path:
    """Give a file of a header and records of reals, of different lengths."""
    path = tmp_path / "headed.dat"
    fortran.write(path, (np.int32(7), 0.5), *(np.arange(n + 1.0) for n in range(4)), order="big")
    return path


def test_empty_records_have_the_requested_type(mixed: Path) -> None:
    file = fortran.open(mixed)
    for found in (file.records(0, 0, "i4,3f8,c8"), file.records(5, dtype="i4,3f8,c8")):
        assert found.shape == (0,)
        assert found.dtype == file[0].read("i4,3f8,c8").dtype
    assert file.records(0, 0, np.dtype([("a", "i4"), ("b", "f8")])).shape == (0,)
    assert file.records(2, 0, "9f4", shape=(3, -1)).shape == (0, 3, 0)
    assert file.records(2, 0, "f8").dtype == np.float64
    assert file.records(2, 0, "*l4").dtype == np.bool_
    for read in (file.records, lambda first: file.stats("i4", first=first)):
        with pytest.raises(tf.UsageError, match="no record 6"):
            read(6)


def test_a_record_that_does_not_have_its_form_is_named(mixed: Path) -> None:
    file = fortran.open(mixed)
    place = r"mixed.dat: record 3 \(from 0\) of 36 bytes"
    for form, match in (
        ("i4,2f8", "does not have the form 'i4,2f8': 20 bytes"),
        ("i2,*f8", r"does not have the form 'i2,\*f8': 2 bytes and a whole number"),
        ("f8", "does not hold a whole number of float64"),
        (np.dtype("i4,f4"), "does not hold a whole number of items of"),
    ):
        for read in (file[3].read, lambda form: file.records(3, 2, form)):
            with pytest.raises(tf.UsageError, match=rf"(?s){place} {match}.*hint: file.index"):
                read(form)
    with pytest.raises(tf.UsageError, match="whole numbers of 8 bytes, two parts each"):
        file.stats("c8")


def test_statistics_of_one_item(mixed: Path) -> None:
    file = fortran.open(mixed)
    stats = file.stats("x4,3f8,x8")
    assert (stats.count, stats.max, stats.max_position) == (15, 6.0, (4, 2))
    assert file.stats("9i4").count == 45
    assert file.stats("9i4", first=5).count == 0
    with pytest.raises(tf.UsageError, match="several fields: f0, f1"):
        file.stats("i4,*f4")
    for wrong in ("*l4", "S4", "x4,8a4"):
        with pytest.raises(tf.UsageError, match="reals and complex numbers have"):
            file.stats(wrong)


def test_every_second_record(tmp_path: Path) -> None:
    path = tmp_path / "steps.dat"
    with fortran.create(path, order="big") as new:
        for step in range(6):
            new.write(np.int32(step))
            new.write(np.arange(4.0) + step)
    file = fortran.open(path)
    assert_array_equal(file.records(0, dtype="i4", step=2)[:, 0], range(6))
    values = np.arange(4.0) + np.arange(6.0)[:, None]
    assert_array_equal(file.records(1, dtype="f8", step=2), values)
    out = np.empty((2, 4))
    assert file.records(3, 2, "f8", step=4, out=out) is out
    assert_array_equal(out, values[1:5:2])
    assert file.records(1, 3, "i4,x28", step=2).shape == (3, 1)
    assert file.records(12, dtype="f8", step=2).shape == (0, 0)
    assert [record.number for record in file[1:9:3]] == [1, 4, 7]
    for wrong, match in (
        ({"step": 3}, r"records 0 and 3 \(from 0\) have 4 and 32 bytes"),
        ({"step": 2, "count": 7}, "no record 12"),
        ({"step": 0}, "invalid step 0"),
    ):
        with pytest.raises(tf.UsageError, match=match):
            file.records(0, dtype="i4", **wrong)

    def enough(*done: int) -> None:
        raise InterruptedError(done)

    with pytest.raises(InterruptedError, match=r"\(24, 24\)"):
        file.records(0, dtype="i4", step=2, progress=enough)


@pytest.mark.parametrize(
    "forms",
    [
        "i4,3f8,c8",
        np.dtype("i4,3f8,c8"),
        [("a", "i4"), ("b", "f8", 3), ("c", "c8")],
        ["i4,3f8,c8", np.dtype("i4,3f8,c8"), ...],
    ],
)
def test_forms_and_dtypes_convert(mixed: Path, tmp_path: Path, forms: Any) -> None:
    new = tmp_path / "new.dat"
    fortran.convert(mixed, new, forms=forms, order="little", precision="single")
    old, found = (fortran.open(path) for path in (mixed, new))
    assert (found.order, found[0].nbytes) == ("little", 24)
    rows, turned = old.records(dtype="i4,3f8,c8"), found.records(dtype="i4,3f4,c8")
    for name in ("f0", "f1", "f2"):
        assert_array_equal(rows[name], turned[name])


def test_a_dtype_converts_any_number_of_its_items(tmp_path: Path) -> None:
    path, new = tmp_path / "a.dat", tmp_path / "b.dat"
    aligned = np.dtype([("name", "S3"), ("value", "f8"), ("bytes", "V2")], align=True)
    rows = np.zeros((4, 3), aligned)
    rows["name"], rows["value"] = b"abc", np.arange(12).reshape(4, 3)
    packed = np.dtype([(name, aligned[name]) for name in aligned.names or ()])
    for dtype, written in ((packed, rows), (aligned, rows.view("V24"))):
        with fortran.create(path, order="little", overwrite=True) as file:
            file.write_records(written)
        fortran.convert(path, new, forms=dtype, order="big", overwrite=True)
        found = fortran.open(new)
        assert_array_equal(found.records(dtype=dtype)["value"], rows["value"])
    fortran.write(path, rows[0], rows[0, :2], overwrite=True)
    fortran.convert(path, new, forms=packed, order="big", overwrite=True)
    assert_array_equal(fortran.open(new)[1].read(packed)["value"], rows["value"][0, :2])
    fortran.write(path, rows[0], rows[0].view("V24"), overwrite=True)
    match = r"record 1 \(from 0\) has aligned or packed items of"
    with pytest.raises(tf.UsageError, match=match):
        fortran.convert(path, new, forms=aligned, order="big", overwrite=True)


def test_an_item_alone_is_any_number_in_conversion_too(headed: Path, tmp_path: Path) -> None:
    path, new = tmp_path / "a.dat", tmp_path / "b.dat"
    fortran.write(path, np.arange(3.0), np.arange(2.0), order="big")
    for forms in ("f8", np.float64, "r8", "*f8", [np.dtype("f8")]):
        fortran.convert(path, new, forms=forms, order="little", overwrite=True)
        assert_array_equal(fortran.open(new)[0].read("f8"), np.arange(3.0))
    for wrong in ("i4,f8", ["f8", "i4,f8", ...], ["f8", "*f4,f8", "3f8"]):
        with pytest.raises(tf.UsageError, match=r"headed.dat: record [012] \(from 0\)"):
            fortran.convert(headed, new, forms=wrong, order="little", overwrite=True)
    with pytest.raises(tf.UsageError, match="repeats no form"):
        fortran.convert(path, new, forms="...", order="little", overwrite=True)


@pytest.mark.parametrize("none", [None, (), []])
def test_no_forms_change_no_byte_order(headed: Path, tmp_path: Path, none: Any) -> None:
    new = tmp_path / "new.dat"
    for change in ({"order": "little"}, {"precision": "single"}):
        with pytest.raises(tf.UsageError, match="a form of the records is needed"):
            fortran.convert(headed, new, forms=none, **change)
    assert fortran.convert(headed, new, forms=none, markers=8) == 5


def test_a_header_and_the_rest(headed: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.dat"
    assert fortran.convert(headed, new, forms=["i4,f8", "f8", ...], order="little") == 5
    file = fortran.open(new)
    assert file[0].read("i4,f8").tolist() == [(7, 0.5)]
    for n in range(4):
        assert_array_equal(file[n + 1].read("f8"), np.arange(n + 1.0))
    fortran.convert(headed, new, forms=["i4,f8", "f8", "f8", "f8", "f8", "i4", ...], overwrite=True)
    assert new.read_bytes() == headed.read_bytes()


def test_a_header_and_more_than_a_million_records(tmp_path: Path) -> None:
    path, new = tmp_path / "a.dat", tmp_path / "b.dat"
    values = np.arange(3 << 19, dtype="f8").reshape(-1, 1)
    with fortran.create(path, order="big") as file:
        file.write(np.int32(7), "head")
        file.write_records(values)
    count = fortran.convert(path, new, forms=["i4,a4", "*f8", ...], order="little")
    assert count == len(values) + 1
    read = fortran.open(new, 4, "little")
    assert read[0].read("i4,a4").tolist() == [(7, b"head")]
    assert_array_equal(read.records(1, dtype="f8"), values)


def test_records_of_direct_access_get_the_length_that_they_become(tmp_path: Path) -> None:
    path, new = tmp_path / "a.dat", tmp_path / "b.dat"
    direct = {"access": "direct", "record_bytes": 36, "order": "big"}
    with fortran.create(path, **direct) as file:
        file.write_records(np.ones(3, "i4,f8,c16,f8"))
    how = {f"source_{name}": value for name, value in direct.items()}
    fortran.convert(path, new, forms="i4,f8,c16,f8", precision="single", **how)
    assert new.stat().st_size == 3 * 20
    assert fortran.open(new, access="direct", record_bytes=20, order="big")[2].nbytes == 20


@pytest.mark.parametrize("change", [{"precision": "single"}, {"order": "little"}, {}])
def test_a_direct_file_without_records_is_converted(tmp_path: Path, change: Any) -> None:
    path, new = tmp_path / "a.dat", tmp_path / "b.dat"
    path.write_bytes(b"")
    how = {"source_access": "direct", "source_record_bytes": 16, "source_order": "big"}
    assert fortran.convert(path, new, forms="f8,f8", **change, **how) == 0
    assert new.read_bytes() == b""


def test_markers_of_files_without_markers_are_refused(headed: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.dat"
    for access, more in (("direct", {"record_bytes": 4}), ("stream", {})):
        match = f"markers of 8 bytes with {access} access"
        for act in (
            lambda how: fortran.open(headed, **how),
            lambda how: fortran.create(new, **how),
            lambda how: fortran.append(headed, [1.0], **how),
            lambda how: fortran.convert(headed, new, **how),
        ):
            with pytest.raises(tf.UsageError, match=match):
                act({"access": access, "markers": 8} | more)
    assert not new.exists()


def test_a_record_of_many_derived_types(tmp_path: Path) -> None:
    item = np.dtype([("x", "f8", 3), ("id", "i4"), ("m", "f4")])
    items = np.zeros(30_000, item)
    items["x"] = np.arange(90_000).reshape(-1, 3)
    items["id"] = np.arange(30_000)
    fortran.write(tmp_path / "big.dat", items, order="big")
    assert np.array_equal(fortran.open(tmp_path / "big.dat")[0].read(item), items)
    fortran.convert(tmp_path / "big.dat", tmp_path / "little.dat", forms=[item], order="little")
    assert np.array_equal(fortran.open(tmp_path / "little.dat")[0].read(item), items)
    # However many types there are, they have as many fields as one.
    assert len(parts._kept[item, 30_000].fields) == 3
    many = np.zeros(400_000, item)
    many["m"] = np.arange(400_000)
    fortran.write(tmp_path / "more.dat", many, order="big")
    more = fortran.open(tmp_path / "more.dat")
    assert np.array_equal(more[0].read(item), many)
    stats = more.stats(item, field="m")
    assert (stats.count, stats.sum, stats.max_position) == (
        400_000,
        400_000 * 399_999 / 2,
        (0, 399_999),
    )


#: Derived types in arrays of derived types, and beside them; some have padding.
_INNER = np.dtype([("k", "i2"), ("z", "c8")])
_ALIGNED = np.dtype([("flag", "i1"), ("r", "f8", 2)], align=True)
NESTED = [
    np.dtype([("a", "i4"), ("in", _INNER, 3), ("b", "f4")]),
    np.dtype([("a", "i4"), ("in", _INNER, (50, 2)), ("b", "f4"), ("t", "S3")]),
    np.dtype([("in", _INNER, 4)]),
    np.dtype([("in", np.dtype([("x", "f8")]), 4), ("of", np.dtype([("in", _INNER, 2)]), 5)]),
    np.dtype([("al", _ALIGNED, 2), ("n", "i8")], align=True),
    np.dtype([("none", "i4", 0), ("in", _INNER, 0), ("b", "f4")]),
    np.dtype([("x", "f8")]),
]


def packed(values: np.ndarray[Any, Any], order: str) -> bytes:
    """Give the numbers one by one, as they would lie in a file without what aligns them."""
    if values.dtype.names is None:
        return np.asarray(values, values.dtype.newbyteorder(order)).tobytes()
    each = (packed(row[name], order) for row in values.reshape(-1) for name in values.dtype.names)
    return b"".join(each)


@pytest.mark.parametrize("order", ["big", "little"])
@pytest.mark.parametrize("elements", [1, 2, 7, 301])
@pytest.mark.parametrize("dtype", NESTED, ids=range(len(NESTED)))
def test_nested_types_are_their_numbers_one_by_one(
    tmp_path: Path, dtype: np.dtype[Any], elements: int, order: str
) -> None:
    random = np.random.default_rng(elements)
    values = random.integers(1, 100, elements * dtype.itemsize).astype("u1").view(dtype)
    path, copy = tmp_path / "a.dat", tmp_path / "b.dat"
    fortran.write(path, values, values, order=order)
    file = fortran.open(path, 4, order)
    assert bytes(file[0]) == packed(values, order)
    flat = np.dtype([(f"p{n}", part) for n, part in enumerate([dtype])])
    for found in (
        file[1].read(dtype),
        file.records(1, 1, dtype).reshape(-1),
        file[1].read(flat)["p0"],
    ):
        assert packed(found, "=") == packed(values, "=")
    file.convert(copy, order="little" if order == "big" else "big", forms=dtype)
    assert packed(fortran.open(copy, 4)[1].read(dtype), "=") == packed(values, "=")


def test_integers_of_16_bytes_are_swapped(tmp_path: Path) -> None:
    old, new = tmp_path / "a.dat", tmp_path / "b.dat"
    values = [2**127 - 1, -5]
    whole = b"".join(value.to_bytes(16, "big", signed=True) for value in values)
    fortran.write(old, (np.int32(1), whole), order="big")
    fortran.convert(old, new, order="little", forms="i4,*i16")
    found = fortran.open(new)[0].read("x4,2a16").tobytes()
    assert found == b"".join(value.to_bytes(16, "little", signed=True) for value in values)
    for form in ("i4,2i16", "x4,*i16"):
        with pytest.raises(tf.UsageError, match=r"(?s)no integers of 16 bytes.*V16"):
            fortran.open(old)[0].read(form)
    fortran.write(old, whole, overwrite=True)
    with pytest.raises(tf.UsageError, match=r"(?s)no integers of 16 bytes.*V16"):
        fortran.open(old).records(dtype="i16")
    with pytest.raises(tf.UsageError, match="integers of up to 8 bytes"):
        fortran.open(old).stats("i16")


def test_more_derived_types_than_a_record_has_fields_are_converted(tmp_path: Path) -> None:
    mixed = np.zeros(1_100_000, [("n", "i4"), ("x", "f8")])
    mixed["n"], mixed["x"] = np.arange(len(mixed)), np.arange(len(mixed)) / 4
    old, new = tmp_path / "a.dat", tmp_path / "b.dat"
    fortran.write(old, mixed, order="big")
    assert fortran.convert(old, new, order="little", forms=mixed.dtype) == 1
    assert np.array_equal(fortran.open(new)[0].read(mixed.dtype), mixed)


def test_fields_in_two_orders_are_not_guessed(tmp_path: Path) -> None:
    path = tmp_path / "records.dat"
    table = np.array([(1, 2.0), (3, 4.0)], [("a", "i4"), ("b", "f4")])
    turned = table[["b", "a"]]
    fortran.write(path, table)
    nested = np.dtype([("x", turned.dtype)])
    for dtype in (turned.dtype, nested):
        with pytest.raises(tf.UsageError, match=r"names, or of their offsets\nhint: .*repack"):
            fortran.open(path)[0].read(dtype)
    fortran.write(path, turned, overwrite=True)
    found = fortran.open(path)[0].read(repack_fields(nested, recurse=True))
    assert found["x"].tolist() == turned.tolist()
