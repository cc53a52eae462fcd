"""Study of texts longer than the window: RoPE stretched in several ways, rivals, published statements.

Loss and memory are measured separately. `position_matched_change` compares losses on the same characters, and
`recall_by_distance` asks for digits from far back, as forgetting costs nothing on text that needs no memory.
"""

import copy
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.resources import files
from statistics import mean
from typing import Any, NamedTuple

import torch
from matplotlib.figure import Figure
from torch import Tensor

from babygpt import NextToken, Positions, TrainConfig, metrics, plots, train
from babygpt.data.corpus import Corpus, recall_corpus
from babygpt.data.recall import USUAL, Spacing
from babygpt.encodings import Encoding
from babygpt.errors import BadInput
from babygpt.models.language_model import LanguageModel, require_causal
from babygpt.models.stretching import METHODS, stretched, with_encoding
from babygpt.models.transformer import Transformer
from babygpt.objectives import Batch, cross_entropy
from babygpt_course.studies.paired import format_mean_sd, mean_sd, percent
from babygpt_course.studies.results import Results
from babygpt_course.studies.sweep import Scale, Workers, finish, small_config, sweep, train_from_seed

BLOCK = 64  # characters in a window of training
VALIDATION_SEED = 2**31  # no training uses it
FACTORS = (2, 4, 8)  # how many windows are read
TUNED = 4  # the factor of what is fine-tuned
DISTANCES = {1: (24, 48), 2: (48, 96), 4: (48, 192), 8: (48, 192, 384)}  # windows -> from told to asked
KERNEL_AT = (0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512)  # distances at which biases are stored
LONGEST = 16 * BLOCK  # positions that random ones are drawn from: twice as many as are read at most
FINE_RATE = 0.3  # of the learning rates of training: the peak of fine-tuning
LONG = FACTORS[-1]
LEARNED = 0.75  # share of right digits, asked within the window
SCALE = Scale(n_questions=128)  # windows that ask for a digit, for each distance; a quarter for each loss
TUNED_CHANGE, FAR = f"change {TUNED}", f"recall {LONG} 384"


@dataclass(frozen=True)
class Arm:
    """One way to train a model on short windows.

    version  of `build`
    options  of its encoding
    longest  positions are drawn at random from so many; 0 for 0, 1, 2, ...
    times    how many times the scale's steps it is trained for
    """

    version: str
    options: dict[str, Any] = field(default_factory=dict)
    longest: int = 0
    times: int = 1


