"""Rules of the project that no compiler checks.

They restrict dependencies, unsafe code and the modules that open files.

Reads sources, and imports the package, also in processes of its own.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import rustmodules
import tachyfits as tf
from rustsource import closing_brace, rust_code, without_tests
from tachyfits import fortran, plot
from tachyfits.base.upper import upper

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
CRATES = ROOT / "crates"
PACKAGE = ROOT / "python" / "tachyfits"

#: Each crate and the crates of this project that it uses, from the list in DESIGN.md.
ARROWS = {
    found[1]: set(re.findall(r"tachyfits[\w-]*", found[2]))
    for found in re.finditer(
        r"^(tachyfits[\w-]*) +uses +(.+)$",
        (ROOT / "DESIGN.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
}

#: The only files with unsafe code: vector tiers, memory maps and the signal that these raise, the
#: functions that C calls, those of the library before CFITSIO, and the allocator of a test.
UNSAFE_FILES = {
    "tachyfits/tests/memory/allocator.rs",
    "tachyfits-kernels/src/isa.rs",
    "tachyfits-io/src/backend/mmap.rs",
    "tachyfits-io/src/backend/mmap/guard.rs",
    "tachyfits-arrow/src/interface.rs",
    *(
        f"tachyfits-capi/src/{name}.rs"
        for name in (
            "ffi",
            "ffi/arrow",
            "ffi/dlpack",
            "ffi/files",
            "ffi/headers",
            "ffi/images",
            "ffi/jobs",
            "ffi/tables",
            "ffi/writing",
        )
    ),
    *(
        f"tachyfits-cfitsio/src/{name}.rs"
        for name in (
            "cfitsio",
            "cfitsio/functions",
            "cfitsio/library",
            "cfitsio/writing",
            "entry",
            "entry/arguments",
            "entry/table",
            "reserve",
        )
    ),
}

#: Modules of the standard library with which a crate's own code (tests aside) has no business.
FORBIDDEN_MODULES = {
    "tachyfits-kernels": "fs|io|net|path|process|thread",
    "tachyfits-format": "fs|io|net|path|process|thread",
    "tachyfits-records": "fs|io|net|process",
    "tachyfits": "fs|net|process",
    "tachyfits-python": "fs|net|process",
    "tachyfits-capi": "fs|net|process",
    "tachyfits-cfitsio": "fs|net",
}

#: Imported only inside the functions that need them: importing tachyfits costs NumPy and no more.
HEAVY_LIBRARIES = {
    "astropy", "dask", "matplotlib", "pandas", "polars", "pyarrow", "radio_beam", "regions",
    "spectral_cube", "specutils", "xarray",
}  # fmt: skip

#: Layers of the Python package, from the lowest: folders, and single modules. A module imports
#: from its own layer and from lower ones; DESIGN.md lists the layers too.
LAYERS = (
    "base", "info", "text", "header", "file", "results", "image", "table", "interop", "writing",
    "editing", "checks", "records", "distributed", "zarr", "fortran", "plot", "server", "cli",
)  # fmt: skip

#: Where modules are imported by a name in a table: public names, `base.upper`, and commands.
#: Names of rooms go through `base.rooms`.
IMPORT_BY_NAME = {"__init__.py", "cli/__init__.py"}

#: Rooms above the API, which use public names alone: those of `tachyfits`, and those that a
#: room below offers in its `__init__.py`.
ROOMS_ABOVE = ("plot", "server", "cli")

#: Rooms that offer names to those.
ROOMS = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py")
               if "interface(" in path.read_text(encoding="utf-8"))  # fmt: skip

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def rust_functions(code: str) -> Iterator[tuple[str, int, int]]:
    """(name, first line, lines) of each function with a body."""
    for found in re.finditer(r"\bfn\s+(\w+)", code):
        body = function_body(code, found.end())
        if body is not None:
            first = line_of(code, found.start())
            yield found[1], first, line_of(code, closing_brace(code, body)) + 1 - first


def function_body(code: str, start: int) -> int | None:
    """Return the index of a function's opening brace, None for a declaration without a body."""
    depth = 0  # of brackets: `[f32; 16]` in a signature ends nothing
    for index in range(start, len(code)):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(code[index], 0)
        if depth == 0 and code[index] in "{;":
            return index if code[index] == "{" else None
    return None


