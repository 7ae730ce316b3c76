"""`/vo/capabilities`, `/vo/availability` and `/vo/examples`: self-description of the service."""

from __future__ import annotations

from datetime import datetime, timezone
from html import escape

from fastapi import APIRouter, Request, Response
from fastapi.responses import HTMLResponse

from tachyfits.server.state import State
from tachyfits.server.vo.identifiers import identifier_of
from tachyfits.server.vo.index import Listing
from tachyfits.server.vo.services import LINKS, SIA, SODA_ASYNC, SODA_SYNC, base_url
from tachyfits.server.vo.xml import child, element, xml_answer

router = APIRouter()

#: Maximum share of the time of a request for reading headers.
_SHARE = 0.5

_STARTED = datetime.now(timezone.utc)

#: Standards, their resources, the use of the URL ("full" or "base"), and the version.
_CAPABILITIES = (
    ("ivo://ivoa.net/std/VOSI#capabilities", "capabilities", "full", "1.1"),
    ("ivo://ivoa.net/std/VOSI#availability", "availability", "full", "1.1"),
    ("ivo://ivoa.net/std/DALI#examples", "examples", "full", "1.1"),
    (SODA_SYNC, "sync", "base", "1.0"),
    (SODA_ASYNC, "async", "base", "1.0"),
    (LINKS, "links", "base", "1.1"),
    (SIA, "sia", "base", "2.0"),
)


@router.api_route("/vo/capabilities", methods=["GET", "HEAD"], include_in_schema=False)
async def capabilities(request: Request) -> Response:
    """Return the resources of the service and their standards."""
    root = element("vosi:capabilities")
    for standard, resource, use, version in _CAPABILITIES:
        # The schema defines standardID; an example in the SODA standard uses standardid.
        capability = child(root, "capability", attributes={"standardID": standard})
        interface = child(
            capability,
            "interface",
            attributes={"xsi:type": "vod:ParamHTTP", "role": "std", "version": version},
        )
        url = f"{base_url(request)}/{resource}"
        child(interface, "accessURL", url, {"use": use})
    # ElementTree does not declare a prefix that only occurs in the value of xsi:type.
    root.set("xmlns:vod", "http://www.ivoa.net/xml/VODataService/v1.1")
    return xml_answer(root)


@router.api_route("/vo/availability", methods=["GET", "HEAD"], include_in_schema=False)
async def availability(request: Request) -> Response:
    """Return whether the service accepts requests, and its start time."""
    state = State.of(request)
    busy = state.workers.running >= state.settings.concurrent
    root = element("avail:availability")
    child(root, "avail:available", "false" if busy else "true")
    child(root, "avail:upSince", _STARTED.strftime("%Y-%m-%dT%H:%M:%SZ"))
    child(root, "avail:note", "too many requests wait" if busy else "accepting requests")
    return xml_answer(root)


def _requests(state: State) -> list[tuple[str, str, dict[str, str]]]:
    """Return example requests for cutouts of served images: (anchor, title, parameters)."""
    circle = band = None
    for dataset in Listing(state, _SHARE * state.settings.request_seconds):
        identifier, about = identifier_of(state.settings.authority, dataset.name), dataset.about
        if circle is None and about.s_ra is not None and about.s_fov:
            radius = min(about.s_fov / 4, 10.0)
            circle = {"ID": identifier, "CIRCLE": f"{about.s_ra} {about.s_dec} {radius:.6g}"}
        if band is None and about.em_min is not None:
            band = {"ID": identifier, "BAND": f"{about.em_min} {about.em_max}"}
        if circle and band:
            break
    candidates = [("circle", "A circle", circle), ("band", "A range of wavelengths", band)]
    return [(anchor, title, values) for anchor, title, values in candidates if values]


@router.api_route("/vo/examples", methods=["GET", "HEAD"], include_in_schema=False)
async def examples(request: Request) -> Response:
    """Return examples of requests as XHTML with RDFa (DALI)."""
    state = State.of(request)
    parts = []
    for anchor, title, values in await state.workers.run(request, lambda: _requests(state)):
        rows = "".join(
            f'<dt property="generic-parameter" typeof="keyval">'
            f'<span property="key">{escape(key)}</span> = '
            f'<span property="value">{escape(value)}</span></dt>'
            for key, value in values.items()
        )
        parts.append(
            f'<div id="{anchor}" resource="#{anchor}" typeof="example">'
            f'<h2 property="name">{escape(title)}</h2><dl>{rows}</dl>'
            f'<p>capability: <span property="capability">{SODA_SYNC}</span></p></div>'
        )
    body = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<html xmlns="http://www.w3.org/1999/xhtml"><head><title>Examples</title></head>'
        f'<body vocab="http://www.ivoa.net/rdf/examples#">{"".join(parts)}</body></html>'
    )
    return HTMLResponse(body, media_type="application/xhtml+xml")
