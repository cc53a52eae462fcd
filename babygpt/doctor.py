"""Check whether everything that the course needs is installed, and say what to do where it is not.

The bounds come from the installed package's own metadata (pyproject.toml), so that they are written once.
PyTorch and Jupyter are imported inside the checks, because a broken one is a finding. What is advised to be
typed can be typed here: with the path of this Python, and no program that is not installed.
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
from babygpt.packages import (
    DISTRIBUTION,
    STRANGERS,
    install_command,
    missing_package,
    pip_line,
    requirements,
    shell_line,
)

MANAGER = "@jupyter-widgets/jupyterlab-manager"
DISK = 1e9  # bytes: the corpus, checkpoints and figures need less
# Packages that only the extra `lab` brings. An editor or the package transformers may bring its other ones.
LAB = {"jupyterlab", "ipywidgets", "anywidget"}
NEEDLESS = {  # packages of the extra that an editor can do without
    "jupyterlab": "VS Code and Colab open notebooks without it",
    "gguf": "only lesson 11 needs it",
    "tokenizers": "only lesson 11 needs it",
}


class Diagnosis(NamedTuple):
    """One finding: its subject, whether it suffices, and details."""

    name: str
    ok: bool
    detail: str


def checks() -> list[Diagnosis]:
    """Check every package, the processor, the lab if it is installed, the disk, and what others register."""
    try:
        always = [package(need) for need in requirements()]
    except metadata.PackageNotFoundError:
        advice = "install its wheel, or its clone with `make env`; its files alone do not suffice"
        return [Diagnosis(DISTRIBUTION, False, f"is not installed: {advice}")]
    python = Diagnosis("Python", True, platform.python_version())  # an older one cannot import babygpt
    return [
        python,
        *strangers(),
        *always,
        *processor(),
        *lab(requirements("lab")),
        disk(),
        *registered_checks(),
    ]


def strangers() -> Iterator[Diagnosis]:
    """Warn of another project's distribution `babygpt`, which writes into the same folder as ours."""
    if have := version_of(STRANGERS):
        advice = f"run `{pip_line('uninstall', STRANGERS)}`, then install the course ({DISTRIBUTION}) again"
        yield Diagnosis(STRANGERS, False, f"{have} may have replaced files of the course: {advice}")


def version_of(name: str) -> str | None:
    """Return the installed version of a distribution, or None."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def format_diagnoses(findings: list[Diagnosis]) -> str:
    """Return one line for each finding, ✓ or ✗ first."""
    width = max((len(f.name) for f in findings), default=0)
    return "\n".join(f"{'✓' if f.ok else '✗'} {f.name:<{width}}  {f.detail}" for f in findings)


def package(need: Requirement, extra: str = "") -> Diagnosis:
    """Compare the installed version of one package with its bounds."""
    have, advice = version_of(need.name), f"run `{install_command(extra, [need])}`"
    if have is None:
        return Diagnosis(need.name, False, f"missing: {advice}")
    if need.specifier.contains(have, prereleases=True):
        return Diagnosis(need.name, True, f"{have}, within {need.specifier}")
    return Diagnosis(need.name, False, f"{have}, but {need.specifier} is needed: {advice}")


def processor() -> Iterator[Diagnosis]:
    """Describe the device that training will use, the memory, and PyTorch's threads."""
    try:
        import torch
        from joblib import cpu_count

        from babygpt.device import device_memory, device_name, pick_device

        name, threads, allowed = device_name(pick_device()), torch.get_num_threads(), cpu_count()
    except (BadInput, ImportError, OSError, RuntimeError) as error:
        runtime = "; install Microsoft's Visual C++ Redistributable, and start again"
        advice = runtime if "[WinError 126]" in str(error) else ""  # a DLL that PyTorch's own need
        yield Diagnosis("device", False, f"no model runs here: {error}{advice}")
        return
    yield Diagnosis("device", True, name)
    yield Diagnosis("memory", True, f"{device_memory(torch.device('cpu')) / 1e9:.1f} GB")
    # Without the variable, training takes no more threads than are allowed.
    slow = threads > allowed and "OMP_NUM_THREADS" in os.environ
    advice = f", which slows training: set OMP_NUM_THREADS={allowed}" if slow else ""
    yield Diagnosis("threads", not slow, f"{threads} for PyTorch, {allowed} allowed{advice}")


def lab(needs: list[Requirement]) -> Iterator[Diagnosis]:
    """Check what the notebooks need: JupyterLab and its widgets, or what an editor such as VS Code needs.

    One line says that nothing of it is installed. In an editor's set JupyterLab may be missing, and so may
    the packages that only lesson 11 needs.
    """
    have = {need.name for need in needs if version_of(need.name)}
    if not have & LAB:
        yield Diagnosis("lab", True, f"not installed; the notebooks need it: run `{install_command('lab')}`")
        return
    in_editor = "jupyterlab" not in have
    for need in needs:
        if in_editor and need.name in NEEDLESS.keys() - have:
            advice = f"{NEEDLESS[need.name]}: run `{install_command('lab', [need])}`"
            yield Diagnosis(need.name, True, f"not installed; {advice}")
        elif "COLAB_RELEASE_TAG" not in os.environ or need.name != "ipykernel":  # Colab brings its own kernel
            yield package(need, "lab")
    yield widgets(in_editor)
    if not in_editor:
        yield jupyter()


def jupyter() -> Diagnosis:
    """Check that the command `jupyter` starts the JupyterLab of this Python, not another environment's."""
    command, advice = shutil.which("jupyter"), f"type `{shell_line([sys.executable, '-m', 'jupyterlab'])}`"
    if command is None:
        return Diagnosis("jupyter", True, f"is not on the PATH: to open the course, {advice}")
    if Path(command).parent.resolve() == Path(sysconfig.get_path("scripts")).resolve():
        return Diagnosis("jupyter", True, command)
    running = "ipykernel" in sys.modules  # the course is open already
    return Diagnosis("jupyter", running, f"{command} is of another environment: to open the course, {advice}")


def widgets(in_editor: bool = False) -> Diagnosis:
    """Check that ipywidgets can be imported, and that JupyterLab finds the extension that draws them."""
    try:
        have = import_module("ipywidgets").__version__
    except ImportError as error:
        return Diagnosis("widgets", False, f"no sliders: {error}; run `{install_command('lab')}`")
    if in_editor:
        return Diagnosis("widgets", True, f"ipywidgets {have}, drawn by your editor")
    folders = import_module("jupyter_core.paths").jupyter_path("labextensions")
    if any((Path(folder) / MANAGER / "package.json").is_file() for folder in folders):
        return Diagnosis("widgets", True, f"ipywidgets {have}; JupyterLab has {MANAGER}")
    advice = pip_line("install", "--force-reinstall", "--no-deps", "jupyterlab_widgets")
    return Diagnosis("widgets", False, f"no sliders: JupyterLab lacks its part of ipywidgets; run `{advice}`")


def disk() -> Diagnosis:
    """Check that checkpoints and figures fit into the current folder's file system."""
    free = shutil.disk_usage(Path.cwd()).free
    advice = "" if free >= DISK else ", 1 GB is needed"
    return Diagnosis("disk", not advice, f"{free / 1e9:.1f} GB free{advice}")


def registered_checks() -> Iterator[Diagnosis]:
    """Yield the finding of each function that a package registers as an entry point of `babygpt.checks`."""
    for point in metadata.entry_points(group="babygpt.checks"):
        try:
            yield point.load()()
        except ImportError as error:
            yield Diagnosis(point.name, False, f"cannot be checked: {missing_package(error) or error}")
