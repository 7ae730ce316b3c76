"""Take the pictures of the viewer for the documentation: `python tools/viewer_pictures.py`.

They show the galaxy of the demo, on a desktop in dark and light colours, and on a phone.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import urllib.parse
from pathlib import Path

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[1]
GALAXY = ROOT / "demo-output" / "galaxy.fits"

#: The moment map with its sky grid, two regions and their spectra.
VIEW = "image=moment0,15,75&along=km/s&grid=true&unit=km/s&map=inferno&stretch=asinh"
REGIONS = "&r=0:circle({x},{y},{r})&r=1:ellipse({u},{v},{r},{s},30)"

#: Name, size of the window, colours, whether it is a phone, and the open tab.
PICTURES = (
    ("viewer", (1440, 900), "dark", False, "regions"),
    ("viewer-light", (1440, 900), "light", False, "maps"),
    ("viewer-phone", (390, 844), "dark", True, "image"),
    ("viewer-phone-lying", (844, 390), "dark", True, "image"),
)


def link_of(port: str, width: int, height: int, tab: str) -> str:
    """Return the link of the view, for an image of some size."""
    size = min(width, height)
    places = {
        "x": width // 2, "y": height // 2, "r": size // 10, "u": width // 2 + size // 5,
        "v": height // 2 + size // 8, "s": size // 20,
    }  # fmt: skip
    return f"{port}#id=galaxy.fits&{VIEW}{REGIONS.format(**places)}&sel=1&tab={tab}"


def main() -> int:
    """Take all pictures."""
    if not GALAXY.exists():
        subprocess.run([sys.executable, "-m", "examples.galaxy"], cwd=ROOT, check=True)
    command = [sys.executable, "-u", "-m", "tachyfits", "serve", str(GALAXY), "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    parts = urllib.parse.urlsplit(server.stdout.readline().split()[0])
    address = f"{parts.scheme}://{parts.netloc}/"
    program = shutil.which("chromium") or shutil.which("google-chrome")
    flags = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program, args=flags)
            for name, (width, height), scheme, is_phone, tab in PICTURES:
                context = browser.new_context(
                    viewport={"width": width, "height": height}, color_scheme=scheme,
                    has_touch=is_phone, is_mobile=is_phone,
                    device_scale_factor=2 if is_phone else 1,
                )  # fmt: skip
                page = context.new_page()
                page.goto(f"{address}{parts.query and '?' + parts.query}")
                page.wait_for_function("() => window.tachyfits?.store.state.dataset")
                size = page.evaluate("(({width, height}) => [width, height])"
                                     "(tachyfits.store.state.dataset)")  # fmt: skip
                page.goto("about:blank")
                page.goto(link_of(address, *size, tab))
                page.wait_for_function(
                    "() => window.tachyfits?.store.state.layer.operation === 'moment0'"
                    " && tachyfits.dock.spectra.curves.size > 1"
                )
                page.wait_for_timeout(3000)
                page.screenshot(path=ROOT / "docs" / "images" / f"{name}.png")
                context.close()
            browser.close()
    finally:
        server.terminate()
        server.wait(20)
    return 0


if __name__ == "__main__":
    sys.exit(main())
