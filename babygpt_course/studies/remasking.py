"""Study of ways to fill in: does it pay to mask again what the model doubts, at equal numbers of looks?"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor

from babygpt import plots
from babygpt.config import TrainConfig
from babygpt.data.corpus import Corpus, load_corpus, without_mask
from babygpt.data.grammar import Grammar
from babygpt.errors import BadInput
from babygpt.metrics.text import distinct, nll_and_entropy, repeated, words
from babygpt.models.language_model import LanguageModel
from babygpt.objectives import MaskedDiffusion, NextToken
from babygpt.sampling import Filled, SecondThoughts, ancestral, by_confidence, by_entropy, fill_in, rewrite
from babygpt.sampling.diffusion import Order
from babygpt_course.studies.results import Results
from babygpt_course.studies.sweep import Scale, Workers, in_turn, small_config, sweep, train_from_seed

Fill = Callable[[LanguageModel, Tensor, torch.Generator], Filled]
ONE_BY_ONE = 10**9  # steps of a clock on which no two tokens ever meet
CLOCKS = (16, 64, 256)
SCALE = Scale(steps=800)


def in_order(order: Order) -> Fill:
    """Return a way to fill in that keeps each character that has appeared."""
    return lambda model, idx, draw: fill_in(model, idx, order, generator=draw)


def again(strength: float, doubt: float) -> dict[str, Fill]:
    """Return ways to fill in with second thoughts, one for each clock."""

    def on_clock(n_steps: int) -> Fill:
        thoughts = SecondThoughts(n_steps, strength, doubt)
        return lambda model, idx, draw: rewrite(model, idx, thoughts, generator=draw)

    return {str(n_steps): on_clock(n_steps) for n_steps in CLOCKS}


SAMPLERS: dict[str, Mapping[str, Fill]] = {
    "by chance": {str(n): in_order(ancestral(n)) for n in (16, 64, ONE_BY_ONE)},
    "surest first": {str(threshold): in_order(by_confidence(threshold)) for threshold in (0.6, 0.9, 1.01)},
    "entropy bound": {str(bound): in_order(by_entropy(bound)) for bound in (2.0, 0.5, 0.1)},
    "again by lot, 0.1": again(0.1, 0.0),
    "again by lot, 0.3": again(0.3, 0.0),
    "again by doubt, 0.1": again(0.1, 5.0),
    "again by doubt, 0.3": again(0.3, 5.0),
}  # name -> setting -> how it fills in; a sampler's settings from few looks to many


def sentences_of(grammar: Grammar) -> Grammar:
    """Return the grammar of single sentences: any sentence of a story, by itself."""
    stories = [t.replace("[gap]", gap) for t in grammar.rules["story"] for gap in grammar.rules["gap"]]
    found = dict.fromkeys(sentence for story in stories for sentence in re.split(r"(?<=[.?]) ", story))
    return Grammar(grammar.words, {"story": tuple(found)})


def text_quality(ids: Tensor, corpus: Corpus, judge: LanguageModel) -> dict[str, float]:
    """Measure the quality of some texts that begin with a line end, all of them together.

    ids      (B, T)  token ids
    judge    predicts the next token
    returns  "judge_nll" and "judge_entropy", nats per character; "repeat_3gram", of characters, the mean
             over texts; "distinct_words", of all texts' words; shares that the grammar can write of whole
             "sentences" and of whole "tales", and "whole_tales", how many of these there were
    Raises BadInput for a corpus without a grammar.
    """
    texts, grammar = [corpus.tokenizer.decode(row) for row in ids], corpus.grammar
    if grammar is None:
        raise BadInput(f"{corpus.name} has no grammar that could tell right from wrong")
    nll, entropy = nll_and_entropy(judge, ids, start=1)
    lines = [line for text in texts for line in text[1:].split("\n")[:-1]]  # the last one was cut off
    sentences = [s for text in texts for s in re.split(r"(?<=[.?])[ \n]", text[1:])[:-1]]
    return {
        "judge_nll": float(nll.mean()),
        "judge_entropy": float(entropy.mean()),
        "repeat_3gram": fmean(repeated(text, 3) for text in texts),
        "distinct_words": distinct([word for text in texts for word in words(text)], 1),
        "sentences": share_written(sentences, sentences_of(grammar)),
        "tales": share_written(lines, grammar),
        "whole_tales": len(lines),
    }


def share_written(texts: list[str], grammar: Grammar) -> float:
    """Return the share of texts that a grammar can write; 0 if there are none."""
    return sum(bool(grammar.derivations(text)) for text in texts) / max(1, len(texts))


def true_texts(corpus: Corpus, n: int, length: int) -> Tensor:
    """Return the first n windows of the validation text that begin with a line end: (n, length)."""
    starts = (corpus.val == int(corpus.tokenizer.encode("\n"))).nonzero()[:, 0].tolist()
    whole = [corpus.val[at : at + length] for at in starts if at + length <= len(corpus.val)]
    return torch.stack(whole[:n])


def measure_remasking(
    workers: Workers = in_turn,
    scale: Scale = SCALE,
    samplers: Mapping[str, Mapping[str, Fill]] = SAMPLERS,
    n_texts: int = 32,
) -> Results:
    """Train a model that fills in from each seed, let it write in every way, and measure what it wrote.

    Texts are filled in from nothing but a line end, at temperature 1, with all characters allowed.

    n_texts   of each sampler, setting and seed, a window long each
    returns   settings; "judge_loss" of the v4 that judges; "true": measure -> of as many sets of true texts;
              "samplers": name -> setting -> measure -> one value a seed, "looks" among them: steps at which
              something appeared, in the mean over texts
    """
    corpus = load_corpus("plain-tales", scale.n_chars, with_mask=True)
    plain = without_mask(corpus)
    objective, judging = (
        MaskedDiffusion(corpus, scale.block_size, val_windows=1),
        NextToken(plain, scale.block_size),
    )
    plan = TrainConfig(3 * scale.steps // 4, seed=1)  # a seed of no model that it judges
    judge, history = train_from_seed("v4", small_config(plain, scale.block_size), judging, plan, "judge (v4)")
    truth = true_texts(
        corpus, n_texts * len(scale.seeds), scale.block_size
    )  # as many at a time: words are counted

    def run(version: str, seed: int) -> dict[str, Any]:
        plan = TrainConfig(scale.steps, seed=seed)
        model, _ = train_from_seed(version, small_config(corpus, scale.block_size), objective, plan)
        return {
            name: {setting: written(fill, model.eval(), seed) for setting, fill in settings.items()}
            for name, settings in samplers.items()
        }

    def written(fill: Fill, model: LanguageModel, seed: int) -> dict[str, float]:
        blank = torch.full((n_texts, scale.block_size), int(corpus.tokenizer.mask_id or 0))
        blank[:, 0] = corpus.tokenizer.encode("\n")
        filled = fill(model, blank, torch.Generator().manual_seed(seed))
        looks = float(filled.steps.float().mean())
        return {"looks": looks, **text_quality(filled.tokens, corpus, judge)}

    return {
        **{
            "steps": scale.steps,
            "seeds": list(scale.seeds),
            "block_size": scale.block_size,
            "n_texts": n_texts,
        },
        "judge_loss": round(float(history[-1].val_loss or 0.0), 4),
        "true": by_measure([text_quality(some, corpus, judge) for some in truth.split(n_texts)]),
        "samplers": by_sampler(sweep(("v7-rope",), scale.seeds, run, workers)["v7-rope"]),
    }


def by_measure(each: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
    """Return the measures of several sets of texts: measure -> one value a set."""
    return {measure: [round(one[measure], 4) for one in each] for measure in each[0]}


def by_sampler(found: Mapping[str, Sequence[Mapping[str, Mapping[str, float]]]]) -> dict[str, Any]:
    """Turn a dict of settings for each seed around: name -> setting -> measure -> one value a seed."""
    return {
        name: {setting: by_measure([seed[setting] for seed in seeds]) for setting in seeds[0]}
        for name, seeds in found.items()
    }


PANELS = {
    "sentences": ("{2}: {0:.0%} are right, not {1:.0%}", "right sentences (%)"),
    "judge_nll": ("v4 finds its text likelier: {0:.2f}, not {1:.2f}", "-log p under v4 (nats per character)"),
    "distinct_words": ("It has {0:.0%} different words, not {1:.0%}", "different words, of all words (%)"),
}  # measure -> title, of what the last sampler writes with most looks and with fewest; label


def draw_remasking(figure: Figure, results: Results) -> None:
    """Draw three measures over the number of looks: a line through each sampler's means, a dot a seed."""
    found = results["samplers"]
    last = list(found)[-1]
    for ax, (measure, (title, label)) in zip(figure.subplots(1, 3), PANELS.items(), strict=True):
        scale = 100 if label.endswith("(%)") else 1
        few, *_, many = (fmean(one[measure]) for one in found[last].values())
        for colour, (name, settings) in zip(plots.COLOURS.values(), found.items(), strict=False):
            at = sorted((fmean(one["looks"]), one) for one in settings.values())
            means = [scale * fmean(one[measure]) for _, one in at]
            ax.plot([x for x, _ in at], means, "-", color=colour, label=name)
            for x, one in at:
                ax.plot([x] * len(one[measure]), [scale * y for y in one[measure]], "o", ms=4, color=colour)
        ax.axhline(scale * fmean(results["true"][measure]), color="black", lw=1, ls="--", label="true text")
        ax.set_xscale("log", base=2)
        ax.set_xticks(CLOCKS, [str(clock) for clock in CLOCKS])
        looks = f"looks at a text of {results['block_size']} characters"
        plots.artists.set_labels(ax, title.format(many, few, last.capitalize()), looks, label)
    figure.axes[1].legend(fontsize=9, ncols=2, loc="lower left", bbox_to_anchor=(0.0, 0.06))


def table(results: Results) -> str:
    """Return a Markdown table with a row for each way to fill in, and the means over seeds."""
    head = "| sampler | setting | looks | right sentences | nats under v4 | its entropy "
    lines = [f"{head}| repeated 3-grams | different words |", "|---" * 8 + "|"]
    for name, settings in results["samplers"].items():
        for setting, one in settings.items():
            lines.append(quality_row(name, setting, one))
    lines.append(quality_row("true text", "", results["true"]))
    return "\n".join(lines) + "\n"


def quality_row(name: str, setting: str, one: Mapping[str, Sequence[float]]) -> str:
    """Return one row of the table."""
    mean = {measure: fmean(values) for measure, values in one.items()}
    shown = "one by one" if setting == str(ONE_BY_ONE) else setting
    looks = f"{mean['looks']:.0f}" if "looks" in mean else ""
    return (
        f"| {name} | {shown} | {looks} | {mean['sentences']:.0%} | {mean['judge_nll']:.2f} "
        f"| {mean['judge_entropy']:.2f} | {mean['repeat_3gram']:.0%} | {mean['distinct_words']:.0%} |"
    )
