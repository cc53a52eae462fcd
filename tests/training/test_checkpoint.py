"""Checkpoints come back whole, or not at all; what is damaged or foreign is refused by name."""

import json
import math
import os
import pickle
import re
import resource
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import save_file

from babygpt.cli import main
from babygpt.data.tokenizer import CharTokenizer
from babygpt.errors import BadInput
from babygpt.models.versions import VERSIONS
from babygpt.training import checkpoint as checkpoints
from babygpt.training.checkpoint import (
    DIGEST,
    KEY,
    LARGEST_LOG,
    LARGEST_WEIGHT,
    Checkpoint,
    NanWeights,
    digest,
    load,
    require_no_nan,
    save,
)

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
    """What `load` says of a file: BadInput that names it."""
    with pytest.raises(BadInput) as caught:
        load(path)
    assert str(path) in str(caught.value)
    return str(caught.value)


def parts(path: Path) -> tuple[dict, dict]:
    """Our header and the weights, read by safetensors alone."""
    with safe_open(path, framework="pt") as file:
        return json.loads(file.metadata()[KEY]), {k: file.get_tensor(k) for k in file.keys()}  # noqa: SIM118


def write_as_babygpt(path: Path, header: dict, weights: dict) -> None:
    """Another header, with the checksum that makes it look like ours."""
    text = json.dumps(header)
    save_file(weights, path, {KEY: text, DIGEST: digest(text, weights)})


# ---------------------------------------------------------------- there and back


@pytest.mark.parametrize("version", VERSIONS)
def test_a_model_comes_back_with_its_logits(awake, text, one_text, tmp_path: Path, version: str) -> None:
    model, idx, positions = awake(version), text(2, 12), one_text(version, 12)
    save(tmp_path / "m.safetensors", Checkpoint(version, model, TOKENIZER, INFO))
    loaded = load(tmp_path / "m.safetensors")
    assert torch.equal(loaded.model(idx, positions), model(idx, positions))
    assert type(loaded.model) is type(model)
    assert loaded.model.config == model.config
    assert (loaded.version, loaded.info) == (version, INFO)


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


@pytest.mark.parametrize(("version", "options"), CHOSEN)
def test_what_was_chosen_of_the_encoding_comes_back(
    awake, woven, one_text, tmp_path: Path, version: str, options: dict
) -> None:
    model, columns = awake(version, options), woven()
    positions = (
        columns.positions if VERSIONS[version].branches else one_text(version, columns.tokens.shape[1])
    )
    save(tmp_path / "m.safetensors", Checkpoint(version, model, TOKENIZER, options=options))
    loaded = load(tmp_path / "m.safetensors")
    assert loaded.options == options
    assert torch.equal(loaded.model(columns.tokens, positions), model(columns.tokens, positions))
    assert type(loaded.model.encoding) is type(model.encoding)


def test_without_its_options_it_would_be_another_model(awake, woven, tmp_path: Path) -> None:
    """The stride is in no weight."""
    model, columns = awake("v6", {"stride": 7}), woven()
    save(tmp_path / "m.safetensors", Checkpoint("v6", model, TOKENIZER))
    other = load(tmp_path / "m.safetensors").model
    assert (
        other(columns.tokens, columns.positions) - model(columns.tokens, columns.positions)
    ).abs().max() > 1e-3


def test_a_checkpoint_from_before_there_were_options_is_read(path: Path, made: Checkpoint, text) -> None:
    header, weights = parts(path)
    del header["options"]
    write_as_babygpt(path, header, weights)
    loaded = load(path)
    assert loaded.options == {}
    assert torch.equal(loaded.model(text(1, 9)), made.model(text(1, 9)))


