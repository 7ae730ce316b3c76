"""Use of the viewer for a long time: `python -m bench.soak --minutes 30`, also `make soak`.

A page in Chromium drags regions, plays channels, makes maps and contours, opens and closes images
and catalogues. The memory of the server, of the page's objects and of its process is noted from
time to time, after a garbage collection. The run fails if one of them grows after the first third,
in which caches fill: the server's is small, and the page keeps all tiles of so few channels.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import tachyfits as tf
from bench.dragging import with_sky
from bench.server import DATA, Server, made, serving

#: Images beside each other, and pixels of each.
IMAGES, SHAPE = 3, (40, 256, 256)

#: Samples of a run. Each connection of the tool leaves some 0.2 MB of objects in the page.
SAMPLES = 15

#: MiB for the answers of the server, so that its cache is full after the first rounds.
MEMORY = 48

#: Rows of the catalogue.
ROWS = 50_000

#: Growth that is not a leak: that of the medians of the last third over those of the middle one.
MOST_GROWTH = 1.10

#: Bytes, nodes or listeners below which growth says nothing.
LEAST = {
    "rounds": math.inf,
    "buffers MiB": 3.0,
    "server MiB": 30.0,
    "heap MiB": 3.0,
    "page MiB": 40.0,
    "nodes": 300.0,
    "listeners": 100.0,
}

#: A round of use. Regions stay on the images, which are turned about their middles.
_ROUND = """async () => {
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
}"""

#: Rounds without end, which pause for each sample.
_ROUNDS = """(() => {
  let [go, paused] = [Promise.resolve(), () => {}];
  const soak = window.soak = {rounds: 0, problem: '', go: () => {}};
  soak.pause = () => new Promise(done => {
    go = new Promise(end => { soak.go = end; });
    paused = done;
    if (soak.problem) done();
  });
  addEventListener('error', event => { soak.problem = event.message; });
  addEventListener('unhandledrejection', event => { soak.problem = String(event.reason); });
  const round = ROUND;
  (async () => {
    for (;;) {
      await round();
      soak.rounds += 1;
      paused();
      await go;
    }
  })().catch(error => { soak.problem = String(error); paused(); });
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
        return ", ".join(numbers)

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


def resident_mib(session: Any) -> float:
    """Return the memory of the processes of pages of a browser, which is not of files."""
    processes = session.send("SystemInfo.getProcessInfo")["processInfo"]
    total = 0.0
    for process in processes:
        if process["type"] == "renderer":
            text = Path(f"/proc/{process['id']}/status").read_text(encoding="ascii")
            total += float(text.partition("RssAnon:")[2].split()[0]) / 1024
    return total


@contextlib.contextmanager
def browser_process(folder: str) -> Iterator[str]:
    """Run Chromium alone; give the address of its protocol for tools."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("Chromium is missing (Debian, Ubuntu: sudo apt install chromium)")
    command = [
        chromium, "--headless=new", "--no-sandbox", "--use-angle=swiftshader",
        "--enable-unsafe-swiftshader", "--window-size=1280,800", "--remote-debugging-port=0",
        f"--user-data-dir={folder}", "about:blank",
    ]  # fmt: skip
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    port = Path(folder, "DevToolsActivePort")
    try:
        end = time.monotonic() + 30
        while not (port.exists() and port.read_text(encoding="ascii").strip()):
            if process.poll() is not None or time.monotonic() > end:
                raise SystemExit("Chromium did not start")
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port.read_text(encoding='ascii').split()[0]}"
    finally:
        process.terminate()
        process.wait(20)


def used(server: Server, minutes: float) -> Memory:
    """Use the page for some minutes.

    Rounds run by themselves: while a tool is connected, the page's process grows with each answer,
    though none of its own objects does. One connects for each sample alone.
    """
    from playwright.sync_api import sync_playwright

    names = [f"server-soak-{number}-sky.fits" for number in range(IMAGES)]
    beside = "".join(f"&with=id%3D{name}" for name in names[1:])
    link = f"http://127.0.0.1:{server.port}/#id={names[0]}&ch=20&r=0:circle(128,128,20){beside}"
    script = _ROUNDS.replace("ROUND", _ROUND.replace("NAME_OF_CATALOGUE", repr(catalogue().name)))
    memory = Memory()
    with (
        tempfile.TemporaryDirectory() as folder,
        browser_process(folder) as address,
        sync_playwright() as playwright,
    ):
        seconds = 60 * minutes / SAMPLES
        for sample in range(SAMPLES + 1):
            browser = playwright.chromium.connect_over_cdp(address)
            page = browser.contexts[0].pages[0]
            page.set_default_timeout(120_000)
            if sample == 0:
                page.goto(f"{link}&unit=km/s")
                page.wait_for_function(
                    "n => window.tachyfits?.store.state.beside.length === n", arg=IMAGES - 1
                )
                page.evaluate(script)
            else:
                note_sample(memory, server, page, browser)
                print(f"minute {seconds * sample / 60:g}: {memory.last()}", flush=True)
            browser.close()
            if sample < SAMPLES:
                time.sleep(seconds)
    return memory


def note_sample(memory: Memory, server: Server, page: Any, browser: Any) -> None:
    """Note the memory in use between two rounds; end the run if the page told of a fault."""
    session, of_browser = page.context.new_cdp_session(page), browser.new_browser_cdp_session()

    def value(expression: str) -> Any:
        # Other ways leave objects of the tool in the page.
        options = {"expression": expression, "awaitPromise": True, "returnByValue": True}
        return session.send("Runtime.evaluate", options)["result"].get("value")

    value("soak.pause()")
    session.send("Performance.enable")
    session.send("HeapProfiler.collectGarbage")
    reply = session.send("Performance.getMetrics")["metrics"]
    metrics = {metric["name"]: metric["value"] for metric in reply}
    usage = session.send("Runtime.getHeapUsage")
    memory.note(
        rounds=value("soak.rounds"),
        server_MiB=server.resident_mib(),
        heap_MiB=metrics["JSHeapUsedSize"] / 2**20,
        buffers_MiB=usage["backingStorageSize"] / 2**20,
        page_MiB=resident_mib(of_browser),
        nodes=metrics["Nodes"],
        listeners=metrics["JSEventListeners"],
    )
    problem = value("soak.problem || document.querySelector('#notice:not([hidden])')?.innerText")
    if problem:
        raise SystemExit(f"the page said: {problem}")
    value("soak.go()")


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
    for name, (middle, last) in memory.growth().items():
        values = memory.samples[name]
        print(f"{name:12} first {values[0]:9.1f}  middle {middle:9.1f}  last {last:9.1f}")
    for name in memory.leaks():
        print(f"{name} grew by more than {MOST_GROWTH - 1:.0%} after the first third")
    return 1 if memory.leaks() else 0


if __name__ == "__main__":
    sys.exit(main())
