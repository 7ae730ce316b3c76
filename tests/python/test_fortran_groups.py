"""Groups in the forms of Fortran records: against their items written again and again."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import tachyfits as tf
from tachyfits import fortran
from tachyfits.records import forms, layouts
from tachyfits.records.numbers import numbers_of_form

_TYPES = ("i1", "i2", "i4", "f4", "r8", "f8", "c8", "c16", "l4", "a3", "x5")


def written_out(form: str) -> list[str]:
    """Give the elements of a form: what is in parentheses is written as often as it is there."""
    form = form.replace(" ", "")
    group = re.compile(r"(\d*)\(([^()]*)\)")
    while found := group.search(form):
        inside = ",".join([found[2]] * int(found[1] or 1))
        form = f"{form[: found.start()]}{inside}{form[found.end() :]}"
    counted = (re.fullmatch(r"(\d*)([a-z]\d+)", item) for item in form.split(",") if item)
    return [item[2].replace("r", "f") for item in counted if item for _ in range(int(item[1] or 1))]


def one_by_one(form: str, record: bytes, order: str, *, single: bool = False) -> list[Any]:
    """Read the elements of a record one after the other."""
    values: list[Any] = []
    at = 0
    for item in written_out(form):
        letter, size = item[0], int(item[1:])
        if single and item in ("f8", "c16"):
            size //= 2
        one = record[at : at + size]
        at += size
        if letter == "x":
            continue
        if letter == "a":
            values.append(one.rstrip(b"\0"))
            continue
        kind = "i" if letter == "l" else letter
        value = np.frombuffer(one, f"{'>' if order == 'big' else '<'}{kind}{size}")[0]
        values.append(bool(value) if letter == "l" else value)
    assert at == len(record)
    return values


def flat(values: Any) -> list[Any]:
    """Give the values of an array in order, those of derived types in it too."""
    values = np.asarray(values)
    if values.dtype.names is None:
        return list(values.reshape(-1))
    return [
        value
        for row in values.reshape(-1)
        for name in values.dtype.names
        for value in flat(row[name])
    ]


def same(found: list[Any], expected: list[Any]) -> bool:
    """Say whether values are the same, NaN being itself."""
    return len(found) == len(expected) and all(
        a == b or (a != a and b != b) for a, b in zip(found, expected, strict=True)
    )


def grouped(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Give groups of some items."""
    counts, lists = st.sampled_from(("", "1", "2", "5")), st.lists(inner, min_size=1, max_size=4)
    return st.builds(lambda count, items: f"{count}({', '.join(items)})", counts, lists)


ITEMS = st.builds(
    "{}{}".format, st.sampled_from(("", "", "1", "3")), st.sampled_from(sorted(_TYPES))
)
#: After other items a group is never alone, and never fills the record.
FORMS = st.recursive(ITEMS, grouped, max_leaves=12).map("i2,i4,{}".format)


def size_of(form: str) -> int:
    return sum(int(item[1:]) for item in written_out(form))


@settings(max_examples=150)
@given(
    form=FORMS, order=st.sampled_from(("big", "little")), count=st.integers(1, 4), data=st.data()
)
def test_groups_are_their_items_again_and_again(
    tmp_path_factory: pytest.TempPathFactory, form: str, order: str, count: int, data: st.DataObject
) -> None:
    size = size_of(form)
    records = [data.draw(st.binary(min_size=size, max_size=size)) for _ in range(count)]
    folder = tmp_path_factory.mktemp("groups")
    path, new, back = (folder / name for name in ("a.dat", "b.dat", "c.dat"))
    other = "little" if order == "big" else "big"
    fortran.write(path, *records, order=order)
    file = fortran.open(path, 4, order)
    rows = file.records(dtype=form)
    file.convert(new, forms=form, order=other)
    turned = fortran.open(new, 4, other)
    for number, record in enumerate(records):
        expected = one_by_one(form, record, order)
        assert same(flat(file[number].read(form)), expected)
        assert same(flat(rows[number]), expected)
        assert same(flat(turned[number].read(form)), expected)
    turned.convert(back, forms=form, order=order)
    assert back.read_bytes() == path.read_bytes()


