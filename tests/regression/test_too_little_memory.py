"""Too little memory is an error of the kind Limit, also where the size comes from a request."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="RLIMIT_AS is of Linux")

#: The process may have 48 MiB more; each work needs one piece of memory that is larger.
_WORK = """
import resource, sys
import tachyfits as tf

path, work = sys.argv[1:]
image = tf.open(path).image()
image.stats()
run = {
    "histogram": lambda: image.histogram(2**24, (0, 1)),
    "percentiles": lambda: image.percentile([10, 90], axis=-1),
    "maxima": lambda: image.max(axis=-1),
    "pixels": lambda: tf.open(path).image().read(dtype="float64"),
}[work]
with open("/proc/self/statm") as statm:
    used = int(statm.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (48 << 20), resource.RLIM_INFINITY))
try:
    run()
    print("done")
except tf.LimitError as error:
    print(error.code)
"""


@pytest.mark.parametrize(
    ("work", "code"),
    [
        ("histogram", "memory"),
        ("percentiles", "memory"),
        ("maxima", "memory"),
        ("pixels", "memory"),
    ],
)
def test_too_little_memory_is_a_limit_error(work: str, code: str, tmp_path: Path) -> None:
    path = tmp_path / "sparse.fits"
    cards = ["SIMPLE  = T", "BITPIX  = 8", "NAXIS   = 2", "NAXIS1  = 8", "NAXIS2  = 8388608", "END"]
    with path.open("wb") as file:
        file.write("".join(f"{card:<80}" for card in cards).ljust(2880).encode())
        file.truncate(2880 + -(-8 * 8388608 // 2880) * 2880)
    done = subprocess.run(
        [sys.executable, "-c", _WORK, str(path), work],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout.strip()) == (0, code), done.stderr[-500:]
