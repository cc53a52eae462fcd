"""A race: every run by its own recipe, until the target or its end, on its own clock."""

from dataclasses import replace
from functools import partial

import pytest
import torch

from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import from_text
from babygpt.models.versions import build
from babygpt.objectives import NextToken
from babygpt.training import train
from babygpt.training.optimizers import Muon
from benchmarks import racing
from benchmarks.plain_gpt import PlainGPT
from benchmarks.racing import Race, Racer, Recipe, run_race

CORPUS = from_text("abc", "abcdefgh" * 300)
OURS, PLAIN = Recipe("v4", 1, 16, 40, 0.04, 0.02), Recipe("plain", 1, 16, 60, 0.01)


def race(target: float) -> Race:
    bodies = {"v4": partial(build, "v4"), "plain": PlainGPT}
    return Race(bodies, NextToken(CORPUS, 16), CORPUS.tokenizer.vocab_size, 16, 12, target)


def test_a_run_stops_and_its_clock_too_when_the_target_is_reached() -> None:
    racer = Racer(OURS, race(target=0.5), seed=1)
    while not racer.reached:
        racer.advance()
    before = racer.result()
    racer.advance()
    assert racer.result() == before
    assert before["val"] <= 0.5 < 2.0
    assert before["steps"] < OURS.steps


def test_who_does_not_arrive_makes_all_its_steps() -> None:
    found = run_race({"ours": OURS, "plain": PLAIN}, race(target=0.0), seed=1)
    assert {name: (run["steps"], run["reached"]) for name, run in found.items()} == {
        "ours": (40, False),
        "plain": (60, False),
    }


def test_a_run_beside_others_is_the_run_alone() -> None:
    """Taking turns changes nothing but the clock: our run is `train`'s, with the same seed."""
    found = run_race({"plain": PLAIN, "ours": OURS}, race(target=0.0), seed=1)
    torch.manual_seed(1)
    model = build("v4", ModelConfig(CORPUS.tokenizer.vocab_size, 16, n_layer=1, n_head=4, n_embd=16))
    plan = TrainConfig(40, 12, lr_matrix=0.04, lr_other=0.02, seed=1)
    last = list(train(model, NextToken(CORPUS, 16), plan))[-1]
    assert found["ours"]["val"] == round(last.val_loss, 4)


def test_only_training_is_on_the_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(racing.time, "process_time", lambda: now[0])
    steps = racing.make_steps

    def slow_steps(*args):
        for step in steps(*args):
            now[0] += 1.0
            yield step

    def slow_validation(model):
        now[0] += 100.0
        return 9.0

    monkeypatch.setattr(racing, "make_steps", slow_steps)
    here = race(0.0)
    monkeypatch.setattr(here.objective, "validate", slow_validation)
    assert run_race({"ours": OURS}, here, seed=1)["ours"]["seconds"] == OURS.steps


def test_the_plain_one_is_given_its_rate() -> None:
    slow, quick = (Racer(Recipe("plain", 1, 16, 60, rate), race(0.0), 1) for rate in (1e-6, 1e-2))
    for racer in (slow, quick):
        for _ in range(20):
            racer.advance()
    assert slow.val_loss == pytest.approx(2.08, abs=0.05)  # ln 8, where it began
    assert quick.val_loss < slow.val_loss - 0.1


def test_moments_reach_the_optimizers(monkeypatch) -> None:
    made = {"Muon": [], "AdamW": []}
    for kind in (torch.optim.AdamW, Muon):
        real = kind.__init__

        def note(self, *args, kind=kind, real=real, **more):
            real(self, *args, **more)
            made[kind.__name__].append(self)

        monkeypatch.setattr(kind, "__init__", note)
    Racer(replace(OURS, momentum=0.7), race(0.0), 1).advance()
    Racer(replace(PLAIN, betas=(0.6, 0.8)), race(0.0), 1).advance()
    assert made["Muon"][0].param_groups[0]["momentum"] == 0.7
    assert {group["betas"] for group in made["AdamW"][-1].param_groups} == {(0.6, 0.8)}


@pytest.mark.parametrize("steps", [0, 7, 30, -20])
def test_a_length_that_makes_no_rounds_is_refused(steps: int) -> None:
    with pytest.raises(ValueError, match=rf"steps \({steps}\) must be a multiple of 20"):
        Recipe("plain", 1, 16, steps, 0.01)


def test_a_target_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="target"):
        race(float("nan"))
