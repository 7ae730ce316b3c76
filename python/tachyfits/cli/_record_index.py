"""How a Fortran file is framed and which records it has, for people and JSON."""

from __future__ import annotations

from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from tachyfits.cli._output import aligned, json_text, say, size_text
from tachyfits.records.arrays import INDEX
from tachyfits.records.record_file import File

#: Rows of the index that are shown.
_SHOWN = 20


def tell(file: File, *, order_given: bool, as_json: bool) -> int:
    """Print how a file is framed, why, and the records that it has; return the exit status."""
    index, damage = file.index, file.damage
    subrecords = _subrecords(file, index)
    assumed = file.markers is None and not order_given
    if as_json:
        runs = [dict(zip(INDEX.names or (), row, strict=True)) for row in index.tolist()]
        for run, pieces in zip(runs, subrecords.tolist(), strict=True):
            run |= {"first": run["first"] + 1, "subrecords": pieces}
        click.echo(json_text({
            "file": file.name, "bytes": file.nbytes, "access": file.access,
            "markers": file.markers, "order": file.order, "order_assumed": assumed,
            "reason": file.reason, "evidence": file.evidence, "convention": "records from 1",
            "records": file.whole_records, "damage": damage,
            "skipped": [list(part) for part in file.skipped], "runs": runs,
        }))  # fmt: skip
        return 0 if damage is None else 1
    how = f"{file.markers}-byte markers" if file.markers else f"{file.access} access"
    say_lines = [f"{file.name}: {size_text(file.nbytes)}, {how}, {file.order}-endian, "
                 f"{file.whole_records} whole records"]  # fmt: skip
    if file.reason is not None:
        say_lines.append(f"  decided: {file.reason}")
        say_lines += [f"    {line}" for line in file.evidence]
    elif assumed:
        say_lines.append(
            "  assumed: the byte order is this machine's, because files without markers do not "
            "show "
            "it (--order sets it)"
        )
    click.echo("\n".join(say_lines))
    rows: list[tuple[str, ...]] = [
        ("records (from 1)", "count", "bytes each", "at byte", "subrecords")
    ]
    each = zip(index[:_SHOWN].tolist(), subrecords[:_SHOWN].tolist(), strict=True)
    for (first, count, size, offset), pieces in each:
        last = f"-{first + count}" if count > 1 else ""
        rows.append((f"{first + 1}{last}", str(count), str(size), str(offset), str(pieces)))
    if not (subrecords > 1).any():
        rows = [row[:-1] for row in rows]
    click.echo(aligned(rows, right=[1, 2, 3, 4]))
    if len(index) > _SHOWN:
        click.echo(f"and {len(index) - _SHOWN} more runs of records of one length (--json has all)")
    if damage is not None:
        say(f"{file.name}: {damage}")
        return 1
    return 0


def _subrecords(file: File, index: NDArray[Any]) -> NDArray[np.int64]:
    """Return of how many subrecords the records of each run consist, 1 being a whole one.

    Each further one has two markers more between the first byte and where the next record begins.
    """
    offset, count, size = (index[name].astype(np.int64) for name in ("offset", "records", "bytes"))
    if file.markers is None or not len(index):
        return np.ones(len(index), np.int64)
    markers = 2 * file.markers
    end = np.append(offset[1:], file.nbytes + file.markers)
    for first, stop, _ in file.skipped:
        end[(offset <= first) & (first < end)] -= stop - first
    more = end - offset - count * (size + markers)
    pieces = np.where(count == 1, 1 + np.maximum(more, 0) // markers, 1)
    if file.damage is not None and count[-1] == 1:
        # Bytes after the last record are not a record.
        pieces[-1] = _subrecords_at(file, file.markers, int(offset[-1]))
    return pieces


def _subrecords_at(file: File, markers: int, offset: int) -> int:
    """Return of how many subrecords a whole record consists: one that goes on has a marker < 0."""
    pieces, goes_on = 0, True
    at = offset - markers
    with open(file.name, "rb") as stream:
        while goes_on:
            stream.seek(at)
            marker = int.from_bytes(
                stream.read(markers), "big" if file.order == "big" else "little", signed=True
            )
            pieces += 1
            goes_on = marker < 0
            at += abs(marker) + 2 * markers
    return pieces
