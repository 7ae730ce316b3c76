"""Marks of figures: the points of catalogues and the vectors of polarisation that a page shows."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qsl

from fastapi import Depends, Query
from pydantic import BaseModel, Field, ValidationError

from tachyfits.plot import Catalogue, Vectors
from tachyfits.server import catalogues as opening
from tachyfits.server.asked import Asked
from tachyfits.server.catalogues import FRAME, Source, names_of, source_of
from tachyfits.server.errors import RequestError
from tachyfits.server.parameters import Channels
from tachyfits.server.planes import Collapse, OnePlane
from tachyfits.server.polarisation import q_and_u, stokes_place

#: Most catalogues of a figure.
_MOST = 20

#: The names of these options of `tachyfits.plot.Catalogue`, as the command has them.
OPTIONS = ("hdu", "columns", "frame", "where", "color")


class _Parameters(BaseModel, extra="forbid"):
    """The parameters of a catalogue of a figure, with the limits of /api/v1/catalogue/points."""

    catalogue: str | None = Field(None, min_length=1, max_length=4096)
    table: int | None = Field(None, ge=0, le=1_000_000)
    service: str | None = Field(None, max_length=2000)
    cone: str | None = Field(None, max_length=200)
    longitude: str | None = Field(None, max_length=200)
    latitude: str | None = Field(None, max_length=200)
    frame: str | None = Field(None, pattern=FRAME)
    where: str | None = Field(None, max_length=4000)
    color: str | None = Field(None, pattern="^#[0-9a-fA-F]{6}$")


@dataclass(frozen=True)
class PointsAsked:
    """A catalogue whose points are drawn; also a key."""

    source: Source
    columns: tuple[str, str] | None
    frame: str | None
    where: str | None
    color: str | None

    @classmethod
    def of(cls, text: str) -> PointsAsked:
        """Return the catalogue of a line of parameters."""
        try:
            pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=20)
            parameters = _Parameters.model_validate(dict(pairs))
        except ValidationError as error:
            first = error.errors()[0]
            name = ".".join(map(str, first["loc"]))
            raise RequestError(f"invalid catalogues: {name[:100]}: {first['msg']}") from None
        except ValueError:  # of parse_qsl
            raise RequestError("invalid catalogues: a line has too many parameters") from None
        source = source_of(
            parameters.catalogue, parameters.table, parameters.service, parameters.cone
        )
        names = names_of(parameters.longitude, parameters.latitude)
        return cls(source, names, parameters.frame, parameters.where, parameters.color)

    def options(self) -> dict[str, Any]:
        """Return the options of the catalogue that differ from their defaults."""
        named = {name: getattr(self, name) for name in OPTIONS[1:]}
        return {name: value for name, value in named.items() if value is not None}

    def of_file(self) -> tuple[str, dict[str, Any]]:
        """Return the name of the file and all options, for commands and for lines of Python.

        Raises
        ------
        RequestError
            The command does not read it.
        """
        name = self.source.name
        if name is None:
            raise RequestError(
                "no lines: commands do not draw catalogues of services\nhint: leave the catalogue "
                "out, or save it as FITS, VOTable, CSV or Parquet"
            )
        hdu = self.source.number
        has_tables = not name.lower().endswith(opening.COLUMNAR)
        options = {"hdu": hdu} if hdu is not None and has_tables else {}
        return Path(name).name, options | self.options()


@dataclass(frozen=True)
class VectorsAsked:
    """Vectors of polarisation that are drawn; also a key."""

    step: int
    channels: str | None
    least: float | None

    def options(self) -> dict[str, Any]:
        """Return the options as `tachyfits.plot.Vectors` takes them."""
        options = {"step": self.step}
        return options if self.least is None else options | {"least": self.least}

    def collapse(self, of: OnePlane) -> Collapse:
        """Return how channels become planes of Stokes Q and U."""
        others = of.collapse.others if of.collapse is not None else of.others
        return Collapse("mean", self.channels, others)

    def plane(self, asked: Asked, of: OnePlane, name: str) -> OnePlane:
        """Return the plane of Q or U, as a figure could draw it."""
        collapse = self.collapse(of)
        channel, others = stokes_place(asked.view, name, collapse.others)
        if channel is not None:
            return OnePlane(None, channel, others)
        return OnePlane(Collapse("mean", self.channels, others), 1, others)


@dataclass(frozen=True)
class Marks:
    """The catalogues and the vectors of a figure; also a key."""

    catalogues: tuple[PointsAsked, ...]
    vectors: VectorsAsked | None

    def opened(self, asked: Asked) -> OpenMarks:
        """Open the catalogues."""
        cancelled = lambda: asked.token.cancelled  # noqa: E731
        tables = [opening.opened(asked.state, one.source, cancelled) for one in self.catalogues]
        return OpenMarks(self, tuple(tables))


@dataclass(frozen=True)
class OpenMarks:
    """Marks with their open catalogues."""

    marks: Marks
    tables: tuple[opening.Catalogue, ...]

    @property
    def key(self) -> Hashable:
        """Changes with the content of the catalogues."""
        return tuple(one.key for one in self.tables)

    def overlays(self, asked: Asked, of: OnePlane) -> list[Any]:
        """Return them as `tachyfits.plot.plane_figure` takes them."""
        overlays: list[Any] = [
            Catalogue(opened.table, **one.options())
            for one, opened in zip(self.marks.catalogues, self.tables, strict=True)
        ]
        vectors = self.marks.vectors
        if vectors is not None:
            q, u = q_and_u(asked, vectors.collapse(of), vectors.step)
            overlays.append(Vectors(q, u, **vectors.options()))
        return overlays

    def check(self) -> None:
        """Raise `Changed` if a catalogue is not the one that was opened."""
        for one in self.tables:
            one.check()


async def _marks(
    catalogues: Annotated[
        str | None,
        Query(max_length=20_000, description="Catalogues whose points are drawn, one a line, "
              f"{_MOST} at most: the parameters of /api/v1/catalogue/points and color (#rrggbb), "
              "encoded as in an address.", examples=["catalogue=stars.fits&where=MAG%20%3C%2020"]),
    ] = None,
    vectors: Annotated[
        int | None,
        Query(ge=1, le=10_000, description="Draw vectors of polarisation: pixels along each side "
              "of a block."),
    ] = None,
    vectors_channels: Channels = None,
    vectors_least: Annotated[
        float | None,
        Query(ge=0, allow_inf_nan=False, description="The least intensity of a vector."),
    ] = None,
) -> Marks:  # fmt: skip
    lines = [line for line in (catalogues or "").splitlines() if line.strip()]
    if len(lines) > _MOST:
        raise RequestError(f"invalid catalogues: expected at most {_MOST}, found {len(lines)}")
    polarisation = (
        None if vectors is None else VectorsAsked(vectors, vectors_channels, vectors_least)
    )
    return Marks(tuple(map(PointsAsked.of, lines)), polarisation)


#: The catalogues and the vectors of a figure.
MarksAsked = Annotated[Marks, Depends(_marks)]
