"""Other systems: Binder, a container, Windows. None of them runs here; their files can be checked."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from packaging.specifiers import SpecifierSet

from babygpt.config import ModelConfig
from babygpt.data.tokenizer import CharTokenizer
from babygpt.models.versions import build
from babygpt.training.checkpoint import load, save

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ENCODED_AT = {"read_text": 0, "write_text": 1, "open": 3}  # arguments before the encoding


def read(*names: str) -> str:
    return ROOT.joinpath(*names).read_text(encoding="utf-8")


# ---------------------------------------------------------------- Binder and the container


def test_binder_and_the_container_have_the_same_supported_python() -> None:
    (binder,) = re.findall(r"^python-(\d\.\d+)$", read(".binder", "runtime.txt"), flags=re.M)
    (container,) = re.findall(r"^FROM python:(\d\.\d+)-", read(".devcontainer", "Dockerfile"), flags=re.M)
    assert binder == container
    assert SpecifierSet(PROJECT["requires-python"]).contains(binder)
    assert os.name == "nt" or os.access(ROOT / ".binder" / "postBuild", os.X_OK)


# ---------------------------------------------------------------- workflows of the code host


def jobs() -> dict:
    return yaml.safe_load(read(".github", "workflows", "ci.yml"))["jobs"]


def test_the_workflow_tests_the_oldest_and_the_newest_python() -> None:
    ends = jobs()["smoke"]["strategy"]["matrix"]["include"]
    oldest, newest = (next(it["python"] for it in ends if it["end"] == end) for end in ("oldest", "newest"))
    assert f">={oldest}" == PROJECT["requires-python"]
    assert int(newest.split(".")[1]) > int(oldest.split(".")[1])


def test_windows_and_macos_run_existing_tests() -> None:
    systems = jobs()["systems"]
    assert systems["strategy"]["matrix"]["os"] == ["windows-latest", "macos-latest"]
    named = re.findall(r"\btests/[\w/.]+", str(systems["steps"]))
    assert named
    assert [name for name in named if not (ROOT / name).exists()] == []


# ---------------------------------------------------------------- Windows


def test_a_system_without_a_hang_up_signal_uses_sigterm() -> None:
    script = (
        "import signal; vars(signal).pop('SIGHUP', None); import babygpt.signals as s; print(s.HANG_UP.name)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, encoding="utf-8")
    assert done.stdout.split() == ["SIGTERM"], done.stderr


def test_a_file_in_a_western_code_page_takes_every_letter() -> None:
    """Take code page 1252, which Windows uses for output into a file: it has no ✓ and no Chinese."""
    script = "import runpy, sys; sys.argv[1:] = ['claims', '--help']; "
    script += "import babygpt.cli; babygpt.cli.main = lambda: print('✓'); "
    script += "runpy.run_module('babygpt', run_name='__main__')"
    env = {**os.environ, "PYTHONIOENCODING": "cp1252"}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, encoding="cp1252")
    assert done.stdout.split() == [r"\u2713"], done.stderr


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="only Linux tells which files are mapped")
def test_a_checkpoint_that_was_read_can_be_replaced(tmp_path: Path) -> None:
    """Release the file: Windows cannot replace a file mapped into memory, and --resume writes over it."""
    path, tokenizer = tmp_path / "a.safetensors", CharTokenizer("ab")
    model = build("v1", ModelConfig(tokenizer.vocab_size, block_size=4, n_embd=4))
    state = {"step": 1, "state": model.head.weight.detach().clone()}
    save(path, model, tokenizer, training=state)
    read_back = load(path)
    assert read_back.training is not None
    assert str(path) not in Path("/proc/self/maps").read_text(encoding="utf-8")


def unspecified(code: str) -> Iterator[int]:
    """Return the lines that read or write a text in the system's encoding, on Windows seldom UTF-8."""
    for call in ast.walk(ast.parse(code)):
        if not isinstance(call, ast.Call) or ast.unparse(call.func) in ("os.open", "Image.open"):
            continue
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        given = {word.arg: ast.unparse(word.value) for word in call.keywords}
        binary = any(re.fullmatch(r"'[rwax]\+?b\+?'", ast.unparse(word)) for word in call.args)
        opens = name in ENCODED_AT and not binary and len(call.args) <= ENCODED_AT[name]
        if (opens or given.get("text") == "True") and "encoding" not in given:
            yield call.lineno


def test_every_text_is_read_and_written_in_a_named_encoding() -> None:
    folders = ("babygpt", "babygpt_course", "benchmarks", "tools")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    found = {path: list(unspecified(path.read_text(encoding="utf-8"))) for path in files}
    assert {path.name: lines for path, lines in found.items() if lines} == {}
