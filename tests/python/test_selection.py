"""Selections and cutouts: every operation uses the pixels that are left, in one pass."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import tachyfits as tf
from fitsbytes import cube_cards, primary

SHAPE = (6, 9, 8)
HEIGHT, WIDTH = SHAPE[1:]


def pixels(seed: int = 4) -> NDArray[np.float32]:
    random = np.random.default_rng(seed)
    values = random.normal(3, 1, SHAPE).astype("f4")
    values[random.random(SHAPE) < 0.1] = np.nan
    return values


def cube(**cards: Any) -> tf.Image:
    image: tf.Image = tf.open(primary(pixels(), [*cube_cards(), *cards.items()]))[0]
    return image


@st.composite
def choices(draw: st.DrawFn) -> tuple[dict[str, Any], NDArray[np.bool_]]:
    """Draw arguments of `select`, and which pixels they leave of the section (for it alone)."""
    given: dict[str, Any] = {}
    inside = np.ones(SHAPE, dtype=np.bool_)
    if draw(st.booleans()):
        region = tf.Circle(draw(st.floats(0, 7)), draw(st.floats(0, 8)), draw(st.floats(0.5, 5)))
        given["region"] = region
        inside &= region.mask(HEIGHT, WIDTH)
    kind = draw(st.sampled_from(["none", "threshold", "text", "mask", "image", "expression"]))
    values = pixels()
    with np.errstate(invalid="ignore"):
        if kind in ("threshold", "text"):
            given["where"] = 2.5 if kind == "threshold" else ">= 2500 mJy/beam"
            inside &= values >= 2.5
        elif kind == "mask":
            mask = np.random.default_rng(draw(st.integers(0, 9))).integers(0, 2, (HEIGHT, WIDTH))
            given["where"] = mask
            inside &= mask != 0
        elif kind == "image":
            given["where"] = cube() < 3.5
            inside &= values < 3.5
        elif kind == "expression":
            given["where"] = "pixel > 2 and pixel < 4"
            inside &= (values > 2) & (values < 4)
    channels = draw(st.none() | st.slices(SHAPE[0]).filter(lambda s: range(SHAPE[0])[s]))
    if channels is not None:
        given["channels"] = channels
    return given, inside


def left_of(given: dict[str, Any], inside: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return what a selection leaves, by NumPy."""
    values = np.where(inside, pixels().astype("f8"), np.nan)
    return values[given.get("channels", slice(None))]


@given(choices())
def test_pixels_that_are_left_out_are_undefined(
    choice: tuple[dict[str, Any], NDArray[np.bool_]],
) -> None:
    chosen, expected = cube().select(**choice[0]), left_of(*choice)
    assert chosen.shape == expected.shape
    np.testing.assert_array_equal(chosen.read(dtype="float64"), expected)
    np.testing.assert_array_equal(np.asarray(chosen * 2.0), (expected * 2).astype("f4"))


OPERATIONS: dict[str, tuple[Callable[[tf.Image], Any], Callable[[Any], Any]]] = {
    "sum": (lambda image: image.sum(), np.nansum),
    "mean of lines": (lambda image: image.mean("xy"), lambda a: np.nanmean(a, axis=(1, 2))),
    "std": (lambda image: image.std(), np.nanstd),
    "max": (lambda image: image.stats().max, np.nanmax),
    "count": (lambda image: image.count(), lambda a: np.isfinite(a).sum()),
    "argmax": (lambda image: image.argmax(), np.nanargmax),
    "median": (lambda image: image.median(), np.nanmedian),
    "percentile": (lambda image: image.percentile([10, 75]),
                   lambda a: np.nanpercentile(a, [10, 75])),
    "spectrum": (lambda image: image.spectrum().values, lambda a: np.nanmean(a, axis=(1, 2))),
    "spectrum of medians": (lambda image: image.spectrum(statistic="median").values,
                            lambda a: np.nanmedian(a, axis=(1, 2))),
    "collapse": (lambda image: image.collapse("max").values, lambda a: np.nanmax(a, axis=0)),
    "histogram": (lambda image: image.histogram(5, (2.0, 4.0)).counts,
                  lambda a: np.histogram(a[np.isfinite(a)], 5, (2.0, 4.0))[0]),
    "any": (lambda image: (image > 3.8).any(axis="xy"), lambda a: (a > 3.8).any(axis=(1, 2))),
    "numpy.mean": (np.mean, np.nanmean),
    "numpy.count_nonzero": (lambda image: np.count_nonzero(image.select(where="pixel > 0")),
                            lambda a: np.count_nonzero(a > 0)),
    "smooth": (lambda image: np.nansum(image.smooth([0, 1, 0], axis="x")[...].astype("f8")),
               np.nansum),
    "rebin": (lambda image: image.rebin(x=2, y=2, statistic="max")[...],
              lambda a: np.fmax.reduce([a[:, y:8:2, x::2] for y in (0, 1) for x in (0, 1)])),
    "pv": (lambda image: image.pv([(0, 3), (7, 3)])[...], lambda a: a[:, 3, :]),
    "plane": (lambda image: image.select(channels=0).plane().values, lambda a: a[0]),
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATIONS)
@given(choice=choices())
def test_every_operation_uses_the_pixels_that_are_left(
    name: str, choice: tuple[dict[str, Any], NDArray[np.bool_]]
) -> None:
    operation, twin = OPERATIONS[name]
    expected = left_of(*choice)
    if not np.isfinite(expected).any(axis=(1, 2)).all():
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = twin(expected)
        found = operation(cube().select(**choice[0]))
    np.testing.assert_allclose(found, wanted, rtol=2e-6)


