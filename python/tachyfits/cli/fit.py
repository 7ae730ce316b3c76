"""`tachyfits fit`: fit Gaussians and baselines to spectra; print, map or subtract them."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import click

from tachyfits import File, Image, Spectrum, SpectrumFit, reports
from tachyfits.cli._common import Common, common_options, described, overwrite_option, suffix_of
from tachyfits.cli._group import packed, with_options
from tachyfits.cli._output import (
    STDOUT,
    bytes_of,
    columns_text,
    json_text,
    print_answer,
    report_dict,
    report_line,
    say,
    written,
)
from tachyfits.cli._parts import REST_OPTIONS, PixelOptions, part_options
from tachyfits.cli._syntax import NUMBERS, SPECTRUM_STATISTICS, StatisticType
from tachyfits.cli._written import report_option
from tachyfits.results import NUMBERS as OF_LINE
from tachyfits.text import Range, listed_channels

FITS = (".fits", ".fit", ".fts")


@dataclass(frozen=True)
class Model:
    """Options of the model: Gaussians, baseline, noise and limits."""

    gaussians: int
    baseline: int | None
    noise: float | None
    statistic: str | None
    amplitude: Any
    centre: Any
    fwhm: Any

    @property
    def limits(self) -> dict[str, tuple[float, float]]:
        """The limits, as an argument of `Image.fit_gaussians`."""
        result = {}
        for name in ("amplitude", "centre", "fwhm"):
            if (option := getattr(self, name)) is not None:
                if len(option[1]) != 2:
                    raise click.BadParameter(
                        f"invalid limits {option[0]!r}: write LOW,HIGH", param_hint=f"'--{name}'"
                    )
                result[name] = (option[1][0], option[1][1])
        return result


@dataclass(frozen=True)
class Files:
    """Options of the output file."""

    output: str | None
    subtract: bool
    overwrite: bool
    checksum: bool
    sync: bool
    report: bool


_LIMITS = with_options([
    click.option(
        f"--{name}", type=NUMBERS, metavar="LOW,HIGH", help=f"Limits of each {name}{where}."
    )
    for name, where in (
        ("amplitude", ""),
        ("centre", ". Default: the channels that are fitted"),
        ("fwhm", ". Default: from one channel to all channels that are fitted"),
    )
])  # fmt: skip


@click.command()
@common_options()
@click.option(
    "-n", "--gaussians", type=click.IntRange(0, 3), default=1, show_default=True, metavar="N",
    help="How many Gaussians; 0 for a baseline alone.",
)  # fmt: skip
@click.option(
    "--baseline", type=click.IntRange(0, 9), metavar="ORDER",
    help="Order of a polynomial that is fitted with the Gaussians (to 5), or alone (to 9).",
)  # fmt: skip
@click.option(
    "--noise", type=float, metavar="VALUE",
    help="Noise of a channel in the unit of the pixels, for errors and chi2. Default: the rms of "
    "the residuals.",
)  # fmt: skip
@click.option(
    "--statistic", type=StatisticType(SPECTRUM_STATISTICS), metavar="NAME",
    help="Statistic of the pixels of a channel, as in 'tachyfits spectrum': flux, for spectra in "
    "Jy. Default: mean.",
)  # fmt: skip
@_LIMITS
@part_options("regions", "channels", "pol", "section")
@with_options((
    click.option("--unit", metavar="UNIT", help="Unit of the coordinates (km/s), of the values "
                 "(K), or both: 'K,km/s'. Default: the header's."),
    *REST_OPTIONS[:2],
))  # fmt: skip
@click.option(
    "-o", "--output", type=click.Path(), metavar="OUT.fits",
    help="Fit every pixel, and write maps; -: FITS on stdout. Without it, the mean spectrum of "
    "each region is fitted.",
)  # fmt: skip
@click.option(
    "--subtract", is_flag=True, help="Write the cube less the baseline, and not maps.",
)  # fmt: skip
@overwrite_option
@click.option("--checksum", is_flag=True, help="Write DATASUM and CHECKSUM.")
@click.option(
    "--sync", is_flag=True, help="Return only when the file survives a power failure."
)  # fmt: skip
@report_option
@packed("model", Model)
@packed("files", Files)
def command(common: Common, pixels: PixelOptions, model: Model, files: Files, **line: Any) -> int:
    """Fit Gaussians and a polynomial baseline to spectra along the spectral axis.

    Without an output, the spectrum of each region (or of every pixel) is fitted and the numbers are
    printed. With one, the spectrum of every pixel is fitted, in one pass, and maps are
    written as HDUs: AMPLITUDE1, CENTRE1, FWHM1, INTEGRAL1 with their errors, RMS, CHI2, CHANNELS
    and FLAGS (0 where the fit converged; other pixels are NaN in all others).

    \b
    Examples:
      tachyfits fit cube.fits --region 'circle(512,480,12)' --unit km/s
      tachyfits fit cube.fits --region 'circle(512,480,12)' --statistic flux --unit Jy,km/s
      tachyfits fit cube.fits --channels 40:90 --baseline 0 -o fits.fits
      tachyfits fit cube.fits -n 2 --noise 0.004 --fwhm 2000,40000 -o fits.fits
      tachyfits fit cube.fits -n 0 --baseline 1 --channels 1:20,60:80 -o baseline.fits
      tachyfits fit cube.fits --baseline 1 --channels 1:20,60:80 --subtract -o flat.fits
    """
    _check(common, model, files)
    pixels = pixels.with_line(line | {"rest_medium": None})

    def fit(file: File) -> None:
        image = common.image(file)
        if files.subtract:
            return _subtract(common, image, pixels, model, files)
        if files.output is not None:
            return _maps(common, image, pixels, model, files, line)
        return _numbers(common, image, pixels, model, files, line)

    return common.each(fit)


def _check(common: Common, model: Model, files: Files) -> None:
    """Raise UsageError for options that cannot be combined."""
    if model.baseline is None and (files.subtract or not model.gaussians):
        cause = "--subtract" if files.subtract else "--gaussians 0"
        raise click.UsageError(f"{cause} needs --baseline ORDER")
    if files.output is not None and model.statistic is not None:
        raise click.UsageError("--statistic is for spectra of regions: leave out -o")
    if files.output is None:
        if files.subtract or not model.gaussians:
            raise click.UsageError("give the new file: -o OUT.fits")
    else:
        if files.output != STDOUT:
            suffix_of(files.output, FITS)
        if len(common.files) > 1:
            raise click.UsageError("several files cannot share one output")


def _request(model: Model, line: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments for fitting Gaussians."""
    return {"baseline": model.baseline, "noise": model.noise, "limits": model.limits, **line}


