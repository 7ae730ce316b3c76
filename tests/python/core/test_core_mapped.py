"""Files truncated while they are read through a map, and signals of other origin.

Each case is a process of its own, as some of them end by the signal.
"""

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from astropy.io import fits

import tachyfits as tf

HEAD = """
import faulthandler, os, signal, sys
import numpy as np
import tachyfits as tf

def cut(path, size):
    os.truncate(path, size)

def touch_a_map_of_another():
    with open("other.bin", "wb") as file:
        file.write(bytes(100_000))
    other = np.memmap("other.bin", "u1", "r")
    cut("other.bin", 0)
    return int(other.sum())

def use_a_map():
    with tf.open("image.fits", storage="mmap") as file:
        return file[0].stats().count
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    pixels = np.ones((1000, 1000), ">f4")
    fits.PrimaryHDU(pixels).writeto(tmp_path / "image.fits")
    return tmp_path


def run(folder: Path, body: str) -> "subprocess.CompletedProcess[str]":
    program = HEAD + textwrap.dedent(body)
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("size", [0, 2_000_000, 4_002_879])
def test_a_file_cut_under_its_map_is_an_error_that_says_so(folder: Path, size: int) -> None:
    done = run(
        folder,
        f"""
        file = tf.open("image.fits", storage="mmap")
        cut("image.fits", {size})
        try:
            file[0].stats()
        except tf.IoError as error:
            print(error.code, error)
        """,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("io-short ")
    assert f"the file ends at {size}" in done.stdout


def test_every_reader_of_a_truncated_file_raises(folder: Path) -> None:
    done = run(
        folder,
        """
        tf.fortran.write("records.unf", np.ones(500_000))
        fits_image = tf.open("image.fits", storage="mmap")[0]
        records = tf.fortran.open("records.unf", storage="mmap")
        cut("image.fits", 2_000_000)
        cut("records.unf", 2_000_000)
        for take in (
            lambda: fits_image[...],
            lambda: fits_image.sum(axis="y"),
            lambda: fits_image.median(),
            lambda: fits_image.smooth("hanning", axis="x").write("smooth.fits"),
            lambda: tf.evaluate("a + a", a=fits_image).write("sum.fits"),
            lambda: records.read("f8"),
        ):
            try:
                print(take())
            except tf.TachyfitsError as error:
                print(error.code)
        """,
    )
    assert (done.returncode, done.stdout.split()) == (0, ["io-short"] * 6), done.stderr
    assert not [name for name in ("smooth.fits", "sum.fits") if (folder / name).exists()]


def test_the_rest_of_a_truncated_file_is_readable_after_reopening(
    folder: Path,
) -> None:
    # Until then other changes to the file cannot be ruled out.
    done = run(
        folder,
        """
        file = tf.open("image.fits", storage="mmap")
        cut("image.fits", 2_000_000)
        try:
            file[0].select(section=np.s_[:100]).stats()
        except tf.IoError as error:
            print(error.code)
        print(tf.open("image.fits", storage="mmap")[0].select(section=np.s_[:100]).stats().sum)
        """,
    )
    assert (done.returncode, done.stdout.split()) == (0, ["io-changed", "100000.0"]), done.stderr


@pytest.mark.parametrize("when", ["never", "before", "after"])
def test_a_fault_in_a_map_of_another_ends_the_process_as_without_us(
    folder: Path, when: str
) -> None:
    done = run(
        folder,
        f"""
        if "{when}" == "before":
            faulthandler.enable()
        assert use_a_map() == 1_000_000
        if "{when}" == "after":
            faulthandler.enable()
            assert use_a_map() == 1_000_000
        touch_a_map_of_another()
        """,
    )
    assert done.returncode == -signal.SIGBUS
    expected = 0 if when == "never" else 1
    assert done.stderr.count("Fatal Python error: Bus error") == expected


def test_a_sent_signal_keeps_its_effect(folder: Path) -> None:
    sent = run(folder, "use_a_map(); os.kill(os.getpid(), signal.SIGBUS)")
    assert sent.returncode == -signal.SIGBUS
    ignored = run(
        folder,
        """
        signal.signal(signal.SIGBUS, signal.SIG_IGN)
        use_a_map()
        os.kill(os.getpid(), signal.SIGBUS)
        print("here")
        """,
    )
    assert (ignored.returncode, ignored.stdout) == (0, "here\n"), ignored.stderr
    taken = run(
        folder,
        """
        signal.signal(signal.SIGBUS, lambda *_: print("taken"))
        use_a_map()
        os.kill(os.getpid(), signal.SIGBUS)
        os.kill(os.getpid(), signal.SIGBUS)
        """,
    )
    assert (taken.returncode, taken.stdout) == (0, "taken\n" * 2), taken.stderr


def test_a_large_file_gives_the_same_bits_from_the_page_cache_and_from_copies(
    tmp_path: Path,
) -> None:
    # Large enough that the storage measures whether lending its bytes is faster.
    pixels = np.random.default_rng(5).normal(size=(17, 1000, 1000)).astype(">f4")
    pixels[3, 5, 7] = np.nan
    path = tmp_path / "large.fits"
    fits.PrimaryHDU(pixels).writeto(path)
    found = {}
    for storage in ("auto", "pread"):
        with tf.open(path, storage=storage) as file:
            image = file[0]
            stats = image.stats()
            smooth = tmp_path / f"{storage}.fits"
            image.smooth("hanning", axis="z").write(smooth)
            found[storage] = (
                (stats.count, stats.sum, stats.std, stats.min_position),
                image.select(section=np.s_[:, 10:900:3, ::-2]).stats().sum,
                image.median(),
                image[5:2:-1, 500].tobytes(),
                smooth.read_bytes(),
            )
            if storage == "auto":
                report = image.stats().report
                assert report is not None
                assert report.buffering in ("borrowed", "inline")
    assert found["auto"] == found["pread"]
