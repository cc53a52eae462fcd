"""Study of being first: the attention that the first token of a text gets, whatever this token is.

Rotation enters by distances alone, so it cannot tell that a token is the first one. The causal mask can: only
the first token sees nothing but itself. Two controls part the position from the token: the text is cut so
that another token comes first, and the first token is put into the middle of the text as well.
"""

from collections.abc import Mapping, Sequence
from statistics import mean
from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from babygpt import NextToken, TrainConfig, load_corpus
from babygpt.data import batches
from babygpt.errors import BadInput
from babygpt.experiments.paired import LEAST_SHARE, Comparison, compare, differences, percent, table_head
from babygpt.experiments.sweep import StudySize, Workers, small_config, sweep, train_from_seed
from babygpt.metrics.inspection import each_weights
from babygpt.models.language_model import LanguageModel
from babygpt.tables import markdown
from babygpt_course.studies.board import WORLD
from babygpt_course.studies.published_model import load_published, texts
from babygpt_course.studies.results import Results
from babygpt_course.studies.seed_plots import draw_seed_dots

SCALE = StudySize(steps=600)  # as the board
N_WINDOWS = 64  # of our models, averaged for each seed
N_TEXTS = 24  # of the published model
OURS, REAL = "v4", "SmolLM2"
ROWS = {  # name of a number -> the token that gets this weight
    "first": "first token",
    "cut": "first after a cut",
    "second": "the same, as second",
    "repeated": "copy in the middle",
    "middle": "what stood there",
}


@torch.inference_mode()
def weight_on(model: LanguageModel, ids: Tensor, column: int, first_row: int) -> list[float]:
    """Return the weight that later tokens give to one token, averaged over texts, heads and tokens.

    ids        (B, T)
    column     of the token that is looked at
    first_row  of the tokens that look
    returns    one mean for each layer
    """
    return each_weights(model, ids, lambda weights: float(weights[:, :, first_row:, column].mean()))


def first_token_shares(model: LanguageModel, ids: Tensor) -> dict[str, Any]:
    """Return the shares of attention that the second half of each text gives to single tokens.

    ids      (B, T)  texts of one length, at least four tokens
    returns  "first": to the first token; "cut": to the token that is first once the first is cut off, and
             "second" to the same token before the cut; "repeated": to a copy of the first token in the
             middle, and "middle" to the token that it replaced; "first, repeated": to the first token of that
             text; "even": what attention gives to any one token if it is even; "layers": "first" of each
             layer
    Raises BadInput for shorter texts.
    """
    T = ids.shape[1]
    if T < 4:
        raise BadInput(f"texts of {T} tokens have no second half that could look back: at least 4 are needed")
    middle = T // 2
    repeated = ids.clone()
    repeated[:, middle] = ids[:, 0]
    layers = weight_on(model, ids, 0, middle + 1)
    shares = {
        "first": layers,
        "cut": weight_on(model, ids[:, 1:], 0, middle),
        "second": weight_on(model, ids, 1, middle + 1),
        "repeated": weight_on(model, repeated, middle, middle + 1),
        "middle": weight_on(model, ids, middle, middle + 1),
        "first, repeated": weight_on(model, repeated, 0, middle + 1),
        "even": [1 / (row + 1) for row in range(middle + 1, T)],
    }
    return {**{name: round(mean(each), 5) for name, each in shares.items()}, "layers": layers}


def shares_of_windows(model: LanguageModel, ids: Tensor, n_windows: int = N_WINDOWS) -> dict[str, Any]:
    """Return `first_token_shares` of windows that begin anywhere in a text of our corpus."""
    length = model.config.block_size
    starts = torch.linspace(0, len(ids) - length, n_windows).long()
    return first_token_shares(model, batches.cut(ids, starts, length))


def measure_real(number: int) -> dict[str, Any]:
    """Return `first_token_shares` of one text in the published model."""
    model, tokenizer = load_published()
    return first_token_shares(model, tokenizer.encode(texts()[number])[None])


def measure_first_token(workers: Workers, scale: StudySize = SCALE, n_texts: int = N_TEXTS) -> Results:
    """Train v4 as on the board, and measure the weight on the first token in it and in the published model.

    returns  settings, and {"models": model -> what `first_token_shares` returns, one a seed or one a text}
    """
    corpus, block_size = load_corpus(WORLD, scale.n_chars), scale.block_size
    objective = NextToken(corpus, block_size)

    def run(name: str, seed: int) -> dict[str, Any]:
        plan, config = TrainConfig(scale.steps, seed=seed), small_config(corpus, block_size)
        model, _ = train_from_seed(name, config, objective, plan, f"{name}, seed {seed}")
        return shares_of_windows(model, corpus.val)

    ours = sweep([OURS], scale.seeds, run, workers)
    real = sweep([REAL], range(n_texts), lambda _, number: measure_real(number), workers)
    return {**scale.settings(), "texts": n_texts, "models": ours | real}


# ---------------------------------------------------------------- of stored results


def effects(results: Results) -> dict[str, dict[str, Comparison]]:
    """Return what being first changes: model -> "cut" and "repeated" -> paired comparison of shares.

    "cut" is the weight on a token that is first minus that on the same token where it is second; "repeated"
    the weight on the first token minus that on its copy in the middle, both in one text.
    """
    pairs = {"cut": ("cut", "second"), "repeated": ("first, repeated", "repeated")}
    return {
        model: {
            name: compare(differences(row[a], row[b]), LEAST_SHARE, "seed" if model == OURS else "text")
            for name, (a, b) in pairs.items()
        }
        for model, row in results["models"].items()
    }


def table(results: Results) -> str:
    """Return as Markdown the mean weight on each token, with the two comparisons of each model."""
    rows = []
    for model, row in results["models"].items():
        shares = [f"{100 * mean(row[name]):.1f}" for name in (*ROWS, "even")]
        pairs = [f"{comparison:+.3f}" for comparison in effects(results)[model].values()]
        rows.append((model, *shares, *pairs))
    heading = ("model", *ROWS.values(), "evenly", "first minus second", "first minus its copy")
    head = (
        f"{table_head(results)} Weight in per cent of all attention that the second half of a text gives, "
        f"averaged over layers and heads; {results['texts']} texts of the published model.\n\n"
    )
    return head + markdown(heading, rows)


def draw_first_token(figure: Figure, results: Results) -> None:
    """Draw the weight on single tokens: a dot for each seed of v4, or text of the published model."""
    for ax, model in zip(figure.subplots(1, 2), results["models"], strict=True):
        draw_model(ax, results, model)


def draw_model(ax: Axes, results: Results, model: str) -> None:
    """Draw the weight on single tokens in v4 or in the published model."""
    row = results["models"][model]
    dots: Mapping[str, Sequence[float]] = {label: row[name] for name, label in ROWS.items()}
    first, copied = (100 * mean(row[name]) for name in ("first, repeated", "repeated"))
    title = f"{model}: {first:.1f}% on the first token, {copied:.1f}% on its copy"
    even = {"evenly": 100 * mean(row["even"])}
    draw_seed_dots(ax, percent(dots), title, "weight (%; line: even attention)", even)
