"""Measure this engine beside its peers: `python -m bench`, run from the repository's root.

Exit status: 0 when every answer was right, whatever the bars; 1 when one was wrong or never came,
and with --strict-bars when a bar was missed or not measured; 2 for a mistake in the call, or a
machine that cannot run this, the project not being built among the reasons.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench import (
    HERE,
    BenchError,
    bars,
    data,
    definitions,
    host,
    measure,
    one_file,
    pages,
    papers,
    peers,
    report,
)
from bench.cache import drop
from bench.definitions import FULL, LAPTOP, SMALL, Definition
from bench.measure import Result, Source
from bench.report import Measured
from bench.setup import setup

#: Commands with words of their own.
OTHERS = {"file": one_file.main, "report": pages.main}


def arguments(words: list[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "command",
        nargs="?",
        choices=["run", "inputs", "setup", "file", "report"],
        default="run",
        help="inputs: make the inputs and the answers that are expected, as far as the disk allows;"
        " file: measure this engine on files of yours; report: pages of the source documents"
        " (python -m bench file --help, python -m bench report --help)",
    )
    parser.add_argument(
        "--only",
        metavar="NAME",
        action="append",
        help="definitions whose name has NAME in it; may be given several times, and those of the"
        " first NAME run first",
    )
    parser.add_argument("--list", action="store_true", help="show definitions, inputs and peers")
    sizes = parser.add_mutually_exclusive_group()
    for name, description in report.SIZE_WORDS.items():
        default = " (the default)" * (name == LAPTOP)
        choice = {"dest": "size", "action": "store_const", "const": name, "default": LAPTOP}
        sizes.add_argument(f"--{name}", help=description + default, **choice)
    parser.add_argument("--strict-bars", action="store_true", help="a missed bar is a failure")
    parser.add_argument(
        "--gate",
        action="store_true",
        help="small inputs, every answer, and some ratios: one that is twice below the share of its"
        " bar that bars.toml names fails",
    )
    parser.add_argument(
        "--repeat",
        type=int,
        metavar="N",
        help="measured rounds (default 3, or as a definition says)",
    )
    parser.add_argument("--threads", type=int, metavar="N", help='what "all" means here')
    parser.add_argument(
        "--drop-inputs",
        action="store_true",
        help="delete an input of a GB or more when no later definition reads it, and earlier where"
        " the disk is short",
    )
    parser.add_argument(
        "--with",
        metavar="PEER",
        dest="also",
        action="append",
        default=[],
        help="setup: a peer that is set up only on request, as it is large (casa: 1.9 GB)",
    )
    parser.add_argument(
        "--without",
        metavar="PEER",
        action="append",
        default=[],
        help="leave this peer out; may be given several times",
    )
    parser.add_argument("--data", metavar="DIR", help="folder of the input files")
    parser.add_argument("--output", metavar="DIR", help="folder of the results")
    parser.add_argument("--quiet", action="store_true", help="no progress")
    options = parser.parse_args(words)
    if options.repeat is not None and options.repeat < 1:
        parser.error("--repeat must be at least 1")
    if options.threads is not None and options.threads < 1:
        parser.error("--threads must be at least 1")
    if options.gate:
        options.size = SMALL
    if options.size == SMALL and options.strict_bars:
        parser.error("--strict-bars has no meaning with --small: small inputs say nothing of speed")
    return options


def chosen(names: list[str] | None, size: str) -> list[Definition]:
    """Pick the definitions whose name has one of `names` in it; None: all."""
    all_definitions = definitions.load(size=size)
    order = [[name in d.name for name in names or [""]] for d in all_definitions]
    first = sorted((has.index(True), number) for number, has in enumerate(order) if any(has))
    result = [all_definitions[number] for _, number in first]
    if not result:
        raise BenchError(f"--only {names} names no definition\nsee: python -m bench --list")
    return result


def show(
    selected: list[Definition], inputs: dict[str, data.Input], peer_table: dict[str, Any]
) -> None:
    """List definitions, inputs and peers, and those that are missing."""
    for definition in selected:
        print(f"{definition.name}: {definition.title}")
        for bar in definition.bars:
            print(f"    row {bar.row}: {bar.claim} ({bar.kind}, limit {bar.limit})")
    lines = [["input", "there", "GB", "path"]]
    for name in sorted({name for d in selected for name in d.inputs}):
        source = inputs[name]
        there = "yes" if data.is_right(source) else "no"
        lines.append([name, there, str(source.recipe.get("gigabytes", "?")), str(source.path)])
    print("\n" + report.aligned(lines) + "\n")
    for peer in peer_table.values():
        reason = peer.missing()
        state = f"MISSING: {reason}" if reason else peer.version_text()
        print(f"{peer.name}: {peer.title}: {state}")


def warnings(where: Path) -> list[str]:
    """List what makes numbers from this machine worth less."""
    result = []
    kind = data.file_system(where)
    if kind in ("tmpfs", "overlay", "nfs", "nfs4", "fuse", "9p"):
        result.append(
            f"the inputs are on {kind}, not on a real local file system; choose by --data"
        )
    load = os.getloadavg()[0]
    if load > 0.5:
        result.append(f"load average is {load:.1f} before the first run: something else is running")
    return result


def measure_one(
    definition: Definition,
    peer_table: dict[str, Any],
    inputs: dict[str, data.Input],
    options: argparse.Namespace,
    session: measure.Session | None,
    say: Any,
) -> tuple[dict[str, Result], int]:
    """Make the inputs, run one definition; give its results and the size of its first input."""
    if definition.size != SMALL:  # small ones fit in memory together
        for other in inputs.values():
            if other.name not in definition.inputs and other.path.exists():
                drop(other.path)
    if reason := too_big(definition, inputs, peer_table) if definition.size == FULL else None:
        say(f"  NOT MEASURED: {reason}")
        return {c.name: Result(c, missing=reason) for c in definition.contestants}, 0
    sources = [inputs[name] for name in definition.inputs]
    for source in sources:
        data.ensure(source, say)
    size = sources[0].path.stat().st_size if sources else 0
    with scratch_folder(sources) as scratch:
        results = measure.run(
            definition,
            peer_table,
            source_of(definition, inputs, peer_table, scratch, say),
            repeat=rounds(definition, options),
            all_threads=options.threads or host.cores(),
            timed=is_timed(definition, options),
            session=session,
            say=say,
        )
    return results, size


def too_big(
    definition: Definition, inputs: dict[str, data.Input], peer_table: dict[str, Any]
) -> str | None:
    """Say what this machine has too little of for a definition; None when it has enough."""
    available = host.memory("MemAvailable")
    if available < definition.memory_gb:
        return f"needs {definition.memory_gb:g} GB of memory, {available:.1f} GB are available"
    paths = [inputs[name].path for name in definition.inputs]
    free = min(map(data.free_bytes, paths), default=0) / 1e9
    missing_inputs = [inputs[name] for name in definition.inputs if not inputs[name].path.exists()]
    output_gb = [
        c.disk_gb for c in definition.contestants if c.disk_gb and not peer_table[c.peer].missing()
    ]
    required = max([definition.disk_gb, *output_gb])
    required += sum(source.recipe.get("gigabytes", 0) for source in missing_inputs)
    if required and free < required + data.RESERVE / 1e9:
        reserve = f"and {data.RESERVE / 1e9:.1f} GB to spare"
        return f"needs {required:g} GB of disk {reserve}, {free:.1f} GB are free"
    return None


def scaled(
    definition: Definition,
    inputs: dict[str, data.Input],
    peer_table: dict[str, Any],
    where: Path,
    say: Any,
) -> tuple[Definition, dict[str, data.Input]]:
    """Take the laptop's inputs where this machine has no room for full ones, and say so."""
    reason = too_big(definition, inputs, peer_table) if definition.size == FULL else None
    smaller = [d for d in definitions.load(size=LAPTOP) if d.name == definition.name]
    if reason is None or not smaller:
        return definition, inputs
    say(f"  with {report.SIZE_WORDS[LAPTOP]}: {reason}")
    return smaller[0], data.load(where, size=LAPTOP)


