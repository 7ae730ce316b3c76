"""Options of what is drawn over a picture: contours of another image, regions, points, vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from tachyfits.cli._common import Common, refuse_without
from tachyfits.cli._group import grouped
from tachyfits.cli._syntax import NUMBERS

#: Options of a catalogue, each given once for each --catalogue.
_OF_CATALOGUES = ("hdu", "columns", "frame", "where", "color")

#: The names of the options.
OVER = ("overlay", "overlay-levels", "outline", "catalogue",
        *(f"catalogue-{name}" for name in _OF_CATALOGUES),
        "vectors", "vectors-step", "vectors-least")  # fmt: skip


@dataclass(frozen=True)
class Over:
    """The options of drawings over a picture, by their names."""

    overlay: str | None
    overlay_levels: tuple[str, tuple[float, ...]] | None
    outline: tuple[str, ...]
    catalogues: tuple[dict[str, Any], ...]
    vectors: tuple[str, str] | None
    vector_options: dict[str, Any]

    def options(self, common: Common) -> dict[str, Any]:
        """All of them, as `tachyfits.plot.plane_figure` takes them."""
        from tachyfits.plot import Catalogue, Vectors

        def plane(path: str) -> Any:
            with common.open(path) as file:
                return file.image().plane()

        overlays: list[Any] = [] if self.overlay is None else [plane(self.overlay)]
        overlays += [Catalogue(**catalogue) for catalogue in self.catalogues]
        if self.vectors is not None:
            overlays.append(Vectors(*map(plane, self.vectors), **self.vector_options))
        levels = {} if self.overlay_levels is None else {"overlay_levels": self.overlay_levels[1]}
        return levels | {
            "overlay": overlays or None,
            "regions": list(self.outline) if self.outline else None,
        }


def _over(catalogue: tuple[str, ...], vectors: Any, **values: Any) -> Over:
    columns = {name: values.pop(f"catalogue_{name}") for name in _OF_CATALOGUES}
    for name, texts in columns.items():
        if len(texts) not in (0, len(catalogue)):
            raise click.UsageError(
                f"--catalogue-{name} is given {len(texts)} times: expected once for each of "
                f"{len(catalogue)} --catalogue ('' for none)"
            )
    steps = {name: values.pop(f"vectors_{name}") for name in ("step", "least")}
    return Over(
        catalogues=tuple(
            {"table": path} | {name: _value(name, texts[number])
                               for name, texts in columns.items() if texts}
            for number, path in enumerate(catalogue)
        ),
        vectors=vectors or None,
        vector_options={name: value for name, value in steps.items() if value is not None},
        **values,
    )  # fmt: skip


def _value(name: str, text: str) -> Any:
    """Return the value of an option of a catalogue; "" is None."""
    if not text:
        return None
    if name == "columns":
        return tuple(part.strip() for part in text.split(","))
    return int(text) if name == "hdu" and text.isdecimal() else text


def refuse_alone(over: Over) -> None:
    """Refuse options about what is not drawn."""
    if over.overlay is None:
        refuse_without("--overlay", ["overlay-levels"])
    if over.vectors is None:
        refuse_without("--vectors", ["vectors-step", "vectors-least"])


#: Adds the options; the command gets them as ``over``.
over_options = grouped("over", _over, [name.replace("-", "_") for name in OVER], [
    click.option("--overlay", type=click.Path(), metavar="FILE",
                 help="Draw contours of this image of the sky, where its own coordinates put "
                      "them."),
    click.option("--overlay-levels", type=NUMBERS, metavar="V1,V2,...",
                 help="Values of these contours, in the unit of that image; without it 5 round "
                      "ones."),
    click.option("--outline", multiple=True, metavar="REGION",
                 help="Draw the border of a region, as --region takes it. May be repeated."),
    click.option("--catalogue", multiple=True, type=click.Path(), metavar="FILE",
                 help="Draw the rows of a FITS, VOTable, CSV, Parquet or Arrow table as points. "
                      "May be repeated; then each --catalogue-OPTION is repeated as often, '' "
                      "for none."),
    click.option("--catalogue-hdu", multiple=True, metavar="N|NAME",
                 help="The HDU of the table, or the table of a VOTable (from 0). Default: the "
                      "first."),
    click.option("--catalogue-columns", multiple=True, metavar="LON,LAT",
                 help="The columns of positions. Default: by UCD, or by a usual name."),
    click.option("--catalogue-frame", multiple=True, metavar="FRAME",
                 help="The frame of these columns: icrs, fk5, fk4, galactic, supergalactic, "
                      "ecliptic, or pixels (of the picture, from 1). Default: that of the table, "
                      "else icrs."),
    click.option("--catalogue-where", multiple=True, metavar="CONDITION",
                 help="Draw rows with a condition, as in tachyfits table --where."),
    click.option("--catalogue-color", multiple=True, metavar="COLOR",
                 help="A colour of matplotlib: '#ff0080', red. Default: yellow."),
    click.option("--vectors", type=click.Path(), nargs=2, metavar="Q.fits U.fits",
                 help="Draw vectors of polarisation, of planes of Stokes Q and U."),
    click.option("--vectors-step", type=click.IntRange(min=1), metavar="N",
                 help="Average N x N pixels for a vector. Default: 8."),
    click.option("--vectors-least", type=click.FloatRange(min=0), metavar="VALUE",
                 help="Leave out vectors of a lower intensity."),
])  # fmt: skip
