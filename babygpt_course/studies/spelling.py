"""Study of who spells: which heads write the second letter of a name, before and after a seed learns it.

The hypothesis: layer 1 stores in each letter which letter stands before it, and layer 2 reads the wanted
letter from the place behind it. So, when the second letter of a name is predicted, a head of layer 2 looks at
the *third* letter of the name in the story, to which a head of layer 1 has told the vowel before it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from babygpt import NextToken, TrainConfig, build, load_corpus, metrics
from babygpt.data.corpus import Corpus
from babygpt.data.stories import Question
from babygpt.experiments.sweep import StudySize, Workers, questions, small_config, sweep, train_with_curve
from babygpt.metrics.inspection import (
    each_weights,
    hooks_in_this_thread,
    with_heads,
    without_heads,
    write_at,
    written_by_heads,
)
from babygpt.models.language_model import LanguageModel
from babygpt_course.studies.board import WORLD
from babygpt_course.studies.clicks import EVERY, LEAST, click_step
from babygpt_course.studies.results import Results
from babygpt_live import COLOURS, set_labels
from babygpt_live.panel import format_percent

if TYPE_CHECKING:  # A learner's first cell would wait for Matplotlib.
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

VERSION = "v4"
SCALE = StudySize(steps=1800, n_questions=200)
FEW = 100  # questions between the steps, which find the click
BEFORE = 150  # steps before the click
VOWELS = "aeiou"
STAGES = ("before", "click", "end")
LETTERS = 4  # A name has four: consonant, vowel, l or r, a.
ShareFunctions = Mapping[
    str, Callable[[dict[str, Any]], float]
]  # name -> number of what `dissect_spelling` returns


@dataclass(frozen=True)
class SecondLetterRows:
    """Questions as rows of tokens that end with the right first letter, so that the second is predicted next.

    ids      (Q, T)  token ids, filled up on the right
    last     (Q,)  place of the first letter of the answer
    mention  (Q,)  place of the right name in the story
    vowel    (Q,)  token of its second letter
    twin_vowel  (Q,)  token of the vowel that stands there in `twins`
    twins    (Q, T)  the same rows with another vowel in the story's right name
    """

    ids: Tensor
    last: Tensor
    mention: Tensor
    vowel: Tensor
    twin_vowel: Tensor
    twins: Tensor


def second_letter_rows(corpus: Corpus, quiz: Sequence[Question]) -> SecondLetterRows:
    """Return questions whose right name stands once in the prompt, with their twins."""
    quiz = [q for q in quiz if q.prompt.count(q.answer) == 1]
    encode, length = corpus.tokenizer.encode, max(len(q.prompt) for q in quiz) + 1
    rows: dict[str, list[Any]] = {
        name: [] for name in ("ids", "last", "mention", "vowel", "twin_vowel", "twins")
    }
    for i, q in enumerate(quiz):
        start, vowel = q.prompt.index(q.answer), q.answer[1]
        twin_vowel = VOWELS[(VOWELS.index(vowel) + 1 + i % 4) % 5]
        twin = q.prompt[: start + 1] + twin_vowel + q.prompt[start + 2 :]
        for name, prompt in (("ids", q.prompt), ("twins", twin)):
            text = encode(prompt + q.answer[0])
            rows[name].append(torch.nn.functional.pad(text, (0, length - len(text))))
        rows["last"].append(torch.tensor(len(q.prompt)))
        rows["mention"].append(torch.tensor(start))
        rows["vowel"].append(encode(vowel)[0])
        rows["twin_vowel"].append(encode(twin_vowel)[0])
    return SecondLetterRows(**{name: torch.stack(values) for name, values in rows.items()})


def second_letters(model: LanguageModel, rows: SecondLetterRows) -> Tensor:
    """Return the likeliest second letter after each question: (Q,) token ids."""
    device = next(model.parameters()).device
    logits = model(rows.ids.to(device))
    return logits[torch.arange(len(rows.ids)), rows.last.to(device)].argmax(dim=-1).cpu()


@torch.inference_mode()
def look(model: LanguageModel, rows: SecondLetterRows) -> tuple[np.ndarray, np.ndarray]:
    """Return how much of their attention heads give to letters of the right name, averaged over questions.

    returns  (L, H, 4) from the answer's first letter to each letter of the name in the story, and (L, H) from
             the name's third letter to its second
    """
    row_numbers = torch.arange(len(rows.ids))
    weights = torch.stack(each_weights(model, rows.ids, Tensor.cpu))  # (L, Q, H, T, T)
    to_name = [weights[:, row_numbers, :, rows.last, rows.mention + i].mean(dim=0) for i in range(LETTERS)]
    back = weights[:, row_numbers, :, rows.mention + 2, rows.mention + 1].mean(dim=0)
    return torch.stack(to_name, dim=-1).numpy(), back.numpy()


@torch.inference_mode()
def second_letters_exchanged(
    model: LanguageModel,
    rows: SecondLetterRows,
    twins: Tensor,
    letters: Sequence[int],
    heads: Iterable[int] | None = None,
) -> Tensor:
    """Return the likeliest second letters if heads of layer 1 write what they write in other stories.

    twins    (Q, T)  token ids of these stories
    letters  of the name in the story, counted from 0: at these places only
    heads    counted from 0; all by default
    returns  (Q,) token ids
    """
    written = written_by_heads(model, twins)[0]  # (Q, T, H, D)
    there = torch.zeros(rows.ids.shape, dtype=torch.bool)
    there.scatter_(1, rows.mention[:, None] + torch.tensor(letters), True)
    chosen = range(model.config.n_head) if heads is None else heads
    with with_heads(model, {(0, head): write_at(there, written[:, :, head]) for head in chosen}):
        return second_letters(model, rows)


@torch.inference_mode()
def given_to_layer(model: LanguageModel, layer: int, ids: Tensor) -> Tensor:
    """Return what a layer, counted from 0, is given when the model reads texts: (B, T) ids -> (B, T, C)."""
    given = list[Tensor]()
    with change_given(model, layer, lambda _, inputs: given.append(inputs[0])):
        model(ids.to(next(model.parameters()).device))
    return given[0]


def change_given(
    model: LanguageModel, layer: int, change: Callable[..., Any]
) -> AbstractContextManager[None]:
    """Let a function see, and change, what a layer is given within a `with`.

    layer   counted from 0
    change  takes the block and its inputs, (x, context); returns other inputs, or None to leave them
    """
    block: nn.Module = model.blocks[layer]  # type: ignore[index,assignment]
    return hooks_in_this_thread([(block.register_forward_pre_hook, change)])


def vowel_shares(rows: SecondLetterRows, predicted: Tensor, twin: str = "exchanged") -> dict[str, float]:
    """Return the shares of questions after which the vowel of the story is predicted, and that of the twin.

    predicted  (Q,)  token ids
    twin       what the second share is called; the first is "kept"
    """
    vowels = {"kept": rows.vowel, twin: rows.twin_vowel}
    return {name: true_share(predicted == vowel) for name, vowel in vowels.items()}


def patch_letters(
    model: LanguageModel, rows: SecondLetterRows, heads: Iterable[int] | None, *letters: int
) -> dict[str, float]:
    """Exchange what heads of layer 1 write at letters of the name by what they write in the twin.

    heads    counted from 0; None for all
    letters  of the name in the story, counted from 0: at these places only
    returns  "kept" and "exchanged": `vowel_shares`
    """
    return vowel_shares(rows, second_letters_exchanged(model, rows, rows.twins, letters, heads))


def true_share(right: Tensor) -> float:
    """Return the share of true values, to four digits."""
    return round(float(right.float().mean()), 4)


@torch.inference_mode()
def dissect_spelling(model: LanguageModel, rows: SecondLetterRows) -> dict[str, Any]:
    """Measure which heads write the second letter of a name.

    returns  "second": share of right second letters; "looks" and "back" as `look`; "without": the same share
             without each head, (L, H), and "pairs" without a head of each layer, (H, H); "writer": the head
             of layer 1 by which the third letter looks most at the second; "patched": letter of the name ->
             `patched` for the writer, and "others": for all other heads of layer 1 at the third letter
    """
    looks, back = look(model, rows)
    n = model.config.n_head

    def right(silent: Sequence[tuple[int, int]]) -> float:
        with without_heads(model, silent):
            return true_share(second_letters(model, rows) == rows.vowel)

    writer = int(back[0].argmax())
    return {
        "second": right([]),
        "looks": looks.astype(float).round(4).tolist(),
        "back": back.astype(float).round(4).tolist(),
        "without": [[right([(layer, head)]) for head in range(n)] for layer in range(2)],
        "pairs": [[right([(0, first), (1, second)]) for second in range(n)] for first in range(n)],
        "writer": writer,
        "patched": [patch_letters(model, rows, [writer], letter) for letter in range(LETTERS)],
        "others": patch_letters(model, rows, set(range(n)) - {writer}, 2),
    }


def measure_spelling(workers: Workers, scale: StudySize = SCALE, every: int = EVERY) -> Results:
    """Train v4 as the study of clicks does, and dissect it before, at and after the step at which it spells.

    returns  settings; "at": steps of the measurements; "spells": share of whole names written, one list a
             seed; "stages": for each seed {stage: `dissect_spelling`, with its "step"}. A seed that does not
             spell by the end has "end" only.
    """
    corpus, block_size = load_corpus(WORLD, scale.n_chars), scale.block_size
    few = questions(corpus, block_size, FEW)
    rows = second_letter_rows(corpus, questions(corpus, block_size, scale.n_questions))
    config, objective = small_config(corpus, block_size), NextToken(corpus, block_size)
    steps = [*range(every, scale.steps + 1, every)]

    def run(name: str, seed: int) -> Results:
        torch.manual_seed(seed)
        model, plan = build(name, config), TrainConfig(scale.steps, seed=seed)
        weights = list[dict[str, Tensor]]()

        def measure(model: LanguageModel) -> float:
            weights.append(copy.deepcopy(model.state_dict()))
            return round(metrics.whole_answer_accuracy(model, corpus.tokenizer, few), 4)

        spells, _ = train_with_curve(model, objective, plan, f"{name}, seed {seed}", every, measure)
        click = click_step(steps, spells, LEAST["spells"])
        stage_steps = {"end": steps[-1]}
        if click < inf:
            stage_steps |= {"before": max(every, int(click) - BEFORE), "click": int(click)}
        stages = {}
        for stage in STAGES:
            if stage in stage_steps:
                model.load_state_dict(weights[steps.index(stage_steps[stage])])
                stages[stage] = {"step": stage_steps[stage], **dissect_spelling(model, rows)}
        return {"spells": spells, "stages": stages}

    numbers = sweep([VERSION], scale.seeds, run, workers)[VERSION]
    return {**scale.settings(), "at": steps, "questions": len(rows.ids), **numbers}


# ---------------------------------------------------------------- of stored results


def find_reader(dissection: dict[str, Any]) -> int:
    """Return the head of layer 2 that looks most at the second and the third letter of the name."""
    return int(np.array(dissection["looks"][1])[:, 1:3].sum(axis=1).argmax())


def without_reader(dissection: dict[str, Any]) -> float:
    """Return the share of right second letters without the reader."""
    return dissection["without"][1][find_reader(dissection)]


def without_other(dissection: dict[str, Any]) -> float:
    """Return the lowest share without another head of layer 2: the control."""
    return min(
        right for head, right in enumerate(dissection["without"][1]) if head != find_reader(dissection)
    )


def last_of(results: Results) -> dict[int, dict[str, Any]]:
    """Return what was dissected at the last step, and "names" that were written; the most names first."""
    triples = zip(results["seeds"], results["stages"], results["spells"], strict=True)
    seeds = {seed: {**stages["end"], "names": names[-1]} for seed, stages, names in triples}
    return dict(sorted(seeds.items(), key=lambda item: -item[1]["names"]))


def name_weight(dissection: dict[str, Any]) -> float:
    """Return the weight that the reader gives to the whole name when the second letter is due."""
    return float(sum(dissection["looks"][1][find_reader(dissection)]))


def draw_endings(ax: Axes, results: Results) -> None:
    """Draw how many names each seed writes, where its reader looks, and its vowels without the reader."""
    numbers: ShareFunctions = {
        "names written": lambda dissection: dissection["names"],
        "weight of one head of layer 2 on the name": name_weight,
        "right vowels without this head": without_reader,
    }
    seeds = last_of(results)
    n = sum(name_weight(dissection) > 0.5 for dissection in seeds.values())
    title = f"In {n} of {len(seeds)} seeds one head of layer 2 looks at the name, "
    draw_shares(ax, seeds, numbers, f"{title}and without it the vowel is a guess")


def draw_exchanged(ax: Axes, results: Results) -> None:
    """Draw what seeds that look at the name write if the vowel is exchanged at the name's third letter."""
    numbers: ShareFunctions = {
        "writes the vowel of the story": lambda dissection: dissection["patched"][2]["kept"],
        "weight of the head of layer 2 on the third letter": lambda dissection: dissection["looks"][1][
            find_reader(dissection)
        ][2],
        "writes the exchanged vowel": lambda dissection: dissection["patched"][2]["exchanged"],
    }
    _, weight, exchanged = numbers.values()
    looking = {seed: numbers for seed, numbers in last_of(results).items() if name_weight(numbers) > 0.5}
    seeds = dict(sorted(looking.items(), key=lambda item: -weight(item[1])))
    turned = [exchanged(dissection) for dissection in seeds.values() if weight(dissection) > 0.5] or [0.0]
    title = "Seeds that look mostly at the third letter write the vowel exchanged there "
    draw_shares(
        ax, seeds, numbers, f"{title}in {format_percent(min(turned))} to {format_percent(max(turned))}"
    )


