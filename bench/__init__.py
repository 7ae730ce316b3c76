"""The benchmark harness: measures this engine beside its peers, and the numbers against bars.

It is not a profiler and not only a test of correctness: it is a timed test. A row fails when the
number misses its bar and when any of its answers is wrong. See README.md.
"""

from __future__ import annotations

from pathlib import Path

#: The folder of this package, and the repository's root.
HERE = Path(__file__).resolve().parent
ROOT = HERE.parent


class BenchError(Exception):
    """An error that the user can correct; the text says how."""
