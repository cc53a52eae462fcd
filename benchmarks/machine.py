"""What a measurement ran on, and the report that says so: a time without its machine means nothing."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from babygpt.device import available_cores
from babygpt.training.checkpoint import write_atomically

CPU = torch.device("cpu")


def machine(device: torch.device = CPU) -> dict[str, str | int]:
    """Processor, cores this process may use, threads, device, system and versions; no names, no paths.

    device  what the measured model was on
    """
    return {
        "processor": processor(),
        "cores": available_cores(),
        "threads": torch.get_num_threads(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "device": torch.cuda.get_device_name(device) if device.type == "cuda" else device.type,
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def processor() -> str:
    """The processor's name as the system gives it, or its architecture where it gives none."""
    return named() or platform.processor() or platform.machine()


def named(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """The processor's name by Linux or macOS; empty elsewhere."""
    if cpuinfo.is_file():
        lines = [line.partition(":") for line in cpuinfo.read_text(encoding="utf-8").splitlines()]
        return next((name.strip() for key, _, name in lines if key.strip() == "model name"), "")
    if sys.platform == "darwin":
        asked = subprocess.run(["sysctl", "-n", "machdep.cpu.brand_string"], capture_output=True, text=True)
        return asked.stdout.strip()
    return ""


def store(name: str, results: Mapping[str, Any], folder: Path) -> Path:
    """Keep what a benchmark found as NAME.json, in place of what its last run left there.

    returns  the file
    """
    path = folder / f"{name}.json"
    write_atomically(path, (json.dumps(results, indent=1) + "\n").encode())
    return path
