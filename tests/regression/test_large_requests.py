"""Headers that claim what the file does not hold, and requests of very many parts."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import tachyfits as tf


def _block(cards: list[str]) -> bytes:
    return "".join(card.ljust(80) for card in [*cards, "END"]).ljust(2880).encode()


def _number(keyword: str, value: object) -> str:
    return f"{keyword:<8}= {value:>20}"


def _claims(rows: int) -> bytes:
    """Return a file of 8.6 kB whose table claims to have these rows."""
    primary = [_number("SIMPLE", "T"), _number("BITPIX", 8), _number("NAXIS", 0)]
    table = [
        "XTENSION= 'BINTABLE'", _number("BITPIX", 8), _number("NAXIS", 2), _number("NAXIS1", 4),
        _number("NAXIS2", rows), _number("PCOUNT", 0), _number("GCOUNT", 1), _number("TFIELDS", 1),
        "TFORM1  = 'J'", "TTYPE1  = 'A'",
    ]  # fmt: skip
    return _block(primary) + _block(table) + bytes(2880)


@contextmanager
def _memory(room: int) -> Iterator[None]:
    """Let the process allocate ``room`` more bytes."""
    with open("/proc/self/statm") as statm:
        used = int(statm.read().split()[0]) * resource.getpagesize()
    old = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + room, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, old)


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")
@pytest.mark.parametrize(
    "rows",
    [
        None,
        slice(None, None, 2),
        slice(None, None, -1),
        slice(2**31 - 1, None, -3),
        range(0, 2**31, 7),
        range(2**31 - 1, 0, -5),
    ],
)
def test_rows_that_are_not_there_take_no_memory(rows: object) -> None:
    table = tf.open(_claims(2**31))[1]
    with _memory(512 << 20):
        for read in (table.read, lambda rows: table.where("A > 0", rows=rows)):
            with pytest.raises(ValueError, match="data-missing"):
                read(rows=rows)


def test_rows_that_are_there_can_be_chosen() -> None:
    table = tf.open(_claims(2**31))[1]
    assert table.read(rows=slice(0, 700, 100))["A"].tolist() == [0] * 7
    assert table.read(rows=range(600, -1, -300))["A"].tolist() == [0] * 3


def _zigzag(corners: int) -> tf.Polygon:
    return tf.Polygon([(float(i % 500), float(i * 7 % 500)) for i in range(corners)])


def test_polygons_of_many_corners_have_the_right_pixels() -> None:
    angle = np.linspace(0, 2 * np.pi, 20_000, endpoint=False)
    circle = tf.Polygon(
        np.column_stack([250 + 200 * np.cos(angle), 250 + 200 * np.sin(angle)]).tolist()
    )
    y, x = np.mgrid[:500, :500]
    distance = np.hypot(x - 250, y - 250)
    mask = circle.mask(500, 500)
    assert mask[distance < 199.9999].all()
    assert not mask[distance > 200.0001].any()


def test_a_mask_of_a_polygon_can_be_stopped() -> None:
    """The progress function sees the rows of a mask, and may end the work."""
    polygon = tf.Polygon([(float(i * 13 % 399), float(i * 7919 % 399)) for i in range(200_000)])
    with tf.options(progress=lambda done, total: False), pytest.raises(tf.IoError) as raised:
        polygon.mask(2000, 2000)
    assert raised.value.code == "io-cancelled"


def test_more_corners_than_any_polygon_has_are_refused() -> None:
    with pytest.raises(tf.UsageError, match="3 to 1048576 corners"):
        tf.Polygon([(0.0, 0.0)] * (2**20 + 1)).mask(3, 3)


def test_more_percentiles_than_make_sense_are_refused() -> None:
    image = tf.open(_image())[0]
    with pytest.raises(tf.UsageError, match="at most 10000 percentiles"):
        image.percentile(np.linspace(0, 100, 10_001).tolist())


def _image() -> bytes:
    header = [
        _number("SIMPLE", "T"), _number("BITPIX", -64), _number("NAXIS", 2),
        _number("NAXIS1", 300), _number("NAXIS2", 200),
    ]  # fmt: skip
    pixels = np.random.default_rng(1).normal(size=60_000)
    pixels[::1000] = np.nan
    data = pixels.astype(">f8").tobytes()
    return _block(header) + data.ljust(-(-len(data) // 2880) * 2880, b"\0")


@pytest.mark.parametrize("count", [3, 23, 24, 25, 3001, 10_000])
def test_any_number_of_percentiles_agrees_with_numpy(count: int) -> None:
    image = tf.open(_image())[0]
    percents = np.random.default_rng(2).uniform(0, 100, count)
    percents[:2] = 0, 100
    found = image.percentile(percents.tolist())
    assert np.array_equal(found, np.nanpercentile(image[:], percents))
    along = image.percentile(percents.tolist(), axis="x")
    assert np.array_equal(along, np.nanpercentile(image[:], percents, axis=1))


@pytest.mark.parametrize("what", ["polygon", "mask", "regions"])
def test_long_regions_are_interrupted(what: str) -> None:
    """Ctrl-C ends the work, unless it is done before."""
    program = """
import signal, sys, numpy as np, tachyfits as tf
from tachyfits import Polygon
corners = [(float(i * 13 % 3999), float(i * 7919 % 3999)) for i in range(200_000)]
polygon = Polygon(corners)
import tempfile, os
path = os.path.join(tempfile.mkdtemp(), 'a.fits')
tf.write(path, np.zeros((4000, 4000), 'u1'))
image = tf.open(path)[0]
work = {
    'polygon': lambda: image.stats(polygon),
    'mask': lambda: polygon.mask(4000, 4000),
    'regions': lambda: image.select([polygon] * 50).histogram(),
}[sys.argv[1]]
# A shell may start background jobs with the signal ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
print('begun', flush=True)
outcome = 'done'
try:
    work()
    # A signal that comes later would end the interpreter in another way.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
