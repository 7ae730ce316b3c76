"""Frames of the viewer while an image with a million points is moved: `python -m bench.panning`.

Without a graphics card the processor computes each frame, so the milliseconds of the processes of
Chromium count beside the time from one frame to the next, which depends on what else runs.
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from astropy.io import fits

import tachyfits as tf

SIDE, POINTS, FRAMES = 2000, 1_000_000, 60

#: Moves the image, frame by frame; gives the milliseconds of each.
_PAN = """async ({frames, step, scale}) => {
  const {store, viewer} = tachyfits, times = [];
  viewer.fit();
  if (scale) store.set({scale, centre: [700, 1000]});
  await new Promise(end => setTimeout(end, 1500));
  for (let i = 0; i < frames; i++) {
    const begin = performance.now();
    viewer.pan(i % 60 < 30 ? step : -step, i % 40 < 20 ? 2 : -2);
    await new Promise(end => requestAnimationFrame(end));
    await new Promise(end => setTimeout(end));
    times.push(performance.now() - begin);
  }
  return times;
}"""


def made(folder: Path) -> None:
    """Write an image, and a catalogue of points in its pixels."""
    rng = np.random.default_rng(1)
    fits.writeto(folder / "image.fits", rng.normal(size=(SIDE, SIDE)).astype("f4"))
    places = {name: rng.uniform(1, SIDE, POINTS) for name in "AB"}
    tf.write(folder / "points.fits", places)


def processor() -> float:
    """Return the milliseconds that all processes of Chromium have used."""
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, _, rest = stat.read_text().rpartition(")")
        except OSError:
            continue
        if "chrom" in name or "headless" in name:
            fields = rest.split()
            total += int(fields[11]) + int(fields[12])
    return 10.0 * total


def measured(page: Any, step: int, scale: float) -> str:
    """Move the image; return the medians as a row of a table."""
    before = processor()
    times = page.evaluate(_PAN, {"frames": FRAMES, "step": step, "scale": scale})
    used = (processor() - before) / FRAMES
    return f"{used:.0f} | {statistics.median(times):.0f}"


def main() -> None:
    """Print the table."""
    import uvicorn
    from playwright.sync_api import sync_playwright

    from tachyfits.server.app import create_app
    from tachyfits.server.settings import Settings

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "panning"
        folder.mkdir()
        made(folder)
        app = create_app(Settings(paths=(folder,)))
        server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        arguments = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=arguments
            )
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            page.goto(f"http://127.0.0.1:{port}/#id=panning/image.fits&r=0:point(1,1)")
            page.wait_for_function("() => window.tachyfits?.store.state.dataset")
            time.sleep(3)
            print("| | processor, ms a frame | median frame, ms |\n|---|---|---|")
            print(f"| no catalogue, all of the image | {measured(page, 4, 0)} |")
            page.evaluate(
                "tachyfits.catalogues.add({catalogue: 'panning/points.fits'}, 'points',"
                " {columns: {longitude: 'A', latitude: 'B', frame: 'pixels'}})"
            )
            page.wait_for_function("() => tachyfits.catalogues.layers[0]?.points")
            for label, step, scale in (("all of the image", 4, 0), ("a part, scale 1.5", 12, 1.5)):
                print(f"| a million points, {label} | {measured(page, step, scale)} |")
            browser.close()
        server.should_exit = True
        thread.join()


if __name__ == "__main__":
    main()
