"""The set-up files agree with each other and depend on no machine; what other systems do differently."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib import metadata
from itertools import chain
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import babygpt
from babygpt.config import ModelConfig
from babygpt.data.tokenizer import CharTokenizer
from babygpt.models.versions import build
from babygpt.training.checkpoint import load, save

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TOOLS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
CONDA_NAMES = {
    "jupyter-client": "jupyter_client",
    "jupyter-core": "jupyter_core",
    "torch": "pytorch",
    "matplotlib": "matplotlib-base",  # without the Qt windows that nothing here opens
    "playwright": "playwright-python",
}
PIP_ONLY = {"axe-playwright-python", "math-core", "ziamath"}  # not on conda-forge
# Without the end, so that this file does not name them either.
HOSTS = [f"{name}.org" for name in "pypi pythonhosted anaconda npmjs download.pytorch deb.debian".split()]
TEXT = {"", ".cfg", ".ipynb", ".md", ".toml", ".txt", ".yaml", ".yml"}


def requirements() -> list[Requirement]:
    """Return all requirements of pyproject.toml, extras included."""
    extras = PROJECT["optional-dependencies"].values()
    return [Requirement(line) for line in [*PROJECT["dependencies"], *chain(*extras)]]


LINES = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
HELD = [Requirement(line) for line in LINES if line and not line.startswith("#")]
CONSTRAINTS = {canonicalize_name(requirement.name): requirement for requirement in HELD}


def committed() -> list[Path]:
    """Return the files that are in git, or would be after `git add`."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git clone")
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [path for name in listed.splitlines() if (path := ROOT / name).is_file()]


# ---------------------------------------------------------------- what is imported is declared

LEARNER, EVERY = ("", "lab", "sweep"), ("", *PROJECT["optional-dependencies"])
EXTRAS = {  # A folder may import the packages of these extras.
    "babygpt": LEARNER,
    "babygpt_course": LEARNER,
    "notebooks/src": ("", "lab"),
    "benchmarks": EVERY,
    "tools": EVERY,
    "tests": EVERY,
}


