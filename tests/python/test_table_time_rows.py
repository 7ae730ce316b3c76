"""Rows with times that a table gets: of its time scale and place, or refused."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.coordinates import EarthLocation
from astropy.io import fits
from astropy.table import Table
from astropy.time import Time
from astropy.wcs import WCS

import tachyfits as tf
from tachyfits.table.metadata import time_reference

pytestmark = pytest.mark.once

EXACT = Time([58000.123456789012], format="mjd", scale="tdb")
PARANAL = EarthLocation.from_geocentric(1946404.3, -5467644.3, -2642728.2, unit="m")
ELSEWHERE = EarthLocation.from_geocentric(1.0, 2.0, 6378000.0, unit="m")
DIFFERING = EarthLocation.from_geocentric([1.0, 2.0, 3.0], [0.5] * 3, [6.4e6] * 3, unit="m")
DAYS = ["2020-01-01T01:02:03.123456", "2021-01-01T00:00:00", "2022-01-01T00:00:00"]
HERE = {"OBSGEO-X": 1946404.3, "OBSGEO-Y": -5467644.3, "OBSGEO-Z": -2642728.2}
TEXT = ["2020-01-01T00:00:00.000"]


def test_rows_of_another_scale_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "times.fits"
    with pytest.raises(tf.UsageError, match=r"'A'.*TDB.*TCTYP1 is UTC"):
        tf.write(path, {"A": EXACT}, header={"TCTYP1": "UTC"})
    tf.write(path, {"A": EXACT.tt}, header={"TIMESYS": "TDT"})
    with tf.edit(path) as editor:
        rows = editor[1]
        for change in (lambda: rows.append({"A": EXACT}), lambda: rows.update("A", EXACT)):
            with pytest.raises(tf.UsageError, match=r"TCTYP1 is TT\nhint.*times.tt"):
                change()
        rows.append({"A": EXACT.tt})
        rows.add_column("B", Time(["2026-01-01", "2026-01-02"], scale="tt"))
    assert len(tf.open(path)[1]) == 2
    tf.write(path, {"A": ["2026-01-01"]}, overwrite=True)
    with (
        pytest.raises(tf.UsageError, match="UTC, because it has no TIMESYS"),
        tf.edit(path) as editor,
    ):
        editor[1].append({"A": EXACT})


@pytest.mark.parametrize(
    ("rows", "header"),
    [
        ({"A": TEXT}, {"TIMESYS": "TDT"}),
        ({"A": np.ma.array(["", *TEXT], mask=[True, False])}, {"TIMESYS": "TT"}),
        ({"A": [1.0]}, {"TIMESYS": "TT", "TRPOS1": "GEOCENTER"}),
        ({"A": [1.0]}, {"TIMESYS": "UTC", "TCTYP1": "TT"}),
    ],
)
def test_rows_of_a_table_that_states_another_scale_are_refused(
    tmp_path: Path, rows: dict[str, Any], header: dict[str, Any]
) -> None:
    path = tmp_path / "times.fits"
    tf.write(path, {"A": rows["A"]}, header={"TIMESYS": "UTC"})
    tf.write(tmp_path / "rows.fits", rows, header=header)
    table = tf.open(tmp_path / "rows.fits")[1]
    with tf.edit(path) as editor:
        for data in (table, table.read(), table.to_arrow(), table.to_astropy()):
            with pytest.raises(
                tf.UsageError,
                match=r"'A': times of the scale T(D?)T, where TIMESYS is UTC\nhint: make times "
                r'of them first: Time\(values, scale="tt"\).utc',
            ):
                editor[1].append(data)
        # Arrays alone have no scale.
        editor[1].append({"A": table["A"]})
    assert len(tf.open(path)[1]) == 2 * len(rows["A"])


def test_a_scale_is_that_of_times_alone(tmp_path: Path) -> None:
    path, rows = tmp_path / "times.fits", tmp_path / "rows.fits"
    columns = {"NAME": ["2020-A"], "N": [1], "TIME": [1.0]}
    tf.write(path, columns, header={"TIMESYS": "UTC"}, units={"TIME": "m"})
    tf.write(rows, columns, header={"TIMESYS": "TDB"}, units={"TIME": "m"})
    with tf.edit(path) as editor:
        editor[1].append(tf.open(rows)[1])
    tf.write(path, columns, units={"TIME": "s"}, overwrite=True)
    tf.write(rows, columns, header={"TIMESYS": "TDB"}, units={"TIME": "s"}, overwrite=True)
    with tf.edit(path) as editor, pytest.raises(tf.UsageError, match=r"'TIME': times of .*TDB"):
        editor[1].append(tf.open(rows)[1])
    tf.write(rows, columns, header={"TIMESYS": "JUNK"}, units={"TIME": "s"}, overwrite=True)
    with tf.edit(path) as editor:
        editor[1].append(tf.open(rows)[1])
    # The table states the scale of the column too.
    tf.write(path, {"A": [1.0]}, header={"TCTYP1": "TAI"}, overwrite=True)
    tf.write(rows, {"A": [1.0]}, header={"TIMESYS": "TT"}, overwrite=True)
    with tf.edit(path) as editor, pytest.raises(tf.UsageError, match="TT, where TCTYP1 is TAI"):
        editor[1].append(tf.open(rows)[1])


def test_rows_measured_elsewhere_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "times.fits"
    tf.write(path, {"T": Time(DAYS, location=PARANAL)})
    here, there = ({"T": Time(DAYS[:1], location=place)} for place in (PARANAL, ELSEWHERE))
    with tf.edit(path) as editor:
        with pytest.raises(tf.UsageError, match=r"times at OBSGEO-X 1.0, where .*say 1946404.3"):
            editor[1].append(there)
        with pytest.raises(tf.UsageError, match=r"times at OBSGEO-X 1.0, where .*say 1946404.3"):
            editor[1].update("T", there["T"][0])
        with pytest.raises(tf.UsageError, match=r"row 0 \(0-based\): times at OBSGEO-X 1.0"):
            editor[1].append({"T": Time(DAYS, location=DIFFERING)})
        editor[1].append(here)
        editor[1].append({"T": DAYS[:1]})
        editor[1].update("T", here["T"][0], rows=[1])
    times = tf.open(path)[1].to_astropy()["T"]
    assert (len(times), times.location) == (5, PARANAL)


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ({}, "has no OBSGEO-X"),
        (HERE | {"TRPOS1": "GEOCENTER"}, "of 'GEOCENTER'"),
        (HERE | {"TREFPOS": "BARYCENTER"}, "of 'BARYCENTER'"),
    ],
)
def test_rows_with_a_location_are_refused_by_a_table_without_one(
    tmp_path: Path, header: dict[str, Any], found: str
) -> None:
    path = tmp_path / "times.fits"
    tf.write(path, {"T": DAYS}, header=header)
    times = Time(DAYS, location=PARANAL)
    with tf.edit(path) as editor:
        with pytest.raises(tf.UsageError, match=found):
            editor[1].append({"T": times})
        with pytest.raises(tf.UsageError, match=found):
            editor[1].update("T", times)
    assert tf.open(path)[1]["T"].tolist() == DAYS


def test_rows_add_their_location_to_a_table_with_location_columns(tmp_path: Path) -> None:
    path = tmp_path / "times.fits"
    times = Time(DAYS, location=DIFFERING)
    tf.write(path, {"T": times})
    with tf.edit(path) as editor:
        editor[1].append({"T": times})
        editor[1].append({"T": times[1:2]})
        editor[1].append(tf.open(path)[1].to_astropy())
        editor[1].update("T", times[2], rows=[2, 5])
        with pytest.raises(tf.UsageError, match=r"row 1 .*OBSGEO-X 3.0, where .* say 1.0"):
            editor[1].update("T", times[2], rows=[2, 0])
    back = tf.open(path)[1].to_astropy()["T"]
    expected = [1.0, 2.0, 3.0, 1.0, 2.0, 3.0, 2.0, 1.0, 2.0, 3.0]
    assert back.location.x.to_value("m").tolist() == expected


def test_rows_of_one_place_have_it_in_each_element(tmp_path: Path) -> None:
    path = tmp_path / "times.fits"
    days = Time([DAYS[:2], DAYS[1:]])
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    places = EarthLocation.from_geocentric(x, 0 * x, 0 * x + 6.4e6, unit="m")
    tf.write(path, {"T": Time(days, location=places)})
    of_each_row = EarthLocation.from_geocentric([7.0, 8.0], [0.0] * 2, [6.4e6] * 2, unit="m")
    with tf.edit(path) as editor:
        editor[1].append({"T": Time(days, location=PARANAL)})
        editor[1].append({"T": Time(days, location=of_each_row[:, np.newaxis])})
    back = tf.open(path)[1].to_astropy()["T"].location.x.to_value("m")
    assert back.tolist() == [*x.tolist(), *[[PARANAL.x.value] * 2] * 2, [7.0, 7.0], [8.0, 8.0]]
    # And the place of a row is one where all its times are of one.
    columns = {name: [1.0, 2.0] for name in HERE}
    location = EarthLocation.from_geocentric([[1.0], [2.0]], [[1.0], [2.0]], [[1.0], [2.0]], "m")
    tf.write(path, {"T": Time(days, location=location), **columns}, overwrite=True)
    with tf.edit(path) as editor:
        editor[1].append({"T": Time(days, location=of_each_row[:, np.newaxis])})
        with pytest.raises(tf.UsageError, match=r"'OBSGEO-X'.*cells of shape"):
            editor[1].append({"T": Time(days, location=places)})
    assert tf.open(path)[1]["OBSGEO-X"].tolist() == [1.0, 2.0, 7.0, 8.0]


@pytest.mark.parametrize(
    ("theirs", "shift"),
    [
        ({"MJDREF": 50000.0}, 5000.0),
        ({"MJDREFI": 54999, "MJDREFF": 0.5}, 0.5),
        ({"JDREF": 2455000.5}, 0.0),
        ({"JDREFI": 2455000, "JDREFF": 0.5}, 0.0),
        ({"DATEREF": "2009-06-18"}, 0.0),
        ({"DATEREF": "2009-06-17T12:00:00.000"}, 0.5),
        ({"MJDREF": 55000.0, "DATEREF": "2000-01-01"}, 0.0),
        ({"DATEREF": "2009-06-17", "TIMEOFFS": 43200.0}, 0.5),
        ({"DATEREF": "2009-06-17", "TIMEOFFS": 1.0, "TIMEUNIT": "d"}, 0.0),
        ({"MJDREF": 55000.0, "TIMEZERO": -86400}, 1.0),
        ({"MJDREF": 55000.0, "TIMEZERO": 0.0}, 0.0),
        ({"MJDREF": 50000.0, "TIMEOFFS": 1.0, "TIMEUNIT": "fortnight"}, 0.0),
        ({"DATEREF": "the beginning"}, 0.0),
        ({"DATEREF": "2009-02-30"}, 0.0),
        ({}, 0.0),
    ],
)
def test_times_that_are_counted_from_elsewhere_are_refused(
    tmp_path: Path, theirs: dict[str, Any], shift: float
) -> None:
    path, rows = tmp_path / "times.fits", tmp_path / "rows.fits"
    columns = {"TIME": [1.0], "N": [1], "T": TEXT}
    for name, header in ((path, {"MJDREF": 55000.0}), (rows, theirs)):
        tf.write(name, columns, header=header, units={"TIME": "s"})
    table = tf.open(rows)[1]
    with tf.edit(path) as editor:
        for data in (table, table.read(), table.to_arrow(), table.to_astropy()):
            if shift:
                with pytest.raises(
                    tf.UsageError, match=rf"'TIME'.*MJD 55000.0\nhint: add -{shift}"
                ):
                    editor[1].append(data)
            else:
                editor[1].append(data)
        editor[1].append({name: table[name] for name in columns})
    assert len(tf.open(path)[1]) == (2 if shift else 6)


@pytest.mark.parametrize(
    ("cards", "mjd"),
    [
        ({"MJDREF": 50000.0, "MJDREFI": 51544, "MJDREFF": 0.5}, 51544.5),
        ({"JDREF": 2450000.5, "JDREFI": 2451544, "JDREFF": 0.75}, 51544.25),
        ({"JDREF": 2450000.5, "MJDREFI": 51544, "MJDREFF": 0.0}, 51544.0),
        ({"MJDREFI": 51544}, 51544.0),
        ({"MJDREF": 50000.0, "JDREFI": 2451544, "JDREFF": 0.75}, 50000.0),
        ({"DATEREF": "2000-01-01", "JDREF": 2450000.5}, 50000.0),
    ],
)
def test_references_of_several_cards_are_those_of_astropy(
    cards: dict[str, Any], mjd: float
) -> None:
    # astropy fills DATEREF into MJDREF, but reads cards of coordinates alone.
    axis = {"WCSAXES": 1, "CTYPE1": "TT", "CRPIX1": 1.0, "CRVAL1": 0.0, "CDELT1": 1.0}
    if "DATEREF" not in cards:
        theirs = WCS(fits.Header(list((axis | cards).items())), fix=False).wcs.mjdref.sum()
        assert theirs == mjd
    assert time_reference(cards) == mjd
    assert time_reference(tf.Header([(name, value, "") for name, value in cards.items()])) == mjd


@pytest.mark.parametrize("part", [{"MJDREFI": 51544}, {"MJDREFF": 0.25}])
def test_a_single_reference_comes_before_one_part_of_it(part: dict[str, Any]) -> None:
    # The Standard, 9.2.2; WCSLIB adds the fraction, or takes the integer.
    assert time_reference({"MJDREF": 50000.0, **part}) == 50000.0


@pytest.mark.parametrize("keyword", ["MJDREFF", "MJDREF", "MJDREFI", "TIMEZERO"])
def test_text_for_a_reference_is_an_error_for_times(tmp_path: Path, keyword: str) -> None:
    path = tmp_path / "times.fits"
    columns = {"TIME": [1.0], "N": [1]}
    tf.write(path, columns, header={"MJDREFI": 51544, keyword: "0.5", "TCTYP1": "TT"})
    with (
        pytest.raises(tf.FormatError, match=rf"times.fits.*invalid {keyword} '0.5'.*a number"),
        tf.edit(path) as editor,
    ):
        editor[1].append({"TIME": [2.0], "N": [2]})
    tf.write(path, columns, header={"MJDREFI": 51544, keyword: "0.5"}, overwrite=True)
    with tf.edit(path) as editor:
        editor[1].append({"TIME": [2.0], "N": [2]})
    assert tf.open(path)[1]["N"].tolist() == [1, 2]


@pytest.mark.parametrize(
    "theirs",
    [
        {"MJDREFI": 55000, "MJDREFF": 0.00074287037037037},
        {"MJDREF": 55000.0007428704},
        {"JDREF": 2455000.50074287037},
    ],
)
def test_references_that_differ_as_they_are_written_are_one(
    tmp_path: Path, theirs: dict[str, Any]
) -> None:
    path, rows = tmp_path / "times.fits", tmp_path / "rows.fits"
    for name, header in ((path, {"MJDREF": 55000.00074287037}), (rows, theirs)):
        tf.write(name, {"TIME": [1.0]}, header=header, units={"TIME": "s"})
    with tf.edit(path) as editor:
        editor[1].append(tf.open(rows)[1])
    assert tf.open(path)[1]["TIME"].tolist() == [1.0, 1.0]
    later = {"MJDREF": 55000.00074287037, "TIMEZERO": 50e-6}
    tf.write(rows, {"TIME": [1.0]}, header=later, units={"TIME": "s"}, overwrite=True)
    with tf.edit(path) as editor, pytest.raises(tf.UsageError, match="counted from"):
        editor[1].append(tf.open(rows)[1])


@pytest.mark.parametrize(
    ("there", "new", "expected"),
    [
        ("2020-01-01T00:00:00.000", np.array(["2021-02-03T04:05:06.5"], "M8[us]"), "06.500"),
        ("2020-01-01T00:00:00.000", np.array(["2021-02-03T04:05:06.5"], "M8[ns]"), "06.500"),
        ("2020-01-01T00:00:00", np.array(["2021-02-03T04:05:06"], "M8[us]"), "06"),
        ("2020-01-01T00:00:00", Time(["2021-02-03T04:05:06"]), "06"),
        ("2020-01-01T00:00:00", [datetime(2021, 2, 3, 4, 5, 6), None], "06"),
        ("2020-01-01T00:00:00.", np.array(["2021-02-03T04:05:06"], "M8[us]"), "06"),
    ],
)
def test_zeros_beyond_the_width_of_a_column_of_times_are_left_out(
    tmp_path: Path, there: str, new: Any, expected: str
) -> None:
    path = tmp_path / "times.fits"
    tf.write(path, {"T": [there]})
    with tf.edit(path) as editor:
        editor[1].append({"T": new})
    column = tf.open(path)[1]["T"]
    assert column.tolist()[:2] == [there, f"2021-02-03T04:05:{expected}"]
    assert column.tolist()[2:] == [""] * (len(new) - 1)
    assert column.dtype == f"U{len(there)}"


@pytest.mark.parametrize(
    ("there", "new", "hint"),
    [
        ("2020-01-01T00:00:00.000", "2021-02-03T04:05:06.500001", r".*datetime64\[ms\]"),
        ("2020-01-01T00:00:00.00", "2021-02-03T04:05:06.125", r".*datetime64\[s\]"),
        ("2020-01-01T00:00:0", "2021-02-03T04:05:00", r".*datetime64\[D\]"),
        ("2020-01-01", "2021-02-03T00:00:00", r".*datetime64\[D\]"),
        ("2020", "2021-02-03T00:00:00", "times need 10 or more"),
    ],
)
def test_digits_beyond_the_width_of_a_column_of_times_are_refused(
    tmp_path: Path, there: str, new: str, hint: str
) -> None:
    path = tmp_path / "times.fits"
    tf.write(path, {"T": [there]})
    times = np.array([new, "2021-02-03"], "M8[us]")
    refused = rf"cannot hold '{new}\.?0*'\nhint: the column has {len(there)} characters: {hint}"
    with pytest.raises(tf.UsageError, match=refused), tf.edit(path) as editor:
        editor[1].append({"T": times})
    # Text is written unchanged.
    text = np.array(["2020-01-01T00:00:00.000000"])
    refused = rf"hint: the column has {len(there)} characters: shorten"
    with pytest.raises(tf.UsageError, match=refused), tf.edit(path) as editor:
        editor[1].append({"T": text})


def test_times_of_astropy_are_rounded_as_the_hint_says(tmp_path: Path) -> None:
    path = tmp_path / "times.fits"
    times = Time(DAYS)
    tf.write(path, {"T": times[1:]})
    with tf.edit(path) as editor:
        with pytest.raises(tf.UsageError, match=r"\[ms\]'\), with astropy's times.datetime64 as v"):
            editor[1].append({"T": times})
        values = times.datetime64
        editor[1].append({"T": values.astype("datetime64[ms]")})
    assert tf.open(path)[1]["T"][2] == "2020-01-01T01:02:03.123"


def test_times_are_appended_to_a_table_of_astropy(tmp_path: Path) -> None:
    path = tmp_path / "times.fits"
    masked = Time(DAYS, scale="tt")
    masked[1] = np.ma.masked
    rows = Table({"A": masked, "B": Time(DAYS, scale="tdb"), "C": Time(DAYS, location=PARANAL)})
    rows.write(path)
    native = Table.read(path, astropy_native=True)
    with tf.edit(path) as editor:
        for data in (rows, native, {name: rows[name] for name in rows.colnames}):
            editor[1].append(data)
        with pytest.raises(tf.UsageError, match=r"'B'.*TT, where TCTYP2 is TDB"):
            editor[1].append({"A": rows["A"], "B": rows["B"].tt, "C": rows["C"]})
        with pytest.raises(tf.UsageError, match=r"'C'.*OBSGEO-X"):
            editor[1].append({**rows, "C": Time(DAYS, location=ELSEWHERE)})
    back = Table.read(path, astropy_native=True)
    for name in rows.colnames:
        assert (back[name].scale, len(back)) == (rows[name].scale, 12)
        for first in (3, 6, 9):
            some = back[name][first : first + 3]
            assert np.all((some == rows[name]) | some.mask)
            np.testing.assert_array_equal(some.mask, rows[name].mask)


def test_pairs_of_days_are_counted_as_the_table_says(tmp_path: Path) -> None:
    path = tmp_path / "times.fits"
    pairs = np.array([[55000.0, 0.25]])
    for reference, first in ((None, 59014.5), (55000.0, 4014.5), (55000.1, None)):
        header = {"TCTYP1": "TT", **({} if reference is None else {"MJDREF": reference})}
        tf.write(path, {"A": pairs}, header=header, units={"A": "d"}, overwrite=True)
        times = Time([2459015.0], [0.125], format="jd", scale="tt")
        with tf.edit(path) as editor:
            if first is None:
                with pytest.raises(tf.UsageError, match="shape"):
                    editor[1].append({"A": times})
                continue
            editor[1].append({"A": times})
        assert tf.open(path)[1]["A"][1].tolist() == [first, 0.125]
