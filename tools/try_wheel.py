"""Try an installed wheel: its files, the package, the command line, and the server with its page.

`make wheel` runs it with the Python of a new environment, outside the source tree.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request
from pathlib import Path

import numpy as np

import tachyfits as tf

SOURCE = Path(__file__).resolve().parents[1] / "python" / "tachyfits"


def main() -> None:
    """Raise unless everything gives the right answer."""
    if "wheel-test" not in Path(tf.__file__).parts:
        raise SystemExit(f"the wheel is not what is imported: {tf.__file__}")
    check_files(Path(tf.__file__).parent)
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
        check_server(path)
    print(f"tachyfits {tf.__version__} from the wheel works")


def check_files(installed: Path) -> None:
    """Raise unless every file of the package is there as it is in the source: the page, too."""
    names = [
        path.relative_to(SOURCE)
        for path in SOURCE.rglob("*")
        if path.is_file() and path.suffix not in (".pyc", ".so", ".pyd")
    ]
    differing = [
        name.as_posix()
        for name in names
        if not (installed / name).is_file()
        or (installed / name).read_bytes() != (SOURCE / name).read_bytes()
    ]
    required = {"web/index.html", "web/vendor/uPlot.esm.js", "server/notebook.py", "py.typed"}
    if differing or not required <= {name.as_posix() for name in names}:
        raise SystemExit(f"files that the wheel lacks or has changed: {differing[:10]}")
    if not Path(sys.prefix, "share/man/man1/tachyfits.1").is_file():
        raise SystemExit("the wheel lacks the manual page")
    print(f"{len(names)} files of the package are in the wheel")


def check_server(path: Path) -> None:
    """Raise unless the server sends its page, its description and a spectrum."""
    command = [sys.executable, "-u", "-m", "tachyfits", "serve", "--json", str(path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        link = json.loads(process.stdout.readline())["link"]
        spectrum = urllib.parse.urlencode({"id": path.name, "region": "point(1,1)"})
        for name, expected in (
            ("", b"<title>tachyfits</title>"),
            ("main.js", b"import"),
            ("vendor/uPlot.esm.js", b"uPlot"),
            ("openapi.json", b"/api/v1/spectrum"),
            (f"api/v1/spectrum?{spectrum}", b'"values":[0.0,12.0]'),
        ):
            with urllib.request.urlopen(link + name, timeout=60) as answer:
                if expected not in answer.read():
                    raise SystemExit(f"the server's answer to /{name} lacks {expected!r}")
    finally:
        process.terminate()
        process.wait(20)


if __name__ == "__main__":
    main()
