"""Runner: a thread that runs jobs, one at a time, with a lower priority than requests.

A worker holds a lock of the operating system on its own file. If it is killed, the lock is
released, and another process then ends its jobs with an error.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import threading
import time
import uuid
from pathlib import Path

import tachyfits as tf
from tachyfits.base import worded_for_http
from tachyfits.server.datasets import Datasets
from tachyfits.server.errors import RequestError
from tachyfits.server.file_lock import hold, is_held
from tachyfits.server.settings import Settings
from tachyfits.server.vo.failures import NoPixels, failure
from tachyfits.server.vo.identifiers import find
from tachyfits.server.vo.jobs import Job, Jobs, Result
from tachyfits.server.vo.parameters import Parameters
from tachyfits.server.vo.soda import Cutout, cutout_of, every_cutout, media_type
from tachyfits.server.vo.store import Store, StoreFailure

log = logging.getLogger("tachyfits.server")

#: Seconds between checks of the queue, of jobs of killed workers, and of a running job's phase.
_IDLE, _SWEEP, _LOOK = 0.5, 5.0, 0.5

KILLED = "Error: the server was stopped while the job ran; submit it again"
LOST = "Error: the end of the job could not be recorded; submit it again"

#: Bytes of disk space that results leave free in the cache folder.
_RESERVE = 256 << 20


class Stopped(Exception):
    """The job was aborted or deleted, or the server is stopping."""


class Runner:
    """A worker for jobs.

    Parameters
    ----------
    executor
        Executor of the server; jobs have the background priority.
    """

    def __init__(self, settings: Settings, datasets: Datasets, executor: tf.Executor) -> None:
        self._settings = settings
        self._datasets = datasets
        self._executor = executor
        self._name = uuid.uuid4().hex
        self._closing = threading.Event()
        self._wake = threading.Event()
        self._token: tuple[str, tf.CancelToken] | None = None
        self._thread: threading.Thread | None = None
        self._lock: int | None = None

    @property
    def jobs(self) -> Jobs:
        """The jobs of all processes."""
        return Jobs(Store.of(self._settings.cache_folder))

    def start(self) -> None:
        """Start the thread that runs jobs."""
        self._thread = threading.Thread(target=self._loop, name="tachyfits-jobs", daemon=True)
        self._thread.start()

    def wake(self) -> None:
        """Check the queue now."""
        self._wake.set()

    def cancel(self, job: str) -> None:
        """Interrupt a job if this process runs it; other processes poll its phase."""
        current = self._token
        if current is not None and current[0] == job:
            current[1].cancel()

    def close(self) -> None:
        """Interrupt and requeue the running job, and stop the thread."""
        self._closing.set()
        self._wake.set()
        if (current := self._token) is not None:
            current[1].cancel()
        if self._thread is not None:
            self._thread.join(timeout=10)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
            self._lock_path(self._name).unlink(missing_ok=True)

    def _loop(self) -> None:
        swept = 0.0
        while not self._closing.is_set():
            if not Store.exists(self._settings.cache_folder):
                # The first job creates the store; a mere viewer must not write files.
                self._wake.wait(_SWEEP)
                self._wake.clear()
                continue
            try:
                if self._lock is None:
                    self._lock = hold(self._lock_path(self._name), mode=0o600)
                if time.monotonic() - swept > _SWEEP:
                    self.sweep()
                    swept = time.monotonic()
                job = self.jobs.claim(self._name)
                if job is not None:
                    self._run(job)
                    continue
            except Exception as error:
                # The database is unusable: try again later.
                log.error("jobs cannot be run: %s", error, exc_info=error)
                self._closing.wait(_SWEEP)
            self._wake.wait(_IDLE)
            self._wake.clear()

    # Workers that were killed.

    def _lock_path(self, worker: str) -> Path:
        return self._settings.cache_folder / "workers" / f"{worker}.lock"

    def _is_dead(self, worker: str) -> bool:
        path = self._lock_path(worker)
        if worker == self._name or is_held(path):
            return False
        with contextlib.suppress(OSError):
            path.unlink()
        return True

    def settled(self, job: Job) -> Job:
        """Return a job in its current state; end it if its worker was killed."""
        if job.phase != "EXECUTING" or job.worker is None or not self._is_dead(job.worker):
            return job
        if self.jobs.end(job.id, job.worker, "ERROR", KILLED):
            self.jobs.clear(job.id)
        return self.jobs.find(job.id, job.owner)

    def sweep(self) -> None:
        """End jobs of killed workers, and remove expired jobs."""
        jobs = self.jobs
        dead: dict[str, bool] = {}
        for job, worker in jobs.running().items():
            if worker not in dead:
                dead[worker] = self._is_dead(worker)
            if worker == self._name:
                # This thread is idle, so the end of this job was not recorded.
                if self._token is None and jobs.end(job, worker, "ERROR", LOST):
                    jobs.clear(job)
            elif dead[worker] and jobs.end(job, worker, "ERROR", KILLED):
                jobs.clear(job)
                log.warning("job %s: its worker was killed", job)
        for job in jobs.expired():
            self.cancel(job)
            jobs.delete(job)

    # One job.

    def _run(self, job: Job) -> None:
        token = tf.CancelToken()
        self._token = (job.id, token)
        limits = self._executor.request(priority="background", seconds=job.duration, token=token)
        start = time.monotonic()
        try:
            with limits, worded_for_http():
                error = self._results(job, token)
            phase = "COMPLETED" if error is None else "ERROR"
        except Exception as raised:
            if self._closing.is_set():
                self.jobs.give_back(job.id, self._name)
                return
            phase, (_, error) = "ERROR", failure(self._datasets, raised)
            if isinstance(raised, Stopped) or token.cancelled:
                phase, error = "ABORTED", None
            elif time.monotonic() - start >= job.duration:
                phase = "ABORTED"
                error = f"Error: the job ran longer than its duration of {job.duration:g} s"
        finally:
            self._token = None
        recorded = self.jobs.end(job.id, self._name, phase, error)
        if not recorded or phase != "COMPLETED":
            # The job failed, or was aborted or deleted meanwhile: remove its partial results.
            self.jobs.clear(job.id)

    def _results(self, job: Job, token: tf.CancelToken) -> str | None:
        """Write the results of a job; return an error if all combinations of values failed."""
        parameters = Parameters(job.parameters)
        cutouts = list(every_cutout(parameters))
        folder = self.jobs.folder(job.id)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreFailure(f"results cannot be written: {error.strerror}") from None
        cutout_type = media_type(parameters)
        errors: list[str] = []
        last_check = 0.0

        def progress(_done: int, _total: int) -> bool:
            nonlocal last_check
            if time.monotonic() - last_check > _LOOK:
                last_check = time.monotonic()
                if self.jobs.phase(job.id) != "EXECUTING":
                    token.cancel()
            return not token.cancelled

        for number, cutout in enumerate(cutouts, 1):
            if not progress(0, 1):
                raise Stopped
            name, media = f"cutout-{number}", cutout_type
            path = folder / name
            try:
                self._write(cutout, path, progress)
            except (RequestError, tf.UsageError, tf.FormatError) as error:
                if token.cancelled or getattr(error, "status", 400) == 503:
                    raise
                # This combination has no result: write the reason instead.
                _, text = failure(self._datasets, error)
                if not isinstance(error, NoPixels):
                    errors.append(text)
                path.write_text(f"{text}\n", encoding="utf-8")
                media = "text/plain"
            self.jobs.add_result(job.id, Result(name, media, path.stat().st_size, str(cutout)))
        return errors[0] if len(errors) == len(cutouts) else None

    def _write(self, cutout: Cutout, path: Path, progress: object) -> None:
        dataset = find(self._datasets, self._settings.authority, cutout.identifier)
        image = cutout_of(dataset, cutout)
        dataset.file.check()
        free = shutil.disk_usage(path.parent).free
        if image.data_bytes > free - _RESERVE:
            raise StoreFailure(
                f"no space for a result of {image.data_bytes} bytes: the server has {free} free"
            )
        image.write(path, overwrite=True, progress=progress)  # type: ignore[arg-type]
        try:
            dataset.file.check()
        except Exception:
            with contextlib.suppress(OSError):
                path.unlink()
            raise
