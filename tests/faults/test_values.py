"""Values, texts and checkpoints that no command can use: one line names them, and nothing is written."""

import pickle
from pathlib import Path

import click
import pytest

from babygpt.cli import main
from babygpt.cli.encoding_options import encoding_flags
from tests.faults.conftest import SHAPE, run_here

# ---------------------------------------------------------------- options

WRONG = [  # words after `train VERSION`, and what the one line names
    ("v4", "--steps 0", "steps (0) must be at least 1"),
    ("v4", "--steps x", "'x' is not a valid integer"),
    ("v4", "--batch-size -1", "batch_size (-1) must be at least 1"),
    ("v4", "--n-embd 30 --n-head 4", "n_embd (30) must be divisible by n_head (4)"),
    ("v4", "--n-embd 6 --n-head 2", "width (3) must be even"),
    ("v4", "--block-size 100000", "block_size (100000) needs 100001 tokens"),
    ("v4", "--lr-other nan", "lr_other (nan) must be above 0"),
    ("v4", "--lr-matrix inf", "lr_matrix (inf) must be a finite number"),
    ("v4", "--weight-decay nan", "weight_decay (nan) must be a finite number"),
    ("v4", "--seed 18446744073709551616", "seed (18446744073709551616) must lie between"),
    ("v4-yarn", "--factor 1e12", "factor (1e+12) leaves no window"),
    ("v4", "--final-lr 2", "final_lr (2.0) must lie between 0 and 1"),
    ("v4", "--theta -1", "theta (-1.0)"),
    ("v5", "--sigmas 0 9", "sigmas (0.0)"),
    ("v4", "--layers v4,nope", "name 2 encodings"),
    ("v4", "--steps 30 --lr-other 1e38 --lr-matrix 1e38", "loss is"),
    ("v4", "--corpus missing.txt", "no file at missing.txt"),
    ("v4", "--corpus {desk}/folder", "no file in"),
    ("v4", "--corpus {desk}/binary", "is not UTF-8 text: byte 128"),
    ("v4", "--corpus {desk}/empty", "is empty"),
    ("v4", "--out {desk}/text.txt --overwrite", "is what --corpus names"),
    ("v4", "--resume", "no checkpoint"),
    ("v4", "--resume --overwrite", "choose one of them"),
    ("v6", "--branches 9", "too few for 9 branches"),
    ("v99", "", "'v99' is not one of"),
]


def test_a_wrong_value_is_named_in_one_line_and_nothing_is_written(desk, tmp_path):
    out = tmp_path / "m.safetensors"
    usual = ["--corpus", desk / "text.txt", "--steps", 1, "--out", out, *SHAPE]
    for version, words, line in WRONG:
        result = run_here("train", version, *usual, *words.format(desk=desk).split())
        assert result.exit_code in (1, 2), words
        assert line in result.output.splitlines()[-1]
        assert list(tmp_path.iterdir()) == []


def test_unknown_and_incomplete_commands_are_refused():
    for words in (["nonsense"], ["train"], ["train", ""], ["analyze", "\udcff"]):
        assert run_here(*words).exit_code == 2


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


def test_a_damaged_or_foreign_checkpoint_is_refused_by_its_name(desk, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, damage in DAMAGED.items():
        path = tmp_path / f"{name}.safetensors"
        damage(path, (desk / "v4.safetensors").read_bytes())
        for words in (["generate", path], ["train", "v4", "--resume", "--out", path]):
            result = run_here(*words)
            assert result.exit_code == 1, name
            assert path.name in result.output.splitlines()[-1]
    assert not Path("exploded").exists()


def test_a_request_that_a_model_cannot_fulfil_is_refused(desk):
    for words, line in (
        ("{desk}/v4.safetensors --prompt cat!", "character '!' at"),
        ("{desk}/v4.safetensors --prompt=", "prompt is empty"),
        ("{desk}/v4.safetensors --temperature -1", "temperature (-1.0)"),
        ("{desk}/v4.safetensors --top-k 0", "top_k (0)"),
        ("{desk}/v7-rope.safetensors --block 16", "block (16)"),
        ("{desk}/v7-rope.safetensors --confidence-threshold -1", "threshold (-1.0)"),
    ):
        words = words if "--prompt" in words else f"{words} --prompt the"
        result = run_here("generate", *words.format(desk=desk).split())
        assert result.exit_code == 1, words
        assert line in result.output.splitlines()[-1]


# ---------------------------------------------------------------- any value of any option

COMMANDS = {
    "train v5": "--corpus {desk}/text.txt --steps 1 --out new.safetensors",
    "train v6": "--branches 2 --length 8 --corpus {desk}/text.txt --steps 1 --out new.safetensors",
    "generate {desk}/v4.safetensors": "--tokens 2",
    "generate {desk}/v7-rope.safetensors": "--tokens 2",
}
TYPED = ["", "0", "-1", "1.5", "nan", "x", "missing/file", "我", "1,,2"]


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_no_value_of_any_option_gives_a_traceback(desk, tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    words = f"{name} {COMMANDS[name]}".format(desk=desk).split()
    shape = SHAPE if name.startswith("train") else []
    command = main.get_command(click.Context(main), words[0])
    more = encoding_flags([]).values() if command.name == "train" else ()
    for option in (*command.params, *more):
        if isinstance(option, click.Option) and not option.is_flag and option.nargs == 1:
            for value in TYPED:
                run_here(*words, *shape, option.opts[0], value)
