"""Measurements of note 002: Fourier codes for parallel branches."""

from functools import cache
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
from babygpt_course.claims.claim import Finding, combine, decide, measured_on, negligible, opposite
from babygpt_course.studies import branches
from babygpt_course.studies.paired import LEAST_SHARE, UNDECIDED, decided_side, differences, exceeds
from babygpt_course.studies.results import Results, load_results

NOTE = "002_79f4b48e18265706.txt"
WIDTH, HEAD_DIM = 512, 64  # of the model that the notes speak of
SCOPE = "the codes by themselves, width 512; heads of 64 channels, half of which turn with the branch"
SEEDS = 6  # of untrained models
UNTRAINED = f"untrained models of 2 layers, width 512, weights of standard deviation 0.02, {SEEDS} seeds"
TRAINED = "2 layers, width 96, texts of 48 characters of the plain tales, 400 steps; pairs from equal seeds"
COMMAND = "python -m babygpt figures branches"
ALIKE = 0.93  # the least likeness that the note names


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


def about(by_note: float, value: float, digits: int, reason: str = "of the formula, width 512") -> Finding:
    """Compare a number of the codes with the note's: off by at most one in its last digit, it holds."""
    return Finding(decide(abs(value - by_note) <= 10**-digits), value, reason)


@torch.inference_mode()
def logit_difference(stride: int, scale: float = 1.0, width: int = WIDTH) -> float:
    """Return the mean change of the logits when the same text is said to be branch 1 instead of branch 0.

    The models are untrained, with random weights where ours begin with zeros; the head's are multiplied by
    `scale`.
    """
    time, changes = torch.arange(16), []
    for seed in range(SEEDS):
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
def stored_results(folder: str = "") -> Results:
    """Return the runs of the studies of branch codes and of strides in one, read once.

    folder  "fresh/" for those from seeds that found nothing
    """
    branches, strides = (load_results(folder + name) for name in ("branches", "strides"))
    return {**branches, "runs": {**branches["runs"], **strides["runs"]}}


def found_in(run: str, key: str) -> list[float]:
    """Return what the stored runs of a name measured, such as "alone" or "gap 2": one number a seed."""
    numbers: list[float] = stored_results()["runs"][run][key]
    return numbers


def losses_among(run: str, n: int, folder: str = "") -> list[float]:
    """Return the loss of n branches (1: a text alone) after the stored runs of a name: one number a seed."""
    return branches.losses_among(stored_results(folder), run, n)


def losses_by_stride(code: str, folder: str = "") -> dict[int, list[float]]:
    """Return the loss among two at each stride that a code was trained at: one number a seed."""
    runs = {s: f"two: {code}" if s == 128 else f"stride {s}: {code}" for s in (1, 8, 128, 1024, 4096)}
    made = stored_results(folder)["runs"]
    return {s: losses_among(run, 2, folder) for s, run in runs.items() if run in made}


def least_alike(code: str) -> list[float]:
    """Return the least cosine over blocks of two branches with one text, at stride 4096: one a seed."""
    found = stored_results()["runs"][f"stride 4096: {code}"]
    blocks = (found[key] for key in found if key.startswith("stream ") and key != "stream 0")
    return [min(seed) for seed in zip(*blocks, strict=True)]


# ---------------------------------------------------------------- the note's sentences


@measured_on(f"one vector of ones, 32 channels; streams: {TRAINED}")
def rope_2d_leaves_branches_alike() -> Finding:
    """Measure the cosine of two branches under 2-D RoPE at stride 4096: of one vector, and of streams."""
    cosine, inside, rival = rope_cosine(4096), least_alike("2-D RoPE"), mean(least_alike("Fourier"))
    side = decided_side([likeness - ALIKE for likeness in inside])
    streams = {"above": "holds", "below": "fails"}.get(side, UNDECIDED)
    reason = f"a rotated vector, by the pairs that turn; by all pairs {(1 + cosine) / 2:.0%}. The streams of "
    reason += f"trained models are at least {min(inside):.1%} alike, under Fourier codes {rival:.0%} "
    reason += f"({len(inside)} seeds)"
    return Finding(combine(decide(cosine >= ALIKE), streams), cosine, reason, 1)


distance_of_codes = measured_on(SCOPE)(lambda: about(17.4, code_distance(128), 1))


@measured_on(SCOPE)
def similarity_is_31_percent() -> Finding:
    """Measure the cosine of the Fourier codes of positions 0 and 128, width 512."""
    cosine, twice = code_cosine(128), code_cosine(256)
    reason = f"at stride 256 it is {twice:.0%}; a distance of 17.4 goes with {cosine:.0%}"
    return about(0.31, cosine, 2, reason)


@measured_on(SCOPE)
def stride_256_is_less_alike() -> Finding:
    """Measure how much the cosine of two codes falls from stride 128 to stride 256."""
    near, far, later = (code_cosine(stride) for stride in (128, 256, 300))
    reason = f"from {near:.2f} to {far:.2f}; it is no rule: at stride 300 it is {later:.2f}"
    return Finding(decide(far < near, code_distance(256) > code_distance(128)), near - far, reason)


@measured_on(SCOPE)
def theta_suits_the_stride() -> Finding:
    """Measure how much less alike neighbours are under the note's theta than under 10000."""
    default, chosen = ([code_cosine(1, t), code_cosine(4096, u)] for t, u in ((1e4, 1e4), (1e3, 1e5)))
    gains = differences(default, chosen)
    reason = f"neighbours at stride 1: {default[0]:.3f} under 10000, {chosen[0]:.3f} under 1000; "
    reason += f"at stride 4096: {default[1]:.3f} under 10000, {chosen[1]:.3f} under 100000"
    return Finding(decide(*(gain > 0 for gain in gains)), gains[0], reason)


