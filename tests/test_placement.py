"""Training, watches, metrics and samplers work on the model's device, with the numbers of the CPU."""

import copy
from collections.abc import Iterator
from dataclasses import astuple, is_dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

import babygpt_live as live
from babygpt import metrics, sampling
from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus, load_corpus
from babygpt.metrics import inspection, parallel_texts
from babygpt.models.language_model import LanguageModel
from babygpt.models.versions import VERSIONS, build
from babygpt.objectives import NextToken, objective_for
from babygpt.training import train
from babygpt.training.optimizers import PRECISION
from babygpt_course import explorers
from babygpt_course.studies.gaussian_training import cost_of_hiding
from babygpt_course.studies.remasking import right_guesses
from babygpt_live.run import Run
from tests.pretended_gpu import DEVICE, DeviceTensor, pretended_gpu

BLOCK = 16


@pytest.fixture
def device() -> Iterator[torch.device]:
    """Pretend a GPU, and let both devices compute attention in the same order of operations."""
    with pretended_gpu() as device, sdpa_kernel(SDPBackend.MATH):
        yield device


@pytest.fixture(scope="module")
def corpora() -> dict[bool, Corpus]:
    return {masks: load_corpus("plain-tales", 20_000, with_mask=masks) for masks in (False, True)}


def small_model(version: str, corpus: Corpus, block_size: int = BLOCK) -> LanguageModel:
    torch.manual_seed(0)
    shape = {"n_layer": 2, "n_head": 2, "n_embd": 16}
    model = build(version, ModelConfig(corpus.tokenizer.vocab_size, block_size, **shape))
    for p in model.parameters():
        torch.nn.init.normal_(p, std=0.1)
    return model


def plain(value: Any) -> Any:
    """Return a measurement as numbers and lists that == compares; refuse a tensor left on the device."""
    if isinstance(value, Tensor):
        return value.cpu().tolist()
    if isinstance(value, np.ndarray):
        return value.tolist()
    if is_dataclass(value) and not isinstance(value, type):
        return plain(astuple(value))
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, list | tuple) else value


def test_the_pretended_device_refuses_to_mix(device: torch.device) -> None:
    here, there = torch.ones(3), torch.ones(3, device=device)
    assert isinstance(there, DeviceTensor)
    assert there.device == DEVICE
    assert (there + 1).sum().item() == 6
    assert torch.equal((there * there).cpu(), here)
    for mix in (lambda: here + there, lambda: torch.cat([here, there]), there.numpy, lambda: there @ here):
        with pytest.raises((RuntimeError, TypeError)):
            mix()
    with pytest.raises(RuntimeError, match="generator"):
        torch.rand(3, device=device, generator=torch.Generator())
    copied = here.to(device)
    copied += 1
    assert here.sum() == 3  # a copy shares no memory


@pytest.mark.parametrize("version", VERSIONS)
def test_a_version_trains_and_validates_where_it_is(
    version: str, corpora: dict[bool, Corpus], device: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PRECISION, device.type, PRECISION["cpu"])  # Muon rounds alike on both devices.
    corpus, plan = corpora[VERSIONS[version].masks], TrainConfig(steps=2, batch_size=2)
    objective = objective_for(version, corpus, BLOCK, n_branches=(2, 2), length=BLOCK, val_windows=1)
    objective.val_chars = 200
    losses = []
    for place in (torch.device("cpu"), device):
        model = small_model(version, corpus).to(place)
        losses.append([(step.loss, step.val_loss) for step in train(model, objective, plan)])
        assert {p.device for p in model.parameters()} == {place}
    assert losses[0] == losses[1]


QUESTION = "ada fed ben. who fed? "
HOLLOW = "ada fed ___"


def draw() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def of_next_token(model: Any, corpus: Corpus) -> list[Any]:
    tokenizer, ids = corpus.tokenizer, corpus.val
    questions = corpus.grammar.questions(4, seed=2, max_chars=48)
    return [
        explorers.roles(tokenizer, questions).measure(model),
        explorers.heads(tokenizer, QUESTION).measure(model),
        explorers.clocks(tokenizer, QUESTION).measure(model),
        metrics.answer_losses(model, tokenizer, questions),
        metrics.whole_answer_accuracy(model, tokenizer, questions),
        metrics.loss_by_position(model, ids, 32, 4),
        metrics.position_matched_losses(model, ids, 80, 2, 8),
        cost_of_hiding(model, ids, [4], 32, 2),
        metrics.ablate_heads(model, lambda ablated: metrics.role_accuracy(ablated, tokenizer, questions)),
        sampling.generate(model, ids[None, :8], 70, generator=draw()),
    ]


