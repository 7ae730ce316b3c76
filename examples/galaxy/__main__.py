"""`python -m examples.galaxy [FILE]`: make a galaxy, measure it, compare with the truth."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

import tachyfits as tf
from tachyfits.cli._failures import complain
from tachyfits.cli._output import aligned, number_text, size_text
from tachyfits.cli._progress import progress

from .compare import HEADING, compare, galaxy_plan
from .galaxy import Galaxy, Truth, write_galaxy
from .measure import Measured, Plan, general_plan, measure
from .pictures import draw


@click.command()
@click.argument("file", required=False, type=click.Path())
@click.option("--folder", type=click.Path(path_type=Path), default=Path("demo-output"),
              show_default=True, help="Folder for the cube and the pictures.")  # fmt: skip
@click.option("--side", type=click.IntRange(min=512), default=512, show_default=True,
              help="Number of pixels along x and y.")  # fmt: skip
def command(file: str | None, folder: Path, side: int) -> int:
    """Measure a galaxy that is made from physics, beside the known truth; or a FILE of yours."""
    folder.mkdir(parents=True, exist_ok=True)
    return _yours(file, folder) if file else _galaxy(folder, side)


def _galaxy(folder: Path, side: int) -> int:
    """Make the cube, measure it, print each result beside the truth; 1 when one is wrong."""
    galaxy = Galaxy(side=side)
    path, plan = folder / "galaxy.fits", galaxy_plan(galaxy)
    started = time.perf_counter()
    with progress(None, "simulating a galaxy") as advance:
        truth = write_galaxy(galaxy, path, model_range=plan.channels, progress=advance)
    seconds = time.perf_counter() - started
    print(f"made {path} ({size_text(path.stat().st_size)}) in {seconds:.1f} s")
    with tf.open(path) as opened:
        image = opened[0]
        print(repr(image), flush=True)
        found = measure(image, plan, folder)
        wrong = _print_comparison(image, truth, plan, found, folder)
        _print_steps(found)
        faint = 5 * galaxy.noise * galaxy.channel_width * 1e3 * len(galaxy.velocities) ** 0.5
        _print_pictures(image, found, folder, faint)
    return 1 if wrong else 0


def _print_comparison(
    image: tf.Image, truth: Truth, plan: Plan, found: Measured, folder: Path
) -> int:
    lines = compare(image, truth, plan, found, folder)
    print()
    print(aligned([HEADING, *(line.row() for line in lines)], right=[1, 2, 3, 4]))
    wrong = sum(not line.holds for line in lines)
    print(f"{len(lines) - wrong} of {len(lines)} results agree with the true values")
    return wrong


def _yours(file: str, folder: Path) -> int:
    """Measure a user's file; there is no truth to compare with."""
    with tf.open(file) as opened:
        images = [hdu for hdu in opened if isinstance(hdu, tf.Image) and hdu.size]
        if not images:
            print(f"{file}: no HDU has pixels", file=sys.stderr)
            return 1
        image = images[0]
        print(repr(image), flush=True)
        found = measure(image, general_plan(image), folder)
        stats = found.stats
        assert stats is not None
        names = ("count", "nan", "sum", "mean", "rms", "std", "min", "max")
        print(aligned([(name, number_text(getattr(stats, name))) for name in names], right=[1]))
        _print_steps(found)
        _print_pictures(image, found, folder, None)
    return 0


def _print_steps(found: Measured) -> None:
    print()
    print(aligned([(step.name, step.cost()) for step in found.steps]))


def _print_pictures(image: tf.Image, found: Measured, folder: Path, faint: float | None) -> None:
    try:
        files = draw(image, found, folder, faint=faint)
    except tf.UsageError as error:
        print(f"\nno pictures: {error}")
        return
    print(f"\npictures: {' '.join(str(path) for path in files)}", flush=True)


def main() -> None:
    """Run the demo and exit: 0 when every result holds."""
    try:
        status = command.main(standalone_mode=False, prog_name="python -m examples.galaxy")
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(1)
    except tf.TachyfitsError as error:
        sys.exit(complain(error))
    sys.exit(status)


if __name__ == "__main__":
    main()
