"""Reading: types, sections, the caller's arrays, against astropy and NumPy."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits

from tachyfits import _core

#: write(path, pixels, **keywords)
Write = Callable[..., Path]

STORAGES = ("auto", "pread", "mmap", "memory")


def image_of(path: Path, hdu: int = 0, storage: str = "auto") -> _core.Image:
    return _core.FitsFile.open(path, storage=storage).hdu(hdu).image()


@pytest.mark.parametrize(
    "name",
    [
        "uint8",
        "int8",
        "int16",
        "uint16",
        "int32",
        "uint32",
        "int64",
        "uint64",
        "float32",
        "float64",
    ],
)
def test_every_type_arrives_exactly(write: Write, tmp_path: Path, name: str) -> None:
    kind = np.dtype(name)
    if kind.kind == "f":
        pixels = np.array([[0.0, -0.0, np.nan], [np.inf, 1e-40, 3.5]], kind)
    else:
        ends = np.iinfo(kind)
        pixels = np.array([[ends.min, ends.min + 1, 0], [1, ends.max - 1, ends.max]], kind)
    image = image_of(write(tmp_path / "a.fits", pixels))
    assert image.dtype == name
    for dtype in (None, *(["exact"] if kind.kind != "f" else [])):
        read = image.read(dtype=dtype)
        assert read.dtype == kind
        assert read.dtype.isnative
        assert read.flags.c_contiguous
        assert read.tobytes() == pixels.tobytes()
    out = np.empty(pixels.shape, kind)
    assert image.read(out=out) is out
    assert out.tobytes() == pixels.tobytes()


def test_raw_gives_the_stored_numbers(write: Write, tmp_path: Path) -> None:
    pixels = np.array([0, 1, 65535], np.uint16)
    image = image_of(write(tmp_path / "a.fits", pixels))
    assert (image.dtype, image.stored_dtype) == ("uint16", "int16")
    np.testing.assert_array_equal(
        image.read(dtype="raw"), np.array([-32768, -32767, 32767], np.int16)
    )


def test_scaled_pixels_cannot_be_read_exactly(write: Write, tmp_path: Path) -> None:
    image = image_of(write(tmp_path / "a.fits", np.arange(3, dtype=np.int16)))
    assert image.read(dtype="exact").dtype == np.int16
    hdu = fits.PrimaryHDU(np.arange(3, dtype=np.int16))
    hdu.header["BSCALE"], hdu.header["BZERO"], hdu.header["BLANK"] = 0.5, 10.0, 2
    hdu.writeto(tmp_path / "b.fits")
    image = image_of(tmp_path / "b.fits")
    assert (image.bscale, image.bzero, image.blank, image.dtype) == (0.5, 10.0, 2, "float64")
    np.testing.assert_array_equal(image.read(), [10.0, 10.5, np.nan])
    assert image.read(dtype="float32").dtype == np.float32
    with pytest.raises(_core.UsageError, match="BSCALE") as raised:
        image.read(dtype="exact")
    assert raised.value.code == "pixel-kind"


@pytest.mark.parametrize("storage", STORAGES)
def test_sections_are_numpys(cube: Path, storage: str) -> None:
    image = image_of(cube, storage=storage)
    whole = fits.getdata(cube)
    random = np.random.default_rng(5)
    for _ in range(200):
        section, index = [], []
        for length in image.shape:
            step = int(random.choice([-3, -2, -1, 1, 2, 3]))
            start = int(random.integers(length))
            most = (length - 1 - start) // step if step > 0 else start // -step
            count = int(random.integers(most + 2))
            section.append((start, count, step))
            index.append([start + k * step for k in range(count)])
        np.testing.assert_array_equal(image.read(section), whole[np.ix_(*index)])


def test_out_may_be_any_writable_array_of_the_right_type(cube: Path) -> None:
    image = image_of(cube)
    right = image.read()
    for out in (
        np.empty((3, 4, 5), np.float32),
        np.empty((3, 4, 5), np.float32, order="F"),
        np.empty((6, 4, 10), np.float32)[::2, :, ::-2],
        np.frombuffer(bytearray(241), np.uint8)[1:].view(np.float32).reshape(3, 4, 5),
    ):
        assert image.read(out=out) is out
        np.testing.assert_array_equal(out, right)


@pytest.mark.parametrize(
    "out",
    [
        np.empty((3, 4, 5), np.float64),
        np.empty((3, 4, 5), ">f4"),
        np.empty((3, 5, 4), np.float32),
        np.empty(60, np.float32),
    ],
)
def test_an_out_of_another_type_or_shape_is_refused(cube: Path, out: np.ndarray) -> None:
    out.view(np.uint8)[...] = 7
    with pytest.raises(_core.UsageError, match=r"float32 and shape \(3, 4, 5\)") as raised:
        image_of(cube).read(out=out)
    assert raised.value.code == "output"
    assert (out.view(np.uint8) == 7).all()


def test_a_read_only_out_is_refused(cube: Path) -> None:
    out = np.zeros((3, 4, 5), np.float32)
    out.flags.writeable = False
    with pytest.raises(_core.UsageError, match="writeable"):
        image_of(cube).read(out=out)
    assert not out.any()


def test_an_out_that_is_being_written_is_refused(write: Write, tmp_path: Path) -> None:
    path = write(tmp_path / "a.fits", np.ones((64, 1024, 1024), np.float32))
    image, out = image_of(path), np.zeros((64, 1024, 1024), np.float32)
    together = threading.Barrier(2)

    def read() -> str:
        together.wait()
        try:
            image.read(out=out, threads=1)
        except _core.UsageError as refused:
            return refused.code
        return "read"

    # The first caller has the array for tens of milliseconds.
    with ThreadPoolExecutor(2) as readers:
        for _ in range(20):
            ends = sorted(end.result() for end in [readers.submit(read), readers.submit(read)])
            assert ends in (["output", "read"], ["read", "read"])
            if "output" in ends:
                break
    assert ends == ["output", "read"]
    assert (out == 1).all()


def test_more_axes_than_numpy_has_are_refused(tmp_path: Path) -> None:
    cards = [
        "SIMPLE  =                    T",
        "BITPIX  =                    8",
        "NAXIS   =                   99",
    ]
    cards += [f"NAXIS{n:<3}=                    1" for n in range(1, 100)] + ["END"]
    header = "".join(f"{card:<80}" for card in cards).encode()
    data = header.ljust(-(-len(header) // 2880) * 2880) + b"\7".ljust(2880, b"\0")
    image = _core.FitsFile.open(data).hdu(0).image()
    assert image.stats()[0].sum == 7
    assert image.stats()[0].max_position == (0,) * 99
    with pytest.raises(_core.LimitError, match="NumPy says") as raised:
        image.read()
    assert raised.value.code == "memory"


def test_a_truncated_file_is_reported_without_allocating() -> None:
    cards = [
        "SIMPLE  =                    T",
        "BITPIX  =                  -64",
        "NAXIS   =                    2",
        "NAXIS1  =              1000000",
        "NAXIS2  =              1000000",
        "END",
    ]
    data = "".join(f"{card:<80}" for card in cards).encode().ljust(2880) + bytes(8 * 360)
    file = _core.FitsFile.open(data, name="cut")
    assert len(file.warnings) == 1
    image = file.hdu(0).image()
    with pytest.raises(_core.FormatError, match="8000000000000 bytes") as raised:
        image.read()
    assert raised.value.code == "data-missing"
    assert image.read([(0, 1, 1), (0, 360, 1)]).shape == (1, 360)


def test_bytes_are_not_copied(cube: Path) -> None:
    data = cube.read_bytes()
    file = _core.FitsFile.open(data, name="here")
    assert (file.name, file.storage, file.bytes) == ("here", "memory", len(data))
    del data
    np.testing.assert_array_equal(file.hdu(0).image().read(), fits.getdata(cube))


def test_an_index_of_integers_and_slices_is_numpys_and_others_are_left(cube: Path) -> None:
    image = image_of(cube)
    pixels = image.read()
    last = [length - 1 for length in pixels.shape]
    for index in (
        0,
        -1,
        tuple(last),
        (Ellipsis, -1),
        (0, Ellipsis, slice(None, None, -2)),
        (slice(1, None), np.int64(1)),
        Ellipsis,
        (),
    ):
        found, expected = image.indexed(index), pixels[index]
        assert type(found) is type(expected), index
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
    beyond = tuple(pixels.shape)
    others: list[object] = [None, True, [0], np.array(1), beyond, (0,) * (pixels.ndim + 1), 1.0]
    others += [slice(0, 0), (Ellipsis, Ellipsis), "x", 1 << 70]
    assert [image.indexed(index) for index in others] == [None] * len(others)
