"""Wheel by itself: in a fresh folder, far from the repository, without the extra `lab`."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
LAB = ("IPython", "anywidget", "gguf", "ipykernel", "ipywidgets", "jupyterlab", "tokenizers")
WITHOUT_LAB = f"import sys\nsys.modules.update(dict.fromkeys({LAB}))\n"  # to import one raises ImportError
COMMAND = "import runpy\nrunpy.run_module('babygpt', run_name='__main__')"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """Build the wheel, without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    build = ["wheel", str(ROOT), "--no-deps", "--no-build-isolation", "--no-index", "-w", str(folder)]
    subprocess.run([*PIP, *build], check=True)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory) -> Path:
    """Return a fresh folder with the wheel in it, and nothing else."""
    folder = tmp_path_factory.mktemp("installed")
    into = ["install", "--no-deps", "--no-index", "--target", str(folder), str(wheel)]
    subprocess.run([*PIP, *into], check=True)
    return folder


def run(installed: Path, code: str, *words: str, cwd: Path) -> subprocess.CompletedProcess:
    """Run `code` in another folder with the wheel's babygpt, the environment's other packages and no `lab`.

    -S leaves the environment's .pth files unread, and with them the repository that they point to.
    """
    others = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    path = os.pathsep.join([str(installed), *others])
    return subprocess.run(
        [sys.executable, "-S", "-c", WITHOUT_LAB + code, *words],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_wheel_holds_every_file_of_both_packages(wheel: Path):
    held = set(zipfile.ZipFile(wheel).namelist())
    both = [*(ROOT / "babygpt").rglob("*"), *(ROOT / "babygpt_course").rglob("*")]
    paths = [path for path in both if path.is_file() and path.suffix != ".pyc"]
    assert {".py", ".json", ".js", ".css", ".typed"} <= {path.suffix for path in paths}
    assert {path.relative_to(ROOT).as_posix() for path in paths} <= held
    assert {name.split("/")[0] for name in held if ".dist-info/" not in name} == {"babygpt", "babygpt_course"}


def test_the_pages_of_the_notes_are_those_that_claims_writes(installed: Path, tmp_path: Path):
    """Expect no change from `python -m babygpt claims --write docs/notes`, in any verdict or count."""
    notes, pages = ROOT / "docs" / "notes", tmp_path / "notes"
    shutil.copytree(notes, pages)
    done = run(installed, COMMAND, "claims", "--write", "notes", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for page in notes.glob("*.md"):
        assert (pages / page.name).read_text(encoding="utf-8") == page.read_text(encoding="utf-8")


def test_a_model_is_trained_and_writes(installed: Path, tmp_path: Path):
    shape = "--n-layer 1 --n-head 2 --n-embd 16 --block-size 16 --batch-size 4 --steps 2".split()
    trained = run(installed, COMMAND, "train", "v4", *shape, "--out", "v4.safetensors", cwd=tmp_path)
    assert trained.returncode == 0, trained.stderr
    written = run(installed, COMMAND, "generate", "v4.safetensors", "--tokens", "20", cwd=tmp_path)
    assert written.returncode == 0, written.stderr
    assert len(written.stdout) > 20


def test_the_live_lab_asks_for_its_extra(installed: Path, tmp_path: Path):
    done = run(installed, "import babygpt_live", cwd=tmp_path)
    assert done.returncode == 1
    assert "ImportError: babygpt_live" in done.stderr
    assert "[lab]" in done.stderr


def test_the_doctor_also_makes_the_check_of_the_course(installed: Path, tmp_path: Path):
    done = run(installed, COMMAND, "doctor", cwd=tmp_path)
    assert "real model" in done.stdout, done.stderr
