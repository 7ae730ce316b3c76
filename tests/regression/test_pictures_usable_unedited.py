"""Pictures are usable as they are drawn: limits, names, titles, ticks; no edge cuts a label."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.visualization import ZScaleInterval

import tachyfits as tf
from smallcubes import write_cube
from tachyfits.cli import run
from tachyfits.plot import histogram_figure, plane_figure, pv_figure, spectrum_figure
from tachyfits.plot._labels import axis_name, broken, file_title, unit_words, with_unit
from tachyfits.plot._limits import limits_of, normalisation, round_values, stretched
from tachyfits.plot._plane import BLANK_COLOUR

SKY = {
    "CTYPE1": "GLON-CAR", "CTYPE2": "GLAT-CAR", "CRVAL1": 18.2, "CRVAL2": 0.0, "CRPIX1": 80.0,
    "CRPIX2": 60.0, "CDELT1": -3e-4, "CDELT2": 3e-4, "CUNIT1": "deg", "CUNIT2": "deg",
}  # fmt: skip
LONG = "a very long name of an object that no layout would fit on one line of a small picture " * 2


def field(shape: tuple[int, int] = (120, 160)) -> np.ndarray:
    """Return noise about 500 with a few bright sources and some undefined pixels."""
    image = np.random.default_rng(5).normal(500, 10, shape)
    for y, x in ((20, 30), (60, 90), (100, 140)):
        image[y - 2 : y + 3, x - 2 : x + 3] += 5000
    image[:3, :5] = np.nan
    return image


def plane(values: Any = None, name: str = "pixels", unit: str | None = None, **cards: Any) -> Any:
    header = tf.Header([(keyword, value, "") for keyword, value in cards.items()])
    values = field() if values is None else values
    return tf.Plane(values, unit, header, name, source="/data/of/mine/m13_blue.fits.gz")


def colours(figure: Any) -> np.ndarray:
    image = figure.axes[0].images[0]
    return np.ma.filled(image.norm(image.get_array()), np.nan)


def cut_at_an_edge(figure: Any) -> str | None:
    """Draw a figure; say where something on it lies beyond its edges."""
    figure.canvas.draw()
    box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    inside = min(box.x0, box.y0) >= 0 and box.x1 <= width and box.y1 <= height
    return None if inside else f"{box} beyond {width} x {height} inches"


def test_the_default_limits_are_those_of_zscale() -> None:
    values = field()
    assert limits_of(values) == ZScaleInterval().get_limits(values)
    assert limits_of(values, "zscale") == limits_of(values)
    assert limits_of(values, "minmax") == (np.nanmin(values), np.nanmax(values))
    wanted = np.nanpercentile(values, [1, 99])
    for limits, percentile in (("percentile99", None), ("percentile", 99), (None, 99)):
        assert limits_of(values, limits, percentile=percentile) == tuple(wanted)
    assert limits_of(values, (400, 600)) == (400, 600)
    assert limits_of(values, "minmax", high=600) == (np.nanmin(values), 600)
    image = plane_figure(plane(values)).axes[0].images[0]
    assert (image.norm.vmin, image.norm.vmax) == ZScaleInterval().get_limits(values)


@pytest.mark.parametrize("wrong", ["zscal", "percentile0", "percentilex", (1,), (3, 2), 5])
def test_invalid_limits_are_refused(wrong: Any) -> None:
    with pytest.raises(tf.UsageError, match="invalid"):
        limits_of(field(), wrong)


def test_limits_of_large_images_take_bounded_memory() -> None:
    small = np.random.default_rng(2).normal(0, 1, (3000, 3000))
    for method in ("zscale", "percentile", None):
        tracemalloc.start()
        limits_of(small, method)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        # The image itself has 72 MB.
        assert peak < 130e6
    low, high = limits_of(small)
    assert -6 < low < -2 < 2 < high < 6


@pytest.mark.parametrize("stretch", ["linear", "log", "asinh", "sqrt"])
@pytest.mark.parametrize("kind", ["background", "nebula", "crowded", "scaled"])
def test_every_stretch_uses_its_colours(stretch: str, kind: str) -> None:
    generator = np.random.default_rng(3)
    values = {
        "background": field(),
        "nebula": 1e4 + 4e3 * np.sin(np.linspace(0, 9, 19200)).reshape(120, 160),
        "crowded": generator.pareto(1.0, (120, 160)) + 3,
        "scaled": 1e-20 * field(),
    }[kind]
    shown = colours(plane_figure(plane(values), stretch=stretch))
    low, middle, high = np.nanpercentile(shown, [5, 50, 99])
    # Neither black nor of one colour: noise and sources are visible.
    assert 0.05 < middle < 0.9
    assert high - low > 0.15


def test_velocities_diverge_about_their_median() -> None:
    field_of = np.tile(1.2e5 + 2000.0 * (np.arange(50.0) - 25), (50, 1))
    field_of[0, :10] = 9e7
    figure = plane_figure(plane(field_of, "moment 1", "m/s"))
    norm, cmap = figure.axes[0].images[0].norm, figure.axes[0].images[0].cmap
    assert cmap.name == "RdBu_r"
    assert (norm.vmin + norm.vmax) / 2 == pytest.approx(120, abs=1)
    assert norm.vmax - norm.vmin == pytest.approx(98, rel=0.1)
    assert figure.axes[1].get_ylabel() == "Velocity (km/s)"


def test_undefined_pixels_are_grey_in_every_map() -> None:
    from matplotlib.colors import to_rgba

    for name in ("pixels", "moment 1", "moment 2"):
        cmap = plane_figure(plane(name=name)).axes[0].images[0].cmap
        assert tuple(cmap(np.ma.masked)) == pytest.approx(to_rgba(BLANK_COLOUR))
        red, green, blue, _ = to_rgba(BLANK_COLOUR)
        assert red == green == blue


def test_axes_and_units_have_their_names() -> None:
    axes = plane_figure(plane(**SKY)).axes[0]
    assert [c.get_axislabel() for c in axes.coords] == ["Galactic longitude", "Galactic latitude"]
    assert axis_name("VELO-LSR") == "Velocity"
    assert with_unit("Velocity", "m/s") == "Velocity (m/s)"
    assert unit_words("JY/BEAM") == "Jy/beam"


def test_planes_of_other_axes_have_their_coordinates() -> None:
    cards = {"CTYPE1": "OFFSET", "CUNIT1": "deg", "CRPIX1": 1.0, "CRVAL1": 0.0, "CDELT1": 0.01,
             "CTYPE2": "VELO", "CUNIT2": "m/s", "CRPIX2": 1.0, "CRVAL2": 5000.0,
             "CDELT2": 2000.0}  # fmt: skip
    axes = plane_figure(plane(np.ones((5, 7)), **cards), contours=[0.5]).axes[0]
    assert axes.get_xlabel() == "Offset (deg)"
    assert axes.get_ylabel() == "Velocity (km/s)"
    assert axes.get_ylim() == pytest.approx((4, 14))
    assert axes.get_xlim() == pytest.approx((-0.005, 0.065))
    axes = plane_figure(plane(np.ones((5, 7)), CTYPE2="VELO", CDELT2="1,5")).axes[0]
    assert axes.get_xlim() == (0.5, 7.5)
    assert axes.get_ylim() == (0.5, 5.5)


def test_titles_are_the_object_or_the_name_of_the_file() -> None:
    assert plane_figure(plane()).axes[0].get_title() == "m13_blue"
    assert plane_figure(plane(name="mean")).axes[0].get_title() == "m13_blue: mean"
    assert plane_figure(plane(OBJECT="M 13")).axes[0].get_title() == "M 13"
    assert file_title("/a/b/c.fits.fz") == "c"
    assert file_title("<bytes>") == ""
    assert broken("x" * 50, 20).count("…") == 1


@pytest.mark.parametrize("shape", [(120, 160), (4, 300), (300, 4), (200, 30), (1, 1), (64, 64)])
@pytest.mark.parametrize("cards", [{}, SKY, {**SKY, "OBJECT": LONG}, {"OBJECT": "x" * 120}])
def test_nothing_is_cut_at_an_edge(shape: tuple[int, int], cards: dict[str, Any]) -> None:
    values = 1e5 * np.arange(shape[0] * shape[1], dtype=np.float64).reshape(shape) - 1e6
    unit = "10**(-20)*erg/s/cm**2/Angstrom"
    figure = plane_figure(plane(values, "mean", unit, **cards), contours=True)
    assert cut_at_an_edge(figure) is None


def test_plots_are_not_cut_either(tmp_path: Path) -> None:
    image = tf.open(write_cube(tmp_path / "cube.fits", {"OBJECT": LONG[:68]}))[0]
    regions = [tf.Circle(1, 1, 1), tf.Polygon([(0, 0), (3, 0), (3, 3)])]
    figures = [
        spectrum_figure(image.spectrum(regions), title=LONG, labels=["polygon(1,2,3)" * 9, "b"]),
        spectrum_figure([image.spectrum()]),
        histogram_figure(image.histogram(), unit=image.unit, title="/" + "long/" * 60),
        pv_figure(image.pv([(0, 0), (3, 4)]), contours=True),
    ]
    assert [cut_at_an_edge(figure) for figure in figures] == [None] * 4


@pytest.mark.parametrize("stretch", ["log", "asinh", "sqrt"])
@pytest.mark.parametrize("limits", [(470.0, 3120.0), (-3.3, 97.0), (2.1, 811.0), (-2e-5, 3e-3)])
def test_ticks_of_colour_bars_are_round(stretch: str, limits: tuple[float, float]) -> None:
    values = round_values(normalisation(stretch, *limits))
    assert 4 <= len(values) <= 8
    for value in values:
        # Two digits are enough, or as many as the range needs.
        digits = len(f"{abs(value):.9e}".partition("e")[0].replace(".", "").rstrip("0"))
        assert digits <= 2 or round(value / (limits[1] - limits[0]), 2) == pytest.approx(
            value / (limits[1] - limits[0]), abs=0.01
        )
        assert limits[0] <= value <= limits[1]
    places = np.asarray(normalisation(stretch, *limits)(np.array(values)))
    assert np.diff(places).min() > 0.07


def test_a_log_stretch_keeps_the_background_dark() -> None:
    values = field()
    norm = stretched("log", values, (0.0, 600.0))
    assert float(norm(np.nanmedian(values))) < 0.95
    norm = stretched("asinh", values, (490.0, 9000.0))
    assert float(norm(np.nanmedian(values))) > 0.1


def test_contours_are_drawn_at_the_requested_levels(tmp_path: Path) -> None:
    from matplotlib.contour import ContourSet

    def levels(**options: Any) -> list[float]:
        figure = plane_figure(plane(**SKY), **options)
        found = [c for c in figure.axes[0].get_children() if isinstance(c, ContourSet)]
        return [] if not found else list(found[0].levels)

    assert levels() == []
    assert levels(contours=[3000.0, 1000.0]) == [1000.0, 3000.0]
    assert len(levels(contours=4)) >= 2
    noise = levels(contours=True)
    assert noise[0] == pytest.approx(530, abs=3)
    assert noise[1] == pytest.approx(560, abs=6)


def test_integers_have_bins_of_whole_width(tmp_path: Path) -> None:
    counts = np.random.default_rng(1).poisson(5, (40, 40)).astype("i2")
    counts[0, 0] = 4000
    for data in (counts, counts.astype("u2")):
        tf.write(tmp_path / "a.fits", data, overwrite=True)
        found = tf.open(tmp_path / "a.fits")[0].histogram()
        width = np.diff(found.edges)
        assert (width == width[0]).all()
        assert width[0] == round(width[0])
        assert found.edges[0] % 1 == 0.5
        assert found.counts.sum() == data.size
    tf.write(tmp_path / "b.fits", counts.clip(0, 20))
    found = tf.open(tmp_path / "b.fits")[0].histogram()
    np.testing.assert_array_equal(found.counts, np.bincount(counts.clip(0, 20).ravel()))
    # A requested number of bins is kept.
    assert len(tf.open(tmp_path / "b.fits")[0].histogram(7).counts) == 7


def test_counts_of_a_long_tail_are_logarithmic(tmp_path: Path) -> None:
    generator = np.random.default_rng(4)
    kinds = {"linear": generator.normal(0, 1, 9000), "log": generator.pareto(1, 9000)}
    for scale, values in kinds.items():
        tf.write(tmp_path / "h.fits", values, overwrite=True)
        found = tf.open(tmp_path / "h.fits")[0].histogram()
        assert histogram_figure(found).axes[0].get_yscale() == scale
        assert histogram_figure(found, log=False).axes[0].get_yscale() == "linear"


def test_the_command_draws_every_format_and_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_cube(tmp_path / "cube.fits", data=np.random.default_rng(1).normal(0, 1, (6, 20, 24)))
    begin = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}
    for number, words in enumerate((
        ["--limits", "minmax"], ["--limits", "zscale", "--stretch", "log"],
        ["--limits", "percentile"], ["--limits=-1,2"], ["--contours"], ["--levels", "1,2.5"],
        ["--limits", "percentile99", "--cmap", "viridis", "--stretch", "asinh"],
        ["--moment", "0,1,2", "--unit", "km/s"],
    )):  # fmt: skip
        # How a figure is written does not depend on the options; one figure has several parts.
        suffixes = begin if number in (0, 7) else ["png"]
        for suffix in suffixes:
            assert run(["collapse", "cube.fits", *words, "-o", f"{number}.{suffix}"]) == 0
            for path in tmp_path.glob(f"{number}*.{suffix}"):
                assert path.read_bytes().startswith(begin[suffix])
    svg = (tmp_path / "0.svg").read_text()
    assert "cube: mean" in svg
    assert str(tmp_path) not in svg
    for words in (["--limits", "best"], ["--levels", "x"], ["--limits", "1,2,3"], ["--cmap", "x"]):
        assert run(["collapse", "cube.fits", *words, "-o", "no.png"]) == 2
    assert not (tmp_path / "no.png").exists()
    run(["collapse", "cube.fits", "--cmap", "infernal", "-o", "no.png"])
    assert "try inferno" in capsys.readouterr().err


def test_velocities_of_a_source_in_front_of_a_larger_one_keep_their_colours() -> None:
    """A quarter of the pixels rotates; the others have nearly one velocity."""
    values = np.random.default_rng(0).normal(-20, 5, (100, 100))
    values[:50, :50] = np.linspace(-100, 180, 50)
    low, high = limits_of(values, of_coordinates=True)
    assert low <= -75
    assert high >= 150
