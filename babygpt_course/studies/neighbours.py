"""Study of the cure: models that are given the token before each token, with controls.

The hypothesis: v4 knows the right name and cannot write it, because a letter does not tell which letter
stands before it, and layer 1 needs many steps to store that. So v4 should write names early if it is given
the token before each token for nothing. The same weights spent elsewhere should change little.
"""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

import torch
import torch.nn.functional as F
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor, nn

from babygpt import NextToken, Positions, TrainConfig, build, load_corpus, metrics, train
from babygpt.data.corpus import Corpus
from babygpt.device import pick_device
from babygpt.encodings import Rotary, TokenShift
from babygpt.experiments.paired import (
    Comparison,
    compare_shares,
    differences,
    percent,
    sign_test,
    table_head,
)
from babygpt.experiments.sweep import (
    CONFIRMING_SEEDS,
    StudySize,
    Workers,
    finish,
    questions,
    small_config,
    sweep,
    train_with_curve,
)
from babygpt.models.language_model import LanguageModel
from babygpt.objectives import Objective
from babygpt.tables import markdown
from babygpt_course.studies.board import RUNGS, WORLD, SingleBranch
from babygpt_course.studies.clicks import (
    LEAST,
    MODELS,
    STOPS,
    click_step,
    count_spelling,
    require_same_settings,
)
from babygpt_course.studies.needed_heads import PromptRows, dissect_answers
from babygpt_course.studies.results import Results
from babygpt_course.studies.seed_plots import draw_seed_dots
from babygpt_course.studies.spelling import (
    LETTERS,
    SecondLetterRows,
    change_given,
    dissect_spelling,
    given_to_layer,
    second_letter_rows,
    second_letters,
    vowel_shares,
)
from babygpt_live import ENCODING_COLOURS, set_labels

SCALE = StudySize(steps=1800, seeds=CONFIRMING_SEEDS)
EVERY = 100  # steps between two measurements
FEW = 100  # questions between the steps
PLAIN = "nothing"
BEFORE = "the token before"
# What a model is given besides its encoding: a name -> the number of tokens back.
SHIFTS = {BEFORE: 1, "the token itself": 0, "the token two before": 2, "the token five before": 5}
KEYS, LAYERS = "keys of the token before", "a vector in each layer"
GIFTS = (PLAIN, *SHIFTS, KEYS, LAYERS)
# Which model, and what it is given. Short runs have all controls, and long ones the time of the click.
SHORT = (*(("v4", gift) for gift in GIFTS), *(("nope", gift) for gift in (PLAIN, *SHIFTS)))
LONG = (
    *((name, gift) for name in ("v4", "nope", "v3", "alibi") for gift in (PLAIN, BEFORE)),
    ("v4", "the token two before"),
    *((name, gift) for name in ("v5 fixed", "learned", "pope", "v6") for gift in (PLAIN, BEFORE)),
)
NAMES = {**MODELS, "v6": "branches"}
DRAWN = ("v4", "nope", "v3", "alibi")  # models whose long runs are drawn
SOON = 1200  # step at which the study of clicks had suggested that RoPE is late
DISSECTED = (PLAIN, BEFORE, "the token two before")  # gifts after which v4 is dissected
Variant = tuple[str, str, int]  # model, gift, steps
SETTINGS = (
    "device",
    "threads",
    "instructions",
    "commit",
    "steps",
    "short_steps",
    "seeds",
    "block_size",
    "at",
)


class SmearedKeys(Rotary):
    """RoPE whose keys also carry the key of the token before, times a trained weight for each channel.

    Layers share the weights. They begin at 0.

    head_dim, n_head  of the model, whose width is their product
    Source: Olsson et al. 2022, arXiv:2209.11895 (smeared keys; there each head has one weight).
    """

    cacheable = False  # A cache does not hold the key of the token before without its rotation.

    def __init__(self, head_dim: int, n_head: int) -> None:
        super().__init__(head_dim)
        self.smear = nn.Parameter(torch.zeros(n_head, 1, head_dim))

    def transform_qk(self, q: Tensor, k: Tensor, positions: Positions) -> tuple[Tensor, Tensor]:
        before = F.pad(k[:, :, :-1], (0, 0, 1, 0))  # (B, H, T, D)
        return super().transform_qk(q, k + self.smear * before, positions)