@given(choice=choices())
def test_moments_are_those_of_the_pixels_that_are_left(
    choice: tuple[dict[str, Any], NDArray[np.bool_]],
) -> None:
    image = cube().select(**choice[0])
    if image.shape[0] == 1:
        return  # a lone channel of a slice is as wide as its step
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        twin: tf.Image = tf.evaluate("a + 0", a=image, dtype="float64")
        for plane, other in zip(image.moments(), twin.moments(), strict=True):
            np.testing.assert_allclose(plane.values, other.values, rtol=1e-9)


@given(st.data())
def test_selections_compose(data: st.DataObject) -> None:
    (first, inside), (second, more) = data.draw(choices()), data.draw(choices())
    count = len(range(SHAPE[0])[first.get("channels", slice(None))])
    second = {**second, "channels": data.draw(st.slices(count).filter(lambda s: range(count)[s]))}
    kept = left_of(first, inside & more)[second["channels"]]
    is_image = isinstance(second.get("where"), tf.Image)
    if is_image and count != SHAPE[0]:
        return
    if is_image and first.get("channels", slice(None)) != slice(None):
        return
    chosen = cube().select(**first).select(**second)
    np.testing.assert_array_equal(chosen.read(dtype="float64"), kept)
    np.testing.assert_allclose(chosen.stats().sum, np.nansum(kept) or np.nan, rtol=1e-12)
    np.testing.assert_allclose(chosen.count("xy"), np.isfinite(kept).sum(axis=(1, 2)))


def test_a_selection_is_one_pass_over_its_bytes(tmp_path: Path) -> None:
    stored = np.random.default_rng(1).normal(0, 1, (40, 64, 64)).astype("f4")
    cards = [*cube_cards(), ("RESTFRQ", 1.4e9)]
    (tmp_path / "cube.fits").write_bytes(primary(stored, cards))
    image = tf.open(tmp_path / "cube.fits")[0]
    cases: tuple[tuple[dict[str, Any], int], ...] = (
        ({"channels": slice(5, 25)}, 20 * 64 * 64 * 4),
        ({"where": 0.5}, stored.nbytes),
        ({"where": "> 500 mJy/beam", "channels": slice(5, 25)}, 20 * 64 * 64 * 4),
        ({"where": image > 0.5}, stored.nbytes),
        ({"region": tf.Box(10, 10, 8, 8)}, 40 * 8 * 64 * 4),
    )
    for arguments, most in cases:
        for operation in (
            lambda chosen: chosen.moments((0, 1, 2), unit="km/s"),
            lambda chosen: chosen.stats(),
            lambda chosen: chosen.spectrum(),
        ):
            with tf.reports() as costs:
                operation(image.select(**arguments))
            assert sum(cost.bytes for cost in costs) <= most, arguments
    with tf.reports() as costs:
        image.with_beam("36arcsec").select(where="> 1 K").moment(0, unit="mK, km/s")
    # In float64, and one factor for each channel besides.
    assert sum(cost.bytes for cost in costs) <= stored.size * 8 + 2 * 40 * 8


def test_a_threshold_may_be_in_any_unit_of_brightness() -> None:
    image = cube(RESTFRQ=1.4e9).with_beam("36arcsec")
    kelvin = image.to("K")
    threshold = float(np.nanmedian(kelvin.read(dtype="float64")))
    expected = kelvin.select(where=threshold).collapse("count").values
    for where in (f"{threshold!r} K", f">= {threshold!r} K"):
        np.testing.assert_array_equal(image.select(where=where).collapse("count").values, expected)
    less = image.select(where=f"< {threshold!r} K").collapse("count").values
    np.testing.assert_array_equal(less + expected, image.collapse("count").values)
    history = " ".join(image.select(where="< 2 Jy/beam").moment(0).header.history())
    assert "pixels < 2.0 Jy/beam" in history


