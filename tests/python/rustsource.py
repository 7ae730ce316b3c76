"""Rust sources without what is not code: comments, texts, tests."""

from __future__ import annotations

import re

RUST_TOKEN = re.compile(
    r"""
      (?P<line_comment>//[^\n]*)
    | (?P<block_comment>/\*)
    | (?P<raw>b?r(?P<hashes>\#*)".*?"(?P=hashes))
    | (?P<text>b?"(?:\\.|[^"\\])*")
    | (?P<character>b?'(?:\\(?:x..|u\{[^}]*\}|.)|[^'\\\n])')
    """,
    re.VERBOSE | re.DOTALL,
)


def rust_code(source: str) -> str:
    """`source` with comments, strings and character literals blanked out, line for line."""
    pieces = []
    position = 0
    while found := RUST_TOKEN.search(source, position):
        end = found.end() if found["block_comment"] is None else block_comment_end(source, found)
        pieces.append(source[position : found.start()])
        pieces.append(re.sub(r"[^\n]", " ", source[found.start() : end]))
        position = end
    return "".join(pieces) + source[position:]


def block_comment_end(source: str, start: re.Match[str]) -> int:
    """Where the comment opened at `start` ends; Rust's block comments nest."""
    depth = 1
    for found in re.compile(r"/\*|\*/").finditer(source, start.end()):
        depth += 1 if found.group() == "/*" else -1
        if depth == 0:
            return found.end()
    return len(source)


def closing_brace(code: str, opening: int) -> int:
    """Return the index of the brace that closes the one at `opening`; `code` is of `rust_code`."""
    depth = 0
    for index in range(opening, len(code)):
        depth += {"{": 1, "}": -1}.get(code[index], 0)
        if depth == 0:
            return index
    return len(code) - 1


def without_tests(code: str) -> str:
    """`code` without its `#[cfg(test)]` modules."""
    while found := re.search(r"#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*mod\s+\w+\s*\{", code):
        end = closing_brace(code, found.end() - 1) + 1
        code = code[: found.start()] + "\n" * code[found.start() : end].count("\n") + code[end:]
    return code