except KeyboardInterrupt:
    outcome = 'interrupted'
except tf.TachyfitsError as error:
    outcome = error.code
print(outcome, flush=True)
"""
    process = subprocess.Popen(
        [sys.executable, "-c", program, what], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=60) == 0
    assert process.stdout.read().split()[-1] in ("interrupted", "done", "memory")


_HOSTILE = r"""
import resource, sys, warnings
import numpy as np
import tachyfits as tf

warnings.simplefilter("ignore")

def block(cards):
    text = "".join(card.ljust(80) for card in [*cards, "END"])
    return text.ljust(-(-len(text) // 2880) * 2880).encode()

def number(keyword, value):
    return f"{keyword:<8}= {value:>20}"

def image(bitpix, *axes):
    cards = [number("SIMPLE", "T"), number("BITPIX", bitpix), number("NAXIS", len(axes))]
    cards += [number(f"NAXIS{axis}", length) for axis, length in enumerate(axes, 1)]
    spectral = ["CTYPE3  = 'FREQ'", number("CDELT3", "1E6"), number("CRVAL3", "1E9")]
    return block(cards + (spectral if len(axes) > 2 else [])) + bytes(2880)

def table(width, rows, *cards, kind="BINTABLE"):
    head = [
        f"XTENSION= '{kind:<8}'", number("BITPIX", 8), number("NAXIS", 2), number("NAXIS1", width),
        number("NAXIS2", rows), number("PCOUNT", 0), number("GCOUNT", 1),
    ]
    primary = [number("SIMPLE", "T"), number("BITPIX", 8), number("NAXIS", 0)]
    return block(primary) + block(head + list(cards)) + bytes(2880)

cube = image(-32, 100, 100, 10**9)
long = image(-32, 2 * 10**9, 4)
one = number("TFIELDS", 1)
wide = table(4 * 10**9, 1, one, "TFORM1  = '1000000000J'", "TTYPE1  = 'A'")
bits = table(2**31, 1, one, f"TFORM1  = '{2**34}X'", "TTYPE1  = 'A'")
text = table(4 * 10**9, 9, one, "TFORM1  = 'A4000000000'", number("TBCOL1", 1), kind="TABLE")
empty = table(0, 2**40, one, "TFORM1  = '0J'", "TTYPE1  = 'A'")
nothing = table(0, 2**40, number("TFIELDS", 0))
sizes = table(0, 3, one, "TFORM1  = '0J'", "TTYPE1  = 'A'", "TDIM1   = '(0,1000000000,1000000000)'")
path = sys.argv[1]

def edited():
    with open(path, "wb") as file:
        file.write(long)
    with tf.edit(path) as editor:
        editor[0].pixels[0] = 1

def of(content, hdu=0):
    return tf.open(content)[hdu]

work = {
    "rebin": lambda: of(cube).rebin(x=2).stats(),
    "write": lambda: of(cube).write(path, overwrite=True),
    "copy": lambda: tf.write(path, [of(cube)], overwrite=True),
    "pv": lambda: of(cube).pv([(0, 0), (3, 3)]).stats(),
    "smooth": lambda: of(cube).smooth("boxcar", 3).stats(),
    "moment": lambda: of(cube).moment(0),
    "spectrum": lambda: of(cube).spectrum(),
    "axis": lambda: of(cube).world_axis("z"),
    "index": lambda: of(long)[[0, 1]],
    "pixels": edited,
    "diff wide": lambda: tf.diff(wide, wide),
    "diff bits": lambda: tf.diff(bits, bits),
    "diff text": lambda: tf.diff(text, text),
    "empty read": lambda: of(empty, 1).read(),
    "empty arrow": lambda: of(empty, 1)["A"],
    "empty batches": lambda: [0 for _ in of(empty, 1).batches()],
    "nothing": lambda: of(nothing, 1).read(),
    "sizes": lambda: of(sizes, 1)["A"].shape,
}[sys.argv[2]]
with open("/proc/self/statm") as statm:
    used = int(statm.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (512 << 20), resource.RLIM_INFINITY))
try:
    print(work())
except tf.TachyfitsError as error:
    print(error.code)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits of memory are Linux's")
@pytest.mark.parametrize(
    ("work", "code"),
    [
        ("rebin", "data-missing"),
        ("write", "data-missing"),
        ("copy", "data-missing"),
        ("pv", "data-missing"),
        ("smooth", "data-missing"),
        ("moment", "memory"),
        ("spectrum", "memory"),
        ("axis", "memory"),
        ("index", "memory"),
        ("pixels", "data-missing"),
        ("diff wide", "data-missing"),
        ("diff bits", "data-missing"),
        ("diff text", "data-missing"),
        ("empty read", "keyword-range"),
        ("empty arrow", "keyword-range"),
        ("empty batches", "keyword-range"),
        ("nothing", "keyword-range"),
        ("sizes", "(3, 0)"),
    ],
)
def test_sizes_beyond_the_file_are_errors(work: str, code: str, tmp_path: Path) -> None:
    """Neither an abort, nor a MemoryError, nor work without an end."""
    done = subprocess.run(
        [sys.executable, "-c", _HOSTILE, str(tmp_path / "a.fits"), work],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout.strip()) == (0, code), done.stderr[-500:]
