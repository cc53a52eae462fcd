"""tools/anywhere.py: which differences it reports, and which of them are faults."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from click.testing import CliRunner, Result
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook, new_output

from tools import anywhere
from tools.comparison import IGNORED

ROOT = Path(__file__).resolve().parents[2]
COARSE = """
import torch
x, y = torch.rand(2, 30, 30, generator=torch.Generator().manual_seed(0))
exact = x @ y
from tools.anywhere import round_products
round_products()
few = x.requires_grad_() @ y
(slope,) = torch.autograd.grad(few.sum(), x)
error = ((few - exact).abs() / exact).max().item()
print(1e-7 < error < 2**-19, torch.equal(x @ y, few), torch.allclose(slope, y.sum(1).expand(30, 30)))
"""

SHORT = """
from babygpt import TrainConfig
from tools.anywhere import shorten_trainings
shorten_trainings()
print(TrainConfig(600).steps, TrainConfig(4).steps)
"""


def cell(text: str, *tags: str) -> NotebookNode:
    outputs = [new_output("stream", name="stdout", text=text)]
    return new_code_cell(outputs=outputs, execution_count=1, metadata={"tags": list(tags)})


def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str, *texts: str) -> Result:
    """Compare a notebook that stores "1" and "1" (not compared) with a run that prints other texts."""
    path = tmp_path / "toy.ipynb"
    nbformat.write(new_notebook(cells=[cell("1"), cell("1", IGNORED)]), path)

    def run(nb: NotebookNode, _: anywhere.Setting) -> None:
        for each, text in zip(nb.cells, texts, strict=True):
            each.outputs[0].text = text

    monkeypatch.setattr(anywhere, "run", run)
    monkeypatch.setattr(anywhere, "pick", lambda *_: [path])
    return CliRunner().invoke(anywhere.main, ["toy", "-s", setting])


@pytest.mark.parametrize(
    ("setting", "texts", "differ", "faults"),
    [
        ("no-avx", ("1", "2"), 0, 0),  # the second is not compared
        ("no-avx", ("2", "1"), 1, 1),
        ("coarse", ("2", "1"), 1, 1),
        ("short", ("2", "1"), 1, 1),
        ("seeds+1000", ("2", "1"), 1, 0),  # other seeds may print something else
    ],
)
def test_a_differing_output_is_reported_and_a_fault_with_the_same_seeds(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    setting: str,
    texts: tuple[str, str],
    differ: int,
    faults: int,
):
    result = report(tmp_path, monkeypatch, setting, *texts)
    assert f"0 raise, {differ} differ, 0 outcomes changed" in result.output
    assert ("≠ cell 0: stdout: '2' (stored: '1')" in result.output) is bool(differ)
    assert result.exit_code == faults


@pytest.mark.parametrize(("code", "printed"), [(COARSE, "True True True"), (SHORT, "6 4")])
def test_coarse_products_differ_by_rounding_and_short_trainings_end_early(code: str, printed: str):
    # The code changes PyTorch or babygpt, so that it needs a process of its own.
    command = [sys.executable, "-c", code]
    assert (
        subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
        == printed
    )