@pytest.mark.parametrize(
    ("version", "options"),
    [
        ("v4", {"stride": 3}),
        ("v1", {"isolated": True}),
        ("v4", {"config": {}}),
        ("v4", {"version": "v1"}),
        ("v6", {"colour": "green"}),
        ("v6", {"head_dim": 8}),
        ("v6", {"encoding": "v4"}),
        ("v6", {"stride": 0}),
        ("v6", {"stride": "3"}),
        ("v6", {"stride": [3]}),
        ("v6", {"stride": math.inf}),
        ("v6", {"stride": math.nan}),
        ("v6", {"stride": None}),
        ("v6", {"max_positions": math.inf}),
        ("v6", {"max_positions": 1e300, "learnable": True}),
        ("v6", {"learnable": True}),  # a table that was not stored
        ("v6", {"band": 3}),
        ("v6-rope2d", {"branch_share": 2}),
        ("v5", {"sigmas": [0, 1]}),
        ("v5", {"sigmas": 3}),
        ("v5", {"kernel": ["absolute"]}),
        ("v5-absolute", {"kernel": "relative"}),
        ("v7", {"alpha": math.inf}),
        ("v7", {"theta": 0}),
        ("v7-pope", {"alpha": 0.5}),  # it has none
        ("v4", ["stride"]),
        ("v4", "stride"),
        ("v4", 3),
        ("v4", None),
    ],
)
def test_options_that_do_not_fit_are_refused(awake, tmp_path: Path, version: str, options: object) -> None:
    """With a right checksum: whoever wrote the file could make one too."""
    path = tmp_path / "m.safetensors"
    save(path, Checkpoint(version, awake(version), TOKENIZER))
    header, weights = parts(path)
    write_as_babygpt(path, header | {"options": options}, weights)
    assert "does not fit together" in refused(path)


@pytest.mark.parametrize("with_mask", [False, True])
def test_the_tokenizer_comes_back(awake, tmp_path: Path, with_mask: bool) -> None:
    tokenizer = CharTokenizer("\n我爱你é", with_mask)
    model = awake("v1", vocab_size=tokenizer.vocab_size)
    save(tmp_path / "m.safetensors", Checkpoint("v1", model, tokenizer))
    loaded = load(tmp_path / "m.safetensors")
    assert loaded.tokenizer.characters == tokenizer.characters
    assert loaded.tokenizer.mask_id == tokenizer.mask_id
    assert loaded.info == {}


def test_folders_are_made_and_nothing_else_is_left(path: Path) -> None:
    assert [p.name for p in path.parent.iterdir()] == ["model.safetensors"]


def test_any_safetensors_reader_can_open_it(path: Path, made: Checkpoint) -> None:
    header, weights = parts(path)
    assert header["version"] == "v4"
    assert weights.keys() == made.model.state_dict().keys()


# ---------------------------------------------------------------- nothing is lost


@pytest.mark.survives(
    "a file of your own where a result would go", "it is not touched unless you say --overwrite"
)
def test_an_existing_file_is_not_touched_unless_told(path: Path, made: Checkpoint) -> None:
    before = path.read_bytes()
    with pytest.raises(ValueError, match="exists already") as caught:
        save(path, replace(made, info={"other": 1}))
    assert str(path) in str(caught.value)
    assert path.read_bytes() == before
    save(path, replace(made, info={"other": 1}), overwrite=True)
    assert load(path).info == {"other": 1}


