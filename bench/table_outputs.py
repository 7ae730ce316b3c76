"""Tables that were written: which columns they have, and the fingerprints of what is in them.

Binary columns count by what is stored: TSCAL and TNULL say nothing here, but TZERO does where it
makes a type unsigned. Text counts by the integer that it states. This reads what the benchmark
itself has written, tables of one element per field, and refuses anything else.

worker.py runs this, because NumPy and its memory are not part of the harness.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench import BenchError
from bench.tables import BLOCK, CONVENTIONS, TYPES, Fingerprint

#: Rows processed together.
ROWS = 1 << 18


@dataclass(frozen=True)
class Written:
    """The first extension of a file, a table."""

    kind: str
    rows: np.ndarray  # of bytes: (rows, NAXIS1)
    header: dict[str, str]

    def field(self, number: int) -> tuple[str, int, str]:
        """Give the name, first byte and TFORM without a repeat count of 1 of a column from 1."""
        form = self.header[f"TFORM{number}"].strip("' ").removeprefix("1" * (self.kind != "TABLE"))
        start = int(self.header[f"TBCOL{number}"]) - 1 if self.kind == "TABLE" else 0
        return self.header[f"TTYPE{number}"].strip("' "), start, form


def cards(path: Path, at: int) -> tuple[dict[str, str], int]:
    """Read the header that begins at a byte: keywords with the text of their values, its end."""
    values: dict[str, str] = {}
    with path.open("rb") as stream:
        stream.seek(at)
        while True:
            block = stream.read(BLOCK)
            if len(block) < BLOCK:
                raise BenchError(f"{path.name}: it ends in the header that begins at byte {at}")
            for start in range(0, BLOCK, 80):
                line = block[start : start + 80].decode("latin-1")
                if line[:8].rstrip() == "END":
                    return values, stream.tell()
                if line[8:10] == "= ":
                    values.setdefault(line[:8].rstrip(), _value(line[10:]))


def _value(text: str) -> str:
    text = text.strip()
    return text[: text.index("'", 1) + 1] if text[:1] == "'" else text.partition("/")[0].strip()


def opened(path: Path) -> Written:
    """Find the table; the file must end where its header says, and have no data before it."""
    primary, at = cards(path, 0)
    if primary.get("NAXIS") != "0":
        raise BenchError(f"{path.name}: its primary HDU has data")
    header, start = cards(path, at)
    kind = header.get("XTENSION", "").strip("' ")
    if kind not in ("TABLE", "BINTABLE") or header.get("PCOUNT") != "0":
        raise BenchError(f"{path.name}: its first extension is not a plain table but {kind!r}")
    width, count = int(header["NAXIS1"]), int(header["NAXIS2"])
    end = start + width * count
    expected, size = end + -end % BLOCK, path.stat().st_size
    if size != expected:
        raise BenchError(f"{path.name}: it has {size} bytes, its headers ask for {expected}")
    return Written(kind, np.memmap(path, "u1", "r", start, (count, width)), header)


def described(path: Path) -> str:
    """Describe a table: kind, rows, and of each column name, form and fingerprint."""
    table = opened(path)
    parts, at = [f"{table.kind} of {len(table.rows)} rows"], 0
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        jobs = []
        for number in range(1, int(table.header["TFIELDS"]) + 1):
            name, start, form = table.field(number)
            if table.kind == "BINTABLE":
                if form not in TYPES:
                    raise BenchError(f"{path.name}: column {name} has the form {form!r}")
                start, dtype = at, np.dtype(TYPES[form])
                at += dtype.itemsize
            else:
                dtype = np.dtype(f"S{int(form.removeprefix('I'))}")
            zero = float(table.header.get(f"TZERO{number}", 0))
            convention = " unsigned" if zero == CONVENTIONS.get(form, 0) != 0 else ""
            print_ = pool.submit(_fingerprint, table.rows[:, start : start + dtype.itemsize], dtype)
            jobs.append((f"{name} {form}{convention}", print_))
        parts += [f"{heading} {job.result():016x}" for heading, job in jobs]
    if at not in (0, table.rows.shape[1]):
        raise BenchError(f"{path.name}: rows have {table.rows.shape[1]} bytes, their fields {at}")
    return ", ".join(parts)


def _fingerprint(field: np.ndarray, dtype: np.dtype[np.generic]) -> int:
    total = Fingerprint()
    for first in range(0, len(field), ROWS):
        values = np.ascontiguousarray(field[first : first + ROWS]).view(dtype)[:, 0]
        total.add(values.astype("i8") if dtype.kind == "S" else values)
    return total.value


def answer(path: str) -> dict[str, Any]:
    """Answer for a file, with the fault of a wrong one."""
    try:
        return {"answer": described(Path(path))}
    except (BenchError, OSError, ValueError, KeyError) as error:
        return {"error": f"{type(error).__name__}: {error}"}
