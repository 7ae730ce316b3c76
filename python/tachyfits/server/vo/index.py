"""Index: descriptions of datasets, computed once per version of a file from its headers.

They are stored in a SQLite database in the cache folder, shared by several processes.
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

#: Revision of the content of descriptions: older ones are computed again.
_REVISION = 2

#: Maximum depth of folders, and number of files, in the list of all datasets.
_DEEPEST = 32
MOST_FILES = 200_000

#: Share of the time for reading headers of new files.
_NEW = 0.5


@dataclass(frozen=True)
class Listed:
    """A file with an image, and its description."""

    name: str
    bytes: int
    about: Observation


class Listing:
    """All datasets whose headers can be read in time.

    Attributes
    ----------
    complete
        False if files were skipped; later requests describe them.
    """

    def __init__(self, state: State, seconds: float) -> None:
        self._state = state
        self._begin = time.monotonic()
        self._seconds = seconds
        self.complete = True

    def is_late(self, share: float = 1.0) -> bool:
        """Return whether a share of the time is over, and mark the list as incomplete if so."""
        late = time.monotonic() - self._begin > share * self._seconds
        self.complete &= not late
        return late

    def __iter__(self) -> Iterator[Listed]:
        folder = self._state.settings.cache_folder
        descriptions = _known(folder)
        additions: list[tuple[str, str, str]] = []
        try:
            for name in self._names():
                if self.is_late():
                    break
                try:
                    target = self._state.datasets.target(name)
                    version = target.version()
                    key = _key(target.address, version)
                    if key not in descriptions:
                        # Reserve time for files that are already described.
                        if self.is_late(_NEW):
                            continue
                        descriptions[key] = json.dumps(self._described(name))
                        additions.append((*key, descriptions[key]))
                except RequestError:
                    continue
                about = json.loads(descriptions[key])
                if about is not None:
                    yield Listed(name, version.size, Observation.from_dict(about))
        finally:
            _keep(folder, additions)

    def _described(self, name: str) -> dict[str, object] | None:
        """Return the description of the first image of a file; None if it has no image."""
        try:
            view = self._state.datasets.open(name, keep=False).view(None)
            if view.image.ndim < 2:  # SIA lists images and cubes
                return None
            return observation_of(view).as_dict()
        except (NotFound, tf.TachyfitsError):
            return None

    def _names(self) -> Iterator[str]:
        """Yield the IDs of all files; each folder is visited once even if links lead to it."""
        datasets = self._state.datasets
        visited: set[str] = set()
        waiting = [("", 0)]
        count = 0
        while waiting:
            folder, depth = waiting.pop()
            address = datasets.target(folder).address if folder else ""
            if address in visited:
                continue
            visited.add(address)
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
    """Return stored descriptions, for one key or all; empty if the folder is unusable."""
    condition, values = ("", ()) if key is None else (" WHERE key = ? AND version = ?", key)
    try:
        with Store.of(folder).connection() as database:
            rows = database.execute(
                f"SELECT key, version, description FROM datasets{condition}", values
            ).fetchall()
    except (StoreFailure, Busy):
        return {}  # descriptions are computed again, only more slowly
    return {(key, version): text for key, version, text in rows}


def _keep(folder: Path, described: list[tuple[str, str, str]]) -> None:
    if not described:
        return
    with contextlib.suppress(StoreFailure, Busy), Store.of(folder).connection() as database:
        database.executemany(
            "INSERT OR REPLACE INTO datasets (key, version, description) VALUES (?, ?, ?)",
            described,
        )


def described_dataset(state: State, dataset: Found) -> Observation:
    """Return the description of a dataset, from the index if this version is stored."""
    folder = state.settings.cache_folder
    key = _key(dataset.file.target.address, dataset.file.version, dataset.hdu)
    text = _known(folder, key).get(key)
    if text is not None and text != "null":
        return Observation.from_dict(json.loads(text))
    about = observation_of(dataset.view)
    dataset.file.check()
    _keep(folder, [(*key, json.dumps(about.as_dict()))])
    return about


def dataset_of(state: State, identifier: str) -> Listed | None:
    """Return the dataset of an identifier; None if it is unknown."""
    try:
        dataset = find(state.datasets, state.settings.authority, identifier)
        about = described_dataset(state, dataset)
    except RequestError:
        return None
    return Listed(dataset.file.name, dataset.file.version.size, about)
