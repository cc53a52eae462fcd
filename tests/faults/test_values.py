"""Values, texts and checkpoints that no command can use: one line names them, and nothing is written."""

import json
import math
import pickle
from functools import cache, partial
from itertools import product
from pathlib import Path

import click
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import save_file

from babygpt.cli import main
from babygpt.cli.train import encoding_options
from babygpt.config import ModelConfig
from babygpt.encodings import ALiBi, Fourier, LearnedPositions, Polar, Rotary, Rotary2D, Sinusoidal, gaussian
from babygpt.encodings.learned_biases import FIRE, T5Bias
from babygpt.errors import BadInput
from babygpt.models.versions import build
from babygpt.positions import Positions
from babygpt.training.checkpoint import KEY
from tests.faults.conftest import SHAPE, contents, run_here, training_words

# ---------------------------------------------------------------- options

WRONG = [  # words after `train VERSION`, and what the one line names
    ("v4", "--steps 0", "steps (0) must be at least 1"),
    ("v4", "--steps x", "'x' is not a valid integer"),
    ("v4", "--steps 1.5", "'1.5' is not a valid integer"),
    ("v4", "--batch-size -1", "batch_size (-1) must be at least 1"),
    ("v4", "--n-embd 30 --n-head 4", "n_embd (30) must be divisible by n_head (4)"),
    ("v4", "--n-embd 6 --n-head 2", "width (3) must be even"),
    ("v4", "--block-size 100000", "block_size (100000) needs 100001 tokens"),
    ("v4", "--lr-other nan", "lr_other (nan) must be above 0"),
    ("v4", "--final-lr 2", "final_lr (2.0) must lie between 0 and 1"),
    ("v4", "--theta -1", "theta (-1.0)"),
    ("v5", "--sigmas 0 9", "sigmas (0.0)"),
    ("v5", "--alphas nan 1", "alpha"),
    ("v7", "--alpha nan", "alpha (nan)"),
    ("v4", "--layers v4,nope", "name 2 encodings"),
    ("v4", "--steps 30 --lr-other 1e38 --lr-matrix 1e38", "loss is"),
    ("v4", "--corpus missing.txt", "no file at missing.txt"),
    ("v4", "--corpus {desk}/folder", "no file in"),
    ("v4", "--corpus {desk}/binary", "is not UTF-8 text: byte 128"),
    ("v4", "--corpus {desk}/empty", "is empty"),
    ("v4", "--out {desk}/text.txt --overwrite", "is what --corpus names"),
    ("v4", "--resume", "no checkpoint"),
    ("v4", "--resume --overwrite", "choose one of them"),
    ("v6", "", "reads several texts at once"),
    ("v99", "", "'v99' is not one of"),
]


def test_a_wrong_value_is_named_in_one_line_and_nothing_is_written(desk, run, tmp_path):
    out = tmp_path / "m.safetensors"
    usual = ["--corpus", desk / "text.txt", "--steps", 1, "--out", out, *SHAPE]
    for version, words, line in WRONG:
        result = run("train", version, *usual, *words.format(desk=desk).split())
        assert result.exit_code in (1, 2), words
        assert line in result.output.splitlines()[-1]
        assert list(tmp_path.iterdir()) == []


def test_unknown_and_incomplete_commands_are_refused(run):
    for words in (["nonsense"], ["train"], ["train", ""], ["analyze", "\udcff"]):
        assert run(*words).exit_code == 2


# ---------------------------------------------------------------- checkpoints


class Bomb:
    """Object that creates a file when it is unpickled."""

    def __reduce__(self):
        return (Path.touch, (Path("exploded"),))


DAMAGED = {
    "missing": lambda path, whole: None,
    "a folder": lambda path, whole: path.mkdir(),
    "empty": lambda path, whole: path.touch(),
    "a text": lambda path, whole: path.write_text("not a checkpoint"),
    "cut short": lambda path, whole: path.write_bytes(whole[:-9]),
    "without its header": lambda path, whole: path.write_bytes(whole[8:]),
    "a flipped byte": lambda path, whole: path.write_bytes(
        whole[:-9] + bytes([whole[-9] ^ 255]) + whole[-8:]
    ),
    "a pickle": lambda path, whole: path.write_bytes(pickle.dumps(Bomb())),
}


