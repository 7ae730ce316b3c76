"""Images in compressed tiles: read like others, whatever the codec, beside astropy and funpack."""

from __future__ import annotations

import gzip
import io
import itertools
import json
import pickle
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf
from tachyfits.cli import run

CODECS = ("RICE_1", "GZIP_1", "GZIP_2", "HCOMPRESS_1", "PLIO_1", "NOCOMPRESS")
TILES = ((1, 1, 111), (1, 16, 40), (5, 37, 111), (2, 10, 111), (3, 40, 200))
RANDOM = np.random.default_rng(7)
CUBE = RANDOM.normal(100, 8, (5, 37, 111))


def compressed(path: Path, pixels: Any, codec: str, **options: Any) -> fits.ImageHDU | None:
    """Write a compressed image by astropy; None for what it cannot compress."""
    if codec == "HCOMPRESS_1" and "tile_shape" in options:
        rows, columns = options["tile_shape"][-2:]
        options["tile_shape"] = (1, max(rows, 4), columns)
    try:
        fits.CompImageHDU(pixels, compression_type=codec, **options).writeto(path, overwrite=True)
    except (ValueError, OSError, TypeError):
        return None
    with fits.open(path) as file:
        return fits.ImageHDU(np.array(file[1].data), file[1].header)


@dataclass
class Said:
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.chdir(tmp_path)

    def call(*words: object, status: int = 0) -> Said:
        assert run([str(word) for word in words]) == status
        return Said(*capsys.readouterr())

    return call


def numbers(image: Any) -> tuple[float, ...]:
    """Return statistics of an image."""
    found = image.stats()
    return found.count, found.sum, found.mean, found.std, found.min, found.max


