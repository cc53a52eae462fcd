"""tools/notebooks.py on a small notebook that does all that must not be stored."""

import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parent.parent
TEXT = """\
# %% [markdown]
# # A toy

# %%
import sys

import ipywidgets
from tqdm import tqdm

# %% tags=["nbval-ignore-output"]
for i in tqdm(range(3)):
    print(i, flush=True)
print("a warning", file=sys.stderr)

# %%
ipywidgets.IntSlider()

# %%
1 + 1
"""


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A course of one notebook, of which only the text exists."""
    (tmp_path / "notebooks" / "src").mkdir(parents=True)
    (tmp_path / "notebooks" / "src" / "00_toy.py").write_text(TEXT, encoding="utf-8")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def tool(course: Path, *arguments: str) -> subprocess.CompletedProcess:
    script = [sys.executable, str(ROOT / "tools" / "notebooks.py")]
    folder = ["--folder", str(course / "notebooks")]
    return subprocess.run([*script, *folder, *arguments], capture_output=True, text=True)


def read(course: Path) -> nbformat.NotebookNode:
    return nbformat.read(course / "notebooks" / "00_toy.ipynb", as_version=4)


def test_stored_is_only_what_every_run_shares(course: Path):
    assert tool(course, "00_toy").returncode == 0
    nb = read(course)
    _, first, second, widget, third = nb.cells
    assert list(nb.metadata) == ["kernelspec"]
    assert [cell.execution_count for cell in (first, second, widget, third)] == [1, 2, 3, 4]
    assert second.metadata == {"tags": ["nbval-ignore-output"]}
    assert [(o.name, o.text) for o in second.outputs] == [("stdout", "0\n1\n2\n")]
    assert list(widget.outputs[0].data) == ["text/plain"]
    assert third.outputs[0].data == {"text/plain": "2"}


def test_a_second_run_changes_nothing(course: Path):
    tool(course)
    files = [course / "notebooks" / "00_toy.ipynb", course / "notebooks" / "src" / "00_toy.py"]
    before = [path.read_bytes() for path in files]
    assert tool(course).returncode == 0
    assert [path.read_bytes() for path in files] == before


def test_the_text_is_followed_and_a_failing_cell_stores_no_outputs(course: Path):
    tool(course)
    text = course / "notebooks" / "src" / "00_toy.py"
    text.write_text(text.read_text(encoding="utf-8").replace("1 + 1", "1 / 0"), encoding="utf-8")
    run = tool(course)
    assert run.returncode == 1
    assert "00_toy" in run.stderr
    assert "ZeroDivisionError" in run.stderr
    assert "1 / 0" in read(course).cells[-1].source
    assert all(out.output_type != "error" for out in read(course).cells[-1].outputs)


def test_an_edit_made_while_the_notebook_runs_is_kept(course: Path):
    text = course / "notebooks" / "src" / "00_toy.py"
    edit = "from pathlib import Path\nPath('src/00_toy.py').write_text('# %%\\n# edited\\n')"
    text.write_text(f"# %%\n{edit}\n", encoding="utf-8")
    run = tool(course)
    assert run.returncode == 1
    assert "edited while it ran" in run.stderr
    assert text.read_text(encoding="utf-8") == "# %%\n# edited\n"


def test_sync_only_runs_nothing(course: Path):
    assert tool(course, "--sync-only").returncode == 0
    assert [cell.get("execution_count") for cell in read(course).cells] == [None] * 5


def test_an_unknown_notebook_is_refused(course: Path):
    run = tool(course, "07_nowhere")
    assert run.returncode == 2
    assert "07_nowhere" in run.stderr
    assert "00_toy" in run.stderr
