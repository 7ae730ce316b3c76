"""Pictures: what is on them, and that colours mean what they say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits
from hypothesis import given
from hypothesis import strategies as st

import tachyfits as tf
from fitsbytes import cube_cards, primary
from tachyfits.cli import run
from tachyfits.plot import (
    channel_figure,
    histogram_figure,
    plane_figure,
    pv_figure,
    save_figure,
    spectrum_figure,
)
from tachyfits.plot._limits import limits_of, normalisation
from tachyfits.plot._plane import beam_outline

pytestmark = pytest.mark.once

BEAM = [("BMAJ", 0.04), ("BMIN", 0.02), ("BPA", 90.0)]


def plane(*more: tuple[str, object]) -> tf.Plane:
    stored = np.random.default_rng(1).normal(0, 1, (3, 20, 30)).astype("f4")
    stored[:, 4, 5] = np.nan
    return tf.open(primary(stored, [*cube_cards(), *more]))[0].collapse("mean")


def test_a_picture_has_coordinates_a_unit_a_title_and_the_beam() -> None:
    figure = plane_figure(plane(*BEAM), stretch="asinh", percentile=99)
    figure.canvas.draw()
    axes, bar = figure.axes[:2]
    assert bar.get_ylabel() == "Mean (Jy/beam)"
    assert axes.get_title() == "test: mean"
    assert [c.get_axislabel() for c in axes.coords] == ["Right ascension", "Declination"]
    assert len(axes.patches) == 1
    assert not plane_figure(plane()).axes[0].patches


@pytest.mark.parametrize(
    ("codes", "names"),
    [
        (("GLON-CAR", "GLAT-CAR"), ["Galactic longitude", "Galactic latitude"]),
        (("ELON-TAN", "ELAT-TAN"), ["Ecliptic longitude", "Ecliptic latitude"]),
        (("SLON-TAN", "SLAT-TAN"), ["Supergalactic longitude", "Supergalactic latitude"]),
    ],
)
def test_axes_of_other_skies_are_labelled_as_people_say_them(
    codes: tuple[str, str], names: list[str]
) -> None:
    cards = dict(cube_cards()) | {"CTYPE1": codes[0], "CTYPE2": codes[1]}
    stored = np.random.default_rng(1).normal(0, 1, (3, 20, 30)).astype("f4")
    image = tf.open(primary(stored, list(cards.items())))[0]
    figure = plane_figure(image.collapse("mean"))
    figure.canvas.draw()
    axes = figure.axes[0]
    assert [c.get_axislabel() for c in axes.coords] == names
    # In degrees, not in hours.
    assert [str(c.get_format_unit()) for c in axes.coords] == ["deg", "deg"]
    for coordinate in axes.coords:
        assert coordinate.format_coord(0.25).endswith("°")


@pytest.mark.parametrize("name", ["ELON", "SLON", "GLON"])
def test_contours_and_outlines_are_at_their_place_on_other_skies(name: str) -> None:
    image = other_sky(name)
    # A source to the upper right of the middle, in an equatorial image.
    at = image.coordinates.pixel_to_world(20.0, 14.0).icrs
    stored = np.zeros((21, 21), "f4")
    stored[10, 10] = 1.0
    cards = {"CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "CRVAL1": float(at.ra.deg),
             "CRVAL2": float(at.dec.deg), "CRPIX1": 11, "CRPIX2": 11, "CDELT1": -0.01,
             "CDELT2": 0.01}  # fmt: skip
    source = tf.open(primary(stored, list(cards.items())))[0].plane()
    region = f"icrs; circle({at.ra.deg},{at.dec.deg},0.02)"
    figure = plane_figure(image.plane(), overlay=source, overlay_levels=[0.5], regions=region)
    figure.canvas.draw()
    axes = figure.axes[0]
    (contours,) = axes.collections
    to_pixels = contours.get_transform() - axes.transData
    drawn = to_pixels.transform(np.concatenate([path.vertices for path in contours.get_paths()]))
    (outline,) = (line.get_xydata() for line in axes.lines)
    for line in (drawn, outline[:-1]):
        middle = (line.min(axis=0) + line.max(axis=0)) / 2
        np.testing.assert_allclose(middle, [20.0, 14.0], atol=0.05)


def other_sky(name: str) -> tf.Image:
    """Return an image of 30 x 20 pixels of 0.01 degrees."""
    cards = {"CTYPE1": f"{name}-TAN", "CTYPE2": f"{name[0]}LAT-TAN", "CRVAL1": 120.0,
             "CRVAL2": 30.0, "CRPIX1": 15.0, "CRPIX2": 10.0, "CDELT1": -0.01,
             "CDELT2": 0.01}  # fmt: skip
    values = np.random.default_rng(1).normal(0, 1, (20, 30)).astype("f4")
    image: tf.Image = tf.open(primary(values, list(cards.items())))[0]
    return image


def test_the_beam_points_from_north_to_east() -> None:
    outline = beam_outline(plane(*BEAM).header)
    assert outline is not None
    # 0.01 degrees a pixel: BMAJ is 4 pixels, to the east (90 degrees), which is along x.
    np.testing.assert_allclose(np.ptp(outline, axis=0), [4, 2], rtol=1e-2)
    slanted = beam_outline(plane(("BMAJ", 0.04), ("BMIN", 0.001), ("BPA", 30.0)).header)
    assert slanted is not None
    tip = slanted[np.argmax(slanted[:, 1])]
    # North is up and east is left: 30 degrees from north lies up and to the left.
    np.testing.assert_allclose(np.rad2deg(np.arctan2(-tip[0], tip[1])), 30, atol=2)
    for bad in ([], [("BMAJ", 0.0)], [("BMAJ", -1.0)], [("BMAJ", "x")], BEAM[1:]):
        assert beam_outline(plane(*bad).header) is None


def test_pictures_without_a_sky_have_pixels_counted_from_1() -> None:
    flat = tf.open(primary(np.zeros((4, 5), "f4")))[0].plane()
    axes = plane_figure(flat).axes[0]
    assert axes.get_xlabel() == "x (pixel)"
    assert axes.get_xlim() == (0.5, 5.5)


@given(
    stretch=st.sampled_from(["linear", "log", "asinh", "sqrt"]),
    low=st.floats(-1e6, 1e6),
    width=st.floats(1e-3, 1e6),
)
def test_stretches_go_from_0_to_1_and_back(stretch: str, low: float, width: float) -> None:
    norm = normalisation(stretch, low, low + width)
    values = np.linspace(low - width, low + 2 * width, 50)
    colours = np.asarray(norm(values))
    assert (np.diff(colours) >= 0).all()
    assert (colours[0], colours[-1]) == (pytest.approx(0), pytest.approx(1))
    inner = values[(values > low) & (values < low + width)]
    back = np.asarray(norm.inverse(norm(inner)))
    np.testing.assert_allclose(back, inner, atol=1e-6 * (width + abs(low)))


def test_stretches_are_the_ones_that_are_documented() -> None:
    t = 0.3
    for stretch, value in (
        ("linear", t),
        ("log", np.log(1 + 1000 * t) / np.log(1001)),
        ("asinh", np.arcsinh(10 * t) / np.arcsinh(10)),
        ("sqrt", np.sqrt(t)),
    ):
        assert normalisation(stretch, 10.0, 20.0)(13.0) == pytest.approx(value, rel=1e-12)
    with pytest.raises(tf.UsageError):
        normalisation("cubic", 0.0, 1.0)


def test_limits_of_odd_values() -> None:
    nothing = np.full((2, 2), np.nan)
    for limits in (None, "zscale", "minmax", "percentile"):
        assert limits_of(nothing, limits) == (0.0, 1.0)
        assert limits_of(np.full(30, 7.0), limits) == (6.5, 7.5)
    for percentile, low, high in ((20.0, None, None), (None, 2.0, 1.0), (None, np.nan, None)):
        with pytest.raises(tf.UsageError):
            limits_of(np.arange(3.0), None, percentile=percentile, low=low, high=high)
    for limits in ("zscale", "percentile99", (0, 1)):
        with pytest.raises(tf.UsageError, match="both limits and a percentile"):
            limits_of(np.arange(3.0), limits, percentile=95)
    plane_figure(tf.Plane(nothing, None, tf.Header([]), "empty"))


def test_spectra_have_names_and_units() -> None:
    stored = np.random.default_rng(1).normal(0, 1, (9, 20, 30)).astype("f4")
    image = tf.open(primary(stored, cube_cards()))[0]
    spectra = image.spectrum([tf.Circle(5, 5, 3), tf.Box(9, 9, 3, 3)])
    axes = spectrum_figure(spectra).axes[0]
    assert axes.get_xlabel() == "Radio velocity (km/s)"
    assert axes.get_ylabel() == "Mean (Jy/beam)"
    assert len(axes.get_legend().get_texts()) == 2
    np.testing.assert_array_equal(axes.lines[0].get_xdata(), spectra[0].axis.values / 1000)
    np.testing.assert_array_equal(axes.lines[0].get_ydata(), spectra[0].values)
    assert axes.lines[0].get_marker() == "None"
    alone = spectrum_figure([image.select(channels=slice(2, 3)).spectrum()]).axes[0]
    assert alone.lines[0].get_marker() == "o"
    with pytest.raises(tf.UsageError):
        spectrum_figure([])


def test_histograms_have_units_and_logarithmic_counts() -> None:
    image = tf.open(primary(np.arange(100, dtype="i2"), [("BUNIT", "adu")]))[0]
    axes = histogram_figure(image.histogram(10), unit=image.unit, log=True).axes[0]
    assert (axes.get_xlabel(), axes.get_yscale()) == ("Pixel value (adu)", "log")


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_the_same_picture_is_the_same_file(suffix: str, tmp_path: Path) -> None:
    figures = [plane_figure(plane(*BEAM)) for _ in range(2)]
    paths = [tmp_path / f"{number}.{suffix}" for number in range(2)]
    for figure, path in zip(figures, paths, strict=True):
        save_figure(figure, path)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    with pytest.raises(tf.IoError, match="exists"):
        save_figure(figures[0], paths[0])
    with pytest.raises(tf.UsageError, match="format"):
        save_figure(figures[0], tmp_path / "x.bmp")


def test_results_draw_themselves(tmp_path: Path) -> None:
    plane().png(tmp_path / "a.png", stretch="log", low=0.1, cmap="gray", title="mine")
    assert plane().plot(title="mine").axes[0].get_title() == "mine"
    stored = np.ones((4, 3, 3), "f4")
    tf.open(primary(stored))[0].spectrum().png(tmp_path / "b.svg")
    assert "Channel" in (tmp_path / "b.svg").read_text()


def _sky_cube(path: Path, *, scale: float = 0.01) -> tf.Image:
    """Return a cube of the sky with a source that moves from channel to channel."""
    y, x = np.indices((24, 30))
    planes = [np.exp(-((x - 8 - 3 * c) ** 2 + (y - 12) ** 2) / 8) for c in range(5)]
    cards = [*cube_cards("K"), ("BMAJ", 0.04), ("BMIN", 0.03), ("BPA", 20.0)]
    cards = [(k, v * scale / 0.01 if k in ("CDELT1", "CDELT2") else v) for k, v in cards]
    path.write_bytes(primary(np.array(planes), cards))
    return tf.open(path)[0]


def test_channel_maps_share_colours_and_say_their_velocity(tmp_path: Path) -> None:
    cube = _sky_cube(tmp_path / "c.fits")
    figure = channel_figure(cube.select(channels=slice(0, 5)), count=3, unit="km/s", scale_bar=True)
    maps = [axes for axes in figure.axes if axes.images]
    assert [axes.texts[0].get_text() for axes in maps] == ["1 km/s", "1.5 km/s", "2 km/s"]
    assert len({axes.images[0].norm for axes in maps}) == 1
    np.testing.assert_array_equal(np.asarray(maps[1].images[0].get_array()), cube[2])
    # A beam in each, and a bar in the first.
    assert [len(axes.patches) for axes in maps] == [1, 1, 1]
    assert len(maps[0].lines) == 1
    with pytest.raises(tf.UsageError, match="invalid number of maps 0"):
        channel_figure(cube, count=0)
    with pytest.raises(tf.UsageError, match="are for another unit"):
        channel_figure(cube, rest="100 GHz")


def test_low_and_high_are_limits_of_all_channel_maps(tmp_path: Path) -> None:
    cube = _sky_cube(tmp_path / "c.fits")
    for options, expected in (
        ({"low": 0.25, "high": 0.5}, (0.25, 0.5)),
        ({"low": 0.25, "limits": "minmax"}, (0.25, 1.0)),
        ({"high": 0.5, "limits": (0.125, 2.0)}, (0.125, 0.5)),
    ):
        drawn = channel_figure(cube, count=2, **options).axes[0].images[0]
        assert drawn.get_clim() == expected


@pytest.mark.parametrize("shape", [(5, 1), (1, 5)])
def test_a_cut_with_an_axis_of_one_pixel_is_drawn(shape: tuple[int, int]) -> None:
    values = np.random.default_rng(3).normal(size=(5, 8, 9)).astype("f4")
    number = 4 - shape.index(5)
    cards = [(f"CTYPE{number}", "VRAD"), (f"CUNIT{number}", "km/s"), (f"CRVAL{number}", 7.0)]
    cube = tf.open(primary(values.reshape(*shape, 8, 9), cards))[0]
    axes = pv_figure(cube.pv([(0, 2), (8, 2)])).axes[0]
    np.testing.assert_array_equal(np.asarray(axes.images[0].get_array()), values[:, 2])
    assert axes.get_ylabel() == "Radio velocity (km/s)"
    assert axes.images[0].get_extent()[2:] == [7.5, 12.5]


def test_a_triptych_has_a_colour_bar_for_each_moment(tmp_path: Path) -> None:
    planes = _sky_cube(tmp_path / "c.fits").moments(unit="km/s")
    figure = tf.figure(planes)
    assert [axes.get_title() for axes in figure.axes if axes.images] == [
        "Moment 0", "Moment 1", "Moment 2",
    ]  # fmt: skip
    labels = [axes.get_ylabel() for axes in figure.axes if not axes.images]
    assert labels == [
        "Integrated intensity (K km/s)",
        "Velocity (km/s)",
        "Velocity dispersion (km/s)",
    ]


def test_velocities_have_the_same_colours_in_a_triptych_as_alone() -> None:
    wild = np.random.default_rng(3).normal(0, 10, (20, 30))
    wild[::4, ::5] *= 1e4
    velocities = replace(plane(), values=wild, unit="km/s", name="moment 1")
    alone, together = plane_figure(velocities), tf.figure([velocities])
    colours = [figure.axes[0].images[0].get_clim() for figure in (alone, together)]
    assert colours[0] == colours[1]
    assert max(map(abs, colours[1])) < 100


def test_a_scale_bar_is_as_long_as_it_says(tmp_path: Path) -> None:
    plane = _sky_cube(tmp_path / "c.fits").collapse("max")
    figure = plane.plot(scale_bar="3arcmin")
    (x, _), text = figure.axes[0].lines[0].get_data(), figure.axes[0].texts[0].get_text()
    assert x[1] - x[0] == pytest.approx(3 / 60 / 0.01)
    assert text == "3\N{PRIME}"
    with pytest.raises(tf.UsageError, match="expected an angle of at most 1080 arcsec"):
        plane.plot(scale_bar="1deg")
    with pytest.raises(tf.UsageError, match="invalid scale bar"):
        plane.plot(scale_bar="3km")


def test_contours_of_another_image_lie_at_their_own_coordinates(tmp_path: Path) -> None:
    plane = _sky_cube(tmp_path / "c.fits").select(channels=slice(0, 1)).collapse("max")
    coarse = (
        tf.open(tmp_path / "c.fits")[0].rebin(x=2, y=2).select(channels=slice(0, 1)).collapse("max")
    )
    figure = plane.plot(overlay=coarse, overlay_levels=[0.3])
    figure.draw_without_rendering()
    axes = figure.axes[0]
    drawn = axes.collections[-1]
    path = drawn.get_transform().transform_path(drawn.get_paths()[0])
    middle = axes.transData.inverted().transform(path.vertices).mean(axis=0)
    # The source of the fine image, in its pixels.
    np.testing.assert_allclose(middle, (8, 12), atol=0.5)


def test_borders_of_regions_lie_on_the_plane(tmp_path: Path) -> None:
    cube = _sky_cube(tmp_path / "c.fits")
    sky = cube.wcs.celestial.pixel_to_world(8, 12)
    regions = ["circle(11,13,4)", f"icrs; circle({sky.ra.deg}, {sky.dec.deg}, 0.03deg)"]
    axes = cube.collapse("max").plot(regions=regions).axes[0]
    for line, centre, radius in zip(axes.lines, ((10, 12), (8, 12)), (4, 3), strict=True):
        offsets = np.stack(line.get_data()) - np.array(centre)[:, None]
        np.testing.assert_allclose(np.hypot(*offsets), radius, rtol=2e-3)


def test_the_command_line_draws_several_maps(tmp_path: Path) -> None:
    _sky_cube(tmp_path / "c.fits")
    path, out = str(tmp_path / "c.fits"), str(tmp_path / "o.png")
    for words in (
        ["--channel-maps", "4", "--scale-bar", "auto"],
        ["--channel-maps", "2", "--channels", "1..2 km/s", "--overwrite"],
        ["--moment", "0,1,2", "--triptych", "--overwrite"],
        ["--outline", "circle(9,9,3)", "--scale-bar", "2arcmin", "--overwrite"],
    ):
        assert run(["collapse", path, *words, "-o", out]) == 0
        assert Path(out).read_bytes().startswith(b"\x89PNG")
    assert run(["collapse", path, "--channel-maps", "4", "-o", str(tmp_path / "o.fits")]) == 2


@pytest.mark.parametrize(
    ("option", "refused"),
    [
        ("--channel-maps=2", "--triptych"),
        ("--channel-maps=2", "--moment=1"),
        ("--channel-maps=2", "--region=circle(9,9,3)"),
        ("--channel-maps=2", "--threshold=0.5"),
        ("--channel-maps=2", "--mask=c.fits"),
        ("--channel-maps=2", "--outline=circle(9,9,3)"),
        ("--channel-maps=2", "--report"),
        *(
            (option, refused)
            for option in ("--channel-maps=2", "--triptych")
            for refused in ("--keep-axis", "--contours", "--levels=1,2", "--overlay=c.fits")
        ),
        *(
            ("--triptych", refused)
            for refused in ("--limits=1,2", "--percentile=99", "--low=1", "--high=2", "--cmap=gray")
        ),
    ],
)
def test_options_that_several_maps_lack_are_refused(
    option: str, refused: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _sky_cube(tmp_path / "c.fits")
    out = tmp_path / "o.png"
    assert run(["collapse", str(tmp_path / "c.fits"), option, refused, "-o", str(out)]) == 2
    names = [words.partition("=")[0] for words in (option, refused)]
    assert "{} takes no {}".format(*names) in capsys.readouterr().err
    assert not out.exists()


def test_the_command_line_gives_colours_and_lines_to_channel_maps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _sky_cube(tmp_path / "c.fits")
    asked: dict[str, Any] = {}

    def drawn(*cube: Any, **options: Any) -> Any:
        asked.update(options)
        return channel_figure(*cube, **options)

    monkeypatch.setattr("tachyfits.plot.channel_figure", drawn)
    expected = {"low": 0.1, "high": 0.5, "cmap": "gray", "rest": "21cm", "rest_medium": "air"}
    names = {"rest_medium": "rest-medium"}
    words = [f"--{names.get(name, name)}={value}" for name, value in expected.items()]
    arguments = [str(tmp_path / "c.fits"), "--channel-maps=2", "--unit=m", *words]
    assert run(["collapse", *arguments, "-o", str(tmp_path / "o.png")]) == 0
    assert asked.items() >= expected.items()


@pytest.mark.parametrize(
    ("length", "count"), [(18, 12), (18, 6), (5, 9), (17, 16), (40, 7), (9, 1)]
)
def test_channel_maps_have_one_distance(tmp_path: Path, length: int, count: int) -> None:
    path = tmp_path / "c.fits"
    header = fits.Header({"CTYPE3": "VRAD", "CUNIT3": "m/s", "CRVAL3": 0.0, "CDELT3": 1000.0})
    fits.writeto(path, np.ones((length, 3, 4), "f4"), header)
    figure = channel_figure(tf.open(path)[0], count=count, unit="km/s")
    shown = [float(axes.texts[0].get_text().split()[0]) for axes in figure.axes if axes.images]
    assert 1 <= len(shown) <= count
    steps = set(np.diff(shown))
    assert len(steps) <= 1
    # Another map would be one too many, or beyond the last channel.
    step = int(min(steps, default=length))
    assert step == 1 or (length - 1) // (step - 1) + 1 > count
    assert shown[0] - 1 <= (length - shown[-1]) <= shown[0]


@pytest.mark.parametrize("contours", [201, 2**40, 2**63 - 1, range(10**12), list(range(300))])
def test_contours_without_number_are_refused_at_once(contours: Any, tmp_path: Path) -> None:
    plane = tf.open(primary(np.arange(12.0).reshape(3, 4)))[0].plane()
    with pytest.raises(tf.UsageError, match="invalid contours: expected at most 200"):
        plane.png(tmp_path / "p.png", contours=contours)


def test_a_figure_in_axes_of_the_user_leaves_the_figure_alone() -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3))
    left, right = figure.subplots(1, 2)
    image = tf.open(primary(np.random.default_rng(1).normal(0, 1, (9, 20, 30)), cube_cards()))[0]
    assert plane(*BEAM).plot(ax=left, title="mine", label="K") is figure
    image.spectrum().plot(ax=right, label="all")
    assert tuple(figure.get_size_inches()) == (8, 3)
    # Plain axes gave their place to axes of the sky, in the same cell.
    sky = figure.axes[-1]
    assert left not in figure.axes
    assert sky.get_subplotspec() == left.get_subplotspec()
    assert (sky.get_title(), sky.child_axes[0].get_ylabel()) == ("mine", "K")
    assert [text.get_text() for text in right.get_legend().get_texts()] == ["all"]
    with pytest.raises(tf.UsageError, match="both ax and figsize"):
        plane().plot(ax=right, figsize=3.5)


def test_a_column_of_a_journal_has_letters_of_8_points_and_no_empty_bands(tmp_path: Path) -> None:
    figure = plane(*BEAM).plot(figsize=3.5)
    width, height = figure.get_size_inches()
    assert width == 3.5
    axes, bar = figure.axes
    assert axes.title.get_fontsize() == 8
    box = figure.get_tightbbox()
    bands = (box.x0, width - box.x1, box.y0, height - box.y1)
    assert all(0 <= band < 0.15 for band in bands), bands
    # The colour bar is as high as the picture.
    for end in ("y0", "y1"):
        assert getattr(bar.get_position(), end) == pytest.approx(
            getattr(axes.get_position(), end), abs=0.01
        )
    save_figure(figure, tmp_path / "a.png")
    from matplotlib.image import imread

    assert imread(tmp_path / "a.png").shape[1] == 3.5 * 300
    assert tuple(plane().plot(figsize=(4, 5)).get_size_inches()) == (4, 5)


def test_panels_of_a_narrow_figure_are_below_each_other() -> None:
    one, other = plane(), plane(*BEAM)
    narrow = tf.figure([one, other], shared=False, figsize=3.5)
    boxes = [axes.get_position() for axes in narrow.axes if hasattr(axes, "coords")]
    assert boxes[0].y0 > boxes[1].y1
    assert min(box.width for box in boxes) > 0.4
    with pytest.raises(tf.UsageError, match=r"2 panels side by side in 3\.5 inches") as error:
        tf.figure([one, other], shared=False, columns=2, figsize=3.5)
    assert "hint: give columns=1" in str(error.value)


@pytest.mark.parametrize(
    "figsize", [0, -1, (1, 2, 3), "wide", float("nan"), (5, 1e9), range(10**12)]
)
def test_invalid_sizes_are_refused(figsize: Any) -> None:
    with pytest.raises(tf.UsageError, match="invalid figsize"):
        plane().plot(figsize=figsize)


@pytest.mark.parametrize(
    ("cards", "name"),
    [
        ([("EQUINOX", 1950.0)], "Right ascension (B1950)"),
        ([("RADESYS", "FK4")], "Right ascension (B1950)"),
        ([("EPOCH", 1950.0)], "Right ascension (B1950)"),
        ([("EQUINOX", 2000.0)], "Right ascension (J2000)"),
        ([("RADESYS", "ICRS")], "Right ascension (ICRS)"),
        ([], "Right ascension"),
    ],
)
def test_axes_name_the_equinox_that_the_header_gives(
    cards: list[tuple[str, object]], name: str
) -> None:
    figure = plane(*cards).plot()
    assert figure.axes[0].coords[0].get_axislabel() == name


def test_a_moment_read_from_a_file_is_drawn_as_the_moment_that_it_is(tmp_path: Path) -> None:
    planes = _sky_cube(tmp_path / "c.fits").moments(unit="km/s")
    for number, moment in enumerate(planes):
        moment.write(tmp_path / f"{number}.fits")
        image = tf.open(tmp_path / f"{number}.fits")[0]
        assert image.header["BTYPE"] == f"moment {number}"
        figures = moment.plot(), image.plane().plot()
        axes = [figure.axes[0] for figure in figures]
        assert axes[0].get_title() == axes[1].get_title()
        assert axes[0].images[0].get_clim() == axes[1].images[0].get_clim()
        assert axes[0].images[0].cmap == axes[1].images[0].cmap
        assert figures[0].axes[1].get_ylabel() == figures[1].axes[1].get_ylabel()


@pytest.mark.parametrize(
    ("unit", "btype", "expected"),
    [
        ("km/s", None, "Velocity (km/s)"),
        ("km s-1", "Dispersion", "Velocity dispersion (km/s)"),
        ("Jy/beam.km/s", "Intensity", "Integrated intensity (Jy/beam km/s)"),
        ("K km/s", None, "Integrated intensity (K km/s)"),
        ("K", "Intensity", "Intensity (K)"),
        ("Jy", None, "Pixel value (Jy)"),
    ],
)
def test_values_of_other_programs_are_named_by_unit_and_type(
    unit: str, btype: str | None, expected: str
) -> None:
    cards = [("BUNIT", unit), *([("BTYPE", btype)] if btype else [])]
    image = tf.open(primary(np.arange(20.0).reshape(4, 5), cards))[0]
    assert image.plane().plot().axes[1].get_ylabel() == expected


def test_limits_of_velocities_come_from_pixels_with_a_line() -> None:
    values = np.random.default_rng(3).normal(0, 300, (40, 40))
    intensity = np.random.default_rng(4).normal(0, 1, (40, 40))
    values[10:30, 10:30] = np.linspace(-50, 50, 400).reshape(20, 20)
    intensity[10:30, 10:30] = 100.0
    planes = [
        replace(plane(), values=array, unit=unit, name=name)
        for array, unit, name in (
            (intensity, "K km/s", "moment 0"), (values, "km/s", "moment 1"),
        )
    ]  # fmt: skip
    low, high = tf.figure(planes).axes[2].images[0].get_clim()
    assert low == pytest.approx(-48, abs=4)
    assert high == pytest.approx(48, abs=4)


def test_a_figure_has_planes_diagrams_spectra_and_histograms(tmp_path: Path) -> None:
    cube = _sky_cube(tmp_path / "c.fits")
    pv = cube.with_beam("144arcsec").pv([(2, 12), (25, 12)])
    panels = [cube.moment(0), pv, cube.spectrum(), cube.histogram(10)]
    figure = tf.figure(panels, columns=2, figsize=7.1, titles=["a", "b", "c", "d"], title="all")
    assert figure.get_suptitle() == "all"
    assert [axes.get_title() for axes in figure.axes if axes.get_title()] == ["a", "b", "c", "d"]
    # The ellipse is as wide as the beam, on an axis of arcmin, and a channel high.
    (ellipse,) = figure.axes[2].patches
    assert ellipse.width == pytest.approx(144 / 60, rel=1e-3)
    # The width of a long beam along the path is unknown.
    assert not pv_figure(cube.pv([(2, 12), (25, 12)])).axes[0].patches
    assert ellipse.height == pytest.approx(0.25)
    with pytest.raises(tf.UsageError, match="invalid panel"):
        tf.figure([3])
    with pytest.raises(tf.UsageError, match="invalid panels: expected 1 to 100, found 0"):
        tf.figure([])
    with pytest.raises(tf.UsageError, match="invalid titles: expected 1, found 2"):
        tf.figure([cube.moment(0)], titles=["a", "b"])
    with pytest.raises(tf.UsageError, match="invalid shared colours"):
        tf.figure(panels, shared=True)


def test_planes_of_one_kind_share_a_colour_bar(tmp_path: Path) -> None:
    cube = _sky_cube(tmp_path / "c.fits")
    planes = [cube.select(channels=channel).collapse("mean") for channel in (0, 2)]
    figure = tf.figure(planes)
    maps = [axes for axes in figure.axes if axes.images]
    assert len(figure.axes) == 3
    assert maps[0].images[0].norm is maps[1].images[0].norm
    assert len(tf.figure(planes, shared=False).axes) == 4


def test_the_command_line_draws_for_paper(tmp_path: Path) -> None:
    from matplotlib.image import imread

    _sky_cube(tmp_path / "c.fits")
    cube, names = str(tmp_path / "c.fits"), [str(tmp_path / f"{n}.fits") for n in range(3)]
    paper = ["--figsize", "3.5", "--title", "T", "--label", "L", "--dpi", "100"]
    for number, command in enumerate((
        ["collapse", cube, "--scale-bar", "auto", *paper, "-o"],
        ["collapse", cube, "--channel-maps", "2", *paper, "-o"],
        ["histogram", cube, *paper, "-o"],
        ["spectrum", cube, *paper, "-o"],
        ["pv", cube, "--path", "3,12 25,12", "--scale-bar", "auto", *paper, "--overwrite",
         "-o", names[1], "--png"],
    )):  # fmt: skip
        picture = str(tmp_path / f"{number}.png")
        assert run([*command, picture]) == 0
        assert imread(picture).shape[1] == 350
    assert run(["collapse", cube, "--moment", "1", "-o", names[0]]) == 0
    tf.open(cube)[0].spectrum().write(names[2])
    assert run(["figure", *names, "--figsize", "7.1", "--dpi", "50", "-o", f"{cube}.png"]) == 0
    assert imread(f"{cube}.png").shape[1] == 355


def test_options_for_paper_need_a_picture(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _sky_cube(tmp_path / "c.fits")
    assert run(["spectrum", str(tmp_path / "c.fits"), "--figsize", "3.5"]) == 2
    assert "--figsize: only with a picture (-o OUT.png)" in capsys.readouterr().err
    assert run(["collapse", str(tmp_path / "c.fits"), "--figsize", "x", "-o", "a.png"]) == 2
