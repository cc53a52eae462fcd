"""Measurements of note 001, Gaussian RoPE: heads built by hand, the code of the note, and stored runs."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from babygpt import invariants
from babygpt.encodings.base import Encoding
from babygpt.encodings.gaussian import ALPHAS, SIGMAS, AbsoluteGaussian, RelativeGaussian
from babygpt.encodings.rotary import Rotary, rotate
from babygpt.encodings.sinusoidal import frequencies
from babygpt.models.transformer import norm, score_scale
from babygpt.positions import Positions
from babygpt_course.claims.claim import Finding, decide, measured_on
from babygpt_course.studies.gaussian_training import BEYOND
from babygpt_course.studies.results import load_results

NOTE = "001_e1f3ab19410e1e33.txt"
HEAD_DIM = 32
LATE = 60  # position of a query far from the start
TEXTS = 512  # random ones
NEAR = 8  # tokens that count as near
DIM = 64  # channels, as in the note's example
FORMULA, DISTANCE = "v5-absolute fixed", "v5 fixed"  # α and σ as in the note's code, where none is trained
VECTORS = "the formula on 64 random vectors"
BUILT = f"a head of {HEAD_DIM} channels built by hand, among 64 tokens"
RANDOM = f"an untrained head of {HEAD_DIM} channels on {TEXTS} random texts, with the note's α and σ"
SHAPE = "models of 2 layers, 4 heads, width 96 on windows of 64 characters, three seeds; plain tales"
AXIS = "K_r lacks an axis for the channels"


# ---------------------------------------------------------------- heads, kernels, and the note's code


def note_kernel(m: Tensor) -> Tensor:
    """Return K as the note writes it, with its own numbers: (T,) -> (T,)."""
    return sum((a * torch.exp(-(m**2) / (2 * s**2)) for a, s in zip(ALPHAS, SIGMAS, strict=True)), 0 * m)


def random_heads(T: int, n: int = TEXTS) -> tuple[Tensor, Tensor]:
    """Return queries and keys of n random texts, as long as a model's: 2 x (n, 1, T, HEAD_DIM)."""
    q, k = norm(torch.randn(2, n, 1, T, HEAD_DIM, generator=torch.Generator().manual_seed(0)))
    return q, k


def last_scores(encoding: Encoding, q: Tensor, k: Tensor) -> Tensor:
    """Return attention scores of the last query of each text: (n, 1, T, D) twice -> (n, T)."""
    positions = Positions.arange(q.shape[-2])
    q, k = encoding.transform_qk(q, k, positions)
    scores, bias = (q @ k.mT * score_scale(q))[:, 0], encoding.score_bias(positions, positions)
    return (scores if bias is None else scores + bias)[:, -1].detach()


def attention_on_match(encoding: Encoding, m: int, back: int) -> float:
    """Return the mean attention of a query at m to a key `back` tokens before it that matches it."""
    q, k = random_heads(m + 1)
    k[:, :, m - back] = q[:, :, m]
    return float(last_scores(encoding, q, k).softmax(dim=-1)[:, m - back].mean())


def mean_distance(encoding: Encoding) -> float:
    """Return how far back a query at LATE looks on average, in tokens."""
    weights = last_scores(encoding, *random_heads(LATE + 1)).softmax(dim=-1).mean(dim=0)
    return float(weights.flip(0).double() @ torch.arange(LATE + 1).double())


def attention_with_pairs(pairs: slice, back: int = 1) -> Tensor:
    """Return the attention at distances 0 to 63 if q and k use these pairs only, and q asks for `back`."""
    away = torch.arange(64, dtype=torch.float64) - back
    likeness = torch.cos(away[:, None] * frequencies(HEAD_DIM)[pairs]).mean(dim=-1)
    return (score_scale(torch.ones(HEAD_DIM)) * HEAD_DIM * likeness).softmax(dim=0)


