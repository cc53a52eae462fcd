"""`train` and `generate` with an encoding from a file of one's own."""

from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from babygpt.encodings import Encoding
from babygpt.models.own_encodings import installed_encodings
from babygpt.training import checkpoint

MINE = '''
import torch
from babygpt.encodings import Encoding

class Recency(Encoding):
    """Bias that falls with the distance.

    strength  nats per token
    sizes     two numbers that change nothing
    """

    def __init__(self, n_head: int, *, strength: float = 1, sizes=(3, 4), scaled=True, base=None, to=[]):
        super().__init__()
        self.strength = torch.nn.Parameter(torch.full((n_head,), float(strength)))

    def score_bias(self, queries, keys):
        distance = queries.time[..., None, :, None] - keys.time[..., None, None, :]
        return -self.strength[:, None, None] * distance.abs()

class Other(Encoding):
    pass

class Denoiser(Recency):
    for_masks = True

class Texts(Recency):
    for_branches = True

class Clash(Encoding):
    def __init__(self, steps: int = 3):
        super().__init__()
'''


class Installed(Encoding):
    pass


@pytest.fixture
def mine(tmp_path: Path, monkeypatch) -> Path:
    """Write mine.py into the current folder."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.py"
    path.write_text(MINE, encoding="utf-8")
    return path


def test_a_file_of_ones_own_trains_generates_and_goes_on(run, refused, small, corpus, mine):
    words = ["train", "mine.py:Recency", "--corpus", corpus, *small]
    flags = ["--strength", 0.5, "--sizes", 5, 6, "--no-scaled", "--base", 7]
    result = run(*words, *flags, "--steps", 2)
    assert result.exit_code == 0, result.output
    assert "wrote weights" in result.output
    out = Path("weights") / "Recency.safetensors"
    options = {"strength": 0.5, "sizes": [5, 6], "scaled": False, "base": 7}
    assert checkpoint.load(out, "mine.py:Recency").options == options
    write = ["generate", out, "--prompt", "the ", "--tokens", 4]
    refused(run(*write), f"{out} has the encoding mine.py:Recency", "--encoding mine.py:Recency")
    assert len(run(*write, "--encoding", "mine.py:Recency").stdout) == 4 + 4 + 1
    refused(run(*write, "--encoding", "mine.py:Other"), "mine.py:Other is another one")
    more = run(*words, "--from", out, "--steps", 1, "--out", "more.safetensors")
    assert more.exit_code == 0, more.output
    assert checkpoint.load("more.safetensors", "mine.py:Recency").options == options
    refused(run("train", "mine.py:Other", *words[2:], "--from", out), "mine.py:Other is another one")


def test_a_changed_file_is_named_and_never_resumes_another_encoding(
    run, refused, corpus, small, mine, monkeypatch
):
    out = "run.safetensors"
    words = ["train", "mine.py:Recency", "--corpus", corpus, "--out", out, *small]
    with monkeypatch.context() as now:
        now.setattr(
            "babygpt.cli.train.measure", lambda *_: (_ for _ in ()).throw(OSError("the disk is gone"))
        )
        refused(run(*words, "--steps", 2), "the disk is gone", "--resume")
    refused(run("train", "v4", *words[2:], "--resume"), "has the encoding mine.py:Recency")
    mine.write_text(MINE.replace("-self.strength", "-2 * self.strength"), encoding="utf-8")
    refused(run(*words, "--resume"), "other logits", "the file of mine.py:Recency has changed since")
    mine.write_text(MINE + "# a remark", encoding="utf-8")
    result = run(*words, "--resume", "--strength", 1)
    assert result.exit_code == 0, result.output
    assert (
        "the file of mine.py:Recency has changed since the model was saved, and its logits" in result.stderr
    )
    assert "checkpoint.py" not in result.stderr


def test_layers_may_come_from_a_file(run, refused, train, corpus, small, mine):
    out = train("v4", "--layers", "mine.py:Recency", "--strength", 0.5)
    write = ["generate", out, "--prompt", "the ", "--tokens", 4]
    refused(run(*write), "has the encoding mine.py:Recency")
    assert run(*write, "--encoding", "mine.py:Recency").stdout.startswith("the ")
    first = ["train", "v4", "--from", out, "--corpus", corpus, "--steps", 1, "--out", "next.safetensors"]
    refused(run(*first, *small), "has the encoding mine.py:Recency")
    for words in (["--layers", "mine.py:Recency"], ["--encoding", "mine.py:Recency"]):
        result = run(*first, *small, *words, "--overwrite")
        assert result.exit_code == 0, result.output


@pytest.mark.parametrize(("name", "says"), [("Denoiser", "NELBO"), ("Texts", "interference gap")])
def test_the_class_says_what_its_model_reads(run, train, corpus, small, mine, name, says):
    words = ["--corpus", corpus, "--steps", 1, *small, *(["--branches", 2] if name == "Texts" else [])]
    result = run("train", f"mine.py:{name}", *words)
    assert result.exit_code == 0, result.output
    assert says in result.output
    texts = run(
        "generate", f"weights/{name}.safetensors", "--encoding", f"mine.py:{name}", "--prompt", "the "
    )
    assert texts.stdout.startswith("the "), texts.output


def test_help_shows_the_options_and_their_lines_of_the_docstring(run, mine):
    shown = " ".join(run("train", "mine.py:Recency", "--help").output.split())
    assert "--strength FLOAT nats per token [default: 1]" in shown.replace("1.0", "1")
    assert "--sizes INTEGER... two numbers that change nothing [default: 3, 4]" in shown
    assert "--scaled / --no-scaled" in shown
    assert "--base" in shown
    assert "--to " not in shown
    assert "--n-buckets" not in shown


@pytest.mark.parametrize(
    ("version", "parts"),
    [
        ("mine.py:Resency", ["did you mean Recency?"]),
        ("mine.py", ["name its class too, as in mine.py:Recency"]),
        ("nowhere/mine.py:Recency", ["there is no file nowhere/mine.py"]),
        ("mime.py:Recency", ["there is no file mime.py", "did you mean mine.py?"]),
        ("mine.py:torch", ["mine.py:torch is a module", "must inherit from babygpt.encodings.Encoding"]),
        ("mine.py:Clash", ["mine.py:Clash: train has a flag --steps already"]),
        (
            "faulty.py:Mine",
            ["faulty.py cannot be imported: ZeroDivisionError: division by zero (faulty.py, line 2)"],
        ),
    ],
)
def test_a_mistake_is_one_line_without_a_trace(run, refused, mine, version, parts):
    mine.with_name("faulty.py").write_text("x = 1\nx / 0\n", encoding="utf-8")
    refused(run("train", version), *parts)


def test_a_wrong_hook_is_one_line_before_anything_is_written(run, refused, corpus, small, mine):
    mine.write_text(MINE.replace("distance.abs()", "distance[0].abs()[:, 0]"), encoding="utf-8")
    result = run("train", "mine.py:Recency", "--corpus", corpus, *small)
    refused(
        result,
        "mine.py:Recency: score_bias returned one tensor of shape",
        "; due is None, or (H or 1, Tq, Tk)",
    )
    assert not Path("weights/Recency.safetensors").exists()


def test_an_error_of_its_code_while_it_trains_is_one_line(run, refused, corpus, small, mine):
    wrong = "if len(keys) > 9: raise KeyError('nine')\n        distance = queries"
    mine.write_text(MINE.replace("distance = queries", wrong), encoding="utf-8")
    line = 1 + mine.read_text(encoding="utf-8").splitlines().index(
        "        if len(keys) > 9: raise KeyError('nine')"
    )
    result = run("train", "mine.py:Recency", "--corpus", corpus, "--encoding", "mine.py:Other", *small)
    refused(result, f"Error: mine.py raised KeyError: 'nine' (mine.py, line {line})")
    assert "--encoding plays no part" in result.output
    assert "fault of babygpt" not in result.output


@pytest.fixture
def installed(monkeypatch) -> Iterator[None]:
    """Register Installed as a package would."""
    points = metadata.EntryPoints(
        [metadata.EntryPoint("installed", f"{__name__}:Installed", "babygpt.encodings")]
    )
    monkeypatch.setattr(metadata, "entry_points", lambda **select: points.select(**select))
    installed_encodings.cache_clear()
    yield
    installed_encodings.cache_clear()


def test_an_installed_encoding_is_listed_and_trained(run, train, installed):
    assert f"installed        {__name__}:Installed" in run("train", "--versions").output
    out = train("installed")
    refused = run("generate", out, "--prompt", "the ")
    assert "test_own_encodings.py:Installed" in refused.output
    assert run("generate", out, "--prompt", "the ", "--encoding", "installed").output.startswith("the ")
