"""Tests of checkpoints: they come back whole, and what is damaged or foreign is refused by name."""

import json
import math
import os
import pickle
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
    """A sound checkpoint, alone in its folder."""
    path = tmp_path / "one" / "model.safetensors"
    save(path, made)
    return path


def refused(path: Path) -> str:
    """What `load` says of a file: one line of BadInput that names it."""
    with pytest.raises(BadInput) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def parts(path: Path) -> tuple[dict, dict]:
    """Our header and the weights, read by safetensors alone."""
    with safe_open(path, framework="pt") as file:
        return json.loads(file.metadata()[KEY]), {k: file.get_tensor(k) for k in file.keys()}  # noqa: SIM118


def altered(path: Path, weights: dict | None = None, **header: object) -> None:
    """Change a checkpoint's header, its weights, or both."""
    old, held = parts(path)
    save_file(held if weights is None else weights, path, {KEY: json.dumps(old | header)})


# ---------------------------------------------------------------- there and back


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
def test_a_model_comes_back_with_its_options_and_logits(
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
def test_the_tokenizer_comes_back(awake, tmp_path: Path, with_mask: bool) -> None:
    tokenizer = CharTokenizer("\n我爱你é", with_mask)
    model = awake("v1", vocab_size=tokenizer.vocab_size)
    save(tmp_path / "m.safetensors", Checkpoint("v1", model, tokenizer))
    loaded = load(tmp_path / "m.safetensors").tokenizer
    assert (loaded.characters, loaded.mask_id) == (tokenizer.characters, tokenizer.mask_id)


# ---------------------------------------------------------------- nothing is lost


@pytest.mark.survives(
    "a file of your own where a result would go", "it is not touched unless you say --overwrite"
)
def test_an_existing_file_is_not_touched_unless_told(path: Path, made: Checkpoint) -> None:
    before = path.read_bytes()
    with pytest.raises(BadInput, match="exists already"):
        save(path, replace(made, info={"other": 1}))
    assert path.read_bytes() == before
    save(path, replace(made, info={"other": 1}), overwrite=True)
    assert load(path).info == {"other": 1}
    assert [p.name for p in path.parent.iterdir()] == ["model.safetensors"]


@pytest.mark.parametrize("error", [OSError("no space left"), KeyboardInterrupt()], ids=["disk", "ctrl-c"])
@pytest.mark.survives(
    "an error in the middle of writing a checkpoint", "the one that stood there before stands there still"
)
def test_a_failure_while_writing_leaves_the_old_file(
    path: Path, made: Checkpoint, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    before = path.read_bytes()

    def fail(*args: object) -> None:
        raise error

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(type(error)):
        save(path, replace(made, info={"other": 1}), overwrite=True)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_what_cannot_be_json_is_noticed_before_anything_is_written(path: Path, made: Checkpoint) -> None:
    before = path.read_bytes()
    with pytest.raises(TypeError):
        save(path, replace(made, info={"model": made.model}), overwrite=True)
    assert path.read_bytes() == before


# ---------------------------------------------------------------- damaged or foreign


def test_missing_file_is_named(tmp_path: Path) -> None:
    assert "no checkpoint" in refused(tmp_path / "gone.safetensors")
    refused(tmp_path)


@pytest.mark.parametrize("keep", [0, 9, 100, -1000, -1])
@pytest.mark.survives("a checkpoint is cut short", "it is refused by name, and left as it is")
def test_a_truncated_or_longer_file_is_refused(path: Path, keep: int) -> None:
    whole = path.read_bytes()
    path.write_bytes(whole[:keep])
    assert "damaged" in refused(path)
    assert path.read_bytes() == whole[:keep]
    path.write_bytes(whole + b"more")
    refused(path)


def test_weights_of_somebody_else_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "theirs.safetensors"
    for metadata in (None, {"format": "pt"}):
        save_file({"w": torch.zeros(3)}, path, metadata)
        assert "babygpt did not write it" in refused(path)


@pytest.mark.parametrize("content", [b"", b"{}", b"PK\x03\x04", bytes(200), pickle.dumps({"weights": 1})])
def test_any_other_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.safetensors"
    path.write_bytes(content)
    assert "no safetensors file" in refused(path)


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


@pytest.mark.parametrize(("header", "says"), FOREIGN)
@pytest.mark.survives(
    "a checkpoint of another version, shape, vocabulary or format", "one line names it and the difference"
)
def test_a_header_that_does_not_fit_is_refused(path: Path, header: dict, says: str) -> None:
    altered(path, **header)
    assert says in refused(path)


@pytest.mark.parametrize("change", [{"n_embd": 12}, {"n_layer": 2}, {"n_head": 3}, {"n_embd": "8"}])
def test_another_shape_is_refused(path: Path, change: dict) -> None:
    altered(path, config=parts(path)[0]["config"] | change)
    assert "does not fit together" in refused(path)


@pytest.mark.parametrize("key", ["format", "version", "config", "characters", "with_mask"])
def test_a_header_without_a_key_is_refused(path: Path, key: str) -> None:
    header, weights = parts(path)
    del header[key]
    save_file(weights, path, {KEY: json.dumps(header)})
    assert key in refused(path)


@pytest.mark.parametrize("text", ["no json", "[]", "null"])
def test_a_header_of_another_make_is_refused(path: Path, text: str) -> None:
    save_file(parts(path)[1], path, {KEY: text})
    refused(path)


@pytest.mark.parametrize("change", [{"head.weight": None}, {"extra": torch.zeros(2)}])
def test_missing_or_extra_weights_are_refused(path: Path, change: dict) -> None:
    weights = {k: w for k, w in (parts(path)[1] | change).items() if w is not None}
    altered(path, weights)
    assert next(iter(change)) in refused(path)


@pytest.mark.survives(
    "weights that are nan, infinite, or as large as --lr-other 3e38 makes them",
    "they are neither saved nor loaded; the weight and its size are named",
)
@pytest.mark.parametrize("number", [math.nan, -math.inf, 3e38, -1e16])
def test_weights_that_nobody_can_use_are_refused(path: Path, made: Checkpoint, number: float) -> None:
    weights, before = parts(path)[1], path.read_bytes()
    weights["head.weight"][0, 1] = number
    made.model.load_state_dict(weights)
    with pytest.raises(FloatingPointError, match=r"head\.weight holds"):
        save(path, made, overwrite=True)
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
