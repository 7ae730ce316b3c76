"""Exceptions, progress, cancelling, Ctrl-C, and what the module says of itself."""

from __future__ import annotations

import doctest
import errno
import itertools
import os
import pickle
import runpy
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf
from tachyfits import _core

#: write(path, pixels, **keywords)
Write = Callable[..., Path]

KINDS = (_core.IoError, _core.FormatError, _core.UsageError, _core.LimitError)


@pytest.fixture(scope="module")
def large(write: Write, tmp_path_factory: pytest.TempPathFactory) -> _core.Image:
    """Give 1.6 GB of pixels in a sparse file, which take some time to add up."""
    path = tmp_path_factory.mktemp("large") / "large.fits"
    write(path, np.ones((1, 1), np.uint8))
    header = path.read_bytes()[:2880]
    sizes = ((b"NAXIS1  =                    1", 40000), (b"NAXIS2  =                    1", 40000))
    for card, size in sizes:
        header = header.replace(card, card[:10] + f"{size:>20}".encode())
    with path.open("wb") as file:
        file.write(header)
        file.truncate(2880 + -(-(40000**2) // 2880) * 2880)
    return _core.FitsFile.open(path).hdu(0).image()


def test_an_hdu_without_axes_has_no_image(tmp_path: Path) -> None:
    fits.PrimaryHDU().writeto(tmp_path / "a.fits")
    hdu = _core.FitsFile.open(tmp_path / "a.fits").hdu(0)
    assert not hdu.has_image
    with pytest.raises(_core.UsageError, match="NAXIS = 0"):
        hdu.image()


@pytest.mark.filterwarnings("ignore:Invalid 'BLANK' keyword")
def test_cards_about_pixels_give_warnings_too(write: Write, tmp_path: Path) -> None:
    path = write(tmp_path / "a.fits", np.zeros(3, np.float32), BLANK=7)
    (warning,) = _core.FitsFile.open(path).warnings
    assert "BLANK" in warning


def test_each_kind_is_also_a_built_in_one() -> None:
    assert issubclass(_core.IoError, OSError)
    assert all(issubclass(kind, ValueError) for kind in KINDS[1:])
    assert all(issubclass(kind, _core.TachyfitsError) for kind in KINDS)
    assert issubclass(_core.TachyfitsWarning, UserWarning)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "no.fits"
    with pytest.raises(OSError, match="no such file") as raised:
        _core.FitsFile.open(path)
    error = raised.value
    assert isinstance(error, _core.IoError)
    assert error.code == "io-not-found"
    assert (error.errno, error.filename) == (errno.ENOENT, str(path))
    first, hint = str(error).splitlines()
    assert first.startswith(str(path))
    assert hint.startswith("hint: ")
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy), copy.code) == (type(error), str(error), error.code)


def test_a_folder_and_a_file_of_something_else(tmp_path: Path) -> None:
    with pytest.raises(_core.IoError) as raised:
        _core.FitsFile.open(tmp_path)
    assert raised.value.errno == errno.EISDIR
    with pytest.raises(_core.FormatError, match="hint: "):
        _core.FitsFile.open(b"no FITS at all" * 300)


def test_bad_arguments_have_codes_and_hints(cube: Path) -> None:
    file = _core.FitsFile.open(cube)
    image = file.hdu(0).image()
    calls = {
        "argument": lambda: _core.FitsFile.open(cube, storage="tape"),
        "no-such-hdu": lambda: file.hdu(-1),
        "no-such-axis": lambda: image.reduce(["sum"], [0, 0]),
        "section": lambda: image.read([(0, 3, 1), (0, 4, 1), (-1, 5, 1)]),
        "statistic": lambda: image.reduce(["mode"], [0]),
        "pixel-kind": lambda: image.read(dtype="int12"),
        "region": lambda: image.reduce(["sum"], [0], regions=[_core.Region.circle(1, 1, 1)]),
        "histogram-range": lambda: image.histogram(1.0, 0.0, 3),
    }
    calls_too = {
        "no-such-hdu": lambda: file.hdu(1),
        "no-such-axis": lambda: image.reduce(["sum"], [3]),
        "section": lambda: image.read([(0, 3, 1)]),
        "region": lambda: _core.Region.circle(1, 1, -1),
        "argument": lambda: image.total(threads=-1),
    }
    negative = [
        lambda: image.reduce(["std"], [0], ddof=-1),
        lambda: image.stats()[0].standard_deviation(-1),
        lambda: _core.Region.circle(1, 1, 1).mask(-1, 3),
    ]
    codes = {code for code, _, _ in _core.error_codes()}
    for code, call in [*calls.items(), *calls_too.items(), *(("argument", n) for n in negative)]:
        with pytest.raises(_core.UsageError) as raised:
            call()
        assert raised.value.code == code
        assert code in codes
        assert str(raised.value).splitlines()[-1].startswith("hint: ")
    with pytest.raises(KeyError):
        file.hdu(0).header().get("NOSUCH")


def test_progress_rises_and_ends_at_the_end(large: _core.Image) -> None:
    seen: list[tuple[int, int, float, int]] = []
    here = threading.get_ident()
    large.stats(
        progress=lambda *bytes_: seen.append((*bytes_, time.monotonic(), threading.get_ident()))
    )
    assert seen[-1][:2] == (40000**2, 40000**2)
    assert [done for done, *_ in seen] == sorted(done for done, *_ in seen)
    assert {thread for *_, thread in seen} == {here}
    gaps = [b[2] - a[2] for a, b in itertools.pairwise(seen[:-1])]
    assert all(gap >= 0.05 for gap in gaps)


