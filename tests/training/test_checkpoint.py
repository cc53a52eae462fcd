"""Tests of checkpoints: they load whole, and damaged or foreign files are refused by name."""

import json
import math
import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from babygpt.data.tokenizer import CharTokenizer
from babygpt.errors import BadInput
from babygpt.models.versions import VERSIONS
from babygpt.training.checkpoint import KEY, LARGEST_WEIGHT, Checkpoint, load, require_usable, save

TOKENIZER = CharTokenizer("\n .?abcdefg")
INFO = {"corpus": "tales", "steps_done": 40, "val_loss": 1.25, "seeds": [0, 1]}


@pytest.fixture
def made(awake) -> Checkpoint:
    return Checkpoint("v4", awake("v4", n_embd=8, n_layer=1), TOKENIZER, INFO)


@pytest.fixture
def path(made: Checkpoint, tmp_path: Path) -> Path:
    """Write a sound checkpoint, alone in its folder."""
    path = tmp_path / "one" / "model.safetensors"
    save(path, made)
    return path


def refused(path: Path) -> str:
    """Return the message with which `load` refuses a file: one line of BadInput that names it."""
    with pytest.raises(BadInput) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def parts(path: Path) -> tuple[dict, dict]:
    """Return our header and the weights, read by safetensors alone."""
    with safe_open(path, framework="pt") as file:
        return json.loads(file.metadata()[KEY]), {k: file.get_tensor(k) for k in file.keys()}  # noqa: SIM118


def altered(path: Path, weights: dict) -> None:
    """Change a checkpoint's weights."""
    save_file(weights, path, {KEY: json.dumps(parts(path)[0])})


# ---------------------------------------------------------------- saving and loading


CHOSEN = [
    ("v5", {"sigmas": [2.0, 9.0], "theta": 500.0}),
    ("v5", {"kernel": "absolute", "learnable": False}),
    ("v5", {"alphas": [1.0, 0.0], "sigmas": [math.inf, math.inf], "learnable": False}),
    ("v6", {"stride": 7, "isolated": True}),
    ("v6", {"learnable": True, "max_positions": 700, "stride": 9}),
    ("v6", {"band": 4, "theta": 30.0}),
    ("v6-learned", {"max_branches": 3}),
    ("v6-rope2d", {"branch_share": 1.0, "stride": 5.0}),
    ("v7", {"alpha": 0.7, "theta": 50.0}),
    ("v7-keys", {"alpha": 0.0}),
    ("v7-pope", {"theta": 50.0}),
]


@pytest.mark.parametrize(("version", "options"), [("v1", {}), ("v4", {}), *CHOSEN])
def test_a_loaded_model_has_its_options_and_logits(
    awake, woven, one_text, tmp_path: Path, version: str, options: dict
) -> None:
    model, columns = awake(version, options), woven()
    alone = one_text(version, columns.tokens.shape[1])
    positions = columns.positions if VERSIONS[version].branches else alone
    save(tmp_path / "m.safetensors", Checkpoint(version, model, TOKENIZER, INFO, options))
    loaded = load(tmp_path / "m.safetensors")
    assert (loaded.version, loaded.info, loaded.options) == (version, INFO, options)
    assert loaded.model.config == model.config
    assert torch.equal(loaded.model(columns.tokens, positions), model(columns.tokens, positions))
    assert type(loaded.model.encoding) is type(model.encoding)


def test_a_checkpoint_from_before_there_were_options_is_read(path: Path, made: Checkpoint, text) -> None:
    header, weights = parts(path)
    del header["options"]
    save_file(weights, path, {KEY: json.dumps(header), "sha256": "of then"})
    assert torch.equal(load(path).model(text(1, 9)), made.model(text(1, 9)))