@pytest.mark.parametrize("broken", ["replace", "fsync"])
@pytest.mark.parametrize("error", [OSError("no space left"), KeyboardInterrupt()], ids=["disk", "ctrl-c"])
@pytest.mark.survives(
    "an error in the middle of writing a checkpoint", "the one that stood there before stands there still"
)
def test_a_failure_while_writing_leaves_the_old_file(
    path: Path, made: Checkpoint, monkeypatch: pytest.MonkeyPatch, broken: str, error: BaseException
) -> None:
    before = path.read_bytes()

    def fail(*args: object) -> None:
        raise error

    monkeypatch.setattr(os, broken, fail)
    with pytest.raises(type(error)):
        save(path, replace(made, info={"other": 1}), overwrite=True)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_a_failure_while_writing_leaves_nothing_where_nothing_was(
    made: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space left"):
        save(tmp_path / "m.safetensors", made)
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_json_is_noticed_before_anything_is_written(path: Path, made: Checkpoint) -> None:
    before = path.read_bytes()
    with pytest.raises(TypeError):
        save(path, replace(made, info={"model": made.model}), overwrite=True)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


# ---------------------------------------------------------------- damaged


def test_missing_file_is_named(tmp_path: Path) -> None:
    assert "no checkpoint" in refused(tmp_path / "gone.safetensors")
    refused(tmp_path)


@pytest.mark.parametrize("keep", [0, 1, 7, 8, 9, 100, -1000, -4, -1])
def test_truncated_file_is_refused(path: Path, keep: int) -> None:
    path.write_bytes(path.read_bytes()[:keep])
    refused(path)


def test_longer_file_is_refused(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"more")
    refused(path)


def meaning(checkpoint: Checkpoint) -> tuple:
    """All that a checkpoint says, so that two can be compared."""
    weights = {name: p.numpy().tobytes() for name, p in checkpoint.model.state_dict().items()}
    tokenizer = checkpoint.tokenizer
    settings = (checkpoint.version, checkpoint.model.config, checkpoint.info)
    return weights, settings, tokenizer.characters, tokenizer.mask_id


def says_as_before(path: Path, expected: tuple) -> bool:
    """Whether a file is refused by name or, if it is read, means what it meant."""
    try:
        loaded = load(path)
    except BadInput as error:
        return str(path) in str(error)
    return meaning(loaded) == expected


@pytest.mark.parametrize("part", ["header", "weights"])
def test_a_flipped_bit_is_noticed_wherever_it_is(awake, tmp_path: Path, part: str) -> None:
    """One bit of every byte of a small checkpoint."""
    path, damaged = tmp_path / "sound.safetensors", tmp_path / "damaged.safetensors"
    save(path, Checkpoint("v1", awake("v1", n_embd=4), TOKENIZER, INFO))
    content, expected = path.read_bytes(), meaning(load(path))
    size = 8 + int.from_bytes(content[:8], "little")
    unnoticed = []
    for place in range(size) if part == "header" else range(size, len(content)):
        flipped = content[place] ^ 1 << place % 8
        damaged.write_bytes(content[:place] + bytes([flipped]) + content[place + 1 :])
        if not says_as_before(damaged, expected):
            unnoticed.append((place, content[max(0, place - 9) : place + 1]))
    assert unnoticed == []


# ---------------------------------------------------------------- not ours


def test_weights_of_somebody_else_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "theirs.safetensors"
    for metadata in (None, {"format": "pt"}):
        save_file({"w": torch.zeros(3)}, path, metadata)
        assert "babygpt did not write it" in refused(path)


@pytest.mark.parametrize("content", [b"\n", b"{}", b"PK\x03\x04", bytes(200), b"\xff" * 200])
def test_any_other_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "other.safetensors"
    path.write_bytes(content)
    refused(path)


class Bomb:
    """Runs on unpickling."""

    def __init__(self, target: Path) -> None:
        self.target = target

    def __reduce__(self) -> tuple:
        return (Path.touch, (self.target,))


@pytest.mark.parametrize("write", [lambda x, f: f.write_bytes(pickle.dumps(x)), torch.save])
def test_a_pickle_is_refused_and_not_run(tmp_path: Path, write) -> None:
    path, target = tmp_path / "model.pt", tmp_path / "it ran"
    write(Bomb(target), path)
    refused(path)
    assert not target.exists()


# ---------------------------------------------------------------- does not fit together


def test_another_format_is_named(made: Checkpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "future.safetensors"
    with monkeypatch.context() as later:
        later.setattr(checkpoints, "FORMAT", 99)
        save(path, made)
    assert "format 99" in refused(path)


def test_another_version_is_named(made: Checkpoint, tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    save(path, replace(made, version="v99"))
    assert "v99" in refused(path)


# Nothing is stored of these encodings, so their weights are those of v4.
AS_V4 = ("v3", "v4", "v6", "nope", "alibi", "v6-none", "v6-rope2d")
AS_V4 = (*AS_V4, "v7-quadrature", "v7-rope", "v7-nope", "v7-alibi")
AS_V4 = (*AS_V4, "xpos", "partial", "v4-nope", "v4-interpolated", "v4-ntk", "v4-yarn")


@pytest.mark.parametrize("version", [v for v in VERSIONS if v not in AS_V4])
def test_weights_of_another_version_do_not_fit(made: Checkpoint, tmp_path: Path, version: str) -> None:
    path = tmp_path / "m.safetensors"
    save(path, replace(made, version=version))
    refused(path)


@pytest.mark.parametrize("change", [{"n_embd": 12}, {"n_layer": 2}, {"vocab_size": 12}])
def test_weights_of_another_shape_do_not_fit(made: Checkpoint, tmp_path: Path, change: dict) -> None:
    path = tmp_path / "m.safetensors"
    made.model.config = config = replace(made.model.config, **change)
    letters = CharTokenizer(map(chr, range(ord("a"), ord("a") + config.vocab_size)))
    save(path, replace(made, tokenizer=letters))
    refused(path)


def test_characters_must_be_as_many_as_the_model_has(made: Checkpoint, tmp_path: Path) -> None:
    """Else it would write ids that no character belongs to."""

    def save_and_load() -> None:
        save(tmp_path / "m.safetensors", replace(made, tokenizer=CharTokenizer("abc")))
        load(tmp_path / "m.safetensors")

    with pytest.raises(ValueError, match=r"3\b.*11|11\b.*3"):
        save_and_load()


@pytest.mark.parametrize("key", ["format", "version", "config", "characters", "with_mask"])
def test_header_without_a_key_is_refused(path: Path, key: str) -> None:
    header, weights = parts(path)
    del header[key]
    write_as_babygpt(path, header, weights)
    refused(path)


@pytest.mark.parametrize(
    "header",
    [
        "no json",
        "[]",
        "3",
        "null",
        '{"format": 1}',
        '{"format": 1, "version": "v1", "characters": 5, "with_mask": false, "config": {}}',
        '{"format": 1, "version": [], "characters": ["a"], "with_mask": false, "config": []}',
    ],
)
def test_header_of_another_make_is_refused(path: Path, header: str) -> None:
    weights = parts(path)[1]
    save_file(weights, path, {KEY: header, DIGEST: digest(header, weights)})
    refused(path)


@pytest.mark.parametrize(
    "change",
    [
        {"n_embd": -8},
        {"n_embd": "8"},
        {"n_embd": 8.0},
        {"n_heads": 2},
        {"n_head": 3},
        {"n_embd": None},
    ],
)
def test_shape_that_is_none_is_refused(path: Path, change: dict) -> None:
    header, weights = parts(path)
    write_as_babygpt(path, header | {"config": header["config"] | change}, weights)
    assert "does not fit together" in refused(path)


@pytest.mark.parametrize("change", [{"head.weight": None}, {"extra": torch.zeros(2)}])
def test_missing_or_extra_weights_are_refused(path: Path, change: dict) -> None:
    header, weights = parts(path)
    weights = {k: w for k, w in (weights | change).items() if w is not None}
    write_as_babygpt(path, header, weights)
    assert "weights that are missing, or too many" in refused(path)


def test_loading_does_not_change_the_file(path: Path) -> None:
    before = path.read_bytes()
    load(path)
    assert path.read_bytes() == before


# ---------------------------------------------------------------- made to do harm


def altered(path: Path, weights: dict | None = None, **header: object) -> None:
    """Change a checkpoint, and give it the checksum that belongs to it."""
    old, held = parts(path)
    write_as_babygpt(path, old | header, held if weights is None else weights)


def grown(limit_mb: int) -> None:
    """Let this process have so much more memory, and no more, from here on."""
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + limit_mb * 2**20,) * 2)


ABSURD = [
    ({"n_embd": 10**9}, {}),
    ({"n_embd": 10**30}, {}),
    ({"n_embd": 10**9, "n_head": 10**9}, {}),
    ({"n_layer": 10**6}, {}),
    ({"n_layer": 10**18}, {}),
    ({"block_size": 10**12}, {}),
    ({"block_size": 10**400}, {}),
    ({"vocab_size": 10**9}, {}),
    ({"vocab_size": True}, {}),
    ({"n_layer": 1.0}, {}),
    ({}, {"version": "learned", "config": {"block_size": 2**20}}),
    ({}, {"version": "v6", "options": {"learnable": True, "max_positions": 10**12}}),
    ({}, {"version": "v6-learned", "options": {"max_branches": 10**12}}),
]


@pytest.mark.survives(
    "a checkpoint claims a billion channels or layers", "it is refused before it takes memory"
)
@pytest.mark.parametrize(("shape", "header"), ABSURD)
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_absurd_shapes_take_no_memory(path: Path, shape: dict, header: dict) -> None:
    """In a copy of this process that may grow by 64 MB and work for 20 seconds."""
    config = parts(path)[0]["config"] | header.get("config", {}) | shape
    altered(path, **{**header, "config": config})
    child = os.fork()
    if child == 0:
        try:
            torch.set_num_threads(1)
            grown(64)
            resource.setrlimit(resource.RLIMIT_CPU, (int(time.process_time()) + 20,) * 2)
            refused(path)
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_model_without_blocks_may_say_any_number_of_them(awake, tmp_path: Path) -> None:
    """v1 has no layers, whatever its shape says; v4 without its blocks is no v4."""
    path = tmp_path / "m.safetensors"
    save(path, Checkpoint("v1", awake("v1"), TOKENIZER))
    header, weights = parts(path)
    altered(path, config=header["config"] | {"n_layer": 10**6})
    assert load(path).model.config.n_layer == 10**6
    weights.pop("head.bias")
    altered(path, weights, version="v4", config=header["config"] | {"n_layer": 10**6})
    refused(path)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.int32])
