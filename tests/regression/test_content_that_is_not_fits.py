"""Compressed content that is not FITS is refused by its first block, and not decompressed."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import tachyfits as tf
from tachyfits import fortran

COMPRESSORS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
}


class Counting(io.RawIOBase):
    """A stream that cannot seek and counts what is read."""

    def __init__(self, content: bytes) -> None:
        self._content = io.BytesIO(content)
        self.count = 0

    def read(self, size: int = -1) -> bytes:
        found = self._content.read(size)
        self.count += len(found)
        return found


@pytest.mark.parametrize("name", COMPRESSORS)
def test_compressed_zeros_are_not_inflated(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "zeros"
    path.write_bytes(COMPRESSORS[name](bytes(80 << 20)))
    # Beyond 64 MiB there would be a temporary file, which could not be written here.
    monkeypatch.setenv("TMPDIR", str(tmp_path / "no such folder"))
    with pytest.raises(tf.FormatError) as caught:
        tf.open(path)
    assert caught.value.code == "not-fits"
    assert [finding.code for finding in tf.verify(path)] == ["not-fits", "not-checked"]


def test_a_stream_that_is_not_fits_is_not_read_on() -> None:
    stream = Counting(bytes(8 << 20))
    with pytest.raises(tf.FormatError) as caught:
        tf.open(stream)
    assert caught.value.code == "not-fits"
    assert stream.count < 1 << 20


@pytest.mark.parametrize("name", COMPRESSORS)
def test_compressed_fits_is_read_whole(name: str, tmp_path: Path) -> None:
    tf.write(tmp_path / "a.fits", np.arange(300_000.0).reshape(300, 1000))
    content = COMPRESSORS[name]((tmp_path / "a.fits").read_bytes())
    image = tf.open(content)[0]
    assert isinstance(image, tf.Image)
    assert image.read()[-1, -1] == 299_999


def test_an_empty_member_before_the_content_is_skipped(tmp_path: Path) -> None:
    tf.write(tmp_path / "a.fits", np.zeros((2, 3)))
    content = gzip.compress(b"") + gzip.compress((tmp_path / "a.fits").read_bytes())
    assert tf.open(content)[0].shape == (2, 3)


def test_compressed_records_are_any_content(tmp_path: Path) -> None:
    path = tmp_path / "records.dat"
    fortran.write(path, np.zeros(100_000))
    with fortran.open(gzip.compress(path.read_bytes())) as file:
        assert file[0].read("f8").shape == (100_000,)
