"""Framing and records of a Fortran file, as text and JSON."""

from __future__ import annotations

import click

from tachyfits.cli._output import aligned, json_text, say, size_text
from tachyfits.fortran import File
from tachyfits.records import INDEX, subrecords

#: Maximum number of printed rows of the index.
_SHOWN = 20


def tell(file: File, *, order_given: bool, as_json: bool) -> int:
    """Print the framing of a file, its evidence and its records; return the exit status."""
    index, damage = file.index, file.damage
    pieces_of_runs = subrecords(file)
    assumed = file.markers is None and not order_given
    if as_json:
        runs = [dict(zip(INDEX.names or (), row, strict=True)) for row in index.tolist()]
        for run, pieces in zip(runs, pieces_of_runs.tolist(), strict=True):
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
    runs_shown = zip(index[:_SHOWN].tolist(), pieces_of_runs[:_SHOWN].tolist(), strict=True)
    for (first, count, size, offset), pieces in runs_shown:
        last = f"-{first + count}" if count > 1 else ""
        rows.append((f"{first + 1}{last}", str(count), str(size), str(offset), str(pieces)))
    if not (pieces_of_runs > 1).any():
        rows = [row[:-1] for row in rows]
    click.echo(aligned(rows, right=[1, 2, 3, 4]))
    if len(index) > _SHOWN:
        click.echo(f"and {len(index) - _SHOWN} more runs of records of one length (--json has all)")
    if damage is not None:
        say(f"{file.name}: {damage}")
        return 1
    return 0