@pytest.mark.parametrize("many", [1, 400, 30_000])
@pytest.mark.parametrize("inner", ["f8,c16,x3,2(i4,2f8),i2", "i2,3(f8,2(c16,i4))"])
def test_groups_are_narrowed(tmp_path: Path, many: int, inner: str) -> None:
    form = f"i4,{many}({inner}),f8"
    items = written_out(form)
    values = np.random.default_rng(many).standard_normal(len(items)) * 100
    record = b"".join(
        bytes(3) if item == "x3" else np.full(1, value).astype(f">{item}").tobytes()
        for item, value in zip(items, values, strict=True)
    )
    path, new = tmp_path / "a.dat", tmp_path / "b.dat"
    fortran.write(path, record, order="big")
    fortran.convert(path, new, forms=form, precision="single", order="little")
    narrow = form.replace("f8", "f4").replace("c16", "c8")
    single = {np.dtype("f8"): np.float32, np.dtype("c16"): np.complex64}
    expected = [single.get(x.dtype, x.dtype.type)(x) for x in one_by_one(form, record, "big")]
    assert same(one_by_one(narrow, bytes(fortran.open(new, 4, "little")[0]), "little"), expected)


@pytest.mark.parametrize(
    "form", ["a1,3(4(f8,40000i2,x1),i4)", "(9(2f8,i2),150000i2)", "90000(2(f8,i2),i4)"]
)
def test_groups_of_long_records(tmp_path: Path, form: str) -> None:
    # Items of more than 256 kB, which are converted separately, and many short ones.
    record = np.random.default_rng(7).bytes(size_of(form) + 1)[: size_of(form)]
    path, new, back = (tmp_path / name for name in ("a.dat", "b.dat", "c.dat"))
    fortran.write(path, record, record, order="big")
    fortran.convert(path, new, forms=form, order="little")
    expected = one_by_one(form, record, "big")
    assert same(one_by_one(form, bytes(fortran.open(new)[1]), "little"), expected)
    assert same(flat(fortran.open(path)[1].read(form)), expected)
    fortran.convert(new, back, forms=form, order="big")
    assert back.read_bytes() == path.read_bytes()


def test_a_group_is_an_array_of_derived_types(tmp_path: Path) -> None:
    path = tmp_path / "a.dat"
    points = np.zeros(1000, [("f0", "f8", 3), ("f1", "i4")])
    points["f0"], points["f1"] = np.arange(3000).reshape(-1, 3), np.arange(1000)
    fortran.write(path, (np.int32(7), points), points, order="big")
    file = fortran.open(path)
    found = file[0].read("i4,1000(3f8,i4)")[0]
    assert found["f0"] == 7
    assert found["f1"].dtype == points.dtype
    assert_array_equal(found["f1"], points)
    # Alone it is an array, and without a count it fills the record, as any item.
    for form in ("1000(3f8,i4)", "(3f8,i4)", "*(3f8,i4)", " (3f8 , i4 ) "):
        assert_array_equal(file[1].read(form), points)
        assert file.records(1, 1, form).shape == (1, 1000)
        assert file.records(2, 0, form).dtype == points.dtype
    halves = file[1].read("500(3f8,i4),500(3f8,i4)")
    assert_array_equal(halves["f1"][0], points[500:])
    rest = file[0].read("i4,*(3f8,i4)")
    assert_array_equal(rest["f1"][0], points)
    # With one item it is a derived type, too.
    assert file[1].read("1000(x24,i4)").dtype.names == ("f0",)
    none = file.records(2, 0, "i4,9(f8,i4)")
    assert (none.shape, none.dtype["f1"].shape) == ((0,), (9,))


def test_logical_values_and_gaps_in_groups(tmp_path: Path) -> None:
    path = tmp_path / "a.dat"
    fortran.write(path, np.array([(1.5, 0), (2.5, 5)], "f8,i4"))
    record = fortran.open(path)[0]
    assert record.read("x12,(f8,l4)").tolist() == [(2.5, True)]
    assert record.read("2(x8,l4)")["f0"].tolist() == [False, True]
    nested = record.read("f8,(l4,2(a1,x1,l4))")
    assert flat(nested) == [1.5, False, b"", False, b"\x04", True]
    assert record.read("(x4),x4,2(x2),f8,x4").dtype == np.float64