def line_of(text: str, index: int) -> int:
    """Return the line number (from 1) of the character at `index`."""
    return text.count("\n", 0, index) + 1


def sources(*suffixes: str) -> list[Path]:
    """List the project's own files with one of these suffixes, build outputs left out."""
    found: list[Path] = []
    for folder in ("bench", "crates", "examples", "fuzz", "python", "tests", "tools", "web"):
        found += (path for path in (ROOT / folder).rglob("*") if path.suffix in suffixes)
    outside = {"target", "build", "data", "record", "corpus", "artifacts", "node_modules", ".venv"}
    return sorted(path for path in found if not outside & set(path.relative_to(ROOT).parts))


def place(path: Path, line: int = 0) -> str:
    """How a message names a file."""
    return str(path.relative_to(ROOT)) + (f":{line}" if line else "")


def crate_sources(crate: str) -> list[Path]:
    """List the Rust files that a crate is made of (not its tests and benches)."""
    return sorted((CRATES / crate / "src").rglob("*.rs"))


def imported_modules(path: Path, *, top_level_only: bool) -> set[str]:
    """Absolute names of what a module of the package imports; type-checking blocks aside."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    package = ["tachyfits", *path.relative_to(PACKAGE).parent.parts]
    names: set[str] = set()
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            parents = package[: len(package) + 1 - node.level] if node.level else []
            base = ".".join([*parents, *([node.module] if node.module else [])])
            names |= {base} | {f"{base}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            waiting += node.orelse
        elif not (top_level_only and isinstance(node, FUNCTIONS)):
            waiting += ast.iter_child_nodes(node)
    return names


def package_modules() -> dict[str, Path]:
    """Return the modules of the package by their dotted names; "" is the package itself."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports_within(path: Path, modules: dict[str, Path]) -> set[str]:
    """Return the modules of the package that one of them imports, also inside functions."""
    names = imported_modules(path, top_level_only=False)
    return {
        name.partition(".")[2]
        for name in names
        if name.partition(".")[0] == "tachyfits" and name.partition(".")[2] in modules
    } - {""}


def layer_of(module: str) -> int:
    """Return the number of a module's layer, from the lowest."""
    top = module.partition(".")[0]
    return len(LAYERS) if top in ("", "__main__") else LAYERS.index(top)


def test_every_crate_has_its_arrows() -> None:
    assert {path.parent.name for path in CRATES.glob("*/Cargo.toml")} == set(ARROWS)


@pytest.mark.parametrize("crate", ARROWS)
def test_crates_use_the_crates_that_the_design_says(crate: str) -> None:
    manifest = tomllib.loads((CRATES / crate / "Cargo.toml").read_text(encoding="utf-8"))
    tables = [manifest, *manifest.get("target", {}).values()]
    kinds = ("dependencies", "dev-dependencies", "build-dependencies")
    used = {name for table in tables for kind in kinds for name in table.get(kind, {})}
    assert {name for name in used if name in ARROWS} - {crate} == ARROWS[crate]


def test_the_design_lists_a_crate_above_those_that_it_uses() -> None:
    crates = list(ARROWS)
    for crate, used in ARROWS.items():
        assert all(crates.index(name) > crates.index(crate) for name in used), crate


@pytest.mark.parametrize("crate", ARROWS)
def test_no_more_than_two_files_of_a_crate_use_each_other(crate: str) -> None:
    circles = rustmodules.circles(rustmodules.uses(CRATES / crate / "src"))
    assert not [circle for circle in circles if len(circle) > 2]


