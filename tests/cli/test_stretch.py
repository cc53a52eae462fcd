"""`compare stretch`: what it prints, what it writes, how it refuses."""

import json
import os
import signal

import pytest

from babygpt.data.corpus import recall_corpus
from babygpt.objectives import NextToken


@pytest.fixture(scope="module")
def desk(run, small, tmp_path_factory):
    """A folder with a text, and a v4 that learned from it."""
    folder = tmp_path_factory.mktemp("desk")
    (folder / "text.txt").write_text("the cat sat on the mat. " * 80, encoding="utf-8")
    args = ["--corpus", folder / "text.txt", "--steps", 3, "--out", folder / "v4.safetensors"]
    result = run("train", "v4", *args, *small)
    assert result.exit_code == 0, result.output
    return folder


@pytest.fixture
def stretch(run, desk, monkeypatch):
    """Stretch that v4, in its folder, to 2 windows and 4, by two methods."""
    monkeypatch.chdir(desk)
    args = ["--factors", "2,4", "--methods", "none,yarn", "--windows", 2]
    return lambda *extra, model="v4.safetensors": run("compare", "stretch", model, *args, *extra)


def test_a_table_is_printed_and_nothing_is_written(stretch, desk):
    before = {path.name: path.read_bytes() for path in desk.iterdir()}
    result = stretch()
    assert result.exit_code == 0, result.output
    title, heading, *rows = (line.split() for line in result.stdout.splitlines())
    assert title[:2] == ["v4.safetensors", "(v4),"]
    assert title[-4:-3] == [f"{desk / 'text.txt'},"]
    assert heading == ["method", "factor", "windows", "change", "±", "se", "loss"]
    assert rows[0][:-1] == ["as", "it", "is", "1", "–", "–", "–"]
    assert [row[:3] for row in rows[1:]] == [[m, f, "2"] for f in "24" for m in ("none", "yarn")]
    assert {path.name: path.read_bytes() for path in desk.iterdir()} == before


def test_what_is_printed_is_what_is_stored(stretch, refused, desk, tmp_path):
    output = tmp_path / "new" / "o.json"
    before = (desk / "v4.safetensors").read_bytes()
    result = stretch("--fine-tune", 2, "--seed", 5, "--output", output)
    assert result.exit_code == 0, result.output
    found = json.loads(output.read_text(), parse_constant=pytest.fail)
    typed = "compare stretch --factors 2,4 --methods none,yarn --windows 2 --fine-tune 2 --seed 5"
    assert found["command"] == f"python -m babygpt {typed} --output {output} v4.safetensors"
    settings = {"factors": [2, 4], "methods": ["none", "yarn"], "windows": 2, "fine_tune": 2, "seed": 5}
    assert found["settings"] == settings
    about = ("v4.safetensors", "v4", 16, str(desk / "text.txt"))
    assert tuple(found[name] for name in ("weights", "version", "block_size", "corpus")) == about
    methods = [(row["method"], row["factor"]) for row in found["rows"]]
    assert methods == [("as it is", 1), *((m, f) for f in (2, 4) for m in ("control", "none", "yarn"))]
    printed = [line.split() for line in result.stdout.splitlines()[2:-1]]
    for row, line in zip(found["rows"][1:], printed[1:], strict=True):
        assert line[3:] == [f"{row['change']:+.4f}", f"{row['se']:.4f}", f"{row['loss']:.4f}"]
    assert result.stdout.splitlines()[-1] == f"wrote {output}"
    assert (desk / "v4.safetensors").read_bytes() == before
    stored = output.read_bytes()
    refused(stretch("--output", output), "exists already", output, "--overwrite")
    assert output.read_bytes() == stored
    assert stretch("--output", output, "--overwrite").exit_code == 0
    assert json.loads(output.read_text())["settings"]["fine_tune"] == 0


