"""A day with a cube: noise, one beam, moments, a cut, spectra with fits, a figure, a catalogue.

python examples/day.py, in a folder with cube.fits and two catalogues, catalogue.fits and
other.fits; day.sh does the same.
"""

import tachyfits as tf

places = ["circle(48.5,48.5,4)", "circle(28,34,4)", "circle(69,63,4)"]
cube = tf.open("cube.fits")[0].smooth(beam="40arcsec")
noise = float(cube.to("K").select(channels=[slice(0, 6), slice(54, 60)]).std())
print("noise", noise, "K")

line = cube.select(channels=slice(6, 54), where=f"{4 * noise} K")
moments = line.moments((0, 1, 2), unit="K, km/s")
for order, plane in enumerate(moments):
    plane.write(f"day-moment{order}.fits")
cut = cube.pv("line(20,28,77,69)", width=3)
cut.write("pv.fits")

for place in places:
    spectrum = cube.spectrum(place, statistic="flux", unit="Jy, km/s")
    gaussian = spectrum.fit_gaussians(1)[0]
    print(place, 1, gaussian.amplitude, gaussian.centre, gaussian.fwhm)

tf.figure([*moments, cut], columns=2, figsize=7.1).savefig("day.png", dpi=150)
catalogue, other = (tf.open(path)[1] for path in ("catalogue.fits", "other.fits"))
catalogue.join(other, "30arcsec").write("matched.parquet")
