"""Tests of saved runs: a stopped run resumes to the same weights, and errors lose nothing."""

import os
import signal
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import pytest
import torch

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus
from babygpt.errors import BadInput
from babygpt.models.versions import build
from babygpt.objectives import Batch, NextToken
from babygpt.signals import Ended
from babygpt.training import Training
from babygpt.training import checkpoint as checkpoints
from babygpt.training.checkpoint import Checkpoint
from babygpt.training.saved_run import SavedRun, go_on, training_state


@pytest.fixture
def make(small_corpus: Corpus, tmp_path: Path) -> Callable[..., SavedRun]:
    """Start a run of v4 of eight steps, validated every other, or resume it from its file."""

    def fresh(objective: NextToken | None = None, name: str = "run", keep: str = "last") -> SavedRun:
        torch.manual_seed(0)
        config = ModelConfig(small_corpus.tokenizer.vocab_size, 16, n_layer=1, n_head=2, n_embd=16)
        plan = TrainConfig(steps=8, batch_size=4, eval_every=2)
        path = tmp_path / f"{name}.safetensors"
        training = Training(build("v4", config), objective or NextToken(small_corpus, 16), plan)
        run = SavedRun(path, training, small_corpus.tokenizer, {"corpus": "small", "keep": keep})
        if path.exists():
            go_on(run, checkpoints.load(path))
        return run

    return fresh


@pytest.fixture
def whole(make) -> SavedRun:
    """Return the run as it ends without interruption."""
    run = make(name="whole")
    assert run.train(save_every=2)
    return run


class Disturbed(NextToken):
    """An objective that calls a function when its n-th batch is drawn, or before its n-th validation."""

    def __init__(self, corpus: Corpus, do: Callable[[], None], batch: int = 0, validation: int = 0) -> None:
        super().__init__(corpus, 16)
        self.do, self.batches, self.validations = do, batch, validation

    def batch(self, batch_size: int, generator: torch.Generator) -> Batch:
        self.batches -= 1
        if self.batches == 0:
            self.do()
        return super().batch(batch_size, generator)

    def validate(self, model) -> float:
        self.validations -= 1
        if self.validations == 0:
            self.do()
        return super().validate(model)


def weights(run: SavedRun) -> list[bytes]:
    return [p.numpy().tobytes() for p in run.training.model.state_dict().values()]


def raises(error: BaseException) -> Callable[[], None]:
    def act() -> None:
        raise error

    return act


def presses(number: int, times: int = 1) -> Callable[[], None]:
    return lambda: [os.kill(os.getpid(), number) for _ in range(times)] and None


# ---------------------------------------------------------------- stopped and resumed runs


NO_MEMORY = RuntimeError("DefaultCPUAllocator: can't allocate memory")
DISTURBED = {
    "memory in training": ({"batch": 5}, NO_MEMORY, MemoryError, 4),
    "memory in the last validation": ({"validation": 4}, NO_MEMORY, MemoryError, 8),
    "an error of the program": ({"batch": 6}, RuntimeError("shapes differ"), RuntimeError, 4),
}


@pytest.mark.parametrize("fault", DISTURBED)
def test_a_run_resumes_after_an_error(make, whole, small_corpus: Corpus, fault: str) -> None:
    where, error, raised, step = DISTURBED[fault]
    broken = make(Disturbed(small_corpus, raises(error), **where))
    with pytest.raises(raised) as caught:
        broken.train(save_every=2)
    if error is not NO_MEMORY:
        assert caught.value is error
    else:
        assert f"the checkpoint of step {step} stands at" in str(caught.value)
    assert checkpoints.load(broken.path).info["steps_done"] == step
    again = make()
    assert again.train(save_every=2)
    assert (weights(again), again.curve) == (weights(whole), whole.curve)


@pytest.mark.usefixtures("ctrl_c")
@pytest.mark.parametrize("presses_of", [1, 5])
def test_ctrl_c_saves_the_step_it_came_in(make, whole, small_corpus: Corpus, presses_of: int) -> None:
    stopped = make(Disturbed(small_corpus, presses(signal.SIGINT, presses_of), batch=3))
    assert not stopped.train(save_every=0)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert (stopped.training.step, stopped.saved_step) == (3, 3)
    again = make()
    assert again.train(save_every=0)
    assert (weights(again), again.curve) == (weights(whole), whole.curve)


def test_an_interrupted_measurement_leaves_the_saved_run(make, whole) -> None:
    run = make()
    assert run.train(save_every=0)
    with pytest.raises(Ended) as ended:
        run.complete(raises(KeyboardInterrupt()))
    assert ended.value.code == 130
    assert checkpoints.load(run.path).training is not None
    again = make()
    assert again.train(save_every=0)
    again.complete(lambda: {"val_loss": again.curve[-1][1]})
    done = checkpoints.load(run.path)
    assert done.training is None
    assert done.info["val_loss"] == whole.curve[-1][1]


class Scripted(NextToken):
    """An objective whose validation losses are these, one after another."""

    def __init__(self, corpus: Corpus, losses: list[float]) -> None:
        super().__init__(corpus, 16)
        self.to_come = losses

    def validate(self, model) -> float:
        return self.to_come.pop(0)


def test_the_best_weights_are_kept_and_the_last_ones_go_on(make, whole, small_corpus: Corpus) -> None:
    """Stop the run at its sixth step, resume it, and let its lowest loss be that of the fourth."""
    four = make(name="four")
    list(islice(four.training.steps(), 4))
    losses = [3.0, 2.0, 2.5, 2.5, 2.1]  # a resumed run measures its sixth step again
    stopped = make(Scripted(small_corpus, losses), keep="best")
    list(islice(stopped.steps(1, []), 6))
    again = make(Scripted(small_corpus, losses), keep="best")
    assert (again.training.step, again.kept_step) == (6, 4)
    assert again.train(save_every=1)
    assert weights(again) == weights(whole)
    again.complete(lambda: {"measured": weights(again) == weights(four)})
    done = checkpoints.load(again.path)
    assert (done.training, done.info["kept_step"], done.info["measured"]) == (None, 4, True)
    stored = [p.numpy().tobytes() for p in done.model.state_dict().values()]
    assert stored == weights(four) != weights(whole)


# ---------------------------------------------------------------- the state of a training


def test_steered_numbers_outside_the_weights_are_restored(make) -> None:
    """Steer theta of RoPE, a plain float, which no state_dict holds."""
    run = make()
    run.training.make_step(lambda step: {"theta": 30.0})
    run.save()
    assert make().training.model.encoding.theta == 30.0


def test_a_state_from_which_anything_is_missing_is_refused(make) -> None:
    run = make()
    list(islice(run.training.steps(), 2))
    state = training_state(run.training)
    for left_out in (name for name in state if not name.startswith("optimizer.")):
        part = {name: x for name, x in state.items() if name != left_out}
        with pytest.raises(BadInput, match="does not fit"):
            go_on(make(), Checkpoint(run.training.model, run.tokenizer, training=part))
