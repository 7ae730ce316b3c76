"""SIGBUS of a map goes where it belongs, in whatever order handlers are set."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tachyfits as tf

SCRIPT = """
import faulthandler, mmap, os, signal, sys
import tachyfits as tf

def use():
    file = tf.open("x.fits", storage="mmap")
    file[0].stats()
    return file

def foreign():
    open("m.bin", "wb").write(b"x" * 8192)
    file = open("m.bin", "r+b")
    memory = mmap.mmap(file.fileno(), 8192)
    file.truncate(0)
    return memory[5000]

def cut(file):
    os.truncate("x.fits", 8640)
    try:
        file[0].stats()
    except tf.TachyfitsError as error:
        print(error.code)

fh, off = faulthandler.enable, faulthandler.disable
def py(): signal.signal(signal.SIGBUS, lambda *_: print("python"))
def dfl(): signal.signal(signal.SIGBUS, signal.SIG_DFL)
def ign(): signal.signal(signal.SIGBUS, signal.SIG_IGN)
def kill(): os.kill(os.getpid(), signal.SIGBUS); print("alive")
file = None
for step in sys.argv[1].split():
    if step == "use": file = use()
    elif step == "cut": cut(file)
    else: globals()[step]()
"""


def run(steps: str, folder: Path) -> subprocess.CompletedProcess[str]:
    tf.write(folder / "x.fits", np.ones((300, 300)), overwrite=True)
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, steps],
        cwd=folder, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


@pytest.mark.parametrize(
    "steps",
    [
        "use foreign", "fh use foreign", "use fh foreign", "use fh use foreign",
        "fh use off foreign", "use fh use off foreign", "fh use off use foreign",
        "use fh use off fh use off foreign", "py use foreign", "ign use foreign",
        "use kill", "fh use kill", "use fh kill", "use fh use kill", "use fh use off dfl kill",
    ],
)  # fmt: skip
def test_a_foreign_signal_ends_the_process(steps: str, tmp_path: Path) -> None:
    ended = run(steps, tmp_path)
    assert ended.returncode == -signal.SIGBUS, ended.stderr
    assert ended.stderr.count("Fatal Python error: Bus error") <= 2


@pytest.mark.parametrize(("steps", "said"), [
    ("py use kill", "python\nalive\n"), ("ign use kill", "alive\n"),
    ("use py kill", "python\nalive\n"),
])  # fmt: skip
def test_a_sent_signal_goes_to_the_previous_handler(steps: str, said: str, tmp_path: Path) -> None:
    ended = run(steps, tmp_path)
    assert (ended.returncode, ended.stdout) == (0, said), ended.stderr


@pytest.mark.parametrize(
    "steps",
    [
        "use cut", "fh use cut", "use fh cut", "use py cut", "use ign cut", "use dfl cut",
        "fh use off cut", "use fh off cut", "use fh use off cut", "py use dfl cut",
    ],
)  # fmt: skip
def test_a_file_cut_short_under_its_map_is_an_error_whatever_handler_was_set(
    steps: str, tmp_path: Path
) -> None:
    ended = run(steps, tmp_path)
    assert (ended.returncode, ended.stdout) == (0, "io-short\n"), ended.stderr
