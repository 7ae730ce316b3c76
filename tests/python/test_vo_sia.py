"""Discovery by SIA 2.0, and links of DataLink: which datasets are found, and their metadata."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import astropy.units as u
import numpy as np
import pytest
from astropy.coordinates import SkyCoord
from astropy.io import fits
from astropy.io.votable import parse
from astropy.wcs import WCS
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import tachyfits as tf
import vocube
from tachyfits.server.app import create_app
from tachyfits.server.settings import Settings
from tachyfits.server.view import View
from tachyfits.server.vo.observation import observation_of

pytestmark = pytest.mark.once

#: Centres of the images of a folder, and their orientation on the sky.
PLACES = {
    "east.fits": (83.9, 22.0, 0.0), "west.fits": (83.2, 22.1, 30.0),
    "pole.fits": (120.0, 89.9, 0.0), "meridian.fits": (0.0, -5.0, 200.0),
    "south.fits": (359.7, -5.1, 0.0),
}  # fmt: skip


def plane(path: Path, longitude: float, latitude: float, angle: float) -> None:
    """Write an image of 40 x 30 pixels of 0.01 degrees, turned by an angle."""
    made = fits.Header()
    for number, (ctype, value, pixel) in enumerate(
        (("RA---TAN", longitude, 20.5), ("DEC--TAN", latitude, 15.5)), 1
    ):
        made[f"CTYPE{number}"], made[f"CRVAL{number}"] = ctype, value
        made[f"CRPIX{number}"], made[f"CUNIT{number}"] = pixel, "deg"
    turn = np.radians(angle)
    made["CD1_1"], made["CD1_2"] = -0.01 * np.cos(turn), 0.01 * np.sin(turn)
    made["CD2_1"], made["CD2_2"] = 0.01 * np.sin(turn), 0.01 * np.cos(turn)
    made["DATE-OBS"], made["RADESYS"] = "2020-01-01", "ICRS"
    fits.PrimaryHDU(np.zeros((30, 40), np.float32), made).writeto(path)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("sia") / "archive"
    (made / "deep" / "deeper").mkdir(parents=True)
    vocube.write(made / "cube.fits")
    vocube.write(made / "deep" / "a b#1&<é>.fits", SPECSYS=None, OBJECT="M 31")
    for name, place in PLACES.items():
        plane(made / "deep" / "deeper" / name, *place)
    (made / "broken.fits").write_bytes(b"SIMPLE  = nonsense")
    (made / "deep" / "again").symlink_to(made)
    fits.HDUList([fits.PrimaryHDU()]).writeto(made / "empty.fits")
    return made


@pytest.fixture(scope="module")
def client(folder: Path) -> Iterator[TestClient]:
    chosen = Settings(
        paths=(folder,), cache_folder=folder.parent / "cache", authority="example.org"
    )
    with TestClient(create_app(chosen)) as client:
        yield client


def table(client: TestClient, *asked: tuple[str, str]) -> Any:
    answer = client.post("/vo/sia", data=_multi(asked))
    assert answer.status_code == 200, answer.text
    return parse(io.BytesIO(answer.content), verify="exception").get_first_table().to_table()


def names(client: TestClient, *asked: tuple[str, str]) -> set[str]:
    return {str(name).rpartition("/")[2] for name in table(client, *asked)["obs_id"]}


def _multi(items: Any) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in items:
        found.setdefault(name, []).append(value)
    return found


CUBES = {"cube.fits", "a b#1&<é>.fits"}


def test_every_image_below_the_folder_is_listed_once(client: TestClient) -> None:
    found = table(client)
    assert len(found) == len(CUBES | set(PLACES))
    assert names(client) == CUBES | set(PLACES)
    row = found[[str(name) for name in found["obs_id"]].index("archive/cube.fits")]
    assert row["obs_publisher_did"] == "ivo://example.org/files?archive/cube.fits"
    assert (row["dataproduct_type"], row["calib_level"]) == ("cube", 2)
    assert (row["obs_collection"], row["target_name"]) == ("archive", "M 1")
    assert row["pol_states"] == "/I/Q/U/"
    assert abs(row["s_ra"] - vocube.RA) < 0.01
    assert row["t_min"] == 60370.0
    assert abs(row["t_max"] - 60370.1) < 1e-9
    assert row["s_resolution"] == pytest.approx(72.0)


@pytest.mark.parametrize(
    ("cards", "times"),
    [
        ({}, (60370.0, 60370.1)),
        ({"TIMESYS": "TAI"}, (60370.0 - 37 / 86400, 60370.1 - 37 / 86400)),
        ({"DATE-OBS": None, "MJD-OBS": 60370.0, "TIMESYS": "TDT"},
         (60370.0 - 69.184 / 86400, 60370.1 - 69.184 / 86400)),
        ({"DATE-OBS": None, "MJD-AVG": 60370.05}, (60370.0, 60370.1)),
        ({"DATE-OBS": "18/06/99", "MJD-END": 51348.0}, (51347.0, 51348.0)),
        ({"TIMESYS": "LOCAL"}, (None, None)), ({"DATE-OBS": "yesterday"}, (None, None)),
    ],
)  # fmt: skip
def test_times_are_those_of_utc(tmp_path: Path, cards: Any, times: Any) -> None:
    vocube.write(tmp_path / "cube.fits", **cards)
    with TestClient(create_app(Settings(paths=(tmp_path,)))) as client:
        (row,) = table(client)
    for name, expected in zip(("t_min", "t_max"), times, strict=True):
        if expected is None:
            assert np.ma.is_masked(row[name])
        else:
            assert row[name] == pytest.approx(expected, rel=0, abs=1e-8)


@pytest.mark.parametrize(
    ("unit", "ucd"),
    [
        ("Jy/beam", "phot.flux.density"), ("JANSKY/BEAM", "phot.flux.density"),
        ("nJy", "phot.flux.density"), ("MJY/SR", "phot.flux.density"),
        ("JY/BEAM.KM/S", "phot.flux.density"), ("10**-20 erg/s/cm**2", "phot.flux.density"),
        ("erg/s/cm2/A", "phot.flux.density"), ("W m-2 sr-1", "phot.flux.density"),
        ("KELVIN", "phys.temperature"), ("uK", "phys.temperature"),
        ("K (Tmb)", "phys.temperature"), ("K km/s", ""), ("erg", ""), ("count", ""),
        ("furlong", ""), (" ", ""),
    ],
)  # fmt: skip
def test_what_pixels_are_follows_from_their_unit(tmp_path: Path, unit: str, ucd: str) -> None:
    vocube.write(tmp_path / "cube.fits", BUNIT=unit)
    with TestClient(create_app(Settings(paths=(tmp_path,)))) as client:
        (row,) = table(client)
    assert str(row["o_ucd"] or "") == ucd


def test_region_has_the_corners_of_the_image_counter_clockwise(client: TestClient) -> None:
    found = table(client)
    for row in found:
        numbers = np.array(str(row["s_region"]).removeprefix("POLYGON ICRS ").split(), float)
        corners = SkyCoord(numbers[::2], numbers[1::2], unit="deg")
        centre = SkyCoord(row["s_ra"], row["s_dec"], unit="deg")
        assert centre.separation(corners).deg.max() <= row["s_fov"] / 2 + 1e-7
        angles = np.unwrap(centre.position_angle(corners).rad)
        assert (np.diff(angles) > 0).all()


SPOTS = st.tuples(
    st.sampled_from([*PLACES.values(), (vocube.RA, vocube.DEC, 0.0)]),
    st.floats(-0.6, 0.6), st.floats(-0.6, 0.6), st.sampled_from([0.02, 0.05, 0.2, 0.5, 3.0]),
)  # fmt: skip


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spot=SPOTS)
def test_circle_finds_the_images_with_a_pixel_in_it(
    client: TestClient, folder: Path, spot: Any
) -> None:
    (longitude, latitude, _), east, north, radius = spot
    latitude = float(np.clip(latitude + north, -90, 90))
    longitude = float((longitude + east / max(0.01, np.cos(np.radians(latitude)))) % 360)
    centre = SkyCoord(longitude, latitude, unit="deg")
    expected = set()
    for path in folder.rglob("*.fits"):
        if path.name in CUBES | set(PLACES) and "again" not in path.parts:
            header = fits.getheader(path)
            y, x = np.mgrid[: header["NAXIS2"], : header["NAXIS1"]]
            distance = WCS(header).celestial.pixel_to_world(x, y).separation(centre)
            if (distance <= radius * u.deg).any():
                expected.add(path.name)
    assert names(client, ("POS", f"CIRCLE {longitude!r} {latitude!r} {radius}")) == expected


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(spot=SPOTS, height=st.sampled_from([0.03, 0.3, 2.0]))
def test_range_finds_the_images_with_a_pixel_in_it(
    client: TestClient, folder: Path, spot: Any, height: float
) -> None:
    (longitude, latitude, _), east, north, width = spot
    low = float(np.clip(latitude + north, -90, 90 - height))
    west = (longitude + 3 * east - width) % 360
    asked = f"RANGE {west!r} {(west + 2 * width) % 360!r} {low!r} {low + height!r}"
    expected = set()
    for path in folder.rglob("*.fits"):
        if path.name in CUBES | set(PLACES) and "again" not in path.parts:
            header = fits.getheader(path)
            y, x = np.mgrid[: header["NAXIS2"], : header["NAXIS1"]]
            places = WCS(header).celestial.pixel_to_world(x, y)
            inside = (places.ra.deg - west) % 360 <= (2 * width) % 360
            inside &= (places.dec.deg >= low) & (places.dec.deg <= low + height)
            if inside.any():
                expected.add(path.name)
    found = names(client, ("POS", asked))
    # A range smaller than a pixel selects the one that it lies in, without a centre inside.
    assert expected <= found
    if min(height, width * np.cos(np.radians(low))) > 0.02:
        assert found == expected


def test_other_shapes_find_images(client: TestClient) -> None:
    assert names(client, ("POS", "RANGE 359 1 -6 -4")) == {"meridian.fits", "south.fits"}
    assert names(client, ("POS", "RANGE 0 360 89 +Inf")) == {"pole.fits"}
    assert names(client, ("POS", "RANGE -Inf +Inf -Inf +Inf")) == CUBES | set(PLACES)
    triangle = "POLYGON 83.9 21.9 84.1 21.9 84.0 22.1"
    assert names(client, ("POS", triangle)) == {"east.fits"}
    assert names(client, ("POS", triangle), ("POS", "CIRCLE 10 89.95 0.1")) == {
        "east.fits", "pole.fits",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ([("BAND", "0.21 0.212")], CUBES), ([("BAND", "0.2111")], CUBES),
        ([("BAND", "-Inf 0.2")], set()), ([("BAND", "1 2"), ("BAND", "0.2 +Inf")], CUBES),
        ([("TIME", "58849 58849.5")], set(PLACES)), ([("TIME", "60370.05")], CUBES),
        ([("POL", "U"), ("POL", "V")], CUBES), ([("POL", "V")], set()),
        ([("FOV", "0.48 0.6")], set(PLACES)), ([("FOV", "-Inf 0.1")], set()),
        ([("SPATRES", "71 73")], CUBES), ([("SPECRP", "10000 +Inf")], CUBES),
        ([("EXPTIME", "8640")], CUBES), ([("TIMERES", "-Inf +Inf")], set()),
        ([("TARGET", "M 31")], {"a b#1&<é>.fits"}), ([("TARGET", "m 31")], set()),
        ([("FACILITY", "TEST")], CUBES), ([("INSTRUMENT", "RECEIVER")], CUBES),
        ([("DPTYPE", "image")], set(PLACES)), ([("DPTYPE", "cube"), ("TIME", "1 2")], set()),
        ([("CALIB", "2")], CUBES | set(PLACES)), ([("CALIB", "0")], set()),
        ([("COLLECTION", "archive")], CUBES | set(PLACES)), ([("COLLECTION", "x")], set()),
        ([("FORMAT", "application/x-votable+xml;content=datalink"), ("POL", "I")], CUBES),
        ([("FORMAT", "image/png")], set()),
        ([("ID", "IVO://EXAMPLE.ORG/FILES?ARCHIVE/CUBE.FITS")], {"cube.fits"}),
        ([("id", "ivo://example.org/files?archive/cube.fits")], {"cube.fits"}),
        ([("ID", "ivo://other.org/files?archive/cube.fits")], set()),
    ],
)  # fmt: skip
def test_parameters_select_datasets(
    client: TestClient, asked: list[tuple[str, str]], expected: set[str]
) -> None:
    assert names(client, *asked) == expected


def infos(content: bytes) -> list[tuple[str, str, str | None]]:
    found = parse(io.BytesIO(content)).resources[0]
    return [(info.name, info.value, info.content) for info in found.infos]


def test_table_says_that_it_is_cut(client: TestClient) -> None:
    answer = client.get("/vo/sia", params={"MAXREC": "3"})
    assert answer.content.count(b"<TR>") == 3
    assert answer.content.rindex(b"OVERFLOW") > answer.content.index(b"</TABLE>")
    empty = client.get("/vo/sia", params={"MAXREC": "0"})
    assert empty.content.count(b"<TR>") == 0
    assert b"OVERFLOW" not in empty.content
    assert b'name="this"' in empty.content


@pytest.mark.parametrize(
    "asked",
    [{"MAXREC": "-1"}, {"MAXREC": "x"}, {"POS": "BOX 1 2 3 4"}, {"POS": "CIRCLE 1 2"},
     {"BAND": "2 1"}, {"TIME": "x"}, {"CALIB": "x"}, {"RESPONSEFORMAT": "csv"},
     {"MAXREC": ["1", "2"]}],
)  # fmt: skip
def test_malformed_query_is_an_error_document(client: TestClient, asked: dict[str, Any]) -> None:
    answer = client.get("/vo/sia", params=asked)
    assert answer.status_code == 400
    assert answer.headers["content-type"].startswith("application/x-votable+xml")
    ((name, value, text),) = infos(answer.content)
    assert (name, value) == ("QUERY_STATUS", "ERROR")
    assert str(text).startswith("UsageFault: ")


def test_each_dataset_is_reached_by_its_links(client: TestClient, folder: Path) -> None:
    for row in table(client):
        links = client.get(str(row["access_url"]))
        assert links.headers["content-type"].replace(" ", "") == str(row["access_format"])
        rows = parse(io.BytesIO(links.content)).get_first_table().to_table()
        this = client.get(str(rows["access_url"][0]))
        name = str(row["obs_id"]).removeprefix("archive/")
        assert this.content == (folder / name).read_bytes()
        cut = client.get("/vo/sync", params={"ID": str(rows["ID"][0]), "POS": "RANGE 0 360 -90 90"})
        assert cut.status_code == 200, cut.text
        assert cut.headers["content-disposition"].startswith("attachment; filename=")


def test_description_follows_the_file(tmp_path: Path) -> None:
    path = tmp_path / "one.fits"
    plane(path, 10.0, 10.0, 0.0)
    with TestClient(create_app(Settings(paths=(path,), cache_folder=tmp_path / "c"))) as client:
        assert table(client)["s_ra"][0] == pytest.approx(10.0)
        path.unlink()
        plane(path, 20.0, 10.0, 0.0)
        assert table(client)["s_ra"][0] == pytest.approx(20.0)
        path.unlink()
        assert len(table(client)) == 0


def test_discovery_works_without_a_cache_folder(tmp_path: Path) -> None:
    path = tmp_path / "one.fits"
    plane(path, 10.0, 10.0, 0.0)
    (tmp_path / "c").write_text("not a folder")
    with TestClient(create_app(Settings(paths=(path,), cache_folder=tmp_path / "c"))) as client:
        assert len(table(client)) == 1
        assert b"#cutout" in client.get("/vo/links", params={"ID": "one.fits"}).content
        assert client.get("/vo/sync", params={"ID": "one.fits"}).status_code == 200
        refused = client.post("/vo/async", data={"ID": "one.fits"}, follow_redirects=False)
        assert (refused.status_code, refused.text[:19]) == (503, "ServiceUnavailable:")


def test_viewer_alone_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "one.fits"
    plane(path, 10.0, 10.0, 0.0)
    with TestClient(create_app(Settings(paths=(path,), cache_folder=tmp_path / "c"))) as client:
        asked = {"ID": "one.fits", "POS": "RANGE 0 360 -90 90"}
        assert client.get("/vo/sync", params=asked).status_code == 200
    assert not (tmp_path / "c").exists()


def test_large_folder_is_described_in_bounded_time(tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    plane(folder / "0.fits", 10.0, 10.0, 0.0)
    for number in range(1, 200):
        os.link(folder / "0.fits", folder / f"{number}.fits")
    chosen = Settings(paths=(folder,), cache_folder=tmp_path / "c", request_seconds=0.5)
    with TestClient(create_app(chosen)) as client:
        seen: list[int] = []
        for _ in range(60):
            answer = client.get("/vo/sia")
            seen.append(answer.content.count(b"<TR>"))
            if b"OVERFLOW" not in answer.content:
                break
            assert b"ask again for the rest" in answer.content
        assert seen[-1] == 200


WORDS = st.one_of(
    st.text(max_size=20), st.floats().map(repr),
    st.sampled_from(["CIRCLE", "RANGE", "1", "-Inf", "nan", "I", "votable"]),
)  # fmt: skip
KEYS = st.sampled_from(
    ["POS", "BAND", "TIME", "POL", "FOV", "SPATRES", "SPECRP", "EXPTIME", "TIMERES", "ID", "CALIB",
     "FORMAT", "MAXREC", "RESPONSEFORMAT", "TARGET", "DPTYPE"]
)  # fmt: skip


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    items=st.lists(st.tuples(KEYS, st.lists(WORDS, max_size=5).map(" ".join)), max_size=4),
    path=st.sampled_from(["/vo/sia", "/vo/links"]),
)
def test_garbage_is_answered_with_a_document(
    client: TestClient, items: list[tuple[str, str]], path: str
) -> None:
    answer = client.post(path, data=_multi(items))
    assert answer.status_code in (200, 400)
    assert answer.headers["content-type"].startswith("application/x-votable+xml")
    found = infos(answer.content)
    if answer.status_code == 400:
        assert str(found[0][2]).startswith("UsageFault: ")


@pytest.mark.parametrize("frame", ["RA---TAN DEC--TAN", "GLON-SIN GLAT-SIN", "RA---CAR DEC--CAR"])
@pytest.mark.parametrize(
    ("longitude", "latitude", "scale"),
    [(0.0, 0.0, 1e-3), (359.9999, 60.0, 1e-6), (10.0, 89.9, 2e-3), (200.0, -70.0, 0.01)],
)
def test_footprints_are_those_of_astropy(
    frame: str, longitude: float, latitude: float, scale: float, tmp_path: Path
) -> None:
    if "CAR" in frame:
        latitude = 0.0  # an oblique plate carrée has no use
    one, other = frame.split()
    hdu = fits.PrimaryHDU(np.zeros((30, 40), dtype=np.float32))
    hdu.header.update(
        {"CTYPE1": one, "CTYPE2": other, "CRVAL1": longitude, "CRVAL2": latitude,
         "CDELT1": -scale, "CDELT2": scale, "CRPIX1": 7.0, "CRPIX2": 9.0, "RADESYS": "FK5"}
    )  # fmt: skip
    hdu.writeto(tmp_path / "image.fits")
    image = tf.open(tmp_path / "image.fits")[0]
    assert isinstance(image, tf.Image)
    found = observation_of(View(image))
    along = np.linspace(-0.5, 39.5, 160, endpoint=False), np.linspace(-0.5, 29.5, 160)
    x = np.concatenate([along[0], along[0], np.full(160, -0.5), np.full(160, 39.5)])
    y = np.concatenate([np.full(160, -0.5), np.full(160, 29.5), along[1], along[1]])
    sky = image.wcs.celestial
    centre = sky.pixel_to_world(19.5, 14.5).icrs
    border = sky.pixel_to_world(x, y).icrs
    assert found.s_ra == pytest.approx(centre.ra.deg, abs=1e-9)
    assert found.s_dec == pytest.approx(centre.dec.deg, abs=1e-9)
    assert found.s_fov == pytest.approx(2 * border.separation(centre).deg.max(), rel=1e-6)
    assert found.corners is not None
    corners = SkyCoord(found.corners, unit="deg")
    angles = np.unwrap(centre.position_angle(corners).rad)
    assert (np.diff(angles) > 0).all()
    expected = sky.pixel_to_world([-0.5, 39.5, 39.5, -0.5], [-0.5, -0.5, 29.5, 29.5]).icrs
    for corner in expected:
        assert corner.separation(corners).deg.min() < 1e-9


def test_listing_leaves_the_open_files_of_clients_alone(folder: Path, tmp_path: Path) -> None:
    chosen = Settings(paths=(folder,), cache_folder=tmp_path / "cache")
    with TestClient(create_app(chosen)) as client:
        datasets = client.app.state.tachyfits.datasets  # type: ignore[attr-defined]
        assert len(table(client)) > 5
        assert len(datasets) == 0
        assert len(table(client, ("POS", "CIRCLE 10 10 90"))) >= 0
        assert len(datasets) == 0


def test_examples_are_requests_that_are_answered(tmp_path: Path) -> None:
    inner = tmp_path / "served" / "deep"
    inner.mkdir(parents=True)
    tf.write(inner / "a-plain.fits", np.ones((3, 4)))
    vocube.write(inner / "cube.fits")
    app = create_app(Settings(paths=(tmp_path / "served",), cache_folder=tmp_path / "cache"))
    with TestClient(app) as client:
        text = client.get("/vo/examples").text
        found = [
            dict(re.findall(r'"key">(\w+)</span> = <span property="value">([^<]*)<', part))
            for part in text.split('typeof="example"')[1:]
        ]
        assert [sorted(each) for each in found] == [["CIRCLE", "ID"], ["BAND", "ID"]]
        for each in found:
            assert client.get("/vo/sync", params=each).status_code == 200
    empty = tmp_path / "empty"
    empty.mkdir()
    with TestClient(create_app(Settings(paths=(empty,), cache_folder=tmp_path / "c"))) as client:
        assert 'typeof="example"' not in client.get("/vo/examples").text
