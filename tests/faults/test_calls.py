"""Likely slips in calls from Python: each is refused by BadInput, and most lines say what to write."""

import math
from dataclasses import fields

import pytest
import torch

from babygpt import metrics, sampling
from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import load_corpus
from babygpt.errors import BadInput
from babygpt.metrics import parallel_texts
from babygpt.models.versions import VERSIONS, build
from babygpt.objectives import Branches, MaskedDiffusion, NextToken, cross_entropy, denoise, mean_loss
from babygpt.objectives.objective import next_token_losses
from babygpt.positions import Positions
from babygpt.training import train
from babygpt.training.checkpoint import Checkpoint
from tests.pretended_gpu import data_parallel

IDS = torch.tensor([1, 2, 3, 4])
SHAPE = ModelConfig(11, 16, 1, 2, 16)
NOT_IDS = {
    "a text": "abc",
    "a list": [1, 2, 3],
    "an array": IDS.numpy(),
    "floats": IDS.float()[None],
    "an unknown token": IDS[None] + 1000,
    "a negative token": IDS[None] - 50,
    "nothing": None,
    "a number": 5,
    "too many dimensions": IDS[None, None],
}


@pytest.fixture(scope="module")
def models(awake) -> dict:
    return {version: awake(version, n_layer=1) for version in ("v2", "v4", "v6", "v7")}


DOORS = {  # name -> a call with the models, token ids (B, T) or (N,), and the corpus without and with MASK
    "generate": lambda m, x, c, d: sampling.generate(m["v4"], x, 2),
    "fill_in": lambda m, x, c, d: sampling.fill_in(m["v7"], x),
    "continue_text": lambda m, x, c, d: sampling.continue_text(m["v7"], x, 2),
    "rewrite": lambda m, x, c, d: sampling.rewrite(m["v7"], x),
    "generate_parallel": lambda m, x, c, d: sampling.generate_parallel(m["v6"], x, 2),
    "stop": lambda m, x, c, d: sampling.generate(m["v4"], [IDS], 2, stop=x),
    "v4": lambda m, x, c, d: m["v4"](x),
    "v2": lambda m, x, c, d: m["v2"](x),
    "denoise": lambda m, x, c, d: denoise(m["v7"], x),
    "next_token_losses": lambda m, x, c, d: next_token_losses(m["v4"], (x, x)),
    "cross_entropy": lambda m, x, c, d: cross_entropy(torch.zeros(1, 4, 11), x),
    "mean_loss": lambda m, x, c, d: mean_loss(m["v4"], [(x, x)]),
    "NextToken.losses": lambda m, x, c, d: NextToken(c, 8).losses(m["v4"], (x, x)),
    "loss_by_position": lambda m, x, c, d: metrics.loss_by_position(m["v4"], x, 8),
    "position_matched_change": lambda m, x, c, d: metrics.position_matched_change(m["v4"], x, 20),
    "nelbo": lambda m, x, c, d: metrics.nelbo(m["v7"], x),
    "exact_nelbo": lambda m, x, c, d: metrics.exact_nelbo(m["v7"], x),
    "attention_weights": lambda m, x, c, d: metrics.attention_weights(m["v4"], x),
    "written_by_heads": lambda m, x, c, d: metrics.written_by_heads(m["v4"], x),
    "split_gap": lambda m, x, c, d: metrics.split_gap(m["v6"], x, 2, 8),
    "leakage": lambda m, x, c, d: parallel_texts.leakage(m["v6"], x, 2, 8),
    "layer_similarity": lambda m, x, c, d: parallel_texts.layer_similarity(m["v6"], x, 2),
    "role_accuracy": lambda m, x, c, d: metrics.role_accuracy(m["v4"], c.tokenizer, x),
    "whole_answer_accuracy": lambda m, x, c, d: metrics.whole_answer_accuracy(m["v4"], c.tokenizer, x),
    "answer_losses": lambda m, x, c, d: metrics.answer_losses(m["v4"], c.tokenizer, x),
    "answer_bounds": lambda m, x, c, d: metrics.answer_bounds(m["v7"], d.tokenizer, x),
}


