"""Check wheels for Linux: `python tools/check_wheels.py manylinux_2_28 target/wheels`.

auditwheel reads the libraries and the versions of symbols that the compiled module needs. A wheel
that needs a newer system than its name says is an error.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path


def main(platform: str, folder: str) -> int:
    """Check every wheel of a folder; 0 when all may have the platform in their names."""
    wheels = sorted(Path(folder).glob("*.whl"))
    if not wheels:
        print(f"no wheel is in {folder}; to build one: make wheel", file=sys.stderr)
        return 1
    return max(_check(wheel, platform) for wheel in wheels)


def _check(wheel: Path, platform: str) -> int:
    """Check one wheel; 0 when its name and its contents agree."""
    command = [sys.executable, "-m", "auditwheel", "show", str(wheel)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    match = re.search(r'platform tag: "(\w+)"', " ".join(process.stdout.split()))
    tag = match[1] if match else ""
    if (
        process.returncode == 0
        and platform in wheel.name
        and tag
        and _glibc(tag) <= _glibc(platform)
    ):
        print(f"{wheel.name}: runs on {platform} and newer (auditwheel)")
        return 0
    print(
        f"invalid wheel {wheel.name}: expected {platform}, found {tag or 'no tag'}\n"
        f"{process.stdout}{process.stderr}",
        file=sys.stderr,
    )
    return 1


def _glibc(tag: str) -> tuple[int, ...]:
    """Return the version of glibc in a platform tag; of plain linux a high one."""
    version = re.match(r"manylinux_(\d+)_(\d+)", tag)
    return tuple(map(int, version.groups())) if version else (99,)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