@pytest.mark.parametrize("kind", ["u1", "i2", "i4", "u2", "u4", "i8", "i1"])
def test_integers_are_those_that_were_compressed(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "cube.fits"
    read = 0
    for codec, tile in itertools.product(CODECS, TILES):
        if kind == "i8" and codec in ("RICE_1", "HCOMPRESS_1", "PLIO_1"):
            continue  # astropy cuts them to 32 bits
        pixels = (CUBE - (100 if kind in ("i1", "i8") else 0)).astype(kind)
        if compressed(path, pixels, codec, tile_shape=tile) is None:
            continue
        image = tf.open(path)[1]
        assert np.array_equal(image[:], pixels), (codec, tile)
        assert np.array_equal(image[3, 5:20, 30:90:7], pixels[3, 5:20, 30:90:7]), (codec, tile)
        assert np.array_equal(image[::-2, 36, 110], pixels[::-2, 36, 110]), (codec, tile)
        read += 1
    assert read >= 10


@pytest.mark.parametrize("kind", ["f4", "f8"])
@pytest.mark.parametrize("codec", ["RICE_1", "GZIP_1", "GZIP_2", "HCOMPRESS_1"])
@pytest.mark.parametrize("dither", [-1, 1, 2])
def test_quantised_floats_are_those_of_astropy(
    tmp_path: Path, kind: str, codec: str, dither: int
) -> None:
    pixels = CUBE.astype(kind)
    if codec != "HCOMPRESS_1":
        pixels[2, 10:14, 50:70] = np.nan
        pixels[3, 20, :] = 0.0
    path = tmp_path / "cube.fits"
    for tile in TILES:
        options = {"quantize_method": dither, "dither_seed": 9_999, "quantize_level": 16}
        expected = compressed(path, pixels, codec, tile_shape=tile, **options)
        if expected is None:
            continue
        found = tf.open(path)[1][:]
        assert np.array_equal(found, expected.data, equal_nan=True), tile


@pytest.mark.parametrize("codec", ["GZIP_1", "GZIP_2"])
def test_lossless_floats_keep_every_bit(tmp_path: Path, codec: str) -> None:
    pixels = CUBE.astype("f4")
    pixels[0, 0, :4] = [np.inf, -np.inf, np.nan, -0.0]
    path = tmp_path / "cube.fits"
    compressed(path, pixels, codec, quantize_level=0)
    found = tf.open(path)[1][:]
    assert np.array_equal(found.view("u4"), pixels.view("u4"))


@pytest.mark.skipif(shutil.which("fpack") is None, reason="fpack is not installed")
@pytest.mark.parametrize(
    "options", [["-r"], ["-g"], ["-g2"], ["-h"], ["-p"], ["-r", "-t", "40,16"], ["-d"]], ids="".join
)
@pytest.mark.parametrize("kind", ["u1", "i2", "u2", "i4", "f4", "f8"])
def test_files_of_fpack_are_as_funpack_restores_them(
    tmp_path: Path, options: list[str], kind: str
) -> None:
    path, packed = tmp_path / "image.fits", tmp_path / "image.fits.fz"
    pixels = CUBE[0].astype(kind)
    header = fits.Header([("OBJECT", "a star"), ("ZENITH", 3.5), ("CRPIX1", 2.0)])
    fits.PrimaryHDU(pixels, header).writeto(path)
    if subprocess.run(["fpack", *options, path], capture_output=True, check=False).returncode:
        assert options in (["-p"], ["-d"]), "fpack does these for few types"
        return
    subprocess.run(["funpack", "-O", tmp_path / "back.fits", packed], check=True)
    with tf.open(packed) as file, tf.open(tmp_path / "back.fits") as back:
        found, expected = file.image(), back.image()
        assert found[:].tobytes() == expected[:].tobytes()
        assert found.dtype == expected.dtype
        assert found.unit == expected.unit
        for keyword in ("OBJECT", "ZENITH", "CRPIX1", "BZERO", "BITPIX", "NAXIS1"):
            assert found.header.get(keyword) == expected.header.get(keyword)
        assert numbers(found) == numbers(expected)


@pytest.mark.parametrize("tile", TILES)
def test_results_have_the_bits_of_those_of_the_plain_file(
    tmp_path: Path, tile: tuple[int, ...]
) -> None:
    plain, packed = tmp_path / "plain.fits", tmp_path / "packed.fits"
    pixels = CUBE.astype("f4")
    pixels[1, 3, 4] = np.nan
    fits.PrimaryHDU(pixels).writeto(plain)
    compressed(packed, pixels, "GZIP_2", quantize_level=0, tile_shape=tile)
    with tf.open(plain) as one, tf.open(packed) as other:
        a, b = one[0], other[1]
        assert numbers(a) == numbers(b)
        for statistic in ("sum", "mean", "std", "max"):
            for axis in (None, 0, 1, (1, 2)):
                ours, theirs = (getattr(image, statistic)(axis=axis) for image in (b, a))
                assert np.array_equal(ours, theirs, equal_nan=True), (statistic, axis)
        assert np.array_equal(b.median(axis=0), a.median(axis=0), equal_nan=True)
        region = "circle(50, 20, 9)"
        assert np.array_equal(b.spectrum(region).values, a.spectrum(region).values, equal_nan=True)
        smooth = [image.smooth(3)[:] for image in (a, b)]
        assert np.array_equal(*smooth, equal_nan=True)
        evaluated = tf.evaluate("a + b", a=a, b=b)[:]
        assert np.array_equal(evaluated, pixels + pixels, equal_nan=True)


def test_an_image_of_tiles_is_described_as_one(tmp_path: Path) -> None:
    path = tmp_path / "packed.fits"
    compressed(path, CUBE.astype("i2"), "RICE_1", tile_shape=(1, 37, 111), name="SCI")
    with tf.open(path) as file:
        image = file["SCI"]
        assert (image.shape, image.dtype, image.kind) == ((5, 37, 111), np.dtype("i2"), "image")
        found = image.compression
        assert (found.algorithm, found.tile, found.content) == ("RICE_1", (1, 37, 111), "image")
        assert "ZCMPTYPE" not in image.header
        assert image.header["NAXIS3"] == 5
        assert pickle.loads(pickle.dumps(image)).shape == image.shape
    with tf.open(path, decompress_tiles=False) as file:
        assert file[1].kind == "binary table"
        assert file[1].names == ("COMPRESSED_DATA",)


def test_a_damaged_tile_is_an_error_with_its_place_and_others_stay_readable(tmp_path: Path) -> None:
    path = tmp_path / "packed.fits"
    pixels = CUBE[0].astype("i2")
    compressed(path, pixels, "RICE_1", tile_shape=(10, 111))
    with tf.open(path, decompress_tiles=False) as file:
        table = file[1]
        heap = table.data_offset + table.header["NAXIS1"] * table.header["NAXIS2"]
        descriptors = np.frombuffer(path.read_bytes()[table.data_offset : heap], ">i4")
    count, offset = descriptors.reshape(-1, 2)[1]
    content = bytearray(path.read_bytes())
    content[heap + offset : heap + offset + count] = b"\xff" * count
    with tf.open(bytes(content)) as file:
        assert np.array_equal(file[1][:10], pixels[:10])
        assert np.array_equal(file[1][20:], pixels[20:])
        with pytest.raises(tf.FormatError, match=r"HDU 1.*row 2") as error:
            file[1][:]
        assert error.value.code == "tile-stream"


@pytest.mark.parametrize("kind", ["u1", "i1", "i2", "u2", "i4", "u4", "i8", "f4", "f8"])
@pytest.mark.parametrize("codec", ["rice", "gzip", "gzip1", "hcompress", "plio", "none"])
def test_written_images_come_back(tmp_path: Path, kind: str, codec: str) -> None:
    path = tmp_path / "packed.fits"
    pixels = (CUBE - (100 if kind == "i1" else 0)).astype(kind)
    cannot = kind == "i8" and codec in ("rice", "hcompress", "plio")
    # PLIO stores integers from 0 to 2^24 - 1.
    cannot = cannot or (codec == "plio" and kind in ("f4", "f8"))
    if cannot:
        with pytest.raises(tf.TachyfitsError):
            tf.write(path, pixels, compress=codec)
        assert not path.exists()
        return
    tf.write(path, pixels, compress=codec, checksum=True, overwrite=True)
    with tf.open(path) as file, fits.open(path) as theirs:
        found, other = file[1][:], np.array(theirs[1].data)
        assert [hdu.checksum().ok for hdu in file] == [True, True]
    # Unsigned integers are negative as they are stored, which PLIO does not have.
    is_widened = codec == "plio" and kind in ("u2", "u4")
    assert found.dtype == (np.int32 if is_widened else pixels.dtype)
    if codec in ("gzip", "gzip1", "none") or kind not in ("f4", "f8"):
        assert np.array_equal(found, pixels)
    else:
        assert np.abs(found - pixels).max() <= 0.5 * 8 / 4 * 1.3
    if kind != "i1":  # astropy offsets these
        assert np.array_equal(other, found)


def test_what_floats_cannot_keep_is_kept_bit_for_bit(tmp_path: Path) -> None:
    pixels = CUBE[0].astype("f4")
    pixels[3, 5] = np.inf  # a tile of its own kind
    pixels[4, :] = 7.5  # without noise
    pixels[5, 2:9] = np.nan
    pixels[6, 10:20] = 0.0
    pixels[7] = np.nan
    path = tmp_path / "packed.fits"
    how = tf.Compression("rice", tile="row", dither=2)
    tf.write(path, pixels, compress=how)
    found = tf.open(path)[1][:]
    assert np.array_equal(found[3:5], pixels[3:5])
    assert np.array_equal(np.isnan(found), np.isnan(pixels))
    assert (found[6, 10:20] == 0).all()
    assert np.nanmax(np.abs(found[8:] - pixels[8:])) < 2
    assert np.array_equal(fits.getdata(path, 1), found, equal_nan=True)


def test_the_same_pixels_give_the_same_file_for_any_threads(tmp_path: Path) -> None:
    pixels = RANDOM.normal(0, 1, (9, 300, 400)).astype("f4")
    contents = []
    for threads in (1, 2, 3):
        tf.write(tmp_path / f"{threads}.fits", pixels, compress="rice", threads=threads)
        contents.append((tmp_path / f"{threads}.fits").read_bytes())
    assert contents[0] == contents[1] == contents[2]


def test_the_largest_difference_is_said(tmp_path: Path) -> None:
    with pytest.warns(tf.TachyfitsWarning, match="rounded|differ"):
        tf.write(tmp_path / "packed.fits", CUBE.astype("f4"), compress="rice")


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"codec": "zip"}, "invalid codec 'zip': expected one of rice"),
        ({"tile": "rows"}, "invalid tile 'rows'"),
        ({"dither": 3}, "invalid dither 3"),
        ({"tile": (1.5, 2)}, r"invalid tile \(1.5, 2\)"),
        ({"tile": 5}, "invalid tile 5"),
        ({"table_rows": 0}, "invalid table_rows 0"),
        ({"quantise": "fine"}, "invalid quantise 'fine'"),
        ({"quantise": np.nan}, "invalid quantise nan"),
        ({"seed": 0}, "invalid seed 0: expected 1 to 10000"),
        ({"scale": "x"}, "invalid scale 'x'"),
        ({"scale": -1}, "invalid scale -1"),
    ],
)
def test_wrong_requests_are_refused(how: Any, words: str) -> None:
    with pytest.raises(tf.UsageError, match=words):
        tf.Compression(**how)


