"""Tests of torchrun: several processes train as one does, and end when one of them is lost."""

import json
import os
import runpy
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import torch
from click.testing import CliRunner

import babygpt
from babygpt.cli import main
from babygpt.config import ModelConfig
from babygpt.data.corpus import Corpus
from babygpt.models.versions import build
from babygpt.objectives import Branches, DiffusionBound, MaskedDiffusion, NextToken, Objective
from babygpt.training import checkpoint as checkpoints
from babygpt.training.distributed import Team, distributed
from babygpt_course.studies.lookup import Lookup

SMALL = ["--n-layer", "1", "--n-head", "2", "--n-embd", "16", "--block-size", "16", "--batch-size", "5"]
HERE = str(Path(babygpt.__file__).parents[1])
ALONE_HERE = {**{k: x for k, x in os.environ.items() if k not in ("RANK", "WORLD_SIZE")}, "PYTHONPATH": HERE}
ONE_NODE = ["--standalone", "--nproc-per-node", "2"]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("the cat sat on the mat. " * 40, encoding="utf-8")
    return path


@pytest.fixture
def tasks(small_corpus: Corpus, small_masked_corpus: Corpus) -> dict[str, tuple[str, Objective, int]]:
    """Return each objective, with a version that learns it and the number of its tokens."""
    V, lookup = small_corpus.tokenizer.vocab_size, Lookup()
    return {
        "next token": ("v4", NextToken(small_corpus, 16), V),
        "branches": ("v6", Branches(small_corpus, 16, n_branches=(1, 3), by_samples=True), V),
        "holes": ("v7", MaskedDiffusion(small_masked_corpus, 16, 20), V + 1),
        "bound": ("v7", DiffusionBound(small_masked_corpus, 16, 20), V + 1),
        "lookup": ("v4", lookup, lookup.vocab_size),
    }


# ---------------------------------------------------------------- sharing a batch in one process


@pytest.mark.parametrize("size", [2, 5])
@pytest.mark.parametrize("task", ["next token", "branches", "holes", "bound", "lookup"])
def test_the_parts_of_a_loss_add_up_to_it(tasks, wake, task: str, size: int) -> None:
    """Compare gradients, too, though some parts hold more targets than others."""
    version, objective, V = tasks[task]
    model = wake(build(version, ModelConfig(V, block_size=32, n_layer=1, n_head=2, n_embd=16)))
    batch = objective.batch(5, torch.Generator().manual_seed(0))
    shares = [Team(rank, size).shard(batch) for rank in range(size)]
    assert sum(len(mine[0]) for mine in shares) == 5
    whole = objective.loss(model, batch)
    weights = [objective.count(mine) / objective.count(batch) for mine in shares]
    parts = sum(objective.loss(model, mine) * w for mine, w in zip(shares, weights, strict=True))
    assert parts.item() == pytest.approx(whole.item(), rel=1e-5)
    gradients, shared_gradients = (
        torch.autograd.grad(loss, list(model.parameters())) for loss in (whole, parts)
    )
    for p, q in zip(gradients, shared_gradients, strict=True):
        assert torch.allclose(p, q, atol=1e-5)


def test_a_batch_too_small_to_share_is_refused() -> None:
    with pytest.raises(ValueError, match=r"batch_size \(3\) must be at least the number of processes \(4\)"):
        Team(0, 4).shard((torch.zeros(3, 2),))


def test_without_torchrun_one_process_trains_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    with distributed() as team:
        assert (team.rank, team.world_size, team.is_main, team.sum(2.0)) == (0, 1, True, 2.0)
    assert not torch.distributed.is_initialized()


# ---------------------------------------------------------------- two processes


def torchrun(*args: object) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "torch.distributed.run", *ONE_NODE, *[str(a) for a in args]],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**ALONE_HERE, "OMP_NUM_THREADS": "1"},
    )


