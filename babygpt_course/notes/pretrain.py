"""The curriculum of note 002, first one text alone, then several at once: `python -m babygpt pretrain`."""

from __future__ import annotations

import math
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from babygpt.config import BEYOND, ModelConfig, TrainConfig, require_positive, setting, settle_numbers
from babygpt.data.corpus import Corpus
from babygpt.data.tokenizer import CharTokenizer, in_short
from babygpt.device import pick_device
from babygpt.errors import BadInput
from babygpt.metrics.branches import parallel_loss
from babygpt.models.base import LanguageModel
from babygpt.models.transformer import Transformer
from babygpt.models.versions import VERSIONS, build
from babygpt.positions import Positions
from babygpt.training import Training
from babygpt.training import checkpoint as checkpoints
from babygpt.training.checkpoint import Checkpoint
from babygpt.training.saved_run import SavedRun, go_on
from babygpt_course.notes.epochs import BranchEpochs, EpochConfig

CHECKPOINT_NAME = "pretrain.safetensors"  # of the checkpoint in its folder
NOTE_NAME = re.compile(r"pretrain_\d+\.pth")  # what note 002 calls it
NOTE_SUFFIX = ".pt"  # of the checkpoints of note 000; ours end in .safetensors
VERSION_BY_PE = {"fpe": "v6", "rope2d": "v6-rope2d", "learned": "v6-learned", "none": "v6-none"}


@dataclass(frozen=True)
class CodeConfig:
    """The code that says which branch a token belongs to; each --pe reads its own fields."""

    branch_stride: int = setting(128, "fpe, rope2d: distance between neighbouring branches, in positions")
    branch_share: float = setting(0.5, "rope2d: share of the frequency pairs that turn with the branch")
    fpe_theta: float = setting(10_000.0, "fpe: base of the code's frequencies")
    fpe_max_positions: int = setting(32_768, "fpe: positions from here on are refused")
    fpe_learnable: bool = setting(False, "fpe: train the code's table too, beginning as the sinusoid")
    learned_rows: int = setting(8, "learned: rows of the table, the most branches it can ever tell apart")
    isolated: bool = setting(False, "let each branch see nothing but itself")

    def __post_init__(self) -> None:
        settle_numbers(self)
        require_positive(self, "branch_stride", "fpe_theta", "fpe_max_positions", "learned_rows")

    def options(self, pe: str) -> dict[str, Any]:
        """What `build` is told for a code: only what plays a part in it."""
        of: dict[str, dict[str, Any]] = {
            "fpe": {
                "stride": self.branch_stride,
                "theta": self.fpe_theta,
                "max_positions": self.fpe_max_positions,
                "learnable": self.fpe_learnable,
            },
            "rope2d": {"stride": self.branch_stride, "branch_share": self.branch_share},
            "learned": {"max_branches": self.learned_rows},
            "none": {},
        }
        return {**of[pe], "isolated": self.isolated}


def require_codes(model: LanguageModel, n: int) -> None:
    """Raise BadInput unless a model has a code for each of n branches."""
    if not 1 <= n < BEYOND:
        raise BadInput(f"{n} branches: at least 1 is needed, and fewer than 2^63")
    device = next(model.parameters()).device
    positions = Positions(torch.zeros(2, dtype=torch.long), torch.tensor([0, n - 1])).to(device)
    try:
        model.encoding.embed(torch.zeros(1, 2, model.config.n_embd, device=device), positions)
    except BadInput as error:
        raise BadInput(f"{n} branches are more than the code can tell apart: {error}") from None


# ---------------------------------------------------------------- a stage


@dataclass(frozen=True)
class Stage:
    """One stage of the curriculum: a model ready to be trained, and what it will read.

    version    such as "v6"
    options    what was chosen of its code
    model      on the device it is trained on
    corpus     what is read
    objective  draws the batches
    plan       steps, batch size, learning rates, seed
    """

    version: str
    options: dict[str, Any]
    model: LanguageModel
    corpus: Corpus
    objective: BranchEpochs
    plan: TrainConfig

    def saved_run(self, path: Path, info: dict[str, Any], saved: Checkpoint | None = None) -> SavedRun:
        """The run that trains it, from its beginning, or from where a checkpoint of the same run stands.

        path  of the checkpoint that it writes
        info  what is said there of the run, besides how it is trained and what it reads
        """
        about = {"train": asdict(self.plan), "text": self.corpus.fingerprint(), **info}
        about["reading"] = asdict(self.objective.config)
        if saved:
            self.model.load_state_dict(saved.model.state_dict())
        training = Training(self.model, self.objective, self.plan)
        run = SavedRun(path, self.version, training, self.corpus.tokenizer, about, options=self.options)
        if saved:
            go_on(run, saved)
        return run

    def measure(self, n_texts: int = 256) -> dict[str, float]:
        """Loss of the same validation texts alone and in full company, and what the company costs.

        n_texts  texts to measure on, or a few more where they must make whole samples
        returns  "alone", "beside" and "gap", nats per token; "epochs_done", how often all texts were read
        """
        n = self.objective.n_branches[1]
        whole, model = n * math.ceil(n_texts / n), self.model
        assert isinstance(model, Transformer)
        alone, beside = (
            parallel_loss(model, self.objective.val, k, self.objective.length, whole) for k in (1, n)
        )
        losses = {"alone": alone, "beside": beside, "gap": beside - alone}
        return {**losses, "epochs_done": self.objective.epochs_read}


