"""Options of the image writer in every combination: all readers read alike what is written.

Each combination of type, codec, options, mask and shape is written, or refused without a file.
astropy, fitsio and fitsverify (where it is installed) read the result.
"""

from __future__ import annotations

import itertools
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf

KINDS = ("u1", "i1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8")
CODECS = (None, "rice", "gzip", "gzip1", "hcompress", "plio", "none")
SHAPES = ((6, 7), (2, 5, 9), (0,), (3, 0))
BLANK = 100


def pixels_of(kind: str, shape: tuple[int, ...], masked: bool) -> Any:
    """Return numbers that every codec can have, without BLANK and the value that it stands for."""
    count = int(np.prod(shape))
    values = (np.arange(count) % 90).astype(kind).reshape(shape)
    if kind in ("u2", "u4", "u8") and count:
        values.flat[-1] = 60_000
    return np.ma.array(values, mask=np.arange(count).reshape(shape) % 5 == 1) if masked else values


def refused(kind: str, codec: str | None, shape: tuple[int, ...], options: dict[str, Any]) -> bool:
    """Return whether the combination has no meaning."""
    if 0 in shape:  # nothing to compress
        return bool(options.get("blank") is not None and kind in ("f4", "f8"))
    wide, real = kind in ("i8", "u8"), kind in ("f4", "f8")
    if codec in ("rice", "hcompress", "plio") and wide:
        return True
    if codec == "plio" and (real or (kind == "u4" and options.get("blank") is not None)):
        return True  # BLANK stands for 2^31 and more
    if codec == "hcompress" and (min(shape[-2:]) < 4 or len(shape) < 2):
        return True
    return bool(options.get("blank") is not None and real)


def expected_of(values: Any) -> np.ndarray[Any, Any]:
    if np.ma.is_masked(values):
        return np.ma.filled(values.astype("f8"), np.nan)
    return np.asarray(values)


def assert_read_alike(
    path: Path, kind: str, codec: str | None, values: Any, tolerance: float
) -> None:
    """Compare what tachyfits, astropy and fitsio read with what was written."""
    expected = expected_of(values)
    with tf.open(path) as file:
        image = next(hdu for hdu in file if hdu.shape)
        found, index = np.asarray(image[:]), image.index
        assert file.verify().ok
    assert found.shape == expected.shape
    assert np.allclose(
        found.astype("f8"), expected.astype("f8"), rtol=0, atol=tolerance, equal_nan=True
    )
    if tolerance == 0 and not np.ma.is_masked(values):
        assert np.array_equal(found, expected)
    if not expected.size:
        return
    # astropy reads compressed signed bytes as others, and has no BLANK of unsigned integers.
    if kind != "i1" and not (np.ma.is_masked(values) and kind.startswith("u") and kind != "u1"):
        with fits.open(path) as theirs:
            other = np.asarray(theirs[index].data)
        assert np.array_equal(other.astype("f8"), found.astype("f8"), equal_nan=True)
    fitsio = pytest.importorskip("fitsio", reason="LEFT OUT: fitsio is not installed")
    # CFITSIO cannot read these, of which a warning tells.
    unread = codec == "none" or (codec is not None and kind in ("i8", "u8"))
    if kind not in ("i1", "u8") and not unread and not np.ma.is_masked(values):
        other = fitsio.read(str(path), ext=index)
        assert np.array_equal(other.astype("f8"), found.astype("f8"), equal_nan=True)


