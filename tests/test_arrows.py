"""Directions of imports, and where each third-party layer belongs."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE, COURSE = ROOT / "babygpt", ROOT / "babygpt_course"
# From the leaves to the root: a module imports from rungs before its own, and from its own folder.
RUNGS = [
    {"errors", "minimal"},
    {"config", "positions", "tables", "files", "signals", "packages"},
    {"device"},
    {"data", "encodings"},
    {"models"},
    {"objectives"},
    {"training", "sampling", "metrics", "plots"},
    {"invariants", "doctor"},
    {"live"},
    {"cli"},
    {"names"},
    {"lazy"},
    {"__main__", "__init__"},
]
COURSE_RUNGS = [
    {"real"},
    {"studies", "predictions"},
    {"claims", "exercises", "museum", "notes"},
    {"tools"},
    {"commands"},
    {"__init__"},
]
# Folders that may import a library that draws or interacts.
ONLY_IN = {
    "ipywidgets": {"live", "predictions"},
    "anywidget": {"live", "predictions"},
    "IPython": {"live"},
    "matplotlib": {"plots", "studies", "exercises", "notes", "live"},
    "playwright": set(),
    "click": {"cli", "commands"},
    "pooch": {"data", "real"},
    "safetensors": {"training"},
    "filelock": {"files"},
}
PLOTS_MAY = {"numpy", "matplotlib", "cycler", "PIL", "plots"}


def imported(path: Path, root: Path) -> Iterator[str]:
    """Return dotted names of all that a file imports, inside functions too, relative ones in full."""
    package = [root.name, *path.relative_to(root).parent.parts]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def part(dotted: str, root: Path) -> str:
    """Return the part of our package that a dotted name lies in: babygpt.models.cache is in models."""
    first = [*dotted.split(".")[1:2], ""][0]
    known = (root / first).is_dir() or (root / f"{first}.py").is_file()
    return first if first and known else "__init__"


def rung(name: str, root: Path) -> int:
    rungs = COURSE_RUNGS if root.name == COURSE.name else RUNGS
    return next((i for i, names in enumerate(rungs) if name in names), -1)


def violations(root: Path) -> list[str]:
    """Return every import under `root` that points the wrong way, in words."""
    found: list[str] = []
    for path in sorted(root.rglob("*.py")):
        own = part(".".join([root.name, *path.relative_to(root).with_suffix("").parts]), root)
        if rung(own, root) < 0:
            found.append(f"{own} stands on no rung")
        for name in imported(path, root):
            top = name.split(".")[0]
            other = part(name, root) if top == root.name else top
            if top == root.name and other != own and rung(other, root) >= rung(own, root):
                found.append(f"{own} imports {other}")
            if top == COURSE.name != root.name:
                found.append(f"{own} imports {top}")
            if own not in ONLY_IN.get(top, {own}):
                found.append(f"{own} imports {top}")
            if own == "plots" and other not in PLOTS_MAY | sys.stdlib_module_names:
                found.append(f"plots imports {other}")
    return sorted(set(found))


@pytest.mark.parametrize("root", [PACKAGE, COURSE], ids=["babygpt", "babygpt_course"])
def test_the_packages_keep_the_directions_of_imports(root: Path) -> None:
    assert violations(root) == []


def test_every_check_of_input_raises_bad_input() -> None:
    """Find plain ValueErrors, which the shell would report as bugs."""
    files = [*PACKAGE.rglob("*.py"), *COURSE.rglob("*.py")]
    checks = [path for path in files if "raise ValueError" in path.read_text(encoding="utf-8")]
    assert checks == []


def test_optimizers_do_not_import_the_loop() -> None:
    known = set(imported(PACKAGE / "training" / "optimizers.py", PACKAGE))
    above = ("babygpt.training.loop", "babygpt.objectives", "babygpt.models")
    assert not {n for n in known if n.startswith(above)}


def files_of(dotted: str) -> Iterator[Path]:
    """Yield our files that Python runs to import a dotted name: its packages, and its module."""
    path = ROOT
    for name in dotted.split("."):
        path /= name
        yield from (file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file())


def reached(files: list[Path]) -> set[Path]:
    """Return our files that these files import, directly or through others."""
    todo, seen = files, set(files)
    while todo:
        path = todo.pop()
        names = imported(path, ROOT / path.relative_to(ROOT).parts[0])
        new = {file for name in names for file in files_of(name)} - seen
        seen |= new
        todo += new
    return seen


@pytest.mark.parametrize("room", ["studies", "claims", "notes", "commands"])
def test_what_the_shell_runs_imports_nothing_that_draws_in_a_page(room: str) -> None:
    """Look through other modules, too: a study that imports an explorer needs the extra `lab`."""
    seen = {path.relative_to(ROOT).as_posix() for path in reached([*(COURSE / room).rglob("*.py")])}
    assert "babygpt/models/transformer.py" in seen
    assert [path for path in sorted(seen) if path.startswith("babygpt/live/")] == []


@pytest.mark.parametrize("name", ["loop", "checkpoint", "optimizers", "guard"])
def test_only_one_file_of_training_knows_of_several_processes(name: str) -> None:
    """Let a saved run name its `Team`, which one process is by default, and nothing else of them."""
    known = set(imported(PACKAGE / "training" / f"{name}.py", PACKAGE))
    team = {"babygpt.training.distributed.Team"} if name == "checkpoint" else set()
    several = ("babygpt.training.distributed", "torch.distributed")
    assert {n for n in known if n.startswith(several)} == team


@pytest.mark.parametrize(
    ("file", "line", "says"),
    [
        ("models/base.py", "from ..training import train", "models imports training"),
        ("models/base.py", "def f():\n    from babygpt import plots", "models imports plots"),
        ("training.py", "import matplotlib.pyplot as plt", "training imports matplotlib"),
        ("plots.py", "from babygpt.config import X", "plots imports config"),
        ("utils.py", "", "utils stands on no rung"),
    ],
)
def test_a_wrong_import_is_found(tmp_path: Path, file: str, line: str, says: str) -> None:
    files = {
        "models/base.py": "import torch\nfrom babygpt.config import X",
        "plots.py": "",
        "training.py": "",
    }
    for name, content in {**files, "config.py": "", file: line}.items():
        path = tmp_path / "babygpt" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    assert violations(tmp_path / "babygpt") == [says]
