"""Polarisation on the server: planes of P and angle beside NumPy, vectors beside the sky."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from astropy import units as u
from astropy.io import fits
from astropy.wcs import WCS
from fastapi.testclient import TestClient

from servedcube import pixels_of
from tachyfits.server.app import create_app
from tachyfits.server.settings import Settings

pytestmark = pytest.mark.once

SKY = {"CTYPE1": "RA---SIN", "CTYPE2": "DEC--SIN", "CRVAL1": 30.0, "CRVAL2": 60.0,
       "CRPIX1": 20.0, "CRPIX2": 15.0, "CD1_1": -2e-3, "CD1_2": 1e-3, "CD2_1": 1e-3,
       "CD2_2": 2e-3}  # fmt: skip
FREQ = {"CTYPE": "FREQ", "CUNIT": "Hz", "CRVAL": 1.4e9, "CDELT": 1e6, "CRPIX": 1.0}
STOKES = {"CTYPE": "STOKES", "CRVAL": 1.0, "CDELT": 1.0, "CRPIX": 1.0}


@pytest.fixture(scope="module")
def data() -> np.ndarray[Any, Any]:
    """I, Q, U, V by channels, y and x, with undefined pixels."""
    found = np.random.default_rng(8).normal(size=(4, 6, 32, 40))
    found[1, 2, 5, 6] = np.nan
    found[1:3, :, 9, 9] = 0
    return found


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, data: Any) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("polarised")

    def write(name: str, pixels: Any, third: Any, fourth: Any = None) -> None:
        hdu = fits.PrimaryHDU(pixels)
        hdu.header.update(SKY | {f"{key}3": value for key, value in third.items()})
        if fourth:
            hdu.header.update({f"{key}4": value for key, value in fourth.items()})
        hdu.header["BUNIT"] = "Jy/beam"
        hdu.writeto(folder / name)

    write("cube.fits", data, FREQ, STOKES)
    write("swapped.fits", data.swapaxes(0, 1), STOKES, FREQ)
    write("plane.fits", data[:, 0], STOKES)
    write("plain.fits", data[0], FREQ)
    with TestClient(create_app(Settings(paths=(folder,)))) as found:
        yield found


def expected(data: Any, channels: slice) -> tuple[Any, Any]:
    with np.errstate(invalid="ignore"):
        q, u = (np.nanmean(data[number, channels], axis=0) for number in (1, 2))
    return q, u


def plane(client: TestClient, name: str, operation: str, **given: Any) -> Any:
    given = {"id": f"{folder_of(client)}/{name}", "collapse": operation, "error": 0} | given
    return pixels_of(client.get("/api/v1/image", params=given))


def folder_of(client: TestClient) -> str:
    found: str = client.get("/api/v1/files").json()["entries"][0]["id"]
    return found


@pytest.mark.parametrize("name", ["cube.fits", "swapped.fits"])
@pytest.mark.parametrize("channels", [slice(2, 3), slice(1, 5)])
def test_intensity_and_angle_are_those_of_q_and_u(
    client: TestClient, data: Any, name: str, channels: slice
) -> None:
    q, u = expected(data, channels)
    given = {"channels": f"{channels.start + 1}:{channels.stop}"}
    intensity = plane(client, name, "linear_polarization", **given)
    np.testing.assert_array_equal(intensity, np.hypot(q, u).astype(np.float32))
    angle = plane(client, name, "polarization_angle", **given)
    wanted = np.where(np.hypot(q, u) > 0, np.degrees(np.arctan2(u, q)) / 2, np.nan)
    np.testing.assert_allclose(angle, wanted.astype(np.float32), rtol=1e-6)
    assert np.isnan(angle[9, 9])
    least = plane(client, name, "polarization_angle", threshold=0.5, **given)
    np.testing.assert_array_equal(np.isnan(least), ~(np.hypot(q, u) >= 0.5))


def test_image_of_polarisations_alone_has_them_too(client: TestClient, data: Any) -> None:
    intensity = plane(client, "plane.fits", "linear_polarization")
    np.testing.assert_array_equal(intensity, np.hypot(*data[1:3, 0]).astype(np.float32))


def test_units_and_files_say_what_the_values_are(client: TestClient) -> None:
    place = {"id": f"{folder_of(client)}/cube.fits", "channels": "1:2", "x": 3, "y": 4}
    units = {
        operation: client.get("/api/v1/pixel", params=place | {"collapse": operation}).json()[
            "unit"
        ]
        for operation in ("linear_polarization", "polarization_angle")
    }
    assert units == {"linear_polarization": "Jy/beam", "polarization_angle": "deg"}
    del place["x"], place["y"]
    answer = client.get(
        "/api/v1/image", params=place | {"collapse": "polarization_angle", "format": "fits"}
    )
    header = fits.Header.fromstring(answer.content[:2880].decode("latin-1"))
    assert header["BUNIT"] == "deg"


def test_polarisations_have_names(client: TestClient) -> None:
    found = client.get("/api/v1/dataset", params={"id": f"{folder_of(client)}/cube.fits"}).json()
    assert [axis["stokes"] for axis in found["axes"]] == [None, None, None, ["I", "Q", "U", "V"]]


@pytest.mark.parametrize("step", [1, 4, 7])
def test_vectors_are_directions_on_the_sky(client: TestClient, data: Any, step: int) -> None:
    given = {"id": f"{folder_of(client)}/cube.fits", "step": step, "channels": "2:4", "least": 0.05}
    found = client.get("/api/v1/vectors", params=given).json()
    q, u_ = expected(data, slice(1, 4))
    rows, columns = (length // step for length in q.shape)

    def means(values: Any) -> Any:
        blocks = values[: rows * step, : columns * step].reshape(rows, step, columns, step)
        return np.nanmean(blocks, axis=(1, 3))

    q, u_ = means(q), means(u_)
    intensity, angle = np.hypot(q, u_), np.degrees(np.arctan2(u_, q)) / 2
    keep = intensity >= 0.05
    np.testing.assert_allclose(found["intensity"], intensity[keep], rtol=1e-12)
    np.testing.assert_allclose(found["angle"], angle[keep], rtol=1e-9, atol=1e-9)
    wcs = WCS(fits.Header(SKY))
    x, y, dx, dy = (np.array(found[name]) for name in ("x", "y", "dx", "dy"))
    np.testing.assert_allclose(np.hypot(dx, dy), 1)
    # The position angle from a point to one a hundredth of a pixel on is that of the vector.
    here = wcs.pixel_to_world(x - 1, y - 1)
    there = wcs.pixel_to_world(x - 1 + 0.01 * dx, y - 1 + 0.01 * dy)
    turned = (here.position_angle(there).to_value(u.deg) - angle[keep] + 90) % 180 - 90
    np.testing.assert_allclose(turned, 0, atol=0.05)


def test_too_many_vectors_are_refused(client: TestClient) -> None:
    given = {"id": f"{folder_of(client)}/plain.fits"}
    assert client.get("/api/v1/vectors", params=given).status_code == 400
    given = {"id": f"{folder_of(client)}/cube.fits", "step": 10_001}
    assert client.get("/api/v1/vectors", params=given).status_code == 400
    given = {"id": f"{folder_of(client)}/cube.fits", "step": 10_000}
    assert client.get("/api/v1/vectors", params=given).json()["x"] == []
