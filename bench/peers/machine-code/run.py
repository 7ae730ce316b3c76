"""The loops of a function in a program of another peer, as objdump shows their machine code."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "common"))

from python_runner import Model, Request, Unsupported, serve

BUILD = Path(sys.argv[1])
INSTRUCTION = re.compile(r"^ *([0-9a-f]+):\t(?:[0-9a-f]{2} )*\t?([a-z][a-z0-9.]*)\s*(.*)$")
#: The module of a Rust function, and the hash of its symbol.
FUNCTION = re.compile(r"^\w+::|::h[0-9a-f]{16}$")
JUMP = re.compile(r"^(?:0x)?([0-9a-f]+)")


def output(*words: str) -> str:
    """Run a program; what it prints."""
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def instructions(program: Path, function: str) -> list[tuple[int, str, str]]:
    """List the address, name and operands of each instruction of a function."""
    listed = output("nm", "--demangle", "--print-size", str(program)).splitlines()
    symbols = [line.split() for line in listed]
    found = [
        words for words in symbols if len(words) == 4 and FUNCTION.sub("", words[3]) == function
    ]
    if not found:
        raise Unsupported(f"{program.name} has no function {function}")
    start, size = (int(word, 16) for word in found[0][:2])
    text = output(
        "objdump",
        "--disassemble",
        "--no-show-raw-insn",
        f"--start-address={start}",
        f"--stop-address={start + size}",
        str(program),
    )
    matches = filter(None, map(INSTRUCTION.match, text.splitlines()))
    return [(int(m[1], 16), m[2], m[3]) for m in matches]


def loops(code: list[tuple[int, str, str]]) -> list[list[str]]:
    """Find the innermost loops: instructions from the target of a jump backwards to the jump."""
    ranges = []
    for address, name, operands in code:
        target = JUMP.match(operands) if name.startswith("j") else None
        if target and int(target[1], 16) <= address:
            ranges.append((int(target[1], 16), address))
    inner = [r for r in ranges if not any(r[0] <= o[0] and o[1] <= r[1] and o != r for o in ranges)]
    return [[name for at, name, _ in code if first <= at <= last] for first, last in inner]


def machine_code(request: Request) -> dict[str, object]:
    """Give the instructions of the loops of a function, each loop as a text."""
    program = BUILD / request["peer"] / request["program"]
    if not program.exists():
        raise Unsupported(f"{program.name} was not built for this machine")
    found = loops(instructions(program, request["function"]))
    return {"loops": [" ".join(loop) for loop in found], "is_there": bool(found)}


def version() -> str:
    """Give the first line of what objdump says of itself."""
    return output("objdump", "--version").splitlines()[0]


if __name__ == "__main__":
    serve({"machine-code": Model(machine_code)}, version)
