"""Tables of real files, value by value beside astropy; and those that come with astropy."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import astropy
import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf
from realfiles import parameters, path_of

pytestmark = pytest.mark.once

REAL = parameters(
    f"data/tables/{name}"
    for name in (
        "hlsp_tess-data-alerts_tess_phot_00025155310-s01_tess_v1_lc.fits",
        "kplr010666592-2009131110544_slc.fits",
    )
)
WHEEL = Path(astropy.__file__).parent
#: FITS files with tables from astropy's own tests.
IN_WHEEL = sorted(
    path
    for folder in ("io/fits/tests/data", "io/misc", "timeseries/io/tests/data", "table/tests/data")
    for path in (WHEEL / folder).rglob("*.fit*")
    if path.suffix != ".Z"  # another compression, which astropy itself needs a package for
)

#: Where astropy and the Standard differ, with the reason: compared in another way, or not at all.
ASTROPY_ERRS = {
    # (file, HDU, column): why
}


def same(found: Any, expected: Any, where: str) -> None:
    """A column is what astropy says, up to the ways of saying it."""
    if isinstance(found, tf.Ragged):
        assert len(found) == len(expected), where
        for cell, other in zip(found, expected, strict=True):
            same(cell, np.asarray(other), where)
        return
    expected = np.asarray(expected)
    if found.dtype.kind in "UO":
        cells = np.char.rstrip(expected.astype("U"), " ")
        # A string ends at its first NUL; astropy keeps the rest.
        cut = np.array([cell.partition("\0")[0].rstrip() for cell in cells.reshape(-1)] or [""])
        np.testing.assert_array_equal(found.reshape(-1), cut[: found.size], err_msg=where)
        return
    assert found.size == expected.size, where
    defined = ~np.ma.getmaskarray(found).reshape(-1)
    values = np.ma.getdata(found).reshape(-1)[defined]
    other = expected.reshape(-1)[defined]
    if values.dtype.kind in "fc":
        # astropy computes scaled columns of small integers in float32.
        tolerance = 1e-6 if other.dtype.itemsize < values.dtype.itemsize else 1e-15
        np.testing.assert_allclose(values, other, rtol=tolerance, atol=0, err_msg=where)
    else:
        np.testing.assert_array_equal(values, other, err_msg=where)


def compared(path: Path) -> int:
    """Compare every column of every table of a file; how many there were."""
    count = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with (
            fits.open(path, disable_image_compression=True) as theirs,
            tf.open(path, decompress_tiles=False) as ours,
        ):
            for index, hdu in enumerate(theirs):
                if not isinstance(hdu, (fits.BinTableHDU, fits.TableHDU)):
                    continue
                table = ours[index]
                assert isinstance(table, tf.Table)
                assert len(table) == len(hdu.data)
                for number, column in enumerate(hdu.columns):
                    where = f"{path.name}, HDU {index}, column {column.name}"
                    same(table[number], hdu.data.field(number), where)
                    assert table.columns[number].unit == (column.unit or None), where
                    count += 1
    return count


@pytest.mark.parametrize("name", REAL)
def test_real_tables(name: str) -> None:
    assert compared(path_of(name)) > 10


@pytest.mark.parametrize("path", IN_WHEEL, ids=lambda path: path.name)
def test_tables_that_come_with_astropy(path: Path) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fits.open(path, disable_image_compression=True).close()
    except OSError:
        with pytest.raises(tf.TachyfitsError):
            tf.open(path)
        return
    compared(path)


def test_there_are_tables_to_compare() -> None:
    assert sum(path.name in {"table.fits", "tb.fits", "ascii.fits"} for path in IN_WHEEL) >= 2


@pytest.mark.parametrize("name", REAL)
def test_real_tables_as_astropy_tables(name: str) -> None:
    path = path_of(name)
    from astropy.table import Table

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = Table.read(path, hdu=1)
        ours = tf.open(path)[1].to_astropy()
    assert ours.colnames == theirs.colnames
    for name in ours.colnames:
        assert ours[name].unit == theirs[name].unit
        same(np.ma.asanyarray(ours[name]), theirs[name], name)


@pytest.mark.parametrize("name", REAL)
def test_real_tables_as_frames_and_arrow(name: str) -> None:
    pa = pytest.importorskip("pyarrow", reason="LEFT OUT: pyarrow is not installed")
    pytest.importorskip("pandas", reason="LEFT OUT: pandas is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = tf.open(path_of(name))[1]
    columns = table.read()
    arrow, frame = table.to_arrow(), table.to_pandas()
    arrow.validate(full=True)
    reader = table.arrow_reader(rows=700).read_all()
    assert reader.schema == arrow.schema
    assert pa.table(table).schema == arrow.schema
    for name, values in columns.items():
        # As lists of cells, since NaN is not equal to itself.
        cells = [column[name].to_pandas().to_numpy() for column in (reader, arrow)]
        np.testing.assert_array_equal(*cells)
        np.testing.assert_array_equal(
            np.asarray(arrow[name].is_null()).reshape(-1),
            np.ma.getmaskarray(values) if values.ndim == 1 else False,
        )
        if values.ndim == 1 and not np.ma.isMaskedArray(values):
            np.testing.assert_array_equal(frame[name].to_numpy(), values)


@pytest.mark.parametrize("name", REAL)
def test_polars_accepts_a_table(name: str) -> None:
    pl = pytest.importorskip("polars", reason="LEFT OUT: polars is not installed")
    pytest.importorskip("pyarrow", reason="LEFT OUT: pyarrow is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = tf.open(path_of(name))[1]
    frame = pl.DataFrame(table)
    assert frame.columns == list(table.names)
    assert frame.height == len(table)
    for name, values in table.read().items():
        if values.ndim == 1 and not np.ma.isMaskedArray(values):
            np.testing.assert_array_equal(frame[name].to_numpy(), values)
