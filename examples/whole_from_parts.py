"""Statistics of a cube from its parts: states merge, and pickle, so parts may be anywhere.

python examples/whole_from_parts.py cube.fits
"""

import functools
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np

import tachyfits as tf


def part(cube: tf.Image, first: int, last: int) -> tf.Stats:
    """Return the state of some planes; ``cube`` came here as its path."""
    return cube.select(section=np.s_[first:last]).stats(threads=1)


def main(path: str, parts: int = 4) -> None:
    """Compare what the parts give with one pass over everything."""
    with tf.open(path) as file:
        cube = file[0]
        edges = np.linspace(0, len(cube), parts + 1).astype(int).tolist()
        with ProcessPoolExecutor() as pool:
            states = list(pool.map(part, [cube] * parts, edges[:-1], edges[1:]))
        merged = functools.reduce(lambda earlier, later: earlier.merge(later), states)
        whole = cube.stats()
        print(f"parts: mean {merged.mean!r}, std {merged.std!r}, max at {merged.max_position}")
        print(f"whole: mean {whole.mean!r}, std {whole.std!r}, max at {whole.max_position}")


if __name__ == "__main__":
    main(sys.argv[1])
