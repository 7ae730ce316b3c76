"""fpack: the program as astronomers call it; starting it takes some milliseconds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

from compressed import compressed_answer
from python_runner import Model, Request, serve


def compress(request: Request) -> None:
    """Compress an image: RICE_1, a quarter of the noise as step, dither."""
    Path(request["output"]).unlink(missing_ok=True)
    command = ["fpack", "-r", "-q", "4", "-O", request["output"], request["path"]]
    subprocess.run(command, check=True, capture_output=True)


def version() -> str:
    """Give the version of fpack and of the library."""
    said = subprocess.run(["fpack", "-V"], capture_output=True, text=True, check=True)
    return said.stdout.splitlines()[0]


if __name__ == "__main__":
    serve({"compress": Model(compress, compressed_answer)}, version)
