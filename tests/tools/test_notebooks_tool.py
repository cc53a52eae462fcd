"""tools/notebooks.py on a small notebook whose outputs must not be stored, and on pictures."""

import base64
import io
import shutil
from pathlib import Path

import nbformat
import numpy as np
import pytest
from click.testing import CliRunner, Result
from jupytext import TextFileContentsManager
from matplotlib.figure import Figure
from PIL import Image

from tools.notebooks import main, quantise, tidy, without_places

ROOT = Path(__file__).resolve().parents[2]
TEXT = """\
# %% [markdown]
# # A toy

# %%
import sys

import ipywidgets
import matplotlib.pyplot as plt
from tqdm import tqdm

# %% tags=["nbval-ignore-output"]
for i in tqdm(range(3)):
    print(i, flush=True)
print("a warning", file=sys.stderr)

# %%
ipywidgets.IntSlider()

# %%
plt.title("Two points\\nin a row")
plt.show()
"""


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """Make a course of one notebook, of which only the text exists."""
    (tmp_path / "notebooks" / "src").mkdir(parents=True)
    (tmp_path / "notebooks" / "src" / "00_toy.py").write_text(TEXT, encoding="utf-8")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def tool(course: Path, *arguments: str) -> Result:
    return CliRunner().invoke(main, ["--folder", str(course / "notebooks"), *arguments])


def read(course: Path) -> nbformat.NotebookNode:
    return nbformat.read(course / "notebooks" / "00_toy.ipynb", as_version=4)


# ---------------------------------------------------------------- runs


def test_only_outputs_that_every_run_shares_are_stored(course: Path):
    assert tool(course, "00_toy").exit_code == 0
    nb = read(course)
    _, first, second, widget, third = nb.cells
    assert list(nb.metadata) == ["kernelspec"]
    assert [cell.execution_count for cell in (first, second, widget, third)] == [1, 2, 3, 4]
    assert second.metadata == {"tags": ["nbval-ignore-output"]}
    assert [(o.name, o.text) for o in second.outputs] == [("stdout", "0\n1\n2\n")]
    assert list(widget.outputs[0].data) == ["text/plain"]
    assert opened(third.outputs[0].data["image/png"]).mode == "P"
    assert third.outputs[0].metadata["image/png"]["alt"] == "Two points in a row"

    files = [course / "notebooks" / "00_toy.ipynb", course / "notebooks" / "src" / "00_toy.py"]
    before = [path.read_bytes() for path in files]
    assert tool(course).exit_code == 0
    assert [path.read_bytes() for path in files] == before


def test_the_text_is_followed_and_a_failing_cell_stores_no_outputs(course: Path):
    tool(course, "--sync-only")
    text = course / "notebooks" / "src" / "00_toy.py"
    text.write_text(TEXT + "1 / 0\n", encoding="utf-8")
    run = tool(course)
    assert run.exit_code == 1
    assert "00_toy" in run.stderr
    assert "ZeroDivisionError" in run.stderr
    assert "1 / 0" in read(course).cells[-1].source
    assert all(cell.get("outputs", []) == [] for cell in read(course).cells)


def test_jupyterlab_opens_and_saves_the_notebook_itself_whatever_its_text_says(course: Path):
    """Read as JupyterLab with jupytext does, which pairs what pyproject.toml names."""
    tool(course, "--sync-only")
    text, files = course / "notebooks" / "src" / "00_toy.py", TextFileContentsManager(root_dir=str(course))
    text.write_text("# %% [markdown]\n# # Another\n", encoding="utf-8")
    model = files.get("notebooks/00_toy.ipynb")
    assert [cell.source for cell in model["content"].cells] == [cell.source for cell in read(course).cells]
    files.save({"type": "notebook", "content": model["content"]}, "notebooks/00_toy.ipynb")
    assert text.read_text(encoding="utf-8") == "# %% [markdown]\n# # Another\n"


def test_an_edit_during_a_run_is_preserved(course: Path):
    text = course / "notebooks" / "src" / "00_toy.py"
    edit = "from pathlib import Path\nPath('src/00_toy.py').write_text('# %%\\n# edited\\n')"
    text.write_text(f"# %%\n{edit}\n", encoding="utf-8")
    run = tool(course)
    assert run.exit_code == 1
    assert "edited while it ran" in run.stderr
    assert text.read_text(encoding="utf-8") == "# %%\n# edited\n"


# ---------------------------------------------------------------- pictures


def opened(png: str) -> Image.Image:
    return Image.open(io.BytesIO(base64.b64decode(png)))


def test_a_picture_in_256_colours_looks_the_same_also_in_the_still_copy_inside_a_page():
    """Draw two maps in colours of their own, with colour bars: far more than 256 colours."""
    drawn, file = Figure(figsize=(10, 4)), io.BytesIO()
    values = np.random.default_rng(0).uniform(size=(24, 24))
    for ax, colours in zip(drawn.subplots(1, 2), ("RdBu_r", "viridis"), strict=True):
        drawn.colorbar(ax.imshow(values, cmap=colours))
    drawn.savefig(file)
    figure = base64.b64encode(file.getvalue()).decode()
    before, after = (np.asarray(opened(png).convert("RGB")).astype(int) for png in (figure, quantise(figure)))
    error = np.abs(before - after).max(-1)
    white = (before == 255).all(-1)
    assert len(np.unique(before.reshape(-1, 3), axis=0)) > 600
    assert len(quantise(figure)) < 0.5 * len(figure)
    assert error[white].max() == 0
    assert np.quantile(error, 0.99) <= 6  # Colours reach from 0 to 255.
    assert error.mean() < 1
    page = '<img alt="it" src="data:image/png;base64,{}" style="width: 1px"><p>and words</p>'
    data = {"text/html": page.format(figure)}
    tidy(data)
    assert data == {"text/html": page.format(quantise(figure))}


def test_printed_paths_do_not_name_this_machine():
    printed = f"jupyter {ROOT}/.venv/bin/jupyter\nmodel {Path.home()}/.cache/model.gguf\n"
    assert without_places(printed) == "jupyter ~/babygpt/.venv/bin/jupyter\nmodel ~/.cache/model.gguf\n"
