"""Refusals speak HTTP: the parameters of the endpoint, and no words of Python or of a shell."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from astropy.io import fits
from fastapi.testclient import TestClient

from tachyfits.base.errors import either, worded_for_http
from tachyfits.server.app import create_app
from tachyfits.server.settings import Settings

pytestmark = pytest.mark.once

#: ``name=``, ``.name(``, ``name()``, ``np.s_[``, ``slice(``, ``None``: Python. ``--name``: a shell.
FOREIGN = re.compile(
    r"(?<![?&\w])[a-z_]+=(?!=)|\.[a-z_]+\(|\b[a-z_]+\(\)|\bslice\(|\bnp\.|\btf\.|\bNumPy\b|\bNone\b"
    r"|\bTrue\b|\bFalse\b|(?<![\w-])--[a-z]|(?<![\w/])tachyfits (?!verify)[a-z]+\b"
)

#: Files: a cube of the sky, the same with polarisations, a plain cube, an image, damaged ones.
CUBE, POLARISED, PLAIN, FLAT, TEXT, CUT, WORDS = (
    "cube.fits", "pol.fits", "plain.fits", "flat.fits", "text.fits", "cut.fits", "words.fits",
)  # fmt: skip
#: A cube in supergalactic coordinates.
SUPER = "super.fits"
FAR = 'icrs; circle(10,-60,30")'

#: Refused requests of each endpoint: its path, and parameters beside ``id``.
REFUSED: list[tuple[str, dict[str, Any]]] = [
    *(
        (f"/api/v1/{name}", given)
        for name in ("dataset", "header", "sidecars")
        for given in ({"id": "none.fits"}, {"hdu": 7}, {"hdu": "x"}, {"id": TEXT}, {"version": "1"})
    ),
    *(
        (f"/api/v1/{name}", given | {"id": POLARISED})
        for name in ("spectrum", "image")
        for given in ({"pol": "V", "collapse": "mean"}, {"pol": "nonsense", "collapse": "mean"},
                      {"pol": "I", "others": "2", "collapse": "mean"},
                      {"others": "9", "collapse": "mean"})
    ),
    *(
        (f"/api/v1/{name}", given)
        for name in ("spectrum", "statistics", "histogram", "percentiles", "cutout", "cutout/size")
        for given in ({"region": "circle(1,2)"}, {"region": "blob(1,2,3)"},
                      {"region": "line(1,1,5,5)"},
                      {"region": "circle(1,1,30\")"}, {"region": "icrs; circle(1,99,1)"},
                      {"region": "icrs; circle(30,10,5)", "id": PLAIN},
                      {"region": "galactic; circle(x,1,1)"}, {"region": "fk9; circle(1,1,1)"},
                      {"region": "@mask.fits"}, {"region": "polygon(1,1,2,2)"},
                      {"region": FAR}, {"region": "circle(900,900,1)"},
                      {"channels": "9:3:0"}, {"channels": "40:90"}, {"channels": "1..2 parsec"},
                      {"channels": "1..2 km/s"}, {"channels": "9..8 GHz"},
                      {"channels": "1..2 GHz", "id": PLAIN}, {"channels": "1:2", "id": FLAT},
                      {"channels": "1.41..1.43 GHz TOPO"}, {"channels": "1.41..1.43 GHz XYZ"},
                      {"channels": "word"})
    ),
    *(
        (f"/api/v1/{name}", given)
        for name in ("spectrum", "axis")
        for given in ({"unit": "kg"}, {"unit": "nonsense"}, {"unit": "km/s", "id": PLAIN},
                      {"unit": "km/s", "id": WORDS},
                      {"rest": "x", "unit": "km/s"}, {"rest": "-1 GHz", "unit": "km/s"},
                      {"convention": "radio"}, {"convention": "x"}, {"id": FLAT})
    ),
    *(
        (f"/api/v1/{name}", given)
        for name in ("axis", "lines")
        for given in ({"redshift": -1}, {"redshift": "nan"}, {"redshift": 1e9}, {"frame": "XYZ"},
                      {"frame": "LSRK"}, {"unit": "km/s", "redshift": 1}, {"unit": "kg"},
                      {"unit": "km/s", "rest": "1e999 Hz"}, {"frame": "LSRK", "id": WORDS})
    ),
    *(
        ("/api/v1/spectrum", given)
        for given in ({"smooth": 0}, {"smooth": "nan"}, {"smooth": 1e6}, {"bin": 0}, {"bin": 5},
                      {"bin": 1e9}, {"redshift": -2}, {"frame": "LSRK"}, {"frame": "fk5"},
                      {"unit": "km/s", "redshift": 1})
    ),
    *(
        ("/api/v1/fit", given)
        for given in ({"gaussians": 0}, {"gaussians": 4}, {"baseline": 6}, {"baseline": -1},
                      {"noise": 0}, {"noise": "inf"}, {"line_free": "1:2"}, {"line_free": "x"},
                      {"line_free": "9:12"}, {"line_free": "\u00ca:"}, {"line_free": ":-"},
                      {"channels": "9"}, {"channels": "1..2 km/s"},
                      {"region": FAR}, {"region": "circle(1,2)"}, {"id": FLAT}, {"smooth": 2},
                      {"statistic": "nonsense"}, {"format": "fits"}, {"channels": "5..6 GHz"})
    ),
    *(
        ("/api/v1/position", given)
        for given in ({"text": ""}, {"text": "x" * 101}, {"text": "M 1"}, {"text": "1 2 3"},
                      {"text": "\n"}, {"text": "10 95"}, {"id": FLAT, "text": "10 20"}, {})
    ),
    *(
        ("/api/v1/match", given)
        for given in ({"onto": "none"}, {"onto": ""}, {"onto": FLAT}, {"onto": WORDS, "point": "1"},
                      {"onto": WORDS, "point": "1,nan"}, {"region": "circle(1,2)"}, {})
    ),
    *(("/api/v1/lines", given) for given in ({"groups": "x"}, {"groups": "co,,co"}, {"id": FLAT})),
    *(("/api/v1/spectral", given) for given in ({"id": FLAT}, {"hdu": 7}, {"frame": "LSRK"})),
    *(
        ("/api/v1/spectrum", given)
        for given in ({"statistic": "nonsense"}, {"unit": "K"}, {"unit": "K, km/s"},
                      {"weights": "x"}, {"weights": "exact", "statistic": "median"},
                      {"weights": "exact"}, {"statistic": "flux"}, {"format": "x"},
                      {"others": "2"}, {"others": "0"}, {"id": CUT})
    ),
    *(
        (f"/api/v1/{name}", {"collapse": "mean"} | given | more)
        for name, more in (("image", {}), ("tile", {"level": 0, "x": 0, "y": 0}),
                           ("pixel", {"x": 1, "y": 1}), ("limits", {}), ("statistics", {}),
                           ("snapshot", {}), ("contours", {"levels": "1"}), ("histogram", {}),
                           ("percentiles", {}))
        for given in ({"collapse": "nonsense"}, {"collapse": "moment7"}, {"channels": "0:1"},
                      {"channels": "7:9"}, {"id": FLAT}, {"collapse": "moment1", "unit": "kg"},
                      {"collapse": "moment1", "unit": "km/s", "id": PLAIN}, {"unit": "km/s"},
                      {"unit": "K"}, {"rest": "1 GHz"}, {"convention": "optical"},
                      {"threshold": "nan"}, {"pol": "I"}, {"id": CUT})
    ),
    *(
        ("/api/v1/tile", {"level": 0, "x": 0, "y": 0} | given)
        for given in ({"level": 9}, {"x": 1}, {"y": -1}, {"channel": 9}, {"error": -1},
                      {"error": "inf"}, {"channel": "x"}, {"others": "1"}, {"preview": "maybe"})
    ),
    ("/api/v1/tile", {}),
    *(
        ("/api/v1/pixel", {"x": 1, "y": 1} | given)
        for given in ({"x": 0}, {"x": 99}, {"channel": 9}, {"others": "1,1"})
    ),
    *(
        ("/api/v1/cutout", given)
        for given in ({"section": "[0:5]"}, {"section": "[a:b]"}, {"section": "1,1,1,1,1"},
                      {"section": "[1:2,1:2,1:9]"}, {"pol": "I"}, {"mode": "x"},
                      {"region": "circle(1,1,9)", "mode": "strict"},
                      {"region": "circle(1,1,1e9)", "mode": "partial"},
                      {"region": f"{FAR[:-1]}", "mode": "partial"},
                      {"region": "circle(1e15,1,1)", "mode": "partial"},
                      {"region": "circle(2,2,1)", "section": "[1:3]"},
                      {"channels": "1:2", "section": "[*,*,1:2]"})
    ),
    *(
        ("/api/v1/pv", given)
        for given in ({}, {"path": "1,1"}, {"path": "1,1 2"}, {"path": "circle(1,1,1)"},
                      {"path": "icrs; line(10,20,11,21)"}, {"path": "line(1,1)"},
                      {"path": "1,1 2,2", "id": FLAT}, {"path": "1,1 9,9", "width": 0},
                      {"path": "1,1 1,1"}, {"path": "1,1 1e9,2"}, {"path": "900,900 950,950"})
    ),
    *(("/api/v1/histogram", given) for given in ({"bins": 0}, {"low": 1}, {"low": 2, "high": 1})),

    *(("/api/v1/percentiles", {"q": q}) for q in ("", "x", "101", "-1", "nan", "1,,2")),
    *(("/api/v1/limits", {"method": m}) for m in ("x", "percentile200", "percentile0")),
    *(("/api/v1/limits", given) for given in ({"channel": 0}, {"channel": 9})),
    *(
        ("/api/v1/contours", {"levels": "1"} | given)
        for given in ({"levels": "x"}, {"level": 30}, {"onto": "none.fits"}, {"onto": PLAIN})
    ),
    *(
        ("/api/v1/snapshot", given)
        for given in ({"colormap": "nonsense"}, {"stretch": "x"}, {"low": 2, "high": 1},
                      {"limits": "percentile200"}, {"contours": "x"},
                      {"scale_bar": True, "id": PLAIN},
                      {"region": "icrs; circle(1,1,1)", "id": PLAIN},
                      {"dpi": 1})
    ),
    *(
        ("/api/v1/grid", given)
        for given in ({"id": PLAIN}, {"frame": "nonsense"}, {"box": "1,2"}, {"box": "5,5,1,1"},
                      {"box": "a,b,c,d"}, {"lines": 0}, {"id": WORDS})
    ),
    *(
        (f"/api/v1/catalogue{name}", {"catalogue": f"served/{CUBE}"} | given)
        for name in ("", "/points", "/rows")
        for given in ({}, {"table": 0}, {"catalogue": "none"}, {"cone": "1,2,3"})
    ),
    *(
        (f"/api/v1/figure{name}", given)
        for name in ("", "/lines")
        for given in ({"width": 1}, {"width": "nan"}, {"title": "a\nb"}, {"title": "x" * 201},
                      {"levels": "x"}, {"region": "circle(1)"}, {"channel": 9}, {"stretch": "x"},
                      {"collapse": "linear_polarization"})
        if name == "" or "channel" not in given
    ),
    ("/api/v1/figure", {"low": 2, "high": 1}),
    ("/api/v1/figure", {"colormap": "nonsense"}),
    ("/api/v1/figure/lines", {"collapse": "mean", "channels": "1..2 GHz"}),
    *(
        ("/api/v1/noise", given)
        for given in ({"channel": 9}, {"channels": "9:12"}, {"channels": "1..2 km/s"},
                      {"collapse": "nonsense"}, {"id": FLAT, "channels": "1:2"})
    ),
    *(
        ("/api/v1/vectors", given)
        for given in ({}, {"id": POLARISED, "step": 0}, {"id": POLARISED, "least": -1},
                      {"id": POLARISED, "channels": "9:12"}, {"id": PLAIN})
    ),
    ("/api/v1/image", {"collapse": "linear_polarization"}),
    ("/api/v1/tile", {"collapse": "polarization_angle", "level": 0, "x": 0, "y": 0}),
    ("/api/v1/catalogue/cone", {"id": PLAIN}),
    ("/api/v1/files", {"folder": "none"}),
    ("/api/v1/files", {"folder": f"served/{FLAT}"}),
    ("/api/v1/jobs/!", {}),
]  # fmt: skip

#: Bodies that are refused: path, parameters, body.
BODIES: list[tuple[str, dict[str, Any], str]] = [
    ("/api/v1/regions/pixels", {}, "nonsense(1,2)"),
    ("/api/v1/regions/pixels", {}, "# Region file format: DS9\nimage\n"),
    ("/api/v1/regions/pixels", {}, "icrs; circle(1,2)"),
    ("/api/v1/regions/pixels", {"id": PLAIN}, "icrs; circle(10,20,1)"),
    ("/api/v1/regions/pixels", {}, "@file.reg"),
    ("/api/v1/regions/file", {}, "nonsense"),
    ("/api/v1/regions/file", {}, "icrs; circle(10,20,1)"),
    ("/api/v1/regions/file", {"id": PLAIN}, "circle(1,1,1)"),
    ("/api/v1/regions/file", {"id": SUPER}, "circle(1,1,1)"),
    ("/api/v1/regions/file", {"format": "crtf", "system": "image"}, "circle(1,1)"),
    ("/api/v1/regions/file", {"system": "image"}, "line(1,1,2,2,3)"),
    ("/api/v1/regions/statistics", {}, "line(1,1,2,2)"),
    ("/api/v1/regions/statistics", {}, "circle(1,1)"),
    ("/api/v1/regions/statistics", {"channel": 9}, "circle(1,1,1)"),
    ("/api/v1/regions/statistics", {}, "circle(1,1,1)\n" * 1001),
]

#: Endpoints that refuse nothing by a parameter of theirs.
WITHOUT = {"/health", "/ready", "/metrics", "/api/v1/about"}


def _header(**cards: Any) -> dict[str, Any]:
    sky = {"CTYPE1": "RA---TAN", "CTYPE2": "DEC--TAN", "CRVAL1": 30.0, "CRVAL2": 10.0,
           "CDELT1": -0.001, "CDELT2": 0.001, "CRPIX1": 3.0, "CRPIX2": 3.0}  # fmt: skip
    spectral = {"CTYPE3": "FREQ", "CUNIT3": "Hz", "CRVAL3": 1.42e9, "CDELT3": 1e6, "CRPIX3": 1.0}
    return sky | spectral | {"BUNIT": "Jy/beam"} | cards


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("refusals") / "served"
    folder.mkdir()

    def write(name: str, shape: tuple[int, ...], cards: dict[str, Any]) -> None:
        hdu = fits.PrimaryHDU(np.random.default_rng(1).normal(size=shape).astype(np.float32))
        hdu.header.update(cards)
        hdu.writeto(folder / name)

    write(CUBE, (4, 6, 5), _header())
    stokes = {"CTYPE4": "STOKES", "CRVAL4": 1.0, "CDELT4": 1.0, "CRPIX4": 1.0}
    write(POLARISED, (2, 4, 6, 5), _header(**stokes))
    write(PLAIN, (4, 6, 5), {})
    write(FLAT, (6, 5), {})
    write(CUT, (4, 60, 50), _header())
    write(SUPER, (4, 6, 5), _header(CTYPE1="SLON-TAN", CTYPE2="SLAT-TAN"))
    whole = (folder / CUT).read_bytes()
    (folder / TEXT).write_text("no FITS file")
    write(WORDS, (4, 6, 5), _header(CRVAL3="word", CRVAL1="word"))
    with TestClient(create_app(Settings(paths=(folder,)))) as found:
        (folder / CUT).write_bytes(whole[:30_000])
        yield found


def checked(answer: Any, folder: str = "/served") -> None:
    """Check that a refusal is in the words of clients."""
    assert 400 <= answer.status_code < 500, answer.text[:300]
    found = answer.json()
    for key in ("title", "detail", "hint"):
        said = found.get(key, "")
        # Quotation marks enclose text of the client.
        own = re.sub(r"""'[^']*'|"[^"]*\"""", "", said)
        assert not FOREIGN.search(own), said
        assert folder not in said
    if answer.status_code in (400, 413):
        assert found["detail"]


