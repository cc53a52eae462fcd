"""What a wheel can do by itself: in a fresh folder, far from the repository, without the extra `lab`."""

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
LAB = ("IPython", "anywidget", "ipykernel", "ipywidgets", "jupyterlab")
WITHOUT_LAB = f"import sys\nsys.modules.update(dict.fromkeys({LAB}))\n"  # to import one raises ImportError
COMMAND = "import runpy\nrunpy.run_module('babygpt', run_name='__main__')"
CLAIMS = """
import json
import babygpt
from babygpt.claims import CLAIMS
verdicts = [(claim.note[:3], claim.measure().verdict, claim.text) for claim in CLAIMS]
print(json.dumps([babygpt.__file__, verdicts]))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    build = ["wheel", str(ROOT), "--no-deps", "--no-build-isolation", "--no-index", "-w", str(folder)]
    subprocess.run([*PIP, *build], check=True)
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory) -> Path:
    """A fresh folder with the wheel in it, and nothing else."""
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


def test_the_wheel_holds_what_is_not_python_too(wheel: Path):
    held = set(zipfile.ZipFile(wheel).namelist())
    paths = [path for path in (ROOT / "babygpt").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert {".py", ".json", ".js", ".css", ".typed"} <= {path.suffix for path in paths}
    assert {path.relative_to(ROOT).as_posix() for path in paths} <= held
    assert {name.split("/")[0] for name in held if ".dist-info/" not in name} == {"babygpt"}


def test_every_claim_is_measured_as_the_page_of_the_notes_says(installed: Path, tmp_path: Path):
    """Of each claim its verdict, and how many there are; docs/notes.md says how to make its lists again."""
    done = run(installed, CLAIMS, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    where, verdicts = json.loads(done.stdout)
    assert Path(where).is_relative_to(installed)
    page = (ROOT / "docs" / "notes.md").read_text(encoding="utf-8")
    assert [f"| {verdict} | {text} |" for _, verdict, text in verdicts] == [
        line for line in page.splitlines() if line.startswith(("| holds |", "| fails |", "| depends |"))
    ]
    counts = Counter((note, verdict) for note, verdict, _ in verdicts)
    for note in sorted({note for note, _ in counts}):
        holds, depends, fails = (counts[note, verdict] for verdict in ("holds", "depends", "fails"))
        assert f"| [{note}](#note-{note}) | {holds} | {depends} | {fails} |" in page


def test_a_model_is_trained_and_writes(installed: Path, tmp_path: Path):
    shape = "--n-layer 1 --n-head 2 --n-embd 16 --block-size 16 --batch-size 4 --steps 2".split()
    trained = run(installed, COMMAND, "train", "v4", *shape, "--out", "v4.safetensors", cwd=tmp_path)
    assert trained.returncode == 0, trained.stderr
    written = run(installed, COMMAND, "generate", "v4.safetensors", "--tokens", "20", cwd=tmp_path)
    assert written.returncode == 0, written.stderr
    assert len(written.stdout) > 20


def test_the_live_lab_asks_for_its_extra(installed: Path, tmp_path: Path):
    done = run(installed, "import babygpt.live", cwd=tmp_path)
    assert done.returncode == 1
    assert "ImportError: babygpt.live" in done.stderr
    assert "[lab]" in done.stderr
