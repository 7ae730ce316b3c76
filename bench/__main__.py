"""Measure this engine beside its peers: `python -m bench`, run from the repository's root.

Exit status: 0 when every answer was right, whatever the bars; 1 when one was wrong or never came,
and with --strict-bars when a bar was missed or not measured; 2 for a mistake in the call, or a
machine that cannot run this, the project not being built among the reasons.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from bench import HERE, BenchError, bars, data, definitions, host, measure, peers, report
from bench.cache import drop
from bench.definitions import Definition
from bench.measure import Result, Source
from bench.report import Measured
from bench.setup import setup


def arguments(words: list[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("command", nargs="?", choices=["run", "setup"], default="run")
    parser.add_argument("--only", metavar="NAME", help="definitions whose name has NAME in it")
    parser.add_argument("--list", action="store_true", help="show definitions, inputs and peers")
    parser.add_argument("--small", action="store_true", help="small inputs: a minute, not an hour")
    parser.add_argument("--strict-bars", action="store_true", help="a missed bar is a failure")
    parser.add_argument("--repeat", type=int, metavar="N", help="measured rounds (default 5)")
    parser.add_argument("--threads", type=int, metavar="N", help='what "all" means here')
    parser.add_argument("--data", metavar="DIR", help="folder of the input files")
    parser.add_argument("--output", metavar="DIR", help="folder of the results")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    options = parser.parse_args(words)
    if options.repeat is not None and options.repeat < 1:
        parser.error("--repeat must be at least 1")
    if options.threads is not None and options.threads < 1:
        parser.error("--threads must be at least 1")
    if options.small and options.strict_bars:
        parser.error("--strict-bars has no meaning with --small: small inputs say nothing of speed")
    return options


def chosen(name: str | None) -> list[Definition]:
    """Pick the definitions whose name has `name` in it; None: all."""
    found = [d for d in definitions.load() if name is None or name in d.name]
    if not found:
        raise BenchError(f"--only {name!r} names no definition\nsee: python -m bench --list")
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
        found.append(f"the inputs are on {kind}, not on a real local file system; choose by --data")
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
    source, size = Source(None, definition.expected), 0
    for name, other in inputs.items():
        if name != definition.input and other.path.exists():
            drop(other.path)
    if definition.input is not None:
        wanted = inputs[definition.input]
        data.ensure(wanted, say)
        size = wanted.path.stat().st_size
        known_of = data.record(wanted)
        answers = definition.expected | known_of["expected"]
        source = Source(wanted.path, answers, known_of["pixels"])
    available = host.memory("MemAvailable")
    if not options.small and available < definition.memory_gb:
        reason = f"needs {definition.memory_gb:g} GB of memory, {available:.1f} GB are available"
        say(f"  NOT MEASURED: {reason}")
        return {c.name: Result(c, missing=reason) for c in definition.contestants}, size
    results = measure.run(
        definition,
        known,
        source,
        repeat=rounds(definition, options),
        all_threads=options.threads or host.cores(),
        small=options.small,
        say=say,
    )
    return results, size


def rounds(definition: Definition, options: argparse.Namespace) -> int:
    """Say how many rounds count: as asked, else as defined; with small inputs, for a look, 3."""
    if not definition.timed:
        return 1
    return options.repeat or (3 if options.small else definition.repeat or 5)


def run(options: argparse.Namespace) -> int:
    """Measure, keep, show; the exit status."""
    selected = chosen(options.only)
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
    measured: Measured = []
    for definition in selected:
        say(f"{definition.name}: {definition.title}")
        measured.append((definition, *measure_one(definition, known, inputs, options, say)))
    verdicts = [v for d, results, _ in measured for v in bars.judge(d, results)]
    verdicts.sort(key=lambda verdict: report.row_order(verdict.bar.row))
    problems = account(measured, known, machine)
    folder = destination(options, machine)
    report.write(folder, machine, measured, verdicts, small=options.small)
    print(report.on_screen(measured, verdicts, small=options.small))
    print(f"written: {folder}/table.md results.json", flush=True)
    for line in problems:
        print(line, file=sys.stderr)
    wrong = any(result.wrong for _, results, _ in measured for result in results.values())
    return exit_status(verdicts, wrong=wrong, strict=options.strict_bars)


def account(measured: Measured, known: dict[str, Any], machine: dict[str, Any]) -> list[str]:
    """Complete the description of the run: versions, who was missing; list what to say loudly."""
    used = [known[name] for name in sorted({c.peer for d, *_ in measured for c in d.contestants})]
    missing = {peer.name: reason for peer in used if (reason := peer.missing())}
    versions = {peer.name: peer.version_text() for peer in used if peer.name not in missing}
    if "debug build" in versions.get("tachyfits", ""):
        machine["warnings"].append("this project is a debug build: its times mean nothing")
    machine["load_after"] = os.getloadavg()[0]
    machine["missing_peers"] = ", ".join(missing) or "none"
    machine["versions"] = versions
    problems = [
        f"WRONG: {definition.name}: {name}: {result.wrong}"
        for definition, results, _ in measured
        for name, result in results.items()
        if result.wrong
    ]
    problems += [f"WARNING: {warning}" for warning in machine["warnings"]]
    return problems + [f"MISSING PEER: {name}: {reason}" for name, reason in missing.items()]


def destination(options: argparse.Namespace, machine: dict[str, Any]) -> Path:
    """Choose the folder for results: a run of everything is kept, a part of it is not."""
    if options.output:
        return Path(options.output)
    if options.small or options.only is not None:
        return HERE / "build" / "latest"
    return HERE / "record" / f"{machine['date']}-{host.kind(machine)}"


def exit_status(verdicts: list[bars.Verdict], *, wrong: bool, strict: bool) -> int:
    """Give the exit status that the verdicts deserve; see the head of this file."""
    outcomes = {verdict.outcome for verdict in verdicts}
    if wrong or bars.WRONG in outcomes or (strict and outcomes & {bars.MISS, bars.NOT_MEASURED}):
        return 1
    return 2 if any(verdict.ours_missing for verdict in verdicts) else 0


def main() -> int:
    """Run the command line."""
    options = arguments(sys.argv[1:])
    try:
        if options.command == "setup":
            return 0 if setup() else 2
        return run(options)
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("bench: interrupted; nothing was written", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
