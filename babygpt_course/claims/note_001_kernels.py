"""Measurements for note 001: random heads, the formula's kernel, and the code of the note."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from babygpt import invariants
from babygpt.encodings.base import Encoding
from babygpt.encodings.gaussian import ALPHAS, SIGMAS, AbsoluteGaussian, RelativeGaussian
from babygpt.encodings.rotary import Rotary, rotate
from babygpt.encodings.sinusoidal import frequencies
from babygpt.models.transformer import norm, score_scale
from babygpt.positions import Positions
from babygpt_course.claims.claim import Finding, decide

NOTE = "001_e1f3ab19410e1e33.txt"
HEAD_DIM = 32
LATE, NEAR = 60, 8  # a query far from the start, and what counts as near it, in tokens
TEXTS = 512  # random ones
RANDOM = f"an untrained head of {HEAD_DIM} channels on {TEXTS} random texts, with the note's α and σ"
BUILT = f"a head of {HEAD_DIM} channels built by hand, among 64 tokens"
TWO_KERNELS = "m is a place in the formula and a distance in the text: K(m) and K(m − n) were both asked"


def note_kernel(m: Tensor) -> Tensor:
    """Return K as the note writes it, with its own numbers: (T,) -> (T,)."""
    return sum((a * torch.exp(-(m**2) / (2 * s**2)) for a, s in zip(ALPHAS, SIGMAS, strict=True)), 0 * m)


def scores_of(encoding: Encoding, q: Tensor, k: Tensor) -> Tensor:
    """Return attention scores of the last query of each text: (n, 1, T, D) twice -> (n, T)."""
    positions = Positions.arange(q.shape[-2])
    q, k = encoding.transform_qk(q, k, positions)
    scores, bias = (q @ k.mT * score_scale(q))[:, 0], encoding.score_bias(positions, positions)
    return (scores if bias is None else scores + bias)[:, -1]


def random_heads(T: int, n: int = TEXTS) -> tuple[Tensor, Tensor]:
    """Return queries and keys of n random texts, as long as a model's: 2 x (n, 1, T, HEAD_DIM)."""
    q, k = norm(torch.randn(2, n, 1, T, HEAD_DIM, generator=torch.Generator().manual_seed(0)))
    return q, k


def scores_at(encoding: Encoding, m: int, n: int = TEXTS) -> Tensor:
    """Return attention scores of a query at m with all keys up to itself, of n random texts: (n, m + 1)."""
    return scores_of(encoding, *random_heads(m + 1, n))


def attention_on_match(encoding: Encoding, m: int, back: int) -> float:
    """Return the mean attention of a query at m to a key `back` tokens before it that matches it."""
    q, k = random_heads(m + 1)
    k[:, :, m - back] = q[:, :, m]
    return float(scores_of(encoding, q, k).softmax(dim=-1)[:, m - back].mean().detach())


def mean_distance(encoding: Encoding, m: int = LATE) -> float:
    """Return how far back a query at m looks on average, in tokens."""
    return float(
        scores_at(encoding, m).softmax(dim=-1).mean(dim=0).flip(0).detach().double()
        @ torch.arange(m + 1).double()
    )


def attention_with_pairs(pairs: slice, back: int = 1) -> Tensor:
    """Return the attention at distances 0 to 63 if q and k use these pairs only, and q asks for `back`."""
    away = torch.arange(64, dtype=torch.float64) - back
    likeness = torch.cos(away[:, None] * frequencies(HEAD_DIM)[pairs]).mean(dim=-1)
    return (score_scale(torch.ones(HEAD_DIM)) * HEAD_DIM * likeness).softmax(dim=0)


# ---------------------------------------------------------------- RoPE


def rope_is_relative() -> Finding:
    """Measure the largest change of a RoPE score when query and key move together."""
    found = invariants.shift_invariant(Rotary(HEAD_DIM), head_dim=HEAD_DIM)
    return Finding(decide(found.holds), found.value, "q and k turn together: only the distance is left")


