"""Promises of models about past, order and branches, and of samplers: one keeps each, another breaks it."""

from dataclasses import replace
from functools import partial

import pytest
import torch

from babygpt import invariants
from babygpt.config import ModelConfig
from babygpt.encodings import Encoding, Fourier, LearnedPositions, Polar
from babygpt.invariants.base import text_logits
from babygpt.models.transformer import Transformer
from babygpt.models.versions import VERSIONS, build
from babygpt.objectives import denoise
from babygpt.positions import Positions
from babygpt.sampling import ancestral, by_confidence, fill_in

CONFIG = ModelConfig(vocab_size=11, block_size=16, n_layer=2, n_head=2, n_embd=16)
IDX = torch.tensor([3, 1, 4, 1, 5, 9, 2, 6, 5, 10])
CAUSAL = [name for name, version in VERSIONS.items() if not version.masks]
DENOISERS = [name for name, version in VERSIONS.items() if version.masks]
PARALLEL = [name for name, version in VERSIONS.items() if version.branches]
TEXTS = {"like columns": ((6, 6, 6), (0, 0, 0)), "of any length": ((5, 9, 3), (1, 0, 4)), "one": ((7,), (2,))}


def peeking(config):
    """Return a model that reads the future."""
    return Transformer(config, Encoding(), causal=False)


class Nonsense(Polar):
    """Gates that are not finite past position 20."""

    def gate(self, positions):
        return torch.where(positions.time[:, None] > 20, torch.nan, super().gate(positions))


def test_v1_and_v2_see_one_token_at_a_time_and_v4_does_not(wake):
    for version in ("v1", "v2"):
        assert invariants.blind_to_the_past(wake(build(version, CONFIG)), IDX).holds
    assert not invariants.blind_to_the_past(wake(build("v4", CONFIG)), IDX).holds


def test_without_an_encoding_one_causal_layer_is_blind_to_order_and_two_are_not(wake):
    """Show that causal NoPE sees order from the second layer on, through the mask."""
    one_layer = ModelConfig(vocab_size=11, block_size=16, n_layer=1, n_head=2, n_embd=16)
    assert invariants.order_blind(wake(build("nope", one_layer)), IDX).holds
    assert not invariants.order_blind(wake(build("nope", CONFIG)), IDX).holds
    assert invariants.order_blind(wake(peeking(CONFIG)), IDX).holds


@pytest.mark.parametrize("version", ["learned", "v3", "v4", "v5", "v5-absolute", "alibi"])
def test_with_an_encoding_one_layer_sees_order(wake, version):
    one_layer = ModelConfig(vocab_size=11, block_size=16, n_layer=1, n_head=2, n_embd=16)
    assert not invariants.order_blind(wake(build(version, one_layer)), IDX).holds


@pytest.mark.parametrize("version", CAUSAL)
def test_every_version_is_causal_and_a_cache_changes_no_logits(wake, one_text, version):
    model, positions = wake(build(version, CONFIG)), one_text(version, len(IDX))
    assert invariants.causal(model, IDX, positions).holds
    assert invariants.sees_the_past_alone(model, IDX, positions).holds
    assert invariants.cache_equals_full(model, IDX, positions).holds
    assert invariants.extrapolates_or_refuses(model, IDX, positions.branch).holds
    if version not in ("v2", "learned"):  # whose table ends with the window; all others go on
        assert torch.isfinite(model(IDX.repeat(4)[None], one_text(version, 4 * len(IDX)))).all()


@pytest.mark.parametrize("version", DENOISERS)
def test_denoisers_see_the_future_and_extrapolate_past_their_window(wake, one_text, version):
    model = wake(build(version, CONFIG))
    assert not invariants.causal(model, IDX).holds
    assert not invariants.cache_equals_full(model, IDX).holds
    assert invariants.extrapolates_or_refuses(model, IDX).holds
    assert torch.isfinite(model(IDX[None], one_text(version, 10, start=16))).all()
    assert invariants.order_blind(model, IDX).holds == (version == "v7-nope")


class Clamped(LearnedPositions):
    """Table that takes every position past its end for its last one."""

    def embed(self, x, positions):
        return super().embed(x, Positions(positions.time.clamp(max=self.max_positions - 1)))


def test_clamped_tables_and_nan_gates_past_the_window_are_detected(wake):
    """Find a clamp although its logits are finite: they do not depend on the position."""
    model = wake(Transformer(CONFIG, Clamped(CONFIG.block_size, CONFIG.n_embd)))
    assert torch.isfinite(model(IDX[None], Positions(torch.arange(16, 26)))).all()
    assert not invariants.extrapolates_or_refuses(model, IDX).holds
    assert not invariants.extrapolates_or_refuses(wake(Transformer(CONFIG, Nonsense(8), False)), IDX).holds


def test_the_notes_position_kernel_gives_scores_of_0_far_past_the_window(wake):
    """Expect every score to be 0 where K(m) K(n) is; the model extrapolates where K is still above 0."""
    for sigma, holds in ((20.0, True), (0.8, False)):
        model = wake(build("v5-absolute", CONFIG, learnable=False, sigmas=(sigma, sigma)))
        assert invariants.extrapolates_or_refuses(model, IDX).holds == holds


# ---------------------------------------------------------------- branches


def row(columns):
    """Return token ids and positions of one sample: (T,) each."""
    return columns.tokens[0], Positions(columns.time[0], columns.branch[0])


class InTheRow(Fourier):
    """Encoding of a token's index in the row, which must not matter in parallel texts."""

    def embed(self, x, positions):
        return super().embed(x, positions) + torch.arange(x.shape[1])[:, None]


