"""Unformatted Fortran files: against files made by `struct` and SciPy, both ways."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

import tachyfits as tf
from tachyfits import fortran
from tachyfits.records import parts

PREFIX = {"big": ">", "little": "<"}
LETTER = {4: "i", 8: "q"}


def record(payload: bytes, markers: int = 4, order: str = "little") -> bytes:
    """Make a record as a naive twin of the writer."""
    marker = struct.pack(PREFIX[order] + LETTER[markers], len(payload))
    return marker + payload + marker


def made(path: Path, payloads: list[bytes], markers: int = 4, order: str = "little") -> Path:
    path.write_bytes(b"".join(record(payload, markers, order) for payload in payloads))
    return path


both = pytest.mark.parametrize("order", ["big", "little"])
widths = pytest.mark.parametrize("markers", [4, 8])


@both
@widths
@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "f4", "f8", "c8", "c16", "f2"])
@pytest.mark.parametrize("length", [1, 7, 64, 5000])
def test_records_are_arrays(
    tmp_path: Path, order: str, markers: int, dtype: str, length: int
) -> None:
    values = (np.arange(40 * length) % 2000).reshape(40, length).astype(dtype)
    stored = values.astype(np.dtype(dtype).newbyteorder(PREFIX[order]))
    path = made(tmp_path / "a.dat", [row.tobytes() for row in stored], markers, order)
    file = fortran.open(path, markers, order)
    for threads in (1, 3):
        found = file.records(dtype=dtype, threads=threads)
        assert found.dtype == np.dtype(dtype)
        assert_array_equal(found, values)
    assert_array_equal(file.records(3, 20, dtype), values[3:23])
    assert_array_equal(file[-1].read(dtype), values[-1])
    assert_array_equal(np.concatenate(list(file.batches(dtype, records=40))), values)
    assert len(file) == 40
    assert len(file.index) == 1
    fortran.create(tmp_path / "b.dat", markers=markers, order=order)
    with fortran.create(tmp_path / "b.dat", markers=markers, order=order) as new:
        new.write_records(values)
    assert (tmp_path / "b.dat").read_bytes() == path.read_bytes()


@both
def test_markers_are_found_out(tmp_path: Path, order: str) -> None:
    for markers in (4, 8):
        path = made(tmp_path / "a.dat", [b"abcdefgh" * n for n in (3, 1, 100)], markers, order)
        file = fortran.open(path)
        assert (file.markers, file.order) == (markers, order)
        assert file.reason is not None
        assert "3 records checked" in file.reason
        assert len(file.evidence) == 4
        assert fortran.open(path, order=order).markers == markers


def test_ambiguous_and_other_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.dat"
    path.write_bytes(bytes(16))
    with pytest.raises(tf.FormatError, match=r"(?s)record-framing-ambiguous.*give markers=4 or 8"):
        fortran.open(path)
    assert len(fortran.open(path, 4, "big")) == 2
    path.write_bytes(b"SIMPLE  =                    T")
    with pytest.raises(tf.FormatError, match="record-framing"):
        fortran.open(path)
    path.write_bytes(b"")
    assert len(fortran.open(path)) == 0
    assert fortran.open(path).records(dtype="f8").shape == (0, 0)
    with pytest.raises(tf.IoError):
        fortran.open(tmp_path / "none.dat")


MIXED = np.dtype([("step", "i4"), ("position", "f8", 3), ("name", "S5"), ("flag", "u1")])


@both
def test_mixed_records(tmp_path: Path, order: str) -> None:
    rows = np.zeros(500, MIXED)
    rows["step"] = np.arange(500)
    rows["position"] = np.arange(1500).reshape(500, 3) / 7
    rows["name"] = [f"n{number}".ljust(5).encode() for number in range(500)]
    path = tmp_path / "a.dat"
    with fortran.create(path, order=order) as new:
        new.write_records(rows)
    stored = rows.astype(MIXED.newbyteorder(PREFIX[order]))
    assert path.read_bytes() == b"".join(record(row.tobytes(), 4, order) for row in stored)
    file = fortran.open(path)
    assert_array_equal(file.records(dtype=MIXED), rows)
    found = file.records(dtype="i4,3f8,a5,x1")
    assert found.dtype.names == ("f0", "f1", "f2")
    assert_array_equal(found["f1"], rows["position"])
    assert_array_equal(file.records(10, 5, "i4,*f8,a5,l1")["f0"], rows["step"][10:15])
    # Padding of fields in memory is not in the file.
    aligned = np.dtype([("step", "i4"), ("value", "f8")], align=True)
    pairs = np.zeros(9, aligned)
    pairs["step"], pairs["value"] = np.arange(9), np.arange(9) / 3
    with fortran.create(path, order=order, overwrite=True) as new:
        new.write_records(pairs)
    assert fortran.open(path)[0].nbytes == 12
    assert_array_equal(fortran.open(path).records(dtype=aligned), pairs)
    stats = file.stats("i4,3f8,a5,x1", field="f1")
    assert stats.max == rows["position"].max()
    assert stats.max_position == (499, 2)


@both
@pytest.mark.parametrize("items", [1, 3, 4, 7])
def test_padding_of_fields_is_not_written(tmp_path: Path, order: str, items: int) -> None:
    aligned = np.dtype([("step", "i4"), ("value", "f8")], align=True)
    rows = np.zeros((5, items), aligned)
    rows["step"] = np.arange(rows.size).reshape(rows.shape)
    rows["value"] = rows["step"] / 3
    packed = rows.astype([("step", "i4"), ("value", "f8")])
    stored = packed.astype(packed.dtype.newbyteorder(PREFIX[order]))
    path = tmp_path / "a.dat"
    whole = b"".join(record(row.tobytes(), 4, order) for row in stored)
    with fortran.create(path, order=order) as new:
        new.write_records(rows)
    assert path.read_bytes() == whole
    with fortran.create(path, order=order, overwrite=True) as new:
        for row in rows:
            new.write(row)
    assert path.read_bytes() == whole
    with fortran.create(path, order=order, overwrite=True) as new:
        new.write(np.int32(7), rows[0], 2.5)
    first = np.array([7], PREFIX[order] + "i4").tobytes()
    last = np.array([2.5], PREFIX[order] + "f8").tobytes()
    assert path.read_bytes() == record(first + stored[0].tobytes() + last, 4, order)
    path.write_bytes(whole)
    file = fortran.open(path)
    assert_array_equal(file.records(dtype=packed.dtype).reshape(rows.shape), packed)
    if items % 4:
        assert_array_equal(file.records(dtype=aligned).reshape(rows.shape), rows)
    else:
        # 48 bytes are four such items, or three with what aligns them: no guess.
        with pytest.raises(
            tf.UsageError, match=r"may hold aligned items of 16 bytes or packed items of 12 bytes"
        ):
            file.records(dtype=aligned)


@pytest.mark.parametrize("dtype", ["V0", [], "f8"])
def test_items_without_bytes_are_records_without_bytes(tmp_path: Path, dtype: Any) -> None:
    path = tmp_path / "a.dat"
    with fortran.create(path) as new:
        new.write_records(np.zeros((3, 0 if dtype == "f8" else 1), dtype))
        new.write(np.zeros(2, "V0"), np.float64(1.5), np.zeros(0))
    nothing = record(b"", 4, fortran.NATIVE)
    assert path.read_bytes() == 3 * nothing + record(np.float64(1.5).tobytes(), 4, fortran.NATIVE)


def test_kinds_of_values(tmp_path: Path) -> None:
    path = made(
        tmp_path / "a.dat",
        [struct.pack("<4i", 0, 1, -1, 256), b"hello   ", struct.pack("<2f", 1, 2), bytes(16)],
    )
    file = fortran.open(path)
    assert_array_equal(file.read("l4"), [False, True, True, True])
    assert file.read("a8")[0] == b"hello   "
    assert file.read("c8")[0] == 1 + 2j
    if np.finfo(np.longdouble).nmant == 112:
        assert file.read("f16")[0] == 0
    else:
        with pytest.raises(tf.UsageError, match="128 bits"):
            file.read("f16")
        with pytest.raises(tf.UsageError, match="128 bits"):
            file.read(np.longdouble)
        file.skip()
    with pytest.raises(EOFError, match="all 4 records were read"):
        file.read("f8")
    file.position = 1
    assert bytes(file[1]) == b"hello   "
    for wrong in ("f3", "U4", "O", "M8[s]", "?", "i4,zz", "x8", "2(i4),x8"):
        with pytest.raises(tf.UsageError, match="hint: "):
            file[1].read(wrong)
    with pytest.raises(tf.UsageError, match="not hold a whole number"):
        file[1].read([("a", "f8"), ("b", "i4")])


@pytest.mark.parametrize("kind", ["U5", ">U5", "S5"])
def test_arrays_of_text_are_characters_with_blanks(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.dat"
    names = np.array([["a", "bc"], ["", "de fg"]], kind)
    rows = np.zeros(2, [("name", kind, 2), ("inner", [("flag", "?"), ("x", ">f4")])])
    rows["name"], rows["inner"]["flag"], rows["inner"]["x"] = names, [True, False], [1.5, 2.5]
    with fortran.create(path) as new:
        new.write(names[0])
        new.write_records(names)
        new.write_records(rows)
        new.write_records(rows[:0])
    file = fortran.open(path)
    assert [bytes(record) for record in file][:3] == [b"a    bc   "] * 2 + [b"     de fg"]
    found = file.records(3, 2, "2a5,l4,f4")
    assert found["f0"][0].tolist() == [b"a    ", b"bc   "]
    assert_array_equal(found["f1"], [True, False])
    assert_array_equal(found["f2"], [1.5, 2.5])
    assert bytes(file[4])[10:14] == bytes(4)


@pytest.mark.parametrize("kind", ["S0", "U0"])
def test_text_without_width_has_no_bytes(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.dat"
    items = np.zeros(3, [("a", kind), ("b", "i4")])
    items["b"] = 1, 2, 3
    with fortran.create(path, order="little") as new:
        new.write(items)
        new.write_records(items)
        new.write_records(items["a"])
    numbers = [record(np.int32(n).tobytes()) for n in (1, 2, 3)]
    whole = record(items["b"].astype("<i4").tobytes())
    assert path.read_bytes() == whole + b"".join(numbers) + record(b"") * 3


def test_text_that_is_full_is_written_from_where_it_is() -> None:
    text = np.full(1000, b"abc\0efgh", "S8")
    assert np.shares_memory(parts.many_records(text, "F")[0], text)
    text[7] = b"short"
    written = parts.many_records(text, "F")[0].reshape(-1, 8)
    assert [written[6].tobytes(), written[7].tobytes()] == [b"abc\0efgh", b"short   "]


def test_invalid_items_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.dat"
    for wrong, match in (
        ([7, "text"], "list of text and other values"),
        ([["a", "b"], [1, 2]], "list of text and other values"),
        ([[1.0, 2.0], [3.0]], "cannot make an array"),
        ("€", "invalid character '€': expected Latin-1"),
        (np.array(["a", "€"]), "invalid character '€': expected Latin-1"),
    ):
        with pytest.raises(tf.UsageError, match=rf"(?s){match}.*hint: "):
            fortran.write(path, wrong)
        assert not path.exists()
    fortran.write(path, ["a", "bc"], (7, "text"), [np.str_("d")])
    assert [record.nbytes for record in fortran.open(path)] == [4, 12, 1]
    assert bytes(fortran.open(path)[0]) == b"a bc"


def test_shapes_are_those_of_fortran(tmp_path: Path) -> None:
    cube = np.arange(24.0).reshape(2, 3, 4)
    path = tmp_path / "a.dat"
    fortran.write(path, cube)
    file = fortran.open(path)
    assert file[0].nbytes == 192
    assert_array_equal(file[0].read("f8"), cube.ravel(order="F"))
    assert_array_equal(file[0].read("f8", shape=(2, 3, -1)), cube)
    assert_array_equal(file[0].read("f8", shape=(4, 3, 2), order="C"), cube.T)
    fortran.write(path, cube, memory="C", overwrite=True)
    assert_array_equal(fortran.open(path)[0].read("f8", shape=(2, 3, 4), order="C"), cube)
    with fortran.create(path, overwrite=True) as new:
        new.write_records(cube)
    found = fortran.open(path).records(dtype="f8", shape=(3, 4))
    assert_array_equal(found, cube)
    with pytest.raises(tf.UsageError, match="cannot have the shape"):
        file[0].read("f8", shape=(5, 5))


@given(
    lengths=st.lists(st.integers(0, 40).map(lambda n: n * 4), max_size=60),
    markers=st.sampled_from([4, 8]),
    order=st.sampled_from(["big", "little"]),
    threads=st.sampled_from([1, 2]),
)
def test_any_records_come_back(
    tmp_path_factory: pytest.TempPathFactory,
    lengths: list[int],
    markers: int,
    order: str,
    threads: int,
) -> None:
    folder = tmp_path_factory.mktemp("any")
    values = [np.arange(n // 4, dtype="i4") + n for n in lengths]
    path = folder / "a.dat"
    fortran.write(path, *values, markers=markers, order=order, threads=threads)
    stored = [v.astype(PREFIX[order] + "i4").tobytes() for v in values]
    assert path.read_bytes() == b"".join(record(v, markers, order) for v in stored)
    file = fortran.open(path, markers, order)
    for number, expected in enumerate(values):
        assert_array_equal(file[number].read("i4"), expected)
    numbers = np.concatenate([np.empty(0, "i4"), *values])
    stats = file.stats("i4", threads=threads)
    assert stats.count == len(numbers)
    assert_array_equal(stats.sum, numbers.sum() if numbers.size else np.nan)
    if lengths:
        fortran.append(path, *values[:3], markers=markers, order=order)
        again = fortran.open(path, markers, order)
        assert len(again) == len(values) + len(values[:3])
        assert_array_equal(again[-1].read("i4"), values[min(2, len(values) - 1)])
    other = "big" if order == "little" else "little"
    fortran.convert(
        path, folder / "b.dat", source_markers=markers, source_order=order,
        markers=12 - markers, order=other, forms="*i4",
    )  # fmt: skip
    turned = fortran.open(folder / "b.dat", 12 - markers, other)
    for number, expected in enumerate(values):
        assert_array_equal(turned[number].read("i4"), expected)


@both
@pytest.mark.parametrize("length", [3, 1000, 40_000, 300_000])
def test_statistics_are_those_of_the_array(tmp_path: Path, order: str, length: int) -> None:
    values = np.random.default_rng(5).normal(1e6, 3, (7, length))
    values[2, length // 2] = np.nan
    path = tmp_path / "a.dat"
    with fortran.create(path, order=order) as new:
        new.write_records(values)
    file = fortran.open(path)
    one = file.stats("f8", threads=1)
    assert one == file.stats("f8", threads=3)
    assert (one.count, one.nan) == (values.size - 1, 1)
    assert one.mean == pytest.approx(np.nanmean(values), rel=1e-14)
    assert one.std == pytest.approx(np.nanstd(values), rel=1e-9)
    assert one.min_position == np.unravel_index(np.nanargmin(values), values.shape)
    field = file.stats(f"f8,{length - 1}f8", field="f1")
    assert field.max == np.nanmax(values[:, 1:])
    bytes_ = np.array([[-3, 5, 127], [-128, 0, 1]], "i1")
    fortran.write(path, *bytes_, overwrite=True)
    small = fortran.open(path).stats("i1")
    assert (small.min, small.max, small.sum) == (-128, 127, 2)


def test_statistics_of_a_field_after_one_without_numbers(tmp_path: Path) -> None:
    path = tmp_path / "a.dat"
    fortran.write(path, (np.int32(1), 2.0), (np.int32(3), 4.0), order="big")
    file = fortran.open(path)
    for form, field in (("0i4,i4,f8", "f2"), ("i4,0i4,f8", "f2"), ("i4,f8,0f8", "f1")):
        stats = file.stats(form, field=field)
        assert (stats.count, stats.sum) == (2, 6.0)
    assert file.stats("0i4,i4,f8", field="f1").sum == 4
    assert file.stats("0i4,i4,f8", field="f0").count == 0


def test_direct_and_stream_access(tmp_path: Path) -> None:
    values = np.arange(30, dtype=">i2").reshape(10, 3)
    path = tmp_path / "a.dat"
    path.write_bytes(values.tobytes())
    file = fortran.open(path, access="direct", record_bytes=6, order="big")
    assert len(file) == 10
    assert_array_equal(file.records(dtype="i2"), values)
    whole = fortran.open(path, access="stream", order="big")
    assert_array_equal(whole[0].read("i2", shape=(3, 10)).T, values)
    direct = {"access": "direct", "record_bytes": 6, "order": "big"}
    with fortran.create(tmp_path / "b.dat", **direct) as new:
        new.write_records(values)
    assert (tmp_path / "b.dat").read_bytes() == path.read_bytes()
    with pytest.raises(tf.UsageError, match="record-length") as refused:
        fortran.write(tmp_path / "d.dat", np.zeros(4, "i2"), **direct)
    assert "pad all records to record_bytes" in str(refused.value)
    assert not (tmp_path / "d.dat").exists()
    fortran.append(path, np.zeros(3, "i2"), access="direct", record_bytes=6, order="big")
    assert path.stat().st_size == 66
    file.convert(tmp_path / "c.dat", access="sequential")
    assert_array_equal(fortran.open(tmp_path / "c.dat").records(dtype="i2"), values)
    with pytest.raises(tf.UsageError, match="record_bytes"):
        fortran.open(path, access="direct")


def test_batches_come_up_to_the_damage(tmp_path: Path) -> None:
    values = np.arange(60.0).reshape(20, 3)
    path = made(tmp_path / "a.dat", [row.tobytes() for row in values])
    damaged = bytearray(path.read_bytes())
    damaged[32 * 13 + 1] ^= 0xFF
    path.write_bytes(damaged)
    file = fortran.open(path, 4, "little")
    # Damage further on does not affect the records before it.
    assert_array_equal(file.records(2, 11, "f8"), values[2:13])
    batches = file.batches("f8", records=5)
    for first in (0, 5, 10):
        assert_array_equal(next(batches), values[first : min(first + 5, 13)])
    with pytest.raises(tf.FormatError, match="record 14"):
        next(batches)
    for count in (None, 14, 10**15):
        with pytest.raises(tf.FormatError, match="record 14"):
            fortran.open(path, 4, "little").records(0, count, "f8")


def test_batches_of_records_of_other_lengths(tmp_path: Path) -> None:
    payloads = [bytes([n]) * 8 for n in range(6)] + [bytes([n]) * 16 for n in range(6)]
    file = fortran.open(made(tmp_path / "a.dat", payloads))
    found = [batch.tobytes() for batch in file.batches(None, records=3)]
    assert found == [b"".join(payloads[first : first + 3]) for first in (0, 3, 6, 9)]
    with pytest.raises(tf.UsageError, match="records of 8 bytes"):
        list(fortran.open(file.name).batches(None, records=4))
    with pytest.raises(tf.UsageError, match="records of 8 bytes"):
        fortran.open(file.name).records(4, 4)
    with pytest.raises(tf.UsageError, match="below 12"):
        fortran.open(file.name).records(0, 13)


def test_damage_is_named_and_records_before_it_are_readable(tmp_path: Path) -> None:
    payloads = [struct.pack("<2d", n, n + 0.5) for n in range(20)]
    whole = b"".join(record(payload) for payload in payloads)
    path = tmp_path / "a.dat"
    path.write_bytes(whole[: 24 * 5 + 10])
    file = fortran.open(path)
    assert file.whole_records == 5
    with pytest.raises(tf.FormatError, match=r"record 6 \(from 1\), byte 120.*record-cut"):
        len(file)
    assert_array_equal(file.records(0, 5, "f8")[:, 0], range(5))
    with pytest.raises(tf.FormatError, match="record 6"):
        file.records(0, 6, "f8")
    with pytest.raises(tf.FormatError, match="record 6"):
        list(file)
    with pytest.raises(tf.FormatError, match="record-cut"):
        fortran.append(path, [1.0])
    damaged = bytearray(whole)
    damaged[24 * 7 + 1] ^= 0xFF
    path.write_bytes(damaged)
    with pytest.raises(tf.FormatError, match=r"record 8 \(from 1\)"):
        len(fortran.open(path))
    found = fortran.open(path, recover=True)
    assert_array_equal(found.records(dtype="f8")[:, 0], [n for n in range(20) if n != 7])
    ((first, last, why),) = found.skipped
    assert (first, last) == (168, 192)
    assert "record 8" in why
    assert path.read_bytes() == damaged


def test_precision_is_halved(tmp_path: Path) -> None:
    path = tmp_path / "a.dat"
    values = np.random.default_rng(3).normal(size=(50, 7))
    with fortran.create(path, order="big") as new:
        for row in values:
            new.write(np.int32(9), row, 1 + 2j)
            new.write("text", row)
    forms = ["i4,*f8,c16", "a4,7f8"]
    fortran.convert(path, tmp_path / "b.dat", order="little", forms=forms, precision="single")
    file = fortran.open(tmp_path / "b.dat")
    assert file.order == "little"
    for number, row in enumerate(values):
        first = file[2 * number].read("i4,7f4,c8")
        assert_array_equal(first["f1"][0], row.astype("f4"))
        assert (first["f0"], first["f2"]) == (9, 1 + 2j)
        assert_array_equal(file[2 * number + 1].read("a4,7f4")["f1"][0], row.astype("f4"))
    fortran.write(path, [1e300], overwrite=True)
    with pytest.raises(tf.UsageError, match=r"1e300 in record 0.*precision"):
        fortran.convert(path, tmp_path / "c.dat", forms="f8", precision="single")
    assert not (tmp_path / "c.dat").exists()
    with pytest.raises(tf.UsageError, match="a form of the records is needed"):
        fortran.convert(path, tmp_path / "c.dat", order="big")
    fortran.convert(path, path, markers=8, overwrite=True)
    assert fortran.open(path).markers == 8


def test_long_records_are_converted_piece_by_piece(tmp_path: Path) -> None:
    values = np.random.default_rng(3).normal(size=400_000)
    path = tmp_path / "a.dat"
    fortran.write(path, (np.int32(5), values), [1.5], order="big")
    forms = ["i4,*f8", "f8"]
    fortran.convert(path, tmp_path / "b.dat", order="little", markers=8, forms=forms)
    file = fortran.open(tmp_path / "b.dat")
    assert_array_equal(file[0].read("i4,400000f8")["f1"][0], values)
    assert file[1].read("f8") == [1.5]
    fortran.convert(path, tmp_path / "c.dat", forms=forms, precision="single")
    single = fortran.open(tmp_path / "c.dat")
    assert_array_equal(single[0].read("i4,400000f4")["f1"][0], values.astype("f4"))
    assert file.stats("i4,400000f8", count=1, field="f1").max == values.max()


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.dat"
    fortran.write(path, [1.0])
    before = path.read_bytes()

    def fails(**options: Any) -> None:
        with fortran.create(path, **options) as new:
            new.write([2.0])
            raise KeyError

    with pytest.raises(KeyError):
        fails(overwrite=True)
    with pytest.raises(KeyError):
        fails(append=True)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.dat"]
    with pytest.raises(tf.IoError, match="io-exists"):
        fortran.write(path, [1.0])


def test_scipy_reads_and_writes_the_same(tmp_path: Path) -> None:
    from scipy.io import FortranFile

    path = tmp_path / "a.dat"
    values = [np.arange(n, dtype="f8") for n in (1, 5, 1000)]
    with FortranFile(path, "w") as file:
        for array in values:
            file.write_record(array)
    found = fortran.open(path)
    for array in values:
        assert_array_equal(found.read("f8"), array)
    fortran.write(tmp_path / "b.dat", *values)
    assert (tmp_path / "b.dat").read_bytes() == path.read_bytes()


def command(*words: Any) -> int:
    from tachyfits.cli import run

    return run(["fortran", *map(str, words)])


def test_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import json

    path = tmp_path / "run.dat"
    values = np.arange(60.0).reshape(20, 3)
    fortran.write(path, *values, order="big")
    assert command("info", path) == 0
    text = capsys.readouterr().out
    assert "4-byte markers, big-endian, 20 whole records" in text
    assert "4-byte little-endian markers: at byte 0: expected" in text
    assert command("info", path, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["records"], found["order"], found["runs"][0]["bytes"]) == (20, "big", 24)
    assert command("dump", path, "--form", "*f8", "--records", "2:3") == 0
    assert capsys.readouterr().out == "2: 3.0 4.0 5.0\n3: 6.0 7.0 8.0\n"
    for name in ("a.npy", "a.csv", "a.fits"):
        assert command("dump", path, "--form", "*f8", "-o", tmp_path / name) == 0
    assert_array_equal(np.load(tmp_path / "a.npy"), values)
    assert_array_equal(np.loadtxt(tmp_path / "a.csv", delimiter=",", skiprows=1), values)
    assert_array_equal(tf.open(tmp_path / "a.fits")[0][:], values)
    folder = tmp_path / "out"
    folder.mkdir()
    other = tmp_path / "other.dat"
    fortran.write(other, [1.0], order="big")
    words = ["--form", "*f8", "--to-order", "little", "--to-markers", "8", "-o", folder]
    assert command("convert", path, other, *words) == 0
    turned = fortran.open(folder / "run.dat")
    assert (turned.markers, turned.order) == (8, "little")
    assert_array_equal(turned.records(dtype="f8"), values)
    path.write_bytes(path.read_bytes()[:-5])
    capsys.readouterr()
    assert command("info", path) == 1
    assert "record 20 (from 1)" in capsys.readouterr().err
    assert command("dump", path, "--form", "*f8") == 1
    assert "19: " in capsys.readouterr().out
    assert command("dump", path, "--form", "*f8", "--recover") == 0
    assert command("dump", tmp_path / "none.dat") == 1
    assert command("dump", path, "--access", "direct") == 2


#: Numbers of 8 bytes in a record: about 12, 256 and 1024 KiB, where the way of writing changes.
LENGTHS = [1, 1533, 1535, 1536, 32766, 32767, 32768, 131070, 131071, 131072, 131073]


@both
@pytest.mark.parametrize("length", LENGTHS)
def test_any_length_in_any_calls_is_the_same_bytes(tmp_path: Path, length: int, order: str) -> None:
    short = np.arange(6.0).reshape(3, 2)
    long = np.arange(3.0 * length).reshape(3, length)
    calls = (long, short[:1], long[:1], short, long[1:])
    with fortran.create(tmp_path / "new.dat", order=order) as file:
        for records in calls:
            file.write_records(records)
    payloads = [row.astype(f"{PREFIX[order]}f8").tobytes() for part in calls for row in part]
    expected = made(tmp_path / "expected.dat", payloads, order=order).read_bytes()
    assert (tmp_path / "new.dat").read_bytes() == expected


@both
@pytest.mark.parametrize("batch", [1, 7, 400])
def test_batches_of_any_size_and_threads_are_the_records(
    tmp_path: Path, batch: int, order: str
) -> None:
    records = np.arange(1000.0 * 512).reshape(1000, 512)
    payloads = [row.astype(f"{PREFIX[order]}f8").tobytes() for row in records]
    path = made(tmp_path / "records.dat", payloads, order=order)
    for threads in (1, 2, 5):
        batches = fortran.open(path).batches("f8", records=batch, threads=threads)
        assert_array_equal(np.concatenate([part.copy() for part in batches]), records)
