"""A checkpoint that reads past its window: what is measured of it, trained on, refused."""

from dataclasses import replace

import pytest
import torch

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import from_text, recall_corpus
from babygpt.encodings import NTKAware, Rotary
from babygpt.errors import BadInput
from babygpt.metrics.next_token import position_matched_losses
from babygpt.metrics.recall import recall_by_distance
from babygpt.models.stretching import METHODS, stretched
from babygpt.models.versions import build
from babygpt.objectives import NextToken
from babygpt.training import checkpoint as checkpoints
from babygpt.training import train
from babygpt.training.checkpoint import Checkpoint
from babygpt_course.notes import stretch_checkpoint
from babygpt_course.notes.stretch_checkpoint import (
    FINE_RATE,
    StretchConfig,
    distances,
    fine_tuned,
    load_stretchable,
    measure_stretches,
)

BLOCK = 8
TEXT = from_text("text", "the cat sat on the mat. " * 60)
OWN = TrainConfig(4, batch_size=5, lr_matrix=0.02, lr_other=0.01)


@pytest.fixture
def loaded():
    """A v4 that learned for four steps, as it is read from a file."""
    return learned(TEXT)


def learned(corpus, **options):
    torch.manual_seed(1)
    shape = ModelConfig(corpus.tokenizer.vocab_size, BLOCK, n_layer=2, n_head=2, n_embd=16)
    model = build("v4", shape, **options)
    for _ in train(model, NextToken(corpus, BLOCK), OWN):
        pass
    return Checkpoint("v4", model, corpus.tokenizer, {"train": vars(OWN)})


def measured(loaded, corpus=TEXT, **settings):
    rows = list(measure_stretches(loaded, corpus, StretchConfig(**settings)))
    return {(row["method"], row["factor"]): row for row in rows}


def weights(model):
    return {name: p.clone() for name, p in model.state_dict().items()}


def test_change_and_loss_are_those_of_the_stretched_model_on_the_same_characters(loaded):
    """NTK's encoding, made by hand and put into the model, reads windows cut by hand."""
    rows = measured(loaded, factors=(2,), windows=3)
    assert list(rows) == [("as it is", 1), *((method, 2) for method in METHODS)]
    by_hand = learned(TEXT).model
    by_hand.encoding = NTKAware(8, 2)
    _, inside, past = position_matched_losses(by_hand, TEXT.val, 2 * BLOCK, 3, within=loaded.model)
    each = (past - inside).mean(axis=1)
    row = rows["ntk", 2]
    assert row["change"] == pytest.approx(each.mean(), abs=1e-6)
    assert row["se"] == pytest.approx(each.std(ddof=1) / 3**0.5, abs=1e-6)
    assert row["loss"] == pytest.approx(NextToken(TEXT, BLOCK).validate(by_hand), abs=1e-6)
    as_it_is = rows["as it is", 1]
    assert as_it_is["loss"] == rows["none", 2]["loss"]
    assert (as_it_is["change"], as_it_is["windows"], as_it_is["recall"]) == (None, 0, {})


def test_long_windows_stand_side_by_side(loaded):
    """144 characters of validation text hold 8 windows of 16 and their targets, 4 of 32, 1 of 128."""
    rows = measured(loaded, factors=(2, 4, 16), methods=("none",), windows=32)
    assert len(TEXT.val) == 144
    assert [rows["none", factor]["windows"] for factor in (2, 4, 16)] == [8, 4, 1]
    assert rows["none", 16]["se"] is None


# ---------------------------------------------------------------- training on


def test_fine_tuning_leaves_what_was_loaded_as_it_is(loaded):
    before = weights(loaded.model)
    plain, tuned = measured(loaded, factors=(2,)), measured(loaded, factors=(2,), fine_tune=2)
    assert list(tuned) == [("as it is", 1), ("control", 2), *((method, 2) for method in METHODS)]
    assert tuned["as it is", 1] == plain["as it is", 1]
    assert tuned["yarn", 2]["loss"] != plain["yarn", 2]["loss"]
    after = loaded.model.state_dict()
    assert all(torch.equal(p, after[name]) for name, p in before.items())
    assert type(loaded.model.encoding) is Rotary


