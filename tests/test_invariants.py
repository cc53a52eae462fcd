"""Each promise is measured on a model that keeps it and on one that breaks it."""

import pytest
import torch

from babygpt import invariants
from babygpt.config import ModelConfig
from babygpt.encodings import ALiBi, Encoding, Fourier, LearnedPositions, Rotary, Sinusoidal, gaussian
from babygpt.models.transformer import Transformer
from babygpt.models.versions import VERSIONS, build
from babygpt.places import Places

CONFIG = ModelConfig(vocab_size=11, block_size=16, n_layer=2, n_head=2, n_embd=16)
IDX = torch.tensor([3, 1, 4, 1, 5, 9, 2, 6, 5, 10])


def awake(model):
    """A model whose zero-initialised matrices are random, so that it computes something."""
    torch.manual_seed(0)
    for name, p in model.named_parameters():
        if not name.startswith("encoding.log_"):  # a kernel stays as wide as it was
            torch.nn.init.normal_(p, std=0.5)
    return model


class Stretched(Rotary):
    """A rotation that also grows with position: it keeps neither norm nor relativity."""

    def multiply(self, q, k, places):
        q, k = super().multiply(q, k, places)
        grow = 1 + places.time[:, None] / 100
        return q * grow, k * grow


class Broken(Encoding):
    """Past position 20 its logits are not finite, and it says nothing."""

    def embed(self, x, places):
        return torch.where(places.time[:, None] > 20, torch.nan, x)


class Peeking(Transformer):
    """A causal model by name that reads the future."""

    def __init__(self, config):
        super().__init__(config, Encoding(), causal=False)


@pytest.mark.parametrize("encoding", [Rotary(32), ALiBi(4), Encoding(), gaussian(32)])
def test_multiplicative_codes_are_relative(encoding):
    assert invariants.norm_preserved(encoding).holds
    assert invariants.shift_invariant(encoding).holds


def test_a_stretched_rotation_breaks_both_promises():
    assert not invariants.norm_preserved(Stretched(32)).holds
    assert not invariants.shift_invariant(Stretched(32)).holds


def test_the_notes_kernel_breaks_both_promises_too():
    """A finding: K(m) K(n) is no function of m - n, and it shortens whatever stands far from the start."""
    assert invariants.shift_invariant(gaussian(32, "absolute")).value > 1
    assert not invariants.norm_preserved(gaussian(32, "absolute")).holds


def test_v1_and_v2_see_one_token_at_a_time_and_v4_does_not():
    for version in ("v1", "v2"):
        assert invariants.blind_to_the_past(awake(build(version, CONFIG)), IDX).holds
    assert not invariants.blind_to_the_past(awake(build("v4", CONFIG)), IDX).holds


def test_without_a_code_one_causal_layer_is_blind_to_order_and_two_are_not():
    """The surprise of causal NoPE: with a second layer the mask itself tells order."""
    one = ModelConfig(vocab_size=11, block_size=16, n_layer=1, n_head=2, n_embd=16)
    assert invariants.order_blind(awake(build("nope", one)), IDX).holds
    assert not invariants.order_blind(awake(build("nope", CONFIG)), IDX).holds


def test_bidirectional_without_a_code_is_blind_to_order_at_any_depth():
    assert invariants.order_blind(awake(Peeking(CONFIG)), IDX).holds


@pytest.mark.parametrize("version", ["learned", "v3", "v4", "v5", "v5-absolute", "alibi"])
def test_a_code_opens_the_eyes(version):
    one = ModelConfig(vocab_size=11, block_size=16, n_layer=1, n_head=2, n_embd=16)
    assert not invariants.order_blind(awake(build(version, one)), IDX).holds


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_is_causal_and_reads_alike_with_a_cache(one_text, version):
    model, places = awake(build(version, CONFIG)), one_text(version, len(IDX))
    assert invariants.causal(model, IDX, places).holds
    assert invariants.cache_equals_full(model, IDX, places).holds
    assert invariants.extrapolates_or_refuses(model, IDX, places.branch).holds


def test_a_model_that_has_to_be_told_the_branch_is_not_taken_to_refuse_positions():
    """It goes on past its window; an error about branches would have passed for a refusal."""
    model, beyond = (
        awake(build("v6", CONFIG)),
        Places(torch.arange(16, 26), torch.zeros(10, dtype=torch.long)),
    )
    assert torch.isfinite(model(IDX[None], beyond)).all()


def test_a_model_that_peeks_is_found_out():
    assert not invariants.causal(awake(Peeking(CONFIG)), IDX).holds


def test_silent_nonsense_past_the_window_is_found_out():
    assert not invariants.extrapolates_or_refuses(awake(Transformer(CONFIG, Broken())), IDX).holds


def test_learned_positions_refuse_instead_of_guessing():
    with pytest.raises(ValueError, match="position 16 is not in the table: it has 0 to 15"):
        build("learned", CONFIG)(torch.zeros(1, 17, dtype=torch.long))


def test_the_sinusoid_keeps_its_promises():
    assert invariants.table_equals_closed_form(Sinusoidal(16)).holds
    assert invariants.shift_is_rotation(16, shift=5).holds


def test_a_wrong_table_is_found_out():
    class Halved(Sinusoidal):
        def embed(self, x, places):
            return x + (super().embed(x, places) - x) / 2

    assert not invariants.table_equals_closed_form(Halved(16)).holds


def test_a_learned_table_is_no_function_of_distance():
    """The dot product of two rows depends on both places: measured as the invariant measures scores."""
    torch.manual_seed(0)
    table = LearnedPositions(32, 8).table.detach()
    gram = table @ table.T
    assert (gram.diagonal(1) - gram[0, 1]).abs().max() > 1e-4


