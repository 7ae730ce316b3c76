"""Statistics of many files at once, as CSV: a thread for each file, one core for each thread.

python examples/many_files.py *.fits
"""

import csv
import sys
from concurrent.futures import ThreadPoolExecutor

import tachyfits as tf

NAMES = ("count", "nan", "mean", "rms", "std", "min", "max")


def statistics(path: str) -> list[object]:
    """Return one row: the first image of a file, or what is wrong with the file."""
    try:
        with tf.open(path, threads=1) as file:
            image = next(hdu for hdu in file if isinstance(hdu, tf.Image) and hdu.size)
            stats = image.stats()
            return [path, *(getattr(stats, name) for name in NAMES)]
    except StopIteration:
        return [path, "no image"]
    except tf.TachyfitsError as error:
        return [path, str(error).splitlines()[0]]


def main(paths: list[str]) -> None:
    """Print the rows in the order of the files."""
    writer = csv.writer(sys.stdout)
    writer.writerow(["file", *NAMES])
    # The engine works with the GIL released: threads are enough.
    with ThreadPoolExecutor() as pool:
        writer.writerows(pool.map(statistics, paths))


if __name__ == "__main__":
    main(sys.argv[1:])
