"""Gates and their repairs, against the formulas they come from, in scores and in models."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from babygpt.encodings import (
    ExactPhase,
    GatesLast,
    KeysOnly,
    LearnedPhase,
    Polar,
    PoPE,
    Quadrature,
    RandomPhase,
)
from babygpt.encodings.polar import ALPHA, LONGEST_TABLE
from babygpt.models.transformer import norm
from babygpt.positions import Positions

H, D, T = 3, 8, 12
MASKED = torch.arange(T) % 4 == 1
SPLIT = [Quadrature(D), LearnedPhase(H, D), PoPE(H, D)]
ALL = [*(kind(D) for kind in (Polar, ExactPhase, RandomPhase, GatesLast, KeysOnly)), *SPLIT]


def heads(t: int = T) -> tuple[torch.Tensor, torch.Tensor]:
    """Normalised queries and keys, as the body hands them over: (2, H, T, D) each."""
    draw = torch.Generator().manual_seed(0)
    q, k = (torch.randn(2, H, t, D, generator=draw, dtype=torch.float64) for _ in range(2))
    return norm(q), norm(k)


def positions(start: int = 0, masked: torch.Tensor | None = MASKED) -> Positions:
    return Positions(
        torch.arange(start, start + T), masked=torch.zeros(T).bool() if masked is None else masked
    )


def scores(encoding, where: Positions) -> torch.Tensor:
    q, k = encoding.transform_qk(*heads(), where)
    return q @ k.mT  # (2, H, T, T)


@torch.no_grad()
def somewhere(encoding):
    """With a phase that is not where it begins."""
    for p in encoding.parameters():
        p.copy_(torch.linspace(-3, 2.5, p.numel()).view_as(p))
    return encoding


def omega(theta: float = 10_000.0) -> np.ndarray:
    """The note's omega_k = 1 / base^(k / D)."""
    return 1 / theta ** (np.arange(D) / D)


# ---------------------------------------------------------------- the note's formulas


@given(start=st.integers(0, 100_000), theta=st.floats(1.5, 1e6))
def test_gates_are_the_notes(start: int, theta: float) -> None:
    encoding = somewhere(Polar(D, theta=theta))
    phi = encoding.phi.detach().double().numpy()
    expected = np.cos(np.arange(start, start + T)[:, None] * omega(theta)) * np.cos(phi)
    got = encoding.gate(positions(start)).detach().numpy()
    assert np.abs(got - expected).max() < 1e-6


# ---------------------------------------------------------------- the note's table of gates


def cosines(encoding: Polar, n: int, start: int = 0) -> np.ndarray:
    where = Positions.arange(n, start)
    return encoding.cosines(where).numpy() - np.cos(where.time.numpy()[:, None] * omega(encoding.theta))


def test_gates_are_a_slice_of_a_buffer_in_the_notes_shape() -> None:
    encoding = Polar(D)
    inside = encoding.cosines(Positions.arange(5, start=3))
    assert encoding.pos_gate.shape == (1, 8, 1, D)
    assert inside.data_ptr() == encoding.pos_gate[:, 3:].data_ptr()  # nothing was computed again
    assert list(encoding.state_dict()) == ["phi"]  # and no checkpoint knows of it
    assert encoding.steerable() == ["alpha", "phi", "theta"]


def test_past_its_end_the_table_grows_and_nothing_is_clamped() -> None:
    encoding = Polar(D)
    for n, start in ((4, 0), (9, 0), (3, 200), (2, LONGEST_TABLE - 1)):
        assert np.abs(cosines(encoding, n, start)).max() < 1e-6
    assert encoding.pos_gate.shape[1] == 256  # the last of these is beyond any table


def test_a_steered_theta_makes_another_table() -> None:
    encoding = Polar(D)
    before = cosines(encoding, 6)
    encoding.steer("theta", 50.0)
    assert np.abs(cosines(encoding, 6)).max() < 1e-6  # against 50
    assert np.abs(before).max() < 1e-6  # against 10,000


def test_a_table_that_was_made_without_gradients_can_be_trained_with() -> None:
    encoding = somewhere(Polar(D))
    with torch.inference_mode():
        encoding.gate(Positions.arange(4))
    encoding.gate(Positions.arange(4)).sum().backward()
    assert (encoding.phi.grad != 0).all()


@pytest.mark.parametrize("kind", [ExactPhase, RandomPhase, GatesLast, KeysOnly])
def test_the_exact_phase_stands_inside_the_cosine(kind: type) -> None:
    encoding = somewhere(kind(D))
    phi = encoding.phi.detach().double().numpy()
    expected = np.cos(np.arange(T)[:, None] * omega() + phi)
    assert np.abs(encoding.gate(positions()).detach().numpy() - expected).max() < 1e-6


