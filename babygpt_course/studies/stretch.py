"""Study of texts longer than the window: RoPE stretched in several ways, rivals, published statements.

Three things are measured, because they do not go together: the loss of the same characters; whether a digit
from far back is found where it is the only one; and whether the digit told *last* is given where older ones
were told before it, which is the rule of the corpus.
"""

from __future__ import annotations

import copy
import tomllib
from collections.abc import Callable, Sequence
from functools import partial
from importlib.resources import files
from statistics import mean
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from babygpt import ModelConfig, NextToken, Positions, TrainConfig, metrics, train
from babygpt.data.corpus import Corpus, recall_corpus
from babygpt.data.recall import USUAL, Spacing
from babygpt.encodings import Encoding, LogKernel, Rotary, T5Bias, YaRN
from babygpt.encodings.rotary_variants import MOST_TURNS, yarn_slowed, yarn_temperature
from babygpt.experiments.paired import (
    LEAST_LOSS,
    LEAST_SHARE,
    compare,
    differences,
    exceeds,
    format_mean_sd,
    mean_sd,
    percent,
    table_head,
)
from babygpt.experiments.sweep import StudySize, Workers, finish, small_config, sweep, train_from_seed
from babygpt.models.language_model import LanguageModel
from babygpt.models.transformer import Transformer
from babygpt.models.versions import build
from babygpt.tables import markdown
from babygpt_course.studies.results import Results
from babygpt_course.studies.seed_plots import draw_seed_dots
from babygpt_course.studies.stretching import stretched, with_encoding

if TYPE_CHECKING:  # A learner's first cell would wait for Matplotlib.
    from matplotlib.figure import Figure

BLOCK = 64  # characters in a window of training
FACTOR = 4  # windows that every model reads
LONG = 8  # windows that all models read that are not stretched
DISTANCES = {1: 48, FACTOR: 192, LONG: 384}  # windows -> characters from the only digit told to the question
NEAR = 24  # characters from the last digit told to the question, within a window that tells older ones too
OLDER = (24,)  # characters from the older digit to the last one
THREE_OLDER = (12, 24, 36)  # the same of three older digits
KERNEL_AT = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512)  # distances at which biases are stored
FINE_RATE = 0.3  # peak of fine-tuning, as a share of the learning rates of training
LEARNED = 0.75  # share of right answers within the window, from which on a seed has learned to recall
ROOM = 0.85  # A rival that is right more often leaves no room for an effect of 5 points beside its seeds.
FEW_TURNS = 2.0  # the paper's 32 are for windows of 4,096; in a window of 64 no pair turns so often
PUBLIC_LEAST = 0.01  # KERPLE's public code keeps its numbers above it
SCALE = StudySize(n_questions=200)  # for each share of answers; a fifth as many windows for each loss


class AdjustedYaRN(YaRN):
    """YaRN with another ramp, or without its temperature.

    most_turns  turns in the training window from which on a pair stays as it is; 0: all pairs stay
    sharper     whether queries and keys are multiplied by YaRN's temperature
    The other arguments are those of a `Stretch`.
    """

    def __init__(
        self, rope: Rotary, block_size: int, factor: float, most_turns: float, sharper: bool
    ) -> None:
        super().__init__(rope.head_dim, block_size, factor, rope.theta)
        self.most_turns, self.sharper = most_turns, sharper

    def frequencies(self) -> Tensor:
        plain = Rotary.frequencies(self)
        slowed = (
            yarn_slowed(self.head_dim, self.window, self.theta, self.most_turns) if self.most_turns else 0
        )
        return plain * (1 - slowed) + plain / self.factor * slowed

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        q, k = super().transform_qk(q, k, positions)
        undo = 1.0 if self.sharper else yarn_temperature(self.factor)
        return q / undo, k / undo


def public_kerple(config: ModelConfig) -> LanguageModel:
    """Build KERPLE's logarithm with the public code's start: r1 from 0 to 2 and r2 from 0 to 1, at random.

    Source: github.com/chijames/KERPLE, megatron/mpu/layers.py, ParallelKerpleLog.
    """
    model = build("kerple-log", config)
    kernel = model.encoding
    assert isinstance(kernel, LogKernel)
    with torch.no_grad():
        for log, most in ((kernel.log_r1, 2), (kernel.log_r2, 1)):
            log.copy_((most * torch.rand_like(log)).clamp(min=PUBLIC_LEAST).log())
    return model


