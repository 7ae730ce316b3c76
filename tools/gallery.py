"""Draw the pictures of docs/gallery.md: run the commands on that page.

`python tools/gallery.py` writes docs/images/gallery. The cube is tests/data/cubes/ngc6946.fits.xz.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "gallery.md"
PICTURES = ROOT / "docs" / "images" / "gallery"
CUBE = ROOT / "tests" / "data" / "cubes" / "ngc6946.fits.xz"


def commands() -> list[list[str]]:
    """Return the commands of the page, as words."""
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text("utf-8"), re.S)
    lines = "".join(blocks).replace("\\\n", " ").splitlines()
    return [shlex.split(line) for line in lines if line.startswith("tachyfits ")]


def main() -> None:
    """Run each command in a folder with the cube, and keep the pictures."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "ngc6946.fits.xz").symlink_to(CUBE)
        for words in commands():
            print(shlex.join(words))
            subprocess.run([sys.executable, "-m", *words], cwd=folder, check=True)
        for picture in sorted(Path(folder).glob("*.png")):
            (PICTURES / picture.name).write_bytes(picture.read_bytes())


if __name__ == "__main__":
    main()
