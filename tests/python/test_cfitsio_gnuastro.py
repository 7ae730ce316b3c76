"""The test scripts of Gnuastro, with its installed programs, while the library checks every read.

`TACHYFITS_GNUASTRO_SOURCE` names a folder of Gnuastro's sources. In the mode `check` the library
compares each served read with CFITSIO's, so the scripts need no expected output beyond their own.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from cfitsioprograms import environment, left_out, library, need

pytestmark = pytest.mark.once

#: Exit status of a script whose input another script has to write first.
SKIPPED = 77

#: Scripts that compile programs, or need the network.
OTHERS = ("lib/", "buildprog/", "during-dev", "prepconf")


def prepared(source: Path, build: Path) -> dict[str, str]:
    """Make a folder that looks like a build of Gnuastro, of installed programs."""
    tests = build / "tests"
    tests.mkdir(parents=True)
    programs = sorted(path.name for path in (source / "bin").iterdir() if path.is_dir())
    for name in programs:
        (build / "bin" / name).mkdir(parents=True)
        installed = shutil.which(f"ast{name}")
        if installed:
            (build / "bin" / name / f"ast{name}").symlink_to(installed)
    for script in (source / "bin" / "script").glob("*.in"):
        installed = shutil.which(f"astscript-{script.stem}")
        if installed:
            (build / "bin" / "script" / f"astscript-{script.stem}").symlink_to(installed)
    variables = {
        "AWK": "awk", "LANG": "C", "LC_NUMERIC": "C", "mkdir_p": "mkdir -p",
        "topsrc": str(source), "topbuild": str(build), "progbdir": str(tests / "progbdir"),
        "progbuilddir": str(tests / "progbdir"), "haslibjpeg": "yes", "hasghostscript": "no",
        "GSL_RNG_SEED": "1", "GSL_RNG_TYPE": "ranlxs1",
    }  # fmt: skip
    subprocess.run(
        ["sh", str(source / "tests" / "prepconf.sh")],
        cwd=tests, env={**os.environ, **variables}, capture_output=True, check=True,
    )  # fmt: skip
    return variables


def results(source: Path, build: Path, mode: str, report: Path) -> dict[str, int]:
    """Return the exit statuses of all scripts; those that lack inputs run again later."""
    variables = prepared(source, build)
    values = {**environment(mode, report), **variables}
    folder = source / "tests"
    scripts = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.sh"))
    codes = {name: SKIPPED for name in scripts if not name.startswith(OTHERS)}
    while True:
        before = list(codes.values())
        for name in [name for name, code in codes.items() if code == SKIPPED]:
            command = ["sh", str(folder / name)]
            answer = subprocess.run(
                command, cwd=build / "tests", env=values, capture_output=True, timeout=600
            )
            codes[name] = answer.returncode
        if before == list(codes.values()):
            return codes


def test_scripts_of_gnuastro_read_as_cfitsio(tmp_path: Path) -> None:
    library()
    need("aststatistics", "awk")
    named = os.environ.get("TACHYFITS_GNUASTRO_SOURCE")
    if not named:
        left_out("Gnuastro's own tests (set TACHYFITS_GNUASTRO_SOURCE to a folder of its sources)")
    source = Path(str(named)).resolve()
    plain = results(source, tmp_path / "plain", "plain", tmp_path / "none")
    assert list(plain.values()).count(0) > 30, plain
    report = tmp_path / "report"
    assert results(source, tmp_path / "check", "check", report) == plain
    text = report.read_text(errors="replace")
    served = re.findall(r": (\d+) calls served", text)
    assert sum(map(int, served)) > 100
    assert "DIFFER" not in text, re.findall(r"^.*DIFFER.*$", text, re.MULTILINE)[:20]
    assert "a fault of tachyfits" not in text
