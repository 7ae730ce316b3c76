"""Image and spectrum extraction by volume, with the lines of equations 4 to 7 of Eguchi (2013).

The time of an extraction is T = slope V + offset. "On ahead" converts all pixels to the order of
bytes of the machine and then adds them up (NumPy); "just in time" is the server, which decodes a
pixel where it is added. Images are sums along the spectral axis, spectra sums over the sky.
"""

from __future__ import annotations

import json
import shutil
import statistics
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.fits import Fit, fit
from bench.pages import with_error

#: Volumes in GB, and the side of the planes of the cubes.
VOLUMES = (0.5, 1.0, 2.0, 4.0, 8.0)
SIDE = 1024

#: Bytes of a disk that stay free.
SPARE = 3 << 30

#: Runs of each volume, after one that is not counted.
RUNS = 5

#: The heading under which the table is written.
HEADING = "## Image and spectrum extraction by volume"


@dataclass(frozen=True)
class Timed:
    """Runs of one extraction of one volume, in MB and seconds."""

    volume: float
    runs: tuple[float, ...]

    @property
    def mean(self) -> float:
        """The mean of the runs."""
        return statistics.fmean(self.runs)

    @property
    def error(self) -> float:
        """The standard deviation of the runs."""
        return statistics.stdev(self.runs)


def line_of(timed: Sequence[Timed]) -> Fit | None:
    """Fit the line of an extraction; None of fewer than three volumes."""
    return fit("line", [t.volume for t in timed], [t.mean for t in timed], [t.error for t in timed])


def text_of(line: Fit) -> str:
    """Return a line as the paper writes it."""
    slope = with_error(1e3 * line.values["slope"], 1e3 * line.errors["slope"])
    start = with_error(line.values["start"], line.errors["start"])
    return f"({slope}) × 10⁻³ V/MB + ({start}) s"  # noqa: RUF001


def on_ahead(path: Path, offset: int, channels: int, kind: str, first: int) -> float:
    """Return the time in which NumPy converts a cube and then adds it up, plane by plane."""
    begin = time.perf_counter()
    size = SIDE * SIDE
    image: NDArray[np.float64] = np.zeros(size)
    spectrum = []
    with path.open("rb") as file:
        file.seek(offset + 4 * size * first)
        for _ in range(first, channels):
            plane = np.frombuffer(file.read(4 * size), ">f4").astype(np.float32)
            if kind == "image":
                image += plane
            else:
                spectrum.append(plane.sum(dtype=np.float64))
    return time.perf_counter() - begin


def just_in_time(port: int, name: str, channels: int, kind: str, first: int) -> float:
    """Return the time of an answer of the server; it has kept none of the same range."""
    shared_query = {"id": name, "channels": f"{first + 1}:{channels}"}
    if kind == "image":
        path, query = "image", {**shared_query, "collapse": "sum", "error": 0}
    else:
        path, query = "spectrum", {**shared_query, "statistic": "sum"}
    url = f"http://127.0.0.1:{port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
    begin = time.perf_counter()
    with urllib.request.urlopen(url, timeout=600) as answer:
        body = answer.read()
    took = time.perf_counter() - begin
    if kind == "spectrum" and len(json.loads(body)["values"]) != channels - first:
        raise SystemExit(f"{url}: a wrong answer")
    return took


def fitting_volumes(folder: Path, wanted: Sequence[float] = VOLUMES) -> list[float]:
    """Return the volumes whose cubes the disk can hold, one after the other."""
    free = shutil.disk_usage(folder).free - SPARE
    fitting = [volume for volume in wanted if volume * 1e9 * 1.08 < free]
    if len(fitting) < len(wanted):
        print(f"the disk has {free / 1e9:.0f} GB to spare: volumes of {fitting} GB, not {wanted}")
    return fitting


def measured(
    made: Callable[[str, Sequence[int]], Path], serving: Callable[..., object], folder: Path,
    volumes: Sequence[float] = VOLUMES,
) -> dict[tuple[str, str], list[Timed]]:  # fmt: skip
    """Time both extractions in both ways for each volume; each cube is removed after it."""
    timings: dict[tuple[str, str], list[Timed]] = {}
    for volume in fitting_volumes(folder, volumes):
        channels = max(2, round(volume * 1e9 / (4 * SIDE * SIDE)))
        path = made(f"extraction-{volume:g}.fits", (channels, SIDE, SIDE))
        offset = path.stat().st_size - -(-4 * channels * SIDE * SIDE // 2880) * 2880
        try:
            with serving(path) as server:  # type: ignore[attr-defined]
                for kind in ("image", "spectrum"):
                    for mode in ("on ahead", "just in time"):
                        runs = []
                        for first in range(RUNS + 1):
                            if mode == "on ahead":
                                took = on_ahead(path, offset, channels, kind, first)
                            else:
                                took = just_in_time(server.port, path.name, channels, kind, first)
                            # A channel more or less is a part of the volume.
                            runs.append(took * channels / (channels - first))
                        timed = Timed(4e-6 * channels * SIDE * SIDE, tuple(runs[1:]))
                        print(f"{kind:9}{mode:13}{timed.volume:8.0f} MB {timed.mean:8.3f} s")
                        timings.setdefault((kind, mode), []).append(timed)
        finally:
            path.unlink()
    return timings


def table(found: dict[tuple[str, str], list[Timed]], load: str) -> str:
    """Return the section of the page: seconds by volume, and the lines."""
    volumes = [timed.volume for timed in next(iter(found.values()))]
    head = " | ".join(f"{volume:.0f} MB" for volume in volumes)
    lines = [
        HEADING, "",
        f"Seconds, mean of {RUNS} runs with their standard deviation; cached as far as memory "
        f"goes ({load}). Lines as in equations 4 to 7 of Eguchi (2013).", "",
        "```sh", "python -m bench.server --only extraction --write", "```", "",
        f"| | | {head} | T(V) |", f"|---|---|{'---|' * (len(volumes) + 1)}",
    ]  # fmt: skip
    for (kind, mode), timed in found.items():
        cells = " | ".join(with_error(run.mean, run.error) for run in timed)
        line = line_of(timed)
        lines.append(f"| {kind} | {mode} | {cells} | {text_of(line) if line else ''} |")
    return "\n".join(lines) + "\n"