def test_a_damaged_or_foreign_checkpoint_is_refused_by_its_name(desk, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, damage in DAMAGED.items():
        path = tmp_path / f"{name}.safetensors"
        damage(path, (desk / "v4.safetensors").read_bytes())
        for words in (["generate", path], ["train", "v4", "--resume", "--out", path]):
            result = run(*words)
            assert result.exit_code == 1, name
            assert path.name in result.output.splitlines()[-1]
    assert not Path("exploded").exists()


EDITS = {  # command -> place in a header, a value, and what the one line says; None where it plays no part
    "train v4 --out m.safetensors": [
        ("info.flags", {"compiled": True, "steps": 9, "save_every": "x", "corpus": 5}, None),
        ("info.corpus", "/proc/kmsg", None),
        ("info.curve", 5, "does not fit"),
        ("info", [1], "does not fit together"),
        ("training.step", "x", "does not fit"),
    ],
    "pretrain --out-dir .": [
        ("info.flags.corpus", 5, None),
        ("info.flags.n_embd", 32, None),
        ("info.flags.pe", [1], "'[1]' is not one of"),
        ("info.flags.pe", "none", "it is a v6 with"),
        ("info.flags.max_steps", "x", "'x' is not a valid integer"),
        ("info.flags", None, "does not say how it was trained"),
    ],
}


@pytest.mark.parametrize("command", EDITS)
def test_an_edited_header_is_refused_or_has_no_effect(desk, run, undisturbed, tmp_path, monkeypatch, command):
    name, *_ = words = command.split()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("babygpt.device.compile_in_place", None)
    with monkeypatch.context() as patch:
        patch.setattr("babygpt.training.loop.require_finite", stop_at_step_5)
        run(*training_words(name, desk))
    (path,) = tmp_path.iterdir()
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
        tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
    for place, value, line in EDITS[command]:
        header = part = json.loads(metadata[KEY])
        *outer, last = place.split(".")
        for key in outer:
            part = part[key]
        part[last] = value
        save_file(tensors, path, {KEY: json.dumps(header)})
        result = run(*words, "--corpus", desk / "text.txt", "--resume")
        if line is None:
            assert contents(tmp_path) == undisturbed(name), place
        else:
            assert line in result.output.splitlines()[-1]


def stop_at_step_5(name, value, step, lr):
    if step == 5:
        raise FloatingPointError


def test_a_request_that_a_model_cannot_fulfil_is_refused(desk, run):
    for words, line in (
        ("{desk}/v4.safetensors --prompt cat!", "character '!' at"),
        ("{desk}/v4.safetensors --prompt=", "prompt is empty"),
        ("{desk}/v4.safetensors --temperature -1", "temperature (-1.0)"),
        ("{desk}/v4.safetensors --top-k 0", "top_k (0)"),
        ("{desk}/v4.safetensors --tokens -1", "n_tokens (-1)"),
        ("{desk}/v7-rope.safetensors --block 16", "block (16)"),
        ("{desk}/v7-rope.safetensors --confidence-threshold -1", "threshold (-1.0)"),
        ("{desk}/v6/pretrain.safetensors", "use `parallel-generate"),
    ):
        words = words if "--prompt" in words else f"{words} --prompt the"
        result = run("generate", *words.format(desk=desk).split())
        assert result.exit_code == 1, words
        assert line in result.output.splitlines()[-1]


# ---------------------------------------------------------------- any value of any option

COMMANDS = {
    "train v4": "--corpus {desk}/text.txt --steps 1 --out new.safetensors",
    "train v5": "--corpus {desk}/text.txt --steps 1 --out new.safetensors",
    "train v7": "--corpus {desk}/text.txt --steps 1 --out new.safetensors",
    "pretrain": "--pe fpe --corpus {desk}/text.txt --max-steps 1 --length 8 --out-dir new",
    "generate {desk}/v4.safetensors": "--tokens 2",
    "generate {desk}/v7-rope.safetensors": "--tokens 2",
    "parallel-generate": "--model {desk}/v6 --tokens 2",
    "analyze fourier": "",
}
WHOLE = ["-1", "0", "", "x", "nan", "1.5"]
REAL = ["nan", "inf", "-inf", "-1", "0", "", "x"]
WORDS = ["", "🎲\u202e", "\udcff", "a" * 300, "░", "\n\n", "%s%n{}", "1,,2", "nan", "v7,v7"]
PATHS = ["folder", "missing", "binary", "empty", "", "\udcff", "a" * 5000, "text.txt/below", "/dev/null"]


def nasty(option):
    """Return words that must not crash an option."""
    if isinstance(option.type, click.types.IntParamType):
        return WHOLE
    if isinstance(option.type, click.types.FloatParamType):
        return REAL
    if isinstance(option.type, click.Path) or option.name == "corpus":
        return PATHS
    return ["", "x"] if isinstance(option.type, click.Choice) else WORDS


@cache
def choices(name):
    """Return every option of a command with every nasty value, as typed."""
    command = main.get_command(click.Context(main), name.split()[0])
    known = [*command.params, *(encoding_options([]).values() if command.name == "train" else ())]
    options = [p for p in known if isinstance(p, click.Option) and not p.is_flag and p.nargs == 1]
    return [(option.opts[0], value) for option in options for value in nasty(option)]


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_value_of_any_option_gives_a_traceback(desk, tmp_path_factory, monkeypatch, name, data):
    monkeypatch.chdir(tmp_path_factory.mktemp("work"))
    pair = st.lists(st.sampled_from(choices(name)), min_size=1, max_size=2, unique_by=lambda x: x[0])
    typed = [word for words in data.draw(pair) for word in words]
    shape = SHAPE if name.startswith(("train", "pretrain")) else []
    run_here(*f"{name} {COMMANDS[name]}".format(desk=desk).split(), *shape, *typed)


# ---------------------------------------------------------------- encodings

WILD = [math.nan, math.inf, -math.inf, -1.0, 0.0]
FAR = [10**9, -1]
MAKE = [
    (partial(ALiBi, n_head=2), ["steepness"]),
    (partial(Sinusoidal, n_embd=16), ["theta"]),
    (partial(LearnedPositions, n_embd=16, max_positions=32), []),
    (partial(Rotary, head_dim=8), ["theta"]),
    (partial(Rotary2D, head_dim=8), ["theta", "stride", "branch_share"]),
    (partial(Fourier, head_dim=8, n_embd=16), ["theta", "stride"]),
    (partial(gaussian, 8), ["theta"]),
    (partial(Polar, head_dim=8), ["theta", "alpha"]),
    (partial(T5Bias, n_head=2), ["n_buckets", "furthest"]),
    (partial(FIRE, n_head=2), ["threshold"]),
]


def require_finite_or_refused(make, time, branch, *names):
    """Check that an encoding's results for three tokens are finite, or that BadInput names one of these."""
    positions = Positions(time, branch, torch.zeros(1, 3, dtype=torch.bool))
    try:
        encoding, q = make(), torch.ones(1, 2, 3, 8)
        bias = encoding.score_bias(positions, positions)
        found = [encoding.embed(torch.ones(1, 3, 16), positions), *encoding.transform_qk(q, q, positions)]
        fine = all(part.isfinite().all() for part in (*found, q if bias is None else bias))
    except BadInput as error:
        fine = any(name in str(error) for name in names)
    assert fine


def test_encodings_are_finite_or_name_the_number_that_is_wrong():
    usual, near = torch.arange(3), torch.tensor([0, 0, 1])
    for make, numbers in MAKE:
        for number, value in product(numbers, WILD):
            require_finite_or_refused(partial(make, **{number: value}), usual, near, number, "position")
        for start in FAR:
            require_finite_or_refused(make, usual + start, near, "position")
            require_finite_or_refused(make, usual, usual + start, "position")


def test_an_empty_batch_or_text_gives_empty_logits(standing):
    for version, (B, T) in product(("v1", "v2", "v4", "v5", "v6", "v7", "alibi"), ((1, 0), (0, 3))):
        model = build(version, ModelConfig(11, 16, 1, 2, 16)).eval()
        idx = torch.zeros(B, T, dtype=torch.long)
        assert model(idx, standing(version, torch.arange(T).repeat(B, 1))).shape == (B, T, 11)
