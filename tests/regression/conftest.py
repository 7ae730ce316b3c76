"""Regression tests share the fixtures of the other Python tests."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _quiet_warnings() -> Iterator[None]:
    """Odd files are the subject here; tests of the warnings ask for them."""
    import tachyfits as tf

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tf.TachyfitsWarning)
        yield
