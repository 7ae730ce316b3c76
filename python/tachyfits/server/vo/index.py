"""Index: descriptions of datasets, computed from headers once per version of a file.

They are kept in SQLite in the cache folder, which several processes share and which outlives them.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import tachyfits as tf
from tachyfits.base import printable
from tachyfits.server.datasets import Datasets, Entry
from tachyfits.server.errors import Busy, NotFound, RequestError
from tachyfits.server.state import State
from tachyfits.server.targets import MOST_ENTRIES, Version
from tachyfits.server.vo.identifiers import Found, find
from tachyfits.server.vo.observation import Observation, observation_of
from tachyfits.server.vo.store import Store, StoreFailure

#: Raised when the meaning of a description changes: older ones are computed again.
_REVISION = 2

#: Folders below each other, and files, that a list of all datasets follows.
_DEEPEST = 32
MOST_FILES = 200_000

#: Share of the time in which headers are read.
_NEW = 0.5


@dataclass(frozen=True)
class Listed:
    """A file with an image, and its description."""

    name: str
    bytes: int
    about: Observation


class Listing:
    """All datasets, as far as their headers can be read in time.

    Attributes
    ----------
    complete
        False if files were left out: they are described when the list is requested again.
    """

    def __init__(self, state: State, seconds: float) -> None:
        self._state = state
        self._begin = time.monotonic()
        self._seconds = seconds
        self.complete = True

    def is_late(self, share: float = 1.0) -> bool:
        """Say whether the time is over, or a share of it; the list is incomplete then."""
        late = time.monotonic() - self._begin > share * self._seconds
        self.complete &= not late
        return late

    def __iter__(self) -> Iterator[Listed]:
        folder = self._state.settings.cache_folder
        known = _known(folder)
        new: list[tuple[str, str, str]] = []
        try:
            for name in self._names():
                if self.is_late():
                    break
                try:
                    target = self._state.datasets.target(name)
                    version = target.version()
                    key = _key(target.address, version)
                    if key not in known:
                        # Time is left for the files that are known.
                        if self.is_late(_NEW):
                            continue
                        known[key] = json.dumps(self._described(name))
                        new.append((*key, known[key]))
                except RequestError:
                    continue
                found = json.loads(known[key])
                if found is not None:
                    yield Listed(name, version.size, Observation.from_dict(found))
        finally:
            _keep(folder, new)

    def _described(self, name: str) -> dict[str, object] | None:
        """Return the description of the first image of a file; None without one."""
        try:
            view = self._state.datasets.open(name, keep=False).view(None)
            if view.image.ndim < 2:  # SIA lists images and cubes
                return None
            return observation_of(view).as_dict()
        except (NotFound, tf.TachyfitsError):
            return None

    def _names(self) -> Iterator[str]:
        """Return the IDs of all files; each folder is visited once, whatever links lead to it."""
        datasets = self._state.datasets
        visited: set[str] = set()
        waiting = [("", 0)]
        count = 0
        while waiting:
            folder, depth = waiting.pop()
            place = datasets.target(folder).address if folder else ""
            if place in visited:
                continue
            visited.add(place)
            entries = _entries(datasets, folder)
            if len(entries) >= MOST_ENTRIES or depth > _DEEPEST:
                self.complete = False
            for entry in entries:
                if entry.is_folder:
                    waiting.append((entry.id, depth + 1))
                    continue
                count += 1
                if count > MOST_FILES:
                    self.complete = False
                    return
                yield entry.id


def _entries(datasets: Datasets, folder: str) -> list[Entry]:
    try:
        return datasets.list(folder)
    except (RequestError, OSError):
        return []


def _key(path: str, version: Version, hdu: int | None = None) -> tuple[str, str]:
    number = "" if hdu is None else str(hdu)
    return f"{printable(path)}#{number}", f"{_REVISION}-{version}"


def _known(folder: Path, key: tuple[str, str] | None = None) -> dict[tuple[str, str], str]:
    """Return descriptions that were kept: of one key, or all. None if the folder is unusable."""
    where, values = ("", ()) if key is None else (" WHERE key = ? AND version = ?", key)
    try:
        with Store.of(folder).connection() as database:
            rows = database.execute(
                f"SELECT key, version, description FROM datasets{where}", values
            ).fetchall()
    except (StoreFailure, Busy):
        return {}  # computed again: only speed depends on the folder
    return {(key, version): text for key, version, text in rows}


def _keep(folder: Path, described: list[tuple[str, str, str]]) -> None:
    if not described:
        return
    with contextlib.suppress(StoreFailure, Busy), Store.of(folder).connection() as database:
        database.executemany(
            "INSERT OR REPLACE INTO datasets (key, version, description) VALUES (?, ?, ?)",
            described,
        )


def described_dataset(state: State, found: Found) -> Observation:
    """Return the description of a dataset, from the index where it has this version."""
    folder = state.settings.cache_folder
    key = _key(found.file.target.address, found.file.version, found.hdu)
    text = _known(folder, key).get(key)
    if text is not None and text != "null":
        return Observation.from_dict(json.loads(text))
    made = observation_of(found.view)
    found.file.check()
    _keep(folder, [(*key, json.dumps(made.as_dict()))])
    return made


def dataset_of(state: State, identifier: str) -> Listed | None:
    """Return the dataset of an identifier; None if it is unknown."""
    try:
        found = find(state.datasets, state.settings.authority, identifier)
        about = described_dataset(state, found)
    except RequestError:
        return None
    return Listed(found.file.name, found.file.version.size, about)
