"""Training of a model of parallel branches in stages, as in note 002: `python -m babygpt pretrain`."""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from babygpt.config import ModelConfig, TrainConfig, require_positive, setting
from babygpt.data.batches import cut
from babygpt.data.corpus import Corpus
from babygpt.data.tokenizer import CharTokenizer, in_short
from babygpt.device import pick_device
from babygpt.errors import BadInput
from babygpt.metrics.parallel_texts import parallel_loss
from babygpt.models.language_model import LanguageModel
from babygpt.models.transformer import Transformer
from babygpt.models.versions import VERSIONS, build
from babygpt.objectives import Branches
from babygpt.positions import Positions
from babygpt.training import checkpoint as checkpoints

CHECKPOINT_NAME = "pretrain.safetensors"
VERSION_BY_PE = {"fpe": "v6", "rope2d": "v6-rope2d", "learned": "v6-learned", "none": "v6-none"}
CODE_FLAGS: dict[str, dict[str, str]] = {  # code -> option of its encoding -> field of CodeConfig
    "fpe": {
        "stride": "branch_stride",
        "theta": "fpe_theta",
        "max_positions": "fpe_max_positions",
        "learnable": "fpe_learnable",
    },
    "rope2d": {"stride": "branch_stride", "branch_share": "branch_share"},
    "learned": {"max_branches": "learned_rows"},
    "none": {},
}


@dataclass(frozen=True)
class EpochConfig:
    """Order and portions in which texts are read; the flags of note 002. Texts are windows, side by side."""

    epochs: int = setting(1, "how often each text is read; every epoch shuffles them anew")
    batch_size: int = setting(4, "texts in a batch, or samples with --batch-by-samples")
    batch_by_samples: bool = setting(
        False, "let a batch count samples, each with its own number of texts, and not texts"
    )
    branches_per_sample: int | None = setting(None, "texts in each sample: sets both numbers below")
    min_branches_per_sample: int | None = setting(None, "fewest texts in a sample  [default: 1]")
    max_branches_per_sample: int | None = setting(None, "most texts in a sample  [default: the fewest]")
    branch_slice_count: int = setting(1, "cut the texts into so many slices; only the first is read")
    branch_loop_all: bool = setting(False, "read all slices in turn, each for its share of every epoch")
    length: int | None = setting(None, "tokens of a text  [default: three quarters of the window]")
    max_steps: int | None = setting(None, "stop after so many steps, the learning rate falling in time")

    def __post_init__(self) -> None:
        require_positive(self, "epochs", "batch_size", "branch_slice_count")
        if self.max_steps is not None:
            require_positive(self, "max_steps")

    @property
    def n_branches(self) -> tuple[int, int]:
        """Fewest and most texts of a sample. Raises BadInput if the flags contradict each other."""
        both, low, high = (getattr(self, f"{name}branches_per_sample") for name in ("", "min_", "max_"))
        if both is not None and {low, high} - {None, both}:
            raise BadInput(
                f"branches_per_sample ({both}) sets the fewest and the most texts, and "
                f"min_branches_per_sample ({low}) or max_branches_per_sample ({high}) contradicts it"
            )
        fewest = next(n for n in (both, low, 1) if n is not None)
        return fewest, next(n for n in (both, high, fewest) if n is not None)