def of_branches(model: Any, corpus: Corpus) -> list[Any]:
    tokenizer, ids = corpus.tokenizer, corpus.val
    return [
        explorers.branch_similarity(tokenizer, "ada fed", 2).measure(model),
        explorers.interference(ids, 12, 2, n_texts=4).measure(model),
        metrics.split_gap(model, ids, 2, 12, 4),
        parallel_texts.leakage(model, ids, 2, 12, 2),
        sampling.generate_parallel(model, [ids[:5], ids[9:17]], 40, generator=draw()),
    ]


def of_diffusion(model: Any, corpus: Corpus) -> list[Any]:
    tokenizer, ids = corpus.tokenizer, corpus.val
    hollow = explorers.encode_masked(tokenizer, HOLLOW)
    questions = corpus.grammar.questions(2, seed=2, max_chars=48)

    orders = [sampling.by_confidence(), sampling.by_entropy(), sampling.ancestral(4)]
    return [
        explorers.filled_text(tokenizer, HOLLOW).measure(model),
        metrics.nelbo(model, ids[:100], BLOCK),
        metrics.exact_nelbo(model, ids[:3]),
        right_guesses(model, corpus, 0.5, n=2),
        metrics.answer_bounds(model, tokenizer, questions),
        sampling.continue_text(model, ids[None, :8], 20, generator=draw()),
        sampling.rewrite(model, hollow, generator=draw()),
        *(
            sampling.fill_in(model, hollow, order=order, generator=draw())
            for order in (*orders, sampling.ancestral(3))
        ),
    ]


MEASUREMENTS = {
    "v1": lambda model, corpus: [explorers.next_characters(corpus.tokenizer).measure(model)],
    "v2": lambda model, corpus: [explorers.votes(corpus.tokenizer).measure(model)],
    "v3": lambda model, _: [explorers.position_codes(BLOCK).measure(model)],
    "v4": of_next_token,
    "v5": lambda model, _: [explorers.kernel().measure(model), inspection.reach(model.encoding, 0.5)],
    "v6": of_branches,
    "v7": of_diffusion,
    "v7-polar": lambda model, _: [explorers.gates().measure(model)],
    "recall": lambda model, corpus: [metrics.recall_by_distance(model, corpus.tokenizer, [12], n=4)],
}


@pytest.mark.parametrize("name", MEASUREMENTS)
def test_watches_metrics_and_samplers_measure_where_the_model_is(
    name: str, corpora: dict[bool, Corpus], device: torch.device
) -> None:
    version = "v4" if name == "recall" else name
    corpus = load_corpus("recall", 20_000) if name == "recall" else corpora[VERSIONS[version].masks]
    model = small_model(version, corpus, block_size=64).eval()
    here = MEASUREMENTS[name](model, corpus)
    there = MEASUREMENTS[name](copy.deepcopy(model).to(device), corpus)
    assert plain(there) == plain(here)


@pytest.mark.parametrize("end", ["finished", "stopped", "failed"])
def test_a_live_run_trains_on_the_device_and_brings_the_model_back(
    end: str, corpora: dict[bool, Corpus], device: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("babygpt_live.run.pick_device", lambda: device)
    corpus, places = corpora[False], set()
    model = small_model("v4", corpus)
    objective = NextToken(corpus, BLOCK)
    objective.val_chars = 200

    def watch(model: Any) -> None:
        places.add(next(model.parameters()).device)
        if end == "stopped":
            run.stop()
        if end == "failed":
            raise ArithmeticError("planned")

    plan = TrainConfig(steps=3, batch_size=2)
    run = Run(model, objective, plan, "v4", [live.Watch(watch, lambda *_: None)])
    run.train_after([])  # Other threads do not know the pretended device.
    assert run.state == end
    assert places == {device}
    assert {p.device.type for p in model.parameters()} == {"cpu"}
    assert (end == "failed") == isinstance(run.error, ArithmeticError)
