"""MIRIAD: fits, histo, maths, and hanning, which smooths along the spectral axis alone."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

from packages import Package, main

if __name__ == "__main__":
    main(
        Package(
            "miriad",
            "get MIRIAD (https://www.atnf.csiro.au/computing/software/miriad), run its start file",
            from_fits=lambda fits, image: ["fits", f"in={fits}", "op=xyin", f"out={image}"],
            to_fits=lambda image, fits: ["fits", f"in={image}", "op=xyout", f"out={fits}"],
            statistics=lambda image: ["histo", f"in={image}"],
            add=lambda a, b, both: ["maths", f"exp=<{a}>+<{b}>", f"out={both}"],
            hanning=lambda image, smooth, axis: (
                ["hanning", f"in={image}", f"out={smooth}", "width=3"] if axis == "z" else None
            ),
        )
    )
