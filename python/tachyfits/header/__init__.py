"""Cards of a header, and the coordinates that they describe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tachyfits.base.rooms import interface

if TYPE_CHECKING:
    from tachyfits.header.beam import beam_of
    from tachyfits.header.brightness import Asked
    from tachyfits.header.cards import (
        COMMENTARY,
        card_line,
        is_pattern,
        looked_up,
        matching,
        meant_keyword,
        value_text,
    )
    from tachyfits.header.coordinates import Axis, Coordinates, pixel_numbers
    from tachyfits.header.sky import Sky
    from tachyfits.header.spectral_frames import frame_of, frequency_factor
    from tachyfits.header.spectral_selection import channel_mask, polarisations_of
    from tachyfits.header.spectral_units import (
        CONVENTIONS,
        MEDIA,
        Channels,
        Convention,
        Line,
        Medium,
        channels_of,
        converted,
        rest_frequency_of,
    )
    from tachyfits.header.times import BEGIN, END, MIDDLE, stated_time, time_of

__getattr__ = interface(
    __name__,
    {
        "beam": ("beam_of",),
        "brightness": ("Asked",),
        "cards": (
            "COMMENTARY",
            "card_line",
            "is_pattern",
            "looked_up",
            "matching",
            "meant_keyword",
            "value_text",
        ),
        "coordinates": ("Axis", "Coordinates", "pixel_numbers"),
        "sky": ("Sky",),
        "spectral_frames": ("frame_of", "frequency_factor"),
        "spectral_selection": ("channel_mask", "polarisations_of"),
        "spectral_units": (
            "CONVENTIONS",
            "Channels",
            "Convention",
            "Line",
            "MEDIA",
            "Medium",
            "channels_of",
            "converted",
            "rest_frequency_of",
        ),
        "times": ("BEGIN", "END", "MIDDLE", "stated_time", "time_of"),
    },
)
