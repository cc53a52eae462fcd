"""Tests of every version: it trains, is saved and resumed, stays on one device, and can be compiled."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch._dynamo.utils import counters

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus, load_corpus
from babygpt.device import compile_in_place
from babygpt.models.language_model import LanguageModel
from babygpt.models.versions import VERSIONS, build
from babygpt.objectives import Batch, Objective, objective_for
from babygpt.positions import Positions
from babygpt.training import Training
from babygpt.training.checkpoint import load, save
from babygpt.training.saved_run import restore, training_state

BLOCK = 16
Task = tuple[LanguageModel, Objective, Batch]


@pytest.fixture(scope="module")
def corpora() -> dict[bool, Corpus]:
    return {masks: load_corpus("tales", 20_000, with_mask=masks) for masks in (False, True)}


@pytest.fixture
def task(corpora: dict[bool, Corpus]) -> Callable[[str], Task]:
    """Make a small model of a version whose logits differ, its objective, and a batch."""

    def make(version: str) -> Task:
        corpus = corpora[VERSIONS[version].masks]
        objective = objective_for(version, corpus, BLOCK, n_branches=(2, 2), length=BLOCK, val_windows=1)
        torch.manual_seed(0)
        shape = {"n_layer": 2, "n_head": 2, "n_embd": 16}
        model = build(version, ModelConfig(corpus.tokenizer.vocab_size, BLOCK, **shape))
        for p in model.parameters():
            torch.nn.init.normal_(p, std=0.1)
        return model, objective, objective.batch(2, torch.Generator().manual_seed(0))

    return make


@pytest.mark.parametrize("version", VERSIONS)
def test_a_version_resumed_from_a_file_continues_the_same_run(
    version: str, task: Callable[[str], Task], corpora: dict[bool, Corpus], tmp_path: Path
) -> None:
    """Move every parameter, and restore from the file everything that the next step depends on."""
    tokenizer, plan = corpora[VERSIONS[version].masks].tokenizer, TrainConfig(steps=4, batch_size=4, seed=0)
    model, objective, _ = task(version)
    if version == "fire":
        model.encoding.log_threshold.data.fill_(1.0)  # a threshold below one token has no gradient
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    training = Training(model, objective, plan)
    for _ in range(2):
        training.make_step()
    for name, p in model.named_parameters():
        assert not torch.equal(p, before[name]), name
    path = tmp_path / "run.safetensors"
    save(path, model, tokenizer, {"seeds": [1]}, training_state(training))
    expected = list(training.steps())

    loaded = load(path)
    assert (loaded.version, type(loaded.model), loaded.info) == (version, type(model), {"seeds": [1]})
    again = Training(loaded.model, objective, plan)
    restore(again, loaded.training or {})
    assert [(s.step, s.loss, s.lr, s.tokens, s.val_loss) for s in again.steps()] == [
        (s.step, s.loss, s.lr, s.tokens, s.val_loss) for s in expected
    ]
    for name, p in loaded.model.state_dict().items():
        assert torch.equal(p, model.state_dict()[name]), name


@pytest.mark.parametrize(
    "version",
    [pytest.param(v, marks=() if v in ("v2", "v4", "v6", "v7") else pytest.mark.slow) for v in VERSIONS],
)
def test_torch_compile_captures_a_version_and_keeps_its_loss(version: str, task: Callable[[str], Task]):
    model, objective, batch = task(version)
    expected, names = objective.loss(model, batch), model.state_dict().keys()
    torch._dynamo.reset()
    counters.clear()
    compile_in_place(model, "eager")  # traced, and run as it was: Inductor would take minutes for them all
    loss = objective.loss(model, batch)
    assert loss.item() == pytest.approx(expected.item(), abs=1e-5)
    assert model.state_dict().keys() == names
    assert not counters["graph_break"]


@pytest.mark.parametrize("first", [-1, 1])
def test_a_compiled_model_refuses_positions_that_its_table_lacks(first: int):
    model = build("learned", ModelConfig(7, 4, n_layer=1, n_head=2, n_embd=8))
    torch._dynamo.reset()
    compile_in_place(model, "eager")
    idx = torch.zeros(1, 4, dtype=torch.long)
    assert model(idx, Positions.arange(4)).isfinite().all()
    with pytest.raises(RuntimeError, match="a position is not in the table: it has 0 to 3"):
        model(idx, Positions.arange(4, start=first))
