"""A run that is saved: before it is measured, beside a file that moved on, and never over it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus
from babygpt.errors import BadInput
from babygpt.models.versions import build
from babygpt.objectives import NextToken
from babygpt.stopping import Ended
from babygpt.training import Training
from babygpt.training import checkpoint as checkpoints
from babygpt.training.saved_run import SavedRun, go_on, load_own

INFO = {"corpus": "small", "many": (1, 2)}  # a tuple, which JSON makes a list of


@pytest.fixture
def make(small_corpus: Corpus, tmp_path: Path) -> Callable[..., SavedRun]:
    """A run of eight steps, validated every other, at its beginning or from where it was saved."""

    def fresh(objective: NextToken | None = None, **more: bool) -> SavedRun:
        torch.manual_seed(0)
        config = ModelConfig(small_corpus.tokenizer.vocab_size, 16, n_layer=1, n_head=2, n_embd=16)
        plan = TrainConfig(steps=8, batch_size=4, eval_every=2)
        path = tmp_path / "run.safetensors"
        saved = load_own(path, "v4", INFO) if not more else None
        model = saved.model if saved else build("v4", config)
        training = Training(model, objective or NextToken(small_corpus, 16), plan)
        run = SavedRun(path, "v4", training, small_corpus.tokenizer, INFO, **more)
        if saved:
            go_on(run, saved)
        return run

    return fresh


class Breaks(NextToken):
    """An objective whose n-th validation raises something."""

    def __init__(self, corpus: Corpus, nth: int, error: BaseException) -> None:
        super().__init__(corpus, 16)
        self.left, self.error = nth, error

    def validate(self, model) -> float:
        self.left -= 1
        if self.left == 0:
            raise self.error
        return super().validate(model)


def weights(run: SavedRun) -> list[bytes]:
    return [p.numpy().tobytes() for p in run.training.model.state_dict().values()]


@pytest.mark.parametrize("nth", [1, 2, 4])
@pytest.mark.survives(
    "the memory runs out, or anything else fails, while a model is measured",
    "it was saved before; the same command goes on, and measures again",
)
def test_it_is_saved_before_it_is_measured(make, small_corpus: Corpus, nth: int) -> None:
    whole = make(overwrite=True)
    assert whole.train(save_every=2)
    wanted = weights(whole), whole.curve
    whole.path.unlink()
    broken = make(Breaks(small_corpus, nth, RuntimeError("DefaultCPUAllocator: can't allocate memory")))
    with pytest.raises(MemoryError, match=f"step {2 * nth} .*the checkpoint of step {2 * nth} stands at"):
        broken.train(save_every=2)
    assert checkpoints.load(broken.path).info["steps_done"] == 2 * nth
    again = make()
    assert again.train(save_every=2)
    assert (weights(again), again.curve) == wanted


def test_an_interrupted_measurement_leaves_what_was_saved(make) -> None:
    run = make()
    assert run.train(save_every=0)

    def pressed() -> dict:
        raise KeyboardInterrupt

    with pytest.raises(Ended) as ended:
        run.complete(pressed)
    assert ended.value.code == 130
    assert checkpoints.load(run.path).training is not None
    again = make()
    assert again.train(save_every=0)
    again.complete(lambda: {"val_loss": again.curve[-1][1]})
    done = checkpoints.load(run.path)
    assert done.training is None
    assert done.info["val_loss"] == run.curve[-1][1]


@pytest.mark.survives(
    "a checkpoint is replaced by somebody else while a run trains",
    "it is left as it is; what the run learned is saved beside it, and that is said",
)
def test_a_file_that_moved_on_is_left_alone(make) -> None:
    run = make()
    for step in run.steps(save_every=2):
        if step.step == 4:
            break
    run.path.write_bytes(b"mine")
    with pytest.raises(BadInput, match=r"replaced by somebody else .* to step 4, stands at (.*)") as said:
        run.save()
    assert run.path.read_bytes() == b"mine"
    beside = Path(str(said.value).rsplit(" ", 1)[1])
    assert checkpoints.load(beside).info["steps_done"] == 4


def test_a_file_that_was_only_touched_is_still_its_own(make) -> None:
    run = make()
    for step in run.steps(save_every=2):
        if step.step == 4:
            os.utime(run.path, (1, 1))
    assert checkpoints.load(run.path).info["steps_done"] == 8


def test_a_file_of_the_longest_name_is_saved_beside_too(make, tmp_path: Path) -> None:
    run = make()
    run.path = tmp_path / ("n" * 243 + ".safetensors")
    run.path.write_bytes(b"mine")
    with pytest.raises(BadInput, match="stands at") as said:
        run.save()
    assert checkpoints.load(Path(str(said.value).rsplit(" ", 1)[1])).info["steps_done"] == 0


def test_a_run_of_other_numbers_is_not_taken_for_its_own(make) -> None:
    run = make()
    run.train(save_every=0)
    for version, info in (("v3", INFO), ("v4", INFO | {"corpus": "other"}), ("v4", INFO | {"more": 1})):
        with pytest.raises(BadInput, match="is of another run"):
            load_own(run.path, version, info)
    assert load_own(run.path, "v4", INFO) is not None
    assert load_own(run.path.with_name("none"), "v4", INFO) is None
