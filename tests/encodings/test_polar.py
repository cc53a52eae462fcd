"""Gates and their repairs, against the formulas that they come from, in scores and in models."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st

from babygpt.encodings import LearnedPhase, Polar, PoPE, Quadrature, RandomPhase
from babygpt.encodings.polar import ALPHA, ExactPhase, GatesLast, KeysOnly
from babygpt.errors import BadInput
from babygpt.models.transformer import norm
from babygpt.positions import Positions

H, D, T = 3, 8, 12
MASKED = torch.arange(T) % 4 == 1


def heads(t: int = T) -> tuple[torch.Tensor, torch.Tensor]:
    """Return normalised queries and keys, like those of the body: (2, H, T, D) each."""
    draw = torch.Generator().manual_seed(0)
    q, k = (torch.randn(2, H, t, D, generator=draw, dtype=torch.float64) for _ in range(2))
    return norm(q), norm(k)


def positions(start: int = 0, masked: torch.Tensor | None = MASKED) -> Positions:
    masked = torch.zeros(T).bool() if masked is None else masked
    return Positions(torch.arange(start, start + T), masked=masked)


def scores(encoding, where: Positions) -> torch.Tensor:
    q, k = encoding.transform_qk(*heads(), where)
    return q @ k.mT  # (2, H, T, T)


@torch.no_grad()
def with_phase(encoding):
    """Move the phase away from its initial value."""
    for p in encoding.parameters():
        p.copy_(torch.linspace(-3, 2.5, p.numel()).view_as(p))
    return encoding


def omega(theta: float = 10_000.0) -> np.ndarray:
    """Return the note's omega_k = 1 / base^(k / D)."""
    return 1 / theta ** (np.arange(D) / D)


# ---------------------------------------------------------------- the note's gates


@given(start=st.integers(0, 100_000), theta=st.floats(1.5, 1e6))
def test_gates_are_the_notes(start: int, theta: float) -> None:
    encoding = with_phase(Polar(D, theta=theta))
    phi = encoding.phi.detach().double().numpy()
    expected = np.cos(np.arange(start, start + T)[:, None] * omega(theta)) * np.cos(phi)
    got = encoding.gate(positions(start)).detach().numpy()
    assert np.abs(got - expected).max() < 1e-6


# ---------------------------------------------------------------- repairs


@pytest.mark.parametrize("kind", [ExactPhase, RandomPhase, GatesLast, KeysOnly])
def test_the_exact_phase_is_inside_the_cosine(kind: type) -> None:
    encoding = with_phase(kind(D))
    phi = encoding.phi.detach().double().numpy()
    expected = np.cos(np.arange(T)[:, None] * omega() + phi)
    assert np.abs(encoding.gate(positions()).detach().numpy() - expected).max() < 1e-6


def factor(alpha: float) -> torch.Tensor:
    """Return the note's a_i: (T, 1)."""
    return torch.where(MASKED, alpha, 1.0).double()[:, None]


def test_the_norm_follows_the_notes_gate() -> None:
    encoding, (q, k) = with_phase(Polar(D, alpha=0.4)), heads()
    gate = encoding.gate(positions()) * factor(0.4)
    for got, x in zip(encoding.transform_qk(q, k, positions()), (q, k), strict=True):
        assert torch.allclose(got, F.rms_norm(x * gate, (D,)))


@pytest.mark.parametrize(("kind", "on_queries"), [(GatesLast, True), (KeysOnly, False)])
def test_gates_after_the_norm_are_plain_products(kind: type, on_queries: bool) -> None:
    encoding, (q, k) = with_phase(kind(D, alpha=0.4)), heads()
    gate, a = encoding.gate(positions()), factor(0.4)
    got_q, got_k = encoding.transform_qk(q, k, positions())
    assert torch.allclose(got_q, q * gate * (a if on_queries else 1.0))
    assert torch.allclose(got_k, k * gate * a)


def test_phases_begin_at_0_or_uniformly_at_random() -> None:
    for encoding in (Polar(D), ExactPhase(D), LearnedPhase(H, D), PoPE(H, D)):
        assert not any(p.any() for p in encoding.parameters())
    for kind in (RandomPhase, GatesLast, KeysOnly):
        phi = kind(2000).phi.detach()
        assert phi.abs().max() <= math.pi
        assert abs(phi.mean()) < 5 * math.pi / math.sqrt(3 * 2000)
        assert phi.std() == pytest.approx(math.pi / math.sqrt(3), rel=0.05)
    assert Polar(D).alpha == ALPHA


# ---------------------------------------------------------------- quadrature


@pytest.mark.parametrize(
    "encoding", [Quadrature(D), LearnedPhase(H, D), PoPE(H, D)], ids=lambda e: type(e).__name__
)
@pytest.mark.parametrize("start", [0, 7, 5000])
def test_scores_are_waves_of_the_distance_at_any_start(encoding, start: int) -> None:
    """Expect cos((i - j) omega_k - delta_k); PoPE takes softplus of q and k first, and gates no token."""
    encoding, (q, k) = with_phase(encoding), heads()
    delta = getattr(encoding, "delta", torch.zeros(H, D)).detach().double().numpy()
    angles = (np.arange(T)[:, None] - np.arange(T))[None, :, :, None] * omega()
    waves = torch.tensor(np.cos(angles - delta[:, None, None]))  # (H, T, T, D)
    if isinstance(encoding, PoPE):
        q, k = F.softplus(q), F.softplus(k)
        assert torch.equal(scores(encoding, positions()), scores(encoding, Positions(torch.arange(T))))
    expected = torch.einsum("bhid,bhjd,hijd->bhij", q, k, waves)
    assert (scores(encoding, positions(start, masked=None)) - expected).abs().max() < 1e-5


@pytest.mark.parametrize("make", [lambda a: Quadrature(D, a), lambda a: LearnedPhase(H, D, a)])
def test_quadrature_scales_a_masked_key_and_no_query(make) -> None:
    plain, scaled = (scores(with_phase(make(a)), positions()) for a in (1.0, 0.25))
    assert torch.allclose(scaled, plain * factor(0.25)[:, 0])


def test_a_phase_at_zero_has_a_gradient() -> None:
    for encoding in (LearnedPhase(H, D), PoPE(H, D)):
        scores(encoding, positions()).softmax(dim=-1)[..., 0].sum().backward()
        assert (encoding.delta.grad != 0).all()


def test_gates_work_with_an_odd_number_of_channels() -> None:
    for encoding in (Polar(7), KeysOnly(7), Quadrature(7), LearnedPhase(2, 7)):
        assert torch.isfinite(encoding.wave(positions())).all()
        assert encoding.wave(positions()).shape == (T, 7)


def test_gates_need_to_know_which_tokens_are_masked() -> None:
    for kind in (Polar, KeysOnly, Quadrature):
        with pytest.raises(BadInput, match=r"positions\.masked"):
            kind(D).transform_qk(*heads(), Positions(torch.arange(T)))
