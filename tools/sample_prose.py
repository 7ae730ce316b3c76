"""Draws comments and docstrings at random, for a reader new to the code.

`python tools/sample_prose.py [SEED] [COUNT]` prints 60 items of crates/ and python/, each with its
place; the same seed draws the same items of the same tree. The reader counts those that need a
second reading: at most 3 of 60 may.
"""

from __future__ import annotations

import ast
import io
import random
import sys
import textwrap
import tokenize
from collections.abc import Iterator

from prose import ROOT, RUST_TOKEN, tracked

DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def _blocks(lines: Iterator[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Join comments of consecutive lines."""
    block: list[tuple[int, str]] = []
    for number, text in lines:
        if block and number != block[-1][0] + 1:
            yield block[0][0], "\n".join(part for _, part in block)
            block = []
        block.append((number, text.strip()))
    if block:
        yield block[0][0], "\n".join(part for _, part in block)


def items(path: str, source: str) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of each comment and docstring of a file."""
    if path.endswith(".rs"):
        comments = []
        for match in RUST_TOKEN.finditer(source):
            if match["comment"] is not None:
                line = source.count("\n", 0, match.start()) + 1
                comments.append((line, match["comment"]))
        yield from _blocks(iter(comments))
        return
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    yield from _blocks(
        (token.start[0], token.string.lstrip("#:! "))
        for token in tokens
        if token.type == tokenize.COMMENT
    )
    for node in ast.walk(ast.parse(source)):
        text = ast.get_docstring(node) if isinstance(node, DOCUMENTED) else None
        if text is not None and isinstance(node, DOCUMENTED):
            yield node.body[0].lineno, text


def main(arguments: list[str]) -> int:
    """Print the items."""
    seed, count = map(int, (arguments + ["1", "60"][len(arguments) :])[:2])
    every = [
        (path, line, text)
        for path in tracked()
        if path.startswith(("crates/", "python/")) and path.endswith((".rs", ".py"))
        for line, text in items(path, (ROOT / path).read_text(encoding="utf-8"))
        if len(text.split()) > 3
    ]
    for number, (path, line, text) in enumerate(random.Random(seed).sample(every, count), 1):
        print(f"{number}. {path}:{line}\n{textwrap.indent(text, '    ')}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
