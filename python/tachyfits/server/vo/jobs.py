"""Jobs of UWS, stored in a database that all processes of a server share.

A change of phase is one SQL statement that also checks the current phase. So two processes never
run the same job, and an aborted job cannot become complete.
"""

from __future__ import annotations

import json
import shutil
import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tachyfits.server.errors import Busy, NotFound, RequestError
from tachyfits.server.vo.store import Store

#: Phases that are not final.
ACTIVE = ("PENDING", "QUEUED", "EXECUTING", "HELD", "SUSPENDED", "UNKNOWN")
PHASES = (*ACTIVE, "COMPLETED", "ERROR", "ABORTED", "ARCHIVED")

#: Maximum number of waiting and running jobs, and of all jobs.
_MOST_WAITING = 1000
_MOST_JOBS = 20_000

_COLUMNS = (
    "id, owner, run, phase, created, queued, started, ended, duration, destruction, parameters, "
    "error, worker"
)


class IllegalState(RequestError):
    """The phase of the job does not allow the action."""

    status = 403
    title = "The phase of the job does not allow this"
    label = "UsageError"


@dataclass(frozen=True)
class Result:
    """A result file of a job; ``about`` describes its cutout."""

    name: str
    media_type: str
    bytes: int
    about: str


@dataclass(frozen=True)
class Job:
    """A job; times are seconds since 1970."""

    id: str
    owner: str | None
    run: str | None
    phase: str
    created: float
    queued: float | None
    started: float | None
    ended: float | None
    duration: float
    destruction: float
    parameters: tuple[tuple[str, str], ...]
    error: str | None
    worker: str | None
    results: tuple[Result, ...] = field(default=())

    @property
    def is_active(self) -> bool:
        """Whether the phase can still change."""
        return self.phase in ACTIVE


