"""The server under load: `python -m bench.server`, with the pattern of FITSWEBQLSE's stress test.

Client and server share the cores of this machine. The load takes a minute with `--short`, otherwise
five. Inputs are made in `bench/data` once. A missed bar is shown; a wrong or missing reply fails
the run.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import tachyfits as tf
from bench.server_page import Row, machine, put, section

DATA = Path(__file__).parent / "data"

#: The pattern: cubes and sessions, and what each session asks for in a second.
SESSIONS, SPECTRA, FRAMES = 6, 30, 5

#: Connections of a session: as many as browsers open.
CONNECTIONS = 6


def made(name: str, shape: Sequence[int]) -> Path:
    """Return a cube of float32, made in pieces: a pattern and noise."""
    path = DATA / name
    size = 4 * int(np.prod(shape))
    if path.exists() and path.stat().st_size >= size:
        return path
    DATA.mkdir(exist_ok=True)
    cards = [
        f"{'SIMPLE':8}= {'T':>20}",
        f"{'BITPIX':8}= {-32:>20}",
        f"{'NAXIS':8}= {len(shape):>20}",
    ]
    cards += [f"{f'NAXIS{n}':8}= {length:>20}" for n, length in enumerate(reversed(shape), 1)]
    if len(shape) > 2:
        cards += [f"{'CTYPE3':8}= 'FREQ    '", f"{'CRVAL3':8}= {1.1e11:>20}",
                  f"{'CDELT3':8}= {1e6:>20}", f"{'CUNIT3':8}= 'Hz      '"]  # fmt: skip
    header = "".join(f"{card:80}" for card in [*cards, "END"])
    noise = np.random.default_rng(7).normal(size=1 << 22).astype(">f4")
    partial = path.with_suffix(".part")
    with partial.open("wb") as file:
        file.write(f"{header:2880}".encode())
        left = size
        while left:
            piece = noise.tobytes()[: min(left, noise.nbytes)]
            file.write(piece)
            left -= len(piece)
        file.write(bytes(-size % 2880))
    partial.rename(path)
    return path


class Server:
    """A server in a process of its own."""

    def __init__(self, *arguments: str | Path) -> None:
        command = [sys.executable, "-u", "-m", "tachyfits", "serve", *map(str, arguments)]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.port = urllib.parse.urlsplit(line.split()[0]).port or 0
        if not self.port:
            raise SystemExit(f"the server did not start: {line}")

    def resident_mib(self) -> float:
        """Return the memory of the process that is not pages of files."""
        text = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        lines = dict(line.split(":", 1) for line in text.splitlines())
        return float(lines["RssAnon"].split()[0]) / 1024

    def processor_seconds(self) -> float:
        """Return the time that the processor has worked for the process."""
        text = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii")
        user, system = text.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """End it."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)


@contextlib.contextmanager
def serving(*arguments: str | Path) -> Iterator[Server]:
    """Run a server."""
    server = Server(*arguments)
    try:
        yield server
    finally:
        server.stop()