def draw_shares(
    ax: Axes, seeds: Mapping[int, dict[str, Any]], numbers: ShareFunctions, title: str, x_label: str = ""
) -> None:
    """Draw a row for each seed, with a ring, a square and a dot for its three numbers, in per cent."""
    looks: list[dict[str, Any]] = [
        {"marker": "o", "mfc": "none", "mew": 2, "ms": 11, "color": COLOURS["grey"]},
        {"marker": "s", "ms": 8, "color": COLOURS["blue"]},
        {"marker": "o", "ms": 7, "color": COLOURS["red"]},
    ]
    for (label, number), look in zip(numbers.items(), looks, strict=True):
        ax.plot(
            [100 * number(dissection) for dissection in seeds.values()],
            range(len(seeds)),
            ls="",
            label=label,
            **look,
        )
    ax.axvline(100 / len(VOWELS), color="black", lw=1, ls="--", label="chance for a vowel")
    ax.set_yticks(range(len(seeds)), [f"seed {seed}" for seed in seeds])
    ax.set(xlim=(-3, 103), ylim=(len(seeds) - 0.4, -0.6))
    ax.xaxis.set_major_formatter("{x:.0f}%")
    set_labels(ax, title, x_label, "")
    below = -0.2 if x_label else -0.1
    ax.legend(loc="upper center", bbox_to_anchor=(0.4, below), ncols=2, fontsize=10, frameon=False)


def draw_spelling(figure: Figure, results: Results) -> None:
    """Draw which head writes the vowel, in all seeds at the last step, and what it takes it from."""
    reader_ax, vowel_ax = figure.subplots(1, 2)
    draw_endings(reader_ax, results)
    draw_exchanged(vowel_ax, results)