def test_several_ranges_of_channels_leave_out_those_between() -> None:
    image = cube()
    chosen = image.select(channels=[slice(0, 2), "2000..2300 m/s"])
    expected = pixels().astype("f8")
    expected[[2, 3]] = np.nan
    np.testing.assert_array_equal(chosen.read(dtype="float64"), expected)
    np.testing.assert_allclose(chosen.sum(), np.nansum(expected), rtol=1e-12)
    near = image.select(channels=[slice(1, 3), 3])
    assert near.shape[0] == 3
    assert near.count_nan() == np.isnan(pixels()[1:4]).sum()


def test_a_list_of_regions_has_a_result_for_each() -> None:
    image = cube()
    regions = [tf.Circle(3, 3, 2), tf.Box(5, 5, 3, 3)]
    chosen = image.select(regions)
    assert chosen.sum().tolist() == [image.stats(region).sum for region in regions]
    assert [state.count for state in image.stats(regions)] == chosen.count().tolist()
    assert chosen.robust_rms(per_plane=True).shape == (2, SHAPE[0])
    alone = [image.select(region).robust_rms() for region in regions]
    np.testing.assert_array_equal(chosen.robust_rms(), alone)
    inside = regions[0].mask(HEIGHT, WIDTH) | regions[1].mask(HEIGHT, WIDTH)
    np.testing.assert_array_equal(chosen[...], np.where(inside, pixels(), np.nan))
    assert len(image.select(regions, channels=slice(1, 3)).spectrum()) == 2
    assert isinstance(image.select(regions[:1]).select(channels=0).stats(), list)
    assert not isinstance(image.select(regions[0]).select(channels=0).stats(), list)


def test_every_nth_pixel_of_the_sky_has_a_flux_in_a_cutout_alone() -> None:
    """Pixels that stay have the area of those that steps left out."""
    image = cube(BUNIT="Jy/beam", BMAJ=0.02, BMIN=0.01, BPA=0.0)
    section = np.s_[:, ::2, ::-2]
    chosen = image.select(section=section)
    for measure in (
        lambda: chosen.flux(),
        lambda: chosen.spectrum(statistic="flux"),
        lambda: chosen.reduce("flux", axis="xy"),
    ):
        with pytest.raises(tf.UsageError, match="no flux of every n-th pixel of the sky"):
            measure()
    sampled = image.cutout(section=section)
    area = np.nansum(image[section], axis=(1, 2)) * 4 / np.nansum(image[:], axis=(1, 2))
    np.testing.assert_allclose(sampled.flux() / image.flux(), area, rtol=1e-6)
    steps = image.select(section=np.s_[::2])
    np.testing.assert_array_equal(steps.flux(), image.flux()[::2])


def test_a_cutout_of_a_selection_is_the_rectangle_around_it(tmp_path: Path) -> None:
    image = cube()
    circle = tf.Circle(3, 4, 2)
    whole = np.where(circle.mask(HEIGHT, WIDTH), pixels(), np.nan)
    part = image.select(circle).cutout()
    np.testing.assert_array_equal(part[...], whole[:, 2:7, 1:6])
    np.testing.assert_array_equal(image.cutout(circle)[...], pixels()[:, 2:7, 1:6])
    part.write(tmp_path / "part.fits")
    with tf.open(tmp_path / "part.fits", strict=True) as file:
        np.testing.assert_array_equal(file[0][...], part[...])
        places = file[0].wcs.pixel_to_world_values(1, 1, 0)
    np.testing.assert_allclose(places, image.wcs.pixel_to_world_values(2, 3, 0))
    assert "pixels in Circle" in " ".join(part.header.history())


def test_integers_keep_their_type_until_a_pixel_is_left_out() -> None:
    stored = np.arange(60, dtype="i2").reshape(3, 4, 5)
    image = tf.open(primary(stored, cube_cards()))[0]
    assert image.select(channels=slice(1, 3)).dtype == np.int16
    assert image.cutout(tf.Circle(2, 2, 1)).dtype == np.int16
    chosen = image.select(tf.Circle(2, 2, 1))
    assert chosen.dtype == np.float64
    assert chosen.max() == 57
    # Bins of whole width, as of the integers themselves.
    assert chosen.histogram().edges[0] == stored[:, 1, 2].min() - 0.5


