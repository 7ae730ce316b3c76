"""`/api/v1/fit`: Gaussian fits to the spectrum of a region; noise of line-free channels."""

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
    """Parameters of a fit; also part of the cache key."""

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
    parameters: Annotated[_Fit, Depends(_fit)],
    answer_format: Annotated[
        str, Query(alias="format", pattern="^(json|csv)$", description="json or csv.")
    ] = "json",
) -> Response:
    """Fit Gaussians to ``channels`` of a spectrum without smoothing and binning.

    Each component has an amplitude, centre, full width at half maximum and integral with standard
    errors; ``units`` gives their units. The noise is the deviation of the channels ``line_free``
    from a baseline of the same order (0 by default); ``chi2`` is divided by the squared noise.
    ``model`` has one value per channel of the fit, from channel ``first``, counted from 1. The
    numbers of a failed fit are null; ``meaning`` gives the reason.
    """

    def make(asked: Asked) -> Response:
        def compute() -> dict[str, Any]:
            return _described(asked, pixels, form, parameters)

        key = ("fit", pixels, form, parameters)
        if answer_format == "json":
            return asked.json(key, compute)
        body = asked.kept((*key, "csv"), lambda: _csv(compute()).encode(), len)
        name = f"{asked.file.stem}_fit.csv"
        headers = asked.caching | {"Content-Disposition": disposition(name)}
        return Response(body, headers=headers, media_type="text/csv")

    return await answered(request, at, make)


def _described(
    asked: Asked, pixels: SpectrumPixels, form: SpectrumForm, parameters: _Fit
) -> dict[str, Any]:
    spectrum = whole_spectrum(asked, pixels, form)

    def mask(channels: str | None) -> NDArray[np.bool_]:
        return channels_of_text(asked.view, form.coordinates, channels)[: len(spectrum)]

    fit_mask = mask(pixels.channels)
    line_free = None
    if parameters.line_free is not None:
        line_free = noise_of(spectrum, mask(parameters.line_free), parameters.baseline or 0)
    noise = parameters.noise if line_free is None or parameters.noise else line_free["noise"]
    gaussians = spectrum.fit_gaussians(
        parameters.count, channels=fit_mask, baseline=parameters.baseline, noise=noise or None
    )
    fit_channels = np.flatnonzero(fit_mask)
    first, last = int(fit_channels[0]), int(fit_channels[-1]) + 1
    units = units_of(spectrum.unit, spectrum.axis.unit)
    return {
        "statistic": spectrum.statistic,
        "axis": {"name": spectrum.axis.name, "unit": spectrum.axis.unit},
        "units": dict(zip(NUMBERS, units, strict=True)),
        "components": [asdict(component) for component in gaussians],
        "baseline": gaussians.baseline,
        "baseline_errors": gaussians.baseline_errors,
        "reference": gaussians.reference,
        "rms": gaussians.rms,
        "chi2": gaussians.chi2,
        "channels": gaussians.channels,
        "flag": gaussians.flag,
        "meaning": gaussians.meanings[gaussians.flag],
        "noise": noise,
        "line_free": line_free,
        "first": first + 1,
        "model": gaussians.model.values[first:last],
    }


def noise_of(spectrum: tf.Spectrum, mask: NDArray[np.bool_], order: int) -> dict[str, Any]:
    """Return the noise, the mean level and the number of line-free channels.

    The noise is the standard deviation from a polynomial of this order.

    Raises
    ------
    RequestError
        There are too few defined channels, or their values are constant.
    """
    mask = mask & np.isfinite(spectrum.values)
    count = int(mask.sum())
    if count < order + 3:
        raise RequestError(
            f"{count} defined line-free channels: expected at least {order + 3}\n"
            "hint: give a longer range"
        )
    values = spectrum.values[mask]
    # Scale channel numbers to -1 to 1: coordinates such as 1e11 Hz would lose precision.
    scaled_channels = np.flatnonzero(mask) / max(1, len(mask) - 1) * 2 - 1
    residuals = values - np.polyval(np.polyfit(scaled_channels, values, order), scaled_channels)
    noise = float(np.sqrt((residuals**2).sum() / (count - order - 1)))
    if not noise > 0:
        raise RequestError("the line-free channels do not vary\nhint: give others, or none")
    return {"noise": noise, "level": float(values.mean()), "channels": count}


def _csv(result: dict[str, Any]) -> str:
    """Return a fit as a CSV table: one line per number, with its error and unit."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["gaussian", "quantity", "value", "error", "unit"])
    for number, component in enumerate(result["components"], 1):
        for name in ("amplitude", "centre", "fwhm", "integral"):
            value, error = (repr(float(component[key])) for key in (name, f"{name}_error"))
            writer.writerow([number, name, value, error, result["units"][name] or ""])
    for name in ("rms", "chi2", "channels", "noise", "meaning"):
        writer.writerow(["", name, "" if result[name] is None else result[name], "", ""])
    return stream.getvalue()