def give(model: LanguageModel, gift: str) -> None:
    """Change an untrained model, so that it is given one of GIFTS; its outputs stay as they are at first.

    A gift has as many weights as the model has channels; a vector in each layer has this many in each layer.
    """
    config = model.config
    if gift in SHIFTS:
        kind = type(model.encoding)
        # The encoding becomes one of a class that shifts the tokens before its own embed sees them.
        model.encoding.__class__ = type(f"Shifted{kind.__name__}", (TokenShift, kind), {})
        model.encoding.add_shift(config.n_embd, SHIFTS[gift])  # type: ignore[operator]
    elif gift == KEYS:
        model.encoding = SmearedKeys(config.head_dim, config.n_head)
    elif gift == LAYERS:
        vectors = nn.ParameterList([nn.Parameter(torch.zeros(config.n_embd)) for _ in range(config.n_layer)])
        model.encoding.vectors = vectors
        for block, vector in zip(model.blocks, vectors, strict=True):  # type: ignore[arg-type]
            block.register_forward_pre_hook(lambda _, inputs, own=vector: (inputs[0] + own, *inputs[1:]))


@torch.inference_mode()
def vowels_after_exchange(model: LanguageModel, rows: SecondLetterRows, letter: int) -> dict[str, float]:
    """Predict vowels where layer 1 reads, at one letter of the name, what it reads there in the twin.

    letter   of the name in the story, counted from 0; LETTERS is the character behind the name
    returns  "kept" and "exchanged": `vowel_shares`
    """
    place = torch.arange(len(rows.ids)), rows.mention + letter
    twins = given_to_layer(model, 0, rows.twins)

    def exchange(_: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        x = inputs[0].clone()
        x[place] = twins[place]
        return x, *inputs[1:]

    with change_given(model, 0, exchange):
        return vowel_shares(rows, second_letters(model, rows))


def measure_shares(model: LanguageModel, corpus: Corpus, quiz: Sequence[Any]) -> tuple[float, float]:
    """Return the shares of right answers, where two names are compared, and of names written."""
    answers = metrics.role_accuracy(model, corpus.tokenizer, quiz)
    return round(answers, 4), round(metrics.whole_answer_accuracy(model, corpus.tokenizer, quiz), 4)


def measure_end(model: LanguageModel, corpus: Corpus, quiz: Sequence[Any], block_size: int) -> Results:
    """Measure a trained model.

    returns  "known" and "written": `measure_shares` of all questions; "loss": of the whole validation text,
             nats per character; "letter_losses": of each letter of the right names, the end sign last, nats
    """
    answers, written = measure_shares(model, corpus, quiz)
    loss = metrics.loss_by_position(model, corpus.val, block_size, len(corpus.val) // block_size).mean()
    letter_losses = metrics.answer_losses(model, corpus.tokenizer, quiz)
    return {
        "known": answers,
        "written": written,
        "loss": round(float(loss), 4),
        "letter_losses": [round(float(x), 4) for x in letter_losses],
    }


def measure_neighbours(
    workers: Workers,
    scale: StudySize = SCALE,
    every: int = EVERY,
    short: Sequence[tuple[str, str]] = SHORT,
    long: Sequence[tuple[str, str]] = LONG,
) -> Results:
    """Train models with and without the token before, from seeds that nobody has looked at.

    Short runs have a third of the steps: with the study's size as many as the board's.

    returns  settings; "at": steps of the measurements of a long run; "short", "long": model, gift -> what was
             measured, one a seed, as `measure_end` and `measure_curve` name it
    """
    corpora = {masks: load_corpus(WORLD, scale.n_chars, with_mask=masks) for masks in (False, True)}
    corpus, block_size = corpora[False], scale.block_size
    config, quiz = small_config(corpus, block_size), questions(corpus, block_size, scale.n_questions)
    letter_rows, fewer = second_letter_rows(corpus, quiz), quiz[: len(quiz) // 2]
    prompt_rows = PromptRows(corpus, fewer)
    rungs = {rung.name: rung for rung in RUNGS}
    steps, short_steps = [*range(every, scale.steps, every), scale.steps], max(1, scale.steps // 3)

    def start(name: str, gift: str, seed: int) -> tuple[LanguageModel, Objective]:
        torch.manual_seed(seed)
        rung = rungs[name]
        model = build(rung.version, config, **rung.options)
        give(model, gift)
        objective = rung.objective(corpora, block_size) if name == "v6" else NextToken(corpus, block_size)
        return model, objective

    def run(variant: Variant, seed: int) -> Results:
        name, gift, n_steps = variant
        model, objective = start(name, gift, seed)
        plan, title = TrainConfig(n_steps, seed=seed), f"{name} with {gift}, seed {seed}"
        reader = SingleBranch(model) if name == "v6" else model
        numbers: Results = {}
        if n_steps == short_steps:
            finish(train(model.to(pick_device()), objective, plan), n_steps, title)
        else:

            def measure(_: LanguageModel) -> tuple[float, float]:
                return measure_shares(reader, corpus, quiz[:FEW])

            curve, _ = train_with_curve(model, objective, plan, title, every, measure)
            curve = [*curve[: len(steps) - 1], measure_shares(reader, corpus, quiz)]
            numbers = dict(zip(("answers", "spells"), zip(*curve, strict=True), strict=True))
        numbers |= measure_end(reader, corpus, quiz, block_size)
        if name == "v4" and gift in DISSECTED and n_steps == scale.steps:
            numbers["spelling"] = dissect_spelling(model, letter_rows)
            numbers["letters"] = [vowels_after_exchange(model, letter_rows, i) for i in range(LETTERS + 1)]
            numbers["heads"] = dissect_answers(
                model, lambda m: metrics.role_accuracy(m, corpus.tokenizer, fewer), prompt_rows
            )
        return numbers

    variants = [
        *((name, gift, short_steps) for name, gift in short),
        *((name, gift, scale.steps) for name, gift in long),
    ]
    finished = sweep(variants, scale.seeds, run, workers)
    by_length = {
        length: {
            f"{name}, {gift}": finished[name, gift, n_steps]
            for name, gift in pairs
            if (name, gift, n_steps) in finished
        }
        for length, n_steps, pairs in (("short", short_steps, short), ("long", scale.steps, long))
    }
    return {**scale.settings(), "short_steps": short_steps, "at": steps, **by_length}


def join_runs(stored: Results, new: Results) -> Results:
    """Return stored results with the runs that another call of the command made.

    Raises BadInput if the two differ in anything but their runs.
    """
    require_same_settings(stored, new, SETTINGS)
    minutes = round(stored["minutes"] + new["minutes"], 1)
    runs = {}
    for length, pairs in (("short", SHORT), ("long", LONG)):
        both = stored[length] | new[length]
        names = (f"{name}, {gift}" for name, gift in pairs)
        runs[length] = {name: both[name] for name in names if name in both}
    return {**new, "command": new["command"].split(" --only")[0], "minutes": minutes, **runs}


# ---------------------------------------------------------------- of stored results


def spelling_clicks(results: Results) -> dict[str, list[float]]:
    """Return the step from which on each seed spells in a long run: model, gift -> steps, or infinity."""
    return {
        name: [click_step(results["at"], shares, LEAST["spells"]) for shares in numbers["spells"]]
        for name, numbers in results["long"].items()
    }


def in_words(name: str) -> str:
    """Return "RoPE with the token before" for "v4, the token before"."""
    model, gift = name.split(", ")
    return f"{NAMES[model]} with {gift}" if gift != PLAIN else f"{NAMES[model]} alone"


def compare_written(results: Results, name: str) -> Comparison | None:
    """Compare the names that a model writes with and without its gift, after a short run, in points.

    returns  None for a model without a gift, or if its runs without a gift are missing
    """
    plain = f"{name.split(', ')[0]}, {PLAIN}"
    if name == plain or plain not in results["short"]:
        return None
    written = (results["short"][row]["written"] for row in (name, plain))
    return compare_shares(differences(*written))


def written_gap(results: Results, name: str) -> str:
    """Return how many more names a model writes than without its gift, after a short run, in points."""
    comparison = compare_written(results, name)
    return f"{comparison:+.0f}" if comparison else ""


def short_rows(results: Results) -> list[tuple[str, ...]]:
    """Return the rows of short runs: names written, seeds that spell, the gap, answers, and losses."""
    rows = list[tuple[str, ...]]()
    for name, numbers in results["short"].items():
        written = sorted(numbers["written"], reverse=True)
        vowel = [letters[1] for letters in numbers["letter_losses"]]
        rows.append(
            (
                in_words(name),
                " ".join(f"{100 * share:.0f}" for share in written),
                str(count_spelling(written)),
                written_gap(results, name),
                f"{100 * min(numbers['known']):.0f} to {100 * max(numbers['known']):.0f}",
                f"{min(vowel):.2f} to {max(vowel):.2f}",
                f"{sum(numbers['loss']) / len(numbers['loss']):.3f}",
            )
        )
    return rows


def long_rows(results: Results) -> list[tuple[str, ...]]:
    """Return the rows of long runs: seeds that spell by some steps, each seed's click, and the sign test."""
    clicks, rows = spelling_clicks(results), []
    stops = [stop for stop in STOPS if stop <= results["steps"]]
    for name, steps in clicks.items():
        plain = clicks.get(f"{name.split(', ')[0]}, {PLAIN}", steps)
        chances = [
            f"{sign_test([x <= stop for x in steps], [x <= stop for x in plain]):.4f}" for stop in stops
        ]
        rows.append(
            (
                in_words(name),
                *(str(sum(step <= stop for step in steps)) for stop in stops),
                " ".join(f"{step:,}" if step < inf else "–" for step in sorted(steps)),
                "" if steps is plain else " ".join(chances),
            )
        )
    return rows


def table(results: Results) -> str:
    """Return as Markdown what each gift changes, after short runs and along long ones."""
    head = (
        f"{table_head(results)}\n\nA model spells if it writes at least {LEAST['spells']:.0%} of the names. "
        f"After {results['short_steps']} steps:\n\n"
    )
    stops = [f"by step {stop:,}" for stop in STOPS if stop <= results["steps"]]
    short_heading = (
        "model",
        "names written, each seed (%)",
        "seeds that spell",
        "more names than alone (points)",
        "right answers (%)",
        "loss of the second letter (nats)",
        "loss (nats per character)",
    )
    long_heading = ("model", *stops, "each seed spells from", "chance of such a count at each of these steps")
    short = f"{head}{markdown(short_heading, short_rows(results))}"
    if not results["long"]:
        return short
    return (
        f"{short}\nOne schedule of {results['steps']:,} steps, "
        f"seeds that spell:\n\n{markdown(long_heading, long_rows(results))}"
    )


def draw_neighbours(figure: Figure, results: Results) -> None:
    """Draw the names that each seed writes with each gift, and how many seeds spell by each step."""
    if not results["long"]:  # The long runs are made later.
        draw_gifts(figure.subplots(), results, [*results["short"]], dots_title(results))
        return
    dots, counts = figure.subplots(1, 2, width_ratios=(5, 6))
    draw_gifts(dots, results, [*results["short"]], dots_title(results))
    clicks = {name: steps for name, steps in spelling_clicks(results).items() if name.split(", ")[0] in DRAWN}
    alone = {NAMES[name]: clicks.get(f"{name}, {PLAIN}", ()) for name in ("v4", "alibi")}
    soon = [f"{sum(step <= SOON for step in steps)} with {model}" for model, steps in alone.items() if steps]
    title = f"By step {SOON:,} seeds spell: {', '.join(soon)} alone"
    draw_spelling_counts(counts, clicks, results, title)


def draw_gifts(ax: Axes, results: Results, names: Sequence[str], title: str) -> None:
    """Draw the names that each seed writes after a short run, in per cent.

    names  of rows, such as "v4, the token before"; behind each stands how many more names are written than
           without the gift, in points, with its 99% interval
    """
    written = {in_words(name): results["short"][name]["written"] for name in names}
    gaps = {in_words(name): compare_written(results, name) for name in names}
    # Adding 0.0 turns -0.0 into 0.0, which has no minus sign.
    notes = {
        label: "{:+.0f} ({:+.0f} to {:+.0f})".format(*(round(x) + 0.0 for x in (gap.mean, gap.low, gap.high)))
        for label, gap in gaps.items()
        if gap and gap.n > 1  # A single seed has no interval.
    }
    draw_seed_dots(ax, percent(written), title, "names written (%)", span=(-3.0, 150.0), notes=notes)
    ax.set_xticks(range(0, 101, 25))


def dots_title(results: Results) -> str:
    """Return a title: how many seeds of v4 spell after a short run, alone and with the token before."""
    alone, given = (count_spelling(results["short"][f"v4, {gift}"]["written"]) for gift in (PLAIN, BEFORE))
    n = len(results["seeds"])
    steps = results["short_steps"]
    return f"After {steps} steps {alone} of {n} seeds spell with RoPE\nalone, {given} with the token before"


def draw_spelling_counts(
    ax: Axes, clicks: Mapping[str, Sequence[float]], results: Results, title: str
) -> None:
    """Draw how many seeds spell by each step: a solid line with the token before, a dashed one without."""
    styles = {PLAIN: "--", BEFORE: "-"}
    drawn = [name for name in clicks if name.split(", ")[1] in styles]
    for i, name in enumerate(drawn):
        model, gift = name.split(", ")
        counts = [0, *(sum(click <= step for click in clicks[name]) for step in results["at"])]
        raised = [count + 0.07 * (i - (len(drawn) - 1) / 2) for count in counts]
        colour, line = ENCODING_COLOURS.get(model, "black"), styles[gift]
        steps = [0, *results["at"]]
        ax.step(steps, raised, line, where="post", lw=2, color=colour, label=in_words(name))
    n = len(results["seeds"])
    ax.set_ylim(-0.9, n + 0.9)
    set_labels(ax, title, "step", f"seeds that spell, of {n}")
    ax.legend(fontsize=9)
