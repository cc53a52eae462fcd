"""A run that was stopped goes on to the same weights; a failing disk takes nothing away."""

import errno
import os
import signal
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner, Result

from babygpt.cli import main
from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus
from babygpt.errors import BadInput
from babygpt.models.base import LanguageModel
from babygpt.models.versions import VERSIONS, build
from babygpt.objectives import Batch, MaskedDiffusion, NextToken
from babygpt.stopping import deferred_signals
from babygpt.training import Training, replay
from babygpt.training import checkpoint as checkpoints
from babygpt.training.checkpoint import Checkpoint
from babygpt.training.records import follow, interruptible

BLOCK = 16
PLAN = TrainConfig(steps=6, batch_size=4, warmup=2, seed=0)
SMALL = ["--n-layer", "1", "--n-head", "2", "--n-embd", "16", "--block-size", "16", "--batch-size", "4"]


@pytest.fixture
def make(small_corpus: Corpus, small_masked_corpus: Corpus) -> Callable[..., Training]:
    """A training at its beginning, always with the same weights and batches, or of a given model."""

    def fresh(version: str, model: LanguageModel | None = None, plan: TrainConfig = PLAN) -> Training:
        torch.manual_seed(0)
        corpus = small_masked_corpus if VERSIONS[version].masks else small_corpus
        objective = (
            MaskedDiffusion(corpus, BLOCK, 20) if VERSIONS[version].masks else NextToken(corpus, BLOCK)
        )
        config = ModelConfig(corpus.tokenizer.vocab_size, BLOCK, n_layer=1, n_head=2, n_embd=16)
        return Training(model or build(version, config), objective, plan)

    return fresh


@pytest.fixture
def through_a_file(make, small_corpus: Corpus, small_masked_corpus: Corpus, tmp_path: Path):
    """The same training, taken up from a checkpoint as another process would."""

    def of(version: str, training: Training) -> Training:
        path = tmp_path / "run.safetensors"
        tokenizer = (small_masked_corpus if VERSIONS[version].masks else small_corpus).tokenizer
        made = Checkpoint(version, training.model, tokenizer, training=training.state())
        checkpoints.save(path, made, overwrite=True)
        loaded = checkpoints.load(path)
        assert loaded.training is not None
        again = make(version, loaded.model)
        again.restore(loaded.training)
        return again

    return of


def weights(training: Training) -> list[torch.Tensor]:
    return [p.clone() for p in training.model.state_dict().values()]


def same(one: list[torch.Tensor], other: list[torch.Tensor]) -> bool:
    return all(torch.equal(p, q) for p, q in zip(one, other, strict=True))


# ---------------------------------------------------------------- in the library


@pytest.mark.parametrize("version", ["v1", "v4", "v5", "v7"])
def test_a_training_goes_on_from_a_file_as_if_it_had_never_stopped(
    make, through_a_file, version: str
) -> None:
    """Through a file after every single step: the optimizers' moments, the batches, the records."""
    whole = make(version)
    expected = list(whole.steps())
    training, got = make(version), []
    while training.step < PLAN.steps:
        training = through_a_file(version, training)
        got.append(next(training.steps()))
    assert same(weights(training), weights(whole))
    assert [(s.step, s.loss, s.lr, s.tokens, s.val_loss) for s in got] == [
        (s.step, s.loss, s.lr, s.tokens, s.val_loss) for s in expected
    ]
    assert got[-1].seconds > got[0].seconds > 0


def test_without_its_state_it_would_go_on_to_other_weights(make) -> None:
    """Else the test above says nothing."""
    whole, stopped = make("v4"), make("v4")
    list(whole.steps())
    list(islice(stopped.steps(), 3))
    again = make("v4", stopped.model)
    again.step = 3
    list(again.steps())
    assert not same(weights(again), weights(whole))


def test_steered_numbers_that_are_no_weights_come_back(make, through_a_file) -> None:
    """theta of RoPE is a plain float, which no state_dict holds."""
    changes = {2: {"theta": 30.0}, 5: {"theta": 700.0}}
    whole, training = make("v4"), make("v4")
    expected = list(whole.steps(lambda step: changes.get(step, {})))
    list(islice(training.steps(replay(expected)), 3))
    training = through_a_file("v4", training)
    assert training.model.encoding.theta == 30.0
    list(training.steps(replay(expected)))
    assert same(weights(training), weights(whole))


