"""Directions of imports, and where each third-party layer belongs."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE, LIVE, COURSE = (ROOT / name for name in ("babygpt", "babygpt_live", "babygpt_course"))
PACKAGES = [PACKAGE.name, LIVE.name, COURSE.name]  # each may import those before it
# From the leaves to the root: a module imports from rungs before its own, and from its own folder.
RUNGS = {
    PACKAGE.name: [
        {"errors", "minimal"},
        {"config", "positions", "tables", "files", "signals", "packages"},
        {"device"},
        {"data", "encodings"},
        {"models"},
        {"objectives"},
        {"training", "sampling", "metrics"},
        {"invariants", "doctor", "experiments"},
        {"cli"},
        {"__main__", "__init__"},
    ],
    LIVE.name: [
        {"style", "waiting", "view"},
        {"panel", "figures"},
        {"still", "watch", "comparison"},
        {"explorer", "run"},
        {"dashboard", "commands", "comparison_view"},
        {"__init__"},
    ],
    COURSE.name: [
        {"real", "explorers"},
        {"studies", "predictions", "class_cards"},
        {"claims", "exercises", "museum"},
        {"tools"},
        {"commands"},
        {"__init__"},
    ],
}
# Parts that may import a library that draws, interacts, or touches files and the network.
ONLY_IN = {
    "ipywidgets": {"predictions"},
    "anywidget": {"explorer", "dashboard", "predictions"},
    "traitlets": {"explorer", "dashboard", "explorers", "predictions"},
    "IPython": {"view", "dashboard", "comparison_view", "waiting", "predictions"},
    "matplotlib": {"comparison", "figures", "style", "studies", "exercises"},
    "playwright": set(),
    "click": {"cli", "commands"},
    "pooch": {"data", "real"},
    "safetensors": {"training"},
    "filelock": {"files"},
}
# Of babygpt_live, the files that need no widgets: Matplotlib draws, or nothing does.
STILL = {f"{LIVE.name}/{name}.py" for name in ("__init__", "figures", "style", "panel", "comparison")}


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
    """Return the part of a package that a dotted name lies in: babygpt.models.cache is in models."""
    first = [*dotted.split(".")[1:2], ""][0]
    exists = (root / first).is_dir() or (root / f"{first}.py").is_file()
    return first if first and exists else "__init__"


def rung(name: str, root: Path) -> int:
    return next((i for i, names in enumerate(RUNGS[root.name]) if name in names), -1)


def wrong_import(own: str, name: str, root: Path) -> str:
    """Return what a module imports although it may not, or nothing.

    own   its part of the package at `root`
    name  the dotted name that it imports
    """
    top = name.split(".")[0]
    if top == root.name:
        target = part(name, root)
        return target if target != own and rung(target, root) >= rung(own, root) else ""
    if top in PACKAGES:
        return top if PACKAGES.index(top) > PACKAGES.index(root.name) else ""
    return top if own not in ONLY_IN.get(top, {own}) else ""


def violations(root: Path) -> list[str]:
    """Return every import under `root` that points the wrong way, in words."""
    wrong: set[str] = set()
    for path in sorted(root.rglob("*.py")):
        own = part(".".join([root.name, *path.relative_to(root).with_suffix("").parts]), root)
        if rung(own, root) < 0:
            wrong.add(f"{own} stands on no rung")
        wrong |= {
            f"{own} imports {n}" for name in imported(path, root) if (n := wrong_import(own, name, root))
        }
    return sorted(wrong)


@pytest.mark.parametrize("root", [PACKAGE, LIVE, COURSE], ids=PACKAGES)
def test_the_packages_keep_the_directions_of_imports(root: Path) -> None:
    assert violations(root) == []


def test_every_check_of_input_raises_bad_input() -> None:
    """Find plain ValueErrors, which the shell would report as bugs."""
    files = [path for root in (PACKAGE, LIVE, COURSE) for path in root.rglob("*.py")]
    checks = [path for path in files if "raise ValueError" in path.read_text(encoding="utf-8")]
    assert checks == []


def test_optimizers_do_not_import_the_loop() -> None:
    modules = set(imported(PACKAGE / "training" / "optimizers.py", PACKAGE))
    above = ("babygpt.training.loop", "babygpt.objectives", "babygpt.models")
    assert not {n for n in modules if n.startswith(above)}


def lazy_home(package: str, name: str) -> Iterator[Path]:
    """Yield the file that a package imports a name from when it is first used, as its stub says."""
    stub = ROOT / package / "__init__.pyi"
    lines = ast.parse(stub.read_text(encoding="utf-8")).body if stub.is_file() else []
    for line in (line for line in lines if isinstance(line, ast.ImportFrom) and line.module):
        if name in {alias.name for alias in line.names}:
            yield from files_of(f"{package}.{line.module}")


def files_of(dotted: str) -> Iterator[Path]:
    """Yield our files that Python runs to import a dotted name: its packages, and its module."""
    path = ROOT
    for name in dotted.split("."):
        path /= name
        yield from (file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file())
    package, _, name = dotted.rpartition(".")
    yield from lazy_home(package, name)


def reached(files: list[Path]) -> set[Path]:
    """Return our files that these files import, directly or through others."""
    todo, visited = files, set(files)
    while todo:
        path = todo.pop()
        names = imported(path, ROOT / path.relative_to(ROOT).parts[0])
        new = {file for name in names for file in files_of(name)} - visited
        visited |= new
        todo += new
    return visited


@pytest.mark.parametrize("room", ["studies", "claims", "commands"])
def test_what_the_shell_runs_imports_nothing_that_draws_in_a_page(room: str) -> None:
    """Look through other modules, too: a study that imports an explorer needs the extra `lab`."""
    paths = {path.relative_to(ROOT).as_posix() for path in reached([*(COURSE / room).rglob("*.py")])}
    assert "babygpt/models/transformer.py" in paths
    assert [path for path in sorted(paths) if path.startswith(f"{LIVE.name}/") and path not in STILL] == []


@pytest.mark.parametrize("name", ["loop", "checkpoint", "saved_run", "optimizers", "guard"])
def test_only_one_file_of_training_knows_of_several_processes(name: str) -> None:
    """Let a saved run name its `Team`, which one process is by default, and nothing else of them."""
    modules = set(imported(PACKAGE / "training" / f"{name}.py", PACKAGE))
    team = {"babygpt.training.distributed.Team"} if name == "saved_run" else set()
    several = ("babygpt.training.distributed", "torch.distributed")
    assert {n for n in modules if n.startswith(several)} == team


@pytest.mark.parametrize(
    ("package", "file", "line", "says"),
    [
        ("babygpt", "models/base.py", "from ..training import train", "models imports training"),
        ("babygpt", "models/base.py", "def f():\n    import babygpt_live", "models imports babygpt_live"),
        ("babygpt", "training.py", "import matplotlib.pyplot as plt", "training imports matplotlib"),
        ("babygpt", "utils.py", "", "utils stands on no rung"),
        ("babygpt_live", "run.py", "from babygpt_course import studies", "run imports babygpt_course"),
        ("babygpt_live", "panel.py", "from babygpt_live.run import Run", "panel imports run"),
        ("babygpt_course", "studies/a.py", "from babygpt_course import tools", "studies imports tools"),
    ],
)
def test_a_wrong_import_is_found(tmp_path: Path, package: str, file: str, line: str, says: str) -> None:
    files = {
        "babygpt": {
            "models/base.py": "import torch\nfrom babygpt.config import X",
            "training.py": "",
            "config.py": "",
        },
        "babygpt_live": {"run.py": "from babygpt_live import panel", "panel.py": ""},
        "babygpt_course": {"studies/a.py": "import babygpt_live as live", "tools/b.py": ""},
    }
    for name, content in {**files[package], file: line}.items():
        path = tmp_path / package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    assert violations(tmp_path / package) == [says]