class SameTime(Transformer):
    """Mask that lets a token look at its own time in every branch."""

    def attn_masks(self, queries, keys):
        return super().attn_masks(Positions(queries.time), Positions(keys.time + 0))


@pytest.mark.parametrize("version", PARALLEL)
@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize("texts", TEXTS)
def test_parallel_texts_keep_their_promises(wake, woven, version, isolated, texts):
    model, sample = wake(build(version, CONFIG, isolated=isolated)), row(woven(*TEXTS[texts]))
    for promise in (
        invariants.sees_the_past_alone,
        invariants.branches_permute,
        invariants.parallel_cache_equals_full,
        invariants.cache_equals_full,
        invariants.causal,
    ):
        assert promise(model, *sample).holds, promise


@pytest.mark.parametrize("version", PARALLEL)
def test_isolated_texts_leak_nothing_and_others_do(wake, woven, version):
    sample = row(woven())
    closed, open_ = (wake(build(version, CONFIG, isolated=isolated)) for isolated in (True, False))
    assert invariants.nothing_leaks(closed, *sample).value == 0.0
    assert invariants.nothing_leaks(closed, *sample).holds
    assert invariants.nothing_leaks(open_, *sample).value > 1e-2
    assert not invariants.nothing_leaks(open_, *sample).holds


@pytest.mark.parametrize("make", [peeking, lambda config: SameTime(config, Encoding())])
def test_models_that_see_the_future_or_another_branch_are_detected(wake, woven, make):
    assert not invariants.sees_the_past_alone(wake(make(CONFIG)), *row(woven())).holds
    assert not invariants.sees_the_past_alone(wake(peeking(CONFIG)), IDX, Positions.arange(10)).holds


def test_an_encoding_of_the_row_breaks_permutation_and_cache(wake, woven):
    model, sample = wake(Transformer(CONFIG, InTheRow(8, 16))), row(woven())
    assert not invariants.branches_permute(model, *sample).holds
    assert not invariants.parallel_cache_equals_full(model, *sample).holds
    assert not invariants.cache_equals_full(model, *sample).holds


@pytest.mark.parametrize("version", PARALLEL)
def test_only_branch_codes_distinguish_branches(wake, woven, version):
    """Exchange the codes of two texts: this changes their logits, and without a code it does not."""
    model, (idx, positions) = wake(build(version, CONFIG)), row(woven())
    exchanged = Positions(positions.time, (positions.branch + 1) % 3)
    change = (model(idx[None], exchanged) - model(idx[None], positions)).abs().max()
    assert (change > 1e-2) == (version != "v6-none")


@pytest.mark.parametrize("isolated", [False, True])
def test_one_branch_without_a_code_is_one_text(wake, isolated):
    plain, model = wake(build("v4", CONFIG)), wake(build("v6-none", CONFIG, isolated=isolated))
    assert invariants.one_branch_is_one_text(model, plain, IDX).holds
    model.head.weight.data[0, 0] += 0.01
    assert not invariants.one_branch_is_one_text(model, plain, IDX).holds
    assert not invariants.one_branch_is_one_text(wake(build("v6", CONFIG)), plain, IDX).holds


def test_promises_about_branches_need_branch_numbers(wake):
    model = wake(build("v4", CONFIG))
    for promise in ("nothing_leaks", "branches_permute", "parallel_cache_equals_full"):
        with pytest.raises(ValueError, match=r"positions\.branch is None"):
            getattr(invariants, promise)(model, IDX, Positions.arange(10))


# ---------------------------------------------------------------- samplers that fill in


def test_a_promise_prints_its_mark():
    assert str(invariants.Promise("it holds", 0.0, 1.0)) == "✓ it holds"
    assert str(invariants.Promise("it fails", 2.0, 1.0)) == "✗ it fails"


def test_diffusion_models_read_a_text_with_its_masks(awake, text):
    model, idx = awake("v7"), torch.tensor([3, 10, 4, 10, 10, 5])
    assert torch.equal(text_logits(model, idx)[:, :10], denoise(model, idx[None])[0])
    model, idx = awake("v4"), text(9)
    assert torch.equal(text_logits(model, idx), model(idx[None])[0])


MASK = 10
ORDERS = {"surest first": by_confidence(0.3), "ancestral": ancestral(4)}


@pytest.fixture
def holes(text):
    """Return two texts, one with ten holes and one with none."""
    idx = text(2, 14, vocab_size=MASK)
    idx[0, 2:12] = MASK
    return idx


@pytest.mark.parametrize("order", ORDERS)
def test_fill_in_keeps_all_promises(awake, holes, order):
    model, fill = awake("v7"), partial(fill_in, order=ORDERS[order])
    for promise in (invariants.fills_every_mask, invariants.keeps_the_prompt, invariants.at_least_one_a_step):
        assert promise(model, holes, fill).holds, promise
        assert promise(model, holes).holds, promise  # by confidence, where nothing is said


def test_samplers_that_break_a_promise_are_detected(awake, holes):
    model, filled, index = awake("v7"), fill_in(awake("v7"), holes), torch.tensor([2])
    unfilled = replace(filled, tokens=filled.tokens.index_fill(1, index, MASK))
    assert invariants.fills_every_mask(model, holes, lambda *_: unfilled).value == 2
    changed = replace(filled, tokens=(filled.tokens + 1) % MASK)
    assert invariants.keeps_the_prompt(model, holes, lambda *_: changed).value == 18
    assert invariants.fills_every_mask(model, holes, lambda *_: changed).holds
    for when in (
        2 * filled.when,
        filled.when.index_fill(1, index, 0),
    ):  # idle steps, or a token without a step
        slow = replace(filled, when=when)
        assert not invariants.at_least_one_a_step(model, holes, lambda *_, slow=slow: slow).holds
