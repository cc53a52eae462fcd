"""Study of ways to fill in: does it pay to mask again what the model doubts, at equal numbers of looks?"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean
from typing import Any

import torch
from matplotlib.figure import Figure
from torch import Tensor

from babygpt import NextToken, TrainConfig, load_corpus, plots
from babygpt.data.corpus import Corpus
from babygpt.data.grammar import Grammar
from babygpt.data.tokenizer import CharTokenizer
from babygpt.errors import BadInput
from babygpt.memory import portions
from babygpt.metrics.text import distinct, repeated, words
from babygpt.models.language_model import LanguageModel
from babygpt.objectives import MaskedDiffusion
from babygpt.sampling import Filled, SecondThoughts, ancestral, by_confidence, by_entropy, fill_in, rewrite
from babygpt.tables import markdown
from babygpt_course.studies.results import Results
from babygpt_course.studies.sweep import Scale, Workers, small_config, sweep, train_from_seed

Fill = Callable[..., Filled]  # of a model, a text with holes, and generator=
ONE_BY_ONE = 10**9  # steps of a clock on which no two tokens ever meet
CLOCKS = (16, 64, 256)
SCALE = Scale(steps=800)


def without_mask(corpus: Corpus) -> Corpus:
    """Return the corpus with a tokenizer that has no MASK token."""
    return replace(corpus, tokenizer=CharTokenizer(corpus.tokenizer.characters))


@torch.inference_mode()
def nll_and_entropy(model: LanguageModel, texts: Tensor, start: int) -> tuple[Tensor, Tensor]:
    """Return the mean -log p of some texts under a model, and the mean entropy of its predictions.

    Each token is predicted from at least half a window of text, or from all there is before it.

    model    predicts the next token
    texts    (B, T)  token ids
    start    index of the first token that is predicted, at least 1
    returns  (B,) -log p of the texts' tokens, and (B,) entropy of the predictions, nats per token
    Raises ValueError unless start lies between 1 and T - 1.
    """
    length = texts.shape[1]
    if not 1 <= start < length:
        raise BadInput(f"start ({start}) must lie between 1 and {length - 1}: something before, and after")
    parts = portions(model, texts, length=min(length, model.config.block_size))
    nll, entropies = zip(*(_nll_and_entropy(model, some, start) for (some,) in parts), strict=True)
    return torch.cat(nll), torch.cat(entropies)


def _nll_and_entropy(model: LanguageModel, texts: Tensor, start: int) -> tuple[Tensor, Tensor]:
    """Return both for texts that are read together: 2 x (B,)."""
    size, length = model.config.block_size, texts.shape[1]
    ids = texts.to(next(model.parameters()).device)
    nll, entropies = [], []
    for begin in range(start, length, stride := (size + 1) // 2):
        end = min(begin + stride, length)
        window = ids[:, max(0, end - 1 - size) : end - 1]
        logits = model(window)[:, begin - end :].cpu().double()  # (B, end - begin, V)
        chances = logits.log_softmax(dim=-1)
        nll.append(-chances.gather(-1, texts[:, begin:end, None].cpu())[..., 0])
        entropies.append(-(chances.exp() * chances).sum(dim=-1))
    return torch.cat(nll, dim=1).mean(dim=1), torch.cat(entropies, dim=1).mean(dim=1)


def again(strength: float, doubt: float) -> dict[str, Fill]:
    """Return ways to fill in with second thoughts, one for each clock."""
    return {str(n): partial(rewrite, thoughts=SecondThoughts(n, strength, doubt)) for n in CLOCKS}


def in_order(order: Callable[..., Any], settings: Sequence[float]) -> dict[str, Fill]:
    """Return ways to fill in that keep each character that has appeared, one for each setting of an order."""
    return {str(setting): partial(fill_in, order=order(setting)) for setting in settings}


SAMPLERS: dict[str, Mapping[str, Fill]] = {
    "by chance": in_order(ancestral, (16, 64, ONE_BY_ONE)),
    "surest first": in_order(by_confidence, (0.6, 0.9, 1.01)),
    "entropy bound": in_order(by_entropy, (2.0, 0.5, 0.1)),
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
    """
    texts, grammar = [corpus.tokenizer.decode(row) for row in ids], corpus.grammar
    assert grammar is not None
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
    workers: Workers,
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
    plain, length = without_mask(corpus), scale.block_size
    objective = MaskedDiffusion(corpus, length, val_windows=1)
    plan = TrainConfig(3 * scale.steps // 4, seed=1)  # a seed of no model that it judges
    config, judging = small_config(plain, length), NextToken(plain, length)
    judge, history = train_from_seed("v4", config, judging, plan, "judge (v4)")
    truth = true_texts(corpus, n_texts * len(scale.seeds), length).split(n_texts)

    def run(version: str, seed: int) -> dict[str, Any]:
        plan = TrainConfig(scale.steps, seed=seed)
        model, _ = train_from_seed(version, small_config(corpus, length), objective, plan)
        return {
            name: {setting: quality_of(fill, model.eval(), seed) for setting, fill in settings.items()}
            for name, settings in samplers.items()
        }

    def quality_of(fill: Fill, model: LanguageModel, seed: int) -> dict[str, float]:
        blank = torch.full((n_texts, length), int(corpus.tokenizer.mask_id or 0))
        blank[:, 0] = corpus.tokenizer.encode("\n")
        filled = fill(model, blank, generator=torch.Generator().manual_seed(seed))
        looks = float(filled.steps.float().mean())
        return {"looks": looks, **text_quality(filled.tokens, corpus, judge)}

    found = sweep(("v7-rope",), scale.seeds, run, workers)["v7-rope"]
    return {
        **{**scale.settings(), "n_texts": n_texts},
        "judge_loss": round(float(history[-1].val_loss or 0.0), 4),
        "true": by_measure([text_quality(some, corpus, judge) for some in truth]),
        "samplers": {
            name: {setting: by_measure([seed[setting] for seed in seeds]) for setting in seeds[0]}
            for name, seeds in found.items()
        },
    }


def by_measure(each: Sequence[Mapping[str, float]]) -> dict[str, list[float]]:
    """Return the measures of several sets of texts: measure -> one value a set."""
    return {measure: [round(one[measure], 4) for one in each] for measure in each[0]}


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
    columns = {"looks": ".0f", "sentences": ".0%", "judge_nll": ".2f", "judge_entropy": ".2f"}
    columns |= {"repeat_3gram": ".0%", "distinct_words": ".0%"}
    heading = ["sampler", "setting", "looks", "right sentences", "nats under v4", "its entropy"]
    written = [(name, *way) for name, each in results["samplers"].items() for way in each.items()]
    rows = []
    for name, setting, one in (*written, ("true text", "", results["true"])):
        shown = "one by one" if setting == str(ONE_BY_ONE) else setting
        numbers = [f"{fmean(one[key]):{form}}" if key in one else "" for key, form in columns.items()]
        rows.append((name, shown, *numbers))
    return markdown([*heading, "repeated 3-grams", "different words"], rows)
