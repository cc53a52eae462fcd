"""Measurements of note 002: Fourier codes for parallel branches."""

from functools import cache
from statistics import mean

import torch
from torch import Tensor

from babygpt.config import ModelConfig
from babygpt.encodings import Encoding, Fourier, Rotary2D
from babygpt.encodings.fourier import fourier
from babygpt.encodings.rotary import angles, rotate_pairs
from babygpt.experiments.paired import (
    LEAST_SHARE,
    UNDECIDED,
    compare,
    compare_shares,
    differences,
    exceeds,
    has_more_seeds,
)
from babygpt.models.transformer import norm
from babygpt.models.versions import build
from babygpt.positions import Positions
from babygpt.tables import format_measured
from babygpt_course.claims.claim import Finding, combine, decide, measured_on, negligible
from babygpt_course.studies import branches
from babygpt_course.studies.results import Results, load_results

NOTE = "002_79f4b48e18265706.txt"
WIDTH = 512  # channels of the model that the notes speak of
HEAD_DIM = 64  # channels of each of its heads
SCOPE = "codes of width 512, without a model; 2-D RoPE on heads of 64 channels, half for the branch"
N_SEEDS = 6  # number of untrained models that a number is averaged over
UNTRAINED = f"untrained models of 2 layers, width 512, weights of standard deviation 0.02, {N_SEEDS} seeds"
TRAINED = "2 layers, width 96, texts of 48 characters of the plain tales, 400 steps; models paired by seed"
COMMAND = "To draw this, run: python -m babygpt figures branches"
ALIKE = 0.93  # the lowest similarity that the note gives


# ---------------------------------------------------------------- codes, without a trained model


def code_cosine(position: int, theta: float = 10_000.0) -> float:
    """Return the cosine of the Fourier codes of positions 0 and `position`, width 512."""
    first, second = fourier(torch.tensor([0, position]), WIDTH, theta).double()
    return float(torch.cosine_similarity(first, second, dim=0))


def code_distance(position: int) -> float:
    """Return the Euclidean distance of the Fourier codes of positions 0 and `position`, width 512."""
    first, second = fourier(torch.tensor([0, position]), WIDTH).double()
    return float((first - second).norm())


