"""Description of the machine, system, commit and load of a measurement."""

from __future__ import annotations

import os
import platform
import re
import subprocess
from datetime import date
from pathlib import Path
from typing import Any

from bench import ROOT


def cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0))


def cpu_model() -> str:
    """Name the processor as the kernel does."""
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith(("model name", "Hardware", "Processor")):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def memory(key: str) -> float:
    """Read a line of /proc/meminfo, in GB."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024 / 1e9
    raise KeyError(key)


def _git(*words: str) -> str:
    try:
        process = subprocess.run(
            ["git", *words], cwd=ROOT, capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return process.stdout.strip()


def _text(path: str) -> str:
    try:
        return Path(path).read_text().strip()
    except OSError:
        return "unknown"


def describe() -> dict[str, Any]:
    """Collect what a reader of the numbers may ask about the host."""
    return {
        "date": date.today().isoformat(),
        "cpu": cpu_model(),
        "architecture": platform.machine(),
        "cores": cores(),
        "memory_gb": round(memory("MemTotal"), 1),
        "kernel": f"{platform.system()} {platform.release()}",
        "virtual": "hypervisor" in _text("/proc/cpuinfo"),
        "page_bytes": os.sysconf("SC_PAGESIZE"),
        "huge_pages": _text("/sys/kernel/mm/transparent_hugepage/enabled"),
        "load_before": os.getloadavg()[0],
        "commit": _git("rev-parse", "HEAD") or "unknown",
        "changed_files": len(_git("status", "--porcelain").splitlines()),
    }


def kind(host: dict[str, Any]) -> str:
    """Make a short name for this kind of machine, fit for a folder."""
    cpu = re.sub(r"\(.*?\)|@.*|CPU|Processor", "", host["cpu"])
    slug = re.sub(r"[^a-z0-9]+", "-", cpu.lower()).strip("-")
    return f"{slug}-{host['cores']}-core"
