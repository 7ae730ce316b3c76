"""NEMO: fitsccd, ccdstat, ccdmath, ccdsmooth (whose edges are followed by zeros)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

from packages import Package, main

if __name__ == "__main__":
    main(
        Package(
            "nemo",
            "build NEMO in single precision (https://teuben.github.io/nemo), source its start file",
            from_fits=lambda fits, image: ["fitsccd", f"in={fits}", f"out={image}"],
            to_fits=lambda image, fits: ["ccdfits", f"in={image}", f"out={fits}"],
            statistics=lambda image: ["ccdstat", f"in={image}"],
            add=lambda a, b, both: ["ccdmath", f"in={a},{b}", f"out={both}", "fie=%1+%2"],
            hanning=lambda image, smooth, axis: [
                "ccdsmooth", f"in={image}", f"out={smooth}", f"dir={axis}",
                "smooth=0.25,0.5,0.25",
            ],
        )
    )  # fmt: skip
