"""Right and wrong calls for type checkers: each wrong line names the error that mypy gives."""

from typing_extensions import assert_type

import tachyfits as tf

file = tf.open("cube.fits")
cube = file.image(0)
table = file.table(1)
assert_type(cube, tf.Image)
assert_type(table, tf.Table)

# Operators.
assert_type(cube > 3, tf.Image)
assert_type(cube <= 3, tf.Image)
assert_type(cube == 0, tf.Image)
assert_type(cube != 0, tf.Image)
assert_type((cube > 3) & ~(cube > 5), tf.Image)
assert_type(2 * cube - cube / 2, tf.Image)
assert_type(abs(cube), tf.Image)

# Names.
plane = cube.moment(1, unit="km/s")
assert_type(plane, tf.Plane)
cube.moments((0, 2))
cube.moments([0, 1])
cube.moment(7)  # error: arg-type
cube.moments((0, 3))  # error: arg-type
cube.collapse("max")
cube.collapse("percentile90")
cube.collapse("max_coordinate", unit="km/s")
cube.collapse("avg")  # error: arg-type
cube.spectrum(statistic="flux")
cube.spectrum(statistic="average")  # error: call-overload
cube.moment(0, unit="km/s", rest="1.42 GHz", convention="optical", rest_medium="air")
cube.moment(0, convention="optic")  # error: arg-type
cube.spectrum("circle(2,2,1)", statistic="mean", weights="exact")
cube.flux("circle(2,2,1)", weights="fractional")  # error: arg-type
cube.reduce("std", "z")
cube.reduce("stdev", "z")  # error: arg-type
cube.rebin(x=2, statistic="median", partial="keep")
cube.rebin(x=2, statistic="mode")  # error: arg-type
cube.cutout("circle(2,2,1)", mode="partial", drop_degenerate=True)
cube.cutout("circle(2,2,1)", mode="pad")  # error: arg-type

# Keywords.
plane.plot(cmap="viridis", stretch="asinh", percentile=99)
plane.plot(colour="red")  # error: call-arg
plane.plot(stretch="cubic")  # error: arg-type
plane.png("plane.png", colormap="viridis")  # error: call-arg
cube.write("new.fits", dtype="int16", blank=-1, drop_degenerate=True)
cube.write("new.fits", bitpix=16)  # error: call-arg
cube.select(pol="I", drop_degenerate=True)
cube.select(polarisation="I")  # error: call-arg
