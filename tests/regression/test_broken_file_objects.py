"""A file object that breaks Python's protocol gives one error: IoError with the code io-read."""

from __future__ import annotations

import gzip
import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tachyfits as tf
from tachyfits import fortran

METHODS = ("read", "seek", "tell", "seekable")
ERRORS = (OSError(5, "Input/output error"), ValueError("closed"), TypeError("odd"), RuntimeError(),
          io.UnsupportedOperation("no"), MemoryError(), AttributeError("gone"),
          AssertionError())  # fmt: skip


class Odd:
    """A file object with some methods replaced."""

    def __init__(self, content: bytes, **replaced: Any) -> None:
        self._file, self._replaced = io.BytesIO(content), replaced

    def _call(self, name: str, *args: Any) -> Any:
        return self._replaced.get(name, getattr(self._file, name))(*args)

    def read(self, size: int = -1) -> Any:
        return self._call("read", size)

    def seek(self, offset: int, whence: int = 0) -> Any:
        return self._call("seek", offset, whence)

    def tell(self) -> Any:
        return self._call("tell")

    def seekable(self) -> Any:
        return self._call("seekable")


def raising(error: Exception) -> Callable[..., Any]:
    def method(*_: Any) -> Any:
        raise error

    return method


def giving(value: Any) -> Callable[..., Any]:
    return lambda *_: value


@pytest.fixture(scope="module")
def contents(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("contents")
    tf.write(folder / "a.fits", np.ones((30, 40)))
    fortran.write(folder / "r.dat", np.ones(30))
    plain = (folder / "a.fits").read_bytes()
    return {"fits": plain, "gzip": gzip.compress(plain), "records": (folder / "r.dat").read_bytes()}


def opened(contents: dict[str, bytes], kind: str, **replaced: Any) -> Any:
    source: Any = Odd(contents[kind], **replaced)
    return fortran.open(source) if kind == "records" else tf.open(source)[0].sum()


@pytest.mark.parametrize("kind", ["fits", "gzip", "records"])
@pytest.mark.parametrize("method", METHODS)
def test_an_error_of_a_method_is_an_io_error(
    contents: dict[str, bytes], kind: str, method: str
) -> None:
    for error in ERRORS:
        # Too little memory is a limit, wherever it is found.
        expected = (
            tf.LimitError if method == "read" and isinstance(error, MemoryError) else tf.IoError
        )
        with pytest.raises(expected) as refused:
            opened(contents, kind, **{method: raising(error)})
        assert refused.value.code == "io-read"
        assert str(error) in str(refused.value)


@pytest.mark.parametrize("position", [None, "x", -1, 1.5, 2**70, True, b"5"])
def test_what_is_no_position_is_an_io_error(contents: dict[str, bytes], position: Any) -> None:
    for kind in contents:
        with pytest.raises(tf.IoError, match=r"tell\(\) gives") as refused:
            opened(contents, kind, tell=giving(position))
        assert refused.value.code == "io-read"


@pytest.mark.parametrize("block", [None, "text", 5, [], memoryview(b"SIMPLE")])
def test_what_is_no_bytes_is_an_error(contents: dict[str, bytes], block: Any) -> None:
    for seekable in (True, False):
        with pytest.raises(tf.TachyfitsError):
            opened(contents, "fits", read=giving(block), seekable=giving(seekable))


def test_a_closed_file_object_is_an_io_error(contents: dict[str, bytes], tmp_path: Path) -> None:
    path = tmp_path / "a.fits"
    path.write_bytes(contents["fits"])
    with path.open("rb") as by_path, tempfile.TemporaryFile() as unnamed:
        pass
    memory = io.BytesIO(contents["fits"])
    memory.close()
    calls: list[Callable[[Any], Any]] = [tf.open, tf.verify, fortran.open]
    for closed in (by_path, unnamed, memory):
        for call in calls:
            with pytest.raises(tf.IoError, match="closed file") as refused:
                call(closed)
            assert refused.value.code == "io-read"


def test_errors_of_other_arguments_stay_theirs(contents: dict[str, bytes]) -> None:
    with pytest.raises(tf.UsageError, match="invalid threads"):
        tf.open(Odd(contents["fits"]), threads="x")  # type: ignore[arg-type]
    with pytest.raises(tf.UsageError, match="invalid storage"):
        tf.open(Odd(contents["fits"]), storage="x")
    assert opened(contents, "fits", seekable=giving(None)) == 1200
    assert opened(contents, "fits", seekable=giving("yes")) == 1200
