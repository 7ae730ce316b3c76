"""Channels by frequency, wavelength and velocity, and polarisations by name."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tachyfits as tf
from fitsbytes import primary
from tachyfits.cli import run
from tachyfits.header.spectral_frames import _shift, _shift_by_astropy
from tachyfits.text.spectral_ranges import parse_band, parse_spectral_range

#: Spectral axes: CTYPE, CUNIT, CRVAL, CDELT, and a unit of another kind that ranges are given in.
AXES = {
    "frequency": ("FREQ", "Hz", 1.42e9, 1e5, "GHz"),
    "downwards": ("FREQ", "Hz", 1.42e9, -1e5, "MHz"),
    "radio": ("VRAD", "m/s", 3e5, 4e3, "km/s"),
    "optical": ("VOPT", "m/s", 3e5, -4e3, "km/s"),
    "wavelength": ("WAVE", "m", 6.5e-7, 1e-10, "Angstrom"),
    "air": ("AWAV", "Angstrom", 6540.0, 1.25, "nm"),
    "energy": ("ENER", "eV", 1000.0, 5.0, "keV"),
    "optical by frequency": ("VOPT-F2W", "m/s", 3e5, 4e3, "km/s"),
    "logarithmic": ("WAVE-LOG", "m", 6.5e-7, 1e-10, "um"),
}
CHANNELS = 40


def cube(kind: str, more: tuple[tuple[str, Any], ...] = (), channels: int = CHANNELS) -> tf.Image:
    ctype, unit, value, step, _ = AXES[kind]
    cards = [
        ("CTYPE1", "RA---TAN"), ("CTYPE2", "DEC--TAN"), ("CTYPE3", ctype), ("CUNIT3", unit),
        ("CRPIX3", 1.0), ("CRVAL3", value), ("CDELT3", step), ("CRVAL1", 83.6), ("CRVAL2", 22.0),
        ("CRPIX1", 1.0), ("CRPIX2", 1.0), ("CDELT1", -0.01), ("CDELT2", 0.01), ("CUNIT1", "deg"),
        ("CUNIT2", "deg"), ("RESTFRQ", 1.420405752e9),
    ]  # fmt: skip
    cards = list((dict(cards) | dict(more)).items())
    stored = np.arange(channels * 6, dtype="f4").reshape(channels, 2, 3)
    image: tf.Image = tf.open(primary(stored, cards))[0]
    return image


def channels_of(image: tf.Image, channels: Any, **line: Any) -> list[int]:
    """Return the channels of a cut by the values of its pixels."""
    part = image.cutout(channels=channels, **line)
    return [int(value) // 6 for value in part[:, 0, 0]]


@pytest.mark.parametrize("kind", AXES)
@given(first=st.floats(-0.5, CHANNELS - 0.5), last=st.floats(-0.5, CHANNELS - 0.5))
def test_channels_are_those_whose_cell_the_range_touches(
    kind: str, first: float, last: float
) -> None:
    import astropy.units as u

    image, unit = cube(kind), AXES[kind][4]
    axis = image.coordinates.axis(0)
    ends = (axis.values(np.array([first, last])) * u.Unit(axis.unit)).to_value(unit)
    text = f"{float(min(ends))!r}..{float(max(ends))!r} {unit}"
    low, high = sorted((first, last))
    # Rounding decides only where an end lies on a border between channels.
    if min(abs(end + 0.5 - round(end + 0.5)) for end in (low, high)) < 1e-6:
        return
    expected = [n for n in range(CHANNELS) if n - 0.5 < high and n + 0.5 > low]
    assert channels_of(image, text) == expected
    quantities = slice(*(float(end) * u.Unit(unit) for end in ends))
    assert channels_of(image, quantities) == expected


@pytest.mark.parametrize("convention", ["radio", "optical", "relativistic"])
@given(first=st.integers(0, CHANNELS - 1), last=st.integers(0, CHANNELS - 1))
def test_velocities_of_a_frequency_axis(convention: str, first: int, last: int) -> None:
    import astropy.units as u

    image = cube("frequency")
    rest = 1.4200e9 * u.Hz
    frequencies = (1.42e9 + 1e5 * np.array([first, last])) * u.Hz
    doppler = getattr(u, f"doppler_{convention}")(rest)
    ends = frequencies.to(u.km / u.s, equivalencies=doppler)
    line = {"rest": "1.42 GHz", "convention": convention}
    found = channels_of(image, slice(ends[0], ends[1]), **line)
    low, high = sorted((first, last))
    assert found == list(range(low, high + 1))


def test_ends_may_be_open_and_a_single_value_is_one_channel() -> None:
    image = cube("frequency")
    assert channels_of(image, "..1420.05 MHz") == [0]
    assert channels_of(image, "1423.85..MHz") == [39]
    assert channels_of(image, "1.4201 GHz") == [1]
    # The border of two channels belongs to the upper one.
    assert channels_of(image, "1420.15 MHz") == [2]
    assert channels_of(image, "1420.15..1420.25 MHz") == [2]
    assert channels_of(image, 7) == [7]
    assert channels_of(image, -1) == [39]
    assert channels_of(image, "1420.1MHz..1420.2MHz") == [1, 2]


BARYCENTRIC = (("SPECSYS", "BARYCENT"),)


@pytest.mark.parametrize("kind", AXES)
@given(first=st.floats(-0.4, CHANNELS - 0.6), last=st.floats(-0.4, CHANNELS - 0.6))
def test_a_band_of_soda_has_wavelengths_in_vacuum(kind: str, first: float, last: float) -> None:
    import astropy.units as u
    from specutils.utils.wcs_utils import air_to_vac

    image = cube(kind, BARYCENTRIC)
    axis = image.coordinates.axis(0)
    if min(abs(end + 0.5 - round(end + 0.5)) for end in (first, last)) < 1e-3:
        return
    low, high = sorted((first, last))
    values = axis.values(np.array([low, high])) * u.Unit(axis.unit)
    if kind == "air":
        metres = air_to_vac(values, method="Morton2000").to_value(u.m)
    elif axis.unit == "m/s":
        rest = 1.420405752e9 * u.Hz
        doppler = u.doppler_radio(rest) if kind == "radio" else u.doppler_optical(rest)
        metres = values.to_value(u.m, equivalencies=doppler)
    else:
        metres = values.to_value(u.m, equivalencies=u.spectral())
    band = " ".join(repr(float(end)) for end in sorted(metres))
    expected = [n for n in range(CHANNELS) if n - 0.5 < high and n + 0.5 > low]
    assert channels_of(image, f"BAND {band}") == expected
    assert channels_of(image, parse_band(band)) == expected


def test_bands_of_soda_may_be_open_or_one_wavelength() -> None:
    image = cube("frequency", BARYCENTRIC)
    at = 299_792_458.0 / (1.42e9 + 1e5 * 7)
    everything = list(range(CHANNELS))
    for text, expected in (
        (f"{at!r}", [7]), (f"{at!r} {at!r}", [7]), (f"\t{at!r}  {at!r} ", [7]),
        (f"{at!r} Inf", everything[:8]), (f"{at!r} +inf", everything[:8]),
        (f"-Inf {at!r}", everything[7:]), (f"0 {at!r}", everything[7:]),
        (f"-1 {at!r}", everything[7:]), (f"-Infinity {at!r}", everything[7:]),
        ("-Inf Inf", everything), ("0 1e3", everything), ("0 +.5E+1", everything),
    ):  # fmt: skip
        assert channels_of(image, f"BAND {text}") == expected, text
        assert channels_of(image, f"band {text}") == expected, text
    # The whole axis needs no frame.
    assert channels_of(cube("frequency"), "BAND -Inf Inf") == everything


def test_bands_of_soda_are_barycentric() -> None:
    more = (
        ("SPECSYS", "LSRK"), ("DATE-OBS", "2019-07-01T05:00:00"), ("RADESYS", "ICRS"),
    )  # fmt: skip
    image = cube("frequency", more, channels=2000)
    # The Sun moves by 20 km/s towards (18h, +30d) of 1900 (Gordon, 1975; as astropy's LSRK has it).
    from astropy.coordinates import SkyCoord

    towards = SkyCoord("18h", "30d", frame="fk4", equinox="B1900").icrs
    apex = 20.0 * towards.cartesian.xyz.value
    target = SkyCoord(83.6, 22.0, unit="deg").cartesian.xyz.value
    factor = 1.0 - float(apex @ target) / 299_792.458
    frequency = (1.42e9 + 1e5 * 1000.0) / factor
    for sign, expected in ((0, 1000), (1, 1001)):
        metres = 299_792_458.0 / (frequency + sign * 1e5)
        assert channels_of(image, f"BAND {metres!r}") == [expected]
    assert abs(frequency - (1.42e9 + 1e8)) > 5e4, "the test says nothing"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected one wavelength"), ("1 2 3", "expected one wavelength"),
        ("0.21..0.22", "expected one wavelength"), ("0.21m", "expected one wavelength"),
        ("nan", "expected one wavelength"), ("0.22 0.21", "shorter wavelength first"),
        ("Inf -Inf", "shorter wavelength first"), ("-2 -1", "above 0"), ("0", "above 0"),
        ("Inf Inf", "above 0"), ("0x1p3", "expected one wavelength"),
        ("1_0", "expected one wavelength"), ("1d-3", "expected one wavelength"),
    ],
)  # fmt: skip
def test_invalid_bands_say_what_is_expected(text: str, words: str) -> None:
    with pytest.raises(tf.UsageError, match=words) as caught:
        cube("frequency", BARYCENTRIC).cutout(channels=f"BAND {text} ")
    assert "hint: use BAND 0.21 0.22" in str(caught.value)


def test_a_band_needs_the_frame_of_the_axis() -> None:
    with pytest.raises(tf.UsageError, match="SPECSYS"):
        cube("frequency").cutout(channels="BAND 0.21")
    with pytest.raises(tf.UsageError, match="no channel"):
        cube("frequency", BARYCENTRIC).cutout(channels="BAND 1e-6 2e-6")
    assert channels_of(cube("frequency"), parse_band("0.2111 0.2112", frame=None))


def test_a_frame_is_converted_as_astropy_does() -> None:
    import astropy.units as u
    from astropy.coordinates import EarthLocation

    place = (("OBSGEO-X", -1601185.4), ("OBSGEO-Y", -5041977.5), ("OBSGEO-Z", 3554875.9))
    more = (("SPECSYS", "TOPOCENT"), ("DATE-OBS", "2019-07-01T05:00:00"), ("RADESYS", "ICRS"))
    image = cube("frequency", (*more, *place), channels=2000)
    # astropy reads the same header, with the position of the pixel as the target.
    _sky, spectral = image.wcs.pixel_to_world(0, 0, 1000)
    for frame, name in (("LSRK", "lsrk"), ("BARYCENT", "icrs"), ("HELIOCEN", "hcrs")):
        there = spectral.with_observer_stationary_relative_to(name)
        text = f"{there.to_value(u.Hz):.3f} Hz {frame}"
        assert channels_of(image, text) == [1000]
        factor = there.to_value(u.Hz) / spectral.to_value(u.Hz)
        assert abs(factor - 1) > 1e-6, "the test says nothing"
    assert channels_of(image, "1420.1 MHz TOPOCENT") == [1]
    assert channels_of(image, "1420.1 MHz") == [1]
    # Without its place in the header, the observatory is given.
    without = cube("frequency", more, channels=2000)
    there = spectral.with_observer_stationary_relative_to("lsrk").to_value(u.Hz)
    with pytest.raises(tf.UsageError, match="OBSGEO-X"):
        channels_of(without, f"{there} Hz LSRK")
    location = EarthLocation.from_geocentric(*(value for _, value in place), unit=u.m)
    asked = tf.SpectralRange(there, there, "Hz", "LSRK", location)
    assert channels_of(without, asked) == [1000]


@pytest.mark.parametrize(
    ("cards", "days"),
    [
        ({"DATE-OBS": "2019-07-01T05:00:00", "TIMESYS": "TAI"}, 58665.208333333333 - 37 / 86400),
        ({"DATE-OBS": "01/07/99"}, 51360.0),
        ({"MJD-OBS": 58665.0, "DATE-AVG": "2019-07-01T12:00:00"}, 58665.5),
        ({"MJD-OBS": 58665.0, "DATE-OBS": "2018-01-01"}, 58665.0),
        ({"MJD-AVG": 58665.25, "TIMESYS": "UTC(NIST)"}, 58665.25),
    ],
)
def test_an_observatory_moves_at_the_time_of_the_header(cards: dict[str, Any], days: float) -> None:
    from astropy.time import Time

    from tachyfits.header.spectral_frames import _observatory

    place = {"OBSGEO-X": -1601185.4, "OBSGEO-Y": -5041977.5, "OBSGEO-Z": 3554875.9}
    image = cube("frequency", tuple((place | cards).items()))
    found = _observatory(image.coordinates, {"TOPOCENT"}, None).obstime
    assert abs((found - Time(days, format="mjd", scale="utc")).sec) < 1e-3


@pytest.mark.parametrize(
    ("cards", "words"),
    [
        ({}, r"time of the observation is not in the header \(DATE-OBS\)"),
        ({"DATE-OBS": "2019-07-01", "TIMESYS": "LOCAL"}, "unknown time scale 'LOCAL'"),
        ({"DATE-OBS": "yesterday"}, "invalid date 'yesterday': expected YYYY-MM-DD"),
    ],
)
def test_a_frame_needs_a_time_on_earth(cards: dict[str, Any], words: str) -> None:
    place = {"OBSGEO-X": -1601185.4, "OBSGEO-Y": -5041977.5, "OBSGEO-Z": 3554875.9}
    more = {"SPECSYS": "TOPOCENT", "RADESYS": "ICRS"} | place | cards
    with pytest.raises(tf.UsageError, match=words):
        channels_of(cube("frequency", tuple(more.items())), "1.42 GHz LSRK")


def test_velocities_of_another_frame_need_no_rest_frequency() -> None:
    more = (("SPECSYS", "LSRK"), ("RESTFRQ", 0.0), ("RADESYS", "ICRS"))
    image = cube("radio", more, channels=200)
    barycentric = channels_of(image, "400..440 km/s BARYCENT")
    own = channels_of(image, "400..440 km/s")
    # The Sun moves by up to 20 km/s in the frame of the local standard of rest.
    assert 0 < abs(barycentric[0] - own[0]) <= 5
    assert abs(len(barycentric) - len(own)) <= 1


def test_frames_that_a_header_does_not_say_are_refused() -> None:
    with pytest.raises(tf.UsageError, match="SPECSYS") as caught:
        channels_of(cube("frequency"), "1.42..1.43 GHz LSRK")
    assert "leave the frame out" in str(caught.value)
    image = cube("frequency", (("SPECSYS", "GALACTOC"),))
    with pytest.raises(tf.UsageError, match="GALACTOC"):
        channels_of(image, "1.42..1.43 GHz LSRK")


@pytest.mark.parametrize(
    ("channels", "words"),
    [
        ("3:5", "expected a range with a unit"),
        ("100..250", "expected a range with a unit"), ("km/s", "expected a range with a unit"),
        ("1..2..3 GHz", "expected a range"), ("1 km/s..2 GHz", "different units"),
        ("1..2 furlong", "invalid unit"), ("1..2 K", "invalid unit"), ("9..10 GHz", "no channel"),
        ("1 2 GHz", "expected a range"), ((1, 2), "expected a unit"), (1.5, "invalid channels"),
    ],
)  # fmt: skip
def test_invalid_channels_say_what_to_do(channels: Any, words: str) -> None:
    with pytest.raises(tf.UsageError, match=words) as caught:
        channels_of(cube("frequency"), channels)
    assert "\nhint: " in str(caught.value)


def test_a_missing_rest_frequency_is_asked_for_only_where_it_is_needed() -> None:
    image = cube("frequency", (("RESTFRQ", 0.0),))
    assert channels_of(image, "1.4201..1.4202 GHz") == [1, 2]
    with pytest.raises(tf.UsageError, match="rest frequency") as caught:
        channels_of(image, "0..10 km/s")
    assert 'rest="1.420405752 GHz"' in str(caught.value)
    assert channels_of(image, "-21.2..0.1 km/s", rest="1.42 GHz") == [0, 1]


@pytest.mark.parametrize("number", [CHANNELS, -CHANNELS - 1, 2**70])
def test_a_channel_that_is_not_there_is_refused(number: int) -> None:
    image = cube("frequency")
    for call in (image.select, image.cutout):
        with pytest.raises(IndexError, match=f"index {number} is out of bounds"):
            call(channels=number)
    assert image.cutout(channels=-1).shape[0] == 1


def test_every_reduction_along_channels_takes_ranges() -> None:
    image = cube("radio")
    text, pixels = "320..340 km/s", slice(5, 11)
    spectrum = image.select(channels=text).spectrum()
    assert spectrum.axis.values.tolist() == [3e5 + 4e3 * n for n in range(5, 11)]
    for name in ("mean", "max"):
        one, other = (image.select(channels=c).collapse(name).values for c in (text, pixels))
        np.testing.assert_array_equal(one, other)
    moments = [image.select(channels=c).moments((0, 1), unit="km/s") for c in (text, pixels)]
    for one, other in zip(*moments, strict=True):
        np.testing.assert_array_equal(one.values, other.values)
    assert image.world_axis("z", text).values.tolist() == spectrum.axis.values.tolist()


def stokes_cube(values: tuple[float, float, float] = (1.0, 1.0, 1.0)) -> tf.Image:
    first, step, reference = values
    stored = np.arange(4 * 5 * 2 * 3, dtype="f4").reshape(4, 5, 2, 3)
    cards = [
        ("CTYPE3", "FREQ"), ("CRVAL3", 1e9), ("CDELT3", 1e6), ("CRPIX3", 1.0),
        ("CTYPE4", "STOKES"), ("CRVAL4", first), ("CDELT4", step), ("CRPIX4", reference),
    ]  # fmt: skip
    image: tf.Image = tf.open(primary(stored, cards))[0]
    return image


def test_the_axis_of_polarisations_has_one_name() -> None:
    stored = np.arange(24, dtype="f4").reshape(4, 3, 2)
    for ctype, axis in (("stokes  ", 0), ("STOKES", 0), ("STOKESX", None), ("STOKES-I", None)):
        cards = [("CTYPE3", ctype), ("CRVAL3", 1.0), ("CDELT3", 1.0), ("CRPIX3", 1.0)]
        image: tf.Image = tf.open(primary(stored, cards))[0]
        assert image.coordinates.stokes_axis == axis
        if axis is None:
            with pytest.raises(tf.UsageError, match="no STOKES axis"):
                image.cutout(pol="Q")
        else:
            np.testing.assert_array_equal(image.cutout(pol="Q")[...], stored[1:2])


def test_polarisations_have_names() -> None:
    image = stokes_cube()
    for number, name in enumerate("IQUV"):
        np.testing.assert_array_equal(image.cutout(pol=name)[...], image[number : number + 1])
        expected = image.select(section=np.s_[number]).spectrum().values
        np.testing.assert_array_equal(image.select(pol=name.lower()).spectrum().values, expected)
        plane = image.select(pol=name).collapse("max").values
        np.testing.assert_array_equal(
            plane, image.select(section=np.s_[number]).collapse("max").values
        )
    assert image.cutout(pol=["Q", "U"]).shape == (2, 5, 2, 3)
    assert image.cutout(pol="I,V").header["CDELT4"] == 3.0
    linear = stokes_cube((-5.0, -1.0, 1.0))
    np.testing.assert_array_equal(linear.cutout(pol="YY")[...], linear[1:2])


def test_polarisations_that_are_not_there_are_refused() -> None:
    image = stokes_cube()
    for call, words in (
        (lambda: image.cutout(pol="XX"), "has I, Q, U, V"),
        (lambda: image.cutout(pol="P"), "invalid polarisation"),
        (lambda: image.cutout(pol=["I", "Q", "V"]), "equal steps"),
        (lambda: image.cutout(pol="I", section=np.s_[1]), "both pol="),
        (lambda: cube("radio").cutout(pol="I"), "no STOKES axis"),
        (lambda: image.spectrum(), 'pol="I"'),
    ):
        with pytest.raises(tf.UsageError, match=words):
            call()


def test_the_command_line_takes_ranges_and_polarisations(
    tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path, polarised = tmp_path / "cube.fits", tmp_path / "stokes.fits"
    cube("radio").write(path)
    stokes_cube().write(polarised)

    def call(*words: object) -> tuple[int, str, str]:
        return run([str(word) for word in words]), *capsys.readouterr()

    _, out, _ = call("spectrum", path, "--channels", "320..340 km/s", "--csv")
    assert [line.split(",")[0] for line in out.splitlines()[1:]] == ["6", "7", "8", "9", "10", "11"]
    status, out, _ = call("spectrum", path, "--channels", "1.4187..1.419 GHz", "--csv")
    assert (status, len(out.splitlines())) == (0, 17)
    _, out, _ = call("stats", path, "--channels", "320..340 km/s", "--json")
    assert json.loads(out)["statistics"][0]["count"] == 6 * 6
    _, out, _ = call("histogram", path, "--channels", "320..340 km/s", "--json")
    assert sum(json.loads(out)["counts"]) == 6 * 6
    call("cutout", path, "--channels", "320..340 km/s", "-o", tmp_path / "cut.fits")
    assert tf.open(tmp_path / "cut.fits")[0].shape == (6, 2, 3)
    call("cutout", polarised, "--pol", "U", "-o", tmp_path / "u.fits")
    np.testing.assert_array_equal(tf.open(tmp_path / "u.fits")[0][...], stokes_cube()[2:3])
    _, out, _ = call("spectrum", polarised, "--pol", "V", "--csv")
    assert len(out.splitlines()) == 6
    for words in (["--channels", "9..10 km/s"], ["--pol", "I"], ["--channels", "3..4 K"]):
        status, _, err = call("spectrum", path, *words)
        assert status == 2
        assert "hint: " in err


@given(
    low=st.floats(-1e12, 1e12), high=st.floats(-1e12, 1e12),
    unit=st.sampled_from(["km/s", "GHz", "Angstrom", "cm-1", "keV", "um"]),
)  # fmt: skip
def test_text_of_a_range_is_read_back(low: float, high: float, unit: str) -> None:
    found = parse_spectral_range(f"{low!r}..{high!r} {unit}")
    assert (found.low, found.high, found.unit) == (low, high, unit)
    assert parse_spectral_range(str(found)).unit == unit


def test_an_unknown_frame_after_a_range_is_named() -> None:
    for text in ("1420..1421 MHz LSRX", "100..200 km/s GALACTOC"):
        with pytest.raises(tf.UsageError, match=f"invalid frame '{text.split()[-1]}'") as caught:
            cube("frequency").cutout(channels=text)
        assert "leave it out" in str(caught.value)
    with pytest.raises(tf.UsageError, match="invalid unit"):
        cube("frequency").cutout(channels="1..2 furlongs")


def test_shifts_of_frames_are_those_of_astropy_for_any_direction() -> None:
    rng = np.random.default_rng(3)
    for frame in ("BARYCENT", "LSRK", "LSRD", "HELIOCEN"):
        for longitude, latitude in rng.uniform((0, -90), (360, 90), (12, 2)).tolist():
            theirs = _shift_by_astropy(frame, longitude, latitude, None)
            assert _shift(frame, longitude, latitude) == pytest.approx(theirs, rel=3e-15)
    assert abs(_shift("LSRK", 271.0, 30.0) - 1) == pytest.approx(20 / 299792.458, rel=0.01)
