"""Hostile arguments: only errors of the package leave the public interface, and no process ends.

A sample of all calls is made. ``TACHYFITS_HOSTILE=all`` makes every call, in about half an hour.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tachyfits as tf
from tachyfits.base.boundary import public

WORKER = Path(__file__).with_name("hostile.py")

#: Processes that share the subjects.
PARTS = 3

#: The share of the hostile arguments that each place of each function gets.
SHARE = 1.0 if os.environ.get("TACHYFITS_HOSTILE") == "all" else 0.015


def worker(directory: Path, share: float, *names: str) -> tuple[list[dict[str, Any]], str]:
    """Run the calls of some subjects; return the lines that they printed, and the errors."""
    command = [sys.executable, str(WORKER), "1", str(share), *names]
    run = subprocess.run(
        command, cwd=directory, capture_output=True, text=True, timeout=3600, check=False
    )
    lines = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    return lines, run.stderr[-2000:]


@pytest.fixture(scope="module")
def subjects(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    lines, errors = worker(tmp_path_factory.mktemp("list"), 1, "list")
    assert lines, errors
    names: list[str] = lines[0]["subjects"]
    return names


@pytest.mark.parametrize("part", range(PARTS))
def test_only_errors_of_the_package_leave_public_functions(
    part: int, subjects: list[str], tmp_path: Path
) -> None:
    lines, errors = worker(tmp_path, SHARE, *subjects[part::PARTS])
    assert "done" in lines[-1], f"the process ended in {lines[-1]}: {errors}"
    faults = [line for line in lines if "fault" in line]
    assert not faults, "\n".join(str(fault) for fault in faults[:20])


def test_public_functions_of_all_nouns_are_called(subjects: list[str]) -> None:
    nouns = {name.partition(".")[0] for name in subjects}
    assert {
        "tf",
        "fortran",
        "cube",
        "table",
        "header",
        "editor",
        "plane",
        "marks",
        "spectrum",
    } <= nouns
    assert {f"tf.{name}" for name in ("open", "write", "edit", "verify", "diff")} <= {*subjects}


def test_exceptions_of_functions_of_the_user_pass() -> None:
    def progress(done: int, total: int) -> None:
        raise ZeroDivisionError("of the user")

    with pytest.raises(ZeroDivisionError, match="of the user"):
        call_back(progress)


@public
def call_back(progress: Any) -> None:
    progress(1, 2)


def test_exceptions_of_libraries_are_errors_of_the_package() -> None:
    with pytest.raises(tf.UsageError, match=r"^invalid argument of median: "):
        public(statistics.median)([])
    # It is a TypeError too, as Python has it.
    with pytest.raises(tf.UsageError) as error:
        public(statistics.median)(3)
    assert isinstance(error.value, TypeError)


def test_calls_that_do_not_fit_the_signature_stay_type_errors() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument") as caught:
        tf.open("cube.fits", no_such=1)  # type: ignore[call-arg]
    assert not isinstance(caught.value, tf.TachyfitsError)
