"""Opens damaged copies of files and uses what opens; test_damaged.py runs it as a process.

Whatever happens must be a value, a warning or one `TachyfitsError`. Memory is limited, so that an
allocation that believes a damaged header fails. The last line of output is a count of the cases.
"""

from __future__ import annotations

import resource
import sys
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path

import tachyfits as tf

#: Address space beyond what Python itself has: far below what damaged headers ask for.
EXTRA_MEMORY = 768 << 20


#: What is kept of a file whose headers are damaged.
MOST_BYTES = 40_000


def limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + EXTRA_MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def use(content: bytes) -> None:
    """Do what a reader does with a file, as far as it gets."""
    with tf.open(content, threads=1) as file:
        for hdu in file:
            try:
                use_hdu(hdu)
            except tf.TachyfitsError:
                continue


def use_hdu(hdu: tf.Hdu) -> None:
    hdu.header.get("OBJECT")
    if isinstance(hdu, tf.Image):
        small = tuple(slice(0, 2) for _ in hdu.shape)
        hdu.read(small)
        hdu.stats()
        hdu.world_axis(0)
    elif hdu.kind == "random groups":
        hdu.group_parameters()


def cut(content: bytes) -> Iterator[tuple[str, bytes]]:
    for size in range(0, len(content), 100):
        yield f"cut at {size}", content[:size]


def headers(content: bytes) -> Iterator[int]:
    """Give the offsets of the bytes of the headers that hold cards, up to END of each."""
    with tf.open(content) as file:
        for hdu in file:
            begin = hdu._hdu().header_offset
            end = content.find(b"END" + b" " * 77, begin, hdu.data_offset)
            yield from range(begin, (end if end >= 0 else hdu.data_offset - 80) + 80)


def flipped(content: bytes) -> Iterator[tuple[str, bytes]]:
    # Copying megabytes of pixels for each damaged byte of a header would test the memory.
    content = content[:MOST_BYTES]
    try:
        offsets = list(headers(content))
    except tf.TachyfitsError:
        offsets = list(range(min(len(content), 2880)))
    damaged = bytearray(content)
    for offset in offsets:
        old = damaged[offset]
        # One bit of the low four makes another digit, letter or sign; the highest, no ASCII.
        for change in (1 << (offset % 4), 0x10 << (offset % 4)):
            damaged[offset] = old ^ change
            yield f"byte {offset} is {old ^ change:#04x}", bytes(damaged)
        damaged[offset] = old


def main(how: str, paths: list[str]) -> int:
    warnings.simplefilter("ignore")
    limit_memory()
    cases = failures = 0
    for path in paths:
        content = Path(path).read_bytes()
        for name, damaged in {"cut": cut, "flip": flipped}[how](content):
            cases += 1
            try:
                use(damaged)
            except tf.TachyfitsError as error:
                if "hint: " not in str(error):
                    failures += 1
                    print(f"{path}: {name}: no hint: {error}")
            except BaseException:
                failures += 1
                print(f"{path}: {name}: {traceback.format_exc(limit=-3)}")
            if failures > 10:
                return 1
    print(f"{cases} cases, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
