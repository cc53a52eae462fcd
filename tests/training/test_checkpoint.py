"""Tests of checkpoints: they load whole, and damaged or foreign files are refused by name."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import save_file

from babygpt.config import ModelConfig
from babygpt.data.tokenizer import CharTokenizer
from babygpt.encodings import ALiBi, Encoding
from babygpt.errors import BadInput
from babygpt.models.language_model import LanguageModel
from babygpt.models.versions import VERSIONS, build
from babygpt.training.checkpoint import KEY, load, save
from tests.pretended_gpu import data_parallel

TOKENIZER = CharTokenizer("\n .?abcdefg")
INFO = {"corpus": "tales", "steps_done": 40, "val_loss": 1.25, "seeds": [0, 1]}


@pytest.fixture
def model(awake) -> LanguageModel:
    return awake("v4", n_embd=8, n_layer=1)


@pytest.fixture
def path(model: LanguageModel, tmp_path: Path) -> Path:
    """Write a sound checkpoint, alone in its folder."""
    path = tmp_path / "one" / "model.safetensors"
    save(path, model, TOKENIZER, INFO)
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
    ("v4", {"layers": ["v4", "nope"]}),
]


@pytest.mark.parametrize(("version", "options"), [("v1", {}), ("v4", {}), *CHOSEN])
def test_a_loaded_model_has_its_options_and_logits(
    awake, woven, one_text, tmp_path: Path, version: str, options: dict
) -> None:
    model, columns = awake(version, options), woven()
    alone = one_text(version, columns.tokens.shape[1])
    positions = columns.positions if VERSIONS[version].branches else alone
    save(tmp_path / "m.safetensors", model, TOKENIZER, INFO)
    loaded = load(tmp_path / "m.safetensors")
    assert (loaded.version, loaded.info, loaded.options) == (version, INFO, options)
    assert loaded.model.config == model.config
    assert torch.equal(loaded.model(columns.tokens, positions), model(columns.tokens, positions))
    assert type(loaded.model.encoding) is type(model.encoding)


@pytest.mark.parametrize("with_mask", [False, True])
def test_a_loaded_tokenizer_equals_the_saved_one(awake, tmp_path: Path, with_mask: bool) -> None:
    tokenizer = CharTokenizer("\n我爱你é", with_mask)
    model = awake("v1", vocab_size=tokenizer.vocab_size)
    save(tmp_path / "m.safetensors", model, tokenizer)
    loaded = load(tmp_path / "m.safetensors").tokenizer
    assert (loaded.characters, loaded.mask_id) == (tokenizer.characters, tokenizer.mask_id)


# ---------------------------------------------------------------- everything that decides outputs


def number_changes(model: LanguageModel) -> list[tuple[object, str]]:
    """Return every plain number of every encoding in a model, nested ones too, with its owner."""
    return [
        (module, name)
        for module in model.modules()
        if isinstance(module, Encoding)
        for name in module.numbers
        if name in vars(module)
    ]


@pytest.mark.parametrize("per_layer", [False, True])
@pytest.mark.parametrize("version", VERSIONS)
def test_every_number_that_was_changed_by_hand_or_steered_is_stored(
    awake, woven, one_text, tmp_path: Path, version: str, per_layer: bool
) -> None:
    """Change all plain numbers; weights differ from fresh ones, too. Then compare logits, bit by bit."""
    if (per_layer and VERSIONS[version].bag) or version == "v4-nope":
        pytest.skip("has no encodings of its own for each layer, or has them already")
    if per_layer and version in ("v3", "learned", "v4-shift", "nope-shift", "v6", "v6-learned", "v6-random"):
        pytest.skip("adds to the embeddings")
    model, columns = awake(version, {"per_layer": True} if per_layer else {}), woven()
    positions = columns.positions if VERSIONS[version].branches else one_text(version, 17)
    if version in ("v2", "learned"):  # their tables end
        columns, positions = columns._replace(tokens=columns.tokens[:, :16]), one_text(version, 16)
    before = model(columns.tokens, positions)
    changes = number_changes(model)
    for i, (encoding, name) in enumerate(changes):
        value = getattr(encoding, name)
        setattr(encoding, name, type(value)(value * 2 + i))
    after = model(columns.tokens, positions)
    if version != "partial":  # its one pair that turns here is the quickest, whatever theta is
        assert torch.equal(before, after) == (not changes)
    save(tmp_path / "m.safetensors", model, TOKENIZER)
    assert torch.equal(load(tmp_path / "m.safetensors").model(columns.tokens, positions), after)


def test_options_of_build_are_stored_without_being_named_again(text, tmp_path: Path) -> None:
    model = build("v4-yarn", ModelConfig(11, 16, 1, 2, 16), factor=np.float64(4))
    save(str(tmp_path / "m"), model, TOKENIZER, {"floor": np.float32(0.5), "curve": torch.arange(2)})
    loaded = load(str(tmp_path / "m"))
    assert (loaded.model.encoding.factor, loaded.model.encoding.window) == (4.0, 4)
    assert (loaded.options, loaded.info) == ({"factor": 4.0}, {"floor": 0.5, "curve": [0, 1]})


def test_tied_weights_are_stored_once_and_stay_tied(awake, text, tmp_path: Path) -> None:
    model = awake("v4")
    model.head.weight = model.token_embedding.weight
    save(tmp_path / "m", model, TOKENIZER)
    assert "head.weight" not in parts(tmp_path / "m")[1]
    loaded = load(tmp_path / "m").model
    assert loaded.head.weight is loaded.token_embedding.weight
    assert torch.equal(loaded(text(2, 9)), model(text(2, 9)))
    save(tmp_path / "again", loaded, TOKENIZER)
    assert torch.equal(load(tmp_path / "again").model(text(2, 9)), model(text(2, 9)))


def test_the_precision_is_stored(awake, text, tmp_path: Path) -> None:
    model = awake("alibi").double()
    save(tmp_path / "m", model, TOKENIZER)
    assert torch.equal(load(tmp_path / "m").model(text(2, 9)), model(text(2, 9)))


def other_encoding(model: LanguageModel) -> None:
    model.encoding = ALiBi(2)


LOST = {  # changes that no file could hold -> what the one line names
    "another encoding": (other_encoding, "encoding.class is ALiBi, and build('v4') makes Rotary"),
    "no version": (lambda m: setattr(m, "version", None), "does not say which version"),
    "another head": (lambda m: setattr(m, "head", torch.nn.Linear(16, 11)), "head.bias"),
}


class Doubled(torch.nn.Linear):
    """Layer of the same class name and shape as the one that it replaces, with other outputs."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return 2 * super().forward(x)