class Jobs:
    """The jobs in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def folder(self, job: str) -> Path:
        """Return the folder of the results of a job."""
        return self._store.folder / "jobs" / job

    # For clients.

    def create(
        self,
        parameters: Iterable[tuple[str, str]],
        owner: str | None,
        run: str | None,
        duration: float,
        destruction: float,
    ) -> str:
        """Create a pending job and return its ID.

        Raises
        ------
        Busy
            There are too many jobs.
        """
        job = uuid.uuid4().hex
        with self._store.connection() as database:
            (count,) = database.execute("SELECT count(*) FROM jobs").fetchone()
            if count >= _MOST_JOBS:
                raise Busy("too many jobs are kept: delete some")
            database.execute(
                "INSERT INTO jobs (id, owner, run, phase, created, duration, destruction, "
                "parameters) VALUES (?, ?, ?, 'PENDING', ?, ?, ?, ?)",
                (job, owner, run, time.time(), duration, destruction, json.dumps([*parameters])),
            )
        return job

    def find(self, job: str, owner: str | None) -> Job:
        """Return a job of an owner, with its results.

        Raises
        ------
        NotFound
            The owner has no job with this ID.
        """
        with self._store.connection() as database:
            row = database.execute(
                f"SELECT {_COLUMNS} FROM jobs WHERE id = ? AND owner IS ?", (job, owner)
            ).fetchone()
            if row is None:
                raise NotFound(f"unknown job {job[:64]!r}")
            results = database.execute(
                "SELECT name, media_type, bytes, about FROM results WHERE job = ? ORDER BY rowid",
                (job,),
            ).fetchall()
        return _job(row, tuple(Result(*result) for result in results))

    def phase(self, job: str) -> str | None:
        """Return the phase of a job; None if it was deleted."""
        with self._store.connection() as database:
            row = database.execute("SELECT phase FROM jobs WHERE id = ?", (job,)).fetchone()
        return row[0] if row else None

    def select(
        self, owner: str | None, phases: Sequence[str], after: float | None, last: int | None
    ) -> list[Job]:
        """Return jobs of an owner without their results, the oldest first.

        Archived jobs are omitted unless listed in ``phases``. ``last``: maximum number of jobs; the
        newest ones are returned.
        """
        conditions, values = ["owner IS ?"], [owner]
        if phases:
            conditions.append(f"phase IN ({', '.join('?' * len(phases))})")
            values += phases
        else:
            conditions.append("phase != 'ARCHIVED'")
        if after is not None:
            conditions.append("created > ?")
        query = (
            f"SELECT {_COLUMNS} FROM jobs WHERE {' AND '.join(conditions)} ORDER BY created DESC"
        )
        arguments: list[Any] = [*values, *([] if after is None else [after])]
        with self._store.connection() as database:
            rows = database.execute(
                f"{query} LIMIT ?", [*arguments, _MOST_JOBS if last is None else last]
            ).fetchall()
        return [_job(row) for row in reversed(rows)]

    def submit(self, job: Job) -> None:
        """Queue a pending job; a queued or running job does not change.

        Raises
        ------
        IllegalState
            The job has ended.
        Busy
            Too many jobs are waiting.
        """
        with self._store.connection() as database:
            (waiting,) = database.execute(
                "SELECT count(*) FROM jobs WHERE phase IN ('QUEUED', 'EXECUTING')"
            ).fetchone()
            if waiting >= _MOST_WAITING:
                raise Busy("too many jobs wait: try again later")
            cursor = database.execute(
                "UPDATE jobs SET phase = 'QUEUED', queued = ? WHERE id = ? AND phase = 'PENDING'",
                (time.time(), job.id),
            )
        if not cursor.rowcount and self.phase(job.id) not in ("QUEUED", "EXECUTING"):
            raise IllegalState(f"a job in phase {job.phase} cannot run")

    def abort(self, job: Job, reason: str = "") -> None:
        """Abort a job unless it has ended."""
        with self._store.connection() as database:
            database.execute(
                f"UPDATE jobs SET phase = 'ABORTED', ended = ?, error = ? WHERE id = ? "
                f"AND phase IN {ACTIVE}",
                (time.time(), reason or None, job.id),
            )

    def change(self, job: Job, column: str, value: Any) -> None:
        """Set the duration or destruction of a job.

        Raises
        ------
        IllegalState
            The job is not pending, so its duration cannot change.
        """
        assert column in ("duration", "destruction")
        condition = "" if column == "destruction" else " AND phase = 'PENDING'"
        with self._store.connection() as database:
            cursor = database.execute(
                f"UPDATE jobs SET {column} = ? WHERE id = ?{condition}", (value, job.id)
            )
        if not cursor.rowcount:
            raise IllegalState(f"the {column} of a job in phase {job.phase} cannot change")

    def set_parameters(
        self, job: Job, parameters: Iterable[tuple[str, str]], run: str | None
    ) -> None:
        """Set the parameters and the RUNID of a pending job.

        Raises
        ------
        IllegalState
            The job is not pending.
        """
        with self._store.connection() as database:
            cursor = database.execute(
                "UPDATE jobs SET parameters = ?, run = ? WHERE id = ? AND phase = 'PENDING'",
                (json.dumps([*parameters]), run, job.id),
            )
        if not cursor.rowcount:
            raise IllegalState(f"the parameters of a job in phase {job.phase} cannot change")

    def delete(self, job: str) -> None:
        """Remove a job and its results."""
        with self._store.connection() as database:
            database.execute("DELETE FROM jobs WHERE id = ?", (job,))
        shutil.rmtree(self.folder(job), ignore_errors=True)

    def clear(self, job: str) -> None:
        """Remove the results of a job."""
        with self._store.connection() as database:
            database.execute("DELETE FROM results WHERE job = ?", (job,))
        shutil.rmtree(self.folder(job), ignore_errors=True)

    # For workers.

    def claim(self, worker: str) -> Job | None:
        """Start the job that has waited longest; None if no job is queued."""
        with self._store.connection() as database:
            database.execute("BEGIN IMMEDIATE")
            row = database.execute(
                f"SELECT {_COLUMNS} FROM jobs WHERE phase = 'QUEUED' ORDER BY queued LIMIT 1"
            ).fetchone()
            if row is None:
                return None
            database.execute(
                "UPDATE jobs SET phase = 'EXECUTING', worker = ?, started = ? WHERE id = ?",
                (worker, time.time(), row[0]),
            )
        return _job(row)

    def add_result(self, job: str, result: Result) -> None:
        """Record a result file of a running job."""
        with self._store.connection() as database:
            database.execute(
                "INSERT INTO results (job, name, media_type, bytes, about) "
                "SELECT id, ?, ?, ?, ? FROM jobs WHERE id = ?",
                (result.name, result.media_type, result.bytes, result.about, job),
            )

    def end(self, job: str, worker: str, phase: str, error: str | None = None) -> bool:
        """End a job of this worker; return False if it was aborted or deleted meanwhile."""
        with self._store.connection() as database:
            cursor = database.execute(
                "UPDATE jobs SET phase = ?, error = ?, ended = ? "
                "WHERE id = ? AND worker = ? AND phase = 'EXECUTING'",
                (phase, error, time.time(), job, worker),
            )
        return bool(cursor.rowcount)

    def give_back(self, job: str, worker: str) -> None:
        """Requeue a running job of this worker, because the server stops."""
        with self._store.connection() as database:
            database.execute("DELETE FROM results WHERE job = ?", (job,))
            database.execute(
                "UPDATE jobs SET phase = 'QUEUED', worker = NULL, started = NULL "
                "WHERE id = ? AND worker = ? AND phase = 'EXECUTING'",
                (job, worker),
            )

    def running(self) -> dict[str, str]:
        """Return the running jobs and their workers."""
        with self._store.connection() as database:
            rows = database.execute(
                "SELECT id, worker FROM jobs WHERE phase = 'EXECUTING'"
            ).fetchall()
        return dict(rows)

    def expired(self) -> list[str]:
        """Return the jobs whose destruction time has passed."""
        with self._store.connection() as database:
            rows = database.execute(
                "SELECT id FROM jobs WHERE destruction < ?", (time.time(),)
            ).fetchall()
        return [row[0] for row in rows]


def _job(row: Sequence[Any], results: tuple[Result, ...] = ()) -> Job:
    fields = dict(zip(_COLUMNS.split(", "), row, strict=True))
    fields["parameters"] = tuple((name, value) for name, value in json.loads(fields["parameters"]))
    return Job(**fields, results=results)
