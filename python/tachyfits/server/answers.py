"""Answers: quantised float tiles with a known error, JSON without NaN, and cache headers."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import zstandard
from fastapi import Request, Response
from numpy.typing import NDArray

from tachyfits.results import plain
from tachyfits.server.datasets import OpenFile
from tachyfits.server.errors import Changed

#: Code of NaN among quantised pixels, before differencing.
NAN_CODE = -(2**31)

#: Maximum absolute value of quantised pixels: differences then fit 32 bits.
_MOST = 2**29

#: Quantisation steps per noise of a tile, if the client gives no error.
_STEPS_PER_NOISE = 10.0


@dataclass(frozen=True)
class Encoded:
    """An encoded tile.

    Attributes
    ----------
    body
        Compressed by zstd. Four planes of bytes, the lowest first: of float32, or of the
        differences along x of 32-bit integers q. A pixel is ``zero + q * step``, or NaN if q is
        ``NAN_CODE``.
    step, zero
        Scale and offset of q; ``step`` is 0 for float32, which is exact.
    error
        Largest difference from the pixel as float32.
    """

    body: bytes
    shape: tuple[int, int]
    step: float
    zero: float
    error: float
    low: float
    high: float

    def headers(self) -> dict[str, str]:
        """Return the headers that describe how to decode the body."""
        return {
            "Tile-Width": str(self.shape[1]),
            "Tile-Height": str(self.shape[0]),
            "Tile-Step": repr(self.step),
            "Tile-Zero": repr(self.zero),
            "Tile-Error": repr(self.error),
            "Tile-Low": repr(self.low),
            "Tile-High": repr(self.high),
        }


def tile_answer(request: Request, tile: Encoded, headers: dict[str, str]) -> Response:
    """Return a tile in an encoding that the client accepts: zstd, else gzip, else none.

    Browsers accept zstd over HTTPS and from localhost; over HTTP from other hosts only gzip.
    """
    encodings = {
        part.partition(";")[0].strip().lower()
        for part in request.headers.get("accept-encoding", "").split(",")
        if not part.replace(" ", "").endswith(";q=0")
    }
    body, coding = tile.body, {"Content-Encoding": "zstd"}
    if not encodings & {"zstd", "*"}:
        body, coding = zstandard.ZstdDecompressor().decompress(body), {}
        if "gzip" in encodings:
            body, coding = gzip.compress(body, 1, mtime=0), {"Content-Encoding": "gzip"}
    all_headers = tile.headers() | headers | coding | {"Vary": "Accept-Encoding"}
    return Response(body, headers=all_headers, media_type="application/octet-stream")


def encoded(pixels: NDArray[np.float32], error: float | None) -> Encoded:
    """Encode a tile.

    Parameters
    ----------
    error
        Largest error of a pixel; 0: lossless; None: a twentieth of the noise of the tile.
    """
    defined = np.isfinite(pixels)
    low = float(pixels[defined].min()) if defined.any() else math.nan
    high = float(pixels[defined].max()) if defined.any() else math.nan
    step = 2 * error if error is not None else _noise(pixels) / _STEPS_PER_NOISE
    # The error includes rounding to float32, so a smaller step gains nothing.
    rounding = float(np.spacing(np.float32(max(abs(low), abs(high))))) if defined.any() else 0.0
    lossless = (
        not defined.any()
        or not math.isfinite(step)
        or step <= 4 * rounding
        or (high - low) / step >= _MOST
        or bool(np.isinf(pixels).any())
    )
    if lossless:
        codes = np.ascontiguousarray(pixels, dtype="<f4").view("<i4")
        step = zero = worst = 0.0
    else:
        zero = low
        quantised = np.rint((pixels.astype(np.float64) - zero) / step)
        codes = np.where(defined, quantised, NAN_CODE).astype("<i4")
        codes = np.diff(codes, axis=1, prepend=np.int32(0))
        worst = step / 2 + rounding
    planes = np.ascontiguousarray(codes).view(np.uint8).reshape(-1, 4).T
    body = zstandard.ZstdCompressor(level=3).compress(planes.tobytes())
    return Encoded(body, (pixels.shape[0], pixels.shape[1]), step, zero, worst, low, high)


def decoded(tile: Encoded) -> NDArray[np.float32]:
    """Decode a tile, as the page does.

    >>> pixels = np.array([[1.0, np.nan, 3.0]], dtype=np.float32)
    >>> decoded(encoded(pixels, 0.25))
    array([[ 1., nan,  3.]], dtype=float32)
    """
    planes = np.frombuffer(zstandard.ZstdDecompressor().decompress(tile.body), dtype=np.uint8)
    codes = np.ascontiguousarray(planes.reshape(4, -1).T).view("<i4").reshape(tile.shape)
    if tile.step == 0:
        return codes.view("<f4").astype(np.float32)
    codes = np.cumsum(codes, axis=1, dtype=np.int32)
    pixels = (tile.zero + codes * tile.step).astype(np.float32)
    pixels[codes == NAN_CODE] = np.nan
    return pixels


def _noise(pixels: NDArray[np.float32]) -> float:
    """Estimate the noise from the median difference of pixels two columns apart."""
    if pixels.shape[1] < 3:
        return 0.0
    differences = np.abs(pixels[:, 2:].astype(np.float64) - pixels[:, :-2])
    differences = differences[np.isfinite(differences)]
    return 1.0483579 * float(np.median(differences)) if differences.size else 0.0


def tag_of(request: Request, file: OpenFile) -> str:
    """Return the ETag of an answer about a file: a digest of the file version and the query."""
    query = "&".join(sorted(f"{k}={v}" for k, v in request.query_params.multi_items()))
    text = f"{file.version}|{request.url.path}|{query}"
    return f'"{hashlib.sha256(text.encode()).hexdigest()[:24]}"'


def unchanged(request: Request, file: OpenFile, version: str | None) -> Response | None:
    """Return a 304 answer if the client already has the current answer, else None.

    Raises
    ------
    Changed
        The client requests a version that the file no longer has.
    """
    if version is not None and version != str(file.version):
        raise Changed(f"{file.name}: the file was replaced; load it again")
    tags = request.headers.get("if-none-match", "") if request.method != "POST" else ""
    if tag_of(request, file) in (tag.strip() for tag in tags.split(",")):
        return Response(status_code=304, headers=caching(request, file, version))
    return None


def caching(request: Request, file: OpenFile, version: str | None) -> dict[str, str]:
    """Return the cache headers; an answer about a given version never changes.

    Answers to POST are not cached: caches do not compare the body.
    """
    if request.method == "POST":
        return {"Cache-Control": "no-store"}
    keep = "max-age=31536000, immutable" if version is not None else "no-cache"
    return {"ETag": tag_of(request, file), "Cache-Control": f"private, {keep}"}


def of_two_files(answer: Response) -> Response:
    """Disable caching of an answer that depends on two files: its ETag only covers one."""
    del answer.headers["ETag"]
    answer.headers["Cache-Control"] = "no-store"
    return answer


def json_bytes(value: Any) -> bytes:
    """Encode a value as JSON.

    >>> json_bytes({"values": np.array([1.5, np.nan])})
    b'{"values":[1.5,null]}'
    """
    text = json.dumps(plain(value), separators=(",", ":"), allow_nan=False)
    return text.encode()


def json_answer(value: Any, headers: dict[str, str] | None = None, status: int = 200) -> Response:
    """Return a JSON answer."""
    return Response(json_bytes(value), status, headers, media_type="application/json")
