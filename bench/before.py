"""Measure this project beside another checkout, interleaved: `python -m bench.before ../other`.

The other checkout, of an earlier commit, has been built by its own `make`; what its peer does not
know is left out. Further words are those of `python -m bench`, such as --only and --repeat, the
rounds in each of two orders. Prints a table of the medians, the slowest row first. Exit status: 0,
or 2 for a mistake in the call.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from bench import HERE, BenchError, data, host, peers, report
from bench import __main__ as program
from bench.definitions import Definition
from bench.measure import Result, Session

#: Begins the names of the other checkout's contestants and peers.
BEFORE = "before: "

#: Peers that are this project, each with the program of the other checkout that does its work; the
#: commands of `process` are those of today, by the other's Python.
OURS = {
    "tachyfits": ("bench/peers/tachyfits", ".venv/bin/python", "run.py"),
    "tachyfits-kernels": ("bench/peers/tachyfits-kernels", "target/release/bench-kernels"),
    "process": (str(HERE / "peers/process"), ".venv/bin/python", "run.py"),
}


def peer_of(other: Path, name: str, today: peers.Peer) -> peers.Peer:
    """Make the peer of the other checkout."""
    folder, program_name, *words = OURS[name]
    run = (str(other / program_name), *words)
    return replace(
        today, name=BEFORE + name, folder=other / folder, run=run, version=(*run, "--version")
    )


def doubled(definition: Definition) -> Definition:
    """Take the contestants of this project alone, each beside itself as it was."""
    pairs = [
        variant
        for contestant in definition.contestants
        if contestant.peer in OURS
        for variant in (
            contestant,
            replace(contestant, name=BEFORE + contestant.name, peer=BEFORE + contestant.peer),
        )
    ]
    return replace(definition, contestants=tuple(pairs), bars=())


def both_ways(
    definition: Definition, measured: Callable[[Definition], dict[str, Result]]
) -> dict[str, Result]:
    """Measure pairs, then with each pair swapped, and put the samples together.

    A contestant that follows one with the same file finds it in the caches. In one order alone, the
    first and the last do so more often than the others.
    """
    results = measured(definition)
    pairs = zip(definition.contestants[1::2], definition.contestants[::2], strict=True)
    swapped = tuple(contestant for pair in pairs for contestant in pair)
    turned = measured(replace(definition, contestants=swapped))
    for name, result in results.items():
        result.samples += turned[name].samples
    return results


def rows(definition: Definition, results: dict[str, Result]) -> list[tuple[float, list[str]]]:
    """Compare the medians: now divided by before, and the cells of a line."""
    table_rows = []
    for name, now in results.items():
        before = results.get(BEFORE + name)
        if before is None or not (now.measured and before.measured):
            continue
        ratio = now.median / before.median
        times = [f"{1e3 * result.median:.4g}" for result in (before, now)]
        table_rows.append((ratio, [definition.name, name, *times, f"{ratio:.2f}"]))
    return table_rows


def compare(other: Path, words: list[str]) -> None:
    """Run the chosen definitions, and print the table."""
    if not (other / ".venv/bin/python").exists():
        raise BenchError(f"{other}: expected a checkout that is built, found no .venv/bin/python")
    options = program.arguments(words)
    peer_table = peers.load()
    peer_table |= {BEFORE + name: peer_of(other, name, peer_table[name]) for name in OURS}
    inputs = data.load(data.folder(options.data), size=options.size)
    sessions = program.Sessions(peer_table)
    table_rows: list[tuple[float, list[str]]] = []
    for definition in map(doubled, program.chosen(options.only, options.size)):
        if definition.timed and definition.contestants:
            print(definition.name, file=sys.stderr, flush=True)
            session = sessions.of(definition)

            def measured(one: Definition, session: Session | None = session) -> dict[str, Result]:
                return program.measure_one(
                    one, peer_table, inputs, options, session, lambda _: None
                )[0]

            table_rows += rows(definition, both_ways(definition, measured))
    sessions.close()
    machine = host.describe()
    print(f"{machine['cpu']}, {machine['date']}: medians in milliseconds")
    lines = [cells for _, cells in sorted(table_rows, reverse=True)]
    print(report.aligned([["definition", "contestant", "before", "now", "now / before"], *lines]))


def main() -> int:
    """Run the command line."""
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        compare(Path(sys.argv[1]).resolve(), sys.argv[2:])
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
