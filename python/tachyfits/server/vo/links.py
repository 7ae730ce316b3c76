"""`/vo/links`: DataLink 1.1, links to the file of a dataset and to its cutout services."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from fastapi import APIRouter, Request, Response
from fastapi.responses import FileResponse, RedirectResponse

from tachyfits.server.datasets import COMPRESSED
from tachyfits.server.errors import NotFound, RequestError
from tachyfits.server.state import State
from tachyfits.server.targets import LocalTarget, RemoteTarget
from tachyfits.server.vo.failures import fault
from tachyfits.server.vo.identifiers import Found, find
from tachyfits.server.vo.index import described_dataset
from tachyfits.server.vo.parameters import Parameters, parameters_of
from tachyfits.server.vo.routes import FaultRoute, TextRoute
from tachyfits.server.vo.services import LINKS, base_url, links_service, soda_services
from tachyfits.server.vo.votable import (
    DATALINK_TYPE,
    VOTABLE_TYPE,
    Column,
    Document,
    votable_answer,
)

#: Maximum number of identifiers of a request; an answer to more is marked as incomplete.
MOST_IDS = 100

_COLUMNS = (
    Column("ID", ucd="meta.id;meta.main", description="Identifier, as it was given"),
    Column("access_url", ucd="meta.ref.url", description="Link to the data"),
    Column("service_def", ucd="meta.ref", description="Descriptor of a service in this document"),
    Column("error_message", ucd="meta.code.error", description="Why the link is missing"),
    Column("description", ucd="meta.note", description="What the link leads to"),
    Column("semantics", ucd="meta.code", description="Term of the DataLink vocabulary"),
    Column("content_type", ucd="meta.code.mime", description="Media type"),
    Column("content_length", "long", unit="byte", ucd="phys.size;meta.file", description="Size"),
    Column("content_qualifier", description="Term of the vocabulary of product types"),
    Column("local_semantics", ucd="meta.id.assoc", description="What is the same for all datasets"),
    Column("link_auth", ucd="meta.code", description="Whether the link needs authentication"),
    Column("link_authorized", "boolean", ucd="meta.code", description="Whether it is granted"),
)

_FORMATS = ("votable", VOTABLE_TYPE, DATALINK_TYPE, "text/xml", "application/xml")

router = APIRouter()
links_router = APIRouter(route_class=FaultRoute)
file_router = APIRouter(route_class=TextRoute)


def check_format(parameters: Parameters) -> None:
    """Check RESPONSEFORMAT of a service that returns VOTables."""
    response_format = parameters.single("RESPONSEFORMAT")
    normalised = (response_format or "votable").replace(" ", "").lower()
    if normalised not in _FORMATS and normalised.partition(";")[0] not in _FORMATS:
        raise RequestError(
            f"invalid RESPONSEFORMAT {(response_format or '')[:100]!r}: expected votable"
        )


@links_router.api_route("/vo/links", methods=["GET", "HEAD", "POST"], include_in_schema=False)
async def links(request: Request) -> Response:
    """Return the links of datasets by their identifiers."""
    state = State.of(request)
    parameters = await parameters_of(request)
    check_format(parameters)

    def call() -> Document:
        return _document(request, state, parameters.values("ID"))

    return votable_answer(await state.workers.run(request, call), kind=DATALINK_TYPE)


@file_router.api_route("/vo/file", methods=["GET", "HEAD"], include_in_schema=False)
async def file(request: Request) -> Response:
    """Send the unchanged file of a dataset."""
    state = State.of(request)
    identifier = (await parameters_of(request)).single("ID")
    if not identifier:
        raise RequestError("ID is missing: expected the identifier of a dataset")
    dataset = await state.workers.run(
        request, lambda: find(state.datasets, state.settings.authority, identifier)
    )
    return file_answer(dataset)


def file_answer(dataset: Found) -> Response:
    """Return an answer with the file of a dataset, which supports range requests."""
    target = dataset.file.target
    if isinstance(target, RemoteTarget):
        if target.is_public:
            return RedirectResponse(target.url)
        raise NotFound(
            f"{dataset.file.name}: files of object stores are not passed on: ask for a part"
        )
    assert isinstance(target, LocalTarget)
    return FileResponse(
        target.path,
        filename=dataset.file.name.rpartition("/")[2],
        media_type=_stored_type(dataset.file.name),
    )


def _stored_type(name: str) -> str:
    if name.lower().endswith(".gz"):
        return "application/gzip"
    return "application/octet-stream" if name.lower().endswith(COMPRESSED) else "application/fits"


def _document(request: Request, state: State, identifiers: list[str]) -> Document:
    document = Document(_COLUMNS, infos=[("standardID", LINKS, ""), ("QUERY_STATUS", "OK", "")])
    if len(identifiers) > MOST_IDS:
        document.overflow = f"the table has the first {MOST_IDS} identifiers"
    rows: list[tuple[Any, ...]] = []
    # The names of descriptors end in the number of their identifier.
    for number, identifier in enumerate(dict.fromkeys(identifiers[:MOST_IDS]), 1):
        try:
            dataset = find(state.datasets, state.settings.authority, identifier)
            about = described_dataset(state, dataset)
        except Exception as error:
            _, text = fault(state.datasets, error)
            rows.append(_row(identifier, error_message=text, semantics="#this"))
            continue
        services = soda_services(request, identifier, about, number)
        document.services += services
        product_type = f"#{about.dataproduct_type}"
        rows.append(
            _row(
                identifier,
                access_url=f"{base_url(request)}/file?{urlencode({'ID': identifier})}",
                description=f"The file {dataset.file.name}",
                semantics="#this",
                content_type=_stored_type(dataset.file.name),
                content_length=dataset.file.version.size,
                content_qualifier=product_type,
            )
        )
        picture = {"id": dataset.file.name} | ({} if dataset.hdu is None else {"hdu": dataset.hdu})
        rows.append(
            _row(
                identifier,
                access_url=f"{request.base_url}api/v1/snapshot?{urlencode(picture)}",
                description="A picture of the first plane",
                semantics="#preview",
                content_type="image/png",
                content_qualifier="#image",
            )
        )
        for service in services:
            rows.append(
                _row(
                    identifier,
                    service_def=service.identifier,
                    description=service.description,
                    semantics="#cutout",
                    content_type=service.content_type,
                    content_qualifier=product_type,
                )
            )
    document.rows = rows
    document.services.append(links_service(request))
    return document


def _row(identifier: str, **values: Any) -> tuple[Any, ...]:
    values = {"ID": identifier, "link_auth": None, "link_authorized": None, **values}
    return tuple(values.get(column.name) for column in _COLUMNS)


router.include_router(links_router)
router.include_router(file_router)
