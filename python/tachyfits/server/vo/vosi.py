"""`/vo/capabilities`, `/vo/availability` and `/vo/examples`: what the service says of itself."""

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

#: Share of the time of a request that reading headers may take.
_SHARE = 0.5

_STARTED = datetime.now(timezone.utc)

#: Standards and their resources, whether each is what clients look for, and its version.
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
    """Return the resources of the service and the standards that they follow."""
    root = element("vosi:capabilities")
    for standard, resource, use, version in _CAPABILITIES:
        # The schema has standardID; an example of the SODA standard writes standardid.
        found = child(root, "capability", attributes={"standardID": standard})
        interface = child(
            found,
            "interface",
            attributes={"xsi:type": "vod:ParamHTTP", "role": "std", "version": version},
        )
        url = f"{base_url(request)}/{resource}"
        child(interface, "accessURL", url, {"use": use})
    # A prefix in the value of xsi:type is declared only where an element has it.
    root.set("xmlns:vod", "http://www.ivoa.net/xml/VODataService/v1.1")
    return xml_answer(root)


@router.api_route("/vo/availability", methods=["GET", "HEAD"], include_in_schema=False)
async def availability(request: Request) -> Response:
    """Say whether the service takes requests, and since when."""
    state = State.of(request)
    busy = state.workers.running >= state.settings.concurrent
    root = element("avail:availability")
    child(root, "avail:available", "false" if busy else "true")
    child(root, "avail:upSince", _STARTED.strftime("%Y-%m-%dT%H:%M:%SZ"))
    child(root, "avail:note", "too many requests wait" if busy else "accepting requests")
    return xml_answer(root)


def _requests(state: State) -> list[tuple[str, str, dict[str, str]]]:
    """Return requests of cutouts that images of this service answer: their names and parameters."""
    circle = band = None
    for one in Listing(state, _SHARE * state.settings.request_seconds):
        identifier, about = identifier_of(state.settings.authority, one.name), one.about
        if circle is None and about.s_ra is not None and about.s_fov:
            radius = min(about.s_fov / 4, 10.0)
            circle = {"ID": identifier, "CIRCLE": f"{about.s_ra} {about.s_dec} {radius:.6g}"}
        if band is None and about.em_min is not None:
            band = {"ID": identifier, "BAND": f"{about.em_min} {about.em_max}"}
        if circle and band:
            break
    found = [("circle", "A circle", circle), ("band", "A range of wavelengths", band)]
    return [(anchor, title, values) for anchor, title, values in found if values]


@router.api_route("/vo/examples", methods=["GET", "HEAD"], include_in_schema=False)
async def examples(request: Request) -> Response:
    """Return examples of requests, as DALI has them: XHTML with RDFa."""
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