@pytest.mark.parametrize("slip", NOT_IDS)
@pytest.mark.parametrize("door", DOORS)
def test_what_is_no_batch_of_token_ids_is_refused(
    models, small_corpus, small_masked_corpus, door: str, slip: str
) -> None:
    if (door, slip) == ("stop", "nothing"):
        pytest.skip("a text then ends with its last token")
    with pytest.raises(BadInput):
        DOORS[door](models, NOT_IDS[slip], small_corpus, small_masked_corpus)


def test_the_message_about_ids_without_a_batch_says_what_to_write(models) -> None:
    for call in (sampling.generate, sampling.continue_text):
        with pytest.raises(BadInput, match=r"idx of shape \(4,\) should be \(B, T\): write idx\[None\]"):
            call(models["v4" if call is sampling.generate else "v7"], IDS, 5)
    with pytest.raises(BadInput, match=r"write tokenizer.encode\('abc'\)\[None\]"):
        sampling.generate(models["v4"], "abc", 5)


WITH_MODEL = {
    "generate": lambda m, c: sampling.generate(m, IDS[None], 2),
    "fill_in": lambda m, c: sampling.fill_in(m, IDS[None]),
    "generate_parallel": lambda m, c: sampling.generate_parallel(m, [IDS], 2),
    "loss_by_position": lambda m, c: metrics.loss_by_position(m, c.val, 8),
    "nelbo": lambda m, c: metrics.nelbo(m, c.val),
    "attention_weights": lambda m, c: metrics.attention_weights(m, IDS),
    "recall_by_distance": lambda m, c: metrics.recall_by_distance(m, c.tokenizer, [5]),
    "split_gap": lambda m, c: metrics.split_gap(m, c.val, 2, 8),
    "mean_loss": lambda m, c: mean_loss(m, []),
    "train": lambda m, c: next(train(m, NextToken(c, 8), TrainConfig(steps=2))),
}


@pytest.mark.parametrize("call", WITH_MODEL)
def test_what_is_no_model_is_refused(models, small_corpus, call: str) -> None:
    model = models["v4"]
    for wrong, says in (
        (Checkpoint(model, small_corpus.tokenizer), "Checkpoint: write .model"),
        (data_parallel(model), "DataParallel: write .module"),
        (model.state_dict(), "OrderedDict"),
        ("v4", "a str"),
        (None, "NoneType"),
    ):
        with pytest.raises(BadInput, match=says):
            WITH_MODEL[call](wrong, small_corpus)


NOTHING = {
    "no question": lambda m, c, d: metrics.role_accuracy(m["v4"], c.tokenizer, []),
    "no answer": lambda m, c, d: metrics.answer_losses(m["v4"], c.tokenizer, []),
    "no bound": lambda m, c, d: metrics.answer_bounds(m["v7"], d.tokenizer, []),
    "no distance": lambda m, c, d: metrics.recall_by_distance(m["v4"], c.tokenizer, []),
    "no text": lambda m, c, d: metrics.nelbo(m["v7"], IDS[:0]),
    "no token": lambda m, c, d: metrics.exact_nelbo(m["v7"], IDS[:0]),
    "no length": lambda m, c, d: metrics.loss_by_position(m["v4"], IDS, 0),
    "windows below 0": lambda m, c, d: metrics.loss_by_position(m["v4"], IDS, 2, -3),
    "no batch": lambda m, c, d: mean_loss(m["v4"], []),
    "no texts": lambda m, c, d: metrics.split_gap(m["v6"], c.val, 2, 8, 0),
    "no branch": lambda m, c, d: parallel_texts.code_similarity(m["v6"], 0),
    "no other branch": lambda m, c, d: parallel_texts.leakage(m["v6"], c.val, 1, 8),
    "no window": lambda m, c, d: NextToken(c, 0),
}