def prepare_stage(
    corpus: Corpus, pe: str, config: ModelConfig, code: CodeConfig, epochs: EpochConfig, **settings: Any
) -> Stage:
    """Make a stage with an untrained model; what cannot be trained is refused here.

    corpus    what is read
    pe        the branches' code, one of VERSION_BY_PE
    config    the model's shape
    code      stride and the like
    epochs    how often texts are read, batches, branches
    settings  fields of TrainConfig besides steps and batch_size
    Raises BadInput for another pe, for more branches than the code knows, and what `BranchEpochs` refuses.
    """
    if pe not in VERSION_BY_PE:
        raise BadInput(f"pe ({pe}) must be one of {', '.join(VERSION_BY_PE)}")
    version, options = VERSION_BY_PE[pe], code.options(pe)
    objective = BranchEpochs(corpus, config.block_size, epochs, settings.get("seed", TrainConfig.seed))
    plan = TrainConfig(steps=objective.steps(), batch_size=epochs.batch_size, **settings)
    torch.manual_seed(plan.seed)
    model = build(version, config, **options)
    require_codes(model, objective.n_branches[1])
    return Stage(version, options, model.to(pick_device()), corpus, objective, plan)


# ---------------------------------------------------------------- beginning from a checkpoint


def find_checkpoint(path: Path) -> Path:
    """The checkpoint that a path means.

    path     a checkpoint, a folder that `pretrain` made, or the name that note 002 gives to the checkpoint
             in such a folder: FOLDER/pretrain_NUMBER.pth; or, as note 000 has it, NAME.pt for a
             NAME.safetensors
    returns  the checkpoint's own path
    Raises BadInput if there is none.
    """
    noted = not path.exists() and NOTE_NAME.fullmatch(path.name)
    folder = path.parent if noted else path
    found = folder / CHECKPOINT_NAME if noted or path.is_dir() else path
    if not path.exists() and path.suffix == NOTE_SUFFIX:
        found = path.with_suffix(".safetensors")
    if not found.is_file():
        raise BadInput(f"no checkpoint at {path}" + (f", and no {found}" if found != path else ""))
    return found


def load_weights(stage: Stage, path: Path, other_code: bool = False) -> None:
    """Let a stage begin with the weights of a checkpoint.

    stage       its model is filled
    path        of the checkpoint
    other_code  whether a fixed code may differ from the checkpoint's: its stride, theta, size, or isolation
    A trained table may follow a fixed code: it begins as the code that the weights were trained with.
    Raises BadInput naming what does not fit, with both values.
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
    table = loaded.options.get("learnable")
    fresh = bool(stage.options.get("learnable")) and not table
    # Those that no weight depends on; but a trained table keeps its size, and how it began.
    free = {"stride", "isolated"} | (set() if table else {"theta", "max_positions"})
    for name in {**ours, **theirs}:
        if name == "learnable" and fresh:
            continue
        if ours.get(name) != theirs.get(name) and not (other_code and name in free):
            hint = "; the weights would fit: --other-code uses them" if name in free else ""
            raise BadInput(f"{name} ({ours.get(name)}) is not that of {path} ({theirs.get(name)}){hint}")
    begun = {"encoding.table": stage.model.state_dict()["encoding.table"]} if fresh else {}
    stage.model.load_state_dict({**loaded.model.state_dict(), **begun})


def require_same_characters(known: CharTokenizer, wanted: CharTokenizer, path: Path) -> None:
    """Raise BadInput unless a checkpoint knows the characters of a corpus, and no others."""
    if known.characters == wanted.characters and known.vocab_size == wanted.vocab_size:
        return
    missing, more = (
        in_short(sorted({*one.characters} - {*other.characters}))
        for one, other in ((wanted, known), (known, wanted))
    )
    raise BadInput(
        f"{path} was trained on other characters: it lacks {missing} of this corpus, "
        f"and has {more} that the corpus lacks"
    )