def test_faults_of_a_form_name_their_position(tmp_path: Path) -> None:
    path = tmp_path / "a.dat"
    fortran.write(path, np.zeros(10))
    record = fortran.open(path)[0]
    for form, match in (
        ("i4,3(f8,zz)", r'"zz" at character 9 of "i4,3\(f8,zz\)"'),
        ("3(f8,i4", 'a \\) for each \\(, found "\\(" at character 2'),
        ("2(i4,*f8)", "outside groups"),
        ("f8)", "expected a dtype or a form"),
        ("(" * 17 + "f8" + ")" * 17, "at most 16 deep"),
        ("2(f8,i4)", "does not have the form '2\\(f8,i4\\)': 24 bytes"),
        ("*(f8,i4)", "whole number of repeats of \\*"),
        ("20(x4)", "skips all items"),
        ("9999999999(9999999999f8)", "fewer than 2\\^60 bytes"),
    ):
        with pytest.raises(tf.UsageError, match=match):
            record.read(form)
        with pytest.raises(tf.UsageError, match=match if "nothing" not in match else "to reduce"):
            fortran.open(path).stats(form, field="f0")
    # NumPy's own shapes stay NumPy's.
    assert record.read("(2,5)f8").shape == (10,)
    assert record.read("f8,(3,3)f8")["f1"].shape == (1, 3, 3)


def test_more_fields_than_there_may_be_are_refused_before_they_are_made() -> None:
    layout = layouts.layout
    form, size = "1100(1100(1100(i1,i2),i1),i1)", 1100 * (1100 * (1100 * 3 + 1) + 1)
    with pytest.raises(tf.UsageError, match="of 2421101 fields is too long"):
        layout(form, size)
    # However many of one there are, it is one.
    assert len(layout("1000000(3f8,i4)", 28_000_000).fields) == 2
    assert len(layout("1000(1000(f4,f8)),i4", 12_000_004).fields) == 3


@pytest.mark.parametrize(
    "form",
    ["i4,*f8", "200000000f8,200000000f8", "i4,150000000(f8,f8)", "f4,2(100000000(f8,f8),i4)"],
)
def test_items_that_no_dtype_holds_are_refused(form: str) -> None:
    with pytest.raises(tf.UsageError, match=r"(?s)a dtype of NumPy's has at most.*x4,\*f8"):
        layouts.layout(form, 3 * 2**30 + 4 if "*" in form else forms.least_bytes(form))
    assert layouts.layout("x4,*f8", 3 * 2**30 + 4).elements == 3 * 2**27


