"""The application: endpoints, failures as problem documents, and the state of all requests."""

from __future__ import annotations

import contextlib
import importlib
import logging
import threading
from collections.abc import AsyncIterator, Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

from fastapi import Depends, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.gzip import GZipMiddleware
from starlette.staticfiles import StaticFiles

import tachyfits as tf
from tachyfits.server.answers import json_answer
from tachyfits.server.cache import ByteCache
from tachyfits.server.datasets import Datasets
from tachyfits.server.decoding import Decoding
from tachyfits.server.errors import RequestError, described
from tachyfits.server.guard import guarded
from tachyfits.server.jobs import Jobs
from tachyfits.server.known import known_parameters
from tachyfits.server.metrics import Metrics
from tachyfits.server.page import WEB
from tachyfits.server.settings import Settings
from tachyfits.server.sidecars.builder import Sidecars
from tachyfits.server.state import State
from tachyfits.server.vo.runner import Runner
from tachyfits.server.work import Workers

#: Modules of `server.endpoints`, each with a ``router``.
ENDPOINTS = (
    "about", "axis", "catalogue", "contours", "cutout", "dataset", "figure", "files", "fit", "grid",
    "health", "image", "jobs", "lines", "match", "noise", "pixel", "position", "pv", "regions",
    "sidecars", "snapshot", "spectrum", "statistics", "tile", "vectors",
)  # fmt: skip

#: OpenAPI description of problem documents (RFC 9457).
_PROBLEM: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "A problem.",
        "content": {
            "application/problem+json": {
                "schema": {
                    "type": "object",
                    "required": ["type", "title", "status", "detail"],
                    "properties": {
                        "type": {"type": "string"},
                        "title": {"type": "string"},
                        "status": {"type": "integer"},
                        "detail": {"type": "string", "description": "The problem."},
                        "hint": {"type": "string", "description": "The next step."},
                    },
                }
            }
        },
    }
}

#: Maximum length of the text of a problem.
_LONGEST_DETAIL = 1000

#: Modules of `server.vo`, each with a ``router``.
RESOURCES = ("links", "sia", "sync", "uws", "vosi")

log = logging.getLogger("tachyfits.server")


class _App(FastAPI):
    """An application whose answers all pass the guard, including failures."""

    def build_middleware_stack(self) -> Any:
        return guarded(super().build_middleware_stack(), self.state.tachyfits)


def create_app(settings: Settings) -> FastAPI:
    """Return the ASGI application for the settings.

    Examples
    --------
    >>> from pathlib import Path
    >>> app = create_app(Settings(paths=(Path("cube.fits"),)))
    >>> app.state.tachyfits.datasets.list("")[0].id
    'cube.fits'
    """
    workers = Workers(settings)

    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        threading.Thread(target=_import_heavy, name="tachyfits-imports", daemon=True).start()
        shared.runner.start()
        yield
        shared.jobs.cancel()
        shared.sidecars.close()
        shared.runner.close()
        workers.close()

    app = _App(
        title="tachyfits",
        version=tf.__version__,
        summary="FITS images and cubes: tiles, spectra, measurements and cutouts",
        docs_url=None,  # its page needs the network
        redoc_url=None,
        lifespan=lifespan,
    )
    datasets = Datasets(settings.paths, settings.cache_bytes)
    shared = State(
        settings=settings,
        datasets=datasets,
        cache=ByteCache(settings.cache_bytes),
        decoding=Decoding(settings.cache_bytes),
        workers=workers,
        jobs=Jobs(),
        sidecars=Sidecars(
            settings.cache_folder / "sidecars", settings.sidecar_bytes, workers.executor
        ),
        runner=Runner(settings, datasets, workers.executor),
        metrics=Metrics(),
    )
    app.state.tachyfits = shared
    for failure in (RequestError, tf.TachyfitsError):
        app.add_exception_handler(failure, _problem)
    app.add_exception_handler(HTTPException, _refused)
    app.add_exception_handler(Exception, _problem)
    app.add_exception_handler(RequestValidationError, _invalid)
    for module in ENDPOINTS:
        router = importlib.import_module(f"{__package__}.endpoints.{module}").router
        app.include_router(router, responses=_PROBLEM, dependencies=[Depends(known_parameters)])
    for module in RESOURCES:
        app.include_router(importlib.import_module(f"{__package__}.vo.{module}").router)
    app.mount("/", GZipMiddleware(StaticFiles(directory=WEB, html=True), minimum_size=1000))
    return app


def _import_heavy() -> None:
    """Import the modules that the first requests need, before clients wait for them."""
    for module in ("tachyfits.image.image", "astropy.wcs", "astropy.coordinates"):
        importlib.import_module(module)


async def _problem(request: Request, error: Exception) -> Response:
    """Answer a failure with a problem document (RFC 9457)."""
    status, title, text = described(error)
    if status == 500:
        log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    text = State.of(request).datasets.hidden(text)
    detail, _, hint = text.partition("\nhint: ")
    if len(detail) > _LONGEST_DETAIL:  # quotes text of the client; its beginning suffices
        detail = f"{detail[:_LONGEST_DETAIL]}..."
    headers = {"Retry-After": "1"} if status == 503 else {}
    members = error.members if isinstance(error, RequestError) else {}
    return _problem_answer(status, title, detail, hint, headers, members)


async def _refused(request: Request, error: Exception) -> Response:
    """Answer a request for an unknown address or with an unsupported method."""
    assert isinstance(error, HTTPException)
    title = HTTPStatus(error.status_code).phrase
    detail, hint = f"{request.url.path[:200]}: {title.lower()}", "see /openapi.json"
    if error.status_code == 405:
        allowed = (error.headers or {}).get("allow", "GET")
        detail = f"invalid method {request.method}: expected {allowed}"
    answer = _problem_answer(error.status_code, title, detail, hint)
    answer.headers.update(error.headers or {})
    return answer


async def _invalid(_: Request, error: Exception) -> Response:
    """Answer a request with invalid parameters."""
    assert isinstance(error, RequestValidationError)
    error_info = error.errors()[0]
    name = ".".join(str(part) for part in error_info["loc"][1:])
    text = str(error_info.get("input"))[:100]
    detail = f"invalid {name} {text!r}: {error_info['msg']}"
    if error_info["type"] == "missing":
        detail = f"the parameter {name} is missing"
    return _problem_answer(400, "Bad request", detail, "see /openapi.json for the parameters")


def _problem_answer(
    status: int,
    title: str,
    detail: str,
    hint: str = "",
    headers: dict[str, str] | None = None,
    members: Mapping[str, str] = MappingProxyType({}),
) -> Response:
    standard = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    document = {**members, **standard}
    answer = json_answer(document | ({"hint": hint} if hint else {}), headers, status)
    answer.headers["Content-Type"] = "application/problem+json"
    return answer
