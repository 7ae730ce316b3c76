"""A command as a process of its own: what starting, importing and running it costs the processor.

`code` is a Python program, `script` a script beside this interpreter with its arguments, followed
by the input's path. The seconds are user and system time of the process and its threads; the answer
says whether it printed anything.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

from python_runner import Model, Request, serve


def cpu() -> float:
    """Return the processor seconds of all children so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(request: Request) -> dict[str, Any]:
    """Run the command once."""
    if "code" in request:
        command = [sys.executable, "-c", request["code"]]
    else:
        command = [str(Path(sys.executable).parent / request["script"][0])]
        command += [*request["script"][1:], request["path"]]
    before = cpu()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return {"seconds": cpu() - before, "lines": len(done.stdout.splitlines())}


if __name__ == "__main__":
    model = Model(
        run,
        answer=lambda result, request: {"printed": result["lines"] > 0},
        clock=lambda result: result["seconds"],
    )
    serve({"cpu": model}, lambda: f"Python {sys.version.split()[0]}")
