"""Study of several texts in one sequence: the loss and leakage under each branch code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from babygpt import Branches, TrainConfig, build, load_corpus, train
from babygpt.data.batches import BranchBatch, collate, interleave
from babygpt.data.corpus import Corpus
from babygpt.device import pick_device
from babygpt.experiments.paired import RULE, format_mean_sd, mean_sd
from babygpt.experiments.sweep import StudySize, Workers, finish, small_config, sweep
from babygpt.metrics import parallel_texts
from babygpt.metrics.parallel_texts import evenly_spaced_texts, parallel_loss
from babygpt.metrics.texts import words
from babygpt.models.transformer import Transformer
from babygpt.objectives import branch_losses
from babygpt.sampling import generate_parallel
from babygpt.tables import markdown
from babygpt_course.studies.results import Results
from babygpt_course.studies.seed_plots import draw_gaps

if TYPE_CHECKING:  # A learner's first cell would wait for Matplotlib.
    from matplotlib.figure import Figure

BLOCK_SIZE = 64  # characters in a window, of all branches together
LENGTH = 48  # characters of a branch
STRIDE = 128  # positions between two branches
BAND = 12  # channels after which a code's frequencies begin again
COUNTS = (2, 4, 8)  # branches that every model is measured with
AT_A_TIME = (1, 2, 4, 8, 16)  # branches of a sample, where every step has TEXTS texts
TEXTS = 16  # texts of a step, whatever shares a sequence
NUMBERS = (
    "alone",
    *(f"gap {n}" for n in AT_A_TIME[1:]),
    "leak",
    "leak, isolated",
)  # the columns of the table
Code = tuple[str, dict[str, Any]]  # a version, and options of its encoding
CODES: dict[str, Code] = {
    "none": ("v6-none", {}),
    "Fourier": ("v6", {"stride": STRIDE}),
    "Fourier, learnable": ("v6", {"stride": STRIDE, "learnable": True, "max_positions": 8 * STRIDE}),
    "Fourier, RoPE's band": ("v6", {"stride": STRIDE, "band": BAND}),
    "2-D RoPE": ("v6-rope2d", {"stride": STRIDE}),
    "learned": ("v6-learned", {}),
    "random": ("v6-random", {}),
}
RIVALS = ("Fourier", "2-D RoPE")
TRAINED = {  # codes by the way of training
    "up to eight": ("none", *RIVALS, "learned", "random"),
    "two": tuple(CODES),
    "two of eight numbers": (*RIVALS, "random"),
    "four": ("Fourier",),
}
ISOLATED = f"{AT_A_TIME[-1]} at a time: isolated"  # the control: no token sees another text
ECHO = "echo: Fourier"  # the run whose two branches tell one story
DELAY = 8  # characters that branch 1 of it is behind
SCALE = StudySize()


class Phase(NamedTuple):
    """Some steps of training on samples of `fewest` to `most` branches.

    numbers  how many branch numbers a sample draws its own from; None for as many as it has branches
    texts    of a step, or as many of them as fill whole samples
    """

    steps: int
    fewest: int
    most: int
    numbers: int | None = None
    texts: int = 12


def build_branches(corpus: Corpus, code: Code, seed: int) -> Transformer:
    """Return an untrained model of the study's size, with weights drawn from a seed."""
    torch.manual_seed(seed)
    model = build(code[0], small_config(corpus, BLOCK_SIZE), **code[1])
    assert isinstance(model, Transformer)
    return model


def echoes(texts: Tensor) -> BranchBatch:
    """Put each text into branch 0, and again into branch 1, DELAY characters later."""
    return collate([interleave([text, text], [0, DELAY]) for text in texts])


