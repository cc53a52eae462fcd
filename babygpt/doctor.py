"""Check whether everything that the course needs is installed, and say what to do where it is not.

The bounds come from the installed package's own metadata (pyproject.toml), so that they are written once.
PyTorch and Jupyter are imported inside the checks, because a broken one is a finding.
"""

import os
import platform
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from importlib import import_module, metadata
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement

from babygpt.errors import BadInput

FIX = "run `make env`, or `pip install -e '.[lab]'` in your own environment"
MANAGER = "@jupyter-widgets/jupyterlab-manager"
DISK = 1e9  # bytes: the corpus, checkpoints and figures need less


class Diagnosis(NamedTuple):
    """One finding: its subject, whether it suffices, and details."""

    name: str
    ok: bool
    detail: str


def checks() -> list[Diagnosis]:
    """Check every package, the processor, the lab if it is installed, the disk, and what others register."""
    try:
        needs = [Requirement(line) for line in metadata.requires("babygpt") or []]
    except metadata.PackageNotFoundError:
        return [Diagnosis("babygpt", False, f"is not installed: {FIX}")]
    always = [package(need) for need in needs if need.marker is None]
    of_lab = [package(need) for need in needs if str(need.marker) == 'extra == "lab"']
    python = Diagnosis("Python", True, platform.python_version())  # pip refuses one that is too old
    return [python, *always, *processor(), *lab(of_lab), disk(), *registered()]


def format_diagnoses(findings: list[Diagnosis]) -> str:
    """Return one line for each finding, ✓ or ✗ first."""
    width = max((len(one.name) for one in findings), default=0)
    return "\n".join(f"{'✓' if f.ok else '✗'} {f.name:<{width}}  {f.detail}" for f in findings)


def package(need: Requirement) -> Diagnosis:
    """Compare the installed version of one package with its bounds."""
    try:
        have = metadata.version(need.name)
    except metadata.PackageNotFoundError:
        return Diagnosis(need.name, False, f"missing: {FIX}")
    if need.specifier.contains(have, prereleases=True):
        return Diagnosis(need.name, True, f"{have}, within {need.specifier}")
    return Diagnosis(need.name, False, f"{have}, but {need.specifier} is needed: {FIX}")


def processor() -> Iterator[Diagnosis]:
    """Describe the device that training will use, the memory, and PyTorch's threads."""
    try:
        import torch
        from joblib import cpu_count

        from babygpt.device import device_memory, device_name, pick_device

        name, threads, allowed = device_name(pick_device()), torch.get_num_threads(), cpu_count()
    except (BadInput, ImportError, OSError, RuntimeError) as error:
        yield Diagnosis("device", False, f"no model runs here: {error}")
        return
    yield Diagnosis("device", True, name)
    yield Diagnosis("memory", True, f"{device_memory(torch.device('cpu')) / 1e9:.1f} GB")
    slow = threads > allowed and "OMP_NUM_THREADS" in os.environ  # else training takes what is allowed
    advice = f", which slows training: set OMP_NUM_THREADS={allowed}" if slow else ""
    yield Diagnosis("threads", not slow, f"{threads} for PyTorch, {allowed} allowed{advice}")


def lab(packages: list[Diagnosis]) -> Iterator[Diagnosis]:
    """Check JupyterLab, its widgets and its command, or say in one line that they are not installed."""
    elsewhere = {"ipykernel", "tokenizers"}  # an editor brings the one, transformers the other
    if all(one.detail.startswith("missing") for one in packages if one.name not in elsewhere):
        yield Diagnosis("lab", True, f"not installed; the notebooks need it: {FIX}")
        return
    yield from packages
    yield widgets()
    yield jupyter()


def jupyter() -> Diagnosis:
    """Check that the command `jupyter` starts the JupyterLab of this Python, not another environment's."""
    found, advice = shutil.which("jupyter"), f"type `make lab` or `{sys.executable} -m jupyterlab`"
    if found is None:
        return Diagnosis("jupyter", True, f"is not on the PATH: to open the course, {advice}")
    if Path(found).parent.resolve() == Path(sysconfig.get_path("scripts")).resolve():
        return Diagnosis("jupyter", True, found)
    running = "ipykernel" in sys.modules  # the course is open already
    return Diagnosis("jupyter", running, f"{found} is of another environment: to open the course, {advice}")


def widgets() -> Diagnosis:
    """Check that ipywidgets can be imported, and that JupyterLab finds the extension that draws them."""
    try:
        have = import_module("ipywidgets").__version__
        folders = import_module("jupyter_core.paths").jupyter_path("labextensions")
    except ImportError as error:
        return Diagnosis("widgets", False, f"no sliders: {error}; {FIX}")
    if any((Path(folder) / MANAGER / "package.json").is_file() for folder in folders):
        return Diagnosis("widgets", True, f"ipywidgets {have}; JupyterLab has {MANAGER}")
    advice = "`pip install --force-reinstall jupyterlab_widgets`"
    return Diagnosis("widgets", False, f"no sliders: JupyterLab's widget extension is missing; {advice}")


def disk() -> Diagnosis:
    """Check that checkpoints and figures fit into the current folder's file system."""
    free = shutil.disk_usage(Path.cwd()).free
    advice = "" if free >= DISK else ", 1 GB is needed"
    return Diagnosis("disk", not advice, f"{free / 1e9:.1f} GB free{advice}")


def registered() -> Iterator[Diagnosis]:
    """Yield the finding of each function that a package registers as an entry point of `babygpt.checks`."""
    for point in metadata.entry_points(group="babygpt.checks"):
        try:
            yield point.load()()
        except ImportError as error:
            yield Diagnosis(point.name, False, f"cannot be checked: {error}; {FIX}")
