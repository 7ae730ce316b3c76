"""Find the channels that hold a line, and map it: column density and velocity.

python examples/line_map.py cube.fits
"""

import sys

import numpy as np

import tachyfits as tf


def channels_with_signal(cube: tf.Image, times: float = 5.0) -> slice:
    """Return the channels between the first and the last that stands out of the noise."""
    brightest = cube.max("xy")
    quiet = np.nanmedian(brightest)
    scatter = 1.4826 * np.nanmedian(np.abs(brightest - quiet))
    bright = np.flatnonzero(brightest > quiet + times * scatter)
    return slice(int(bright[0]), int(bright[-1]) + 1) if bright.size else slice(None)


def main(path: str) -> None:
    """Write the maps beside each other, as FITS files and as pictures."""
    with tf.open(path) as file:
        cube = next(hdu for hdu in file if isinstance(hdu, tf.Image) and hdu.ndim > 2)
        channels = channels_with_signal(cube)
        print(f"line in channels {channels.start} to {channels.stop}")
        for order in (0, 1):
            plane = cube.select(channels=channels).moment(order)
            plane.write(f"moment{order}.fits", overwrite=True)
            plane.png(f"moment{order}.png", percentile=99)
            print(repr(plane))


if __name__ == "__main__":
    main(sys.argv[1])
