"""Try the built wheel at both ends of what pyproject.toml allows: the doctor, v1 to v7, a notebook.

    python tools/smoke.py            oldest Python with lowest versions, then newest with newest
    python tools/smoke.py oldest     only this end
    python tools/smoke.py oldest --hold torch==2.13.0

Packages come through uv, which alone can resolve to the lowest versions; of Pythons only those that are
installed are used. On Linux PyTorch comes with CUDA, some gigabytes: UV_TORCH_BACKEND=cpu takes the
small one.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parent.parent
RESOLUTIONS = {"oldest": "lowest-direct", "newest": "highest"}
SHOWN = ("torch", "numpy", "matplotlib", "jupyterlab", "ipykernel")
SHAPE = "--n-layer 1 --n-head 2 --n-embd 16 --block-size 32".split()
TRAIN = "--batch-size 4 --steps 3".split()
EXECUTE = "from nbclient.cli import main; main()"
VERSIONS = "import json, sys; from importlib.metadata import version as of; "
VERSIONS += "print(json.dumps({name: of(name) for name in sys.argv[1:]}))"


def requires_python() -> str:
    """The bound on Python in pyproject.toml: `>=3.11`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["requires-python"])


def pick_python(end: str, uv: str) -> str:
    """The Python of an end, as uv understands it: the bound itself, or the newest that is installed.

    Raises ClickException if none is.
    """
    bound = requires_python()
    if end == "oldest":
        return re.sub(r"^[^\d]+", "", bound)
    found = json.loads(call([uv, "python", "list", "--only-installed", "--output-format", "json", bound]))
    if not found:
        raise click.ClickException(f"no Python {bound} is installed")
    newest = max(found, key=lambda python: tuple(python["version_parts"].values()))
    return str(newest["path"])


def call(words: list[str], cwd: Path = ROOT, stdin: str = "") -> str:
    """What a command prints. Raises ClickException with the end of what it said if it fails."""
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    env |= {"UV_PYTHON_DOWNLOADS": "never", "PYTHONUTF8": "1"}
    done = subprocess.run(words, cwd=cwd, env=env, input=stdin, capture_output=True, encoding="utf-8")
    if done.returncode:
        said = (done.stdout + done.stderr)[-2000:]
        raise click.ClickException(f"{' '.join(words)}: exit {done.returncode}\n{said}")
    return done.stdout


def install(end: str, folder: Path, uv: str, hold: tuple[str, ...]) -> Path:
    """Make an environment with the wheel in `folder`, and return its Python."""
    call([uv, "venv", "--python", pick_python(end, uv), str(folder / "venv")])
    python = folder / "venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    versions, into = folder / "versions.txt", ["--python", str(python)]
    wanted = ["pyproject.toml", "--extra", "lab", "--constraints", "-", "--resolution", RESOLUTIONS[end]]
    call([uv, "pip", "compile", *wanted, *into, "--output-file", str(versions)], stdin="\n".join(hold))
    call([uv, "pip", "install", *into, "--requirements", str(versions)])
    call([uv, "build", "--wheel", "--out-dir", str(folder)])
    call([uv, "pip", "install", *into, "--no-deps", *map(str, folder.glob("*.whl"))])
    return python


def steps(python: Path, notebook: str) -> Iterator[tuple[str, list[str]]]:
    """What is tried, by name: the words of each command, to be run in the environment's folder."""
    babygpt = [str(python), "-m", "babygpt"]
    yield "doctor", [*babygpt, "doctor"]
    for version in ("v1", "v2", "v3", "v4", "v5", "v7"):
        yield version, [*babygpt, "train", version, *SHAPE, *TRAIN, "--out", f"{version}.safetensors"]
    branches = "pretrain --pe fpe --branches-per-sample 2 --max-steps 3 --out-dir v6".split()
    yield "v6", [*babygpt, *branches, *SHAPE]
    yield f"notebook {notebook}", [str(python), "-c", EXECUTE, f"{notebook}.ipynb"]


def attempt(words: list[str], folder: Path) -> str:
    """Run a step: ✓ and its seconds, or ✗. What a failed one said is printed."""
    start = time.monotonic()
    try:
        call(words, folder)
    except click.ClickException as error:
        click.echo(error.message)
        return "✗"
    return f"✓ {time.monotonic() - start:.0f} s"


def try_end(end: str, uv: str, hold: tuple[str, ...], notebook: str) -> dict[str, str]:
    """What stands at an end, and what ran there: row -> cell."""
    with tempfile.TemporaryDirectory(prefix="babygpt-smoke-") as name:
        folder = Path(name)
        python = install(end, folder, uv, hold)
        shutil.copy(ROOT / "notebooks" / f"{notebook}.ipynb", folder)
        cells = {"Python": call([str(python), "--version"]).split()[1]}
        cells |= json.loads(call([str(python), "-c", VERSIONS, *SHOWN], folder))
        for step, words in steps(python, notebook):
            cells[step] = attempt(words, folder)
            click.echo(f"{end}: {step} {cells[step]}")
        return cells


def table(columns: dict[str, dict[str, str]]) -> str:
    """Both ends side by side, in Markdown."""
    rows = dict.fromkeys(row for cells in columns.values() for row in cells)
    lines = [["", *columns], ["---"] * (len(columns) + 1)]
    lines += [[row, *(cells.get(row, "") for cells in columns.values())] for row in rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


@click.command(help=__doc__.replace("    python", "\b\n    python", 1))
@click.argument("ends", nargs=-1, type=click.Choice([*RESOLUTIONS]))
@click.option("--hold", multiple=True, metavar="NAME==VERSION", help="hold a package; may be given often")
@click.option("--notebook", default="00_start_here", show_default=True, help="the notebook that is run")
@click.option("--uv", default="uv", show_default=True, help="where uv is")
def main(ends: tuple[str, ...], hold: tuple[str, ...], notebook: str, uv: str) -> None:
    """See the module's docstring."""
    columns = {end: try_end(end, uv, hold, notebook) for end in ends or RESOLUTIONS}
    click.echo(table(columns))
    if any("✗" in cells.values() for cells in columns.values()):
        raise click.ClickException("not all of it runs there")


if __name__ == "__main__":
    main()