def test_requests_that_lose_pixels_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "packed.fits"
    for how in (
        tf.Compression("rice", quantise=None),
        tf.Compression("hcompress", tile=(2, 50)),
        tf.Compression("rice", tile=(1, 2, 3, 4)),
        tf.Compression("hcompress", scale=4),
    ):
        with pytest.raises(tf.TachyfitsError):
            tf.write(path, CUBE.astype("f4"), compress=how)
    assert not path.exists()


def test_hcompress_divides_by_its_scale(tmp_path: Path, cli: Any) -> None:
    noise = np.random.default_rng(5).normal(500, 30, (3, 40, 50)).astype("i2")
    plain, packed, small = (tmp_path / name for name in ("p.fits", "a.fits", "b.fits"))
    tf.write(plain, noise)
    tf.write(packed, noise, compress="hcompress", checksum=True)
    with pytest.warns(tf.TachyfitsWarning, match="the largest error is") as told:
        tf.write(small, noise, compress=tf.Compression("hcompress", scale=20), checksum=True)
    assert small.stat().st_size < packed.stat().st_size
    restored = tf.open(small)[1][:]
    error = np.abs(restored.astype(int) - noise).max()
    assert 0 < error < 20
    assert f"is {error} " in f"{told[0].message} "
    with fits.open(small) as theirs:
        assert np.array_equal(theirs[1].data, restored)
    # ZDATASUM is that of the original, which lossy tiles cannot have.
    assert not [*tf.verify(small)]
    answer = cli("compress", plain, "--codec", "hcompress", "--scale", "20", "--json").json
    assert answer["errors"] == [{"hdu": 1, "largest": error}]