Doubled.__name__ = "Linear"


def replace_layer(model: LanguageModel) -> None:
    model.blocks[1].mlp.up = Doubled(16, 64, bias=False)


def patch_method(model: LanguageModel) -> None:
    model.blocks[0].mlp.forward = lambda x: x


LOGITS = {  # changes of which only the logits tell, in an untrained model too -> what the one line names
    "causal": (lambda m: setattr(m, "causal", False), "causal is False and was True"),
    "a hook": (lambda m: m.blocks[0].register_forward_hook(lambda *seen: seen[2] * 2), "hooks of blocks.0"),
    "a hook before": (lambda m: m.register_forward_pre_hook(lambda _, x: (x[0] * 0,)), "hooks of the model"),
    "a method": (patch_method, "blocks.0.mlp.forward is a method of its own"),
    "a layer": (replace_layer, "blocks.1.mlp.up is a Doubled"),
    "a scale": (lambda m: setattr(m.blocks[0].attention, "sharpness", 1.0), "sharpness is 1.0 and was 2.0"),
    "heads": (lambda m: setattr(m, "config", ModelConfig(11, 16, 2, 4, 16)), "n_head is 2 and was 4"),
    "a layer that fails": (lambda m: setattr(m.blocks[0].attention, "n_head", 3), "cannot read a text"),
}


@pytest.mark.parametrize("trained", [False, True])
@pytest.mark.parametrize("change", LOGITS)
def test_other_logits_than_the_file_gives_back_are_refused(awake, tmp_path, change: str, trained) -> None:
    model = awake("v4") if trained else build("v4", ModelConfig(11, 16, 2, 2, 16))
    do, says = LOGITS[change]
    do(model)
    with pytest.raises(BadInput, match=re.escape(says)):
        save(tmp_path / "m", model, TOKENIZER)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("version", ["v4", "v6", "v7", "v2"])
def test_the_comparison_leaves_no_trace(awake, tmp_path, version: str) -> None:
    model, grad_modes = awake(version).eval(), []
    # The hook returns None, so it changes no output.
    model.head.register_forward_hook(lambda *_: grad_modes.append(torch.is_grad_enabled()))
    before = {name: x.clone() for name, x in model.state_dict().items()}
    state = torch.get_rng_state()
    save(tmp_path / "m", model, TOKENIZER)
    assert torch.equal(torch.get_rng_state(), state)
    assert not model.training
    assert all(torch.equal(x, before[name]) for name, x in model.state_dict().items())
    assert grad_modes
    assert not any(grad_modes)


