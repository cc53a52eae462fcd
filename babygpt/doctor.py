"""Check whether everything that the course needs is installed, and say what to do where it is not.

The bounds come from the installed package's own metadata (pyproject.toml), so that they are written once.
PyTorch and Jupyter are imported inside the checks, because a broken one is a finding.
"""

import os
import shutil
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from babygpt.errors import BadInput

FIX = "run `make env`, or `pip install -e '.[lab]'` in your own environment"
MANAGER = "@jupyter-widgets/jupyterlab-manager"
DISK = 1e9  # bytes: the corpus, checkpoints and figures need less


@dataclass(frozen=True)
class Diagnosis:
    """One finding: its subject, whether it will do, and details."""

    name: str
    ok: bool
    detail: str


def checks() -> list[Diagnosis]:
    """Check Python, every package, the processor, the lab if it is installed, and the disk."""
    return [python(), *packages(), *processor(), *lab(), disk()]


def format_diagnoses(findings: list[Diagnosis]) -> str:
    """Return one line for each finding, ✓ or ✗ first."""
    width = max((len(one.name) for one in findings), default=0)
    return "\n".join(f"{'✓' if f.ok else '✗'} {f.name:<{width}}  {f.detail}" for f in findings)


def python() -> Diagnosis:
    """Compare the running Python with `requires-python`."""
    have = ".".join(map(str, sys.version_info[:3]))
    try:
        bounds = SpecifierSet(metadata.metadata("babygpt")["Requires-Python"])
    except metadata.PackageNotFoundError:
        bounds = SpecifierSet()
    ok = bounds.contains(have, prereleases=True)
    return Diagnosis("Python", ok, have if ok else f"{have}, but babygpt needs {bounds}")


def requirements(extra: str) -> list[Requirement]:
    """Return the requirements of babygpt itself (""), or of an extra; nothing where it is not installed."""
    try:
        wanted = [Requirement(line) for line in metadata.requires("babygpt") or []]
    except metadata.PackageNotFoundError:
        return []
    needed = [one for one in wanted if one.marker is None or one.marker.evaluate({"extra": extra})]
    return [one for one in needed if ("extra" in str(one.marker)) == bool(extra)]


def packages() -> list[Diagnosis]:
    """Compare each package that babygpt always needs with its bounds."""
    missing = Diagnosis("babygpt", False, f"is not installed: {FIX}")
    return [package(need) for need in requirements("")] or [missing]


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

        from babygpt.device import device_name, pick_device
        from babygpt.memory import device_memory

        name, threads, allowed = device_name(pick_device()), torch.get_num_threads(), cpu_count()
    except (BadInput, ImportError, OSError, RuntimeError) as error:
        what = "" if isinstance(error, BadInput) else "no model runs here: "
        yield Diagnosis("device", False, f"{what}{error}")
        return
    yield Diagnosis("device", True, name)
    yield Diagnosis("memory", True, f"{device_memory(torch.device('cpu')) / 1e9:.1f} GB")
    slow = threads > allowed and "OMP_NUM_THREADS" in os.environ  # else training takes what is allowed
    advice = f", which slows training: set OMP_NUM_THREADS={allowed}" if slow else ""
    yield Diagnosis("threads", not slow, f"{threads} for PyTorch, {allowed} allowed{advice}")


def lab() -> Iterator[Diagnosis]:
    """Check JupyterLab, its widgets and its command, or say in one line that they are not installed."""
    found = [package(need) for need in requirements("lab")]
    own = [one for one in found if one.name != "ipykernel"]  # which an editor may have brought
    if own and all(one.detail.startswith("missing") for one in own):
        yield Diagnosis("lab", True, f"not installed; the notebooks need it: {FIX}")
        return
    yield from found
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
    return Diagnosis(
        "jupyter", running, f"{found} belongs to another environment: to open the course, {advice}"
    )


def widgets() -> Diagnosis:
    """Check that ipywidgets can be imported and that JupyterLab first finds the extension that draws them."""
    try:
        have = import_module("ipywidgets").__version__
        from jupyter_core.paths import jupyter_path

        files = metadata.files("jupyterlab_widgets") or []
    except (ImportError, metadata.PackageNotFoundError) as error:
        return Diagnosis("widgets", False, f"no sliders: {error}; {FIX}")
    folders = [Path(folder) / MANAGER for folder in jupyter_path("labextensions")]
    first = next((folder for folder in folders if (folder / "package.json").is_file()), None)
    if first is None:
        advice = "`pip install --force-reinstall jupyterlab_widgets`"
        return Diagnosis("widgets", False, f"no sliders: JupyterLab's widget extension is missing; {advice}")
    own = [Path(str(f.locate())).parent for f in files if f.as_posix().endswith(f"{MANAGER}/package.json")]
    if own and own[0].resolve() != first.resolve():
        return Diagnosis("widgets", False, f"another copy hides the one of ipywidgets: remove {first}")
    return Diagnosis("widgets", True, f"ipywidgets {have}; JupyterLab has {MANAGER}")


def disk() -> Diagnosis:
    """Check that checkpoints and figures fit into the current folder's file system."""
    free = shutil.disk_usage(Path.cwd()).free
    advice = "" if free >= DISK else ", 1 GB is needed"
    return Diagnosis("disk", not advice, f"{free / 1e9:.1f} GB free{advice}")