def test_integers_of_64_bits_are_told_which_codecs_they_can_have(tmp_path: Path) -> None:
    for codec in ("rice", "hcompress", "plio"):
        with pytest.raises(tf.UsageError, match="GZIP_2, GZIP_1 or NOCOMPRESS for integers of 64"):
            tf.write(tmp_path / "wide.fits", np.zeros((9, 9), "i8"), compress=codec)


@pytest.mark.skipif(shutil.which("funpack") is None, reason="funpack is not installed")
@pytest.mark.parametrize("codec", ["rice", "gzip", "hcompress", "plio"])
def test_funpack_restores_files_written_here(tmp_path: Path, codec: str) -> None:
    plain, packed, back = (tmp_path / name for name in ("a.fits", "a.fits.fz", "b.fits"))
    pixels = CUBE.astype("u2")
    header = fits.Header([("OBJECT", "a star"), ("ZENITH", 3.5)])
    header.add_history("made by a test")
    fits.HDUList([fits.PrimaryHDU(pixels, header), fits.ImageHDU(pixels[0] + 1)]).writeto(plain)
    with tf.open(plain) as file:
        tf.write(packed, list(file), compress=codec)
    subprocess.run(["funpack", "-O", back, packed], check=True)
    with fits.open(plain) as ours, fits.open(back) as theirs:
        assert len(theirs) == 2
        for one, other in zip(ours, theirs, strict=True):
            assert np.array_equal(one.data, other.data)
        assert theirs[0].header["ZENITH"] == 3.5
        assert str(theirs[0].header["HISTORY"]) == "made by a test"
    if shutil.which("fitsverify"):
        said = subprocess.run(["fitsverify", "-q", packed], capture_output=True, check=False)
        # Both images have no name.
        assert b"OK" in said.stdout or b" 0 errors" in said.stdout, said.stdout


def test_the_command_line_compresses_and_restores(tmp_path: Path, cli: Any) -> None:
    plain = tmp_path / "image.fits"
    fits.HDUList([fits.PrimaryHDU(CUBE.astype("i2")), fits.BinTableHDU.from_columns([])]).writeto(
        plain
    )
    assert "ratio" in cli("compress", plain).err
    rows = cli("info", f"{plain}.fz").out
    assert "RICE_1" in rows
    assert "111 x 37 x 5" in rows
    answer = cli("decompress", f"{plain}.fz", "-o", tmp_path / "back.fits", "--json").json
    assert answer["ratio"] < 1
    with fits.open(plain) as one, fits.open(tmp_path / "back.fits") as other:
        assert len(one) == len(other)
        assert np.array_equal(one[0].data, other[0].data)
    assert cli("compress", plain, status=1).err  # it exists


