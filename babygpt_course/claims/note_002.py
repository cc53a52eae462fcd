"""Measure the claims of note 002: Fourier codes for parallel branches."""

from __future__ import annotations

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
from babygpt_course.claims.claim import Claim, Finding, clearly_lower, decide
from babygpt_course.studies.results import Results, load_results

WIDTH, HEAD_DIM = 512, 64  # of the model that the notes speak of
SCOPE = "the codes by themselves, width 512; heads of 64 channels, half of which turn with the branch"


def code_cosine(position: int, width: int = WIDTH, theta: float = 10_000.0) -> float:
    """Return the cosine of the Fourier codes of positions 0 and `position`."""
    first, other = fourier(torch.tensor([0, position]), width, theta).double()
    return float(torch.cosine_similarity(first, other, dim=0))


def code_distance(position: int) -> float:
    """Return the Euclidean distance of the Fourier codes of positions 0 and `position`, width 512."""
    first, other = fourier(torch.tensor([0, position]), WIDTH).double()
    return float((first - other).norm())


def rope_cosine(position: int, width: int = HEAD_DIM // 2, theta: float = 10_000.0) -> float:
    """Return the cosine of a vector of ones and itself, turned by RoPE to `position` in all of its pairs."""
    ones = torch.ones(1, width, dtype=torch.float64)
    turned = rotate_pairs(ones, angles(torch.tensor([position]), width, theta))
    return float(torch.cosine_similarity(ones, turned)[0])


@torch.inference_mode()
def logit_difference(stride: int, scale: float = 1.0, width: int = WIDTH, seeds: int = 3) -> float:
    """Return the mean change of the logits when the same text is said to be branch 1 instead of branch 0.

    The models are untrained, with random weights where ours begin with zeros; the head's are multiplied
    by `scale`.
    """
    positions = Positions.arange(16)
    changes = []
    for seed in range(seeds):
        torch.manual_seed(seed)
        model = build("v6", ModelConfig(64, 16, n_layer=2, n_head=8, n_embd=width), stride=stride)
        for name, p in model.named_parameters():
            if name.endswith(("out.weight", "head.weight")):
                torch.nn.init.normal_(p, std=0.02 * (scale if name.startswith("head") else 1.0))
        idx = torch.randint(64, (1, 16))
        one, other = (model(idx, Positions(positions.time, torch.full((16,), b))) for b in (0, 1))
        changes.append(float((one - other).abs().mean()))
    return mean(changes)


def queries_and_keys(encoding: Encoding, time: int, branch: int, n: int = 256) -> tuple[Tensor, Tensor]:
    """Return random queries at time 0 of branch 0 and random keys at another position, as a head has them.

    encoding  for streams of WIDTH channels and heads of HEAD_DIM
    returns   (n, HEAD_DIM) each; the same tokens and weights in every call
    """
    draw = torch.Generator().manual_seed(0)
    tokens = torch.randn(n, 2, WIDTH, generator=draw)
    weights = torch.randn(2, WIDTH, HEAD_DIM, generator=draw) / WIDTH**0.5
    places = Positions(torch.tensor([0, time]), torch.tensor([0, branch]))
    stream = norm(encoding.embed(tokens, places))
    q, k = (norm(stream @ weight)[:, None] for weight in weights)  # (n, 1, 2, HEAD_DIM)
    q, k = encoding.transform_qk(q, k, places)
    return q[:, 0, 0], k[:, 0, 1]


def interaction(encoding: Encoding, time: int = 5, branch: int = 1) -> float:
    """Return how far a score is from being the sum of one part for time and one for the branch.

    returns  mean |s(t, b) - s(t, 0) - s(0, b) + s(0, 0)| over the scores' standard deviation; 0 if time and
             branch each add their own part
    """
    places = ((time, branch), (time, 0), (0, branch), (0, 0))
    both, later, beside, here = ((q * k).sum(-1) for q, k in (queries_and_keys(encoding, *p) for p in places))
    return float((both - later - beside + here).abs().mean() / here.std())


COMMAND = "python -m babygpt figures branches"
TRAINED = "2 layers, width 96, texts of 48 characters of the plain tales, 400 steps, 3 seeds"
STRIDES = (1, 8, 128, 256, 512, 1024, 4096)
CODES = ("Fourier", "2-D RoPE")
MUCH = 0.1  # nats per character: about what company costs a model without any code


@cache
def stored_results() -> Results:
    """Return the runs of the studies of branch codes and of strides in one, read once."""
    branches, strides = load_results("branches"), load_results("strides")
    return {**branches, "runs": {**branches["runs"], **strides["runs"]}}


def seed_values(run: str, key: str) -> list[float]:
    """Return what the stored runs of a name measured, such as "alone" or "gap 2": one number a seed."""
    return list(stored_results()["runs"][run][key])


def seed_mean(run: str, key: str) -> float:
    """Return the mean of what the stored runs of a name measured."""
    return mean(seed_values(run, key))


def lower_loss(lower: list[float], higher: list[float], reason: str, sign: int = 1) -> Finding:
    """Decide whether one loss is clearly lower than another; the value is their difference, times `sign`."""
    return Finding(decide(clearly_lower(lower, higher)), sign * (mean(higher) - mean(lower)), reason)


def losses_among(run: str, n: int) -> list[float]:
    """Return the loss of n branches (1: a text alone) after the stored runs of a name: one number a seed."""
    alone = seed_values(run, "alone")
    if n == 1:
        return alone
    return [loss + gap for loss, gap in zip(alone, seed_values(run, f"gap {n}"), strict=True)]


def run_at_stride(code: str, stride: int) -> str:
    """Return the name of the runs that trained a code on two branches at a stride."""
    return f"two: {code}" if stride == 128 else f"stride {stride}: {code}"


def losses_by_stride(code: str) -> dict[int, list[float]]:
    """Return the loss among two at each stride that a code was trained at: one number a seed."""
    runs = {stride: run_at_stride(code, stride) for stride in STRIDES}
    return {s: losses_among(run, 2) for s, run in runs.items() if run in stored_results()["runs"]}


def streams(run: str) -> list[float]:
    """Return the cosine of two branches with the same text after each block: the mean of all seeds."""
    found = stored_results()["runs"][run]
    return [mean(found[key]) for key in sorted(found) if key.startswith("stream ") and key != "stream 0"]


# ---------------------------------------------------------------- of note 002


def outputs_are_independent() -> Finding:
    """Measure what leaks from branch 1 into branch 0 after training on two branches, nats per character."""
    leak, apart = seed_mean("two: Fourier", "leak"), seed_mean("two: Fourier", "leak, isolated")
    reason = f"the code only lets a model learn to look away; the isolation mask leaks {apart:g}"
    return Finding(decide(leak == 0), leak, reason)


def no_gibberish() -> Finding:
    """Measure the share of unknown words side by side, minus that under the isolation mask."""
    beside, apart = (seed_values("two: Fourier", key) for key in ("unknown 2", "unknown 2, isolated"))
    four = seed_mean("two: Fourier", "unknown 4")
    reason = f"unknown words: {mean(beside):.0%} side by side, {mean(apart):.0%} isolated; {four:.0%} with "
    reason += "four branches, which were never trained"
    return Finding(decide(mean(beside) - mean(apart) < 0.05), mean(beside) - mean(apart), reason)


def warm_up_is_a_must() -> Finding:
    """Measure the loss among four branches with half the steps alone, minus that with all among four."""
    plain, warmed = losses_among("four: Fourier", 4), losses_among("four, warmed up: Fourier", 4)
    nothing = mean(losses_among("up to eight: none", 4))
    reason = f"four branches from the first step reach {mean(plain):.3f} (without a code {nothing:.3f}): "
    return lower_loss(warmed, plain, reason + COMMAND, -1)


def several_are_much_harder_than_one() -> Finding:
    """Measure the largest loss of training on two, four or eight, minus that of single texts."""
    loss = {n: losses_among(f"{n} at a time: Fourier", n) for n in (1, 2, 4, 8)}
    more = {n: mean(values) - mean(loss[1]) for n, values in loss.items() if n > 1}
    listed = ", ".join(f"{n}: {mean(values):.3f}" for n, values in loss.items())
    reason = f"loss by texts in a sequence {listed}; the same texts in the same steps: {COMMAND}"
    return Finding(decide(*(difference > MUCH for difference in more.values())), max(more.values()), reason)


def rope_2d_is_stuck() -> Finding:
    """Measure the loss of two branches under 2-D RoPE, minus that under the Fourier code."""
    rope, fourier_code = (losses_among(f"two: {code}", 2) for code in ("2-D RoPE", "Fourier"))
    return lower_loss(fourier_code, rope, f"equal stride and budget: {COMMAND}")


def telling_apart_is_all() -> Finding:
    """Measure what four branches cost a model that was trained on two: their codes differ as much as ever."""
    gaps = {where: seed_mean(f"{where}: Fourier", "gap 4") for where in ("up to eight", "two")}
    own = seed_mean("two: Fourier", "own 4")
    reason = f"{own:.2f} of it for the unknown tag alone; where all numbers were trained "
    reason += f"{gaps['up to eight']:.3f}; 2-D RoPE, trained on two: "
    reason += f"{seed_mean('two: 2-D RoPE', 'gap 4'):.2f}"
    return Finding(decide(*(gap < 0.05 for gap in gaps.values())), gaps["two"], reason)


def a_learnable_code_helps() -> Finding:
    """Measure the loss among two at stride 1 with the learnable code, minus that with the fixed one."""
    learnable, fixed = (losses_by_stride(code) for code in ("Fourier, learnable", "Fourier"))
    reason = "at stride 1, where the fixed one is weak; at 128 the difference is "
    reason += f"{mean(learnable[128]) - mean(fixed[128]):+.3f}: {COMMAND}"
    return lower_loss(learnable[1], fixed[1], reason, -1)


def weights_do_not_carry_over() -> Finding:
    """Measure how much the loss rises when trained weights of 2-D RoPE are read with a Fourier code."""
    before, after = (seed_values("two: 2-D RoPE", key) for key in ("alone", "alone, as Fourier"))
    reason = f"every tensor fits, and {mean(before):.2f} becomes {mean(after):.2f}: the heads read other "
    reason += "channels"
    return Finding(decide(mean(after) - mean(before) > MUCH), mean(after) - mean(before), reason)


NOTE = "002_79f4b48e18265706.txt"
OTHER_STRIDE = "the likeness of stride 256 is given as that of stride 128"


def rope_2d_leaves_branches_alike() -> Finding:
    """Measure the cosine of two branches under 2-D RoPE at stride 4096: of one vector, and of streams."""
    cosine, inside = rope_cosine(4096), min(streams("stride 4096: 2-D RoPE"))
    rival = min(streams("stride 4096: Fourier"))
    reason = f"a rotated vector, by the pairs that turn; by all pairs {(1 + cosine) / 2:.0%}. The streams of "
    reason += f"a trained model are at least {inside:.0%} alike, under Fourier codes {rival:.0%}"
    return Finding(decide(cosine >= 0.93, inside >= 0.93), cosine, reason)


def rounds_to(by_note: float, value: float, digits: int) -> Finding:
    """Compare a number of the codes with the one that the note gives."""
    return Finding(decide(round(value, digits) == by_note), value, "measured on the formula, width 512")


def similarity_is_31_percent() -> Finding:
    """Measure the cosine of the Fourier codes of positions 0 and 128, width 512."""
    cosine, twice = code_cosine(128), code_cosine(256)
    reason = f"at stride 256 it is {twice:.0%}; a distance of 17.4 goes with {cosine:.0%}"
    return Finding(decide(round(cosine, 2) == 0.31), cosine, reason)


def larger_stride_less_alike() -> Finding:
    """Measure the largest rise of the cosine when a stride doubles, from 1 to 8192.

    It is asked of equal pairs: on the same frequencies a Fourier code and 2-D RoPE have the same cosine.
    """
    rises = {}
    for width in (WIDTH, HEAD_DIM // 2):  # of the Fourier code, and of the pairs that turn in a head
        cosines = [rope_cosine(2**i, width) for i in range(14)]
        rises[width] = max(later - sooner for sooner, later in pairwise(cosines))
    many, few = ([rope_cosine(s, width) for s in (128, 256, 300)] for width in rises)
    return Finding(
        decide(*(rise <= 0 for rise in rises.values()), many[2] <= many[1]),
        rises[HEAD_DIM // 2],
        f"on the pairs: 256 of them {many[0]:.2f} at 128, {many[1]:.2f} at 256, {many[2]:.2f} at 300; "
        f"16 of them {few[0]:.2f}, {few[1]:.2f}, {few[2]:.2f}; the same under either code",
    )


def theta_suits_stride(theta: float, stride: int, remark: str = "") -> Finding:
    """Measure the cosine of neighbouring branches under theta, minus that under the default 10000."""
    chosen, default = code_cosine(stride, theta=theta), code_cosine(stride)
    reason = f"theta {theta:g}: {chosen:.3f}; 10000: {default:.3f}{remark}"
    return Finding(decide(chosen < default), chosen - default, reason)


def logits_differ_by_a_tenth() -> Finding:
    """Measure the mean change of an untrained model's logits between branches 0 and 1 at stride 128."""
    changes = {scale: logit_difference(128, scale) for scale in (0.2, 1.0)}
    above = [change > 0.1 for change in changes.values()]
    reason = f"with a head that begins at a fifth of the weights, {changes[0.2]:.3f}: it measures the start"
    return Finding(decide(*above), changes[1.0], reason)


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


claim = partial(Claim, NOTE, scope=SCOPE)
trained_claim = partial(Claim, NOTE, scope=TRAINED)

CLAIMS: tuple[Claim, ...] = (
    claim(
        "2-D RoPE leaves branches 93–99% alike, even at stride 4096",
        rope_2d_leaves_branches_alike,
        "即使stride=4096，相似度仍然93-99%",
        "even at stride = 4096 the similarity is still 93–99%",
        scope=f"one vector of ones, 32 channels; streams: {TRAINED}",
        reading="of one rotated vector, or of two branches' streams inside a trained model: both are asked",
    ),
    claim(
        "at stride 128 Fourier codes are 17.4 apart",
        lambda: rounds_to(17.4, code_distance(128), 1),
        "直接加在embedding上，L2距离17.4，相似度31%",
        "added to the embedding directly, L2 distance 17.4, similarity 31%",
    ),
    claim(
        "at stride 128 Fourier codes are 31% alike",
        similarity_is_31_percent,
        "stride=128: L2距离=17.4, 相似度=31%",
        "stride = 128: L2 distance = 17.4, similarity = 31%",
        fault=OTHER_STRIDE,
    ),
    claim(
        "a larger stride makes them less alike",
        larger_stride_less_alike,
        "stride=256: L2距离=更大, 相似度=更低",
        "stride = 256: L2 distance = larger, similarity = lower",
        reading="by the 256 pairs of a Fourier code or the 16 of a head, doubled or not: all are asked",
    ),
    claim(
        "theta 1000 suits small strides",
        partial(theta_suits_stride, 1_000, 1),
        "`theta=1000`：更高频，适合小的stride",
        "theta = 1000: higher frequencies, suits small strides",
    ),
    claim(
        "theta 100000 suits large strides",
        partial(theta_suits_stride, 100_000, 4096, ": slower pairs tell less apart at any stride"),
        "`theta=100000`：更低频，适合大的stride",
        "theta = 100000: lower frequencies, suits large strides",
    ),
    claim(
        "branch and time are decoupled, more than under 2-D RoPE",
        branch_and_time_are_decoupled,
        "branch和time编码分离，更清晰",
        "the encodings of branch and time are separate, clearer",
        scope="random tokens and weights, width 512, heads of 64 channels, branch 1 five tokens away",
        reading="of the program's parts, or of what a score is made of: both are asked",
    ),
    claim(
        "the logits of two branches differ by more than 0.1",
        logits_differ_by_a_tenth,
        "相同input_ids，不同branch的logits差异: > 0.1",
        "same input_ids, difference of the logits of different branches: > 0.1",
        scope="untrained models of 2 layers, width 512, 3 seeds",
    ),
    trained_claim(
        "the outputs of two branches are independent",
        outputs_are_independent,
        "不同branch的输出应该完全独立",
        "the outputs of different branches should be completely independent",
    ),
    claim(
        "two branches write no gibberish",
        no_gibberish,
        "不应该出现gibberish",
        "no gibberish should appear",
        scope=f"words at temperature 1; {TRAINED}",
        reading="gibberish that company brings: the control is what the model writes in isolated branches",
    ),
    trained_claim(
        "without a single-branch stage training collapses",
        warm_up_is_a_must,
        "如果模型还没学会基础LM，直接上多branch会崩溃",
        "if the model has not learned basic language modelling, going straight to several branches collapses",
    ),
    claim(
        "several branches are much harder than one",
        several_are_much_harder_than_one,
        "多branch训练比单branch难得多",
        "training several branches is much harder than a single one",
        scope=f"8 texts a step whatever the number of branches; {TRAINED}",
        reading=f"much: by more than {MUCH:g} nats per character, at equal steps and texts",
    ),
    trained_claim(
        "2-D RoPE is stuck where Fourier codes are not",
        rope_2d_is_stuck,
        "目标：< 1.5（RoPE通常卡在2.5）",
        "target: < 1.5 (RoPE is usually stuck at 2.5)",
    ),
    trained_claim(
        "what counts is telling apart, not generalising",
        telling_apart_is_all,
        "关键是区分度，不是泛化性",
        "the key is telling apart, not generalising",
        reading="with branch numbers that were trained, as the note assumes, or with new ones: both",
    ),
    trained_claim(
        "a learnable code helps where the fixed one is not enough",
        a_learnable_code_helps,
        "如果效果不好，再尝试可学习版本",
        "if the effect is not good, then try the learnable version",
    ),
    trained_claim(
        "weights of 2-D RoPE do not carry over",
        weights_do_not_carry_over,
        "不能直接迁移RoPE 2D的权重",
        "the weights of 2-D RoPE cannot be carried over directly",
    ),
)
