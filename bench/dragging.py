"""From a drag to its spectrum: at the server, and on the screen with one image and with four."""

from __future__ import annotations

import asyncio
import shutil
import statistics
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from astropy.io import fits

#: The cubes have 500 MB each: 500 x 500 pixels, 500 channels.
SHAPE = (500, 500, 500)

IMAGES, STEPS = 4, 40

#: Moves a circle by a pixel, and gives the milliseconds until the chart has all its new spectra.
_DRAG = """async (steps) => {
  const {viewer, store, images, dock} = tachyfits, times = [];
  for (let i = 0; i < steps; i++) {
    const [region] = store.state.regions, begin = performance.now();
    const before = store.state.beside.map(({key}) => images.of(key).curves.get(region.id)?.of);
    viewer.put({...region, values: [201 + i, 220, 30]});
    const text = tachyfits.text(store.state.regions[0]);
    const isNew = ({key}, n) => images.of(key).curves.get(region.id)?.of !== before[n];
    const isDone = () => dock.spectra.curves.get(region.id)?.text === text
      && store.state.beside.every(isNew);
    while (!isDone()) await new Promise(end => setTimeout(end, 1));
    await new Promise(end => requestAnimationFrame(end));
    times.push(performance.now() - begin);
  }
  return times;
}"""


def with_sky(path: Path, turn: float) -> Path:
    """Return a cube turned about its middle, as a file whose header has coordinates."""
    copy = path.with_name(f"{path.stem}-sky.fits")
    if copy.exists():
        return copy
    with fits.open(path, memmap=True) as file:
        header = file[0].header.copy()
        for axis, (kind, value, step) in enumerate(
            (("RA---TAN", 187.7, -1.0), ("DEC--TAN", 12.39, 1.0)), 1
        ):
            header[f"CTYPE{axis}"], header[f"CRVAL{axis}"] = kind, value
            header[f"CDELT{axis}"] = step / 3600
            header[f"CRPIX{axis}"] = (header[f"NAXIS{axis}"] + 1) / 2
        header["CROTA2"], header["RESTFRQ"], header["RADESYS"] = turn, 1.101e11, "ICRS"
        fits.writeto(copy, file[0].data, header)
    return copy


async def at_server(connection: Any, name: str) -> float:
    """Return the median milliseconds of the spectra of a circle that moves."""
    loop, times = asyncio.get_running_loop(), []
    for number in range(STEPS):
        region = f"circle({200 + number},220,30)"
        begin = loop.time()
        status, _ = await connection.get("/api/v1/spectrum", id=name, region=region)
        times.append(1000 * (loop.time() - begin))
        if status != 200:
            raise SystemExit(f"a spectrum: {status}")
    return statistics.median(times[5:])


def on_screen(port: int, names: list[str]) -> float:
    """Return the median milliseconds from a drag to all spectra on the screen."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("Chromium is missing (Debian, Ubuntu: sudo apt install chromium)")
    beside = "".join(f"&with=id%3D{name}" for name in names[1:])
    link = f"http://127.0.0.1:{port}/#id={names[0]}&ch=250&r=0:circle(200,220,30){beside}"
    arguments = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.goto(f"{link}&at=250,250,1&follow=false")
        page.wait_for_function(
            "n => window.tachyfits?.store.state.beside.length === n && tachyfits.dock.chart.plot",
            arg=len(names) - 1,
        )
        page.wait_for_timeout(4000)
        times: list[float] = page.evaluate(_DRAG, STEPS)
        browser.close()
    return statistics.median(times[5:])


async def measured(
    made: Callable[..., Path],
    serving: Callable[..., AbstractContextManager[Any]],
    connect: Callable[[int], Any],
) -> dict[str, float]:
    """Return medians in milliseconds by what was measured."""
    cubes = [
        with_sky(made(f"server-drag-{number}.fits", SHAPE), 15.0 * number)
        for number in range(IMAGES)
    ]
    names = [cube.name for cube in cubes]
    loop = asyncio.get_running_loop()
    with serving(*cubes) as server:
        seconds = {"at the server": await at_server(connect(server.port), names[0])}
        for count in (1, IMAGES):
            milliseconds = await loop.run_in_executor(None, on_screen, server.port, names[:count])
            seconds[f"on the screen, {count} image{'s' if count > 1 else ''}"] = milliseconds
    return seconds
