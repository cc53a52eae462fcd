"""The doctor against facts found another way, and in situations broken on purpose."""

import shlex
import shutil
import sys
import sysconfig
import tomllib
from importlib import metadata
from pathlib import Path

import joblib
import jupyter_core.paths
import pytest
import torch
from click.testing import CliRunner
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from babygpt import doctor
from babygpt.cli import main
from babygpt.doctor import Diagnosis, checks
from babygpt.packages import install_command

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ALWAYS = [Requirement(line).name for line in PROJECT["dependencies"]]
LAB = [Requirement(line).name for line in PROJECT["optional-dependencies"]["lab"]]
LINES = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["lab"]]
NEEDS = {need.name: need for need in map(Requirement, LINES)}
# An editor brings these, and transformers bring tokenizers.
EDITOR = {"ipykernel", "ipython", "jupyter-core", "tokenizers", "traitlets"}


def finding(name: str) -> Diagnosis:
    """Return the one diagnosis of a name."""
    (diagnosis,) = [check for check in checks() if check.name == name]
    return diagnosis


@pytest.fixture
def pretend(monkeypatch):
    """Pretend that packages have another version, or are missing (None)."""
    real = metadata.version

    def look_like(**versions: str | None) -> None:
        def version(name: str) -> str:
            replacement = versions.get(canonicalize_name(name).replace("-", "_"), real)
            if replacement is None:
                raise metadata.PackageNotFoundError(name)
            return real(name) if replacement is real else replacement

        monkeypatch.setattr(doctor.metadata, "version", version)

    return look_like


# ---------------------------------------------------------------- this environment


def test_this_environment_passes_and_every_package_is_checked_once(monkeypatch):
    monkeypatch.setenv("PATH", sysconfig.get_path("scripts"))
    diagnoses = checks()
    assert [check for check in diagnoses if not check.ok] == []
    names = [check.name for check in diagnoses]
    assert [name for name in names if name in ALWAYS + LAB] == sorted(ALWAYS) + sorted(LAB)
    assert finding("Python").detail == "{}.{}.{}".format(*sys.version_info)


# ---------------------------------------------------------------- planted faults


@pytest.mark.parametrize(
    ("name", "version", "ok"),
    [
        ("torch", "2.8.1", False),
        ("torch", "2.13.0+cpu", True),
        ("ipywidgets", None, False),
    ],
)
def test_versions_outside_the_bounds_fail(pretend, name: str, version: str | None, ok: bool):
    pretend(**{name: version})
    diagnosis = finding(name)
    assert diagnosis.ok is ok
    assert (install_command("lab" if name in LAB else "", [NEEDS[name]]) in diagnosis.detail) is not ok
    assert diagnosis.detail.startswith(version or "missing")


@pytest.mark.parametrize("brought", [set(), EDITOR], ids=["shell", "editor"])
def test_an_install_without_the_lab_passes_with_one_line(pretend, brought: set[str]):
    pretend(**dict.fromkeys({*LAB} - brought))
    done = CliRunner().invoke(main, ["doctor"])
    assert done.exit_code == 0, done.output
    assert [line[:5] for line in done.output.splitlines() if install_command("lab") in line] == ["✓ lab"]
    assert not {check.name for check in checks()} & {*LAB, "widgets", "jupyter"}


@pytest.mark.parametrize("colab", [False, True])
def test_an_editors_set_passes_without_what_it_does_not_need(pretend, monkeypatch, colab: bool):
    """Take what VS Code needs, and Colab's older kernel, which nobody can exchange there."""
    pretend(jupyterlab=None, gguf=None, tokenizers=None, ipykernel="6.17.1" if colab else "6.31.0")
    if colab:
        monkeypatch.setenv("COLAB_RELEASE_TAG", "release")
    diagnoses = {check.name: check for check in checks()}
    assert [check for check in diagnoses.values() if not check.ok] == []
    assert "without it" in diagnoses["jupyterlab"].detail
    assert all("lesson 11" in diagnoses[name].detail for name in ("gguf", "tokenizers"))
    assert "drawn by your editor" in diagnoses["widgets"].detail
    assert "jupyter" not in diagnoses  # Its advice is to start JupyterLab.


def test_a_widget_that_an_editors_set_lacks_is_reported(pretend):
    pretend(jupyterlab=None, anywidget=None)
    assert not finding("anywidget").ok


def test_the_package_of_strangers_is_reported_with_the_way_to_remove_it(pretend):
    assert [check for check in checks() if check.name == "babygpt"] == []
    pretend(babygpt="1.1.4")
    assert not finding("babygpt").ok
    assert f"{shlex.quote(sys.executable)} -m pip uninstall babygpt" in finding("babygpt").detail


def test_a_pytorch_whose_libraries_windows_lacks_is_explained(monkeypatch):
    def lacking():
        raise OSError("[WinError 126] The specified module could not be found. Error loading fbgemm.dll")

    monkeypatch.setattr("babygpt.device.pick_device", lacking)
    assert finding("device").detail.endswith(
        "install Microsoft's Visual C++ Redistributable, and start again"
    )


def test_the_jupyter_that_the_path_finds_is_this_environments(monkeypatch, tmp_path: Path):
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", "/my tools/python")
    help = "'/my tools/python' -m jupyterlab"
    assert finding("jupyter").ok
    assert help in finding("jupyter").detail
    (tmp_path / "jupyter").touch(mode=0o755)
    assert finding("jupyter").detail.startswith(f"{tmp_path / 'jupyter'} is of another environment")
    assert help in finding("jupyter").detail
    assert not finding("jupyter").ok
    # Code runs in a notebook, which was opened somehow.
    monkeypatch.setitem(sys.modules, "ipykernel", doctor)
    assert finding("jupyter").ok
    monkeypatch.setenv("PATH", sysconfig.get_path("scripts"))
    assert finding("jupyter") == Diagnosis("jupyter", True, shutil.which("jupyter"))


def test_broken_widgets_are_reported(monkeypatch, tmp_path: Path):
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "ipywidgets", None)
        assert finding("widgets").detail.startswith("no sliders: ")
    monkeypatch.setattr(jupyter_core.paths, "jupyter_path", lambda *_: [str(tmp_path)])
    assert "jupyterlab_widgets" in finding("widgets").detail


def test_a_registered_check_that_cannot_be_imported_is_reported(monkeypatch):
    point = metadata.EntryPoint("theirs", "babygpt_of_theirs:check", "babygpt.checks")
    monkeypatch.setattr(metadata, "entry_points", lambda group: [point])
    assert not finding("theirs").ok
    assert "babygpt_of_theirs" in finding("theirs").detail


def test_device_memory_and_threads_are_reported(monkeypatch):
    monkeypatch.setattr("babygpt.device.device_memory", lambda device: 2 * 10**9)
    monkeypatch.setattr(joblib, "cpu_count", lambda: 2)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert finding("memory") == Diagnosis("memory", True, "2.0 GB")
    assert finding("threads") == Diagnosis("threads", True, "8 for PyTorch, 2 allowed")
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    assert not finding("threads").ok
    assert "OMP_NUM_THREADS=2" in finding("threads").detail
    monkeypatch.setenv("BABYGPT_DEVICE", "toaster")
    assert "BABYGPT_DEVICE (toaster)" in finding("device").detail
