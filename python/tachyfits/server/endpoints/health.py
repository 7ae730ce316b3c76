"""`/health`, `/ready` and `/metrics`: monitoring of the server."""

from __future__ import annotations

import os

from fastapi import APIRouter, Request, Response

from tachyfits.server.answers import json_answer
from tachyfits.server.state import State

router = APIRouter()

_NEVER = {"Cache-Control": "no-store"}


@router.get("/health", summary="Say that the server runs")
async def health() -> Response:
    """Say that the server runs."""
    return json_answer({"status": "ok"}, _NEVER)


@router.get(
    "/ready",
    summary="Say whether the server can answer",
    responses={503: {"description": "It cannot: it ends, or its files are gone."}},
)
async def ready(request: Request) -> Response:
    """Say whether the server can answer: it is not stopping, and the served paths exist."""
    state = State.of(request)
    problem = ""
    if state.workers.closing:
        problem = "the server ends"
    elif not state.datasets.is_complete():
        problem = "a served path is gone"
    document = {"status": problem or "ok"}
    return json_answer(document, _NEVER, 503 if problem else 200)


@router.get(
    "/metrics",
    summary="Return numbers for Prometheus",
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}, "description": "Text of Prometheus."}},
)
async def metrics(request: Request) -> Response:
    """Return numbers for Prometheus."""
    state = State.of(request)
    workers = state.workers
    gauges = [
        ("tachyfits_cache_bytes", "Bytes of answers that are kept.", state.cache.bytes),
        ("tachyfits_cache_entries", "Answers that are kept.", len(state.cache)),
        ("tachyfits_decoding_bytes", "Most bytes of tiles under way.", state.decoding.bytes),
        ("tachyfits_threads_busy", "Threads that compute.", workers.executor.busy),
        ("tachyfits_calls_running", "Calls of the engine under way.", workers.running),
        ("tachyfits_downloads_running", "Downloads that are sent.", workers.streams),
        ("tachyfits_jobs_running", "Long requests under way.", len(state.jobs)),
        ("tachyfits_files_open", "Files that are open.", len(state.datasets)),
        ("process_resident_memory_bytes", "Memory of the process.", _resident_bytes()),
    ]
    text = state.metrics.text([(name, meaning, float(value)) for name, meaning, value in gauges])
    return Response(text, headers=_NEVER, media_type="text/plain; version=0.0.4")


def _resident_bytes() -> int:
    """Return the resident memory of this process; 0 if the system has no /proc."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