def _maps(
    common: Common,
    image: Image,
    pixels: PixelOptions,
    model: Model,
    files: Files,
    line: dict[str, Any],
) -> None:
    """Fit every pixel, and write the maps."""
    selected = pixels.of(image)
    with common.meter("fit") as progress, reports() as costs:
        run: dict[str, Any] = {"threads": common.threads, "progress": progress}
        fits: Any
        if model.gaussians:
            fits = selected.fit_gaussians(model.gaussians, **_request(model, line), **run)
        else:
            fits = selected.fit_baseline(model.baseline or 0, noise=model.noise, **line, **run)
    output = str(files.output)
    fits.write(output, overwrite=files.overwrite, checksum=files.checksum, sync=files.sync)
    flags = fits.flags.values
    counts = {
        meaning: int((flags == flag).sum()) for flag, meaning in fits.meanings.items()
    }  # fmt: skip
    cost = costs[-1] if files.report and costs else None
    if common.json:
        cost_json = {"report": report_dict(cost)} if cost is not None else {}
        answer = described(
            image, output=output, output_bytes=bytes_of(output), pixels=counts, **cost_json
        )
        print_answer(answer, output)
        return
    say(
        written(
            output, "; ".join(f"{count} pixels {text}" for text, count in counts.items() if count)
        )
    )
    if cost is not None:
        say(report_line(cost))


