"""The numbers of a run are checked when they are set, and both sides of a misfit are named."""

import json
import math
from dataclasses import MISSING, FrozenInstanceError, asdict, fields
from functools import partial

import numpy as np
import pytest
import torch

from babygpt.config import ModelConfig, TrainConfig, require_countable, require_seed
from babygpt.errors import BadInput


def test_head_dim_is_the_width_of_one_head() -> None:
    assert ModelConfig(vocab_size=5, n_head=4, n_embd=48).head_dim == 12


def test_width_that_heads_cannot_share_names_both_numbers() -> None:
    with pytest.raises(ValueError, match=r"n_embd \(130\).*n_head \(4\)"):
        ModelConfig(vocab_size=5, n_embd=130, n_head=4)


@pytest.mark.parametrize("name", [f.name for f in fields(ModelConfig)])
@pytest.mark.parametrize("value", [0, -1])
def test_model_sizes_must_be_positive(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=rf"{name} \({value}\)"):
        ModelConfig(**{"vocab_size": 5, name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("steps", 0),
        ("batch_size", -3),
        ("lr_matrix", 0.0),
        ("lr_other", -0.1),
        ("warmup", -1),
        ("eval_every", -1),
        ("weight_decay", -0.5),
        ("final_lr", -0.01),
        ("final_lr", 1.5),
    ],
)
def test_training_numbers_out_of_range_are_named(name: str, value: float) -> None:
    with pytest.raises(ValueError, match=rf"{name} \({value}\)"):
        TrainConfig(**{name: value})


COUNTS = [(c, f.name) for c in (ModelConfig, TrainConfig) for f in fields(c) if f.type == "int"]
MEASURES = [f.name for f in fields(TrainConfig) if f.type == "float"]


@pytest.mark.survives(
    "a count that is no whole number, or a rate that is none", "it is refused by its name, before training"
)
@pytest.mark.parametrize(("config", "name"), COUNTS, ids=lambda x: x if isinstance(x, str) else x.__name__)
@pytest.mark.parametrize("value", [1.5, 2.0, math.nan, True, "3", None, np.float64(2), torch.tensor(2.0)])
def test_a_count_is_a_whole_number(config, name: str, value: object) -> None:
    with pytest.raises(BadInput, match=rf"{name} \(.*\) must be a whole number"):
        config(**{"vocab_size": 5} | {name: value} if config is ModelConfig else {name: value})


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 10**400, True, "3", None])
def test_what_is_measured_is_a_finite_number(name: str, value: object) -> None:
    with pytest.raises(BadInput, match=rf"{name} \(.*\) must be a finite number"):
        TrainConfig(**{name: value})


@pytest.mark.parametrize("value", [1.5, True, "3"])
def test_a_count_or_seed_outside_of_a_config_is_whole_too(value: object) -> None:
    for check in (require_seed, partial(require_countable, "seed")):
        with pytest.raises(BadInput, match=r"seed \(.*\) must be a whole number"):
            check(value)


def test_numbers_that_somebody_elses_library_counted_are_stored_as_plain_ones() -> None:
    """So that they can be written down as JSON."""
    shape, plan = ModelConfig(np.int64(5), torch.tensor(8)), TrainConfig(lr_other=np.float32(1), lr_matrix=1)
    assert json.loads(json.dumps(asdict(shape))) == asdict(ModelConfig(5, 8))
    assert json.dumps(asdict(plan)) == json.dumps(asdict(TrainConfig(lr_other=1.0, lr_matrix=1.0)))


@pytest.mark.parametrize("final_lr", [0.0, 1.0])
def test_both_ends_of_the_range_are_allowed(final_lr: float) -> None:
    config = TrainConfig(final_lr=final_lr, warmup=0, eval_every=0, weight_decay=0.0)
    assert config.final_lr == final_lr


@pytest.mark.parametrize("config", [ModelConfig(vocab_size=5), TrainConfig()])
def test_a_run_cannot_be_changed_after_it_is_set(config: ModelConfig | TrainConfig) -> None:
    with pytest.raises(FrozenInstanceError):
        setattr(config, fields(config)[0].name, 7)


@pytest.mark.parametrize(
    "field", [f for c in (ModelConfig, TrainConfig) for f in fields(c)], ids=lambda f: f.name
)
def test_every_number_has_help_and_a_flag_can_tell_its_type(field) -> None:
    """The command line makes a flag of each field that has a default."""
    assert len(field.metadata["help"]) > 10
    assert field.default is MISSING or type(field.default) in (int, float)