def factor(alpha: float) -> torch.Tensor:
    """The note's a_i: (T, 1)."""
    return torch.where(MASKED, alpha, 1.0).double()[:, None]


def test_as_written_the_norm_comes_last() -> None:
    encoding, (q, k) = somewhere(Polar(D, alpha=0.4)), heads()
    gate = encoding.gate(positions()) * factor(0.4)
    for got, x in zip(encoding.transform_qk(q, k, positions()), (q, k), strict=True):
        assert torch.allclose(got, F.rms_norm(x * gate, (D,)))
        assert torch.allclose(got.square().mean(dim=-1), torch.ones(()).double())


@pytest.mark.parametrize(("kind", "on_queries"), [(GatesLast, True), (KeysOnly, False)])
def test_gates_last_are_products_and_nothing_else(kind: type, on_queries: bool) -> None:
    encoding, (q, k) = somewhere(kind(D, alpha=0.4)), heads()
    gate, a = encoding.gate(positions()), factor(0.4)
    got_q, got_k = encoding.transform_qk(q, k, positions())
    assert torch.allclose(got_q, q * gate * (a if on_queries else 1.0))
    assert torch.allclose(got_k, k * gate * a)


def test_phases_begin_where_they_should() -> None:
    for kind in (Polar, ExactPhase):
        assert torch.equal(kind(D).phi, torch.zeros(D))
    for kind in (RandomPhase, GatesLast, KeysOnly):
        phi = kind(2000).phi.detach()
        assert phi.abs().max() <= math.pi
        assert abs(phi.mean()) < 5 * math.pi / math.sqrt(3 * 2000)
        assert phi.std() == pytest.approx(math.pi / math.sqrt(3), rel=0.05)
    for kind in (LearnedPhase, PoPE):
        assert torch.equal(kind(H, D).delta, torch.zeros(H, D))
    assert Polar(D).alpha == ALPHA


def test_the_product_keeps_a_wave_of_the_sum() -> None:
    """cos a cos b is half of cos(a - b) and half of cos(a + b): a gate alone has both in its scores."""
    encoding, (q, k) = KeysOnly(D, alpha=1.0), heads()
    with torch.no_grad():
        encoding.phi.zero_()
    i, j, w = np.arange(T)[:, None, None], np.arange(T)[None, :, None], omega()
    waves = torch.tensor((np.cos((i - j) * w) + np.cos((i + j) * w)) / 2)  # (T, T, D)
    expected = torch.einsum("bhid,bhjd,ijd->bhij", q, k, waves)
    assert torch.allclose(scores(encoding, positions()), expected, atol=1e-10)


# ---------------------------------------------------------------- quadrature


def waves(delta: np.ndarray, theta: float = 10_000.0) -> torch.Tensor:
    """cos((i - j) omega_k - delta_k) for each pair of places: (H, T, T, D)."""
    apart = (np.arange(T)[:, None] - np.arange(T))[None, :, :, None] * omega(theta)
    return torch.tensor(np.cos(apart - delta[:, None, None]))


@pytest.mark.parametrize("encoding", [somewhere(e) for e in SPLIT], ids=lambda e: type(e).__name__)
@pytest.mark.parametrize("start", [0, 7, 5000])
def test_scores_are_waves_of_the_distance_wherever_the_text_begins(encoding, start: int) -> None:
    delta = getattr(encoding, "delta", torch.zeros(H, D)).detach().double().numpy()
    q, k = heads()
    if isinstance(encoding, PoPE):
        q, k = F.softplus(q), F.softplus(k)
    expected = torch.einsum("bhid,bhjd,hijd->bhij", q, k, waves(delta))
    got = scores(encoding, positions(start, masked=None))
    assert (got - expected).abs().max() < 1e-5


@pytest.mark.parametrize("kind", [Quadrature, LearnedPhase])
def test_quadrature_scales_a_masked_key_and_no_query(kind: type) -> None:
    make = (lambda **o: kind(D, **o)) if kind is Quadrature else (lambda **o: kind(H, D, **o))
    plain, scaled = (scores(somewhere(make(alpha=a)), positions()) for a in (1.0, 0.25))
    assert torch.allclose(scaled, plain * factor(0.25)[:, 0])


def test_pope_gates_no_token_and_its_phases_reach_every_head() -> None:
    encoding = somewhere(PoPE(H, D))
    assert torch.equal(scores(encoding, positions()), scores(encoding, positions(masked=None)))
    without = Positions(torch.arange(T))
    assert torch.equal(scores(encoding, positions()), scores(encoding, without))


def test_softplus_makes_magnitudes() -> None:
    """Cosine and sine squared add up to softplus squared, which has no sign."""
    q, k = heads()
    for got, x in zip(somewhere(PoPE(H, D)).transform_qk(q, k, positions()), (q, k), strict=True):
        size = (got[..., :D].square() + got[..., D:].square()).sqrt()
        assert torch.allclose(size, F.softplus(x), atol=1e-6)


