"""Moments and collapses: several in one pass, other units, regions, headers, and other packages."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tachyfits as tf
from fitsbytes import cube_cards, primary
from realfiles import parameters, path_of

CUBE = (6, 5, 4)
LIGHT = 299_792_458.0
#: HI, in Hz.
REST = 1.420405752e9


def noise(shape: tuple[int, ...] = CUBE, seed: int = 2) -> np.ndarray:
    random = np.random.default_rng(seed)
    values = random.normal(3, 1, shape).astype("f4")
    values[random.random(shape) < 0.15] = np.nan
    values[:, 0, 0] = np.nan
    return values


def spectral(ctype: str, unit: str, start: float, step: float, *more: tuple[str, object]) -> Any:
    """Return cards of a cube whose third axis is spectral."""
    ours = {"CTYPE3": ctype, "CUNIT3": unit, "CRVAL3": start, "CDELT3": step, "CRPIX3": 1.0}
    kept = [(key, value) for key, value in cube_cards() if key not in ours]
    return [*kept, *ours.items(), *more]


def cube(cards: Any = None, stored: np.ndarray | None = None) -> tf.Image:
    return tf.open(primary(noise() if stored is None else stored, cards or cube_cards()))[0]


def twin(values: np.ndarray, axis: np.ndarray, widths: np.ndarray) -> list[np.ndarray]:
    """Moments by their definitions, line of sight by line of sight."""
    shape = values.shape[1:]
    made = [np.full(shape, np.nan) for _ in range(3)]
    for place in np.ndindex(*shape):
        line = values[(slice(None), *place)].astype("f8")
        good = ~np.isnan(line)
        weights, u = line[good], axis[good]
        if not good.any():
            continue
        made[0][place] = (weights * widths[good]).sum()
        if weights.sum() == 0:
            continue
        made[1][place] = (weights * u).sum() / weights.sum()
        square = (weights * (u - made[1][place]) ** 2).sum() / weights.sum()
        made[2][place] = np.sqrt(square) if square >= 0 else np.nan
    return made


@given(
    channels=st.slices(6).filter(lambda s: range(6)[s]),
    orders=st.lists(st.sampled_from([0, 1, 2]), min_size=1, max_size=4),
)
def test_several_moments_have_the_bits_of_each(channels: slice, orders: list[int]) -> None:
    image = cube()
    together = image.select(channels=channels).moments(orders)
    for order, plane in zip(orders, together, strict=True):
        alone = image.select(channels=channels).moment(order)
        assert plane.values.tobytes() == alone.values.tobytes()
        assert (plane.name, plane.unit) == (f"moment {order}", alone.unit)
        assert plane.header == alone.header


@pytest.mark.parametrize("convention", ["radio", "optical", "relativistic"])
@pytest.mark.parametrize("kind", ["FREQ", "WAVE", "VRAD", "VOPT", "VELO", "ENER", "WAVN"])
def test_velocities_are_those_of_the_formulas(kind: str, convention: str) -> None:
    planck = 6.62607015e-34
    start = {"FREQ": (1.418e9, 5e5, "Hz"), "WAVE": (21.06, 0.01, "cm"), "VRAD": (2e5, 5e3, "m/s"),
             "VOPT": (200.0, 5.0, "km/s"), "VELO": (2e5, 5e3, "m/s"),
             "ENER": (1.418e9 * planck, 5e5 * planck, "J"),
             "WAVN": (1.418e9 / LIGHT, 5e5 / LIGHT, "/m")}[kind]  # fmt: skip
    image = cube(spectral(kind, start[2], start[0], start[1], ("RESTFRQ", REST)))

    def velocity(pixels: np.ndarray) -> np.ndarray:
        x = start[0] + start[1] * pixels
        hertz = {
            "FREQ": lambda: x,
            "WAVE": lambda: LIGHT / (x * 1e-2),
            "VRAD": lambda: REST * (1 - x / LIGHT),
            "VOPT": lambda: REST / (1 + x * 1e3 / LIGHT),
            "VELO": lambda: REST * np.sqrt((1 - x / LIGHT) / (1 + x / LIGHT)),
            "ENER": lambda: x / planck,
            "WAVN": lambda: x * LIGHT,
        }[kind]()
        ratio = hertz / REST
        return {
            "radio": LIGHT * (1 - ratio),
            "optical": LIGHT * (1 / ratio - 1),
            "relativistic": LIGHT * (1 - ratio**2) / (1 + ratio**2),
        }[convention] / 1e3

    pixels = np.arange(6.0)
    widths = np.abs(velocity(pixels + 0.5) - velocity(pixels - 0.5))
    expected = twin(noise(), velocity(pixels), widths)
    planes = image.moments(unit="km/s", convention=convention)
    for plane, values, tolerance in zip(planes, expected, (1e-8, 1e-8, 1e-5), strict=True):
        np.testing.assert_allclose(plane.values, values, rtol=tolerance)
    assert [plane.unit for plane in planes] == ["Jy beam-1 km s-1", "km s-1", "km s-1"]
    assert f"{convention} convention" in " ".join(planes[0].header.history())
    assert planes[0].header["RESTFRQ"] == REST
    one = image.select(channels=slice(2, 3)).moment(0, unit="km/s", convention=convention).values
    np.testing.assert_allclose(one, twin(noise()[2:3], pixels[:1], widths[2:3])[0], rtol=1e-8)


@pytest.mark.parametrize("kind", ["VRAD", "VOPT", "VELO"])
def test_velocities_about_another_line_need_no_other_axis(kind: str, tmp_path: Path) -> None:
    other = 1.42e9
    ones = np.ones(CUBE, "f4")
    image = cube(spectral(kind, "km/s", 200.0, 5.0, ("RESTFRQ", REST)), ones)
    # The velocities of the header, but for the unit.
    assert image.spectrum(unit="m/s", rest=f"{REST} Hz").axis.values[1] == 205e3
    alone = cube(spectral(kind, "km/s", 200.0, 5.0), ones)
    assert alone.spectrum(unit="m/s", rest=f"{other} Hz").axis.values[1] == 205e3
    hertz = image.spectrum(unit="Hz").axis.values
    ratio = hertz / other
    velocities = {
        "VRAD": LIGHT * (1 - ratio),
        "VOPT": LIGHT * (1 / ratio - 1),
        "VELO": LIGHT * (1 - ratio**2) / (1 + ratio**2),
    }[kind] / 1e3
    spectrum = image.spectrum(unit="km/s", rest=f"{other} Hz")
    np.testing.assert_allclose(spectrum.axis.values, velocities, rtol=1e-9)
    mean, kept = (
        image.moment(1, unit="km/s", rest=f"{other} Hz", keep_axis=keeps) for keeps in (False, True)
    )
    np.testing.assert_allclose(mean.values, velocities.mean(), rtol=1e-9)
    assert mean.header["RESTFRQ"] == other
    # The axis that is kept has the velocities of the header.
    assert (kept.header["RESTFRQ"], kept.header["CTYPE3"]) == (REST, kind)
    inside = 0.6 * velocities[2] + 0.4 * velocities[3]
    assert image.select(channels=f"..{inside} km/s", rest=f"{other} Hz").spectrum().values.size == 3
    assert image.coordinates.world_to_pixel(spectral=f"{velocities[4]} km/s", rest=f"{other} Hz")[
        2
    ] == pytest.approx(4)
    spectrum.write(tmp_path / "spectrum.fits")
    with tf.open(tmp_path / "spectrum.fits") as file:
        np.testing.assert_allclose(
            file[0].spectrum(unit="km/s").axis.values,
            velocities if kind != "VELO" else 200.0 + 5.0 * np.arange(6),
            rtol=1e-9,
        )


def test_results_name_one_rest_frequency() -> None:
    for keyword, value in (("RESTFREQ", REST), ("RESTWAV", LIGHT / REST)):
        image = cube(spectral("FREQ", "Hz", 1.418e9, 5e5, (keyword, value)))
        for options, expected in ({}, REST), ({"rest": "1.42e9 Hz"}, 1.42e9):
            for result in (
                image.spectrum(unit="km/s", **options), image.moment(1, unit="km/s", **options)
            ):  # fmt: skip
                assert result.header["RESTFRQ"] == pytest.approx(expected, rel=1e-15)
                assert keyword not in result.header
        assert image.spectrum().header[keyword] == value


def test_every_second_channel_is_twice_as_wide() -> None:
    image = cube(spectral("FREQ", "GHz", 1.4, 1e-3, ("RESTFRQ", REST)), np.ones(CUBE, "f4"))
    planes = [
        image.select(channels=s).moment(0, unit="km/s", convention="optical").values
        for s in (slice(None), slice(None, None, 2))
    ]
    np.testing.assert_allclose(planes[0], planes[1], rtol=1e-3)


def test_units_of_the_same_kind_only_scale() -> None:
    image = cube()
    for order, factor in ((0, 1e-3), (1, 1e-3), (2, 1e-3)):
        np.testing.assert_allclose(
            image.moment(order, unit="km/s").values, image.moment(order).values * factor, rtol=1e-9
        )
    air = cube(spectral("AWAV", "Angstrom", 6560.0, 1.25))
    np.testing.assert_allclose(
        air.moment(1, unit="nm").values, air.moment(1).values / 10, rtol=1e-14
    )


def test_air_is_left_before_a_velocity_is_made() -> None:
    # H alpha, 656.461 nm in vacuum, is at 656.28 nm in air.
    image = cube(spectral("AWAV", "nm", 656.28, 0.01), np.ones((1, 2, 2), "f4"))
    for rest in ({"rest": "656.28 nm"}, {"rest": "656.461 nm", "rest_medium": "vacuum"}):
        velocity = image.moment(1, unit="km/s", **rest).values
        np.testing.assert_allclose(velocity, 0, atol=0.2)
    wavelength = image.collapse("max_coordinate", unit="GHz").values
    np.testing.assert_allclose(wavelength, LIGHT / 656.461, rtol=1e-6)


def test_axes_that_are_not_linear_are_evaluated_by_wcslib() -> None:
    ones = np.ones(CUBE, "f4")
    log = cube(spectral("WAVE-LOG", "m", 5e-7, 1e-9), ones)
    expected = 5e-7 * np.exp(1e-9 * np.arange(6) / 5e-7)
    np.testing.assert_allclose(log.moment(1, unit="um").values, expected.mean() * 1e6, rtol=1e-12)
    edges = 5e-7 * np.exp(1e-9 * (np.arange(7) - 0.5) / 5e-7)
    np.testing.assert_allclose(
        log.moment(0, unit="um").values, (edges[-1] - edges[0]) * 1e6, rtol=1e-9
    )
    one = log.moment(1)
    np.testing.assert_allclose(one.values, expected.mean(), rtol=1e-12)
    assert one.unit == "m"


@pytest.mark.parametrize(
    ("ctype", "more", "words"),
    [
        ("FREQ", [], {"unit": "km/s"}),
        ("VRAD", [("RESTFRQ", 0.0)], {"unit": "GHz"}),
        ("FREQ", [], {"unit": "Jy"}),
        ("FREQ", [], {"unit": "furlong/fortnight/K"}),
        ("FREQ", [], {"unit": "km/s", "rest": "12 Jy"}),
        ("FREQ", [], {"unit": "km/s", "rest": "-1.0 Hz"}),
        ("FREQ", [], {"unit": "km/s", "rest": "nan Hz"}),
        ("FREQ", [], {"unit": "km/s", "rest": f"{REST} Hz", "convention": "gamma"}),
        ("FREQ", [], {"convention": "radio"}),
        ("VELO-LSR", [("RESTFRQ", REST)], {"unit": "GHz"}),
        ("LINEAR", [], {"unit": "km/s"}),
    ],
)
def test_impossible_conversions_are_refused(ctype: str, more: Any, words: Any) -> None:
    image = cube(spectral(ctype, "m/s" if ctype[0] == "V" else "Hz", 1e6, 1e3, *more))
    with pytest.raises(tf.UsageError) as caught:
        image.moment(1, **words)
    assert "hint: " in str(caught.value)


def test_velref_defines_aips_velocities() -> None:
    for velref, convention in ((257, "radio"), (1, "optical")):
        cards = spectral("VELO-LSR", "m/s", 1e6, 1e3, ("RESTFRQ", REST), ("VELREF", velref))
        image = cube(cards, np.ones((1, 2, 2), "f4"))
        given = cube(spectral("VELO-LSR", "m/s", 1e6, 1e3, ("RESTFRQ", REST)),
                     np.ones((1, 2, 2), "f4"))  # fmt: skip
        found = image.moment(1, unit="GHz").values
        other = given.moment(1, unit="GHz", convention=convention).values
        np.testing.assert_array_equal(found, other)
        beta = 1e6 / LIGHT
        expected = 1 - beta if convention == "radio" else 1 / (1 + beta)
        np.testing.assert_allclose(found, REST * expected / 1e9, rtol=1e-12)


def test_a_spectrum_in_another_unit_keeps_the_frame_that_its_ctype_named() -> None:
    cards = spectral("VELO-LSR", "m/s", 1e6, 1e3, ("RESTFRQ", REST))
    image = cube(cards, np.ones((3, 2, 2), "f4"))
    as_it_is = image.spectrum().header
    assert (as_it_is["CTYPE1"], as_it_is.get("SPECSYS")) == ("VELO-LSR", None)
    turned = image.spectrum(unit="GHz", convention="radio").header
    assert (turned["CTYPE1"], turned["SPECSYS"]) == ("FREQ", "LSRK")
    named = cube([*cards, ("SPECSYS", "BARYCENT")], np.ones((3, 2, 2), "f4"))
    turned = named.spectrum(unit="GHz", convention="radio").header
    assert turned["SPECSYS"] == "BARYCENT"


def test_velocities_of_an_algorithm_are_apparent() -> None:
    more = [("RESTFRQ", REST), ("VELREF", 257)]
    image = cube(spectral("VELO-F2V", "m/s", 1e6, 2e4, *more))
    beta = image.spectrum().axis.values / LIGHT
    hertz = REST * np.sqrt((1 - beta) / (1 + beta))
    np.testing.assert_allclose(image.spectrum(unit="Hz").axis.values, hertz, rtol=1e-12)
    # Channels are equally spaced in frequency.
    np.testing.assert_allclose(np.diff(hertz, 2), 0, atol=1e-3)
    optical = image.spectrum(unit="km/s", convention="optical").axis.values
    np.testing.assert_allclose(optical, LIGHT * (REST / hertz - 1) / 1e3, rtol=1e-9)


def test_peaks_are_channels_of_the_image_and_coordinates() -> None:
    stored = noise()
    stored[3, 1, 1] = stored[5, 1, 1] = 99.0
    image = cube(stored=stored)
    known = ~np.isnan(stored).all(axis=0)
    for name, pick in (("max", np.nanargmax), ("min", np.nanargmin)):
        where = np.full(CUBE[1:], np.nan)
        where[known] = pick(stored[:, known], axis=0)
        np.testing.assert_array_equal(image.collapse(f"{name}_channel").values, where)
        np.testing.assert_allclose(
            image.collapse(f"{name}_coordinate", unit="km/s").values, 1.0 + 0.25 * where
        )
    assert image.collapse("max_channel").values[1, 1] == 3
    assert image.collapse("max_channel").unit == "chan"
    backwards = image.select(channels=slice(5, 1, -1)).collapse("max_channel").values
    assert backwards[1, 1] == 5


@given(data=st.data())
def test_outside_of_regions_planes_are_undefined(data: st.DataObject) -> None:
    stored = noise((3, 9, 8))
    image = cube(stored=stored)
    region = st.builds(tf.Circle, st.floats(-3, 11), st.floats(-3, 11), st.floats(0, 6))
    regions = data.draw(st.lists(region, min_size=1, max_size=3))
    index = (slice(None), *(data.draw(st.slices(n).filter(lambda s, n=n: range(n)[s]))
                            for n in (9, 8)))  # fmt: skip
    inside = np.any([one.mask(9, 8) for one in regions], axis=0)[index[1:]]
    for make in (lambda chosen: chosen.moment(1), lambda chosen: chosen.collapse("max")):
        whole = make(image.select(section=index))
        part = make(image.select(regions, section=index))
        np.testing.assert_array_equal(part.values, np.where(inside, whole.values, np.nan))
        # The regions are recorded after everything else.
        same = list(whole.header.cards)
        assert list(part.header.cards)[: len(same)] == same


@given(data=st.data())
def test_thresholds_and_masks_leave_pixels_out(data: st.DataObject) -> None:
    stored = noise()
    image = cube(stored=stored)
    threshold = data.draw(st.none() | st.floats(0, 6, width=32))
    shape = data.draw(st.sampled_from([CUBE, CUBE[1:], (6, 1, 1)]))
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    mask = data.draw(st.none() | st.just(random.choice([0.0, 1.0, -2.0, np.nan], shape)))
    left = stored.astype("f8")
    if threshold is not None:
        left[~(left >= threshold)] = np.nan
    if mask is not None:
        left[np.broadcast_to(np.isnan(mask) | (mask == 0), CUBE)] = np.nan
    chosen = image.select(where=mask).select(where=threshold)
    expected = twin(left, 1000 + 250.0 * np.arange(6), np.full(6, 250.0))
    for plane, values in zip(chosen.moments(), expected, strict=True):
        np.testing.assert_allclose(plane.values, values, rtol=1e-6, atol=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        for name, twin_of in (("max", np.nanmax), ("median", np.nanmedian), ("mean", np.nanmean)):
            found = chosen.collapse(name).values
            np.testing.assert_allclose(found, twin_of(left, axis=0), rtol=1e-12)


def test_scaled_pixels_are_compared_by_their_values() -> None:
    stored = np.arange(120, dtype="i2").reshape(CUBE)
    image = cube([*cube_cards(), ("BSCALE", 0.1), ("BZERO", -3.0), ("BLANK", 50)], stored)
    values = image.read(dtype="float64")
    found = image.select(where=1.7).collapse("sum").values
    np.testing.assert_allclose(found, np.where(values >= 1.7, values, 0).sum(axis=0), rtol=1e-12)


def test_masks_that_do_not_fit_are_refused() -> None:
    for shape in ((7, 5, 4), (2, 6, 5, 4), (3,)):
        with pytest.raises(tf.UsageError):
            cube().select(where=np.ones(shape)).moment(0)


def test_empty_selections_are_undefined() -> None:
    image = cube()
    for plane in image.select(channels=slice(3, 3)).moments(unit="km/s"):
        assert plane.shape == CUBE[1:]
        assert np.isnan(plane.values).all()
    assert np.isnan(image.select(tf.Circle(90, 90, 1)).collapse("max_coordinate").values).all()


@pytest.mark.parametrize("shape", [CUBE, (5, 1, 3), (1, 4, 4)])
def test_order_statistics_make_planes_and_spectra(shape: tuple[int, ...], tmp_path: Path) -> None:
    image = cube(stored=noise(shape))
    values = image.read(dtype="float64")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # lines of sight without a defined pixel
        middle = np.nanmedian(values, axis=0)
        spread = np.nanmedian(np.abs(values - middle), axis=0)
        upper = np.nanpercentile(values, 87.5, axis=0)
        line = np.nanpercentile(values, 10, axis=(1, 2))
    assert not np.array_equal(middle, upper) or shape[0] == 1
    for name, expected in {"median": middle, "mad": spread, "percentile87.5": upper}.items():
        plane = image.collapse(name)
        np.testing.assert_allclose(plane.values, expected, rtol=1e-14)
        assert (plane.name, plane.unit, plane.report.wall_seconds > 0) == (name, "Jy/beam", True)
    np.testing.assert_allclose(image.spectrum(statistic="percentile10").values, line, rtol=1e-14)
    image.collapse("mad").write(tmp_path / "mad.fits", checksum=True)
    with tf.open(tmp_path / "mad.fits") as file:
        assert file[0].checksum().whole == "right"
        np.testing.assert_array_equal(file[0][...], image.collapse("mad").values)
    for wrong in ("percentile101", "percentile", "mode"):
        with pytest.raises(tf.UsageError, match="median, mad, percentile90"):
            image.collapse(wrong)


def test_history_says_which_pixels_were_chosen_and_how_coordinates_came(tmp_path: Path) -> None:
    cards = spectral("FREQ", "Hz", REST, -1e4, ("RESTFRQ", REST))
    image = cube(cards)
    image.plane(np.s_[0]).write(tmp_path / "mask.fits")
    plane = (
        image.select(tf.Box(1, 1, 2, 2), where=tmp_path / "mask.fits")
        .select(where=1)
        .moment(1, unit="km/s")
    )
    told = " ".join(plane.header.history())
    assert f"rest frequency {REST} Hz" in told
    for part in ("pixels of at least 1.0 Jy/beam", f"mask {tmp_path / 'mask.fits'}", "in Box("):
        assert part in told
    with pytest.raises(tf.UsageError, match="mask of 3 x 3 pixels does not broadcast"):
        image.select(where=np.ones((3, 3))).moment(0)
    masked = image.select(where=np.ones(CUBE[1:])).collapse("max")
    assert "mask given as an array" in " ".join(masked.header.history())


def test_headers_keep_the_sky_and_drop_outdated_cards(tmp_path: Path) -> None:
    cards = [*cube_cards(), ("BMAJ", 0.01), ("DATAMAX", 5.0), ("DATAMIN", 1.0), ("WCSAXES", 3),
             ("BSCALE", 2.0), ("EXTNAME", "CUBE")]  # fmt: skip
    image = cube(cards)
    plane = image.moment(0)
    for gone in ("CTYPE3", "CDELT3", "DATAMAX", "DATAMIN", "BSCALE", "EXTNAME"):
        assert gone not in plane.header
    assert plane.header["BMAJ"] == 0.01
    assert plane.header["WCSAXES"] == 2
    assert plane.header["BUNIT"] == "Jy beam-1 m s-1"
    assert any("moment 0 along NAXIS3" in text for text in plane.header.history())
    plane.write(tmp_path / "flat.fits")
    assert tf.open(tmp_path / "flat.fits", strict=True)[0].shape == CUBE[1:]


def test_the_collapsed_axis_stays_on_request(tmp_path: Path) -> None:
    plane = cube().select(channels=slice(1, 5)).moment(0, keep_axis=True)
    plane.write(tmp_path / "kept.fits")
    with tf.open(tmp_path / "kept.fits", strict=True) as file:
        image = file[0]
        assert image.shape == (1, *CUBE[1:])
        np.testing.assert_array_equal(image[0], plane.values)
        # One channel about the middle of channels 1 to 4, as wide as they are together.
        assert image.world_axis("z").values.tolist() == [1000.0 + 250.0 * 2.5]
        assert image.header["CDELT3"] == 1000.0
    np.testing.assert_allclose(
        plane.wcs.pixel_to_world_values(1, 2),
        cube().wcs.celestial.pixel_to_world_values(1, 2),
    )
    along_x = [("CTYPE1", "FREQ"), ("CTYPE2", "RA---SIN"), ("CTYPE3", "DEC--SIN")]
    other = tf.open(primary(noise(), along_x))[0].moment(0, keep_axis=True)
    other.write(tmp_path / "x.fits")
    assert tf.open(tmp_path / "x.fits")[0].shape == (6, 5, 1)


def test_results_of_distorted_images_say_that_they_are_not() -> None:
    cards = [(k, f"{v}-SIP" if k in ("CTYPE1", "CTYPE2") else v) for k, v in cube_cards()]
    cards += [("A_ORDER", 2), ("A_0_2", 1e-5), ("B_ORDER", 2), ("B_2_0", 1e-5)]
    kept = cube(cards).moment(0)
    assert kept.header["A_0_2"] == 1e-5
    assert kept.header["CTYPE1"].endswith("-SIP")
    strided = cube(cards).select(section=np.s_[:, ::2, ::2]).moment(0)
    assert "A_ORDER" not in strided.header
    assert not strided.header["CTYPE1"].endswith("-SIP")
    assert any("distortions were left out" in text for text in strided.header.history("COMMENT"))


def test_an_axis_that_others_depend_on_keeps_its_coordinate() -> None:
    # A slice across right ascension: the other axis of the sky is needed to know where it is.
    image = cube()
    plane = image.plane(np.s_[:, 2, :])
    world = plane.wcs
    assert world.naxis == 3
    there = image.wcs.pixel_to_world_values(3, 2, 4)
    np.testing.assert_allclose(world.pixel_to_world_values(3, 4, 0), [there[0], there[2], there[1]])


def real_cubes() -> list[str]:
    names = ("ngc6946.fits", "l1448_13co.fits", "NGC4047.co.smo7gain.fits.gz")
    return [f"data/cubes/{name}" for name in names]


@pytest.mark.once
@pytest.mark.parametrize("name", parameters(real_cubes()))
def test_moments_of_real_cubes_are_those_of_spectral_cube(name: str) -> None:
    spectral_cube = pytest.importorskip(
        "spectral_cube", reason="SPECTRAL-CUBE IS NOT INSTALLED: moments were not compared with it"
    )
    import astropy.units as u

    path = path_of(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = spectral_cube.SpectralCube.read(str(path))
        theirs.allow_huge_operations = True
        # float64, as here: they add up in the type of the pixels.
        theirs = theirs.with_mask(np.isfinite(theirs.unmasked_data[:].value))
        maps = [theirs.moment(order=order, axis=0) for order in (0, 1, 2)]
    image = tf.open(path)[0]
    ours = image.moments(unit="km/s")
    axis = theirs.spectral_axis.to_value(u.km / u.s)
    values = np.squeeze(image.read(dtype="float64"))
    magnitude = np.nansum(np.abs(values), axis=0)
    with np.errstate(all="ignore"):
        # Where noise all but cancels, rounding in float32 decides what theirs are.
        firm = np.abs(np.nansum(values, axis=0)) > 0.2 * magnitude
    assert firm.sum() > 100
    reach = np.abs(axis - axis.mean()).max()
    width = np.abs(np.diff(axis)).mean()
    slack = 1e-5 * magnitude[firm] * width
    theirs0 = np.asarray(maps[0].value, dtype="f8") * _to_km(maps[0].unit, theirs.unit)
    assert (np.abs(ours[0].values - theirs0)[firm] <= slack).all()
    np.testing.assert_allclose(
        ours[1].values[firm], maps[1].to_value(u.km / u.s)[firm], rtol=0, atol=1e-3 * reach
    )
    squares = maps[2].to_value(u.km**2 / u.s**2)[firm]
    both = (squares > 0) & np.isfinite(ours[2].values[firm])
    np.testing.assert_allclose(
        ours[2].values[firm][both] ** 2, squares[both], rtol=0, atol=1e-3 * reach**2
    )


def _to_km(unit: Any, of_pixels: Any) -> float:
    """Return the factor from the unit of their moment 0 to that of pixels times km/s."""
    import astropy.units as u

    return float((unit / of_pixels).to(u.km / u.s))


@pytest.mark.parametrize("orders", [range(10**12), [0, 3], 1, [True]])
def test_invalid_orders_are_refused_at_once(orders: Any) -> None:
    with pytest.raises(tf.UsageError, match="expected some of 0, 1 and 2"):
        cube().moments(orders)