@pytest.mark.parametrize("factor", [2, 4, 8])
def test_every_copy_sees_as_many_characters_a_step(loaded, monkeypatch, factor):
    """At least those of a step of the checkpoint, and fewer than a long window more."""
    seen, draw = {}, NextToken.batch

    def batch(self, size, generator):
        tokens, targets = draw(self, size, generator)
        seen.setdefault(method, []).append((tokens.shape[1], tokens.numel()))
        return tokens, targets

    monkeypatch.setattr(NextToken, "batch", batch)
    config = StretchConfig(factors=(factor,), fine_tune=2)
    for method in ("control", *METHODS):
        fine_tuned(loaded, method, factor, TEXT, config)
    characters = {numel for steps in seen.values() for _, numel in steps}
    assert len(characters) == 1
    assert 0 <= characters.pop() - OWN.batch_size * BLOCK < factor * BLOCK
    old = {method for method, steps in seen.items() if {length for length, _ in steps} == {BLOCK}}
    assert old == {"control", "drop"}
    assert all(length == factor * BLOCK for m, s in seen.items() if m not in old for length, _ in s)


def test_the_control_is_the_model_trained_on_as_it_was(loaded):
    """Its weights: those of plain training at 0.3 of the rates, from the seed that is given."""
    config = StretchConfig(factors=(2,), fine_tune=3, seed=7)
    control = fine_tuned(loaded, "control", 2, TEXT, config)
    assert (control.config.block_size, type(control.encoding)) == (2 * BLOCK, Rotary)
    plan = replace(OWN, steps=3, batch_size=6, seed=7)  # 3 windows of 16 characters are 6 of 8
    plan = replace(plan, lr_matrix=FINE_RATE * plan.lr_matrix, lr_other=FINE_RATE * plan.lr_other)
    plain = learned(TEXT).model
    for _ in train(plain, NextToken(TEXT, BLOCK), plan):
        pass
    assert all(torch.equal(p, plain.state_dict()[name]) for name, p in control.state_dict().items())
    other = fine_tuned(loaded, "control", 2, TEXT, replace(config, seed=8))
    assert not torch.equal(other.head.weight, control.head.weight)


def test_a_checkpoint_that_does_not_say_how_it_was_trained_is_trained_on_too():
    loaded = replace(learned(TEXT), info={})
    assert len(measured(loaded, factors=(2,), methods=("none",), fine_tune=1)) == 3


# ---------------------------------------------------------------- recalling


def test_distances_double_while_both_notes_fit():
    assert distances(64, 8) == [48, 96, 192, 384]
    assert distances(64, 1) == [48]
    assert distances(192, 4) == [48, 96, 192, 384]
    assert distances(8, 2) == [6, 12]
    assert distances(4, 1) == []


def test_values_are_asked_for_in_the_corpus_recall_and_in_no_other(monkeypatch):
    monkeypatch.setattr(stretch_checkpoint, "RECALLS", 20)
    notes = recall_corpus(4000)
    loaded = learned(notes)
    rows = measured(loaded, notes, factors=(4,), methods=("yarn",), windows=2)
    assert rows["as it is", 1]["recall"] == {}  # 6 characters and a note do not fit into 8
    found = rows["yarn", 4]["recall"]
    assert list(found) == ["6", "12", "24", "untold"]
    model, how = stretched(loaded.model, "yarn", 4), {"n": 20, "length": 4 * BLOCK}
    told = recall_by_distance(model, notes.tokenizer, [6, 12, 24], **how).accuracy
    untold = recall_by_distance(model, notes.tokenizer, [6], is_told=False, **how).accuracy
    assert list(found.values()) == [*told, *untold]
    renamed = replace(notes, name="text")
    assert measured(loaded, renamed, factors=(4,), methods=("yarn",))["yarn", 4]["recall"] == {}


