"""Several regions, each for itself: tables of statistics and histograms, cutouts, files."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.table import Table
from numpy.typing import NDArray

import tachyfits as tf
from fitsbytes import cube_cards, primary
from tachyfits.cli import run

SOURCES = """# Region file format: DS9
image
circle(10,12,4) # text={north core}
circle(25,20,5)
box(15,30,6,8,0) # text={south}
"""


def pixels() -> NDArray[np.float32]:
    random = np.random.default_rng(5)
    values = random.normal(1, 2, (4, 40, 36)).astype("f4")
    values[random.random(values.shape) < 0.1] = np.nan
    return values


def cube() -> tf.Image:
    image: tf.Image = tf.open(primary(pixels(), cube_cards()))[0]
    return image


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    path = tmp_path / "sources.reg"
    path.write_text(SOURCES)
    return path


def inside(path: Path) -> list[NDArray[np.float64]]:
    """Return the pixels of each region, by NumPy."""
    regions = tf.regions(path)
    return [pixels()[:, cube().region_mask(region)].astype("f8") for region in regions]


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text().splitlines()))


NAMES = ("count", "nan", "sum", "mean", "std", "min", "max", "median", "mad", "percentile90")


def test_a_table_has_the_statistics_of_each_region(sources: Path) -> None:
    table = cube().measure(sources, NAMES, ddof=1)
    assert table.names == ("region", *NAMES)
    assert table["region"].tolist() == ["north core", "circle(25,20,5)", "south"]
    assert [table.unit(name) for name in ("region", "count", "mean")] == [None, None, "Jy/beam"]
    parts = inside(sources)
    expected = {
        "count": [np.isfinite(part).sum() for part in parts],
        "nan": [np.isnan(part).sum() for part in parts],
        "sum": [np.nansum(part) for part in parts],
        "mean": [np.nanmean(part) for part in parts],
        "std": [np.nanstd(part, ddof=1) for part in parts],
        "min": [np.nanmin(part) for part in parts],
        "max": [np.nanmax(part) for part in parts],
        "median": [np.nanmedian(part) for part in parts],
        "mad": [np.nanmedian(abs(part - np.nanmedian(part))) for part in parts],
        "percentile90": [np.nanpercentile(part, 90) for part in parts],
    }
    for name, values in expected.items():
        np.testing.assert_allclose(table[name], values, rtol=1e-12, err_msg=name)
    chosen = cube().select(sources, channels=slice(1, 3), where="> 0")
    narrow = [part[1:3][part[1:3] > 0] for part in parts]
    np.testing.assert_allclose(chosen.measure(statistics="sum")["sum"], [p.sum() for p in narrow])
    assert cube().measure(statistics=["count"])["count"].tolist() == [np.isfinite(pixels()).sum()]


def test_fluxes_of_an_image_are_in_the_table(sources: Path) -> None:
    image = cube().cutout(channels=0).with_beam("90arcsec")
    table = image.measure(sources, ["sum", "flux"])
    fluxes = image.flux(str(sources))
    np.testing.assert_array_equal(table["flux"], fluxes.value[:, 0])
    assert table.unit("flux") == str(fluxes.unit) == "Jy"
    with pytest.raises(tf.UsageError, match="a flux is a sum over the two axes of the sky"):
        cube().with_beam("90arcsec").measure(sources, ["flux"])
    with pytest.raises(tf.UsageError, match="invalid statistic 'avg'"):
        cube().measure(sources, ["avg"])
    with pytest.raises(tf.UsageError, match="expected one or more"):
        cube().measure(sources, [])


def test_histograms_of_regions_have_the_same_bins(sources: Path) -> None:
    table = cube().histograms(sources, 6)
    assert table.names == ("low", "high", "north core", "2", "south")
    edges = np.append(table["low"], table["high"][-1])
    parts = inside(sources)
    assert edges[0] == min(np.nanmin(part) for part in parts)
    for name, part in zip(table.names[2:], parts, strict=True):
        expected = np.histogram(part[np.isfinite(part)], edges)[0]
        np.testing.assert_array_equal(table[name], expected)
    assert cube().histograms(bins=4).names == ("low", "high", "count")


def test_cutouts_have_the_labels_of_their_regions(sources: Path) -> None:
    parts = cube().cutouts(sources, channels=slice(1, 3))
    assert list(parts) == ["north core", "2", "south"]
    for part, region in zip(parts.values(), tf.regions(sources), strict=True):
        expected = cube().cutout(region, channels=slice(1, 3))
        np.testing.assert_array_equal(part[...], expected[...])
        assert part.header["CRPIX1"] == expected.header["CRPIX1"]
    assert list(cube().select(sources).cutouts()) == list(parts)
    with pytest.raises(tf.UsageError, match="no regions to cut out"):
        cube().cutouts()


def test_spectra_of_regions_have_their_labels_in_the_legend(sources: Path) -> None:
    from tachyfits.plot import spectrum_figure

    figure = spectrum_figure(cube().spectrum(str(sources)))
    texts = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert texts[::2] == ["north core", "south"]


def test_columns_are_written_in_the_format_of_the_name(sources: Path, tmp_path: Path) -> None:
    table = cube().measure(sources, ["count", "mean"])
    for ending in ("fits", "csv", "json", "parquet"):
        table.write(tmp_path / f"t.{ending}")
    found = Table.read(tmp_path / "t.fits")
    assert str(found["mean"].unit) == "Jy / beam"
    np.testing.assert_array_equal(found["mean"], table["mean"])
    rows = rows_of(tmp_path / "t.csv")
    assert [float(row["mean"]) for row in rows] == table["mean"].tolist()
    told = json.loads((tmp_path / "t.json").read_text())
    assert told["units"] == {"mean": "Jy/beam"}
    assert told["rows"][2] == {
        "region": "south", "count": int(table["count"][2]), "mean": float(table["mean"][2]),
    }  # fmt: skip
    import pyarrow.parquet

    assert pyarrow.parquet.read_table(tmp_path / "t.parquet")["region"][0].as_py() == "north core"
    with pytest.raises(tf.IoExistsError):
        table.write(tmp_path / "t.json")
    with pytest.raises(tf.UsageError):
        table.write(tmp_path / "t.doc")
    masked = tf.Columns({"a": np.ma.MaskedArray([1, 2], [0, 1]), "b": np.array([np.nan, 1.0])})
    masked.write(tmp_path / "m.json")
    assert json.loads((tmp_path / "m.json").read_text())["rows"] == [
        {"a": 1, "b": None}, {"a": None, "b": 1.0},
    ]  # fmt: skip


def test_commands_write_tables_of_regions(
    sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    cube().write("cube.fits")
    region = ["cube.fits", "--region", "sources.reg"]
    table = cube().measure(sources, ["count", "mean", "median"])
    for ending in ("fits", "csv", "json", "txt"):
        assert run(["stats", *region, "-o", f"s.{ending}"]) == 0
    found = Table.read("s.fits")
    np.testing.assert_array_equal(found["mean"], table["mean"])
    assert found["region"].tolist() == ["north core", "sources.reg:2", "south"]
    assert str(found["mean"].unit) == "Jy / beam"
    rows = rows_of(Path("s.csv"))
    assert [float(row["mean"]) for row in rows] == table["mean"].tolist()
    assert [row["mean"] for row in json.loads(Path("s.json").read_text())["statistics"]] == list(
        table["mean"]
    )
    assert run(["stats", *region, "--median", "-o", "m.fits"]) == 0
    np.testing.assert_array_equal(Table.read("m.fits")["median"], table["median"])
    assert run(["stats", *region, "--per-plane", "-o", "p.fits"]) == 0
    assert Table.read("p.fits")["plane"].tolist() == [1, 2, 3, 4] * 3
    assert run(["stats", *region, "-o", "s.csv"]) == 1
    assert run(["stats", "cube.fits", "--hdu", "all", "-o", "x.csv"]) == 2
    histograms = cube().histograms(sources, 5)
    assert run(["histogram", *region, "--per-region", "--bins", "5", "-o", "h.csv"]) == 0
    rows = rows_of(Path("h.csv"))
    assert [int(row["south"]) for row in rows] == histograms["south"].tolist()
    assert run(["histogram", *region, "--per-region", "--bins", "5", "-o", "h.fits"]) == 0
    np.testing.assert_array_equal(Table.read("h.fits")["2"], histograms["2"])
    capsys.readouterr()
    assert run(["histogram", *region, "--per-region", "--bins", "5", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["histograms"]
    assert told[0] == {"region": "north core", "counts": histograms["north core"].tolist()}
    for words in (["-o", "h.png"], ["--per-region"]):
        bare = ["histogram", *(region if "-o" in words else region[:1]), "--per-region"]
        assert run([*bare, *words]) == 2
    assert run(["cutout", *region, "--each", "-o", "part.fits"]) == 0
    for name, part in zip(("north_core", "2", "south"), cube().cutouts(sources).values(),
                          strict=True):  # fmt: skip
        with tf.open(f"part-{name}.fits") as file:
            np.testing.assert_array_equal(file[0][...], part[...])
    assert run(["cutout", *region, "--each", "-o", "-"]) == 2
    assert run(["cutout", "cube.fits", "--channels", "1", "--each", "-o", "x.fits"]) == 2
