"""Measurements of note 002: Fourier codes for parallel branches."""

from functools import cache, partial
from itertools import pairwise
from statistics import mean

import torch
from torch import Tensor

from babygpt.config import ModelConfig
from babygpt.encodings import Encoding, Fourier, Rotary2D
from babygpt.encodings.fourier import fourier
from babygpt.encodings.rotary import angles, rotate_pairs
from babygpt.models.transformer import norm
from babygpt.models.versions import build
from babygpt.positions import Positions
from babygpt_course.claims.claim import Finding, clearly_lower, decide, measured_on
from babygpt_course.studies.results import Results, load_results

NOTE = "002_79f4b48e18265706.txt"
WIDTH, HEAD_DIM = 512, 64  # of the model that the notes speak of
SCOPE = "the codes by themselves, width 512; heads of 64 channels, half of which turn with the branch"
UNTRAINED = "untrained models of 2 layers, width 512, 3 seeds"
TRAINED = "2 layers, width 96, texts of 48 characters of the plain tales, 400 steps, 3 seeds"
COMMAND = "python -m babygpt figures branches"
OTHER_STRIDE = "the likeness of stride 256 is given as that of stride 128"
MUCH = 0.1  # nats per character: about what company costs a model without any code


# ---------------------------------------------------------------- the codes by themselves


def code_cosine(position: int, theta: float = 10_000.0) -> float:
    """Return the cosine of the Fourier codes of positions 0 and `position`, width 512."""
    first, other = fourier(torch.tensor([0, position]), WIDTH, theta).double()
    return float(torch.cosine_similarity(first, other, dim=0))


def code_distance(position: int) -> float:
    """Return the Euclidean distance of the Fourier codes of positions 0 and `position`, width 512."""
    first, other = fourier(torch.tensor([0, position]), WIDTH).double()
    return float((first - other).norm())


