"""Spectral lines on the server: the line of velocities, frames, and the table of lines."""

from __future__ import annotations

from typing import Any

import astropy.units as u
import numpy as np
import pytest
from astropy.coordinates import EarthLocation, SkyCoord, SpectralCoord
from astropy.io import fits
from astropy.time import Time
from fastapi.testclient import TestClient

from tachyfits.server.app import create_app
from tachyfits.server.lines import GROUPS, LINES
from tachyfits.server.settings import Settings

pytestmark = pytest.mark.once

#: A place and a time of observation.
SITE = EarthLocation.from_geocentric(2225015.0, -5440016.3, -2481631.3, unit=u.m)
TIME = "2024-03-05T04:00:00"

SKY = {
    "CTYPE1": "RA---TAN", "CUNIT1": "deg", "CRVAL1": 30.0, "CRPIX1": 2.0, "CDELT1": -1e-3,
    "CTYPE2": "DEC--TAN", "CUNIT2": "deg", "CRVAL2": 10.0, "CRPIX2": 2.0, "CDELT2": 1e-3,
}  # fmt: skip

#: Spectral axes: of ALMA, of MUSE (in air), and velocities without a rest frequency.
RADIO = {
    "CTYPE3": "FREQ", "CUNIT3": "Hz", "CRVAL3": 115.0e9, "CRPIX3": 1.0, "CDELT3": 20e6,
    "RESTFRQ": 115.2712018e9, "SPECSYS": "LSRK", "DATE-OBS": TIME, "ZSOURCE": 0.0015,
    "OBSGEO-X": SITE.x.value, "OBSGEO-Y": SITE.y.value, "OBSGEO-Z": SITE.z.value,
}  # fmt: skip
OPTICAL = {
    "CTYPE3": "AWAV", "CUNIT3": "Angstrom", "CRVAL3": 6540.0, "CRPIX3": 1.0, "CDELT3": 1.25,
}  # fmt: skip
SPEEDS = {"CTYPE3": "VRAD", "CUNIT3": "m/s", "CRVAL3": 0.0, "CRPIX3": 1.0, "CDELT3": 1e3}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("lines") / "served"
    folder.mkdir()
    for name, cards in (
        ("radio", RADIO),
        ("optical", OPTICAL),
        ("speeds", SPEEDS),
        ("old", SPEEDS | {"CTYPE3": "VELO-HEL"}),
    ):
        hdu = fits.PrimaryHDU(np.ones((40, 3, 3), dtype=np.float32))
        hdu.header.update(SKY | cards)
        hdu.writeto(folder / f"{name}.fits")
    fits.PrimaryHDU(np.ones((3, 3), dtype=np.float32)).writeto(folder / "flat.fits")
    with TestClient(create_app(Settings(paths=(folder,)))) as found:
        yield found


def asked(client: TestClient, name: str, file: str, **parameters: Any) -> Any:
    answer = client.get(f"/api/v1/{name}", params={"id": f"served/{file}.fits"} | parameters)
    assert answer.status_code == 200, answer.text
    return answer.json()


def frequencies() -> Any:
    return (115.0e9 + 20e6 * np.arange(40)) * u.Hz


def test_header_without_a_convention_places_no_lines_and_says_why(client: TestClient) -> None:
    found = asked(client, "lines", "old")
    assert found["problem"] == (
        "CTYPE 'VELO-HEL' without VELREF does not define its velocity convention"
    )
    assert {line["channel"] for line in found["lines"]} == {None}
    assert asked(client, "lines", "optical")["problem"] is None
    # The page shows metres per second as kilometres per second.
    assert asked(client, "lines", "old", unit="km/s")["problem"] == found["problem"]
    parameters = {"id": "served/old.fits", "rest": "nonsense"}
    assert client.get("/api/v1/lines", params=parameters).status_code == 400


@pytest.mark.parametrize("frame", ["BARYCENT", "TOPOCENT", "LSRK"])
def test_axis_in_another_frame_is_that_of_astropy(client: TestClient, frame: str) -> None:
    found = asked(client, "axis", "radio", unit="GHz", frame=frame)
    target = SkyCoord(30 * u.deg, 10 * u.deg, distance=1 * u.Mpc)
    observer = SITE.get_itrs(obstime=Time(TIME))
    topocentric = SpectralCoord(frequencies(), observer=observer, target=target)
    moved = topocentric.with_observer_stationary_relative_to
    to_lsrk = float(moved("lsrk")[0] / topocentric[0])
    to = {"TOPOCENT": 1.0, "LSRK": to_lsrk, "BARYCENT": float(moved("icrs")[0] / topocentric[0])}
    expected = frequencies().to_value("GHz") / to_lsrk * to[frame]
    np.testing.assert_allclose(found["values"], expected, rtol=1e-12)
    np.testing.assert_allclose(found["widths"], 0.02 / to_lsrk * to[frame], rtol=1e-6)
    assert found["frame"] == frame


