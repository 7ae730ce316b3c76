"""The Rust program for the processors that TIER names, where this machine has one of them."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

#: Tier -> what /proc/cpuinfo must say.
NEEDED = {"baseline": "", "avx2": " avx2 ", "avx512": " avx512bw "}
PROGRAM = Path(sys.argv[1]) / "endian-rust"


def main() -> None:
    """Become the program, or answer that it cannot run."""
    tier = os.environ.get("TIER", "baseline")
    program = PROGRAM if tier == "baseline" else PROGRAM.with_name(f"endian-rust-{tier}")
    if NEEDED[tier] in Path("/proc/cpuinfo").read_text() and program.exists():
        os.execv(program, [str(program), *sys.argv[2:]])
    for _ in sys.stdin:
        print(json.dumps({"unsupported": f"this processor has no {tier}"}), flush=True)


if __name__ == "__main__":
    main()
