"""The galaxy of the demo, coarser, for tests: 10 MB instead of 270."""

from examples.galaxy.galaxy import Galaxy

SMALL = Galaxy(side=160, channels=100, pixel=4.8, channel_width=5.2, field_radius=78.0,
               beam_major=25.6, beam_minor=19.2, dispersion=14.0, flat_speed=170.0)  # fmt: skip