def test_fine_tuning_at_a_new_length_reads_notes_asked_as_far_back(monkeypatch):
    read, real = {}, stretch_checkpoint.NextToken
    monkeypatch.setattr(
        stretch_checkpoint,
        "NextToken",
        lambda corpus, size: read.setdefault(size, real(corpus, size)),
    )
    notes = recall_corpus(4000)
    config = StretchConfig(factors=(8,), fine_tune=1)
    for method in ("control", "yarn"):
        fine_tuned(learned(notes), method, 8, notes, config)
    assert torch.equal(read[BLOCK].train, notes.train)
    far = replace(stretch_checkpoint.USUAL, furthest=stretch_checkpoint.USUAL.furthest + 7 * BLOCK)
    assert torch.equal(read[8 * BLOCK].train, recall_corpus(4000, far).train)


# ---------------------------------------------------------------- refused


@pytest.mark.parametrize(
    ("settings", "parts"),
    [
        ({"factors": (2, 18)}, ["factor 18", "validation text of at least 145", "text has 144"]),
        ({"factors": (2, 1)}, ["factors (1) must be at least 2"]),
        ({"factors": ()}, ["factors () must name at least one"]),
        ({"factors": (2, 2)}, ["factors (2, 2)", "none of them twice"]),
        ({"factors": (2,), "methods": ("yarn", "magic")}, ["methods (magic)", "interpolation, ntk, yarn"]),
        ({"factors": (2,), "windows": 0}, ["windows (0)"]),
        ({"factors": (2,), "fine_tune": -1}, ["fine_tune (-1)"]),
        ({"factors": (2,), "seed": 2**63}, ["seed (9223372036854775808)"]),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_measured(loaded, settings, parts):
    with pytest.raises(BadInput) as error:
        next(measure_stretches(loaded, TEXT, StretchConfig(**settings)))
    assert all(part in str(error.value) for part in parts)


def test_no_memory_for_the_longest_window_is_said_at_once(loaded, monkeypatch):
    monkeypatch.setattr("babygpt.memory.device_memory", lambda device: 40_000)
    with pytest.raises(BadInput, match=r"factor 16: windows of 128 characters need at least .* GB of memory"):
        next(measure_stretches(loaded, TEXT, StretchConfig(factors=(2, 16))))


def test_no_memory_to_train_on_long_windows_is_said_at_once(loaded, monkeypatch):
    many = replace(loaded, info={"train": vars(replace(OWN, batch_size=10**6))})
    monkeypatch.setattr("babygpt.memory.device_memory", lambda device: 10**6)
    next(measure_stretches(many, TEXT, StretchConfig(factors=(16,))))
    with pytest.raises(BadInput, match=r"62500 windows .* block_size 128 need at least"):
        next(measure_stretches(many, TEXT, StretchConfig(factors=(16,), fine_tune=1)))


@pytest.mark.parametrize(
    ("version", "options", "fits"),
    [
        ("v4", {}, True),
        ("v4", {"theta": 500.0, "per_layer": True}, True),
        ("v4", {"layers": ["nope", "v4"]}, True),
        ("v4-nope", {"every": 2}, True),
        ("v4", {"layers": ["v4", "alibi"]}, False),
        ("v4-yarn", {"factor": 4.0}, False),
        ("nope", {}, False),
        ("v1", {}, False),
        ("v7-rope", {}, False),
        ("v6-rope2d", {}, False),
    ],
)
def test_what_can_be_stretched(tmp_path, version, options, fits):
    path, tokenizer = tmp_path / "m.safetensors", TEXT.tokenizer
    if version == "v7-rope":
        tokenizer = type(tokenizer)(tokenizer.characters, with_mask=True)
    shape = ModelConfig(tokenizer.vocab_size, BLOCK, n_layer=2, n_head=2, n_embd=16)
    checkpoints.save(path, Checkpoint(version, build(version, shape, **options), tokenizer, {}, options))
    if fits:
        assert load_stretchable(path).version == version
        return
    with pytest.raises(
        BadInput, match=rf"m.safetensors \({version}\) cannot be stretched; what can has RoPE"
    ):
        load_stretchable(path)
