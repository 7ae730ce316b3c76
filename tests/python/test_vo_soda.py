"""SODA: cutouts have the pixels of `Image.cut`; errors have the labels of the standard."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import astropy.units as u
import numpy as np
import pytest
from astropy.coordinates import FK4, SkyCoord
from astropy.io import fits
from astropy.wcs import WCS
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tachyfits as tf
import vocube
from realfiles import path_of
from tachyfits.server.app import create_app
from tachyfits.server.settings import Settings

pytestmark = pytest.mark.once

LABELS = (
    "Error", "AuthenticationError", "AuthorizationError", "ServiceUnavailable", "UsageError",
    "MultiValuedParamNotSupported",
)  # fmt: skip
REAL = {
    "ngc6946.fits": "CIRCLE 308.72 60.15 0.1",
    "dec_pol_freq_ra.fits": "CIRCLE 45.02 60.09 0.08",
    "ra_pol_freq_dec.fits": "POLYGON 44.8 60.0 45.2 60.0 45.1 60.2",
    "manyaxes.fits": "RANGE 29.9 30.1 44.9 45.1",
}
DATASET = "cube.fits"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("vo")
    paths = (vocube.write(folder / DATASET), path_of("data/cubes/ngc6946.fits").parent)
    with TestClient(create_app(Settings(paths=paths, cache_folder=folder / "cache"))) as client:
        yield client


def hdu(content: bytes) -> fits.PrimaryHDU:
    found = fits.open(io.BytesIO(content))
    found.verify("exception")
    return found[0]


def parts(client: TestClient, **asked: object) -> np.ndarray:
    answer = client.get("/vo/sync", params={"ID": DATASET, **asked})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/fits"
    assert int(answer.headers["content-length"]) == len(answer.content)
    return np.asarray(hdu(answer.content).data)


def assert_has(found: np.ndarray, section: object) -> None:
    np.testing.assert_array_equal(found, vocube.pixels()[section])


@pytest.mark.parametrize("name", REAL)
def test_cutout_has_the_pixels_and_the_places_of_the_original(
    client: TestClient, name: str
) -> None:
    path = path_of(f"data/cubes/{name}")
    answer = client.get("/vo/sync", params={"ID": f"cubes/{name}", "POS": REAL[name]})
    assert answer.status_code == 200, answer.text
    cut = tf.open(answer.content)[0]
    with tf.open(path) as file:
        image = file[0]
        begin = [int(n) - 1 for n in _section(cut)]
        section = tuple(slice(b, b + n) for b, n in zip(begin[::-1], cut.shape, strict=True))
        assert cut.shape != image.shape
        expected = image.cutout(section=section)
        assert cut.read(dtype="raw").tobytes() == expected.read(dtype="raw").tobytes()
        view = image
        if name != "ngc6946.fits":
            sky = image.coordinates.sky.axes
            order = [n for n in range(1, image.ndim + 1) if n not in sky]
            view = image.reorder("".join(str(n) for n in (*sky, *order)))
        assert sorted(view.cutout(REAL[name]).shape) == sorted(cut.shape)
        x, y = (n - 1 for n in image.coordinates.sky.axes)
        corners = np.array([[0, 0], [cut.shape[::-1][x] - 1, cut.shape[::-1][y] - 1]], dtype=float)
        np.testing.assert_allclose(
            cut.coordinates.sky.wcs.all_pix2world(corners, 0),
            image.coordinates.sky.wcs.all_pix2world(corners + np.array([begin[x], begin[y]]), 0),
            rtol=1e-12,
            atol=1e-12,
        )
        axis = image.channel_axis
        np.testing.assert_allclose(
            cut.world_axis(axis).values, image.world_axis(axis).values[section[axis]], rtol=1e-14
        )


def _section(cut: tf.Image) -> list[str]:
    """Return where the pixels of a cutout begin, as its HISTORY says."""
    history = "".join(
        str(card.value).ljust(72) for card in cut.header.cards if card.keyword == "HISTORY"
    )
    section = history.partition("tachyfits: pixels [")[2].partition("]")[0]
    return [part.partition(":")[0] for part in section.replace(" ", "").split(",")]


def test_shapes_select_the_pixels_whose_centres_are_inside(client: TestClient) -> None:
    y, x = np.mgrid[: vocube.SHAPE[2], : vocube.SHAPE[3]]
    places = WCS(vocube.header()).celestial.pixel_to_world(x, y)
    centre = SkyCoord(83.6, 22.05, unit="deg")
    inside = places.separation(centre) <= 0.06 * u.deg
    rows, columns = np.flatnonzero(inside.any(axis=1)), np.flatnonzero(inside.any(axis=0))
    box = np.s_[:, :, rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    for asked in (
        {"CIRCLE": "83.6 22.05 0.06"}, {"circle": "+83.6  22.05e0\t6e-2"},
        {"POS": "CIRCLE 443.6 22.05 .06"}, {"pos": "circle -276.4 22.05 0.06"},
    ):  # fmt: skip
        assert_has(parts(client, **asked), box)
    longitudes, latitudes = places.ra.deg, places.dec.deg
    inside = (abs(longitudes - 83.6) <= 0.05) & (abs(latitudes - 22.05) <= 0.04)
    rows, columns = np.flatnonzero(inside.any(axis=1)), np.flatnonzero(inside.any(axis=0))
    box = np.s_[:, :, rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    for asked in ("RANGE 83.55 83.65 22.01 22.09", "range 443.55 443.65 22.01 22.09"):
        assert_has(parts(client, POS=asked), box)
    assert_has(parts(client, POS="RANGE -Inf +Inf -Inf Inf"), np.s_[:])
    north = parts(client, POS="RANGE 83.55 83.65 22.05 +Inf")
    rows = np.flatnonzero((latitudes >= 22.05)[:, columns[0]])
    assert_has(north, np.s_[:, :, rows[0] :, columns[0] : columns[-1] + 1])


def test_range_crosses_the_meridian(tmp_path: Path) -> None:
    path = vocube.write(tmp_path / DATASET, CRVAL1=0.0)
    with TestClient(create_app(Settings(paths=(path,), cache_folder=tmp_path / "c"))) as client:
        across = parts(client, POS="RANGE 359.9 0.1 22.0 22.05")
        same = parts(client, POS="POLYGON 359.9 22.0 0.1 22.0 0.1 22.05 359.9 22.05")
        np.testing.assert_array_equal(across, same)
        asked = {"ID": DATASET, "POS": "RANGE 0.5 359.5 22.0 22.05"}
        assert client.get("/vo/sync", params=asked).status_code == 204


@pytest.mark.parametrize("vertices", [3, 4, 5])
def test_polygon_of_any_number_of_vertices_and_both_directions(
    client: TestClient, vertices: int
) -> None:
    angles = np.arange(vertices) * 2 * np.pi / vertices + 0.3
    points = np.column_stack([vocube.RA + 0.1 * np.cos(angles), vocube.DEC + 0.08 * np.sin(angles)])
    found = parts(client, POLYGON=" ".join(f"{number:.6f}" for number in points.ravel()))
    turned = parts(client, POLYGON=" ".join(f"{number:.6f}" for number in points[::-1].ravel()))
    np.testing.assert_array_equal(found, turned)
    assert 1 < found.shape[-1] < vocube.SHAPE[-1]


def barycentric_edges() -> list[float]:
    """Return the wavelengths at the borders of the channels for the barycentre.

    It moves with 20 km/s to 18h +30 deg (B1900) in LSRK, which is how that frame is defined.
    """
    hertz = vocube.FREQUENCY + (np.arange(vocube.SHAPE[1] + 1) - 0.5 - 19.0) * vocube.WIDTH
    apex = SkyCoord(270 * u.deg, 30 * u.deg, frame=FK4(equinox="B1900", obstime="B1900")).icrs
    towards = np.cos(apex.separation(SkyCoord(vocube.RA, vocube.DEC, unit="deg")).rad)
    beta = 20e3 / 299792458.0 * towards
    return (299792458.0 / (hertz * np.sqrt((1 + beta) / (1 - beta)))).tolist()


def test_band_is_converted_from_the_barycentre_to_the_frame_of_the_axis(client: TestClient) -> None:
    edges = barycentric_edges()
    middle = (edges[7] + edges[8]) / 2
    assert_has(parts(client, BAND=f"{middle!r} {middle!r}"), np.s_[:, 7:8])
    assert_has(parts(client, BAND=f"{middle!r}"), np.s_[:, 7:8])
    assert_has(parts(client, BAND=f"{(edges[9] + edges[10]) / 2!r} {middle!r}"), np.s_[:, 7:10])
    assert_has(parts(client, BAND=f"-Inf {middle!r}"), np.s_[:, 7:])
    assert_has(parts(client, BAND=f"{middle!r} +Inf"), np.s_[:, :8])
    assert_has(parts(client, BAND="-Inf Inf"), np.s_[:])
    # The frames differ by more than a channel: a cutout without the conversion is another one.
    assert abs(299792458.0 / edges[0] - (vocube.FREQUENCY - 19.5 * vocube.WIDTH)) > vocube.WIDTH / 2


@pytest.mark.parametrize("kind", ["VRAD", "VOPT", "WAVE"])
def test_band_selects_the_same_channels_of_velocities_and_wavelengths(
    client: TestClient, tmp_path: Path, kind: str
) -> None:
    light = 299792458.0
    hertz = vocube.FREQUENCY + (np.arange(vocube.SHAPE[1]) - 19.0) * vocube.WIDTH
    values = {
        "VRAD": light * (1 - hertz / vocube.FREQUENCY),
        "VOPT": light * (vocube.FREQUENCY / hertz - 1),
        "WAVE": light / hertz,
    }[kind]
    # Linear here: their channels are those of the frequencies to a small part of one.
    step = (values[20] - values[18]) / 2
    cards = {"CTYPE3": kind, "CUNIT3": "m" if kind == "WAVE" else "m/s", "CRVAL3": values[19],
             "CDELT3": step, "RESTFRQ": vocube.FREQUENCY}  # fmt: skip
    path = vocube.write(tmp_path / DATASET, **cards)
    edges = barycentric_edges()
    width = edges[20] - edges[21]
    band = f"{edges[23] + 0.2 * width!r} {edges[18] - 0.2 * width!r}"
    assert_has(parts(client, BAND=band), np.s_[:, 18:23])
    with TestClient(create_app(Settings(paths=(path,), cache_folder=tmp_path / "c"))) as other:
        np.testing.assert_array_equal(parts(other, BAND=band), parts(client, BAND=band))


def test_history_says_what_was_assumed(tmp_path: Path) -> None:
    plain = vocube.write(tmp_path / "plain.fits")
    unknown = vocube.write(tmp_path / "unknown.fits", SPECSYS=None)
    moving = vocube.write(tmp_path / "moving.fits", SPECSYS="TOPOCENT")
    paths = (plain, unknown, moving)
    middle = 299792458.0 / vocube.FREQUENCY
    with TestClient(create_app(Settings(paths=paths, cache_folder=tmp_path / "c"))) as client:

        def history(path: Path) -> str:
            asked = {"ID": path.name, "BAND": f"{middle} {middle}"}
            content = client.get("/vo/sync", params=asked).content
            return " ".join(hdu(content).header["HISTORY"])

        assert "barycentric) of the LSRK axis: frequencies x" in history(plain)
        assert "in the frame of the axis, not barycentric" in history(unknown)
        assert "names no frame (SPECSYS)" in history(unknown)
        assert "place of the observatory is not in the header" in history(moving)


def test_polarisations_are_one_filter(client: TestClient) -> None:
    assert_has(parts(client, POL=["I"]), np.s_[:1])
    assert_has(parts(client, POL=["U", "I"]), np.s_[::2])
    assert_has(parts(client, POL=["Q", "V", "XX", "POLI"]), np.s_[1:2])
    answer = client.get("/vo/sync", params={"ID": DATASET, "POL": ["V", "RR"]})
    assert (answer.status_code, answer.content) == (204, b"")


def test_filters_combine(client: TestClient) -> None:
    edges = barycentric_edges()
    width = edges[3] - edges[4]
    band = f"{edges[4] + 1e-3 * width!r} {edges[3] - 1e-3 * width!r}"
    found = parts(client, BAND=band, POL="Q", CIRCLE="83.63 22.01 0.001", TIME="60369 60371")
    assert found.shape == (1, 1, 1, 1)
    assert_has(found[0, 0], np.s_[1, 3, 14:15, 18:19])


def test_cutout_without_pixels_is_204(client: TestClient) -> None:
    for asked in (
        {"CIRCLE": "10 10 1"}, {"POS": "RANGE 1 2 3 4"}, {"POLYGON": "1 1 2 1 2 2"},
        {"BAND": "1 2"}, {"BAND": "-Inf 1e-7"}, {"TIME": "50000 50001"},
    ):  # fmt: skip
        answer = client.get("/vo/sync", params={"ID": DATASET, **asked})
        assert (answer.status_code, answer.content) == (204, b""), asked


def test_request_by_get_and_by_both_forms_is_the_same(client: TestClient) -> None:
    asked = {"Id": DATASET, "pos": "CIRCLE 83.63 22.01 0.05", "Pol": "I"}
    expected = client.get("/vo/sync", params=asked).content
    assert client.post("/vo/sync", data=asked).content == expected
    fields = {name: (None, value) for name, value in asked.items()}
    assert client.post("/vo/sync", files=fields).content == expected
    head = client.head("/vo/sync", params=asked)
    assert int(head.headers["content-length"]) == len(expected)


def test_request_without_filter_is_the_file(client: TestClient, tmp_path: Path) -> None:
    for name in (DATASET, f"ivo://tachyfits/files?{DATASET}", f"IVO://TachyFITS/files?{DATASET}"):
        answer = client.get("/vo/sync", params={"ID": name})
        np.testing.assert_array_equal(hdu(answer.content).data, vocube.pixels())


@pytest.mark.parametrize(
    ("asked", "status", "label"),
    [
        ({}, 400, "UsageError: ID is missing"),
        ({"ID": "nothing"}, 404, "UsageError: unknown ID 'nothing'"),
        ({"ID": "../cube.fits"}, 404, "UsageError: unknown ID"),
        ({"ID": "ivo://other/files?cube.fits"}, 404, "UsageError: unknown ID"),
        ({"ID": "cube.fits#4"}, 404, "UsageError: unknown ID"),
        ({"ID": [DATASET, DATASET]}, 400, "MultiValuedParamNotSupported: 2 values of ID"),
        ({"CIRCLE": ["1 2 3", "4 5 6"]}, 400, "MultiValuedParamNotSupported"),
        ({"CIRCLE": "1 2 3", "POS": "CIRCLE 1 2 3"}, 400, "MultiValuedParamNotSupported"),
        ({"BAND": ["1 2", "3 4"]}, 400, "MultiValuedParamNotSupported"),
        ({"TIME": ["1 2", "3 4"]}, 400, "MultiValuedParamNotSupported"),
        ({"CIRCLE": "1 2"}, 400, "UsageError"),
        ({"CIRCLE": "1 2 nan"}, 400, "UsageError"),
        ({"CIRCLE": "1 2 inf"}, 400, "UsageError"),
        ({"CIRCLE": "1 2 -3"}, 400, "UsageError"),
        ({"CIRCLE": "1 2 0"}, 400, "UsageError"),
        ({"CIRCLE": "1 95 1"}, 400, "UsageError"),
        ({"CIRCLE": "1_0 2 3"}, 400, "UsageError"),
        ({"POLYGON": "1 2 3 4"}, 400, "UsageError"),
        ({"POLYGON": "1 2 " * 1001}, 400, "UsageError: a polygon of 1001 vertices"),
        ({"POLYGON": f"{'1' * 60000} 2 3 4 5 6"}, 400, "UsageError: a shape of"),
        ({"BAND": "1" * 20000}, 400, "UsageError"),
        ({"POLYGON": "1 2 3 4 5 6 7"}, 400, "UsageError"),
        ({"POS": "BOX 1 2 3 4"}, 400, "UsageError: unsupported-xtype: BOX"),
        ({"POS": "RANGE 1 2 4 3"}, 400, "UsageError"),
        ({"POS": "RANGE 1 2 NaN 3"}, 400, "UsageError"),
        ({"POS": "CIRCLE"}, 400, "UsageError"),
        ({"BAND": "2 1"}, 400, "UsageError"),
        ({"BAND": "1 nan"}, 400, "UsageError"),
        ({"BAND": "1 2 3"}, 400, "UsageError"),
        ({"BAND": "230 GHz"}, 400, "UsageError"),
        ({"TIME": "2 1"}, 400, "UsageError"),
        ({"TIME": "2024-01-01"}, 400, "UsageError"),
        ({"POL": "i"}, 400, "UsageError: invalid POL 'i'"),
        ({"POL": "I Q"}, 400, "UsageError"),
        ({"RESPONSEFORMAT": "image/png"}, 400, "UsageError: invalid RESPONSEFORMAT"),
        ({"RUNID": "x" * 65}, 400, "UsageError: RUNID"),
        ({"ID": "cubes/ngc6946.fits", "POL": "I"}, 400, "UsageError"),
    ],
)
def test_malformed_request_has_the_label_of_the_standard(
    client: TestClient, asked: dict[str, object], status: int, label: str
) -> None:
    given = asked if "ID" in asked or not asked else {"ID": DATASET, **asked}
    for answer in (client.get("/vo/sync", params=given), client.post("/vo/sync", data=given)):
        assert answer.status_code == status, answer.text
        assert answer.text.startswith(label)
        assert len(answer.text) < 1000
        assert answer.headers["content-type"].startswith("text/plain")


def test_messages_do_not_show_paths(client: TestClient) -> None:
    answer = client.get("/vo/sync", params={"ID": "cubes/ngc6946.fits", "POL": "I"})
    assert "cubes/ngc6946.fits" in answer.text
    assert str(path_of("data/cubes/ngc6946.fits").parent) not in answer.text


NAMES = st.sampled_from(
    ["ID", "CIRCLE", "POLYGON", "POS", "BAND", "TIME", "POL", "RESPONSEFORMAT", "RUNID", "MAXREC"]
)
WORDS = st.one_of(
    st.text(max_size=30),
    st.sampled_from(
        [DATASET, "CIRCLE", "RANGE", "POLYGON", "I", "1", "-Inf", "nan", "1e999", "83.6"]
    ),
    st.floats().map(repr),
    st.integers(-(10**20), 10**20).map(str),
)
VALUES = st.lists(WORDS, max_size=9).map(" ".join)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(items=st.lists(st.tuples(NAMES, VALUES), max_size=6), known=st.booleans())
def test_garbage_is_answered_with_a_label(
    client: TestClient, items: list[tuple[str, str]], known: bool
) -> None:
    items = [*items, ("ID", DATASET)] if known else items
    answer = client.post("/vo/sync", data=_multi(items))
    if answer.status_code not in (200, 204):
        assert 400 <= answer.status_code < 500, answer.text
        assert answer.text.partition(":")[0] in LABELS


def _multi(items: list[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in items:
        found.setdefault(name, []).append(value)
    return found


FILE = b"""--x\r
Content-Disposition: form-data; name="ID"; filename="f"\r
\r
1\r
--x--\r
"""


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"garbage", "multipart/form-data; boundary=x"),
        (b"garbage", "multipart/form-data"),
        (b"\xff\xfe%%%=&&", "application/x-www-form-urlencoded"),
        (b"{}", "application/json"),
        (b"a=1&" * 2000, "application/x-www-form-urlencoded"),
        (b"a=" + b"1" * (1 << 21), "application/x-www-form-urlencoded"),
        (FILE, "multipart/form-data; boundary=x"),
    ],
)
def test_damaged_form_is_answered_with_a_label(
    client: TestClient, content: bytes, kind: str
) -> None:
    answer = client.post("/vo/sync", content=content, headers={"Content-Type": kind})
    assert answer.status_code == (413 if len(content) > 1 << 20 else 400)
    assert answer.text.startswith("UsageError: ")


def test_refused_client_gets_a_label(tmp_path: Path) -> None:
    path = vocube.write(tmp_path / DATASET)
    guarded = Settings(paths=(path,), cache_folder=tmp_path / "c", token="secret", client_rate=0.01)
    with TestClient(create_app(guarded)) as client:
        answer = client.get("/vo/sync", params={"ID": DATASET})
        assert (answer.status_code, answer.text[:20]) == (401, "AuthenticationError:")
        headers = {"Authorization": "Bearer secret"}
        for _ in range(5):
            answer = client.get("/vo/sync", params={"ID": DATASET}, headers=headers)
        assert (answer.status_code, answer.text[:19]) == (429, "ServiceUnavailable:")
        assert int(answer.headers["retry-after"]) > 0
        # In a link: a page of another site cannot send the header.
        foreign = client.get(
            "/vo/sync", params={"token": "secret"}, headers={"Sec-Fetch-Site": "cross-site"}
        )
        assert (foreign.status_code, foreign.text[:19]) == (403, "AuthorizationError:")


def test_jobs_of_other_users_are_not_shown(tmp_path: Path) -> None:
    path = vocube.write(tmp_path / DATASET)
    proxied = Settings(
        paths=(path,), cache_folder=tmp_path / "c", user_header="X-User", proxies=("testclient",)
    )
    with TestClient(create_app(proxied)) as client:
        own, other = {"X-User": "ann"}, {"X-User": "bob"}
        created = client.post(
            "/vo/async", data={"ID": DATASET}, headers=own, follow_redirects=False
        )
        job = created.headers["location"]
        assert client.get(f"{job}/owner", headers=own).text == "ann"
        for part in ("", "/phase", "/parameters", "/results/cutout-1"):
            assert client.get(f"{job}{part}", headers=other).status_code == 404
        assert client.delete(job, headers=other).status_code == 404
        listed = [
            client.get("/vo/async", headers=who).text.count("jobref ") for who in (own, other)
        ]
        assert listed == [1, 0]