def angle_to_rope() -> tuple[float, float]:
    """Return the largest angle between f(x, m) and RoPE, and the largest error of its length against K(m)."""
    x, m = random_heads(64, 1)[0].double(), torch.arange(64)
    q, _ = AbsoluteGaussian(HEAD_DIM, learnable=False).double().transform_qk(x, x, Positions(m))
    cosine = torch.cosine_similarity(q, rotate(x, m), dim=-1).clamp(-1, 1)
    error = (q.norm(dim=-1) / x.norm(dim=-1) - note_kernel(m.double())).abs().max()
    return float(cosine.acos().max()), float(error)


def crossovers() -> Tensor:
    """Find where the wide Gaussian begins to outdo the narrow one, text by text: (2, TEXTS), in tokens.

    First the position from which on it leaves a query longer, under the formula; then the distance from which
    on it scores a key higher, with K(m - n).
    """
    q, _ = random_heads(LATE)
    lengths, scores = [], []  # of the narrow term alone, and of the wide one
    for alphas in ((ALPHAS[0], 0.0), (0.0, ALPHAS[1])):
        formula = AbsoluteGaussian(HEAD_DIM, alphas, learnable=False)
        lengths.append(formula.transform_qk(q, q, Positions.arange(LATE))[0].norm(dim=-1)[:, 0])
        relative = RelativeGaussian(HEAD_DIM, alphas, learnable=False)
        scores.append(last_scores(relative, *random_heads(LATE + 1)).flip(-1))
    return torch.stack([(wide > narrow).int().argmax(dim=-1) for narrow, wide in (lengths, scores)])


class NoteRotary(nn.Module):
    """Module of the note, shortened, with DIM channels: its kernel's weights and widths are plain numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.inv_freq = 1.0 / (10000 ** (torch.arange(0, DIM, 2).float() / DIM))

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


# ---------------------------------------------------------------- stored runs


def board(world: str = "plain", longest: bool = True) -> tuple[dict[str, Any], str]:
    """Return what one world's longest (or shortest) trainings stored, and their steps."""
    found = load_results("gaussian")[world]
    steps = (max if longest else min)(found, key=int)
    return found[steps], steps


def gains_over(found: dict[str, Any], key: str, version: str, rival: str = "v4") -> np.ndarray:
    """Return how far a version's number is below its rival's, for each seed that both had."""
    pairs = zip(found[rival][key], found[version][key], strict=False)
    return np.array([other - one for other, one in pairs])


def over_seeds(*gains: np.ndarray) -> str:
    """Return the verdict of some gains, one a seed: "holds" if all are above 0, "fails" if none is."""
    return decide(*(np.concatenate(gains) > 0))


def listed(numbers: Sequence[float] | np.ndarray) -> str:
    """Format numbers with their signs, one a seed."""
    return ", ".join(f"{x:+.3f}" for x in numbers)


# ---------------------------------------------------------------- the note's sentences


@measured_on("random queries and keys")
def rope_is_relative() -> Finding:
    """Measure the largest change of a RoPE score when query and key move together."""
    found = invariants.shift_invariant(Rotary(HEAD_DIM), head_dim=HEAD_DIM)
    return Finding(decide(found.holds), found.value, "q and k turn together: only the distance is left")