def test_false_cancels(large: _core.Image) -> None:
    calls = []

    def stop(done: int, total: int) -> bool:
        calls.append(done)
        return False

    with pytest.raises(_core.IoError) as raised:
        large.stats(threads=1, progress=stop)
    assert raised.value.code == "io-cancelled"
    assert len(calls) == 1


def test_an_exception_in_the_progress_function_is_raised(large: _core.Image) -> None:
    def fail(done: int, total: int) -> None:
        raise LookupError("from the callback")

    with pytest.raises(LookupError, match="from the callback"):
        large.total(threads=1, progress=fail)


def test_a_progress_function_may_use_the_same_image(large: _core.Image) -> None:
    seen = []

    def look(done: int, total: int) -> None:
        seen.append(large.total([(0, 1, 1), (0, 4, 1)]))

    assert large.total(threads=2, progress=look) == (40000**2, 0.0)
    assert set(seen) == {(4, 0.0)}


def test_a_cancelled_cutout_leaves_nothing(large: _core.Image, tmp_path: Path) -> None:
    part = large.cut([(0, 40000, 1), (0, 40000, 1)]).hdu(0).image()
    writer = _core.FileWriter(str(tmp_path / "part.fits"))
    with pytest.raises(_core.IoError):
        writer.write_image(part, threads=1, progress=lambda done, total: False)
    writer.discard()
    assert list(tmp_path.iterdir()) == []


def test_control_c_interrupts(large: _core.Image) -> None:
    # A shell that starts tests in the background has Ctrl-C ignored in them.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
    try:
        with pytest.raises(KeyboardInterrupt):
            _add_up_for_a_minute(large, timer)
    finally:
        timer.join()
        signal.signal(signal.SIGINT, before)


def _add_up_for_a_minute(image: _core.Image, timer: threading.Timer) -> None:
    end = time.monotonic() + 60
    timer.start()
    while time.monotonic() < end:
        image.stats(threads=1)


@pytest.mark.parametrize("tier", ["x86-64-v9", ""])
def test_a_tier_that_the_machine_lacks_gives_a_warning_and_fails_no_call(tier: str) -> None:
    program = (
        "import tachyfits as tf; from tachyfits import _core\n"
        "print(_core.build_info()['tier'] == _core.build_info()['tiers'][-1])"
    )
    environment = {**os.environ, "TACHYFITS_TIER": tier}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "True\n"
    assert f'UserWarning: invalid TACHYFITS_TIER "{tier}": expected one of: scalar' in done.stderr


def test_build_info() -> None:
    info = _core.build_info()
    assert set(info) == {"version", "tier", "tiers", "cores", "rustc", "profile"}
    assert info["version"] == _core.__version__
    assert info["tier"] in info["tiers"]
    assert info["rustc"].startswith("rustc ")
    assert info["profile"] in ("release", "debug")


def test_reprs_are_worth_reading(cube: Path) -> None:
    file = _core.FitsFile.open(cube)
    hdu = file.hdu(0)
    image = hdu.image()
    image.total()
    assert repr(file) == f'<FitsFile "{cube}": 1 HDUs, 5760 bytes, auto>'
    assert repr(hdu) == f'<Hdu 0 of "{cube}": primary, axes [5, 4, 3] (FITS order)>'
    assert repr(image) == f'<Image (3, 4, 5) float32 [Jy/beam], HDU 0 of "{cube}">'
    assert repr(hdu.header()).startswith("<Header of HDU 0: ")
    assert repr(image.stats()[0]).startswith("Stats(count=59, nan=1, sum=")
    assert repr(image.histogram(0, 1, 2)) == (
        "<Histogram 2 bins from 0.0 to 1.0: 2 inside, 0 below, 57 above, 1 nan>"
    )
    assert repr(image.stats()[0].report).startswith("Report(bytes=240, ")
    assert repr(_core.Region.circle(1, 2, 0.5)) == "Region.circle(1.0, 2.0, 0.5)"


def test_the_examples_of_the_documentation(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pixels = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
    write(tmp_path / "cube.fits", pixels, BUNIT="Jy/beam")
    # The table of the package's own examples.
    examples = runpy.run_path(str(Path(__file__).parents[3] / "python" / "conftest.py"))
    (tmp_path / "table.fits").write_bytes(examples["example_table"]())
    monkeypatch.chdir(tmp_path)
    finder, runner = doctest.DocTestFinder(), doctest.DocTestRunner()
    documented = [(name, item) for name, item in vars(_core).items() if not name.startswith("_")]
    for name, item in documented:
        members = vars(item).items() if isinstance(item, type) else ()
        for label, thing in [(name, item), *((f"{name}.{key}", value) for key, value in members)]:
            text = getattr(thing, "__doc__", None)
            if text and ">>>" in text:
                runner.run(finder.find(_Documented(text), label)[0])
    text = Path(__file__).with_name("examples.txt").read_text(encoding="utf-8")
    runner.run(doctest.DocTestParser().get_doctest(text, {}, "examples", "examples.txt", 0))
    assert runner.failures == 0
    assert runner.tries > 60


def test_documents_of_private_names_are_one_line() -> None:
    long = []
    for name, item in vars(_core).items():
        if name.startswith("_") or getattr(tf, name, None) is item:
            continue
        members = vars(item).items() if isinstance(item, type) else ()
        for label, thing in [(name, item), *((f"{name}.{key}", value) for key, value in members)]:
            inner = getattr(thing, "__func__", thing)
            text = getattr(inner, "__doc__", None) or ""
            if "__" not in label and "\n" in text.strip():
                long.append(label)
    assert not long, long


class _Documented:
    def __init__(self, text: str) -> None:
        self.__doc__ = text
