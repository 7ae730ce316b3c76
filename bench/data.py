"""Inputs: the files that the definitions read, where they are, and whether their content is right.

`inputs.toml` says how each file is made. makers.py makes it, in a process of its own (worker.py),
so that neither NumPy nor its memory is part of the harness. Beside each file lies `NAME.json`: the
recipe, the expected answers, and the checksum; a file is made again when its recipe or its bytes
changed.
`NAME.operations.json` keeps what operations on it must give, once that was worked out.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import HERE, ROOT, BenchError, toml
from bench.cache import drop
from bench.definitions import sized
from bench.peers import python_of_peers

#: Free space to leave on the disk, bytes.
RESERVE = 4 << 30

#: The operation of contestants that write the input's own table again.
TABLE = "table"


@dataclass(frozen=True)
class Input:
    """One input file and the recipe that makes it."""

    name: str
    recipe: dict[str, Any]
    path: Path

    @property
    def record(self) -> Path:
        """The file beside it that says how it was made and what the answers are."""
        return self.path.with_suffix(".json")


def folder(chosen: str | None) -> Path:
    """Say where inputs lie: the option, else TACHYFITS_BENCH_DATA, else bench/data."""
    return Path(chosen or os.environ.get("TACHYFITS_BENCH_DATA") or HERE / "data").resolve()


def load(where: Path, *, size: str, file: Path = HERE / "inputs.toml") -> dict[str, Input]:
    """Load all inputs by name; the keys of a recipe's table for this `size` go before its own."""
    inputs = {}
    for name, table in toml.load(file).items():
        recipe = sized(table, size)
        stem = f"{name}-{size}" if size in table else name
        inputs[name] = Input(name, recipe, where / f"{stem}.fits")
    return inputs


def record(source: Input) -> dict[str, Any]:
    """Load what is known of an input that is there: `expected` answers, where its `pixels` lie."""
    contents: dict[str, Any] = json.loads(source.record.read_text())
    return contents


def is_right(source: Input) -> bool:
    """Tell whether the file is there, from this recipe, with the bytes that the maker wrote."""
    try:
        record = json.loads(source.record.read_text())
        status = source.path.stat()
    except (OSError, ValueError):
        return False
    if record.get("recipe") != source.recipe or record.get("bytes") != status.st_size:
        return False
    if record.get("mtime_ns") == status.st_mtime_ns:
        return True
    if record.get("sha256") != checksum(source.path):
        return False
    source.record.write_text(json.dumps(record | {"mtime_ns": status.st_mtime_ns}, indent=1))
    return True


def checksum(path: Path) -> str:
    """Hash a file (SHA-256); of a sparse one of 16 GiB or more only its size and both ends."""
    digest = hashlib.sha256()
    size = path.stat().st_size
    with path.open("rb") as stream:
        if size > 1 << 34:
            digest.update(stream.read(1 << 20))
            stream.seek(size - (1 << 20))
            digest.update(stream.read() + str(size).encode())
        else:
            while block := stream.read(1 << 22):
                digest.update(block)
    return digest.hexdigest()


def ensure(source: Input, say: Any = print) -> None:
    """Make the input unless the right one is there."""
    if is_right(source):
        return
    source.path.parent.mkdir(parents=True, exist_ok=True)
    required = source.recipe.get("gigabytes", 0) * 10**9
    free = free_bytes(source.path)
    if free < required + RESERVE:
        raise BenchError(
            f"{source.path.parent}: {free / 1e9:.1f} GB are free, {source.name} needs "
            f"{required / 1e9:.1f} GB and {RESERVE / 1e9:.1f} GB to spare\n"
            "choose another folder with --data"
        )
    say(f"making {source.path} ...")
    maker_record = in_peers_python("makers", str(source.path), source.recipe)
    status = source.path.stat()
    maker_record |= {
        "recipe": source.recipe,
        "bytes": status.st_size,
        "mtime_ns": status.st_mtime_ns,
    }
    maker_record["sha256"] = checksum(source.path)
    source.record.write_text(json.dumps(maker_record, indent=1))
    # The page cache then has what reading puts there, in this run as in those that find the file.
    drop(source.path)