def source_of(
    definition: Definition,
    inputs: dict[str, data.Input],
    peer_table: dict[str, Any],
    scratch: Path | None,
    say: Any,
) -> Source:
    """Say what a definition reads and which answers are right, those of operations included."""

    def of(names: tuple[str, ...], own: str = "") -> Source:
        answers, sources = dict(definition.expected), [inputs[name] for name in names]
        if not sources:
            return Source(None, answers)
        record = data.record(sources[0])
        answers |= record["expected"]
        reading = [c for c in definition.contestants if c.input == own]
        outputs = {c.output for c in reading if not peer_table[c.peer].missing()} - {""}
        for name in sorted(outputs | set(definition.operations)):
            answers |= data.operation(sources, name, say)
        second = sources[1].path if len(sources) > 1 else None

        def check_output(path: Path, operation: str) -> dict[str, Any]:
            return data.check_output(path, sources[0], operation)

        return Source(sources[0].path, answers, record["pixels"], second, scratch, check_output)

    own = {name: of((name,), name) for name in definition.own_inputs}
    return replace(of(definition.shared_inputs), own=own)


@contextlib.contextmanager
def scratch_folder(inputs: list[data.Input]) -> Iterator[Path | None]:
    """Have a folder for what is written, on the file system of the inputs, and clear it away."""
    if not inputs:
        yield None
        return
    where = inputs[0].path.parent
    for leftover in where.glob("scratch-*-*"):  # by a run that was killed
        if not Path("/proc", leftover.name.split("-")[1]).exists():
            shutil.rmtree(leftover, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"scratch-{os.getpid()}-", dir=where) as name:
        yield Path(name)


