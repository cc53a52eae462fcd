"""Study of ways to fill in: does remasking do more than a lower temperature, at equal numbers of looks?"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from statistics import fmean
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from torch import Tensor

from babygpt import TrainConfig, load_corpus
from babygpt.data.batches import IGNORED
from babygpt.data.corpus import Corpus
from babygpt.data.grammar import Grammar
from babygpt.experiments import paired
from babygpt.experiments.paired import compare_shares, table_head
from babygpt.experiments.sweep import StudySize, Workers, small_config, sweep, train_from_seed
from babygpt.models.language_model import LanguageModel
from babygpt.objectives import MaskedDiffusion
from babygpt.objectives.diffusion import denoise, mask_out
from babygpt.sampling import Filled, SecondThoughts, ancestral, by_confidence, by_entropy, fill_in, rewrite
from babygpt.tables import markdown
from babygpt_course.studies.results import Results
from babygpt_course.studies.seed_plots import draw_seed_dots, draw_seed_lines

Fill = Callable[..., Filled]  # called with a model, a text with holes, temperature= and generator=
ONE_BY_ONE = 10**9  # steps of a clock on which no two tokens ever meet
SURE = partial(fill_in, order=by_confidence(1.01))  # above 1: one token a step
DOUBT = {steps: partial(rewrite, thoughts=SecondThoughts(steps, 0.3, 5.0)) for steps in (64, 256)}
WAYS: dict[str, tuple[Fill, float]] = {
    "by chance": (partial(fill_in, order=ancestral(ONE_BY_ONE)), 1.0),
    "again by lot": (partial(rewrite, thoughts=SecondThoughts(64, 0.3)), 1.0),
    "entropy bound": (partial(fill_in, order=by_entropy(0.1)), 1.0),
    **{f"surest first, {heat:g}": (SURE, heat) for heat in (1.0, 0.5, 0.3)},
    **{f"again by doubt, {heat:g}": (DOUBT[64], heat) for heat in (1.0, 0.5, 0.3)},
    **{f"again by doubt, 256 steps, {heat:g}": (DOUBT[256], heat) for heat in (1.0, 0.5)},
}  # name -> how it fills in, temperature
COMPARED = (
    ("again by lot", "by chance"),
    *((f"again by doubt, {heat}", f"surest first, {heat}") for heat in ("1", "0.5", "0.3")),
    *((f"again by doubt, 256 steps, {heat}", f"surest first, {heat}") for heat in ("1", "0.5")),
    ("surest first, 0.5", "again by doubt, 256 steps, 1"),
    ("surest first, 0.5", "surest first, 1"),
    ("surest first, 0.3", "surest first, 0.5"),
)  # each with the one that it is held against
MASKED = (0.95, 0.75, 0.5, 0.25, 0.05)  # shares of masked characters at which guesses are counted
SCALE = StudySize(steps=800)


def sentences_of(grammar: Grammar) -> Grammar:
    """Return the grammar of single sentences: any sentence of a story, by itself."""
    stories = [t.replace("[gap]", gap) for t in grammar.rules["story"] for gap in grammar.rules["gap"]]
    sentences = dict.fromkeys(sentence for story in stories for sentence in re.split(r"(?<=[.?]) ", story))
    return Grammar(grammar.words, {"story": tuple(sentences)})


def text_quality(ids: Tensor, corpus: Corpus) -> dict[str, float]:
    """Measure the quality of some texts that begin with a line end, all of them together.

    ids      (B, T)  token ids
    returns  shares that the grammar can write of whole "sentences" and of whole "tales", and "whole_tales",
             how many of these there were; "different": right sentences without repetitions, as a share of
             all sentences, so that who repeats one right sentence gains nothing
    """
    texts, grammar = [corpus.tokenizer.decode(row) for row in ids], corpus.grammar
    assert grammar is not None
    lines = [line for text in texts for line in text[1:].split("\n")[:-1]]  # the last one was cut off
    sentences = [s for text in texts for s in re.split(r"(?<=[.?])[ \n]", text[1:])[:-1]]
    single = sentences_of(grammar)
    right = [sentence for sentence in sentences if single.derivations(sentence)]
    return {
        "sentences": len(right) / max(1, len(sentences)),
        "different": len(set(right)) / max(1, len(sentences)),
        "tales": sum(bool(grammar.derivations(line)) for line in lines) / max(1, len(lines)),
        "whole_tales": len(lines),
    }


def line_start_windows(corpus: Corpus, n: int, length: int) -> Tensor:
    """Return the first n windows of the validation text that begin with a line end: (n, length)."""
    starts = (corpus.val == int(corpus.tokenizer.encode("\n"))).nonzero()[:, 0].tolist()
    whole = [corpus.val[start : start + length] for start in starts if start + length <= len(corpus.val)]
    return torch.stack(whole[:n])


@torch.inference_mode()
def right_guesses(model: LanguageModel, corpus: Corpus, masked: float, n: int = 256) -> tuple[float, float]:
    """Return how often a model's likeliest character is right where validation text is masked.

    masked   probability with which each character of at most n windows is masked
    returns  the share of right guesses, and that of always guessing the text's most frequent character
    """
    length = model.config.block_size
    windows, draw = corpus.val.unfold(0, length, length)[:n], torch.Generator().manual_seed(0)
    rates, mask_id = torch.full((len(windows),), masked), int(corpus.tokenizer.mask_id or 0)
    holes, targets, _ = mask_out(windows, rates, mask_id, draw)
    guesses = denoise(model, holes.to(next(model.parameters()).device)).argmax(dim=-1).cpu()
    is_masked, frequent = targets != IGNORED, corpus.train.mode().values
    return float((guesses == targets)[is_masked].float().mean()), float(
        (targets[is_masked] == frequent).float().mean()
    )


def measure_remasking(
    workers: Workers,
    scale: StudySize = SCALE,
    ways: Mapping[str, tuple[Fill, float]] = WAYS,
    n_texts: int = 32,
) -> Results:
    """Train a model that fills in from each seed, let it write in every way, and measure what it wrote.

    Texts are filled in from nothing but a line end, with all characters allowed.

    n_texts   of each way and seed, a window long each
    returns   settings; "true": measure -> of as many sets of true texts; "ways": name -> measure -> one value
              a seed, "looks" among them: steps at which something appeared, in the mean over texts;
              "guesses": share of masked characters -> share of right guesses, one a seed; "frequent": the
              same of guessing the most frequent character
    """
    corpus = load_corpus("plain-tales", scale.n_chars, with_mask=True)
    length = scale.block_size
    objective = MaskedDiffusion(corpus, length, val_windows=1)
    truth = line_start_windows(corpus, n_texts * len(scale.seeds), length).split(n_texts)

    def run(version: str, seed: int) -> dict[str, Any]:
        plan = TrainConfig(scale.steps, seed=seed)
        model, _ = train_from_seed(version, small_config(corpus, length), objective, plan)
        guesses = {str(share): right_guesses(model.eval(), corpus, share) for share in MASKED}
        written = {name: quality_of(*way, model, seed) for name, way in ways.items()}
        return {"ways": written, "guesses": {share: list(both) for share, both in guesses.items()}}

    def quality_of(fill: Fill, temperature: float, model: LanguageModel, seed: int) -> dict[str, float]:
        blank = torch.full((n_texts, length), int(corpus.tokenizer.mask_id or 0))
        blank[:, 0] = corpus.tokenizer.encode("\n")
        filled = fill(model, blank, temperature=temperature, generator=torch.Generator().manual_seed(seed))
        return {"looks": float(filled.steps.float().mean()), **text_quality(filled.tokens, corpus)}

    runs = sweep(("v7-rope",), scale.seeds, run, workers)["v7-rope"]
    guesses, frequent = (
        {str(share): [round(seed[str(share)][i], 4) for seed in runs["guesses"]] for share in MASKED}
        for i in (0, 1)
    )
    return {
        **{**scale.settings(), "n_texts": n_texts, "guesses": guesses, "frequent": frequent},
        "true": by_measure([text_quality(texts, corpus) for texts in truth]),
        "ways": {name: by_measure([seed[name] for seed in runs["ways"]]) for name in ways},
    }


def by_measure(sets: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
    """Return the measures of several sets of texts: measure -> one value a set."""
    return {measure: [round(measures[measure], 4) for measures in sets] for measure in sets[0]}


def draw_remasking(figure: Figure, results: Results) -> None:
    """Draw the right sentences of each way, with those that differ as rings; and right guesses."""
    quality_ax, guess_ax = figure.subplots(1, 2, width_ratios=(1.5, 1.0))
    rows = {**results["ways"], "true text": results["true"]}
    dots, rings = (
        {name: [100 * x for x in measures[m]] for name, measures in rows.items()}
        for m in ("sentences", "different")
    )
    notes = {
        name: f"{fmean(measures['looks']):.0f} looks"
        for name, measures in rows.items()
        if "looks" in measures
    }
    label = "right sentences (%); rings: without repetitions"
    sure = [100 * fmean(results["ways"][f"surest first, {heat}"]["sentences"]) for heat in ("1", "0.5")]
    title = "Surest first: {:.0f}% right at temperature 1, {:.0f}% at 0.5".format(*sure)
    draw_seed_dots(quality_ax, dots, title, label, None, (0.0, 118.0), rings, notes)
    masked = [100 * float(share) for share in results["guesses"]]
    curves = {
        "model, a line a seed": 100 * np.array(list(results["guesses"].values())).T,
        "most frequent character": 100 * np.array(list(results["frequent"].values())).T[:1],
    }
    first, *_, last = curves["model, a line a seed"].mean(axis=0)
    title = f"Early guesses are right in {first:.0f}%, late ones in {last:.0f}%"
    draw_seed_lines(
        guess_ax, masked, curves, title, "masked characters of true text (%)", "right guesses (%)"
    )
    guess_ax.invert_xaxis()


def table(results: Results) -> str:
    """Return Markdown tables: the means of each way to fill in, and what the rule decides of two."""
    columns = {"looks": ".0f", "sentences": ".0%", "different": ".0%"}
    rows = []
    for name, measures in (*results["ways"].items(), ("true text", results["true"])):
        rows.append(
            (
                name,
                *(
                    f"{fmean(measures[key]):{form}}" if key in measures else ""
                    for key, form in columns.items()
                ),
            )
        )
    means = markdown(["way, temperature", "looks", "right sentences", "without repetitions"], rows)
    rows = []
    for a, b in COMPARED:
        for measure in ("sentences", "different"):
            name = "right" if measure == "sentences" else "without repetitions"
            points = compare_shares(way_differences(results, a, b, measure))
            rows.append((a, b, name, f"{points:+.0f}", points.side))
    heading = ["way", "against", "sentences", "difference (points)", "decided"]
    return f"{table_head(results)}\n\n{means}\n{markdown(heading, rows)}"


def way_differences(results: Results, a: str, b: str, measure: str = "sentences") -> list[float]:
    """Return a measure of one way minus that of another, one a seed."""
    return paired.differences(*(results["ways"][name][measure] for name in (a, b)))
