"""The command `generate`: continue texts with one trained model, or with several side by side.

PyTorch is imported when the command runs, so that `--help` need not wait for it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import click

from babygpt.cli import options as shell
from babygpt.cli.encoding_options import version_of
from babygpt.errors import BadInput
from babygpt.files import write_atomically

if TYPE_CHECKING:
    from torch import Tensor

    from babygpt.data.tokenizer import CharTokenizer
    from babygpt.models.language_model import LanguageModel
    from babygpt.models.versions import Version
    from babygpt.sampling import Filled
    from babygpt.training.checkpoint import Checkpoint


@dataclass(frozen=True)
class Written:
    """Texts that one model wrote, or the true texts.

    prompts             how each text begins
    texts               whole texts, their prompts included
    characters_a_step   a v7's characters of each step, one number for each text; none for others
    """

    prompts: list[str]
    texts: list[str]
    characters_a_step: list[float] = field(default_factory=list)


@click.command()
@click.argument("models", type=shell.PATH, nargs=-1, required=True)
@shell.encoding_option
@click.option("--prompt", multiple=True, help="text to continue, once for each  [default: a line end]")
@click.option("--prompts-from", help="a corpus, as train's --corpus: continue windows of its validation text")
@shell.shown("--n-prompts", default=32, type=click.IntRange(1), help="--prompts-from: number of windows")
@shell.shown(
    "--prompt-tokens", default=32, type=click.IntRange(1), help="--prompts-from: characters of each prompt"
)
@shell.shown("--samples", default=1, type=click.IntRange(1), help="texts to write for each prompt")
@shell.sampling_options
@click.option("--stop", help="end a text after this word; for a line end write --stop $'\\n'")
@shell.shown("--confidence-threshold", default=0.95, help="v7: what is surer appears at once")
@click.option("--block", type=int, help="v7: characters filled in together  [default: half the window]")
@click.option("--hole", help="v7: a character of a prompt that stands for one to fill in  [default: _]")
@click.option("--measure", is_flag=True, help="print how varied the texts are, and not the texts")
@click.option("--out", type=shell.PATH, help="write texts and measures to this file, as JSON")
@click.option("--overwrite", is_flag=True, help="replace a file that is there already")
@click.pass_context
def generate(ctx: click.Context, models: tuple[Path, ...], **values: Any) -> None:
    """Continue prompts with one checkpoint, or with several.

    A model writes character by character, and a v7 block by block. Each of several MODELS continues the same
    prompts with draws of the same seed. A model of branches, such as a v6, writes all texts at once, one
    character of each in every forward pass.

    A v7 also fills in holes, as in --prompt "ada ch____ ben". It adds nothing to such a prompt.

    With --prompts-from, prompts are windows of the validation text, and their true continuations are measured
    too: a number is good if it is near theirs, not if it is high or low. distinct, repeat_3gram and entropy
    (nats) are taken over characters, and over words if the texts have spaces.
    """
    from babygpt.device import use_allowed_threads
    from babygpt.training.checkpoint import load

    use_allowed_threads()
    out = values["out"]
    if len(set(models)) < len(models):
        raise BadInput(f"the same model is named twice: {' '.join(map(str, models))}")
    lock = shell.output_lock(out, "--out", values["overwrite"]) if out else nullcontext()
    with lock:
        with shell.remarks_in_one_line():
            loaded = {str(path): load(path, values["encoding"]) for path in models}
        truth = true_texts(values) if values["prompts_from"] is not None else None
        warn_of_unused_flags(ctx, [version_of(model.model.version) for model in loaded.values()])
        prompts = truth.prompts if truth else values["prompt"] or [None]
        prompts = [prompt for prompt in prompts for _ in range(values["samples"])]
        written = {name: write_texts(model, prompts, values) for name, model in loaded.items()}
        columns = written | ({"true": truth} if truth else {})
        is_measured = values["measure"] or out
        measures = {name: measure_texts(column) for name, column in columns.items()} if is_measured else {}
        if values["measure"]:
            for line in table_lines(measures):
                click.echo(line)
        else:
            print_texts(written)
        if out:
            save_as_json(out, columns, measures)
            click.echo(f"wrote {out}", err=not values["measure"])


def warn_of_unused_flags(ctx: click.Context, kinds: Sequence[Version]) -> None:
    """Warn in one line of flags that change nothing for any of these versions of the models."""
    if ctx.params["prompts_from"] is None:
        shell.warn_unused(ctx, ["n_prompts", "prompt_tokens"], "without --prompts-from")
    elif ctx.params["prompt"]:
        raise BadInput("--prompt and --prompts-from both say what to continue: choose one of them")
    if not any(kind.masks for kind in kinds):
        unused = ["confidence_threshold", "block", "hole"]
        shell.warn_unused(ctx, unused, "in a model that writes one character after another")


def true_texts(values: Mapping[str, Any]) -> Written:
    """Return windows of a corpus's validation text, each a prompt and its true continuation.

    No window comes twice while there are enough.
    Raises BadInput for the corpus, and if its validation text is shorter than one window.
    """
    import torch

    from babygpt.data.corpus import load_corpus

    corpus, n, length = load_corpus(values["prompts_from"]), values["n_prompts"], values["prompt_tokens"]
    whole = length + values["tokens"]
    n_windows = len(corpus.val) - whole + 1
    if n_windows < 1:
        raise BadInput(
            f"--prompt-tokens ({length}) and --tokens ({values['tokens']}) need {whole} characters of "
            f"validation text; {corpus.name} has {len(corpus.val)}"
        )
    order = torch.randperm(n_windows, generator=torch.Generator().manual_seed(values["seed"]))
    starts = order.repeat(-(-n // n_windows))[:n].tolist()
    texts = [corpus.tokenizer.decode(corpus.val[start : start + whole]) for start in starts]
    return Written([text[:length] for text in texts], texts)


# ---------------------------------------------------------------- writing


def write_texts(loaded: Checkpoint, prompts: Sequence[str | None], values: Mapping[str, Any]) -> Written:
    """Continue all prompts with one model; None stands for a line end.

    Raises BadInput for characters that the model does not know, and what the samplers refuse.
    """
    import torch

    from babygpt import sampling
    from babygpt.device import pick_device
    from babygpt.models.inputs import require_branch_codes

    kind, tokenizer = version_of(loaded.model.version), loaded.tokenizer
    stop = encode_stop(tokenizer, values["stop"]) if values["stop"] else None
    hole = "_" if values["hole"] is None and "_" not in tokenizer.ids else values["hole"] or ""
    ids = [first_tokens(tokenizer, prompt, hole if kind.masks else "") for prompt in prompts]
    draws = {option: values[option] for option in ("temperature", "top_k", "top_p")}
    draws["generator"] = torch.Generator().manual_seed(values["seed"])
    network, speeds = loaded.model.to(pick_device()), list[float]()
    if kind.masks:
        filled = [write_by_filling_in(network, text, values, draws) for text in ids]
        tokens = [texts.tokens[0] for texts in filled]
        counts = [(int((texts.when > 0).sum()), int(texts.steps[0])) for texts in filled]
        speeds = [characters / steps if steps else math.nan for characters, steps in counts]
    elif kind.branches:
        require_branch_codes(network, len(ids))
        tokens = sampling.generate_parallel(network, ids, values["tokens"], **draws)
    else:
        tokens = sampling.generate(network, ids, values["tokens"], stop=stop, **draws)
    begins = [tokenizer.decode(text) for text in ids]
    texts = [tokenizer.decode(text) for text in tokens]
    if stop is not None:
        word = tokenizer.decode(stop)
        texts = [cut_after(text, word, len(begin)) for text, begin in zip(texts, begins, strict=True)]
    return Written(begins, texts, speeds)


def cut_after(text: str, word: str, begin: int) -> str:
    """Return a text up to the first `word` after its first `begin` characters, and all of it without one."""
    end = text.find(word, begin)
    return text if end < 0 else text[: end + len(word)]


def write_by_filling_in(
    network: LanguageModel, ids: Tensor, values: Mapping[str, Any], draws: Mapping[str, Any]
) -> Filled:
    """Return a text (1, T) with its holes filled in, or continued if it has none."""
    from babygpt import sampling
    from babygpt.objectives.diffusion import mask_token_id

    order = sampling.by_confidence(values["confidence_threshold"])
    if bool((ids == mask_token_id(network)).any()):
        return sampling.fill_in(network, ids[None], order, **draws)
    block, n_tokens = values["block"], values["tokens"]
    return sampling.continue_text(network, ids[None], n_tokens, order, block=block, **draws)


def encode_stop(tokenizer: CharTokenizer, stop: str) -> Tensor:
    """Return the token ids at which a text ends: (S,). Raise BadInput for an unknown character."""
    from babygpt.data.corpus import with_line_ends

    if "\\" in stop and "\\" not in tokenizer.ids:
        hint = "for a line end write --stop $'\\n' in a POSIX shell, or --stop \"`n\" in PowerShell"
        raise BadInput(f"--stop ({stop}) holds a backslash, which the model does not know: {hint}")
    return tokenizer.encode(with_line_ends(stop))


def first_tokens(tokenizer: CharTokenizer, prompt: str | None, hole: str) -> Tensor:
    """Return the token ids of a prompt, of a line end if there is none: (T,).

    hole  a character that stands for MASK in a prompt; "" for none
    Raises BadInput for an unknown character, without a prompt for a vocabulary without a line end, and for a
    hole that could be text.
    """
    from babygpt.data.corpus import with_line_ends
    from babygpt.data.tokenizer import in_short

    if prompt is None and "\n" not in tokenizer.ids:
        characters = in_short(tokenizer.characters)
        raise BadInput(f"the model knows no line end to begin with: give a --prompt of {characters}")
    text = "\n" if prompt is None else with_line_ends(prompt)
    if not hole or hole not in text:
        return tokenizer.encode(text)
    if len(hole) > 1 or hole in tokenizer.ids:
        raise BadInput(f"--hole ({hole}) must be one character that the model does not know")
    import torch

    ids = tokenizer.encode(text.replace(hole, tokenizer.characters[0]))
    holes = torch.tensor([character == hole for character in text])
    return ids.masked_fill(holes, tokenizer.vocab_size - 1)  # MASK is the last token


# ---------------------------------------------------------------- what is shown of the texts


def print_texts(written: Mapping[str, Written]) -> None:
    """Print all texts, under the name of their model if there are several models, and numbered if several."""
    for name, column in written.items():
        if len(written) > 1:
            click.echo(f"=== {name} ===")
        for number, text in enumerate(column.texts, start=1):
            if len(column.texts) > 1:
                click.echo(f"--- {number} of {len(column.texts)} ---")
            click.echo(text)


def measure_texts(column: Written) -> dict[str, list[float]]:
    """Measure each text without its prompt.

    returns  name of a measure -> one number for each text, nan where a text does not have it
    """
    from babygpt.metrics.texts import text_measures

    rests = [text[len(prompt) :] for prompt, text in zip(column.prompts, column.texts, strict=True)]
    has_words = any(" " in text for text in column.texts)
    rows = [text_measures(rest, has_words) for rest in rests]
    each = {name: [row[name] for row in rows] for name in rows[0]}
    return each | ({"characters_a_step": column.characters_a_step} if column.characters_a_step else {})


def table_lines(measures: Mapping[str, Mapping[str, list[float]]]) -> list[str]:
    """Return the lines to print: a column for each model, mean ± sd over its texts."""
    from babygpt.experiments.paired import format_mean_sd

    stems = [Path(name).stem for name in measures]
    names = stems if len(set(stems)) == len(stems) else list(measures)
    lines = [f"{'mean ± sd over texts':<24}" + "".join(f"{name:>20}" for name in names)]
    for measure in dict.fromkeys(measure for each in measures.values() for measure in each):
        cells = [format_mean_sd(summary(each.get(measure, []))) for each in measures.values()]
        lines.append(f"{measure:<24}" + "".join(f"{cell:>20}" for cell in cells))
    return lines


def summary(numbers: Sequence[float]) -> dict[str, Any]:
    """Return mean and sd of the numbers that are defined; nothing if there are none."""
    from babygpt.experiments.paired import mean_sd

    defined = [number for number in numbers if not math.isnan(number)]
    return mean_sd(defined, fmean) if defined else {}


def save_as_json(
    path: Path, columns: Mapping[str, Written], measures: Mapping[str, Mapping[str, list[float]]]
) -> None:
    """Write prompts, texts and measures of every model; a measure that a text does not have is null."""
    models = {
        name: {
            "prompts": column.prompts,
            "texts": column.texts,
            "measures": {
                measure: [None if math.isnan(number) else number for number in numbers]
                for measure, numbers in measures[name].items()
            },
        }
        for name, column in columns.items()
    }
    content = {"command": shell.command_line(), "models": models}
    write_atomically(path, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())