class Echo(Branches):
    """Objective: predict a story in branch 0, and the same story in branch 1, which begins later."""

    def batch(self, batch_size: int, generator: torch.Generator) -> BranchBatch:
        return echoes(self.texts(batch_size // 2, generator))

    def val_batches(self) -> Iterator[BranchBatch]:
        return iter([echoes(evenly_spaced_texts(self.val, 64, self.length))])


def train_phases(
    model: Transformer,
    corpus: Corpus,
    phases: Sequence[Phase],
    seed: int,
    title: str = "",
    kind: type[Branches] = Branches,
) -> None:
    """Train a model in phases, at most 12 texts a step (with up to eight branches, 10.6 on average)."""
    model.to(pick_device())
    for steps, fewest, most, numbers, texts in phases:
        objective = kind(corpus, BLOCK_SIZE, (fewest, most), LENGTH, numbers)
        finish(train(model, objective, TrainConfig(steps, batch_size=texts, seed=seed)), steps, title)


@contextmanager
def isolation(model: Transformer, isolated: bool) -> Iterator[None]:
    """Open a context in which branches are isolated or not; the model is as before at its end.

    isolated  whether no token sees a token of another branch
    """
    before = model.isolated
    model.isolated = isolated
    try:
        yield
    finally:
        model.isolated = before


def round_measures(numbers: dict[str, float]) -> dict[str, float]:
    """Return numbers with five digits after the point, as they are stored."""
    return {name: round(value, 5) for name, value in numbers.items()}


def evaluate_gaps(model: Transformer, corpus: Corpus, counts: Sequence[int]) -> dict[str, float]:
    """Measure the loss of a text alone, and how much higher it is among n, for each n of counts: nats."""
    alone = parallel_loss(model, corpus.val, 1, LENGTH)
    gaps = {f"gap {n}": parallel_loss(model, corpus.val, n, LENGTH) - alone for n in counts}
    return round_measures({"alone": alone, **gaps})


def evaluate_branches(model: Transformer, corpus: Corpus) -> dict[str, float]:
    """Measure the loss of a text alone and among others, and leakage with and without isolation.

    returns  name of the number -> nats per character
    """
    numbers = evaluate_gaps(model, corpus, COUNTS)
    for name, isolated in (("leak, isolated", True), ("leak", False)):
        with isolation(model, isolated):
            numbers[name] = parallel_texts.leakage(model, corpus.val, 2, LENGTH)
    return round_measures(numbers)


@torch.inference_mode()
def evaluate_echo(model: Transformer, corpus: Corpus) -> dict[str, float]:
    """Measure the loss of either branch of `Echo`, "ahead" and "behind", by the open mask and isolated."""
    batch = echoes(evenly_spaced_texts(corpus.val, 64, LENGTH))
    batch = BranchBatch(*(part.to(next(model.parameters()).device) for part in batch))
    losses: dict[str, float] = {}
    for mask, isolated in ((", isolated", True), ("", False)):
        with isolation(model, isolated):
            token_losses = branch_losses(model, batch)
        losses |= {
            f"{end}{mask}": float(token_losses[batch.branch == b].mean())
            for b, end in enumerate(("ahead", "behind"))
        }
    return round_measures(losses)


def split_gaps(model: Transformer, corpus: Corpus) -> dict[str, float]:
    """Split the gap at four and at eight: a text's own tag, and the texts that it shares a sequence with.

    returns  "own 4", "company 4", "own 8", "company 8"; nats per character, own + company = gap
    """
    parts = {n: parallel_texts.split_gap(model, corpus.val, n, LENGTH) for n in COUNTS[1:]}
    return round_measures(
        {f"{name} {n}": x for n, part in parts.items() for name, x in part._asdict().items()}
    )


def stream_similarity(model: Transformer, corpus: Corpus, n_texts: int = 8) -> dict[str, float]:
    """Measure how alike two branches that hold the same text are in the residual stream.

    returns  "stream 0" after the embedding, "stream 1", ... after each block: mean cosine over some texts
    """
    texts = evenly_spaced_texts(corpus.val, n_texts, LENGTH)[:, :-1]
    similarity = np.mean([parallel_texts.layer_similarity(model, text, 2)[:, 0, 1] for text in texts], axis=0)
    return round_measures({f"stream {layer}": float(value) for layer, value in enumerate(similarity)})


def unknown_words(model: Transformer, corpus: Corpus, n_texts: int = 24) -> dict[str, float]:
    """Measure the share of words unknown to the corpus among those that branches write side by side.

    Each branch goes on from half a text of the validation part, to the end of the window, at temperature 1.

    returns  "unknown 2", "unknown 4", and "unknown 2, isolated" by the isolation mask; of all their words
    """
    vocabulary = set(words(corpus.tokenizer.decode(corpus.train)))
    prompts = evenly_spaced_texts(corpus.val, n_texts, LENGTH // 2)[:, :-1]
    shares = {}
    for name, n, isolated in (("2, isolated", 2, True), ("2", 2, False), ("4", 4, False)):
        draw, written = torch.Generator().manual_seed(0), list[str]()
        for group in prompts.split(n):
            with isolation(model, isolated):
                rows = generate_parallel(model, list(group), BLOCK_SIZE - LENGTH // 2, generator=draw)
            for ids in rows:
                added = corpus.tokenizer.decode(ids[LENGTH // 2 :])
                # The first word may have begun before, and the last one may go on.
                written += words(added)[1:-1]
        shares[f"unknown {name}"] = sum(word not in vocabulary for word in written) / len(written)
    return round_measures(shares)


def with_stride(code: Code, stride: int) -> Code:
    """Return a code at another stride, its table long enough for eight branches."""
    version, options = code
    longer = {"max_positions": 8 * stride} if "max_positions" in options else {}
    return version, {**options, "stride": stride, **longer}


def branch_plans(steps: int) -> dict[str, tuple[Code, list[Phase]]]:
    """Return every run by name, "training: code": its code, and the phases it is trained in."""
    half, two, four = steps // 2, Phase(steps, 2, 2), Phase(steps, 4, 4)
    ways = {"up to eight": Phase(steps, 1, 8), "two": two, "two of eight numbers": Phase(steps, 2, 2, 8)}
    ways |= {"four": four} | {f"{n} at a time": Phase(steps, n, n, None, TEXTS) for n in AT_A_TIME}
    trained = {**TRAINED, **{f"{n} at a time": RIVALS for n in AT_A_TIME}}
    runs = {f"{way}: {code}": (CODES[code], [ways[way]]) for way, codes in trained.items() for code in codes}
    warm_up = [Phase(half, 1, 1), four._replace(steps=steps - half)]
    runs["four, warmed up: Fourier"] = (CODES["Fourier"], warm_up)
    runs["stride 1: Fourier, learnable"] = (with_stride(CODES["Fourier, learnable"], 1), [two])
    runs[ISOLATED] = (CODES["none"], runs["16 at a time: Fourier"][1])
    return {**runs, ECHO: (CODES["Fourier"], [two])}


def measure_branches(workers: Workers, scale: StudySize = SCALE) -> Results:
    """Train and evaluate every run of `branch_plans` from every seed.

    returns  settings, and {"runs": name -> {"alone": one number a seed, "gap 2": ..., "leak": ...}}
    """
    corpus, planned = load_corpus("plain-tales", scale.n_chars), branch_plans(scale.steps)

    def run(name: str, seed: int) -> dict[str, float]:
        code, phases = planned[name]
        model = build_branches(corpus, code, seed)
        model.isolated = name == ISOLATED
        kind = Echo if name == ECHO else Branches
        train_phases(model, corpus, phases, seed, f"{name}, seed {seed}", kind)
        if name == ECHO:
            return evaluate_echo(model, corpus)
        if "at a time" in name:
            return evaluate_gaps(model, corpus, [n for n in (phases[0].most,) if n > 1])
        numbers = evaluate_branches(model, corpus)
        if name in {f"two: {code}" for code in RIVALS}:
            numbers |= (
                split_gaps(model, corpus) | stream_similarity(model, corpus) | unknown_words(model, corpus)
            )
        if name == "two: 2-D RoPE":  # its weights, in a model with another code
            fourier = build_branches(corpus, CODES["Fourier"], seed=0)
            fourier.load_state_dict(model.state_dict())
            numbers["alone, as Fourier"] = round(parallel_loss(fourier, corpus.val, 1, LENGTH), 5)
        return numbers

    settings = {**scale.settings(), "block_size": BLOCK_SIZE, "length": LENGTH, "floor": corpus.floor}
    return {**settings, "runs": sweep(planned, scale.seeds, run, workers)}


# ---------------------------------------------------------------- of stored results


def losses_among(results: Results, run: str, n: int) -> list[float]:
    """Return the loss among n texts (1: alone) of a run: nats per character, one value a seed."""
    losses = results["runs"][run]
    gap_by_seed = losses[f"gap {n}"] if n > 1 else [0.0] * len(losses["alone"])
    return [loss + more for loss, more in zip(losses["alone"], gap_by_seed, strict=True)]


def branch_gaps(results: Results, trained: str, part: str = "gap") -> dict[str, dict[str, list[float]]]:
    """Return the gaps after one way of training, by code and number of branches.

    trained  what the runs' names begin with, such as "two"
    part     "gap", or "own": what a text alone pays for the tag that it has in such a sample
    returns  code -> number of branches -> one value a seed; nothing for a code that was not trained so
    """
    runs = {code: results["runs"].get(f"{trained}: {code}", {}) for code in CODES}
    return {
        code: {str(n): numbers[f"{part} {n}"] for n in COUNTS if f"{part} {n}" in numbers}
        for code, numbers in runs.items()
    }


def table(results: Results) -> str:
    """Return NUMBERS of all runs as Markdown, with the command that made them and the time it took."""
    head = (
        f"`{results['command']}`, {results['minutes']:.0f} minutes; nats per character, mean ± standard "
        f'deviation over {len(results["seeds"])} seeds, {results["steps"]} steps. Runs "at a time" had '
        f"{TEXTS} texts in every step, the same texts whatever shared a sequence. {RULE}\n\n"
    )
    rows = [
        (run, *(format_mean_sd(mean_sd(numbers.get(key, []))) for key in NUMBERS))
        for run, numbers in results["runs"].items()
        if run != ECHO
    ]
    return head + markdown(("trained on: code", *NUMBERS), rows)


def gap_titles(results: Results) -> dict[str, str]:
    """Return a panel's title for each way of training: the range of all its runs, seed by seed."""
    up_to_eight, two, any_two = (
        branch_gaps(results, way) for way in ("up to eight", "two", "two of eight numbers")
    )
    coded = [
        x
        for code, gaps_of_code in up_to_eight.items()
        if gaps_of_code and code != "none"
        for x in gaps_of_code["8"]
    ]
    added = [
        x for code, gaps_of_code in two.items() if code not in ("none", "2-D RoPE") for x in gaps_of_code["4"]
    ]
    turned, any_number = (
        two["2-D RoPE"]["4"],
        [x for gaps_of_code in any_two.values() if gaps_of_code for x in gaps_of_code["8"]],
    )
    return {
        "up to eight": f"Trained on 1 to 8: eight cost up to\n{max(coded):.2f}, without a code "
        f"{min(up_to_eight['none']['8']):.2f} or more",
        "two": f"Trained on 2: four cost {min(added):.2f} to {max(added):.2f}\nunder added codes, "
        f"{min(turned):.2f} to {max(turned):.2f} turned",
        "two of eight numbers": f"Trained on any 2 of 8 numbers:\neight cost {max(any_number):.2f} at most",
    }


def draw_branches(figure: Figure, results: Results) -> None:
    """Draw the gap under each branch code, trained in three ways; rings: the part of the own tag."""
    axes = figure.subplots(1, 3, sharex=True, sharey=True)
    for ax, (trained, title) in zip(axes, gap_titles(results).items(), strict=True):
        draw_gaps(ax, branch_gaps(results, trained), title, branch_gaps(results, trained, "own"))
        ax.get_legend().remove()  # one legend does for the three
    axes[0].set_ylim(len(CODES) - 0.4, -0.6)  # no room for it inside
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