def handmade(
    codec: str, cards: dict[str, Any], columns: dict[str, tuple[str, Any]], axes: tuple[int, ...]
) -> bytes:
    """Make a compressed image from the cells of its table: a form and a value of each column."""
    made = []
    for name, (form, cells) in columns.items():
        array: Any = cells
        if "P" in form:
            array = np.empty(len(cells), object)
            array[:] = [np.frombuffer(cell, "u1") for cell in cells]
        made.append(fits.Column(name, form, array=array))
    table = fits.BinTableHDU.from_columns(made)
    header = {"ZIMAGE": True, "ZCMPTYPE": codec, "ZNAXIS": len(axes)}
    header |= {f"ZNAXIS{n}": size for n, size in enumerate(axes, 1)}
    for keyword, value in {**header, **cards}.items():
        table.header[keyword] = value
    content = io.BytesIO()
    fits.HDUList([fits.PrimaryHDU(), table]).writeto(content)
    return content.getvalue()


def zipped(numbers: Any, kind: str) -> bytes:
    return gzip.compress(np.array(numbers, kind).tobytes(), mtime=0)


def test_a_zero_may_be_the_integer_that_the_standard_prints() -> None:
    integers = [-2147483647, -2147483646, -2147483648, 10]
    content = handmade(
        "GZIP_1",
        {
            "ZBITPIX": -32,
            "ZQUANTIZ": "SUBTRACTIVE_DITHER_2",
            "ZDITHER0": 1,
            "ZBLANK": -2147483648,
            "ZTILE1": 4,
            "ZTILE2": 1,
        },
        {
            "COMPRESSED_DATA": ("1PB()", [zipped(integers, ">i4")]),
            "ZSCALE": ("1D", [1.0]),
            "ZZERO": ("1D", [100.0]),
        },
        (4, 1),
    )
    with tf.open(content) as file:
        found = file[1][0]
    assert np.array_equal(found[:3], [0, 0, np.nan], equal_nan=True)
    assert 109 < found[3] < 111
    theirs = fits.getdata(io.BytesIO(content), 1)[0]
    assert theirs[0] < -2e9, "astropy reads one of the zeros as a number"


def test_a_column_of_zblank_counts_before_the_keyword() -> None:
    columns = {
        "COMPRESSED_DATA": ("1PB()", [zipped([1, 2, 3, 4, 5], ">i4")] * 2),
        "ZSCALE": ("1D", [0.5, 0.5]),
        "ZZERO": ("1D", [10.0, 10.0]),
        "ZBLANK": ("1J", [2, 4]),
    }
    content = handmade("GZIP_1", {"ZBITPIX": -32, "ZBLANK": 3}, columns, (5, 2))
    with tf.open(content) as file:
        found = file[1][:]
    expected = [[10.5, np.nan, 11.5, 12, 12.5], [10.5, 11, 11.5, np.nan, 12.5]]
    assert np.array_equal(found, np.array(expected, "f4"), equal_nan=True)


def test_scale_and_zero_may_be_keywords() -> None:
    columns = {"COMPRESSED_DATA": ("1PB()", [zipped([1, 2, 3], ">i4")])}
    cards = {"ZBITPIX": -32, "ZSCALE": 0.5, "ZZERO": 10.0}
    with tf.open(handmade("GZIP_1", cards, columns, (3, 1))) as file:
        assert file[1][0].tolist() == [10.5, 11.0, 11.5]


def test_a_mask_of_undefined_pixels_is_applied() -> None:
    columns = {
        "COMPRESSED_DATA": ("1PB()", [zipped([1, 2, 3], ">i4"), zipped([4, 5, 6], ">i4")]),
        "NULL_PIXEL_MASK": ("1PB()", [zipped([0, 1, 0], "u1"), b""]),
        "ZSCALE": ("1D", [1.0, 1.0]),
        "ZZERO": ("1D", [0.0, 0.0]),
    }
    cards = {"ZBITPIX": -32, "ZMASKCMP": "GZIP_1"}
    with tf.open(handmade("GZIP_1", cards, columns, (3, 2))) as file:
        assert np.array_equal(file[1][:], [[1, np.nan, 3], [4, 5, 6]], equal_nan=True)
    integers = {name: columns[name] for name in ("COMPRESSED_DATA", "NULL_PIXEL_MASK")}
    cards = {"ZBITPIX": 32, "ZMASKCMP": "GZIP_1", "BLANK": -99}
    with tf.open(handmade("GZIP_1", cards, integers, (3, 2))) as file:
        assert file[1].read(dtype="raw").tolist() == [[1, -99, 3], [4, 5, 6]]