def imported(path: Path) -> set[str]:
    """Return the top names of all that a file imports, inside functions and by a function too."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import():
                names |= {alias.name for alias in node.names}
            case ast.ImportFrom(module=str(name), level=0):
                names.add(name)
            case ast.Call(func=ast.Name("import_module"), args=[ast.Constant(str(name)), *_]):
                names.add(name)
            case ast.Call(func=ast.Attribute(attr="importorskip"), args=[ast.Constant(str(name)), *_]):
                names.add(name)
    return {name.partition(".")[0] for name in names}


@pytest.mark.parametrize("folder", EXTRAS)
def test_every_package_that_is_imported_is_declared(folder: str):
    """Look up which distribution brings a module; one that nothing brings is a file of ours, or of Python."""
    lists = {"": PROJECT["dependencies"], **PROJECT["optional-dependencies"]}
    lines = chain.from_iterable(lists[extra] for extra in EXTRAS[folder])
    declared = {canonicalize_name(Requirement(line).name) for line in [*lines, PROJECT["name"], "babygpt"]}
    brought_by = metadata.packages_distributions()
    names = set[str]().union(*map(imported, (ROOT / folder).rglob("*.py")))
    assert len(names) > 5
    undeclared = {
        name
        for name in names & brought_by.keys()
        if not declared & {canonicalize_name(distribution) for distribution in brought_by[name]}
    }
    assert undeclared == set()


# ---------------------------------------------------------------- conda and pip agree


def environment() -> dict:
    return yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))


def test_conda_requires_the_same_packages_and_bounds():
    *lines, last = environment()["dependencies"]
    conda = {name: SpecifierSet(bounds) for name, _, bounds in (s.partition(" ") for s in lines)}
    pip = {CONDA_NAMES.get(r.name, r.name): r.specifier for r in requirements() if r.name not in PIP_ONLY}
    assert conda == {**pip, "python": SpecifierSet(PROJECT["requires-python"]), "pip": SpecifierSet()}
    *others, own = last["pip"]
    assert own == "-e ."
    held_by_pip = {r.name: r.specifier for r in map(Requirement, others)}
    assert held_by_pip == {r.name: r.specifier for r in requirements() if r.name in PIP_ONLY}


# ---------------------------------------------------------------- constraints.txt


def test_constraints_hold_one_version_within_the_bounds():
    for requirement in requirements():
        assert any(bound.operator == ">=" for bound in requirement.specifier), requirement
        (pin,) = CONSTRAINTS[canonicalize_name(requirement.name)].specifier
        assert requirement.specifier.contains(pin.version), requirement
        assert "+" not in pin.version, f"{requirement} holds a build of one machine"


def asked_by(requirement: Requirement) -> list[Requirement]:
    """Return the requirements of a package here, with the extras named; none if another version is here."""
    held_at = CONSTRAINTS[canonicalize_name(requirement.name)].specifier
    try:
        if not held_at.contains(metadata.version(requirement.name)):
            return []
        inner = map(Requirement, metadata.requires(requirement.name) or [])
    except metadata.PackageNotFoundError:  # not needed on this system
        return []
    extras = [{"extra": extra} for extra in requirement.extras or {""}]
    return [r for r in inner if not r.marker or any(map(r.marker.evaluate, extras))]


def test_constraints_include_all_indirect_requirements():
    todo, visited = requirements(), set()
    while todo:
        requirement = todo.pop()
        assert canonicalize_name(requirement.name) in CONSTRAINTS, "make constraints"
        if str(requirement) not in visited:
            visited.add(str(requirement))
            todo += asked_by(requirement)


# ---------------------------------------------------------------- the other files beside pyproject.toml


def test_the_hook_for_types_runs_for_every_file_that_mypy_checks():
    settings = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    (pattern,) = [hook["files"] for hook in settings["repos"][0]["hooks"] if hook["id"] == "mypy"]
    for folder in TOOLS["mypy"]["files"]:
        paths = [path.relative_to(ROOT).as_posix() for path in (ROOT / folder).rglob("*.py")]
        assert paths
        assert [path for path in paths if not re.search(pattern, path)] == []
    assert re.search(pattern, "pyproject.toml")
    assert not re.search(pattern, "tests/test_setup.py")


def test_the_citation_has_the_version_and_the_changelog_its_day():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert str(citation["version"]) == babygpt.__version__
    log = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = dict(re.findall(r"^## (\S+) - (\d{4}-\d\d-\d\d)$", log, flags=re.M))
    assert released.get(babygpt.__version__, citation["date-released"]) == citation["date-released"]


def test_the_pinned_torch_is_the_one_of_the_makefile():
    (pin,) = re.findall(r"^TORCH\s*:= (\S+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M)
    assert CONSTRAINTS["torch"].specifier == SpecifierSet(f"=={pin}")


# ---------------------------------------------------------------- too old a Python


@pytest.mark.parametrize("package", ["babygpt", "babygpt_course", "tools", "benchmarks"])
def test_an_old_python_is_refused_in_one_line(package: str):
    script = f"import sys; sys.version_info = (3, 10, 13); sys.version = '3.10.13 (main)'; import {package}"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, encoding="utf-8")
    assert done.returncode == 1
    assert done.stderr == f"babygpt needs Python 3.11 or newer, and {sys.executable} is Python 3.10.13\n"


def test_python_2_can_read_the_file_that_refuses_it():
    text = (ROOT / "babygpt" / "__init__.py").read_text(encoding="utf-8")
    assert text.isascii()
    later = ast.FunctionDef | ast.ClassDef | ast.AnnAssign | ast.JoinedStr | ast.NamedExpr | ast.Match
    assert [node.lineno for node in ast.walk(ast.parse(text)) if isinstance(node, later)] == []


# ---------------------------------------------------------------- ways to start


def test_every_way_to_start_opens_the_lab_in_the_course_folder_and_asks_no_question():
    """Start the server in the course's folder: elsewhere all links of a notebook to docs/ are dead."""
    start, news = "--ServerApp.root_dir=. notebooks/00_start_here.ipynb", "@jupyterlab/apputils-extension"
    texts = {
        name: (ROOT / name).read_text(encoding="utf-8") for name in ("Makefile", "docs/troubleshooting.md")
    }
    assert all(start in text and news in text for text in texts.values())


