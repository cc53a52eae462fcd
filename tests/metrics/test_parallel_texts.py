"""Losses of several texts in one sequence, and leaks between them, against one sample at a time."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from babygpt.data.batches import interleave
from babygpt.errors import BadInput
from babygpt.metrics.parallel_texts import (
    code_similarity,
    evenly_spaced_texts,
    interference_gap,
    layer_similarity,
    leakage,
    parallel_loss,
    split_gap,
)
from babygpt.models.transformer import Block
from babygpt.models.versions import VERSIONS
from babygpt.positions import Positions

PARALLEL = [name for name, version in VERSIONS.items() if version.branches]
LENGTH = 9


def log_probs(model, columns) -> torch.Tensor:
    with torch.no_grad():
        return model(columns.tokens, columns.positions)[0].log_softmax(dim=-1)


def test_texts_are_spread_from_the_first_token_to_the_last() -> None:
    texts = evenly_spaced_texts(torch.arange(1000), 10, 99)
    assert texts[:, 0].tolist() == np.linspace(0, 900, 10).astype(int).tolist()
    assert (texts.diff(dim=1) == 1).all()
    assert texts[-1, -1] == 999


# ---------------------------------------------------------------- other texts


@pytest.mark.parametrize("version", PARALLEL)
def test_the_loss_alone_is_the_mean_over_texts_in_branch_0(awake, text, version: str) -> None:
    """Time is RoPE's, so it does not matter when a text begins."""
    model, ids = awake(version), text(200)
    losses = []
    for own in evenly_spaced_texts(ids, 12, LENGTH):
        columns = interleave([own], [0])
        losses.append(F.nll_loss(log_probs(model, columns), columns.targets[0]).item())
    assert parallel_loss(model, ids, 1, LENGTH, n_texts=12) == pytest.approx(np.mean(losses), abs=1e-5)


@pytest.mark.parametrize("n", [2, 3])
def test_the_gap_is_the_cost_of_the_number_plus_that_of_other_texts(awake, text, n: int) -> None:
    """Measure text by text: alone in branch 0, and alone in the branch that it has among the n."""
    model, ids, draw = awake("v6"), text(200), torch.Generator().manual_seed(3)
    texts = evenly_spaced_texts(ids, 12, LENGTH)
    order = torch.randperm(12, generator=draw)  # the first thing that the seed draws: n by n they share a row
    tagged, alone = [], []
    for place, which in enumerate(order.tolist()):
        for branch, losses in ((place % n, tagged), (0, alone)):
            columns = interleave([texts[which]], [2], [branch])
            losses.append(F.nll_loss(log_probs(model, columns), columns.targets[0]).item())
    own, company = split_gap(model, ids, n, LENGTH, n_texts=12, seed=3)
    assert own == pytest.approx(np.mean(tagged) - np.mean(alone), abs=1e-5)
    assert own + company == pytest.approx(interference_gap(model, ids, n, LENGTH, 12, seed=3), abs=1e-12)
    assert min(abs(own), abs(company)) > 1e-4


def test_isolation_removes_the_cost_of_other_texts_and_a_missing_code_that_of_the_number(awake, text) -> None:
    ids = text(200)
    own, company = split_gap(awake("v6", {"isolated": True}), ids, 3, LENGTH, n_texts=12)
    assert company == pytest.approx(0, abs=1e-5)
    assert abs(own) > 1e-3
    own, company = split_gap(awake("v6-none"), ids, 3, LENGTH, n_texts=12)
    assert own == pytest.approx(0, abs=1e-5)
    assert abs(company) > 1e-3
    for n in (2, 3, 4):  # the texts are the same ones for each n
        gap = interference_gap(awake("v6-none", {"isolated": True}), ids, n, LENGTH, n_texts=12)
        assert gap == pytest.approx(0, abs=1e-5)


