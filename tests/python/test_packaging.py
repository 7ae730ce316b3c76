"""Packages: the conda recipe agrees with the project, and wheels are checked."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

pytestmark = pytest.mark.once

ROOT = Path(__file__).resolve().parents[2]
RECIPE: Any = yaml.safe_load((ROOT / "conda/recipe.yaml").read_text(encoding="utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CARGO = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))


def plain(requirement: str) -> str:
    """Return a requirement without blanks: conda has one after the name."""
    return requirement.replace(" ", "")


def test_the_conda_recipe_has_the_version_of_the_project() -> None:
    assert RECIPE["schema_version"] == 1
    assert RECIPE["context"]["version"] == CARGO["workspace"]["package"]["version"]


def test_the_conda_recipe_has_the_dependencies_of_the_project() -> None:
    project = PROJECT["project"]
    python = f"python{project['requires-python']}"
    run = [plain(one) for one in RECIPE["requirements"]["run"]]
    assert sorted(run) == sorted([python, *map(plain, project["dependencies"])])
    host = [plain(one) for one in RECIPE["requirements"]["host"]]
    assert sorted(host) == sorted([python, "pip", *PROJECT["build-system"]["requires"]])


def test_the_conda_recipe_describes_the_project() -> None:
    project, about = PROJECT["project"], RECIPE["about"]
    assert (about["summary"], about["license"]) == (project["description"], project["license"])
    assert [about["license_file"]] == project["license-files"]
    commands = [f"{name} = {place}" for name, place in project["scripts"].items()]
    assert RECIPE["build"]["python"]["entry_points"] == commands


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_a_missing_part_of_a_wheel_is_named(machine: str, tmp_path: Path) -> None:
    (tmp_path / "rustc").write_text("#!/bin/sh\necho /nowhere\n")
    (tmp_path / "rustc").chmod(0o755)
    done = subprocess.run(
        ["sh", "tools/require", f"wheel-{machine}"], cwd=ROOT, capture_output=True, text=True,
        check=False, env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
    )  # fmt: skip
    assert done.returncode == 1
    assert f"rustup target add {machine}-unknown-linux-gnu" in done.stderr


def test_a_folder_without_wheels_fails_the_check(tmp_path: Path) -> None:
    command = [sys.executable, "tools/check_wheels.py", "manylinux_2_28", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert re.match(r"no wheel is in .*; to build one: make wheel", done.stderr)
