"""The single-file GPT trains as the package's v4 does, and its command runs on any text."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from babygpt import minimal
from babygpt.config import ModelConfig, TrainConfig
from babygpt.data.corpus import Corpus
from babygpt.encodings.rotary import rotate
from babygpt.models.versions import build
from babygpt.objectives import NextToken
from babygpt.sampling import generate
from babygpt.training import train
from babygpt.training.optimizers import PRECISION
from tests.test_arrows import PACKAGE, ROOT, imported

CONFIG = minimal.Config(block_size=24, n_layer=2, n_head=2, n_embd=32, steps=20, batch_size=4, warmup=5)


@pytest.fixture
def float64(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Compute in float64, and Muon in PyTorch's bfloat16, where last bits would grow to 1e-4 in 20 steps."""
    monkeypatch.setitem(PRECISION, "cpu", torch.bfloat16)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def models(corpus: Corpus, config: minimal.Config) -> tuple[minimal.GPT, torch.nn.Module]:
    """Make minimal's model and the package's v4, with the same weights."""
    V = corpus.tokenizer.vocab_size
    shape = {name: getattr(config, name) for name in ("block_size", "n_layer", "n_head", "n_embd")}
    ours, package = minimal.GPT(V, config), build("v4", ModelConfig(V, **shape), theta=config.theta)
    ours.load_state_dict(package.state_dict())  # their weights have the same names
    return ours, package


class NextToken64(NextToken):
    """Next-token objective without the rounding of logits to float32."""

    def losses(self, model, batch):
        return F.cross_entropy(model(batch[0]).mT, batch[1], reduction="none")


def largest_difference(corpus: Corpus, config: minimal.Config, plan: minimal.Config) -> float:
    """Train minimal by one configuration and v4 by another. Return the largest difference of their losses."""
    ours, package = models(corpus, config)
    losses = minimal.train(ours, corpus.train, corpus.val, config)
    fields = ("steps", "batch_size", "lr_matrix", "lr_other", "warmup", "seed")
    recipe = TrainConfig(**{name: getattr(plan, name) for name in fields})
    steps = list(train(package, NextToken64(corpus, plan.block_size), recipe))
    assert len(losses) == len(steps) == 20
    assert losses[-1] < losses[0] - 0.3  # both have learned something
    return max(abs(loss - step.loss) for loss, step in zip(losses, steps, strict=True))


@pytest.mark.usefixtures("float64")
def test_twenty_losses_are_those_of_v4(small_corpus: Corpus) -> None:
    """Expect the same losses from the same weights: model, batches, optimizers and schedule are the same."""
    assert largest_difference(small_corpus, CONFIG, CONFIG) < 1e-5


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("change", [{"lr_matrix": 0.0303}, {"lr_other": 0.0202}, {"warmup": 6}, {"seed": 1}])
def test_a_small_change_of_the_recipe_shows_in_the_losses(small_corpus: Corpus, change: dict) -> None:
    assert largest_difference(small_corpus, CONFIG, replace(CONFIG, **change)) > 1e-4


def test_the_recipe_is_the_default_of_the_package() -> None:
    theirs, ours = TrainConfig(), minimal.Config()
    names = ("steps", "batch_size", "lr_matrix", "lr_other", "warmup", "seed")
    assert [getattr(ours, name) for name in names] == [getattr(theirs, name) for name in names]


def test_a_whole_window_and_a_short_one_get_the_logits_of_v4(small_corpus: Corpus, wake: Callable) -> None:
    ours, package = models(small_corpus, CONFIG)
    ours.load_state_dict(wake(package).state_dict())
    for T in (1, 24):
        idx = small_corpus.train[: 3 * T].view(3, T)
        torch.testing.assert_close(ours(idx), package(idx), atol=1e-4, rtol=0)
        assert ours(idx).std() > 0.1


@pytest.mark.parametrize("theta", [100.0, 10_000.0])
def test_rope_is_that_of_the_package(theta: float) -> None:
    x, position = torch.randn(2, 3, 64, 16), torch.arange(64)
    torch.testing.assert_close(
        minimal.rotate(x, position, theta), rotate(x, position, theta), atol=1e-5, rtol=0
    )