def test_too_few_texts_for_a_sample_are_refused(awake, text) -> None:
    with pytest.raises(BadInput, match="12 texts do not make one sample of 13"):
        parallel_loss(awake("v6"), text(300), 13, LENGTH, 12)


# ---------------------------------------------------------------- leakage


@pytest.mark.parametrize("version", ["v6", "v6-rope2d"])
@pytest.mark.parametrize("n", [2, 3])
def test_leakage_is_the_mean_divergence_of_branch_0(awake, text, version: str, n: int) -> None:
    """Compare with PyTorch's divergence, for one first text beside two sets of other texts."""
    model, ids = awake(version), text(300)
    groups = evenly_spaced_texts(ids, 4 * (2 * n - 1), LENGTH).split(2 * n - 1)
    divergences = []
    for first, *others in groups:
        here, there = (interleave([first, *texts], [0] * n) for texts in (others[: n - 1], others[n - 1 :]))
        before, after = (log_probs(model, columns)[columns.branch[0] == 0] for columns in (here, there))
        divergences.append(F.kl_div(after, before, reduction="sum", log_target=True).item() / LENGTH)
    got = leakage(model, ids, n, LENGTH, n_samples=4)
    assert got == pytest.approx(np.mean(divergences), abs=1e-5)
    assert got > 1e-3
    assert leakage(awake(version, {"isolated": True}), ids, n, LENGTH, n_samples=4) == 0.0


# ---------------------------------------------------------------- similarity


def cosines(vectors: torch.Tensor) -> np.ndarray:
    v = vectors.detach().double().numpy()
    return np.array([[a @ b / np.linalg.norm(a) / np.linalg.norm(b) for b in v] for a in v])


@pytest.mark.parametrize("version", ["v6", "v6-learned", "v6-random"])
def test_similarity_of_added_codes_is_their_cosine(awake, version: str) -> None:
    model = awake(version)
    expected = cosines(model.encoding.code(torch.arange(8)))
    assert np.allclose(code_similarity(model, 8), expected, atol=1e-5)
    assert np.allclose(code_similarity(awake("v6-none"), 5), 1.0)


@pytest.mark.parametrize(("share", "stride"), [(0.5, 1.0), (1.0, 128.0), (0.5, 3.0)])
def test_similarity_of_turned_keys_is_the_mean_over_pairs(awake, share: float, stride: float) -> None:
    """Expect the cosine of its angle from a pair that turns with the branch, and 1 from any other pair."""
    model = awake("v6-rope2d", {"branch_share": share, "stride": stride})
    width = round(8 * share)
    speed = 10_000 ** (-np.arange(0, width, 2) / width)
    angles = np.abs(np.subtract.outer(np.arange(6), np.arange(6)))[..., None] * stride * speed
    expected = (np.cos(angles).sum(axis=-1) + (8 - width) / 2) / 4
    assert np.allclose(code_similarity(model, 6), expected, atol=1e-5)


@pytest.mark.parametrize("version", ["v6", "v6-rope2d"])
def test_layers_are_compared_time_by_time(awake, text, version: str) -> None:
    """Compute the residual stream by hand: block after block, then the mean cosine of each time."""
    model, idx, n = awake(version), text(7), 3
    activations: list[torch.Tensor] = []
    blocks = [module for module in model.modules() if isinstance(module, Block)]
    hooks = [
        b.register_forward_hook(lambda _, inputs, out: activations.extend([inputs[0], out])) for b in blocks
    ]
    time, branch = torch.arange(7).repeat_interleave(n), torch.arange(n).repeat(7)
    model(idx.repeat_interleave(n)[None], Positions(time, branch))
    for hook in hooks:
        hook.remove()
    streams = [activations[0], *activations[1::2]]
    expected = [np.mean([cosines(stream[0, time == t]) for t in range(7)], axis=0) for stream in streams]
    got = layer_similarity(model, idx, n)
    assert got.shape == (3, n, n)
    assert np.allclose(got, expected, atol=1e-5)
