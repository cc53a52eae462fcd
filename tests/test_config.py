"""The numbers of a run are checked when they are set, and both sides of a misfit are named."""

from dataclasses import MISSING, FrozenInstanceError, fields

import pytest

from babygpt.config import ModelConfig, TrainConfig


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
