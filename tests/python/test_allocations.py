"""Memory whose size a file or a request states is reserved by functions that can fail.

Reads the Rust sources.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rustsource import rust_code, without_tests

CRATES = Path(__file__).resolve().parents[2] / "crates"

#: Calls that end the process if there is too little memory, up to their arguments.
ABORTING = re.compile(
    r"\bvec!(?=\[)|::with_capacity(?=\()|\.(?:resize|resize_with|reserve|reserve_exact)(?=\()"
)

#: Numbers of elements with a limit: constants, and axes and columns, of which there are 999.
BOUNDED = re.compile(
    r"(?:[A-Z][A-Z_0-9]+|\d+|\bas usize|[-+*/ ]"
    r"|(?:\w+(?:\(\))?\.)*(?:axes|columns|counts|decoders|placed|reduced|statistics)(?:\(\))?\.len\(\)"
    r")+"
)

#: A comment with the reason why a size is bounded, on the line or at most two lines before it.
REASON = re.compile(r"// (?:.*\b[Aa]t most |No more than |Within the reserved )")

#: Sizes that callers bound, by the beginning of a path: kernels do not know why.
BOUNDED_BY_CALLERS = {
    "tachyfits-kernels/src/rows/": "at most 2^13 outputs of a tile, and 256 rows",
    "tachyfits-kernels/src/reduction/": "at most 2^13 outputs of a tile, and 256 rows",
    "tachyfits-kernels/src/wide_integers.rs": "at most 2^13 outputs of a tile",
    "tachyfits-kernels/src/stats.rs": "at most the pixels of a leaf",
    "tachyfits-kernels/src/total.rs": "at most the pixels of a leaf",
    "tachyfits-kernels/src/transpose.rs": "at most a block of pixels",
}

#: Twins for tests, and the functions that can fail.
EXEMPT = ("tachyfits-memory/", "tachyfits-kernels/src/naive", *BOUNDED_BY_CALLERS)
EXEMPT_NAMES = {"conformance.rs", "tests.rs", "twins.rs"}

CLOSING = {"(": ")", "[": "]", "{": "}"}


def arguments(code: str, opening: int) -> tuple[list[str], int]:
    """Return the arguments in the brackets that open at `opening`, and where they close."""
    depth, start, found = 0, opening + 1, []
    for index in range(opening, len(code)):
        character = code[index]
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(character, 0)
        if depth == 0:
            return [*found, " ".join(code[start:index].split())], index
        if depth == 1 and character in ",;":
            found.append(" ".join(code[start:index].split()))
            start = index + 1
    return found, len(code)


def sizes(code: str) -> list[tuple[int, str]]:
    """Return the line (from 1) and the number of elements of each call that may abort."""
    found = []
    for call in ABORTING.finditer(code):
        parts, end = arguments(code, call.end())
        if call[0] == "vec!":
            if ";" not in code[call.end() : end] or len(parts) != 2:
                continue
            size = parts[1]
        else:
            # Functions of the same names that can fail: those of vectors return nothing.
            if code[end + 1 :].lstrip().startswith(("?", ".map_err", ".is_err", ".and_then")):
                continue
            size = parts[0]
        found.append((code.count("\n", 0, call.start()) + 1, size))
    return found


def offences(source: str) -> list[tuple[int, str]]:
    """Return the calls whose size has neither a limit nor a reason."""
    lines = source.splitlines()

    def has_reason(line: int) -> bool:
        return any(REASON.search(text) for text in lines[max(line - 3, 0) : line])

    return [
        (line, size)
        for line, size in sizes(without_tests(rust_code(source)))
        if size and not BOUNDED.fullmatch(size) and not has_reason(line)
    ]


def test_memory_of_unknown_size_is_reserved_by_functions_that_can_fail() -> None:
    found = []
    for path in sorted(CRATES.glob("*/src/**/*.rs")):
        place = path.relative_to(CRATES).as_posix()
        if not place.startswith(EXEMPT) and path.name not in EXEMPT_NAMES:
            source = path.read_text(encoding="utf-8")
            found += [f"{place}:{line}: {size}" for line, size in offences(source)]
    hint = "use tachyfits_memory, or say before it why the size is bounded: `// At most …`"
    assert not found, f"{hint}\n" + "\n".join(found)


@pytest.mark.parametrize("place", BOUNDED_BY_CALLERS)
def test_places_whose_callers_bound_sizes_exist(place: str) -> None:
    assert (CRATES / place).exists()


@pytest.mark.parametrize(
    "line",
    [
        "let a = vec![0; bytes as usize];",
        "let a = vec![[0; 2]; range.bins() + 3];",
        "let a: Vec<u8> = Vec::with_capacity(list.len());",
        "let a = String::with_capacity(n);",
        "buffer.resize(rows * width, 0);",
        "self.buffer.reserve(more);",
        "parts[task].outs.resize_with(index, Out::default);",
        "let a = vec![\n    0;\n    count\n];",
    ],
)
def test_an_unbounded_size_is_found(line: str) -> None:
    assert offences(f"fn f() {{\n{line}\n}}")


@pytest.mark.parametrize(
    "line",
    [
        "let a = vec![0; axes.len()];",
        "let a = vec![0; self.layout.columns.len() + 1];",
        "let a = vec![1, 2, n];",
        "let a = vec![[0, 4], [1, 4]];",
        "let a = vec![0; BLOCK_BYTES];",
        "output.reserve(bytes)?;",
        "// At most 2880 bytes.\nlet a = vec![0; fill as usize];",
        "#[cfg(test)]\nmod tests {\n    fn f() { vec![0; n]; }\n}",
        "// a comment about vec![0; n]",
    ],
)
def test_a_bounded_size_is_accepted(line: str) -> None:
    assert not offences(line)
