"""Lines: a small table of spectral lines with rest frequencies in vacuum.

Radio and infrared: the Cologne Database for Molecular Spectroscopy (CDMS; Endres et al. 2016, J.
Mol. Spectrosc. 327, 95) and, for masers of OH, H2O and H2CO, the NIST recommended rest frequencies
(Lovas 2004, J. Phys. Chem. Ref. Data 33, 177). Optical: the list of the SDSS MaNGA
data analysis pipeline (DR17; Westfall et al. 2019, AJ 158, 231; BSD-3-Clause), and the
NIST Atomic Spectra Database for ultraviolet and stellar lines. The numbers are cited measurements
and have no licence of their own.
"""

from __future__ import annotations

from dataclasses import dataclass

from tachyfits.text import LIGHT

#: Sources of the numbers, for clients.
SOURCE = (
    "CDMS (Endres et al. 2016), NIST (Lovas 2004; Atomic Spectra Database), and the list of the "
    "MaNGA data analysis pipeline (Westfall et al. 2019, BSD-3-Clause)"
)

#: Groups of lines, and their labels.
GROUPS = {
    "atoms": "H I and OH",
    "masers": "Masers and ammonia",
    "co": "CO and isotopes",
    "dense": "Dense gas",
    "fine": "Fine structure",
    "hydrogen": "Hydrogen",
    "nebular": "Nebular lines",
    "ultraviolet": "Ultraviolet",
    "stellar": "Stellar absorption",
}


@dataclass(frozen=True)
class SpectralLine:
    """A line: its name, the group, and the rest frequency in Hz."""

    name: str
    group: str
    rest_hz: float


def _radio(group: str, lines: dict[str, float]) -> list[SpectralLine]:
    """Return lines from frequencies in GHz."""
    return [SpectralLine(name, group, round(value * 1e9, 3)) for name, value in lines.items()]


def _optical(group: str, lines: dict[str, float]) -> list[SpectralLine]:
    """Return lines from vacuum wavelengths in Angstrom."""
    return [SpectralLine(name, group, LIGHT / (value * 1e-10)) for name, value in lines.items()]


LINES: tuple[SpectralLine, ...] = (
    *_radio("atoms", {
        "H I": 1.420405751768, "OH 1612": 1.612231, "OH 1665": 1.6654018, "OH 1667": 1.667359,
        "OH 1720": 1.72053,
    }),
    *_radio("masers", {
        "H2CO 4.8": 4.8296594, "CH3OH 6.7": 6.6685192, "H2O 22": 22.23507985,
        "NH3 (1,1)": 23.6944955, "NH3 (2,2)": 23.7226333, "NH3 (3,3)": 23.8701292,
    }),
    *_radio("co", {
        "C18O 1-0": 109.7821734, "13CO 1-0": 110.2013543, "CO 1-0": 115.2712018,
        "C18O 2-1": 219.5603541, "13CO 2-1": 220.3986842, "CO 2-1": 230.538,
        "C18O 3-2": 329.3305525, "13CO 3-2": 330.5879653, "CO 3-2": 345.7959899,
        "CO 4-3": 461.0407682, "CO 5-4": 576.2679305, "CO 6-5": 691.4730763,
        "CO 7-6": 806.651806, "CO 8-7": 921.7997, "CO 9-8": 1036.912393,
    }),
    *_radio("dense", {
        "SiO 2-1": 86.846985, "HCN 1-0": 88.6316022, "HCO+ 1-0": 89.1885247,
        "HNC 1-0": 90.663568, "N2H+ 1-0": 93.1733977, "CS 2-1": 97.9809533,
        "CN 1-0 (1/2-1/2)": 113.1912787, "CN 1-0 (3/2-1/2)": 113.4909702,
        "CS 3-2": 146.9690287, "SiO 5-4": 217.104919, "H2CO 3-2": 218.222192,
        "CN 2-1": 226.8747813, "CS 5-4": 244.9355565, "HCN 3-2": 265.8864339,
        "HCO+ 3-2": 267.5576259, "HNC 3-2": 271.981142, "HCN 4-3": 354.5054779,
        "HCO+ 4-3": 356.734223,
    }),
    *_radio("fine", {
        "[C I] 609": 492.160651, "[C I] 370": 809.34197, "[N II] 205": 1461.1314062,
        "[C II] 158": 1900.5369, "[O I] 145": 2060.06886, "[N II] 122": 2459.3801009,
        "[O III] 88": 3393.006244, "[O I] 63": 4744.77749, "[O III] 52": 5785.879584,
    }),
    *_optical("hydrogen", {
        "Hδ": 4102.892, "Hγ": 4341.684, "Hβ": 4862.683, "Hα": 6564.608,
    }),
    *_optical("nebular", {
        "[O II] 3727": 3727.092, "[O II] 3729": 3729.875, "[Ne III] 3869": 3869.86,
        "[O III] 4363": 4364.436, "He II 4686": 4687.015, "[O III] 4959": 4960.295,
        "[O III] 5007": 5008.24, "He I 5876": 5877.252, "[O I] 6300": 6302.046,
        "[N II] 6548": 6549.86, "[N II] 6583": 6585.27, "[S II] 6716": 6718.295,
        "[S II] 6731": 6732.674, "[S III] 9069": 9071.1, "[S III] 9531": 9533.2,
    }),
    *_optical("ultraviolet", {
        "Lyα": 1215.67, "C IV 1548": 1548.187, "C IV 1551": 1550.772, "He II 1640": 1640.42,
        "C III] 1909": 1908.734, "Mg II 2796": 2796.352, "Mg II 2803": 2803.531,
    }),
    *_optical("stellar", {
        "Ca II K": 3934.777, "Ca II H": 3969.588, "Na I D2": 5891.583, "Na I D1": 5897.558,
        "Ca II 8498": 8500.36, "Ca II 8542": 8544.44, "Ca II 8662": 8664.52,
    }),
)  # fmt: skip