def remove(source: Input) -> None:
    """Delete an input, for want of room on the disk, but keep what is known of it."""
    source.path.unlink(missing_ok=True)


def operation(inputs: list[Input], name: str, say: Any = print) -> dict[str, Any]:
    """Give what an operation of operations.py on these inputs must answer.

    It is computed on first use, and again when an input or the code changed. Maps to compare with
    are beside the first input.
    """
    if name == TABLE:
        return {name: described_table(inputs[0].path)["answer"]}
    cache_path = inputs[0].path.with_suffix(".operations.json")
    code = (HERE / "operations.py").read_bytes() + (HERE / "outputs.py").read_bytes()
    source = [record(item)["sha256"] for item in inputs] + [hashlib.sha256(code).hexdigest()]
    cached_answers: dict[str, Any] = (
        json.loads(cache_path.read_text()) if cache_path.exists() else {}
    )
    arrays = arrays_of(inputs[0], name)
    cached = cached_answers.get(name)
    if cached and cached["source"] == source and (not cached["arrays"] or arrays.exists()):
        return dict(cached["answers"])
    say(f"  working out what {name} must give ...")
    arrays.unlink(missing_ok=True)
    cubes = [
        {"path": str(i.path), "pixels": record(i)["pixels"], "recipe": i.recipe} for i in inputs
    ]
    answers = in_peers_python("operations", name, cubes, str(arrays))
    cached_answers[name] = {"source": source, "answers": answers, "arrays": arrays.exists()}
    cache_path.write_text(json.dumps(cached_answers, indent=1))
    return answers


def check_output(path: Path, source: Input, name: str) -> dict[str, Any]:
    """Describe a file that should be the result of an operation: its `answer`, or the `error`."""
    if name == TABLE:
        return described_table(path)
    arrays = arrays_of(source, name)
    return in_peers_python("outputs", str(path), *([str(arrays)] if arrays.exists() else []))


def described_table(path: Path) -> dict[str, Any]:
    """Describe the table in a file: the `answer`, or the `error`."""
    return in_peers_python("table_outputs", str(path))


def free_bytes(path: Path) -> int:
    """Return the free bytes of the file system of a path, or of its nearest existing parent."""
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free


def arrays_of(source: Input, name: str) -> Path:
    """Name the file for the maps of an operation."""
    return source.path.with_name(f"{source.path.stem}.{name}.npy")


@functools.cache
def _worker(python: str) -> subprocess.Popen[str]:
    """Start worker.py; it ends with this process, whose end closes its input."""
    return subprocess.Popen(
        [python, "-m", "bench.worker"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def in_peers_python(module: str, *arguments: Any) -> dict[str, Any]:
    """Have a module of this package, which needs NumPy, answer in the peers' Python."""
    worker = _worker(python_of_peers())
    assert worker.stdin is not None
    assert worker.stdout is not None
    line = ""
    with contextlib.suppress(BrokenPipeError):
        worker.stdin.write(json.dumps([module, arguments]) + "\n")
        worker.stdin.flush()
        line = worker.stdout.readline()
    if not line:
        hint = "the benchmark's own work needs NumPy; run: python -m bench setup"
        raise BenchError(f"bench.worker ended\n{hint}")
    reply: dict[str, Any] = json.loads(line)
    if "error" in reply:
        raise BenchError(f"{module} failed:\n{reply['error'].strip()}")
    answer: dict[str, Any] = reply["answer"]
    return answer


def file_system(path: Path) -> str:
    """Name the type of the file system that `path`, or its nearest existing parent, lies on."""
    while not path.exists():
        path = path.parent
    best, kind = "", "unknown"
    for line in Path("/proc/mounts").read_text().splitlines():
        _, point, type_, *_ = line.split()
        contains = point == "/" or path == Path(point) or Path(point) in path.parents
        if contains and len(point) >= len(best):
            best, kind = point, type_
    return kind
