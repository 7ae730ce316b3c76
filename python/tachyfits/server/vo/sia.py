"""`/vo/sia`: discovery by SIA 2.0, a table of datasets with the columns of ObsCore.

A position matches a dataset if a cutout would have pixels; a check of the distance comes first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import numpy as np
from fastapi import APIRouter, Request, Response

import tachyfits as tf
from tachyfits import Selection, SkyRegion
from tachyfits.server.errors import RequestError
from tachyfits.server.state import State
from tachyfits.server.vo.identifiers import identifier_of
from tachyfits.server.vo.index import Listed, Listing, dataset_of
from tachyfits.server.vo.links import check_format
from tachyfits.server.vo.parameters import Parameters, parameters_of
from tachyfits.server.vo.routes import FaultRoute
from tachyfits.server.vo.services import SIA, base_url, links_service
from tachyfits.server.vo.soda import parse_shape
from tachyfits.server.vo.times import interval_of
from tachyfits.server.vo.votable import (
    DATALINK_TYPE,
    Column,
    Document,
    Parameter,
    Service,
    votable_answer,
)

#: Maximum number of rows of an answer.
MOST_ROWS = 10_000
#: Maximum share of the time of a request for reading headers.
_SHARE = 0.5
#: Calibration level of ObsCore: science-ready data. FITS headers lack this information.
CALIBRATED = 2

router = APIRouter(route_class=FaultRoute)


def _column(name: str, place: str, ucd: str, about: str, **more: Any) -> Column:
    return Column(name, utype=f"obscore:{place}", ucd=ucd, description=about, **more)


def _number(name: str, place: str, ucd: str, about: str, unit: str | None = None) -> Column:
    return _column(name, place, ucd, about, datatype="double", unit=unit)


def _count(name: str, place: str, about: str) -> Column:
    return _column(name, place, "meta.number", about, datatype="long")


_POSITION = "Char.SpatialAxis.Coverage.Location.Coord.Position2D.Value2"
_BAND = "Char.SpectralAxis.Coverage.Bounds.Limits"
_TIME = "Char.TimeAxis.Coverage.Bounds.Limits"

COLUMNS = (
    _column("dataproduct_type", "ObsDataset.dataProductType", "meta.code.class", "image or cube"),
    _column("calib_level", "ObsDataset.calibLevel", "meta.code;obs.calib", "Calibration level",
            datatype="int"),
    _column("obs_collection", "DataID.collection", "meta.id", "Collection: the served folder"),
    _column("obs_id", "DataID.observationID", "meta.id", "Name of the file"),
    _column("obs_publisher_did", "Curation.publisherDID", "meta.ref.ivoid", "Identifier"),
    _column("obs_title", "DataID.title", "meta.title;obs", "Title"),
    _column("access_url", "Access.reference", "meta.ref.url", "Links of the dataset (DataLink)"),
    _column("access_format", "Access.format", "meta.code.mime", "Type of the links"),
    _column("access_estsize", "Access.size", "phys.size;meta.file", "Size of the file",
            datatype="long", unit="kbyte"),
    _column("target_name", "Target.name", "meta.id;src", "Observed object"),
    _number("s_ra", f"{_POSITION}.C1", "pos.eq.ra", "Right ascension of the centre, ICRS", "deg"),
    _number("s_dec", f"{_POSITION}.C2", "pos.eq.dec", "Declination of the centre, ICRS", "deg"),
    _number("s_fov", "Char.SpatialAxis.Coverage.Bounds.Extent.diameter",
            "phys.angSize;instr.fov", "Diameter of the circle around the image", "deg"),
    _column("s_region", "Char.SpatialAxis.Coverage.Support.Area", "pos.outline;obs.field",
            "Corners of the image", xtype="adql:REGION"),
    _number("s_resolution", "Char.SpatialAxis.Resolution.Refval.value", "pos.angResolution",
            "Geometric mean of the axes of the beam", "arcsec"),
    _count("s_xel1", "Char.SpatialAxis.numBins1", "Pixels along the first axis of the sky"),
    _count("s_xel2", "Char.SpatialAxis.numBins2", "Pixels along the second axis of the sky"),
    _number("t_min", f"{_TIME}.StartTime", "time.start;obs.exposure", "Begin, MJD, UTC", "d"),
    _number("t_max", f"{_TIME}.StopTime", "time.end;obs.exposure", "End, MJD, UTC", "d"),
    _number("t_exptime", "Char.TimeAxis.Coverage.Support.Extent",
            "time.duration;obs.exposure", "Time of exposure", "s"),
    _number("t_resolution", "Char.TimeAxis.Resolution.Refval.value", "time.resolution",
            "Resolution in time", "s"),
    _count("t_xel", "Char.TimeAxis.numBins", "Pixels along the axis of times"),
    _number("em_min", f"{_BAND}.LoLimit", "em.wl;stat.min", "Shortest wavelength, vacuum", "m"),
    _number("em_max", f"{_BAND}.HiLimit", "em.wl;stat.max", "Longest wavelength, vacuum", "m"),
    _number("em_res_power", "Char.SpectralAxis.Resolution.ResolPower.refVal",
            "spect.resolution", "Wavelength by width of a channel"),
    _count("em_xel", "Char.SpectralAxis.numBins", "Channels"),
    _column("o_ucd", "Char.ObservableAxis.ucd", "meta.ucd", "UCD of the pixels"),
    _column("pol_states", "Char.PolarizationAxis.stateList", "meta.code;phys.polarization",
            "Polarisation states"),
    _count("pol_xel", "Char.PolarizationAxis.numBins", "Number of polarisation states"),
    _column("facility_name", "Provenance.ObsConfig.Facility.name", "meta.id;instr.tel",
            "Telescope"),
    _column("instrument_name", "Provenance.ObsConfig.Instrument.name", "meta.id;instr",
            "Instrument"),
)  # fmt: skip

#: Interval parameters: columns of the dataset's lower and upper bound, and the unit.
_INTERVALS: dict[str, tuple[str, str, str]] = {
    "BAND": ("em_min", "em_max", "m"), "TIME": ("t_min", "t_max", "d"),
    "FOV": ("s_fov", "s_fov", "deg"), "SPATRES": ("s_resolution", "s_resolution", "arcsec"),
    "SPECRP": ("em_res_power", "em_res_power", ""), "EXPTIME": ("t_exptime", "t_exptime", "s"),
}  # fmt: skip
#: Text parameters, and the fields that they are compared with.
_TEXTS = {
    "FACILITY": "facility_name", "INSTRUMENT": "instrument_name", "TARGET": "target_name",
    "DPTYPE": "dataproduct_type",
}  # fmt: skip

_Matches = Callable[[Listed], bool]


@router.api_route("/vo/sia", methods=["GET", "HEAD", "POST"], include_in_schema=False)
async def sia(request: Request) -> Response:
    """Return the datasets that satisfy all parameters."""
    state = State.of(request)
    parameters = await parameters_of(request)
    check_format(parameters)
    document = await state.workers.run(request, lambda: _document(request, state, parameters))
    return votable_answer(document)


def _document(request: Request, state: State, parameters: Parameters) -> Document:
    maximum = _most(parameters)
    listing = Listing(state, _SHARE * state.settings.request_seconds)
    tests = _tests(state, parameters, listing)
    rows: list[tuple[Any, ...]] = []
    # Here the descriptor takes the identifier from a column of the table.
    services = [links_service(request, name="links", ref="obs_publisher_did"), _self(request)]
    document = Document(
        COLUMNS, rows, services=services, column_ids={"obs_publisher_did": "obs_publisher_did"}
    )
    document.infos += [("standardID", SIA, ""), ("QUERY_STATUS", "OK", "")]
    if maximum:
        for dataset in _candidates(state, parameters, listing):
            if not all(test(dataset) for test in tests):
                continue
            if len(rows) == maximum:
                document.overflow = f"the table has the first {maximum} datasets"
                break
            rows.append(_row(request, state, dataset))
        if not listing.complete:
            document.overflow = "not all files were described in time: ask again for the rest"
    return document


def _candidates(state: State, parameters: Parameters, listing: Listing) -> Any:
    """Return the datasets to test: those of ID if all are known, else all."""
    identifiers = parameters.values("ID")
    if not identifiers:
        return listing
    datasets = [dataset_of(state, identifier) for identifier in dict.fromkeys(identifiers)]
    return [item for item in datasets if item is not None] if None not in datasets else listing


def _most(parameters: Parameters) -> int:
    text = parameters.single("MAXREC")
    if text is None:
        return MOST_ROWS
    if not (text.isascii() and text.isdigit() and len(text) < 12):
        raise RequestError(f"invalid MAXREC {text[:40]!r}: expected a number of rows")
    return min(int(text), MOST_ROWS)


def _tests(state: State, parameters: Parameters, listing: Listing) -> list[_Matches]:
    """Return tests for datasets, one per parameter: any of its values must match."""
    tests: list[_Matches] = []
    for name, (low, high, _) in _INTERVALS.items():
        if values := parameters.values(name):
            tests.append(_meets([interval_of(name, value) for value in values], low, high))
    if values := parameters.values("TIMERES"):
        for value in values:
            interval_of("TIMERES", value)
        tests.append(lambda _: False)  # the time resolution of datasets is unknown
    for name, field in _TEXTS.items():
        if values := parameters.values(name):
            tests.append(_is_one_of(values, field))
    if values := parameters.values("POL"):
        states = set(values)
        tests.append(lambda dataset: bool(states & set(dataset.about.pol_states)))
    if values := parameters.values("CALIB"):
        if not all(value.strip() in ("0", "1", "2", "3", "4") for value in values):
            raise RequestError("invalid CALIB: expected a number from 0 to 4")
        fits = str(CALIBRATED) in [value.strip() for value in values]
        tests.append(lambda _: fits)
    if values := parameters.values("FORMAT"):
        kinds = {value.replace(" ", "").lower() for value in values}
        is_wanted = DATALINK_TYPE in kinds
        tests.append(lambda _: is_wanted)
    if values := parameters.values("COLLECTION"):
        collections = set(values)
        tests.append(lambda dataset: _collection(state, dataset) in collections)
    if values := parameters.values("ID"):
        identifiers = {value.lower() for value in values}
        tests.append(
            lambda dataset: bool({_did(state, dataset).lower(), dataset.name.lower()} & identifiers)
        )
    if values := parameters.values("POS"):
        positions = [_Place.of(value) for value in values]
        # Test the position last: this may open the file.
        tests.append(
            lambda dataset: any(
                _overlaps(listing, state, dataset, position) for position in positions
            )
        )
    return tests


def _meets(intervals: Sequence[tuple[float, float]], low: str, high: str) -> _Matches:
    def test(dataset: Listed) -> bool:
        lower, upper = getattr(dataset.about, low), getattr(dataset.about, high)
        if lower is None or upper is None:
            return False
        return any(lower <= end and upper >= begin for begin, end in intervals)

    return test


def _is_one_of(values: Sequence[str], field: str) -> _Matches:
    options = set(values)
    return lambda dataset: getattr(dataset.about, field) in options


def _did(state: State, dataset: Listed) -> str:
    return identifier_of(state.settings.authority, dataset.name)


def _collection(state: State, dataset: Listed) -> str:
    """Return the served folder of a file; the authority for a file served without a folder."""
    folder, slash, _ = dataset.name.partition("/")
    return folder if slash else state.settings.authority


@dataclass(frozen=True)
class _Place:
    """A shape of a query, and the circle around it: centre direction and radius in degrees."""

    shape: SkyRegion
    middle: Any = None
    reach: float = 180.0

    @classmethod
    def of(cls, text: str) -> _Place:
        """Parse a POS."""
        shape = parse_shape(text)
        assert isinstance(shape, SkyRegion)
        if shape.shape == "range":
            return cls(shape)
        points = np.array([_direction(*point) for point in shape.points])
        middle = points.mean(axis=0)
        length = float(np.linalg.norm(middle))
        if length < 1e-3:
            return cls(shape)  # a polygon around half of the sky has no defined centre
        middle /= length
        reach = float(np.degrees(np.arccos(np.clip(points @ middle, -1, 1))).max())
        reach += shape.sizes[0] if shape.sizes else 0.0
        return cls(shape, middle, reach) if reach < 90 else cls(shape)

    def has(self, longitude: float, latitude: float, margin: float) -> bool:
        """Return True if a circle around a position is certainly inside; False if unknown."""
        if self.shape.shape == "range":
            (west, south), (east, north) = self.shape.points
            width = margin / max(1e-3, float(np.cos(np.radians(latitude))))
            contains = east - west >= 360 or (
                (longitude - west) % 360 >= width and (east - longitude) % 360 >= width
                and (longitude - west) % 360 <= (east - west) % 360
            )  # fmt: skip
            return contains and south + margin <= latitude <= north - margin
        if not self.shape.is_circle or self.middle is None:
            return False
        cosine = np.clip(self.middle @ _direction(longitude, latitude), -1, 1)
        return bool(np.degrees(np.arccos(cosine)) + margin + 1e-5 < self.reach)

    def is_far(self, longitude: float, latitude: float, radius: float) -> bool:
        """Return whether the circle of the shape is disjoint from the circle around an image."""
        if self.shape.shape == "range":
            (_, south), (_, north) = self.shape.points
            return latitude + radius < south or latitude - radius > north
        if self.middle is None:
            return False
        cosine = np.clip(self.middle @ _direction(longitude, latitude), -1, 1)
        return bool(np.degrees(np.arccos(cosine)) > radius + self.reach + 1e-6)


def _overlaps(listing: Listing, state: State, dataset: Listed, position: _Place) -> bool:
    """Return whether a cutout by a shape would have pixels."""
    about = dataset.about
    if about.s_ra is None or about.s_dec is None or about.s_fov is None:
        return False
    # Some pixel centre is closer to the centre of the image than this margin.
    if position.has(about.s_ra, about.s_dec, about.s_fov / min(about.s_xel1, about.s_xel2)):
        return True
    # Add a margin: arccosines of small angles lose digits.
    if position.is_far(about.s_ra, about.s_dec, about.s_fov / 2 + 1e-5) or listing.is_late():
        return False
    try:
        cube = state.datasets.open(dataset.name, keep=False).view(None).cube
        Selection(position.shape, mode="trim").resolve(cube)
    except (RequestError, tf.TachyfitsError):
        return False
    return True


def _direction(longitude: float, latitude: float) -> Any:
    x, y = np.radians(longitude), np.radians(latitude)
    return np.array([np.cos(y) * np.cos(x), np.cos(y) * np.sin(x), np.sin(y)])


def _row(request: Request, state: State, dataset: Listed) -> tuple[Any, ...]:
    about, did = dataset.about, _did(state, dataset)
    computed = {
        "calib_level": CALIBRATED,
        "obs_collection": _collection(state, dataset),
        "obs_id": dataset.name,
        "obs_publisher_did": did,
        "access_url": f"{base_url(request)}/links?{urlencode({'ID': did})}",
        "access_format": DATALINK_TYPE,
        "access_estsize": -(-dataset.bytes // 1000),
        "s_region": None if about.region is None else f"POLYGON ICRS {about.region}",
        "pol_states": f"/{'/'.join(about.pol_states)}/" if about.pol_states else None,
        "pol_xel": len(about.pol_states) or None,
    }
    return tuple(
        computed[column.name] if column.name in computed else getattr(about, column.name, None)
        for column in COLUMNS
    )


def _self(request: Request) -> Service:
    """Return the descriptor of this service, which SIA requires in each answer."""
    inputs = [
        Parameter(
            Column("POS", ucd="pos.outline;obs", description="CIRCLE, RANGE or POLYGON, ICRS")
        )
    ]
    inputs += [
        Parameter(Column(name, "double", "2", unit or None, xtype="interval"))
        for name, (_, _, unit) in (*_INTERVALS.items(), ("TIMERES", ("", "", "s")))
    ]
    inputs += [
        Parameter(Column("POL"), options=("I", "Q", "U", "V", "RR", "LL", "RL", "LR")),
        Parameter(Column("DPTYPE"), options=("image", "cube")),
        Parameter(Column("CALIB", "int"), str(CALIBRATED), options=(str(CALIBRATED),)),
        Parameter(Column("FORMAT"), options=(DATALINK_TYPE,)),
    ]
    inputs += [Parameter(Column(name)) for name in ("ID", "COLLECTION", *list(_TEXTS)[:3])]
    inputs.append(Parameter(Column("MAXREC", "int"), str(MOST_ROWS), most=str(MOST_ROWS)))
    return Service(None, "this", SIA, f"{base_url(request)}/sia", inputs)
