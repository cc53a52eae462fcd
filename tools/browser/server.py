"""A JupyterLab with nothing of this machine's settings, and the notebooks that it serves."""

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from nbformat import v4

from babygpt.errors import BadInput
from tools.browser.programs import run_program

ROOT = Path(__file__).resolve().parents[2]


@contextmanager
def serve_notebooks(notebooks: Mapping[str, str]) -> Iterator[str]:
    """Show notebooks in a JupyterLab on 127.0.0.1 while the context lasts; yields its address and token.

    Its kernels can import benchmarks/ and tools/.

    notebooks  file name -> text of the file
    Raises TimeoutError with the end of its log if it does not come up.
    """
    options = ["--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1", "--ServerApp.port=0"]
    options += ["--ServerApp.root_dir=.", "--LabApp.expose_app_in_browser=True"]
    options += ["--LabApp.news_url=", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    folders = {f"JUPYTER_{name.upper()}_DIR": name for name in ("config", "runtime", "data")}
    folders |= {f"JUPYTERLAB_{name.upper()}_DIR": name for name in ("settings", "workspaces")}
    folders |= {"IPYTHONDIR": "ipython"}
    with tempfile.TemporaryDirectory(prefix="babygpt-") as folder:
        root, scratch = Path(folder) / "course", Path(folder) / "scratch"
        root.mkdir()
        scratch.mkdir()
        for name, text in notebooks.items():
            (root / name).write_text(text, encoding="utf-8")
        own = {variable: str(scratch / name) for variable, name in folders.items()}
        env, log = {**os.environ, "PYTHONPATH": str(ROOT), **own}, scratch / "log"
        command = [sys.executable, "-m", "jupyterlab", *options]
        find = partial(_find_address, scratch / "runtime")
        with run_program("JupyterLab", command, log, find, cwd=root, env=env) as address:
            yield address


def course_notebook(number: str) -> Path:
    """Return the path of the course's notebook of this number. Raises BadInput if there is none."""
    paths = sorted((ROOT / "notebooks").glob(f"{number}_*.ipynb"))
    if not paths:
        raise BadInput(f"there is no notebook {number} in notebooks/: it takes a checkout of the repository")
    return paths[0]


def notebook_text(*cells: str) -> str:
    """Return a notebook of these code cells, as the text of its file."""
    kernel = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    code = [v4.new_code_cell(cell, id=f"cell-{i}") for i, cell in enumerate(cells)]
    return v4.writes(v4.new_notebook(cells=code, metadata={"kernelspec": kernel}))


def _find_address(runtime: Path) -> str | None:
    """Return the address that the server writes into a file once it is up."""
    for file in runtime.glob("jpserver-*.json"):
        with suppress(ValueError):  # not written to its end yet
            info = json.loads(file.read_text(encoding="utf-8"))
            return f"{info['url']}lab?token={info['token']}&reset"
    return None