def test_weights_of_another_kind_of_number_are_refused(path: Path, dtype: torch.dtype) -> None:
    weights = parts(path)[1]
    altered(path, weights | {"head.weight": weights["head.weight"].to(dtype)})
    assert "head.weight" in refused(path)


def test_weights_that_are_no_numbers_are_refused(path: Path) -> None:
    weights = parts(path)[1]
    weights["head.weight"][0, 0] = math.nan
    altered(path, weights)
    assert "nan" in refused(path)


@pytest.mark.parametrize(
    "characters",
    [
        ["a"] * 11,
        [*"abcdefghij", "kl"],
        [*"abcdefghij", ""],
        [*"abcdefghij", 5],
        [*"abcdefghij", None],
        "abc",
    ],
    ids=["twice", "two", "none", "number", "null", "text"],
)
def test_a_vocabulary_that_is_none_is_refused(path: Path, characters: object) -> None:
    altered(path, characters=characters)
    assert "does not fit together" in refused(path)


@pytest.mark.parametrize("depth", [100, 100_000])
def test_a_header_like_a_well_is_refused(path: Path, depth: int) -> None:
    """Brackets in brackets, which exhaust a reader that calls itself."""
    weights = parts(path)[1]
    text = '{"format": 1, "version": ' + "[" * depth + "]" * depth + "}"
    save_file(weights, path, {KEY: text, DIGEST: digest(text, weights)})
    refused(path)


