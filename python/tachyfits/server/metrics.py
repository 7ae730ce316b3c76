"""Metrics: counts of requests in the text form of Prometheus."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable

#: Upper bounds of the bins of durations, in seconds.
_ENDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)


class Metrics:
    """Counts since the start of the server.

    >>> metrics = Metrics()
    >>> metrics.count("/api/v1/tile", "GET", 200, 0.004, 1000)
    >>> [line for line in metrics.text([]).splitlines() if "requests_total{" in line]
    ['tachyfits_requests_total{route="/api/v1/tile",method="GET",status="200"} 1']
    """

    def __init__(self) -> None:
        self.running = 0
        self._begin = time.time()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._bytes: Counter[str] = Counter()
        self._seconds: Counter[str] = Counter()
        self._bins: Counter[tuple[str, float]] = Counter()
        self._counts: Counter[str] = Counter()

    def count(self, route: str, method: str, status: int, seconds: float, size: int) -> None:
        """Count a request."""
        method_label = method if method in ("GET", "HEAD", "POST", "DELETE", "OPTIONS") else "other"
        self._requests[route, method_label, status] += 1
        self._bytes[route] += size
        self._seconds[route] += seconds  # type: ignore[assignment] # a Counter also holds floats
        self._counts[route] += 1
        for end in _ENDS:
            if seconds <= end:
                self._bins[route, end] += 1

    def text(self, gauges: Iterable[tuple[str, str, float]]) -> str:
        """Return all metrics; ``gauges`` are additional (name, help text, value) entries."""
        lines = ["# TYPE tachyfits_requests_total counter"]
        for (route, method, status), count in sorted(self._requests.items()):
            labels = f'route="{route}",method="{method}",status="{status}"'
            lines.append(f"tachyfits_requests_total{{{labels}}} {count}")
        lines.append("# TYPE tachyfits_sent_bytes_total counter")
        for route, size in sorted(self._bytes.items()):
            lines.append(f'tachyfits_sent_bytes_total{{route="{route}"}} {size}')
        lines.append("# TYPE tachyfits_request_seconds histogram")
        for route, count in sorted(self._counts.items()):
            for end in _ENDS:
                labels = f'route="{route}",le="{end}"'
                lines.append(
                    f"tachyfits_request_seconds_bucket{{{labels}}} {self._bins[route, end]}"
                )
            lines.append(f'tachyfits_request_seconds_bucket{{route="{route}",le="+Inf"}} {count}')
            total = self._seconds[route]
            lines.append(f'tachyfits_request_seconds_sum{{route="{route}"}} {total:.6f}')
            lines.append(f'tachyfits_request_seconds_count{{route="{route}"}} {count}')
        process_gauges = [
            ("tachyfits_requests_running", "Requests under way.", float(self.running)),
            ("process_start_time_seconds", "Start of the server.", self._begin),
        ]
        for name, meaning, value in [*process_gauges, *gauges]:
            lines += [f"# HELP {name} {meaning}", f"# TYPE {name} gauge", f"{name} {value:.17g}"]
        return "\n".join(lines) + "\n"
