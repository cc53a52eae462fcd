"""`compare` and `card`: printed lines, written files, and refusals."""

import json
import shlex

import pytest
from PIL import Image

from babygpt.cli import main
from babygpt.cli.compare import compare as command
from babygpt.experiments.comparison_plan import ComparisonPlan


@pytest.fixture(scope="module")
def compared(run, small, tmp_path_factory):
    """Run a comparison in a folder of its own; return the folder and the output."""
    folder = tmp_path_factory.mktemp("compared")
    (folder / "text.txt").write_text("the cat sat on the mat. " * 40, encoding="utf-8")
    words = ["--corpus", folder / "text.txt", "--steps", 2, "--out", folder / "a.json"]
    result = run("compare", "v4", "alibi", "--seeds", 1, *words, *small)
    assert result.exit_code == 0, result.output
    return folder, result


def test_a_comparison_writes_its_numbers_a_page_and_a_picture(compared):
    folder, result = compared
    stored = json.loads((folder / "a.json").read_text(encoding="utf-8"))
    assert stored["seeds"] == [1337]
    assert [row["variant"] for row in stored["rows"]] == ["v4", "alibi"]
    assert stored["settings"]["n_embd"] == 16
    assert "2 runs to make: about" in result.stderr
    assert "validation loss" in result.stdout
    assert f"wrote {folder / 'a.md'} and {folder / 'a.png'}" in result.stdout
    page = (folder / "a.md").read_text(encoding="utf-8")
    assert page.startswith("# v4 and alibi on ")
    assert "](a.png)" in page
    with Image.open(folder / "a.png") as picture:
        assert picture.format == "PNG"


def test_a_comparison_needs_no_package_that_draws(run, small, tmp_path, monkeypatch):
    monkeypatch.delitem(main.lazy, "card")
    (tmp_path / "text.txt").write_text("the cat sat on the mat. " * 40, encoding="utf-8")
    words = ["--corpus", tmp_path / "text.txt", "--steps", 2, "--out", tmp_path / "a.json"]
    result = run("compare", "v4", "alibi", "--seeds", 1, *words, *small)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "a.json").exists()
    assert not (tmp_path / "a.md").exists()
    assert "so there is no page" in result.stderr
    assert "so there is no page" not in result.stdout


def test_the_page_of_a_stored_comparison_is_made_again(compared, run, tmp_path):
    folder, _ = compared
    again = tmp_path / "a.json"
    again.write_bytes((folder / "a.json").read_bytes())
    assert run("card", again).exit_code == 0
    for name in ("a.md", "a.png"):
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()


def test_a_card_needs_a_comparison_that_has_ended(run, refused, tmp_path):
    path = tmp_path / "a.json"
    refused(run("card", path), f"no file at {path}")
    path.write_text('{"settings": {"steps": 1}, "looks": []}')
    refused(run("card", path), f"{path} belongs to a comparison that has not ended")
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("words", "seeds", "rates"),
    [
        ("v4 alibi", None, []),
        ("v4 alibi --seeds 12 --rates 0.5 1 2 --steps 3", 12, [0.5, 1, 2]),
        ("--rates 0.5,2 --seeds 5,6 v4 alibi", [5, 6], [0.5, 2]),
        ("v4 alibi --seeds 5 6 --rates .5 1", [5, 6], [0.5, 1]),
        ("v4 alibi --seeds 5 6", [5, 6], []),
        ("v4 alibi --seeds 1337,", [1337], []),
    ],
)
def test_lists_of_numbers_may_have_spaces_or_commas(words, seeds, rates):
    values = command.make_context("compare", shlex.split(words)).params
    assert values["versions"] == ("v4", "alibi")
    assert (values["seeds"], values["rates"]) == (seeds, rates)


def test_a_variant_has_the_options_that_train_takes(run, small, corpus, tmp_path):
    out = tmp_path / "a.json"
    words = ["--corpus", corpus, "--steps", 1, "--seeds", 1, "--out", out, *small]
    variants = ["v5 --fixed --sigmas 1 2", "v4-shift --back 2", "v4 --layers v4-shift --back 0"]
    result = run("compare", "v4", *variants, *words)
    assert result.exit_code == 0, result.output
    rows = json.loads(out.read_text(encoding="utf-8"))["rows"]
    assert [row["options"] for row in rows[1:]] == [
        {"learnable": False, "sigmas": [1, 2]},
        {"back": 2},
        {"back": 0, "layers": ["v4-shift"]},
    ]
    page = (tmp_path / "a.md").read_text(encoding="utf-8")
    for name in ("v5 (learnable False, sigmas 1 2)", "v4-shift (back 2)", "v4 (back 0, layers v4-shift)"):
        assert f"| {name} |" in page
        assert name in result.stdout