def test_logits_that_are_nan_agree(awake, tmp_path) -> None:
    model = awake("v4")
    with torch.no_grad():
        model.head.weight.fill_(3e38)  # finite, and infinite in sums of both signs
    assert not model(torch.arange(9)[None]).isfinite().any()
    save(tmp_path / "m", model, TOKENIZER)
    assert torch.equal(load(tmp_path / "m").model.head.weight, model.head.weight)


SLIPS = {
    "wrapped": (lambda p, m, t: (p, data_parallel(m), t), "DataParallel: write .module after it"),
    "weights": (lambda p, m, t: (p, m.state_dict(), t), "this is a OrderedDict"),
    "swapped": (lambda p, m, t: (m, p, t), "write save(path, model, tokenizer)"),
    "a text": (lambda p, m, t: (p, m, "abc"), "the tokenizer is a str"),
    "a tuple as a key": (lambda p, m, t: (p, m, t, {(1, 2): 3}), "info must be JSON: keys must be str"),
}


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_in_calling_save_is_named(awake, tmp_path, slip: str) -> None:
    arguments, says = SLIPS[slip]
    with pytest.raises(BadInput, match=re.escape(says)):
        save(*arguments(tmp_path / "m", awake("v4"), TOKENIZER))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("change", LOST)
def test_what_a_file_cannot_hold_is_refused_by_its_name(awake, tmp_path: Path, change: str) -> None:
    model = awake("v4")
    do, says = LOST[change]
    do(model)
    with pytest.raises(BadInput, match=re.escape(says)):
        save(tmp_path / "m", model, TOKENIZER)
    assert list(tmp_path.iterdir()) == []


def test_a_foreign_tokenizer_and_what_json_cannot_hold_are_refused(awake, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="tokenizer has 3 tokens, and the model's vocab_size is 11"):
        save(tmp_path / "m", awake("v4"), CharTokenizer("abc"))
    with pytest.raises(BadInput, match="cannot hold <object"):
        save(tmp_path / "m", awake("v4"), TOKENIZER, {"corpus": object()})
    assert list(tmp_path.iterdir()) == []


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
    ({"options": {"stride": 3}}, "stride"),
    ({"characters": ["a", "b", "c"]}, "3 tokens for a vocab_size of 11"),
]


def test_a_header_that_does_not_fit_is_refused_with_the_difference(path: Path) -> None:
    """Change version, shape, vocabulary or format, drop a key, or drop our header."""
    header, weights = parts(path)
    shapes = [{"n_embd": 12}, {"n_layer": 2}, {"n_head": 3}]
    wrong = [(json.dumps(header | change), says) for change, says in FOREIGN]
    wrong += [
        (json.dumps(header | {"config": header["config"] | s}), "does not fit together") for s in shapes
    ]
    for key in ("format", "version", "config", "characters", "with_mask"):
        wrong.append((json.dumps({name: x for name, x in header.items() if name != key}), key))
    for text, says in (*wrong, ("no json", ""), ("[]", ""), ("null", "")):
        save_file(weights, path, {KEY: text})
        assert says in refused(path)


@pytest.mark.parametrize(
    "change", [{"characters": list("gfedcba?. \n")}, {"info": {"corpus": "other"}}, {"with_mask": 0}]
)
def test_settings_that_fit_and_were_changed_are_refused(path: Path, change: dict) -> None:
    header, weights = parts(path)
    save_file(weights, path, {KEY: json.dumps(header | change)})
    assert "its settings changed after they were written" in refused(path)
    del header["header_sha256"]  # files of before 29 November 2026 have none
    save_file(weights, path, {KEY: json.dumps(header)})
    load(path)


def test_missing_extra_or_changed_weights_are_refused(path: Path) -> None:
    whole = parts(path)[1]
    for change in ({"head.weight": None}, {"extra": torch.zeros(2)}):
        altered(path, {k: w for k, w in (whole | change).items() if w is not None})
        assert next(iter(change)) in refused(path)
    altered(path, whole | {"head.weight": whole["head.weight"] + 1})
    assert "its weights changed after they were written" in refused(path)


@pytest.mark.parametrize("number", [math.nan, -math.inf])
def test_unusable_weights_are_refused(path: Path, model: LanguageModel, number: float) -> None:
    weights, before = parts(path)[1], path.read_bytes()
    weights["head.weight"][0, 1] = number
    model.load_state_dict(weights)
    with pytest.raises(FloatingPointError, match=r"head\.weight holds"):
        save(path, model, TOKENIZER)
    assert path.read_bytes() == before
    altered(path, weights)
    assert f"head.weight holds {number:.3g}" in refused(path)