@measured_on("arithmetic")
def frequencies_are_right() -> Finding:
    """Measure the error of 10000^(-2j/d) against the angle by which RoPE turns pair j between neighbours."""
    x = torch.tensor([1.0, 0.0], dtype=torch.float64).repeat(HEAD_DIM // 2)
    turned = rotate(x[None], torch.tensor([1]))[0]
    by_note = 10_000 ** (-2 * torch.arange(HEAD_DIM // 2).double() / HEAD_DIM)
    error = float((torch.atan2(turned[1::2], turned[::2]) - by_note).abs().max())
    reason = "so far does RoPE, as published, turn pair j from place to place"
    return Finding(decide(error < 1e-9), error, reason)


@measured_on(BUILT)
def rope_cannot_choose_its_scale() -> Finding:
    """Compare the attention on the nearest 8 of 64 tokens in the four fastest pairs and the four slowest."""
    near, wide = (float(attention_with_pairs(pairs)[:NEAR].sum()) for pairs in (slice(4), slice(-4, None)))
    trainable = sum(p.numel() for p in Rotary(HEAD_DIM).parameters())
    reason = f"{trainable} numbers to train, but q and k choose the pairs: fast ones give {near:.0%} of the "
    reason += f"attention to {NEAR} of 64 tokens, slow ones {wide:.0%}"
    return Finding("depends" if near > 2 * wide else "holds", near - wide, reason)


@measured_on(BUILT)
def rope_is_too_coarse() -> Finding:
    """Measure the attention that RoPE can put on the token before, with the pairs it has."""
    most = max(float(attention_with_pairs(slice(pairs))[1]) for pairs in range(1, HEAD_DIM // 2 + 1))
    reason = f"a query in the fastest pairs gives {most:.0%} of its attention to the one token before it"
    return Finding(decide(most < 0.5), most, reason)


@measured_on(SHAPE + ", 1200 steps")
def reaches_further_than_rope() -> Finding:
    """Measure how much more hiding the far costs a model with K(m - n), fixed, than RoPE: mean over seeds.

    A model that neglects the far loses nothing when the far is hidden.
    """
    found, steps = board()
    at = load_results("gaussian")["distances"].index(BEYOND)
    rope, fixed, trained = (
        np.array([seed[at] for seed in found[version]["hiding"]]) for version in ("v4", DISTANCE, "v5")
    )
    neglects = "neglects it" if max(rope) < 0.01 else "does not neglect it"
    reason = f"after {steps} steps, hiding all beyond {BEYOND} tokens costs RoPE {listed(rope)} nats: "
    reason += f"it {neglects}; K(m − n) {listed(fixed)} fixed, {listed(trained)} trained"
    verdict = decide(*(bool((cost > rope).all()) for cost in (fixed, trained)))
    return Finding(verdict, float((fixed - rope).mean()), reason)


@measured_on("random queries and keys")
def kernel_knows_the_distance() -> Finding:
    """Measure the largest change of a score, by the formula, when query and key move together."""
    kinds = (kind(HEAD_DIM, learnable=False) for kind in (AbsoluteGaussian, RelativeGaussian))
    formula, text = (invariants.shift_invariant(each, head_dim=HEAD_DIM) for each in kinds)
    near, far = (float(note_kernel(torch.tensor([m, m - 3.0])).prod()) for m in (3.0, 63.0))
    reason = f"the formula multiplies a score by K(m)K(n): {near:.2f} for 3 and 0, {far:.0e} for 63 and 60; "
    reason += "K(m − n) is " + ("the same for both" if text.holds else "no function of the distance either")
    return Finding(decide(formula.holds, text.holds), formula.value, reason)


def in_both_uses(what: str, **changed: Any) -> Finding:
    """Measure how many tokens further a query at 60 looks when the kernel is changed, in both uses.

    what     change in words
    changed  alphas or sigmas of the kernel
    """
    formula, relative = (
        mean_distance(kind(HEAD_DIM, **changed)) - mean_distance(kind(HEAD_DIM))
        for kind in (AbsoluteGaussian, RelativeGaussian)
    )
    reason = f"{what}: a query at {LATE} looks {relative:+.1f} tokens further with K(m − n), "
    reason += f"{formula:+.1f} with the formula"
    return Finding(decide(formula > 1.0, relative > 1.0), relative, reason)


alphas_weigh = measured_on(RANDOM)(
    partial(in_both_uses, "α₂ ten times larger", alphas=(ALPHAS[0], 10 * ALPHAS[1]))
)
sigmas_reach = measured_on(RANDOM)(
    partial(in_both_uses, "σ₁ and σ₂ twice as wide", sigmas=[2 * sigma for sigma in SIGMAS])
)


@measured_on(VECTORS)
def kernel_changes_the_rotation() -> Finding:
    """Measure the largest angle between f(x, m) and x rotated without the kernel, in radians."""
    angle, _ = angle_to_rope()
    return Finding(decide(angle > 1e-3), angle, "it stretches vectors; their directions stay RoPE's")


def on_a_match(back: int, early: int, late: int) -> Finding:
    """Measure what K adds to the attention on a key that fits, `back` tokens before.

    early, late  position of the query when the formula is asked, and when K(m - n) is
    """
    changes, gains = [], []
    for name, kind, m in (("the formula", AbsoluteGaussian, early), ("K(m − n)", RelativeGaussian, late)):
        plain, with_k = (attention_on_match(each(HEAD_DIM), m, back) for each in (Rotary, kind))
        changes.append(f"at {m} {plain:.0%} becomes {with_k:.0%} by {name}")
        gains.append(with_k - plain)
    reason = f"attention on the one key that fits, {back} tokens back: {', '.join(changes)}"
    return Finding(decide(*(gain > 0.01 for gain in gains)), gains[1], reason)


local_is_stronger = measured_on(RANDOM)(partial(on_a_match, 4, early=12, late=LATE))
global_is_stronger = measured_on(RANDOM)(partial(on_a_match, 40, early=LATE, late=LATE))


@measured_on(VECTORS)
def kernel_leaves_the_frequency() -> Finding:
    """Measure the error of the length of f(x, m) against K(m), if its direction is RoPE's."""
    angle, error = angle_to_rope()
    reason = "a factor in front of a rotation changes every length, and no direction"
    return Finding(decide(max(angle, error) < 1e-3), error, reason)


@measured_on(RANDOM)
def scales_switch() -> Finding:
    """Measure by how many tokens texts differ in where the wide Gaussian overtakes the narrow one."""
    at = crossovers()
    moved, first, last = int((at.amax(dim=-1) - at.amin(dim=-1)).max()), int(at.min()), int(at.max())
    where = f"{first} to {last}" if last > first else str(first)
    reason = f"the wide term overtakes the narrow one from {where} tokens on, asked of {TEXTS} random texts: "
    reason += "it depends on the text" if moved else "α and σ set it beforehand, and no text moves it"
    return Finding(decide(0 < first < LATE, moved > 0), float(moved), reason)


@measured_on("the note's code, shortened, on the note's shapes", AXIS)
def code_runs() -> Finding:
    """Count the tokens that the code of the note's example accepts: 128, or none if it raises."""
    try:
        out = NoteRotary()(torch.zeros(2, 128, DIM))
    except RuntimeError as error:
        return Finding("fails", 0.0, f"{str(error).splitlines()[0]}; it runs where T = D")
    return Finding("holds", float(out.shape[-2]), "it runs")


@measured_on("the note's code, shortened, on 64 tokens with 64 channels, where it runs", AXIS)
def code_scales_by_place() -> Finding:
    """Measure the error of the factor that the note's code gives to each position, where it runs."""
    x, code = torch.ones(1, DIM, DIM), NoteRotary()
    by_code = code(x)[0] / code.rotate(x)[0]  # (T, D)
    by_formula = note_kernel(torch.arange(float(DIM)))[:, None]
    error = float((by_code - by_formula).abs().max())
    same = bool(torch.allclose(by_code, by_formula.T.expand(DIM, DIM), atol=1e-4))
    reason = "with as many tokens as channels it runs, and K falls along the channels, alike at every place"
    return Finding(decide(error < 1e-4), error, reason if same else "each place gets its own factor")


@measured_on("the note's code, shortened, on 8 random texts of 128 tokens")
def code_rotates() -> Finding:
    """Measure the largest relative change of a vector's length by the note's rotation, without its kernel."""
    x = torch.randn(8, 128, DIM, generator=torch.Generator().manual_seed(0))
    change = NoteRotary().rotate(x).norm(dim=-1) / x.norm(dim=-1)
    worst = float((change - 1).abs().max())
    reason = f"two layouts are mixed: lengths change by factors of {change.min():.2f} to {change.max():.2f}"
    return Finding(decide(worst < 1e-5), worst, reason)


@measured_on("the note's code, shortened")
def code_adapts() -> Finding:
    """Count the trainable numbers in the note's module."""
    trainable = sum(p.numel() for p in NoteRotary().parameters())
    reason = "its α and σ are plain numbers, which no gradient reaches"
    return Finding(decide(trainable > 0), float(trainable), reason)


@measured_on("the note's code, shortened, moved to PyTorch's device meta")
def code_follows_its_device() -> Finding:
    """Measure the share of the note's table of frequencies that moves along with the module."""
    there = NoteRotary().to("meta").inv_freq.device.type
    reason = f"inv_freq is no buffer: moved elsewhere, the module leaves it on the {there}, type_as brings "
    reason += "the places there too, and PyTorch multiplies no two devices"
    return Finding(decide(there == "meta"), float(there == "meta"), reason)


@measured_on(SHAPE + " 300 and 1200 steps, full tales 300")
def lowers_the_loss() -> Finding:
    """Measure the nats per character that K(m - n) of the note gains over RoPE after the longest runs."""
    (plain, steps), (short, fewest), (full, full_steps) = board(), board(longest=False), board("full")
    gains = [gains_over(found, "val_loss", DISTANCE) for found in (plain, full)]
    reason = f"over RoPE, on the plain tales {listed(gains_over(short, 'val_loss', DISTANCE))} nats after "
    reason += f"{fewest} steps and {listed(gains[0])} after {steps}; on the full ones {listed(gains[1])} "
    return Finding(over_seeds(*gains), float(gains[0].mean()), f"{reason}after {full_steps}")


@measured_on(SHAPE + ", 300 steps")
def formula_lowers_the_loss() -> Finding:
    """Measure nats per character that the note's own formula gains over RoPE on the plain tales."""
    found, steps = board(longest=False)
    fixed, trained = (gains_over(found, "val_loss", v) for v in (FORMULA, "v5-absolute"))
    reason = f"after {steps} steps K(m)K(n) gains {listed(fixed)} nats over RoPE, fixed as in the code, "
    return Finding(over_seeds(fixed, trained), float(fixed.mean()), f"{reason}and {listed(trained)} trained")


@measured_on(SHAPE + ", 300 and 1200 steps")
def finds_the_range() -> Finding:
    """Measure the share of right answers that a kernel loses when its range is trained."""
    (short, fewest), (long, steps) = board(longest=False), board()
    early, late = (gains_over(found, "accuracy", DISTANCE, "v5") for found in (short, long))
    start = load_results("gaussian")["start"]["half"]
    halves = " or ".join(map(str, sorted({kernel[0]["half"] for kernel in long["v5"]["kernel"]})))
    reason = f"trained, K(m − n) changes the share of right answers by {listed(early)} after {fewest} steps "
    reason += f"and {listed(late)} after {steps}: it halves in {halves} tokens, not in {start}"
    verdict = decide(*(bool((change >= -0.05).any()) for change in (early, late)))
    return Finding(verdict, -float(late.mean()), reason)


@measured_on(SHAPE + ", 300 and 1200 steps")
def helps_far_out() -> Finding:
    """Measure the gain over RoPE in the fourth window, in nats per character, after training on one.

    These are positions beyond the window. How far back a text's own dependencies reach was not varied.
    """
    (long, steps), (short, fewest) = board(), board(longest=False)
    relative, absolute = gains_over(long, "far", DISTANCE), gains_over(short, "far", FORMULA)
    reason = f"in the fourth window of a model trained on one, K(m − n) gains {listed(relative)} nats over "
    reason += f"RoPE after {steps} steps, the formula {listed(absolute)} after {fewest}"
    return Finding(over_seeds(relative, absolute), float(relative.mean()), reason)