def make_room(
    later: list[Definition], inputs: dict[str, data.Input], peer_table: dict[str, Any], say: Any
) -> None:
    """Delete large inputs that are not read again, and more of them where the disk is short.

    `later` begins with the definition that needs the room; the input that is read last goes first.
    """
    reads = [name for definition in later for name in definition.inputs]
    large = [
        source
        for source in inputs.values()
        if source.recipe.get("gigabytes", 0) >= 1 and source.path.exists()
        if not later or source.name not in later[0].inputs
    ]
    unread = [source for source in large if source.name not in reads]
    still_read = sorted(
        (source for source in large if source.name in reads),
        key=lambda source: reads.index(source.name),
    )
    while unread or (still_read and later and too_big(later[0], inputs, peer_table)):
        source = unread.pop() if unread else still_read.pop()
        say(f"  deleting {source.path}")
        data.remove(source)


class Sessions:
    """The processes of peers: of full size each contestant has its own.

    Of laptop size the definitions of one file share them, of small inputs all definitions do:
    starting a process takes longer than most of its answers.
    """

    def __init__(self, known: dict[str, Any]) -> None:
        self._known, self._of = known, ""
        self._session: measure.Session | None = None

    def of(self, definition: Definition) -> measure.Session | None:
        """Give the session of a definition; None where it has one of its own."""
        if definition.size == FULL:
            return None
        name = definition.name.partition("/")[0] if definition.size == LAPTOP else "all"
        if self._session is None or name != self._of:
            self.close()
            self._of, self._session = name, measure.Session(self._known, share=True)
        return self._session

    def close(self) -> None:
        """End all processes."""
        if self._session is not None:
            self._session.close()


def is_timed(definition: Definition, options: argparse.Namespace) -> bool:
    """Tell whether the times of a definition count: of small inputs only those of the gate do."""
    return definition.size != SMALL or (options.gate and definition.gate)


def rounds(definition: Definition, options: argparse.Namespace) -> int:
    """Say how many rounds count: as asked, else as defined for full inputs, else 3."""
    if not definition.timed or not is_timed(definition, options):
        return 1
    return options.repeat or (definition.size == FULL and definition.repeat) or 3


