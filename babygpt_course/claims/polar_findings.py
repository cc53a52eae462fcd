"""What the claims of note 000 measure: its gate, its α, its phase, and what is written with them."""

from __future__ import annotations

from statistics import mean

import torch
from torch import Tensor

from babygpt import invariants
from babygpt.data import tales
from babygpt.encodings import ExactPhase, LearnedPhase, Polar, Quadrature, Rotary
from babygpt.encodings.polar import ALPHA
from babygpt.invariants.encodings import phase_gradient
from babygpt.metrics.text import distinct, repeated
from babygpt.models.transformer import norm
from babygpt.objectives import denoise
from babygpt.positions import Positions
from babygpt_course.claims.base import Finding, clearly_lower, decide
from babygpt_course.claims.polar_gates import (
    HEAD_DIM,
    LENGTH,
    LETTERS,
    attention_to_masked,
    bare_gate,
    channel_dependence,
    inconsistent_share,
    multiplications,
    phase_errors,
    small_model,
)
from babygpt_course.studies.results import load_results

# ---------------------------------------------------------------- the gate


@torch.inference_mode()
def position_is_kept() -> Finding:
    """How much scores change when every key moves on by one place, as a share of their spread."""
    q, k = norm(torch.randn(2, 1, 256, LENGTH, HEAD_DIM, generator=torch.Generator().manual_seed(0)))
    encoding, nowhere = Polar(HEAD_DIM), torch.zeros(LENGTH, dtype=torch.bool)
    (queries, keys), (_, moved) = (
        encoding.transform_qk(q, k, Positions(torch.arange(LENGTH) + shift, masked=nowhere))
        for shift in (0, 1)
    )
    change = float((queries @ (moved - keys).mT).std() / (queries @ keys.mT).std())
    both, rope = (
        invariants.shift_invariant(e, head_dim=HEAD_DIM).value for e in (encoding, Rotary(HEAD_DIM))
    )
    return Finding(
        decide(change > 0.01),
        change,
        f"but not on distance alone: moving both tokens changes a score by up to {both:.1f}, "
        f"under RoPE by {rope:.0e}",
    )


def simpler_than_rope() -> Finding:
    """Multiplications for each channel that the gate takes, minus those of RoPE."""
    gate, rope, repaired = map(multiplications, (bare_gate(), Rotary(HEAD_DIM), LearnedPhase(1, HEAD_DIM)))
    return Finding(
        "fails" if gate >= rope else "depends" if repaired > rope else "holds",
        gate - rope,
        f"query, key and score take {gate:.0f} a channel instead of RoPE's {rope:.0f}; a gate that is a "
        f"function of distance and tells left from right takes {repaired:.0f}",
    )


def needs_no_pairs() -> Finding:
    """Other channels that a channel of a gated query is mixed with."""
    tables = map(channel_dependence, (bare_gate(), Rotary(HEAD_DIM)))
    gate, rope = (float(table.sum(dim=1).float().mean()) - 1 for table in tables)
    return Finding(decide(gate == 0), gate, f"RoPE mixes each channel with {rope:.0f} other")


@torch.inference_mode()
def shapes_fit() -> Finding:
    """Error of our gates and gated queries against the note's formulas in the note's shapes."""
    B, T, H = 2, LENGTH, 3
    x = torch.randn(B, T, H, HEAD_DIM, generator=torch.Generator().manual_seed(0))
    masked = torch.arange(B * T).view(B, T) % 3 == 0
    omega = 1 / 10_000 ** (torch.arange(HEAD_DIM) / HEAD_DIM)
    pos_gate = torch.cos(torch.arange(2 * T)[:, None] * omega)[None, :, None]  # (1, L, 1, D)
    state = torch.where(masked, ALPHA, 1.0)[:, :, None, None]  # (B, T, 1, 1)
    by_note = norm(x * pos_gate[:, :T] * torch.zeros(HEAD_DIM).cos() * state)
    encoding, q = Polar(HEAD_DIM, ALPHA), x.transpose(1, 2)
    encoding.gate(Positions.arange(2 * T))  # fills the table
    ours, _ = encoding.transform_qk(q, q, Positions.arange(T, masked=masked))
    fits = encoding.pos_gate.shape == pos_gate.shape and state.shape == (B, T, 1, 1)
    error = float((ours.transpose(1, 2) - by_note).abs().max())
    error = max(error, float((encoding.pos_gate - pos_gate).abs().max()) if fits else torch.inf)
    reason = f"a table of shape {tuple(encoding.pos_gate.shape)} is kept and sliced, and all shapes broadcast"
    return Finding(decide(error < 1e-4), error, reason)


# ---------------------------------------------------------------- alpha


def mask_gets_less_attention() -> Finding:
    """Change of the attention to MASK tokens when alpha falls from 1 to the note's."""
    written, keys = (
        [attention_to_masked(kind(HEAD_DIM, alpha)) for alpha in (1.0, ALPHA)] for kind in (Polar, Quadrature)
    )
    change = written[1] - written[0]
    return Finding(
        decide(change < -0.01),
        change,
        f"the norm after the gates divides α out; on keys, with no norm after it, α = {ALPHA} takes the "
        f"average share from {keys[0]:.0%} to {keys[1]:.0%}",
    )


