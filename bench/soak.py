"""Use of the viewer for a long time: `python -m bench.soak --minutes 30`, also `make soak`.

A page in Chromium drags regions, plays channels, makes maps and contours, opens and closes images
and catalogues. The memory of the server, of the page's objects and of its process is noted each
round, after a garbage collection. The run fails if one of them grows after the first third, in
which caches fill: the server's is small, and the page keeps all tiles of so few channels.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import tachyfits as tf
from bench.dragging import with_sky
from bench.server import DATA, Server, made, serving

#: Images beside each other, and pixels of each.
IMAGES, SHAPE = 3, (40, 256, 256)

#: MiB for the answers of the server, so that its cache is full after the first rounds.
MEMORY = 48

#: Rows of the catalogue.
ROWS = 50_000

#: Growth that is not a leak: that of the medians of the last third over those of the middle one.
MOST_GROWTH = 1.10

#: Bytes, nodes or listeners below which growth says nothing.
LEAST = {"server MiB": 30.0, "heap MiB": 3.0, "page MiB": 40.0, "nodes": 300.0, "listeners": 100.0}

#: A round of use. Regions stay on the images, which are turned about their middles.
_CLICK = """(async () => {
  const {store, viewer, channels, images, maps, catalogues} = tachyfits;
  const settled = () => new Promise(end => {
    const look = () => document.querySelector('#stage').getAttribute('aria-busy') === 'false'
      ? end() : setTimeout(look, 20);
    setTimeout(look, 30);
  });
  const random = (low, high) => low + Math.random() * (high - low);
  const [first] = store.state.regions;
  for (let i = 0; i < 15; i++) {
    viewer.put({...first, values: [random(80, 176), random(80, 176), random(3, 30)]});
    await new Promise(end => setTimeout(end, 40));
  }
  for (let i = 0; i < 10; i++) { channels.go(Math.ceil(random(0, 40))); await settled(); }
  viewer.add('ellipse', [random(80, 176), random(80, 176), 12, 7, 30]);
  await settled();
  tachyfits.history.undo();
  await maps.show({operation: 'moment0', first: 10, last: 10 * Math.ceil(random(1, 4))});
  await settled();
  const levels = [Math.ceil(random(0, 3)), 4];
  store.set({contours: {levels, colour: '#7ef0c9', of: {collapse: 'mean'}}});
  await settled();
  store.set({contours: null, layer: {operation: 'channel', first: 1, last: 1}});
  for (let i = 0; i < 8; i++) {
    viewer.zoom(random(0.6, 1.6));
    viewer.pan(random(-60, 60), random(-60, 60));
    await settled();
  }
  viewer.fit();
  await catalogues.add({catalogue: NAME_OF_CATALOGUE}, 'stars');
  await settled();
  catalogues.select(catalogues.current, Math.floor(random(0, 1000)));
  catalogues.remove(catalogues.current);
  for (const tab of ['regions', 'catalogues', 'maps', 'lines', 'plots', 'save', 'image']) {
    tachyfits.panel.show(tab);
    await settled();
  }
  await images.leadNext();
  await settled();
  const {beside} = store.state;
  await images.close(beside[0].key);
  await images.add({id: beside[0].dataset.id});
  store.set({regions: [{...first, values: [128, 128, 20]}]});
  await settled();
})()"""


@dataclass
class Memory:
    """Memory in use after each round, by its name."""

    samples: dict[str, list[float]] = field(default_factory=dict)

    def note(self, **values: float) -> None:
        """Add the numbers of a round."""
        for name, value in values.items():
            self.samples.setdefault(name.replace("_", " "), []).append(value)

    def last(self) -> str:
        """Return the numbers of the last round as a line."""
        numbers = [f"{name} {values[-1]:.1f}" for name, values in self.samples.items()]
        return f"round {len(self.samples['nodes'])}: {', '.join(numbers)}"

    def growth(self) -> dict[str, tuple[float, float]]:
        """Return the medians of the middle and of the last third by name."""
        medians = {}
        for name, values in self.samples.items():
            third = len(values) // 3
            middle, last = values[third : 2 * third], values[-third:]
            medians[name] = (statistics.median(middle), statistics.median(last))
        return medians

    def leaks(self) -> list[str]:
        """Return the names of what grew."""
        return [
            name
            for name, (middle, last) in self.growth().items()
            if last > MOST_GROWTH * middle and last - middle > LEAST[name]
        ]


def catalogue() -> Path:
    """Return a catalogue over the cubes."""
    path = DATA / "soak-stars.fits"
    if not path.exists():
        rng = np.random.default_rng(3)
        positions = {
            "RA": rng.uniform(187.665, 187.735, ROWS),
            "DEC": rng.uniform(12.355, 12.425, ROWS),
        }
        tf.write(path, positions, units={"RA": "deg", "DEC": "deg"})
    return path


def resident_mib(browser: Any) -> float:
    """Return the memory of the processes of pages of a browser, which is not of files."""
    session = browser.new_browser_cdp_session()
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    session.detach()
    total = 0.0
    for process in processes:
        if process["type"] == "renderer":
            text = Path(f"/proc/{process['id']}/status").read_text(encoding="ascii")
            total += float(text.partition("RssAnon:")[2].split()[0]) / 1024
    return total


def used(server: Server, minutes: float) -> Memory:
    """Use the page for some minutes."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("Chromium is missing (Debian, Ubuntu: sudo apt install chromium)")
    names = [f"server-soak-{number}-sky.fits" for number in range(IMAGES)]
    beside = "".join(f"&with=id%3D{name}" for name in names[1:])
    link = f"http://127.0.0.1:{server.port}/#id={names[0]}&ch=20&r=0:circle(128,128,20){beside}"
    arguments = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    call = _CLICK.replace("NAME_OF_CATALOGUE", repr(catalogue().name))
    memory, errors = Memory(), list[str]()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=arguments)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        page.set_default_timeout(120_000)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(f"{link}&unit=km/s")
        page.wait_for_function(
            "n => window.tachyfits?.store.state.beside.length === n", arg=IMAGES - 1
        )
        session = page.context.new_cdp_session(page)
        session.send("Performance.enable")
        ends = time.monotonic() + 60 * minutes
        while time.monotonic() < ends or len(memory.samples.get("nodes", ())) < 9:
            page.evaluate(call)
            session.send("HeapProfiler.collectGarbage")
            reply = session.send("Performance.getMetrics")["metrics"]
            metrics = {metric["name"]: metric["value"] for metric in reply}
            memory.note(
                server_MiB=server.resident_mib(),
                heap_MiB=metrics["JSHeapUsedSize"] / 2**20,
                page_MiB=resident_mib(browser),
                nodes=metrics["Nodes"],
                listeners=metrics["JSEventListeners"],
            )
            if len(memory.samples["nodes"]) % 25 == 0:
                print(memory.last(), flush=True)
            if errors:
                raise SystemExit(f"the page said: {errors[:3]}")
            notice = page.locator("#notice")
            if notice.is_visible():
                raise SystemExit(f"the page said: {notice.inner_text()}")
        browser.close()
    return memory


def main() -> int:
    """Use the page, and print what was in use."""
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    arguments = parser.parse_args()
    cubes = [
        with_sky(made(f"server-soak-{number}.fits", SHAPE), 15.0 * number)
        for number in range(IMAGES)
    ]
    with serving(*cubes, catalogue(), "--memory", str(MEMORY)) as server:
        memory = used(server, arguments.minutes)
    print(f"{len(memory.samples['nodes'])} rounds in {arguments.minutes:g} minutes")
    for name, (middle, last) in memory.growth().items():
        values = memory.samples[name]
        print(f"{name:12} first {values[0]:9.1f}  middle {middle:9.1f}  last {last:9.1f}")
    for name in memory.leaks():
        print(f"{name} grew by more than {MOST_GROWTH - 1:.0%} after the first third")
    return 1 if memory.leaks() else 0


if __name__ == "__main__":
    sys.exit(main())
