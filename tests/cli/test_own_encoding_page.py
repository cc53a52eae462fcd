"""docs/own_encoding.md as it stands: its files are written, and each command runs with few steps."""

import re
import runpy
import shlex
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from babygpt import build
from babygpt.config import ModelConfig
from babygpt.encodings import ShiftedRotary
from babygpt.models.cache import KVCache
from babygpt.models.transformer import Transformer
from babygpt.positions import Positions
from babygpt_live import comparison_view

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "own_encoding.md").read_text(encoding="utf-8")
SMALL = ("--n-layer", "1", "--n-head", "2", "--n-embd", "16")
CONFIG = ModelConfig(vocab_size=11, block_size=16, n_layer=2, n_head=2, n_embd=16)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write the page's files into a folder of their own, and enter it."""
    monkeypatch.chdir(tmp_path)
    for code in re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.M | re.S):
        (tmp_path / code.split()[1]).write_text(code, encoding="utf-8")
    return tmp_path


def own_model(name: str) -> Transformer:
    model = build(name, CONFIG).double()
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.3)
    return model


def test_every_command_runs(run, folder: Path) -> None:
    (folder / "my.txt").write_text("the cat sat on the mat.\n" * 400, encoding="utf-8")
    brief = {"--steps": "2", "--seeds": "2", "--rates": None, "--corpus": "my.txt"}
    commands = [
        shlex.split(line)
        for block in re.findall(r"^```bash\n(.*?)^```$", PAGE, flags=re.M | re.S)
        for line in block.splitlines()
    ]
    for words in commands:
        assert words[:3] == ["python", "-m", "babygpt"]
        short = [brief.get(flag) or word for flag, word in pairwise(words[2:])]
        if short[0] in ("train", "compare"):
            short += [] if "--corpus" in short else ["--corpus", "my.txt"]
            short += SMALL
        if short[0] == "generate":
            short[short.index("--prompt") + 1] = "the "
        result = run(*short)
        assert result.exit_code in ((0, 1) if short[0] == "check" else (0,)), (short, result.output)


def test_the_cell_of_a_notebook_compares_and_shows_curves(folder: Path, monkeypatch) -> None:
    (folder / "my.txt").write_text("the cat sat on the mat.\n" * 400, encoding="utf-8")
    shown = []

    def compare_versions(versions, corpus, seeds, *shape, watch, **options):
        watch(versions[2], 1337, [[600, 1.25]])

    monkeypatch.setattr(comparison_view, "compare_versions", compare_versions)
    monkeypatch.setattr(comparison_view, "display", shown.append)
    runpy.run_path(str(folder / "cell.py"))
    (widget,) = shown
    assert list(widget.curves) == ["v4", "alibi", "sandwich.py:Sandwich"]
    assert widget.panel().title == "Loss: Sandwich ends at 1.250 (1 seed)"


NAMES = ["sandwich.py:Sandwich", "forgetting.py:Forgetting", "cope.py:CoPE", "shift.py:Shift"]


@pytest.mark.parametrize("name", NAMES)
def test_writing_with_a_cache_changes_nothing(folder: Path, name: str) -> None:
    model, idx, cache = own_model(name), torch.randint(11, (2, 12)), KVCache(12)
    logits = torch.cat([model(token, None, cache) for token in idx.split(1, dim=1)], dim=1)
    torch.testing.assert_close(logits, model(idx), rtol=0, atol=1e-6)  # Sandwich computes in float32


def test_shift_is_the_version_of_the_package(folder: Path) -> None:
    own, ours = own_model("shift.py:Shift"), Transformer(CONFIG, ShiftedRotary(8, 16)).double()
    weights = own.state_dict()
    weights["encoding.shift"] = weights.pop("encoding.weight")
    ours.load_state_dict(weights)
    idx = torch.randint(11, (2, 12))
    assert torch.equal(own(idx), ours(idx))


def test_a_gate_that_is_shut_forgets_what_came_before(folder: Path) -> None:
    model, idx = own_model("forgetting.py:Forgetting"), torch.randint(11, (1, 12))
    with torch.no_grad():
        model.encoding.weight.zero_()
        model.encoding.offset.fill_(-60.0)  # each token keeps nothing of those before it
    changed = idx.clone()
    changed[0, :-1] = (idx[0, :-1] + 1) % 11
    torch.testing.assert_close(model(idx)[0, -1], model(changed)[0, -1], rtol=0, atol=1e-9)


def test_cope_counts_tokens_by_their_gates_and_mixes_two_rows_of_its_table(folder: Path) -> None:
    """Compare the term of each score with equations 3 to 5 of the paper, one key after the other."""
    furthest, scale, positions = 2, 2 / 8**0.5, Positions.arange(6)
    encoding = build("cope.py:CoPE", CONFIG, furthest=furthest).double().encoding
    torch.nn.init.normal_(encoding.table)
    q, k = torch.randn(2, 1, 2, 6, 8, dtype=torch.float64)
    with torch.no_grad():
        terms = encoding.content_bias(q, k, positions, positions)
        for head in range(2):
            for i in range(6):
                query, gates = scale * q[0, head, i], (scale * q[0, head, i] @ k[0, head].T).sigmoid()
                for j in range(i + 1):
                    count = min(float(gates[j : i + 1].sum()), furthest)
                    row, share = int(count), count % 1
                    mixture = (1 - share) * encoding.table[row] + share * encoding.table[
                        min(row + 1, furthest)
                    ]
                    assert float(terms[0, head, i, j]) == pytest.approx(float(query @ mixture), abs=1e-5)
