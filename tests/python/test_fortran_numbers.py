"""Statistics of all numbers that Fortran has, against exact ones; real(16) as real(8)."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import tachyfits as tf
from tachyfits import fortran

both = pytest.mark.parametrize("order", ["big", "little"])


def quad(value: float | Fraction, order: Any) -> bytes:
    """Make an IEEE number of 128 bits of a normal number, rounded down."""
    sign = value < 0 or (isinstance(value, float) and math.copysign(1, value) < 0)
    if isinstance(value, float) and not math.isfinite(value):
        bits = 0x7FFF << 112 | (1 << 111 if math.isnan(value) else 0)
    elif value == 0:
        bits = 0
    else:
        magnitude = abs(Fraction(value))
        power = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
        power -= magnitude < Fraction(2) ** power
        bits = (power + 16383 << 112) + math.floor((magnitude / Fraction(2) ** power - 1) * 2**112)
    return (bits | sign << 127).to_bytes(16, order)


def slow(values: list[Any]) -> tuple[Any, ...]:
    """Give count, NaN, sum, mean, mean square and variance, one by one and exactly."""
    good = [value for value in values if value == value]
    total = sum((Fraction(value) for value in good), Fraction(0))
    squares = sum((Fraction(value) ** 2 for value in good), Fraction(0))
    n = len(good)
    variance = squares / n - (total / n) ** 2
    return n, len(values) - n, total, total / n, squares / n, variance


def compare(stats: Any, values: list[Any]) -> None:
    count, nan, total, mean, square, variance = slow(values)
    good = [value for value in values if value == value]
    assert (stats.count, stats.nan) == (count, nan)
    # Integers of 8 bytes are rounded, each by half of its last digit at most.
    off = sum(abs(value) for value in values if value == value) / 2**53
    assert stats.sum == pytest.approx(float(total), rel=1e-15, abs=off)
    assert stats.mean == pytest.approx(float(mean), rel=1e-15, abs=off / count)
    assert stats.rms == pytest.approx(math.sqrt(square), rel=1e-12)
    assert stats.std == pytest.approx(math.sqrt(variance), rel=1e-9)
    assert (stats.min, stats.max) == (float(min(good)), float(max(good)))


def numbers(kind: str, count: int) -> np.ndarray[Any, Any]:
    random = np.random.default_rng(count)
    dtype = np.dtype(kind)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        values = random.integers(info.min, info.max, count, dtype, endpoint=True)
        values[:2] = info.min, info.max
        return values
    values = random.normal(3, 200, count).astype(dtype)
    values[count // 2] = np.nan
    return values


@both
@pytest.mark.parametrize("kind", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"])
@pytest.mark.parametrize("count", [24, 3 * 4099])
def test_statistics_of_each_type(tmp_path: Path, kind: str, count: int, order: str) -> None:
    values = numbers(kind, count).reshape(3, -1)
    path = tmp_path / "a.dat"
    fortran.write(path, *values, order=order)
    file = fortran.open(path)
    stats = file.stats(kind)
    compare(stats, values.ravel().tolist())
    assert stats == file.stats(np.dtype(kind), threads=1)
    least = np.nanargmin(values)
    assert stats.min_position == np.unravel_index(least, values.shape)
    # The same of a field among others.
    row = np.dtype([("a", "i1"), ("v", kind, 4), ("b", "u1", 3)])
    rows = np.zeros(values.size // 4, row)
    rows["v"] = values.reshape(-1)[: 4 * len(rows)].reshape(-1, 4)
    with fortran.create(path, order=order, overwrite=True) as new:
        new.write_records(rows)
    compare(fortran.open(path).stats(row, field="v"), rows["v"].ravel().tolist())


@pytest.mark.parametrize("kind", ["i8", "u8", "i4", "u2"])
def test_integers_are_as_in_images(tmp_path: Path, kind: str) -> None:
    values = numbers(kind, 5000).reshape(50, 100)
    tf.write(tmp_path / "image.fits", values)
    fortran.write(tmp_path / "a.dat", *values, order="big")
    image = tf.open(tmp_path / "image.fits")[0].stats()
    records = fortran.open(tmp_path / "a.dat").stats(kind)
    assert (records.count, records.min, records.max) == (image.count, image.min, image.max)
    # Sums are added up record by record, and in an image line by line.
    slack = 1e-15 * float(np.abs(values.astype("f8")).sum())
    assert records.sum == pytest.approx(image.sum, rel=0, abs=slack)
    assert records.mean == pytest.approx(image.mean, rel=0, abs=slack / values.size)
    assert records.std == pytest.approx(image.std, rel=1e-15)


@both
@pytest.mark.parametrize("kind", ["c8", "c16"])
@pytest.mark.parametrize("lengths", [(1, 5, 9000), (70_000,), (4, 4)])
def test_complex_numbers_are_pairs(
    tmp_path: Path, kind: str, lengths: tuple[int, ...], order: str
) -> None:
    random = np.random.default_rng(9)
    records = [
        (random.normal(5, 1, n) + 1j * random.normal(-2, 3, n)).astype(kind) for n in lengths
    ]
    records[-1][1] = complex(np.nan, 1)
    records[-1][2] = complex(1, np.nan)
    path = tmp_path / "a.dat"
    fortran.write(path, *records, order=order)
    file = fortran.open(path, 4, order)
    stats = file.stats(kind)
    assert isinstance(stats, fortran.ComplexStats)
    every = np.concatenate(records)
    good = every[~np.isnan(every)].astype("c16")
    assert (stats.count, stats.nan) == (len(good), 2)
    assert stats.sum == pytest.approx(np.nansum(every.astype("c16")), rel=1e-13)
    assert stats.mean == pytest.approx(good.mean(), rel=1e-13)
    assert stats.std == pytest.approx(good.std(), rel=1e-12)
    assert stats.standard_deviation(1) == pytest.approx(good.std(ddof=1), rel=1e-12)
    assert stats.rms == pytest.approx(math.sqrt((np.abs(good) ** 2).mean()), rel=1e-12)
    assert (stats.real.min, stats.imag.max) == (good.real.min(), good.imag.max())
    assert stats == file.stats(kind, threads=1) == pickle.loads(pickle.dumps(stats))
    halves = [file.stats(kind, first=n, count=1) for n in range(len(lengths))]
    merged = halves[0]
    for half in halves[1:]:
        merged = merged.merge(half)
    assert (merged.count, merged.nan) == (stats.count, stats.nan)
    assert merged.mean == pytest.approx(stats.mean, rel=1e-14)
    for name in ("min", "max", "min_position"):
        assert not hasattr(stats, name)
        with pytest.raises(AttributeError, match=f"no order.*stats.real.{name}"):
            getattr(stats, name)


@both
def test_complex_numbers_among_others(tmp_path: Path, order: str) -> None:
    row = np.dtype([("step", "i2"), ("z", "c8", 3), ("t", "S5")])
    rows = np.zeros(2000, row)
    rows["z"] = np.arange(6000).reshape(-1, 3) * (1 - 2j)
    path = tmp_path / "a.dat"
    with fortran.create(path, order=order) as new:
        new.write_records(rows)
    file = fortran.open(path)
    of_all = [
        file.stats(row, field="z"),
        file.stats("i2,3c8,a5", field="f1"),
        file.stats("x2,3c8,x5"),
    ]
    assert of_all[0] == of_all[1] == of_all[2]
    assert of_all[0].sum == rows["z"].astype("c16").sum()
    assert of_all[0].real.max_position == (1999, 2)
    # In one record of more than a megabyte, too.
    fortran.write(path, np.resize(rows, 60_000), order=order, overwrite=True)
    long = fortran.open(path).stats(row, field="z")
    assert (long.count, long.sum) == (180_000, 30 * of_all[0].sum)
    assert long.imag.min_position == (0, 5999)


QUADS = [
    1.5,
    -0.0,
    Fraction(1, 3),
    Fraction(10**40, 7),
    math.nan,
    Fraction(-(2**60) - 1, 2**60),
    1e-300,
]


@both
def test_statistics_of_quadruple_precision(tmp_path: Path, order: str) -> None:
    path = tmp_path / "a.dat"
    fortran.write(path, *[b"".join(quad(value, order) for value in QUADS)] * 2, order=order)
    file = fortran.open(path, 4, order)
    stats = file.stats("f16")
    assert (stats.count, stats.nan) == (12, 2)
    rounded = [float(value) for value in QUADS]
    assert stats.sum == pytest.approx(2 * np.nansum(rounded), rel=1e-15)
    assert (stats.min, stats.max) == (np.nanmin(rounded), np.nanmax(rounded))
    assert stats.max_position == (0, 3)
    of_one = file.stats("x16,f16,80x1", field=None, first=0)
    assert (of_one.count, of_one.min) == (2, 0.0)
    fortran.write(
        path,
        b"".join(quad(x, order) for x in (1.5, 2.0, math.nan, 1.0)),
        order=order,
        overwrite=True,
    )
    pairs = fortran.open(path, 4, order).stats("c32")
    assert (pairs.count, pairs.nan, pairs.sum) == (1, 1, 1.5 + 2j)


@both
@pytest.mark.parametrize("new_order", ["big", "little"])
@pytest.mark.parametrize("records", [3, 200, 20_000])
def test_quadruple_becomes_double_precision(
    tmp_path: Path, records: int, order: Any, new_order: str
) -> None:
    payload = (7).to_bytes(4, order) + b"".join(quad(value, order) for value in QUADS) + b"text"
    old, new = tmp_path / "old.dat", tmp_path / "new.dat"
    with fortran.create(old, order=order) as file:
        file.write_records(np.frombuffer(payload * records, "u1").reshape(records, -1))
    assert (
        fortran.convert(old, new, order=new_order, forms="i4,*f16,a4", precision="double")
        == records
    )
    found = fortran.open(new).records(dtype="i4,*f8,a4")
    assert set(found["f0"]) == {7}
    assert_array_equal(found["f1"], [[float(value) for value in QUADS]] * records)
    assert np.signbit(found["f1"][:, 1]).all()
    # One long record, and direct access, whose records get the length that they become.
    whole = b"".join(quad(value, order) for value in QUADS) * records
    fortran.write(old, whole, order=order, access="direct", record_bytes=len(whole), overwrite=True)
    fortran.convert(
        old, new, source_access="direct", source_record_bytes=len(whole), source_order=order,
        order=new_order, forms="f16" if records % 2 else "c32", precision="double",
        overwrite=True,
    )  # fmt: skip
    double = fortran.open(new, None, new_order, "direct", len(whole) // 2)[0].read("f8")
    assert_array_equal(double, [float(value) for value in QUADS] * records)


def test_numbers_beyond_double_precision_are_refused(tmp_path: Path) -> None:
    path, new = tmp_path / "a.dat", tmp_path / "b.dat"
    for large, said in ((Fraction(2) ** 1024, "1.8e308"), (-(Fraction(2) ** 16000), "3.0e4816")):
        fortran.write(path, quad(large, "big"), order="big", overwrite=True)
        with pytest.raises(tf.UsageError, match=rf"(?s){said}.*precision.*hint"):
            fortran.convert(path, new, forms="f16", precision="double")
        assert not new.exists()
    # Infinite ones are what they were.
    fortran.write(path, quad(-math.inf, "big"), quad(math.nan, "big"), order="big", overwrite=True)
    fortran.convert(path, new, forms="f16", precision="double")
    assert_array_equal(fortran.open(new).records(dtype="f8"), [[-np.inf], [np.nan]])
    with pytest.raises(tf.UsageError, match="invalid precision 'half'"):
        fortran.convert(path, new, forms="f16", precision="half")


@pytest.mark.skipif(np.finfo(np.longdouble).nmant == 112, reason="NumPy has real(16) here")
def test_the_hint_explains_quadruple_precision(tmp_path: Path) -> None:
    path = tmp_path / "a.dat"
    fortran.write(path, quad(0.1, "little"), order="little")
    file = fortran.open(path)
    for form in ("f16", "0x8,f16", np.longdouble, "f16,0c32"):
        with pytest.raises(
            tf.UsageError,
            match=r"(?s)128 bits.*precision='double'.*stats\(\"[fc]\d+\"\).*longdouble",
        ):
            file.records(dtype=form)
    with pytest.raises(tf.UsageError, match=r"stats\(\"f16\"\)"):
        file.stats(np.longdouble)
    for item in (np.longdouble(1), np.zeros(2, np.clongdouble), np.zeros(2, [("a", "g", 2)])):
        with pytest.raises(tf.UsageError, match=r"(?s)128 bits.*hint: write array\.astype\('f8'\)"):
            fortran.write(tmp_path / "b.dat", item)
    assert not (tmp_path / "b.dat").exists()


@pytest.mark.parametrize(
    ("forms", "precision"),
    [("*i4", "double"), ("*f8", "double"), (["i4,c16,x12", "a8"], "double"), ("2f16", "single")],
)
def test_a_precision_that_changes_nothing_is_refused(
    tmp_path: Path, forms: Any, precision: str
) -> None:
    fortran.write(tmp_path / "a.dat", bytes(32), order="big")
    file = fortran.open(tmp_path / "a.dat")
    with pytest.raises(tf.UsageError, match=f"{precision} precision changes nothing.*forms"):
        file.convert(tmp_path / "b.dat", forms=forms, precision=precision)
    assert not (tmp_path / "b.dat").exists()
    assert file.convert(tmp_path / "b.dat", forms=["i4,2r8,*x1", "*i4"], precision="single") == 1


def test_numbers_of_another_length_are_refused_with_valid_sizes(tmp_path: Path) -> None:
    path = tmp_path / "a.dat"
    fortran.write(path, np.zeros(3, "i2"))
    for kind in ("f8", "c8", "f16", "u4"):
        with pytest.raises(
            tf.UsageError, match=r"(?s)whole numbers of.*of 6 bytes.*hint: use numbers of"
        ):
            fortran.open(path).stats(kind)
    for kind in ("a2", "l2", "V2", "S2", "M8[s]"):
        with pytest.raises(tf.UsageError):
            fortran.open(path).stats(kind)