def rope_cosine(position: int, width: int = HEAD_DIM // 2) -> float:
    """Return the cosine of a vector of ones and itself, turned by RoPE to `position` in all of its pairs."""
    ones = torch.ones(1, width, dtype=torch.float64)
    turned = rotate_pairs(ones, angles(torch.tensor([position]), width))
    return float(torch.cosine_similarity(ones, turned)[0])


def rounds_to(
    by_note: float, value: float, digits: int, reason: str = "measured on the formula, width 512"
) -> Finding:
    """Compare a number of the codes with the one that the note gives."""
    return Finding(decide(round(value, digits) == by_note), value, reason)


@torch.inference_mode()
def logit_difference(stride: int, scale: float = 1.0, width: int = WIDTH) -> float:
    """Return the mean change of the logits when the same text is said to be branch 1 instead of branch 0.

    The three models are untrained, with random weights where ours begin with zeros; the head's are
    multiplied by `scale`.
    """
    time, changes = torch.arange(16), []
    for seed in range(3):
        torch.manual_seed(seed)
        model = build("v6", ModelConfig(64, 16, n_layer=2, n_head=8, n_embd=width), stride=stride)
        for name, p in model.named_parameters():
            if name.endswith(("out.weight", "head.weight")):
                torch.nn.init.normal_(p, std=0.02 * (scale if name.startswith("head") else 1.0))
        idx = torch.randint(64, (1, 16))
        one, other = (model(idx, Positions(time, torch.full((16,), branch))) for branch in (0, 1))
        changes.append(float((one - other).abs().mean()))
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
    """Return how far a score is from being the sum of one part for time and one for the branch.

    returns  mean |s(t, b) - s(t, 0) - s(0, b) + s(0, 0)| over the scores' standard deviation; 0 if time and
             branch each add their own part
    """
    at = ((time, branch), (time, 0), (0, branch), (0, 0))
    both, later, beside, here = (scores_between(encoding, *position) for position in at)
    return float((both - later - beside + here).abs().mean() / here.std())


# ---------------------------------------------------------------- trained models


@cache
def stored_results() -> Results:
    """Return the runs of the studies of branch codes and of strides in one, read once."""
    branches, strides = load_results("branches"), load_results("strides")
    return {**branches, "runs": {**branches["runs"], **strides["runs"]}}


def seed_mean(run: str, key: str) -> float:
    """Return the mean of what the stored runs of a name measured, such as "alone" or "gap 2"."""
    return mean(stored_results()["runs"][run][key])


def losses_among(run: str, n: int) -> list[float]:
    """Return the loss of n branches (1: a text alone) after the stored runs of a name: one number a seed."""
    found = stored_results()["runs"][run]
    gaps = found[f"gap {n}"] if n > 1 else [0.0] * len(found["alone"])
    return [loss + gap for loss, gap in zip(found["alone"], gaps, strict=True)]


def losses_by_stride(code: str) -> dict[int, list[float]]:
    """Return the loss among two at each stride that a code was trained at: one number a seed."""
    runs = {s: "two" if s == 128 else f"stride {s}" for s in (1, 8, 128, 256, 512, 1024, 4096)}
    made = stored_results()["runs"]
    return {s: losses_among(f"{run}: {code}", 2) for s, run in runs.items() if f"{run}: {code}" in made}


def least_alike(code: str) -> float:
    """Return the least cosine over blocks of two branches with one text, trained at stride 4096."""
    found = stored_results()["runs"][f"stride 4096: {code}"]
    return min(mean(found[key]) for key in found if key.startswith("stream ") and key != "stream 0")


def lower_loss(lower: list[float], higher: list[float], reason: str, sign: int = 1) -> Finding:
    """Decide whether one loss is clearly lower than another; the value is their difference, times `sign`."""
    return Finding(decide(clearly_lower(lower, higher)), sign * (mean(higher) - mean(lower)), reason)


# ---------------------------------------------------------------- the note's sentences


@measured_on(f"one vector of ones, 32 channels; streams: {TRAINED}")
def rope_2d_leaves_branches_alike() -> Finding:
    """Measure the cosine of two branches under 2-D RoPE at stride 4096: of one vector, and of streams."""
    cosine, inside, rival = rope_cosine(4096), least_alike("2-D RoPE"), least_alike("Fourier")
    reason = f"a rotated vector, by the pairs that turn; by all pairs {(1 + cosine) / 2:.0%}. The streams of "
    reason += f"a trained model are at least {inside:.0%} alike, under Fourier codes {rival:.0%}"
    return Finding(decide(cosine >= 0.93, inside >= 0.93), cosine, reason)


distance_of_codes = measured_on(SCOPE)(lambda: rounds_to(17.4, code_distance(128), 1))


@measured_on(SCOPE, OTHER_STRIDE)
def similarity_is_31_percent() -> Finding:
    """Measure the cosine of the Fourier codes of positions 0 and 128, width 512."""
    cosine, twice = code_cosine(128), code_cosine(256)
    return rounds_to(
        0.31, cosine, 2, f"at stride 256 it is {twice:.0%}; a distance of 17.4 goes with {cosine:.0%}"
    )


@measured_on(SCOPE)
def larger_stride_less_alike() -> Finding:
    """Measure the largest rise of the cosine when a stride doubles, from 1 to 8192.

    It is asked of equal pairs: on the same frequencies a Fourier code and 2-D RoPE have the same cosine.
    """
    widths = (WIDTH, HEAD_DIM // 2)  # of the Fourier code, and of the pairs that turn in a head
    doubled = ([rope_cosine(2**i, width) for i in range(14)] for width in widths)
    rises = [max(later - sooner for sooner, later in pairwise(cosines)) for cosines in doubled]
    many, few = ([rope_cosine(s, width) for s in (128, 256, 300)] for width in widths)
    reason = "on the pairs: 256 of them {:.2f} at 128, {:.2f} at 256, {:.2f} at 300; ".format(*many)
    reason += "16 of them {:.2f}, {:.2f}, {:.2f}; the same under either code".format(*few)
    return Finding(decide(rises[0] <= 0, rises[1] <= 0, many[2] <= many[1]), rises[1], reason)


def theta_suits_stride(theta: float, stride: int, remark: str = "") -> Finding:
    """Measure the cosine of neighbouring branches under theta, minus that under the default 10000."""
    chosen, default = code_cosine(stride, theta=theta), code_cosine(stride)
    reason = f"theta {theta:g}: {chosen:.3f}; 10000: {default:.3f}{remark}"
    return Finding(decide(chosen < default), chosen - default, reason)


theta_1000 = measured_on(SCOPE)(partial(theta_suits_stride, 1_000, 1))
theta_100000 = measured_on(SCOPE)(
    partial(theta_suits_stride, 100_000, 4096, ": slower pairs tell less apart at any stride")
)


@measured_on("random tokens and weights, width 512, heads of 64 channels, branch 1 five tokens away")
def branch_and_time_are_decoupled() -> Finding:
    """Measure how far a score under the Fourier code is from one part for time plus one for the branch."""
    code, rope = Fourier(HEAD_DIM, WIDTH, stride=128), Rotary2D(HEAD_DIM, stride=128)
    mixed, apart = interaction(code), interaction(rope)
    key, zero = torch.ones(1, 1, 1, HEAD_DIM), torch.tensor([0])
    fourier_turns, rope_turns = (
        not torch.equal(*(e.transform_qk(key, key, Positions(zero, zero + b))[1] for b in (0, 1)))
        for e in (code, rope)
    )
    reason = "in the program yes: attention need not know of branches. In a score no: time and branch mix, "
    reason += f"where 2-D RoPE adds one part for each, to {apart:.0e}"
    return Finding(decide(rope_turns and not fourier_turns, mixed <= apart), mixed, reason)


@measured_on(UNTRAINED)
def logits_differ_by_a_tenth() -> Finding:
    """Measure the mean change of an untrained model's logits between branches 0 and 1 at stride 128."""
    changes = {scale: logit_difference(128, scale) for scale in (0.2, 1.0)}
    reason = f"with a head that begins at a fifth of the weights, {changes[0.2]:.3f}: it measures the start"
    return Finding(decide(*(change > 0.1 for change in changes.values())), changes[1.0], reason)


@measured_on(TRAINED)
def outputs_are_independent() -> Finding:
    """Measure what leaks from branch 1 into branch 0 after training on two branches, nats per character."""
    leak, apart = seed_mean("two: Fourier", "leak"), seed_mean("two: Fourier", "leak, isolated")
    reason = f"the code only lets a model learn to look away; the isolation mask leaks {apart:g}"
    return Finding(decide(leak == 0), leak, reason)


@measured_on(f"words at temperature 1; {TRAINED}")
def no_gibberish() -> Finding:
    """Measure the share of unknown words side by side, minus that under the isolation mask."""
    keys = ("unknown 2", "unknown 2, isolated", "unknown 4")
    beside, apart, four = (seed_mean("two: Fourier", key) for key in keys)
    reason = f"unknown words: {beside:.0%} side by side, {apart:.0%} isolated; {four:.0%} with "
    reason += "four branches, which were never trained"
    return Finding(decide(beside - apart < 0.05), beside - apart, reason)


@measured_on(TRAINED)
def warm_up_is_a_must() -> Finding:
    """Measure the loss among four branches with half the steps alone, minus that with all among four."""
    plain, warmed = losses_among("four: Fourier", 4), losses_among("four, warmed up: Fourier", 4)
    nothing = mean(losses_among("up to eight: none", 4))
    reason = f"four branches from the first step reach {mean(plain):.3f} (without a code {nothing:.3f}): "
    return lower_loss(warmed, plain, reason + COMMAND, -1)


@measured_on(f"8 texts a step whatever the number of branches; {TRAINED}")
def several_are_much_harder_than_one() -> Finding:
    """Measure the largest loss of training on two, four or eight, minus that of single texts."""
    loss = {n: losses_among(f"{n} at a time: Fourier", n) for n in (1, 2, 4, 8)}
    more = {n: mean(values) - mean(loss[1]) for n, values in loss.items() if n > 1}
    listed = ", ".join(f"{n}: {mean(values):.3f}" for n, values in loss.items())
    reason = f"loss by texts in a sequence {listed}; the same texts in the same steps: {COMMAND}"
    return Finding(decide(*(difference > MUCH for difference in more.values())), max(more.values()), reason)


@measured_on(TRAINED)
def rope_2d_is_stuck() -> Finding:
    """Measure the loss of two branches under 2-D RoPE, minus that under the Fourier code."""
    rope, fourier_code = (losses_among(f"two: {code}", 2) for code in ("2-D RoPE", "Fourier"))
    return lower_loss(fourier_code, rope, f"equal stride and budget: {COMMAND}")


@measured_on(TRAINED)
def telling_apart_is_all() -> Finding:
    """Measure what four branches cost a model that was trained on two: their codes differ as much as ever."""
    runs = ("up to eight: Fourier", "two: Fourier", "two: 2-D RoPE")
    (known, new, rope), own = (seed_mean(run, "gap 4") for run in runs), seed_mean(runs[1], "own 4")
    reason = f"{own:.2f} of it for the unknown tag alone; where all numbers were trained "
    reason += f"{known:.3f}; 2-D RoPE, trained on two: {rope:.2f}"
    return Finding(decide(known < 0.05, new < 0.05), new, reason)


@measured_on(TRAINED)
def a_learnable_code_helps() -> Finding:
    """Measure the loss among two at stride 1 with the learnable code, minus that with the fixed one."""
    learnable, fixed = (losses_by_stride(code) for code in ("Fourier, learnable", "Fourier"))
    reason = "at stride 1, where the fixed one is weak; at 128 the difference is "
    reason += f"{mean(learnable[128]) - mean(fixed[128]):+.3f}: {COMMAND}"
    return lower_loss(learnable[1], fixed[1], reason, -1)


@measured_on(TRAINED)
def weights_do_not_carry_over() -> Finding:
    """Measure how much the loss rises when trained weights of 2-D RoPE are read with a Fourier code."""
    before, after = (seed_mean("two: 2-D RoPE", key) for key in ("alone", "alone, as Fourier"))
    reason = f"every tensor fits, and {before:.2f} becomes {after:.2f}: the heads read other channels"
    return Finding(decide(after - before > MUCH), after - before, reason)