REFUSED = [  # words after `compare`, pieces of the line
    ("v4", "1 variants: a comparison needs at least 2"),
    ("v4 v4", "v4 is named twice"),
    ("v4 alibbi", "version (alibbi)", "did you mean alibi?"),
    ("v4 v7", "v4 learns to predict the next character and v7 to fill in masked characters"),
    ("v4 alibi --seeds 13", "seeds (13) is a number from 1 to 12"),
    ("v4 alibi --seeds 1,x", "--seeds (1,x)", "whole numbers"),
    ("v4 alibi --rates 1,x", "--rates (1,x)", "'x' is not one of numbers"),
    ("v4 alibi --rates 1", "rates (1) must be at least 2 different factors"),
    ("v4 alibi --confirm", "no earlier comparison of v4 and alibi to confirm"),
    ("v4 alibi --block-size 100000", "block_size (100000)"),
    ("v4 alibi --steps 0", "steps (0) must be at least 1"),
    ("v4 alibi --corpus no/such.txt", "no/such.txt"),
    ("v4 alibi --out a.txt", "--out (a.txt) must end in .json"),
    ("v4 alibi --out text.txt/a.json", "text.txt is a file"),
    ("v4 alibi --workers 0", "workers (0) must be at least 1"),
    ("v4 alibi --cluster-option timeout_min=3", "and belongs to a --cluster"),
    ("v4 'v4 --back 2'", "--back: v4 has no such choice; v4-shift, nope-shift have"),
    ("v4 'v4-shift --back x'", "v4-shift --back x", "'x' is not a valid integer"),
    ("v4 'v4-shift --bakc 2'", "v4-shift --bakc 2", "No such option", "--back"),
    ("v4 'v4-shift --back -1'", "v4-shift (back -1): back (-1) must be at least 0"),
    ("v4 'alibbi --steepness 2'", "alibbi --steepness 2", "did you mean alibi?"),
    ("v4 'v4-shift --back 2 3'", "v4-shift --back 2 3", "unexpected extra argument"),
    ("v4 v4-shift --back 2", "--back is an option of one variant", '"v4-shift --back 2"'),
    ("v4 v4-shift --beck 2", "No such option", "--beck"),
]


@pytest.mark.parametrize(("words", "says"), [pytest.param(words, says, id=words) for words, *says in REFUSED])
def test_bad_input_gets_one_line_and_writes_nothing(run, refused, corpus, tmp_path, monkeypatch, words, says):
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    size = "--n-layer 1 --n-head 2 --n-embd 16 --block-size 16".split()
    refused(run("compare", "--corpus", corpus, *size, *shlex.split(words)), *says)
    assert sorted(tmp_path.rglob("*")) == before


def test_runs_side_by_side_have_the_numbers_of_runs_in_turn(compared, run, small, tmp_path, monkeypatch):
    folder, _ = compared
    out = tmp_path / "b.json"
    words = ["--corpus", folder / "text.txt", "--steps", 2, "--out", out, "--workers", 2]
    result = run("compare", "v4", "alibi", "--seeds", 1, *words, *small)
    assert result.exit_code == 0, result.output
    first, second = (json.loads(path.read_text()) for path in (folder / "a.json", out))
    assert first["runs"] == second["runs"]


def test_an_interrupted_comparison_says_that_the_same_command_goes_on(run, refused, small, corpus, tmp_path):
    words = ["compare", "v4", "alibi", "--corpus", corpus, "--steps", 2, "--out", tmp_path / "a.json", *small]
    finished = []

    def stop_at_the_third(plan, candidate, seed):
        if len(finished) == 2:
            raise KeyboardInterrupt
        finished.append((candidate.name, seed))
        return real(plan, candidate, seed)

    real = ComparisonPlan.run
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ComparisonPlan, "run", stop_at_the_third)
        refused(run(*words), "interrupted; the same command continues with the next run")
    refused(run("card", tmp_path / "a.json"), "has not ended: the same command continues it")
    assert "4 runs to make" in run(*words).stderr