def test_numbers_of_a_million_digits_are_refused(path: Path) -> None:
    weights = parts(path)[1]
    text = '{"format": ' + "9" * 1_000_000 + "}"
    save_file(weights, path, {KEY: text, DIGEST: digest(text, weights)})
    refused(path)


@pytest.mark.survives(
    "a checkpoint is a renamed pickle that runs code when read", "it is refused, and nothing runs"
)
def test_a_renamed_pickle_is_refused_from_the_shell(tmp_path: Path) -> None:
    path, target = tmp_path / "model.safetensors", tmp_path / "it ran"
    torch.save({"weights": Bomb(target)}, path)
    result = CliRunner().invoke(main, ["generate", str(path)])
    assert result.exit_code == 1
    assert str(path) in result.output
    assert not target.exists()
    torch.load(path.rename(tmp_path / "model.pt"), weights_only=False)
    assert target.exists()  # it was a bomb


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=5,
)
KEYS = ["format", "version", "config", "characters", "with_mask", "info", "options", "training"]
SHAPES = ["vocab_size", "block_size", "n_layer", "n_head", "n_embd"]


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(key=st.sampled_from(KEYS + SHAPES), value=anything)
@pytest.mark.survives("anything at all in the header of a checkpoint", "it is read, or refused in one line")
def test_any_header_is_read_or_refused(path: Path, key: str, value: object) -> None:
    """One entry replaced by anything that JSON can say; the checksum is right."""
    header, weights = parts(path)
    header = header | {"config": header["config"] | {key: value}} if key in SHAPES else header | {key: value}
    changed = path.with_name("changed.safetensors")
    write_as_babygpt(changed, header, weights)
    try:
        held = meaning(load(changed))[0]
    except BadInput as error:
        held = meaning(load(path))[0] if str(changed) in str(error) else {}
    assert held == meaning(load(path))[0]


