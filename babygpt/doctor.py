"""Checks whether everything is here that the course needs, and what to do where it is not.

The bounds come from the installed package's own metadata (pyproject.toml), so that they are
written once. Torch and Jupyter are imported inside the checks: a broken one is a finding.
"""

import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from babygpt.errors import BadInput
from babygpt.quotas import available_cores, core_limits

FIX = "run `make env`, or `pip install -e '.[lab]'` in your own environment"
KERNELS = (  # what was seen of each ipykernel: from which version on, whether it will do, in words
    ("7.5", False, "not tested; 6.29 to 6.31 lose nothing"),
    ("7.4", False, "drops slider events while a cell runs"),
    ("7.0", False, "may lose a request now and then (ipykernel issue 1554)"),
    ("6.32", True, "not tested; 6.29 to 6.31 lose nothing"),
    ("6.29", True, "loses no request; a waiting cell stays alive"),
    ("0", False, "not tested; 6.29 to 6.31 lose nothing"),
)
MANAGER = "@jupyter-widgets/jupyterlab-manager"
DISK = 1e9  # bytes: the corpus, checkpoints and figures need less


@dataclass(frozen=True)
class Check:
    """One finding: what was looked at, whether it will do, and what was seen."""

    name: str
    ok: bool
    detail: str


def checks() -> list[Check]:
    """Look at Python, every runtime package, cores, device, memory, the widgets and the disk."""
    return [
        python(),
        *packages(),
        cores(),
        *processor(),
        kernel(),
        widgets_in_kernel(),
        widgets_in_browser(),
        disk(),
    ]


def report(findings: list[Check]) -> str:
    """One line for each check, ✓ or ✗ first."""
    width = max((len(check.name) for check in findings), default=0)
    return "\n".join(f"{'✓' if c.ok else '✗'} {c.name:<{width}}  {c.detail}" for c in findings)


def requirements() -> list[Requirement]:
    """What babygpt and its notebooks (the extra `lab`) require; nothing where it is not installed."""
    try:
        lines = metadata.requires("babygpt") or []
    except metadata.PackageNotFoundError:
        return []
    wanted = [Requirement(line) for line in lines]
    return [r for r in wanted if r.marker is None or r.marker.evaluate({"extra": "lab"})]


def python() -> Check:
    """The running Python against `requires-python`."""
    have = ".".join(map(str, sys.version_info[:3]))
    try:
        bounds = SpecifierSet(metadata.metadata("babygpt")["Requires-Python"])
    except metadata.PackageNotFoundError:
        bounds = SpecifierSet()
    ok = bounds.contains(have, prereleases=True)
    return Check("Python", ok, have if ok else f"{have}, but babygpt needs {bounds}")


def packages() -> Iterator[Check]:
    """Each runtime package against its bounds; babygpt itself where even that is missing."""
    wanted = requirements()
    if not wanted:
        yield Check("babygpt", False, f"is not installed: {FIX}")
    for need in wanted:
        yield package(need)


def package(need: Requirement) -> Check:
    """The installed version of one package against its bounds."""
    try:
        have = metadata.version(need.name)
    except metadata.PackageNotFoundError:
        return Check(need.name, False, f"missing: {FIX}")
    if need.specifier.contains(have, prereleases=True):
        return Check(need.name, True, f"{have}, within {need.specifier}")
    return Check(need.name, False, f"{have}, but {need.specifier} is needed: {FIX}")


def processor() -> Iterator[Check]:
    """The device that training will use, its memory, and torch's threads against the cores it may use."""
    try:
        import torch

        from babygpt.device import pick_device, threads_were_chosen

        device, threads, allowed = pick_device(), torch.get_num_threads(), available_cores()
        name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    except BadInput as error:
        yield Check("device", False, str(error))
        return
    except (ImportError, OSError, RuntimeError) as error:
        yield Check("device", False, f"torch does not work here: {error}")
        return
    yield Check("device", True, name)
    yield room()
    if threads > allowed and not threads_were_chosen():
        yield Check(
            "threads", True, f"{allowed} when a model trains; {threads} is what torch takes by itself"
        )
        return
    slow = "" if threads <= allowed else f", which slows training: set OMP_NUM_THREADS={allowed}"
    yield Check("threads", not slow, f"{threads} for torch, {allowed} allowed{slow}")