def frequencies_are_right() -> Finding:
    """Measure the error of 10000^(-2j/d) against the angle by which RoPE turns pair j between neighbours."""
    x = torch.tensor([1.0, 0.0], dtype=torch.float64).repeat(HEAD_DIM // 2)
    turned = rotate(x[None], torch.tensor([1]))[0]
    by_note = 10_000 ** (-2 * torch.arange(HEAD_DIM // 2).double() / HEAD_DIM)
    error = float((torch.atan2(turned[1::2], turned[::2]) - by_note).abs().max())
    reason = "so far does RoPE, as published, turn pair j from place to place"
    return Finding(decide(error < 1e-9), error, reason)


def rope_is_too_coarse() -> Finding:
    """Measure the attention that RoPE can put on the token before, with the pairs it has."""
    most = max(float(attention_with_pairs(slice(pairs))[1]) for pairs in range(1, HEAD_DIM // 2 + 1))
    reason = f"a query in the fastest pairs gives {most:.0%} of its attention to the one token before it"
    return Finding(decide(most < 0.5), most, reason)


def rope_cannot_choose_its_scale() -> Finding:
    """Compare the attention on the nearest 8 of 64 tokens in the four fastest pairs and the four slowest."""
    near, wide = (float(attention_with_pairs(pairs)[:NEAR].sum()) for pairs in (slice(4), slice(-4, None)))
    trainable = sum(p.numel() for p in Rotary(HEAD_DIM).parameters())
    reason = f"{trainable} numbers to train, but q and k choose the pairs: fast ones give {near:.0%} of the "
    reason += f"attention to {NEAR} of 64 tokens, slow ones {wide:.0%}"
    return Finding("depends" if near > 2 * wide else "holds", near - wide, reason)


# ---------------------------------------------------------------- the formula


def angle_to_rope() -> tuple[float, float]:
    """Return the largest angle between f(x, m) and RoPE, and the largest error of its length against K(m)."""
    x, m = random_heads(64, 1)[0].double(), torch.arange(64)
    q, _ = AbsoluteGaussian(HEAD_DIM, learnable=False).double().transform_qk(x, x, Positions(m))
    cosine = torch.cosine_similarity(q, rotate(x, m), dim=-1).clamp(-1, 1)
    error = (q.norm(dim=-1) / x.norm(dim=-1) - note_kernel(m.double())).abs().max()
    return float(cosine.acos().max()), float(error)


def kernel_leaves_the_frequency() -> Finding:
    """Measure the error of the length of f(x, m) against K(m), if its direction is RoPE's."""
    angle, error = angle_to_rope()
    reason = "a factor in front of a rotation changes every length, and no direction"
    return Finding(decide(max(angle, error) < 1e-3), error, reason)


def kernel_changes_the_rotation() -> Finding:
    """Measure the largest angle between f(x, m) and x rotated without the kernel, in radians."""
    angle, _ = angle_to_rope()
    return Finding(decide(angle > 1e-3), angle, "it stretches vectors; their directions stay RoPE's")


def kernel_knows_the_distance() -> Finding:
    """Measure the largest change of a score, by the formula, when query and key move together."""
    kinds = (kind(HEAD_DIM, learnable=False) for kind in (AbsoluteGaussian, RelativeGaussian))
    formula, text = (invariants.shift_invariant(each, head_dim=HEAD_DIM) for each in kinds)
    near, far = (float(note_kernel(torch.tensor([m, m - 3.0])).prod()) for m in (3.0, 63.0))
    reason = f"the formula multiplies a score by K(m)K(n): {near:.2f} for 3 and 0, {far:.0e} for 63 and 60; "
    reason += "K(m − n) is " + ("the same for both" if text.holds else "no function of the distance either")
    return Finding(decide(formula.holds, text.holds), formula.value, reason)


def on_a_match(back: int, early: int, late: int) -> Finding:
    """Measure what K adds to the attention on a key that fits, `back` tokens before.

    early, late  where the query stands: when the formula is asked, and when K(m - n) is
    """
    formula, text = AbsoluteGaussian(HEAD_DIM), RelativeGaussian(HEAD_DIM)
    changes, gains = [], []
    for name, encoding, m in (("the formula", formula, early), ("K(m − n)", text, late)):
        plain, with_k = (attention_on_match(e, m, back) for e in (Rotary(HEAD_DIM), encoding))
        changes.append(f"at {m} {plain:.0%} becomes {with_k:.0%} by {name}")
        gains.append(with_k - plain)
    reason = f"attention on the one key that fits, {back} tokens back: {', '.join(changes)}"
    return Finding(decide(*(gain > 0.01 for gain in gains)), gains[1], reason)


def in_both_uses(what: str, **changed: Any) -> Finding:
    """Measure how many tokens further a query at 60 looks when the kernel is changed, in both uses.

    what     is changed, in words
    changed  the kernel's alphas or sigmas
    """
    moved = {
        kind: mean_distance(kind(HEAD_DIM, **changed)) - mean_distance(kind(HEAD_DIM))
        for kind in (AbsoluteGaussian, RelativeGaussian)
    }
    reason = f"{what}: a query at {LATE} looks {moved[RelativeGaussian]:+.1f} tokens further with K(m − n), "
    reason += f"{moved[AbsoluteGaussian]:+.1f} with the formula"
    return Finding(decide(*(gain > 1.0 for gain in moved.values())), moved[RelativeGaussian], reason)


def crossovers() -> Tensor:
    """Find where the wide Gaussian begins to outdo the narrow one, text by text: (2, TEXTS), in tokens.

    First the place from which on it leaves a query longer, under the formula; then the distance from which
    on it scores a key higher, with K(m - n).
    """
    alone = (ALPHAS[0], 0.0), (0.0, ALPHAS[1])
    q, _ = random_heads(LATE)
    formula = (AbsoluteGaussian(HEAD_DIM, alphas, learnable=False) for alphas in alone)
    narrow, wide = (e.transform_qk(q, q, Positions.arange(LATE))[0].norm(dim=-1)[:, 0] for e in formula)
    distance = (RelativeGaussian(HEAD_DIM, alphas, learnable=False) for alphas in alone)
    near, far = (scores_at(e, LATE).flip(-1) for e in distance)
    return torch.stack([(more > less).int().argmax(dim=-1) for less, more in ((narrow, wide), (near, far))])


def scales_switch() -> Finding:
    """Measure by how many tokens texts differ in where the wide Gaussian overtakes the narrow one."""
    at = crossovers()
    moved, first, last = int((at.amax(dim=-1) - at.amin(dim=-1)).max()), int(at.min()), int(at.max())
    where = f"{first} to {last}" if last > first else str(first)
    reason = f"the wide term overtakes the narrow one from {where} tokens on, asked of {TEXTS} random texts: "
    reason += "it depends on the text" if moved else "α and σ set it beforehand, and no text moves it"
    return Finding(decide(0 < first < LATE, moved > 0), float(moved), reason)


# ---------------------------------------------------------------- the note's code

DIM = 64  # as in the note's example
AXIS = "K_r lacks an axis for the channels"


class NoteRotary(nn.Module):
    """Module of the note, shortened: its kernel's weights and widths are plain numbers, as there.

    dim  channels
    """

    def __init__(self, dim: int = DIM) -> None:
        super().__init__()
        self.inv_freq = 1.0 / (10000 ** (torch.arange(0, dim, 2).float() / dim))

    def rotate(self, x: Tensor) -> Tensor:
        """Turn x as the note does, without its kernel: angles for half-split pairs, partners interleaved."""
        m = torch.arange(x.shape[-2], device=x.device).type_as(self.inv_freq)
        freqs = torch.einsum("i,j->ij", m, self.inv_freq)
        emb = torch.cat((freqs, freqs), dim=-1)  # (T, D)
        x1, x2 = x[..., ::2], x[..., 1::2]
        return x * emb.cos() + torch.stack((-x2, x1), dim=-1).flatten(-2) * emb.sin()

    def forward(self, x: Tensor) -> Tensor:
        """Multiply K and the rotation as the note does: (B, T, D) -> (B, T, D), where T and D are equal."""
        return note_kernel(torch.arange(x.shape[-2]).float()) * self.rotate(x)


def code_runs() -> Finding:
    """Count the tokens that the code of the note's example accepts: 128, or none if it raises."""
    try:
        out = NoteRotary()(torch.zeros(2, 128, DIM))
    except RuntimeError as error:
        return Finding("fails", 0.0, f"{str(error).splitlines()[0]}; it runs where T = D")
    return Finding("holds", float(out.shape[-2]), "it runs")


def code_scales_by_place() -> Finding:
    """Measure the error of the factor that the note's code gives to each position, where it runs."""
    x, code = torch.ones(1, DIM, DIM), NoteRotary()
    by_code = code(x)[0] / code.rotate(x)[0]  # (T, D)
    by_formula = note_kernel(torch.arange(float(DIM)))[:, None]
    error = float((by_code - by_formula).abs().max())
    same = bool(torch.allclose(by_code, by_formula.T.expand(DIM, DIM), atol=1e-4))
    reason = "with as many tokens as channels it runs, and K falls along the channels, alike at every place"
    return Finding(decide(error < 1e-4), error, reason if same else "each place gets its own factor")


def code_rotates() -> Finding:
    """Measure the largest relative change of a vector's length by the note's rotation, without its kernel."""
    x = torch.randn(8, 128, DIM, generator=torch.Generator().manual_seed(0))
    change = NoteRotary().rotate(x).norm(dim=-1) / x.norm(dim=-1)
    worst = float((change - 1).abs().max())
    reason = f"two layouts are mixed: lengths change by factors of {change.min():.2f} to {change.max():.2f}"
    return Finding(decide(worst < 1e-5), worst, reason)


def code_adapts() -> Finding:
    """Count the trainable numbers in the note's module."""
    trainable = sum(p.numel() for p in NoteRotary().parameters())
    reason = "its α and σ are plain numbers, which no gradient reaches"
    return Finding(decide(trainable > 0), float(trainable), reason)


def code_follows_its_device() -> Finding:
    """Measure the share of the note's table of frequencies that moves along with the module."""
    there = NoteRotary().to("meta").inv_freq.device.type
    reason = f"inv_freq is no buffer: moved elsewhere, the module leaves it on the {there}, type_as brings "
    reason += "the places there too, and PyTorch multiplies no two devices"
    return Finding(decide(there == "meta"), float(there == "meta"), reason)