class BranchEpochs(Branches):
    """Branches that read every text once, in random order, before any text comes again.

    corpus      the text
    block_size  times in a window
    config      order and portions
    seed        shuffles the texts and draws the numbers of branches
    Raises BadInput for what `Branches` refuses, or if a slice has too few texts for a sample.
    Source: note 002, its stages 1 to 3.
    """

    def __init__(self, corpus: Corpus, block_size: int, config: EpochConfig, seed: int = 0) -> None:
        by_samples = config.batch_by_samples
        super().__init__(corpus, block_size, config.n_branches, config.length, by_samples=by_samples)
        self.config = config
        starts = torch.arange(0, len(self.train) - self.length, self.length)
        slices, n = config.branch_slice_count, self.n_branches[1]
        if len(starts) // slices < n:
            raise BadInput(
                f"{len(starts)} texts in {slices} slices are too few for samples of {n} branches: "
                "take a longer corpus, shorter texts, fewer slices or fewer branches"
            )
        parts = starts.tensor_split(slices)
        self.slices = parts if config.branch_loop_all else parts[:1]
        self.texts_per_epoch, self.texts_read, self.seed = sum(map(len, self.slices)), 0, seed
        self.count_generator = torch.Generator().manual_seed(seed + 2)
        self.upcoming = self.shuffled_starts()

    @property
    def epochs_read(self) -> float:
        """Number of epochs read so far."""
        return self.texts_read / self.texts_per_epoch

    def place(self) -> dict[str, Any]:
        """Return the state that `seek` restores: texts read, and the generator of branch counts."""
        return {"texts_read": self.texts_read, "counts": self.count_generator.get_state()}

    def seek(self, place: dict[str, Any]) -> None:
        """Restore a state of `place`."""
        self.texts_read = place["texts_read"]
        self.count_generator.set_state(place["counts"])
        epochs, texts = divmod(self.texts_read, self.texts_per_epoch)
        self.upcoming = islice(self.shuffled_starts(epochs), texts, None)

    def shuffled_starts(self, epochs: int = 0) -> Iterator[int]:
        """Yield where the texts begin, in reading order, without end, after skipping some epochs."""
        generator = torch.Generator().manual_seed(self.seed + 1)
        for part in self.slices * epochs:
            torch.randperm(len(part), generator=generator)
        while True:
            for part in self.slices:
                yield from part[torch.randperm(len(part), generator=generator)].tolist()

    def texts(self, n: int, generator: torch.Generator) -> Tensor:
        """Read the next n texts: (n, length + 1)."""
        self.texts_read += n
        return cut(self.train, torch.tensor(list(islice(self.upcoming, n))), self.length + 1)

    def counts(self, batch_size: int, generator: torch.Generator) -> Tensor:
        """Draw how many texts each sample has, from a generator of its own so that `steps` can foresee it."""
        return super().counts(batch_size, self.count_generator)

    def steps(self) -> int:
        """Count the batches until every text was read `epochs` times, at most max_steps."""
        foresight = torch.Generator()
        foresight.set_state(self.count_generator.get_state())
        left, steps = self.config.epochs * self.texts_per_epoch - self.texts_read, 0
        while left > 0 and (self.config.max_steps is None or steps < self.config.max_steps):
            left -= int(super().counts(self.config.batch_size, foresight).sum())
            steps += 1
        return steps


# ---------------------------------------------------------------- a stage


@dataclass(frozen=True)
class CodeConfig:
    """Options of the code that marks a token's branch; each --pe reads its own fields."""

    branch_stride: int = setting(128, "fpe, rope2d: distance between neighbouring branches, in positions")
    branch_share: float = setting(0.5, "rope2d: share of the frequency pairs that turn with the branch")
    fpe_theta: float = setting(10_000.0, "fpe: base of the code's frequencies")
    fpe_max_positions: int = setting(32_768, "fpe: positions from here on are refused")
    fpe_learnable: bool = setting(False, "fpe: train the code's table too, beginning as the sinusoid")
    learned_rows: int = setting(8, "learned: rows of the table, the most branches it can ever tell apart")
    isolated: bool = setting(False, "let each branch see nothing but itself")

    def __post_init__(self) -> None:
        require_positive(self, "branch_stride", "fpe_theta", "fpe_max_positions", "learned_rows")

    def options(self, pe: str) -> dict[str, Any]:
        """Return the options of `build` for a code: its own fields only."""
        own = {option: getattr(self, flag) for option, flag in CODE_FLAGS[pe].items()}
        return {**own, "isolated": self.isolated}


def require_codes(model: LanguageModel, n: int) -> None:
    """Raise BadInput unless a model has a code for each of n branches."""
    if n < 1:
        raise BadInput(f"{n} branches: at least 1 is needed")
    device = next(model.parameters()).device
    positions = Positions(torch.zeros(2, dtype=torch.long), torch.tensor([0, n - 1])).to(device)
    try:
        model.encoding.embed(torch.zeros(1, 2, model.config.n_embd, device=device), positions)
    except BadInput as error:
        raise BadInput(f"{n} branches are more than the code can tell apart: {error}") from None


