"""Which file of a crate uses which: the paths of its Rust sources, resolved to files.

A path counts as a use of the file that defines the item, wherever it is imported from: re-exports
are followed, and count for nothing themselves. Tests are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rustsource import rust_code, without_tests

USE = re.compile(r"\b(pub(?:\([^)]*\))?\s+)?use\s+([^;]+);")
INLINE = re.compile(r"(?<![\w:])(?:(?:crate|super|self)|[a-z]\w*)(?:::\w+)+")
CHILD = re.compile(r"((?:#\[[^\]]*\]\s*)*)(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*;")

Path_ = tuple[str, ...]


@dataclass
class Module:
    """A file, the modules that it declares, and the names that it imports."""

    file: str
    path: Path_
    code: str
    children: set[str] = field(default_factory=set)
    #: Name in this module to the path that it stands for.
    names: dict[str, Path_] = field(default_factory=dict)
    #: Paths that this module uses itself, re-exports aside.
    used: set[Path_] = field(default_factory=set)


def flat(tree: str) -> Iterator[tuple[Path_, str]]:
    """Give (path, name) for each leaf of a tree of `use`."""
    tree = tree.strip()
    brace = tree.find("{")
    if brace < 0:
        path, _, name = tree.partition(" as ")
        parts = tuple(part.strip() for part in path.split("::"))
        if parts[-1] == "self" and len(parts) == 1:
            yield (), name.strip()
        else:
            yield parts, name.strip() or parts[-1]
        return
    before = tuple(part.strip() for part in tree[:brace].split("::") if part.strip())
    for leaf in split(tree[brace + 1 : tree.rindex("}")]):
        for path, name in flat(leaf):
            yield before + path, name or before[-1]


def split(text: str) -> Iterator[str]:
    """Split at commas outside braces."""
    depth, start = 0, 0
    for index, character in enumerate(text):
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            yield text[start:index]
            start = index + 1
    if text[start:].strip():
        yield text[start:]


def modules(source: Path) -> dict[Path_, Module]:
    """Read the modules of a crate from its folder `src`."""
    found: dict[Path_, Module] = {}
    waiting: list[Path_] = [()]
    while waiting:
        path = waiting.pop()
        file = source.joinpath(*path).with_suffix(".rs") if path else source / "lib.rs"
        if not file.exists():
            file = source.joinpath(*path, "mod.rs")
        code = without_tests(rust_code(file.read_text(encoding="utf-8")))
        module = Module(file.relative_to(source).as_posix(), path, code)
        for child in CHILD.finditer(code):
            if "cfg(test)" not in child[1]:
                module.children.add(child[2])
                waiting.append((*path, child[2]))
        found[path] = module
    for module in found.values():
        read_paths(module)
    return found


def read_paths(module: Module) -> None:
    """Fill in the names and the paths of a module."""
    for use in USE.finditer(module.code):
        for path, name in flat(use[2]):
            whole = absolute(module, path)
            if whole is None:
                continue
            module.names.setdefault(name, whole)
            if not use[1]:
                module.used.add(whole)
    rest = USE.sub("", module.code)
    for found in INLINE.finditer(rest):
        path = tuple(found[0].split("::"))
        if path[0] in module.names:
            path = ("crate", *module.names[path[0]], *path[1:])
        whole = absolute(module, path)
        if whole is not None:
            module.used.add(whole)


def absolute(module: Module, path: Path_) -> Path_ | None:
    """Return a path from the root of the crate; None for one into another crate."""
    here = module.path
    if path[0] == "crate":
        return path[1:]
    if path[0] == "self":
        return (*here, *path[1:])
    if path[0] == "super":
        ups = next((n for n, part in enumerate(path) if part != "super"), len(path))
        return (*here[: len(here) - ups], *path[ups:])
    return (*here, *path) if path[0] in module.children else None


def definition(found: dict[Path_, Module], path: Path_) -> Path_ | None:
    """Return the module that defines what a path names; None for a module itself."""
    module: Path_ = ()
    for place, part in enumerate(path):
        if (*module, part) in found:
            module = (*module, part)
            continue
        target = found[module].names.get(part)
        # Private imports are seen by the children of a module, too.
        if target is not None and target[: len(module) + 1] != (*module, part):
            return definition(found, (*target, *path[place + 1 :]))
        return module
    return None


def uses(source: Path) -> dict[str, set[str]]:
    """Return the files that each file of a crate uses."""
    found = modules(source)
    graph: dict[str, set[str]] = {}
    for module in found.values():
        targets = {definition(found, path) for path in module.used}
        files = {found[target].file for target in targets if target is not None}
        graph[module.file] = files - {module.file}
    return graph


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected components of two files or more (Tarjan's algorithm)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    components: list[list[str]] = []

    def visit(file: str) -> None:
        order[file] = low[file] = len(order)
        stack.append(file)
        for other in sorted(graph[file]):
            if other not in order:
                visit(other)
                low[file] = min(low[file], low[other])
            elif other in stack:
                low[file] = min(low[file], order[other])
        if low[file] == order[file]:
            at = stack.index(file)
            components.append(sorted(stack[at:]))
            del stack[at:]

    for file in sorted(graph):
        if file not in order:
            visit(file)
    return [component for component in components if len(component) > 1]