def run(options: argparse.Namespace) -> int:
    """Measure, keep, show; the exit status."""
    selected = chosen(options.only, options.size)
    peer_table = peers.load()
    for name in options.without:
        if name not in peer_table:
            raise BenchError(f"--without {name!r} names no peer; there are {', '.join(peer_table)}")
        peer_table[name] = replace(peer_table[name], left_out="left out by --without")
    if options.gate:  # CASA takes minutes
        slow = [name for name, peer in peer_table.items() if peer.on_request]
        peer_table |= {
            name: replace(peer_table[name], left_out="not part of the gate") for name in slow
        }
    where = data.folder(options.data)
    inputs = data.load(where, size=options.size)
    if options.list:
        show(selected, inputs, peer_table)
        return 0
    if options.command == "inputs":
        return make_inputs(selected, inputs, peer_table, where)
    machine = host.describe() | {"file_system": data.file_system(where)}
    machine |= {"all_threads": options.threads or host.cores(), "warnings": warnings(where)}

    def say(line: str) -> None:
        if not options.quiet:
            print(line, file=sys.stderr, flush=True)

    for warning in machine["warnings"]:
        print(f"WARNING: {warning}", file=sys.stderr)
    folder = destination(options, machine)
    sessions = Sessions(peer_table)
    measured: Measured = []
    verdicts: list[bars.Verdict] = []
    problems: list[str] = []
    for number, definition in enumerate(selected, 1):
        say(f"{definition.name}: {definition.title}")
        start = time.monotonic()
        if options.drop_inputs:
            make_room(selected[number - 1 :], inputs, peer_table, say)
        definition, run_inputs = scaled(definition, inputs, peer_table, where, say)
        session = sessions.of(definition)
        outcome = measure_one(definition, peer_table, run_inputs, options, session, say)
        if options.gate and any(map(bars.below_gate, bars.judge(definition, outcome[0]))):
            say("  below the gate: once more")
            outcome = measure_one(definition, peer_table, run_inputs, options, session, say)
        measured.append((definition, *outcome))
        say(f"  took {time.monotonic() - start:.0f} s")
        # After each, so that an hour's run that is cut off leaves what it has measured.
        verdicts = [v for d, results, _ in measured for v in bars.judge(d, results)]
        verdicts.sort(key=lambda verdict: report.row_order(verdict.bar.row))
        problems = account(measured, peer_table, machine)
        report.write(folder, machine, measured, verdicts, size=options.size)
    sessions.close()
    print(report.on_screen(measured, verdicts))
    print(f"written: {folder}/table.md results.json samples.csv", flush=True)
    if options.only is None:
        for path in pages.write(papers.Record.load(folder / "results.json"), folder / "report"):
            print(f"written: {path}", flush=True)
    for line in problems:
        print(line, file=sys.stderr)
    has_wrong = any(result.wrong for _, results, _ in measured for result in results.values())
    below = [verdict for verdict in verdicts if options.gate and bars.below_gate(verdict)]
    for verdict in below:
        print(f"BELOW THE GATE: {report.below_gate(verdict)}")
    if any(peer_table[c.peer].unbuilt() for definition in selected for c in definition.contestants):
        return 2
    return exit_status(verdicts, wrong=has_wrong or bool(below), strict=options.strict_bars)


def make_inputs(
    selected: list[Definition],
    inputs: dict[str, data.Input],
    peer_table: dict[str, Any],
    where: Path,
) -> int:
    """Make the inputs and the expected answers of all definitions, as far as the disk allows."""
    for definition in selected:
        if reason := too_big(definition, inputs, peer_table):
            print(f"{definition.name}: {reason}", flush=True)
            continue
        sources = [inputs[name] for name in definition.inputs]
        for source in sources:
            data.ensure(source)
        with scratch_folder(sources) as scratch:
            source_of(definition, inputs, peer_table, scratch, print)
    return 0


def account(measured: Measured, peer_table: dict[str, Any], machine: dict[str, Any]) -> list[str]:
    """Complete the description of the run: versions, missing peers; list the important messages."""
    used_peers = [
        peer_table[name] for name in sorted({c.peer for d, *_ in measured for c in d.contestants})
    ]
    missing = {peer.name: reason for peer in used_peers if (reason := peer.missing())}
    versions = {peer.name: peer.version_text() for peer in used_peers if peer.name not in missing}
    debug = "this project is a debug build: its times mean nothing"
    if "debug build" in versions.get("tachyfits", "") and debug not in machine["warnings"]:
        machine["warnings"].append(debug)
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
    if options.size != FULL or options.only is not None:
        return HERE / "build" / "latest"
    return HERE / "record" / f"{machine['date']}-{host.kind(machine)}"


def exit_status(verdicts: list[bars.Verdict], *, wrong: bool, strict: bool) -> int:
    """Give the exit status that the verdicts deserve; see the head of this file."""
    outcomes = {verdict.outcome for verdict in verdicts}
    if wrong or bars.WRONG in outcomes or (strict and outcomes & {bars.MISS, bars.NOT_MEASURED}):
        return 1
    return 0


def main() -> int:
    """Run the command line."""
    words = sys.argv[1:]
    subcommand = OTHERS.get(words[0]) if words else None
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # files that were written are deleted
    try:
        if subcommand is not None:
            return subcommand(words[1:])
        options = arguments(words)
        if options.command == "setup":
            return 0 if setup(also=options.also) else 2
        return run(options)
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("bench: interrupted; nothing was written", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