def test_an_interrupted_step_has_drawn_nothing(make, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, training = make("v4"), make("v4")
    list(whole.steps())
    batch = training.objective.batch

    def pressed(batch_size: int, generator: torch.Generator) -> Batch:
        batch(batch_size, generator)
        raise KeyboardInterrupt

    list(islice(training.steps(), 3))
    with monkeypatch.context() as now:
        now.setattr(training.objective, "batch", pressed)
        with pytest.raises(KeyboardInterrupt):
            next(training.steps())
    again = make("v4", training.model)
    again.restore(training.state())
    list(again.steps())
    assert same(weights(again), weights(whole))


def all_of(training: Training) -> dict[str, object]:
    """Copies of everything that a training's next step depends on."""
    state = {name: x.tolist() if isinstance(x, torch.Tensor) else x for name, x in training.state().items()}
    return state | {
        "theta": training.model.encoding.theta,
        "weights": [p.tolist() for p in weights(training)],
    }


WRONG = [
    *({"step": step} for step in (7, -1, 1.5, "two", True, None)),
    *({name: value} for name in ("seconds", "tokens") for value in (-1, float("nan"), "x")),
    *({"generator": value} for value in (torch.zeros(3, dtype=torch.uint8), 5)),
    *({"steered": value} for value in ({"theta": 30.0, "steepness": 1.0}, {"theta": float("inf")}, 3)),
    {"optimizer.9.0.exp_avg": torch.zeros(2)},
    {"optimizer.1.99.exp_avg": torch.zeros(2)},
    {"optimizer.1.0.exp_avg": torch.zeros(2)},
    {"optimizer.1.0.exp_avg": 5},
    {"optimizer.1.0.another": torch.zeros(2)},
    {"optimizer": torch.zeros(2), "optimizer.x": 1},
    {"steered": {"theta": 30.0}, "next_batch": "another"},
]


@pytest.mark.parametrize("change", WRONG, ids=lambda change: "-".join(change))
def test_a_wrong_state_is_refused_before_anything_is_changed(make, change: dict) -> None:
    stopped, training = make("v4"), make("v4")
    list(islice(stopped.steps(), 2))
    list(islice(training.steps(), 3))
    before = all_of(training)
    with pytest.raises(BadInput, match=r"does not fit|next batch"):
        training.restore(stopped.state() | change)
    assert all_of(training) == before


def test_a_state_from_which_anything_is_missing_is_refused(make) -> None:
    training = make("v4")
    list(islice(training.steps(), 2))
    state = training.state()
    assert any(name.startswith("optimizer.1.") for name in state)
    for name in state:
        with pytest.raises(ValueError, match=r"does not fit|next batch"):
            make("v4").restore({other: x for other, x in state.items() if other != name})
    with pytest.raises(ValueError, match="moments of Muon are missing"):
        make("v4").restore({name: x for name, x in state.items() if not name.startswith("optimizer.0.")})


def test_weights_that_a_last_step_has_ruined_do_not_take_the_place_of_good_ones(
    text: Path, tmp_path: Path
) -> None:
    out = tmp_path / "run.safetensors"
    wild = ["--lr-matrix", "1e20", "--lr-other", "1e20", "--warmup", "0"]
    refused(command("v4", text, out, *wild, steps=50, every=1), "is of no use; it is not saved")
    if out.exists():
        assert checkpoints.load(out).info["steps_done"] > 0  # it can be read: no nan is in it


def test_a_state_of_another_batch_size_is_refused(make) -> None:
    training = make("v4")
    list(islice(training.steps(), 2))
    other = make("v4", plan=TrainConfig(steps=6, batch_size=5, seed=0))
    with pytest.raises(ValueError, match="next batch is not the one"):
        other.restore(training.state())


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("presses", [1, 2, 5])
def test_ctrl_c_waits_for_the_end_of_the_step_however_often(make, presses: int) -> None:
    training = make("v4")
    with deferred_signals() as stop:
        press = lambda n: [os.kill(os.getpid(), signal.SIGINT) for _ in range(presses)] and {}  # noqa: E731
        assert len(follow(interruptible(training.steps(press), lambda: bool(stop)), 6, show=False)) == 1
        assert stop.is_urgent == (presses > 1)
        with pytest.raises(KeyboardInterrupt), stop.interruptible():
            os.kill(os.getpid(), signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert training.step == 1


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    """As under nohup."""
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with deferred_signals() as stop:
            os.kill(os.getpid(), signal.SIGTERM)
            assert not stop
    finally:
        signal.signal(signal.SIGTERM, before)


# ---------------------------------------------------------------- from the shell


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("the cat sat on the mat. " * 40, encoding="utf-8")
    return path


def command(version: str, text: Path, out: Path, *more: object, steps: int = 8, every: int = 2) -> list[str]:
    fixed = ["train", version, "--corpus", text, "--out", out, "--steps", steps, "--save-every", every]
    return [str(a) for a in [*fixed, *SMALL, *more]]


def run(args: list[str]) -> Result:
    return CliRunner().invoke(main, args)


def done(args: list[str]) -> None:
    result = run(args)
    assert result.exit_code == 0, result.output


def refused(args: list[str], *parts: object) -> None:
    """One line, exit status 1 or 2."""
    result = run(args)
    assert result.exit_code in (1, 2), result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    last = result.output.strip().splitlines()[-1]
    for part in parts:
        assert str(part) in last


def holds(path: Path) -> tuple[dict, list[bytes]]:
    """What a checkpoint of a finished run says, and its weights, bit by bit."""
    loaded = checkpoints.load(path)
    assert loaded.training is None
    return loaded.info, [p.numpy().tobytes() for p in loaded.model.state_dict().values()]


@pytest.fixture
def unfinished(text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of v4 whose disk was full at its second checkpoint: it stands at step 2 of 8."""
    out, real, calls = tmp_path / "folder" / "run.safetensors", os.fsync, iter(range(1, 1000))

    def full(handle: int) -> None:
        if next(calls) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(handle)

    with monkeypatch.context() as now:
        now.setattr(os, "fsync", full)
        refused(command("v4", text, out), out, "No space left", "untouched")
    return out


@pytest.mark.survives("a checkpoint is cut short", "it is refused by name, and left as it is")
@pytest.mark.parametrize("keep", [100, -1000, -1])
def test_a_truncated_file(text: Path, unfinished: Path, keep: int) -> None:
    unfinished.write_bytes(cut := unfinished.read_bytes()[:keep])
    refused(command("v4", text, unfinished, "--resume"), unfinished, "damaged")
    assert unfinished.read_bytes() == cut


def test_an_unfinished_run_writes_as_any_model_does(unfinished: Path) -> None:
    result = run(["generate", str(unfinished), "--prompt", "the ", "--tokens", "5"])
    assert result.exit_code == 0
    assert result.output.startswith("the ")


def test_a_run_that_is_not_finished_is_not_overwritten(text: Path, unfinished: Path) -> None:
    before = unfinished.read_bytes()
    refused(command("v4", text, unfinished), "exists already", "--resume")
    refused(command("v4", text, unfinished, "--resume", "--overwrite"), "choose one")
    assert unfinished.read_bytes() == before


def test_flags_left_out_are_those_of_the_run(text: Path, unfinished: Path) -> None:
    done(["train", "v4", "--out", str(unfinished), "--resume"])
    loaded = checkpoints.load(unfinished)
    assert loaded.model.config.n_embd == 16
    assert (loaded.info["train"]["steps"], loaded.info["corpus"]) == (8, str(text))


@pytest.mark.parametrize(
    ("flag", "value", "part"),
    [
        ("--steps", 9, "began with 8"),
        ("--n-embd", 32, "began with 16"),
        ("--seed", 3, "began with 1337"),
        ("--lr-matrix", 0.5, "began with"),
        ("--batch-size", 5, "began with 4"),
    ],
)
def test_another_plan_or_shape_is_told(
    text: Path, unfinished: Path, flag: str, value: float, part: str
) -> None:
    before = unfinished.read_bytes()
    refused(command("v4", text, unfinished, "--resume", flag, value), flag, value, part, unfinished)
    assert unfinished.read_bytes() == before


def test_another_text_version_or_bound_is_told(text: Path, unfinished: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("the cat sat on the mat. " * 39 + "the mat sat on the cat. ", encoding="utf-8")
    refused(command("v4", other, unfinished, "--resume"), other, "another text")
    refused(command("v3", text, unfinished, "--resume"), "a run of v4, not of v3")
    refused(command("v4", text, unfinished, "--resume", "--bound"), "--bound (True)", "began with False")
    moved = text.rename(tmp_path / "moved.txt")
    done(command("v4", moved, unfinished, "--resume"))


def test_what_is_no_run_is_told(text: Path, tmp_path: Path, unfinished: Path) -> None:
    args = command("v4", text, unfinished, "--resume")
    done(args)
    refused(args, "is finished, after 8 of 8 steps", unfinished)
    loaded = checkpoints.load(unfinished)
    checkpoints.save(unfinished, loaded.__class__("v4", loaded.model, loaded.tokenizer), overwrite=True)
    refused(args, "does not say how it was trained", unfinished)
    refused(command("v4", text, tmp_path / "none.safetensors", "--resume"), "no checkpoint at")
