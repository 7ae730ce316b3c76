"""Index: descriptions of datasets, computed from headers once per version of a file.

They are kept in SQLite in the cache folder, which several processes share and which outlives them.
"""

from __future__ import annotations

import json

from tachyfits.server.state import State
from tachyfits.server.vo.identifiers import Found
from tachyfits.server.vo.observation import Observation, observation_of
from tachyfits.server.vo.store import Store

#: Raised when the meaning of a description changes: older ones are computed again.
_REVISION = 1


def described_dataset(state: State, found: Found) -> Observation:
    """Return the description of a dataset, from the index where it has this version."""
    store = Store.of(state.settings.cache_folder)
    key = f"{found.file.path}#{found.view.image.index}"
    version = f"{_REVISION}-{found.file.version}"
    with store.connection() as database:
        row = database.execute(
            "SELECT description FROM datasets WHERE key = ? AND version = ?", (key, version)
        ).fetchone()
    if row is not None:
        return Observation.from_dict(json.loads(row[0]))
    made = observation_of(found.view)
    found.file.check()
    with store.connection() as database:
        database.execute(
            "INSERT OR REPLACE INTO datasets (key, version, description) VALUES (?, ?, ?)",
            (key, version, json.dumps(made.as_dict())),
        )
    return made
