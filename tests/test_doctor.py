"""The doctor against facts found another way, and in situations broken on purpose."""

import json
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from collections import namedtuple
from importlib import metadata
from pathlib import Path

import jupyter_core.paths
import pytest
import torch
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from babygpt import device, doctor
from babygpt.doctor import Check, checks, report

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RUNTIME = [
    Requirement(line).name
    for line in [*PROJECT["dependencies"], *PROJECT["optional-dependencies"].get("lab", [])]
]


def finding(name: str) -> Check:
    """The one check called `name`."""
    (check,) = [check for check in checks() if check.name == name]
    return check


def pretend(monkeypatch: pytest.MonkeyPatch, name: str, version: str | None) -> None:
    """Make the package `name` look like another version, or missing (None)."""
    real = metadata.version

    def fake(asked: str) -> str:
        if canonicalize_name(asked) != canonicalize_name(name):
            return real(asked)
        if version is None:
            raise metadata.PackageNotFoundError(name)
        return version

    monkeypatch.setattr(doctor.metadata, "version", fake)


# ---------------------------------------------------------------- as it is here


def test_all_is_well_where_the_tests_run():
    assert [check for check in checks() if not check.ok] == []


def test_every_runtime_package_is_looked_at_once_and_no_other():
    names = [check.name for check in doctor.packages()]
    assert sorted(names) == sorted(RUNTIME)


def test_versions_are_those_that_pip_lists():
    command = [sys.executable, "-m", "pip", "list", "--format=json"]
    listed = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    versions = {p["name"].lower(): p["version"] for p in listed}
    for check in doctor.packages():
        assert check.detail.startswith(versions[check.name]), check


def test_python_is_the_one_that_runs():
    assert finding("Python").detail == "{}.{}.{}".format(*sys.version_info)


def test_device_is_the_best_there_is():
    if torch.cuda.is_available():
        expected = torch.cuda.get_device_name()
    elif torch.backends.mps.is_available():
        expected = "mps"
    else:
        expected = "cpu"
    assert finding("device") == Check("device", True, expected)


def test_widget_extension_is_found_where_pip_put_it():
    share = Path(sysconfig.get_path("data")) / "share" / "jupyter" / "labextensions"
    assert doctor.own_manager().resolve() == (share / doctor.MANAGER / "package.json").resolve()


# ---------------------------------------------------------------- broken on purpose


@pytest.mark.parametrize(
    ("version", "ok", "words"),
    [
        ("6.17.1", False, "not tested; 6.29 to 6.31"),
        ("6.28.0", False, "not tested"),
        ("6.29.0", True, "loses no request; a waiting cell stays alive"),
        ("6.31.1", True, "loses no request; a waiting cell stays alive"),
        ("6.32.0", True, "not tested; 6.29 to 6.31"),
        ("7.0.0", False, "may lose a request now and then (ipykernel issue 1554)"),
        ("7.3.9", False, "may lose a request now and then (ipykernel issue 1554)"),
        ("7.4.0", False, "drops slider events while a cell runs"),
        ("7.5.0a1", False, "drops slider events while a cell runs"),
        ("7.5.0", False, "not tested; 6.29 to 6.31"),
        ("8.0", False, "not tested; 6.29 to 6.31"),
    ],
)
def test_kernel_is_said_to_do_what_was_measured(monkeypatch, version: str, ok: bool, words: str):
    pretend(monkeypatch, "ipykernel", version)
    check = doctor.kernel()
    assert check.detail.startswith(f"ipykernel {version}: ")
    assert words in check.detail
    assert ("make env" in check.detail) is not check.ok
    assert check.ok is ok


def test_missing_kernel_is_seen(monkeypatch):
    pretend(monkeypatch, "ipykernel", None)
    assert not doctor.kernel().ok


@pytest.mark.parametrize(
    ("name", "version", "ok"),
    [
        ("torch", "2.8.1", False),
        ("torch", "2.13.0+cpu", True),
        ("numpy", "1.26.4", False),
        ("ipykernel", "7.3.0", False),
    ],
)
def test_bounds_are_kept(monkeypatch, name: str, version: str, ok: bool):
    pretend(monkeypatch, name, version)
    assert finding(name).ok is ok


def test_missing_package_is_seen(monkeypatch):
    pretend(monkeypatch, "pooch", None)
    assert not finding("pooch").ok
    assert "missing" in finding("pooch").detail


