"""The table of docs/shell.md that says what to type for the commands of the source notes: each row runs."""

import re
import shlex
from pathlib import Path

import pytest

SHELL = Path(__file__).resolve().parents[3] / "docs" / "shell.md"
SHAPE = "--n-layer 1 --n-head 2 --n-embd 16".split()
BRIEF = {  # flags that are shortened, so that a row takes no time
    "--steps": "2",
    "--eval-every": "1",
    "--tokens": "20",
    "--n-prompts": "3",
    "--seeds": "1337,",
}


def rows() -> list[list[str]]:
    """Return the commands of the table, in its order: a later one may read what an earlier one wrote."""
    section = SHELL.read_text(encoding="utf-8").partition("## The commands of the source notes")[2]
    cells = re.findall(r"^\| \d{3} \|.*\| `([^`]+)` \|$", section.partition("\n## ")[0], re.MULTILINE)
    return [shlex.split(cell) for cell in cells]


def shortened(words: list[str]) -> list[str]:
    """Return a command with few steps and short texts, of a small model."""
    short = [BRIEF.get(flag, word) for flag, word in zip(["", *words], words, strict=False)]
    if words[0] in ("train", "compare"):
        short += ["--corpus", "text.txt"] + ([] if "--from" in words else SHAPE)
    if words[0] == "train" and "--steps" not in words:
        short += ["--steps", "2"]
    return ["text.txt" if word == "tales" else word for word in short]


def test_the_table_names_every_script_of_the_notes() -> None:
    section = SHELL.read_text(encoding="utf-8").partition("## The commands of the source notes")[2]
    scripts = (
        "diffusion_polar.py",
        "compare_positional_encodings.py",
        "compare_generation_quality.py",
        "train_pretrain.py",
        "parallel_generate.py",
        "test_fpe_integration.py",
        "analyze_fourier_discrimination",
    )
    assert [script for script in scripts if script not in section] == []


def test_every_row_of_the_table_runs(run, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text("the cat sat on the mat.\n" * 500, encoding="utf-8")
    commands = [words for words in rows() if words[0] != "claims"]
    assert {words[0] for words in commands} == {"train", "generate", "compare"}
    assert len(commands) == 13
    for words in commands:
        result = run(*shortened(words))
        assert result.exit_code == 0, (words, result.output)
        outputs = [words[i + 1] for i, word in enumerate(words) if word == "--out"]
        assert [path for path in outputs if not Path(path).exists()] == []


@pytest.mark.parametrize("number", ["002"])
def test_the_claims_of_the_table_can_be_measured(run, number) -> None:
    assert ["claims", number] in rows()
    assert run("claims", "--help").exit_code == 0
