"""The server's cutouts and planes: the bytes that `Image.cut(...).write` and the engine give."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits
from fastapi.testclient import TestClient
from hypothesis import given
from hypothesis import strategies as st

import tachyfits as tf
from realfiles import trap
from servedcube import CUBE, NAME, cube, pixels_of
from tachyfits.server.app import create_app
from tachyfits.server.settings import Settings
from tachyfits.writing.sinks import FileBytes

pytestmark = pytest.mark.once


def written(image: tf.Image, folder: Path) -> bytes:
    image.write(folder / "written.fits", overwrite=True)
    return (folder / "written.fits").read_bytes()


@pytest.mark.parametrize(
    ("asked", "options"),
    [
        ({"section": "[5:20,10:14,2:7]"}, {"section": np.s_[1:7, 9:14, 4:20]}),
        ({"section": "[*:3,20:10,*]"}, {"section": np.s_[:, 19:8:-1, ::3]}),
        ({"region": "circle(40,50,7)"}, {"region": "circle(40,50,7)"}),
        (
            {"region": "circle(2,2,6)", "mode": "partial", "channels": "3:5"},
            {"region": "circle(2,2,6)", "mode": "partial", "channels": slice(2, 5)},
        ),
        ({}, {}),
    ],
)
def test_cutout_has_the_bytes_of_the_written_cut(
    client: TestClient, tmp_path: Path, asked: dict[str, str], options: dict[str, Any]
) -> None:
    expected = written(cube().cutout(**options), tmp_path)
    answer = client.get("/api/v1/cutout", params={"id": NAME} | asked)
    assert answer.status_code == 200
    assert answer.content == expected
    assert answer.headers["Content-Length"] == str(len(expected))
    assert answer.headers["Content-Type"] == "application/fits"
    head = client.head("/api/v1/cutout", params={"id": NAME} | asked)
    assert head.headers["Content-Length"] == str(len(expected))
    assert head.content == b""
    size = client.get("/api/v1/cutout/size", params={"id": NAME} | asked).json()
    assert size["bytes"] == len(expected)
    with fits.open(io.BytesIO(answer.content)) as file:
        assert size["naxis"] == list(reversed(file[0].data.shape))


@pytest.mark.parametrize("name", ["i16_scaled_blank", "u64", "f32_special", "i8_bzero", "rgroups"])
def test_bytes_of_a_file_keep_the_bits_of_every_pixel_type(name: str, tmp_path: Path) -> None:
    hdus = tf.open(trap(name))
    image = next(hdu for hdu in hdus if isinstance(hdu, tf.Image) and hdu.size)
    part = FileBytes(image.cutout(section=...))
    found = part.read(0, part.size).tobytes()
    assert found == written(image.cutout(section=...), tmp_path)
    assert len(found) == part.size


@given(data=st.data())
def test_a_range_of_bytes_is_that_of_the_file(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4)))
    size = int(np.prod(shape))
    pixels = np.arange(size, dtype=np.int16).reshape(shape)
    image = tf.File(_bytes_of(pixels))[0]
    assert isinstance(image, tf.Image)
    part = FileBytes(image.cutout(section=...))
    whole = part.read(0, part.size).tobytes()
    begin = data.draw(st.integers(0, part.size - 1))
    end = data.draw(st.integers(begin + 1, part.size))
    assert part.read(begin, end).tobytes() == whole[begin:end]
    expected = np.frombuffer(whole[len(whole) - 2880 :][: 2 * size], ">i2").reshape(shape)
    np.testing.assert_array_equal(expected, pixels)


def _bytes_of(pixels: np.ndarray[Any, Any]) -> bytes:
    file = io.BytesIO()
    fits.PrimaryHDU(pixels).writeto(file)
    return file.getvalue()


def test_cutout_of_a_cube_with_a_beam_per_channel_has_its_table(tmp_path: Path) -> None:
    cards = {"CTYPE3": "FREQ", "CUNIT3": "Hz", "CRVAL3": 1e9, "CDELT3": 1e6, "CASAMBM": True}
    hdu = fits.PrimaryHDU(np.zeros((3, 4, 5), dtype=np.float32))
    hdu.header.update(cards)
    rows = np.array(
        [(2 + n, 1, 10, n, 0) for n in range(3)],
        dtype=[("BMAJ", "f4"), ("BMIN", "f4"), ("BPA", "f4"), ("CHAN", "i4"), ("POL", "i4")],
    )
    table = fits.BinTableHDU(rows, name="BEAMS")
    for number, unit in enumerate(("arcsec", "arcsec", "deg"), 1):
        table.header[f"TUNIT{number}"] = unit
    table.header["NCHAN"], table.header["NPOL"] = 3, 1
    fits.HDUList([hdu, table]).writeto(tmp_path / "beams.fits")
    image = tf.open(tmp_path / "beams.fits")[0]
    assert isinstance(image, tf.Image)
    expected = written(image.cutout(channels=slice(1, 3)), tmp_path)
    assert fits.open(io.BytesIO(expected))[1].data["CHAN"].tolist() == [0, 1]
    with TestClient(create_app(Settings(paths=(tmp_path / "beams.fits",)))) as client:
        asked = {"id": "beams.fits", "channels": "2:3"}
        assert client.get("/api/v1/cutout", params=asked).content == expected


def test_download_resumes(client: TestClient) -> None:
    asked = {"id": NAME, "section": "[1:50,1:50,*]"}
    whole = client.get("/api/v1/cutout", params=asked)
    size = len(whole.content)
    for given_range, first, end in (
        ("bytes=100-2999", 100, 3000),
        (f"bytes={size - 10}-", size - 10, size),
        ("bytes=-7", size - 7, size),
        (f"bytes=5000-{10**9}", 5000, size),
    ):
        answer = client.get("/api/v1/cutout", params=asked, headers={"Range": given_range})
        assert answer.status_code == 206
        assert answer.headers["Content-Range"] == f"bytes {first}-{end - 1}/{size}"
        assert answer.content == whole.content[first:end]
    other = {"Range": "bytes=0-9", "If-Range": '"other"'}
    assert client.get("/api/v1/cutout", params=asked, headers=other).content == whole.content
    same = {"Range": "bytes=0-9", "If-Range": whole.headers["ETag"]}
    assert client.get("/api/v1/cutout", params=asked, headers=same).content == whole.content[:10]
    beyond = client.get("/api/v1/cutout", params=asked, headers={"Range": f"bytes={size}-"})
    assert beyond.status_code == 416


def test_cutout_of_a_file_with_other_axes_keeps_them(tmp_path: Path) -> None:
    # The spectral axis is NAXIS1 in the file: regions and channels are those of the view.
    turned = cube().reorder("zxy")
    turned.write(tmp_path / "turned.fits")
    image = tf.open(tmp_path / "turned.fits")[0]
    assert isinstance(image, tf.Image)
    with TestClient(create_app(Settings(paths=(tmp_path / "turned.fits",)))) as client:
        asked = {"id": "turned.fits", "region": "box(20.5,30.5,4,6)", "channels": "2:4"}
        answer = client.get("/api/v1/cutout", params=asked)
        assert answer.content == written(image.cutout(section=np.s_[27:33, 18:22, 1:4]), tmp_path)


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"section": "[0:5]"}, 400),
        ({"section": "[a:b]"}, 400),
        ({"section": "1,1,1,1,1"}, 400),
        ({"region": "circle(1e9,1,1)"}, 400),
        ({"region": "circle(nan,1,1)"}, 400),
        ({"channels": "0:3"}, 400),
        ({"channels": "..km/s"}, 400),
        ({"mode": "wrong"}, 400),
        ({"region": "box(1,1,1e9,1e9)", "mode": "partial"}, 413),
        ({"region": "circle(5,5,2)", "section": "[1:3]"}, 400),
    ],
)
def test_invalid_parts_are_refused_before_a_pixel_is_read(
    client: TestClient, asked: dict[str, str], status: int
) -> None:
    answer = client.get("/api/v1/cutout", params={"id": NAME} | asked)
    assert answer.status_code == status
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert str(CUBE.parent) not in answer.text


@pytest.mark.parametrize("collapse", ["sum", "mean", "max", "min", "moment0", "moment1", "median"])
def test_planes_have_the_bits_of_the_engine(client: TestClient, collapse: str) -> None:
    channels = slice(1, 5)
    if collapse.startswith("moment"):
        expected = cube().select(channels=channels).moment(int(collapse[-1]))
    else:
        expected = cube().select(channels=channels).collapse(collapse)
    asked = {"id": NAME, "collapse": collapse, "channels": "2:5", "error": 0}
    found = pixels_of(client.get("/api/v1/image", params=asked))
    np.testing.assert_array_equal(found, expected.values.astype(np.float32))
    answer = client.get("/api/v1/image", params=asked | {"format": "fits"})
    with fits.open(io.BytesIO(answer.content)) as file:
        np.testing.assert_array_equal(file[0].data, expected.values)
        assert file[0].header["CRPIX1"] == expected.header["CRPIX1"]
    assert str(CUBE.parent).encode() not in answer.content
    tile = pixels_of(client.get("/api/v1/tile", params=asked | {"level": 0, "x": 0, "y": 0}))
    np.testing.assert_array_equal(tile, found[:256, :256])


def test_plane_of_a_channel_is_sent_at_a_level(tmp_path: Path) -> None:
    pixels = np.random.default_rng(1).normal(size=(2, 300, 517)).astype(np.float32)
    tf.write(tmp_path / "cube.fits", pixels)
    image = tf.open(tmp_path / "cube.fits")[0]
    assert isinstance(image, tf.Image)
    expected = image.cutout(section=np.s_[1:2]).rebin((1, 4, 4), partial="keep").read()[0]
    with TestClient(create_app(Settings(paths=(tmp_path / "cube.fits",)))) as client:
        asked = {"id": "cube.fits", "channel": 2, "level": 2, "error": 0}
        np.testing.assert_array_equal(
            pixels_of(client.get("/api/v1/image", params=asked)), expected
        )
        fine = client.get("/api/v1/image", params=asked | {"level": 9})
        assert fine.status_code == 400