ARMS: dict[str, Arm] = {
    "v4": Arm("v4"),
    "nope": Arm("nope"),
    "v4-nope": Arm("v4-nope", {"every": 2}),  # of two layers the second has no code
    "partial": Arm("partial", {"share": 0.25}),
    "random positions": Arm("v4", longest=LONGEST),
    "alibi": Arm("alibi"),
    "xpos": Arm("xpos", {"scale_base": BLOCK / 2}),  # half a window, as in the paper
    "t5": Arm("t5", {"n_buckets": 16, "furthest": BLOCK // 2}),  # each bucket is met in training
    "t5, 128": Arm("t5"),  # as published: what is beyond the window has buckets of its own, never trained
    "kerple-log": Arm("kerple-log"),
    "kerple-power": Arm("kerple-power"),
    "fire": Arm("fire"),
    "v5": Arm("v5"),
    **{f"{name}, longer": Arm(name, times=4) for name in ("v4", "alibi", "kerple-log", "fire", "v5")},
}


def draw_positions(rows: int, length: int, longest: int, generator: torch.Generator) -> Tensor:
    """Draw positions for some texts: for each, `length` different ones out of `longest`, in order.

    returns  (rows, length)  in tokens
    Raises BadInput if `longest` is below `length`.
    """
    if length > longest:
        raise BadInput(f"longest ({longest}) must be at least {length}: no two tokens share a position")
    shuffled = torch.rand(rows, longest, generator=generator).argsort(dim=1)  # a permutation in each row
    return shuffled[:, :length].sort(dim=1).values


class RandomPositions(NextToken):
    """Predict the next token at random positions of a longer range, in order.

    The model meets far positions in training, although no text is long.

    longest  positions are drawn from 0 to longest - 1; the other arguments are those of `NextToken`
    Raises BadInput if longest is below block_size, and where `NextToken` does.
    Source: Ruoss et al. 2023, arXiv:2305.16843.
    """

    def __init__(self, corpus: Corpus, block_size: int, longest: int, aligned: bool = False) -> None:
        super().__init__(corpus, block_size, aligned)
        if longest < block_size:
            raise BadInput(f"longest ({longest}) must be at least block_size ({block_size})")
        self.longest = longest

    def batch(self, batch_size: int, generator: torch.Generator) -> Batch:
        """Draw windows at random: (B, T) inputs, (B, T) targets, and (B, T) the inputs' positions."""
        inputs, targets = super().batch(batch_size, generator)
        return inputs, targets, draw_positions(batch_size, self.block_size, self.longest, generator)

    def losses(self, model: LanguageModel, batch: Batch) -> Tensor:
        require_causal(model)
        inputs, targets, time = batch
        return cross_entropy(model(inputs, Positions(time)), targets)

    def val_batches(self) -> Iterator[Batch]:
        """The windows of `NextToken`, at random positions that are the same in every call."""
        generator = torch.Generator().manual_seed(VALIDATION_SEED)
        for inputs, targets in super().val_batches():
            rows, length = inputs.shape
            yield inputs, targets, draw_positions(rows, length, self.longest, generator)


class AtRandomPositions(Encoding):
    """Another encoding, whose tokens stand at positions drawn from a longer range, in order.

    encoding  does all the rest
    length    tokens that there are at most
    longest   positions that are drawn from
    """

    def __init__(self, encoding: Encoding, length: int, longest: int) -> None:
        super().__init__()
        self.encoding = encoding
        self.drawn = draw_positions(1, length, longest, torch.Generator().manual_seed(0))[0]

    def transform_qk(self, q, k, positions):  # type: ignore[no-untyped-def]
        return self.encoding.transform_qk(q, k, Positions(self.drawn[positions.time]))


def with_notes(scale: Scale, windows: int = 1) -> Corpus:
    """Return tales with notes: a digit is told, and asked for within so many windows."""
    furthest = USUAL.furthest + (windows - 1) * BLOCK
    return recall_corpus(scale.n_chars, Spacing(USUAL.nearest, furthest, USUAL.rate))


def fine_steps(scale: Scale) -> int:
    """Return the steps of fine-tuning, at TUNED windows with as many characters a step as in training."""
    return max(1, 3 * scale.steps // 20)


def trained_arm(name: str, scale: Scale, seed: int) -> Transformer:
    """Train one of ARMS from a seed."""
    arm, corpus = ARMS[name], with_notes(scale)
    objective = RandomPositions(corpus, BLOCK, arm.longest) if arm.longest else NextToken(corpus, BLOCK)
    config, plan = small_config(corpus, BLOCK), TrainConfig(arm.times * scale.steps, seed=seed)
    model, _ = train_from_seed(arm.version, config, objective, plan, f"{name}, seed {seed}", **arm.options)
    assert isinstance(model, Transformer)
    return model


def fine_tuned(model: Transformer, method: str, scale: Scale, seed: int) -> Transformer:
    """Return a copy of a model, stretched to TUNED windows and trained on for a while.

    method  one of METHODS, at the new length; "drop" is recalibrated at the old length, as in its paper.
            "control" leaves RoPE as it is and trains on at the old length.
    """
    own = copy.deepcopy(stretched(model, "none" if method == "control" else method, TUNED))
    windows, usual = 1 if method in ("control", "drop") else TUNED, TrainConfig()
    plan = TrainConfig(
        fine_steps(scale),
        usual.batch_size // windows,
        lr_matrix=FINE_RATE * usual.lr_matrix,
        lr_other=FINE_RATE * usual.lr_other,
        seed=seed,
    )
    objective = NextToken(with_notes(scale, windows), windows * BLOCK)
    finish(train(own, objective, plan), plan.steps, f"{method}, fine-tuned")
    return own


# ---------------------------------------------------------------- measuring


def recall_at(model: Transformer, corpus: Corpus, windows: int, n: int) -> dict[str, float]:
    """Return the share of right digits at some distances, asked after so many windows; chance is 0.1."""
    asked = DISTANCES[windows]
    right = metrics.recall_by_distance(model, corpus.tokenizer, asked, n=n, length=windows * BLOCK).accuracy
    return {str(d): round(float(share), 4) for d, share in zip(asked, right, strict=True)}


def measure_model(
    model: Transformer, corpus: Corpus, scale: Scale, factors: Sequence[int], within: Transformer
) -> dict[str, Any]:
    """Measure one model.

    factors  how many windows it reads at most
    within   the model whose loss, in one window, the long text's is compared with
    returns  "loss" in windows of BLOCK; "change": windows -> nats that reading them changes, on the same
             characters; "recall": windows -> `recall_at`
    """
    change = partial(metrics.position_matched_change, model, corpus.val, within=within)
    return {
        "loss": round(NextToken(corpus, BLOCK).validate(model), 4),
        "change": {str(n): round(change(n * BLOCK, scale.n_questions // 4)[0], 4) for n in factors},
        "recall": {str(n): recall_at(model, corpus, n, scale.n_questions) for n in (1, *factors)},
    }


def measure_drawn(model: Transformer, corpus: Corpus, scale: Scale) -> dict[str, Any]:
    """Measure a model at random positions, as it was trained."""
    found: dict[str, Any] = {}
    inside = with_encoding(model, AtRandomPositions(model.encoding, BLOCK, LONGEST), BLOCK)
    for n in (1, *FACTORS):
        drawn = with_encoding(model, AtRandomPositions(model.encoding, n * BLOCK, LONGEST), BLOCK)
        one = measure_model(drawn, corpus, scale, [n] if n > 1 else [], inside)
        found = found or one
        found["change"] |= one["change"]
        found["recall"][str(n)] = one["recall"][str(n)]
    return found


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


def stretches_of(model: Transformer, corpus: Corpus, scale: Scale, seed: int) -> dict[str, Any]:
    """Measure a trained v4 under each method, before and after fine-tuning.

    returns  "ntk 4": measured with the frequencies of four windows; "ntk tuned": fine-tuned at TUNED windows
    """
    found = {
        f"{method} {n}": measure_model(stretched(model, method, n), corpus, scale, [n], model)
        for method in METHODS
        for n in FACTORS
    }
    for method in ("control", *METHODS):
        tuned = fine_tuned(model, method, scale, seed)
        found[f"{method} tuned"] = measure_model(tuned, corpus, scale, FACTORS, model)
    return found


def measure_stretch(workers: Workers, scale: Scale = SCALE, arms: Sequence[str] = tuple(ARMS)) -> Results:
    """Train every arm from every seed, stretch and fine-tune the v4, and measure each.

    returns  settings; "runs": name -> one `measure_model` a seed, for the arms, for what `stretches_of` makes
             of v4, and for "random positions, drawn"; "kernels": arm -> `kernels`, one a seed
    """
    corpus = with_notes(scale)

    def run(name: str, seed: int) -> dict[str, Any]:
        model = trained_arm(name, scale, seed)
        found = {"runs": {name: measure_model(model, corpus, scale, FACTORS, model)}}
        if ARMS[name].longest:
            found["runs"]["random positions, drawn"] = measure_drawn(model, corpus, scale)
        if name == "v4":
            found["runs"] |= stretches_of(model, corpus, scale, seed)
        kernel = kernels(model.encoding)
        return found | ({"kernels": {name: kernel}} if kernel else {})

    board: dict[str, dict[str, list[Any]]] = {"runs": {}, "kernels": {}}
    for measured in sweep(arms, scale.seeds, run, workers).values():
        for part, each in measured.items():
            board[part] |= {name: [one[name] for one in each] for name in each[0]}
    settings = {**scale.settings(), "fine": fine_steps(scale), "fine_rate": FINE_RATE}
    return {**settings, "block_size": BLOCK, "kernel_at": list(KERNEL_AT), **board}


# ---------------------------------------------------------------- statements of the literature


class Statement(NamedTuple):
    """Statement that one number of one run is lower than another.

    says    what the source says, as far as this comparison can test it
    source  where
    lower   run and number: "ntk 4" and "change 4", "alibi" and "recall 8 384", "v4" and "loss"
    higher  the same, of what it is compared with
    """

    says: str
    source: str
    lower: Sequence[str]
    higher: Sequence[str]


FILE = files(__package__) / "stretch.toml"
STATEMENTS = tuple(Statement(**one) for one in tomllib.loads(FILE.read_text("utf-8"))["statements"])


def values(results: Results, run: str, number: str) -> list[float]:
    """Return one number of a run, one a seed.

    number  "loss", "change 4" (windows) or "recall 8 384" (windows, distance); "change 1" is 0 by definition
    """
    what, *keys = number.split()
    if what == "loss":
        return [one["loss"] for one in results["runs"][run]]
    if number == "change 1":
        return [0.0] * len(results["runs"][run])
    found = [one[what][keys[0]] for one in results["runs"][run]]
    return [one[keys[1]] for one in found] if what == "recall" else found


def seeds_for(results: Results, statement: Statement) -> tuple[int, int]:
    """Return in how many seeds a statement is true, and of how many."""
    lower, higher = values(results, *statement.lower), values(results, *statement.higher)
    return sum(low < high for low, high in zip(lower, higher, strict=True)), len(lower)


def verdict(results: Results, statement: Statement) -> str:
    """Return "holds" if a statement is true in every seed, "fails" if in none, else "depends".

    It is "open" if it is about recall, and one of the two never learned to recall within its window.
    """
    if statement.lower[1].startswith("recall"):
        within = [values(results, run, "recall 1 48") for run, _ in (statement.lower, statement.higher)]
        if min(map(min, within)) < LEARNED:
            return "open"
    true, seeds = seeds_for(results, statement)
    return "holds" if true == seeds else "depends" if true else "fails"


def by_method(results: Results, number: str, kind: object = TUNED) -> dict[str, list[float]]:
    """Return one number of v4 under each method: method -> one a seed.

    kind  how many windows v4 was stretched to, or "tuned", with "control", which trained on at the old length
    """
    methods = ("control", *METHODS) if kind == "tuned" else METHODS
    return {method: values(results, f"{method} {kind}", number) for method in methods}


def draw_stretch(figure: Figure, results: Results) -> None:
    """Draw the change of loss in four windows, before and after fine-tuning, and recall from far back."""
    change, recall, arms = figure.subplots(1, 3)
    before, after = (by_method(results, TUNED_CHANGE, kind) for kind in (TUNED, "tuned"))
    lowest = [min(found, key=lambda name: mean(found[name])) for found in (before, after)]
    best = list(dict.fromkeys(lowest))
    title = f"Four windows, untuned and fine-tuned: least lost with {' and '.join(best)}"
    label = "change of the loss (nats; rings: fine-tuned)"
    plots.draw_seed_dots(change, {"control": [], **before}, title, label, {"": 0.0}, rings=after)
    title = "What was told three windows ago"
    label = "right digits (%; dashed: chance; rings: fine-tuned)"
    before, after = (percent(by_method(results, f"recall {TUNED} 192", kind)) for kind in (TUNED, "tuned"))
    chance, span = {"": 10.0}, (-3.0, 103.0)
    plots.draw_seed_dots(recall, {"control": [], **before}, title, label, chance, span, after)
    drawn = {"random positions": "random positions, drawn"}  # asked at random positions, as it was trained
    far_back = percent({arm: values(results, drawn.get(arm, arm), FAR) for arm in ARMS})
    knowing = sum(min(each) > 90 for each in far_back.values())
    title = f"What was told six windows ago: {knowing} of {len(far_back)} know it from every seed"
    plots.draw_seed_dots(arms, far_back, title, "right digits (%; dashed: chance)", chance, span)


def table(results: Results) -> str:
    """Return every run's loss, changes and recall, mean ± deviation over seeds; and then the statements."""
    head = ["encoding", "loss in the window", *(f"change at {n}×" for n in FACTORS)]
    head += ["recall at 48", f"at 192 of {TUNED}×", f"at 384 of {LONG}×"]
    lines = [f"| {' | '.join(head)} |", "|---|" + "---:|" * (len(head) - 1)]
    numbers = ("loss", *(f"change {n}" for n in FACTORS), "recall 1 48", f"recall {TUNED} 192", FAR)

    def cell(run: str, number: str) -> str:
        try:
            return format_mean_sd(mean_sd(values(results, run, number)))
        except KeyError:  # a run that was not asked this
            return ""

    for run in results["runs"]:
        lines.append(f"| {run} | {' | '.join(cell(run, number) for number in numbers)} |")
    lines += ["", "| claim | source | seeds | verdict |", "|---|---|---|---|"]
    for one in STATEMENTS:
        true, seeds = seeds_for(results, one)
        lines.append(f"| {one.says} | {one.source} | {true} of {seeds} | {verdict(results, one)} |")
    return "\n".join(lines) + "\n"
