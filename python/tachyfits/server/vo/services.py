"""Descriptors of the services of a dataset: SODA with its valid values, and DataLink."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import Request

from tachyfits.server.vo.observation import Observation
from tachyfits.server.vo.soda import POLARISATIONS
from tachyfits.server.vo.votable import DATALINK_TYPE, Column, Parameter, Service

#: Standard identifiers of the services.
SODA_SYNC = "ivo://ivoa.net/std/SODA#sync-1.0"
SODA_ASYNC = "ivo://ivoa.net/std/SODA#async-1.0"
LINKS = "ivo://ivoa.net/std/DataLink#links-1.1"
SIA = "ivo://ivoa.net/std/SIA#query-2.0"

_ID = Column("ID", ucd="meta.ref.url;meta.curation", description="Identifier of the dataset")


def base_url(request: Request) -> str:
    """Return the base URL of the service, as seen by the client."""
    return f"{str(request.base_url).rstrip('/')}/vo"


def soda_services(
    request: Request, identifier: str, about: Observation, number: int = 1
) -> list[Service]:
    """Return the descriptors of the synchronous and the asynchronous SODA service of a dataset."""
    suffix = "" if number == 1 else f"-{number}"
    inputs = soda_inputs(identifier, about)
    base = base_url(request)
    return [
        Service(
            f"soda-sync{suffix}", f"soda-sync{suffix}", SODA_SYNC, f"{base}/sync", inputs,
            "application/fits", "Cut a part out of the dataset and send it",
        ),
        Service(
            f"soda-async{suffix}", f"soda-async{suffix}", SODA_ASYNC, f"{base}/async", inputs,
            None, "Cut parts out of the dataset in a job",
        ),
    ]  # fmt: skip


def soda_inputs(identifier: str, about: Observation) -> list[Parameter]:
    """Return the parameters for cutouts of a dataset, with their valid values."""
    parameters = [Parameter(_ID, identifier)]
    if about.s_fov is not None and about.s_ra is not None and about.s_dec is not None:
        radius = min(about.s_fov / 2, 180.0)
        circle = f"{about.s_ra:.10g} {about.s_dec:.10g} {radius:.8g}"
        parameters += [
            Parameter(
                Column("CIRCLE", "double", "3", "deg", "pos.outline;obs", xtype="circle",
                       description="Longitude, latitude and radius, ICRS"),
                most=circle,
            ),
            Parameter(
                Column("POLYGON", "double", "*", "deg", "pos.outline;obs", xtype="polygon",
                       description="Longitude and latitude of three or more vertices, ICRS"),
                most=about.region,
            ),
            Parameter(
                Column("POS", ucd="pos.outline;obs",
                       description="CIRCLE lon lat radius, RANGE lon1 lon2 lat1 lat2 or POLYGON "
                       "lon1 lat1 lon2 lat2 lon3 lat3 ..., degrees, ICRS"),
            ),
        ]  # fmt: skip
    if about.em_min is not None and about.em_max is not None:
        frame = "barycentric" if about.barycentric else "in the frame of the dataset"
        parameters.append(
            Parameter(
                Column("BAND", "double", "2", "m", "em.wl;stat.interval", xtype="interval",
                       description=f"Wavelengths in vacuum, {frame}"),
                least=f"{about.em_min!r}", most=f"{about.em_max!r}",
            )
        )  # fmt: skip
    if about.t_min is not None and about.t_max is not None:
        parameters.append(
            Parameter(
                Column("TIME", "double", "2", "d", "time.interval;obs.exposure", xtype="interval",
                       description="MJD, UTC; the dataset has no axis of times"),
                least=f"{about.t_min!r}", most=f"{about.t_max!r}",
            )
        )  # fmt: skip
    if states := tuple(name for name in about.pol_states if name in POLARISATIONS):
        parameters.append(
            Parameter(
                Column("POL", ucd="meta.code;phys.polarization",
                       description="Polarisation states; all values are one filter"),
                options=states,
            )
        )  # fmt: skip
    return parameters


def links_service(request: Request, *, name: str = "this", ref: str | None = None) -> Service:
    """Return the descriptor of DataLink: for itself, or for a table's column of identifiers."""
    inputs: Sequence[Parameter] = [
        Parameter(Column("ID", ucd="meta.id;meta.main", description="Identifier"), ref=ref)
    ]
    if ref is None:
        inputs = [*inputs, Parameter(Column("RESPONSEFORMAT", description="votable"))]
    identifier = None if ref is None else "links"
    return Service(identifier, name, LINKS, f"{base_url(request)}/links", inputs, DATALINK_TYPE)
