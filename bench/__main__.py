"""Measure this engine beside its peers: `python -m bench`, run from the repository's root.

Exit status: 0 when no row failed, 1 when one did (with --small only wrong answers count: small
inputs say nothing about speed), 2 for a mistake in the call or a machine that cannot run it.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from pathlib import Path
from typing import Any

from bench import HERE, BenchError, bars, data, definitions, host, measure, peers, report
from bench.definitions import Definition
from bench.measure import Result
from bench.setup import setup


def arguments(words: list[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("command", nargs="?", choices=["run", "setup"], default="run")
    parser.add_argument("--filter", metavar="RE", default="", help="only definitions that match")
    parser.add_argument("--list", action="store_true", help="show definitions, inputs and peers")
    parser.add_argument("--small", action="store_true", help="small inputs: minutes, not an hour")
    parser.add_argument("--repeat", type=int, metavar="N", help="measured rounds (default 5)")
    parser.add_argument("--threads", type=int, metavar="N", help='what "all" means here')
    parser.add_argument("--data", metavar="DIR", help="folder of the input files")
    parser.add_argument("--record", action="store_true", help="keep the results in bench/record")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    options = parser.parse_args(words)
    if options.repeat is not None and options.repeat < 1:
        parser.error("--repeat must be at least 1")
    if options.threads is not None and options.threads < 1:
        parser.error("--threads must be at least 1")
    return options


def chosen(pattern: str) -> list[Definition]:
    """Pick the definitions whose name matches."""
    try:
        matches = re.compile(pattern).search
    except re.error as error:
        raise BenchError(f"--filter {pattern!r}: {error}") from error
    found = [d for d in definitions.load() if matches(d.name)]
    if not found:
        raise BenchError(f"--filter {pattern!r} matches no definition\nsee: python -m bench --list")
    return found


def show(selected: list[Definition], inputs: dict[str, data.Input], known: dict[str, Any]) -> None:
    """Show what there is to run, with what, and what is missing."""
    for definition in selected:
        print(f"{definition.name}: {definition.title}")
        for bar in definition.bars:
            print(f"    row {bar.row}: {bar.claim} ({bar.kind}, limit {bar.limit})")
    lines = [["input", "there", "GB", "path"]]
    for name in sorted({d.input for d in selected if d.input}):
        wanted = inputs[name]
        there = "yes" if data.is_right(wanted) else "no"
        lines.append([name, there, str(wanted.recipe.get("gigabytes", "?")), str(wanted.path)])
    print("\n" + report.aligned(lines) + "\n")
    for peer in known.values():
        reason = peer.missing()
        state = f"MISSING: {reason}" if reason else peer.version_text()
        print(f"{peer.name}: {peer.title}: {state}")


def warnings(where: Path) -> list[str]:
    """List what makes numbers from this machine worth less."""
    found = []
    kind = data.file_system(where)
    if kind in ("tmpfs", "overlay", "nfs", "nfs4", "fuse", "9p"):
        found.append(f"{where} is on {kind}, not on a real local file system; choose with --data")
    load = os.getloadavg()[0]
    if load > 0.5:
        found.append(f"load average is {load:.1f} before the first run: something else is running")
    return found


def measure_one(
    definition: Definition,
    known: dict[str, Any],
    inputs: dict[str, data.Input],
    options: argparse.Namespace,
    say: Any,
) -> tuple[dict[str, Result], int]:
    """Make the input, run one definition; give its results and the size of its input."""
    expected = dict(definition.expected)
    path, size = None, 0
    if definition.input is not None:
        wanted = inputs[definition.input]
        data.ensure(wanted, say)
        path, size = wanted.path, wanted.path.stat().st_size
        expected |= data.expected(wanted)
    available = host.memory("MemAvailable")
    if not options.small and available < definition.memory_gb:
        reason = f"needs {definition.memory_gb:g} GB of memory, {available:.1f} GB are available"
        say(f"  NOT MEASURED: {reason}")
        return {c.name: Result(c, missing=reason) for c in definition.contestants}, size
    results = measure.run(
        definition,
        known,
        path,
        expected,
        repeat=(options.repeat or definition.repeat or 5) if definition.timed else 1,
        all_threads=options.threads or host.cores(),
        small=options.small,
        say=say,
    )
    return results, size


def run(options: argparse.Namespace) -> int:
    """Measure, show, keep; the exit status."""
    selected = chosen(options.filter)
    known = peers.load()
    where = data.folder(options.data)
    inputs = data.load(where, small=options.small)
    if options.list:
        show(selected, inputs, known)
        return 0
    machine = host.describe() | {"file_system": data.file_system(where)}
    machine |= {"all_threads": options.threads or host.cores(), "warnings": warnings(where)}

    def say(line: str) -> None:
        if not options.quiet:
            print(line, file=sys.stderr, flush=True)

    for warning in machine["warnings"]:
        print(f"WARNING: {warning}", file=sys.stderr)
    measured, verdicts = [], []
    for definition in selected:
        say(f"{definition.name}: {definition.title}")
        results, size = measure_one(definition, known, inputs, options, say)
        measured.append((definition, results, size))
        verdicts += bars.judge(definition, results)
    print(report.table(verdicts, small=options.small))
    print("\n" + report.summary(verdicts))
    for definition, results, size in measured:
        print("\n" + report.details(definition, results, size))
    used = sorted({c.peer for d in selected for c in d.contestants} & set(known))
    versions = {n: known[n].version_text() for n in used if known[n].missing() is None}
    machine["load_after"] = os.getloadavg()[0]
    folder = destination(options, machine)
    report.write(folder, machine, versions, measured, verdicts, small=options.small)
    print(f"\nwritten: {folder}/table.txt results.csv results.json")
    return exit_status(verdicts, small=options.small)


def destination(options: argparse.Namespace, machine: dict[str, Any]) -> Path:
    """Choose the folder for results: kept under record/, else the latest one under build/."""
    if not options.record:
        return HERE / "build" / "latest"
    name = f"{machine['date']}-{host.kind(machine)}"
    return HERE / "record" / (name + ("-small" if options.small else ""))


def exit_status(verdicts: list[bars.Verdict], *, small: bool) -> int:
    """Give 1 when a row failed; with small inputs only a wrong answer is a failure."""
    correctness = ("identical", "relative_error")
    failed = [v for v in verdicts if v.outcome == bars.FAIL]
    if small:
        failed = [v for v in failed if v.bar.kind in correctness or v.value is None]
    return 1 if failed else 0


def main() -> int:
    """Run the command line."""
    options = arguments(sys.argv[1:])
    try:
        if options.command == "setup":
            return 0 if setup(peers.load()) else 2
        return run(options)
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("bench: interrupted; nothing was written", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