#: Calls that abort if there is too little memory; their numbers come from files and requests.
ABORTING = re.compile(
    r"\bvec!\[[^\]]*;|(?<!\w)\w+\.(?:resize|reserve|reserve_exact|to_vec)\(|with_capacity\("
)


def test_codecs_allocate_by_the_functions_that_can_fail() -> None:
    folder = CRATES / "tachyfits-format" / "src" / "codec"
    found = [
        f"{path.name}: {line.strip()}"
        for path in sorted(folder.glob("*.rs"))
        if path.name != "room.rs"
        for line in without_tests(rust_code(path.read_text(encoding="utf-8"))).splitlines()
        if ABORTING.search(line)
    ]
    assert not found, "use sized, resize and reserve of codec/room.rs"


@pytest.mark.parametrize("crate", ARROWS)
def test_a_file_of_a_crate_has_a_name_of_its_own(crate: str) -> None:
    # The slow twins in `naive` have the names of the files that they check.
    names = [path.name for path in crate_sources(crate) if path.parent.name != "naive"]
    shared = {name for name in names if names.count(name) > 1} - {"tests.rs"}
    assert not shared


@pytest.mark.parametrize("crate", ARROWS)
def test_a_type_of_a_crate_has_a_name_of_its_own(crate: str) -> None:
    names = []
    for path in crate_sources(crate):
        code = without_tests(rust_code(path.read_text(encoding="utf-8")))
        names += re.findall(
            r"^(?:pub(?:\([^)]*\))? )?(?:struct|enum|trait) (\w+)", code, re.MULTILINE
        )
    assert not {name for name in names if names.count(name) > 1}


#: Files of reductions with a state of their own: the state, and the names of its statistics.
REDUCTIONS = {"shape.rs": ("Shape", "skewness|kurtosis"), "mean_abs.rs": ("MeanAbs", "mean_abs")}


@pytest.mark.parametrize("file", REDUCTIONS)
def test_a_reduction_is_a_file_and_a_line_of_the_register(file: str) -> None:
    state, names = REDUCTIONS[file]
    engine = CRATES / "tachyfits" / "src"
    sources = [*(CRATES / "tachyfits-kernels" / "src").rglob("*.rs")]
    sources += [engine / name for name in ("line_fold.rs", "reduce.rs", "statistic.rs")]
    lines = [
        (path.name, line.strip())
        for path in sources
        if path.name not in (file, "lib.rs")
        for line in rust_code(path.read_text(encoding="utf-8")).splitlines()
        if re.search(rf"\b(?:{state}|{names})\b", line)
    ]
    # Besides that line: its module, and the re-export for programs in Rust.
    registered = [(name, line) for name, line in lines if not line.startswith(("mod ", "pub use"))]
    assert [name for name, _ in registered] == ["reduction.rs"], lines
    assert {name for name, _ in lines} == {"reduction.rs"}
    quoted = re.compile(rf"""["'](?:{names})["']""")
    assert not [
        path
        for path in PACKAGE.rglob("*.py")
        # This one is written from the register.
        if path.name != "statistic_names.py" and quoted.search(path.read_text(encoding="utf-8"))
    ]


def test_uses_of_rust_modules_are_found(tmp_path: Path) -> None:
    files = {
        "lib.rs": "mod a;\nmod b;\npub use a::Low;\n",
        "a.rs": "mod deep;\npub use deep::Deep;\npub struct Low;\n",
        "a/deep.rs": "use super::Low;\nstruct Deep(Low);\n#[cfg(test)]\nmod t { use crate::b; }",
        "b.rs": "use std::fmt;\nuse crate::{Low, a::{self, Deep as D}};\nfn f() { a::go() }\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert rustmodules.uses(tmp_path) == {
        "lib.rs": set(),
        "a.rs": set(),
        "a/deep.rs": {"a.rs"},
        "b.rs": {"a.rs", "a/deep.rs"},
    }
    graph = {"1": {"2"}, "2": {"3"}, "3": {"2", "4"}, "4": set()}
    assert rustmodules.circles(graph) == [["2", "3"]]