PRETENDED = """#!/bin/sh
# Pretend to be Python: make the file of an environment, or log how it was called, one argument a line.
if [ "$2" = venv ]; then mkdir -p "$3/bin" && cp "$0" "$3/bin/python"; fi
for word in "$@"; do echo "$word" >> "$LOG"; done
"""


@pytest.mark.skipif(not shutil.which("make") or os.name == "nt", reason="there is no make here")
def test_recipes_run_in_a_folder_with_a_space(tmp_path: Path):
    """Let a script take the place of Python, so that nothing is installed; its own path has a space, too."""
    folder, python, log = tmp_path / "my course", tmp_path / "my python" / "python3", tmp_path / "log"
    folder.mkdir()
    python.parent.mkdir()
    python.write_text(PRETENDED)
    python.chmod(0o755)
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    words = [f"PYTHON={python}", "FOLDER=my class", "NAME=recipe"]
    targets = re.findall(r"^([a-z]+):.*## ", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M)
    for target in [name for name in targets if name not in ("constraints", "clean")]:
        done = subprocess.run(
            ["make", target, *words],
            cwd=folder,
            env=os.environ | {"LOG": str(log)},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, (target, done.stderr)
    assert len(list(folder.iterdir())) == 4  # these, and .venv
    assert (folder / ".venv" / "jupyter" / "ipython").is_dir()
    assert {path.name for path in tmp_path.iterdir()} == {"my course", "my python", "log"}
    assert "my class" in log.read_text().splitlines()


# ---------------------------------------------------------------- no trace of this machine


def test_no_committed_file_names_a_registry_or_a_path_of_one_machine():
    named = {}
    for path in committed():
        text = path.read_bytes().decode("utf-8", errors="ignore")
        matches = [host for host in HOSTS if host in text]
        if path.suffix in TEXT or "notebooks" in path.parts:
            matches += re.findall(r"(?<![\w./~-])/(?:work|root|home|Users|opt|tmp)/[\w./-]+", text)
            matches += [own for own in (str(ROOT), str(Path.home())) if len(own) > 5 and own in text]
        if matches:
            named[path.name] = matches
    assert not named


# ---------------------------------------------------------------- Windows


def test_a_system_without_a_hang_up_signal_uses_sigterm() -> None:
    script = (
        "import signal; vars(signal).pop('SIGHUP', None); import babygpt.signals as s; print(s.HANG_UP.name)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, encoding="utf-8")
    assert done.stdout.split() == ["SIGTERM"], done.stderr


def test_a_file_in_a_western_code_page_takes_every_letter() -> None:
    """Take code page 1252, which Windows uses for output into a file: it has no ✓ and no Chinese."""
    script = "import runpy, sys; sys.argv[1:] = ['claims', '--help']; "
    script += "import babygpt.cli; babygpt.cli.main = lambda: print('✓'); "
    script += "runpy.run_module('babygpt', run_name='__main__')"
    env = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, encoding="cp1252")
    assert done.stdout.split() == [r"\u2713"], done.stderr


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="only Linux tells which files are mapped")
def test_a_checkpoint_that_was_read_can_be_replaced(tmp_path: Path) -> None:
    """Release the file: Windows cannot replace a file mapped into memory, and --resume writes over it."""
    path, tokenizer = tmp_path / "a.safetensors", CharTokenizer("ab")
    model = build("v1", ModelConfig(tokenizer.vocab_size, block_size=4, n_embd=4))
    state = {"step": 1, "state": model.head.weight.detach().clone()}
    save(path, model, tokenizer, training=state)
    read_back = load(path)
    assert read_back.training is not None
    assert str(path) not in Path("/proc/self/maps").read_text(encoding="utf-8")
