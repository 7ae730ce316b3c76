"""Times, dates and durations as columns: what they say stays, or is refused."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import astropy.io.fits
import astropy.table
import numpy as np
import pytest
from astropy.coordinates import EarthLocation
from astropy.table import QTable
from astropy.time import Time, TimeDelta

import tachyfits as tf
from tachyfits.table.values import column_data

pytestmark = pytest.mark.once

EXACT = Time([58000.123456789012], format="mjd", scale="tdb")


def test_times_keep_nanoseconds_and_their_scale(tmp_path: Path) -> None:
    path = tmp_path / "times.fits"
    for data in (QTable({"T": EXACT}), {"T": EXACT}):
        tf.write(path, data, overwrite=True)
        table = tf.open(path)[1]
        back = Time(table["T"], scale=table.header["TIMESYS"].lower())
        assert table.header["TIMESYS"] == "TDB"
        assert abs((back - EXACT).to_value("ns")).max() < 1
    tf.write(path, [{"T": EXACT}], overwrite=True)
    assert tf.open(path)[1].header["TIMESYS"] == "TDB"


@pytest.mark.parametrize(
    ("times", "found"),
    [
        (["2026-01-02T03:04:05", "2026-01-02T03:04:05.5"], "2026-01-02T03:04:05.000"),
        (["2026-01-02T03:04:05.000001"], "2026-01-02T03:04:05.000001"),
        (["2026-01-02T03:04:05.000000001"], "2026-01-02T03:04:05.000000001"),
        (["2016-12-31T23:59:60"], "2016-12-31T23:59:60.000"),
    ],
)
def test_times_have_the_digits_that_they_need(tmp_path: Path, times: list[str], found: str) -> None:
    tf.write(tmp_path / "times.fits", {"T": Time(times)})
    assert tf.open(tmp_path / "times.fits")[1]["T"][0] == found


@pytest.mark.filterwarnings("ignore::erfa.ErfaWarning")
def test_times_that_are_undefined_may_be_any(tmp_path: Path) -> None:
    path = tmp_path / "times.fits"
    times = Time([[58000.0, 1e9], [-3e6, 58001.0]], format="mjd", scale="tt")
    times[[0, 1], [1, 0]] = np.ma.masked
    tf.write(path, {"T": times})
    first, second = "2017-09-04T00:00:00.000", "2017-09-05T00:00:00.000"
    assert tf.open(path)[1]["T"].tolist() == [[first, ""], ["", second]]
    with tf.edit(path) as editor:
        editor[1].update("T", times[1:], rows=[0])
    assert tf.open(path)[1]["T"].tolist() == [["", second], ["", second]]
    with pytest.raises(
        tf.UsageError, match=r"'T', row 1 \(0-based\): the time .* is outside the calendar"
    ):
        tf.write(path, {"T": Time([[58000.0], [5.4e7]], format="mjd")}, overwrite=True)


def test_times_that_no_calendar_has_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "times.fits"
    odd = Time([2451545.0, -1e6, 2451545.0, -2e6], format="jd", scale="utc")
    tf.write(path, {"T": DAYS})
    found = r"'T', row 1 \(0-based\): the time -1000000.0 \(JD\) is outside .*\nhint.*times.jd"
    with pytest.raises(tf.UsageError, match=found):
        tf.write(tmp_path / "no.fits", QTable({"T": odd}))
    with pytest.raises(tf.UsageError, match=found):
        tf.write(tmp_path / "no.fits", QTable({"T": odd[[0, 2, 1, 3]].reshape(2, 2)}))
    with tf.edit(path) as editor:
        with pytest.raises(tf.UsageError, match=found):
            editor[1].append({"T": odd})
        with pytest.raises(tf.UsageError, match="row 0"):
            editor[1].update("T", odd[1])
    assert tf.open(path)[1]["T"].tolist() == DAYS


def test_undefined_times_and_columns_without_times(tmp_path: Path) -> None:
    times = Time([58000.0, 58001.0], format="mjd")
    times[1] = np.ma.masked
    tf.write(tmp_path / "times.fits", {"T": times})
    assert tf.open(tmp_path / "times.fits")[1]["T"].tolist() == ["2017-09-04T00:00:00.000", ""]
    tf.write(tmp_path / "none.fits", {"T": times[:0]})
    assert tf.open(tmp_path / "none.fits")[1]["T"].dtype.kind == "U"


def test_a_single_time_or_duration_is_one_for_all_rows(tmp_path: Path) -> None:
    path = tmp_path / "times.fits"
    tf.write(path, {"T": ["2026-01-01T00:00:00.000"] * 2, "D": TimeDelta([1, 2], format="jd")})
    with tf.edit(path) as editor:
        editor[1].update("T", Time("2026-01-02"))
        editor[1].update("D", TimeDelta(1.5, format="sec"))
        with pytest.raises(tf.UsageError, match="UTC, because it has no TIMESYS"):
            editor[1].update("T", Time("2026-01-02", scale="tdb"))
    table = tf.open(path)[1]
    assert table["T"].tolist() == ["2026-01-02T00:00:00.000"] * 2
    assert table["D"].tolist() == [1.5, 1.5]


@pytest.mark.parametrize(
    ("values", "seconds"),
    [
        (TimeDelta([1.0, 0.5], format="jd"), [86400.0, 43200.0]),
        ([datetime.timedelta(hours=1), None], [3600.0, np.nan]),
        ([datetime.timedelta(microseconds=1)], [1e-6]),
        ([np.timedelta64(1500, "ms"), None], [1.5, np.nan]),
        ([np.timedelta64(1, "m"), datetime.timedelta(1)], [60.0, 86400.0]),
    ],
)
def test_durations_are_seconds(tmp_path: Path, values: Any, seconds: list[float]) -> None:
    tf.write(tmp_path / "times.fits", {"D": values})
    table = tf.open(tmp_path / "times.fits")[1]
    assert table.column("D").unit == "s"
    np.testing.assert_array_equal(table["D"], seconds)


def test_undefined_durations_of_astropy_are_nan(tmp_path: Path) -> None:
    some = TimeDelta([1.0, 2.0], format="sec")
    some[0] = np.ma.masked
    tf.write(tmp_path / "times.fits", QTable({"D": some}))
    np.testing.assert_array_equal(tf.open(tmp_path / "times.fits")[1]["D"], [np.nan, 2])


@pytest.mark.parametrize(
    "values",
    [np.array([1], "m8[Y]"), [np.timedelta64(1, "M"), None], [datetime.timedelta(1), 1]],
    ids=str,
)
def test_durations_without_a_length_in_seconds_are_refused(values: Any) -> None:
    with pytest.raises(tf.UsageError, match="'D'"):
        column_data("D", values)


def test_dates_in_lists_keep_nanoseconds() -> None:
    pd = pytest.importorskip("pandas", reason="LEFT OUT: pandas is not installed")
    text = "2026-01-02T03:04:05.123456789"
    for date in (np.datetime64(text), pd.Timestamp(text)):
        assert column_data("T", [date, None]).values.tolist() == [text.encode(), b""]
    made = column_data("T", [datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2, 3)])
    assert made.values.tolist() == [b"2026-01-02T00:00:00.000000", b"2026-01-02T03:00:00.000000"]
    assert column_data("T", [np.datetime64("NaT"), None]).values.tolist() == [b"", b""]


# Places.

PARANAL = EarthLocation.from_geocentric(1946404.3, -5467644.3, -2642728.2, unit="m")
ELSEWHERE = EarthLocation.from_geocentric(1.0, 2.0, 6378000.0, unit="m")
DAYS = ["2020-01-01T01:02:03.123456", "2021-01-01T00:00:00", "2022-01-01T00:00:00"]


def native(path: Path) -> Any:
    return astropy.table.Table.read(path, astropy_native=True)


@pytest.mark.parametrize("kind", ["binary", "ascii"])
def test_the_place_of_times_comes_back(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "times.fits"
    times = Time(DAYS, location=PARANAL)
    tf.write(path, {"N": [1, 2, 3], "T": times, "U": Time(DAYS)}, kind=kind)
    table = tf.open(path)[1]
    assert (table.header["TRPOS2"], table.column("T").position) == ("TOPOCENTER", "TOPOCENTER")
    assert table.header["OBSGEO-Z"] == -2642728.2
    assert "TRPOS3" not in table.header
    assert table["T"][0] == DAYS[0]
    for back in (table.to_astropy(), native(path)):
        assert (back["T"] - times).to_value("s").tolist() == [0, 0, 0]
        assert back["T"].location == PARANAL
        assert back["U"].scale == "utc"


def test_the_location_of_times_survives_every_conversion(tmp_path: Path) -> None:
    path, made = tmp_path / "times.fits", tmp_path / "new.fits"
    tf.write(path, {"N": [1, 2, 3], "T": Time(DAYS, location=PARANAL)})
    table = tf.open(path)[1]
    table.write(tmp_path / "t.parquet")
    hdus = astropy.io.fits.open(path)
    ways = [table, table.read(), table.to_arrow(), table.to_astropy(), hdus[1], native(path)]
    for data in (*ways, tmp_path / "t.parquet"):
        tf.write(made, data, columns=["T"], overwrite=True)
        assert tf.open(made)[1].to_astropy()["T"].location == PARANAL
    hdus.close()


def test_undefined_times_stay_so_at_a_place(tmp_path: Path) -> None:
    times = Time(DAYS, location=PARANAL)
    times[1] = np.ma.masked
    tf.write(tmp_path / "times.fits", {"T": times})
    back = tf.open(tmp_path / "times.fits")[1].to_astropy()["T"]
    assert np.asarray(back.mask).tolist() == [False, True, False]
    assert back.location == PARANAL


def test_a_place_for_each_row_is_in_columns(tmp_path: Path) -> None:
    x, y, z = [1.0, 2.0, 3.0], [0.5] * 3, [6.4e6] * 3
    times = Time(DAYS, location=EarthLocation.from_geocentric(x, y, z, unit="m"))
    tf.write(tmp_path / "times.fits", {"T": times})
    table = tf.open(tmp_path / "times.fits")[1]
    assert table.names == ("T", "OBSGEO-X", "OBSGEO-Y", "OBSGEO-Z")
    assert (table["OBSGEO-X"].tolist(), table.column("OBSGEO-X").unit) == (x, "m")
    for back in (table.to_astropy(), native(tmp_path / "times.fits")):
        assert back["T"].location.x.to_value("m").tolist() == x
        tf.write(tmp_path / "again.fits", back, overwrite=True)
        assert tf.open(tmp_path / "again.fits")[1].names == table.names
    back["OBSGEO-X"] = [3.0, 2.0, 1.0]
    with pytest.raises(tf.UsageError, match=r"OBSGEO-X 1.0, where the table's columns say 3.0"):
        tf.write(tmp_path / "no.fits", back)


def test_places_that_do_not_agree_are_refused(tmp_path: Path) -> None:
    here, there = Time(DAYS, location=PARANAL), Time(DAYS, location=ELSEWHERE)
    with pytest.raises(tf.UsageError, match="'A' and 'B' are of two locations"):
        tf.write(tmp_path / "no.fits", {"A": here, "B": there})
    with pytest.raises(tf.UsageError, match=r"OBSGEO-X 1946404.3, where the table's cards say 5"):
        tf.write(tmp_path / "no.fits", {"A": here}, header={"OBSGEO-X": 5.0})
    with pytest.warns(tf.TachyfitsWarning, match="scale TDB have a location on the Earth"):
        tf.write(tmp_path / "tdb.fits", {"A": here.tdb})
    tf.write(tmp_path / "times.fits", {"A": here})
    with tf.edit(tmp_path / "times.fits") as editor:
        editor[1].add_column("B", here, before="A")
        with pytest.raises(tf.UsageError, match="where the table's cards say"):
            editor[1].add_column("C", there)
    header = tf.open(tmp_path / "times.fits")[1].header
    assert (header["TRPOS1"], header["TRPOS2"]) == ("TOPOCENTER", "TOPOCENTER")


def test_text_with_a_location_that_is_not_a_time_stays_text(tmp_path: Path) -> None:
    place = {"OBSGEO-X": 1.0, "OBSGEO-Y": 2.0, "OBSGEO-Z": 6.4e6, "TRPOS1": "TOPOCENTER"}
    for header in (place, {"TRPOS1": "TOPOCENTER"}, place | {"OBSGEO-X": "far"}):
        tf.write(tmp_path / "odd.fits", {"T": ["noon"]}, header=header, overwrite=True)
        assert tf.open(tmp_path / "odd.fits")[1].to_astropy()["T"].tolist() == ["noon"]


def test_years_of_more_than_four_digits_have_a_sign(tmp_path: Path) -> None:
    for text in ("-00880-12-21T00:00:00.000", "+12026-01-02T03:04:05.123456"):
        times = Time([text, "2020-01-01"], format="fits", scale="tai")
        tf.write(tmp_path / "times.fits", {"T": times}, overwrite=True)
        back = tf.open(tmp_path / "times.fits")[1]["T"].tolist()
        assert back[0] == text
        assert (Time(back, format="fits", scale="tai") - times).to_value("s").tolist() == [0, 0]


def test_lists_of_times_are_times(tmp_path: Path) -> None:
    times = [Time("2020-01-01", scale="tai", location=PARANAL), Time("2021-01-01", scale="tai")]
    tf.write(
        tmp_path / "times.fits",
        {
            "T": [Time("2020-01-01", scale="tt"), Time("2021-01-01", scale="tt")],
            "D": (TimeDelta(1, format="sec"), TimeDelta(2, format="jd")),
        },
    )
    table = tf.open(tmp_path / "times.fits")[1]
    assert table["T"].tolist() == ["2020-01-01T00:00:00.000", "2021-01-01T00:00:00.000"]
    assert (table["D"].tolist(), table.column("D").unit) == ([1.0, 172800.0], "s")
    assert table.header["TIMESYS"] == "TT"
    with pytest.raises(tf.UsageError, match="column 'T'"):
        tf.write(tmp_path / "no.fits", {"T": times})


@pytest.mark.parametrize("undefined", [None, np.ma.masked])
def test_lists_of_times_have_undefined_ones(tmp_path: Path, undefined: Any) -> None:
    path = tmp_path / "lists.fits"
    times = [undefined, Time("2020-01-01", scale="tai"), Time("2021-01-01", scale="tai")]
    masked = TimeDelta([1.0, 2.0], format="sec")
    masked[0] = np.ma.masked
    lengths = [undefined, *masked]
    tf.write(path, {"T": times, "L": lengths})
    table = tf.open(path)[1]
    assert table["T"].tolist() == ["", "2020-01-01T00:00:00.000", "2021-01-01T00:00:00.000"]
    assert table.header["TIMESYS"] == "TAI"
    np.testing.assert_array_equal(table["L"], [np.nan, np.nan, 2.0])
    assert table.column("L").unit == "s"


@pytest.mark.parametrize(
    ("times", "found"),
    [
        ([Time("2020-01-01"), Time("2020-01-02", location=ELSEWHERE)], "all locations are set"),
        ([Time("2020-01-01", scale="local"), Time("2020-01-02", scale="tai")], "scale 'tai'"),
        ([Time(["2020-01-01"]), None], "attribute"),
    ],
)
def test_lists_of_times_that_make_no_column_are_refused(
    tmp_path: Path, times: list[Any], found: str
) -> None:
    with pytest.raises(tf.UsageError, match=f"column 'T': cannot store the times: .*{found}"):
        tf.write(tmp_path / "lists.fits", {"T": times})


HERE = {"OBSGEO-X": 1946404.3, "OBSGEO-Y": -5467644.3, "OBSGEO-Z": -2642728.2}
DIFFERING = EarthLocation.from_geocentric([1.0, 2.0, 3.0], [0.5] * 3, [6.4e6] * 3, unit="m")


TEXT = ["2020-01-01T00:00:00.000"]


def test_cards_about_times_are_in_the_meta_of_columns(tmp_path: Path) -> None:
    path, made = tmp_path / "times.fits", tmp_path / "new.fits"
    header = {"TCTYP1": "TT", "TRPOS1": "GEOCENTER", "TCTYP2": "GPS", "TCTYP3": "RA---TAN"}
    columns: dict[str, Any] = {"M": TEXT, "G": TEXT, "X": [1.0], "D": [58000.0]}
    tf.write(path, columns, header=header | {"TRPOS4": "TOPOCENTER", "TCTYP4": "TDB"})
    table = tf.open(path)[1].to_astropy()
    assert [dict(table[name].info.meta or {}) for name in columns] == [
        {"TRPOS": "GEOCENTER"},
        {"TCTYP": "GPS"},
        {"TCTYP": "RA---TAN"},
        {"TRPOS": "TOPOCENTER", "TCTYP": "TDB"},
    ]
    tf.write(made, table["D", "G", "M"])
    found = tf.open(made)[1].header
    wanted = {"TRPOS1": "TOPOCENTER", "TCTYP1": "TDB", "TCTYP2": "GPS", "TRPOS3": "GEOCENTER"}
    wanted["TCTYP3"] = "TT"
    assert {key: found[key] for key in found if key.startswith(("TRPOS", "TCTYP"))} == wanted
    assert found["TIMESYS"] == "UTC"
    assert "COMMENT" not in found
    # Other cards go where astropy keeps them.
    table["D"].meta["note"] = "mine"
    tf.write(made, table["D", "G", "M"], overwrite=True)
    again = tf.open(made)[1].to_astropy()["D"].meta
    assert again == {"note": "mine", "TRPOS": "TOPOCENTER", "TCTYP": "TDB"}
    assert not any("TRPOS" in text for text in tf.open(made)[1].header["COMMENT"])


def test_a_column_has_a_scale_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "times.fits"
    tf.write(path, {"A": EXACT.utc, "B": EXACT})
    with tf.edit(path) as editor:
        rows = editor[1]
        rows.add_column("C", EXACT.tt, before="A")
        with pytest.raises(tf.UsageError, match=r"TCTYP3 is TDB\nhint.*times.tdb"):
            rows.update("B", EXACT.utc)
        rows.append({"A": EXACT.utc, "B": EXACT, "C": EXACT.tt})
        rows.update("C", Time("2026-01-02", scale="tt"), rows=[1])
    table = tf.open(path)[1]
    header = table.header
    assert header["TIMESYS"] == "UTC"
    assert [header[f"TCTYP{number}"] for number in (1, 2, 3)] == ["TT", "UTC", "TDB"]
    ours, theirs = table.to_astropy(), native(path)
    for name, scale in (("C", "tt"), ("A", "utc"), ("B", "tdb")):
        assert ours[name].scale == theirs[name].scale == scale
        assert (ours[name] - theirs[name]).to_value("s").tolist() == [0, 0]
    # As they were read, they can be written again.
    tf.write(path, ours, overwrite=True)
    assert native(path)["C"].scale == "tt"


def test_text_of_utc_stays_so_beside_times_of_another_scale(tmp_path: Path) -> None:
    path = tmp_path / "times.fits"
    tf.write(path, {"T": DAYS, "TEXT": DAYS}, header={"TCTYP1": "TAI"})
    assert "TIMESYS" not in tf.open(path)[1].header
    tf.write(path, tf.open(path)[1].to_astropy(), overwrite=True)
    header = tf.open(path)[1].header
    assert (header.get("TIMESYS"), header["TCTYP1"], "TCTYP2" in header) == ("UTC", "TAI", False)


@pytest.mark.parametrize("values", [["2020-01-01T00:00:00.000"] * 2, [1.0, 2.0]], ids=["A", "D"])
def test_the_scale_of_a_column_survives_every_conversion(tmp_path: Path, values: list[Any]) -> None:
    path, made = tmp_path / "times.fits", tmp_path / "new.fits"
    header = HERE | {"TCTYP2": "TT", "TRPOS2": "TOPOCENTER", "TIMESYS": "UTC", "MJDREF": 58000.0}
    units = {"T": "d"} if values[0] == 1 else {}
    tf.write(path, {"N": [1, 2], "T": values}, header=header, units=units)
    expected = native(path)["T"]
    table = tf.open(path)[1]
    assert (expected.scale, table.column("T").time_scale) == ("tt", "TT")
    table.write(tmp_path / "t.parquet")
    with astropy.io.fits.open(path) as hdus:
        ways = [table, table.read(), table.to_arrow(), hdus[1], tmp_path / "t.parquet"]
        for data in (*ways, table.to_astropy(), QTable(table.to_astropy())):
            tf.write(made, data, columns=["T"], overwrite=True)
            back = native(made)["T"]
            assert (back.scale, back.location) == ("tt", PARANAL)
            assert (back - expected).to_value("s").tolist() == [0, 0]


@pytest.mark.parametrize(
    ("header", "scale"),
    [
        (HERE | {"TRPOS1": "TOPOCENTER", "TCTYP1": "TT"}, "tt"),
        ({"TRPOS1": "TOPOCENTER", "TCTYP1": "TDT"}, "tt"),
        ({"TCTYP1": "TAI", "TIMESYS": "TDB"}, "tai"),
        (HERE | {"TRPOS1": "TOPOCENTER", "TCTYP1": "TIME", "TIMESYS": "TDB"}, "tdb"),
        ({"TCTYP1": "GPS"}, None),
        ({"TCTYP1": "RA---TAN"}, None),
    ],
)
@pytest.mark.filterwarnings("ignore::astropy.utils.exceptions.AstropyUserWarning")
def test_the_scale_of_a_column_comes_before_that_of_the_table(
    tmp_path: Path, header: dict[str, Any], scale: str | None
) -> None:
    path = tmp_path / "times.fits"
    tf.write(path, {"T": DAYS}, header=header)
    ours = tf.open(path)[1].to_astropy()["T"]
    if scale is None:
        assert ours.tolist() == DAYS
        return
    theirs = native(path)["T"]
    assert ours.scale == theirs.scale == scale
    assert (ours - theirs).to_value("s").tolist() == [0, 0, 0]
    assert (ours.location is None) == (theirs.location is None)


def test_a_place_in_columns_is_that_of_all_times(tmp_path: Path) -> None:
    path = tmp_path / "times.fits"
    times = Time(DAYS, location=DIFFERING)
    tf.write(path, {"T": times})
    with tf.edit(path) as editor:
        with pytest.raises(tf.UsageError, match=r"OBSGEO-X 1946404.3, where the table's columns"):
            editor[1].add_column("U", Time(DAYS, location=PARANAL))
        editor[1].add_column("U", times)
    table = tf.open(path)[1]
    assert not {"OBSGEO-X", "OBSGEO-Y", "OBSGEO-Z"} & set(table.header)
    assert table.to_astropy()["U"].location.x.to_value("m").tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(("unit", "factor"), [(None, 1.0), ("m", 1.0), ("km", 1e-3)])
def test_location_columns_agree_with_the_times(
    tmp_path: Path, unit: str | None, factor: float
) -> None:
    path = tmp_path / "times.fits"
    columns = {name: [value * factor] * 3 for name, value in HERE.items()}
    units = dict.fromkeys(HERE, unit) if unit else {}
    for location in (PARANAL, DIFFERING):
        data = {"T": Time(DAYS, location=location), **columns}
        if location is PARANAL:
            tf.write(path, data, units=units)
            continue
        with pytest.raises(
            tf.UsageError, match=r"OBSGEO-X 1.0, where the table's columns say 19464"
        ):
            tf.write(tmp_path / "no.fits", data, units=units)
    table = tf.open(path)[1]
    assert not set(HERE) & set(table.header)
    x = table.to_astropy()["T"].location.x.to_value("m")
    np.testing.assert_allclose(x, HERE["OBSGEO-X"], rtol=1e-12)
    with pytest.raises(tf.UsageError, match="where the table's columns say None"):
        tf.write(tmp_path / "no.fits", data, units=dict.fromkeys(HERE, "s"))


def test_headers_that_contradict_the_place_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "no.fits"
    times = Time(DAYS, location=PARANAL)
    with pytest.raises(tf.UsageError, match="the table's cards say that they are of 'GEOCENTER'"):
        tf.write(path, {"T": times}, header={"TRPOS1": "GEOCENTER"})
    with pytest.raises(tf.UsageError, match=r"where the table's cards say 1946404.3"):
        tf.write(path, {"T": Time(DAYS, location=DIFFERING)}, header=HERE)
    tf.write(path, {"T": times}, header=HERE | {"TRPOS1": "TOPOCENTER"})


def test_a_place_that_is_not_known_is_refused(tmp_path: Path) -> None:
    nowhere = EarthLocation.from_geocentric(np.nan, 2.0, 3.0, unit="m")
    with pytest.raises(tf.UsageError):
        tf.write(tmp_path / "no.fits", {"T": Time(DAYS, location=nowhere)})


@pytest.mark.filterwarnings("ignore:ERFA")
@pytest.mark.parametrize(
    "texts",
    [
        ["2016-12-31T23:59:60.500", "2017-01-01T00:00:00.000"],
        ["2020-01-02", "2020-01-02T03:04:05", ""],
        ["-04713-11-24T12:00:00", "2020-01-02"],
        ["+12020-01-02T03:04:05.5", "0001-01-01T00:00:00"],
        ["2020-01-02T03:04:05.123456789"],
    ],
)
def test_times_at_a_place_are_read_as_the_format_fits_reads_them(
    tmp_path: Path, texts: list[str]
) -> None:
    path = tmp_path / "times.fits"
    tf.write(path, {"T": texts}, header=HERE | {"TRPOS1": "TOPOCENTER"})
    back = tf.open(path)[1].to_astropy()["T"]
    expected = Time([text for text in texts if text], format="fits", scale="utc")
    assert (back.format, back.location) == ("fits", PARANAL)
    known = back[: len(expected)]
    assert (known.jd1 == expected.jd1).all()
    assert (known.jd2 == expected.jd2).all()
    assert back.mask.tolist() == [not text for text in texts]
    expected.precision = back.precision
    assert known.unmasked.value.tolist() == expected.value.tolist()


@pytest.mark.parametrize(
    "text", ["2020-01-02 03:04:05", "+12020-01-02 03:04:05", "2020-01-02T03:04:05 (TAI)"]
)
def test_text_that_is_more_than_a_time_stays_text(tmp_path: Path, text: str) -> None:
    path = tmp_path / "times.fits"
    tf.write(path, {"T": [text]}, header=HERE | {"TRPOS1": "TOPOCENTER"})
    assert tf.open(path)[1].to_astropy()["T"].tolist() == [text]


def test_a_place_of_each_row_is_that_of_all_its_times(tmp_path: Path) -> None:
    path = tmp_path / "times.fits"
    metres = [[1.0], [2.0]]
    location = EarthLocation.from_geocentric(metres, metres, metres, unit="m")
    columns = {name: [1.0, 2.0] for name in HERE}
    tf.write(path, {"T": Time([DAYS[:2]] * 2, location=location), **columns})
    back = tf.open(path)[1].to_astropy()["T"]
    assert back.location.x.to_value("m")[1, 0] == 2.0
    assert np.broadcast_to(back.location.x.to_value("m"), (2, 2)).tolist() == [[1, 1], [2, 2]]
    columns["OBSGEO-Y"] = [1.0, 3.0]
    with pytest.raises(tf.UsageError, match=r"row 1 .*OBSGEO-Y 2.0, where .* say 3.0"):
        tf.write(tmp_path / "no.fits", {"T": Time([DAYS[:2]] * 2, location=location), **columns})
