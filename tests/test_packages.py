"""Advice on what to install can be typed: in a clone, with a wheel alone, with spaces in a path."""

import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from babygpt import packages
from babygpt.packages import install_command, missing_package, requirements

SWEEP = [f"{need.name}{need.specifier}" for need in requirements("sweep")]


@pytest.fixture
def place(monkeypatch, tmp_path: Path):
    """Return a function that pretends that babygpt lies in a clone or in site-packages, beside a Python."""

    def pretend(clone: bool, own: bool = False, programs: tuple[str, ...] = ()) -> Path:
        folder = tmp_path / "my course"
        folder.mkdir()
        if clone:
            (folder / "pyproject.toml").touch()
        monkeypatch.setattr(packages, "CLONE", folder)
        monkeypatch.setattr(sys, "executable", str(folder / ".venv" / "bin" / "python"))
        monkeypatch.setattr(sys, "prefix", str(folder / ".venv" if own else tmp_path))
        monkeypatch.setattr(packages.shutil, "which", lambda name: name if name in programs else None)
        return folder

    return pretend


def test_a_wheel_alone_installs_packages_by_name(place):
    place(clone=False, programs=("make",))
    assert shlex.split(install_command("sweep")) == [sys.executable, "-m", "pip", "install", *SWEEP]
    assert "'" in install_command("sweep")  # The path has a space and is quoted.


def test_a_clone_installs_packages_at_the_versions_that_it_holds(place):
    folder = place(clone=True, programs=("make",))
    assert shlex.split(install_command("sweep"))[4:] == ["-c", str(folder / "constraints.txt"), *SWEEP]


@pytest.mark.parametrize("inside", [True, False])
def test_an_environment_of_make_is_repaired_by_make(place, monkeypatch, tmp_path, inside: bool):
    folder = place(clone=True, own=True, programs=("make",))
    monkeypatch.chdir(folder if inside else tmp_path)
    where = [] if inside else ["-C", str(folder)]
    assert shlex.split(install_command("lab")) == ["make", "-B", *where, "env"]


def test_no_program_is_advised_that_is_not_installed(place, monkeypatch):
    place(clone=True, own=True)
    assert shlex.split(install_command("sweep"))[:4] == [sys.executable, "-m", "pip", "install"]
    monkeypatch.setattr(packages, "find_spec", lambda name: None)  # uv makes environments without pip
    monkeypatch.setattr(packages.shutil, "which", lambda name: name if name == "uv" else None)
    assert shlex.split(install_command("sweep"))[:5] == ["uv", "pip", "install", "--python", sys.executable]


def test_powershell_gets_its_own_quotes(monkeypatch):
    monkeypatch.setattr(packages, "os", SimpleNamespace(name="nt"))
    line = packages.shell_line([r"C:\My course\python.exe", "-m", "pip", "install", "ipykernel<7,>=6.29"])
    assert line == r'& "C:\My course\python.exe" -m pip install "ipykernel<7,>=6.29"'
    assert packages.shell_line([r"C:\python.exe", "-m"]) == r"C:\python.exe -m"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gguf", "gguf is not installed, and comes with the extra `lab`: run `"),
        ("IPython.display", "IPython is not installed, and comes with the extra `lab`: run `"),
        ("torch", "torch is not installed: run `"),
        ("PIL", "PIL is not installed: run `"),
        ("antigravity", None),
    ],
)
def test_a_missing_package_is_named_with_its_extra(name: str, words: str | None):
    line = missing_package(ModuleNotFoundError(f"No module named {name!r}", name=name))
    assert line is words if words is None else str(line).startswith(words)
    assert missing_package(ImportError("DLL load failed", name=name)) is None  # it is there, and broken
