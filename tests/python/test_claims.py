"""Claims of a file are compared with its bytes before memory, disk or time is taken for them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import claims

WORKER = Path(claims.__file__)

#: A call takes this much at most of a file of some kilobytes, in MiB and in seconds.
MOST_GROWN, MOST_SECONDS = 150, 20


@pytest.mark.parametrize("kind", claims.KINDS)
def test_claims_of_a_file_take_neither_memory_nor_disk_nor_time(kind: str, tmp_path: Path) -> None:
    paths = os.pathsep.join([str(WORKER.parent), *filter(None, sys.path)])
    run = subprocess.run(
        [sys.executable, str(WORKER), kind],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    lines = [json.loads(line) for line in run.stdout.splitlines()]
    assert run.returncode == 0, f"{lines[-1:]} {run.stderr[-1000:]}"
    calls = [line for line in lines if "name" in line]
    assert len(calls) > 5
    # Room on the disk is reserved first, and of such sizes it would be refused as io-write.
    faults = [
        line
        for line in calls
        if line["grown"] > MOST_GROWN
        or line["seconds"] > MOST_SECONDS
        or ":" in line["code"]
        or line["code"] == "io-write"
    ]
    assert not faults, "\n".join(str(fault) for fault in faults)
