"""Measurement of what models of masked diffusion write: `python -m babygpt compare generation`.

All models continue the same windows of the validation text. The true continuations are measured too, as a
yardstick: a number is good if it is near theirs, not if it is high or low.
"""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch import Tensor

from babygpt.config import require_positive, setting
from babygpt.data.batches import cut
from babygpt.data.corpus import Corpus
from babygpt.data.tokenizer import CharTokenizer
from babygpt.device import pick_device
from babygpt.errors import BadInput
from babygpt.experiments.paired import format_mean_sd, mean_sd
from babygpt.models.language_model import LanguageModel
from babygpt.models.versions import VERSIONS
from babygpt.sampling import by_confidence, continue_text
from babygpt.training import checkpoint as checkpoints
from babygpt.training.checkpoint import Checkpoint
from babygpt_course.studies.results import Results
from babygpt_course.studies.text_measures import distinct, repeated, words

Measures = dict[str, list[float]]  # name -> one number for each prompt


@dataclass(frozen=True)
class GenerationConfig:
    """Settings of the generated texts; the flags of note 000."""

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


def entropy(units: Sequence[Hashable]) -> float:
    """Return the entropy of how often each unit comes, in nats; nan for an empty text.

    From few units it comes out too low: n units have at most log(n).
    """
    counts = torch.tensor(list(Counter(units).values()), dtype=torch.float64)
    return float(torch.distributions.Categorical(counts).entropy()) if len(counts) else math.nan


def load_denoiser(path: Path, config: GenerationConfig) -> Checkpoint:
    """Load a checkpoint of masked diffusion whose window holds a prompt and a block to fill in.

    Raises BadInput for another kind of model or a window that is too small.
    """
    loaded = checkpoints.load(path)
    if not VERSIONS[loaded.version].masks:
        raise BadInput(f"{path} is a {loaded.version}: it does not fill in masked tokens, as a v7 does")
    size = loaded.model.config.block_size
    block = min((size + 1) // 2, config.gen_len)
    if config.prompt_len > size - block:
        raise BadInput(
            f"prompt_len ({config.prompt_len}) must be at most {size - block}: the window of {path} holds "
            f"{size} characters, and {block} of them are filled in at a time"
        )
    return loaded


def prompt_windows(corpus: Corpus, config: GenerationConfig) -> Tensor:
    """Return windows of the validation text: each is a prompt and its true continuation.

    returns  (num_prompts, prompt_len + gen_len)  token ids; no window twice while there are enough
    Raises BadInput if the validation text is shorter than one window.
    """
    length = config.prompt_len + config.gen_len
    if (starts := len(corpus.val) - length + 1) < 1:
        raise BadInput(
            f"prompt_len ({config.prompt_len}) and gen_len ({config.gen_len}) need {length} characters of "
            f"validation text; {corpus.name} has {len(corpus.val)}"
        )
    order = torch.randperm(starts, generator=torch.Generator().manual_seed(config.seed))
    repeats = math.ceil(config.num_prompts / starts)
    return cut(corpus.val, order.repeat(repeats)[: config.num_prompts], length)


# ---------------------------------------------------------------- numbers


def text_measures(text: str, by_words: bool) -> dict[str, float]:
    """Return how varied a text is, over characters and, if the corpus has spaces, over words."""
    units: dict[str, Sequence[str]] = {"chars": text, "words": words(text)} if by_words else {"chars": text}
    found: dict[str, float] = {}
    for kind, tokens in units.items():
        found |= {f"distinct_{n}_{kind}": distinct(tokens, n) for n in (1, 2)}
        found |= {f"repeat_3gram_{kind}": repeated(tokens, 3), f"entropy_{kind}": entropy(tokens)}
    return found


def result_row(ids: Tensor, tokenizer: CharTokenizer, prompt_len: int, more: Measures) -> dict[str, Any]:
    """Return what is stored of some continuations.

    ids      (B, prompt_len + gen_len)  prompts and continuations
    more     further measures, one number for each prompt
    returns  "texts", "each" (all numbers), "measures" (mean and sd). A measure that a short text does not
             have is nan: it is stored as None and left out of the mean.
    """
    texts = [tokenizer.decode(row) for row in ids[:, prompt_len:]]
    rows = [text_measures(text, " " in tokenizer.characters) for text in texts]
    each = {name: [row[name] for row in rows] for name in rows[0]} | more
    defined = {name: [v for v in values if not math.isnan(v)] for name, values in each.items()}
    return {
        "measures": {name: mean_sd(values, fmean) for name, values in defined.items()},
        "each": {name: [None if math.isnan(v) else v for v in values] for name, values in each.items()},
        "texts": texts,
    }


def measure_model(
    model: LanguageModel, truth: Tensor, corpus: Corpus, config: GenerationConfig
) -> dict[str, Any]:
    """Let a model continue all prompts with the draws of the config's seed, and measure the texts.

    truth  (num_prompts, prompt_len + gen_len)  from `prompt_windows`
    """
    prompts, draw = truth[:, : config.prompt_len], torch.Generator().manual_seed(config.seed)
    order = by_confidence(config.confidence_threshold)
    filled = continue_text(model, prompts, config.gen_len, order, config.temp, config.top_k, draw)
    confidence = filled.confidence[:, config.prompt_len :].mean(dim=1)
    speed = {"tokens_per_step": (config.gen_len / filled.steps).tolist(), "confidence": confidence.tolist()}
    return result_row(filled.tokens.cpu(), corpus.tokenizer, config.prompt_len, speed)


def compare_generations(corpus: Corpus, models: dict[str, Checkpoint], config: GenerationConfig) -> Results:
    """Let each model continue the same prompts, and measure the texts beside the true continuations.

    corpus      with a MASK token; the prompts come from its validation text
    models      name -> model
    returns     "prompts"; "rows": name -> what `result_row` returns, the last row being "true"
    """
    truth = prompt_windows(corpus, config)
    rows = {
        name: {"version": one.version, **measure_model(one.model.to(pick_device()), truth, corpus, config)}
        for name, one in models.items()
    }
    rows["true"] = result_row(truth, corpus.tokenizer, config.prompt_len, {})
    prompts = [corpus.tokenizer.decode(prompt) for prompt in truth[:, : config.prompt_len]]
    return {"prompts": prompts, "rows": rows}


def table_lines(results: Results) -> list[str]:
    """Return the lines to print: a column for each row of the results, mean ± sd over prompts."""
    rows = results["rows"]
    lines = [f"{'mean ± sd over prompts':<24}" + "".join(f"{name:>20}" for name in rows)]
    for measure in next(iter(rows.values()))["measures"]:
        cells = [format_mean_sd(row["measures"].get(measure, {})) for row in rows.values()]
        lines.append(f"{measure:<24}" + "".join(f"{cell:>20}" for cell in cells))
    return lines
