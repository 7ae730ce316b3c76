"""Try an installed wheel: write, read, measure and verify a file, from Python and the command line.

`make wheel` runs it with the Python of a new environment, outside the source tree.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import tachyfits as tf


def main() -> None:
    """Raise unless everything gives the right answer."""
    if "wheel-test" not in Path(tf.__file__).parts:
        raise SystemExit(f"the wheel is not what is imported: {tf.__file__}")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "cube.fits"
        cube = np.arange(24, dtype="f4").reshape(2, 3, 4)
        tf.write(path, [(cube, {"BUNIT": "K"}), {"A": [1, 2, 3]}], checksum=True)
        with tf.open(path) as file:
            np.testing.assert_array_equal(file[0][:], cube)
            np.testing.assert_array_equal(file[1]["A"], [1, 2, 3])
            assert file[0].stats().sum == cube.sum()
        for words in (["info"], ["stats", "--json"], ["verify"], ["checksum"]):
            command = [str(Path(sys.executable).with_name("tachyfits")), *words, str(path)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    print(f"tachyfits {tf.__version__} from the wheel works")


if __name__ == "__main__":
    main()
