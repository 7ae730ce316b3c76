"""`/api/v1/fit`: Gaussians in the spectrum of a region, with the noise of line-free channels."""

from __future__ import annotations

import csv
import io
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, Depends, Query, Request, Response
from numpy.typing import NDArray

import tachyfits as tf
from tachyfits.results import NUMBERS, units_of
from tachyfits.server.asked import Asked, answered
from tachyfits.server.errors import RequestError
from tachyfits.server.fits_answer import disposition
from tachyfits.server.parameters import REGION_BODY, At, Channels
from tachyfits.server.spectrum_form import (
    AskedPixels,
    AskedSpectrum,
    SpectrumForm,
    SpectrumPixels,
    channels_of_text,
    whole_spectrum,
)

router = APIRouter()

_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/json": {}, "text/csv": {}}, "description": "The fit."}
}


@dataclass(frozen=True)
class _Fit:
    """The parameters of a fit; also a part of the key in the cache."""

    count: int
    baseline: int | None
    line_free: str | None
    noise: float | None


async def _fit(
    gaussians: Annotated[int, Query(ge=1, le=3, description="Number of Gaussians.")] = 1,
    baseline: Annotated[
        int | None,
        Query(ge=0, le=5, description="Order of a baseline that is fitted with them."),
    ] = None,
    line_free: Channels = None,
    noise: Annotated[
        float | None,
        Query(gt=0, allow_inf_nan=False,
              description="Noise of a channel, in the unit of the spectrum, in place of that of "
              "the line-free channels."),
    ] = None,
) -> _Fit:  # fmt: skip
    return _Fit(gaussians, baseline, line_free, noise)


@router.post(
    "/api/v1/fit",
    summary="Fit Gaussians to the spectrum of a large region",
    openapi_extra=REGION_BODY,
    responses=_ANSWERS,
)
@router.get("/api/v1/fit", summary="Fit Gaussians to the spectrum of a region", responses=_ANSWERS)
async def fit(
    request: Request,
    at: At,
    pixels: AskedPixels,
    form: AskedSpectrum,
    wanted: Annotated[_Fit, Depends(_fit)],
    answer_format: Annotated[
        str, Query(alias="format", pattern="^(json|csv)$", description="json or csv.")
    ] = "json",
) -> Response:
    """Fit Gaussians to ``channels`` of a spectrum, neither smoothed nor binned.

    Each has amplitude, centre, full width at half maximum and integral with standard errors, in the
    units of ``units``. ``line_free`` are the channels whose deviation from a baseline of the same
    order (0 without one) is the noise; ``chi2`` is divided by its square. ``model`` has a value for
    each channel from the first to the last of the fit, which ``first`` numbers from 1. A fit that
    failed has null for its numbers; ``meaning`` says why.
    """

    def make(asked: Asked) -> Response:
        def compute() -> dict[str, Any]:
            return _described(asked, pixels, form, wanted)

        key = ("fit", pixels, form, wanted)
        if answer_format == "json":
            return asked.json(key, compute)
        body = asked.kept((*key, "csv"), lambda: _csv(compute()).encode(), len)
        name = f"{asked.file.stem}_fit.csv"
        headers = asked.caching | {"Content-Disposition": disposition(name)}
        return Response(body, headers=headers, media_type="text/csv")

    return await answered(request, at, make)


def _described(
    asked: Asked, pixels: SpectrumPixels, form: SpectrumForm, wanted: _Fit
) -> dict[str, Any]:
    spectrum = whole_spectrum(asked, pixels, form)

    def mask(channels: str | None) -> NDArray[np.bool_]:
        return channels_of_text(asked.view, form.coordinates, channels)[: len(spectrum)]

    used = mask(pixels.channels)
    line_free = None
    if wanted.line_free is not None:
        line_free = noise_of(spectrum, mask(wanted.line_free), wanted.baseline or 0)
    noise = wanted.noise if line_free is None or wanted.noise else line_free["noise"]
    found = spectrum.fit_gaussians(
        wanted.count, channels=used, baseline=wanted.baseline, noise=noise or None
    )
    places = np.flatnonzero(used)
    first, last = int(places[0]), int(places[-1]) + 1
    units = units_of(spectrum.unit, spectrum.axis.unit)
    return {
        "statistic": spectrum.statistic,
        "axis": {"name": spectrum.axis.name, "unit": spectrum.axis.unit},
        "units": dict(zip(NUMBERS, units, strict=True)),
        "components": [asdict(component) for component in found],
        "baseline": found.baseline,
        "baseline_errors": found.baseline_errors,
        "reference": found.reference,
        "rms": found.rms,
        "chi2": found.chi2,
        "channels": found.channels,
        "flag": found.flag,
        "meaning": found.meanings[found.flag],
        "noise": noise,
        "line_free": line_free,
        "first": first + 1,
        "model": found.model.values[first:last],
    }


def noise_of(spectrum: tf.Spectrum, mask: NDArray[np.bool_], order: int) -> dict[str, Any]:
    """Return the noise of channels without a line, their mean level and their number.

    The noise is the standard deviation from a polynomial of this order.

    Raises
    ------
    RequestError
        There are too few defined channels, or they do not vary.
    """
    mask = mask & np.isfinite(spectrum.values)
    count = int(mask.sum())
    if count < order + 3:
        raise RequestError(
            f"{count} defined line-free channels: expected at least {order + 3}\n"
            "hint: give a longer range"
        )
    values = spectrum.values[mask]
    # Numbers of channels from -1 to 1: coordinates such as 1e11 Hz would lose digits.
    places = np.flatnonzero(mask) / max(1, len(mask) - 1) * 2 - 1
    rest = values - np.polyval(np.polyfit(places, values, order), places)
    noise = float(np.sqrt((rest**2).sum() / (count - order - 1)))
    if not noise > 0:
        raise RequestError("the line-free channels do not vary\nhint: give others, or none")
    return {"noise": noise, "level": float(values.mean()), "channels": count}


def _csv(found: dict[str, Any]) -> str:
    """Return a fit as a table: a line for each number, with its error and unit."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["gaussian", "quantity", "value", "error", "unit"])
    for number, component in enumerate(found["components"], 1):
        for name in ("amplitude", "centre", "fwhm", "integral"):
            value, error = (repr(float(component[key])) for key in (name, f"{name}_error"))
            writer.writerow([number, name, value, error, found["units"][name] or ""])
    for name in ("rms", "chi2", "channels", "noise", "meaning"):
        writer.writerow(["", name, "" if found[name] is None else found[name], "", ""])
    return stream.getvalue()
