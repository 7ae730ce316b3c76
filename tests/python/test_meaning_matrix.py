"""Every way to ask where pixels are agrees with astropy, for every kind of header.

The rows are in `meaningmatrix.py`. Pixels are numbered in file order, or read from the real file,
so that a cutout shows which pixels of the original it has.
"""

from __future__ import annotations

import functools
import io
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import astropy.units as u
import numpy as np
import pytest
from astropy.coordinates import BarycentricMeanEcliptic, SkyCoord, Supergalactic
from astropy.coordinates.errors import ConvertError
from astropy.io import fits
from astropy.wcs import WCS
from astropy.wcs.utils import wcs_to_celestial_frame
from fastapi.testclient import TestClient
from numpy.typing import NDArray

import tachyfits as tf
from meaningmatrix import ROWS, Row
from tachyfits.server.app import create_app
from tachyfits.server.settings import Settings

pytestmark = pytest.mark.once

#: Agreement of positions in parts of a pixel, and of spectral coordinates in parts of a channel.
_PART_OF_A_PIXEL = 1e-5

#: Units of files in the spelling of astropy.
SPELLINGS = {"JY/BEAM": "Jy/beam"}

Floats = NDArray[np.float64]


def wcs_of(hdus: fits.HDUList, number: int, unread: tuple[str, ...]) -> WCS:
    """Return the coordinates of an image by astropy, without cards that it misreads."""
    header = hdus[number].header.copy()
    for keyword in unread:
        header.remove(keyword, ignore_missing=True)
    wcs = WCS(header, hdus)
    wcs.wcs.set()
    return wcs


@dataclass(frozen=True)
class Truth:
    """The world coordinates of an image by astropy and WCSLIB."""

    path: Path
    hdu: int
    unread: tuple[str, ...] = ()

    @cached_property
    def header(self) -> fits.Header:
        return fits.getheader(self.path, self.hdu)

    @cached_property
    def data(self) -> NDArray[Any]:
        data = fits.getdata(self.path, self.hdu)
        return np.asarray(data)

    @cached_property
    def wcs(self) -> WCS:
        with fits.open(self.path) as hdus:
            return wcs_of(hdus, self.hdu, self.unread)

    @property
    def sky_axes(self) -> tuple[int, int] | None:
        """FITS axes of longitude and latitude, from 1, within the image."""
        lng, lat = self.wcs.wcs.lng + 1, self.wcs.wcs.lat + 1
        return (lng, lat) if min(lng, lat) > 0 and max(lng, lat) <= self.data.ndim else None

    @property
    def spectral_axis(self) -> int | None:
        """FITS axis of the spectral coordinate, from 1, also beyond NAXIS."""
        number = self.wcs.wcs.spec + 1
        return number or None

    @cached_property
    def pixels(self) -> Floats:
        """Some pixels, shape (n, NAXIS), FITS order and counted from 0."""
        random = np.random.default_rng(7)
        lengths = np.array(self.data.shape[::-1])
        points = random.integers(0, lengths, size=(9, len(lengths))).astype(float)
        return np.vstack([np.zeros(len(lengths)), lengths - 1.0, points])

    def world(self, pixels: Floats) -> Floats:
        """Return world coordinates in the units of WCSLIB, all axes."""
        return np.asarray(self.wcs.all_pix2world(self._all_axes(pixels), 0))

    def sky(self, pixels: Floats) -> Floats:
        """Return longitudes and latitudes, degrees, shape (n, 2)."""
        assert self.sky_axes is not None
        world = self.world(pixels)
        factors = [u.Unit(self.wcs.wcs.cunit[n - 1]).to(u.deg) for n in self.sky_axes]
        return np.column_stack(
            [world[:, n - 1] * f for n, f in zip(self.sky_axes, factors, strict=True)]
        )

    def is_invertible(self, pixels: Floats) -> NDArray[np.bool_]:
        """Say of each pixel whether WCSLIB gives it back: not so in CSC, nor beyond the sky."""
        world = self.wcs.wcs_pix2world(self._all_axes(pixels), 0)
        again = self.wcs.wcs_world2pix(world, 0)[:, : pixels.shape[1]]
        return np.asarray((np.abs(again - pixels) < 1e-6).all(axis=1))

    def _all_axes(self, pixels: Floats) -> Floats:
        missing = self.wcs.naxis - pixels.shape[1]
        return np.hstack([pixels, np.zeros((len(pixels), missing))])

    @property
    def scale(self) -> float:
        """Degrees from one pixel to the next, about."""
        matrix = self.wcs.celestial.pixel_scale_matrix
        unit = u.Unit(self.wcs.celestial.wcs.cunit[0]).to(u.deg)
        return float(math.sqrt(abs(np.linalg.det(matrix)))) * unit

    def spectral(self, pixels: Floats) -> u.Quantity:
        """Return spectral coordinates."""
        assert self.spectral_axis is not None
        world = self.world(pixels)[:, self.spectral_axis - 1]
        return u.Quantity(world, self.wcs.wcs.cunit[self.spectral_axis - 1])