edits = st.one_of(
    st.tuples(st.just("flip"), st.floats(0, 1), st.integers(1, 255)),
    st.tuples(st.just("cut"), st.floats(0, 1), st.integers(1, 40)),
    st.tuples(st.just("insert"), st.floats(0, 1), st.binary(min_size=1, max_size=9)),
)


@pytest.mark.survives(
    "bytes of a checkpoint are flipped, lost or added", "it is refused by name, or reads the same"
)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=st.lists(edits, min_size=1, max_size=3))
def test_any_damage_is_noticed(path: Path, changes: list[tuple]) -> None:
    content = bytearray(path.read_bytes())
    for kind, where, what in changes:
        place = int(where**3 * (len(content) - 1))  # mostly in the header, where there is more to break
        if kind == "flip":
            content[place] ^= what
        elif kind == "cut":
            del content[place : place + what]
        else:
            content[place:place] = what
    damaged = path.with_name("damaged.safetensors")
    damaged.write_bytes(content)
    assert says_as_before(damaged, meaning(load(path)))


# ---------------------------------------------------------------- fields that are none

WRONG_FIELDS = [
    *(("info.train", value, "info.train") for value in (5, [], None, "x")),
    *(
        ("info.train", {"steps": 9, name: 1.5}, rf"{name} \(1.5\)")
        for name in ("steps", "batch_size", "seed")
    ),
    *(("info.train", {name: "x"}, rf"{name} \('x'\)") for name in ("batch_size", "lr_other", "warmup")),
    *((f"info.{name}", -1, rf"{name} \(-1\)") for name in ("steps_done", "tokens", "seconds", "batch_size")),
    *((f"info.{name}", "x", rf"{name} \('x'\)") for name in ("steps_done", "tokens", "seconds", "seed")),
    *((f"info.{name}", True, rf"{name} \(True\)") for name in ("steps_done", "batch_size", "seed", "corpus")),
    *((f"info.{name}", None, rf"{name} \(None\)") for name in ("corpus", "text", "bound", "curve", "flags")),
    *(("info.curve", curve, r"info\.curve") for curve in ({}, [1], [[1]], [[1, "x"]], [[1.5, 2.0]])),
    ("info.seconds", math.nan, "seconds"),
    ("info.bound", 1, r"bound \(1\)"),
    *(("training.step", value, r"training\.step") for value in (182.5, True, "x", -1, 2**63)),
    *((f"training.{name}", math.inf, rf"training\.{name} \(inf\)") for name in ("tokens", "seconds")),
    *(
        ("training.steered", value, r"training\.steered")
        for value in (3, {"theta": "x"}, {"theta": math.nan})
    ),
    ("training.next_batch", 5, r"next_batch \(5\)"),
]