@pytest.mark.parametrize("column", ["COMPRESSED_DATA", "UNCOMPRESSED_DATA"])
def test_tiles_without_compression_are_read(column: str) -> None:
    raw = np.array([3, -4, 5], ">i2").tobytes()
    content = handmade("NOCOMPRESS", {"ZBITPIX": 16}, {column: ("1PB()", [raw] * 2)}, (3, 2))
    if column == "UNCOMPRESSED_DATA":  # its elements are pixels
        pixels = np.empty(2, object)
        pixels[:] = [np.array([3, -4, 5], "i2")] * 2
        table = fits.BinTableHDU.from_columns([fits.Column(column, "1PI()", array=pixels)])
        cards = {"ZIMAGE": True, "ZCMPTYPE": "NOCOMPRESS", "ZBITPIX": 16, "ZNAXIS": 2}
        table.header.update({**cards, "ZNAXIS1": 3, "ZNAXIS2": 2})
        stream = io.BytesIO()
        fits.HDUList([fits.PrimaryHDU(), table]).writeto(stream)
        content = stream.getvalue()
    with tf.open(content) as file:
        assert file[1][:].tolist() == [[3, -4, 5]] * 2


@pytest.mark.parametrize("codec", ["RICE_1", "GZIP_1", "GZIP_2"])
def test_tiles_at_edges_and_tiles_of_four_axes_are_exact(tmp_path: Path, codec: str) -> None:
    """Other readers took the size of an edge tile from ZTILEn."""
    random = np.random.default_rng(3)
    for shape, tile in (((112, 112), (64, 64)), ((3, 2, 11, 13), (2, 2, 4, 9)), ((9, 8), (20, 30))):
        pixels = random.integers(-3000, 3000, shape).astype("i2")
        compressed(tmp_path / "image.fits", pixels, codec, tile_shape=tile)
        with tf.open(tmp_path / "image.fits") as file:
            assert np.array_equal(file[1][:], pixels), (shape, tile)
            part = tuple(slice(size // 3, size // 3 * 2 + 1) for size in shape)
            assert np.array_equal(file[1][part], pixels[part]), (shape, tile)


@pytest.mark.skipif(shutil.which("fpack") is None, reason="fpack is not installed")
def test_constant_and_undefined_tiles_of_fpack_are_read(tmp_path: Path) -> None:
    pixels = CUBE[0].astype("f4")
    pixels[3], pixels[5], pixels[7, 10:20], pixels[8, 2:5] = 1.0, np.nan, 0.0, np.nan
    path, packed, back = (tmp_path / name for name in ("a.fits", "a.fits.fz", "b.fits"))
    fits.PrimaryHDU(pixels).writeto(path)
    for options in (["-q", "4"], ["-qz", "4"], ["-q0", "4"]):
        packed.unlink(missing_ok=True)
        back.unlink(missing_ok=True)
        subprocess.run(["fpack", *options, "-O", packed, path], check=True)
        subprocess.run(["funpack", "-O", back, packed], check=True)
        with tf.open(packed) as file:
            found = file.image()[:]
        assert np.array_equal(found, fits.getdata(back), equal_nan=True)
        assert (found[3] == 1).all()
        assert np.isnan(found[5]).all()
        if "-qz" in options:
            assert (found[7, 10:20] == 0).all()


@pytest.mark.skipif(shutil.which("fpack") is None, reason="fpack is not installed")
def test_thin_edges_of_hcompress_and_masks_of_unsigned_integers_are_exact(tmp_path: Path) -> None:
    """Tiles of 16 rows would leave one of 5 of 37; astropy offsets masks of unsigned integers."""
    path, packed = tmp_path / "cube.fits", tmp_path / "cube.fits.fz"
    pixels = np.ascontiguousarray(CUBE[:, :, :50]).astype("u2")
    fits.PrimaryHDU(pixels).writeto(path)
    for option in ("-h", "-p"):
        packed.unlink(missing_ok=True)
        subprocess.run(["fpack", option, path], check=True)
        with tf.open(packed) as file:
            assert np.array_equal(file.image()[:], pixels)


#: Pixels that each program writes and the other reads.
PEER_KINDS = ("u1", "i2", "i4", "f4", "f8")


@pytest.mark.parametrize("kind", PEER_KINDS)
@pytest.mark.parametrize("codec", ["rice", "gzip", "gzip2", "hcompress", "plio"])
def test_fitsio_reads_and_writes_the_same_pixels(tmp_path: Path, kind: str, codec: str) -> None:
    fitsio = pytest.importorskip("fitsio")
    pixels = CUBE.astype(kind)
    path = tmp_path / "cube.fits"
    is_float = kind in ("f4", "f8")
    if codec == "plio" and is_float:
        return  # it stores integers
    for tile in ([1, 1, 111], [1, 16, 40], [2, 10, 111]):
        if codec == "hcompress" and tile[1] < 4:
            continue
        if codec == "hcompress":
            tile = [1, 16, 111]
        options = {"compress": codec.replace("gzip2", "gzip_2"), "tile_dims": tile}
        if is_float:
            options |= {"qlevel": 4.0, "qmethod": "SUBTRACTIVE_DITHER_1", "dither_seed": 7}
        with fitsio.FITS(path, "rw", clobber=True) as file:
            file.write(pixels, **options)
        with tf.open(path) as file:
            found = file[1][:]
        assert np.array_equal(found, fitsio.read(path, ext=1)), tile
        assert is_float or np.array_equal(found, pixels), tile
    ours = "gzip1" if codec == "gzip" else codec.removesuffix("2")
    how = tf.Compression(ours, dither=1)
    tf.write(path, pixels, compress=how, overwrite=True)
    assert np.array_equal(tf.open(path)[1][:], fitsio.read(path, ext=1))


@pytest.mark.parametrize("kind", PEER_KINDS)
@pytest.mark.parametrize("codec", ["rice", "gzip", "gzip1", "hcompress", "plio"])
def test_rustfits_reads_the_same_pixels(tmp_path: Path, kind: str, codec: str) -> None:
    rustfits = pytest.importorskip("rustfits")
    pixels = (CUBE[0] if codec == "hcompress" else CUBE).astype(kind)  # its tiles have two axes
    path = tmp_path / "cube.fits"
    if codec == "plio" and kind in ("f4", "f8"):
        return  # it stores integers
    tf.write(path, pixels, compress=codec)
    with rustfits.FITS(str(path)) as file:
        theirs = file[1].read()
    assert np.array_equal(tf.open(path)[1][:], theirs)


def test_peers_lose_nan_that_are_read_here(tmp_path: Path) -> None:
    """Rustfits takes astropy's NaN for a number."""
    rustfits = pytest.importorskip("rustfits")
    pixels = CUBE[0].astype("f4")
    pixels[2, 3:6] = np.nan
    path = tmp_path / "image.fits"
    compressed(path, pixels, "RICE_1")
    assert np.isnan(tf.open(path)[1][2, 3:6]).all()
    with rustfits.FITS(str(path)) as file:
        assert not np.isnan(file[1].read()[2, 3:6]).any()


@pytest.mark.parametrize("word", [word for codec in tf.codecs() for word in codec.words])
def test_the_command_takes_the_words_of_every_codec(tmp_path: Path, word: str) -> None:
    name = next(codec.name for codec in tf.codecs() if word in codec.words)
    tf.write(tmp_path / "plain.fits", np.arange(64, dtype=np.int16).reshape(8, 8))
    packed = tmp_path / "packed.fits"
    plain = str(tmp_path / "plain.fits")
    assert run(["compress", plain, "-o", str(packed), "--codec", word]) == 0
    assert tf.open(packed)[1].compression.algorithm == name


def test_documents_name_every_codec() -> None:
    guide = Path(__file__).parents[2] / "docs" / "guides" / "compressed-files.md"
    documents = [guide.read_text(encoding="utf-8"), tf.Compression.__doc__ or ""]
    for codec in tf.codecs():
        assert all(codec.name in text or f'"{codec.words[0]}"' in text for text in documents)