@pytest.mark.parametrize("crate", FORBIDDEN_MODULES)
def test_files_and_sockets_are_left_to_the_io_crate(crate: str) -> None:
    offenders = []
    modules = FORBIDDEN_MODULES[crate]
    used = re.compile(rf"\bstd::(?:{modules})\b|\bstd::\{{[^;]*?\b(?:{modules})\b")
    for path in crate_sources(crate):
        code = without_tests(rust_code(path.read_text(encoding="utf-8")))
        for found in used.finditer(code):
            offenders.append(f"{place(path, line_of(code, found.start()))}: {found[0]}")
    assert not offenders, "\n".join(offenders)


def test_unsafe_code_stays_at_its_addresses() -> None:
    offenders = []
    for path in sources(".rs"):
        if path.is_relative_to(CRATES) and path.relative_to(CRATES).as_posix() in UNSAFE_FILES:
            continue
        code = rust_code(path.read_text(encoding="utf-8"))
        for found in re.finditer(r"\bunsafe\b", code):
            offenders.append(place(path, line_of(code, found.start())))
    assert not offenders, "unsafe code outside its addresses:\n" + "\n".join(offenders)


def test_the_format_crate_forbids_unsafe_code() -> None:
    library = (CRATES / "tachyfits-format/src/lib.rs").read_text(encoding="utf-8")
    assert "#![forbid(unsafe_code)]" in library


def test_layers_are_the_folders_and_modules_of_the_package() -> None:
    found = {path.stem for path in PACKAGE.glob("*.py")} - {"__init__", "__main__"}
    found |= {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert found == set(LAYERS)


def test_the_design_lists_the_layers() -> None:
    text = (ROOT / "DESIGN.md").read_text(encoding="utf-8")
    section = text.partition("### Which Python module may import which?")[2].partition("\n### ")[0]
    listed = re.findall(r"^(\w+) ", section.partition("```\n")[2].partition("```")[0], re.MULTILINE)
    assert listed == list(reversed(LAYERS))


def test_python_modules_import_from_their_layer_and_lower_ones() -> None:
    modules = package_modules()
    offenders = [
        f"{place(path)} imports {used}"
        for module, path in modules.items()
        for used in sorted(imports_within(path, modules))
        if layer_of(used) > layer_of(module)
    ]
    assert not offenders, "\n".join(offenders)


def test_python_modules_import_in_no_circle() -> None:
    modules = package_modules()
    waiting = {module: imports_within(path, modules) for module, path in modules.items()}
    while free := {module for module, used in waiting.items() if not used & set(waiting)}:
        waiting = {module: used for module, used in waiting.items() if module not in free}
    circles = {module: sorted(used & set(waiting)) for module, used in waiting.items()}
    assert not circles, circles


def test_modules_are_imported_by_name_in_the_tables_only() -> None:
    named = re.compile(r"(?:import_module|__import__)\(\s*f?[\"']tachyfits")
    found = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if named.search(path.read_text(encoding="utf-8"))
    }
    assert found == IMPORT_BY_NAME


def test_functions_of_upper_layers_are_in_the_table_and_above_their_users() -> None:
    used = set()
    for module, path in package_modules().items():
        for name in re.findall(r"\bupper\.([A-Za-z]\w*)", path.read_text(encoding="utf-8")):
            if name not in ("provide", "Upper"):
                used.add(name)
                assert layer_of(tf._UPPER[name]) > layer_of(module), f"{place(path)}: {name}"
    assert used == set(tf._UPPER)
    assert all(callable(getattr(upper, name)) for name in used)


