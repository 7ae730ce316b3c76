"""Packages of programs that work on images of their own kind, where they are found: MIRIAD, NEMO.

A package names the commands of each step. The inputs become its images before the clock starts,
unless the step measures that conversion. Results become FITS files for the check, off the clock.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from python_runner import Model, Request, Unsupported, serve

Words = list[str]


@dataclass(frozen=True)
class Package:
    """The commands of a package; each gets names of files."""

    name: str
    remedy: str
    from_fits: Callable[[str, str], Words]  # the FITS file, the image
    to_fits: Callable[[str, str], Words]  # the image, the FITS file
    statistics: Callable[[str], Words]
    add: Callable[[str, str, str], Words]  # two images, their sum
    hanning: Callable[[str, str, str], Words | None]  # an image, the smooth one, x, y or z


def run(words: Words, request: Request) -> None:
    """Run a program in the folder for what is written."""
    done = subprocess.run(words, cwd=request["scratch"], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{words[0]}: {(done.stderr or done.stdout).strip()[-200:]}")


def removed(path: Path) -> str:
    """Remove an image, which is a file or a folder; its name."""
    shutil.rmtree(path, ignore_errors=True)
    path.unlink(missing_ok=True)
    return path.name


def models(package: Package) -> dict[str, Model]:
    """Make the models of a package."""

    def image_of(path: str) -> str:
        return f"{Path(path).stem}.{package.name}"

    def result(request: Request) -> str:
        return removed(Path(request["scratch"], f"result.{package.name}"))

    def prepare(request: Request) -> None:
        for path in filter(None, (request["path"], request["second"])):
            if not Path(request["scratch"], image_of(path)).exists():
                run(package.from_fits(path, image_of(path)), request)

    def read(request: Request) -> None:
        run(package.from_fits(request["path"], result(request)), request)

    def statistics(request: Request) -> dict[str, object]:
        run(package.statistics(image_of(request["path"])), request)
        return {}

    def add(request: Request) -> None:
        both = (image_of(request[name]) for name in ("path", "second"))
        run(package.add(*both, result(request)), request)

    def hanning(request: Request) -> None:
        words = package.hanning(image_of(request["path"]), result(request), request["axis"])
        if words is None:
            raise Unsupported(f"{package.name} has no such step along {request['axis']}")
        run(words, request)

    def export(_: None, request: Request) -> dict[str, object]:
        removed(Path(request["output"]))
        run(package.to_fits(f"result.{package.name}", request["output"]), request)
        result(request)
        return {}

    return {
        "read": Model(read, export),
        "stats": Model(statistics, prepare=prepare),
        "add": Model(add, export, prepare),
        "hanning": Model(hanning, export, prepare),
    }


def main(package: Package) -> None:
    """Serve a package whose programs are on PATH; say how to get it where they are not."""
    program = package.from_fits("", "")[0]
    if shutil.which(program) is None:
        sys.exit(f"{program} is not on PATH: {package.remedy}")
    serve(models(package), lambda: f"{package.name}, {shutil.which(program)}")