def test_values_are_asked_for_where_a_model_learned_to_recall(run, small, stretch, tmp_path, monkeypatch):
    notes = recall_corpus(4000)
    monkeypatch.setattr("babygpt.cli.train.load_corpus", lambda *name, **how: notes)
    monkeypatch.setattr("babygpt_course.commands.corpora.load_corpus", lambda *name, **how: notes)
    model = tmp_path / "r.safetensors"
    result = run("train", "v4", "--corpus", "recall", "--steps", 1, "--out", model, *small)
    assert result.exit_code == 0, result.output
    result = stretch(model=model)
    assert result.exit_code == 0, result.output
    _, about, heading, *rows = result.stdout.splitlines()
    assert "64 values" in about
    assert "chance is 0.1" in about
    assert heading.split()[-7:] == ["at", "12", "at", "24", "at", "48", "untold"]
    shares = [row.split()[-4:] for row in rows]
    assert shares[1][2] == "–"  # two windows are 32 characters
    assert all(0 <= float(x) <= 1 for x in [*shares[1][:2], shares[1][3], *shares[-1]])


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_loses_nothing_of_the_users(stretch, refused, desk, tmp_path, monkeypatch):
    real, calls = NextToken.batch, iter(range(1, 1000))

    def pressed(self, size, generator):
        if next(calls) == 3:
            os.kill(os.getpid(), signal.SIGINT)
        return real(self, size, generator)

    checkpoint, output = (desk / "v4.safetensors").read_bytes(), tmp_path / "o.json"
    monkeypatch.setattr(NextToken, "batch", pressed)
    result = stretch("--fine-tune", 2, "--output", output)
    refused(result, "interrupted; nothing was written, v4.safetensors is as it was")
    assert result.exit_code == 1
    assert "control" in result.stdout  # what was measured before stands on the screen
    assert list(tmp_path.iterdir()) == []
    assert (desk / "v4.safetensors").read_bytes() == checkpoint


def test_flags_that_change_nothing_are_named(stretch):
    result = stretch("--seed", 3, "--overwrite")
    assert result.exit_code == 0, result.output
    said = ["--seed plays no part without --fine-tune", "--overwrite plays no part without --output"]
    assert result.stderr.splitlines() == said


@pytest.mark.parametrize(
    ("extra", "parts"),
    [
        (["--factors", "2,20"], ["factor 20: windows of 320", "validation text of at least 321", "has 192"]),
        (["--factors", "1"], ["factors (1) must be at least 2"]),
        (["--factors", "2,x"], ["--factors (2,x)", "'x'", "whole numbers"]),
        (["--methods", "yarn,rope"], ["methods (rope)", "none, interpolation, ntk, yarn, drop"]),
        (["--windows", "0"], ["windows (0) must be above 0"]),
        (["--fine-tune", "-1"], ["fine_tune (-1)"]),
        (["--corpus", "tales-zh"], ["v4.safetensors was trained on other characters"]),
        (["--output", "text.txt/below"], ["text.txt is a file", "--output"]),
    ],
)
def test_bad_input_is_refused_in_one_line(stretch, refused, desk, extra, parts):
    before = sorted(desk.iterdir())
    result = stretch(*extra)
    refused(result, *parts)
    assert result.stdout == ""
    assert sorted(desk.iterdir()) == before


def test_what_cannot_be_stretched_and_a_text_from_elsewhere_are_refused(
    run, small, stretch, refused, desk, tmp_path, monkeypatch
):
    alibi = tmp_path / "alibi.safetensors"
    text = ["--corpus", desk / "text.txt"]
    assert run("train", "alibi", *text, "--steps", 1, "--out", alibi, *small).exit_code == 0
    refused(stretch(model=alibi), f"{alibi} (alibi) cannot be stretched; what can has RoPE")
    refused(stretch(model="none.safetensors"), "no checkpoint at none.safetensors")
    itself = (desk / "v4.safetensors").read_bytes()
    refused(
        stretch("--output", desk / "v4.safetensors", "--overwrite"), "is the checkpoint itself", "--output"
    )
    assert (desk / "v4.safetensors").read_bytes() == itself
    monkeypatch.chdir(tmp_path)
    own = desk / "v4.safetensors"
    refused(stretch(model=own), f"{own} names a corpus outside of this folder", "--corpus if you mean it")
    assert stretch(*text, model=own).exit_code == 0