def public_t5(config: ModelConfig) -> LanguageModel:
    """Build T5's bias with the public code's start: normal, with a deviation of 1 / sqrt(width).

    Source: github.com/huggingface/transformers, modeling_t5.py, _init_weights.
    """
    model = build("t5", config, **T5_SCALED)
    assert isinstance(model.encoding, T5Bias)
    torch.nn.init.normal_(model.encoding.table, std=config.n_embd**-0.5)
    return model


T5_SCALED: dict[str, Any] = {"n_buckets": 16, "furthest": BLOCK // 2}  # so that training meets every bucket
Maker = str | Callable[[ModelConfig], LanguageModel]
ARMS: dict[str, tuple[Maker, dict[str, Any]]] = {  # name -> version, options of its encoding
    "v4": ("v4", {}),
    "nope": ("nope", {}),
    "v4-nope": ("v4-nope", {"every": 2}),  # of two layers the second has no encoding
    "partial": ("partial", {"share": 0.25}),
    "alibi": ("alibi", {}),
    "t5": ("t5", T5_SCALED),
    "t5, public start": (public_t5, {}),
    "t5, 128": ("t5", {}),  # buckets as published: those beyond the window are never trained
    "kerple-log": ("kerple-log", {}),
    "kerple-log, public start": (public_kerple, {}),
}
TWICE = "ntk, twice the factor"  # its source sets the factor higher than the expected scale
YARNS = {  # name -> turns from which on a pair stays, and whether attention is sharper
    "yarn, 2 turns": (FEW_TURNS, True),
    "yarn, no temperature": (MOST_TURNS, False),
    "temperature alone": (0.0, True),
}
UNTUNED = ("interpolation", "ntk", TWICE, "yarn", *YARNS, "drop")
TUNED = ("control", "none", "interpolation", "ntk", "yarn, 2 turns", "drop")


def stretch_untuned(model: Transformer, name: str) -> Transformer:
    """Return a trained v4 under a method, ready for FACTOR windows; as it is for "none" and "control"."""
    if name not in YARNS:
        method = {TWICE: "ntk", "control": "none"}.get(name, name)
        return stretched(model, method, 2 * FACTOR if name == TWICE else FACTOR)
    assert isinstance(model.encoding, Rotary)
    length = FACTOR * BLOCK
    return with_encoding(model, AdjustedYaRN(model.encoding, length, FACTOR, *YARNS[name]), length)


def with_notes(scale: StudySize, windows: int = 1) -> Corpus:
    """Return tales with notes: a digit is told, and asked for at most `windows` windows later."""
    furthest = USUAL.furthest + (windows - 1) * BLOCK
    return recall_corpus(scale.n_chars, Spacing(USUAL.nearest, furthest, USUAL.rate))


def fine_steps(scale: StudySize) -> int:
    """Return the steps of fine-tuning, at FACTOR windows with as many characters a step as in training."""
    return max(1, 3 * scale.steps // 20)


def trained_arm(name: str, scale: StudySize, seed: int) -> Transformer:
    """Train one of ARMS from a seed."""
    (version, options), corpus = ARMS[name], with_notes(scale)
    config, plan = small_config(corpus, BLOCK), TrainConfig(scale.steps, seed=seed)
    title = f"{name}, seed {seed}"
    model, _ = train_from_seed(version, config, NextToken(corpus, BLOCK), plan, title, **options)
    assert isinstance(model, Transformer)
    return model


def fine_tune(model: Transformer, name: str, scale: StudySize, seed: int) -> Transformer:
    """Return a copy of a model, stretched to FACTOR windows and trained on for a while.

    name  one of TUNED, at the new length; "drop" is recalibrated at the old length, as in its paper.
          "control" leaves RoPE as it is and trains on at the old length.
    """
    own = copy.deepcopy(stretch_untuned(model, name))
    windows, usual = 1 if name in ("control", "drop") else FACTOR, TrainConfig()
    plan = TrainConfig(
        fine_steps(scale),
        usual.batch_size // windows,
        lr_matrix=FINE_RATE * usual.lr_matrix,
        lr_other=FINE_RATE * usual.lr_other,
        seed=seed,
    )
    objective = NextToken(with_notes(scale, windows), windows * BLOCK)
    finish(train(own, objective, plan), plan.steps, f"{name}, fine-tuned")
    return own


# ---------------------------------------------------------------- measuring


def measure_model(
    model: Transformer, corpus: Corpus, scale: StudySize, factors: Sequence[int] = (FACTOR,)
) -> dict[str, float]:
    """Measure one model.

    factors  how many windows it reads
    returns  "loss" in windows of BLOCK. For each n of `factors`, on the same characters: "past n", the loss
             in n windows, and "inside n", from the last BLOCK characters alone. For 1 and each n, shares of
             answers: "alone n", right where no other digit is told. For 1 and FACTOR "last n" and "older n",
             those that give the digit told last and one told before it; "last of four n", with three older.
    """
    numbers: dict[str, float] = {"loss": NextToken(corpus, BLOCK).validate(model)}
    short = with_encoding(model, model.encoding, BLOCK)  # the same model, which states its window of training
    for n in (1, *factors):
        if n > 1:
            _, inside, past = metrics.position_matched_losses(
                model, corpus.val, n * BLOCK, scale.n_questions // 5, 8, short
            )
            numbers |= {f"inside {n}": inside.mean(), f"past {n}": past.mean()}
        ask = partial(
            metrics.recall_by_distance, model, corpus.tokenizer, n=scale.n_questions, length=n * BLOCK
        )
        far = DISTANCES[n] if n > 1 else NEAR
        numbers[f"alone {n}"] = ask([DISTANCES[n]]).accuracy[0]
        if n < LONG:
            two, four = ask([far], older=OLDER), ask([far], older=THREE_OLDER)
            numbers |= {f"last {n}": two.accuracy[0], f"older {n}": two.older[0]}
            numbers[f"last of four {n}"] = four.accuracy[0]
    return {name: round(float(number), 4) for name, number in numbers.items()}


def kernels(encoding: Encoding) -> list[list[float]]:
    """Return an encoding's bias at KERNEL_AT, less that at 0: a row for each head; none without a bias.

    There is none either for a model that has an encoding for each layer.
    """
    if encoding.of_layer(0) is not encoding:
        return []
    with torch.inference_mode():
        bias = encoding.score_bias(Positions.arange(1, KERNEL_AT[-1]), Positions.arange(KERNEL_AT[-1] + 1))
    if bias is None:
        return []
    by_distance = bias.reshape(-1, KERNEL_AT[-1] + 1).flip(-1)[:, list(KERNEL_AT)]
    return [[round(float(x), 4) for x in row] for row in by_distance - by_distance[:, :1]]


def measure_stretch(workers: Workers, scale: StudySize = SCALE, arms: Sequence[str] = tuple(ARMS)) -> Results:
    """Train every arm from every seed, stretch and fine-tune the v4, and measure each.

    returns  settings; "runs": name -> one `measure_model` a seed, for the arms, for v4 under each method, and
             for "METHOD tuned", after fine-tuning; "kernels": arm -> `kernels`, one a seed
    """
    corpus = with_notes(scale)

    def run(name: str, seed: int) -> dict[str, Any]:
        model = trained_arm(name, scale, seed)
        numbers = {"runs": {name: measure_model(model, corpus, scale, (FACTOR, LONG))}}
        if name == "v4":
            for method in UNTUNED:
                factors = (FACTOR, LONG) if method == "drop" else (FACTOR,)
                numbers["runs"][method] = measure_model(
                    stretch_untuned(model, method), corpus, scale, factors
                )
            for method in TUNED:
                tuned = fine_tune(model, method, scale, seed)
                numbers["runs"][f"{method} tuned"] = measure_model(tuned, corpus, scale)
        kernel = kernels(model.encoding)
        return numbers | ({"kernels": {name: kernel}} if kernel else {})

    board: dict[str, dict[str, list[Any]]] = {"runs": {}, "kernels": {}}
    for measured in sweep(arms, scale.seeds, run, workers).values():
        for part, each in measured.items():
            board[part] |= {name: [row[name] for row in each] for name in each[0]}
    settings = {**scale.settings(), "fine": fine_steps(scale), "fine_rate": FINE_RATE}
    settings |= {"n_questions": scale.n_questions, "block_size": BLOCK, "kernel_at": list(KERNEL_AT)}
    return {**settings, **board}


# ---------------------------------------------------------------- statements of the literature


class Statement(NamedTuple):
    """Statement that one number of one run is lower than another.

    says    what the source says, as far as this comparison can test it
    source  where
    theirs  setting of the source
    ours    what is compared here
    lower   run and number: "ntk" and "past 4", "alibi" and "last 8", "v4" and "loss"
    higher  the same, of what it is compared with
    """

    says: str
    source: str
    theirs: str
    ours: str
    lower: Sequence[str]
    higher: Sequence[str]


FILE = files(__package__) / "stretch.toml"
STATEMENTS = tuple(Statement(**entry) for entry in tomllib.loads(FILE.read_text("utf-8"))["statements"])
SHARES = ("alone", "last", "older")  # first words of numbers that are shares of answers


def values(results: Results, run: str, number: str) -> list[float]:
    """Return one number of a run, one a seed.

    run     name in the results; "none" is v4 as it is
    number  as in `measure_model`; "own n" is what reading n windows changes beside the model's own last BLOCK
            characters, "cost n" the same beside those of v4 from the same seed
    """
    what, _, n = number.rpartition(" ")
    if what in ("own", "cost"):
        rival = values(results, run if what == "own" else "v4", f"inside {n}")
        return differences(values(results, run, f"past {n}"), rival)
    return [measures[number] for measures in results["runs"]["v4" if run == "none" else run]]


def count_learned(results: Results, run: str, number: str = "alone 1") -> int:
    """Return how many seeds of a run answer LEARNED of the questions within the window."""
    return sum(share >= LEARNED for share in values(results, run, number))


def verdict(results: Results, statement: Statement) -> str:
    """Return what `exceeds` says of a statement: "holds", "fails" or "undecided".

    A statement about recall is "open" if one of the two has not learned that task within its window from most
    seeds. It has "no room" if the rival is right so often that no method could be ahead of it.
    """
    (low, number), (high, _) = statement.lower, statement.higher
    if number.startswith(SHARES):
        within = f"{number.rpartition(' ')[0]} 1"
        if any(
            2 * count_learned(results, run, within) <= len(values(results, run, within))
            for run in (low, high)
        ):
            return "open"
        if mean(values(results, low, number)) > ROOM:
            return "no room"
    return exceeds(gaps_of(results, statement), least_of(statement))


def gaps_of(results: Results, statement: Statement) -> list[float]:
    """Return the number that a statement calls higher, minus the other, one a seed."""
    lower, higher = (
        values(results, *run_and_number) for run_and_number in (statement.lower, statement.higher)
    )
    return differences(higher, lower)


def least_of(statement: Statement) -> float:
    """Return the smallest effect that counts in a statement's numbers."""
    return LEAST_SHARE if statement.lower[1].startswith(SHARES) else LEAST_LOSS


def found_gap(results: Results, statement: Statement) -> str:
    """Return a statement's mean difference with its interval: nats, or shares of answers."""
    return str(compare(gaps_of(results, statement), least_of(statement)))


def draw_stretch(figure: Figure, results: Results) -> None:
    """Draw what four windows cost v4, and which of the digits told there it and other encodings give."""
    cost, recall, arms = figure.subplots(1, 3)
    methods = ("none", *UNTUNED)
    dots = {name: values(results, name, f"cost {FACTOR}") for name in methods if name != "drop"}
    rings = {name: values(results, f"{name} tuned", f"cost {FACTOR}") for name in TUNED if name != "drop"}
    best = [min(costs, key=lambda name: mean(costs[name])) for costs in (dots, rings)]
    title, label = "Least lost: {}; tuned {}".format(*best), "nats above v4's window (rings: fine-tuned)"
    draw_seed_dots(cost, {"control": [], **dots}, title, label, {"": 0.0}, rings=rings)
    label, chance, span = "right digits (%; rings: no older value)", {"": 50.0}, (-3.0, 103.0)
    for ax, runs, who in ((recall, methods, "v4 untuned"), (arms, tuple(ARMS), "trained so")):
        last, alone = (
            percent({run: values(results, run, f"{what} {FACTOR}") for run in runs})
            for what in ("last", "alone")
        )
        most = max(mean(seeds) for seeds in last.values())
        title = f"Last of two digits, {who}: at most {most:.0f}%"
        draw_seed_dots(ax, last, title, label, chance, span, alone)


def table(results: Results) -> str:
    """Return each run's losses and shares, mean ± deviation over seeds; then the statements."""
    losses = ("loss", f"own {FACTOR}", f"cost {FACTOR}", f"own {LONG}", f"cost {LONG}")
    kinds = ("alone", "last", "older", "last of four")
    shares = [*(f"{what} {n}" for n in (1, FACTOR) for what in kinds), f"alone {LONG}"]
    runs = results["runs"]

    def cell(run: str, number: str) -> str:
        try:
            return format_mean_sd(mean_sd(values(results, run, number)))
        except KeyError:  # The run does not read texts of this length.
            return ""

    parts = [
        markdown(
            ["nats per character", *numbers],
            [[run, *(cell(run, number) for number in numbers)] for run in runs],
            "---:",
        )
        for numbers in (losses, shares)
    ]
    rows = [
        [*statement[:4], found_gap(results, statement), verdict(results, statement)]
        for statement in STATEMENTS
    ]
    parts.append(
        markdown(["statement", "source", "its setting", "ours", "higher minus lower", "verdict"], rows)
    )
    parts.append(f"{table_head(results)} A rival with more than {ROOM:.0%} of right digits leaves no room.\n")
    return "\n".join(parts)