@torch.inference_mode()
def alpha_matters() -> Finding:
    """Largest change of a logit between alpha 0.1 and 0.9, as a share of the logits' spread."""

    def change(version: str, one: float = 0.1) -> float:
        logits = []
        for alpha in (one, 0.9):
            model, idx = small_model(version, alpha)
            holes = torch.where(torch.arange(LENGTH) % 2 == 0, LETTERS - 1, idx)
            logits.append(denoise(model, holes[None]))
        return float((logits[0] - logits[1]).abs().max() / logits[0].std())

    written, repaired, zero = change("v7-polar"), change("v7"), change("v7-polar", 0.0)
    return Finding(
        decide(written > 1e-3),
        written,
        f"as written no logit depends on it, unless it is 0 or so near that the norm's safety term is felt "
        f"(at 0 one changes by {zero:.1f} of the spread); after the repairs one changes by {repaired:.2f}",
    )


# ---------------------------------------------------------------- the phase


def phase_is_learnable() -> Finding:
    """The largest gradient of the phase where it begins, shared by all layers or one for each."""
    (written, idx), (exact, _) = small_model("v7-polar"), small_model("v7-exact")
    own, _ = small_model("v7-polar", per_layer=True)
    layers = [f"layers.{i}.phi" for i in range(own.config.n_layer)]
    slope = max(phase_gradient(written, idx), *(phase_gradient(own, idx, name) for name in layers))
    return Finding(
        decide(slope > 0),
        slope,
        f"the slope of cos φ is 0 at φ = 0, so φ stays there, one for all or one for each of {len(layers)} "
        f"layers; inside the cosine it gets {phase_gradient(exact, idx):.0e}",
    )


def product_approximates_the_phase() -> Finding:
    """Error of the note's product at φ = 0.3, as a share of the error of having no phase."""
    product, without = phase_errors(0.3)
    share = float((product.sum() / without.sum()).sqrt())
    fastest, slowest = (product / without).sqrt()[[0, -1]].tolist()
    return Finding(
        decide(share < 0.5),
        share,
        f"it errs by sin(iω) sin φ, {fastest:.0%} as much as no phase where waves are fast; only waves that "
        f"have hardly begun within {LENGTH} places come out right ({slowest:.0%} for the slowest)",
    )


@torch.inference_mode()
def product_is_not_strict() -> Finding:
    """Largest gap between the package's two gates, the note's product and the exact phase, at φ = 0.3."""

    def gates(kind: type[Polar], phi: float) -> Tensor:
        encoding = kind(HEAD_DIM)
        encoding.steer("phi", phi)
        return encoding.gate(Positions.arange(LENGTH))

    turned, begun = (float((gates(Polar, phi) - gates(ExactPhase, phi)).abs().max()) for phi in (0.3, 0.0))
    reason = f"but at φ = 0, where training leaves it, they differ by {begun:.0e}"
    return Finding(decide(turned > 0.01), turned, reason)


# ---------------------------------------------------------------- writing, and after training


def threshold_matters() -> Finding:
    """Share of impossible texts at threshold 0.5, minus that at the note's 0.95, by a model without error."""
    low, high = inconsistent_share(0.5), inconsistent_share(0.95)
    return Finding(
        decide(low - high > 0.1),
        low - high,
        f"eight letters that must be alike: {low:.0%} are spoilt at 0.5, {high:.0%} at 0.95; what appears in "
        "one step does not know of each other",
    )


def metrics_are_not_readability() -> Finding:
    """Change of distinct-2 and repeated 3-grams when every letter is exchanged for another."""
    text = tales.english().write(2_000, seed=0)
    letters = sorted({letter for letter in text if letter.isalpha()})
    cipher = str.maketrans("".join(letters), "".join(letters[1:] + letters[:1]))
    secret = text.translate(cipher)
    change = max(abs(distinct(text, 2) - distinct(secret, 2)), abs(repeated(text, 3) - repeated(secret, 3)))
    return Finding(
        decide(change == 0 and secret != text),
        change,
        f"“{text[:20].strip()}” and “{secret[:20].strip()}” score alike",
    )


def replaces_rope(version: str) -> Finding:
    """Loss of gates on masked tokens after training, minus that of RoPE, nats per character."""
    results = load_results("polar")
    gates, rope, nothing = (results["val_loss"][name] for name in (version, "v7-rope", "v7-nope"))
    worse, finer = clearly_lower(rope, gates), clearly_lower(gates, nothing)
    return Finding(
        "holds" if not worse else "depends" if finer else "fails",
        mean(gates) - mean(rope),
        f"gates {mean(gates):.3f}, RoPE {mean(rope):.3f}, no code at all {mean(nothing):.3f}: "
        f"{len(gates)} seeds of {results['steps']} steps",
    )
