"""Windows and the tokens after each of theirs, against counting; and the same at random positions."""

import math
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from babygpt.data.corpus import Corpus, from_text
from babygpt.errors import BadInput
from babygpt.objectives import NextToken, RandomPositions, cross_entropy
from babygpt.objectives.next_token import draw_positions
from babygpt.positions import Positions


def draw(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_targets_are_the_tokens_after(small_corpus: Corpus) -> None:
    x, y = NextToken(small_corpus, 32).batch(8, draw())
    assert x.shape == y.shape == (8, 32)
    assert torch.equal(x[:, 1:], y[:, :-1])
    whole = small_corpus.tokenizer.decode(small_corpus.train)
    for row, target in zip(x, y[:, -1:], strict=True):
        assert small_corpus.tokenizer.decode(torch.cat([row, target])) in whole


def test_windows_begin_at_every_position_equally_often() -> None:
    """Equally often: in 32 tokens there are 29 windows of 3 with their targets."""
    numbers = Corpus("numbers", from_text("a", "a").tokenizer, torch.arange(32), torch.arange(4))
    x, _ = NextToken(numbers, 3).batch(5800, draw())
    starts = Counter(x[:, 0].tolist())
    assert set(starts) == set(range(29))
    assert all(abs(n - 200) < 5 * math.sqrt(200) for n in starts.values())


def test_aligned_windows_begin_with_a_line(small_corpus: Corpus) -> None:
    decode = small_corpus.tokenizer.decode
    lines = {line[:12] for line in decode(small_corpus.train).split("\n")}
    x, _ = NextToken(small_corpus, 16, aligned=True).batch(50, draw())
    assert all(decode(row)[:12] in lines for row in x)
    free, _ = NextToken(small_corpus, 16).batch(50, draw())
    assert not all(decode(row)[:12] in lines for row in free)


def test_the_generator_decides_the_batch(small_corpus: Corpus) -> None:
    objective = NextToken(small_corpus, 16)
    first, again, other = (objective.batch(4, draw(seed))[0] for seed in (0, 0, 1))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


@pytest.mark.parametrize("version", ["v1", "v2", "v4"])
def test_loss_is_the_mean_of_its_batch_and_has_a_gradient(awake, text, version: str) -> None:
    corpus = from_text("digits", "".join(map(str, range(10))) * 40)
    model, objective = awake(version), NextToken(corpus, 16)
    x, y = objective.batch(4, draw())
    loss = objective.loss(model, (x, y))
    expected = nn.CrossEntropyLoss()(model(x).flatten(0, 1), y.flatten())
    assert loss.item() == pytest.approx(expected.item(), abs=1e-6)
    loss.backward()
    assert model.head.weight.grad.abs().sum() > 0


def test_validation_of_a_bigram_model_is_a_sum_over_pairs(awake, small_corpus: Corpus) -> None:
    """Whatever the windows: each pair of neighbours in the whole validation text, once."""
    model = awake("v1", vocab_size=small_corpus.tokenizer.vocab_size)
    ids = small_corpus.val
    table = model(torch.arange(small_corpus.tokenizer.vocab_size)[None])[0].log_softmax(dim=-1)
    expected = -table[ids[:-1], ids[1:]].mean().item()
    for block_size in (7, 64, 500):
        got = NextToken(small_corpus, block_size).validate(model)
        assert got == pytest.approx(expected, abs=1e-5)


def test_aligned_validation_looks_at_the_beginnings_of_lines(awake, small_corpus: Corpus) -> None:
    model = awake("v4", vocab_size=small_corpus.tokenizer.vocab_size)
    decode, encode = small_corpus.tokenizer.decode, small_corpus.tokenizer.encode
    text = decode(small_corpus.val)
    begins = [i for i in range(len(text)) if i == 0 or text[i - 1] == "\n"]
    windows = torch.stack([encode(text[i : i + 17]) for i in begins if i + 17 <= len(text)])
    with torch.no_grad():
        expected = cross_entropy(model(windows[:, :-1]), windows[:, 1:]).mean().item()
    got = NextToken(small_corpus, 16, aligned=True).validate(model)
    assert got == pytest.approx(expected, abs=1e-5)


def test_validation_leaves_no_gradient_and_changes_no_weight(awake, small_corpus: Corpus) -> None:
    model = awake("v4", vocab_size=small_corpus.tokenizer.vocab_size)
    before = {name: p.clone() for name, p in model.state_dict().items()}
    objective = NextToken(small_corpus, 16)
    assert objective.validate(model) == objective.validate(model)
    assert all(p.grad is None for p in model.parameters())
    assert all(torch.equal(p, before[name]) for name, p in model.state_dict().items())


@pytest.mark.parametrize("part", ["train", "val"])
def test_either_part_too_short_is_refused(part: str) -> None:
    long, short = torch.zeros(100, dtype=torch.long), torch.zeros(20, dtype=torch.long)
    tokenizer = from_text("a", "a").tokenizer
    parts = {"train": long, "val": long, part: short}
    with pytest.raises(ValueError, match="20 tokens; block_size 20 needs at least 21"):
        NextToken(Corpus("short", tokenizer, **parts), block_size=20)
    NextToken(Corpus("long enough", tokenizer, **parts), block_size=19)


def test_text_without_lines_cannot_be_aligned() -> None:
    with pytest.raises(ValueError, match=r"'\\n'"):
        NextToken(from_text("one line", "ab" * 200), 8, aligned=True)


@pytest.mark.parametrize("version", ["v7-rope"])
def test_a_model_that_sees_what_comes_next_is_refused(version: str, small_corpus: Corpus, awake) -> None:
    """It would be right by looking, and its loss would fall to nothing."""
    model, objective = (
        awake(version, vocab_size=small_corpus.tokenizer.vocab_size),
        NextToken(small_corpus, 16),
    )
    with pytest.raises(ValueError, match="sees what comes next"):
        objective.loss(model, objective.batch(2, draw()))
    with pytest.raises(ValueError, match="sees what comes next"):
        objective.validate(model)


# ---------------------------------------------------------------- at random positions


@given(rows=st.integers(1, 5), length=st.integers(1, 40), more=st.integers(0, 200), seed=st.integers(0, 99))
def test_positions_differ_are_in_order_and_within_the_range(rows: int, length: int, more: int, seed: int):
    drawn = draw_positions(rows, length, length + more, draw(seed))
    assert drawn.shape == (rows, length)
    assert bool((drawn.diff(dim=1) > 0).all())
    assert 0 <= int(drawn.min()) <= int(drawn.max()) < length + more


def test_every_set_of_positions_is_as_likely() -> None:
    """Two of four: six sets, each of 6,000 draws within five standard deviations of a thousand."""
    drawn = draw_positions(6000, 2, 4, draw())
    counts = torch.bincount(4 * drawn[:, 0] + drawn[:, 1], minlength=16)
    assert set(counts.nonzero()[:, 0].tolist()) == {1, 2, 3, 6, 7, 11}
    assert bool(((counts[counts > 0] - 1000).abs() < 5 * (6000 * 5 / 36) ** 0.5).all())


def test_windows_are_those_of_the_next_token(small_corpus) -> None:
    drawn = RandomPositions(small_corpus, 16, 64).batch(4, draw(3))
    plain = NextToken(small_corpus, 16).batch(4, draw(3))
    assert all(torch.equal(x, y) for x, y in zip(drawn[:2], plain, strict=True))
    assert drawn[2].shape == drawn[0].shape


@pytest.fixture
def reader(awake, small_corpus):
    """Make a model that knows the corpus's characters."""
    return lambda version: awake(version, vocab_size=small_corpus.tokenizer.vocab_size)


def test_the_model_reads_at_the_drawn_positions(small_corpus, reader) -> None:
    """By the loss at those positions, and by that at 0, 1, 2, ..., which is another."""
    model, objective = reader("v3"), RandomPositions(small_corpus, 16, 64)
    batch = objective.batch(4, draw(3))
    inputs, targets, time = batch
    with torch.inference_mode():
        logits = model(inputs, Positions(time))
        expected = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
        in_a_row = cross_entropy(model(inputs), targets).mean()
        torch.testing.assert_close(objective.loss(model, batch), expected)
    assert abs(expected - in_a_row) > 1e-3


@pytest.mark.parametrize("version", ["nope", "v4"])
def test_a_range_of_one_window_is_the_next_token(small_corpus, reader, version: str) -> None:
    model, one = reader(version), RandomPositions(small_corpus, 16, 16)
    assert one.validate(model) == pytest.approx(NextToken(small_corpus, 16).validate(model), abs=1e-5)
    assert one.batch(2, draw(3))[2].tolist() == 2 * [list(range(16))]
    longer = RandomPositions(small_corpus, 16, 64)
    assert longer.validate(model) == longer.validate(model)  # the positions are drawn from a fixed seed


def test_a_range_shorter_than_the_window_is_refused(small_corpus) -> None:
    with pytest.raises(BadInput, match=r"longest \(15\) must be at least block_size \(16\)"):
        RandomPositions(small_corpus, 16, 15)
    with pytest.raises(BadInput, match=r"longest \(3\) must be at least 4"):
        draw_positions(1, 4, 3, draw())