@measured_on("random tokens and weights, width 512, heads of 64 channels, branch 1 five tokens away")
def branch_and_time_are_decoupled() -> Finding:
    """Measure how far a score under the Fourier code is from one part for time plus one for the branch."""
    code, rope = Fourier(HEAD_DIM, WIDTH, stride=128), Rotary2D(HEAD_DIM, stride=128)
    key, zero = torch.ones(1, 1, 1, HEAD_DIM), torch.tensor([0])
    fourier_turns, rope_turns = (
        not torch.equal(*(e.transform_qk(key, key, Positions(zero, zero + b))[1] for b in (0, 1)))
        for e in (code, rope)
    )
    mixed, apart = interaction(code), interaction(rope)
    reason = "attention need not know of branches. In a score they mix all the same (by the number above), "
    reason += f"where 2-D RoPE adds one part for each, to {apart:.0e}"
    return Finding(decide(rope_turns and not fourier_turns), mixed, reason)


@measured_on(UNTRAINED)
def logits_differ_by_a_tenth() -> Finding:
    """Measure the mean change of an untrained model's logits between branches 0 and 1 at stride 128."""
    change = logit_difference(128)
    reason = f"it measures the start: with a fifth of the head's weights, {logit_difference(128, 0.2):.3f}"
    return Finding(decide(change > 0.1), change, reason)


@measured_on(TRAINED)
def outputs_are_independent() -> Finding:
    """Measure what leaks from branch 1 into branch 0 after training on two branches, nats per character."""
    leak, apart = (found_in("two: Fourier", key) for key in ("leak", "leak, isolated"))
    reason = f"at most {max(leak):.4f} in {len(leak)} seeds, so it is not exactly 0; "
    reason += f"with the isolation mask it is {max(apart):g}"
    return Finding(negligible(leak), mean(leak), reason, 1)


@measured_on(f"words at temperature 1; {TRAINED}")
def no_gibberish() -> Finding:
    """Measure the share of unknown words side by side, minus that under the isolation mask."""
    keys = ("unknown 2", "unknown 2, isolated", "unknown 4")
    beside, apart, four = (found_in("two: Fourier", key) for key in keys)
    more = differences(beside, apart)
    reason = (
        f"unknown words: {mean(beside):.1%} side by side, {mean(apart):.1%} isolated ({len(more)} seeds); "
    )
    reason += f"{mean(four):.0%} with four branches, which were never trained"
    return Finding(negligible(more, LEAST_SHARE), mean(more), reason, 1)


@measured_on(TRAINED)
def warm_up_is_a_must() -> Finding:
    """Measure the loss among four branches with all steps among four, minus that with half of them alone."""
    plain, warmed = losses_among("four: Fourier", 4), losses_among("four, warmed up: Fourier", 4)
    worse, nothing = differences(plain, warmed), mean(losses_among("up to eight: none", 4))
    reason = f"four branches from the first step reach {mean(plain):.3f}, warmed up {mean(warmed):.3f}, "
    reason += f"without a code {nothing:.3f} ({len(worse)} seeds): {COMMAND}"
    return Finding(exceeds(worse), mean(worse), reason, 1)


@measured_on(f"equally many texts a step, whatever the number of branches; {TRAINED}")
def several_are_much_harder_than_one() -> Finding:
    """Measure the loss of training on the most branches, minus that of isolated texts."""
    runs = {n: f"{n} at a time: Fourier" for n in branches.AT_A_TIME[1:]}
    loss = {n: losses_among(run, n) for n, run in runs.items() if run in stored_results()["runs"]}
    alone = losses_among(branches.ISOLATED, branches.TEXTS)
    more = {n: differences(values, alone) for n, values in loss.items()}
    verdicts = [opposite(negligible(differences)) for differences in more.values()]
    named = zip(more.items(), verdicts, strict=True)
    reason = f"more than isolated texts ({len(alone)} seeds): "
    reason += ", ".join(f"{n} branches {mean(gap):+.3f} ({verdict})" for (n, gap), verdict in named)
    return Finding(combine(*verdicts), mean(more[max(more)]), f"{reason}: {COMMAND}", len(verdicts))


@measured_on(TRAINED)
def rope_2d_is_stuck() -> Finding:
    """Measure the loss of two branches under 2-D RoPE, minus that under the Fourier code."""
    rope, fourier_code = (losses_among(f"two: {code}", 2) for code in ("2-D RoPE", "Fourier"))
    more = differences(rope, fourier_code)
    reason = f"{mean(rope):.3f} and {mean(fourier_code):.3f}, equal stride and budget ({len(more)} seeds)"
    return Finding(exceeds(more), mean(more), f"{reason}: {COMMAND}", 1)


@measured_on(TRAINED)
def weights_do_not_carry_over() -> Finding:
    """Measure how much the loss rises when trained weights of 2-D RoPE are read with a Fourier code."""
    before, after = (found_in("two: 2-D RoPE", key) for key in ("alone", "alone, as Fourier"))
    rise = differences(after, before)
    reason = f"every tensor fits, and {mean(before):.2f} becomes {mean(after):.2f} ({len(rise)} seeds): the "
    return Finding(exceeds(rise), mean(rise), reason + "heads read other channels", 1)
