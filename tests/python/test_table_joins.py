"""Joined tables, rows in time intervals, and the formats of tables that astropy writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import astropy.units as u
import numpy as np
import pytest
from astropy.coordinates import SkyCoord
from astropy.table import Table
from hypothesis import given
from hypothesis import strategies as st

import tachyfits as tf
from tachyfits import _core
from tachyfits.cli import run
from tachyfits.table.intervals import inside

pytestmark = pytest.mark.once

RNG = np.random.default_rng(5)
UNITS = {"RA": "deg", "DEC": "deg"}
RADIUS = 0.5


@pytest.fixture(scope="module")
def paths(tmp_path_factory: Any) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("joins")
    for name, count in (("a", 60), ("b", 90)):
        data = {
            "ID": np.arange(count),
            "RA": RNG.uniform(-2, 2, count) % 360,
            "DEC": RNG.uniform(-2, 2, count),
            "NAME": [f"{name}{row}" for row in range(count)],
            "HITS": [[row] * (row % 3) for row in range(count)],
        }
        data["RA"][3] = np.nan
        tf.write(folder / f"{name}.fits", data, units=UNITS)
    return folder / "a.fits", folder / "b.fits"


def _obvious_pairs(one: tf.Table, other: tf.Table, kind: str, matches: str) -> list[Any]:
    """Return pairs of IDs, from the angles between all rows."""
    pairs: list[Any] = []
    there = SkyCoord(other["RA"], other["DEC"], unit="deg")
    for row, (longitude, latitude) in enumerate(zip(one["RA"], one["DEC"], strict=True)):
        angles = there.separation(SkyCoord(longitude, latitude, unit="deg")).to_value("deg")
        near = [int(number) for number in np.argsort(angles) if angles[number] <= RADIUS]
        near = near[:1] if matches == "nearest" else near
        pairs += [(row, number) for number in near]
        if not near and kind == "left":
            pairs.append((row, None))
    return pairs


@pytest.mark.parametrize("kind", ["inner", "left"])
@pytest.mark.parametrize("matches", ["nearest", "all"])
def test_joins_have_the_pairs_of_all_angles(
    paths: tuple[Path, Path], kind: str, matches: str
) -> None:
    one, other = (tf.open(path)[1] for path in paths)
    joined = one.join(other, RADIUS, kind=kind, matches=matches)
    expected = _obvious_pairs(one, other, kind, matches)
    assert list(zip(joined["ID"].tolist(), joined["ID_2"].tolist(), strict=True)) == expected
    for row, (_, number) in enumerate(expected):
        assert joined["HITS_2"][row].tolist() == (
            [] if number is None else other["HITS"][number].tolist()
        )
        assert joined["NAME_2"].tolist()[row] == (None if number is None else f"b{number}")
        assert np.isnan(joined["SEPARATION"][row]) == (number is None)
    assert joined.unit("SEPARATION") == joined.unit("RA_2") == "deg"


ANGLES = st.one_of(
    st.sampled_from([0.0, 90.0, 180.0, 359.999999, -90.0, -180.0, 1e-7, np.nan, np.inf, 91.0]),
    st.floats(-400, 400),
)
SKY = st.lists(st.tuples(ANGLES, ANGLES), max_size=40)


@given(SKY, SKY, st.sampled_from([0.0, 1e-6, 0.5, 30.0, 180.0]))
def test_matches_are_those_of_all_angles(one: Any, other: Any, radius: float) -> None:
    first, second = (np.array(rows, dtype=float).reshape(-1, 2).T.copy() for rows in (one, other))
    known, there = (
        np.isfinite(lon) & np.isfinite(lat) & (np.abs(lat) <= 90) for lon, lat in (first, second)
    )
    angles = np.full((first.shape[1], second.shape[1]), np.nan)
    rows, partners = np.ix_(known, there)
    angles[rows, partners] = (
        SkyCoord(*first[:, known], unit="deg")[:, None]
        .separation(SkyCoord(*second[:, there], unit="deg")[None, :])
        .to_value("deg")
    )
    index, separation = _core.nearest_positions(tuple(first), tuple(second))
    for row, all_angles in enumerate(angles):
        if np.isnan(all_angles).all():
            assert index[row] == -1
            assert np.isnan(separation[row])
        else:
            # Roundings of chords and angles: 1e-13 degrees, and 1e-6 of almost opposite ones.
            assert all_angles[index[row]] <= np.nanmin(all_angles) + 3e-6
            assert separation[row] == pytest.approx(all_angles[index[row]], abs=1e-11)
    left, right, apart = _core.matching_positions(tuple(first), tuple(second), radius)
    pairs = set(zip(left.tolist(), right.tolist(), strict=True))
    assert len(pairs) == len(left)
    assert pairs >= {(a, b) for a, b in np.argwhere(angles <= radius - 1e-11).tolist()}
    assert pairs <= {(a, b) for a, b in np.argwhere(angles <= radius + 1e-11).tolist()}
    order = sorted(range(len(left)), key=lambda n: (left[n], apart[n], right[n]))
    assert order == list(range(len(left)))


@pytest.mark.parametrize("width", [360.0, 1e-4])
def test_many_matches_are_those_of_astropy(width: float) -> None:
    rng = np.random.default_rng(6)
    first, second = (
        (rng.uniform(0, width, count), rng.uniform(-width / 4, width / 4, count))
        for count in (30000, 40000)
    )
    index, separation = _core.nearest_positions(first, second)
    theirs, angles, _ = SkyCoord(*first, unit="deg").match_to_catalog_sky(
        SkyCoord(*second, unit="deg")
    )
    np.testing.assert_array_equal(index, theirs)
    np.testing.assert_allclose(separation, angles.to_value("deg"), rtol=1e-9, atol=1e-15)
    limit = float(np.median(separation))
    near, apart = _core.nearest_positions(first, second, limit)
    np.testing.assert_array_equal(near, np.where(separation <= limit, index, -1))
    np.testing.assert_array_equal(apart, np.where(separation <= limit, separation, np.nan))
    # Of equal positions the first one counts.
    twice = tuple(np.concatenate([angle, angle]) for angle in second)
    np.testing.assert_array_equal(_core.nearest_positions(first, twice)[0], index)


def test_positions_of_astropy_match_in_their_frame(paths: tuple[Path, Path]) -> None:
    one, other = (tf.open(path)[1] for path in paths)
    there = SkyCoord(np.nan_to_num(other["RA"]), other["DEC"], unit="deg")
    for frame in ("icrs", "galactic", "fk5"):
        matches = one.match(there.transform_to(frame), RADIUS)
        expected, angles, _ = SkyCoord(
            np.nan_to_num(one["RA"]), one["DEC"], unit="deg"
        ).match_to_catalog_sky(there)
        good = np.isfinite(one["RA"])
        near = good & (angles.to_value("deg") <= RADIUS)
        np.testing.assert_array_equal(matches.index, np.where(near, expected, -1))
        np.testing.assert_allclose(
            matches.separation[good], angles.to_value("deg")[good], rtol=1e-6
        )


def test_a_join_written_and_read_keeps_null_values(
    paths: tuple[Path, Path], tmp_path: Path
) -> None:
    one, other = (tf.open(path)[1] for path in paths)
    joined = one.join(other, "0.1deg", kind="left")
    joined.write(tmp_path / "j.fits")
    read = tf.open(tmp_path / "j.fits")[1]["ID_2"]
    np.testing.assert_array_equal(np.ma.getmaskarray(read), np.ma.getmaskarray(joined["ID_2"]))
    assert np.ma.is_masked(read)


def test_tables_without_a_match_join_to_no_row_or_every_row(
    paths: tuple[Path, Path], tmp_path: Path
) -> None:
    one = tf.open(paths[0])[1]
    tf.write(tmp_path / "far.fits", {"RA": [180.0], "DEC": [80.0], "N": [1]}, units=UNITS)
    far = tf.open(tmp_path / "far.fits")[1]
    assert len(one.join(far, "1arcsec")) == len(one.join(far, "1arcsec", matches="all")) == 0
    left = one.join(far, "1arcsec", kind="left", matches="all")
    assert len(left) == len(one)
    assert np.ma.getmaskarray(left["N"]).all()


def test_invalid_joins_are_refused(paths: tuple[Path, Path]) -> None:
    one = tf.open(paths[0])[1]
    for choice in ({"kind": "outer"}, {"matches": "some"}):
        with pytest.raises(tf.UsageError, match=r"invalid \w+ '\w+': expected '"):
            one.join(one, 1, **choice)
    with pytest.raises(tf.UsageError, match="invalid radius None: expected an angle"):
        one.join(one, matches="all")
    with pytest.raises(tf.UsageError, match="invalid table of type int: expected a Table"):
        one.join(5)  # type: ignore[arg-type]


def test_the_command_joins_as_python(
    paths: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, other = (tf.open(path)[1] for path in paths)
    words = ["match", *map(str, paths), "--radius", "0.5deg", "--kind", "left", "--matches", "all"]
    assert run([*words, "-o", str(tmp_path / "o.fits")]) == 0
    joined = one.join(other, RADIUS, kind="left", matches="all")
    read = tf.open(tmp_path / "o.fits")[1]
    assert read["ID_2"].tolist() == joined["ID_2"].tolist()
    capsys.readouterr()
    assert run([*words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["data"]["ID_2"] == joined["ID_2"].tolist()
    assert run(["match", str(paths[0]), "--radius", "1"]) == 2


TIMES = st.lists(st.one_of(st.just(np.nan), st.integers(0, 20).map(float)), max_size=12)


@given(TIMES, st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=6))
def test_times_inside_are_those_of_each_interval_in_turn(
    times: list[float], intervals: list[tuple[int, int]]
) -> None:
    starts, stops = (np.array([pair[end] for pair in intervals], float) for end in (0, 1))
    expected = [any(start <= time <= stop for start, stop in intervals) for time in times]
    assert inside(np.array(times, float), starts, stops).tolist() == expected


def _events(folder: Path, *, zero: float = 0.0, reference: int = 51544, unit: str = "s") -> Any:
    tf.write(folder / "events.fits", {"TIME": [0.0, 10.0, 20.0, 30.0, np.nan]},
             units={"TIME": "s"}, overwrite=True)  # fmt: skip
    ends = np.array([[10.0], [20.0]]) * (u.s).to(u.Unit(unit))
    tf.write(folder / "gti.fits", {"START": ends[0], "STOP": ends[1]},
             units={"START": unit, "STOP": unit}, name="GTI", overwrite=True)  # fmt: skip
    for name, cards in (("events", {"MJDREFI": 51544, "MJDREFF": 0.5}),
                        ("gti", {"MJDREF": reference + 0.5, "TIMEUNIT": unit,
                                 "TIMEZERO": zero * u.s.to(u.Unit(unit))})):  # fmt: skip
        with tf.edit(folder / f"{name}.fits") as editor:
            for key, value in cards.items():
                editor[1].header[key] = value
    return tf.open(folder / "events.fits")[1], tf.open(folder / "gti.fits")["GTI"]


def test_rows_of_intervals_follow_clocks_and_units(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events, intervals = _events(tmp_path)
    assert events.during(intervals)["TIME"].tolist() == [10.0, 20.0]
    assert events.in_intervals(intervals).tolist() == [1, 2]
    assert events.during(intervals, where="TIME > 15")["TIME"].tolist() == [20.0]
    words = ["table", str(tmp_path / "events.fits"), "--gti", f"{tmp_path / 'gti.fits'},GTI"]
    assert run([*words, "-o", "-"]) == 0
    assert capsys.readouterr().out == "TIME\n10.0\n20.0\n"
    assert run([*words, "--rows", "1:2"]) == 2
    events, intervals = _events(tmp_path, zero=10.0)
    assert events.during(intervals)["TIME"].tolist() == [20.0, 30.0]
    for zero, rows in ((0.0, [10.0, 20.0]), (10.0, [20.0, 30.0])):
        events, intervals = _events(tmp_path, zero=zero, unit="h")
        assert events.during(intervals)["TIME"].tolist() == rows


def test_intervals_of_other_clocks_are_refused(tmp_path: Path) -> None:
    events, intervals = _events(tmp_path, reference=50000)
    with pytest.raises(tf.UsageError, match=r"invalid intervals with MJDREF 50000.5: expected 515"):
        events.during(intervals)
    with pytest.raises(tf.UsageError, match="invalid intervals of type list: expected a Table"):
        events.during([1, 2])
    tf.write(tmp_path / "m.fits", {"TIME": [1.0]}, units={"TIME": "m"})
    with pytest.raises(tf.UsageError, match="is not a time"):
        tf.open(tmp_path / "m.fits")[1].during(events, start="TIME", stop="TIME")


@pytest.mark.parametrize(("ending", "form"), [("vot", "votable"), ("ecsv", "ascii.ecsv")])
def test_astropy_reads_its_formats_back(
    paths: tuple[Path, Path], tmp_path: Path, ending: str, form: str,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    path = tmp_path / f"t.{ending}"
    table = tf.open(paths[0])[1]
    table.write(path, ["ID", "RA", "NAME"], where="ID < 7")
    expected = table.read(["ID", "RA", "NAME"], where="ID < 7")
    read = Table.read(path, format=form)
    assert read["ID"].tolist() == expected["ID"].tolist()
    assert read["NAME"].tolist() == expected["NAME"].tolist()
    np.testing.assert_array_equal(np.ma.filled(np.ma.asarray(read["RA"]), np.nan), expected["RA"])
    assert read["RA"].unit == u.deg
    with pytest.raises(tf.IoError, match="exists"):
        expected.write(path)
    expected.write(path, overwrite=True)
    assert len(Table.read(path, format=form)) == 7
    assert run(["table", str(paths[0]), "--head", "3", "-o", str(path), "--overwrite"]) == 0
    assert len(Table.read(path, format=form)) == 3
    with pytest.raises(tf.UsageError, match="cannot read"):
        tf.write(tmp_path / "back.fits", str(path))