class Connection:
    """A connection that is kept, and asks one question at a time."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def get(self, path: str, **parameters: object) -> tuple[int, bytes]:
        """Return the status and the body of an answer."""
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port, limit=1 << 22)
        reader, writer = self._streams
        query = urllib.parse.urlencode(parameters)
        writer.write(f"GET {path}?{query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
        length = int(head.split("content-length:", 1)[1].split("\r\n", 1)[0])
        return int(head.split(" ", 2)[1]), await reader.readexactly(length)


@dataclass
class Load:
    """Latencies and failures of requests."""

    latencies: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


async def session(port: int, name: str, seconds: float, load: Load, seed: int) -> None:
    """Ask as a user does: drag a region while the channels play."""
    rng = random.Random(seed)
    free: asyncio.Queue[Connection] = asyncio.Queue()
    for _ in range(CONNECTIONS):
        free.put_nowait(Connection(port))
    begin = time.perf_counter()
    times = [(n / SPECTRA, "spectrum") for n in range(int(seconds * SPECTRA))]
    times += [(n / FRAMES, "tile") for n in range(int(seconds * FRAMES))]
    waiting: set[asyncio.Task[None]] = set()
    for at, kind in sorted(times):
        await asyncio.sleep(max(0.0, begin + at - time.perf_counter()))
        task = asyncio.create_task(ask(free, begin + at, kind, name, rng, load))
        waiting.add(task)
        task.add_done_callback(waiting.discard)
    await asyncio.gather(*waiting)


async def ask(
    free: asyncio.Queue[Connection], at: float, kind: str, name: str, rng: random.Random, load: Load
) -> None:
    """Send one request when a connection is free; its time counts from when it was due."""
    x, y, radius = rng.uniform(60, 450), rng.uniform(60, 450), rng.uniform(2, 50)
    channel = rng.randint(1, 256)
    connection = await free.get()
    try:
        if kind == "spectrum":
            region = f"circle({x:.2f},{y:.2f},{radius:.2f})"
            status, body = await connection.get("/api/v1/spectrum", id=name, region=region)
            right = status == 200 and len(json.loads(body)["values"]) == 256
        else:
            status, body = await connection.get(
                "/api/v1/tile", id=name, level=1, x=0, y=0, channel=channel
            )
            right = status == 200 and len(body) > 1000
        if not right:
            load.failures.append(f"{kind}: {status}")
    except (OSError, asyncio.IncompleteReadError, ValueError, IndexError) as error:
        load.failures.append(f"{kind}: {error!r}")
        connection = Connection(connection._port)
    load.latencies.append(time.perf_counter() - at)
    free.put_nowait(connection)


async def under_load(seconds: float) -> list[Row]:
    """Run all sessions at once."""
    cubes = [made(f"server-{n}.fits", (256, 512, 512)) for n in range(SESSIONS)]
    with serving(*cubes) as server:
        warm = Load()
        await asyncio.gather(
            *(session(server.port, cube.name, 2, warm, n) for n, cube in enumerate(cubes))
        )
        memory = [server.resident_mib()]
        load = Load()
        worked = server.processor_seconds()
        begin = time.perf_counter()

        async def watch() -> None:
            while True:
                await asyncio.sleep(5)
                memory.append(server.resident_mib())

        watching = asyncio.create_task(watch())
        await asyncio.gather(
            *(
                session(server.port, cube.name, seconds, load, 99 + n)
                for n, cube in enumerate(cubes)
            )
        )
        took = time.perf_counter() - begin
        worked = server.processor_seconds() - worked
        watching.cancel()
        memory.append(server.resident_mib())
    if load.failures:
        raise SystemExit(f"{len(load.failures)} replies were wrong: {load.failures[:5]}")
    ordered = sorted(load.latencies)
    print(f"{1000 * worked / len(ordered):.2f} ms of the processor for a reply")
    return [
        Row("replies a second", len(ordered) / took, "1/s", 160, at_least=True),
        Row("median", 1000 * statistics.median(ordered), "ms", 50),
        Row("p99", 1000 * ordered[int(0.99 * len(ordered))], "ms", 400),
        Row("memory at the end (the cache may have 512)", memory[-1], "MiB", 512 + 300),
    ]


def drop(path: Path) -> None:
    """Remove a file from the page cache."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


async def timed(port: int, path: str, times: int = 1, **parameters: object) -> float:
    """Return the median time of a request, in seconds; ``#`` in a value is its number."""
    connection = Connection(port)
    seconds = []
    for number in range(times):
        values = {k: str(v).replace("#", str(number + 1)) for k, v in parameters.items()}
        begin = time.perf_counter()
        status, body = await connection.get(path, **values)
        seconds.append(time.perf_counter() - begin)
        if status != 200:
            raise SystemExit(f"{path}: {status} {body[:200]!r}")
    return statistics.median(seconds)


async def large_cube() -> list[Row]:
    """Measure a cube of 4.3 GB: its first tile, and the spectrum of a region."""
    cube = made("server-4g.fits", (1024, 1024, 1024))
    drop(cube)
    rows = []
    with serving(cube) as server:
        begin = time.perf_counter()
        await timed(server.port, "/api/v1/dataset", id=cube.name)
        await timed(server.port, "/api/v1/tile", id=cube.name, level=2, x=0, y=0, channel=500)
        rows.append(Row("first tile of a cold 4.3 GB cube", 1000 * (time.perf_counter() - begin),
                        "ms", 500))  # fmt: skip
        image = tf.open(cube)[0]
        assert isinstance(image, tf.Image)
        engine = []
        for number in range(8):
            begin = time.perf_counter()
            image.spectrum(tf.Box(400 + number, 400, 100, 100))
            engine.append(time.perf_counter() - begin)
        region = "box(401.#,401,100,100)"
        served = await timed(server.port, "/api/v1/spectrum", times=8, id=cube.name, region=region)
        rows.append(Row("spectrum of 100 x 100 x 1024 / the engine's call",
                        served / statistics.median(engine[1:]), "", 1.5))  # fmt: skip
        rows.append(
            Row("the same, in all", 1000 * served, "ms", 1500 * statistics.median(engine[1:]))
        )
    return rows