def test_statistics_of_an_item_in_groups(tmp_path: Path) -> None:
    path = tmp_path / "a.dat"
    inner = np.dtype([("f0", "f8"), ("f1", "c8")])
    outer = np.dtype([("f0", "i4"), ("f1", inner, 4), ("f2", "f4", 2)])
    values = np.zeros((3, 5), outer)
    values["f0"] = np.arange(15).reshape(3, 5)
    values["f2"] = np.arange(30).reshape(3, 5, 2)
    values["f1"]["f0"] = np.arange(60).reshape(3, 5, 4)
    with fortran.create(path, order="big") as new:
        new.write_records(values)
    file = fortran.open(path)
    for dtype in ("5(i4,4(f8,c8),2f4)", "(i4,4(f8,c8),2f4)", outer):
        stats = file.stats(dtype, field="f0")
        assert (stats.count, stats.sum, stats.max_position) == (15, 105.0, (2, 4))
        stats = file.stats(dtype, field="f2")
        assert (stats.count, stats.max, stats.max_position) == (30, 29.0, (2, 9))
        said = rf"^{re.escape(str(path))}: (no field is named '|.*reals and complex numbers have)"
        for wrong in ("f1", "f1.f2", "f3", "f0.f0", "f1."):
            with pytest.raises(tf.UsageError, match=f"(?s){said}"):
                file.stats(dtype, field=wrong)
        stats = file.stats(dtype, field="f1.f0")
        assert (stats.count, stats.max, stats.max_position) == (60, 59.0, (2, 19))
        with pytest.raises(tf.UsageError, match="choose one"):
            file.stats(dtype)
    # Of one group of several, in steps of its own.
    one = file.stats("(i4,4(f8,c8),2f4),*i1", field="f0.f1.f0")
    assert (one.count, one.max, one.max_position) == (12, 43.0, (2, 3))


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ("7(i4,3(f8,i2),i4)", "f1.f0"),
        ("3(i4,7(f8,i2),i4)", "f1.f0"),
        ("2(i4,3(i2,4(i2,5f8),i2))", "f1.f1.f1"),
        ("5(i4,2(i2,3(i2,f8)),i4)", "f1.f1.f1"),
        ("2(i4,5(i2,3(i2,f8)),i4)", "f1.f1.f1"),
        ("2(i4,3(i2,5(i2,f8)),i4)", "f1.f1.f1"),
        ("i4,2(i4,3(c16,i2)),a3", "f1.f1.f0"),
        ("i4,2(i4,3(a3,2f4))", "f1.f1.f1"),
        # Records and derived types that are long.
        ("2(i4,3(100000(f8,i2),i4))", "f1.f0.f0"),
        ("3(i4,60000(f8,i2),i4)", "f1.f0"),
        ("60000(i4,3(f8,i2),i4)", "f1.f0"),
        ("3(i4,2(50000f8,i2),i4)", "f1.f0"),
    ],
)
def test_statistics_of_groups_in_groups_are_those_of_the_array(
    form: str, field: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.dat"
    record_bytes = forms.least_bytes(form)
    rng = np.random.default_rng(7)
    with fortran.create(path, order="big") as new:
        for _ in range(3):
            new.write(rng.bytes(record_bytes))
    file = fortran.open(path)
    values = file.records(dtype=form)
    dtype = values.dtype
    for name in field.split("."):
        values = values[name]
    values = values.reshape(3, -1)
    parts = values[..., np.newaxis]
    if values.dtype.kind == "c":
        parts = np.stack([values.real, values.imag], axis=-1)
        parts[np.isnan(values)] = np.nan
    assert np.isfinite(parts).any()
    for kind in (form, dtype):
        for threads in (1, 2):
            found = file.stats(kind, field=field, threads=threads)
            of_parts = [found.real, found.imag] if values.dtype.kind == "c" else [found]
            for number, stats in enumerate(of_parts):
                known = parts[..., number]
                assert stats.count + stats.nan == known.size
                assert (stats.min, stats.max) == (np.nanmin(known), np.nanmax(known))
                assert stats.min_position == np.unravel_index(np.nanargmin(known), known.shape)
                assert stats.max_position == np.unravel_index(np.nanargmax(known), known.shape)
                assert stats.nan == np.isnan(known).sum()


def test_statistics_of_nested_dtypes_that_are_aligned(tmp_path: Path) -> None:
    inner = np.dtype([("a", "i2"), ("x", "f8")], align=True)
    outer = np.dtype([("n", "i1"), ("g", inner, (2, 3)), ("z", "f4")], align=True)
    rows = np.zeros((4, 5), outer)
    rows["g"]["x"] = np.arange(120.0).reshape(4, 5, 2, 3)
    rows["z"] = -1
    path = tmp_path / "a.dat"
    # As memory has them, and without what aligns them.
    for write in (lambda new: new.write_records(rows.view("V1").reshape(4, -1)),
                  lambda new: new.write_records(rows)):  # fmt: skip
        with fortran.create(path, overwrite=True) as new:
            write(new)
        stats = fortran.open(path).stats(outer, field="g.x")
        assert (stats.count, stats.sum) == (120, 7140.0)
        assert (stats.max, stats.max_position) == (119.0, (3, 29))
        assert fortran.open(path).stats(outer, field="z").sum == -20.0


@pytest.mark.parametrize(
    ("form", "field"),
    [
        ("2(i4,3(0f8,i4))", "f1.f0"),
        ("32a1,0(i4,(i8,0f4))", "f1.f1.f0"),
        ("4(i8,0(i4,2(f4,i4)))", "f1.f1.f0"),
    ],
)
def test_statistics_of_empty_groups_count_nothing(tmp_path: Path, form: str, field: str) -> None:
    path = tmp_path / "a.dat"
    fortran.write(path, np.arange(8, dtype="i4"))
    stats = fortran.open(path).stats(form, field=field)
    assert (stats.count, stats.max_position) == (0, None)
    assert np.isnan(stats.sum)


def test_statistics_of_too_many_groups_in_groups_are_refused() -> None:
    form = "1000(i4,1100(f4,i4))"
    found = numbers_of_form(form, forms.least_bytes(form), "f1.f0")
    assert len(found.places or ()) == 1000
    form = "1100(i4,1100(f4,1100(i4,f4)))"
    with pytest.raises(tf.UsageError, match="too long for a structured array"):
        numbers_of_form(form, forms.least_bytes(form), "f1.f1.f1")