@pytest.mark.survives(
    "a field of a checkpoint is of another kind or out of range: 182.5 steps, a text for a seed",
    "it is refused in one line that names the field",
)
@pytest.mark.parametrize(("field", "value", "says"), WRONG_FIELDS)
def test_a_field_of_the_header_that_is_none_is_named(
    path: Path, field: str, value: object, says: str
) -> None:
    """With a right checksum; what is missing, or has a name of its own, is left alone."""
    part, name = field.split(".")
    altered(path, **{part: {"own": [value], name: value}})
    assert re.search(says, refused(path))
    altered(path, **{part: {"own": [value]}})
    load(path)


@pytest.mark.survives(
    "weights that are infinite, or as large as --lr-other 3e38 makes them",
    "they are neither saved nor loaded; the weight and its size are named",
)
@pytest.mark.parametrize("number", [math.inf, -math.inf, 3e38, -1e16])
def test_weights_that_nobody_can_write_with_are_refused(path: Path, made: Checkpoint, number: float) -> None:
    weights = parts(path)[1]
    weights["head.weight"][0, 1] = number
    altered(path, weights)
    assert f"head.weight holds {number:.3g}" in refused(path)
    made.model.load_state_dict(weights)
    with pytest.raises(NanWeights, match=r"head\.weight"):
        save(path, made, overwrite=True)


@pytest.mark.parametrize("version", [v for v in VERSIONS if v != "v5-absolute"])
@torch.inference_mode()
def test_the_largest_weights_that_may_be_loaded_give_logits(awake, text, one_text, version: str) -> None:
    """Whatever is drawn from them is drawn from numbers. v5-absolute multiplies by its kernel twice."""
    model = awake(version)
    for name, p in model.named_parameters():
        p.fill_(LARGEST_LOG if ".log_" in name else LARGEST_WEIGHT)
    require_no_nan(model.state_dict())
    assert model(text(2, 12), one_text(version, 12)).isfinite().all()


@pytest.mark.parametrize("name", ["log_alphas", "log_sigmas"])
def test_a_kernel_without_end_is_one_that_its_options_make(awake, tmp_path: Path, name: str) -> None:
    path, options = tmp_path / "m.safetensors", {"learnable": False}
    save(path, Checkpoint("v5", awake("v5", options), TOKENIZER, options=options))
    weights = parts(path)[1]
    weights[f"encoding.{name}"][0] = math.inf
    altered(path, weights)
    assert f"encoding.{name} holds infinite numbers" in refused(path)


@pytest.mark.survives("a checkpoint's header is made that of another version", "its checksum gives it away")
@pytest.mark.parametrize("version", ["v3", "v6", "nope", "alibi", "v6-none"])
def test_a_version_that_is_relabelled_is_noticed(path: Path, version: str) -> None:
    """The weights would fit: these encodings store none of their own."""
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
    header = json.dumps(json.loads(metadata[KEY]) | {"version": version})
    save_file(parts(path)[1], path, metadata | {KEY: header})
    assert "its checksum is not that of what it holds" in refused(path)


def test_no_other_file_is_opened_whatever_the_header_names(path: Path, tmp_path: Path) -> None:
    secret, opened = tmp_path / "secret.txt", list[str]()
    secret.write_text("abc", encoding="utf-8")
    altered(path, info={"corpus": str(secret), "text": str(secret), "init_weight": str(secret)})
    sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
    load(path)
    assert str(secret) not in opened
    secret.read_text(encoding="utf-8")
    assert str(secret) in opened  # it would have been noticed
