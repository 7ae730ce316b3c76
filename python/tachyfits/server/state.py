"""State shared by all requests of a server."""

from __future__ import annotations

from dataclasses import dataclass

from fastapi import Request

from tachyfits.server.cache import ByteCache
from tachyfits.server.datasets import Datasets
from tachyfits.server.decoding import Decoding
from tachyfits.server.jobs import Jobs
from tachyfits.server.metrics import Metrics
from tachyfits.server.settings import Settings
from tachyfits.server.sidecars.builder import Sidecars
from tachyfits.server.vo.runner import Runner
from tachyfits.server.work import Workers


@dataclass(frozen=True)
class State:
    """Settings, files, cached answers, and the computing threads."""

    settings: Settings
    datasets: Datasets
    cache: ByteCache
    decoding: Decoding
    workers: Workers
    jobs: Jobs
    sidecars: Sidecars
    runner: Runner
    metrics: Metrics

    @classmethod
    def of(cls, request: Request) -> State:
        """Return the state of the application of a request."""
        state: State = request.app.state.tachyfits
        return state