@pytest.mark.parametrize(("codec", "kind"), [("none", "i2"), ("none", "f4"), ("gzip", "i8")])
def test_tiles_that_cfitsio_cannot_read_are_warned_of(
    codec: str, kind: str, tmp_path: Path
) -> None:
    values = np.arange(64).reshape(8, 8).astype(kind)
    with pytest.warns(tf.TachyfitsWarning, match="CFITSIO, and programs that use it, cannot read"):
        tf.write(tmp_path / "a.fits", values, compress=codec)
    with pytest.warns(tf.TachyfitsWarning, match="CFITSIO, and programs that use it, cannot read"):
        tf.write(tmp_path / "b.fits", [(values, None)], compress=codec)
    tf.write(tmp_path / "plain.fits", values)
    with pytest.warns(tf.TachyfitsWarning, match="CFITSIO, and programs that use it, cannot read"):
        tf.open(tmp_path / "plain.fits")[0].write(tmp_path / "c.fits", compress=codec)


def fitsverify(path: Path) -> None:
    if shutil.which("fitsverify"):
        done = subprocess.run(["fitsverify", "-q", path], capture_output=True, text=True)
        assert "OK" in done.stdout or " 0 errors" in done.stdout, done.stdout


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_combination_of_options_is_written_or_refused(
    kind: str, codec: str | None, tmp_path: Path
) -> None:
    choices = itertools.product(SHAPES, (False, True), (None, BLANK), (False, True), (False, True))
    for number, (shape, masked, blank, checksum, listed) in enumerate(choices):
        values = pixels_of(kind, shape, masked)
        options = {"checksum": checksum, "compress": codec}
        if not listed:
            options["blank"] = blank
        elif blank is not None:
            continue
        path = tmp_path / f"{number}.fits"
        why = f"{shape} masked={masked} blank={blank} checksum={checksum} listed={listed}"
        undefined = masked and values.size and kind not in ("f4", "f8")
        becomes_float = undefined and options.get("blank") is None
        written_kind = "f8" if becomes_float else kind
        try:
            data = [None, (values, {"OBJECT": "x"})] if listed else values
            tf.write(path, data, **options)
        except tf.TachyfitsError:
            assert not path.exists(), why
            assert refused(written_kind, codec, shape, options), why
            continue
        assert not refused(written_kind, codec, shape, options), why
        lossy = written_kind in ("f4", "f8") and codec in ("rice", "hcompress")
        assert_read_alike(path, written_kind, codec, values, 30.0 if lossy else 0.0)
        fitsverify(path)


@pytest.mark.parametrize("kind", ["u1", "i2", "i4", "i8", "u2", "u4"])
@pytest.mark.parametrize("codec", CODECS)
def test_masked_integers_have_blank_in_tiles(kind: str, codec: str | None, tmp_path: Path) -> None:
    if codec in ("rice", "hcompress", "plio") and kind == "i8":
        pytest.skip("no codec of 64 bits")
    values = np.ma.array(np.arange(48, dtype=kind).reshape(6, 8), mask=np.eye(6, 8, dtype=bool))
    blank = BLANK if kind not in ("u2", "u4") else BLANK - (1 << (15 if kind == "u2" else 31))
    tf.write(tmp_path / "t.fits", values, blank=blank, compress=codec)
    image = tf.open(tmp_path / "t.fits")[1 if codec else 0]
    assert np.array_equal(image[:], values.astype("f8").filled(np.nan), equal_nan=True)
    expected = BLANK if codec == "plio" else blank
    assert image.scaling.blank == expected


@pytest.mark.parametrize("kind", ["u2", "u4"])
def test_unsigned_masks_are_read_alike_by_astropy_and_cfitsio(kind: str, tmp_path: Path) -> None:
    fitsio = pytest.importorskip("fitsio", reason="LEFT OUT: fitsio is not installed")
    values = np.array([[1, 2, 40_000, 65_535], [0, 0, 7, 0]], kind)
    path = tmp_path / "t.fits"
    tf.write(path, values, compress="plio")
    for found in (tf.open(path)[1][:], fits.getdata(path, 1), fitsio.read(str(path), ext=1)):
        assert found.tolist() == values.tolist()
    if kind == "u4":
        with pytest.raises(tf.TachyfitsError, match="16777215"):
            tf.write(path, values + np.uint32(1 << 24), compress="plio", overwrite=True)
