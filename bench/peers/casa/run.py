"""CASA, through its Python packages, on images of its own kind.

The inputs become CASA images before the clock starts, unless the step measures that conversion, and
stay for the next request of a definition. Results become FITS files for the check, off the clock.
CASA needs its measures and a configuration in the home folder: this process gets its own home
folder, and the tables of the package casadata, so that nothing is fetched from the network.
"""

from __future__ import annotations

import os
import shutil
import sys
from importlib.metadata import version as version_of
from importlib.util import find_spec
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

from python_runner import Model, Request, serve

CONFIGURATION = """
measurespath = {data!r}
datapath = [{data!r}]
measures_auto_update = False
data_auto_update = False
nologger = True
nologfile = True
logfile = "/dev/null"
log2term = False
telemetry_enabled = False
crashreporter_enabled = False
"""


def configure(build: Path) -> None:
    """Make the home folder and its configuration; to be called before CASA is imported."""
    found = find_spec("casadata")
    if found is None or found.origin is None:
        raise ModuleNotFoundError("the package casadata is missing")
    home = build / "home"
    (home / ".casa").mkdir(parents=True, exist_ok=True)
    text = CONFIGURATION.format(data=str(Path(found.origin).parent / "__data__"))
    (home / ".casa" / "config.py").write_text(text)
    os.environ["HOME"] = str(home)
    os.chdir(home)  # logs and other leavings


def image_of(path: str, request: Request) -> str:
    """Name the CASA image of an input."""
    return str(Path(request["scratch"]) / f"{Path(path).stem}.image")


def result_of(request: Request) -> str:
    """Name the CASA image of the result."""
    return str(Path(request["scratch"]) / "result.image")


def prepare(request: Request) -> None:
    """Have the inputs as CASA images, and no result."""
    for path in filter(None, (request["path"], request["second"])):
        image = image_of(path, request)
        if not Path(image).exists():
            importfits(fitsimage=path, imagename=image)
    shutil.rmtree(result_of(request), ignore_errors=True)


def prepare_nothing(request: Request) -> None:
    """Have no image of the input, and no result."""
    for image in (image_of(request["path"], request), result_of(request)):
        shutil.rmtree(image, ignore_errors=True)


def read(request: Request) -> None:
    """Make an image of a FITS file."""
    importfits(fitsimage=request["path"], imagename=result_of(request))


def statistics(request: Request) -> dict[str, object]:
    """Measure an image, without the order statistics that imstat adds."""
    tool = image()
    tool.open(image_of(request["path"], request))
    found = tool.statistics(robust=False)
    tool.done()
    answer = {name: float(found[name][0]) for name in ("sum", "mean", "rms", "min", "max")}
    return {"count": int(found["npts"][0]), **answer}


def pipeline(request: Request) -> None:
    """Do all steps one after another; each result takes the place of the one before it."""
    importfits(fitsimage=request["path"], imagename=image_of(request["path"], request))
    statistics(request)
    add(request)
    for axis in "xyz":
        shutil.rmtree(result_of(request))
        hanning({**request, "axis": axis})


def hanning(request: Request) -> None:
    """Smooth along one axis; `drop` would leave every other sample out."""
    tool = image()
    tool.open(image_of(request["path"], request))
    axis = "xyz".index(request["axis"])
    smooth = tool.hanning(outfile=result_of(request), axis=axis, drop=False, overwrite=True)
    smooth.done()
    tool.done()


def add(request: Request) -> None:
    """Add two images."""
    both = [image_of(request[name], request) for name in ("path", "second")]
    immath(imagename=both, expr="IM0+IM1", outfile=result_of(request))


def export(result: None, request: Request) -> dict[str, object]:
    """Write the result as FITS for the harness to check, and let the image go."""
    exportfits(imagename=result_of(request), fitsimage=request["output"], overwrite=True)
    shutil.rmtree(result_of(request))
    return {}


if __name__ == "__main__":
    configure(Path(sys.argv[1]))
    from casatasks import exportfits, immath, importfits
    from casatools import image

    serve(
        {
            "hanning": Model(hanning, export, prepare),
            "add": Model(add, export, prepare),
            "read": Model(read, export, prepare_nothing),
            "stats": Model(statistics, prepare=prepare),
            "pipeline": Model(pipeline, export, prepare_nothing),
        },
        lambda: f"casatools {version_of('casatools')}, casatasks {version_of('casatasks')}",
    )