def test_babygpt_not_installed_is_seen(monkeypatch):
    def gone(name: str):
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(doctor.metadata, "requires", gone)
    assert not finding("babygpt").ok


def test_old_python_is_seen(monkeypatch):
    monkeypatch.setattr(doctor.sys, "version_info", (3, 10, 4, "final", 0))
    check = doctor.python()
    assert not check.ok
    assert check.detail.startswith("3.10.4")


def test_missing_ipywidgets_means_no_sliders(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    check = finding("widgets, kernel")
    assert not check.ok
    assert "no sliders" in check.detail
    assert "ipywidgets" in check.detail


@pytest.mark.parametrize("version", ["1.1.11", "4.0.0", None])
def test_wrong_other_half_of_ipywidgets_is_seen(monkeypatch, version: str | None):
    pretend(monkeypatch, "jupyterlab_widgets", version)
    check = finding("widgets, kernel")
    assert not check.ok
    assert "jupyterlab_widgets" in check.detail.replace("-", "_")


def test_missing_extension_is_seen(monkeypatch, tmp_path: Path):
    monkeypatch.setattr(jupyter_core.paths, "jupyter_path", lambda *_: [str(tmp_path)])
    check = finding("widgets, browser")
    assert not check.ok
    assert "jupyterlab_widgets" in check.detail


def test_extension_hidden_by_another_copy_is_seen(monkeypatch, tmp_path: Path):
    own = doctor.own_manager()
    shutil.copytree(own.parent, tmp_path / doctor.MANAGER)
    folders = [str(tmp_path), str(own.parent.parent.parent)]
    monkeypatch.setattr(jupyter_core.paths, "jupyter_path", lambda *_: folders)
    check = finding("widgets, browser")
    assert not check.ok
    assert str(tmp_path) in check.detail
    monkeypatch.setattr(jupyter_core.paths, "jupyter_path", lambda *_: folders[::-1])
    assert finding("widgets, browser").ok


def test_a_device_that_is_not_here_is_seen(monkeypatch):
    monkeypatch.setenv("BABYGPT_DEVICE", "toaster")
    check = finding("device")
    assert not check.ok
    assert "BABYGPT_DEVICE (toaster)" in check.detail


def test_more_threads_than_cores_are_seen(monkeypatch):
    monkeypatch.setattr(doctor, "available_cores", lambda: 2)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    check = finding("threads")
    assert not check.ok
    assert "OMP_NUM_THREADS=2" in check.detail


def test_threads_above_a_quota_that_nobody_chose_are_brought_down(monkeypatch):
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(doctor, "available_cores", lambda: 1)
    monkeypatch.setattr(device, "bound_cores", lambda: 64)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 64)
    assert finding("threads") == Check(
        "threads", True, "1 when a model trains; 64 is what torch takes by itself"
    )


def test_the_cores_are_named_with_what_limits_them(monkeypatch):
    monkeypatch.setattr(doctor, "core_limits", lambda: {"": 64, " (bound)": 32, " (a quota)": 1.5})
    assert finding("cores") == Check("cores", True, "1.5 of 64 in this machine (a quota)")
    monkeypatch.setattr(doctor, "core_limits", lambda: {"": 64, " (bound)": 64})
    assert finding("cores") == Check("cores", True, "64 in this machine")


def test_the_memory_is_named_with_what_limits_it(monkeypatch):
    monkeypatch.setattr("babygpt.memory.limits", lambda: {"": 64 * 10**9, " (a quota)": 2 * 10**9})
    assert finding("memory") == Check("memory", True, "2.0 of 64.0 GB in this machine (a quota)")
    monkeypatch.setattr("babygpt.memory.limits", lambda: {"": 64 * 10**9})
    assert finding("memory") == Check("memory", True, "64.0 GB in this machine")


def test_full_disk_is_seen(monkeypatch):
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda _: usage(100e9, 99.9e9, 0.1e9))
    assert finding("disk") == Check("disk", False, "0.1 GB free, 1 GB is needed")


def test_device_that_fails_is_a_finding(monkeypatch):
    monkeypatch.setitem(sys.modules, "babygpt.device", None)
    assert not finding("device").ok


# ---------------------------------------------------------------- the report


def test_report_has_one_line_each_with_a_mark():
    lines = report([Check("a", True, "fine"), Check("longer", False, "no")]).splitlines()
    assert lines == ["✓ a       fine", "✗ longer  no"]


def test_report_of_nothing_is_empty():
    assert report([]) == ""