def interface_of(room: str) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Return the names that a room offers, by module: as type checkers see them, and its table."""
    tree = ast.parse((PACKAGE / room / "__init__.py").read_text(encoding="utf-8"))
    typed: dict[str, set[str]] = {}
    table: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith(f"tachyfits.{room}."):
            module = str(node.module).removeprefix(f"tachyfits.{room}.")
            if (room, module) == ("base", "rooms"):
                continue
            typed.setdefault(module, set()).update(alias.name for alias in node.names)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "interface":
            table = {name: set(names) for name, names in ast.literal_eval(node.args[1]).items()}
    return typed, table


def names_from_other_rooms(room: str) -> Iterator[tuple[str, str, str]]:
    """Give (place, module, name) of what the modules of a room import from other rooms."""
    for path in sorted((PACKAGE / room).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("tachyfits"):
                module = str(node.module)
                if module.split(".")[1:2] != [room]:
                    at = place(path, node.lineno)
                    yield from ((at, module, alias.name) for alias in node.names)


@pytest.mark.parametrize("room", ROOMS_ABOVE)
def test_rooms_above_the_api_import_public_names_alone(room: str) -> None:
    public = {"tachyfits": {*tf.__all__}, "tachyfits.plot": {*plot.__all__}}
    public["tachyfits.base.rooms"] = {"interface"}
    public |= {f"tachyfits.{name}": {*getattr(tf, name).__all__} for name in ("fortran", "info")}
    for other in ROOMS:
        public.setdefault(f"tachyfits.{other}", set()).update(*interface_of(other)[1].values())
    offenders = [
        f"{at}: {module} import {name}"
        for at, module, name in names_from_other_rooms(room)
        if name not in public.get(module, ())
    ]
    assert not offenders, "\n".join(offenders)


#: Public methods of named tuples, and attributes of matplotlib.
UNDERSCORED = {"_asdict", "_fields", "_replace", "_left_title", "_right_title"}


def private_names(room: str) -> set[str]:
    """Return the attributes that the classes of a room define for itself."""
    names = set()
    for path in (PACKAGE / room).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, FUNCTIONS) or (
                isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("self", "cls")
            ):
                names.add(node.name if isinstance(node, FUNCTIONS) else node.attr)
            elif isinstance(node, ast.AnnAssign):
                names.add(ast.unparse(node.target))
    return {name for name in names if name.startswith("_") and not name.endswith("__")}


@pytest.mark.parametrize("room", ROOMS_ABOVE)
def test_rooms_above_the_api_use_public_attributes_alone(room: str) -> None:
    own = private_names(room) | UNDERSCORED
    offenders = [
        f"{place(path, node.lineno)}: .{node.attr}"
        for path in sorted((PACKAGE / room).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.endswith("__")
        and node.attr not in own
    ]
    assert not offenders, "\n".join(offenders)


def test_rooms_offer_the_names_that_rooms_above_import() -> None:
    imported = {(name, module) for room in ROOMS_ABOVE
                for _, module, name in names_from_other_rooms(room)}  # fmt: skip
    for room in ROOMS:
        typed, table = interface_of(room)
        assert typed == table, room
        package = importlib.import_module(f"tachyfits.{room}")
        for module, names in table.items():
            home = importlib.import_module(f"tachyfits.{room}.{module}")
            for name in names:
                assert getattr(package, name) is getattr(home, name)
                assert (name, f"tachyfits.{room}") in imported, f"{room}: no room imports {name}"
    text = importlib.import_module("tachyfits.text")
    with pytest.raises(AttributeError, match=r"'tachyfits\.text' has no attribute 'no_name'"):
        _ = text.no_name


def test_plots_do_not_know_the_compiled_module() -> None:
    for path in sorted((PACKAGE / "plot").rglob("*.py")):
        imports = imported_modules(path, top_level_only=False)
        assert not {name for name in imports if name.startswith("tachyfits._core")}, place(path)


@pytest.mark.parametrize("module", ["tachyfits", "tachyfits.cli"])
def test_importing_costs_no_heavy_library(module: str) -> None:
    program = f"import sys, {module}; print(*sys.modules)"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not HEAVY_LIBRARIES & {name.partition(".")[0] for name in done.stdout.split()}


def test_public_names_are_imported_on_first_use() -> None:
    tree = ast.parse((PACKAGE / "__init__.py").read_text(encoding="utf-8"))
    for_type_checkers = next(node for node in tree.body if isinstance(node, ast.If))
    declared = {
        alias.name: node.module
        for node in for_type_checkers.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    modules = ("distributed", "fortran", "info", "zarr")
    assert [declared.pop(name) for name in modules] == ["tachyfits"] * 4
    assert declared == {name: f"tachyfits.{home}" for name, home in tf._MODULES.items()}
    assert sorted([*declared, *modules]) == sorted(tf.__all__)
    for name in tf.__all__:
        assert getattr(tf, name) is not None
        assert name in dir(tf)
    with pytest.raises(AttributeError, match="has no attribute 'opn'"):
        _ = tf.opn


def test_importing_the_package_loads_nothing_else() -> None:
    program = "import sys, tachyfits; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert not {"numpy", "tachyfits._core", "tachyfits.file.file"} & set(done.stdout.split())


def test_the_rust_reader_reads_rust() -> None:
    source = (
        'fn a<\'x>(c: char) -> bool {\n    // unsafe { \n    c == \'{\' || "}\\"" == r#"}"#\n}\n'
        "#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n"
        "/* } /* } */ unsafe */ fn d();\nfn e(lanes: [f32; 16]) {\n}\n"
    )
    code = rust_code(source)
    assert "unsafe" not in code
    assert code.count("\n") == source.count("\n")
    assert list(rust_functions(code)) == [("a", 1, 4), ("b", 7, 1), ("e", 10, 2)]
    assert list(rust_functions(without_tests(code))) == [("a", 1, 4), ("e", 10, 2)]


#: The most parameters of a method, of a public function, and of any other function.
MOST_PARAMETERS = {"method": 10, "public": 12, "internal": 8}

#: Functions that have more, and how many.
WIDER: dict[str, int] = {}


def functions_of(path: Path) -> Iterator[tuple[str, str, int]]:
    """Give (kind, name, number of parameters) of each function of a module."""
    public = {*tf.__all__, *fortran.__all__, *plot.__all__}
    waiting: list[tuple[ast.AST, bool]] = [(ast.parse(path.read_text(encoding="utf-8")), False)]
    while waiting:
        node, in_class = waiting.pop()
        if isinstance(node, FUNCTIONS):
            given = node.args
            first = [*given.posonlyargs, *given.args]
            count = len(first) + len(given.kwonlyargs) + bool(given.vararg) + bool(given.kwarg)
            if in_class and first and first[0].arg in ("self", "cls"):
                count -= 1
            name = node.name
            is_method = in_class and not name.startswith("_")
            kind = "method" if is_method else "public" if name in public else "internal"
            yield kind, name, count
        waiting += [(each, isinstance(node, ast.ClassDef)) for each in ast.iter_child_nodes(node)]


def test_functions_have_few_parameters() -> None:
    wider = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        for kind, name, count in functions_of(path):
            if count > MOST_PARAMETERS[kind]:
                wider[f"{path.relative_to(PACKAGE).as_posix()}: {name}"] = count
    assert wider == WIDER


def test_methods_of_images_have_four_parameters_at_most_in_the_median() -> None:
    counts = [
        len([name for name in inspect.signature(method).parameters if name != "self"])
        for name, method in inspect.getmembers(tf.Image, callable)
        if not name.startswith("_")
    ]
    assert len(counts) > 40
    assert statistics.median(counts) <= 4


def test_parameters_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(
        "def open(a, b=1, /, c=2, *d, e, **f):\n    def g(h): ...\n"
        "class C:\n    def m(self, a): ...\n    def _p(cls, a, b): ...\n",
        encoding="utf-8",
    )
    assert sorted(functions_of(tmp_path / "a.py")) == [
        ("internal", "_p", 2), ("internal", "g", 1), ("method", "m", 1), ("public", "open", 6),
    ]  # fmt: skip
