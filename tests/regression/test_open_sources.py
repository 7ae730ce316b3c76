"""Sources of `tachyfits.open`: paths, bytes, file objects and standard input, compressed or not."""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import mmap
import os
import pickle
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest

import tachyfits as tf
from smallcubes import write_cube

PIXELS = np.arange(120, dtype="f4").reshape(6, 5, 4)


def zstd(content: bytes) -> bytes:
    compressed: bytes = pyarrow.compress(content, codec="zstd", asbytes=True)
    return compressed


COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstd,
}


class Pipe:
    """A stream that cannot seek and gives few bytes at a time."""

    def __init__(self, content: bytes, most: int) -> None:
        self._rest, self._most = io.BytesIO(content), most

    def read(self, size: int = -1) -> bytes:
        return self._rest.read(self._most if size < 0 else min(size, self._most))


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return write_cube(tmp_path_factory.mktemp("open") / "cube.fits", data=PIXELS).read_bytes()


def check(file: tf.File) -> None:
    assert file[0].unit == "Jy/beam"
    np.testing.assert_array_equal(file[0].read(), PIXELS)
    assert file[0].sum() == PIXELS.sum()


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_every_source_is_read_plain_and_compressed(
    compression: str, content: bytes, tmp_path: Path
) -> None:
    packed = COMPRESSIONS[compression](content)
    # The name says nothing: the content does.
    path = tmp_path / "cube.fits"
    path.write_bytes(packed)
    check(tf.open(path))
    check(tf.open(str(path)))
    for given in (packed, bytearray(packed), memoryview(packed), io.BytesIO(packed)):
        check(tf.open(given))
    for most in (1, 7, 1 << 20):
        check(tf.open(Pipe(packed, most)))
    with path.open("rb") as stream:
        check(tf.open(stream))
    with path.open("rb", buffering=0) as stream:
        check(tf.open(stream))
    with path.open("r+b") as stream:
        check(tf.open(stream))
    with tempfile.NamedTemporaryFile() as temporary:
        temporary.write(packed)
        check(tf.open(temporary))
    with zipfile.ZipFile(tmp_path / "cubes.zip", "w") as archive:
        archive.writestr("cube.fits", packed)
        with archive.open("cube.fits") as member:
            check(tf.open(member))
    with tarfile.open(tmp_path / "cubes.tar", "w") as bundle:
        bundle.add(path, "cube.fits")
    with tarfile.open(tmp_path / "cubes.tar") as bundle:
        check(tf.open(bundle.extractfile("cube.fits")))  # type: ignore[arg-type]
    with path.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as bits:
        check(tf.open(bits))
    assert tf.verify(io.BytesIO(packed)).ok == tf.verify(path).ok == tf.open(packed).verify().ok
    assert not tf.diff(path, content)


def test_streams_are_read_from_their_beginning_and_left_where_they_were(content: bytes) -> None:
    stream = io.BufferedRandom(io.BytesIO(content))  # type: ignore[arg-type]
    stream.seek(0, os.SEEK_END)
    check(tf.open(stream))
    assert stream.tell() == len(content)
    with gzip.open(io.BytesIO(gzip.compress(content))) as inflated:
        check(tf.open(inflated))