def test_velocities_are_about_the_line_at_its_redshift(client: TestClient) -> None:
    found = asked(client, "axis", "radio", unit="km/s", convention="optical", redshift=0.002)
    rest = 115.2712018e9 * u.Hz / 1.002
    expected = frequencies().to_value("km/s", u.doppler_optical(rest))
    np.testing.assert_allclose(found["values"], expected, rtol=1e-11, atol=1e-9)
    assert found["rest_hz"] == pytest.approx(rest.value, rel=1e-15)
    # Frequencies stay as observed.
    assert asked(client, "axis", "radio", redshift=0.002)["values"][0] == 115.0e9


def test_velocities_of_an_optical_cube_in_air_are_zero_at_the_line(client: TestClient) -> None:
    hertz = next(line.rest_hz for line in LINES if line.name == "Hα")
    found = asked(client, "axis", "optical", unit="km/s", rest=f"{hertz!r} Hz")
    wavelengths = 6540.0 + 1.25 * np.arange(40)
    zero = np.interp(0.0, found["values"], wavelengths)
    # The wavelength in air that the NIST Atomic Spectra Database gives: 6562.79.
    assert zero == pytest.approx(6562.79, abs=0.02)
    assert asked(client, "lines", "optical", groups="hydrogen")["lines"][-1][
        "value"
    ] == pytest.approx(zero, abs=1e-3)


@pytest.mark.parametrize(
    ("file", "form"),
    [
        ("radio", {}),
        ("radio", {"unit": "km/s", "frame": "BARYCENT", "redshift": 0.001}),
        ("radio", {"unit": "mm", "frame": "TOPOCENT"}),
        ("optical", {"unit": "km/s", "rest": "6564.608 Angstrom", "redshift": 0.0002}),
        ("speeds", {"rest": "115.2712018 GHz", "redshift": 1e-5}),
    ],
)
def test_lines_are_where_the_axis_has_their_frequency(
    client: TestClient, file: str, form: dict[str, Any]
) -> None:
    lines = asked(client, "lines", file, **form)["lines"]
    inside = [line for line in lines if line["channel"] is not None]
    assert inside
    assert len(inside) < len(lines)
    plain = {key: value for key, value in form.items() if key not in ("rest", "unit")}
    about = {"rest": form["rest"]} if file == "speeds" else {}
    hertz = asked(client, "axis", file, unit="Hz", **plain, **about)["values"]
    own = form if "unit" in form else {}
    values = asked(client, "axis", file, **own)["values"]
    channels = np.arange(1, len(values) + 1)
    order = np.argsort(hertz)
    for line in inside:
        observed = line["rest_hz"] / (1 + form.get("redshift", 0.0))
        nearest = np.interp(observed, np.array(hertz)[order], channels[order])
        assert line["channel"] == pytest.approx(nearest, abs=0.01)
        slope = abs(values[1] - values[0])
        assert line["value"] == pytest.approx(np.interp(nearest, channels, values), abs=slope / 50)


def test_spectral_says_what_the_header_has_and_lacks(client: TestClient) -> None:
    radio = asked(client, "spectral", "radio")
    assert (radio["rest_hz"], radio["redshift"], radio["frame"]) == (115.2712018e9, 0.0015, "LSRK")
    assert all(frame["factor"] for frame in radio["frames"])
    optical = asked(client, "spectral", "optical")
    assert (optical["rest_hz"], optical["redshift"], optical["frame"]) == (None, None, None)
    assert all("SPECSYS" in frame["problem"] for frame in optical["frames"])
    assert not any("/served" in frame["problem"] for frame in optical["frames"])


def test_lines_of_velocities_without_a_line_say_what_is_missing(client: TestClient) -> None:
    found = asked(client, "lines", "speeds")
    assert "rest frequency" in found["problem"]
    assert {line["channel"] for line in found["lines"]} == {None}
    parameters = {"id": "served/speeds.fits", "unit": "GHz"}
    assert client.get("/api/v1/lines", params=parameters).status_code == 400


def test_table_of_lines_is_whole() -> None:
    assert {line.group for line in LINES} == set(GROUPS)
    assert len({line.name for line in LINES}) == len(LINES)
    by_name = {line.name: line.rest_hz for line in LINES}
    light = 299792458.0
    # Wavelengths in vacuum of textbooks, to their last digit.
    for name, metres, digits in (
        ("H I", 0.2110611405, 10), ("[C II] 158", 157.741e-6, 9), ("[N II] 205", 205.178e-6, 9),
        ("[O III] 88", 88.356e-6, 9), ("Hα", 656.461e-9, 12), ("[O III] 5007", 500.824e-9, 12),
    ):  # fmt: skip
        assert light / by_name[name] == pytest.approx(metres, abs=0.6 * 10.0**-digits)
    # A linear molecule: J -> J-1 at about J times the first.
    for upper in range(2, 10):
        ratio = by_name[f"CO {upper}-{upper - 1}"] / by_name["CO 1-0"]
        assert ratio == pytest.approx(upper, rel=1e-3)
        assert ratio < upper