def cores() -> Check:
    """How many of the machine's cores this process may use, and what says so."""
    limits = core_limits()
    why, most = min(limits.items(), key=lambda limit: limit[1])
    detail = f"{limits['']:g} in this machine"
    return Check("cores", True, f"{most:g} of {detail}{why}" if most < limits[""] else detail)


def room() -> Check:
    """How much of the machine's memory this process may use, and what says so."""
    from babygpt.memory import limits  # imports torch

    have = limits()
    why, most = min(have.items(), key=lambda limit: limit[1])
    detail = f"{have[''] / 1e9:.1f} GB in this machine"
    return Check("memory", True, f"{most / 1e9:.1f} of {detail}{why}" if most < have[""] else detail)


def kernel() -> Check:
    """Whether the installed ipykernel hears every request, and sliders while a cell waits."""
    try:
        have = metadata.version("ipykernel")
    except metadata.PackageNotFoundError:
        return Check("kernel", False, f"no ipykernel: {FIX}")
    ok, words = next((ok, words) for first, ok, words in KERNELS if Version(have) >= Version(first))
    return Check("kernel", ok, f"ipykernel {have}: {words}" + ("" if ok else f"; {FIX}"))


def widgets_in_kernel() -> Check:
    """Whether ipywidgets can be imported, and its half in JupyterLab has the version that it asks for."""
    name = "widgets, kernel"
    try:
        have = import_module("ipywidgets").__version__
        asked = [Requirement(line) for line in metadata.requires("ipywidgets") or []]
        need = next(r for r in asked if r.name.replace("-", "_") == "jupyterlab_widgets")
        half = metadata.version(need.name)
    except (ImportError, StopIteration) as error:
        return Check(name, False, f"no sliders: {error}; {FIX}")
    if not need.specifier.contains(half, prereleases=True):
        detail = f"no sliders: ipywidgets {have} needs {need}, found {half}; {FIX}"
        return Check(name, False, detail)
    return Check(name, True, f"ipywidgets {have} with {need.name} {half}")


def widgets_in_browser() -> Check:
    """Whether the extension that draws widgets is the first that JupyterLab finds in its folders."""
    name = "widgets, browser"
    try:
        from jupyter_core.paths import jupyter_path
    except ImportError as error:
        return Check(name, False, f"no JupyterLab: {error}; {FIX}")
    paths = [Path(folder) / MANAGER / "package.json" for folder in jupyter_path("labextensions")]
    first = next((path for path in paths if path.is_file()), None)
    if first is None:
        detail = "no sliders: JupyterLab's widget extension is in none of its folders"
        return Check(name, False, f"{detail}; `pip install --force-reinstall jupyterlab_widgets`")
    own = own_manager()
    if own and own.resolve() != first.resolve():
        detail = f"another copy hides the one installed with ipywidgets: remove {first.parent}"
        return Check(name, False, detail)
    return Check(name, True, f"JupyterLab has {MANAGER}")


def own_manager() -> Path | None:
    """The widget extension that came with the installed ipywidgets, where pip noted it down."""
    try:
        files = metadata.files("jupyterlab_widgets") or []
    except metadata.PackageNotFoundError:
        return None
    found = (f for f in files if f.as_posix().endswith(f"{MANAGER}/package.json"))
    return next((Path(str(f.locate())) for f in found), None)


def disk() -> Check:
    """Whether checkpoints and figures will fit into the current folder's file system."""
    free = shutil.disk_usage(Path.cwd()).free
    ok = free >= DISK
    return Check("disk", ok, f"{free / 1e9:.1f} GB free" + ("" if ok else ", 1 GB is needed"))