TRAINS = """
import json, sys
from pathlib import Path
import torch
from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import load_corpus
from babygpt.training.distributed import distributed
from babygpt.models.versions import VERSIONS, build
from babygpt.objectives import MaskedDiffusion, NextToken

def losses(team):
    for version in ("v4", "v7"):
        torch.manual_seed(0)
        corpus = load_corpus(sys.argv[1], with_mask=VERSIONS[version].masks)
        objective = MaskedDiffusion(corpus, 16, 20) if VERSIONS[version].masks else NextToken(corpus, 16)
        V = corpus.tokenizer.vocab_size
        model = build(version, ModelConfig(V, block_size=16, n_layer=2, n_head=2, n_embd=16))
        plan = TrainConfig(steps=12, batch_size=5, lr_matrix=0.01, lr_other=0.01, eval_every=4, seed=0)
        steps = list(team.training(model, objective, plan).steps())
        weights = [p.flatten().tolist() for p in model.parameters()]
        yield [(s.loss, s.tokens, s.val_loss) for s in steps], weights

with distributed() as team:
    found = list(losses(team))
    Path(sys.argv[2] + str(team.rank)).write_text(json.dumps(found))
"""


def test_two_processes_learn_the_same_as_one(text: Path, tmp_path: Path, monkeypatch) -> None:
    """Allow for the order of additions. One process has 3 rows, the other 2; both get exactly the same."""
    script = tmp_path / "trains.py"
    script.write_text(TRAINS)
    process = torchrun(script, text, tmp_path / "two")
    monkeypatch.setattr(sys, "argv", [str(script), str(text), str(tmp_path / "one")])
    runpy.run_path(str(script))
    printed, _ = process.communicate(timeout=300)
    assert process.returncode == 0, printed
    alone, first, second = (json.loads((tmp_path / name).read_text()) for name in ("one0", "two0", "two1"))
    assert first == second
    for (steps, weights), (shared_steps, shared_weights) in zip(alone, first, strict=True):
        for (loss, tokens, val_loss), (shared_loss, shared_tokens, shared_val_loss) in zip(
            steps, shared_steps, strict=True
        ):
            assert shared_loss == pytest.approx(loss, abs=2e-3)
            assert shared_val_loss == (val_loss and pytest.approx(val_loss, abs=2e-3))
            assert shared_tokens == tokens
        assert shared_steps[0][0] == pytest.approx(steps[0][0], abs=1e-6)
        for p, q in zip(weights, shared_weights, strict=True):
            assert torch.allclose(torch.tensor(p), torch.tensor(q), atol=5e-3)


@pytest.mark.slow
def test_a_run_whose_process_is_killed_is_finished_by_one_process(text: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.safetensors"
    words = ["train", "v4", "--corpus", text, "--out", out, "--steps", 200, *SMALL]
    process = torchrun("-m", "babygpt", *words, "--save-every", 5)
    while not out.exists():
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.02)
    ranks = {child.environ()["RANK"]: child for child in psutil.Process(process.pid).children()}
    ranks["1"].kill()
    printed, _ = process.communicate(timeout=120)
    assert process.returncode != 0
    (line,) = [line for line in printed.replace("\r", "\n").splitlines() if line.startswith("Error: ")]
    stands = checkpoints.load(out).info["steps_done"]
    assert f"the checkpoint of step {stands} stands at {out}" in line
    assert 0 < stands < 200
    result = CliRunner().invoke(main, [str(word) for word in (*words, "--resume")])
    assert result.exit_code == 0, result.output
    assert checkpoints.load(out).info["steps_done"] == 200


@pytest.mark.slow
def test_bad_input_is_reported_once(tmp_path: Path) -> None:
    """Let the first process report it; the others print nothing."""
    process = torchrun("-m", "babygpt", "train", "v4", "--corpus", "no/file.txt", "--out", tmp_path / "m")
    printed, _ = process.communicate(timeout=120)
    assert process.returncode != 0
    assert printed.count("no/file.txt") == 1
    assert "babygpt/" not in printed  # no trace of ours
