"""What models of masked diffusion write, in numbers: `python -m babygpt compare generation`.

All models continue the same windows of the validation text. The true continuations stand beside them, as a
yardstick: a number is good where it is near theirs, not where it is high or low.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import torch
from torch import Tensor

from babygpt.config import require_positive, setting
from babygpt.data.batches import cut
from babygpt.data.corpus import Corpus
from babygpt.data.tokenizer import CharTokenizer
from babygpt.device import pick_device
from babygpt.errors import BadInput
from babygpt.experiments.pretrain import require_characters
from babygpt.memory import require_room
from babygpt.metrics.text import distinct, entropy, judged, repeated, words
from babygpt.models.base import LanguageModel
from babygpt.models.versions import VERSIONS
from babygpt.sampling import Filled, by_confidence, continue_text
from babygpt.training import checkpoint as checkpoints
from babygpt.training.checkpoint import Checkpoint

Each = dict[str, list[float]]  # measure -> a number for each prompt


@dataclass(frozen=True)
class GenerationConfig:
    """How the texts are written; the flags of note 000."""

    num_prompts: int = setting(32, "windows of the validation text to continue")
    prompt_len: int = setting(32, "characters of each prompt")
    gen_len: int = setting(256, "characters to write after it")
    temp: float = setting(0.8, "temperature; 0 always takes the likeliest character")
    top_k: int = setting(2, "draw among the k likeliest characters only")
    confidence_threshold: float = setting(0.95, "what a model is surer of than this appears at once")
    seed: int = setting(1337, "seed of the prompts and of the draws")

    def __post_init__(self) -> None:
        require_positive(self, "num_prompts", "prompt_len", "gen_len", "top_k")
        for name in ("temp", "confidence_threshold"):
            if not 0 <= getattr(self, name) < math.inf:  # refuses nan too
                raise BadInput(f"{name} ({getattr(self, name)}) must be a finite number, and not negative")


def load_denoiser(path: Path, corpus: Corpus | None = None) -> Checkpoint:
    """Read a checkpoint back that fills in masked tokens.

    corpus  whose characters it must know
    Raises ValueError if it is another kind of model, knows other characters, and what `checkpoint.load`
    refuses.
    """
    loaded = checkpoints.load(path)
    if not VERSIONS[loaded.version].masks:
        raise BadInput(f"{path} is a {loaded.version}: it does not fill in masked tokens, as a v7 does")
    if corpus is not None:
        require_characters(loaded.tokenizer, corpus.tokenizer, path)
    return loaded


def require_fitting_prompt(model: LanguageModel, config: GenerationConfig, path: Path) -> None:
    """Raise a ValueError unless a prompt and a block of holes fit into a model's window."""
    size = model.config.block_size
    block = min((size + 1) // 2, config.gen_len)
    if config.prompt_len > size - block:
        raise BadInput(
            f"prompt_len ({config.prompt_len}) must be at most {size - block}: the window of {path} holds "
            f"{size} characters, and {block} of them are filled in at a time"
        )


def windows(corpus: Corpus, config: GenerationConfig) -> Tensor:
    """Windows of the validation text, each a prompt and its true continuation.

    returns  (num_prompts, prompt_len + gen_len)  token ids; no two the same while there are enough
    Raises ValueError if the validation text is too short for one.
    """
    length = config.prompt_len + config.gen_len
    require_room(f"num_prompts ({config.num_prompts}) windows", 8 * length * config.num_prompts)
    if (room := len(corpus.val) - length + 1) < 1:
        raise BadInput(
            f"prompt_len ({config.prompt_len}) and gen_len ({config.gen_len}) need {length} characters of "
            f"validation text; {corpus.name} has {len(corpus.val)}"
        )
    draw = torch.Generator().manual_seed(config.seed)
    order = torch.randperm(room, generator=draw)
    return cut(corpus.val, order.repeat(math.ceil(config.num_prompts / room))[: config.num_prompts], length)


def write(model: LanguageModel, prompts: Tensor, config: GenerationConfig) -> Filled:
    """Continue every prompt, with the draws of the config's seed."""
    order = by_confidence(config.confidence_threshold)
    draw = torch.Generator().manual_seed(config.seed)
    return continue_text(model, prompts, config.gen_len, order, config.temp, config.top_k, draw)


# ---------------------------------------------------------------- numbers


def of_text(text: str, by_words: bool) -> dict[str, float]:
    """How varied one text is: over characters, and over words where the corpus has spaces."""
    units: dict[str, Sequence[str]] = {"chars": text}
    if by_words:
        units["words"] = words(text)
    return {
        f"{name}_{kind}": value
        for kind, some in units.items()
        for name, value in (
            ("distinct_1", distinct(some, 1)),
            ("distinct_2", distinct(some, 2)),
            ("repeat_3gram", repeated(some, 3)),
            ("entropy", entropy(some)),
        )
    }


def numbers(
    ids: Tensor, config: GenerationConfig, tokenizer: CharTokenizer, judge: LanguageModel
) -> tuple[Each, list[str]]:
    """Every measure of some continuations, one number for each, and the texts.

    ids  (B, prompt_len + gen_len)  prompts and continuations
    """
    texts = [tokenizer.decode(row) for row in ids[:, config.prompt_len :]]
    each = [of_text(text, " " in tokenizer.characters) for text in texts]
    surprise, unsure = judged(judge, ids, config.prompt_len)
    found = {name: [one[name] for one in each] for name in each[0]}
    return {**found, "judge_nll": surprise.tolist(), "judge_entropy": unsure.tolist()}, texts


def of_writing(filled: Filled, config: GenerationConfig) -> Each:
    """How quickly and how surely texts were filled in: characters a step, and mean confidence."""
    sure = filled.sure[:, config.prompt_len :].mean(dim=1)
    return {"tokens_per_step": (config.gen_len / filled.steps).tolist(), "confidence": sure.tolist()}


def spread(each: Each) -> dict[str, dict[str, float | None]]:
    """Mean and standard deviation over prompts, those left out where a measure is not defined."""
    found: dict[str, dict[str, float | None]] = {}
    for name, values in each.items():
        known = [v for v in values if not math.isnan(v)]
        middle = fmean(known) if known else None
        found[name] = {"mean": middle, "sd": stdev(known) if len(known) > 1 else None}
    return found


def row(each: Each, **more: Any) -> dict[str, Any]:
    """What is stored of one model: the spread of each measure, and each number (none for nan)."""
    plain = {name: [None if math.isnan(v) else v for v in values] for name, values in each.items()}
    return {**more, "measures": spread(each), "each": plain}


# ---------------------------------------------------------------- all together


def generations(
    corpus: Corpus, models: dict[str, Checkpoint], judge: LanguageModel, config: GenerationConfig
) -> dict[str, Any]:
    """Let each model continue the same prompts, and measure what it wrote beside the true continuations.

    corpus   with a MASK token; the prompts come from its validation text
    models   name -> model
    judge    predicts the next token; its likelihoods and entropies are nats per character
    returns  "prompts", and "rows": name -> "measures", "each", "texts"; the last row is "true"
    """
    truth, device = windows(corpus, config), pick_device()
    prompts, judge = truth[:, : config.prompt_len], judge.to(device)
    rows = {}
    for name, one in models.items():
        filled = write(one.model.to(device), prompts, config)
        each, texts = numbers(filled.tokens.cpu(), config, corpus.tokenizer, judge)
        rows[name] = row({**each, **of_writing(filled, config)}, version=one.version, texts=texts)
    each, texts = numbers(truth, config, corpus.tokenizer, judge)
    rows["true"] = row(each, texts=texts)
    return {"prompts": [corpus.tokenizer.decode(prompt) for prompt in prompts], "rows": rows}


def settings_of(
    model: LanguageModel, alphas: Sequence[float], thresholds: Sequence[float]
) -> Iterator[tuple[float | None, float | None]]:
    """The points of a model's grid: every alpha, if it has one, with every threshold; None for as it is."""
    own: list[float | None] = [*alphas] if hasattr(model.encoding, "alpha") else []
    levels: list[float | None] = [*thresholds]
    for alpha in own or [None]:
        for threshold in levels or [None]:
            if alpha is not None or threshold is not None:
                yield alpha, threshold


def grid(
    corpus: Corpus,
    models: dict[str, Checkpoint],
    judge: LanguageModel,
    config: GenerationConfig,
    alphas: Sequence[float] = (),
    thresholds: Sequence[float] = (),
) -> list[dict[str, Any]]:
    """The same measures at other alphas, of the models that have one, and at other thresholds, of all.

    returns  for each point: "model", "alpha", "confidence_threshold", "measures", "each", "texts"
    Raises ValueError for an alpha that is not finite, or a negative threshold.
    """
    found = []
    for name, one in models.items():
        encoding: Any = one.model.encoding
        trained = getattr(encoding, "alpha", None)
        for alpha, threshold in settings_of(one.model, alphas, thresholds):
            there = config if threshold is None else replace(config, confidence_threshold=threshold)
            if alpha is not None:
                encoding.steer("alpha", alpha)
            try:
                made = generations(corpus, {name: one}, judge, there)["rows"][name]
            finally:
                if trained is not None:
                    encoding.alpha = trained
            point = {"alpha": trained if alpha is None else alpha}
            point |= {"confidence_threshold": there.confidence_threshold}
            found.append({"model": name, **point, **made})
    return found


def lines(results: dict[str, Any]) -> list[str]:
    """What is printed: a table with a column for each row of the results, mean ± spread over prompts."""
    rows = results["rows"]
    names = list(next(iter(rows.values()))["measures"])
    table = [f"{'mean ± sd over prompts':<24}" + "".join(f"{name:>20}" for name in rows)]
    for measure in names:
        cells = [shown(of["measures"].get(measure)) for of in rows.values()]
        table.append(f"{measure:<24}" + "".join(f"{cell:>20}" for cell in cells))
    return table


def shown(of: dict[str, float | None] | None) -> str:
    """A mean and its spread in few letters; a dash where there is none."""
    if of is None or of["mean"] is None:
        return "–"
    return f"{of['mean']:.3f}" + ("" if of["sd"] is None else f" ± {of['sd']:.3f}")