class Counting(io.BytesIO):
    """A file object that seeks, and counts the bytes that were read."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.bytes = 0

    def getvalue(self) -> bytes:
        raise AssertionError("the content was copied")

    def read(self, size: int | None = -1) -> bytes:
        given = super().read(size)
        self.bytes += len(given)
        return given


class Seeking:
    """A file object of a class outside the standard library."""

    def __init__(self, content: bytes) -> None:
        self.stream = Counting(content)
        self.seekable, self.seek, self.tell = (
            self.stream.seekable, self.stream.seek, self.stream.tell
        )  # fmt: skip

    def read(self, size: int = -1) -> bytes:
        # Fewer bytes than requested, as a network gives them.
        return self.stream.read(min(size, 5000))


def test_objects_that_seek_are_read_on_demand_by_any_number_of_threads(tmp_path: Path) -> None:
    pixels = np.arange(200 * 300 * 40, dtype="f4").reshape(40, 300, 200)
    path = write_cube(tmp_path / "long.fits", data=pixels)
    source = Seeking(path.read_bytes())
    source.seek(77)
    with tf.open(source) as file:
        assert source.stream.bytes <= 70_000
        np.testing.assert_array_equal(file[0][7, 100], pixels[7, 100])
        assert source.stream.bytes <= 140_000
        with ThreadPoolExecutor(4) as pool:
            sums = list(pool.map(lambda _: file[0].sum(threads=3), range(4)))
        assert sums == [pixels.sum(dtype="f8")] * 4
        assert file.storage == "object"
        assert file[0].stats().report.storage == "object"  # type: ignore[union-attr]
        assert tf.verify(source).ok
    assert source.tell() == 77


def test_errors_of_an_object_that_is_read_on_demand_are_those_of_the_operation(
    content: bytes,
) -> None:
    source = Seeking(content)
    image = tf.open(source)[0]

    def fail(size: int) -> bytes:
        raise wrong

    source.read = fail  # type: ignore[method-assign, assignment]
    wrong: BaseException = ConnectionError("the line is down")
    with pytest.raises(tf.IoError, match="the line is down") as caught:
        image.sum()
    assert caught.value.__cause__ is wrong
    wrong = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        image.read()
    source.read = lambda size: b""  # type: ignore[method-assign]
    with pytest.raises(tf.IoError, match="the file ends at"):
        image.median()
    source.read = lambda size: bytes(size + 1)  # type: ignore[method-assign]
    with pytest.raises(tf.IoError, match=r"read\(\d+\) gave \d+ bytes"):
        image.mean()


def test_records_are_read_from_every_source(tmp_path: Path) -> None:
    path = tmp_path / "run.dat"
    tf.fortran.write(path, PIXELS[0], PIXELS[1])
    content = path.read_bytes()
    packed = gzip.compress(content)
    for source in (content, packed, io.BytesIO(content), Seeking(packed), Pipe(content, 9)):
        with tf.fortran.open(source) as file:
            assert len(file) == 2
            assert file.stats("f4").sum == PIXELS[:2].sum()
    assert len(pickle.loads(pickle.dumps(tf.fortran.open(content)))) == 2


@pytest.mark.parametrize("compression", ["bzip2", "xz", "zstd"])
def test_consecutive_streams_are_joined(compression: str, content: bytes) -> None:
    pack = COMPRESSIONS[compression]
    check(tf.open(pack(content[:3000]) + pack(content[3000:])))
    if compression != "zstd":
        check(tf.open(pack(content[:3000]) + bytes(8) + pack(content[3000:]) + bytes(64)))


@pytest.mark.parametrize("compression", [name for name in COMPRESSIONS if name != "plain"])
def test_damaged_content_is_an_error_that_names_the_file(
    compression: str, content: bytes, tmp_path: Path
) -> None:
    packed = COMPRESSIONS[compression](content * 20)
    path = tmp_path / "cut.fits"
    for length in (12, len(packed) // 2, len(packed) - 5):
        path.write_bytes(packed[:length])
        with pytest.raises(tf.IoError, match=r"(?s)cut\.fits: .*hint: ") as caught:
            tf.open(path)
        code = "io-gzip" if compression == "gzip" else "io-compressed"
        assert caught.value.code == code
        assert caught.value.filename == str(path)
        with pytest.raises(tf.IoError, match="<bytes>: "):
            tf.open(packed[:length])
    if compression != "zstd":
        with pytest.raises(tf.IoError):
            tf.open(packed + b"and more")


def test_a_missing_zstd_library_is_named(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = zstd(content)
    for module in ("compression.zstd", "backports.zstd", "zstandard", "pyarrow"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(tf.UsageError, match="pip install zstandard"):
        tf.open(packed)
    check(tf.open(bz2.compress(content)))


def test_invalid_sources_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "cube.fits"
    path.write_bytes(b"SIMPLE")
    with path.open(encoding="ascii") as text, pytest.raises(tf.UsageError, match='mode "rb"'):
        tf.open(text)
    for wrong in (None, 5, np.zeros(3), object()):
        with pytest.raises(tf.UsageError, match="expected a path, bytes or a file object"):
            tf.open(wrong)  # type: ignore[arg-type]

    class Text:
        def read(self, size: int = -1) -> Any:
            return "SIMPLE"

    class Broken:
        def read(self, size: int = -1) -> bytes:
            raise ConnectionError("the line is down")

    class Interrupted:
        def read(self, size: int = -1) -> bytes:
            raise KeyboardInterrupt

    class LaterBroken(Broken):
        first = True

        def read(self, size: int = -1) -> bytes:
            if self.first:
                self.first = False
                return b"SIMPLE  =".ljust(2880)
            return super().read(size)

    with pytest.raises(tf.UsageError, match="read\\(\\) gives str"):
        tf.open(Text())
    for broken in (Broken(), LaterBroken()):
        with pytest.raises(tf.IoError, match="the line is down") as caught:
            tf.open(broken)
        assert isinstance(caught.value.__cause__, ConnectionError)
    with pytest.raises(KeyboardInterrupt):
        tf.open(Interrupted())


def test_errors_of_the_system_are_the_built_in_classes(tmp_path: Path) -> None:
    missing = tmp_path / "missing.fits"
    with pytest.raises(FileNotFoundError) as caught:
        tf.open(missing)
    assert isinstance(caught.value, tf.IoError)
    assert (caught.value.errno, caught.value.filename) == (errno.ENOENT, str(missing))
    assert caught.value.code == "io-not-found"
    again = pickle.loads(pickle.dumps(caught.value))
    assert isinstance(again, FileNotFoundError)
    assert (str(again), again.code) == (str(caught.value), "io-not-found")
    with pytest.raises(IsADirectoryError):
        tf.open(tmp_path)
    plain = tmp_path / "plain.txt"
    plain.write_text("text")
    with pytest.raises(NotADirectoryError):
        tf.open(plain / "cube.fits")
    for action in (tf.verify, tf.repair, tf.edit, tf.fortran.open):
        with pytest.raises(FileNotFoundError):
            action(missing)
    tf.write(tmp_path / "new.fits", PIXELS)
    with pytest.raises(FileExistsError):
        tf.write(tmp_path / "new.fits", PIXELS)
    spectrum = tf.open(tmp_path / "new.fits")[0].spectrum()
    spectrum.write(tmp_path / "new.csv")
    with pytest.raises(FileExistsError):
        spectrum.write(tmp_path / "new.csv")


def test_without_permission_it_is_a_permission_error(tmp_path: Path) -> None:
    path = tmp_path / "mine.fits"
    path.write_bytes(b"SIMPLE")
    path.chmod(0)
    # root may read every file.
    program = """if True:
        import os, sys, tachyfits as tf
        tf.IoError, tf.open
        if os.geteuid() == 0:
            os.setuid(65534)
        try:
            tf.open(sys.argv[1])
        except PermissionError as error:
            print(isinstance(error, tf.IoError), error.filename)
    """
    command = [sys.executable, "-c", program, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["True", str(path)], done.stderr


def test_the_class_follows_from_the_error_number() -> None:
    from tachyfits.base.errors import io_error

    for number, built_in in [
        (errno.EACCES, PermissionError), (errno.EPERM, PermissionError), (errno.EIO, OSError),
    ]:  # fmt: skip
        error = io_error("cube.fits: cannot be opened", "none", "io-open", number=number)
        assert isinstance(error, built_in)
        assert isinstance(error, tf.IoError)
        assert error.errno == number


def test_home_directories_are_expanded(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "cube.fits").write_bytes(content)
    check(tf.open("~/cube.fits"))
    check(tf.open(Path("~/cube.fits")))
    assert tf.verify("~/cube.fits").file == str(tmp_path / "cube.fits")
    tf.open("~/cube.fits")[0].write("~/copy.fits")
    check(tf.open(tmp_path / "copy.fits"))
    tf.open("~/cube.fits")[0].spectrum().write("~/spectrum.csv")
    assert (tmp_path / "spectrum.csv").exists()
    with tf.edit("~/copy.fits") as editor:
        editor[0].header["OBJECT"] = "M 31"
    assert tf.open("~/copy.fits")[0].header["OBJECT"] == "M 31"


def test_bytes_and_files_pickle_and_streams_say_that_they_do_not(
    content: bytes, tmp_path: Path
) -> None:
    check(pickle.loads(pickle.dumps(tf.open(bz2.compress(content)))))
    path = tmp_path / "cube.fits"
    path.write_bytes(lzma.compress(content))
    with path.open("rb") as stream:
        check(pickle.loads(pickle.dumps(tf.open(stream))))
    with pytest.raises(tf.UsageError, match="file object"):
        pickle.dumps(tf.open(Pipe(content, 100)))


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_the_command_line_reads_standard_input(compression: str, content: bytes) -> None:
    for command in ("info", "stats"):
        done = subprocess.run(
            [sys.executable, "-m", "tachyfits", command, "-"],
            input=COMPRESSIONS[compression](content), capture_output=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        text = done.stdout.decode()
        assert "<stdin>" in text
        assert "4 x 5 x 6" in text


def test_python_reads_standard_input(content: bytes) -> None:
    program = "import tachyfits as tf; print(tf.open('-')[0].sum())"
    done = subprocess.run(
        [sys.executable, "-c", program], input=content, capture_output=True, check=False
    )
    assert done.stdout.decode().split() == [str(PIXELS.sum(dtype="f8"))], done.stderr
