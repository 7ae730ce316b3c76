"""Write the colour maps of the viewer page: matplotlib's, sampled at 33 points.

Run it from the root with the environment's Python: ``python web/colourmaps.py``. The page
interpolates linearly, which stays within two of 255 levels for these maps.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib

#: Names on the page, and in matplotlib.
MAPS = {
    "grey": "gray",
    "viridis": "viridis",
    "inferno": "inferno",
    "magma": "magma",
    "plasma": "plasma",
    "cividis": "cividis",
    "cubehelix": "cubehelix",
    "heat": "afmhot",
    "turbo": "turbo",
    "coolwarm": "coolwarm",
    "red-blue": "RdBu_r",
}

SAMPLES = 33

PAGE = Path(__file__).parents[1] / "python" / "tachyfits" / "web" / "colourmaps.js"


def main() -> None:
    """Write the module."""
    lines = []
    for name, source in MAPS.items():
        samples = [
            matplotlib.colormaps[source](i / (SAMPLES - 1), bytes=True) for i in range(SAMPLES)
        ]
        text = "".join(f"{red:02x}{green:02x}{blue:02x}" for red, green, blue, _ in samples)
        lines.append(f'  "{name}":\n    "{text}",')
    PAGE.write_text(
        "// Colour maps, sampled from matplotlib by web/colourmaps.py: do not edit.\n\n"
        "/** @type {Record<string, string>} */\n"
        "export const SAMPLES = {\n" + "\n".join(lines) + "\n};\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