def _subtract(
    common: Common, image: Image, pixels: PixelOptions, model: Model, files: Files
) -> None:
    """Subtract the baseline and write the image."""
    axis = image.coordinates.required_channel_axis()
    selected = replace(pixels, selection=replace(pixels.selection, channels=None)).of(image)
    channels = _channels(pixels.selection.channels, image.shape[axis], image.ndim - axis)
    flat = selected.subtract_baseline(model.baseline or 0, channels=channels)
    output = str(files.output)
    with common.meter("fit") as progress, reports() as costs:
        flat.write(
            output, overwrite=files.overwrite, checksum=files.checksum, sync=files.sync,
            threads=common.threads, progress=progress,
        )  # fmt: skip
    cost = costs[-1] if files.report else None
    naxis = list(reversed(flat.shape))
    if common.json:
        cost_json = {"report": report_dict(cost)} if cost is not None else {}
        print_answer(
            described(
                image, output=output, output_naxis=naxis, output_bytes=bytes_of(output), **cost_json
            ),
            output,
        )
        return
    say(written(output, f"{' x '.join(map(str, naxis))} pixels"))
    if cost is not None:
        say(report_line(cost))


def _channels(channels: Any, length: int, naxis: int) -> Any:
    """Convert ranges of FITS pixels to slices; leave other ranges unchanged."""
    if channels is None:
        return None
    name = f"the spectral axis (NAXIS{naxis})"
    return [
        item.to_slice(length, name) if isinstance(item, Range) else item
        for item in listed_channels(channels)
    ]


def _numbers(
    common: Common,
    image: Image,
    pixels: PixelOptions,
    model: Model,
    files: Files,
    line: dict[str, Any],
) -> None:
    """Fit the mean spectrum of each region, and print the numbers."""
    with common.meter("fit") as progress, reports() as costs:
        statistic: Any = model.statistic or "mean"
        result = pixels.of(image).spectrum(
            statistic=statistic, **line, threads=common.threads, progress=progress
        )
    spectra = result if isinstance(result, list) else [result]
    fits = [_fit(spectrum, model) for spectrum in spectra]
    labels = pixels.labels
    cost = costs[-1] if files.report and costs else None
    if common.json:
        cost_json = {"report": report_dict(cost)} if cost is not None else {}
        first = spectra[0]
        answer = described(
            image, unit=first.unit, axis_unit=first.axis.unit,
            fits=[_as_dict(label, fit) for label, fit in zip(labels, fits, strict=True)],
            **cost_json,
        )  # fmt: skip
        click.echo(json_text(answer))
        return
    unit, axis = spectra[0].unit or "", spectra[0].axis.unit
    names = ["region", "gaussian"] if pixels.names else ["gaussian"]
    names += [f"amplitude[{unit}]".replace(" ", "."), "error", f"centre[{axis}]", "error"]
    names += [f"fwhm[{axis}]", "error", "flag"]
    rows = []
    for label, fit in zip(labels, fits, strict=True):
        for number, gaussian in enumerate(fit, 1):
            values = [getattr(gaussian, name) for name in OF_LINE[:6]]
            rows.append([*([label] * bool(pixels.names)), number, *values, fit.flag])
    click.echo(columns_text([name.replace(" ", ".") for name in names], rows))
    if cost is not None:
        say(report_line(cost))


def _fit(spectrum: Spectrum, model: Model) -> SpectrumFit:
    return spectrum.fit_gaussians(model.gaussians, **_request(model, {}))


def _as_dict(label: str, fit: SpectrumFit) -> dict[str, Any]:
    return {
        "region": label or None,
        "flag": fit.flag,
        "meaning": fit.meanings[fit.flag],
        "gaussians": [asdict(gaussian) for gaussian in fit],
        "baseline": list(fit.baseline),
        "baseline_errors": list(fit.baseline_errors),
        "reference": fit.reference,
        "rms": fit.rms,
        "chi2": fit.chi2,
        "channels": fit.channels,
    }
