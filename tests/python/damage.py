"""Opens damaged copies of files and uses what opens; test_damaged.py runs it as a process.

Every result must be a value, a warning or one `TachyfitsError`. Memory is limited, so that an
allocation that believes a damaged header fails. The last line of output is a count of the cases.
"""

from __future__ import annotations

import resource
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import tachyfits as tf

#: Address space beyond what Python itself has: far below what damaged headers ask for.
EXTRA_MEMORY = 768 << 20

#: Rows of a table that are read, and that a condition is asked of.
MOST_ROWS = 3

#: The readable rest of a file whose headers are damaged.
MOST_BYTES = 40_000


def limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + EXTRA_MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def use(content: bytes) -> None:
    """Do what a reader does with a file, as far as it gets; verifying gets through any."""
    attempt(lambda: tf.verify(content))
    with tf.open(content, threads=1) as file:
        for hdu in file:
            attempt(lambda hdu=hdu: use_hdu(hdu))


def attempt(action: Callable[[], object]) -> None:
    """Let one part fail, with advice; the others are tried all the same."""
    try:
        action()
    except tf.TachyfitsError as error:
        if "hint: " not in str(error):
            raise AssertionError("an error without a hint") from error


def use_hdu(hdu: tf.Hdu) -> None:
    hdu.header.get("OBJECT")
    if isinstance(hdu, tf.Image):
        small = tuple(slice(0, 2) for _ in hdu.shape)
        hdu.read(small)
        hdu.stats()
        hdu.world_axis(0)
    elif isinstance(hdu, tf.Table):
        rows = slice(0, min(MOST_ROWS, len(hdu)))
        for column in hdu.columns:
            attempt(lambda column=column: hdu.read(column.number, rows=rows))
            attempt(lambda column=column: hdu.where(condition(column), rows=rows))
    elif hdu.kind == "random groups":
        hdu.group_parameters()


def condition(column: tf.TableColumn) -> str:
    """Ask something of a column that needs its values; of arrays, that is a clear error."""
    return f"`{column.key}` == " + ("'x'" if column.dtype.kind in "US" else "1")


def cut(content: bytes) -> Iterator[tuple[str, bytes]]:
    for size in range(0, len(content), 100):
        yield f"cut at {size}", content[:size]


def fragile(content: bytes) -> Iterator[int]:
    """Give the offsets of the bytes of cards, up to END of each header, and of the first rows."""
    with tf.open(content) as file:
        for hdu in file:
            begin = hdu._hdu().header_offset
            end = content.find(b"END" + b" " * 77, begin, hdu.data_offset)
            yield from range(begin, (end if end >= 0 else hdu.data_offset - 80) + 80)
            if isinstance(hdu, tf.Table):
                used = min(MOST_ROWS * hdu.row_bytes, hdu.data_bytes_present)
                yield from range(hdu.data_offset, hdu.data_offset + used)


def flipped(content: bytes) -> Iterator[tuple[str, bytes]]:
    # Copying megabytes of pixels for each damaged byte of a header would test the memory.
    content = content[:MOST_BYTES]
    try:
        offsets = list(fragile(content))
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


def tiles(content: bytes, step: int) -> Iterator[tuple[str, bytes]]:
    """Flip a bit of every ``step``-th byte of the table that has the tiles; and cut there."""
    with tf.open(content, decompress_tiles=False) as file:
        hdu = file[1]
        begin, data = hdu._hdu().header_offset, hdu.data_offset
        end = content.find(b"END" + b" " * 77, begin, data) + 80
        bytes_used = hdu.header["NAXIS1"] * hdu.header["NAXIS2"] + hdu.header["PCOUNT"]
        offsets = [*range(begin, end), *range(data, data + bytes_used)][::step]
    damaged = bytearray(content)
    for offset in offsets:
        old = damaged[offset]
        damaged[offset] = old ^ 1 << offset // step % 8
        yield f"bit {offset // step % 8} of byte {offset}", bytes(damaged)
        damaged[offset] = old
    for offset in offsets[::16]:
        yield f"cut at {offset}", content[:offset]


def main(how: str, paths: list[str]) -> int:
    warnings.simplefilter("ignore")
    limit_memory()
    cases = failures = 0
    # "tiles:7" damages every seventh byte.
    how, _, step = how.partition(":")
    ways: dict[str, Callable[[bytes], Iterator[tuple[str, bytes]]]] = {
        "cut": cut,
        "flip": flipped,
        "tiles": lambda content: tiles(content, int(step or 1)),
    }
    for path in paths:
        content = Path(path).read_bytes()
        for name, damaged in ways[how](content):
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
