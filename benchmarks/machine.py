"""Machine that a measurement ran on: a time without its machine means nothing."""

import platform
import subprocess
import sys
from pathlib import Path

import joblib
import torch

from babygpt.device import device_name

CPU = torch.device("cpu")


def describe_machine(device: torch.device = CPU) -> dict[str, str | int]:
    """Return processor, cores, threads, device, system and versions, without the names of host and user.

    device  where the measured model was
    """
    return {
        "processor": processor_name() or platform.processor() or platform.machine(),
        "cores": joblib.cpu_count(),
        "threads": torch.get_num_threads(),
        "instructions": torch.backends.cpu.get_cpu_capability(),
        "device": device_name(device),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def processor_name(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Return the processor's name as Linux or macOS gives it; empty where they give none."""
    if cpuinfo.is_file():
        lines = [line.partition(":") for line in cpuinfo.read_text(encoding="utf-8").splitlines()]
        return next((name.strip() for key, _, name in lines if key.strip() == "model name"), "")
    if sys.platform == "darwin":
        command = ["sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(command, capture_output=True, encoding="utf-8").stdout.strip()
    return ""