@pytest.mark.parametrize(
    ("path", "given"), REFUSED, ids=[f"{path[8:]}-{given}"[:70] for path, given in REFUSED]
)
def test_refusals_name_parameters(client: TestClient, path: str, given: dict[str, Any]) -> None:
    place = {} if "files" in path or "jobs" in path else {"id": f"served/{CUBE}"}
    given = {k: f"served/{v}" if k in ("id", "onto") else v for k, v in given.items()}
    method = "DELETE" if "jobs" in path else "GET"
    checked(client.request(method, path, params=place | given))


@pytest.mark.parametrize(("path", "given", "body"), BODIES)
def test_refusals_of_bodies_name_parameters(
    client: TestClient, path: str, given: dict[str, Any], body: str
) -> None:
    given = {"id": f"served/{given.get('id', CUBE)}"} | {
        k: v for k, v in given.items() if k != "id"
    }
    checked(client.post(path, params=given, content=body))


@pytest.mark.parametrize("region", [FAR, "circle(900,900,1)", "circle(-3,3,2)"])
@pytest.mark.parametrize("more", [{}, {"collapse": "mean"}])
def test_a_region_outside_the_image_is_refused_alike(
    client: TestClient, region: str, more: dict[str, str]
) -> None:
    names = ["cutout", "spectrum"] if not more else []
    answers = [
        client.get(f"/api/v1/{name}", params={"id": f"served/{CUBE}", "region": region} | more)
        for name in (*names, "statistics", "histogram", "percentiles")
    ]
    assert {answer.status_code for answer in answers} == {400}
    (detail,) = {answer.json()["detail"] for answer in answers}
    assert detail.endswith(f"{region} has no pixel on the image of 5 x 6 pixels")
    (hint,) = {answer.json()["hint"] for answer in answers}
    assert "/api/v1/dataset" in hint
    # Between the centres of pixels, and on the image.
    near = client.get(
        "/api/v1/statistics", params={"id": f"served/{CUBE}", "region": "circle(2.5,2.5,0.1)"}
    )
    assert (near.status_code, near.json()["count"]) == (200, 0)


def test_every_endpoint_is_asked_for_what_it_refuses(client: TestClient) -> None:
    asked = {re.sub(r"/jobs/.*", "/jobs/{name}", path) for path, *_ in [*REFUSED, *BODIES]}
    served = set(client.get("/openapi.json").json()["paths"]) - WITHOUT
    assert {path for path in served if not path.startswith("/api/v1/jobs")} <= asked


def test_messages_are_worded_for_http_on_threads_of_requests_alone() -> None:
    words = ("pass x=1", "--x", "give x")
    assert either(*words) == words[0]
    with worded_for_http():
        assert either(*words) == words[2]
    assert either(*words) == words[0]


def test_pattern_finds_words_of_other_interfaces() -> None:
    for text in ("pass unit='K'", "image.cut(x)", "use --region", "see tachyfits info FILE",
                 "channels=slice(1, 2)", "NumPy axis 0", "use plane()"):  # fmt: skip
        assert FOREIGN.search(text)
    for text in ("use circle(x,y,r)", "see /api/v1/axis?unit=K", "x == y", "tachyfits verify"):
        assert not FOREIGN.search(text)