@pytest.mark.parametrize("case", NOTHING)
def test_measures_of_nothing_are_refused(models, small_corpus, small_masked_corpus, case: str) -> None:
    with pytest.raises(BadInput):
        NOTHING[case](models, small_corpus, small_masked_corpus)


NOT_WHOLE = {
    "steps": lambda m, c, d: TrainConfig(steps=2.5),
    "a text": lambda m, c, d: TrainConfig(steps="2"),
    "yes or no": lambda m, c, d: TrainConfig(bf16="no"),
    "block_size": lambda m, c, d: ModelConfig(20, block_size=16.5),
    "NextToken": lambda m, c, d: NextToken(c, 16.0),
    "Branches": lambda m, c, d: Branches(c, 16, (1, 2.5)),
    "MaskedDiffusion": lambda m, c, d: MaskedDiffusion(d, 8, 2.5),
    "generate": lambda m, c, d: sampling.generate(m["v4"], IDS[None], 2.5),
    "top_k": lambda m, c, d: sampling.generate(m["v4"], IDS[None], 2, top_k=1.5),
    "temperature": lambda m, c, d: sampling.generate(m["v4"], IDS[None], 2, "hot"),
    "block": lambda m, c, d: sampling.continue_text(m["v7"], IDS[None], 5, block=2.5),
    "threshold": lambda m, c, d: sampling.by_confidence("high"),
    "SecondThoughts": lambda m, c, d: sampling.SecondThoughts(2.5),
    "nelbo": lambda m, c, d: metrics.nelbo(m["v7"], IDS, 2.5),
    "an option": lambda m, c, d: build("fire", SHAPE, width=2.5),
    "steer": lambda m, c, d: m["v4"].encoding.steer("theta", "large"),
    "corpus": lambda m, c, d: load_corpus("tales", 2.5),
}


@pytest.mark.parametrize("case", NOT_WHOLE)
def test_annotations_decide_which_numbers_are_taken(
    models, small_corpus, small_masked_corpus, case: str
) -> None:
    with pytest.raises(BadInput, match=r"must be .*(number|True or False)"):
        NOT_WHOLE[case](models, small_corpus, small_masked_corpus)


# ---------------------------------------------------------------- extreme numbers

EXTREME = [0, -1, 2.5, 1e12, 10**12, 1e308, math.nan, math.inf, 2**64, -(2**64), None, "3"]


def taken(make) -> bool:
    """Return whether a call is taken; any error but BadInput goes on, and fails the test."""
    try:
        make()
    except BadInput:
        return False
    return True


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.filterwarnings("ignore:Initializing zero-element")
def test_an_extreme_number_is_taken_or_refused_as_bad_input(version: str) -> None:
    kind, steps = VERSIONS[version], torch.arange(8)
    positions = Positions(
        steps, steps % 1 if kind.branches else None, steps[None] > 3 if kind.masks else None
    )

    def read(shape: dict, options: dict) -> None:
        config = ModelConfig(**{"vocab_size": 11, "n_layer": 1, "n_head": 2, "n_embd": 16, **shape})
        build(version, config, **options)(steps[None], positions)

    for name, default in kind.options().items():
        for number in EXTREME:
            taken(lambda: read({}, {name: (number,) * len(default) if type(default) is tuple else number}))  # noqa: B023
    for field in fields(ModelConfig):
        refusals = [taken(lambda: read({field.name: number}, {})) for number in EXTREME]  # noqa: B023
        assert refusals.count(False) >= 9


def test_an_extreme_number_of_a_plan_is_taken_or_refused_as_bad_input() -> None:
    for field in fields(TrainConfig):
        refusals = [taken(lambda: TrainConfig(**{field.name: number})) for number in EXTREME]  # noqa: B023
        assert refusals.count(False) >= 4, field.name
    assert not taken(lambda: TrainConfig(lr_matrix=math.inf))
    assert not taken(lambda: TrainConfig(weight_decay=math.nan))
