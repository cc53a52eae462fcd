"""Measurements of note 001, Gaussian RoPE: on random heads, on the note's code, and from stored runs."""

from statistics import mean
from typing import Any

import torch
from torch import Tensor, nn

from babygpt import invariants
from babygpt.encodings.base import Encoding
from babygpt.encodings.gaussian import ALPHAS, SIGMAS, AbsoluteGaussian, RelativeGaussian
from babygpt.encodings.rotary import Rotary, rotate
from babygpt.encodings.sinusoidal import frequencies
from babygpt.experiments.paired import compare, compare_shares, differences, exceeds
from babygpt.models.transformer import norm, score_scale
from babygpt.positions import Positions
from babygpt.tables import format_measured
from babygpt_course.claims.claim import Finding, combine, decide, measured_on
from babygpt_course.studies.results import load_results

NOTE = "001_e1f3ab19410e1e33.txt"
HEAD_DIM = 32
LATE = 60  # position of a query far from the start
QUERIES = (12, 20, 40, LATE)
TEXTS = 512  # random texts
NEAR = 8  # tokens that count as near
DIM = 64  # channels, as in the note's example
# Both models have the α and σ of the note's code, untrained.
FORMULA = "v5-absolute fixed"  # K(m)K(n), as in the note's formula
DISTANCE = "v5 fixed"  # K(m − n), as in the note's text
VECTORS = "the note's formula on 64 random vectors"
BUILT = f"a head of {HEAD_DIM} channels built by hand, among 64 tokens"
RANDOM = f"an untrained head of {HEAD_DIM} channels on {TEXTS} random texts, with the note's α and σ"
SHAPE = "models of 2 layers, 4 heads, width 96 on windows of 64 characters, paired by seed"
AXIS = "K_r lacks an axis for the channels"
RUNS = "The code runs only with as many tokens as channels."


# ---------------------------------------------------------------- heads, kernels, and the note's code


def note_kernel(m: Tensor) -> Tensor:
    """Return K by the note's formula, with the α and σ of its code: (T,) -> (T,)."""
    return sum((a * torch.exp(-(m**2) / (2 * s**2)) for a, s in zip(ALPHAS, SIGMAS, strict=True)), 0 * m)


def random_heads(T: int, n: int = TEXTS) -> tuple[Tensor, Tensor]:
    """Return normalised queries and keys of n random texts: 2 x (n, 1, T, HEAD_DIM)."""
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


def mean_distance(encoding: Encoding, m: int) -> float:
    """Return how far back a query at m looks on average, in tokens."""
    weights = last_scores(encoding, *random_heads(m + 1)).softmax(dim=-1).mean(dim=0)
    return float(weights.flip(0).double() @ torch.arange(m + 1).double())


def attention_with_pairs(pairs: slice, back: int = 1) -> Tensor:
    """Return attention at distances 0 to 63 if q and k use only these pairs and q matches distance `back`."""
    away = torch.arange(64, dtype=torch.float64) - back
    likeness = torch.cos(away[:, None] * frequencies(HEAD_DIM)[pairs]).mean(dim=-1)
    return (score_scale(torch.ones(HEAD_DIM)) * HEAD_DIM * likeness).softmax(dim=0)


def angle_to_rope() -> tuple[float, float]:
    """Return the largest angle between f(x, m) and R_m x, and the largest error of its length from K(m)."""
    x, m = random_heads(64, 1)[0].double(), torch.arange(64)
    q, _ = AbsoluteGaussian(HEAD_DIM, learnable=False).double().transform_qk(x, x, Positions(m))
    cosine = torch.cosine_similarity(q, rotate(x, m), dim=-1).clamp(-1, 1)
    error = (q.norm(dim=-1) / x.norm(dim=-1) - note_kernel(m.double())).abs().max()
    return float(cosine.acos().max()), float(error)


class NoteRotary(nn.Module):
    """Module of the note, shortened, with DIM channels; the kernel's α and σ are constants."""

    def __init__(self) -> None:
        super().__init__()
        self.inv_freq = 1.0 / (10000 ** (torch.arange(0, DIM, 2).float() / DIM))

    def rotate(self, x: Tensor) -> Tensor:
        """Rotate x as the note does, without K: angles for half-split pairs, interleaved partners."""
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
    """Return the stored numbers of the longest (or shortest) runs on one kind of tales, and their steps."""
    runs = load_results("gaussian")[world]
    steps = (max if longest else min)(runs, key=int)
    return runs[steps], steps


def gains_over(numbers: dict[str, Any], key: str, version: str, rival: str = "v4") -> list[float]:
    """Return a rival's numbers minus a version's, one per seed."""
    return differences(numbers[rival][key], numbers[version][key])


# ---------------------------------------------------------------- the note's sentences


@measured_on("random queries and keys")
def rope_is_relative() -> Finding:
    """Measure the largest change of a RoPE score when query and key move together."""
    promise = invariants.shift_invariant(Rotary(HEAD_DIM), head_dim=HEAD_DIM)
    reason = "Moving query and key together rotates both by the same angle. The score then changes by "
    return Finding(decide(promise.holds), promise.value, f"{reason}{promise.measured}, which is rounding.")