@pytest.mark.parametrize("with_mask", [False, True])
def test_a_loaded_tokenizer_equals_the_saved_one(awake, tmp_path: Path, with_mask: bool) -> None:
    tokenizer = CharTokenizer("\n我爱你é", with_mask)
    model = awake("v1", vocab_size=tokenizer.vocab_size)
    save(tmp_path / "m.safetensors", Checkpoint("v1", model, tokenizer))
    loaded = load(tmp_path / "m.safetensors").tokenizer
    assert (loaded.characters, loaded.mask_id) == (tokenizer.characters, tokenizer.mask_id)


# ---------------------------------------------------------------- failed writes


@pytest.mark.parametrize("error", [OSError("no space left"), KeyboardInterrupt()], ids=["disk", "ctrl-c"])
def test_a_failure_while_writing_leaves_the_old_file(
    path: Path, made: Checkpoint, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    before = path.read_bytes()

    def fail(*args: object) -> None:
        raise error

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(type(error)):
        save(path, replace(made, info={"other": 1}))
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


# ---------------------------------------------------------------- damaged or foreign files


def test_files_that_babygpt_did_not_write_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "theirs.safetensors"
    for metadata in (None, {"format": "pt"}):
        save_file({"w": torch.zeros(3)}, path, metadata)
        assert "babygpt did not write it" in refused(path)


FOREIGN = [
    ({"format": 99}, "format 99"),
    ({"version": "v99"}, "v99"),
    ({"version": "learned"}, "encoding.table"),
    ({"version": "v1"}, "blocks"),
    ({"options": {"stride": 3}}, "stride"),
    ({"options": None}, "does not fit together"),
    ({"characters": ["a", "b", "c"]}, "3 tokens for a vocab_size of 11"),
    ({"characters": ["a"] * 11}, "does not fit together"),
    ({"config": []}, "does not fit together"),
    ({"config": {"n_embd": 8}}, "vocab_size"),
]


def test_a_header_that_does_not_fit_is_refused_with_the_difference(path: Path) -> None:
    """Change version, shape, vocabulary or format, drop a key, or drop our header."""
    header, weights = parts(path)
    shapes = [{"n_embd": 12}, {"n_layer": 2}, {"n_head": 3}, {"n_embd": "8"}]
    wrong = [(json.dumps(header | change), says) for change, says in FOREIGN]
    wrong += [
        (json.dumps(header | {"config": header["config"] | s}), "does not fit together") for s in shapes
    ]
    for key in ("format", "version", "config", "characters", "with_mask"):
        wrong.append((json.dumps({name: x for name, x in header.items() if name != key}), key))
    for text, says in (*wrong, ("no json", ""), ("[]", ""), ("null", "")):
        save_file(weights, path, {KEY: text})
        assert says in refused(path)


def test_missing_extra_or_changed_weights_are_refused(path: Path) -> None:
    whole = parts(path)[1]
    for change in ({"head.weight": None}, {"extra": torch.zeros(2)}):
        altered(path, {k: w for k, w in (whole | change).items() if w is not None})
        assert next(iter(change)) in refused(path)
    altered(path, whole | {"head.weight": whole["head.weight"] + 1})
    assert "its weights changed after they were written" in refused(path)


@pytest.mark.parametrize("number", [math.nan, -math.inf, 3e38, -1e16])
def test_unusable_weights_are_refused(path: Path, made: Checkpoint, number: float) -> None:
    weights, before = parts(path)[1], path.read_bytes()
    weights["head.weight"][0, 1] = number
    made.model.load_state_dict(weights)
    with pytest.raises(FloatingPointError, match=r"head\.weight holds"):
        save(path, made)
    assert path.read_bytes() == before
    altered(path, weights)
    assert f"head.weight holds {number:.3g}" in refused(path)


@pytest.mark.parametrize("version", ["v1", "v4", "v6", "v7"])
@torch.inference_mode()
def test_the_largest_weights_that_may_be_loaded_give_logits(awake, text, one_text, version: str) -> None:
    model = awake(version)
    for p in model.parameters():
        p.fill_(LARGEST_WEIGHT)
    require_usable(model)
    assert model(text(2, 12), one_text(version, 12)).isfinite().all()