def separation(one: Floats, other: Floats) -> Floats:
    """Return the angles between positions in degrees; NaN where one of them is."""
    a, b = (SkyCoord(*np.asarray(part).T, unit="deg") for part in (one, other))
    return np.asarray(a.separation(b).deg)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@functools.cache
def _folder() -> Path:
    import atexit
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="tachyfits-matrix-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@functools.cache
def _truth_of(name: str) -> Truth:
    row = next(row for row in ROWS if row.name == name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        truth = Truth(row.write(_folder()), row.hdu, row.unread)
        _ = truth.wcs, truth.data
    return truth


@pytest.fixture(params=ROWS, ids=lambda row: row.name)
def row(request: pytest.FixtureRequest) -> Row:
    row: Row = request.param
    check = request.node.originalname.removeprefix("test_")
    if check in row.differences:
        request.node.add_marker(pytest.mark.xfail(reason=row.differences[check], strict=True))
    return row


@pytest.fixture
def truth(row: Row) -> Truth:
    return _truth_of(row.name)


@pytest.fixture
def image(truth: Truth) -> tf.Image:
    image = tf.open(truth.path)[truth.hdu]
    assert isinstance(image, tf.Image)
    return image


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for row in ROWS:
            _truth_of(row.name)
        settings = Settings(paths=(_folder(),), cache_folder=_folder() / "cache")
        with TestClient(create_app(settings)) as client:
            yield client


def need_sky(truth: Truth) -> tuple[int, int]:
    if truth.sky_axes is None:
        pytest.skip("the image has no sky")
    return truth.sky_axes


def plane_only(truth: Truth) -> bool:
    """Say whether NAXIS1 and NAXIS2 are the sky."""
    return truth.sky_axes is not None and set(truth.sky_axes) == {1, 2}


def degrees(position: Any) -> Floats:
    """Return longitude and latitude of a position in degrees, shape (n, 2)."""
    spherical = position.spherical
    return np.column_stack([np.ravel(spherical.lon.deg), np.ravel(spherical.lat.deg)])


def parts_of(places: Any, truth: Truth) -> tuple[Any, Any]:
    """Divide what `coordinates` returned into the position and the spectral coordinate."""
    if isinstance(places, tuple):
        return places
    return (places, None) if truth.sky_axes is not None else (None, places)


def in_file_spectral(truth: Truth) -> bool:
    return truth.spectral_axis is not None and truth.spectral_axis <= truth.data.ndim


def assert_same_sky(found: Floats, expected: Floats, truth: Truth) -> None:
    defined = np.isfinite(expected).all(axis=1)
    np.testing.assert_array_equal(np.isfinite(found).all(axis=1), defined)
    apart = separation(found[defined], expected[defined])
    assert (apart < _PART_OF_A_PIXEL * truth.scale).all(), apart.max() / truth.scale


def assert_same_spectral(found: u.Quantity, truth: Truth, pixels: Floats) -> None:
    expected = truth.spectral(pixels)
    found = u.Quantity(found)
    if found.unit == u.dimensionless_unscaled and expected.unit == u.dimensionless_unscaled:
        values = found.value
    else:
        values = found.to_value(expected.unit)
    steps = np.ones((1, pixels.shape[1]))
    channel = np.ptp(truth.spectral(np.vstack([0 * steps, steps])).value)
    assert channel > 0
    np.testing.assert_allclose(values, expected.value, rtol=1e-12, atol=1e-6 * channel)


def test_places_of_pixels(image: tf.Image, truth: Truth) -> None:
    if truth.sky_axes is None and not in_file_spectral(truth):
        with pytest.raises(tf.UsageError):
            image.coordinates.pixel_to_world(*truth.pixels[0])
        return
    position, spectral = parts_of(image.coordinates.pixel_to_world(*truth.pixels.T), truth)
    if truth.sky_axes is not None:
        assert_same_sky(degrees(position), truth.sky(truth.pixels), truth)
    if in_file_spectral(truth):
        assert_same_spectral(spectral, truth, truth.pixels)


def test_pixels_of_places(image: tf.Image, truth: Truth) -> None:
    axes = need_sky(truth)
    pixels = truth.pixels[truth.is_invertible(truth.pixels)]
    if not len(pixels):
        pytest.skip("WCSLIB does not invert the projection")
    position, spectral = parts_of(image.coordinates.pixel_to_world(*pixels.T), truth)
    found = image.coordinates.world_to_pixel(position, spectral)
    for axis in range(1, truth.data.ndim + 1):
        if axis in axes or (spectral is not None and axis == truth.spectral_axis):
            np.testing.assert_allclose(found[axis - 1], pixels[:, axis - 1], rtol=0, atol=1e-4)
        else:
            assert np.isnan(found[axis - 1]).all()


def frame_of(truth: Truth) -> Any:
    """Return the frame of the sky; astropy takes ecliptic and supergalactic axes for ICRS."""
    name = truth.wcs.wcs.ctype[truth.wcs.wcs.lng][:4]
    special = {"ELON": BarycentricMeanEcliptic(equinox="J2000"), "SLON": Supergalactic()}
    if name in special:
        return special[name]
    try:
        return wcs_to_celestial_frame(truth.wcs)
    except ValueError:
        pytest.skip("astropy has no class for the frame")


@dataclass(frozen=True)
class Circle:
    """A circle about the middle of a plane: ICRS degrees, and which pixels it has."""

    longitude: float
    latitude: float
    radius: float
    inside: NDArray[np.bool_]


def circle_of(truth: Truth) -> Circle:
    """Return a circle whose pixels are those with a small enough separation."""
    if truth.sky_axes is None or set(truth.sky_axes) != {1, 2}:
        pytest.skip("the planes of the image are not the sky")
    frame = frame_of(truth)
    height, width = truth.data.shape[-2:]
    y, x = np.mgrid[:height, :width]
    pixels = np.zeros((x.size, truth.data.ndim))
    pixels[:, 0], pixels[:, 1] = x.ravel(), y.ravel()
    sky = SkyCoord(*truth.sky(pixels).T, unit="deg", frame=frame)
    centre = sky[(height // 2) * width + width // 2]
    if not np.isfinite(centre.spherical.lon.deg):
        pytest.skip("the middle of the image is not on the sky")
    try:
        icrs = centre.icrs
    except ConvertError:
        pytest.skip("the frame of the header has no way to ICRS")
    radius = 3.3 * truth.scale
    inside = (sky.separation(centre).deg <= radius).reshape(height, width)
    return Circle(float(icrs.ra.deg), float(icrs.dec.deg), float(radius), inside)


def test_pixels_of_a_region(image: tf.Image, truth: Truth) -> None:
    circle = circle_of(truth)
    text = f"icrs; circle({circle.longitude!r}, {circle.latitude!r}, {circle.radius!r}d)"
    np.testing.assert_array_equal(image.region_mask(text), circle.inside)


def _section(truth: Truth) -> tuple[slice, ...]:
    """Return a part of the image that leaves out pixels at each end, NumPy order."""
    return tuple(slice(min(2, n - 1), max(n - 1, min(2, n - 1) + 1)) for n in truth.data.shape)


def assert_same_places(path_or_bytes: Any, truth: Truth, section: tuple[slice, ...]) -> None:
    """Compare what astropy reads of a file with the places of these pixels of the original."""
    source = io.BytesIO(path_or_bytes) if isinstance(path_or_bytes, bytes) else path_or_bytes
    with fits.open(source) as hdus:
        number = next(n for n, hdu in enumerate(hdus) if hdu.is_image and hdu.data is not None)
        wcs = wcs_of(hdus, number, truth.unread)
        shape = hdus[number].data.shape
        data = np.asarray(hdus[number].data)
    np.testing.assert_array_equal(data.reshape(truth.data[section].shape), truth.data[section])
    offsets = np.array([part.start for part in section][::-1], dtype=float)
    counts = np.array([part.stop - part.start for part in section][::-1])
    pixels = np.vstack([0 * counts, counts - 1, counts // 2]).astype(float)
    padded = np.hstack([pixels, np.zeros((3, max(0, wcs.naxis - pixels.shape[1])))])
    found = wcs.all_pix2world(padded[:, : wcs.naxis], 0)
    expected = truth.world(pixels + offsets)
    assert len(shape) <= max(wcs.naxis, 1)
    for axis in range(min(found.shape[1], expected.shape[1])):
        unit, other = wcs.wcs.cunit[axis], truth.wcs.wcs.cunit[axis]
        values = found[:, axis] * (unit.to(other) if unit != other else 1)
        step = abs(float(truth.wcs.pixel_scale_matrix[axis].sum())) or 1.0
        np.testing.assert_allclose(
            values, expected[:, axis], rtol=1e-11, atol=1e-5 * step, err_msg=f"axis {axis + 1}"
        )
    if truth.sky_axes is not None:
        assert wcs.wcs.radesys == truth.wcs.wcs.radesys
        assert wcs.celestial.wcs.ctype[0][:4] == truth.wcs.celestial.wcs.ctype[0][:4]


def test_places_in_a_cutout(image: tf.Image, truth: Truth, tmp_path: Path) -> None:
    section = _section(truth)
    path = tmp_path / "cut.fits"
    image.cutout(section=section).write(path)
    assert_same_places(path, truth, section)


def test_places_in_a_copy(image: tf.Image, truth: Truth, tmp_path: Path) -> None:
    path = tmp_path / "copy.fits"
    tf.write(path, image)
    assert_same_places(path, truth, tuple(slice(0, n) for n in truth.data.shape))


def test_places_in_a_compressed_copy(image: tf.Image, truth: Truth, tmp_path: Path) -> None:
    path = tmp_path / "copy.fits"
    tf.write(path, image, compress="gzip")
    found = next(hdu for hdu in tf.open(path) if isinstance(hdu, tf.Image) and hdu.size)
    one, other = (
        (parts_of(at.coordinates.pixel_to_world(*truth.pixels.T), truth) for at in (found, image))
        if (truth.sky_axes is not None or in_file_spectral(truth))
        else ((None, None), (None, None))
    )
    if truth.sky_axes is not None:
        assert_same_sky(degrees(one[0]), degrees(other[0]), truth)
    if in_file_spectral(truth):
        np.testing.assert_array_equal(one[1].value, other[1].value)


def _spectral_pixels(truth: Truth) -> Floats:
    axis = truth.spectral_axis
    assert axis is not None
    pixels = np.zeros((truth.data.shape[-axis], truth.data.ndim))
    pixels[:, axis - 1] = np.arange(len(pixels))
    return pixels


def one_of_each(truth: Truth) -> tuple[slice | int, ...] | None:
    """Return the first pixel of each axis that is neither spectral nor of the sky."""
    kept = {truth.spectral_axis, *(truth.sky_axes or ())}
    if truth.sky_axes is None or truth.data.ndim < 3:
        return None
    axes = range(truth.data.ndim, 0, -1)
    return tuple(slice(None) if axis in kept else 0 for axis in axes)


def test_axis_of_a_spectrum(image: tf.Image, truth: Truth) -> None:
    if not in_file_spectral(truth):
        pytest.skip("the image has no spectral axis")
    axis = image.select(section=one_of_each(truth)).spectrum().axis
    assert_same_spectral(u.Quantity(axis.values, axis.unit or ""), truth, _spectral_pixels(truth))


def test_kelvin_of_a_plane(image: tf.Image, truth: Truth) -> None:
    header = truth.header
    unit = str(header.get("BUNIT", "")).lower()
    if truth.spectral_axis is None or unit != "jy/beam" or "BMAJ" not in header:
        pytest.skip("the image has no brightness per beam with a spectral coordinate")
    at = np.zeros((1, truth.data.ndim))
    value = truth.spectral(at)[0]
    rest = u.Quantity(header.get("RESTFRQ") or header.get("RESTFREQ") or np.nan, "Hz")
    if value.unit.is_equivalent("Hz"):
        frequency = value.to("Hz")
    elif value.unit.is_equivalent("m"):
        frequency = value.to("Hz", u.spectral())
    else:
        kind = truth.wcs.wcs.ctype[truth.spectral_axis - 1][:4]
        rule = {"VRAD": u.doppler_radio, "VOPT": u.doppler_optical, "VELO": u.doppler_relativistic}
        frequency = value.to("Hz", rule[kind](rest))
    area = math.pi / (4 * math.log(2)) * header["BMAJ"] * header["BMIN"] * u.deg**2
    expected = (1 * u.Jy).to_value("K", u.brightness_temperature(frequency, area))
    first = (0,) * (truth.data.ndim - 2)
    values = truth.data[first].astype(float) * expected
    np.testing.assert_allclose(image.to("K")[first], values, rtol=1e-6)
    np.testing.assert_allclose(image.plane(first).to("K").values, values, rtol=1e-6)


def test_unit_of_a_moment(image: tf.Image, truth: Truth) -> None:
    if not in_file_spectral(truth) or len(truth.data.shape) < 3:
        pytest.skip("the image has no cube of channels")
    if truth.data.shape[-(truth.spectral_axis or 0)] < 2:
        pytest.skip("the image has one channel")
    spectral = u.Unit(truth.wcs.wcs.cunit[(truth.spectral_axis or 0) - 1])
    cube = image.cutout(section=one_of_each(truth))
    assert u.Unit(cube.moment(1).unit or "").is_equivalent(spectral)
    text = str(truth.header.get("BUNIT", "")).strip()
    found = cube.moment(0).unit
    if not text:
        # The number of such a unit would be as unknown as that of the pixels.
        assert found is None or u.Unit(found).is_equivalent(spectral)
        return
    expected = u.Unit(SPELLINGS.get(text, text)) * spectral
    assert found is not None
    assert u.Unit(SPELLINGS.get(found, found)).is_equivalent(expected)


def test_coordinates_in_xarray(image: tf.Image, truth: Truth) -> None:
    pytest.importorskip("xarray", reason="COMPARISONS LEFT OUT: xarray")
    array = image.to_xarray()
    assert array.shape == image.shape
    if not in_file_spectral(truth):
        return
    number = truth.data.ndim - (truth.spectral_axis or 0)
    coordinate = array.coords[array.dims[number]]
    unit = coordinate.attrs.get("units", "")
    assert_same_spectral(u.Quantity(coordinate.values, unit), truth, _spectral_pixels(truth))


def test_axis_in_spectral_cube(image: tf.Image, truth: Truth) -> None:
    pytest.importorskip("spectral_cube", reason="COMPARISONS LEFT OUT: spectral_cube")
    if not in_file_spectral(truth) or truth.sky_axes is None or truth.data.ndim != 3:
        pytest.skip("spectral-cube reads cubes of three axes")
    cube = image.to_spectral_cube()
    spectral = cube.spectral_axis
    assert_same_spectral(spectral, truth, _spectral_pixels(truth))
    lat, lon = cube.spatial_coordinate_map
    height, width = lat.shape
    corners = np.array([[0, 0, 0], [width - 1, height - 1, 0]], dtype=float)
    found = np.column_stack([lon[[0, -1], [0, -1]].to_value("deg"),
                             lat[[0, -1], [0, -1]].to_value("deg")])  # fmt: skip
    if truth.sky_axes == (1, 2):
        assert_same_sky(found, truth.sky(corners), truth)


def id_of(truth: Truth) -> str:
    """Return the ID of the file where its folder is served."""
    return f"{truth.path.parent.name}/{truth.path.name}"


def test_places_in_a_soda_cutout(client: TestClient, truth: Truth) -> None:
    circle = circle_of(truth)
    position = f"CIRCLE {circle.longitude!r} {circle.latitude!r} {circle.radius!r}"
    answer = client.get("/vo/sync", params={"ID": id_of(truth), "POS": position})
    assert answer.status_code == 200, answer.text
    ys, xs = np.nonzero(circle.inside)
    plane = slice(ys.min(), ys.max() + 1), slice(xs.min(), xs.max() + 1)
    section = (*(slice(0, n) for n in truth.data.shape[:-2]), *plane)
    assert_same_places(answer.content, truth, section)


def test_place_on_the_page(client: TestClient, truth: Truth) -> None:
    if not plane_only(truth):
        pytest.skip("the planes of the image are not the sky")
    height, width = truth.data.shape[-2:]
    x, y = width // 2, height // 2
    answer = client.get(
        "/api/v1/pixel",
        params={"id": id_of(truth), "hdu": truth.hdu, "x": x + 1, "y": y + 1},
    )
    assert answer.status_code == 200, answer.text
    pixels = np.zeros((1, truth.data.ndim))
    pixels[0, :2] = x, y
    expected = truth.sky(pixels)
    sky = answer.json().get("sky")
    if not np.isfinite(expected).all():
        assert sky is None
        return
    found = np.array([[sky["longitude"], sky["latitude"]]], dtype=float)
    assert_same_sky(found, expected, truth)
    if in_file_spectral(truth) and truth.spectral_axis == 3:
        spectral = answer.json()["spectral"]
        assert_same_spectral(u.Quantity([spectral["value"]], spectral["unit"] or ""), truth, pixels)
