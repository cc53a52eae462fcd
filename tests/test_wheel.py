"""Wheel by itself: in a fresh folder, far from the repository, with what it requires and no extra."""

import json
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
COMMAND = "import runpy\nrunpy.run_module('babygpt', run_name='__main__')"
SHAPE = "--n-layer 1 --n-head 2 --n-embd 16 --block-size 16 --batch-size 4".split()
HELP = """
import json, click
from babygpt.cli import main
from click.testing import CliRunner

def names(group, above=()):
    yield list(above)
    for name in group.list_commands(click.Context(group)):
        try:
            command = group.get_command(click.Context(group), name)
        except ImportError:  # which its --help then shows
            command = None
        yield from names(command, (*above, name)) if isinstance(command, click.Group) else [[*above, name]]

runs = {" ".join(words): CliRunner().invoke(main, [*words, "--help"]) for words in names(main)}
print(json.dumps({name: [run.exit_code, run.output] for name, run in runs.items()}))
"""


def required() -> Iterator[metadata.Distribution]:
    """Yield the distributions that the wheel requires without an extra, those that they require included."""
    todo, visited = [Requirement(line) for line in PROJECT["dependencies"]], set[str]()
    while todo:
        need = todo.pop()
        if need.name in visited or (need.marker and not need.marker.evaluate({"extra": ""})):
            continue
        visited.add(need.name)
        distribution = metadata.distribution(need.name)
        yield distribution
        todo += [Requirement(line) for line in distribution.requires or ()]


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
    """Return a folder with the wheel, and with links to what it requires: an environment without extras."""
    folder = tmp_path_factory.mktemp("installed")
    into = ["install", "--no-deps", "--no-index", "--target", str(folder), str(wheel)]
    subprocess.run([*PIP, *into], check=True)
    for distribution in required():
        for name in {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}:
            if not (folder / name).exists():
                (folder / name).symlink_to(distribution.locate_file(name))
    return folder


def run(installed: Path, code: str, *words: str, cwd: Path) -> subprocess.CompletedProcess:
    """Run `code` in another folder, with nothing to import but what is in `installed`."""
    return subprocess.run(
        [sys.executable, "-S", "-c", code, *words],  # -S: no site-packages
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_wheel_holds_every_file_of_all_packages(wheel: Path):
    held = set(zipfile.ZipFile(wheel).namelist())
    packages = {"babygpt", "babygpt_live", "babygpt_course"}
    every = [path for name in packages for path in (ROOT / name).rglob("*")]
    paths = [path for path in every if path.is_file() and path.suffix != ".pyc"]
    assert {".py", ".json", ".js", ".css", ".typed"} <= {path.suffix for path in paths}
    assert {path.relative_to(ROOT).as_posix() for path in paths} <= held
    assert {name.split("/")[0] for name in held if ".dist-info/" not in name} == packages


def test_every_command_shows_its_help_without_an_extra(installed: Path, tmp_path: Path):
    done = run(installed, HELP, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    shown = json.loads(done.stdout)
    assert {"", "train", "compare", "doctor", "card", "claims", "figures"} <= shown.keys()
    assert {name: output for name, (code, output) in shown.items() if code} == {}


def test_the_pages_of_the_notes_are_those_that_claims_writes(installed: Path, tmp_path: Path):
    """Expect no change from `python -m babygpt claims --write docs/notes`, in any verdict or count."""
    notes, pages = ROOT / "docs" / "notes", tmp_path / "notes"
    shutil.copytree(notes, pages)
    done = run(installed, COMMAND, "claims", "--write", "notes", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for page in notes.glob("*.md"):
        assert (pages / page.name).read_text(encoding="utf-8") == page.read_text(encoding="utf-8")


def test_a_model_is_trained_and_writes(installed: Path, tmp_path: Path):
    steps = ["--steps", "2", "--out", "v4.safetensors"]
    trained = run(installed, COMMAND, "train", "v4", *SHAPE, *steps, cwd=tmp_path)
    assert trained.returncode == 0, trained.stderr
    written = run(installed, COMMAND, "generate", "v4.safetensors", "--tokens", "20", cwd=tmp_path)
    assert written.returncode == 0, written.stderr
    assert len(written.stdout) > 20


def test_models_are_compared(installed: Path, tmp_path: Path):
    (tmp_path / "text.txt").write_text("the cat sat on the mat. " * 40, encoding="utf-8")
    brief = "--corpus text.txt --seeds 1 --steps 2".split()
    done = run(installed, COMMAND, "compare", "v4", "alibi", *brief, *SHAPE, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "comparison.png").is_file()


def test_a_figure_is_drawn(installed: Path, tmp_path: Path):
    done = run(installed, COMMAND, "figures", "floors", "--redraw", "--folder", ".", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "floors.png").is_file()


def test_a_command_that_needs_an_extra_names_it_in_one_line(installed: Path, tmp_path: Path):
    done = run(installed, COMMAND, "figures", "real", "--folder", ".", cwd=tmp_path)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 1
    assert line.startswith("Error: gguf is not installed, and comes with the extra `lab`: run `")
    assert line.endswith(" install 'gguf>=0.17'`")


def test_the_live_lab_asks_for_its_extra(installed: Path, tmp_path: Path):
    drawn = run(installed, "from babygpt_live import draw_losses", cwd=tmp_path)
    assert drawn.returncode == 0, drawn.stderr  # Matplotlib needs no widgets.
    done = run(installed, "import babygpt_live; babygpt_live.train", cwd=tmp_path)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("ImportError: babygpt_live.train draws with widgets")
    assert " install 'anywidget>=" in last


def test_the_doctor_also_makes_the_check_of_the_course(installed: Path, tmp_path: Path):
    done = run(installed, COMMAND, "doctor", cwd=tmp_path)
    assert "real model" in done.stdout, done.stderr