def test_validation_and_samples_are_those_of_v4(small_corpus: Corpus, wake: Callable) -> None:
    """Expect v4's loss on minimal's validation windows, and v4's text while it fits into the window."""
    ours, package = models(small_corpus, CONFIG)
    ours.load_state_dict(wake(package).state_dict())
    draw, losses = torch.Generator().manual_seed(CONFIG.seed), []
    for _ in range(20):
        inputs, targets = minimal.draw_batch(small_corpus.val, CONFIG, draw)
        assert torch.equal(inputs[:, 1:], targets[:, :-1])
        losses.append(NextToken(small_corpus, 24).loss(package, (inputs, targets)).item())
    assert minimal.validate(ours, small_corpus.val, CONFIG) == pytest.approx(sum(losses) / 20, abs=1e-4)

    idx = small_corpus.train[:4][None]
    torch.manual_seed(0)
    written = minimal.generate(ours, idx, 20, CONFIG)  # Both draw PyTorch's global random numbers.
    torch.manual_seed(0)
    assert torch.equal(written, generate(package, idx, 20))
    assert minimal.generate(ours, idx, 40, CONFIG).shape == (1, 44)  # beyond the window


def test_stories_ask_for_a_name_that_only_order_tells() -> None:
    stories = minimal.write_stories(400).splitlines()
    form = re.compile(r"\w+ \w+ (\w+) (\w+) (\w+)\. (?:who (\w+)\? (\w+)|(\w+) whom\? (\w+))\.")
    matches = [form.fullmatch(story) for story in stories]
    assert all(matches)
    for doer, verb, receiver, who, name, whom, object_ in (match.groups() for match in matches if match):
        assert doer != receiver
        assert (who, name) == (verb, doer) or (whom, object_) == (verb, receiver)
    assert len({match[5] is None for match in matches if match}) == 2  # both questions
    assert len(set(stories)) > 350


def test_it_imports_pytorch_and_the_standard_library_only() -> None:
    tops = {name.split(".")[0] for name in imported(PACKAGE / "minimal.py", PACKAGE)}
    assert "torch" in tops
    assert tops <= {"torch", *sys.stdlib_module_names}


# ---------------------------------------------------------------- the command


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Run the command in this process, which keeps its number of threads."""
    monkeypatch.setattr(torch, "set_num_threads", lambda n: None)

    def call(*words: object) -> None:
        monkeypatch.setattr(sys, "argv", ["minimal", *map(str, words)])
        minimal.main()

    return call


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "text.txt"


def test_the_command_trains_on_a_file_and_prints_a_sample(file: Path) -> None:
    file.write_text("狗 saw a cat.\n" * 60, encoding="utf-8")
    command = [sys.executable, minimal.__file__, str(file), "--steps", "60"]
    env = {**os.environ, "PYTHONUTF8": "1"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    head, half, end, empty, *sample = done.stdout.split("\n")
    assert head.startswith("780 characters, 9 of them different; ")
    assert [line[:10] for line in (half, end)] == ["step   50:", "step   60:"]
    losses = [float(loss) for line in (half, end) for loss in re.findall(r"\d\.\d{3}", line)]
    assert len(losses) == 4
    assert max(losses) < 1.0  # ln 9 = 2.2 before training
    assert empty == ""
    assert len("\n".join(sample)) == 401  # what was written, and the line end of `print`
    assert sample.count("狗 saw a cat.") > 20


@pytest.mark.parametrize(
    ("content", "words", "says"),
    [
        (None, (), "text.txt cannot be read ([Errno 2] No such file or directory"),
        (b"", (), "text.txt has 0 characters: at least 650 are needed, and 100,000 are better"),
        (b"a" * 649, (), "text.txt has 649 characters: at least 650 are needed"),
        (b"\xff" * 700, (), "give the path of a UTF-8 text file"),
        (b"a" * 700, ("--steps", 0), "--steps (0) must be at least 1"),
    ],
)
def test_bad_input_is_refused_in_one_line(file: Path, run, content: bytes | None, words: tuple, says: str):
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(SystemExit) as refusal:
        run(file, *words)
    message = refusal.value.code  # Python prints it to stderr, and exits with status 1
    assert isinstance(message, str)
    assert says in message
    assert "\n" not in message


def test_the_shortest_text_is_enough(file: Path, run, capsys) -> None:
    file.write_text("ab" * 325, encoding="utf-8")
    run(file, "--steps", 1)
    assert (
        capsys.readouterr().out.splitlines()[-1][:1] == "a"
    )  # without a line end it begins as the text does


def test_without_a_file_the_command_learns_from_stories(run, capsys) -> None:
    run("--steps", 1)
    assert re.match(r"2\d{5} characters, 27 of them different", capsys.readouterr().out)
