"""Objects of astropy that are columns, read and written as astropy reads and writes them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import astropy.coordinates as c
import astropy.units as u
import numpy as np
import pytest
from astropy.table import Column, MaskedColumn, QTable, Table
from astropy.time import Time, TimeDelta
from astropy.utils.masked import Masked

import tachyfits as tf

pytestmark = pytest.mark.once

PLACE = c.EarthLocation.from_geocentric([1, 2], [3, 4], [6e6, 6e6], unit="m")
DAYS = Time(["2020-01-01", "2021-01-01"], scale="tdb")
POLAR = c.SphericalRepresentation([1, 2] * u.deg, [3, 4] * u.deg, [5, 6] * u.km)
SPEED = c.SphericalDifferential([1, 2] * u.mas / u.yr, [3, 4] * u.mas / u.yr, [5, 6] * u.km / u.s)

#: Objects that both read as such, a few rows of each.
OBJECTS: dict[str, Any] = {
    "SkyCoord": c.SkyCoord([1, 2], [3, 4], unit="deg"),
    "SkyCoord in space": c.SkyCoord(
        [1, 2] * u.deg, [3, 4] * u.deg, distance=[5, 6] * u.pc, obstime=DAYS, frame="fk5"
    ),
    "SkyCoord that moves": c.SkyCoord(
        [1, 2] * u.deg, [3, 4] * u.deg, pm_ra_cosdec=[1, 2] * u.mas / u.yr,
        pm_dec=[3, 4] * u.mas / u.yr,
    ),
    "SkyCoord on the ground": c.SkyCoord(
        [1, 2] * u.deg, [3, 4] * u.deg, frame="altaz", obstime=DAYS.utc, location=PLACE
    ),
    "EarthLocation": PLACE,
    "Cartesian": c.CartesianRepresentation([1, 2], [3, 4], [5, 6], unit="km"),
    "Spherical": POLAR,
    "Spherical with speed": POLAR.with_differentials(SPEED),
    "Differential": c.CartesianDifferential([1, 2], [3, 4], [5, 6], unit="km/s"),
    "structure": np.array([(1, 2.0), (3, 4.0)], [("a", "i4"), ("b", "f8")]),
}  # fmt: skip

#: Numbers in a unit: objects in a QTable alone.
QUANTITIES: dict[str, Any] = {
    "Quantity": [1, 2] * u.m,
    "integers": u.Quantity([1, 2], "m", dtype="i4"),
    "Quantity of each element": np.ones((2, 3)) * u.Jy,
    "magnitudes": [1, 2] * u.mag,
    "Angle": c.Angle([1, 2], "deg"),
    "Latitude": c.Latitude([1, -2], "deg"),
    "Longitude": c.Longitude([1, -2], "deg", wrap_angle=180 * u.deg),
    "Distance": c.Distance([1, 2], "kpc"),
}


def made(values: Any) -> QTable:
    table = QTable({"N": [1, 2], "X": values})
    table["X"].info.description = "what it is"
    return table


def parts(column: Any) -> list[Any]:
    """Return what is the same in two columns that are."""
    if isinstance(column, c.SkyCoord):
        frame = column.frame
        about = [getattr(frame, name) for name in sorted(frame.frame_attributes)]
        return [frame.name, *parts(frame.data), *(str(value) for value in about)]
    if isinstance(column, c.BaseRepresentation):
        own = [getattr(column, name) for name in column.components]
        return [*map(parts, own), *map(parts, getattr(column, "differentials", {}).values())]
    if isinstance(column, c.BaseDifferential):
        return [parts(getattr(column, name)) for name in column.components]
    if isinstance(column, (Time, TimeDelta)):
        return [column.scale, column.format, column.jd1.tolist(), column.jd2.tolist()]
    unit = column.unit if column.dtype.names is None else None
    return [str(unit), np.asarray(column).tolist(), getattr(column, "wrap_angle", None)]


def alike(ours: Any, theirs: Any) -> None:
    """Compare columns that astropy may have computed, which rounds them."""
    np.testing.assert_array_max_ulp(*(np.array(numbers(each)) for each in (ours, theirs)), 4)
    assert type(ours) is type(theirs)


def numbers(column: Any) -> list[float]:
    def flat(part: Any) -> list[float]:
        if isinstance(part, list):
            return [number for each in part for number in flat(each)]
        return [part] if isinstance(part, float) else []

    return flat(parts(column))


def same(ours: Any, theirs: Any) -> None:
    assert type(ours) is type(theirs)
    assert parts(ours) == parts(theirs)
    assert ours.info.description == theirs.info.description == "what it is"


@pytest.mark.parametrize("name", [*OBJECTS, *QUANTITIES])
def test_objects_written_by_astropy_read_as_in_astropy(name: str, tmp_path: Path) -> None:
    values = {**OBJECTS, **QUANTITIES}[name]
    path = tmp_path / "astropy.fits"
    made(values).write(path)
    ours, theirs = tf.open(path)[1].to_astropy(), Table.read(path)
    assert ours.colnames == theirs.colnames == ["N", "X"]
    same(ours["X"], theirs["X"])
    # The result is written so that the object is restored.
    for again in (ours, tf.open(path)[1], tf.open(path)[1].read()):
        tf.write(tmp_path / "again.fits", again, overwrite=True)
        alike(QTable.read(tmp_path / "again.fits")["X"], QTable.read(path)["X"])
    with tf.edit(path) as editor:
        editor[1].append(ours)
        editor[1].append(theirs)
    assert len(QTable.read(path)["X"]) == 6


@pytest.mark.parametrize("name", [*OBJECTS, *QUANTITIES])
def test_written_objects_are_read_by_astropy(name: str, tmp_path: Path) -> None:
    values = {**OBJECTS, **QUANTITIES}[name]
    path = tmp_path / "ours.fits"
    table = made(values)
    tf.write(path, table)
    back = QTable.read(path)
    assert back.colnames == ["N", "X"]
    if isinstance(values, np.ndarray) and values.dtype.names is None:
        same(back["X"], table["X"])
    else:
        alike(back["X"], table["X"])
    table.write(tmp_path / "astropy.fits")
    same(back["X"], QTable.read(tmp_path / "astropy.fits")["X"])


#: Columns, astropy's Table for them when it wrote the file, and the result here.
COLUMNS: dict[str, tuple[Any, Any]] = {
    "masked integers": (MaskedColumn([1, 2], mask=[0, 1]), [1, None]),
    "masked floats": (MaskedColumn([1.0, 2.0], mask=[0, 1]), [1.0, np.nan]),
    "masked text": (MaskedColumn(["a", "b"], mask=[0, 1]), ["a", ""]),
    "masked quantity": (Masked([1.0, 2.0] * u.m, mask=[False, True]), [1.0, np.nan]),
    "text": (Column(["a", "bc"]), ["a", "bc"]),
    "truth": (Column([True, False]), [True, False]),
    "cubes": (Column(np.arange(12).reshape(2, 2, 3)), np.arange(12).reshape(2, 2, 3).tolist()),
    "spans": (TimeDelta([1, 2.5], format="sec"), None),
    "long spans": (TimeDelta([1, 2.5], format="jd", scale="tai"), None),
    "times": (DAYS, None),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_columns_written_by_astropy_read_as_in_astropy(name: str, tmp_path: Path) -> None:
    values, expected = COLUMNS[name]
    path = tmp_path / "astropy.fits"
    made(values).write(path)
    ours, theirs = tf.open(path)[1].to_astropy(), Table.read(path)
    assert ours.colnames == theirs.colnames
    assert ours["X"].info.description == "what it is"
    if expected is not None:
        np.testing.assert_equal(ours["X"].tolist(), expected)
        assert str(ours["X"].unit) == str(theirs["X"].unit)
    elif isinstance(values, TimeDelta):
        same(ours["X"], theirs["X"])
    else:
        # Pairs of days, unless astropy reads times.
        assert (ours["X"] == theirs["X"]).all()
        assert dict(ours["X"].info.meta) == {"TCTYP": "TDB", "TCUNI": "d"}
    tf.write(tmp_path / "again.fits", ours)
    back = Table.read(tmp_path / "again.fits", astropy_native=True)["X"]
    if isinstance(values, TimeDelta):
        np.testing.assert_array_equal(back, values.to_value("s"))
        assert back.unit == u.s
    elif isinstance(values, Time):
        assert (back - values).to_value("ns").tolist() == [0, 0]
        assert back.scale == "tdb"
    with tf.edit(path) as editor:
        editor[1].append(ours)
        editor[1].append(theirs)
    assert len(Table.read(path)) == 6


def test_times_among_columns_of_others_are_times(tmp_path: Path) -> None:
    # Where astropy does not know that it will be FITS, it makes two columns of days of them.
    from astropy.table.serialize import represent_mixins_as_columns

    path = tmp_path / "pairs.fits"
    times = DAYS + [1e-11, 1.1] * u.s
    tf.write(path, represent_mixins_as_columns(made(times)))
    assert tf.open(path)[1].names == ("N", "X.jd1", "X.jd2")
    ours = tf.open(path)[1].to_astropy()
    same(ours["X"], Table.read(path)["X"])
    with tf.edit(path) as editor:
        editor[1].append(ours)
        with pytest.raises(
            tf.UsageError, match=r"'X' whose scale is tt, where .* tdb\nhint: .*times.tdb"
        ):
            editor[1].append(made(DAYS.tt))
    assert Table.read(path)["X"].jd2.tolist() == [*times.jd2, *times.jd2]


@pytest.mark.parametrize("values", [c.Angle([1, 2], "hourangle"), [1, 2] * u.ABmag])
def test_parts_that_astropy_does_not_join_stay_numbers(values: Any, tmp_path: Path) -> None:
    tf.write(tmp_path / "ours.fits", made(values))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", u.UnitsWarning)
        back = QTable.read(tmp_path / "ours.fits")["X"]
    assert (str(back.unit), back.value.tolist()) == (str(values.unit), [1.0, 2.0])


def test_an_object_that_astropy_cannot_make_stays_columns(tmp_path: Path) -> None:
    path = tmp_path / "spectral.fits"
    table = made(c.SpectralCoord([1, 2], "GHz"))
    table["P"] = OBJECTS["SkyCoord"]
    table.write(path)
    with pytest.raises(ValueError, match="unsupported class"):
        Table.read(path)
    ours = tf.open(path)[1].to_astropy()
    assert (ours.colnames, ours["X"].unit) == (["N", "X", "P"], u.GHz)
    assert isinstance(ours["P"], c.SkyCoord)
    # Some of an object's columns are missing.
    assert tf.open(path)[1].to_astropy(["P.ra"]).colnames == ["P.ra"]


def test_messages_name_parts_of_rows_or_of_the_table_alone(tmp_path: Path) -> None:
    path = tmp_path / "sky.fits"
    flat = c.SkyCoord([1, 2] * u.deg, [3, 4] * u.deg)
    deep = c.SkyCoord([1, 2] * u.deg, [3, 4] * u.deg, distance=[5, 6] * u.pc)
    cartesian = deep.copy()
    cartesian.representation_type = "cartesian"
    alike = c.SkyCoord(deep.ra, deep.dec, frame=deep.frame.name)
    for there, new, said, repaired in (
        (flat, deep, "with a distance of each row, .* have none\nhint: leave it out", alike),
        (deep, flat, "without a distance of each row, .* have one\nhint: give", deep),
        (cartesian, deep, "representation_type is spherical, .* have cartesian\nhint: ", cartesian),
    ):
        tf.write(path, Table({"X": there}), overwrite=True)
        with tf.edit(path) as editor:
            with pytest.raises(tf.UsageError, match=f"rows with objects 'X' .*{said}"):
                editor[1].append(Table({"X": new}))
            editor[1].append(Table({"X": repaired}))
        assert len(tf.open(path)[1].to_astropy()["X"]) == 4