def rope_cosine(position: int, width: int = HEAD_DIM // 2) -> float:
    """Return the cosine of a vector of ones and the same vector after RoPE rotates it to `position`."""
    ones = torch.ones(1, width, dtype=torch.float64)
    turned = rotate_pairs(ones, angles(torch.tensor([position]), width))
    return float(torch.cosine_similarity(ones, turned)[0])


def about(by_note: float, value: float, digits: int, reason: str = "") -> Finding:
    """Compare a number with the note's; the claim holds if it is off by at most one in the last digit."""
    reason = reason or f"The formula gives {value:.4g} at width {WIDTH}. The note says {by_note:g}."
    return Finding(decide(abs(value - by_note) <= 10**-digits), value, reason)


@torch.inference_mode()
def logit_difference(stride: int, scale: float = 1.0, width: int = WIDTH) -> float:
    """Return the mean change of the logits when a text gets branch number 1 instead of 0.

    The models are untrained. Weights that begin at zero in our models are random here; those of the head are
    multiplied by `scale`.
    """
    time, changes = torch.arange(16), []
    for seed in range(N_SEEDS):
        torch.manual_seed(seed)
        model = build("v6", ModelConfig(64, 16, n_layer=2, n_head=8, n_embd=width), stride=stride)
        for name, p in model.named_parameters():
            if name.endswith(("out.weight", "head.weight")):
                torch.nn.init.normal_(p, std=0.02 * (scale if name.startswith("head") else 1.0))
        idx = torch.randint(64, (1, 16))
        logits, moved_logits = (model(idx, Positions(time, torch.full((16,), branch))) for branch in (0, 1))
        changes.append(float((logits - moved_logits).abs().mean()))
    return mean(changes)


def scores_between(encoding: Encoding, time: int, branch: int, n: int = 256) -> Tensor:
    """Return the scores of n random queries at time 0 of branch 0 with random keys at another position.

    encoding  for streams of WIDTH channels and heads of HEAD_DIM
    returns   (n,); the same tokens and weights in every call
    """
    draw = torch.Generator().manual_seed(0)
    tokens = torch.randn(n, 2, WIDTH, generator=draw)
    weights = torch.randn(2, WIDTH, HEAD_DIM, generator=draw) / WIDTH**0.5
    positions = Positions(torch.tensor([0, time]), torch.tensor([0, branch]))
    stream = norm(encoding.embed(tokens, positions))
    q, k = (norm(stream @ weight)[:, None] for weight in weights)
    q, k = encoding.transform_qk(q, k, positions)
    return (q[:, 0, 0] * k[:, 0, 1]).sum(-1)


def interaction(encoding: Encoding, time: int = 5, branch: int = 1) -> float:
    """Return how far scores are from the sum of a part for time and a part for the branch.

    returns  mean |s(t, b) - s(t, 0) - s(0, b) + s(0, 0)| over the scores' standard deviation; 0 if a
             score is such a sum
    """
    places = ((time, branch), (time, 0), (0, branch), (0, 0))
    both, later, beside, here = (scores_between(encoding, *position) for position in places)
    return float((both - later - beside + here).abs().mean() / here.std())


# ---------------------------------------------------------------- trained models


@cache
def stored_results() -> Results:
    """Return the runs of the studies of branch codes and of strides in one, read once."""
    branches, strides = (load_results(name) for name in ("branches", "strides"))
    return {**branches, "runs": {**branches["runs"], **strides["runs"]}}


def found_in(run: str, key: str) -> list[float]:
    """Return one measurement of a stored run, such as "alone" or "gap 2": one number per seed."""
    numbers: list[float] = stored_results()["runs"][run][key]
    return numbers


def stored_losses_among(run: str, n: int) -> list[float]:
    """Return the loss of n branches (1: a text alone) in a stored run: one number per seed."""
    return branches.losses_among(stored_results(), run, n)


def losses_by_stride(code: str) -> dict[int, list[float]]:
    """Return the loss of two branches by the stride in training: one number per seed."""
    runs = {s: f"two: {code}" if s == 128 else f"stride {s}: {code}" for s in (1, 8, 128, 1024, 4096)}
    stored = stored_results()["runs"]
    return {s: stored_losses_among(run, 2) for s, run in runs.items() if run in stored}


def least_alike(code: str) -> list[float]:
    """Return the lowest cosine after any block of two branches with one text, stride 4096: one per seed."""
    similarities = stored_results()["runs"][f"stride 4096: {code}"]
    blocks = (similarities[key] for key in similarities if key.startswith("stream ") and key != "stream 0")
    return [min(seed) for seed in zip(*blocks, strict=True)]


# ---------------------------------------------------------------- the note's sentences


@measured_on(f"one vector of ones, 32 channels; for streams: {TRAINED}")
def rope_2d_leaves_branches_alike() -> Finding:
    """Measure the cosine of two branches under 2-D RoPE at stride 4096, for one vector and for streams."""
    cosine, inside, rival = rope_cosine(4096), least_alike("2-D RoPE"), mean(least_alike("Fourier"))
    side = compare([likeness - ALIKE for likeness in inside], 0.0).side
    streams = {"above": "holds", "below": "fails"}.get(side, UNDECIDED)
    reason = (
        f"One rotated vector has cosine {cosine:.2f} over the pairs that rotate with the branch, and "
        f"{(1 + cosine) / 2:.2f} over all. Inside trained models, two branches with the same text have "
        f"at least {min(inside):.3f}, and {rival:.2f} with Fourier codes ({len(inside)} seeds)."
    )
    return Finding(combine(decide(cosine >= ALIKE), streams), cosine, reason, 1)


distance_of_codes = measured_on(SCOPE)(lambda: about(17.4, code_distance(128), 1))


@measured_on(SCOPE)
def similarity_is_31_percent() -> Finding:
    """Measure the cosine of the Fourier codes of positions 0 and 128, width 512."""
    cosine, twice = code_cosine(128), code_cosine(256)
    reason = f"Codes 17.4 apart have cosine {cosine:.2f}. At stride 256 the cosine is {twice:.2f}."
    return about(0.31, cosine, 2, reason)


@measured_on(SCOPE)
def stride_256_is_less_alike() -> Finding:
    """Measure how much the cosine of two codes falls from stride 128 to stride 256."""
    near, far, later = (code_cosine(stride) for stride in (128, 256, 300))
    reason = (
        f"The cosine falls from {near:.2f} to {far:.2f}. It can also rise: at stride 300 it is {later:.2f}."
    )
    return Finding(decide(far < near, code_distance(256) > code_distance(128)), near - far, reason)


@measured_on(SCOPE)
def theta_suits_the_stride() -> Finding:
    """Measure how much less alike neighbours are under the note's theta than under 10000."""
    default, chosen = ([code_cosine(1, t), code_cosine(4096, u)] for t, u in ((1e4, 1e4), (1e3, 1e5)))
    gains = differences(default, chosen)
    reason = (
        f"At stride 1, neighbours have a cosine of {default[0]:.3f} with theta 10000 and "
        f"{chosen[0]:.3f} with 1000. At stride 4096 they have {default[1]:.3f} with theta 10000 and "
        f"{chosen[1]:.3f} with 100000."
    )
    return Finding(decide(*(gain > 0 for gain in gains)), gains[0], reason)


@measured_on("random tokens and weights, width 512, heads of 64 channels; a key 5 tokens later in branch 1")
def branch_and_time_are_decoupled() -> Finding:
    """Measure how far scores with the Fourier code are from a part for time plus a part for the branch."""
    code, rope = Fourier(HEAD_DIM, WIDTH, stride=128), Rotary2D(HEAD_DIM, stride=128)
    key, zero = torch.ones(1, 1, 1, HEAD_DIM), torch.tensor([0])
    fourier_turns, rope_turns = (
        not torch.equal(*(e.transform_qk(key, key, Positions(zero, zero + b))[1] for b in (0, 1)))
        for e in (code, rope)
    )
    code_share, rope_share = interaction(code), interaction(rope)
    reason = (
        "The code is added before attention, so attention needs no branch number. Scores still mix "
        f"branch and time: {code_share:.0%} of their spread is not a branch part plus a time part (2-D "
        f"RoPE: {format_measured(rope_share, digits=1)})."
    )
    return Finding(decide(rope_turns and not fourier_turns), code_share, reason)


@measured_on(UNTRAINED)
def logits_differ_by_a_tenth() -> Finding:
    """Measure the mean change of an untrained model's logits between branches 0 and 1 at stride 128."""
    change = logit_difference(128)
    reason = (
        f"The mean difference is {change:.3f}. It depends on the initial weights: if those of the head "
        f"are five times smaller, it is {logit_difference(128, 0.2):.3f}."
    )
    return Finding(decide(change > 0.1), change, reason)


@measured_on(TRAINED)
def outputs_are_independent() -> Finding:
    """Measure the leakage from branch 1 into branch 0 after training on two, in nats per character."""
    leak, isolated = (found_in("two: Fourier", key) for key in ("leak", "leak, isolated"))
    reason = (
        f"Another text in branch 1 changes branch 0's predictions by {compare(leak):.4f} nats per "
        f"character. With the isolation mask it changes them by {max(isolated):g}."
    )
    return Finding(negligible(leak), mean(leak), reason, 1)


@measured_on(f"words sampled at temperature 1; {TRAINED}")
def no_gibberish() -> Finding:
    """Measure the share of unknown words in two branches, minus the share with the isolation mask."""
    keys = ("unknown 2", "unknown 2, isolated", "unknown 4")
    beside, isolated, four = (found_in("two: Fourier", key) for key in keys)
    more = differences(beside, isolated)
    points = compare_shares(more)
    reason = (
        f"Two branches write {mean(beside):.1%} unknown words, and isolated branches {mean(isolated):.1%}; "
        f"the difference is {points:+.1f} points. Four branches write {mean(four):.0%}; the models "
        "were trained on two."
    )
    return Finding(negligible(more, LEAST_SHARE), mean(more), reason, 1)


@measured_on(TRAINED)
def warm_up_is_a_must() -> Finding:
    """Measure the loss of four branches, minus that after training on single texts for half of the steps."""
    plain = stored_losses_among("four: Fourier", 4)
    warmed = stored_losses_among("four, warmed up: Fourier", 4)
    worse, nothing = differences(plain, warmed), mean(stored_losses_among("up to eight: none", 4))
    reason = (
        f"Training on four branches ends at a loss of {mean(plain):.3f} nats per character. With single "
        f"texts in the first half it ends at {mean(warmed):.3f}; the first less the second is "
        f"{compare(worse):+.3f}. Models without branch codes end at {nothing:.3f}. {COMMAND}"
    )
    return Finding(exceeds(worse), mean(worse), reason, 1)


@measured_on(f"equally many texts per step for every number of branches; {TRAINED}")
def several_are_much_harder_than_one() -> Finding:
    """Measure the loss of training on the most branches, minus that of isolated texts."""
    runs = {n: f"{n} at a time: Fourier" for n in branches.AT_A_TIME[1:]}
    loss = {n: stored_losses_among(run, n) for n, run in runs.items() if run in stored_results()["runs"]}
    alone = stored_losses_among(branches.ISOLATED, branches.TEXTS)
    more = {n: differences(values, alone) for n, values in loss.items()}
    verdicts = [exceeds(gaps, suggested=has_more_seeds(gaps, more.values())) for gaps in more.values()]
    named = zip(more.items(), verdicts, strict=True)
    reason = "The loss minus that of isolated texts, in nats per character, is: "
    reason += "; ".join(f"{n} branches, {compare(gap):+.3f}, {verdict}" for (n, gap), verdict in named)
    return Finding(combine(*verdicts), mean(more[max(more)]), f"{reason}. {COMMAND}", len(verdicts))


@measured_on(TRAINED)
def rope_2d_is_stuck() -> Finding:
    """Measure the loss of two branches under 2-D RoPE, minus that under the Fourier code."""
    rope, fourier_code = (stored_losses_among(f"two: {code}", 2) for code in ("2-D RoPE", "Fourier"))
    more = differences(rope, fourier_code)
    reason = (
        f"The loss of two branches is {mean(rope):.3f} nats per character with 2-D RoPE and "
        f"{mean(fourier_code):.3f} with Fourier codes, at equal stride and steps; the difference is "
        f"{compare(more):+.3f}. {COMMAND}"
    )
    return Finding(exceeds(more), mean(more), reason, 1)


@measured_on(TRAINED)
def weights_do_not_carry_over() -> Finding:
    """Measure the rise of the loss when a model with Fourier codes loads weights trained with 2-D RoPE."""
    before, after = (found_in("two: 2-D RoPE", key) for key in ("alone", "alone, as Fourier"))
    rise = differences(after, before)
    reason = (
        "All weights fit, but channels rotate by other angles than in training. The loss rises from "
        f"{mean(before):.2f} to {mean(after):.2f} nats per character, by {compare(rise)}."
    )
    return Finding(exceeds(rise), mean(rise), reason, 1)
