"""Tables: the makers of inputs that are tables, in bounded memory, and their exact answers.

A column's physical values are `zero + scale * k` with an integer k and a scale that is a power of
two, so that all sums are exact integers until they are rounded once. A reader must reproduce the
fingerprint of a column (see `Fingerprint`). makers.py runs these; outputs.py checks written tables
with `described`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from bench import BenchError

BLOCK = 2880
#: Rows that are made at a time, an even number.
ROWS = 1 << 18
#: TFORM letter -> NumPy type, big-endian where it has bytes in an order.
TYPES = {"B": "u1", "I": ">i2", "J": ">i4", "K": ">i8", "E": ">f4", "D": ">f8"}
#: TFORM letter -> the TZERO that makes it unsigned, or signed for bytes (Sect. 5.2.5).
CONVENTIONS = {"B": -(1 << 7), "I": 1 << 15, "J": 1 << 31, "K": 1 << 63}


class Fingerprint:
    """Adds the bit patterns of a column up, each times an odd number of its own, modulo 2^64.

    The patterns are those of int64 or float64, to which every type of column but unsigned 64-bit
    goes without loss; every NaN counts as the same. No value can change or move unseen.
    """

    def __init__(self) -> None:
        self.value = 0
        self._next = 0

    def add(self, values: np.ndarray) -> None:
        """Add the rows that come next."""
        floats = values.dtype.kind == "f"
        with np.errstate(invalid="ignore"):  # a signalling NaN
            wide = values.astype("f8" if floats else "i8")
        if floats:
            wide[np.isnan(wide)] = np.nan
        odd = 2 * np.arange(self._next, self._next + wide.size, dtype="u8") + np.uint64(1)
        self.value = (self.value + int((wide.view("u8") * odd).sum(dtype="u8"))) % 2**64
        self._next += wide.size


@dataclass(frozen=True)
class Column:
    """One column of a recipe: how it is stored, and what integers its values are made of."""

    name: str
    form: str  # of a binary table
    bits: int = 16  # k is 0 ... 2^bits - 1 without `rows`
    rows: bool = False  # k is the number of the row
    offset: int = 0  # added to k
    zero: float = 0.0
    scale: float = 1.0
    scaled: bool = False  # integers with TSCAL = scale, TZERO = zero
    convention: bool = False  # TZERO makes it unsigned (bytes: signed)
    null: int | None = None  # TNULL, in one row of 128
    nan: bool = False  # NaN in one row of 128
    width: int = 0  # of an ASCII table: it is Iw

    @property
    def stored(self) -> np.dtype[Any]:
        """The NumPy type of the bytes; of an ASCII table's text."""
        return np.dtype(f"S{self.width}" if self.width else TYPES[self.form])

    def cards(self, number: int, start: int) -> list[tuple[str, Any]]:
        """Make the cards of this column; `start` is its first byte in the row, from 0."""
        result: list[tuple[str, Any]] = [(f"TTYPE{number}", self.name)]
        if self.width:
            result += [(f"TBCOL{number}", start + 1), (f"TFORM{number}", f"I{self.width}")]
        else:
            result += [(f"TFORM{number}", f"1{self.form}")]
        if self.scaled:
            result += [(f"TSCAL{number}", self.scale), (f"TZERO{number}", self.zero)]
        if self.convention:
            result += [(f"TZERO{number}", CONVENTIONS[self.form])]
        if self.null is not None:
            result += [(f"TNULL{number}", self.null)]
        return result

    def integers(self, draws: np.ndarray, first: int) -> np.ndarray:
        """Make k of 32-bit draws, or of row numbers from `first` on."""
        if self.rows:
            return np.arange(first, first + draws.size, dtype="i8") + self.offset
        k: np.ndarray = (draws >> np.uint32(32 - self.bits)).astype("i8") + self.offset
        return k

    def values(self, k: np.ndarray, missing: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Make what is stored (native) of k, and what a reader must give, TNULL left as it is."""
        if self.width or self.form not in "ED":
            stored = np.where(missing, self.null, k) if self.null is not None else k
            if self.convention:
                return stored - CONVENTIONS[self.form], stored
            return stored, self.zero + self.scale * stored if self.scaled else stored
        physical = self.zero + self.scale * k
        if self.nan:
            physical[missing] = np.nan
        return physical, physical


class Sums:
    """The exact answers of one column so far."""

    def __init__(self, column: Column) -> None:
        self.column = column
        self.fingerprint = Fingerprint()
        self.count = self.total = self.nulls = 0

    def add(self, k: np.ndarray, missing: np.ndarray, physical: np.ndarray) -> None:
        """Add a block of rows."""
        self.fingerprint.add(physical)
        there = k
        if self.column.nan or self.column.null is not None:
            there = k[~missing]
            self.nulls += k.size - there.size
        self.count += there.size
        self.total += int(there.sum())

    def sum(self) -> float | int:
        """Sum of the values that are there; of floats and scaled integers rounded once."""
        c = self.column
        if c.scaled or (not c.width and c.form in "ED"):
            return float(self.count * Fraction(c.zero) + Fraction(c.scale) * self.total)
        return self.total


def columns(recipe: dict[str, Any]) -> list[Column]:
    """Give the columns of a recipe."""
    return [Column(**entry) for entry in recipe["columns"]]


def row_type(table_columns: list[Column]) -> np.dtype[Any]:
    """Give the type of a row: binary fields are contiguous, text has a blank between."""
    offsets, at = [], 0
    for column in table_columns:
        offsets.append(at)
        at += column.stored.itemsize + (1 if column.width else 0)
    size = at - (1 if table_columns[-1].width else 0)
    formats = [column.stored for column in table_columns]
    names = [column.name for column in table_columns]
    return np.dtype({"names": names, "formats": formats, "offsets": offsets, "itemsize": size})


def card(keyword: str, value: Any) -> str:
    """Make one card in fixed format."""
    if isinstance(value, bool):
        text = f"{'T' if value else 'F':>20}"
    elif isinstance(value, str):
        text = f"'{value:<8}'"
    else:
        text = f"{value!r:>20}".replace("e", "E")
    return f"{keyword:<8}= {text}".ljust(80)


def header(cards: list[tuple[str, Any]]) -> bytes:
    """Make a header of these cards, padded to whole blocks."""
    raw = "".join([*(card(*entry) for entry in cards), "END".ljust(80)]).encode()
    return raw.ljust(-(-len(raw) // BLOCK) * BLOCK)


PRIMARY = header([("SIMPLE", True), ("BITPIX", 8), ("NAXIS", 0), ("EXTEND", True)])


def table_header(
    table_columns: list[Column], rows: int, name: str, more: tuple[tuple[str, Any], ...] = ()
) -> bytes:
    """Make the header of the extension, with `more` cards at its end."""
    row = row_type(table_columns)
    ascii_ = bool(table_columns[0].width)
    cards: list[tuple[str, Any]] = [
        ("XTENSION", "TABLE" if ascii_ else "BINTABLE"),
        *(("BITPIX", 8), ("NAXIS", 2), ("NAXIS1", row.itemsize), ("NAXIS2", rows)),
        *(("PCOUNT", 0), ("GCOUNT", 1), ("TFIELDS", len(table_columns))),
    ]
    assert row.fields is not None
    for number, column in enumerate(table_columns, 1):
        cards += column.cards(number, row.fields[column.name][1])
    return header([*cards, ("EXTNAME", name), *more])


def blocks(recipe: dict[str, Any], sums: dict[str, Sums]) -> Iterator[np.ndarray]:
    """Yield the rows block by block, adding them to the sums."""
    table_columns = columns(recipe)
    generators = [np.random.PCG64([recipe["seed"], n]) for n in range(len(table_columns))]
    row = row_type(table_columns)
    for first in range(0, recipe["rows"], ROWS):
        count = min(ROWS, recipe["rows"] - first)
        block = np.full(count, b" " * row.itemsize, f"V{row.itemsize}").view(row)
        for column, generator in zip(table_columns, generators, strict=True):
            draws = generator.random_raw((count + 1) // 2).view("u4")[:count]
            k = column.integers(draws, first)
            missing = (draws & 0x7F) == 77  # low bits, of which k has few or none
            stored, physical = column.values(k, missing)
            sums[column.name].add(k, missing, physical)
            if column.width:
                stored = np.char.rjust(stored.astype(f"S{column.width}"), column.width)
            block[column.name] = stored
        yield block


def write(path: Path, recipe: dict[str, Any]) -> dict[str, Any]:
    """Write the table of a recipe as the first extension; give the exact answers."""
    table_columns = columns(recipe)
    sums = {column.name: Sums(column) for column in table_columns}
    selection = Selected(recipe)
    part = path.with_suffix(".part")
    with part.open("wb") as stream:
        stream.write(PRIMARY)
        stream.write(table_header(table_columns, recipe["rows"], path.stem))
        for block in blocks(recipe, sums):
            selection.add(block)
            stream.write(block.tobytes())
        finish(stream, b" " if table_columns[0].width else b"\0")
    os.replace(part, path)
    prints = {name: column_sums.fingerprint.value for name, column_sums in sums.items()}
    answers: dict[str, Any] = {
        "sums": {name: column_sums.sum() for name, column_sums in sums.items()},
        "nulls": {
            n: column_sums.nulls
            for n, column_sums in sums.items()
            if column_sums.column.null is not None
        },
        "all": prints,
        **selection.answers(),
    }
    for which, names in recipe.get("selections", {}).items():
        answers[which] = {name: prints[name] for name in names}
    return answers


class Selected:
    """The rows that the recipe's condition selects: `below` a value in one column, one `class`."""

    def __init__(self, recipe: dict[str, Any]) -> None:
        self.condition = recipe.get("condition")
        self.fingerprint = Fingerprint()
        self.count = self._first = 0

    def add(self, block: np.ndarray) -> None:
        """Add a block of rows, whose columns of the condition are stored as their values."""
        if self.condition:
            low, same = self.condition["below"], self.condition["equal"]
            mask = (block[low[0]] < low[1]) & (block[same[0]] == same[1])
            indices = np.flatnonzero(mask) + self._first
            self.fingerprint.add(indices)
            self.count += indices.size
            self._first += block.size

    def answers(self) -> dict[str, Any]:
        """Give how many rows, and the fingerprint of their numbers, which count from 0."""
        if not self.condition:
            return {}
        return {"selected": {"rows": self.count, "fingerprint": self.fingerprint.value}}


def finish(stream: BinaryIO, fill: bytes) -> None:
    """Fill the last block, and have all of it on the disk."""
    stream.write(fill * (-stream.tell() % BLOCK))
    stream.flush()
    os.fsync(stream.fileno())  # no writeback in the background of a measurement


def write_sparse(path: Path, recipe: dict[str, Any]) -> dict[str, Any]:
    """Write a table of holes, zeros that is, with `blocks` blocks of rows in it, evenly apart."""
    table_columns = columns(recipe)
    head = PRIMARY + table_header(table_columns, recipe["rows"], path.stem)
    row = row_type(table_columns)
    apart = recipe["rows"] // recipe["blocks"]
    sparse_recipe = recipe | {"rows": recipe["blocks"] * recipe["block_rows"]}
    sums = {column.name: Sums(column) for column in table_columns}
    part = path.with_suffix(".part")
    with part.open("wb") as stream:
        stream.write(head)
        rows = b"".join(block.tobytes() for block in blocks(sparse_recipe, sums))
        step = recipe["block_rows"] * row.itemsize
        for number in range(recipe["blocks"]):
            stream.seek(len(head) + number * apart * row.itemsize)
            stream.write(rows[number * step : (number + 1) * step])
        size = len(head) + recipe["rows"] * row.itemsize
        stream.truncate(size + -size % BLOCK)
        os.fsync(stream.fileno())
    os.replace(part, path)
    return {
        "sums": {
            name: with_zeros(column_sums, recipe["rows"]) for name, column_sums in sums.items()
        }
    }


def with_zeros(sums: Sums, rows: int) -> float | int:
    """Sum a column of which all rows but those that were counted are stored as 0."""
    c, zeros = sums.column, rows - sums.count
    if c.convention:
        return sums.total + zeros * CONVENTIONS[c.form]
    if c.scaled:
        return float(rows * Fraction(c.zero) + Fraction(c.scale) * sums.total)
    if c.form in "ED" and c.zero:
        raise BenchError(f"{c.name}: a table of holes needs zero = 0")
    return sums.sum()


def write_hdus(path: Path, recipe: dict[str, Any]) -> dict[str, Any]:
    """Write many HDUs, images and tables in turn, with one block of data each."""
    part = path.with_suffix(".part")
    table = [Column("X", "D"), Column("Y", "D"), Column("FLAG", "B")]
    with part.open("wb") as stream:
        stream.write(PRIMARY)
        for number in range(1, recipe["count"]):
            name = [("EXTNAME", f"HDU{number}"), ("EXTVER", number)]
            if number % 2:
                cards = [("XTENSION", "IMAGE"), ("BITPIX", -32), ("NAXIS", 2), ("NAXIS1", 24)]
                cards += [("NAXIS2", 30), ("PCOUNT", 0), ("GCOUNT", 1), *name]
                stream.write(header(cards) + bytes(BLOCK))
            else:
                head = table_header(table, 100, f"HDU{number}", (("EXTVER", number),))
                stream.write(head + bytes(BLOCK))
        finish(stream, b"\0")
    os.replace(part, path)
    return {"hdus": recipe["count"], "last": recipe["count"] - 1}


def write_cards(path: Path, recipe: dict[str, Any]) -> dict[str, Any]:
    """Write a primary header of many cards: numbers, text, comments, and no data."""
    cards = [("SIMPLE", True), ("BITPIX", 8), ("NAXIS", 0)]
    lines = [card(*entry) for entry in cards]
    for number in range(len(lines), recipe["count"]):
        kind = number % 5
        if kind == 0:
            lines.append(f"COMMENT line {number}".ljust(80))
        elif kind == 1:
            lines.append(f"{f'T{number}':<8}= 'text {number:>6}'      / a string".ljust(80))
        elif kind == 2:
            lines.append(f"{f'F{number}':<8}= {number / 8:>20} / a number with a point".ljust(80))
        else:
            lines.append(f"{f'N{number}':<8}= {number:>20} / an integer".ljust(80))
    raw = "".join([*lines, "END".ljust(80)]).encode()
    part = path.with_suffix(".part")
    with part.open("wb") as stream:
        stream.write(raw)
        finish(stream, b" ")
    os.replace(part, path)
    last = recipe["count"] - 1
    return {"cards": recipe["count"], "value": last - (last - 3) % 5}


MAKERS = {
    "table": write,
    "sparse-table": write_sparse,
    "hdus": write_hdus,
    "cards": write_cards,
}


def layout(recipe: dict[str, Any]) -> dict[str, Any]:
    """Say which columns and condition the definitions mean, for peers."""
    result = {"selections": recipe.get("selections", {}), "condition": recipe.get("condition", {})}
    if recipe["maker"] == "cards":
        last = recipe["count"] - 1
        result["keyword"] = f"N{last - (last - 3) % 5}"
    return result
