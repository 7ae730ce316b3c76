"""Lazy frames of polars have the rows that polars has of the whole frame."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from astropy.io import fits

import tachyfits as tf
from tachyfits.interop import polars_scan

pytestmark = pytest.mark.once

COLUMN = pl.col

#: Query: whether the engine gets a condition of it.
QUERIES: dict[str, tuple[pl.Expr, bool]] = {
    "less": (COLUMN("F") < 0.1, True),
    "greater, with NaN": (COLUMN("F") > 0.1, True),
    "not less than a double": (COLUMN("D") >= 0.25, True),
    "between": (COLUMN("N").is_between(3, 9), True),
    "equal": (COLUMN("N") == 5, True),
    "text": (COLUMN("name with blanks") == "b", True),
    "both": ((COLUMN("F") <= 0.5) & (COLUMN("N") > 4), True),
    "either": ((COLUMN("F") < -1) | (COLUMN("N") == 7), True),
    "a constant first": (pl.lit(5) > COLUMN("N"), True),
    "half of it": ((COLUMN("N") < 8) & (COLUMN("N") % 2 == 0), True),
    "either, half of it": ((COLUMN("N") < 8) | (COLUMN("N") % 2 == 0), False),
    "not equal": (COLUMN("N") != 5, False),
    "null": (COLUMN("N").is_null(), False),
    "not null": (COLUMN("N").is_not_null() & (COLUMN("D") < 0.5), True),
    "NaN": (COLUMN("F").is_nan(), False),
    "two columns of two types": (COLUMN("F") < COLUMN("D"), False),
    "a truth value": (COLUMN("L"), False),
    "negated": (~(COLUMN("N") > 5), True),
    "in a list": (COLUMN("N").is_in([1, 2]), False),
    "text with quotes": (COLUMN("name with blanks") == "it's", False),
    "infinite": (COLUMN("D") < float("inf"), False),
    "odd text": (COLUMN("name with blanks") > "a", False),
}


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> tf.Table:
    rng = np.random.default_rng(4)
    floats = rng.normal(size=500).astype("f4")
    floats[::7], floats[3] = np.nan, np.float32(0.1)
    columns = [
        fits.Column("F", "E", array=floats),
        fits.Column("D", "D", array=rng.normal(size=500)),
        fits.Column("N", "J", null=-1, array=rng.integers(-1, 12, 500)),
        fits.Column("name with blanks", "4A", array=rng.choice(["a", "b", "c d", "it's"], 500)),
        fits.Column("L", "L", array=rng.random(500) > 0.5),
        fits.Column("V", "2E", array=rng.random((500, 2))),
    ]
    path = tmp_path_factory.mktemp("scan") / "t.fits"
    fits.BinTableHDU.from_columns(columns).writeto(path)
    found: tf.Table = tf.open(path)[1]
    return found


@pytest.mark.parametrize("name", QUERIES)
def test_rows_are_those_of_the_whole_frame(table: tf.Table, name: str) -> None:
    predicate, _ = QUERIES[name]
    expected = table.to_polars().filter(predicate)
    assert table.scan_polars().filter(predicate).collect().equals(expected)
    few = table.scan_polars().filter(predicate).select("V", "D").head(3).collect()
    assert few.equals(expected.select("V", "D").head(3))


@pytest.mark.parametrize("name", QUERIES)
def test_the_engine_gets_what_it_knows(
    table: tf.Table, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    stream = tf.Table.arrow_stream

    def noted(self: tf.Table, columns: Any = None, **options: Any) -> Any:
        if "where" in options:  # not for the schema
            asked.append((columns, options["where"]))
        return stream(self, columns, **options)

    monkeypatch.setattr(tf.Table, "arrow_stream", noted)
    predicate, is_known = QUERIES[name]
    table.scan_polars().filter(predicate).select("D").collect()
    ((columns, where),) = asked
    assert (where is not None) == is_known, where
    assert set(columns) == {"D", *predicate.meta.root_names()}


def test_columns_rows_and_batches(table: tf.Table) -> None:
    assert table.scan_polars(["D", "F"]).collect_schema().names() == ["D", "F"]
    assert table.scan_polars().head(7).collect().equals(table.to_polars().head(7))
    assert table.scan_polars().select(pl.len()).collect().item() == 500
    count = table.scan_polars().filter(COLUMN("N") > 3).select(pl.len()).collect().item()
    assert count == table.to_polars().filter(COLUMN("N") > 3).height


def test_another_way_to_write_expressions_is_filtered_by_polars(
    table: tf.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(polars_scan.json, "loads", lambda text: {"Expression": [text]})
    found = table.scan_polars().filter(COLUMN("N") > 3).collect()
    assert found.equals(table.to_polars().filter(COLUMN("N") > 3))
