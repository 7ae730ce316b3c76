"""Documentation examples run in an empty folder that holds one small cube, "cube.fits"."""

from __future__ import annotations

import struct

import pytest


def example_cube() -> bytes:
    """Return a cube of 5 x 4 x 3 pixels, 0.0 to 59.0, as the bytes of a FITS file."""

    def card(keyword: str, value: object) -> str:
        text = f"'{value:<8}'" if isinstance(value, str) else f"{value!s:>20}"
        return f"{keyword:<8}= {text}".ljust(80)

    cards = [card("SIMPLE", "T").replace("'T       '", " " * 19 + "T")]
    cards += [card(*pair) for pair in (("BITPIX", -32), ("NAXIS", 3), ("NAXIS1", 5))]
    cards += [card(*pair) for pair in (("NAXIS2", 4), ("NAXIS3", 3), ("BUNIT", "Jy/beam"))]
    for number, (kind, unit, start, step) in enumerate(
        [
            ("RA---SIN", "deg", 10.0, -0.01),
            ("DEC--SIN", "deg", 20.0, 0.01),
            ("VRAD", "m/s", 1e3, 5e2),
        ],
        1,
    ):
        for name, value in zip(
            ("CTYPE", "CUNIT", "CRPIX", "CRVAL", "CDELT"),
            (kind, unit, 1.0, start, step),
            strict=True,
        ):
            cards.append(card(f"{name}{number}", value))
    header = "".join([*(line[:80].ljust(80) for line in cards), "END".ljust(80)])
    pixels = struct.pack(">60f", *range(60))
    return header.encode().ljust(-(-len(header) // 2880) * 2880) + pixels.ljust(2880, b"\0")


def example_table() -> bytes:
    """Five stars: NAME (text), RA, DEC (degrees), MAG (scaled, the fourth undefined)."""

    def card(keyword: str, value: object) -> str:
        text = f"'{value:<8}'" if isinstance(value, str) else f"{value!s:>20}"
        return f"{keyword:<8}= {text}".ljust(80)

    def block(cards: list[str]) -> bytes:
        header = "".join([*cards, "END".ljust(80)])
        return header.encode().ljust(-(-len(header) // 2880) * 2880)

    primary = [f"{'SIMPLE':<8}= {'T':>20}".ljust(80), card("BITPIX", 8), card("NAXIS", 0)]
    cards = [card("XTENSION", "BINTABLE"), card("BITPIX", 8), card("NAXIS", 2)]
    cards += [card("NAXIS1", 26), card("NAXIS2", 5), card("PCOUNT", 0), card("GCOUNT", 1)]
    cards += [card("TFIELDS", 4)]
    columns = [("NAME", "8A", ""), ("RA", "D", "deg"), ("DEC", "D", "deg"), ("MAG", "I", "mag")]
    for number, (name, form, unit) in enumerate(columns, 1):
        cards += [card(f"TTYPE{number}", name), card(f"TFORM{number}", form)]
        cards += [card(f"TUNIT{number}", unit)] if unit else []
    cards += [card("TSCAL4", 0.25), card("TNULL4", -1), card("EXTNAME", "STARS")]
    rows = [("alpha", 74), ("beta", 84), ("gamma", 77), ("delta", -1), ("epsilon", 68)]
    data = b"".join(
        struct.pack(">8sddh", name.encode(), 10.0 + row, row - 2.0, stored)
        for row, (name, stored) in enumerate(rows)
    )
    return block(primary) + block(cards) + data.ljust(2880, b"\0")


@pytest.fixture(autouse=True)
def _example_folder(
    request: pytest.FixtureRequest, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    if isinstance(request.node, pytest.DoctestItem):
        folder = request.getfixturevalue("tmp_path")
        (folder / "cube.fits").write_bytes(example_cube())
        (folder / "table.fits").write_bytes(example_table())
        monkeypatch.chdir(folder)
