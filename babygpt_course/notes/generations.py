"""What models of masked diffusion write, in numbers: `python -m babygpt compare generation`.

All models continue the same windows of the validation text. The true continuations stand beside them, as a
yardstick: a number is good where it is near theirs, not where it is high or low.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from babygpt.config import require_positive, require_seed, setting, settle_numbers
from babygpt.data.batches import cut
from babygpt.data.corpus import Corpus
from babygpt.data.tokenizer import CharTokenizer
from babygpt.device import pick_device
from babygpt.errors import BadInput
from babygpt.memory import require_memory
from babygpt.metrics.text import distinct, entropy, nll_and_entropy, repeated, words
from babygpt.models.base import LanguageModel
from babygpt.models.versions import VERSIONS
from babygpt.sampling import Filled, by_confidence, continue_text
from babygpt.tables import format_mean_sd, mean_sd
from babygpt.training import checkpoint as checkpoints
from babygpt.training.checkpoint import Checkpoint
from babygpt_course.notes.pretrain import require_same_characters
from babygpt_course.studies.results import Results

Measures = dict[str, list[float]]  # name -> a number for each prompt


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
        settle_numbers(self)
        require_positive(self, "num_prompts", "prompt_len", "gen_len", "top_k")
        require_seed(self.seed)
        for name in ("temp", "confidence_threshold"):
            if not 0 <= getattr(self, name) < math.inf:  # refuses nan too
                raise BadInput(f"{name} ({getattr(self, name)}) must be a finite number, and not negative")


def load_denoiser(path: Path, corpus: Corpus | None = None) -> Checkpoint:
    """Read a checkpoint back that fills in masked tokens.

    corpus  whose characters it must know
    Raises BadInput if it is another kind of model, knows other characters, and what `checkpoint.load`
    refuses.
    """
    loaded = checkpoints.load(path)
    if not VERSIONS[loaded.version].masks:
        raise BadInput(f"{path} is a {loaded.version}: it does not fill in masked tokens, as a v7 does")
    if corpus is not None:
        require_same_characters(loaded.tokenizer, corpus.tokenizer, path)
    return loaded


def require_fitting_prompt(model: LanguageModel, config: GenerationConfig, path: Path) -> None:
    """Raise BadInput unless a prompt and a block of holes fit into a model's window."""
    size = model.config.block_size
    block = min((size + 1) // 2, config.gen_len)
    if config.prompt_len > size - block:
        raise BadInput(
            f"prompt_len ({config.prompt_len}) must be at most {size - block}: the window of {path} holds "
            f"{size} characters, and {block} of them are filled in at a time"
        )


def prompt_windows(corpus: Corpus, config: GenerationConfig) -> Tensor:
    """Windows of the validation text, each a prompt and its true continuation.

    returns  (num_prompts, prompt_len + gen_len)  token ids; no two the same while there are enough
    Raises BadInput if the validation text is too short for one.
    """
    length = config.prompt_len + config.gen_len
    require_memory(f"num_prompts ({config.num_prompts}) windows", 8 * length * config.num_prompts)
    if (starts := len(corpus.val) - length + 1) < 1:
        raise BadInput(
            f"prompt_len ({config.prompt_len}) and gen_len ({config.gen_len}) need {length} characters of "
            f"validation text; {corpus.name} has {len(corpus.val)}"
        )
    order = torch.randperm(starts, generator=torch.Generator().manual_seed(config.seed))
    repeats = math.ceil(config.num_prompts / starts)
    return cut(corpus.val, order.repeat(repeats)[: config.num_prompts], length)


def continue_prompts(model: LanguageModel, prompts: Tensor, config: GenerationConfig) -> Filled:
    """Continue every prompt, with the draws of the config's seed."""
    order = by_confidence(config.confidence_threshold)
    draw = torch.Generator().manual_seed(config.seed)
    return continue_text(model, prompts, config.gen_len, order, config.temp, config.top_k, draw)


# ---------------------------------------------------------------- numbers


def text_measures(text: str, by_words: bool) -> dict[str, float]:
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


def continuation_measures(
    ids: Tensor, config: GenerationConfig, tokenizer: CharTokenizer, scorer: LanguageModel
) -> tuple[Measures, list[str]]:
    """Every measure of some continuations, one number for each, and the texts.

    ids     (B, prompt_len + gen_len)  prompts and continuations
    scorer  gives the likelihood of each text
    """
    texts = [tokenizer.decode(row) for row in ids[:, config.prompt_len :]]
    each = [text_measures(text, " " in tokenizer.characters) for text in texts]
    nll, uncertainty = nll_and_entropy(scorer, ids, config.prompt_len)
    found = {name: [one[name] for one in each] for name in each[0]}
    return {**found, "judge_nll": nll.tolist(), "judge_entropy": uncertainty.tolist()}, texts


def filling_measures(filled: Filled, config: GenerationConfig) -> Measures:
    """How quickly and how surely texts were filled in: characters a step, and mean confidence."""
    confidence = filled.confidence[:, config.prompt_len :].mean(dim=1)
    return {"tokens_per_step": (config.gen_len / filled.steps).tolist(), "confidence": confidence.tolist()}


def result_row(each: Measures, **more: Any) -> dict[str, Any]:
    """What is stored of one model: mean and deviation of each measure over prompts, and each number.

    each  a number that is nan, where a measure is not defined, is stored as None and left out of the mean
    more  is stored beside them
    """
    defined = {name: [v for v in values if not math.isnan(v)] for name, values in each.items()}
    plain = {name: [None if math.isnan(v) else v for v in values] for name, values in each.items()}
    return {
        **more,
        "measures": {name: mean_sd(values, fmean) for name, values in defined.items()},
        "each": plain,
    }


# ---------------------------------------------------------------- all together


def compare_generations(
    corpus: Corpus, models: dict[str, Checkpoint], scorer: LanguageModel, config: GenerationConfig
) -> Results:
    """Let each model continue the same prompts, and measure what it wrote beside the true continuations.

    corpus   with a MASK token; the prompts come from its validation text
    models   name -> model
    scorer   predicts the next token; its likelihoods and entropies are nats per character
    returns  "prompts", and "rows": name -> "measures", "each", "texts"; the last row is "true"
    """
    truth, device = prompt_windows(corpus, config), pick_device()
    prompts, scorer = truth[:, : config.prompt_len], scorer.to(device)
    rows = {}
    for name, one in models.items():
        filled = continue_prompts(one.model.to(device), prompts, config)
        each, texts = continuation_measures(filled.tokens.cpu(), config, corpus.tokenizer, scorer)
        each |= filling_measures(filled, config)
        rows[name] = result_row(each, version=one.version, texts=texts)
    each, texts = continuation_measures(truth, config, corpus.tokenizer, scorer)
    rows["true"] = result_row(each, texts=texts)
    return {"prompts": [corpus.tokenizer.decode(prompt) for prompt in prompts], "rows": rows}


def grid_points(
    model: LanguageModel, alphas: Sequence[float], thresholds: Sequence[float]
) -> list[tuple[float | None, float | None]]:
    """The points of a model's grid: every alpha, if it has one, with every threshold; None for as it is."""
    as_it_is: Sequence[float | None] = (None,)
    own = alphas if hasattr(model.encoding, "alpha") else ()
    return [point for point in product(own or as_it_is, thresholds or as_it_is) if point != (None, None)]


def measure_grid(
    corpus: Corpus,
    models: dict[str, Checkpoint],
    scorer: LanguageModel,
    config: GenerationConfig,
    alphas: Sequence[float] = (),
    thresholds: Sequence[float] = (),
) -> list[dict[str, Any]]:
    """The same measures at other alphas, of the models that have one, and at other thresholds, of all.

    returns  for each point: "model", "alpha", "confidence_threshold", "measures", "each", "texts"
    Raises BadInput for an alpha that is not finite, or a negative threshold.
    """
    found = []
    for name, one in models.items():
        encoding: Any = one.model.encoding
        trained = getattr(encoding, "alpha", None)
        for alpha, threshold in grid_points(one.model, alphas, thresholds):
            there = config if threshold is None else replace(config, confidence_threshold=threshold)
            if alpha is not None:
                encoding.steer("alpha", alpha)
            try:
                made = compare_generations(corpus, {name: one}, scorer, there)["rows"][name]
            finally:
                if trained is not None:
                    encoding.steer("alpha", trained)
            point = {"alpha": trained if alpha is None else alpha}
            point |= {"confidence_threshold": there.confidence_threshold}
            found.append({"model": name, **point, **made})
    return found


def report_lines(results: Results) -> list[str]:
    """What is printed: a table with a column for each row of the results, mean ± deviation over prompts."""
    rows = results["rows"]
    table = [f"{'mean ± sd over prompts':<24}" + "".join(f"{name:>20}" for name in rows)]
    for measure in next(iter(rows.values()))["measures"]:
        cells = [format_mean_sd(row["measures"].get(measure, {})) for row in rows.values()]
        table.append(f"{measure:<24}" + "".join(f"{cell:>20}" for cell in cells))
    return table