@torch.no_grad()
@given(distance=st.integers(1, T - 1), seed=st.integers(0, 5))
def test_quadrature_is_even_and_a_phase_is_not(distance: int, seed: int) -> None:
    """The same query and key, exchanged in place."""
    draw = torch.Generator().manual_seed(seed)
    q, k = torch.randn(2, 1, H, 1, D, generator=draw, dtype=torch.float64)

    def score(encoding, i: int, j: int) -> torch.Tensor:
        here, there = (Positions(torch.tensor([at]), masked=torch.tensor([False])) for at in (i, j))
        return (encoding.transform_qk(q, q, here)[0] * encoding.transform_qk(k, k, there)[1]).sum()

    for encoding, even in ((Quadrature(D), True), (somewhere(LearnedPhase(H, D)), False)):
        change = abs(float(score(encoding, 0, distance) - score(encoding, distance, 0)))
        assert (change < 1e-5) == even


def test_a_phase_at_zero_has_a_gradient() -> None:
    for encoding in (LearnedPhase(H, D), PoPE(H, D)):
        scores(encoding, positions()).softmax(dim=-1)[..., 0].sum().backward()
        assert (encoding.delta.grad != 0).all()


# ---------------------------------------------------------------- in a model


def logits(model, idx: torch.Tensor, alpha: float) -> torch.Tensor:
    model.encoding.steer("alpha", alpha)
    with torch.no_grad():
        return model(idx, Positions(torch.arange(16), masked=(idx == 10)))


@pytest.mark.parametrize(
    ("version", "idle"),
    [(f"v7-{name}", True) for name in ("polar", "exact", "random")]
    + [("v7-last", False), ("v7-keys", False), ("v7-quadrature", False), ("v7", False)],
)
@pytest.mark.parametrize("alpha", [0.1, 3.0])
def test_alpha_in_a_model_from_end_to_end(awake, text, version: str, idle: bool, alpha: float) -> None:
    """Before the norm it changes no logit by a thousandth of their spread; after it, it does."""
    model, idx = awake(version), text(2, 16)
    assert 0 < (idx == 10).sum() < idx.numel()
    plain = logits(model, idx, 1.0)
    change = (logits(model, idx, alpha) - plain).abs().max() / plain.std()
    assert (change < 1e-3) == idle
    assert idle or change > 1e-2


@pytest.mark.parametrize("encoding", ALL, ids=lambda e: type(e).__name__)
def test_half_precision_stays_half(encoding) -> None:
    q, k = (x.bfloat16() for x in heads())
    for got in encoding.transform_qk(q, k, positions()):
        assert got.dtype == torch.bfloat16


@pytest.mark.parametrize("encoding", ALL, ids=lambda e: type(e).__name__)
def test_each_row_has_its_own_masks_and_times(encoding) -> None:
    """Two rows and three heads, so that one cannot pass for the other."""
    time, masked = torch.stack([torch.arange(T), torch.arange(5, 5 + T)]), torch.stack([MASKED, ~MASKED])
    q, k = heads()
    both = encoding.transform_qk(q, k, Positions(time, masked=masked))
    for row in range(2):
        alone = encoding.transform_qk(
            q[row : row + 1], k[row : row + 1], Positions(time[row], masked=masked[row])
        )
        for together, own in zip(both, alone, strict=True):
            assert torch.allclose(together[row : row + 1], own)


def test_gates_want_no_pairs() -> None:
    for encoding in (Polar(7), KeysOnly(7), Quadrature(7), LearnedPhase(2, 7)):
        assert torch.isfinite(encoding.wave(positions())).all()
        assert encoding.wave(positions()).shape == (T, 7)


# ---------------------------------------------------------------- bad arguments


@pytest.mark.parametrize("alpha", [math.nan, math.inf])
def test_alpha_must_be_a_number(alpha: float) -> None:
    with pytest.raises(ValueError, match=rf"alpha \({alpha}\) must be a finite number"):
        Polar(D, alpha=alpha)


@pytest.mark.parametrize("encoding", [lambda t: Polar(D, theta=t), lambda t: PoPE(H, D, theta=t)])
@pytest.mark.parametrize("theta", [0.0, -1.0])
def test_theta_must_be_above_0(encoding, theta: float) -> None:
    with pytest.raises(ValueError, match=rf"theta \({theta}\)"):
        encoding(theta)


@pytest.mark.parametrize("kind", [Polar, KeysOnly, Quadrature])
def test_gates_have_to_be_told_what_is_masked(kind: type) -> None:
    with pytest.raises(ValueError, match=r"positions\.masked"):
        kind(D).transform_qk(*heads(), Positions(torch.arange(T)))
