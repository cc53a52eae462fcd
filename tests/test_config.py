"""The numbers of a run are checked when they are set, and an error names both sides of a misfit."""

from dataclasses import MISSING, FrozenInstanceError, fields

import numpy as np
import pytest

from babygpt.config import ModelConfig, TrainConfig, require_countable
from babygpt.errors import BadInput

FIELDS = [(config, field) for config in (ModelConfig, TrainConfig) for field in fields(config)]


def make(config: type, **numbers: object) -> ModelConfig | TrainConfig:
    return config(**{"vocab_size": 5, **numbers} if config is ModelConfig else numbers)


def test_head_dim_is_the_width_of_one_head() -> None:
    assert ModelConfig(vocab_size=5, n_head=4, n_embd=48).head_dim == 12
    with pytest.raises(ValueError, match=r"n_embd \(130\).*n_head \(4\)"):
        ModelConfig(vocab_size=5, n_embd=130, n_head=4)


def test_numbers_out_of_range_are_named() -> None:
    wrong = [(ModelConfig, field.name, value) for field in fields(ModelConfig) for value in (0, -1)]
    wrong += [(TrainConfig, name, 0) for name in ("steps", "batch_size", "lr_matrix", "lr_other")]
    wrong += [(TrainConfig, name, -1) for name in ("warmup", "eval_every", "weight_decay", "final_lr")]
    wrong += [(TrainConfig, "final_lr", 1.5)]
    for config, name, value in wrong:
        with pytest.raises(BadInput, match=rf"{name} \([-0-9]"):
            make(config, **{name: value})
    for final_lr in (0.0, 1.0):
        assert TrainConfig(final_lr=final_lr, warmup=0, eval_every=0, weight_decay=0.0).final_lr == final_lr


def test_counts_of_other_libraries_are_taken_and_fractions_are_not() -> None:
    require_countable("n", np.int64(3))
    for value in (1.5, "3", None):
        with pytest.raises(BadInput, match=r"n \(.*\) must be at least 1, and whole"):
            require_countable("n", value)


def test_fields_are_frozen_and_explain_themselves_to_the_command_line() -> None:
    """Prepare them for the command line, which makes a flag of each field that has a default."""
    for config, field in FIELDS:
        with pytest.raises(FrozenInstanceError):
            setattr(make(config), field.name, 7)
        assert len(field.metadata["help"]) > 10
        assert field.default is MISSING or type(field.default) in (int, float, bool)
