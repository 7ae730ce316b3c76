"""Real files equal their copies, card by card and byte by byte, but for a list of differences."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import astropy
import numpy as np
import pytest

import realfiles
import tachyfits as tf
from copydifferences import DIFFERENCES
from tachyfits.cli import run

#: Larger files take long, and add little.
_MOST_BYTES = 8 << 20


class _Hdu(NamedTuple):
    """Parts of an HDU that are compared."""

    index: int
    records: list[bytes]
    data: bytes


def _files() -> list[Any]:
    found = {path.name: path for path in map(realfiles.path_of, realfiles.COMMITTED)}
    found |= {path.name: path for path in realfiles.traps()}
    for path in sorted(realfiles.SHARED.glob("data/**/*.fits*")):
        found.setdefault(path.name, path)
    folder = Path(astropy.__file__).parent
    for path in sorted(folder.rglob("*.fits*")):
        found[path.relative_to(folder).as_posix()] = path
    small = {name: path for name, path in found.items() if path.stat().st_size <= _MOST_BYTES}
    return [pytest.param(path, id=name) for name, path in small.items()]


def _inflated(path: Path) -> bytes:
    content = path.read_bytes()
    return gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content


def _hdus(path: Path, values: bool) -> list[_Hdu]:
    """Return the HDUs of a file as they are without compression."""
    with tf.open(path) as file:
        content = _inflated(path)
        return [_Hdu(hdu.index, _records(hdu), _data(hdu, content, values)) for hdu in file]


def _records(hdu: Any) -> list[bytes]:
    """Return the cards, 80 bytes each, up to END, without blank ones before it."""
    raw = hdu._hdu().header().raw()
    records = [raw[at : at + 80] for at in range(0, len(raw), 80)]
    end = next(n for n, record in enumerate(records) if record.rstrip(b" \0") == b"END")
    while end and not records[end - 1].strip(b" \0"):
        end -= 1
    return records[:end]


def _data(hdu: Any, content: bytes, values: bool) -> bytes:
    """Return the data as the file has them, or their values, where tiles have these alone."""
    if not values:
        return content[hdu.data_offset : hdu.data_offset + hdu.data_bytes]
    if hasattr(hdu, "scaling"):
        return np.ascontiguousarray(hdu[:]).tobytes()
    return repr(hdu.read()).encode() if hdu.kind.endswith("table") else b""


def _keyword(record: bytes) -> str:
    return record[:8].decode("latin-1").strip().upper()


def _differences(source: _Hdu, copy: _Hdu) -> set[str]:
    """Return the keywords of cards that differ, "order" and "data"."""
    both = [source.records, copy.records]
    one, other = map(Counter, both)
    found = {_keyword(record) for record in (one - other) + (other - one)}
    kept = [[r for r in records if _keyword(r) not in found] for records in both]
    if kept[0] != kept[1]:
        found.add("order")
    if source.data != copy.data:
        found.add("data")
    return found


def _unexplained(way: str, path: Path, source: Path, copy: Path) -> list[str]:
    """Return the differences between a file and its copy that the list does not have."""
    with tf.open(source) as file:
        is_packed = any(hdu.compression is not None for hdu in file)
    before, after = _hdus(source, is_packed), _hdus(copy, is_packed)
    if len(before) != len(after):
        return [f"{len(before)} HDUs became {len(after)}"]
    told = []
    for one, other in zip(before, after, strict=True):
        for what in sorted(_differences(one, other)):
            allowed = any(
                each.way in ("", way) and str(path).endswith(each.file) and each.what == what
                for each in DIFFERENCES
            )
            if not allowed:
                told.append(f"HDU {one.index}: {what}")
    return told


def _is_refused(way: str, path: Path, error: tf.TachyfitsError) -> bool:
    """Return whether the list has an error; files that cannot be opened have nothing to copy."""
    if error.code in ("not-fits", "end-missing", "keyword-range", "data-too-large"):
        return True
    return any(
        each.what == error.code and each.way in ("", way) and str(path).endswith(each.file)
        for each in DIFFERENCES
    )


@pytest.mark.real_files
@pytest.mark.parametrize("path", _files())
def test_a_list_of_all_hdus_is_the_file(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "copy.fits"
    try:
        with tf.open(path) as file:
            tf.write(out, list(file))
    except tf.TachyfitsError as error:
        if not _is_refused("list", path, error):
            raise
        return
    assert _unexplained("list", path, path, out) == []


@pytest.mark.real_files
@pytest.mark.parametrize("path", _files())
def test_decompressing_gives_the_file_that_was_compressed(path: Path, tmp_path: Path) -> None:
    packed, out = tmp_path / "packed.fits.fz", tmp_path / "copy.fits"
    how = tf.Compression("gzip", tables=True)
    try:
        with tf.open(path) as file:
            tf.write(packed, list(file), compress=how)
    except tf.TachyfitsError as error:
        if not _is_refused("compress", path, error):
            raise
        return
    assert run(["decompress", str(packed), "-o", str(out)]) == 0
    assert _unexplained("compress", path, path, out) == []
