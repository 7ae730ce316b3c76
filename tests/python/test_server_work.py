"""Work of the server: views and turns, the cache of answers, and threads without a request."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import threading
import time

import pytest

import tachyfits as tf
from tachyfits.server.cache import ByteCache
from tachyfits.server.errors import Superseded
from tachyfits.server.work import Views

pytestmark = pytest.mark.once


def test_newer_request_of_a_view_cancels_the_older_one() -> None:
    views, first, second = Views(), tf.CancelToken(), tf.CancelToken()
    with views.showing("ada", "spectrum", None, first):
        with views.showing("ada", "spectrum", None, second):
            assert first.cancelled
            assert not second.cancelled
        with views.showing("eve", "spectrum", None, tf.CancelToken()):
            pass
    assert not second.cancelled
    assert not views._views


def test_requests_of_one_turn_belong_together_and_late_ones_are_refused() -> None:
    views = Views()
    tokens = [tf.CancelToken() for _ in range(4)]
    with (
        views.showing("ada", "tiles", 5, tokens[0]),
        views.showing("ada", "tiles", 5, tokens[1]),
    ):
        assert not any(token.cancelled for token in tokens)
        with views.showing("ada", "tiles", 6, tokens[2]):
            assert [token.cancelled for token in tokens] == [True, True, False, False]
            with pytest.raises(Superseded), views.showing("ada", "tiles", 5, tokens[3]):
                pass
    assert not views._views


def test_view_of_another_client_is_not_cancelled() -> None:
    views, mine = Views(), tf.CancelToken()
    with (
        views.showing("ada", "spectrum", None, mine),
        views.showing("eve", "spectrum", None, tf.CancelToken()),
    ):
        assert not mine.cancelled


def test_answer_is_computed_once_for_all_that_wait() -> None:
    cache, calls, go_on = ByteCache(10_000), [], threading.Event()

    def make() -> bytes:
        calls.append(1)
        go_on.wait(10)
        return b"answer"

    found: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: found.append(cache.get("key", make, len))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    go_on.set()
    for thread in threads:
        thread.join(10)
    assert found == [b"answer"] * 8
    assert len(calls) == 1


def test_thread_that_waits_for_another_ends_when_its_request_does() -> None:
    cache, begun, go_on = ByteCache(10_000), threading.Event(), threading.Event()

    def make() -> bytes:
        begun.set()
        go_on.wait(10)
        return b""

    thread = threading.Thread(target=lambda: cache.get("key", make, len))
    thread.start()
    assert begun.wait(10)
    with pytest.raises(Superseded):
        cache.get("key", make, len, lambda: True)
    go_on.set()
    thread.join(10)


def test_cache_keeps_to_its_budget() -> None:
    cache = ByteCache(10_000)
    for number in range(100):
        cache.get(number, lambda: bytes(1000), len)
        assert cache.bytes <= 10_000
    assert len(cache) == 6
    cache.get("large", lambda: bytes(20_000), len)
    assert cache.bytes <= 10_000
    assert cache.get(99, lambda: b"other", len) == bytes(1000)


#: Frees blocks that lie between others which stay; prints the MiB that the process has of its own.
_FREED = """
import sys
from tachyfits.server.run import free_to_system
if sys.argv[1] == "back":
    free_to_system()
for _ in range(3):
    bytearray(24 << 20)  # glibc learns from it to keep blocks of that size
held = []
for _ in range(200):
    held.append((b"x" * (512 << 10), b"y" * (100 << 10)))
held = [small for _, small in held]
with open("/proc/self/status") as file:
    (line,) = (line for line in file if line.startswith("RssAnon"))
print(int(line.split()[1]) >> 10)
"""


@pytest.mark.skipif(
    sys.platform != "linux" or platform.libc_ver()[0] != "glibc", reason="an option of glibc"
)
def test_freed_blocks_go_back_to_the_system() -> None:
    def mebibytes(how: str) -> int:
        command = [sys.executable, "-c", _FREED, how]
        # dask's workers set options of glibc, which stay in the environment.
        plain = {name: text for name, text in os.environ.items() if "MALLOC_" not in name}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=plain)
        return int(done.stdout)

    assert mebibytes("back") < mebibytes("kept") - 60
