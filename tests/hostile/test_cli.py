"""The command line, given what no command can use: one line and no traceback, whatever it is."""

import os
from functools import cache
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from babygpt.cli import main

SHAPE = "--n-layer 1 --n-head 2 --n-embd 16 --block-size 16 --batch-size 4".split()
SEVERAL = "--seeds 1 --variants rope --max-iters 1 --eval-iters 1".split()
BRIEF = "--num-prompts 1 --prompt-len 4 --gen-len 4".split()
COMMANDS = {
    "train v4": ["--corpus", "text.txt", "--steps", "1", *SHAPE],
    "train v5": ["--corpus", "text.txt", "--steps", "1", *SHAPE],
    "train v7": ["--corpus", "text.txt", "--steps", "1", *SHAPE],
    "generate v4.safetensors": ["--tokens", "2"],
    "generate v7-rope.safetensors": ["--tokens", "2"],
    "pretrain": ["--pe", "fpe", "--corpus", "text.txt", "--max-steps", "1", "--length", "8", *SHAPE],
    "parallel-generate": ["--model", "v6", "--tokens", "2"],
    "compare encodings": ["--corpus", "text.txt", *SEVERAL, *SHAPE],
    "compare generation": [
        *["--rope-weights", "v7-rope.safetensors", "--polar-weights", "v7-polar.safetensors"],
        *["--judge", "v4.safetensors", "--corpus", "text.txt", *BRIEF],
    ],
    "compare stretch v4.safetensors": ["--factors", "2", "--methods", "yarn", "--windows", "2"],
    "analyze sinusoidal": [],
    "analyze rotary": [],
    "analyze fourier": [],
    "analyze gaussian": [],
    "analyze polar": [],
}
NEW = {  # where a command writes, by the flag that says so
    "train v4": ("--out", "new.safetensors"),
    "train v5": ("--out", "new.safetensors"),
    "train v7": ("--out", "new.safetensors"),
    "pretrain": ("--out-dir", "new"),
    "compare encodings": ("--out-dir", "new"),
    "compare generation": ("--output", "new.json"),
    "compare stretch v4.safetensors": ("--output", "new.json"),
}
HUGE = ["1" + "0" * 12, "1" + "0" * 30, "1" + "0" * 400]
WHOLE = ["-1", "0", *HUGE, "", "x", "nan", "1.5", "-9223372036854775809"]
REAL = ["nan", "inf", "-inf", "-1", "0", "1e308", "1e39", "1e-320", "", "x"]
TEXT = ["", "🎲\u202e", "\udcff", "a" * 300, "\0", "░", "\n\n", "%s%n{}", "1,,2", "nan", "1e400", "v7,v7"]
PATHS = [
    "folder",
    "missing",
    "binary",
    "empty",
    "",
    "\udcff",
    "\0",
    "a" * 5000,
    "text.txt/below",
    "/dev/null",
]
PAIRS = [
    ("nan", "1"),
    ("inf", "inf"),
    ("0", "0"),
    ("-1", "1"),
    ("1e308", "1e308"),
    ("1e-320", "1"),
    ("x", ""),
]
# However many are asked for, they are made one after the other, and Ctrl-C ends it.
ENDLESS = {"steps", "max_iters", "max_steps", "tokens", "epochs", "judge_steps", "gen_len", "n_steps"}
ENDLESS |= {"fine_tune"}
SLOW = {"compiled"}  # calls a compiler


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """A folder with a text, trained models, and files that are neither."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "text.txt").write_text("the cat sat on the mat.\n" * 60, encoding="utf-8")
    (folder / "binary").write_bytes(bytes(range(256)))
    (folder / "empty").touch()
    (folder / "folder").mkdir()
    before = Path.cwd()
    os.chdir(folder)
    for version in ("v4", "v7-rope", "v7-polar"):
        run("train", version, "--out", f"{version}.safetensors", *COMMANDS["train v4"])
    run("pretrain", "--out-dir", "v6", *COMMANDS["pretrain"])
    yield folder
    os.chdir(before)


def run(*args):
    result = CliRunner().invoke(main, args)
    orderly(result)
    return result


def orderly(result):
    """Either all is well, or one line says what is not; never a traceback."""
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    assert result.exit_code in (0, 1, 2), result.output
    if result.exit_code:
        said = [line for line in result.output.splitlines() if line.startswith("Error: ")]
        assert len(said) == 1, result.output
        assert result.exit_code == 2 or result.output.splitlines()[-1] == said[0]


@cache
def found(name):
    """The click command of a name, without its arguments."""
    command = main
    for word in name.split():
        if isinstance(command, click.Group):
            command = command.get_command(click.Context(command), word)
    return command


def nasty(option):
    """Values that an option is to survive."""
    if option.is_flag:
        return [None]
    if isinstance(option.type, click.types.IntParamType):
        return [v for v in WHOLE if not (option.name in ENDLESS and v in HUGE[:2])]
    if isinstance(option.type, click.types.FloatParamType):
        return REAL
    if isinstance(option.type, click.Tuple):
        return PAIRS
    if isinstance(option.type, click.Path) or option.name == "corpus":
        return PATHS
    return ["", "x", "\udcff"] if isinstance(option.type, click.Choice) else TEXT


@cache
def choices(name):
    """Every option of a command with every nasty value, as they are typed."""
    options = [p for p in found(name).params if isinstance(p, click.Option) and p.name not in SLOW]
    typed = {option.opts[0]: nasty(option) for option in options}
    return [
        (flag, *([] if value is None else value if isinstance(value, tuple) else [value]))
        for flag, values in typed.items()
        for value in values
    ]


@pytest.mark.survives(
    "a number below 0, far too large or none at all, an empty or strange text, a folder or a damaged file "
    "in one flag or two of a command, thirty draws for each command",
    "one line says which value cannot be, and what could; never a traceback",
)
@pytest.mark.parametrize("name", COMMANDS)
@settings(max_examples=30)
@given(data=st.data())
def test_no_flag_of_any_command_ends_in_a_traceback(desk, name, data):
    typed = data.draw(
        st.lists(st.sampled_from(choices(name)), min_size=1, max_size=2, unique_by=lambda x: x[0])
    )
    where = NEW.get(name, ())
    result = run(*name.split(), *COMMANDS[name], *where, *(word for words in typed for word in words))
    if where:
        made = desk / where[1]
        assert result.exit_code == 0 or not made.exists() or made.is_dir()
        remove(made)


def remove(path):
    """Take away what a command made, so that the next one finds the desk as it was."""
    if path.is_dir():
        for inner in path.iterdir():
            remove(inner)
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


@pytest.mark.parametrize("model", PATHS)
def test_what_is_no_model_is_refused(desk, model):
    assert run("generate", model).exit_code in (1, 2)


@pytest.mark.parametrize(
    "words", [["nonsense"], ["train"], ["train", ""], ["train", "🎲"], ["analyze", "\udcff"]]
)
def test_what_is_no_command_is_refused(words):
    assert run(*words).exit_code == 2


@pytest.mark.survives(
    "a model or a batch that cannot fit into the memory",
    "it is refused at once, with the least it would take",
)
@pytest.mark.parametrize(
    ("flag", "value"), [("--n-layer", 10**10), ("--n-embd", 10**8), ("--batch-size", 10**12)]
)
def test_what_does_not_fit_into_memory_is_refused_at_once(desk, flag, value):
    result = run("train", "v4", "--out", "new.safetensors", *COMMANDS["train v4"], flag, str(value))
    assert result.exit_code == 1
    assert str(value) in result.output
    assert "GB of memory" in result.output
    assert not (desk / "new.safetensors").exists()