@dataclass(frozen=True)
class Stage:
    """One stage of the curriculum: a model ready to be trained, and its data.

    version    such as "v6"
    options    options of its branch code
    model      on the device it is trained on
    corpus     text to read
    objective  draws the batches
    plan       steps, batch size, learning rates, seed
    """

    version: str
    options: dict[str, Any]
    model: LanguageModel
    corpus: Corpus
    objective: BranchEpochs
    plan: TrainConfig

    def measure(self, n_texts: int = 256) -> dict[str, float]:
        """Measure the loss of the same validation texts alone and with other texts in the sequence.

        n_texts  texts to measure on; rounded up to whole samples
        returns  "alone", "beside" and "gap" in nats per token, and "epochs_done"
        """
        n, objective, model = self.objective.n_branches[1], self.objective, self.model
        assert isinstance(model, Transformer)
        whole = n * math.ceil(n_texts / n)
        alone, beside = (parallel_loss(model, objective.val, k, objective.length, whole) for k in (1, n))
        return {"alone": alone, "beside": beside, "gap": beside - alone, "epochs_done": objective.epochs_read}


def prepare_stage(
    corpus: Corpus, pe: str, config: ModelConfig, code: CodeConfig, epochs: EpochConfig, **settings: Any
) -> Stage:
    """Build a stage with an untrained model.

    pe        the branches' code, one of VERSION_BY_PE
    epochs    reading order, batches, branches
    settings  fields of TrainConfig besides steps and batch_size
    Raises BadInput for more branches than the code knows, and what `BranchEpochs` refuses.
    """
    version, options = VERSION_BY_PE[pe], code.options(pe)
    objective = BranchEpochs(corpus, config.block_size, epochs, settings.get("seed", TrainConfig.seed))
    plan = TrainConfig(steps=objective.steps(), batch_size=epochs.batch_size, **settings)
    torch.manual_seed(plan.seed)
    model = build(version, config, **options)
    require_codes(model, objective.n_branches[1])
    return Stage(version, options, model.to(pick_device()), corpus, objective, plan)


# ---------------------------------------------------------------- beginning from a checkpoint


def load_weights(stage: Stage, path: Path) -> None:
    """Copy the weights of a checkpoint into a stage's model.

    A trainable table may follow a fixed code: it begins as the code that the weights were trained with.
    Raises BadInput naming the setting that does not fit, with both values.
    """
    loaded = checkpoints.load(path)
    if loaded.version != stage.version:
        raise BadInput(
            f"{path} holds a {loaded.version}, not a {stage.version}: "
            "weights are not interchangeable between codes, begin anew"
        )
    require_same_characters(loaded.tokenizer, stage.corpus.tokenizer, path)
    defaults = VERSIONS[stage.version].options()
    ours = {**defaults, **asdict(stage.model.config), **stage.options}
    theirs = {**defaults, **asdict(loaded.model.config), **loaded.options}
    fresh = bool(stage.options.get("learnable")) and not loaded.options.get("learnable")
    for name in {**ours, **theirs}:
        if ours.get(name) != theirs.get(name) and not (name == "learnable" and fresh):
            raise BadInput(f"{name} ({ours.get(name)}) is not that of {path} ({theirs.get(name)})")
    begun = {"encoding.table": stage.model.state_dict()["encoding.table"]} if fresh else {}
    stage.model.load_state_dict({**loaded.model.state_dict(), **begun})


def require_same_characters(known: CharTokenizer, wanted: CharTokenizer, path: Path) -> None:
    """Raise BadInput unless a checkpoint was trained on exactly the characters of a corpus."""
    if known.characters == wanted.characters and known.vocab_size == wanted.vocab_size:
        return
    ours, theirs = set(wanted.characters), set(known.characters)
    raise BadInput(
        f"{path} was trained on other characters: it lacks {in_short(sorted(ours - theirs))} of this corpus, "
        f"and has {in_short(sorted(theirs - ours))} that the corpus lacks"
    )
