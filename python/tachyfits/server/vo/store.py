"""Store: the SQLite database of jobs and descriptions, in the cache folder.

Several processes share it (WAL). Each connection is used for one short operation.
"""

from __future__ import annotations

import contextlib
import functools
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from tachyfits.server.errors import Busy, RequestError

_NAME = "server.sqlite"

#: Maximum seconds that an operation waits for another process.
_PATIENCE = 20.0

_TABLES = """
CREATE TABLE IF NOT EXISTS datasets (
    key TEXT PRIMARY KEY,
    version TEXT NOT NULL,
    description TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS jobs (
    id TEXT PRIMARY KEY,
    owner TEXT,
    run TEXT,
    phase TEXT NOT NULL,
    created REAL NOT NULL,
    queued REAL,
    started REAL,
    ended REAL,
    duration REAL NOT NULL,
    destruction REAL NOT NULL,
    parameters TEXT NOT NULL,
    error TEXT,
    worker TEXT
);
CREATE INDEX IF NOT EXISTS jobs_by_phase ON jobs (phase, queued);
CREATE INDEX IF NOT EXISTS jobs_by_creation ON jobs (created);
CREATE TABLE IF NOT EXISTS results (
    job TEXT NOT NULL REFERENCES jobs (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    media_type TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    about TEXT NOT NULL,
    PRIMARY KEY (job, name)
);
"""


class StoreFailure(RequestError):
    """The database is unusable: the disk is full, or the folder is not writable."""

    status = 503
    title = "The cache folder cannot be used"


class Store:
    """The database of a cache folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path = folder / _NAME

    def _make(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreFailure(f"the cache folder cannot be made: {error.strerror}") from None
        with contextlib.closing(sqlite3.connect(self._path, timeout=_PATIENCE)) as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.executescript(_TABLES)

    @classmethod
    @functools.lru_cache(maxsize=16)
    def of(cls, folder: Path) -> Store:
        """Return the store of a folder; the object is cached."""
        return cls(folder)

    @staticmethod
    def exists(folder: Path) -> bool:
        """Return whether a folder has a database, without creating it."""
        return (folder / _NAME).exists()

    @contextlib.contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """Open the database for one transaction; commit it at the end, or roll it back on errors.

        Raises
        ------
        Busy
            Another process locks the database for too long.
        StoreFailure
            The database cannot be read or written.
        """
        try:
            if not self.exists(self.folder):
                self._make()  # at the first use, or if the folder was emptied
            database = sqlite3.connect(self._path, timeout=_PATIENCE)
            try:
                with database:
                    database.execute("PRAGMA foreign_keys = ON")
                    database.execute("PRAGMA synchronous = NORMAL")
                    yield database
            finally:
                database.close()
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise Busy("the database of jobs is busy: try again in a second") from None
            raise StoreFailure(f"the database of jobs cannot be used: {error}") from None
        except sqlite3.DatabaseError as error:
            raise StoreFailure(f"the database of jobs cannot be used: {error}") from None