def test_positions_are_those_of_the_selected_image() -> None:
    image = cube()
    found = image.select(tf.Circle(4, 4, 3), channels=slice(2, 5))
    at = found.stats().max_position
    assert at is not None
    assert found[at] == found.stats().max == image[at[0] + 2, at[1], at[2]]


def test_any_and_all_ask_the_pixels_that_are_left_alone() -> None:
    zeros = np.zeros((2, 3, 4), "f4")
    zeros[0, 0, 0] = 1
    image = tf.open(primary(zeros, cube_cards()))[0]
    assert image.any()
    assert not image.select(tf.Point(2, 2)).any()
    assert not image.select(where="pixel < 1").any()
    assert image.select(where="pixel > 0").all()
    assert np.count_nonzero(image.select(where="pixel >= 0")) == 1
    assert np.count_nonzero(image.select(tf.Point(2, 2))) == 0


def test_a_selection_is_the_same_as_its_arguments() -> None:
    image = cube()
    alone = tf.Selection("circle(2,2,1)", slice(1, None))
    there = image.select("circle(2,2,1)", channels=slice(1, None))
    np.testing.assert_array_equal(image.select(alone).read(), there.read())
    rectangle = tf.Selection("circle(2,2,1)", slice(1, None), mode="partial")
    expected = image.cutout("circle(2,2,1)", channels=slice(1, None), mode="partial")
    found = image.cutout(rectangle)
    np.testing.assert_array_equal(found.read(), expected.read())
    with pytest.raises(tf.UsageError, match="give it alone"):
        image.select(alone, pol="I")


def test_a_selection_outlives_its_file_and_pickles(tmp_path: Path) -> None:
    (tmp_path / "cube.fits").write_bytes(primary(pixels(), cube_cards()))
    with tf.open(tmp_path / "cube.fits") as file:
        chosen = file[0].select(tf.Circle(3, 3, 2), channels=slice(1, 4), where=2.5)
    expected = cube().select(tf.Circle(3, 3, 2), channels=slice(1, 4), where=2.5)
    for image in (chosen, pickle.loads(pickle.dumps(chosen))):
        assert image.stats().sum == expected.stats().sum
        np.testing.assert_array_equal(image[...], expected[...])
        assert not isinstance(image.stats(), list)
    assert file.closed
    chosen.file.close()
    with pytest.raises(tf.UsageError, match="closed"):
        chosen.read()


def test_two_arguments_about_one_axis_are_refused() -> None:
    stokes = np.ones((2, 3, 4, 5), "f4")
    cards = [("CTYPE3", "FREQ"), ("CDELT3", 1e6), ("CTYPE4", "STOKES"), ("CRVAL4", 1.0),
             ("CDELT4", 1.0), ("CRPIX4", 1.0)]  # fmt: skip
    image = tf.open(primary(stokes, cards))[0]
    for method in (image.select, image.cutout):
        for arguments, words in (
            ({"pol": "I", "section": np.s_[1]}, "both pol= and section= cut NAXIS4"),
            ({"channels": 0, "section": np.s_[:, 1]}, "both channels= and section= cut NAXIS3"),
        ):
            with pytest.raises(tf.UsageError, match=words) as caught:
                method(**arguments)
            assert "\nhint: " in str(caught.value)
    with pytest.raises(tf.UsageError, match="both region= and section= cut NAXIS2"):
        image.cutout(tf.Box(2, 2, 2, 2), section=np.s_[..., 1:3, :])
    # A selection may have both: pixels keep their numbers in its regions.
    assert image.select(tf.Box(2, 2, 2, 2), section=np.s_[..., 1:3, :]).count() == 2 * 3 * 4


@pytest.mark.parametrize(
    ("where", "words"),
    [
        ("pixel >", "expression"), ("other > 3", "expected an expression of pixel"),
        ("5 furlong", "furlong"), ("mask", "found no file"), (np.ones(7), "does not broadcast"),
        ("pixel > 3 m/s", "expression"), (1j, "invalid"), (object(), "invalid"),
    ],
)  # fmt: skip
def test_conditions_that_mean_nothing_are_refused(where: Any, words: str) -> None:
    with pytest.raises(tf.UsageError, match=words):
        cube().select(where=where)


def test_the_command_line_has_the_noise_of_a_region(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from tachyfits.cli import run

    (tmp_path / "cube.fits").write_bytes(primary(pixels(), cube_cards()))
    words = ["stats", str(tmp_path / "cube.fits"), "--robust", "--region", "circle(5,5,4)"]
    assert run([*words, "--json"]) == 0
    found = capsys.readouterr().out
    expected = tf.open(tmp_path / "cube.fits")[0].select("circle(5,5,4)").robust_rms()
    assert repr(float(expected)) in found