async def spectral_copy() -> list[Row]:
    """Measure the spectrum of a region of the cube of 4.3 GB from its spectral copy."""
    cube = made("server-4g.fits", (1024, 1024, 1024))
    with tempfile.TemporaryDirectory(dir=DATA) as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        with serving(cube, "--sidecars", "8") as server:
            built = await sidecar(server, cube, "spectral")
            path, box = "/api/v1/spectrum", "box(4#{},401,100,100)"
            first = await timed(server.port, path, id=cube.name, region=box.format(1))
            served = await timed(server.port, path, times=9, id=cube.name, region=box.format(3))
    print(f"the spectral copy of {cube.stat().st_size / 1e9:.1f} GB was built in {built:.0f} s")
    return [
        Row("spectrum of 100 x 100 x 1024 from the copy, first", 1000 * first, "ms", 500),
        Row("the same, while the region is dragged", 1000 * served, "ms", 15),
    ]


async def sidecar(server: Server, path: Path, kind: str) -> float:
    """Wait until a sidecar of a file is complete; return the seconds."""
    connection = Connection(server.port)
    await connection.get("/api/v1/dataset", id=path.name)
    begin = time.perf_counter()
    state = ""
    while state != "complete":
        await asyncio.sleep(1)
        _, body = await connection.get("/api/v1/sidecars", id=path.name)
        state = json.loads(body)[kind]["state"]
        if state == "failed" or time.perf_counter() - begin > 1200:
            raise SystemExit(f"the sidecar: {body!r}")
    return time.perf_counter() - begin


async def large_plane() -> list[Row]:
    """Measure the change of the channel of a plane of 30 000 x 30 000 with its pyramid."""
    plane = made("server-plane.fits", (2, 30000, 30000))
    with tempfile.TemporaryDirectory(dir=DATA) as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        with serving(plane, "--sidecars", "4") as server:
            built = await sidecar(server, plane, "pyramid")
            connection = Connection(server.port)
            _, body = await connection.get("/api/v1/dataset", id=plane.name)
            level = json.loads(body)["levels"] - 3  # about 900 pixels: 4 x 4 tiles on the screen
            positions = [(x, y) for x in range(4) for y in range(4)]
            connections = [Connection(server.port) for _ in range(CONNECTIONS)]
            changes = []
            for channel in (1, 2):
                begin = time.perf_counter()
                await asyncio.gather(*(
                    tiles(connections[n], positions[n::CONNECTIONS], id=plane.name, level=level,
                          channel=channel)
                    for n in range(CONNECTIONS)
                ))  # fmt: skip
                changes.append(time.perf_counter() - begin)
    print(f"the pyramid of {plane.stat().st_size / 1e9:.1f} GB was built in {built:.0f} s")
    return [Row("change of the channel, 30 000 x 30 000", 1000 * changes[-1], "ms", 150)]


async def tiles(
    connection: Connection, positions: list[tuple[int, int]], **parameters: object
) -> None:
    """Ask for some tiles, one after the other."""
    for x, y in positions:
        status, body = await connection.get("/api/v1/tile", x=x, y=y, **parameters)
        if status != 200:
            raise SystemExit(f"a tile: {status} {body[:200]!r}")


#: A server of plain files by the same library and with the same settings.
_PLAIN = """
import sys, uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles
app = Starlette(routes=[Mount("/", StaticFiles(directory=sys.argv[1]))])
uvicorn.run(app, port=int(sys.argv[2]), log_level="error")
"""


async def cutout() -> list[Row]:
    """Compare a cutout of a gigabyte with a plain file."""
    cube = made("server-4g.fits", (1024, 1024, 1024))
    section = "[1:512,1:512,*]"
    loop = asyncio.get_running_loop()
    with serving(cube) as server:
        query = urllib.parse.urlencode({"id": cube.name, "section": section})
        path = f"/api/v1/cutout?{query}"
        rates = [await loop.run_in_executor(None, download, server.port, path) for _ in range(3)]
    plain_file = made("server-1g.fits", (256, 1024, 1024))
    port = server.port + 1
    process = subprocess.Popen([sys.executable, "-c", _PLAIN, str(DATA), str(port)])
    try:
        await asyncio.sleep(3)
        path = f"/{plain_file.name}"
        plains = [await loop.run_in_executor(None, download, port, path) for _ in range(3)]
    finally:
        process.terminate()
        process.wait(10)
    print(f"cutout {max(rates) / 1e6:.0f} MB/s, plain file {max(plains) / 1e6:.0f} MB/s")
    ratio = max(rates) / max(plains)
    return [Row("cutout of a gigabyte / a plain file", ratio, "", 0.7, at_least=True)]


