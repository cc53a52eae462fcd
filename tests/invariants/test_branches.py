"""What models of parallel branches promise: kept by one, broken by another."""

import pytest
import torch

from babygpt import invariants
from babygpt.config import ModelConfig
from babygpt.encodings import Encoding, Fourier
from babygpt.models.transformer import Transformer
from babygpt.models.versions import VERSIONS, build
from babygpt.positions import Positions

CONFIG = ModelConfig(vocab_size=11, block_size=16, n_layer=2, n_head=2, n_embd=16)
IDX = torch.tensor([3, 1, 4, 1, 5, 9, 2, 6, 5, 10])
PARALLEL = [name for name, version in VERSIONS.items() if version.branches]
TEXTS = {"like columns": ((6, 6, 6), (0, 0, 0)), "of any length": ((5, 9, 3), (1, 0, 4)), "one": ((7,), (2,))}


def peeking(config):
    """A model that reads the future."""
    return Transformer(config, Encoding(), causal=False)


def row(columns):
    """Token ids and places of one sample: (T,) each."""
    return columns.tokens[0], Positions(columns.time[0], columns.branch[0])


class InTheRow(Fourier):
    """Tells where a token stands in the row, which is nobody's business in parallel texts."""

    def embed(self, x, positions):
        return super().embed(x, positions) + torch.arange(x.shape[1])[:, None]


class SameTime(Transformer):
    """Looks at its own time in every branch."""

    def mask(self, queries, keys):
        return super().mask(Positions(queries.time), Positions(keys.time + 0))


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
def test_isolated_texts_keep_to_themselves_and_others_do_not(wake, woven, version):
    sample = row(woven())
    closed, open_ = (wake(build(version, CONFIG, isolated=isolated)) for isolated in (True, False))
    assert invariants.nothing_leaks(closed, *sample).value == 0.0
    assert invariants.nothing_leaks(closed, *sample).holds
    assert invariants.nothing_leaks(open_, *sample).value > 1e-2
    assert not invariants.nothing_leaks(open_, *sample).holds


def test_of_one_text_alone_nothing_leaks(wake, woven):
    assert invariants.nothing_leaks(wake(build("v6", CONFIG)), *row(woven((7,), (0,)))).holds


@pytest.mark.parametrize("make", [peeking, lambda config: SameTime(config, Encoding())])
def test_who_looks_at_the_future_or_aside_is_found_out(wake, woven, make):
    assert not invariants.sees_the_past_alone(wake(make(CONFIG)), *row(woven())).holds


def test_of_one_text_the_past_is_what_comes_before(wake):
    for version in ("v1", "v4", "v5"):
        assert invariants.sees_the_past_alone(wake(build(version, CONFIG)), IDX, Positions.arange(10)).holds
    assert not invariants.sees_the_past_alone(wake(peeking(CONFIG)), IDX, Positions.arange(10)).holds


def test_a_code_of_the_row_breaks_permutation_and_cache(wake, woven):
    model, sample = wake(Transformer(CONFIG, InTheRow(8, 16))), row(woven())
    assert not invariants.branches_permute(model, *sample).holds
    assert not invariants.parallel_cache_equals_full(model, *sample).holds
    assert not invariants.cache_equals_full(model, *sample).holds


@pytest.mark.parametrize("version", PARALLEL)
def test_codes_alone_tell_branches_apart(wake, woven, version):
    """Texts that exchange their codes are read otherwise; without a code, they are not."""
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


def test_one_branch_with_a_code_is_not(wake):
    """Branch 0 is given a code too: the cosines of a Fourier code are 1 there."""
    plain, model = wake(build("v4", CONFIG)), wake(build("v6", CONFIG))
    assert not invariants.one_branch_is_one_text(model, plain, IDX).holds


@pytest.mark.parametrize(
    "promise",
    [invariants.nothing_leaks, invariants.branches_permute, invariants.parallel_cache_equals_full],
)
def test_a_promise_about_branches_has_to_know_them(wake, promise):
    with pytest.raises(ValueError, match=r"positions\.branch is None"):
        promise(wake(build("v4", CONFIG)), IDX, Positions.arange(10))