def test_a_verdict_prints_its_mark():
    assert str(invariants.Verdict("it holds", 0.0, 1.0)) == "✓ it holds"
    assert str(invariants.Verdict("it fails", 2.0, 1.0)) == "✗ it fails"


# ---------------------------------------------------------------- several texts at once

PARALLEL = [name for name, version in VERSIONS.items() if version.branches]
TEXTS = {"like columns": ((6, 6, 6), (0, 0, 0)), "of any length": ((5, 9, 3), (1, 0, 4)), "one": ((7,), (2,))}


def row(columns):
    """Token ids and places of one sample: (T,) each."""
    return columns.tokens[0], Places(columns.time[0], columns.branch[0])


class InTheRow(Fourier):
    """Tells where a token stands in the row, which is nobody's business in parallel texts."""

    def embed(self, x, places):
        return super().embed(x, places) + torch.arange(x.shape[1])[:, None]


class SameTime(Transformer):
    """Looks at its own time in every branch."""

    def mask(self, queries, keys):
        return super().mask(Places(queries.time), Places(keys.time + 0))


@pytest.mark.parametrize("version", PARALLEL)
@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize("texts", TEXTS)
def test_parallel_texts_keep_their_promises(woven, version, isolated, texts):
    model, sample = awake(build(version, CONFIG, isolated=isolated)), row(woven(*TEXTS[texts]))
    for promise in (
        invariants.sees_the_past_alone,
        invariants.branches_permute,
        invariants.parallel_cache_equals_full,
        invariants.cache_equals_full,
        invariants.causal,
    ):
        assert promise(model, *sample).holds, promise


@pytest.mark.parametrize("version", PARALLEL)
def test_isolated_texts_keep_to_themselves_and_others_do_not(woven, version):
    sample = row(woven())
    closed, open_ = (awake(build(version, CONFIG, isolated=isolated)) for isolated in (True, False))
    assert invariants.nothing_leaks(closed, *sample).value == 0.0
    assert invariants.nothing_leaks(closed, *sample).holds
    assert invariants.nothing_leaks(open_, *sample).value > 1e-2
    assert not invariants.nothing_leaks(open_, *sample).holds


def test_of_one_text_alone_nothing_leaks(woven):
    assert invariants.nothing_leaks(awake(build("v6", CONFIG)), *row(woven((7,), (0,)))).holds


@pytest.mark.parametrize("make", [Peeking, lambda config: SameTime(config, Encoding())])
def test_who_looks_at_the_future_or_aside_is_found_out(woven, make):
    assert not invariants.sees_the_past_alone(awake(make(CONFIG)), *row(woven())).holds


def test_of_one_text_the_past_is_what_comes_before():
    for version in ("v1", "v4", "v5"):
        assert invariants.sees_the_past_alone(awake(build(version, CONFIG)), IDX, Places.count(10)).holds
    assert not invariants.sees_the_past_alone(awake(Peeking(CONFIG)), IDX, Places.count(10)).holds


def test_a_code_of_the_row_breaks_permutation_and_cache(woven):
    model, sample = awake(Transformer(CONFIG, InTheRow(8, 16))), row(woven())
    assert not invariants.branches_permute(model, *sample).holds
    assert not invariants.parallel_cache_equals_full(model, *sample).holds
    assert not invariants.cache_equals_full(model, *sample).holds


@pytest.mark.parametrize("version", PARALLEL)
def test_codes_alone_tell_branches_apart(woven, version):
    """Texts that exchange their codes are read otherwise; without a code, they are not."""
    model, (idx, places) = awake(build(version, CONFIG)), row(woven())
    exchanged = Places(places.time, (places.branch + 1) % 3)
    change = (model(idx[None], exchanged) - model(idx[None], places)).abs().max()
    assert (change > 1e-2) == (version != "v6-none")


@pytest.mark.parametrize("isolated", [False, True])
def test_one_branch_without_a_code_is_one_text(isolated):
    plain, model = awake(build("v4", CONFIG)), awake(build("v6-none", CONFIG, isolated=isolated))
    assert invariants.one_branch_is_one_text(model, plain, IDX).holds
    model.head.weight.data[0, 0] += 0.01
    assert not invariants.one_branch_is_one_text(model, plain, IDX).holds


def test_one_branch_with_a_code_is_not():
    """Branch 0 is given a code too: the cosines of a Fourier code are 1 there."""
    plain, model = awake(build("v4", CONFIG)), awake(build("v6", CONFIG))
    assert not invariants.one_branch_is_one_text(model, plain, IDX).holds


@pytest.mark.parametrize("options", [{}, {"stride": 1}, {"theta": 30.0}, {"band": 4}, {"learnable": True}])
def test_the_branch_code_keeps_its_promise(options):
    assert invariants.branch_code_equals_closed_form(Fourier(8, 16, **options)).holds


def test_a_wrong_branch_code_is_found_out():
    class Shifted(Fourier):
        def code(self, branch):
            return super().code(branch + 1)

    assert not invariants.branch_code_equals_closed_form(Shifted(8, 16)).holds
    trained = Fourier(8, 16, learnable=True)
    with torch.no_grad():
        trained.table[128, 3] += 0.1
    assert not invariants.branch_code_equals_closed_form(trained).holds


@pytest.mark.parametrize(
    "promise",
    [invariants.nothing_leaks, invariants.branches_permute, invariants.parallel_cache_equals_full],
)
def test_a_promise_about_branches_has_to_know_them(promise):
    with pytest.raises(ValueError, match=r"places\.branch is None"):
        promise(awake(build("v4", CONFIG)), IDX, Places.count(10))
