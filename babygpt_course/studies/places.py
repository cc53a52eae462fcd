"""Study of how v4 finds the vowel: by the letter before it, or by the place of its name in the story.

A story names two animals, one before the verb and one after it. When the first letter of the right name is
given, the model has to find the vowel of this name, and not that of the other. A vowel of the story could
hold which letter stands before it, or which of the two places its name has. So we exchange what it holds by
what the same letter of the same name holds in another story, where one of the two differs.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor, nn

from babygpt import NextToken, TrainConfig, build, load_corpus
from babygpt.data.corpus import Corpus
from babygpt.data.stories import Question
from babygpt.experiments.paired import table_head
from babygpt.experiments.sweep import StudySize, Workers, questions, small_config, sweep, train_with_curve
from babygpt.models.language_model import LanguageModel
from babygpt.tables import markdown
from babygpt_course.studies.board import WORLD
from babygpt_course.studies.neighbours import BEFORE, EVERY, FEW, PLAIN, give, measure_shares
from babygpt_course.studies.results import Results
from babygpt_course.studies.spelling import (
    SecondLetterRows,
    change_given,
    draw_shares,
    given_to_layer,
    second_letters,
    true_share,
    vowel_shares,
)

TWO_BEFORE = "the token two before"
ARMS = (("v4", PLAIN), ("v4", TWO_BEFORE), ("v4", BEFORE), ("alibi", PLAIN))
SCALE = StudySize(steps=1800, seeds=tuple(range(4001, 4013)))
KNOWN = 0.8  # share of right vowels from which a seed is said to know the vowel
TURNED = 0.5  # share of turned vowels from which what was exchanged decides
PLACES, FIRSTS, BOTH, VERB = "places", "first letters", "both", "verb"  # what differs in the other story
# Where the exchange is made -> before which layer, and at which letters of both names, counted from 0.
WHERE: dict[str, tuple[int, tuple[int, ...]]] = {
    "given": (0, (1,)),  # what the model is given at the vowels; without a gift this is the vowel alone
    "second": (1, (1,)),
    "third": (1, (2,)),
    "second to fourth": (1, (1, 2, 3)),
}


class PlaceRows:
    """Questions whose two names differ in the first letter and in the vowel, and other stories for each.

    rows     of the questions; a twin's vowel is that of the other name
    names    (Q, 2)  places of the right name and of the other one in the story
    others   what differs -> (Q, T) token ids of the other story, and (Q, 2) where it has the letters of the
             right name and of the other one, behind their first letters
    misled   (Q, T)  the questions with the first letter of the other name given
    """

    def __init__(self, corpus: Corpus, quiz: Sequence[Question]) -> None:
        assert corpus.grammar is not None
        encode, verbs = corpus.tokenizer.encode, corpus.grammar.words["verb"]
        texts: dict[str, list[Tensor]] = {kind: [] for kind in ("", PLACES, FIRSTS, BOTH, VERB)}
        names, last, vowels = list[list[int]](), list[int](), list[Tensor]()
        for i, q in enumerate(quiz):
            right, rival, prompt = q.answer, q.rival, q.prompt
            differ = right[0] != rival[0] and right[1] != rival[1]
            verb = prompt.split()[1]
            alike = [v for v in verbs if len(v) == len(verb) and v != verb]
            if not differ or prompt.count(right) != 1 or prompt.count(rival) != 1 or not alike:
                continue
            own = [prompt.index(right), prompt.index(rival)]
            swapped = rival[0] + right[1:], right[0] + rival[1:]
            for kind, pair, text in (
                ("", (right, rival), prompt),
                (PLACES, (rival, right), prompt),
                (FIRSTS, swapped, prompt),
                (BOTH, swapped[::-1], prompt),
                (VERB, (right, rival), prompt.replace(verb, alike[i % len(alike)])),
            ):
                for start, name in zip(own, pair, strict=True):
                    text = text[:start] + name + text[start + len(name) :]
                texts[kind].append(encode(text + right[0]))
            names.append(own)
            last.append(len(prompt))
            vowels.append(encode(right[1] + rival[1]))
        pad = partial(torch.nn.utils.rnn.pad_sequence, batch_first=True)
        ids = {kind: pad(each) for kind, each in texts.items()}
        self.names, vowel = torch.tensor(names), torch.stack(vowels)
        self.rows = SecondLetterRows(
            ids[""], torch.tensor(last), self.names[:, 0], vowel[:, 0], vowel[:, 1], ids[FIRSTS]
        )
        swapped_names = self.names.flip(1)
        self.others = {
            PLACES: (ids[PLACES], swapped_names),
            FIRSTS: (ids[FIRSTS], self.names),
            BOTH: (ids[BOTH], swapped_names),
            VERB: (ids[VERB], self.names),
        }
        self.misled = ids[""].clone()
        row_numbers = torch.arange(len(ids[""]))
        self.misled[row_numbers, self.rows.last] = ids[""][row_numbers, self.names[:, 1]]


@torch.inference_mode()
def exchange_held(
    model: LanguageModel, rows: PlaceRows, kind: str, layer: int, letters: Sequence[int]
) -> dict[str, float]:
    """Exchange what letters of both names hold before a layer by what they hold in other stories.

    kind     of the other stories: what differs in them
    layer    counted from 0
    letters  of each name, counted from 0
    returns  the shares of questions after which the vowel of the right name is predicted ("kept"), and that
             of the other name ("turned")
    """
    ids, their_names = rows.others[kind]
    held = given_to_layer(model, layer, ids)

    def exchange(_: nn.Module, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
        x, row_numbers = inputs[0].clone(), torch.arange(len(ids))[:, None]
        for letter in letters:
            x[row_numbers, rows.names + letter] = held[row_numbers, their_names + letter]
        return x, *inputs[1:]

    with change_given(model, layer, exchange):
        return vowel_shares(rows.rows, second_letters(model, rows.rows), "turned")


def train_arms(
    workers: Workers,
    scale: StudySize,
    every: int,
    arms: Sequence[tuple[str, str]],
    dissect: Callable[[LanguageModel, PlaceRows], Results],
) -> Results:
    """Train models for as long as those of the study of clicks, and look into each at the end.

    arms     model and gift of each run
    returns  settings; "at": steps of the measurements; "arms": model, gift -> "answers", "spells": shares at
             these steps, one list a seed; "second": share of right vowels if the first letter is given; and
             what `dissect` returns
    """
    corpus, block_size = load_corpus(WORLD, scale.n_chars), scale.block_size
    config, quiz = small_config(corpus, block_size), questions(corpus, block_size, scale.n_questions)
    rows, objective = PlaceRows(corpus, quiz), NextToken(corpus, block_size)
    steps = [*range(every, scale.steps + 1, every)]

    def run(arm: tuple[str, str], seed: int) -> Results:
        torch.manual_seed(seed)
        name, gift = arm
        model, plan = build(name, config), TrainConfig(scale.steps, seed=seed)
        give(model, gift)

        def measure(_: LanguageModel) -> tuple[float, float]:
            return measure_shares(model, corpus, quiz[:FEW])

        title = f"{name} with {gift}, seed {seed}"
        curve, _ = train_with_curve(model, objective, plan, title, every, measure)
        with torch.inference_mode():
            right = true_share(second_letters(model, rows.rows) == rows.rows.vowel)
        shares = dict(zip(("answers", "spells"), zip(*curve, strict=True), strict=True))
        return {**shares, "second": right, **dissect(model, rows)}

    finished = sweep(arms, scale.seeds, run, workers)
    by_name = {", ".join(arm): finished[arm] for arm in arms if arm in finished}
    return {**scale.settings(), "at": steps, "n_questions": len(rows.names), "arms": by_name}


def measure_places(workers: Workers, scale: StudySize = SCALE, every: int = EVERY) -> Results:
    """Train v4 with and without gifts, and ALiBi, and exchange what letters hold in them.

    returns  as `train_arms`, with "exchanged": place of WHERE -> what differs -> `exchange_held`
    """

    def dissect(model: LanguageModel, rows: PlaceRows) -> Results:
        exchanged = {
            where: {kind: exchange_held(model, rows, kind, *place) for kind in rows.others}
            for where, place in WHERE.items()
        }
        return {"exchanged": exchanged}

    return train_arms(workers, scale, every, ARMS, dissect)


# ---------------------------------------------------------------- of stored results


def knowing_seeds(
    results: Results, arm: tuple[str, str], number: str = "exchanged"
) -> dict[int, dict[str, Any]]:
    """Return what was measured in the seeds that know the vowel: seed -> a number of `train_arms`."""
    numbers = results["arms"][", ".join(arm)]
    triples = zip(results["seeds"], numbers["second"], numbers[number], strict=True)
    return {seed: measured for seed, right, measured in triples if right >= KNOWN}


def count_turned(results: Results, arm: tuple[str, str], where: str, kind: str) -> tuple[int, int]:
    """Return in how many seeds an exchange turns at least half of the vowels, and how many know the vowel."""
    seeds = knowing_seeds(results, arm)
    return sum(run[where][kind]["turned"] >= TURNED for run in seeds.values()), len(seeds)


def table(results: Results) -> str:
    """Return as Markdown what each exchange turns in each seed."""
    lines, kinds = [], (PLACES, FIRSTS, BOTH, VERB)
    for arm in ARMS:
        if ", ".join(arm) not in results["arms"]:
            continue
        numbers = results["arms"][", ".join(arm)]
        for i, seed in enumerate(results["seeds"]):
            exchanged = numbers["exchanged"][i]
            turned = [
                " ".join(f"{100 * row[kind]['turned']:.0f}" for row in exchanged.values()) for kind in kinds
            ]
            shares = (numbers["spells"][i][-1], numbers["second"][i])
            lines.append((", ".join(arm), str(seed), *(f"{100 * share:.0f}" for share in shares), *turned))
    heading = ("model, gift", "seed", "names written", "right vowels", *kinds)
    head = (
        f"{table_head(results)} Shares in per cent. A column of the last four names what differs in the "
        "other story. Its four numbers are the vowels that turn if letters of both names hold what they hold "
        "there: the vowels before layer 1, and after it the vowels, the third letters, and the second to "
        "fourth letters.\n\n"
    )
    return head + markdown(heading, lines)


def draw_places(figure: Figure, results: Results) -> None:
    """Draw which exchange turns the vowel: after layer 1 with RoPE and ALiBi, and of what a gift gives."""
    panels = (
        (("v4", PLAIN), "second to fourth", "RoPE: {} turn the vowel in {} of {} seeds"),
        (("alibi", PLAIN), "second to fourth", "ALiBi: {} turn it in {} of {}"),
        (("v4", TWO_BEFORE), "given", "The token two before: {} turn it in {} of {}"),
        (("v4", BEFORE), "given", "The token before: {} turn it in {} of {}"),
    )
    for ax, (arm, where, title) in zip(figure.subplots(1, len(panels)), panels, strict=True):
        draw_turned(ax, results, arm, where, title)


def draw_turned(ax: Axes, results: Results, arm: tuple[str, str], where: str, title: str) -> None:
    """Draw for each seed that knows the vowel what three exchanges turn.

    title  with holes for what turns most seeds, for how many it turns, and of how many
    """
    numbers = {
        "another verb": lambda run: run[where][VERB]["turned"],
        "first letters exchanged": lambda run: run[where][FIRSTS]["turned"],
        "places exchanged": lambda run: run[where][PLACES]["turned"],
    }
    counts = {kind: count_turned(results, arm, where, kind) for kind in (PLACES, FIRSTS)}
    most = max(counts, key=lambda kind: counts[kind])
    seeds = knowing_seeds(results, arm)
    label = "vowels of the other name (%)"
    draw_shares(ax, seeds, numbers, title.format(most, *counts[most]), label)