@measured_on("arithmetic")
def frequencies_are_right() -> Finding:
    """Measure the error of 10000^(-2j/d) against the angle by which RoPE rotates pair j per position."""
    x = torch.tensor([1.0, 0.0], dtype=torch.float64).repeat(HEAD_DIM // 2)
    turned = rotate(x[None], torch.tensor([1]))[0]
    by_note = 10_000 ** (-2 * torch.arange(HEAD_DIM // 2).double() / HEAD_DIM)
    error = float((torch.atan2(turned[1::2], turned[::2]) - by_note).abs().max())
    reason = (
        "RoPE, as published, rotates pair j by this angle per position "
        f"(error {format_measured(error, 1e-9)} radians)."
    )
    return Finding(decide(error < 1e-9), error, reason)


@measured_on(BUILT)
def rope_cannot_choose_its_scale() -> Finding:
    """Compare the attention on the nearest 8 of 64 tokens in the four fastest pairs and the four slowest."""
    near, wide = (float(attention_with_pairs(pairs)[:NEAR].sum()) for pairs in (slice(4), slice(-4, None)))
    trainable = sum(p.numel() for p in Rotary(HEAD_DIM).parameters())
    reason = (
        f"RoPE is fixed: it has {trainable} trainable parameters. But a head can choose the pairs of "
        f"channels that it uses. With the four fastest pairs it gives {near:.0%} of its attention to "
        f"the nearest {NEAR} of 64 tokens, with the four slowest {wide:.0%}."
    )
    return Finding(decide(trainable == 0, near <= 2 * wide), near - wide, reason)


@measured_on("random queries and keys")
def kernel_knows_the_distance() -> Finding:
    """Measure the largest change of a score, by the formula, when query and key move together."""
    kinds = (kind(HEAD_DIM, learnable=False) for kind in (AbsoluteGaussian, RelativeGaussian))
    formula, text = (invariants.shift_invariant(each, head_dim=HEAD_DIM) for each in kinds)
    near, far = (float(note_kernel(torch.tensor([m, m - 3.0])).prod()) for m in (3.0, 63.0))
    reason = (
        f"With the formula, moving two tokens together changes a score by up to {formula.value:.1f}. "
        f"Its factor K(m)K(n) is {near:.2f} for 3 and 0, and {far:.6f} for 63 and 60. K(m − n) is "
    )
    reason += (
        "equal for both pairs, which are 3 apart." if text.holds else "no function of the distance either."
    )
    return Finding(decide(formula.holds, text.holds), formula.value, reason)


@measured_on(RANDOM)
def alphas_and_sigmas_set_the_range() -> Finding:
    """Measure how many tokens further back a query looks if α₁ and α₂ are exchanged, or both σ doubled."""
    changes: list[dict[str, Any]] = [{"alphas": ALPHAS[::-1]}, {"sigmas": [2 * s for s in SIGMAS]}]
    further = [
        max(mean_distance(kind(HEAD_DIM, **changed), m) - mean_distance(kind(HEAD_DIM), m) for m in QUERIES)
        for kind in (RelativeGaussian, AbsoluteGaussian)
        for changed in changes
    ]
    reason = (
        "We exchanged α₁ and α₂, or doubled both σ. With K(m − n) a query then looks up to {:.1f} "
        "(α) or {:.1f} (σ) tokens further back. With the formula it looks up to {:.1f} (α) or "
        "{:.1f} (σ) tokens further back."
    )
    verdict = decide(*(tokens > 1.0 for tokens in further))
    return Finding(verdict, max(further), reason.format(*further))


@measured_on(VECTORS)
def kernel_changes_the_rotation() -> Finding:
    """Measure the largest angle between f(x, m) and x rotated without the kernel, in radians."""
    angle, _ = angle_to_rope()
    return Finding(decide(angle > 1e-3), angle, "K changes a vector's length, not its angle of rotation.")


@measured_on(RANDOM)
def near_at_small_m_and_far_at_large() -> Finding:
    """Measure the attention that K adds to one matching key: near with small m, and far with large m."""
    gains, changes = [], ""
    for back, early in ((4, 12), (40, LATE)):  # m is a position in the formula, and a distance in K(m - n)
        for name, kind, m in (("the formula", AbsoluteGaussian, early), ("K(m − n)", RelativeGaussian, LATE)):
            plain, after = (attention_on_match(each(HEAD_DIM), m, back) for each in (Rotary, kind))
            gains.append(after - plain)
            changes += f" Query at {m}, key at {m - back}: {name} changes it from {plain:.0%} to {after:.0%}."
    reason = f"We measured the attention of a query on the one key that matches it.{changes}"
    return Finding(decide(*(gain > 0.01 for gain in gains)), max(gains), reason)


@measured_on(VECTORS)
def kernel_leaves_the_frequency() -> Finding:
    """Measure the error of the length of f(x, m) against K(m), and check that its direction is RoPE's."""
    angle, error = angle_to_rope()
    reason = "K multiplies the rotated vector, so it changes its length and not its direction."
    return Finding(decide(max(angle, error) < 1e-3), error, reason)


@measured_on("the note's formula, with its α and σ, at 60 positions")
def scales_switch() -> Finding:
    """Find the first position at which the wide Gaussian is larger than the narrow one."""
    narrow, wide = (
        a * torch.exp(-(torch.arange(LATE) ** 2) / (2 * s**2)) for a, s in zip(ALPHAS, SIGMAS, strict=True)
    )
    position = int((wide > narrow).int().argmax())  # 0 if there is none
    reason = (
        f"The wide Gaussian is the larger one from position {position} on. "
        "α and σ set this position, not the text."
    )
    return Finding(decide(position > 0), float(position), reason)


@measured_on("the note's code, shortened, on the shapes of its example", AXIS)
def code_runs() -> Finding:
    """Count the tokens that the code of the note's example accepts: 128, or none if it raises."""
    try:
        out = NoteRotary()(torch.zeros(2, 128, DIM))
    except RuntimeError as error:
        return Finding("fails", 0.0, f"{RUNS} The example raises: {str(error).splitlines()[0]}.")
    return Finding("holds", float(out.shape[-2]), "The code runs.")


@measured_on("the note's code, shortened, on 64 tokens with 64 channels, where it runs", AXIS)
def code_scales_by_place() -> Finding:
    """Measure the error of the factors by which the note's code multiplies, on a shape on which it runs."""
    x, code = torch.ones(1, DIM, DIM), NoteRotary()
    by_code = code(x)[0] / code.rotate(x)[0]  # (T, D)
    by_formula = note_kernel(torch.arange(float(DIM)))[:, None]
    error = float((by_code - by_formula).abs().max())
    same = bool(torch.allclose(by_code, by_formula.T.expand(DIM, DIM), atol=1e-4))
    reason = f"{RUNS} Then K falls along the channels and is equal at every position."
    return Finding(decide(error < 1e-4), error, reason if same else "Each position has a factor of its own.")


@measured_on("the note's code, shortened, on 8 random texts of 128 tokens")
def code_rotates() -> Finding:
    """Measure the largest relative change of a vector's length by the note's rotation, without its kernel."""
    x = torch.randn(8, 128, DIM, generator=torch.Generator().manual_seed(0))
    change = NoteRotary().rotate(x).norm(dim=-1) / x.norm(dim=-1)
    worst = float((change - 1).abs().max())
    reason = (
        "The angles do not fit the pairs of channels that are rotated. Lengths change by factors from "
        f"{change.min():.2f} to {change.max():.2f}."
    )
    return Finding(decide(worst < 1e-5), worst, reason)


@measured_on(SHAPE + ", 300 steps or more; the longest runs on the plain and on the full tales decide")
def lowers_the_loss() -> Finding:
    """Measure RoPE's loss minus that with K(m - n), in nats per character, after the longest runs."""
    (plain, steps), (short, fewest), (full, full_steps) = board(), board(longest=False), board("full")
    gains = [gains_over(numbers, "val_loss", DISTANCE) for numbers in (plain, full)]
    verdicts = [exceeds(gain) for gain in gains]
    early, plain_gain, full_gain = map(compare, (gains_over(short, "val_loss", DISTANCE), *gains))
    reason = (
        "RoPE's loss minus the loss with K(m − n), in nats per character, is: "
        f"plain tales, {fewest} steps, {early:+.3f}; plain tales, {steps} steps, {plain_gain:+.3f}, "
        f"{verdicts[0]}; full tales, {full_steps} steps, {full_gain:+.3f}, {verdicts[1]}."
    )
    return Finding(combine(*verdicts), mean(gains[0]), reason, len(verdicts))


@measured_on(SHAPE + ", 300 steps on the plain tales")
def formula_lowers_the_loss() -> Finding:
    """Measure RoPE's loss minus that with the note's formula, in nats per character."""
    numbers, steps = board(longest=False)
    gain = gains_over(numbers, "val_loss", FORMULA)
    reason = (
        f"RoPE's loss minus the loss with K(m)K(n) after {steps} steps is {compare(gain):+.3f} nats per "
        "character."
    )
    return Finding(exceeds(gain), mean(gain), reason, 1)


@measured_on(f"the note's code, shortened; {SHAPE}, the longest runs on the plain tales")
def adjusts_its_range() -> Finding:
    """Measure by how many tokens training moves the distance at which a kernel halves: mean over seeds."""
    trainable = sum(p.numel() for p in NoteRotary().parameters())
    (long, steps), start = board(), load_results("gaussian")["start"]["half"]
    halves = [kernel[0]["half"] for kernel in long["v5"]["kernel"]]
    answers = compare_shares([-x for x in gains_over(long, "accuracy", "v5", DISTANCE)])
    reason = (
        f"The note's code has {trainable} trainable parameters. With trained α and σ, K(m − n) halves "
        f"within {start} tokens at first, and after {steps} steps within {', '.join(map(str, halves))} "
        f"(one number per seed). This changes the right answers by {answers:+.0f} points."
    )
    moved = mean(halves) - start
    return Finding(decide(trainable > 0, any(half != start for half in halves)), moved, reason)
