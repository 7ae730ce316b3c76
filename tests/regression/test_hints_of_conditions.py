"""Hints for conditions as users write them: a table before the column, bits of a scaled column."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf


@pytest.fixture
def table(tmp_path: Path) -> tf.Table:
    columns = [
        fits.Column("ra", "E", array=np.arange(5.0)), fits.Column("N", "J", array=np.arange(5)),
        fits.Column("gaia.dec", "E", array=np.arange(5.0)),
        fits.Column("FLAG", "I", array=np.arange(5)),
    ]  # fmt: skip
    hdu = fits.BinTableHDU.from_columns(columns)
    hdu.header["TSCAL4"], hdu.header["TZERO4"] = 2.0, 1.0
    hdu.writeto(tmp_path / "t.fits")
    opened: tf.Table = tf.open(tmp_path / "t.fits")[1]
    return opened


def test_a_table_before_a_column_is_named(table: tf.Table) -> None:
    with pytest.raises(tf.UsageError, match=r"write ra, or `gaia\.ra` in backquotes"):
        table.where("gaia.ra > 1")
    with pytest.raises(tf.UsageError, match=r"write dec, or `gaia\.dec` in backquotes"):
        table.where("N > 1 && gaia.dec > 1")
    with pytest.raises(KeyError, match="columns have no table before them: use 'ra'"):
        table["gaia.ra"]
    assert len(table.where("`gaia.dec` > 1")) == 3
    assert table["gaia.dec"].tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(tf.UsageError, match="not for Fortran's"):
        table.where("N > 1 .AND. ra > 1")
    assert len(table.where("ra > 1.5")) == 3


@pytest.mark.parametrize("condition", ["(FLAG & 1) == 0", "(N & 2.5) == 0", "(ra | N) > 1"])
def test_bits_of_numbers_that_have_none_are_explained(table: tf.Table, condition: str) -> None:
    with pytest.raises(tf.UsageError, match="expected an integer, which has bits") as refused:
        table.where(condition)
    assert "TSCALn" in str(refused.value)


def test_bits_of_integers_stay(table: tf.Table) -> None:
    assert table.where("(N & 1) == 1").tolist() == [1, 3]
    assert table.where("(N > 1) & (FLAG > 5)").tolist() == [3, 4]
