"""The loop that every peer written in Python shares: a request in, one timed run, a reply out.

Only `Model.run` is timed. Preparation (`prepare`: an array that must already be in memory) and
answer (`answer`: the fields that the harness checks, or a file in the form that it can read) are
not.
"""

from __future__ import annotations

import gc
import json
import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Request = dict[str, Any]


@dataclass(frozen=True)
class Model:
    """One operation of a peer; without `answer` the result of `run` is the answer."""

    run: Callable[[Request], Any]
    answer: Callable[[Any, Request], dict[str, Any]] = lambda result, request: result
    prepare: Callable[[Request], None] = lambda request: None
    clock: Callable[[Any], float] | None = None  # the seconds, from a program that times itself
    worked: Callable[[Any], float] | None = None  # its seconds of processor time
    parts: Callable[[Any], dict[str, float]] | None = None  # other numbers, by name
    size: Callable[[Any, Request], int] | None = None  # the bytes that it read or wrote
    hidden: Callable[[Any], float] | None = None  # the share of the I/O hidden behind computing


class Unsupported(Exception):
    """A request beyond this machine or version; not a failure of the peer."""


def plain(value: Any) -> Any:
    """Turn NumPy scalars and arrays into what JSON knows."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value.item() if hasattr(value, "item") else value


def processor_seconds() -> float:
    """Give the processor time of this process so far, and of the programs that it ran."""
    programs = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + programs.ru_utime + programs.ru_stime


def one(models: dict[str, Model], request: Request) -> dict[str, Any]:
    """Run one request; errors become part of the reply."""
    if request["model"] not in models:
        return {"unsupported": f"no model {request['model']!r}; there are {', '.join(models)}"}
    model = models[request["model"]]
    gc.collect()
    try:
        model.prepare(request)
        before = processor_seconds()
        start = time.perf_counter()
        result = model.run(request)
        seconds = time.perf_counter() - start
        worked = processor_seconds() - before
        if model.clock is not None:
            seconds = model.clock(result)
        reply = {"seconds": seconds, "processor_seconds": worked}
        reply["answer"] = plain(model.answer(result, request))
        if model.worked is not None:
            reply["processor_seconds"] = model.worked(result)
        if model.parts is not None:
            reply["parts"] = model.parts(result)
        if model.size is not None:
            reply["bytes"] = model.size(result, request)
        if model.hidden is not None:
            reply["hidden_fraction"] = model.hidden(result)
        return reply
    except Unsupported as error:
        return {"unsupported": str(error)}
    except Exception as error:  # whatever a peer raises belongs in the report, not in a traceback
        return {"error": f"{type(error).__name__}: {error}".splitlines()[0]}


def serve(models: dict[str, Model], version: Callable[[], str]) -> None:
    """Answer requests until end of input; `--version` prints the version instead."""
    if "--version" in sys.argv:
        print(version())
        return
    out = sys.stdout
    sys.stdout = sys.stderr  # a library that prints does not spoil the protocol
    for line in sys.stdin:
        out.write(json.dumps(one(models, json.loads(line))) + "\n")
        out.flush()


def checksum(array: Any, request: Request) -> dict[str, Any]:
    """Check an image read into memory: native order, shape, sum of the pixels' bit patterns."""
    import numpy as np

    flat = np.ascontiguousarray(array).reshape(-1)
    if not flat.dtype.isnative:
        raise TypeError(f"the array is not in native byte order but {flat.dtype.str}")
    bits = flat.view(f"u{flat.dtype.itemsize}").sum(dtype=np.uint64)
    return {"bits": int(bits), "dtype": str(array.dtype), "shape": list(array.shape)}