def download(port: int, path: str) -> float:
    """Return the bytes a second of a download that is thrown away."""
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", port)
    begin = time.perf_counter()
    connection.request("GET", path)
    answer = connection.getresponse()
    buffer = bytearray(1 << 20)
    size = 0
    while count := answer.readinto(buffer):
        size += count
    if answer.status != 200 or size != int(answer.headers["Content-Length"]):
        raise SystemExit(f"{path}: {answer.status}, {size} bytes")
    return size / (time.perf_counter() - begin)


async def extraction() -> list[Row]:
    """Measure extraction by volume, and compare the slopes of the fitted lines."""
    from bench import extraction as by_volume

    DATA.mkdir(exist_ok=True)
    timings = by_volume.measured(made, serving, DATA)
    lines = by_volume.table(timings, machine())
    print(lines)
    if _WRITE:
        put(lines)
    rows = []
    for kind in ("image", "spectrum"):
        ahead = by_volume.line_of(timings[kind, "on ahead"])
        ours = by_volume.line_of(timings[kind, "just in time"])
        if ahead is None or ours is None:
            raise SystemExit("a line needs three volumes or more: free some of the disk")
        ratio = ours.values["slope"] / ahead.values["slope"]
        rows.append(Row(f"{kind} extraction, slope / on ahead", ratio, "", 1.0))
    return rows


async def drag() -> list[Row]:
    """Measure the time from a drag of a region to its spectrum."""
    from bench import dragging

    milliseconds = await dragging.measured(made, serving, Connection)
    bars = (50.0, 100.0, 200.0)
    return [
        Row(name, value, "ms", bar)
        for (name, value), bar in zip(milliseconds.items(), bars, strict=True)
    ]


#: Whether the figures are written into the documentation.
_WRITE = False

CASES = {"load": under_load, "cube": large_cube, "copy": spectral_copy, "plane": large_plane,
         "cutout": cutout, "drag": drag, "extraction": extraction}  # fmt: skip

#: Heading and first sentences of the section of a case; extraction has its own.
SECTIONS = {
    "load": (
        "Under load",
        f"The pattern of FITSWEBQLSE's stress test: {SESSIONS} cubes of 256 x 512 x 512 float32, "
        f"and for each a session that asks for {SPECTRA} spectra of random circles and {FRAMES} "
        "tiles a second. The time of a reply counts from when its request was due.",
    ),
    "cube": (
        "A cube of 4.3 GB",
        "The first tile with the description before it, of a file that is not in the page cache; "
        "then the spectrum of a box of 100 x 100 pixels over 1024 channels, and the same call of "
        "the engine without a server.",
    ),
    "copy": (
        "The spectral copy of that cube",
        "The spectrum of such a box from the copy, whose lines of sight are contiguous: the first "
        "time, which opens its chunks, and then while the box moves.",
    ),
    "plane": (
        "A plane of 30 000 x 30 000 pixels",
        "The 16 tiles that a screen shows of another channel, from the pyramid.",
    ),
    "cutout": (
        "A cutout of a gigabyte",
        "The rate of a download of half the rows and columns of a cube, as a share of that of a "
        "plain file of the same size, which Starlette sends with the same settings.",
    ),
    "drag": (
        "From a drag to its spectrum",
        "A circle with a radius of 30 pixels moves over cubes of 500 MB (500 x 500 x 500): the "
        "median of the answers, and of the time until Chromium has drawn the chart, with one image "
        "and with four that are turned on the sky. Drawing has no graphics card here.",
    ),
}


def main() -> int:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.server", description=__doc__)
    parser.add_argument("--short", action="store_true", help="a minute of load in place of five")
    parser.add_argument("--only", choices=CASES, help="one case alone")
    parser.add_argument(
        "--write", action="store_true", help="write the figures into docs/performance/server.md"
    )
    options = parser.parse_args()
    global _WRITE
    _WRITE = options.write
    rows: list[Row] = []
    for name, case in CASES.items():
        if options.only not in (None, name):
            continue
        coroutine = case(60 if options.short else 300) if name == "load" else case()  # type: ignore[operator]
        results = asyncio.run(coroutine)
        rows += results
        if options.write and name in SECTIONS:
            heading, text = SECTIONS[name]
            command = f"python -m bench.server --only {name} --write"
            put(section(heading, command + " --short" * options.short, text, results))
    for row in rows:
        print(row)
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
